"""The draws of a study: rotation, assignment, labels."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus.study.design import assigned, drawn_order, labels, rotated_sets


@given(st.integers(1, 9), st.integers(0, 9), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_no_set_comes_twice_while_there_are_others(
    pool: int, size: int, n_sets: int, seed: int
) -> None:
    size = min(size, pool)
    names = [f"h{number}" for number in range(pool)]
    found = rotated_sets(names, size, n_sets, seed=seed, purpose="p")
    possible = math.comb(pool, size)
    assert found.n_possible == possible
    assert len(set(found.sets)) == min(n_sets, possible)
    assert found.n_repeated == max(0, n_sets - possible)
    # Where sets must come again they come about equally often.
    times = Counter(found.sets).values()
    assert max(times) - min(times) <= 1
    assert all(len(set(one)) == size for one in found.sets)


def test_all_responses_of_a_pool_are_shown_about_equally_often() -> None:
    # 10 raters x 3 of 10 responses: 30 showings, 3 each.
    names = [f"h{number}" for number in range(10)]
    found = rotated_sets(names, 3, 10, seed=4, purpose="p")
    times = Counter(itertools.chain.from_iterable(found.sets))
    assert set(times.values()) == {3}


def test_a_pool_too_large_to_list_is_rotated_all_the_same() -> None:
    names = [f"h{number}" for number in range(40)]
    found = rotated_sets(names, 6, 30, seed=4, purpose="p")
    assert found.n_possible == math.comb(40, 6) > 5000
    assert found.n_repeated == 0
    times = Counter(itertools.chain.from_iterable(found.sets))
    assert max(times.values()) - min(times.values()) <= 2


def test_a_set_larger_than_its_pool_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 2"):
        rotated_sets(["a", "b"], 3, 1, seed=0, purpose="p")


@given(st.integers(1, 20), st.integers(1, 12), st.data())
@settings(max_examples=100, deadline=None)
def test_loads_differ_by_one_at_most(prompts: int, raters: int, data: st.DataObject) -> None:
    per_prompt = data.draw(st.integers(0, raters))
    people = [f"r{number}" for number in range(raters)]
    found = assigned([f"p{n}" for n in range(prompts)], people, per_prompt, seed=3)
    assert all(len(set(chosen)) == per_prompt for chosen in found.values())
    load = Counter(itertools.chain.from_iterable(found.values()))
    counts = [load[person] for person in people]
    assert max(counts) - min(counts) <= 1


def test_everybody_meets_everybody() -> None:
    # 12 prompts x 3 of 6 raters: 36 meetings of 15 pairs.
    people = [f"r{number}" for number in range(6)]
    found = assigned([f"p{n}" for n in range(12)], people, 3, seed=1)
    met = Counter(
        pair for chosen in found.values() for pair in itertools.combinations(sorted(chosen), 2)
    )
    assert len(met) == 15


def test_the_seed_alone_decides_and_the_order_of_the_input_does_not() -> None:
    names = [f"x{number}" for number in range(8)]
    first = drawn_order(7, "labels", names)
    assert drawn_order(7, "labels", reversed(names)) == first
    assert drawn_order(8, "labels", names) != first
    assert drawn_order(7, "other", names) != first


def test_every_order_is_about_equally_likely() -> None:
    # chi-square of 6 orders over 3,000 draws: 20.5 is the 0.1% point at 5 degrees of freedom.
    seen = Counter(tuple(drawn_order(seed, "p", "abc")) for seed in range(3000))
    assert len(seen) == 6
    assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 20.5


def test_labels_are_letters_and_end_at_26() -> None:
    assert labels(3) == ("A", "B", "C")
    with pytest.raises(ValueError, match="26"):
        labels(27)
