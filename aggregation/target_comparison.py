"""Targets compared on the same prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .multiplicity import holm
from .prompt_means import Floats, PromptMean, prompt_means


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """Mean delta of one target minus that of another, paired by prompt.

    Attributes:
        first, second: the targets; positive means that `first` degrades more.
        condition: None for the mean over all conditions.
        estimate: mean over prompts scored in every dimension of every arm needed, of both.
        p_holm: over pairs for condition None; over pairs x conditions for the others; where
            dimensions are compared one by one, times the dimensions.
        n_tests: size of that family.
        dimension: None for the mean over all dimensions.
    """

    first: str
    second: str
    condition: str | None
    estimate: PromptMean
    p_holm: float
    n_tests: int
    dimension: str | None = None


def compare_targets(
    deltas: Floats,
    *,
    targets: Sequence[str],
    variants: Sequence[str],
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
) -> tuple[TargetComparison, ...]:
    """Returns every pair of targets, over all conditions and by condition; empty for one target.

    Args:
        deltas: shape (targets, variants, prompts), each prompt's mean over dimensions; nan where
            one of its scores is missing.
        targets, variants: names.
        level, flips, seed: as in `prompt_means`.
    """
    pairs = list(combinations(range(len(targets)), 2))
    if not pairs:
        return ()
    overall = deltas.mean(axis=1, keepdims=True)
    rows: list[TargetComparison] = []
    for names, values in (((None,), overall), (tuple(variants), deltas)):
        columns = np.concatenate([values[a] - values[b] for a, b in pairs]).T
        found = prompt_means(columns, level=level, flips=flips, seed=seed)
        adjusted = holm([one.p_value for one in found]).tolist()
        n_tests = sum(one.n_prompts > 0 for one in found)
        for k, (one, p_holm) in enumerate(zip(found, adjusted, strict=True)):
            a, b = pairs[k // len(names)]
            condition = names[k % len(names)]
            rows.append(TargetComparison(targets[a], targets[b], condition, one, p_holm, n_tests))
    return tuple(rows)


def compare_targets_by_dimension(
    deltas: Floats,
    *,
    targets: Sequence[str],
    variants: Sequence[str],
    dimensions: Sequence[str],
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
) -> tuple[TargetComparison, ...]:
    """Returns every pair of targets on each dimension, over all conditions and by condition.

    Args:
        deltas: shape (targets, variants, prompts, dimensions); nan is missing.
        targets, variants, dimensions: names.
        level, flips, seed: as in `prompt_means`.

    Returns:
        Two Holm families, as in `compare_targets`; empty for one target.
    """
    pairs = list(combinations(range(len(targets)), 2))
    if not pairs:
        return ()
    overall = deltas.mean(axis=1, keepdims=True)
    rows: list[TargetComparison] = []
    for names, values in (((None,), overall), (tuple(variants), deltas)):
        # (variants, prompts, dimensions) to columns by variant, then by dimension.
        tables = [(values[a] - values[b]).transpose(1, 0, 2) for a, b in pairs]
        columns = np.concatenate([one.reshape(one.shape[0], -1) for one in tables], axis=1)
        found = prompt_means(columns, level=level, flips=flips, seed=seed)
        adjusted = holm([one.p_value for one in found]).tolist()
        n_tests = sum(one.n_prompts > 0 for one in found)
        places = [(a, b, name, d) for a, b in pairs for name in names for d in dimensions]
        rows += [
            TargetComparison(targets[a], targets[b], name, one, p_holm, n_tests, dimension)
            for (a, b, name, dimension), one, p_holm in zip(places, found, adjusted, strict=True)
        ]
    return tuple(rows)
