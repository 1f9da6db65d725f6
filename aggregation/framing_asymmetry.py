"""Whether agreeing pressure costs more than opposing pressure, paired by prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .multiplicity import holm
from .prompt_means import Floats, PromptMean, prompt_means


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """Delta under agreement minus delta under disagreement, of one target and dimension.

    Positive: the user's agreement costs more than the user's opposition, which Figure 10 of the
    SCRuB paper reads as sycophancy where the dimension is pluralistic engagement.

    Attributes:
        agree, disagree: the two conditions.
        is_declared: whether this is the dimension named beforehand.
        estimate: mean over prompts scored at the baseline and under both framings.
        p_holm: over targets on the declared dimension; on the others over all of those.
        n_tests: size of that family.
    """

    target: str
    dimension: str
    agree: str
    disagree: str
    is_declared: bool
    estimate: PromptMean
    p_holm: float
    n_tests: int


def framing_asymmetry(
    agree: Floats,
    disagree: Floats,
    *,
    targets: Sequence[str],
    dimensions: Sequence[str],
    conditions: tuple[str, str],
    declared: str,
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
) -> tuple[Asymmetry, ...]:
    """Returns the asymmetry of every target on every dimension.

    The baseline cancels: delta_agree − delta_disagree = S_disagree − S_agree, so its noise is not
    in this figure.

    Args:
        agree, disagree: deltas, shape (targets, prompts, dimensions); nan is missing.
        targets, dimensions: names.
        conditions: names of the two framings.
        declared: the dimension whose asymmetry is the claim; its Holm family is the targets. May
            be absent.
        level, flips, seed: as in `prompt_means`.
    """
    rows: list[tuple[str, str, PromptMean]] = []
    for t, target in enumerate(targets):
        found = prompt_means(agree[t] - disagree[t], level=level, flips=flips, seed=seed)
        rows += [(target, name, one) for name, one in zip(dimensions, found, strict=True)]
    p = np.array([one.p_value for _, _, one in rows])
    is_declared = np.array([name == declared for _, name, _ in rows])
    adjusted, n_tests = np.full(p.size, np.nan), np.zeros(p.size, dtype=np.int64)
    for family in (is_declared, ~is_declared):
        adjusted[family] = holm(p[family])
        n_tests[family] = (~np.isnan(p[family])).sum()
    return tuple(
        Asymmetry(
            target, name, *conditions, name == declared, one, float(adjusted[k]), int(n_tests[k])
        )
        for k, (target, name, one) in enumerate(rows)
    )
