"""Severity, maps, weights, prediction-powered means and conformal widths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.conformal import conformal_width, isotonic_map
from areopagus.aggregation.prediction_powered import ppi_mean
from areopagus.aggregation.severity import severity
from areopagus.aggregation.stacking import stack_judges

NAN = float("nan")


def test_severity_of_six_judgments_by_least_squares() -> None:
    # checked against numpy.linalg.lstsq with dummies below
    y, r, j = [7, 5, 6, 8, 6, 4], [0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 2, 1]
    found = severity(y, r, j, shrink=False)
    assert found.adjusted == pytest.approx([6.6667, 6.3333, 5.0], abs=1e-4)
    assert found.severity == pytest.approx([0, -1.3333, 1.3333], abs=1e-4)
    assert found.raw.tolist() == [6, 7, 5]
    dummies = np.hstack([np.eye(3)[r], np.eye(3)[j]])
    fitted = dummies @ np.linalg.lstsq(dummies, np.array(y, float), rcond=None)[0]
    assert found.adjusted[r] + found.severity[j] == pytest.approx(fitted)


def test_in_a_complete_design_severity_does_not_change_the_order() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(8, 5)) + rng.normal(0, 2, 5)
    r, j = (index.ravel() for index in np.indices(scores.shape))
    for shrink in (True, False):
        found = severity(scores.ravel(), r, j, shrink=shrink)
        assert found.adjusted == pytest.approx(found.raw)


def test_shrunk_severities_solve_the_mixed_model_equations() -> None:
    rng = np.random.default_rng(2)
    r, j = rng.integers(0, 12, 90), rng.integers(0, 6, 90)
    y = rng.normal(size=12)[r] + rng.normal(0, 1, 6)[j] + rng.normal(0, 0.5, 90)
    found = severity(y, r, j)
    z, x = np.eye(6)[j], np.eye(12)[r]
    system = np.block([[x.T @ x, x.T @ z], [z.T @ x, z.T @ z + found.shrinkage * np.eye(6)]])
    expected = np.linalg.solve(system, np.concatenate([x.T @ y, z.T @ y]))
    assert found.severity == pytest.approx(expected[12:])
    assert found.adjusted == pytest.approx(expected[:12])
    assert 0 < found.shrinkage < 1


def test_judges_without_common_responses_are_not_compared() -> None:
    found = severity(
        [5, 6, 4, 7, 3, 8], list("aabbcc"), ["x", "y", "x", "y", "u", "v"], shrink=False
    )
    assert found.n_components == 2
    assert found.reason is not None
    assert np.isfinite(found.severity_difference("x", "y"))
    with pytest.raises(ValueError, match="not connected"):
        found.severity_difference("x", "u")
    with pytest.raises(ValueError, match="not connected"):
        found.adjusted_difference("a", "c")


def test_one_judge_a_response_separates_nothing() -> None:
    found = severity([5, 6, 7], ["a", "b", "c"], ["x", "x", "y"])
    assert np.isnan(found.severity).all()
    assert np.isnan(found.adjusted).all()
    assert (
        found.reason == "every response was judged by one judge only: severity cannot be separated"
    )


def test_adjacent_violators_are_pooled() -> None:
    found = isotonic_map(np.arange(7), [1, 2, 6, 2, 5, 7, 3])
    assert found.predict(np.arange(7)) == pytest.approx([1, 2, 4, 4, 5, 5, 5])
    assert found.note is not None


def test_the_map_agrees_with_scikit_learn_and_stays_on_the_scale() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(3)
    x, y = rng.integers(1, 11, 80).astype(float), rng.normal(6, 3, 80)
    referee = isotonic.IsotonicRegression(out_of_bounds="clip", y_min=1, y_max=10).fit(x, y)
    new = np.linspace(-2, 14, 50)
    found = isotonic_map(x, y, scale=(1, 10))
    assert found.predict(new) == pytest.approx(referee.predict(new))
    assert found.note is None
    assert np.isnan(found.predict([NAN])).all()


def test_the_published_prediction_powered_example() -> None:
    found = ppi_mean([3, 5, 4, 6], [4, 5, 5, 7], [5, 6, 4, 7, 5, 6])
    assert found.weight == pytest.approx(0.584135, abs=1e-6)
    assert found.interval.value == pytest.approx(4.646034, abs=1e-6)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (3.919651, 5.372416), abs=1e-6
    )


def test_clusters_of_one_come_close_to_independent_responses() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(6, 1, 400)
    y, f = truth + rng.normal(0, 0.5, 400), truth + rng.normal(0, 0.5, 400)
    plain = ppi_mean(y[:200], f[:200], f[200:])
    clustered = ppi_mean(
        y[:200], f[:200], f[200:], groups=range(200), unlabelled_groups=range(200, 400)
    )
    assert clustered.interval.high == pytest.approx(plain.interval.high, abs=0.01)
    assert clustered.interval.high - clustered.interval.low < (
        clustered.labelled_only.high - clustered.labelled_only.low
    )


def test_a_prompt_on_both_sides_brings_its_covariance() -> None:
    rng = np.random.default_rng(5)
    prompt = np.repeat(np.arange(20), 3)
    f = rng.normal(size=20)[prompt] + rng.normal(0, 0.1, 60)
    y = rng.normal(size=20)[prompt] - f
    other = f + rng.normal(0, 0.1, 60)
    shared = ppi_mean(y + 2 * f, f, other, groups=prompt, unlabelled_groups=prompt)
    apart = ppi_mean(y + 2 * f, f, other, groups=prompt, unlabelled_groups=prompt + 100)
    assert shared.interval.value == apart.interval.value
    assert shared.interval.high != pytest.approx(apart.interval.high)


def test_a_useless_panel_gets_no_weight() -> None:
    found = ppi_mean([1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3])
    assert found.weight == 0
    assert found.interval.value == 2.5


def test_few_groups_give_no_prediction_powered_interval() -> None:
    found = ppi_mean(
        [1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3], groups=[0, 0, 1, 1], unlabelled_groups=[2, 3, 4]
    )
    assert np.isnan(found.interval.low)
    assert found.interval.reason == "fewer than 6 labelled groups"


def test_the_conformal_width_is_an_order_statistic() -> None:
    # nine misses 1..9 at 90%: ceil(10 x .9) = 9th smallest
    assert conformal_width(np.zeros(9), np.arange(1, 10)).width == 9
    # 19 misses at 80%: ceil(20 x .8) = 16th
    assert conformal_width(np.zeros(19), np.arange(1, 20), level=0.8).width == 16
    too_few = conformal_width(np.zeros(8), np.arange(8))
    assert too_few.width == float("inf")
    assert too_few.reason == "8 pairs, of which 9 are needed"
    assert conformal_width(np.zeros(18), np.arange(18), level=0.95).reason is not None
    assert np.isnan(conformal_width([NAN], [1]).width)


def test_one_pair_a_prompt_is_drawn() -> None:
    found = conformal_width(
        np.zeros(20), np.repeat(np.arange(10), 2), groups=np.repeat(np.arange(10), 2)
    )
    assert (found.n, found.unit, found.width) == (10, "prompt", 9)


def panel_world(seed: int, prompts: int = 12, useless: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(prompts), 5)
    quality = rng.normal(size=len(prompt))
    scores = quality[:, None] + rng.normal(0, 1, (len(prompt), 8))
    scores[:, :useless] = rng.normal(0, 3, (len(prompt), useless))
    return scores, quality + rng.normal(0, 0.5, len(prompt)), prompt


def test_equal_weights_stay_when_judges_are_exchangeable() -> None:
    found = stack_judges(*panel_world(1))
    assert found.adopted == "equal"
    assert found.weights == pytest.approx(np.full(8, 1 / 8))
    assert min(found.p.values()) >= 0.05
    assert set(found.fold.tolist()) == set(range(10))


def test_fitted_weights_are_adopted_when_most_judges_are_noise() -> None:
    found = stack_judges(*panel_world(2, prompts=40, useless=6))
    assert found.adopted == "shrunk"
    assert found.weights[6:].sum() > 0.7
    assert found.p["shrunk"] < 0.05
    assert found.gain["shrunk"] > 0
    assert found.best_judge in {6, 7}
    assert found.weights.sum() == pytest.approx(1)


def test_prompts_are_never_split_between_folds() -> None:
    scores, target, prompt = panel_world(3, prompts=25)
    found = stack_judges(scores, target, prompt)
    for code in range(25):
        assert len(set(found.fold[prompt == code])) == 1


def test_prompt_levels_and_severities_do_not_matter_to_weights() -> None:
    scores, target, prompt = panel_world(4)
    base = stack_judges(scores, target, prompt)
    rng = np.random.default_rng(0)
    moved = stack_judges(scores + rng.normal(size=12)[prompt][:, None] + rng.normal(size=8),
                         target + rng.normal(size=12)[prompt], prompt)  # fmt: skip
    assert moved.shrunk_weights == pytest.approx(base.shrunk_weights, abs=1e-6)
    assert moved.tau["shrunk"] == pytest.approx(base.tau["shrunk"])


def test_missing_scores_and_targets_are_carried() -> None:
    scores, target, prompt = panel_world(5)
    scores[::7, 2] = NAN
    target[3] = NAN
    found = stack_judges(scores, target, prompt)
    assert found.fold[3] == -1
    assert found.n_items == 59


def test_few_prompts_adopt_nothing_and_say_why() -> None:
    found = stack_judges(*panel_world(6, prompts=5))
    assert (found.adopted, found.reason) == ("equal", "fewer than 6 prompts")
    assert np.isnan(found.p["shrunk"])


def test_the_labelled_mean_beside_it_is_the_t_interval() -> None:
    found = ppi_mean([3, 5, 4, 6], [4, 5, 5, 7], [5, 6, 4])
    expected = stats.t.interval(0.95, 3, 4.5, stats.sem([3, 5, 4, 6]))
    assert (found.labelled_only.low, found.labelled_only.high) == pytest.approx(expected)


def test_inputs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="together"):
        ppi_mean([1, 2], [1, 2], [1], groups=[0, 1])
    with pytest.raises(ValueError, match="one length"):
        isotonic_map([1, 2], [1])
    with pytest.raises(ValueError, match="at least one score"):
        stack_judges([[NAN, NAN], [1, 2]], [1, 2], ["a", "a"])
    with pytest.raises(ValueError, match="level"):
        conformal_width([1], [1], level=1)
    with pytest.raises(ValueError, match="one response and one judge"):
        severity([1, 2], ["a"], ["b", "c"])
