"""Ensemble scores of a panel."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from areopagus.aggregation import ensemble
from areopagus.aggregation.ensemble import PanelAggregate, aggregate_panel
from areopagus.aggregation.panel_interval import BELOW_QUORUM
from areopagus.errors import InputError

NAN = float("nan")


def panel(personas: int = 10, models: int = 3) -> dict[str, Any]:
    persona, model = np.divmod(np.arange(personas * models), models)
    return {
        "persona": persona,
        "model": model,
        "axis": np.where(persona < personas / 2, "disciplinary", "ideological").tolist(),
        "scale": (1, 10),
        "planned": personas * models,
    }


def random_scores(rows: int, seed: int = 0, missing: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, 11, (rows, 30, 5)).astype(float)
    scores[rng.random((rows, 30)) < missing] = NAN
    return scores


def single(rows: list[list[float]], **changes: Any) -> PanelAggregate:
    """Aggregates rows of one-criterion scores by 2 personas x 2 models."""
    return aggregate_panel(np.array(rows, dtype=float)[:, :, None], **{**panel(2, 2), **changes})


def test_every_figure_agrees_with_the_standard_library_and_scipy() -> None:
    scores = random_scores(40)
    found = aggregate_panel(scores, **panel(), quorum=0.5)
    persona = panel()["persona"]
    for row in range(40):
        kept = np.isfinite(scores[row, :, 0])
        composite = scores[row, kept].mean(axis=1)
        assert found.n_scored[row] == kept.sum()
        assert found.composite[row] == pytest.approx(np.mean(scores[row, kept]))
        assert found.composite_median[row] == pytest.approx(statistics.median(composite))
        assert found.composite_sd[row] == pytest.approx(statistics.stdev(composite))
        assert found.composite_trimmed_mean[row] == pytest.approx(stats.trim_mean(composite, 0.1))
        for k in range(5):
            column = scores[row, kept, k]
            assert found.mean[row, k] == pytest.approx(statistics.fmean(column))
            assert found.median[row, k] == pytest.approx(statistics.median(column))
            assert found.sd[row, k] == pytest.approx(statistics.stdev(column))
            assert found.trimmed_mean[row, k] == pytest.approx(stats.trim_mean(column, 0.1))
        for p in range(10):
            own = scores[row, kept & (persona == p)]
            assert found.by_persona[row, p] == pytest.approx(own.mean(), nan_ok=True)


def test_below_the_quorum_there_is_no_headline_figure_but_a_reason() -> None:
    # 20 of 30 is exactly two thirds and enough; 19 is not
    scores = np.full((2, 30, 5), 6.0)
    scores[:, ::2] = 8.0
    scores[0, 20:] = NAN
    scores[1, 19:] = NAN
    found = aggregate_panel(scores, **panel())
    assert found.inconclusive.tolist() == [False, True]
    assert found.composite[0] == 7
    assert np.isnan(found.composite[1])
    assert np.isnan(found.mean[1]).all()
    assert np.isnan(found.composite_median[1])
    assert found.reason[0] is None
    assert found.reason[1] == "19 of 30 planned judgments scored, below the quorum of 67%"
    assert found.composite_interval_reason[1] == BELOW_QUORUM
    assert found.by_model[1, 0] == pytest.approx(7, abs=0.2)
    assert found.composite_sd[1] > 0


def test_a_response_that_nobody_scored_is_nan_everywhere() -> None:
    found = single([[NAN] * 4, [5, 6, 7, 8]], abstained=[4, 0])
    assert found.inconclusive.tolist() == [True, False]
    assert found.reason[0] == "no judgment was scored of 4 planned"
    assert np.isnan(found.by_persona[0]).all()
    assert np.isnan(found.composite_sd[0])
    assert found.disagreement[0] == "undefined"
    assert found.share_abstained.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ([5, 5, 5, 5], "low"),
        # sd of 5, 7, 5, 7 is sqrt(4/3) = 1.155, .128 of nine points
        ([5, 7, 5, 7], "moderate"),
        # sd of 3, 7, 3, 7 is 2.309, .257 of nine points
        ([3, 7, 3, 7], "high"),
        # axis means 3 and 7: .444 of the width, no noise inside
        ([3, 3, 7, 7], "split"),
        # axis means 4 and 6, .222 of the width, standard error sqrt(9 + 9) = 4.2: noise
        ([1, 7, 3, 9], "high"),
        ([5, NAN, NAN, NAN], "undefined"),
    ],
)
def test_disagreement_has_one_word(row: list[float], label: str) -> None:
    assert single([row], quorum=0).disagreement[0] == label


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = random_scores(25)
    whole = aggregate_panel(scores, **panel())
    monkeypatch.setattr(ensemble, "CHUNK_ROWS", 7)
    pieces = aggregate_panel(scores, **panel())
    for name in ("composite", "median", "sd", "low", "by_axis", "composite_df"):
        np.testing.assert_allclose(getattr(whole, name), getattr(pieces, name), rtol=1e-12)
    assert whole.disagreement.tolist() == pieces.disagreement.tolist()


def test_faults_are_reported_together() -> None:
    with pytest.raises(InputError) as caught:
        single([[5, 11, 5, 5]], scale=(1, 10), trim=0.5, quorum=2, axis=["a"])
    fields = {fault.field for fault in caught.value.faults if not isinstance(fault, str)}
    assert fields == {"scores", "trim", "quorum", "axis"}


def test_a_partly_scored_judgment_is_refused() -> None:
    scores = np.full((1, 4, 2), 5.0)
    scores[0, 0, 1] = NAN
    with pytest.raises(InputError, match="all criteria or in none, got 1 judgments partly"):
        aggregate_panel(scores, **panel(2, 2))


def test_more_votes_than_planned_are_refused_by_row() -> None:
    with pytest.raises(InputError, match="response 1"):
        single([[5, 5, 5, NAN], [5, 5, 5, 5]], abstained=[1, 1])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), missing=st.floats(0, 1))
def test_the_order_of_judges_and_responses_does_not_matter(seed: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    scores = random_scores(6, seed, missing)
    base = panel()
    order, rows = rng.permutation(30), rng.permutation(6)
    mixed = {
        **base,
        "persona": base["persona"][order],
        "model": base["model"][order],
        "axis": [base["axis"][j] for j in order],
    }
    one = aggregate_panel(scores, **base)
    two = aggregate_panel(scores[rows][:, order], **mixed)
    for name in ("composite", "composite_low", "composite_trimmed_mean", "by_persona", "sd"):
        np.testing.assert_allclose(getattr(one, name)[rows], getattr(two, name), atol=1e-9)
    assert one.disagreement[rows].tolist() == two.disagreement.tolist()
    assert one.composite_interval_reason[rows].tolist() == two.composite_interval_reason.tolist()
