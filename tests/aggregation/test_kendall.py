"""Tau-b, pair counts, pair accuracy, pair types and the ceiling, by hand and against scipy."""

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
    agreement_by_pair_type,
    agreement_ceiling,
    kendall_tau_b,
    mean_group_tau,
    mean_pairwise_tau,
    pair_accuracy,
    pair_counts,
)
from areopagus.aggregation.pair_counting import PairCounts, group_codes

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


@pytest.mark.parametrize("n", [2, 17, 1000])
def test_pooled_tau_agrees_with_scipy_on_tied_data(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 9, n).astype(float), rng.integers(0, 9, n).astype(float)
    x[0], y[0] = 20, 20
    assert kendall_tau_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_tau_of_a_million_items_fits_the_arithmetic() -> None:
    x = np.arange(200_000.0)
    assert kendall_tau_b(x, x) == pytest.approx(1, abs=1e-12)
    assert kendall_tau_b(x, -x) == pytest.approx(-1, abs=1e-12)


def test_tau_ignores_increasing_maps_item_order_and_names_of_groups() -> None:
    rng = np.random.default_rng(1)
    x, y, g = rng.integers(1, 7, 60), rng.integers(1, 7, 60), rng.integers(0, 9, 60)
    tau, order = kendall_tau_b(x, y, g), rng.permutation(60)
    assert kendall_tau_b(np.exp(x), y**3, g) == tau
    assert kendall_tau_b(x[order], y[order], [f"p{k}" for k in g[order]]) == tau
    assert kendall_tau_b(y, x, g) == pytest.approx(tau, abs=1e-15)
    assert kendall_tau_b(x, -y, g) == pytest.approx(-tau, abs=1e-15)


@pytest.mark.parametrize(
    ("x", "y", "groups"),
    [
        ([], [], None),
        ([1], [1], None),
        ([1, 1, 1], [1, 2, 3], None),
        ([1, NAN, NAN], [1, 2, 3], None),
        ([1, 2], [1, 2], ["a", "b"]),
    ],
)
def test_tau_is_undefined_where_a_side_orders_no_pair(x, y, groups) -> None:
    assert math.isnan(kendall_tau_b(x, y, groups))


def test_tau_refuses_labels_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="one label an item"):
        kendall_tau_b([1, 2], [1, 2], ["a"])
    with pytest.raises(ValueError, match="1 missing"):
        kendall_tau_b([1, 2], [1, 2], ["a", None])
    with pytest.raises(ValueError, match="vectors of one length"):
        kendall_tau_b([1, 2], [1, 2, 3])


def test_groups_keep_their_first_appearance_and_their_kind() -> None:
    codes, labels = group_codes(["b", 1, "1", "b"], 4)
    assert codes.tolist() == [0, 1, 2, 0]
    assert labels == ["b", 1, "1"]
    codes, labels = group_codes(np.array(["z", "a", "z"]), 3)
    assert codes.tolist() == [0, 1, 0]
    assert labels == ["z", "a"]


def test_mean_group_tau_weighs_prompts_the_same() -> None:
    # a: perfect (1 pair), b: perfectly reversed (3 pairs), c: one item.
    result = mean_group_tau([1, 2, 1, 2, 3, 5], [1, 2, 3, 2, 1, 5], list("aabbbc"))
    assert result.taus[:2] == (1, -1)
    assert math.isnan(result.taus[2])
    assert float(result) == 0
    assert (result.n_groups_defined, result.n_groups_undefined) == (2, 1)
    assert result.labels == ("a", "b", "c")
    assert kendall_tau_b([1, 2, 1, 2, 3, 5], [1, 2, 3, 2, 1, 5], list("aabbbc")) == -0.5


def test_mean_pairwise_tau_of_three_raters_by_hand() -> None:
    # Rater pairs: (0,1) all 3 pairs concordant: 1. (0,2) item 3 missing: one pair, discordant: -1.
    # (1,2) likewise -1. Mean -1/3. Item pairs seen twice: 3.
    result = mean_pairwise_tau([[1, 2, 3], [1, 2, 3], [2, 1, NAN]])
    assert result.value == pytest.approx(-1 / 3)
    assert (result.n_pairs_defined, result.n_pairs_undefined, result.n_item_pairs) == (3, 0, 3)


def test_mean_pairwise_tau_counts_undefined_rater_pairs() -> None:
    result = mean_pairwise_tau([[1, 2, NAN, NAN], [1, 2, 1, 2], [NAN, NAN, 2, 1]], list("aabb"))
    # 0 and 2 share nothing; 0-1: 1; 1-2: -1.
    assert result.value == 0
    assert (result.n_pairs_defined, result.n_pairs_undefined, result.n_item_pairs) == (2, 1, 2)
    assert math.isnan(mean_pairwise_tau([[1, 1], [1, 2]]).value)


