"""`Estimate`, a figure with all that a reader needs to judge it: the type of every estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ..shown import Shown

Universe = Literal["this panel", "judges like these"]
"""To what an interval generalises beyond its units: the judges that were asked, or their kind."""


@dataclass(frozen=True, slots=True)
class Estimate(Shown):
    """A figure, its interval, what it rests on, and why something of it is missing.

    Attributes:
        value: the point estimate; nan when undefined.
        low, high: limits of its interval; nan when there is none.
        n: how many independent units it rests on.
        unit: what was treated as independent: "prompt", "response pair", "rating", …
        method: the estimator, and how the interval was made, for example "t" or "bca".
        level: nominal coverage of the interval, in (0, 1).
        reason: why the value or a limit is missing; None when nothing is missing.
        n_planned: units that were planned; None where n is all there could be.
        se: standard error; nan where none was made.
        universe: to which judges the interval generalises; None where judges play no part.
        p: of the test that belongs to it; nan where there is none.
        p_adjusted: the same adjusted for `family`; nan where nothing was adjusted.
        p_method: the test, such as "sign flip, exact".
        family: the comparisons that were decided together.
        verdict: what was decided, one word; None where nothing is.
        low_family, high_family: limits that hold for the whole family at once, and decide; nan
            where nothing is decided by limits.
        needed: units that would decide an open comparison; None where there is no such number.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    unit: str = "prompt"
    method: str = ""
    level: float = 0.95
    reason: str | None = None
    n_planned: int | None = None
    se: float = math.nan
    universe: Universe | None = None
    p: float = math.nan
    p_adjusted: float = math.nan
    p_method: str | None = None
    family: str | None = None
    verdict: str | None = None
    low_family: float = math.nan
    high_family: float = math.nan
    needed: int | None = None

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

    def of(self, estimator: str) -> Estimate:
        """The same, whose method names the estimator, then how its interval was made."""
        made = f"{estimator}; {self.level:.0%} {self.method} over {self.unit}s"
        return replace(self, method=made)

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values: null where a number is nan or infinite.

        Fields that only some estimates have, from `n_planned` on, are left out where there is none.
        """
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        optional = list(plain)[list(plain).index("n_planned") :]
        return {
            name: value
            for name, value in plain.items()
            if value is not None or name not in optional
        }


def undefined(reason: str, *, unit: str = "prompt", method: str = "", n: int = 0) -> Estimate:
    """An estimate that could not be computed, with the reason."""
    return Estimate(math.nan, n=n, unit=unit, method=method, reason=reason)


def _plain(value: Any) -> Any:
    if isinstance(value, float):  # numpy's are floats too
        return float(value) if math.isfinite(value) else None
    return value
