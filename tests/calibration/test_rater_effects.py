"""Harsh, lenient and constant raters: who is named, against whom, and what has no figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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


def test_of_two_raters_one_constant_nothing_is_known_with_the_reason() -> None:
    table = world(2)
    table[0] = 5
    tau = pairwise_tau(ratings_of(table)).tau
    assert tau.reason == "in every pair of raters one side orders nothing"
    severity = effects(ratings_of(table), "ab")
    assert "fewer than two raters vary" in (severity[""]["deviation"].reason or "")
    assert set(severity) == {"", "a"}


def test_a_constant_rater_has_no_severity_and_does_not_move_the_others() -> None:
    table = world(3)
    table[0] -= 2
    with_constant = np.vstack([table, np.full(table.shape[1], 9.0)])
    one, two = effects(ratings_of(table), "abcd"), effects(ratings_of(with_constant), "abcd")
    last = two.pop("d")
    assert repr(two) == repr(one)  # nan is not nan
    assert last["deviation"].verdict == "constant"
    assert not last["deviation"].is_defined
    assert "no severity" in (last["deviation"].reason or "")
    assert next(iter(one)) == "a"  # the harshest first


def test_ranks_hold_no_level_and_constant_raters_are_named_all_the_same() -> None:
    ranks = -np.tile([1.0, 2.0, 3.0], (3, N_PROMPTS))
    ranks[2] = -1
    rater, response = np.repeat(np.arange(3), 24), np.tile(np.arange(24), 3)
    made = make_ratings("overall", "rank", rater, response, response // 3, ranks.ravel())[0]
    found = effects(made, "abc")
    assert "ranks hold no level" in (found[""]["deviation"].reason or "")
    assert found["c"]["deviation"].verdict == "constant"


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
        values = [found[who]["deviation"].value for who in (one, other)]
        assert values[0] == pytest.approx(values[1], abs=0.25)


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
