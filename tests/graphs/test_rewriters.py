"""Who rewrites which prompt: equal batches, drawn by the seed, whatever the order of arrival."""

from __future__ import annotations

from collections import Counter

import pytest

from areopagus.errors import InputError
from areopagus.graphs.reframing import assign_rewriters
from areopagus.testing import ScriptedBackend

IDS = [f"p{number}" for number in range(30)]


A, B, C = (ScriptedBackend("x", name=f"scripted/{letter}") for letter in "abc")


def writers(seed: int = 0, ids: list[str] = IDS) -> dict[str, str]:
    assigned = assign_rewriters(ids, [A, B, C], seed=seed)
    return {name: who.rewriter.spec.name for name, who in assigned.items()}


def test_batches_are_equal_as_in_the_paper() -> None:
    assert sorted(Counter(writers().values()).values()) == [10, 10, 10]
    assert sorted(Counter(writers(ids=IDS[:8]).values()).values()) == [2, 3, 3]
    assert writers(ids=IDS[:1]).keys() == {"p0"}


def test_the_order_of_prompts_and_models_changes_nothing() -> None:
    expected = writers()
    for ids in (IDS[::-1], sorted(IDS, key=lambda name: name[::-1]), [*IDS, *IDS]):
        assert writers(ids=ids) == expected
    turned = assign_rewriters(IDS, [C, A, B], seed=0)
    assert {name: who.rewriter.spec.name for name, who in turned.items()} == expected


def test_the_seed_draws_and_is_the_same_for_ever() -> None:
    assert writers(1) != writers(0)
    assert [writers()[name][-1] for name in IDS[:6]] == list("baccaa")


def test_over_seeds_every_model_gets_the_larger_batch_alike() -> None:
    larger = Counter(
        Counter(writers(seed, IDS[:4]).values()).most_common(1)[0][0] for seed in range(600)
    )
    # binomial with p = 1/3: 200 ± 4 · 11.5
    assert all(154 <= count <= 246 for count in larger.values())
    first = Counter(writers(seed)["p0"] for seed in range(600))
    assert all(154 <= count <= 246 for count in first.values())


def test_the_reviewer_is_another_model_than_the_writer() -> None:
    for who in assign_rewriters(IDS, [A, B, C], seed=3).values():
        assert who.reviewer is not None
        assert who.reviewer.spec.model != who.rewriter.spec.model
    alone = assign_rewriters(IDS, [A], seed=3)
    assert {who.reviewer for who in alone.values()} == {None}


def test_two_backends_of_one_model_are_not_independent() -> None:
    twin = ScriptedBackend("x", name="scripted/a", temperature=1.0)
    assert {who.reviewer for who in assign_rewriters(IDS, [A, twin]).values()} == {None}


def test_reviewers_of_their_own_are_taken_first_and_a_stand_in_never() -> None:
    stand_in = ScriptedBackend("x", name="offline/rewriter")
    for who in assign_rewriters(IDS, [A, stand_in], reviewers=[B, stand_in]).values():
        assert who.reviewer is B
    mixed = assign_rewriters(IDS, [A, stand_in])
    by_writer = {who.rewriter.spec.name: who.reviewer for who in mixed.values()}
    assert by_writer == {"scripted/a": None, "offline/rewriter": A}


def test_without_a_rewriter_there_is_nothing_to_deal_out() -> None:
    with pytest.raises(InputError, match="at least one rewriter"):
        assign_rewriters(IDS, [])
    assert assign_rewriters([], [A]) == {}
