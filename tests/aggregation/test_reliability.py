"""Intraclass correlations against Shrout & Fleiss, statsmodels' ANOVA and known data."""

import math
from typing import get_args

import numpy as np
import pytest

from areopagus.aggregation.reliability import IccForm, icc, spearman_brown

NAN = math.nan
FORMS = get_args(IccForm)

# Shrout & Fleiss (1979), table 2: six targets by four judges.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
RATINGS = np.array(TARGETS, dtype=float).T


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
