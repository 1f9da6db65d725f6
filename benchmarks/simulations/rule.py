"""The one rule (aggregation/rules.py): coverage, false alarms and power, beside other rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats
from simulation import simulation

from areopagus.aggregation.multiplicity import holm
from areopagus.aggregation.rules import decided, simultaneous

SHIFT, MARGIN, LEVEL = 0.9, 0.5, 0.05
KINDS = ("normal", "skewness 1", "skewness 2", "whole points")


def differences(rng: np.random.Generator, units: int, cells: int, kind: str) -> np.ndarray:
    """Standardised differences of mean 0 that correlate by .5 between cells."""
    shape = (units, 1 + cells)
    if kind == "skewness 1":
        drawn = (rng.gamma(4, size=shape) - 4) / 2
    elif kind == "skewness 2":
        drawn = rng.exponential(1, shape) - 1
    else:
        drawn = rng.normal(size=shape)
    values = (drawn[:, :1] + drawn[:, 1:]) / np.sqrt(2)
    return np.round(values) if kind == "whole points" else values


@simulation(worlds=400, cells=(4, 20), kind=KINDS, units=(6, 8, 9, 12, 20, 30, 100))
def rule(rng: np.random.Generator, cells: int, kind: str, units: int) -> Mapping[str, float]:
    """A family of cells, deviations of 1: whether its limits cover every true 0; whether any of
    them is called higher or lower; how many of a quarter of the cells with a true .9 are; and the
    last two for Holm's correction of t tests and of exact sign flips."""
    values = differences(rng, units, cells, kind)
    family = simultaneous(values)
    moved = values.copy()
    changed = max(cells // 4, 1)
    moved[:, :changed] += SHIFT
    low = simultaneous(moved).low[:changed]
    outcomes = {
        "covered": float(((family.low <= 0) & (family.high >= 0)).all()),
        "false": float(((family.low > 0) | (family.high < 0)).any()),
        "power": float((low > 0).mean()),
    }
    if np.isnan(family.low).any():  # a cell of whole points without spread has no limits
        outcomes["covered"] = float("nan")
    for name, p in (("Holm t", _t), ("Holm flips", _flips)):
        outcomes[f"{name} false"] = float((holm(p(values)) <= LEVEL).any())
        outcomes[f"{name} power"] = float((holm(p(moved))[:changed] <= LEVEL).mean())
    return outcomes


def _t(values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.nan_to_num(stats.ttest_1samp(values, 0).pvalue, nan=1.0)


def _flips(values: np.ndarray) -> np.ndarray:
    """Two-sided sign flips: all 2^n to 12 units, else 1,999 of them."""
    n = len(values)
    rng = np.random.default_rng(0)
    if n <= 12:
        signs = np.array([[1 if code >> k & 1 else -1 for k in range(n)] for code in range(2**n)])
    else:
        signs = rng.integers(0, 2, (1999, n)) * 2 - 1
    reached = (np.abs(signs @ values) >= np.abs(values.sum(axis=0)) - 1e-9).sum(axis=0)
    return (reached + (n > 12)) / (len(signs) + (n > 12))


@simulation(worlds=400, cells=(1, 4, 20), deviation=(0.6, 0.8), units=(8, 12, 20, 30, 60, 100))
def alike(
    rng: np.random.Generator, cells: int, deviation: float, units: int
) -> Mapping[str, float]:
    """How often cells with a true 0 are called alike within .5, and whether any cell with a true
    .5, the margin itself, is (in a family of as many)."""
    values = deviation * differences(rng, units, cells, "normal")
    same = decided(values, margins=[MARGIN] * cells)
    edge = decided(values + MARGIN, margins=[MARGIN] * cells)
    return {
        "alike": float(np.mean([row.verdict == "alike" for row in same])),
        "wrong": float(any(row.verdict == "alike" for row in edge)),
    }


@simulation(worlds=400, cells=(1, 4, 20), deviation=(0.4, 0.8, 1.6), points=(0.2, 0.5, 1.0))
def needed(
    rng: np.random.Generator, cells: int, deviation: float, points: float
) -> Mapping[str, float]:
    """Units that a family of so many cells needs for a difference of so many points, from a pilot
    of 20, and how often such a difference is then called higher."""
    pilot = decided(deviation * differences(rng, 20, cells, "normal"), worth=points)
    number = max((row.needed or 0) for row in pilot)
    if not 0 < number <= 600:
        return {"needed": float(number or "nan")}
    values = deviation * differences(rng, number, cells, "normal")
    values[:, 0] += points
    return {"needed": float(number), "called": float(decided(values)[0].verdict == "higher")}
