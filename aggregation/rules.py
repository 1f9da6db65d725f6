"""The one rule by which a family of comparisons is decided: limits that hold for all at once.

Every comparison here is a mean over units (prompts, scenarios, pairs of concepts) of one value a
unit. Limits are simultaneous within a family:

    higher, lower   they exclude 0
    alike           they lie within the margin
    open            neither; `needed` units would decide
    undefined       there are no limits, for the reason that is given

No second test can contradict them: the p shown is the level at which the limits reach 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import MIN_UNITS, fewest_units, refusal, t_interval

Floats = npt.NDArray[np.float64]
Limits = tuple[float, float]

Verdict = Literal["higher", "lower", "alike", "open", "undefined"]

DRAWS: Final = 4_999
"""Sign vectors drawn where there are too many to list."""
LISTED_UNITS: Final = 12
"""Units up to which every sign vector is listed."""
SKEWED_UNITS: Final = 8
"""Units from which a sample shows its skewness well enough to correct for it."""
WORTH: Final = 0.2
"""Difference, in points, whose detection `needed` speaks of where no margin is declared."""
POWER: Final = 0.8
"""Chance with which `needed` units would decide."""

_NO_SPREAD: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Family:
    """Limits of the means of some cells that are compared together.

    Attributes:
        low, high: shape (cells,), simultaneous limits; nan below six units or without spread.
        p: shape (cells,), the level at which they reach 0.
        tail: the chance that t, with the degrees of freedom of the cell with most units, lies
            beyond the critical value on one side: the size of one comparison in this family.
        method: how the critical value was found.
    """

    low: Floats
    high: Floats
    p: Floats
    tail: float
    method: str


def simultaneous(values: npt.ArrayLike, *, level: float = 0.95, seed: int = 0) -> Family:
    """Returns limits of the column means that hold for all columns at once.

    The critical value is the quantile of the largest |h| over the cells when whole units of the
    centred values change their signs, which keeps the dependence between cells; h is Hall's
    transformation of t, without the skewness of the values that a sign vector makes. Limits are the
    truths whose h is at the critical value, and never narrower than those of t. One cell has the
    limits of t. Below eight units, which do not show their skewness, they are Bonferroni's of t.

    Measured by benchmarks/simulate.py rule: see docs/how-it-works/simulations.md.

    Args:
        values: shape (units, cells); nan is missing, a cell uses the units that it has.
        level: nominal simultaneous coverage.
        seed: of the sign vectors that are drawn, beyond 12 units.

    Raises:
        ValueError: not two-dimensional, or level outside (0, 1).

    Source: Westfall & Young (1993), Resampling-Based Multiple Testing; Hall (1992), Journal of the
    Royal Statistical Society B 54, 221-228.
    """
    from scipy.special import stdtr, stdtrit

    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values must be (units, cells), got shape {table.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    is_there = ~np.isnan(table)
    n = is_there.sum(axis=0)
    counts = np.maximum(n, 1)
    mean = np.where(is_there, table, 0.0).sum(axis=0) / counts
    rest = np.where(is_there, table - mean, 0.0)
    variance = (rest**2).sum(axis=0) / np.maximum(n - 1, 1)
    varies = variance > (_NO_SPREAD * np.maximum(np.abs(mean), 1e-3)) ** 2 * counts
    usable = (n >= MIN_UNITS) & varies
    cells = len(n)
    low, high, p = (np.full(cells, np.nan) for _ in range(3))
    if not usable.any():
        return Family(low, high, p, (1 - level) / 2, "none")
    mean, rest, n = mean[usable], rest[:, usable], n[usable]
    error = np.sqrt(variance[usable] / n)
    t, df = mean / error, n - 1
    p_t = 2 * stdtr(df, -np.abs(t))
    single = stdtrit(df, (1 + level) / 2)
    k = len(n)
    if k == 1 or n.max() < SKEWED_UNITS:
        reach = stdtrit(df, 1 - (1 - level) / 2 / k)
        low[usable], high[usable] = mean - reach * error, mean + reach * error
        p[usable] = np.minimum(1.0, k * p_t)
        method = "t" if k == 1 else f"Bonferroni's t of {k}"
        return Family(low, high, p, (1 - level) / 2 / k, method)
    gamma = _skewness(rest, n)
    largest, is_listed = _largest(rest, n, seed)
    place = min(math.ceil(level * (len(largest) + 1)), len(largest)) - 1
    critical = float(largest[place])
    slope = gamma / np.sqrt(n)
    reach_low = np.maximum(_hall_inverse(critical, slope), single)
    reach_high = np.minimum(_hall_inverse(-critical, slope), -single)
    low[usable], high[usable] = mean - reach_low * error, mean - reach_high * error
    beyond = len(largest) - np.searchsorted(largest, np.abs(_hall(t, gamma, n)) * (1 - 1e-9))
    p[usable] = np.maximum((1 + beyond) / (len(largest) + 1), p_t)
    tail = float(stdtr(df.max(), -max(critical, float(single.min()))))
    how = f"all sign vectors of {int(n.max())} units" if is_listed else f"{DRAWS:,} sign vectors"
    return Family(low, high, p, tail, f"largest of {k} by {how}, without skewness")


def decided(
    values: npt.ArrayLike,
    *,
    families: Sequence[str] | None = None,
    margins: Sequence[float | None] | None = None,
    worth: float = WORTH,
    unit: str = "prompt",
    of: str = "",
    bounds: Limits = (-math.inf, math.inf),
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """Returns the mean of every column with its limits and what they decide.

    Args:
        values: shape (units, cells), one value a unit; nan is missing.
        families: one name a cell; cells of one name are decided together. None: all.
        margins: within which a mean is *alike*, one a cell; None where none is declared.
        worth: the mean that `needed` units would detect where there is no margin.
        unit: what one row is.
        of: what the values are, for the method.
        bounds: of such a mean; limits beyond are cut.
        level: nominal coverage of the pointwise and of the simultaneous limits.
        seed: of the sign vectors that are drawn.

    Returns:
        One a column, n of n_planned units: `low` and `high` are the limits of this mean alone,
        `low_family` and `high_family` those that decide. Where all units have one value there are
        no limits, and the exact sign test decides with Bonferroni's correction.

    Raises:
        ValueError: not two-dimensional, or not one family and one margin a cell.
    """
    table = np.asarray(values, dtype=np.float64)
    cells = table.shape[1] if table.ndim == 2 else -1
    names = list(families) if families is not None else ["all"] * cells
    within = list(margins) if margins is not None else [None] * cells
    if cells < 0 or not len(names) == len(within) == cells:
        raise ValueError(
            f"values of shape {table.shape} need one family and one margin a column, got "
            f"{len(names)} and {len(within)}"
        )
    rows: list[Estimate] = [Estimate(math.nan)] * cells
    for name in dict.fromkeys(names):
        columns = [at for at, other in enumerate(names) if other == name]
        family = simultaneous(table[:, columns], level=level, seed=seed)
        n_tests = int((~np.isnan(table[:, columns])).any(axis=0).sum())
        label = labelled(name, n_tests)
        for at, low, high, p in zip(columns, family.low, family.high, family.p, strict=True):
            mean = t_interval(table[:, at], level=level, unit=unit)
            row = replace(
                mean, n_planned=len(table), p=float(p), p_method=family.method, family=label,
                low_family=float(low), high_family=float(high), method=of or mean.method,
            )  # fmt: skip
            rows[at] = with_verdict(
                cut(row, bounds), margin=within[at], worth=worth, tail=family.tail,
                n_tests=n_tests, level=level,
            )  # fmt: skip
    return tuple(rows)


def separate(
    sides: Sequence[tuple[Floats, ...]],
    *,
    families: Sequence[str] | None = None,
    margins: Sequence[float | None] | None = None,
    worth: float = WORTH,
    unit: str = "prompt",
    of: str = "",
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """Returns sums of means over separate units, decided with Bonferroni's limits.

    Means by Welch's t with Satterthwaite's degrees of freedom; one alone by t, which serves
    families that hold both. Signs of units that the comparisons do not share say nothing of their
    dependence.

    Args:
        sides: of each comparison, the values of one or of several groups of units, which carry the
            weights: the second of a difference is negative. nan is missing.
        families, margins, worth, unit, of, level: as in `decided`.

    Returns:
        n counts the units of all groups.

    Source: Welch (1947), Biometrika 34, 28-35.
    """
    from scipy.special import stdtr, stdtrit

    names = list(families) if families is not None else ["all"] * len(sides)
    within = list(margins) if margins is not None else [None] * len(sides)
    rows = []
    for groups, name, margin in zip(sides, names, within, strict=True):
        samples = [part[~np.isnan(part)] for part in groups]
        n = sum(part.size for part in samples)
        value = (
            sum(float(part.mean()) for part in samples)
            if all(p.size for p in samples)
            else math.nan
        )
        parts = [float(part.var(ddof=1)) / part.size for part in samples if part.size > 1]
        square = sum(parts) if len(parts) == len(samples) else math.nan
        method = f"{of or 'difference'}, separate {unit}s" if len(samples) > 1 else of
        k = names.count(name)
        row = Estimate(
            value, n=n, unit=unit, method=method, level=level, se=math.sqrt(square),
            family=labelled(name, k), n_planned=sum(part.size for part in groups),
            reason=refusal(value, n, unit),
        )  # fmt: skip
        if row.reason is None and min(part.size for part in samples) < 2:
            row = replace(row, reason=f"a group has fewer than two {unit}s")
        tail = (1 - level) / 2 / k
        if row.reason is None and square > (_NO_SPREAD * max(abs(value), 1e-3)) ** 2:
            df = square**2 / sum(
                p**2 / (part.size - 1) for p, part in zip(parts, samples, strict=True)
            )
            reach, wide = (float(stdtrit(df, 1 - q)) * row.se for q in ((1 - level) / 2, tail))
            row = replace(
                row, low=value - reach, high=value + reach, low_family=value - wide,
                high_family=value + wide, p_method="Welch's t" if len(samples) > 1 else "t",
                p=min(1.0, 2 * k * float(stdtr(df, -abs(value) / row.se))),
            )  # fmt: skip
        elif row.reason is None:
            row = replace(row, reason=f"the values do not vary over {unit}s", se=math.nan)
        else:  # too few: no sign test either
            rows.append(replace(row, verdict="undefined"))
            continue
        rows.append(with_verdict(row, margin=margin, worth=worth, tail=tail, level=level))
    return tuple(rows)


def with_verdict(
    row: Estimate,
    *,
    margin: float | None,
    worth: float = WORTH,
    tail: float = 0.025,
    n_tests: int = 1,
    level: float = 0.95,
) -> Estimate:
    """Returns the estimate with the verdict of its simultaneous limits, and what an open one needs.

    Args:
        row: with `low_family`, `high_family`, `n` and `se`.
        margin: within which it is *alike*; None where none is declared.
        worth: the mean that `needed` units would detect where there is no margin.
        tail: the size of one comparison on one side (`Family.tail`).
        n_tests: comparisons of the family.
        level: of the sign test where all units have one value.
    """
    if not row.is_defined:
        return replace(row, verdict="undefined")
    if not (math.isfinite(row.low_family) and math.isfinite(row.high_family)):
        if row.n < MIN_UNITS or row.se > _NO_SPREAD * max(abs(row.value), 1e-3):
            return replace(row, verdict="undefined")
        # Every unit has the same value.
        if row.value == 0:
            return replace(row, p=1.0, verdict="alike", p_method="the same value for every unit")
        p = min(1.0, n_tests * 2.0 ** (1 - row.n))
        verdict: Verdict = "open"
        if p <= (1 - level) * (1 + 1e-9):
            verdict = "higher" if row.value > 0 else "lower"
        elif margin is not None and abs(row.value) < margin:
            verdict = "alike"
        return replace(row, p=p, p_method="exact sign test", verdict=verdict)
    if row.low_family > 0:
        return replace(row, verdict="higher")
    if row.high_family < 0:
        return replace(row, verdict="lower")
    if margin is not None and -margin < row.low_family and row.high_family < margin:
        return replace(row, verdict="alike")
    deviation = row.se * math.sqrt(row.n)
    return replace(row, verdict="open", needed=units_needed(deviation, margin or worth, tail))


@lru_cache(maxsize=4096)
def units_needed(deviation: float, effect: float, tail: float = 0.025) -> int | None:
    """Returns the fewest units that detect a true mean of `effect` with a chance of 80%.

    By the noncentral t, at the size of one comparison in its family.

    Args:
        deviation: standard deviation of the values over units.
        effect: the true mean, above 0.
        tail: the size of the test on one side, in (0, .5).

    Returns:
        At least six; None where the values do not vary.
    """
    if not deviation > 0:
        return None
    return max(
        MIN_UNITS, fewest_units(lambda n: _power(n, deviation, effect, tail) >= POWER, after=2)
    )


def _power(n: int, deviation: float, effect: float, tail: float) -> float:
    from scipy.special import nctdtr, stdtrit

    noncentrality = effect * math.sqrt(n) / deviation
    limit = float(stdtrit(n - 1, 1 - tail))
    # Far out scipy's noncentral t underflows; the power is 1 to every digit long before.
    return 1.0 if noncentrality > limit + 12 else 1.0 - float(nctdtr(n - 1, noncentrality, limit))


def labelled(family: str, n_tests: int) -> str:
    """The name of a family with the number of its comparisons."""
    return f"{n_tests} {family}" if n_tests != 1 else "one comparison"


def cut(row: Estimate, bounds: Limits) -> Estimate:
    """Returns the estimate without what its limits promise beyond the bounds of its value."""
    low, high = bounds
    return replace(
        row, low=max(row.low, low), high=min(row.high, high),
        low_family=max(row.low_family, low), high_family=min(row.high_family, high),
    )  # fmt: skip


def _skewness(rest: Floats, n: npt.NDArray[np.int64]) -> Floats:
    """Third central moment over variance^(3/2), of values centred with 0 where missing."""
    variance = (rest**2).sum(axis=0) / n
    skewness: Floats = (rest**3).sum(axis=0) / n / variance**1.5
    return skewness


def _largest(rest: Floats, n: npt.NDArray[np.int64], seed: int) -> tuple[Floats, bool]:
    """The largest |h| over cells under each sign vector, sorted, and whether all are listed."""
    units = len(rest)
    # Sums of cubes are not exact: the unit of the values must not matter.
    scaled = rest / np.abs(rest).max(axis=0)
    squares, cubes = (scaled**2).sum(axis=0) / n, scaled**3
    found: list[Floats] = []
    for signs in _signs(units, seed, rest.shape[1]):
        mean = signs @ scaled / n
        variance = np.maximum(squares - mean**2, 1e-9 * squares)
        deviation = np.sqrt(variance)
        gamma = (signs @ cubes / n - mean * (3 * squares - 2 * mean**2)) / (variance * deviation)
        t = np.sqrt(n - 1) * mean / deviation
        found.append(np.abs(_hall(t, gamma, n)).max(axis=1))
    return np.sort(np.concatenate(found)), units <= LISTED_UNITS


def _signs(units: int, seed: int, cells: int) -> list[Floats]:
    """Sign vectors in blocks; turning all signs turns the statistic, so that half suffice."""
    if units <= LISTED_UNITS:
        listed = list(itertools.product((1.0, -1.0), repeat=units - 1))
        return [np.column_stack([np.array(listed), np.ones(len(listed))])]
    generator = np.random.default_rng(seed)
    step = max(2_000_000 // max(units, cells), 1)
    sizes = [min(step, DRAWS - start) for start in range(0, DRAWS, step)]
    drawn = [generator.integers(0, 2, (size, units), dtype=np.int8) for size in sizes]
    return [np.asarray(block, dtype=np.float64) * 2 - 1 for block in drawn]


def _hall(t: npt.ArrayLike, gamma: npt.ArrayLike, n: npt.ArrayLike) -> Floats:
    """t without the skewness of its distribution: √n (u + γu²/3 + γ²u³/27 + γ/(6n)), u = t/√n."""
    scale, skewness = np.sqrt(np.asarray(n, float)), np.asarray(gamma, float)
    u = np.asarray(t, dtype=np.float64) / scale
    bend = skewness * u / 3
    found: Floats = scale * u * (1 + bend * (1 + bend / 3)) + skewness / (6 * scale)
    return found


def _hall_inverse(value: float, slope: Floats) -> Floats:
    """The t that `_hall` takes to the value, with slope γ/√n; the value itself where that is 0."""
    safe = np.where(np.abs(slope) < 1e-9, 1.0, slope)
    turned = 3 / safe * (np.cbrt(1 + safe * (value - safe / 6)) - 1)
    return np.where(np.abs(slope) < 1e-9, value, turned)
