"""Means of per-prompt values: t interval and sign-flip p, the prompt being the unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import t_interval
from .multiplicity import holm
from .sign_flips import SignFlips, sign_flip_tests

Floats = npt.NDArray[np.float64]


def prompt_means(
    columns: npt.ArrayLike,
    *,
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
    empty: str = "no prompt has every score that this figure needs",
) -> tuple[Estimate, ...]:
    """Returns the mean of every column with its t interval and its two-sided sign-flip p.

    Args:
        columns: shape (prompts, cells); nan where a prompt lacks a score that the figure needs:
            it is left out whole, never filled from the scores it has.
        level: of the t intervals.
        flips, seed: as in `sign_flip_tests`.
        empty: the reason given when no prompt counts; p is then nan.
    """
    return tested_means(columns, level=level, flips=flips, seed=seed, empty=empty)[0]


def tested_means(
    columns: npt.ArrayLike, *, level: float, flips: int, seed: int, empty: str
) -> tuple[tuple[Estimate, ...], SignFlips]:
    """Returns `prompt_means` and the tests they rest on."""
    table = np.asarray(columns, dtype=np.float64)
    tests = sign_flip_tests(table, flips=flips, seed=seed)
    means = []
    for cell in range(table.shape[1]):
        values = table[~np.isnan(table[:, cell]), cell]
        found = t_interval(values, level=level)
        means.append(
            replace(
                found,
                se=deviation_of(values) / math.sqrt(values.size) if values.size > 1 else math.nan,
                n_planned=len(table),
                p=float(tests.p_value[cell]),
                p_method=f"sign flip, {tests.method[cell]}" if values.size else None,
                reason=found.reason if values.size else empty,
            )
        )
    return tuple(means), tests


def deviation_of(values: Floats) -> float:
    """Returns the standard deviation of the values that are there; nan below two."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if known.size > 1 else math.nan


def adjusted_together(means: Sequence[Estimate], what: str) -> tuple[Estimate, ...]:
    """Returns the estimates with their p adjusted over all of them by Holm.

    Args:
        means: one family; those without a p keep none.
        what: what the family consists of; `family` says how many of them were tested.
    """
    p_adjusted = holm([one.p for one in means]).tolist()
    n_tests = sum(not math.isnan(one.p) for one in means)
    return tuple(
        replace(one, p_adjusted=p, family=f"{n_tests} {what}")
        for one, p in zip(means, p_adjusted, strict=True)
    )
