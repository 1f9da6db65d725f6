"""Gaps between groups of which only squares can be measured, and how many are small or large.

A mean squared difference R of shares, each measured with noise, is the true squared gap G² plus
what noise adds, b. With normal noise it is close to a scaled noncentral chi-square:

    R / s ~ χ²(df = b / s, noncentrality = G² / s)

    R = Σ a z²,  z ~ N(δ, v):   G² = Σ a δ²,  b = Σ a v,  s = Σ (a v)² / b

which has R's mean, G² + b, and (where all a v are alike) its variance and shape. As v is estimated,
R / b is a noncentral F with these degrees of freedom and those of the estimate. From this come
the interval of one gap, and of many pairs of gaps the share of those where the first is below a
margin and the second is not, although no single pair can be told apart from its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from .estimate import Estimate, undefined
from .intervals import MIN_UNITS

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
GapClass = Literal["neither", "first", "second", "both"]
CLASSES: Final[tuple[GapClass, ...]] = ("neither", "first", "second", "both")
"""Which of the two gaps reaches the margin."""

KNOTS: Final = (0.0, 0.6, 1.25, 2.0, 3.25, 5.0)
"""Gaps that a distribution of gaps is made of, as multiples of the margin. Between .6 and 1.25
there is none: a gap just below the margin and one just above it cannot be told apart by any data
of reasonable size, and a distribution that could move freely between them would say nothing."""

_MANY: Final = 1e6
"""Degrees of freedom that are as good as infinite."""
_LEAST: Final = 1e-3
"""Of R / s: a density with one degree of freedom has no end at 0."""
_STEPS: Final = 200
_ENOUGH: Final = 1e-6
_NO_SHARE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class SquaredGaps:
    """Measured squared gaps, one a cell, all in one unit; nan where nothing was measured.

    Attributes:
        raw: R, the mean squared difference as it was measured.
        bias: b, what noise adds to it on average; above 0.
        scale: s.
        noise: degrees of freedom of the estimate of b; inf where it is known.
    """

    raw: Floats
    bias: Floats
    scale: Floats
    noise: Floats

    @property
    def square(self) -> Floats:
        """R − b: unbiased, and below 0 where chance makes it so."""
        return self.raw - self.bias

    @property
    def is_known(self) -> Flags:
        """Whether a cell has all three."""
        found: Flags = np.isfinite(self.raw) & (self.bias > 0) & (self.scale > 0) & (self.noise > 0)
        return found

    def kept(self, cells: Flags) -> SquaredGaps:
        """Those of some cells."""
        return SquaredGaps(*(part[cells] for part in (self.raw, self.bias, self.scale, self.noise)))

    @property
    def df(self) -> Floats:
        """b / s, the degrees of freedom of the gap itself."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = self.bias / self.scale
        return found


def gap_p(gaps: SquaredGaps) -> Floats:
    """The p of no gap at all, cell by cell: P(F(b / s, noise) ≥ R / b); nan where none is known."""
    found = np.full(gaps.raw.shape, np.nan)
    known = gaps.is_known
    one = gaps.kept(known)
    found[known] = special.fdtrc(one.df, np.minimum(one.noise, _MANY), one.raw / one.bias)
    return found


