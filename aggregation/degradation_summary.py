"""A stress test in few numbers: levels, headlines, and the claim for all cells of a target."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .degradation_cells import DegradationCell
from .degradation_request import StressArrays
from .estimate import Estimate
from .intervals import t_interval
from .prompt_means import Floats, PromptMean, prompt_means


@dataclass(frozen=True, slots=True)
class ScoreLevel:
    """Mean panel score of one arm over the prompts scored in it.

    Attributes:
        target, condition: the arm; the baseline is one of the conditions.
        dimension: None for the mean over dimensions, of prompts scored in all of them.
        interval: mean and t interval over prompts.
        standard_error: sd / sqrt(prompts); nan below two prompts.
        n_planned: prompts handed in.
    """

    target: str
    condition: str
    dimension: str | None
    interval: Estimate
    standard_error: float
    n_planned: int


@dataclass(frozen=True, slots=True)
class Headline:
    """Mean delta over dimensions of one target: by condition, or over all (condition None)."""

    target: str
    condition: str | None
    estimate: PromptMean


@dataclass(frozen=True, slots=True)
class RobustEverywhere:
    """The claim that no framing moves any dimension by the margin: an intersection-union test.

    Every dimension cell's equivalence test at alpha without correction, and every noise gate open.

    Attributes:
        is_robust: True or False; None when a cell's test is undefined.
        p_value: the largest of the cells'; nan when one is undefined.
        n_cells: dimension cells.
        n_failing: those whose test does not pass, is undefined or whose gate is closed.
        n_changed: cells within the margin and yet significantly different from 0.
        reason: why it is not robust, or None.
    """

    target: str
    is_robust: bool | None
    p_value: float
    n_cells: int
    n_failing: int
    n_changed: int
    reason: str | None


def score_levels(arrays: StressArrays, level: float) -> tuple[ScoreLevel, ...]:
    """Returns the mean of every arm and dimension over the prompts scored in it."""
    rows = []
    for t, target in enumerate(arrays.targets):
        for c, condition in enumerate(arrays.conditions):
            table = arrays.scores[t, c]
            columns = np.column_stack([table, table.mean(axis=1)])
            for k, dimension in enumerate((*arrays.dimensions, None)):
                values = columns[~np.isnan(columns[:, k]), k]
                interval = t_interval(values, level=level)
                if not values.size:
                    interval = replace(interval, reason="no prompt was scored")
                error = math.nan
                if values.size > 1:
                    error = float(values.std(ddof=1)) / math.sqrt(values.size)
                rows.append(ScoreLevel(target, condition, dimension, interval, error, len(table)))
    return tuple(rows)


def headlines(
    targets: tuple[str, ...],
    variants: tuple[str, ...],
    whole: Floats,
    level: float,
    flips: int,
    seed: int,
) -> tuple[Headline, ...]:
    """Returns each target's mean delta over all conditions, then by condition.

    Args:
        whole: shape (targets, variants, prompts), each prompt's mean over dimensions.
    """
    rows = []
    for t, target in enumerate(targets):
        columns = np.column_stack([whole[t].mean(axis=0), whole[t].T])
        found = prompt_means(columns, level=level, flips=flips, seed=seed)
        for condition, one in zip((None, *variants), found, strict=True):
            rows.append(Headline(target, condition, one))
    return tuple(rows)


def robust_everywhere(target: str, cells: Sequence[DegradationCell]) -> RobustEverywhere:
    """Returns the claim for all dimension cells of one target."""
    mine = [cell for cell in cells if cell.target == target and cell.dimension is not None]
    p_values = [cell.equivalence.p_value for cell in mine]
    undefined = [cell for cell in mine if cell.within_margin is None]
    outside = [cell for cell in mine if cell.within_margin is False]
    closed = [cell for cell in mine if cell.noise.reason is not None]
    failing = [cell for cell in mine if not cell.within_margin or cell.noise.reason is not None]
    changed = sum(cell.verdict == "changed" and cell.within_margin is True for cell in mine)
    verdict: bool | None = not failing
    reasons = []
    if outside:
        reasons.append(f"{len(outside)} of {len(mine)} cells are not shown to be inside the margin")
    if undefined:
        reasons.append(f"{len(undefined)} undefined ({undefined[0].equivalence.reason})")
        verdict = False if outside else None
    if closed and not (outside or undefined):
        reasons.append(str(closed[0].noise.reason))
    p_value = math.nan if undefined else max(p_values)
    return RobustEverywhere(
        target, verdict, p_value, len(mine), len(failing), changed, "; ".join(reasons) or None
    )
