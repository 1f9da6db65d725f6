"""One number of a report: its value, what it rests on, its interval, or why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from .aggregation.interval import Interval


@dataclass(frozen=True, slots=True)
class Number:
    """A figure with what a reader needs to judge it.

    Attributes:
        value: nan when undefined.
        n: how many units it rests on.
        unit: what the units are: "prompt", "response pair", "rating", …
        method: the estimator, and how the interval was made.
        low, high: limits of the 95% interval (or the level named in `method`); nan when none.
        reason: why the value or its interval is missing; None when nothing is missing.
    """

    value: float
    n: int
    unit: str
    method: str
    low: float = math.nan
    high: float = math.nan
    reason: str | None = None

    @property
    def is_defined(self) -> bool:
        """Whether there is a value."""
        return math.isfinite(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether both limits are there."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def covers(self, point: float) -> bool:
        """Whether there is an interval and it holds the point."""
        return self.has_interval and self.low <= point <= self.high

    def to_json(self) -> dict[str, Any]:
        """Returns the fields, with None where a figure is nan or infinite."""
        return {
            "value": _finite(self.value),
            "n": self.n,
            "unit": self.unit,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "method": self.method,
            "reason": self.reason,
        }


def from_interval(interval: Interval, estimator: str) -> Number:
    """Returns an `Interval` as a number; the method names estimator and interval."""
    return Number(
        value=interval.value,
        n=interval.n,
        unit=interval.unit,
        method=f"{estimator}; {interval.level:.0%} {interval.method} over {interval.unit}s",
        low=interval.low,
        high=interval.high,
        reason=interval.reason,
    )


def undefined(reason: str, *, unit: str = "prompt", method: str = "", n: int = 0) -> Number:
    """Returns a number that could not be computed."""
    return Number(math.nan, n, unit, method, reason=reason)


def as_json(thing: Any) -> Any:
    """Returns a tree of dataclasses, tuples, mappings and numbers as JSON-like values."""
    if isinstance(thing, Number):
        return thing.to_json()
    if is_dataclass(thing) and not isinstance(thing, type):
        return {field.name: as_json(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, dict):
        return {str(key): as_json(value) for key, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [as_json(item) for item in thing]
    if isinstance(thing, bool) or thing is None or isinstance(thing, str):
        return thing
    if isinstance(thing, int):
        return int(thing)
    if isinstance(thing, float):
        return _finite(thing)
    if isinstance(thing, np.generic | np.ndarray):
        return as_json(thing.tolist())
    raise TypeError(f"no JSON for {type(thing).__name__}")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