def gap_limits(gaps: SquaredGaps, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """The limits of each gap, in its own unit and not in squares; nan where nothing is known.

    The lower limit is the largest gap with P(R at least so large) of at most (1 − level) / 2, and
    0 where R may be chance alone. The upper one has P(R at most so small) of (1 − level) / 2 times
    that without a gap: where R is smaller than chance makes it, the noise was overrated, and an
    interval of nothing, or of 0 alone, would say more than is known.

    Raises:
        ValueError: level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    tail = (1 - level) / 2
    known = gaps.is_known
    low, high = np.full(known.shape, np.nan), np.full(known.shape, np.nan)
    one = gaps.kept(known)
    x, df = np.maximum(one.raw / one.scale, _LEAST), one.bias / one.scale
    chance = special.chdtr(df, x)
    is_above = chance > 1 - tail
    least = np.zeros(x.shape)
    least[is_above] = special.chndtrinc(x[is_above], df[is_above], 1 - tail)
    most = special.chndtrinc(x, df, tail * chance)
    low[known], high[known] = np.sqrt(least * one.scale), np.sqrt(most * one.scale)
    return low, high


class ClassShares(NamedTuple):
    """Of cells with two gaps, who is in which class.

    Attributes:
        shares: class to its share.
        members: class to every cell's probability of being in it, given its own two gaps and how
            all cells lie; nan where a gap is not known.
    """

    shares: dict[GapClass, Estimate]
    members: dict[GapClass, Floats]


def class_shares(
    first: SquaredGaps,
    second: SquaredGaps,
    clusters: npt.ArrayLike,
    *,
    margin: float,
    largest: float = math.inf,
    level: float = 0.95,
    unit: str = "concept pair",
    n_planned: int | None = None,
    classes: Sequence[GapClass] = CLASSES,
) -> ClassShares:
    """The shares of cells in which neither gap, one of them, or both reach a margin.

    Counting cells that are *shown* to be so would count power: with few answers hardly any gap is
    shown, and many a gap that is not shown is there. Instead, the joint distribution g of both true
    gaps over a grid (`KNOTS` by `KNOTS`) is fitted to all cells by maximum likelihood,

        max Σ_c log Σ_jk g_jk f(R1_c | G_j) f(R2_c | G_k)       (Kiefer & Wolfowitz, 1956; by EM)

    and a class's share is the mass of g in it. Its interval holds the shares π whose profile
    likelihood is not much less: 2 (ℓ(ĝ) − max_{g: share = π} ℓ(g)) ≤ d t², with the t quantile
    of G − 1 clusters. d ≥ 1 is a design effect, by how much more the cells' expected memberships
    w_c vary between clusters than were they independent; where they do not vary, the number of
    cells of a cluster. What the answers cannot tell apart makes the interval wide.

    Args:
        first, second: the two gaps of every cell.
        clusters: one label a cell; clusters are independent, cells of one need not be.
        margin: from which on a gap counts, in the unit of a gap.
        largest: gap that there can be.
        level: nominal coverage.
        unit: what a cluster is.
        n_planned: clusters that there were to be.
        classes: those that are wanted.

    Returns:
        n counts the clusters of cells in which both gaps are known; undefined without any; no
        limits with fewer than six.

    Raises:
        ValueError: margin or level out of range, or lengths that differ.

    Coverage: benchmarks/simulate_overt.py.
    """
    labels = np.asarray(clusters)
    if not 0 < level < 1 or not 0 < margin < largest:
        raise ValueError(f"level and margin must be in range, got {level} and {margin}")
    if not first.raw.shape == second.raw.shape == labels.shape:
        raise ValueError("one cluster and two gaps a cell")
    method = "mass of the joint distribution of both gaps; profile likelihood"
    known = first.is_known & second.is_known
    _, codes = np.unique(labels[known], return_inverse=True)
    n = int(codes.max(initial=-1)) + 1
    if not n:
        none = undefined("no cell has both gaps", unit=unit, method=method)
        none = replace(none, n_planned=n_planned)
        empty = np.full(labels.shape, np.nan)
        return ClassShares(dict.fromkeys(classes, none), dict.fromkeys(classes, empty))
    knots = np.asarray([k * margin for k in KNOTS if k * margin <= largest])
    density = np.einsum(
        "cj,ck->cjk", _densities(first.kept(known), knots), _densities(second.kept(known), knots)
    ).reshape(len(codes), -1)
    is_large = knots >= margin
    of_first, of_second = (part.ravel() for part in np.meshgrid(is_large, is_large, indexing="ij"))
    masks: dict[GapClass, Flags] = {
        "neither": ~of_first & ~of_second, "first": of_first & ~of_second,
        "second": ~of_first & of_second, "both": of_first & of_second,
    }  # fmt: skip
    fitted, best = _fit(density, np.full(density.shape[1], 1 / density.shape[1]))
    found = ClassShares({}, {})
    for name in classes:
        inside = masks[name]
        share = min(1.0, float(fitted[inside].sum()))
        weights = density[:, inside] @ fitted[inside] / (density @ fitted)
        found.members[name] = np.full(labels.shape, np.nan)
        found.members[name][known] = weights
        value = Estimate(share, n=n, unit=unit, method=method, level=level, n_planned=n_planned)
        if n < MIN_UNITS:
            reason = f"an interval needs {MIN_UNITS} {unit}s, there are {n}"
            found.shares[name] = replace(value, reason=reason)
            continue
        quantile = float(special.stdtrit(n - 1, (1 + level) / 2))
        edge = quantile**2 * _design_effect(weights, codes, n)
        low, high = _profile(density, inside, fitted, best, share, edge)
        found.shares[name] = replace(value, low=low, high=high)
    return found


def _densities(gaps: SquaredGaps, knots: Floats) -> Floats:
    """f(R_c | G_j), each cell's largest being 1; shape (cells, knots)."""
    from scipy import stats

    x = np.maximum(gaps.raw / gaps.bias, _LEAST)[:, None]
    lam = np.maximum(knots[None] ** 2 / gaps.scale[:, None], 1e-9)
    noise = np.minimum(gaps.noise, _MANY)[:, None]
    with np.errstate(all="ignore"):
        logs = np.asarray(stats.ncf.logpdf(x, gaps.df[:, None], noise, lam), dtype=np.float64)
    # Far from where the gap can be, the numbers run out; a gap beyond all knots is at the last.
    logs = np.where(np.isfinite(logs), logs, -np.inf)
    logs[~np.isfinite(logs).any(axis=1), -1] = 0.0
    # Not 0, which no mass held to a class could answer for: a likelihood must stay a number.
    found: Floats = np.maximum(np.exp(logs - logs.max(axis=1, keepdims=True)), 1e-100)
    return found


def _fit(
    density: Floats, start: Floats, inside: Flags | None = None, share: float = math.nan
) -> tuple[Floats, float]:
    """The masses of the largest likelihood, and its logarithm; with a class's mass held, if any.

    Steps of EM, two at a time and then as far again as they point (SQUAREM; Varadhan & Roland,
    2008, Scandinavian Journal of Statistics 35, 335–353), unless that makes it less likely.
    """
    # Columns of the class first, so that its mass is a slice.
    order = np.arange(start.size) if inside is None else np.argsort(~inside, kind="stable")
    split = 0 if inside is None else int(inside.sum())
    columns = np.ascontiguousarray(density[:, order])
    rows = np.ascontiguousarray(columns.T) / len(density)

    def held(g: Floats) -> Floats:
        if inside is None:
            whole: Floats = g / g.sum()
            return whole
        g[:split] *= share / max(float(g[:split].sum()), 1e-300)
        g[split:] *= (1 - share) / max(float(g[split:].sum()), 1e-300)
        return g

    def step(g: Floats) -> Floats:
        return held(g * (rows @ (1 / (columns @ g))))

    def likelihood(g: Floats) -> float:
        return float(np.log(columns @ g).sum())

    g = held(start[order].copy())
    value = likelihood(g)
    for _ in range(_STEPS):
        one = step(g)
        two = step(one)
        first, turn = one - g, two - 2 * one + g
        size = float(np.sqrt(turn @ turn))
        new = two
        if size > 0:
            reach = max(1.0, float(np.sqrt(first @ first)) / size)
            # No mass to 0 for good: EM would not bring it back.
            far = np.maximum(g + 2 * reach * first + reach**2 * turn, two * 1e-3)
            far = held(far)
            if likelihood(far) > likelihood(two):
                new = far
        reached = likelihood(new)
        g, gained, value = new, reached - value, reached
        if gained < _ENOUGH:
            break
    found = np.empty_like(g)
    found[order] = g
    return found, value


def _profile(
    density: Floats, inside: Flags, fitted: Floats, best: float, share: float, edge: float
) -> tuple[float, float]:
    from scipy.optimize import root_scalar

    # No mass is 0 at the start: EM never brings back what has none.
    start = 0.5 * fitted + 0.5 / fitted.size

    def excess(held: float) -> float:
        _, value = _fit(density, start, inside, held)
        return 2 * (best - value) - edge

    def limit(end: float) -> float:
        if excess(end) <= 0:
            return end
        return float(root_scalar(excess, bracket=(share, end), xtol=1e-3).root)

    low = 0.0 if share < _NO_SHARE else limit(0.0)
    high = 1.0 if share > 1 - _NO_SHARE else limit(1.0)
    return low, high


def _design_effect(weights: Floats, codes: npt.NDArray[np.int64], n: int) -> float:
    rests = weights - weights.mean()
    alone = float(rests @ rests)
    if alone < _NO_SHARE:
        return len(codes) / n
    sums = np.bincount(codes, weights=rests, minlength=n)
    return max(1.0, n / (n - 1) * float(sums @ sums) / alone)
