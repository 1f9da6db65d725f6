"""Intraclass correlations against Shrout & Fleiss, statsmodels' ANOVA and known data."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from areopagus.aggregation import (
    icc_interval,
    rogan_gladen,
)
from areopagus.aggregation.reliability import IccForm, icc, spearman_brown

NAN = math.nan
FORMS = get_args(IccForm)
# Shrout & Fleiss (1979), table 2: six targets by four judges.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
RATINGS = np.array(TARGETS, dtype=float).T


@pytest.mark.parametrize(
    ("form", "low", "high"),
    [
        ("ICC(1,1)", -0.133, 0.723),
        ("ICC(2,1)", 0.019, 0.761),
        ("ICC(3,1)", 0.342, 0.946),
        ("ICC(1,k)", -0.884, 0.912),
        ("ICC(2,k)", 0.071, 0.927),
        ("ICC(3,k)", 0.676, 0.986),
    ],
)
def test_limits_of_shrout_and_fleiss_example(form: IccForm, low: float, high: float) -> None:
    # The limits that R's psych prints for the example of Shrout and Fleiss.
    rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = icc_interval(np.array(rows, dtype=float).T, form)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-4)
    assert found.low < found.value < found.high


def test_limits_of_the_anxiety_data() -> None:
    anxiety = [
        [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
        [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
    ]
    found = icc_interval(anxiety, "ICC(2,1)")
    assert (found.value, found.low, found.high) == pytest.approx((0.198, -0.039, 0.494), abs=5e-4)


def test_limits_are_refused_where_nothing_varies() -> None:
    constant = icc_interval(np.full((3, 5), 4.0), "ICC(2,1)")
    assert math.isnan(constant.value)
    assert constant.reason == "items do not vary"
    perfect = icc_interval([[1, 2, 3, 4]] * 3, "ICC(3,1)")
    assert perfect.value == pytest.approx(1)
    assert math.isnan(perfect.low)
    assert perfect.reason is not None
    with pytest.raises(ValueError, match="level"):
        icc_interval([[1, 2, 3], [2, 1, 3]], "ICC(3,1)", level=1)


def test_limits_enclose_the_value_or_are_missing_with_a_reason() -> None:
    # Three raters, three items, every item and every rater with mean 2: no mean square but the
    # residual's is above 0, and the degrees of freedom are 0 / 0.
    alike = icc_interval([[1, 2, 3], [2, 3, 1], [3, 1, 2]], "ICC(2,1)")
    assert math.isnan(alike.low)
    assert alike.reason == "the means of items differ too little for limits by normal theory"
    rng = np.random.default_rng(0)
    for _ in range(60):
        table = rng.integers(1, 5, size=(rng.integers(2, 5), rng.integers(2, 5))).astype(float)
        for form in get_args(IccForm):
            found = icc_interval(table, form)
            if found.reason is None:
                assert found.low <= found.value <= found.high <= 1
            else:
                assert math.isnan(found.low)
                assert math.isnan(found.high)


def test_rogan_gladen_with_the_limits_of_lee_and_others() -> None:
    found = rogan_gladen(
        0.4, 1000, specificity=0.7, n_negative=200, sensitivity=0.9, n_positive=200
    )
    # (.4 + .7 - 1) / (.7 + .9 - 1) = 1/6; limits as their own code prints them.
    assert found.value == pytest.approx(1 / 6)
    assert (found.low, found.high) == pytest.approx((0.0564, 0.2627), abs=5e-5)
    # By hand: z² = 3.841459, p = 401.920729 / 1003.841459 = .400383, q0 = 141/202 = .698020,
    # q1 = 181/202 = .896040; θ = .098403 / .594059 = .165645.
    # v0 = .210788/202 = .00104351, v1 = .0931526/202 = .000461152
    # shift = 7.682918 (.165645 · .000461152 − .834355 · .00104351) = −.00610220
    # SE² = (.240077/1003.841 + .696148 · .00104351 + .0274383 · .000461152) / .352906 = .00277197
    # θ + shift ± 1.959964 · .0526495 = .159543 ± .103191
    assert (found.low, found.high) == pytest.approx((0.056352, 0.262734), abs=2e-6)


@pytest.mark.parametrize(
    ("form", "published"),
    [
        ("ICC(1,1)", 0.1657),
        ("ICC(2,1)", 0.2898),
        ("ICC(3,1)", 0.7148),
        ("ICC(1,k)", 0.4428),
        ("ICC(2,k)", 0.6201),
        ("ICC(3,k)", 0.9093),
    ],
)
def test_icc_of_shrout_and_fleiss(form: IccForm, published: float) -> None:
    assert icc(RATINGS, form) == pytest.approx(published, abs=5e-5)


def test_icc_of_the_anxiety_data() -> None:
    anxiety = [
        [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
        [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
    ]
    assert icc(anxiety, "ICC(2,1)") == pytest.approx(0.198, abs=5e-4)


def test_icc_agrees_with_mean_squares_of_statsmodels() -> None:
    import pandas as pd
    from statsmodels.api import stats as sm_stats
    from statsmodels.formula.api import ols

    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(5, 1)) + rng.normal(size=12) + rng.normal(size=(5, 12))
    rater, item = np.indices(ratings.shape)
    frame = pd.DataFrame({"y": ratings.ravel(), "rater": rater.ravel(), "item": item.ravel()})
    table = sm_stats.anova_lm(ols("y ~ C(rater) + C(item)", frame).fit())
    squares = table["sum_sq"] / table["df"]
    msr, msc, mse = squares["C(item)"], squares["C(rater)"], squares["Residual"]
    expected = (msr - mse) / (msr + 4 * mse + 5 * (msc - mse) / 12)
    assert icc(ratings, "ICC(2,1)") == pytest.approx(expected)


@pytest.mark.parametrize("number", "123")
def test_spearman_brown_joins_the_single_and_the_average_form(number: str) -> None:
    single, average = icc(RATINGS, f"ICC({number},1)"), icc(RATINGS, f"ICC({number},k)")
    assert spearman_brown(single, 4) == pytest.approx(average)
    assert spearman_brown(average, 1 / 4) == pytest.approx(single)


def test_negative_estimates_are_not_clipped() -> None:
    assert icc([[1, 2, 3], [3, 2, 1.5]], "ICC(1,1)") < 0


def test_icc_ignores_order_shift_and_scale_and_form_3_ignores_rater_shifts() -> None:
    for form in FORMS:
        assert icc(RATINGS[::-1, ::-1] * 3 + 1000, form) == pytest.approx(icc(RATINGS, form))
    shifted = RATINGS + np.array([[0], [5], [9], [-2]])
    assert icc(shifted, "ICC(3,k)") == pytest.approx(icc(RATINGS, "ICC(3,k)"))
    assert icc(shifted, "ICC(2,k)") < icc(RATINGS, "ICC(2,k)")


@pytest.mark.parametrize("form", FORMS)
def test_icc_is_one_for_equal_raters_and_undefined_for_constant_tables(form: IccForm) -> None:
    assert icc([[1, 2, 3], [1, 2, 3]], form) == pytest.approx(1)
    assert math.isnan(icc(np.full((3, 4), 6.1), form))


def test_icc_demands_complete_tables_and_names_what_is_missing() -> None:
    with pytest.raises(ValueError, match="2 missing of 6"):
        icc([[1, 2, NAN], [NAN, 2, 3]], "ICC(2,k)")
    with pytest.raises(ValueError, match="raters >= 2"):
        icc([[1, 2, 3]], "ICC(2,k)")
    with pytest.raises(ValueError, match="form must be one of"):
        icc(RATINGS, "ICC2k")  # type: ignore[arg-type]


def test_spearman_brown_by_hand_and_at_its_ends() -> None:
    assert spearman_brown(0.5, 2) == pytest.approx(2 / 3)
    assert spearman_brown(0.0625, 5) == pytest.approx(0.25)
    assert spearman_brown(1, 30) == 1
    assert math.isnan(spearman_brown(NAN, 2))
    assert math.isnan(spearman_brown(-0.5, 4))
    with pytest.raises(ValueError, match="factor"):
        spearman_brown(0.5, 0)
    with pytest.raises(ValueError, match="at most 1"):
        spearman_brown(1.2, 2)
