"""Judgments without a score by respondent: by hand, and where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.missingness import missingness


def found(table: list[list[list[int]]]) -> tuple:
    """Of prompts × respondents × judgments, 1 where there is no score."""
    given = np.asarray(table)
    n_prompts, n_respondents, _ = given.shape
    prompt, who, _ = np.indices(given.shape)
    return missingness(
        given.astype(bool).ravel(), prompt.ravel(), who.ravel(),
        n_prompts=n_prompts, n_respondents=n_respondents,
    )  # fmt: skip


def test_shares_and_the_paired_difference_by_hand() -> None:
    # Six prompts, two respondents, two judgments each. The first: none scored on prompts 0 and 1,
    # one of two on prompts 2 to 5: mean (1 + 1 + 4 × .5) / 6 = 2/3. The second: all scored.
    first = [[1, 1], [1, 1], [1, 0], [0, 1], [1, 0], [0, 1]]
    one, other = found([[row, [0, 0]] for row in first])
    assert one.share.value == pytest.approx(2 / 3)
    assert (other.share.value, other.share.n) == (0.0, 6)
    assert other.share.has_interval  # Wilson's, of 0 of 6
    assert one.difference.value == pytest.approx(2 / 3)
    # All six differences have one sign, of two respondents: 2 of 2^6 arrangements are as extreme.
    assert one.difference.p == pytest.approx(2 / 64, abs=0.01)
    assert one.difference.verdict == "higher"
    assert one.difference.high <= 1.0
    assert other.difference is None  # the first has said it


def test_a_respondent_is_compared_with_the_others_on_the_prompts_of_both() -> None:
    rng = np.random.default_rng(3)
    answers = rng.random((12, 3, 5)) < np.asarray([0.9, 0.1, 0.1])[None, :, None]
    first, second, third = found(answers.astype(int).tolist())
    assert first.difference.verdict == "higher"
    expected = answers[:, 0].mean(axis=1) - answers[:, 1:].mean(axis=(1, 2))
    assert first.difference.value == pytest.approx(expected.mean())
    assert second.difference.value < 0 > third.difference.value


def test_nothing_missing_differs_nowhere_and_too_few_prompts_have_a_reason() -> None:
    for one in found(np.zeros((8, 3, 4), dtype=int).tolist()):
        assert (one.share.value, one.difference.value) == (0.0, 0.0)
        assert one.difference.verdict == "open"
    alone = missingness(
        np.zeros(4, dtype=bool), np.arange(4), np.zeros(4, dtype=np.int64),
        n_prompts=4, n_respondents=1,
    )  # fmt: skip
    assert alone[0].difference is None
    few = found(np.ones((3, 2, 2), dtype=int).tolist())
    assert few[0].difference.reason is not None


def test_a_respondent_differs_only_where_p_and_the_interval_say_so() -> None:
    # Of five respondents' answers to eight prompts, all judges decline the first's on three.
    # Rearranged, one of them has all three on 1 of 25 draws: p is .04 at most, respondents with
    # equal sums being told apart by chance. The interval holds 0.
    table = np.zeros((8, 5, 4), dtype=int)
    table[:3, 0] = 1
    one = found(table.tolist())[0].difference
    assert one.p < 0.05
    assert one.covers(0)
    assert one.verdict == "open"
    table[3, 0] = 1
    assert found(table.tolist())[0].difference.verdict == "higher"


def test_respondents_without_a_common_prompt_are_not_compared() -> None:
    one, _ = missingness(
        np.asarray([True, False]), np.asarray([0, 1]), np.asarray([0, 1]),
        n_prompts=2, n_respondents=2,
    )  # fmt: skip
    assert one.difference is not None
    assert not one.difference.is_defined
