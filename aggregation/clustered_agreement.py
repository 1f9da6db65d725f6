"""Agreement of yes/no labels with others, with intervals whose unit is a cluster of labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from .estimate import Estimate, undefined
from .intervals import MIN_UNITS, variance_degrees
from .jackknife import Bounds, cut_to_range, jackknife_error

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Counts of shape (…, K, K), rows the first labels, to a figure of shape (…)."""


@dataclass(frozen=True, slots=True)
class ClusteredAgreement:
    """How far labels agree with others.

    Attributes:
        figures: name to figure. The SilverSpoon paper's five, under its names: acc (accuracy), ckc
            (Cohen's kappa), jsc and dsc (what it calls Jaccard and Dice: with every mismatch a
            false positive and a false negative at once they are a / (2 − a), and a), mcc (Matthews'
            coefficient). The textbook forms: jaccard_0, jaccard_1, dice_0, dice_1, of the sets of
            items that each side gives that label. always_0: the accuracy of always saying 0.
        table: counts, rows the first labels, columns the second.
        n_missing: items without one of the two labels.
    """

    figures: dict[str, Estimate]
    table: tuple[tuple[int, int], tuple[int, int]]
    n_missing: int


def clustered_agreement(
    first: npt.ArrayLike, second: npt.ArrayLike, units: Sequence[Hashable], *, unit: str = "prompt"
) -> ClusteredAgreement:
    """Returns every figure of one labeling against another, each with its jackknife over units.

    Args:
        first: 0, 1 or nan, one an item: what is held to be true.
        second: likewise.
        units: what items have in common that are no independent draws.
        unit: what a unit is.

    Raises:
        ValueError: different lengths.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not a.shape == b.shape == (len(units),):
        raise ValueError(f"must be of one length: {a.shape}, {b.shape} and {len(units)}")
    known = ~(np.isnan(a) | np.isnan(b))
    tables = unit_tables(
        a[known], b[known], [one for one, keep in zip(units, known, strict=True) if keep]
    )
    whole = tables.sum(axis=0)
    is_varied = bool(whole.sum(axis=0).all() and whole.sum(axis=1).all())

    def figure(name: str, statistic: Statistic, *, needs_both: bool = False) -> Estimate:
        return jackknife_of_tables(
            tables, statistic, name, unit, is_whole=is_varied or not needs_both,
            bounds=(-1.0 if needs_both else 0.0, 1.0),
        )  # fmt: skip

    found = {
        "acc": figure("ACC", accuracy_of),
        "ckc": figure("Cohen's kappa", kappa_of, needs_both=True),
        "jsc": figure("JSC of the paper: ACC / (2 - ACC)", lambda t: _halved(accuracy_of(t))),
        "dsc": figure("DSC of the paper: ACC", accuracy_of),
        "mcc": figure("Matthews correlation", mcc_of, needs_both=True),
    }
    for label in (0, 1):
        shared = whole[label, label]
        both = whole[label].sum() + whole[:, label].sum()
        for name, value in (
            (f"jaccard_{label}", _ratio(shared, both - shared)),
            (f"dice_{label}", _ratio(2 * shared, both)),
        ):
            found[name] = (
                undefined("neither gives this label", unit=unit, method=name, n=len(tables))
                if math.isnan(value)
                else Estimate(value, n=len(tables), unit=unit, method=name)
            )
    found["always_0"] = figure(
        "share of labels 0", lambda t: t[..., 0, :].sum(axis=-1) / t.sum(axis=(-1, -2))
    )
    (aa, ab), (ba, bb) = whole.astype(int).tolist()
    return ClusteredAgreement(found, ((aa, ab), (ba, bb)), int((~known).sum()))


def clustered_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, units: Sequence[Hashable], *, unit: str = "prompt"
) -> Estimate:
    """Returns Cohen's kappa alone; see `clustered_agreement`."""
    return clustered_agreement(first, second, units, unit=unit).figures["ckc"]


def balanced_accuracy(
    first: npt.ArrayLike, second: npt.ArrayLike, units: Sequence[Hashable], *,
    unit: str = "prompt", level: float = 0.95,
) -> Estimate:  # fmt: skip
    """Returns the mean over the two first labels of the share of second ones that are equal.

    Whoever always gives one label has .5, whatever the label; p is of that. Undefined where the
    first labels are of one kind.

    Args:
        first, second: 0 or 1, one an item.
        units, unit: as in `clustered_agreement`.
        level: nominal coverage.
    """
    tables = unit_tables(np.asarray(first), np.asarray(second), units)
    return jackknife_of_tables(
        tables, balanced_of, "balanced share", unit, bounds=(0.0, 1.0), null=0.5, level=level
    )


