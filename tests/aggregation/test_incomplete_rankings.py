"""Ranks of raters who ranked different responses, put on one footing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from areopagus.aggregation.ratings import Rankings, Ratings, make_ratings, ranked_among_all


def ranks_of(table: list[list[float | None]], prompt: list[int] | None = None) -> Ratings:
    """Ratings of ranks (raters, responses), None where not ranked."""
    cells = [
        (rater, response, -rank)
        for rater, row in enumerate(table)
        for response, rank in enumerate(row)
        if rank is not None
    ]
    rater, response, value = (np.array(part) for part in zip(*cells, strict=True))
    of = np.zeros(len(table[0]), dtype=int) if prompt is None else np.array(prompt)
    return make_ratings("overall", "rank", rater, response, of[response], value.astype(float))[0]


def test_complete_rankings_keep_their_ranks_as_given_whatever_the_way_of_ties() -> None:
    for row in ([1, 2, 3, 4], [1, 1, 3, 4], [1, 1, 2, 3], [1.5, 1.5, 3, 4], [2, 2, 3, 4]):
        given = ranks_of([[1, 2, 3, 4], row])
        found = ranked_among_all(given)
        assert found.value.tolist() == given.value.tolist()
        assert found.rankings == Rankings(2, 0, 0, 0)


def test_ranks_of_a_part_become_those_to_be_expected_among_all() -> None:
    # The best of two stands where the best of two of five is expected: 1 * 6 / 3 = 2, the other at
    # 4; of the one who ranked all five nothing changes.
    found = ranked_among_all(ranks_of([[1, 2, 3, 4, 5], [None, 1, None, 2, None]]))
    assert found.value.tolist() == [-1, -2, -3, -4, -5, -2, -4]
    assert found.rankings == Rankings(2, 1, 0, 0)


def test_the_mean_over_all_subsets_of_true_order_is_the_order_itself() -> None:
    table: list[list[float | None]] = [
        [shown.index(k) + 1 if k in shown else None for k in range(5)]
        for shown in itertools.combinations(range(5), 3)
    ]
    mean, counts = ranked_among_all(ranks_of(table)).mean_by_response(5)
    assert counts.tolist() == [6] * 5
    # Best of all: always first, 1 * 6 / 4 = 1.5; the rest by symmetry about 3.
    assert mean[0] == pytest.approx(-1.5)
    assert mean + mean[::-1] == pytest.approx([-6] * 5)
    assert (np.diff(mean) < 0).all()


def test_gapped_ranks_and_ranks_beyond_the_number_of_responses_are_an_order_and_counted() -> None:
    found = ranked_among_all(ranks_of([[1, 2, 3], [1, 2, 7], [2, 4, 4], [0.5, 2, 3]]))
    assert found.value.reshape(4, 3).tolist() == [
        [-1, -2, -3], [-1, -2, -3], [-1, -2.5, -2.5], [-1, -2, -3],
    ]  # fmt: skip
    assert found.rankings == Rankings(4, 0, 3, 2)


def test_a_rank_that_is_missing_from_a_sheet_shifts_nobody_else() -> None:
    # The sheet said 1 2 3 4 and the cell of the second is empty: 1 and 3, 4 of four, as 1, 2, 3.
    found = ranked_among_all(ranks_of([[1, 2, 3, 4], [1, None, 3, 4]]))
    assert found.value[4:].tolist() == pytest.approx([-1.25, -2.5, -3.75])
    assert found.rankings == Rankings(2, 1, 1, 0)


def test_only_prompts_with_an_odd_ranking_are_changed() -> None:
    given = ranks_of([[1, 2, 2, 1, 2], [2, 2, 4, 1, None]], prompt=[0, 0, 0, 1, 1])
    assert ranked_among_all(ranks_of([[1, 2, 2, 1, 2]], prompt=[0, 0, 0, 1, 1])).rankings == (
        Rankings(2, 0, 0, 0)
    )
    found = ranked_among_all(given)
    assert found.rankings == Rankings(4, 1, 1, 1)
    whole = make_ratings(
        "clarity", "score", given.rater, given.response, given.prompt, -given.value
    )
    assert ranked_among_all(whole[0]) is whole[0]
