"""Agreement of order across prompts of one response each: scipy, and items left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation import across_prompts
from areopagus.aggregation.across_prompts import item_pairs
from areopagus.aggregation.kendall import pairwise_tau
from areopagus.aggregation.ratings import make_ratings


def tied(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(5, 2, n)
    return np.round(truth + rng.normal(size=n)), np.round(truth + rng.normal(size=n))


def test_both_coefficients_are_scipys(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = tied(1)
    monkeypatch.setattr(across_prompts, "BLOCK_CELLS", 100)  # two rows at a time
    found = item_pairs(x, y)
    assert found.tau_b == pytest.approx(stats.kendalltau(x, y).statistic)
    # scipy's is d of the second given the first
    assert found.somers_d == pytest.approx(stats.somersd(y, x).statistic)


def test_what_is_left_without_an_item_is_the_coefficient_of_the_others() -> None:
    x, y = tied(2)
    x[3] = y[7] = np.nan
    found = item_pairs(x, y)
    for item in (0, 3, 11):
        rest = item_pairs(np.delete(x, item), np.delete(y, item))
        assert found.tau_b_left_out()[item] == pytest.approx(rest.tau_b)
        assert found.somers_d_left_out()[item] == pytest.approx(rest.somers_d)


def test_a_side_that_orders_nothing_has_no_coefficient() -> None:
    assert np.isnan(item_pairs(np.ones(5), np.arange(5)).tau_b)
    assert item_pairs(np.ones(5), np.arange(5)).somers_d == 0
    with pytest.raises(ValueError, match="one length"):
        item_pairs([1, 2], [1, 2, 3])


def test_of_very_many_prompts_so_many_are_drawn_and_the_method_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(across_prompts, "MOST_ITEMS", 30)
    chosen = across_prompts.drawn_items(60)
    assert len(set(chosen.tolist())) == 30
    assert (np.diff(chosen) > 0).all()
    truth = np.arange(60.0)
    items = np.tile(np.arange(60), 2)
    made, _ = make_ratings(
        "overall", "score", np.repeat([0, 1], 60), items, items, np.tile(truth, 2)
    )
    tau = pairwise_tau(made).tau
    assert (tau.value, tau.n) == (1, 30)
    assert "30 of 60 prompts, drawn" in tau.method


def test_raters_of_one_response_a_prompt_are_compared_across_prompts() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=60)
    table = np.round(2 * (truth + rng.normal(size=(3, 60))))
    items = np.tile(np.arange(60), 3)
    made, _ = make_ratings(
        "overall", "score", np.repeat([0, 1, 2], 60), items, items, table.ravel()
    )
    found = pairwise_tau(made)
    taus = [stats.kendalltau(table[i], table[j]).statistic for i, j in ((0, 1), (0, 2), (1, 2))]
    assert found.tau.value == pytest.approx(np.mean(taus))
    assert found.n_pairs_defined == 3
    assert found.tau.n == len(found.prompts) == 60
    assert found.tau.low < found.tau.value < found.tau.high
    assert "across prompts" in found.tau.method
