"""Kendall's tau-b, pooled and within groups, and what follows from counting pairs.

A tau over all responses of all prompts is not a measure of agreement within prompts: a shared
prompt effect alone makes it positive. With `groups` only pairs within a prompt are counted.

Where people's texts and models' texts answer the same prompt, a judge that only recognises the
source orders every cross pair alike and no other; one tau over all pairs hides that.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .pair_counting import (
    GroupPairCounts,
    Labels,
    PairCounts,
    count_coded_pairs,
    group_codes,
    group_pair_counts,
    pair_counts,
    paired_values,
)

__all__ = [
    "GroupTau",
    "MeanTau",
    "PairAccuracy",
    "PairCounts",
    "agreement_ceiling",
    "kendall_tau_b",
    "mean_group_tau",
    "mean_pairwise_tau",
    "pair_accuracy",
    "pair_counts",
]

Floats = npt.NDArray[np.float64]

MATRIX_CELLS = 4_000_000
"""Raters x item pairs up to which signs are held as one matrix; above it, pairs are counted by
sorting, rater pair by rater pair."""


@dataclass(frozen=True, slots=True)
class MeanTau:
    """The mean of tau-b over pairs of raters.

    Attributes:
        value: the mean over defined rater pairs; nan when none is defined.
        n_pairs_defined: rater pairs with a defined tau.
        n_pairs_undefined: rater pairs without: no common pair of items, or a constant side.
        n_item_pairs: within-group item pairs that at least two raters judged.
    """

    value: float
    n_pairs_defined: int
    n_pairs_undefined: int
    n_item_pairs: int

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class GroupTau:
    """Tau-b of each group, and its mean with groups weighing the same.

    Attributes:
        value: mean over defined groups; nan when none is defined.
        taus: one tau a group in the order of `labels`; nan where undefined.
        labels: the groups, by first appearance.
        n_groups_defined: groups that entered the mean.
        n_groups_undefined: groups that did not (fewer than two items, or a constant side).
    """

    value: float
    taus: tuple[float, ...]
    labels: tuple[Any, ...]
    n_groups_defined: int
    n_groups_undefined: int

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class PairAccuracy:
    """Share of the pairs that the reference decides which the judge orders likewise.

    Attributes:
        value: in [0, 1], judge ties counting one half; nan when the reference decides no pair.
        n_pairs: pairs that the reference decides and the judge has seen.
        n_judge_ties: those of them that the judge ties.
    """

    value: float
    n_pairs: int
    n_judge_ties: int

    def __float__(self) -> float:
        return self.value


def kendall_tau_b(x: npt.ArrayLike, y: npt.ArrayLike, groups: Labels | None = None) -> float:
    """Returns tau-b, over all pairs or, with `groups`, over within-group pairs only.

    tau_b = (C − D) / sqrt((C + D + Tx)(C + D + Ty))      C, D: concordant and discordant pairs;
    Tx, Ty: pairs tied in x only, in y only; each summed over groups before the formula.

    Args:
        x: shape (items,); nan is missing and its pairs are deleted.
        y: shape (items,), likewise.
        groups: one label an item (its prompt). None: one pooled tau over all items.

    Returns:
        In [-1, 1]; nan when either side is constant within every group or no pair is left.

    Raises:
        ValueError: different lengths, or a missing group label.

    Source: Kendall (1945); Kendall & Gibbons (1990), ch. 3. The stratified form counts pairs as
    the "group by item" correlations of machine-translation metrics do.
    """
    return tau_from_counts(pair_counts(x, y, groups))


def tau_from_counts(counts: PairCounts) -> float:
    """Returns tau-b of given pair counts; nan when a side orders no pair."""
    decided = counts.concordant + counts.discordant
    scale = math.sqrt((decided + counts.tied_x) * (decided + counts.tied_y))
    return (counts.concordant - counts.discordant) / scale if scale else math.nan


def mean_group_tau(x: npt.ArrayLike, y: npt.ArrayLike, groups: Labels) -> GroupTau:
    """Returns the tau-b of every group and their plain mean.

    It differs from the stratified `kendall_tau_b`, which weighs groups by their pairs, only where
    tau varies with the size of a group. Arguments and errors as in `kendall_tau_b`.
    """
    counts = group_pair_counts(x, y, groups)
    taus = group_taus(counts)
    defined = taus[~np.isnan(taus)]
    return GroupTau(
        value=float(defined.mean()) if defined.size else math.nan,
        taus=tuple(taus.tolist()),
        labels=tuple(counts.labels),
        n_groups_defined=int(defined.size),
        n_groups_undefined=int(taus.size - defined.size),
    )


def group_taus(counts: GroupPairCounts) -> Floats:
    """Returns tau-b of every group of the counts, nan where undefined."""
    decided = counts.concordant + counts.discordant
    # As floats first: the product of the pair counts of a large group does not fit 64 bits.
    x_orders = (decided + counts.tied_y).astype(np.float64)
    y_orders = (decided + counts.tied_x).astype(np.float64)
    scale = np.sqrt(x_orders * y_orders)
    difference = (counts.concordant - counts.discordant).astype(np.float64)
    taus: Floats = np.divide(difference, scale, out=np.full(scale.shape, np.nan), where=scale > 0)
    return taus


def mean_pairwise_tau(ratings: npt.ArrayLike, groups: Labels | None = None) -> MeanTau:
    """Returns the mean over rater pairs of their (stratified) tau-b.

    Args:
        ratings: shape (raters, items), nan where a rater did not rate; deleted pair by pair of
            raters, so that two raters need two common items in a group to be compared there.
        groups: one label an item; counts are summed over groups before each pair's tau.

    Raises:
        ValueError: not two-dimensional, fewer than two raters, or labels that do not fit.

    Source: Kendall (1945), Biometrika 33, 239, for tau-b; Ehrenberg (1952), Biometrika 39, 82, for
    its mean over pairs of raters.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2:
        raise ValueError(f"ratings must be (raters >= 2, items), got shape {table.shape}")
    n_raters, n_items = table.shape
    codes, labels = group_codes(groups, n_items)
    sizes = np.bincount(codes, minlength=len(labels)).astype(np.int64)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    if n_raters * n_pairs <= MATRIX_CELLS:
        taus = _taus_by_signs(table, codes)
    else:
        taus = _taus_by_sorting(table, codes, labels)
    defined = taus[~np.isnan(taus)]
    return MeanTau(
        value=float(defined.mean()) if defined.size else math.nan,
        n_pairs_defined=int(defined.size),
        n_pairs_undefined=int(taus.size - defined.size),
        n_item_pairs=_jointly_judged_pairs(~np.isnan(table), codes, len(labels)),
    )


