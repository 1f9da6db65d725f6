"""Shares with and without clusters, paired tests, chi-square: published figures, libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q, mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from areopagus.aggregation import rogan_gladen
from areopagus.aggregation.clustered import clustered_proportion
from areopagus.aggregation.proportions import (
    chi_square_test,
    cochran_q,
    mcnemar_midp,
    mcnemar_of_counts,
    mcnemar_test,
    newcombe,
    paired_difference,
    wilson,
)


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    found = rogan_gladen(0.4, 100, specificity=0.5, n_negative=50, sensitivity=0.5, n_positive=50)
    assert math.isnan(found.value)
    assert found.reason is not None
    perfect = rogan_gladen(
        0.4, 10_000, specificity=1, n_negative=10_000, sensitivity=1, n_positive=10_000
    )
    assert perfect.value == pytest.approx(0.4)
    assert perfect.high - perfect.low == pytest.approx(2 * 1.96 * math.sqrt(0.24 / 1e4), rel=0.02)


def test_rogan_gladen_with_the_limits_of_lee_and_others() -> None:
    found = rogan_gladen(
        0.4, 1000, specificity=0.7, n_negative=200, sensitivity=0.9, n_positive=200
    )
    # (.4 + .7 - 1) / (.7 + .9 - 1) = 1/6; limits as their own code prints them.
    assert found.value == pytest.approx(1 / 6)
    assert (found.low, found.high) == pytest.approx((0.0564, 0.2627), abs=5e-5)


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


def test_mcnemar_of_the_approval_ratings() -> None:
    # Agresti: 1,600 people asked twice, 794 approve both times, 150 and 86 changed.
    # (150 − 86)² / (150 + 86) = 4096 / 236 = 17.3559
    found = mcnemar_of_counts(150, 86, both=794, neither=570)
    assert found.statistic == pytest.approx(17.36, abs=5e-3)
    theirs = mcnemar([[794, 150], [86, 570]], exact=False, correction=False)
    assert found.p_chi2 == pytest.approx(theirs.pvalue)
    assert found.n == 1600


def test_mcnemar_from_outcomes_leaves_out_what_is_missing() -> None:
    a = [1, 1, 0, 0, 1, math.nan]
    b = [0, 1, 1, 0, math.nan, 1]
    found = mcnemar_test(a, b)
    assert (found.only_a, found.only_b, found.both, found.neither) == (1, 1, 1, 1)
    with pytest.raises(ValueError, match="0, 1 or nan"):
        mcnemar_test([2], [0])
    with pytest.raises(ValueError, match="one length"):
        mcnemar_test([1], [0, 1])


def test_cochrans_q_is_that_of_statsmodels_and_with_two_models_mcnemars() -> None:
    table = (np.random.default_rng(3).random((4, 60)) < [[0.2], [0.4], [0.4], [0.6]]).astype(float)
    found = cochran_q(table)
    theirs = cochrans_q(table.T)
    assert (found.q, found.p_chi2) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found.p_permutation == pytest.approx(found.p_chi2, abs=0.02)
    pair = cochran_q(table[:2], resamples=0)
    assert pair.q == pytest.approx(mcnemar_test(table[0], table[1]).statistic)
    shuffled = cochran_q(table[[2, 0, 3, 1]][:, ::-1], resamples=0)
    assert shuffled.q == pytest.approx(found.q)


def test_cochrans_q_without_a_difference_or_an_answer_is_undefined() -> None:
    same = cochran_q([[1, 0, 1], [1, 0, 1]])
    assert math.isnan(same.q)
    assert same.reason == "no prompt on which the models differ"
    nothing = cochran_q([[1, math.nan], [math.nan, 0]])
    assert (nothing.n, nothing.n_missing) == (0, 2)
    assert nothing.reason == "no prompt that all have answered"
    with pytest.raises(ValueError, match="models of 2"):
        cochran_q([[1, 0]])
    with pytest.raises(ValueError, match="one a prompt"):
        cochran_q([[1, 0], [0, 1]], clusters=["a"])


def test_prompts_that_repeat_each_other_count_once_in_the_permutation() -> None:
    # Ten templates whose twelve prompts all come out alike: ten observations, not 120.
    few = (np.random.default_rng(1).random((2, 10)) < [[0.35], [0.65]]).astype(float)
    many = np.repeat(few, 12, axis=1)
    labels = np.repeat(np.arange(10), 12).tolist()
    clustered = cochran_q(many, clusters=labels, rng=2)
    assert clustered.p_permutation == pytest.approx(cochran_q(few, rng=2).p_permutation, abs=0.02)
    assert clustered.p_chi2 < cochran_q(few).p_chi2 / 5
    assert clustered.n_clusters == 10


def test_shares_over_repeats_get_the_permutation_alone() -> None:
    found = cochran_q([[0.5, 1, 0.25, 1], [0, 0.5, 0, 0.5]])
    assert math.isnan(found.p_chi2)
    # Every prompt favours the first: exact one-in-eight by both all-one-way sign patterns.
    assert found.p_permutation == pytest.approx(2 / 16, abs=0.02)


def test_chi_square_of_party_and_gender() -> None:
    # Agresti: gender by party, 30.07 with 2 degrees of freedom.
    found = chi_square_test([[762, 327, 468], [484, 239, 477]])
    assert (found.statistic, found.df) == (pytest.approx(30.07, abs=5e-3), 2)
    assert found.method == "chi-square"
    theirs = stats.chi2_contingency([[762, 327, 468], [484, 239, 477]])
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.cramers_v == pytest.approx(math.sqrt(found.statistic / 2757))


def test_chi_square_goes_over_to_permutation_where_counts_are_small() -> None:
    # Tea tasting, 3 of 4: with fixed margins the two-sided exact p is .4857.
    found = chi_square_test([[3, 1], [1, 3]], resamples=20_000)
    assert found.method == "permutation"
    assert found.p == pytest.approx(0.4857, abs=0.015)
    assert found.p_chi2 == pytest.approx(0.1573, abs=5e-5)
    assert chi_square_test([[3, 1], [1, 3]], resamples=0).method == "chi-square"


def test_copies_of_an_outcome_add_nothing() -> None:
    outcomes = np.repeat([1.0] * 12 + [0.0] * 28, 6)
    labels = np.repeat(np.arange(40), 6).tolist()
    many = clustered_proportion(outcomes, labels)
    once = clustered_proportion([1.0] * 12 + [0.0] * 28, range(40))
    assert (many.low, many.high) == pytest.approx((once.low, once.high))
    assert many.n == 40


def test_few_clusters_get_no_interval_and_equal_outcomes_one_of_as_many_clusters() -> None:
    few = clustered_proportion([1, 0, 1, 0], [1, 1, 2, 2])
    assert few.value == 0.5
    assert math.isnan(few.low)
    assert few.reason == "an interval needs 6 prompts, there are 2"
    none = clustered_proportion([0.0] * 60, list(range(10)) * 6)
    assert none.low == 0
    # Wilson with t: t²/(G + t²), t(9) = 2.2622, G = 10
    assert none.high == pytest.approx(2.2622**2 / (10 + 2.2622**2), abs=1e-4)
    assert clustered_proportion([math.nan], ["a"]).reason == "no outcome"


def test_paired_difference_against_simulation_of_its_source() -> None:
    # f~ = 13/52 and 4/52: difference 9/52 ± 1.96 sqrt((17/52 − (9/52)²)/52)
    found = paired_difference(12, 3, 50)
    centre, spread = 9 / 52, 1.959964 * math.sqrt((17 / 52 - (9 / 52) ** 2) / 52)
    assert (found.low, found.high) == pytest.approx((centre - spread, centre + spread))
    assert found.value == pytest.approx(9 / 50)
    assert math.isnan(paired_difference(0, 0, 0).value)
    with pytest.raises(ValueError, match="fit n"):
        paired_difference(3, 3, 5)