def test_both_ways_of_computing_mean_pairwise_tau_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    ratings = rng.integers(1, 6, (6, 80)).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = NAN
    groups = rng.integers(0, 12, 80)
    by_signs = mean_pairwise_tau(ratings, groups)
    by_hand = np.nanmean(
        [kendall_tau_b(a, b, groups) for a, b in itertools.combinations(ratings, 2)]
    )
    monkeypatch.setattr(kendall, "MATRIX_CELLS", 0)
    by_sorting = mean_pairwise_tau(ratings, groups)
    assert by_signs.value == pytest.approx(by_hand, abs=1e-12)
    assert by_sorting.value == pytest.approx(by_hand, abs=1e-12)
    seen = ~np.isnan(ratings)
    pairs = sum(
        groups[i] == groups[j] and (seen[:, i] & seen[:, j]).sum() >= 2
        for i, j in itertools.combinations(range(80), 2)
    )
    assert by_signs.n_item_pairs == by_sorting.n_item_pairs == pairs


def test_mean_pairwise_tau_of_the_potato_rankings() -> None:
    path = SHARED / "rankings" / "potato_visual.csv"
    if not path.exists():
        pytest.skip("the shared rankings are not here")
    with path.open() as lines:
        ratings = [[float(cell) for cell in row] for row in csv.reader(lines)]
    result = mean_pairwise_tau(ratings)
    assert result.value == pytest.approx(0.78214, abs=5e-6)
    assert result.n_pairs_defined == 66
    assert result.n_item_pairs == 190


def test_pair_accuracy_counts_judge_ties_as_half_and_skips_reference_ties() -> None:
    # Reference 1 2 3 3: five decided pairs. Judge 1 1 2 9: (0,1) tied: 1/2; the four others right.
    result = pair_accuracy([1, 1, 2, 9], [1, 2, 3, 3])
    assert result.value == 4.5 / 5
    assert (result.n_pairs, result.n_judge_ties) == (5, 1)
    assert math.isnan(pair_accuracy([1, 2], [1, 1]).value)
    assert pair_accuracy([7, 7, 7], [1, 2, 3]).value == 0.5


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


def test_a_tie_in_five_human_ranks_limits_an_untied_judge() -> None:
    # sqrt(1 - T / n0): one tied pair of ten .949; three .837.
    assert kendall_tau_b([1, 2, 3, 4, 5], [1, 2, 3, 4, 4]) == pytest.approx(0.949, abs=5e-4)
    assert kendall_tau_b([1, 2, 3, 4, 5], [1, 2, 3, 3, 3]) == pytest.approx(0.837, abs=5e-4)


def test_pair_types_of_one_prompt_by_hand() -> None:
    # Persons a b, models c d; judge 1 2 3 3, humans 2 1 3 4.
    # person-person (a,b): discordant. model-model (c,d): tied in the judge only.
    # cross: (a,c) (a,d) (b,c) (b,d) all concordant.
    found = agreement_by_pair_type(
        [1, 2, 3, 3], [2, 1, 3, 4], None, ["person", "person", "model", "model"]
    )
    by_kinds = {row.kinds: row for row in found}
    assert list(by_kinds) == [("person", "person"), ("model", "model"), ("person", "model")]
    assert by_kinds["person", "person"].counts == PairCounts(0, 1, 0, 0, 0, 1)
    assert by_kinds["model", "model"].counts == PairCounts(0, 0, 1, 0, 0, 1)
    assert by_kinds["person", "model"].counts == PairCounts(4, 0, 0, 0, 0, 4)
    assert by_kinds["person", "person"].tau == -1
    assert math.isnan(by_kinds["model", "model"].tau)
    assert by_kinds["model", "model"].accuracy == 0.5
    assert by_kinds["person", "model"].accuracy == 1


def test_types_add_up_to_all_within_group_pairs() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 5, 90).astype(float), rng.integers(1, 5, 90).astype(float)
    x[::11] = np.nan
    groups, kinds = rng.integers(0, 12, 90), rng.choice(["a", "b", "c"], 90)
    found = agreement_by_pair_type(x, y, groups, kinds)
    assert len(found) == 6
    total = pair_counts(x, y, groups)
    for field in ("concordant", "discordant", "tied_x", "tied_y", "tied_both", "n_pairs"):
        assert sum(getattr(row.counts, field) for row in found) == getattr(total, field)


def test_one_kind_is_the_plain_agreement() -> None:
    x, y, groups = [1, 3, 2, 1, 1, 2], [1, 2, 2, 2, 1, 1], list("aaabbb")
    (row,) = agreement_by_pair_type(x, y, groups, ["model"] * 6)
    assert row.tau == kendall_tau_b(x, y, groups)
    assert row.accuracy == pair_accuracy(x, y, groups).value


def test_labels_must_fit() -> None:
    with pytest.raises(ValueError, match="missing"):
        agreement_by_pair_type([1, 2], [1, 2], None, ["model", None])
