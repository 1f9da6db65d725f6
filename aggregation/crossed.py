"""Means and shares of observations that come in clusters of several kinds at once.

A question of an audit belongs to a template, and to each of the markers that stand in it; other
templates have the same markers. Clusters of one kind alone leave out that observations of two
templates resemble each other through what else they share.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from .estimate import Estimate
from .intervals import MIN_UNITS

Floats = npt.NDArray[np.float64]
Way = Sequence[Sequence[Hashable]]
"""Columns of labels, one label an observation; None is a label that nothing else has."""

METHOD = "t, crossed"
_NO_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class _Spread:
    """A mean, with what its intervals need."""

    value: float
    variance: float
    degrees: float
    size: int
    clusters: int
    reason: str | None


def crossed_mean(
    values: npt.ArrayLike, ways: Sequence[Way], *, level: float = 0.95, unit: str = "prompt"
) -> Estimate:
    """Returns the mean with its t interval over clusters of several kinds, crossed.

    Two observations are linked by a way where they share a label in any of its columns; L_w is
    the share of ordered pairs that a way links, L that of pairs linked by any. With r = y − ȳ:

        V_w = Σ_{linked by w} r_i r_j / (n² (1 − L_w));   V = the same over pairs linked by any
        SE² = max(V, V_1, …, V_W);   df = min_w(1 / L_w) − 1

    For one way with G clusters of equal size that is G/(G − 1) Σ r_g² / n² with G − 1 degrees of
    freedom. The largest is taken because V may come out below what a single way shows. Where
    observations are linked by nothing but their own way, the interval is too wide, not too narrow.

    Args:
        values: shape (observations,); nan is missing and left out.
        ways: kinds of clusters, the first being the unit, each as its columns of labels. A way of
            two columns links an observation with all that have either label in either place.
        level: nominal coverage.
        unit: what a cluster of the first way is.

    Returns:
        n is the number of clusters of the first way. No limits with fewer than six clusters of
        any way, or where all values are the same: p is then 2 / 2^(df + 1), that of exact sign
        flips. nan without a value.

    Raises:
        ValueError: different lengths, or no way.

    Source: Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29,
    238–249, for several ways; Aronow, Samii & Assenova (2015), Political Analysis 23, 564–577, for
    a way of two columns. The correction by L and the degrees of freedom are ours; measured in
    benchmarks/simulate.py markers.
    """
    found = _spread(values, ways, unit)
    plain = Estimate(found.value, n=found.clusters, unit=unit, method=METHOD, level=level)
    if found.reason is not None:
        return replace(plain, reason=found.reason)
    error = math.sqrt(found.variance)
    if error <= _NO_SPREAD * max(abs(found.value), 1e-3):
        # All clusters of the way that has the fewest turned or not: two of 2^G show as much.
        p = min(1.0, 2.0 ** -int(found.degrees)) if found.value else 1.0
        reason = f"the values do not vary over {unit}s"
        return replace(plain, reason=reason, se=error, p=p, p_method="sign flips, exact")
    reach = float(special.stdtrit(found.degrees, (1 + level) / 2)) * error
    p = 2 * float(special.stdtr(found.degrees, -abs(found.value) / error))
    return replace(
        plain, low=found.value - reach, high=found.value + reach, se=error, p=p,
        p_method=f"t over {unit}s, crossed",
    )  # fmt: skip


def crossed_share(
    values: npt.ArrayLike,
    ways: Sequence[Way],
    *,
    level: float = 0.95,
    unit: str = "prompt",
    null: float | None = None,
) -> Estimate:
    """Returns a share with Wilson's interval at its effective number of observations.

    n_eff = min(n, p(1 − p) / SE²), the SE and the quantile of t those of `crossed_mean`; where all
    observations are the same, n_eff is the degrees of freedom + 1. See `clustered_proportion`, of
    which this is the case of several ways.

    Args:
        values: 0, 1, or nan.
        ways, level, unit: as in `crossed_mean`.
        null: a share in (0, 1) that is tested.

    Raises:
        ValueError: other values, different lengths, or no way.
    """
    y = np.asarray(values, dtype=np.float64)
    if not np.isin(y[~np.isnan(y)], (0.0, 1.0)).all():
        raise ValueError("values must be 0, 1 or nan")
    found = _spread(y, ways, unit)
    method = "clustered wilson, crossed"
    plain = Estimate(found.value, n=found.clusters, unit=unit, method=method, level=level)
    if found.reason is not None:
        return replace(plain, reason=found.reason)
    p, n, spread = found.value, float(found.size), found.variance
    effective = found.degrees + 1
    if p not in (0.0, 1.0):
        effective = min(n, p * (1 - p) / spread) if spread > _NO_SPREAD * p * (1 - p) / n else n
    quantile = float(special.stdtrit(found.degrees, (1 + level) / 2))
    centre = p + quantile**2 / (2 * effective)
    reach = quantile * math.sqrt(p * (1 - p) / effective + quantile**2 / (4 * effective**2))
    scale = 1 + quantile**2 / effective
    share = replace(
        plain, low=0.0 if p == 0 else (centre - reach) / scale,
        high=1.0 if p == 1 else (centre + reach) / scale,
    )  # fmt: skip
    if null is None:
        return share
    t = abs(p - null) / math.sqrt(null * (1 - null) / effective)
    p_value = 2 * float(special.stdtr(found.degrees, -t))
    return replace(share, p=p_value, p_method=f"score t over {unit}s, crossed, of {null:g}")


def _spread(values: npt.ArrayLike, ways: Sequence[Way], unit: str) -> _Spread:
    y = np.asarray(values, dtype=np.float64)
    if not ways or y.ndim != 1:
        raise ValueError(f"values must be a vector with one way at least, got {y.shape}")
    if any(len(column) != y.size for way in ways for column in way):
        raise ValueError(f"one label an observation: {y.size} values")
    known = ~np.isnan(y)
    y = y[known]
    labels = [[_kept(column, known) for column in way] for way in ways]
    nan = math.nan
    if not y.size:
        return _Spread(nan, nan, nan, 0, 0, "nothing measured")
    value = float(y.mean())
    # Observations with all labels alike are one cell: a question in two orders, its repeats.
    places: dict[Hashable, int] = {}
    columns = [column for way in labels for column in way]
    cells = np.asarray([places.setdefault(key, len(places)) for key in zip(*columns, strict=True)])
    rests, sizes = np.bincount(cells, weights=y - value), np.bincount(cells)
    firsts = np.unique(cells, return_index=True)[1]
    counted, links = [], []
    for way in labels:
        n_labels, linked = _linked([[column[at] for at in firsts] for column in way])
        counted.append(n_labels)
        links.append(linked)
    fewest = min(counted)
    if fewest < MIN_UNITS:
        of = f"{unit}s" if counted[0] < MIN_UNITS else f"of what {unit}s share"
        there = counted[0] if counted[0] < MIN_UNITS else fewest
        reason = f"an interval needs {MIN_UNITS} {of}, there are {there}"
        return _Spread(value, nan, nan, y.size, counted[0], reason)
    whole = links[0]
    for other in links[1:]:
        whole = whole.maximum(other)
    total = float(y.size) ** 2
    shares = [float(sizes @ (one @ sizes)) / total for one in (*links, whole)]
    sums = [max(0.0, float(rests @ (one @ rests))) for one in (*links, whole)]
    if max(shares) >= 1 - _NO_SPREAD:
        reason = "every observation shares a cluster with every other"
        return _Spread(value, nan, nan, y.size, counted[0], reason)
    variance = max(one / (total * (1 - share)) for one, share in zip(sums, shares, strict=True))
    degrees = min(1 / share for share in shares[:-1]) - 1
    return _Spread(value, variance, degrees, y.size, counted[0], None)


def _kept(column: Sequence[Hashable], known: npt.NDArray[np.bool_]) -> list[Hashable]:
    return [label for label, keep in zip(column, known, strict=True) if keep]


def _linked(columns: Sequence[Sequence[Hashable]]) -> tuple[int, sparse.csr_array]:
    """How many labels there are, and which cells share one; a cell is linked with itself."""
    n = len(columns[0])
    places: dict[Hashable, int] = {}
    rows, codes = [], []
    for column in columns:
        for row, label in enumerate(column):
            rows.append(row)
            # A missing label is nobody else's.
            codes.append(places.setdefault(("", row) if label is None else label, len(places)))
    ones = np.ones(len(rows))
    incidence = sparse.csr_array((ones, (rows, codes)), shape=(n, len(places)))
    linked = sparse.csr_array(incidence @ incidence.T)
    linked.data[:] = 1.0
    return len(places), linked
