"""Agreement of people, against the estimators on dense tables and against hand calculations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import figure

from areopagus.aggregation.agreement import kendall_w_uncorrected
from areopagus.aggregation.jackknife import ratio, ratio_difference
from areopagus.aggregation.kendall import pairwise_tau
from areopagus.aggregation.ratings import Ratings, by_place, make_ratings, prompt_tables
from areopagus.calibration import Agreement, agreement
from areopagus.calibration.paper import add_as_published
from areopagus.records.estimates import Estimates
from areopagus.records.humans import HumanTable
from areopagus.reports.document import Table
from areopagus.reports.text import render_text


def from_dense(table: np.ndarray, prompts: np.ndarray, kind: str = "score") -> Ratings:
    """Ratings of a table (raters, responses)."""
    rater, response = np.nonzero(np.isfinite(table))
    made, repeated = make_ratings(
        "overall",
        kind,
        rater,
        response,
        prompts[response],
        table[rater, response],  # type: ignore[arg-type]
    )
    assert repeated == 0
    return made


def dense(seed: int, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    prompts = np.repeat(np.arange(9), [4, 5, 4, 6, 4, 5, 6, 3, 4])
    quality = rng.normal(size=prompts.size)
    table = np.round(5 + quality + rng.normal(size=(6, prompts.size)))
    table[rng.random(table.shape) < missing] = np.nan
    return table, prompts


def test_the_papers_w_and_tau_take_raw_ranks() -> None:
    ranks = np.array([[1, 1, 2, 3], [1, 2, 2, 4], [2, 1, 3, 4]], dtype=float)
    found, constant = Estimates(), Estimates()
    add_as_published(found, from_dense(-ranks, np.zeros(4, dtype=np.int64), "rank"))
    assert figure(found, "paper", "w_raw_ranks").value == pytest.approx(
        kendall_w_uncorrected(ranks)
    )
    tau = figure(found, "paper", "tau_concatenated")
    assert tau.value == pytest.approx(
        pairwise_tau(from_dense(ranks, np.zeros(4, dtype=np.int64))).tau.value
    )
    add_as_published(constant, from_dense(-np.ones((3, 4)), np.zeros(4, dtype=np.int64), "rank"))
    assert figure(constant, "paper", "alpha_raw_ranks").value == 1.0  # as released
    assert np.isnan(figure(constant, "paper", "tau_concatenated").value)


def test_tables_hold_every_rating_once_and_by_place_forget_who_rated() -> None:
    table, prompts = dense(5, 0.5)
    placed = by_place(from_dense(table, prompts))
    assert placed is not None
    for column, values in zip(placed.T, table.T[np.isfinite(table).any(axis=0)], strict=True):
        assert sorted(column[np.isfinite(column)]) == sorted(values[np.isfinite(values)])
    assert placed.shape[0] == np.isfinite(table).sum(axis=0).max()
    parts = prompt_tables(from_dense(table, prompts))
    assert sum(int(np.isfinite(part.values).sum()) for part in parts) == np.isfinite(table).sum()


def test_a_ratio_and_a_difference_by_hand() -> None:
    top, bottom = np.array([1.0, 2, 3, 1, 2, 3, 0]), np.array([2.0, 2, 4, 2, 4, 4, 0])
    found = ratio(top, bottom, method="m")
    assert (found.value, found.n) == (12 / 18, 6)  # the empty prompt does not count
    same = ratio_difference((top, bottom), (top, bottom), method="m")
    assert same.value == 0
    assert not same.has_interval
    assert ratio(top[:5], bottom[:5], method="m").reason == (
        "5 prompts: an interval needs at least 6"
    )


def test_the_published_agreement_of_summevals_experts_is_found_and_printed(
    summeval_experts: Agreement,
) -> None:
    for criterion, alpha in (
        ("coherence", 0.576), ("consistency", 0.899), ("fluency", 0.738), ("relevance", 0.493),
        ("all", 0.733),
    ):  # fmt: skip
        found = figure(summeval_experts, "people", "alpha_interval", criterion=criterion)
        assert round(found.value, 3) == alpha
    assert "0.58 [" in " ".join(summeval_experts.text.split())
    summary = render_text(summeval_experts.document())
    assert "agreement is better than chance on" in summary[0]


def test_an_empty_table_says_nothing_and_does_not_fail() -> None:
    from areopagus.records.humans.table import TableBuilder

    empty: HumanTable = TableBuilder(HumanTable).build()
    found = agreement(empty)
    assert figure(found, "matched", "n_ratings").value == 0
    assert "nobody's ratings count" in found.text


def test_one_missing_rating_of_one_criterion_is_counted_and_each_figure_has_one_value(
    tmp_path: Path,
) -> None:
    """Conceptual clarity was complete, so that the design was called crossed."""
    rng = np.random.default_rng(2)
    lines = ["rater_id,prompt_id,response_id,clarity,depth"]
    for g in range(8):
        quality = rng.normal(5, 1.5, 3)
        for who in "abcd":
            for r in range(3):
                clarity, depth = np.clip(np.round(quality[r] + rng.normal(size=2)), 1, 10)
                is_missing = (g, who, r) == (3, "b", 1)
                lines.append(f"{who},q{g},q{g}r{r},{clarity},{'NA' if is_missing else depth}")
    path = tmp_path / "h.csv"
    path.write_text("\n".join(lines) + "\n")
    report = agreement(path, scale=(1, 10))
    trust = dict(report.document().trust)
    assert trust["design"] == (
        "4 raters x 8 prompts x 3 responses. Every rater rated every response, except one rating."
    )
    (table,) = [part for part in report.document().sections[0].parts if isinstance(part, Table)]
    titles = [column.title for column in table.columns]
    alphas, worths = (
        [row[titles.index(name)] for row in table.rows if row[0] in ("clarity", "depth")]
        for name in ("alpha", "reliability of the mean")
    )
    low, high = (f"{pick(alphas):.2f}" for pick in (min, max))
    assert trust["people"] == (
        f"by criterion, alpha {low} to {high}; reliability of the mean of a response's raters "
        f"{min(worths):.2f} to {max(worths):.2f}"
    )
