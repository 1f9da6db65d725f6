"""Who votes on what, and what votes come to."""

from __future__ import annotations

from itertools import product

import pytest

from areopagus.graphs.prompt_construction import (
    PromptRef,
    is_equivalent,
    pair_judges,
    planned_pairs,
    quality_judges,
    quality_outcome,
    vote_passes,
)
from areopagus.graphs.prompt_writing import CRITERIA, FLAWS
from areopagus.testing import ScriptedBackend

A, B, C, D = (ScriptedBackend("", name=f"scripted/{name}") for name in "abcd")
SOUND = {key: key not in FLAWS for key in CRITERIA}


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        ((2, 0, 0), "passed"),
        ((1, 1, 0), "failed"),
        ((0, 2, 0), "failed"),
        ((1, 0, 1), "undecided"),
        ((0, 1, 1), "failed"),
        ((1, 0, 0), "passed"),
        ((2, 1, 0), "passed"),
        ((1, 2, 0), "failed"),
        ((2, 0, 1), "passed"),
        ((1, 1, 1), "undecided"),
        ((2, 2, 0), "failed"),
        ((0, 0, 2), "undecided"),
        ((0, 0, 0), "not_checked"),
    ],
)
def test_more_than_half_of_the_planned_votes_pass_a_prompt(
    votes: tuple[int, int, int], outcome: str
) -> None:
    assert quality_outcome(*votes) == outcome


def test_a_decided_prompt_stays_decided_whatever_the_missing_votes_would_say() -> None:
    for passes, fails, missing in product(range(4), range(4), range(3)):
        found = quality_outcome(passes, fails, missing)
        if found in ("passed", "failed"):
            for more in range(missing + 1):
                assert quality_outcome(passes + more, fails + missing - more, 0) == found


def test_votes_that_were_not_asked_for_are_told_from_those_not_to_be_had() -> None:
    assert quality_outcome(1, 0, 1, is_unasked=True) == "not_asked"
    assert quality_outcome(2, 0, 1, is_unasked=True) == "passed"


def test_a_vote_passes_with_everything_wanted_and_no_flaw() -> None:
    assert vote_passes(SOUND)
    for key in CRITERIA:
        assert not vote_passes(SOUND | {key: not SOUND[key]}), key


@pytest.mark.parametrize(
    ("votes", "both", "either"),
    [
        ([True, True], True, True),
        ([True, False], False, True),
        ([False, False], False, False),
        ([True, None], None, True),
        ([False, None], False, None),
        ([None, None], None, None),
        ([True], True, True),
        ([], None, None),
    ],
)
def test_equivalence_by_both_and_by_either_with_votes_missing(
    votes: list[bool | None], both: bool | None, either: bool | None
) -> None:
    assert is_equivalent(votes, "both") is both
    assert is_equivalent(votes, "either") is either


def test_a_generator_is_judged_by_the_others_unless_all_are_asked() -> None:
    assert quality_judges(A, [A, B, C], "others") == [B, C]
    assert quality_judges(A, [A, B, C], "all") == [A, B, C]
    warm = ScriptedBackend("", name="scripted/a", temperature=1.0)
    assert quality_judges(A, [A, B, warm], "others") == [B]
    assert quality_judges(A, [A, B, warm], "all") == [A, B]


def test_pairs_are_judged_by_two_who_wrote_neither_the_same_all_through_a_scenario() -> None:
    assert pair_judges(A, B, [A, B, C], scenario_id="s", seed=0) == [C]
    assert pair_judges(A, B, [A, B], scenario_id="s", seed=0) == []
    drawn = [
        tuple(j.spec.name for j in pair_judges(A, A, [A, B, C, D], scenario_id=f"s{i}", seed=0))
        for i in range(60)
    ]
    assert all(len(two) == 2 and "scripted/a" not in two for two in drawn)
    assert len({frozenset(two) for two in drawn}) == 3, "all three twos come up"
    again = pair_judges(A, A, [D, C, B, A], scenario_id="s3", seed=0)
    assert tuple(j.spec.name for j in again) == drawn[3]


def test_all_pairs_within_and_a_drawn_share_across() -> None:
    usable = {"a": [1, 2, 3], "b": [1, 2], "c": [4]}
    pairs = planned_pairs(usable, cross_pairs=25, scenario_id="s", seed=1)
    assert len(pairs) == len(set(pairs)) == (3 + 1) + (6 + 3 + 2)
    assert sum(pair.one.generator == pair.other.generator for pair in pairs) == 4
    some = planned_pairs(usable, cross_pairs=2, scenario_id="s", seed=1)
    assert len(some) == 4 + 6
    assert set(some) <= set(pairs)
    assert planned_pairs(usable, cross_pairs=2, scenario_id="s", seed=1) == some
    others = {
        frozenset(planned_pairs(usable, cross_pairs=2, scenario_id="s", seed=n)) for n in range(9)
    }
    assert len(others) > 1
    assert (PromptRef("a", 1), PromptRef("a", 2)) in pairs
