"""The interval of a panel mean with personas and models as facets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.generalizability import g_study
from areopagus.aggregation.panel_interval import (
    METHODS,
    MODELS_ALONE,
    NO_VARIATION,
    NOTHING_SCORED,
    ONE_JUDGE,
    ONE_MODEL,
    ONE_PERSONA,
    REASONS,
    TOO_SPARSE,
    TWO_FACETS,
    TWO_MODELS,
    FacetIntervals,
    cell_layout,
    cell_means,
    facet_intervals,
)


def panel_interval(scores: np.ndarray, *, persona: np.ndarray, model: np.ndarray) -> FacetIntervals:
    """Intervals of panels of one criterion, scores of shape (responses, judgments)."""
    cell_persona, cell_model, to_cell = cell_layout(persona, model)
    mask = np.isfinite(scores).astype(float)
    cells = cell_means(np.nan_to_num(scores)[:, None, :], mask, to_cell)
    return facet_intervals(cells, mask @ to_cell, cell_persona, cell_model)


def grid(personas: int, models: int) -> tuple[np.ndarray, np.ndarray]:
    persona, model = np.divmod(np.arange(personas * models), models)
    return persona, model


def test_balanced_panel_agrees_with_mean_squares_by_hand() -> None:
    # 2 personas x 3 models: [[4, 5, 6], [6, 9, 6]]; grand mean 6
    # persona means 5, 7 -> SS_P = 3(1+1) = 6, MS_P = 6
    # model means 5, 7, 6 -> SS_M = 2(1+1+0) = 4, MS_M = 2
    # SS = 4+1+0+0+9+0 = 14, SS_e = 14-4-6 = 4, MS_e = 2
    # s2_e = 2, s2_P = (6-2)/3 = 4/3, s2_M = (2-2)/2 = 0
    # Var = (4/3)/2 + 0/3 + 2/6 = 1
    persona, model = grid(2, 3)
    found = panel_interval(np.array([[4.0, 5, 6, 6, 9, 6]]), persona=persona, model=model)
    assert found.components[0, 0] == pytest.approx([4 / 3, 0, 2], abs=1e-12)
    # MS_P = 6, MS_M = 2, MS_e = 2 with weights 1/6 each, -1/6 for MS_e:
    # df = 1 / (1^2/1 + (1/3)^2/2 + (1/3)^2/2) = 1 / (10/9) = .9 -> raised to min(P, M) - 1 = 1
    assert found.df[0, 0] == pytest.approx(1)
    half = stats.t.ppf(0.975, 1)
    assert found.low[0, 0] == pytest.approx(6 - half)
    assert found.high[0, 0] == pytest.approx(6 + half)
    assert METHODS[found.method[0]] == TWO_FACETS


def test_components_of_ragged_panels_agree_with_an_explicit_expectation_matrix() -> None:
    # independent route: the expectation of y'Ay is trace(A V) for each variance matrix V
    rng = np.random.default_rng(3)
    persona, model = grid(5, 3)
    scores = rng.normal(6, 2, (20, 15))
    scores[rng.random(scores.shape) < 0.2] = np.nan
    found = panel_interval(scores, persona=persona, model=model)
    for row in range(20):
        kept = np.isfinite(scores[row])
        y = scores[row, kept]
        n = len(y)
        same_persona = (persona[kept][:, None] == persona[kept]).astype(float)
        same_model = (model[kept][:, None] == model[kept]).astype(float)
        mean = np.full((n, n), 1 / n)
        forms = [
            same_persona / same_persona.sum(axis=1) - mean,
            same_model / same_model.sum(axis=1) - mean,
            np.eye(n) - mean,
        ]
        matrices = [same_persona, same_model, np.eye(n)]
        system = np.array([[np.trace(form @ v) for v in matrices] for form in forms])
        expected = np.linalg.solve(system, [y @ form @ y for form in forms])
        assert found.components[row, 0] == pytest.approx(expected, abs=1e-9)


def test_a_response_that_one_model_scored_gets_the_t_interval_over_personas() -> None:
    persona, model = grid(4, 2)
    scores = np.array([[3.0, np.nan, 5, np.nan, 6, np.nan, 8, np.nan]])
    found = panel_interval(scores, persona=persona, model=model)
    low, high = stats.t.interval(0.95, 3, 5.5, stats.sem([3, 5, 6, 8]))
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx((low, high))
    assert METHODS[found.method[0]] == ONE_MODEL


def test_one_persona_on_several_models_says_so() -> None:
    found = panel_interval(np.array([[3.0, 5, 7]]), persona=np.zeros(3, int), model=np.arange(3))
    assert METHODS[found.method[0]] == ONE_PERSONA
    assert found.df[0, 0] == 2


def test_a_part_in_which_no_persona_stands_twice_takes_personas_into_the_rest() -> None:
    persona, model = np.arange(6), np.array([0, 0, 1, 1, 2, 2])
    found = panel_interval(np.array([[6.0, 8, 3, 5, 9, 11]]), persona=persona, model=model)
    # Means by model 7, 4 and 10, of all 7. SS between 2 (0 + 3^2 + 3^2) = 36 with 2 df, within
    # 2 + 2 + 2 with 3 df: mean squares 18 and 2, n_0 = (6 - 12/6) / 2 = 2, s2_M = 16 / 2 = 8.
    # Var = 8 (3/9) + 2 / 6 = 3, all of it from the 2 df between: half width t(2) sqrt(3).
    assert found.components[0, 0, 1:] == pytest.approx([8.0, 2.0])
    assert np.isnan(found.components[0, 0, 0])
    half = 4.3026527297 * 3**0.5
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx((7 - half, 7 + half))
    assert METHODS[found.method[0]] == MODELS_ALONE


def test_unequal_groups_of_a_part_against_the_variance_components_of_a_g_study() -> None:
    rng = np.random.default_rng(8)
    persona, model = np.arange(9), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    scores = rng.normal(5, 1, (20, 9)) + rng.normal(0, 1, (20, 3))[:, model]
    found = panel_interval(scores, persona=persona, model=model)
    for row in range(20):
        study = g_study(scores[row], {"M": model})
        expected = [study.components["M"], study.components["residual"]]
        assert found.components[row, 0, 1:] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([np.nan] * 6, NOTHING_SCORED),
        ([7, *[np.nan] * 5], ONE_JUDGE),
        ([7, 4, *[np.nan] * 4], TWO_MODELS),
        ([7, 5, np.nan, 4, 6, np.nan], TWO_MODELS),
        ([7, 7, np.nan, 7, 7, np.nan], TWO_MODELS),
        ([7, np.nan, np.nan, np.nan, 4, 5], TOO_SPARSE),
        ([7, 7, 7, 7, 7, 7], NO_VARIATION),
        ([0.1] * 6, NO_VARIATION),
    ],
)
def test_what_cannot_be_estimated_is_undefined_with_the_reason(
    row: list[float], reason: str
) -> None:
    persona, model = grid(2, 3)
    found = panel_interval(np.array([row]), persona=persona, model=model)
    assert np.isnan([found.low[0, 0], found.high[0, 0], found.df[0, 0]]).all()
    assert REASONS[found.reason[0, 0]] == reason


def test_repeats_of_one_judge_never_make_an_interval() -> None:
    found = panel_interval(
        np.array([[4.0, 5, 6, 7]]), persona=np.zeros(4, int), model=np.zeros(4, int)
    )
    assert REASONS[found.reason[0, 0]] == ONE_JUDGE


def test_repeats_do_not_narrow_the_interval_as_new_judges_would() -> None:
    rng = np.random.default_rng(4)
    persona, model = grid(10, 3)
    scores = rng.normal(6, 1, (50, 30))
    once = panel_interval(scores, persona=persona, model=model)
    fourfold = panel_interval(
        np.tile(scores, 4), persona=np.tile(persona, 4), model=np.tile(model, 4)
    )
    assert fourfold.low == pytest.approx(once.low)
    assert fourfold.df == pytest.approx(once.df)


def test_unequal_repeats_centre_the_interval_on_the_mean_of_all_judgments() -> None:
    persona = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    model = np.array([0, 0, 1, 0, 1, 0, 1, 2])
    scores = np.array([[2.0, 4, 5, 6, 9, 7, 5, 8]])
    found = panel_interval(scores, persona=persona, model=model)
    assert (found.low[0, 0] + found.high[0, 0]) / 2 == pytest.approx(scores.mean())


def test_shifts_move_it_scales_stretch_it_and_relabelling_leaves_it() -> None:
    rng = np.random.default_rng(5)
    persona, model = grid(6, 3)
    scores = rng.normal(6, 1, (10, 18))
    scores[rng.random(scores.shape) < 0.1] = np.nan
    base = panel_interval(scores, persona=persona, model=model)
    moved = panel_interval(3 * scores + 7, persona=persona, model=model)
    assert moved.low == pytest.approx(3 * base.low + 7)
    order = rng.permutation(18)
    shuffled = panel_interval(
        scores[:, order], persona=(5 - persona)[order], model=(model + 1)[order] % 3
    )
    assert shuffled.high == pytest.approx(base.high)


def test_shared_model_severity_widens_it_beyond_that_of_independent_raters() -> None:
    rng = np.random.default_rng(6)
    persona, model = grid(10, 3)
    scores = rng.normal(0, 1, (4000, 3))[:, model] + rng.normal(0, 0.5, (4000, 30))
    found = panel_interval(scores, persona=persona, model=model)
    covered = (found.low[:, 0] <= 0) & (found.high[:, 0] >= 0)
    assert covered.mean() == pytest.approx(0.95, abs=0.02)
    naive = np.abs(scores.mean(axis=1)) <= stats.t.ppf(0.975, 29) * stats.sem(scores, axis=1)
    assert naive.mean() < 0.6
