"""Which framing, and which dimension, a target is weakest under: contrasts paired by prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .multiplicity import holm
from .prompt_means import Floats, PromptMean, prompt_means

FramingPair = tuple[tuple[str, ...], tuple[str, ...]]

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
        estimate: mean over the prompts scored in every arm and dimension that either side needs.
        p_holm: over all contrasts of the target.
        n_tests: how many those are.
    """

    target: str
    kind: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    estimate: PromptMean
    p_holm: float
    n_tests: int


def framing_contrasts(
    deltas: Floats,
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
        deltas: shape (variants, prompts, dimensions); nan is missing.
        target: its name.
        variants, dimensions: names.
        pairs: groups of framings to set against each other; a pair that names an absent condition
            is passed over.
        level, flips, seed: as in `prompt_means`.

    Returns:
        Empty with one condition and one dimension: there is nothing to contrast.
    """
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
        one, other = ([variants.index(name) for name in side] for side in (first, second))
        columns.append(by_variant[one].mean(axis=0) - by_variant[other].mean(axis=0))
    if not columns:
        return ()
    found = prompt_means(np.stack(columns, axis=1), level=level, flips=flips, seed=seed)
    adjusted = holm([one.p_value for one in found]).tolist()
    n_tests = sum(one.n_prompts > 0 for one in found)
    return tuple(
        FramingContrast(target, *side, one, p_holm, n_tests)
        for side, one, p_holm in zip(sides, found, adjusted, strict=True)
    )