def _taus_by_signs(table: Floats, codes: npt.NDArray[np.int64]) -> Floats:
    """Tau of every rater pair by matrix products of signs: signs has shape (raters, pairs)."""
    first, second = within_group_pairs(codes)
    difference = table[:, first] - table[:, second]
    seen = (~np.isnan(difference)).astype(np.float64)
    signs = np.sign(np.nan_to_num(difference))
    ordered = np.abs(signs)
    numerator = signs @ signs.T
    # ordered @ seen.T: pairs that the row's rater orders and the column's rater has seen as well.
    row_ordered = ordered @ seen.T
    scale = np.sqrt(row_ordered * row_ordered.T)
    upper = np.triu_indices(table.shape[0], k=1)
    scale, numerator = scale[upper], numerator[upper]
    taus: Floats = np.divide(numerator, scale, out=np.full(scale.shape, np.nan), where=scale > 0)
    return taus


def _taus_by_sorting(table: Floats, codes: npt.NDArray[np.int64], labels: list[Any]) -> Floats:
    taus = []
    missing = np.isnan(table)
    for row in range(table.shape[0]):
        for other in range(row + 1, table.shape[0]):
            keep = ~(missing[row] | missing[other])
            counts = count_coded_pairs(table[row, keep], table[other, keep], codes[keep], labels)
            taus.append(tau_from_counts(counts.total()))
    return np.array(taus)


