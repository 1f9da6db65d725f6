"""Agreement split by what kinds of respondent a pair compares: model-model, person-model, …

Where people's texts and models' texts answer the same prompt, a judge that only recognises the
source orders every cross pair alike and no other; one tau over all pairs hides that.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .grouping import Labels, group_codes
from .kendall import tau_from_counts
from .pair_counting import PairCounts, count_coded_pairs, paired_values


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
