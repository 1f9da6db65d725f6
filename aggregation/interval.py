"""The one interval type every estimator of this package returns."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate with the limits of its interval, and how they were made.

    Attributes:
        value: the point estimate; nan when undefined.
        low: lower limit; nan when no interval can be given.
        high: upper limit; nan when no interval can be given.
        n: how many independent units the interval rests on.
        unit: what was treated as independent, for example "prompt".
        method: the name of the interval method, for example "t" or "bca".
        level: nominal coverage, in (0, 1).
        reason: why the value or a limit is missing; None when nothing is missing.
    """

    value: float
    low: float
    high: float
    n: int
    unit: str
    method: str
    level: float = 0.95
    reason: str | None = None

    def to_json(self) -> dict[str, float | int | str | None]:
        """Returns a plain dictionary for JSON, with null where a number is nan or infinite."""
        return {
            "value": _finite_or_none(self.value),
            "low": _finite_or_none(self.low),
            "high": _finite_or_none(self.high),
            "n": self.n,
            "unit": self.unit,
            "method": self.method,
            "level": self.level,
            "reason": self.reason,
        }


def _finite_or_none(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
