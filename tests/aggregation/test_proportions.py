"""Wilson, Newcombe and McNemar against published values and statsmodels."""

import math

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from areopagus.aggregation.proportions import mcnemar_midp, newcombe, wilson


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_of_newcombes_examples(k: int, n: int, low: float, high: float) -> None:
    interval = wilson(k, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx(
        proportion_confint(k, n, method="wilson"), abs=1e-12
    )
    assert interval.value == pytest.approx(k / n)


def test_wilson_at_its_ends() -> None:
    assert wilson(0, 5).low == 0
    assert wilson(5, 5).high == 1
    assert wilson(3, 3).reason is None
    assert math.isnan(wilson(0, 0).value)
    assert wilson(0, 0).reason == "no items"
    with pytest.raises(ValueError, match="successes"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="level"):
        wilson(1, 2, level=1)


def test_newcombe_of_the_published_difference() -> None:
    interval = newcombe(56, 70, 48, 80)
    assert (interval.low, interval.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    theirs = confint_proportions_2indep(56, 70, 48, 80, method="newcomb")
    assert (interval.low, interval.high) == pytest.approx(theirs)
    turned = newcombe(48, 80, 56, 70)
    assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low))
    assert newcombe(0, 0, 1, 2).reason


def test_mcnemar_mid_p_of_one_against_six() -> None:
    # 2 * (1 + 7) / 128 = .125 exactly; mid-p takes 7 / 128 off.
    assert mcnemar([[0, 1], [6, 0]], exact=True).pvalue == pytest.approx(0.125)
    assert mcnemar_midp(1, 6) == pytest.approx(0.125 - 7 / 128)
    assert mcnemar_midp(1, 6) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar_midp(6, 1) == mcnemar_midp(1, 6)
    assert mcnemar_midp(4, 4) == pytest.approx(1)
    assert math.isnan(mcnemar_midp(0, 0))
    with pytest.raises(ValueError, match="at least 0"):
        mcnemar_midp(-1, 2)


def test_mcnemar_of_the_approval_ratings_agrees_in_the_large() -> None:
    # Agresti's 794/86/150/570: 17.36 by chi-square.
    table = mcnemar([[794, 86], [150, 570]], exact=False, correction=False)
    assert table.statistic == pytest.approx(17.36, abs=5e-3)
    assert mcnemar_midp(86, 150) == pytest.approx(table.pvalue, rel=0.1)
