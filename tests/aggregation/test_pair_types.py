"""Agreement by pair type, by hand and for the judge that only knows the source."""

import math

import numpy as np
import pytest

from areopagus.aggregation.kendall import (
    agreement_by_pair_type,
    kendall_tau_b,
    pair_accuracy,
    pair_counts,
)
from areopagus.aggregation.pair_counting import PairCounts


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


def test_a_judge_of_the_source_alone_is_seen_through() -> None:
    # People prefer the model in 74.4% of cross pairs: a judge that cannot order two models at all.
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(3000), 6)
    kinds = np.tile(["person"] * 3 + ["model"] * 3, 3000)
    is_model = (kinds == "model").astype(float)
    # P(N(d, 2) > 0) = .744 for d = .656 sqrt(2).
    humans = is_model * 0.656 * math.sqrt(2) + rng.normal(size=groups.size)
    assert kendall_tau_b(is_model, humans, groups) > 0.3
    rows = {row.kinds: row for row in agreement_by_pair_type(is_model, humans, groups, kinds)}
    assert rows["person", "model"].accuracy == pytest.approx(0.744, abs=0.01)
    assert rows["model", "model"].accuracy == 0.5
    assert math.isnan(rows["model", "model"].tau)


def test_labels_must_fit() -> None:
    with pytest.raises(ValueError, match="missing"):
        agreement_by_pair_type([1, 2], [1, 2], None, ["model", None])
