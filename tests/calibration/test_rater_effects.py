"""Harsh, lenient and constant raters: who is named, against whom, and what has no figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from areopagus.aggregation.concordance import concordance
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.kendall import pairwise_tau
from areopagus.aggregation.ratings import Ratings, make_ratings
from areopagus.calibration import agreement
from areopagus.calibration.people import add_rater_effects
from areopagus.records.estimates import Estimates, estimates_by, select

N_PROMPTS, N_RESPONSES = 8, 3


def ratings_of(table: np.ndarray) -> Ratings:
    """A table of raters x responses, three responses a prompt."""
    m, n = table.shape
    rater, response = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
    return make_ratings("overall", "score", rater, response, response // 3, table.ravel())[0]


def effects(ratings: Ratings, names: str) -> dict[str, dict[str, Estimate]]:
    """Rater to figures; "" holds why there are none."""
    out = Estimates()
    add_rater_effects(out, ratings, tuple(names))
    found = estimates_by(select(out.frame(), "raters"), ["rater"])
    return {keys["rater"] or "": figures for keys, figures in found}


def world(n_raters: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=N_PROMPTS * N_RESPONSES)
    return 5 + quality + rng.normal(size=(n_raters, len(quality)))


def test_of_two_raters_one_constant_every_figure_is_undefined_with_the_reason() -> None:
    table = world(2)
    table[0] = 5
    found = concordance(ratings_of(table))
    for name in (
        "w", "mean_spearman", "p", "icc_one", "icc_mean", "icc_absolute", "top_one", "same_order",
    ):  # fmt: skip
        number = getattr(found, name)
        assert not number.is_defined, name
        assert number.reason == "fewer than two raters vary: 1 of 2 give one value"
    assert np.isnan(found.chance_w)
    assert found.n_constant == 1
    tau = pairwise_tau(ratings_of(table)).tau
    assert tau.reason == "in every pair of raters one side orders nothing"
    severity = effects(ratings_of(table), "ab")
    assert "fewer than two raters vary" in (severity[""]["deviation"].reason or "")
    assert set(severity) == {"", "a", "b"}
    assert severity["b"]["share_tied"].value == 0.0  # known to be none, not unknown


def test_a_constant_rater_beside_others_changes_nothing_of_w_and_icc() -> None:
    table = world(3)
    with_constant = np.vstack([table, np.full(table.shape[1], 7.0)])
    one, two = (concordance(ratings_of(t)) for t in (table, with_constant))
    assert two.n_constant == 1
    assert two.w == one.w
    assert two.p == one.p
    assert (two.icc_one, two.icc_absolute, two.same_order) == (
        one.icc_one, one.icc_absolute, one.same_order,
    )  # fmt: skip
    assert two.chance_w == pytest.approx(1 / 3)
    # One who ties some prompts only stays.
    table[0, :9] = 5
    assert concordance(ratings_of(table)).n_constant == 0


def test_a_constant_rater_has_no_severity_and_does_not_move_the_others() -> None:
    table = world(3)
    table[0] -= 2
    with_constant = np.vstack([table, np.full(table.shape[1], 9.0)])
    one, two = effects(ratings_of(table), "abcd"), effects(ratings_of(with_constant), "abcd")
    last = two.pop("d")
    assert repr(two) == repr(one)  # nan is not nan
    assert last["deviation"].verdict == last["share_tied"].verdict == "constant"
    assert not last["deviation"].is_defined
    assert not last["shrunk"].is_defined
    assert "no severity" in (last["deviation"].reason or "")
    assert (last["share_tied"].value, last["share_tied"].n) == (1.0, N_PROMPTS)
    assert next(iter(one)) == "a"  # the harshest first


def test_ranks_hold_no_level_and_constant_raters_are_named_all_the_same() -> None:
    ranks = -np.tile([1.0, 2.0, 3.0], (3, N_PROMPTS))
    ranks[2] = -1
    rater, response = np.repeat(np.arange(3), 24), np.tile(np.arange(24), 3)
    made = make_ratings("overall", "rank", rater, response, response // 3, ranks.ravel())[0]
    found = effects(made, "abc")
    assert "ranks hold no level" in (found[""]["deviation"].reason or "")
    assert found["c"]["share_tied"].verdict == "constant"


def test_deviation_and_shrunk_severity_have_one_origin() -> None:
    """Four usual raters and one harsh by two points, on ten prompts."""
    rng = np.random.default_rng(4)
    truth = rng.normal(6, 1, size=40)
    own = np.array([0.05, 0.05, -0.05, -0.05, -2.0])
    values = truth + own[:, None] + rng.normal(scale=0.4, size=(5, 40))
    rater, response = np.repeat(np.arange(5), 40), np.tile(np.arange(40), 5)
    ratings, _ = make_ratings("overall", "score", rater, response, response // 4, values.ravel())
    found = effects(ratings, "abcde")
    assert [who for who, row in found.items() if row["deviation"].verdict == "harsh"] == ["e"]
    for who, row in found.items():
        # hardly shrunk with forty ratings each; zero over all five would be .4 higher
        assert row["shrunk"].value == pytest.approx(row["deviation"].value, abs=0.06), who
        assert "usual raters" in row["shrunk"].method


def test_raters_of_groups_that_never_met_are_measured_within_theirs() -> None:
    rng = np.random.default_rng(6)
    rater, response, values = [], [], []
    for group, level in ((0, 0.0), (1, 3.0)):
        for k, own in enumerate((0.5, -0.5, 0.0)):
            for r in range(30):
                rater.append(3 * group + k)
                response.append(30 * group + r)
                values.append(5 + level + own + rng.normal(scale=0.3))
    codes = np.array(response)
    ratings, _ = make_ratings(
        "overall", "score", np.array(rater), codes, codes // 3, np.array(values)
    )
    found = effects(ratings, "abcdef")
    for one, other in zip("abc", "def", strict=True):
        shrunk = found[one]["shrunk"].value
        assert shrunk == pytest.approx(found[other]["shrunk"].value, abs=0.25)
        assert shrunk == pytest.approx(found[one]["deviation"].value, abs=0.25)


def test_a_rater_who_is_harsh_on_one_criterion_only_is_said_to_be_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    shift = {("r1", "clarity"): -2, ("r1", "depth"): 2, ("r2", "clarity"): -2, ("r2", "depth"): -2}
    rows = [
        {
            "rater_id": rater,
            "prompt_id": f"p{prompt}",
            "response_id": f"p{prompt}-{response}",
            "criterion": criterion,
            "score": 3 + 2 * response + shift.get((rater, criterion), 0) + int(rng.integers(2)),
        }
        for rater in ("r1", "r2", "r3", "r4", "r5")
        for prompt in range(20)
        for response in range(3)
        for criterion in ("clarity", "depth")
    ]
    file = tmp_path / "humans.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    text = " ".join(agreement(file, scale=(1, 10)).text.split())
    assert "raters harsh: r1 (clarity), r2; lenient: r1 (depth)" in text
