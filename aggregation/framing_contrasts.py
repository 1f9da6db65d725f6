"""Which framing, dimension or target degrades more, where a target declines: paired by prompt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from .effects import Floats, adjusted_together, prompt_means
from .estimate import Estimate
from .proportions import mcnemar_midp

FramingPair = tuple[tuple[str, ...], tuple[str, ...]]

DeltasOf = Callable[[Sequence[str]], Floats]
"""The deltas of one target under some variants, shape (variants, prompts, dimensions), over the
judges that scored the baseline and all of these; nan is missing."""

DeltasBetween = Callable[[int, int, Sequence[str]], Floats]
"""Likewise, a target's deltas minus another's, over the judges that scored all of both."""

FRAMING_PAIRS: tuple[FramingPair, ...] = (
    (("empirical_i",), ("empirical_friend",)),
    (("emotion_agree", "emotion_disagree"), ("empirical_i", "empirical_friend")),
)
"""Said of oneself against said of a friend; conviction against casual belief."""


@dataclass(frozen=True, slots=True)
class FramingContrast:
    """Mean delta over some conditions, or dimensions, minus that over others.

    Attributes:
        kind: "condition" (one framing against all others), "dimension" (one dimension against all
            others, over all framings) or "framing" (a named pair of groups of framings).
        first, second: the names on either side; positive means that `first` degrades more.
        estimate: mean over the prompts scored in every arm and dimension that either side needs;
            p adjusted over all contrasts of the target.
    """

    target: str
    kind: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    estimate: Estimate


def framing_contrasts(
    deltas_of: DeltasOf,
    *,
    target: str,
    variants: Sequence[str],
    dimensions: Sequence[str],
    pairs: Sequence[FramingPair] = FRAMING_PAIRS,
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
) -> tuple[FramingContrast, ...]:
    """Returns all contrasts of one target, adjusted together.

    Args:
        deltas_of: its deltas; both sides of a contrast are those of the same judges.
        target: its name.
        variants, dimensions: names.
        pairs: groups of framings to set against each other; a pair that names an absent condition
            is passed over.
        level, flips, seed: as in `prompt_means`.

    Returns:
        Empty with one condition and one dimension: there is nothing to contrast.
    """
    deltas = deltas_of(variants)
    by_variant = deltas.mean(axis=2)
    by_dimension = deltas.mean(axis=0).T
    sides: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    columns: list[Floats] = []
    for kind, names, rows in (
        ("condition", tuple(variants), by_variant),
        ("dimension", tuple(dimensions), by_dimension),
    ):
        # Of two, either against the other is the same test.
        for k in range(len(names) if len(names) > 2 else len(names) - 1):
            others = [j for j in range(len(names)) if j != k]
            sides.append((kind, (names[k],), tuple(names[j] for j in others)))
            columns.append(rows[k] - rows[others].mean(axis=0))
    for first, second in pairs:
        # With two framings the pair is the contrast already there.
        if len(variants) == 2 or not {*first, *second} <= set(variants):
            continue
        sides.append(("framing", tuple(first), tuple(second)))
        of_pair = deltas_of([*first, *second]).mean(axis=2)
        n = len(first)
        columns.append(of_pair[:n].mean(axis=0) - of_pair[n:].mean(axis=0))
    if not columns:
        return ()
    found = prompt_means(np.stack(columns, axis=1), level=level, flips=flips, seed=seed)
    found = adjusted_together(found, f"contrasts of {target}")
    return tuple(
        FramingContrast(target, *side, one) for side, one in zip(sides, found, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """Delta under agreement minus delta under disagreement, of one target and dimension.

    Positive: the user's agreement costs more than the user's opposition, which Figure 10 of the
    SCRuB paper reads as sycophancy where the dimension is pluralistic engagement.

    Attributes:
        agree, disagree: the two conditions.
        is_declared: whether this is the dimension named beforehand.
        estimate: mean over prompts scored at the baseline and under both framings; p adjusted over
            targets on the declared dimension, on the others over all of those.
    """

    target: str
    dimension: str
    agree: str
    disagree: str
    is_declared: bool
    estimate: Estimate


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
    places = [(target, name) for target in targets for name in dimensions]
    means = [
        one
        for t in range(len(targets))
        for one in prompt_means(agree[t] - disagree[t], level=level, flips=flips, seed=seed)
    ]
    for is_declared, what in ((True, "declared asymmetries"), (False, "further asymmetries")):
        family = [k for k, (_, name) in enumerate(places) if (name == declared) is is_declared]
        for k, one in zip(family, adjusted_together([means[k] for k in family], what), strict=True):
            means[k] = one
    return tuple(
        Asymmetry(target, name, *conditions, name == declared, one)
        for (target, name), one in zip(places, means, strict=True)
    )


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """Mean delta of one target minus that of another, paired by prompt.

    Attributes:
        first, second: the targets; positive means that `first` degrades more.
        condition: None for the mean over all conditions.
        dimension: None for the mean over all dimensions.
        estimate: mean over prompts scored in every dimension and arm needed, of both; p adjusted
            over pairs, times the conditions and the dimensions where these are looked at one by
            one: four families.
    """

    first: str
    second: str
    condition: str | None
    dimension: str | None
    estimate: Estimate


def compare_targets(
    between: DeltasBetween,
    *,
    targets: Sequence[str],
    variants: Sequence[str],
    dimensions: Sequence[str],
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
) -> tuple[TargetComparison, ...]:
    """Returns every pair of targets: over all conditions and dimensions, then by each of them.

    Args:
        between: differences of their deltas.
        targets, variants, dimensions: names.
        level, flips, seed: as in `prompt_means`.

    Returns:
        Empty for one target.
    """
    pairs = list(combinations(range(len(targets)), 2))
    if not pairs:
        return ()
    # (variants, prompts, dimensions) of a pair: over all variants together, then one by one.
    over_all = [between(a, b, variants).mean(axis=0, keepdims=True) for a, b in pairs]
    one_by_one = [np.concatenate([between(a, b, [name]) for name in variants]) for a, b in pairs]
    rows: list[TargetComparison] = []
    names: tuple[str | None, ...]
    for is_composite, names in ((True, (None,)), (False, tuple(dimensions))):
        conditions: tuple[str | None, ...]
        for given, conditions in ((over_all, (None,)), (one_by_one, tuple(variants))):
            tables = [one.mean(axis=2, keepdims=True) if is_composite else one for one in given]
            columns = [one.transpose(1, 0, 2).reshape(one.shape[1], -1) for one in tables]
            table = np.concatenate(columns, axis=1)
            found = prompt_means(table, level=level, flips=flips, seed=seed)
            found = adjusted_together(found, "comparisons of targets")
            places = [(a, b, c, d) for a, b in pairs for c in conditions for d in names]
            rows += [
                TargetComparison(targets[a], targets[b], condition, dimension, one)
                for (a, b, condition, dimension), one in zip(places, found, strict=True)
            ]
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class Abstention:
    """Differential abstention of a target under one condition, over prompts known in both arms.

    Attributes:
        only_baseline, only_variant, both, neither: prompts by who abstained.
        estimate: share of prompts declined under the condition minus share declined at the
            baseline, with McNemar's mid-p, nan where no prompt differs between the arms; adjusted
            over the conditions of the target.
    """

    target: str
    condition: str
    only_baseline: int
    only_variant: int
    both: int
    neither: int
    estimate: Estimate


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
        found = adjusted_together(
            [_change(*one, n_planned=baseline.shape[1]) for one in counts],
            f"abstentions of {target}",
        )
        rows += [
            Abstention(target, condition, *count, one)
            for condition, count, one in zip(variants, counts, found, strict=True)
        ]
    return tuple(rows)


def _change(
    only_baseline: int, only_variant: int, both: int, neither: int, *, n_planned: int
) -> Estimate:
    n = only_baseline + only_variant + both + neither
    p_value = mcnemar_midp(only_baseline, only_variant)
    reason = None
    if math.isnan(p_value):
        reason = "no prompt for which both arms are known"
        if n:
            reason = "no prompt on which only one of the arms abstained"
    share = (only_variant - only_baseline) / n if n else math.nan
    made = Estimate(share, n=n, method="difference of shares", reason=reason)
    return replace(made, n_planned=n_planned, p=p_value, p_method="McNemar, mid-p")


def _counts(first: Floats, second: Floats) -> tuple[int, int, int, int]:
    """Prompts on which only the first, only the second, both and neither abstained."""
    known = ~(np.isnan(first) | np.isnan(second))
    a, b = first[known] == 1, second[known] == 1
    return int((a & ~b).sum()), int((b & ~a).sum()), int((a & b).sum()), int((~a & ~b).sum())