def within_group_pairs(
    codes: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the item indices of all within-group pairs, as two vectors."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    firsts, seconds = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.unique(sizes):
        row, column = np.triu_indices(int(size), k=1)
        base = starts[sizes == size][:, None]
        firsts.append((base + row).ravel())
        seconds.append((base + column).ravel())
    return order[np.concatenate(firsts)], order[np.concatenate(seconds)]


def _jointly_judged_pairs(
    seen: npt.NDArray[np.bool_], codes: npt.NDArray[np.int64], n_groups: int
) -> int:
    """Within-group item pairs seen by at least two raters.

    Items are gathered by the set of raters who saw them, so that no pair is enumerated twice:
    few such sets occur in a group, however many items it holds.
    """
    patterns, pattern_of = np.unique(seen, axis=1, return_inverse=True)
    joint = patterns.T.astype(np.int64) @ patterns.astype(np.int64) >= 2
    cells, counts = np.unique(codes * patterns.shape[1] + pattern_of.ravel(), return_counts=True)
    group_of, pattern = np.divmod(cells, max(patterns.shape[1], 1))
    total = 0
    for code in range(n_groups):
        mine = group_of == code
        size, which = counts[mine].astype(np.int64), pattern[mine]
        together = joint[np.ix_(which, which)]
        ordered_pairs = int(size @ together @ size)
        same_item = int(size @ np.diag(together))
        total += (ordered_pairs - same_item) // 2
    return total


def pair_accuracy(
    judge: npt.ArrayLike, reference: npt.ArrayLike, groups: Labels | None = None
) -> PairAccuracy:
    """Returns the share of reference-decided pairs ordered likewise, judge ties being one half.

    Unlike tau-b it does not reward a judge for tying: breaking ties at random leaves its
    expectation where it is. Pairs that the reference ties say nothing and are not counted.

    Args:
        judge: shape (items,); nan is missing.
        reference: shape (items,), larger = better on the judge's own direction; nan is missing.
        groups: one label an item; only within-group pairs count.

    Raises:
        ValueError: different lengths, or a missing group label.
    """
    counts = pair_counts(judge, reference, groups)
    n_pairs = counts.concordant + counts.discordant + counts.tied_x
    value = (counts.concordant + 0.5 * counts.tied_x) / n_pairs if n_pairs else math.nan
    return PairAccuracy(value=value, n_pairs=n_pairs, n_judge_ties=counts.tied_x)


def agreement_ceiling(mean_tau: float, n_raters: int) -> float:
    """Returns the tau expected of an untied judge who knows the truth, against the raters' mean.

    r = sin(π τ / 2);  R = m r / (1 + (m − 1) r);  ceiling = (2 / π) asin(sqrt(R))
    m exchangeable raters with mean pairwise tau τ; Gaussian copula; the judge is untied and
    independent of these raters' errors. A judge above it has borrowed from the raters, from ties,
    from pooling or from chance.

    Args:
        mean_tau: in [-1, 1]; nan is missing.
        n_raters: raters whose mean is the reference, at least 1.

    Returns:
        In [0, 1]; nan for a nan or negative mean_tau: such raters measure nothing in common.

    Raises:
        ValueError: mean_tau outside [-1, 1], or n_raters below 1.

    Source: Greiner's relation, Kruskal (1958), Journal of the American Statistical Association 53,
    814; Spearman (1910) and Brown (1910) for the mean of m raters; put together here.
    """
    if n_raters < 1:
        raise ValueError(f"n_raters must be at least 1, got {n_raters}")
    if abs(mean_tau) > 1:
        raise ValueError(f"mean_tau must be in [-1, 1], got {mean_tau}")
    if math.isnan(mean_tau) or mean_tau < 0:
        return math.nan
    correlation = math.sin(math.pi * mean_tau / 2)
    reliability = n_raters * correlation / (1 + (n_raters - 1) * correlation)
    return 2 / math.pi * math.asin(math.sqrt(min(reliability, 1.0)))


@dataclass(frozen=True, slots=True)
class PairTypeAgreement:
    """Agreement over the within-group pairs of one type.

    Attributes:
        kinds: the kinds of the two items, twice the same for pairs within a kind.
        counts: the pair counts.
        tau: tau-b from those counts; nan when a side orders none of the pairs.
        accuracy: of x on the pairs that y decides, ties of x one half; nan when y decides none.
    """

    kinds: tuple[Any, Any]
    counts: PairCounts
    tau: float
    accuracy: float


def agreement_by_pair_type(
    x: npt.ArrayLike, y: npt.ArrayLike, groups: Labels | None, kinds: Labels
) -> tuple[PairTypeAgreement, ...]:
    """Returns agreement of x with the reference y for every type of pair, types within groups.

    Pairs of two kinds are what is left of the pairs of both kinds together when the pairs within
    each are taken away, so the types add up to all within-group pairs.

    Args:
        x: shape (items,), the judge; nan is missing and deletes the item.
        y: shape (items,), the reference, likewise.
        groups: one prompt label an item; None compares all items.
        kinds: one label an item, for example "person" or "model".

    Returns:
        Kinds with themselves first, in order of first appearance, then each two kinds.

    Raises:
        ValueError: different lengths, or a missing label.
    """
    first, second = paired_values(x, y)
    codes, labels = group_codes(groups, first.size)
    kind_codes, kind_labels = group_codes(kinds, first.size)
    seen = ~(np.isnan(first) | np.isnan(second))

    def counted(wanted: list[int]) -> PairCounts:
        keep = seen & np.isin(kind_codes, wanted)
        return count_coded_pairs(first[keep], second[keep], codes[keep], labels).total()

    within = [counted([kind]) for kind in range(len(kind_labels))]
    found = [
        _agreement((label, label), counts)
        for label, counts in zip(kind_labels, within, strict=True)
    ]
    for a, b in itertools.combinations(range(len(kind_labels)), 2):
        across = _without(_without(counted([a, b]), within[a]), within[b])
        found.append(_agreement((kind_labels[a], kind_labels[b]), across))
    return tuple(found)


def _without(counts: PairCounts, part: PairCounts) -> PairCounts:
    return PairCounts(
        concordant=counts.concordant - part.concordant,
        discordant=counts.discordant - part.discordant,
        tied_x=counts.tied_x - part.tied_x,
        tied_y=counts.tied_y - part.tied_y,
        tied_both=counts.tied_both - part.tied_both,
        n_pairs=counts.n_pairs - part.n_pairs,
    )


def _agreement(kinds: tuple[Any, Any], counts: PairCounts) -> PairTypeAgreement:
    decided = counts.concordant + counts.discordant + counts.tied_x
    return PairTypeAgreement(
        kinds=kinds,
        counts=counts,
        tau=tau_from_counts(counts),
        accuracy=(counts.concordant + 0.5 * counts.tied_x) / decided if decided else math.nan,
    )
