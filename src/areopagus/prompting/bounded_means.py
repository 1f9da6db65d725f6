"""Means and rates over scenarios, all values in [0, 1]: standard errors and intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from ..aggregation.interval import Interval

MIN_UNITS = 6
"""No interval below so many scenarios, as elsewhere in this package."""
UNIT = "scenario"


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """A mean of values in [0, 1].

    Attributes:
        interval: the mean with its limits.
        standard_error: over scenarios; nan below two of them.
        n_planned: scenarios handed in, those without a value included.
    """

    interval: Interval
    standard_error: float
    n_planned: int

    def to_json(self) -> dict[str, float | int | str | None]:
        """As plain values, with null for nan."""
        error = self.standard_error
        return {
            **self.interval.to_json(),
            "standard_error": error if math.isfinite(error) else None,
            "n_planned": self.n_planned,
        }


def bounded_mean(
    values: npt.ArrayLike, *, level: float = 0.95, empty: str = "no scenario has a value"
) -> BoundedMean:
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
) -> BoundedMean:
    """A rate Σy / Σm over scenarios with y of m each, the scenario being the unit.

        p = Σ y_g / Σ m_g;   SE² = G / (G − 1) Σ (y_g − p m_g)² / (Σ m_g)²
        limits: logit(p) ± t_{G−1} SE / (p (1 − p)), transformed back

    The prompts of a scenario are alike, so that they are not independent trials; the SE is the
    linearised one of a ratio of cluster totals (Cochran, Sampling Techniques, 3rd ed., 11.8). The
    logit keeps the limits inside (0, 1). Where every scenario is at the same end (p = 0 or 1), the
    SE is 0 and says nothing; the far limit is then the Clopper-Pearson limit of the share of
    scenarios that depart from that end, each counted as departing wholly: wide, and safe.

    Measured coverage: benchmarks/simulate_prompt_statistics.py, and the page on prompts.

    Args:
        successes: y, one a scenario.
        trials: m, one a scenario; scenarios with 0 are left out and counted as planned.
        level: nominal coverage.
        empty: the reason given where no scenario has a trial.

    Returns:
        Limits nan, with the reason, below six scenarios, or where the values do not vary.

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
) -> BoundedMean:
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    if np.any((y < 0) | (y > m)):
        raise ValueError("values must be in [0, 1]")
    n, nan = len(y), math.nan
    if n == 0:
        return BoundedMean(Interval(nan, nan, nan, 0, UNIT, "none", level, empty), nan, planned)
    p = float(y.sum() / m.sum())
    error = nan
    if n > 1:
        rest = y - p * m
        error = float(math.sqrt(n / (n - 1) * float(rest @ rest)) / m.sum())
    if n < MIN_UNITS:
        reason = f"{n} {UNIT}{'s' if n > 1 else ''}: an interval needs at least {MIN_UNITS}"
        return BoundedMean(Interval(p, nan, nan, n, UNIT, "none", level, reason), error, planned)
    if p in (0.0, 1.0):
        reach = float(((1 - level) / 2) ** (1 / n))
        low, high = (reach, 1.0) if p == 1.0 else (0.0, 1 - reach)
        made = Interval(p, low, high, n, UNIT, "clopper-pearson over scenarios", level)
        return BoundedMean(made, error, planned)
    if error < 1e-12:
        reason = f"the {n} {UNIT}s all have the same value"
        return BoundedMean(Interval(p, nan, nan, n, UNIT, "none", level, reason), error, planned)
    centre = math.log(p / (1 - p))
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * error / (p * (1 - p))
    low, high = _expit(centre - half), _expit(centre + half)
    return BoundedMean(Interval(p, low, high, n, UNIT, "logit t", level), error, planned)


def _expit(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))
