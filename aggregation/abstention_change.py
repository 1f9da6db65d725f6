"""Whether a target declines more often under a framing than at the baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .multiplicity import holm
from .prompt_means import Floats
from .proportions import mcnemar_midp


@dataclass(frozen=True, slots=True)
class Abstention:
    """Differential abstention of a target under one condition, over prompts known in both arms.

    Attributes:
        only_baseline, only_variant, both, neither: prompts by who abstained.
        p_value: McNemar mid-p; nan where no prompt differs between the arms.
        p_holm: adjusted over the conditions of the target.
        n_planned: prompts handed in.
        reason: why p is nan, or None.
    """

    target: str
    condition: str
    only_baseline: int
    only_variant: int
    both: int
    neither: int
    p_value: float
    p_holm: float
    n_planned: int
    reason: str | None = None

    @property
    def n_known(self) -> int:
        """Prompts for which both arms are known."""
        return self.only_baseline + self.only_variant + self.both + self.neither


def abstentions_of(
    baseline: Floats, variants: Mapping[str, Floats], *, targets: Sequence[str]
) -> tuple[Abstention, ...]:
    """Returns the differential abstention of every target and variant condition.

    Scores exist only where the target answered, so that a framing that makes it decline the hard
    prompts can look harmless: these counts stand beside every cell.

    Args:
        baseline: shape (targets, prompts): 1 abstained, 0 did not, nan unknown.
        variants: the same by condition.
        targets: names.
    """
    rows = []
    for t, target in enumerate(targets):
        counts = [_counts(baseline[t], variant[t]) for variant in variants.values()]
        p_values = [mcnemar_midp(int(one[0]), int(one[1])) for one in counts]
        adjusted = holm(p_values).tolist()
        for k, condition in enumerate(variants):
            only_baseline, only_variant, both, neither = (int(count) for count in counts[k])
            reason = None
            if math.isnan(p_values[k]):
                reason = "no prompt for which both arms are known"
                if counts[k].any():
                    reason = "no prompt on which only one of the arms abstained"
            rows.append(
                Abstention(
                    target, condition, only_baseline, only_variant, both, neither, p_values[k],
                    adjusted[k], baseline.shape[1], reason,
                )
            )  # fmt: skip
    return tuple(rows)


def _counts(first: Floats, second: Floats) -> Floats:
    """Prompts on which only the first, only the second, both and neither abstained."""
    known = ~(np.isnan(first) | np.isnan(second))
    a, b = first[known] == 1, second[known] == 1
    return np.array([(a & ~b).sum(), (b & ~a).sum(), (a & b).sum(), (~a & ~b).sum()], dtype=float)
