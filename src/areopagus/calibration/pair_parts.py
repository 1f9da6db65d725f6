"""Pairs of responses by prompt and by type: the sums of which accuracies and taus are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.pair_counting import GroupPairCounts, count_coded_pairs
from .responses import HUMAN, MODEL

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PairType = Literal["all", "model-model", "human-human", "cross", "within-source"]
PAIR_TYPES: tuple[PairType, ...] = ("model-model", "human-human", "cross", "within-source")


@dataclass(frozen=True, slots=True)
class PairSums:
    """Sums over the pairs of a type that the reference decides, one entry a prompt.

    Attributes:
        right: concordant pairs plus half of the judge's ties.
        decided: pairs that the reference decides and the judge has seen.
        ties: those that the judge ties.
        difference: concordant minus discordant.
        ordered: pairs that the judge orders.
    """

    right: Floats
    decided: Floats
    ties: Floats
    difference: Floats
    ordered: Floats

    @property
    def accuracy(self) -> tuple[Floats, Floats]:
        """(right, decided): the two sums that pair accuracy is the ratio of."""
        return self.right, self.decided

    @property
    def tau(self) -> float:
        """The stratified tau-b of these pairs; nan when a side orders none."""
        scale = float(np.sqrt(self.ordered.sum() * self.decided.sum()))
        return float(self.difference.sum()) / scale if scale else float("nan")

    def minus(self, other: PairSums) -> PairSums:
        """Returns the sums without those of a part."""
        return PairSums(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))

    def plus(self, other: PairSums) -> PairSums:
        """Returns the sums of both."""
        return PairSums(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def settled(values: Floats) -> Floats:
    """Returns values to eleven digits of the largest: ties that summing in another order broke.

    Means of the same numbers in another order differ in the last digit, which is no difference.
    """
    largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    if largest == 0.0:
        return values
    return np.round(values, 10 - math.floor(math.log10(largest)))


def pair_sums(
    judge: Floats,
    reference: Floats,
    prompt: Integers,
    mask: npt.NDArray[np.bool_] | None = None,
    *,
    n_prompts: int,
) -> PairSums:
    """Returns the sums over all within-prompt pairs of the responses in the mask.

    Args:
        judge, reference: shape (R,), higher is better; nan is missing.
        prompt: shape (R,), codes below n_prompts.
        mask: responses to take; all by default.
        n_prompts: entries of the result.
    """
    keep = np.isfinite(judge) & np.isfinite(reference)
    if mask is not None:
        keep = keep & mask
    counts = count_coded_pairs(
        settled(judge[keep]), settled(reference[keep]), prompt[keep],
        [None] * n_prompts,
    )  # fmt: skip
    return _sums(counts)


def sums_by_type(
    judge: Floats, reference: Floats, prompt: Integers, source: Integers, *, n_prompts: int
) -> dict[PairType, PairSums]:
    """Returns the sums of every pair type; responses of unknown source take no part.

    Cross pairs are those of both sources together less those within each.
    """
    is_human, is_model = source == HUMAN, source == MODEL

    def of(mask: npt.NDArray[np.bool_]) -> PairSums:
        return pair_sums(judge, reference, prompt, mask, n_prompts=n_prompts)

    model, human, together = of(is_model), of(is_human), of(is_human | is_model)
    within = model.plus(human)
    return {
        "all": together,
        "model-model": model,
        "human-human": human,
        "cross": together.minus(within),
        "within-source": within,
    }


def _sums(counts: GroupPairCounts) -> PairSums:
    concordant = counts.concordant.astype(np.float64)
    discordant = counts.discordant.astype(np.float64)
    tied_judge = counts.tied_x.astype(np.float64)
    return PairSums(
        right=concordant + tied_judge / 2,
        decided=concordant + discordant + tied_judge,
        ties=tied_judge,
        difference=concordant - discordant,
        ordered=concordant + discordant + counts.tied_y,
    )
