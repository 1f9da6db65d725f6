"""Tau-b of scores and of raters, pair counts and sums, the ceiling, the bootstrap of tau."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from areopagus.aggregation import kendall
from areopagus.aggregation.kendall import (
    agreement_ceiling,
    bootstrap_stratified_tau,
    kendall_tau_b,
    pairwise_tau,
)
from areopagus.aggregation.pair_counting import (
    PairCounts,
    pair_counts,
    pair_sums,
    round_ties,
    sums_by_type,
)
from areopagus.aggregation.ratings import ratings_of_table

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
NAN = math.nan


def counted_by_hand(x, y, groups):
    """The definition, pair by pair."""
    totals = [0, 0, 0, 0, 0]
    for i, j in itertools.combinations(range(len(x)), 2):
        if groups[i] != groups[j] or any(math.isnan(v) for v in (x[i], x[j], y[i], y[j])):
            continue
        a, b = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
        totals[0] += a * b > 0
        totals[1] += a * b < 0
        totals[2] += a == 0 and b != 0
        totals[3] += a != 0 and b == 0
        totals[4] += a == 0 and b == 0
    return PairCounts(*totals, n_pairs=sum(totals))


def test_tau_b_gives_the_value_of_the_scipy_documentation() -> None:
    assert kendall_tau_b([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) == pytest.approx(-0.47140452, abs=1e-8)


def test_stratified_tau_of_two_prompts_counted_by_hand() -> None:
    # Prompt a: x 1 2 3, y 1 3 2: pairs (1,2) C, (1,3) C, (2,3) D.
    # Prompt b: x 1 2 5, y 2 1 1: (1,2) D, (1,3) D, (2,3) tied in y only.
    # C 2, D 3, Tx 0, Ty 1: tau = -1 / sqrt(5 * 6).
    x, y, groups = [1, 2, 3, 1, 2, 5], [1, 3, 2, 2, 1, 1], list("aaabbb")
    assert pair_counts(x, y, groups) == PairCounts(2, 3, 0, 1, 0, 6)
    assert kendall_tau_b(x, y, groups) == pytest.approx(-1 / math.sqrt(30), abs=1e-15)


def test_a_shared_prompt_effect_moves_the_pooled_tau_and_not_the_stratified_one() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(2000), 5)
    prompt = rng.normal(size=2000)[groups]
    x, y = prompt + rng.normal(size=10_000), prompt + rng.normal(size=10_000)
    # Correlation .5 between prompts: pooled tau near (2/pi) asin(.5) = 1/3 less the within part.
    assert kendall_tau_b(x, y) == pytest.approx(1 / 3, abs=0.02)
    # SE about sqrt(2 (2*5+5) / (9*5*4) / 2000) = .009.
    assert kendall_tau_b(x, y, groups) == pytest.approx(0, abs=0.04)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1.0, 2.0, 3.0, 4.0, 7.5, -2.0, NAN]),
            st.sampled_from([1.0, 2.0, 3.0, NAN]),
            st.sampled_from("abc"),
        ),
        max_size=25,
    )
)
def test_pair_counts_agree_with_counting_pair_by_pair(rows) -> None:
    x, y, groups = [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    assert pair_counts(x, y, groups) == counted_by_hand(x, y, groups)


def test_pooled_tau_agrees_with_scipy_on_tied_data_whatever_the_order_and_the_scale() -> None:
    for n in (2, 1000):
        rng = np.random.default_rng(n)
        x, y = rng.integers(0, 9, n).astype(float), rng.integers(0, 9, n).astype(float)
        x[0], y[0] = 20, 20
        tau, order = kendall_tau_b(x, y), rng.permutation(n)
        assert tau == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
        assert kendall_tau_b(np.exp(x)[order], y[order] ** 3) == tau


def test_tau_is_undefined_where_a_side_orders_no_pair() -> None:
    for x, y in (([], []), ([1], [1]), ([1, 1, 1], [1, 2, 3]), ([1, NAN, NAN], [1, 2, 3])):
        assert math.isnan(kendall_tau_b(x, y))
    assert math.isnan(kendall_tau_b([1, 2], [1, 2], ["a", "b"]))


def test_pairwise_tau_counts_pairs_of_raters_who_met() -> None:
    table = [[1, 2, NAN, NAN], [1, 2, 1, 2], [NAN, NAN, 2, 1]]
    found = pairwise_tau(ratings_of_table(table, list("aabb")))
    # 0 and 2 share nothing; 0-1: 1; 1-2: -1.
    assert found.tau.value == 0
    assert (found.n_pairs_defined, found.n_pairs_undefined, found.n_response_pairs) == (2, 0, 2)
    constant = pairwise_tau(ratings_of_table([[1, 1], [1, 2]]))
    assert math.isnan(constant.tau.value)
    assert constant.n_pairs_undefined == 1


def test_pairwise_tau_is_the_mean_over_pairs_of_raters_with_its_jackknife() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(1, 6, (6, 80)).astype(float)
    table[rng.random(table.shape) < 0.3] = NAN
    groups = np.repeat(range(10), 8)

    def by_hand(kept: np.ndarray) -> float:
        pairs = itertools.combinations(table[:, kept], 2)
        return float(np.nanmean([kendall_tau_b(a, b, groups[kept]) for a, b in pairs]))

    found = pairwise_tau(ratings_of_table(table, groups)).tau
    assert found.value == pytest.approx(by_hand(groups >= 0), abs=1e-12)
    left_out = np.array([by_hand(groups != prompt) for prompt in range(10)])
    error = math.sqrt(9 / 10 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.se == pytest.approx(error)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 9) * error)


def test_many_meetings_are_pooled_and_the_method_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    quality, groups = rng.normal(size=54), np.repeat(range(9), 6)
    ratings = ratings_of_table(np.round(quality + rng.normal(size=(6, 54)), 1), groups)
    one_by_one = pairwise_tau(ratings).tau.value
    monkeypatch.setattr(kendall, "MOST_MEETINGS", 5)
    found = pairwise_tau(ratings).tau
    assert "pooled over all pairs of raters" in found.method
    assert found.value == pytest.approx(one_by_one, abs=0.03)


def test_pairwise_tau_of_the_potato_rankings() -> None:
    path = SHARED / "rankings" / "potato_visual.csv"
    if not path.exists():
        pytest.skip("the shared rankings are not here")
    with path.open() as lines:
        table = [[float(cell) for cell in row] for row in csv.reader(lines)]
    found = pairwise_tau(ratings_of_table(table))
    assert found.tau.value == pytest.approx(0.78214, abs=5e-6)
    assert (found.n_pairs_defined, found.n_response_pairs) == (66, 190)


def test_pair_sums_by_hand() -> None:
    # Reference 1 2 3 3: five decided pairs. Judge 1 1 2 9: (0,1) tied: 1/2; the four others right.
    one = np.zeros(4, dtype=np.int64)
    sums = pair_sums(np.array([1.0, 1, 2, 9]), np.array([1.0, 2, 3, 3]), one, n_prompts=1)
    assert (sums.right[0], sums.decided[0], sums.ties[0]) == (4.5, 5, 1)
    assert sums.tau == pytest.approx(kendall_tau_b([1, 1, 2, 9], [1, 2, 3, 3]))
    # People a b, models c d; judge 1 2 3 3, reference 2 1 3 4: the people's pair discordant, the
    # models' tied by the judge, all four across concordant.
    found = sums_by_type(
        np.array([1.0, 2, 3, 3]), np.array([2.0, 1, 3, 4]), one, np.array([0, 0, 1, 1]), n_prompts=1
    )
    accuracy = {name: float(part.right[0] / part.decided[0]) for name, part in found.items()}
    assert accuracy == {
        "all": 4.5 / 6,
        "model-model": 0.5,
        "human-human": 0,
        "cross": 1,
        "within-source": 0.25,
    }
    assert (found["human-human"].tau, found["cross"].tau) == (-1, 1)
    assert math.isnan(found["model-model"].tau)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_sums_in_another_order_are_ties_on_any_scale(scale: float) -> None:
    values = scale * np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.61])
    assert values[0] != values[1]
    assert len(set(round_ties(values).tolist())) == 2
    assert round_ties(np.zeros(3)).tolist() == [0, 0, 0]


def test_ceiling_gives_the_two_computed_values_and_its_ends() -> None:
    assert agreement_ceiling(0.040, 5) == pytest.approx(0.334, abs=5e-4)
    assert agreement_ceiling(0.268, 5) == pytest.approx(0.686, abs=5e-4)
    assert agreement_ceiling(0, 5) == 0
    assert agreement_ceiling(1, 5) == pytest.approx(1)
    assert math.isnan(agreement_ceiling(-0.1, 5))
    assert math.isnan(agreement_ceiling(NAN, 5))
    with pytest.raises(ValueError, match="at least 1"):
        agreement_ceiling(0.1, 0)
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        agreement_ceiling(1.1, 3)


def example(n_prompts: int, size: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_prompts), size)
    x = rng.normal(size=groups.size)
    return np.round(x, 1), np.round(x + rng.normal(size=groups.size), 1), groups


def test_a_resample_counts_every_copy_of_a_prompt_and_compares_none_with_another() -> None:
    x, y, groups = example(9)

    def error(prompts: np.ndarray) -> float:
        """The infinitesimal jackknife: tau's slope along each prompt that was drawn, by steps."""

        def tau(weights: np.ndarray) -> float:
            top, left, right = (counts * weights[:, None]).sum(axis=0)
            return float(top / math.sqrt(left * right))

        each = [pair_counts(x[groups == g], y[groups == g]) for g in prompts]
        counts = np.array([
            (c.concordant - c.discordant, c.concordant + c.discordant + c.tied_y,
             c.concordant + c.discordant + c.tied_x) for c in each
        ])  # fmt: skip
        once, h = np.ones(len(prompts)), 1e-6
        steps = h * np.eye(len(prompts))
        slopes = np.array([(tau(once + step) - tau(once - step)) / (2 * h) for step in steps])
        return math.sqrt(float((slopes**2).sum()) * 9 / 8)

    value, generator = kendall_tau_b(x, y, groups), np.random.default_rng(4)
    t = []
    for _ in range(300):
        picked = generator.integers(0, 9, size=9)
        rows = np.concatenate([np.flatnonzero(groups == prompt) for prompt in picked])
        drawn = kendall_tau_b(x[rows], y[rows], np.repeat(np.arange(9), 5))
        if (own := error(picked)) > 1e-9:  # else all prompts drawn are alike: there is no t
            t.append((drawn - value) / own)
    found = bootstrap_stratified_tau(x, y, groups, resamples=300, rng=4)
    low, high = value - error(np.arange(9)) * np.quantile(t, [0.975, 0.025])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_bootstrap_is_reproducible_and_ignores_item_order() -> None:
    x, y, groups = example(12)
    first = bootstrap_stratified_tau(x, y, groups, resamples=500, rng=1)
    again = bootstrap_stratified_tau(x, y, groups, resamples=500, rng=1)
    assert first == again
    assert first.low < first.value < first.high
    other = bootstrap_stratified_tau(x, y, groups, resamples=500, rng=2)
    assert other.low != first.low
    within = np.argsort(groups * 10 + np.random.default_rng(0).random(groups.size), kind="stable")
    shuffled = bootstrap_stratified_tau(x[within], y[within], groups[within], resamples=500, rng=1)
    assert shuffled == first


