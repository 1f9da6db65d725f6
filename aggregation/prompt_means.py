"""Means of per-prompt values: t interval and sign-flip p, the prompt being the unit."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import t_interval
from .sign_flips import SignFlips, sign_flip_tests

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PromptMean:
    """A mean over prompts.

    Attributes:
        interval: the mean in points with its t interval; its n counts the prompts that have every
            score the figure needs.
        standard_deviation: between prompts; nan below two prompts.
        p_value: two-sided sign-flip p; nan only when no prompt counts, which interval.reason says.
        p_method: "exact", "monte carlo" or "none".
        n_planned: prompts handed in.
    """

    interval: Estimate
    standard_deviation: float
    p_value: float
    p_method: str
    n_planned: int

    @property
    def mean(self) -> float:
        """The mean in points; nan when no prompt counts."""
        return self.interval.value

    @property
    def n_prompts(self) -> int:
        """Prompts that count."""
        return self.interval.n


def prompt_means(
    columns: npt.ArrayLike,
    *,
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
    empty: str = "no prompt has every score that this figure needs",
) -> tuple[PromptMean, ...]:
    """Returns the mean of every column with its interval and test.

    Args:
        columns: shape (prompts, cells); nan where a prompt lacks a score that the figure needs:
            it is left out whole, never filled from the scores it has.
        level: of the t intervals.
        flips, seed: as in `sign_flip_tests`.
        empty: the reason given when no prompt counts.
    """
    return tested_means(columns, level=level, flips=flips, seed=seed, empty=empty)[0]


def tested_means(
    columns: npt.ArrayLike, *, level: float, flips: int, seed: int, empty: str
) -> tuple[tuple[PromptMean, ...], SignFlips]:
    """Returns `prompt_means` and the tests they rest on."""
    table = np.asarray(columns, dtype=np.float64)
    tests = sign_flip_tests(table, flips=flips, seed=seed)
    means = []
    for cell in range(table.shape[1]):
        values = table[~np.isnan(table[:, cell]), cell]
        interval = t_interval(values, level=level)
        if not values.size:
            interval = replace(interval, reason=empty)
        spread = float(values.std(ddof=1)) if values.size > 1 else math.nan
        p_value, method = float(tests.p_value[cell]), tests.method[cell]
        means.append(PromptMean(interval, spread, p_value, method, len(table)))
    return tuple(means), tests
