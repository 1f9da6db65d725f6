"""What a panel is worth in independent judgments, and what independent judges come out as."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..aggregation.effective_judges import (
    SHARED,
    effective_judges,
    effective_judges_from_components,
    independent_worth,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.generalizability import RESIDUAL, GStudy
from .leave_out import jackknife
from .material import Material, Target
from .ratings import prompt_tables

Floats = npt.NDArray[np.float64]

NULL_DRAWS = 200
MOST_NULL_CELLS = 100_000
"""Panels drawn for the null of the errors, and the scores from which on none are."""


@dataclass(frozen=True, slots=True)
class NullBand:
    """What so many independent judges come out as, simulated on data of this shape.

    It is no interval of the panel's own figure: a panel inside is not shown to share errors, one
    below shares some.

    Attributes:
        null_low, null_median, null_high: 2.5%, 50% and 97.5%; nan where infinite or unknown.
        method: how it was made.
        reason: why a limit is missing, or None.
    """

    null_low: float
    null_median: float
    null_high: float
    method: str
    reason: str | None

    @property
    def is_known(self) -> bool:
        """Whether there is a lower limit."""
        return math.isfinite(self.null_low)


NO_NULL = NullBand(math.nan, math.nan, math.nan, "", "the worth is undefined")


def worth_of_components(
    study: GStudy, panel: tuple[int, int, int], n_prompts: int, level: float
) -> Estimate:
    """Returns the worth of a panel, with an interval from components as they were estimated.

    A negative estimate counts as 0 in the worth itself. In the interval it keeps its sign: cut at
    0 the worth would be the panel's size without every prompt alike, and seem to be known exactly.

    Measured coverage of the 95% interval (benchmarks/simulate_panel_size.py, four personas and
    three models, 15% missing, worth 6.2 of 12): .959 at 9 prompts, .952 at 26 (Monte Carlo error
    .005, .010); of independent judges, worth 12 of 12, .961 at 9 prompts (.007).
    """
    method = "variance of one judgment's error over that of the panel mean, on the logarithm"
    size = math.prod(panel)
    if not set(SHARED) & set(study.components):
        shape = "one judge" if size == 1 else "with one model, or one persona,"
        return undefined(
            f"{shape} what judges share does not show in their scores", unit="prompt", method=method
        )
    personas, models, repeats = panel
    found = effective_judges_from_components(
        study, personas=personas, models=models, repeats=repeats
    )
    if not found > 0:
        return undefined("no component of error is positive", unit="prompt", method=method)
    signed = _signed_worth(study.components, panel)
    left_out = np.array([_signed_worth(components, panel) for components in study.left_out])
    negative = [name for name in study.negative if name in (*SHARED, RESIDUAL)]
    if negative:
        method += f"; in the interval negative components ({', '.join(negative)}) keep their sign"
    number = jackknife(signed, left_out, n=n_prompts, method=method, level=level)
    if not number.has_interval:
        reason = number.reason
        is_whole = not any(math.isnan(v) for parts in study.left_out for v in parts.values())
        if math.isnan(signed) or (is_whole and np.isnan(left_out).any()):
            reason = "no interval: components of error below 0 outweigh the others"
        return replace(number, value=found, reason=reason)
    # A panel is worth at least one judgment and at most as many as it gives.
    return replace(
        number,
        value=found,
        low=min(max(math.exp(number.low), 1.0), found),
        high=max(min(math.exp(min(number.high, 700.0)), float(size)), found),
    )


def _signed_worth(components: Mapping[str, float], panel: tuple[int, int, int]) -> float:
    """The logarithm of the worth, components as estimated; nan where a variance is not positive."""
    personas, models, repeats = panel
    judges = personas * models
    # as in `d_study`: without rPM the residual holds it, and repeats do not shrink it
    divisor = {
        "rP": personas, "rM": models, "rPM": judges,
        RESIDUAL: judges * repeats if "rPM" in components else judges,
    }  # fmt: skip
    one = sum(components.get(name, 0.0) for name in divisor)
    mean = sum(components.get(name, 0.0) / n for name, n in divisor.items())
    return math.log(one / mean) if one > 0 and mean > 0 else math.nan


def null_of_components(
    scores: Floats, prompt: npt.NDArray[np.int64], study: GStudy, seed: int
) -> NullBand:
    """Returns what `worth_of_components` comes out as for independent judgments."""
    found = independent_worth(scores, prompt=prompt, components=study.components, seed=seed)
    return NullBand(
        found.low, found.median, found.high,
        f"2.5% to 97.5% of {found.draws} panels whose judgments share no error", found.reason,
    )  # fmt: skip


def human_noise(target: Target) -> float:
    """Returns the error variance of a mean rating within prompts: s²_e / m̄; nan if unknown."""
    squares = df = raters = cells = 0.0
    for tables in prompt_tables(target.ratings):
        for table, complete in zip(tables.values, tables.complete, strict=True):
            whole = table[complete]
            m, n = whole.shape
            if m < 2:
                continue
            residual = whole - whole.mean(axis=0) - whole.mean(axis=1)[:, None] + whole.mean()
            squares += float((residual**2).sum())
            df += (m - 1) * (n - 1)
            raters += m
            cells += 1
    return squares / df / (raters / cells) if df else math.nan


def worth_of_errors(
    material: Material, target: Target | None, levels: Target | None, seed: int
) -> tuple[Estimate, NullBand]:
    """Returns the worth of a panel from its errors against people, and its null."""
    method = "Kish's number of the judges' errors against people"
    panel = material.panel

    def without(reason: str) -> tuple[Estimate, NullBand]:
        return undefined(reason, unit="judge", method=method), NO_NULL

    if target is None or panel is None:
        return without("people and panel share no criterion")
    if levels is None:
        return without("people gave ranks, which have no level to be wrong against")
    by_judge = panel.by_judge(levels.criterion)
    table = by_judge.reshape(len(by_judge), -1)
    table = table[:, np.isfinite(table).any(axis=0)]
    rows = np.flatnonzero(levels.both)
    noise = human_noise(levels)
    if math.isnan(noise):
        return without("no prompt has two complete raters: people's own error is not known")
    draws = NULL_DRAWS if len(rows) * table.shape[1] < MOST_NULL_CELLS else 0
    # judges whose errors cancel out are infinitely many: their null has infinite quantiles
    with np.errstate(invalid="ignore"):
        found = effective_judges(
            table[rows], levels.human[rows], groups=material.responses.prompt[rows],
            reference_noise=noise, draws=draws, seed=seed,
        )  # fmt: skip
    number = Estimate(
        found.kish, n=found.n_items, unit="response", method=method,
        reason=found.reason or "no interval: what independent judges come out as stands beside it",
    )  # fmt: skip
    if math.isnan(found.kish):
        return number, NO_NULL
    missing = None
    if not draws:
        missing = f"not simulated: {MOST_NULL_CELLS:,} scores or more"
    elif not math.isfinite(found.null_high):
        missing = "infinite: errors of so few responses can cancel out by chance"
    low, median, high = (
        limit if math.isfinite(limit) else math.nan
        for limit in (found.null_low, found.null_median, found.null_high)
    )
    return number, NullBand(
        low, median, high,
        f"2.5% to 97.5% of {draws} panels of independent judges with as large errors", missing,
    )  # fmt: skip
