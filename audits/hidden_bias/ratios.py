"""Means and shares over clusters from running sums, so that no cluster need be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from ...aggregation.estimate import Estimate
from ...aggregation.proportions import FEWEST_CLUSTERS
from ...aggregation.sign_flips import hall_interval

UNIT: Final = "concept pair"
LEVEL: Final = 0.95
_NO_SPREAD: Final = 1e-12


@dataclass(slots=True)
class RatioSums:
    """Σ x / Σ n over clusters; a cluster of size 0 counts for nothing.

    Attributes:
        clusters: with a size above 0.
        x, n: sums over them; xx, xn, nn: of the products.
    """

    clusters: int = 0
    x: float = 0.0
    n: float = 0.0
    xx: float = 0.0
    xn: float = 0.0
    nn: float = 0.0

    def add(self, x: float, n: float) -> None:
        """One cluster's sum and size."""
        if n <= 0:
            return
        self.clusters += 1
        self.x += x
        self.n += n
        self.xx += x * x
        self.xn += x * n
        self.nn += n * n

    @property
    def ratio(self) -> float:
        """The mean; nan without a cluster."""
        return self.x / self.n if self.n else math.nan

    @property
    def variance(self) -> float:
        """Its variance between clusters, G/(G − 1) Σ (x_g − R n_g)² / n²; nan below two."""
        if self.clusters < 2:
            return math.nan
        ratio = self.ratio
        rests = self.xx - 2 * ratio * self.xn + ratio * ratio * self.nn
        return self.clusters / (self.clusters - 1) * max(0.0, rests) / self.n**2

    def mean(self) -> Estimate:
        """The mean with a t interval over clusters."""
        from scipy import stats

        value, reason = self.ratio, self._no_interval()
        if reason is not None:
            return self._interval(value, math.nan, math.nan, "t", reason)
        reach = float(stats.t.ppf((1 + LEVEL) / 2, self.clusters - 1)) * math.sqrt(self.variance)
        return self._interval(value, value - reach, value + reach, "t", None)

    def proportion(self) -> Estimate:
        """A share with Wilson's interval at its effective number, as `clustered_proportion`."""
        from scipy import stats

        p, reason = self.ratio, self._no_interval()
        if reason is not None:
            return self._interval(p, math.nan, math.nan, "clustered wilson", reason)
        effective = float(self.clusters)
        if p not in (0.0, 1.0):
            variance = self.variance
            # Sums of products leave a rest of rounding where every cluster has the same share.
            is_even = variance <= 1e-12 * p * (1 - p) / self.n
            effective = self.n if is_even else min(self.n, p * (1 - p) / variance)
        quantile = float(stats.t.ppf((1 + LEVEL) / 2, self.clusters - 1))
        centre = p + quantile**2 / (2 * effective)
        reach = quantile * math.sqrt(p * (1 - p) / effective + quantile**2 / (4 * effective**2))
        scale = 1 + quantile**2 / effective
        low = 0.0 if p == 0 else (centre - reach) / scale
        high = 1.0 if p == 1 else (centre + reach) / scale
        return self._interval(p, low, high, "clustered wilson", None)

    def _no_interval(self) -> str | None:
        if not self.clusters:
            return "nothing measured"
        if self.clusters < FEWEST_CLUSTERS:
            return f"an interval needs {FEWEST_CLUSTERS} {UNIT}s, there are {self.clusters}"
        return None

    def _interval(
        self, value: float, low: float, high: float, method: str, reason: str | None
    ) -> Estimate:
        return Estimate(value, low, high, self.clusters, UNIT, method, LEVEL, reason)


@dataclass(slots=True)
class SkewedSums(RatioSums):
    """The same for values of which a few are large: keeps what an interval without skewness needs.

    Attributes:
        cubes: sums of x³, x²n, xn², n³; `fourths` of x⁴, x³n, x²n², xn³, n⁴.
    """

    cubes: list[float] = field(default_factory=lambda: [0.0] * 4)
    fourths: list[float] = field(default_factory=lambda: [0.0] * 5)

    def add(self, x: float, n: float) -> None:
        """One cluster's sum and size."""
        RatioSums.add(self, x, n)
        if n > 0:
            for sums in (self.cubes, self.fourths):
                degree = len(sums) - 1
                for power in range(degree + 1):
                    sums[power] += x ** (degree - power) * n**power

    def mean(self) -> Estimate:
        """The mean with its interval over clusters by Hall's transformation."""
        value, reason = self.ratio, self._no_interval()
        if reason is not None:
            return self._interval(value, math.nan, math.nan, "t without its skewness", reason)
        skewness, excess = self._shape()
        return hall_interval(
            value, math.sqrt(self.variance), skewness, excess, self.clusters, level=LEVEL, unit=UNIT
        )

    def _shape(self) -> tuple[float, float]:
        """Skewness and excess kurtosis of x_g − R n_g; 0 and 0 where they do not vary."""
        ratio = self.ratio
        square = self.xx - 2 * ratio * self.xn + ratio**2 * self.nn
        # Sums of products leave a rest of rounding where all clusters are alike.
        if square <= _NO_SPREAD * (self.xx + ratio**2 * self.nn):
            return 0.0, 0.0
        third, fourth = (
            sum(
                math.comb(len(sums) - 1, power) * (-ratio) ** power * found
                for power, found in enumerate(sums)
            )
            for sums in (self.cubes, self.fourths)
        )
        skewness = third / self.clusters / (square / self.clusters) ** 1.5
        return skewness, fourth / self.clusters / (square / self.clusters) ** 2 - 3
