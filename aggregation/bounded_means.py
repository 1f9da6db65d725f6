"""Means and rates over scenarios, all values in [0, 1]: standard errors and intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import special

from .estimate import Estimate
from .intervals import MIN_UNITS, variance_degrees

UNIT = "scenario"
METHOD = "korn-graubard"
UNSEEN_WEIGHT = 0.25
"""Weight of a scenario at 0 or 1 that is added to the variance, whatever the scenarios seen are.

Chosen by simulation: without it the interval of an FD of .962 holds the truth in .940 with 12
scenarios; with .1 that of .952, which one scenario in twelve brings down, in .89 with 20.
"""


def bounded_mean(
    values: npt.ArrayLike, *, level: float = 0.95, empty: str = "no scenario has a value"
) -> Estimate:
    """The mean of one value a scenario; nan is missing, and n counts the others.

    SE = s / sqrt(n); see `clustered_rate` for the limits, of which this is the case of one trial a
    scenario with a value anywhere in [0, 1].

    Raises:
        ValueError: values outside [0, 1], or level outside (0, 1).
    """
    array = np.asarray(values, dtype=np.float64)
    known = array[~np.isnan(array)]
    return _ratio(known, np.ones_like(known), len(array), level=level, empty=empty)


def clustered_rate(
    successes: npt.ArrayLike,
    trials: npt.ArrayLike,
    *,
    level: float = 0.95,
    empty: str = "no scenario has a trial",
) -> Estimate:
    """A rate Σy / Σm over scenarios with y of m each, the scenario being the unit.

        p = Σ y_g / Σ m_g;   r_g = (y_g − p m_g) / m̄;   SE² = Σ r_g² / (G (G − 1))
        V = (Σ r_g² + w p (1 − p)) / ((G + w) (G − 1)),   w = 1/4
        n* = p (1 − p) / V · (z / t_df)²,   df by `variance_degrees` of the r_g, G − 1 at most
        limits: Clopper and Pearson's of p n* successes in n* trials

    The prompts of a scenario are alike, so that they are not independent trials; the SE is the
    linearised one of a ratio of cluster totals (Cochran, Sampling Techniques, 3rd ed., 11.8), and
    n* the effective number of trials of Korn & Graubard (1998), Survey Methodology 24, 193–201,
    not cut at the number of trials: the mean of ten pairs varies less than one pair. w is ours:
    near 0 and 1 the rare scenario that makes the variance is often not among those seen, so a
    quarter of one always counts; where all scenarios are at 0 or 1, it changes nothing. Where they
    are all at the same end (p = 0 or 1), the SE is 0 and says nothing; the far limit is then the
    Clopper-Pearson limit of the share of scenarios that depart from that end, each counted as
    departing wholly: wide, and safe.

    Measured coverage: benchmarks/simulate_prompt_statistics.py, and the page on prompts.

    Args:
        successes: y, one a scenario.
        trials: m, one a scenario; scenarios with 0 are left out and counted as planned.
        level: nominal coverage.
        empty: the reason given where no scenario has a trial.

    Returns:
        `se` is over scenarios, nan below two of them; limits nan, with the reason, below six
        scenarios, or where the values do not vary.

    Raises:
        ValueError: y outside [0, m], or level outside (0, 1).
    """
    y, m = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    return _ratio(y[m > 0], m[m > 0], len(m), level=level, empty=empty)


def _ratio(
    y: npt.NDArray[np.float64],
    m: npt.NDArray[np.float64],
    planned: int,
    *,
    level: float,
    empty: str,
) -> Estimate:
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    if np.any((y < 0) | (y > m)):
        raise ValueError("values must be in [0, 1]")
    n = len(y)
    if n == 0:
        return Estimate(
            math.nan, unit=UNIT, method="none", level=level, reason=empty, n_planned=planned
        )
    p = float(y.sum() / m.sum())
    error = math.nan
    if n > 1:
        rest = y - p * m
        error = float(math.sqrt(n / (n - 1) * float(rest @ rest)) / m.sum())
    found = Estimate(p, n=n, unit=UNIT, method="none", level=level, n_planned=planned, se=error)
    if n < MIN_UNITS:
        reason = f"{n} {UNIT}{'s' if n > 1 else ''}: an interval needs at least {MIN_UNITS}"
        return replace(found, reason=reason)
    if p in (0.0, 1.0):
        reach = float(((1 - level) / 2) ** (1 / n))
        low, high = (reach, 1.0) if p == 1.0 else (0.0, 1 - reach)
        return replace(found, low=low, high=high, method="clopper-pearson over scenarios")
    if error < 1e-12:
        return replace(found, reason=f"the {n} {UNIT}s all have the same value")
    rest = (y - p * m) / float(m.mean())
    squares = float(rest @ rest) + UNSEEN_WEIGHT * p * (1 - p)
    variance = squares / ((n + UNSEEN_WEIGHT) * (n - 1))
    tail = (1 - level) / 2
    shrink = float(special.ndtri(tail) / special.stdtrit(variance_degrees(rest), tail)) ** 2
    effective = p * (1 - p) / variance * shrink
    hits, misses = p * effective, (1 - p) * effective
    low = float(special.betaincinv(hits, misses + 1, tail))
    high = float(special.betaincinv(hits + 1, misses, 1 - tail))
    return replace(found, low=low, high=high, method=METHOD)