def test_bootstrap_refuses_no_variation_and_few_prompts_and_counts_informative_ones() -> None:
    x = np.tile([1, 2, 3], 8)
    same = bootstrap_stratified_tau(x, x, np.repeat(range(8), 3), resamples=99)
    assert (same.value, same.has_interval) == (1, False)
    assert "does not vary" in (same.reason or "")
    x, y, groups = example(5)
    few = bootstrap_stratified_tau(x, y, groups, resamples=99)
    assert math.isnan(few.low)
    assert few.n == 5
    x, y, groups = example(8)
    # Prompt 90 has one response, 91 is tied on both sides, 92 on one side only.
    more = [90, 91, 91, 92, 92]
    joined = bootstrap_stratified_tau([*x, 1, 1, 1, 1, 1], [*y, 1, 2, 2, 1, 2], [*groups, *more])
    assert joined.n == 9
    undefined = bootstrap_stratified_tau([1, 1], [1, 2], ["a", "a"])
    assert math.isnan(undefined.value)
    assert "undefined" in (undefined.reason or "")


def test_bootstrap_refuses_when_many_resamples_have_no_value() -> None:
    # One of seven prompts orders x: a resample misses it with probability (6/7)^7 = .34.
    x = np.array([1, 2, 3] + [1, 1, 1] * 6)
    y = np.array([1, 3, 2] + [1, 2, 3] * 6)
    result = bootstrap_stratified_tau(x, y, np.repeat(range(7), 3), resamples=500)
    assert math.isnan(result.low)
    assert "resamples" in (result.reason or "")