def jackknife_of_tables(
    tables: Floats,
    statistic: Statistic,
    name: str,
    unit: str,
    *,
    bounds: Bounds,
    is_whole: bool = True,
    null: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Returns a figure of summed tables with its delete-one-unit jackknife t interval.

    SE² = (G − 1) / G Σ (θ_(−g) − mean)²; limits θ ± t_df SE, with df = G − 1 at most: fewer where a
    few units make most of the SE (`variance_degrees` of the θ_(−g)), as those do in which a rare
    label stands. With G − 1 the interval of kappa then holds the truth in .93 of 60 units.

    Args:
        tables: counts by unit, (units, 2, 2), or any sums of shape (units, …).
        statistic: counts to the figure.
        name: what it is.
        unit: what a unit is.
        bounds: of the figure; limits beyond are cut.
        is_whole: whether the figure is defined over all units.
        null: a value that is tested by the same t.
        level: nominal coverage.
    """
    n = len(tables)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(tables.sum(axis=0))) if n and is_whole else math.nan
        left_out = statistic(tables.sum(axis=0) - tables)
    if not math.isfinite(value):
        reason = "one side gives a single label" if n else "no item has both labels"
        return undefined(reason, unit=unit, method=name, n=n)
    if n < MIN_UNITS:
        reason = f"an interval needs {MIN_UNITS} {unit}s, there are {n}"
        return Estimate(value, n=n, unit=unit, method=name, reason=reason)
    if not np.isfinite(left_out).all():
        reason = f"undefined where one {unit} is left out"
        return Estimate(value, n=n, unit=unit, method=name, reason=reason)
    error = float(jackknife_error(left_out))
    if error == 0:
        reason = f"every {unit} counts alike: its spread cannot be told"
        return Estimate(value, n=n, unit=unit, method=name, reason=reason)
    degrees = variance_degrees(left_out)
    reach = float(stdtrit(degrees, (1 + level) / 2)) * error
    method = f"{name}; {level:.0%} jackknife over {unit}s"
    found = Estimate(value, value - reach, value + reach, n, unit, method, level, se=error)
    found = cut_to_range(found, bounds)
    if null is None:
        return found
    p = 2 * float(stdtr(degrees, -abs(value - null) / error))
    return replace(found, p=p, p_method=f"jackknife t over {unit}s of {null:g}")


def unit_tables(first: npt.ArrayLike, second: npt.ArrayLike, units: Sequence[Hashable]) -> Floats:
    """Counts by unit, shape (units, 2, 2): rows the first labels, columns the second."""
    place: dict[Hashable, int] = {}
    codes = np.asarray([place.setdefault(one, len(place)) for one in units], dtype=np.int64)
    # One number a cell of a unit's table.
    cells = 4 * codes + 2 * np.asarray(first, dtype=np.int64) + np.asarray(second, dtype=np.int64)
    return np.bincount(cells, minlength=4 * len(place)).reshape(-1, 2, 2).astype(np.float64)


def accuracy_of(tables: Floats) -> Floats:
    """Share on the diagonal."""
    found: Floats = np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-1, -2))
    return found


def kappa_of(tables: Floats) -> Floats:
    """Cohen's kappa; nan where both give one and the same label only.

    Where one side gives a single label the formula makes 0. That is no figure of a whole table,
    but the limit that the jackknife needs where one unit is left out.
    """
    n = tables.sum(axis=(-1, -2))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    by_chance = (rows * columns).sum(axis=-1) / n**2
    found: Floats = (accuracy_of(tables) - by_chance) / (1 - by_chance)
    return found


def mcc_of(tables: Floats) -> Floats:
    """Matthews correlation, of two labels phi; nan where a margin is empty."""
    a, b = tables[..., 0, 0], tables[..., 0, 1]
    c, d = tables[..., 1, 0], tables[..., 1, 1]
    product = (a + b) * (c + d) * (a + c) * (b + d)
    found: Floats = (a * d - b * c) / np.sqrt(product)
    return found


def balanced_of(tables: Floats) -> Floats:
    """Mean over the two first labels of the share of second ones that are equal to it."""
    rows = tables.sum(axis=-1)
    found: Floats = (tables[..., 0, 0] / rows[..., 0] + tables[..., 1, 1] / rows[..., 1]) / 2
    return found


def _halved(accuracy: Floats) -> Floats:
    return accuracy / (2 - accuracy)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan
