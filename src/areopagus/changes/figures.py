"""A figure before and after, and the rows that it becomes.

Changes are decided by the one rule (`aggregation.rules`). What is compared in one sentence of the
answer is one family; what stands in a table of details is a family of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.jackknife import cut_to_range
from ..aggregation.paired_change import change_of_limits
from ..aggregation.rules import cut, decided, separate
from ..errors import InputError, InputFault
from ..formats import listed, units
from ..records.estimates import Estimates

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

WHEN: Final = ("before", "after", "change")
ANSWER: Final = "answer"
LESS: Final = "after less before"


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure before and after.

    Attributes:
        table, measure, keys: where it stands among the estimates of a run.
        label: what it is called: "bias of women".
        what, short: of several alike, what each is of, "bias", and whose it is, "women".
        before, after: over what both runs have.
        by_unit: change by unit, or pseudo-values of the change by block of units; nan where the
            unit plays no part. Their mean is the change, or that of the figure of which this one is
            a rising function. None where no change can be made.
        first: of a difference of two groups that share no unit, which units are of the first: the
            change is the mean of theirs less that of the others.
        n, n_planned: units that the change rests on, and planned in either run.
        unit: what one is called.
        family: what is decided together: "answer", or what the details are of.
        section: heading of the details.
        null: what stands for no bias, where the figure has two sides; what it is called.
        null_name: what it is called: "the control".
        scale: its ends; a margin holds for figures of one scale.
        bounds: the least and the greatest value that it can have, where that is known: limits are
            cut there, and those of its change at the width.
        in_points: whether it is in points; else it is a share, or a number of its own.
        digits: decimals.
        is_rising_of: the name of the figure whose change is decided in its place, else "".
        correlation: of the errors of before and after, where `is_rising_of`.
        worse: 1 where more of it is worse, −1 where less is, 0 where neither can be said; figures
            with a `null` are worse the further they are from it.
        reason: why there is no test.
    """

    table: str
    measure: str
    keys: Mapping[str, str]
    label: str
    before: Estimate
    after: Estimate
    by_unit: Floats | None = field(repr=False)
    n: int
    n_planned: int
    unit: str
    family: str = ANSWER
    what: str = ""
    short: str = ""
    section: str = ""
    null: float | None = None
    null_name: str = ""
    scale: tuple[float, float] = (0.0, 1.0)
    bounds: tuple[float, float] | None = None
    in_points: bool = False
    digits: int = 2
    is_rising_of: str = ""
    correlation: float = math.nan
    worse: int = 0
    reason: str = ""
    first: Mask | None = field(default=None, repr=False)

    def shown(self) -> dict[str, Any]:
        """What run.json keeps of it, for the report."""
        return {
            "table": self.table, "measure": self.measure, "keys": dict(self.keys),
            "label": self.label, "what": self.what, "short": self.short or self.label,
            "family": self.family, "section": self.section,
            "null": self.null, "null_name": self.null_name, "digits": self.digits,
            "worse": self.worse, "tested": self.is_rising_of,
            "in_points": self.in_points, "scale": list(self.scale),
        }  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A contrast before and after, and what it has changed by, decided.

    Attributes:
        of: what run.json keeps of it, as `Figure.shown`.
        before, after, change: on what both runs have.
    """

    of: Mapping[str, Any]
    before: Estimate
    after: Estimate
    change: Estimate


@dataclass(frozen=True)
class Paired:
    """What two runs have in common, and what of it has changed.

    Attributes:
        title: of the page.
        changes: figures before and after.
        notices: what a reader must know first.
        trust: (word, sentence).
        untested: what is left out of the comparison, and why.
    """

    title: str
    changes: Sequence[Change]
    notices: Sequence[str]
    trust: Sequence[tuple[str, str]]
    untested: Sequence[tuple[str, str]] = ()


def add_changes(out: Estimates, changes: Sequence[Change]) -> None:
    """Adds every figure before, after, and its change, by the key `when`."""
    for one in changes:
        for when, row in zip(WHEN, (one.before, one.after, one.change), strict=True):
            out.add(one.of["table"], one.of["measure"], row, when=when, **one.of["keys"])


def decided_changes(figures: Sequence[Figure], *, margin: float | None = None) -> list[Change]:
    """Returns the figures with their changes, decided.

    Args:
        figures: of one comparison.
        margin: within which a change of the answer's figures that have the scale of the first is
            alike.
    """
    changes = []
    for one, change in zip(figures, _changes(figures, margin), strict=True):
        # What a single run decides is in its own folder; here it would be another's.
        before, after = (
            replace(
                cut_to_range(end, one.bounds) if one.bounds else end,
                p=math.nan, p_adjusted=math.nan, p_method=None, family=None, verdict=None,
            )
            for end in (one.before, one.after)
        )  # fmt: skip
        changes.append(Change(one.shown(), before, after, change))
    return changes


def _changes(figures: Sequence[Figure], margin: float | None) -> list[Estimate]:
    rows = [_undefined(one) for one in figures]
    answer = [one for one in figures if one.family == ANSWER]
    for family in dict.fromkeys(one.family for one in figures):
        places = [
            k for k, one in enumerate(figures)
            if one.family == family and one.by_unit is not None and one.n >= MIN_UNITS
            and one.before.is_defined and one.after.is_defined
        ]  # fmt: skip
        if not places:
            continue
        mine = [figures[k] for k in places]
        options: dict[str, Any] = {
            "families": ["changes"] * len(mine), "unit": mine[0].unit, "of": LESS,
            "margins": [
                margin if family == ANSWER and one.scale == answer[0].scale
                and not one.is_rising_of else None
                for one in mine
            ],
        }  # fmt: skip
        values = [np.asarray(one.by_unit, dtype=np.float64) for one in mine]
        if any(one.first is not None for one in mine):
            sides = [
                (column,) if one.first is None else (column[one.first], -column[~one.first])
                for one, column in zip(mine, values, strict=True)
            ]
            made = separate(sides, **options)
        else:
            table = np.full((max(map(len, values)), len(values)), np.nan)
            for k, column in enumerate(values):
                table[: len(column), k] = column
            made = decided(table, **options)
        for k, row in zip(places, made, strict=True):
            rows[k] = _finished(figures[k], row)
    return rows


def _finished(one: Figure, row: Estimate) -> Estimate:
    change = replace(row, n=one.n, n_planned=one.n_planned)
    if one.is_rising_of:
        limits = change_of_limits(one.after, one.before, one.correlation)
        has_limits = row.has_interval and limits.has_interval
        low, high = (limits.low, limits.high) if has_limits else (math.nan, math.nan)
        # Its own limits may hold 0 where those of the rising figure do not: nothing is said then.
        verdict = "open" if has_limits and low <= 0 <= high else row.verdict
        change = replace(
            change, value=limits.value, method=f"{LESS}; {limits.method}", low=low, high=high,
            low_family=low, high_family=high, se=math.nan,
            p_method=f"{row.p_method}, of the {one.is_rising_of}",
            reason=None if has_limits else row.reason or _no_limits(one),
            verdict=verdict,
        )  # fmt: skip
    if one.bounds is not None:
        width = one.bounds[1] - one.bounds[0]
        change = cut(change, (-width, width))
    return change


def _no_limits(one: Figure) -> str:
    when, end = ("after", one.after) if one.before.has_interval else ("before", one.before)
    return f"no interval {when}" + (f": {end.reason}" if end.reason else "")


def _undefined(one: Figure) -> Estimate:
    reason = one.reason
    if not reason and one.n < MIN_UNITS:
        reason = f"no {one.unit} has a value in both runs"
        if one.n:
            reason = f"a test needs {units(MIN_UNITS, one.unit)}, there are {one.n}"
    reason = reason or one.before.reason or one.after.reason or "not measured in both runs"
    value = one.after.value - one.before.value
    row = undefined(reason, unit=one.unit, method=LESS, n=one.n)
    return replace(row, value=value, n_planned=one.n_planned, verdict="undefined")


def models_paired(runs: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, str]]:
    """Models by name, or the only ones with each other.

    Args:
        runs: of both, the folder and its models.

    Raises:
        InputError: no model in common.
    """
    (path, one), (other_path, other) = runs
    same = [(name, name) for name in one if name in other]
    if same:
        return same
    if len(one) == len(other) == 1:
        return [(one[0], other[0])]
    fault = f"has {listed(other)}, {path} has {listed(one)}: no model in common"
    raise InputError([InputFault(other_path, fault)])


def what_differs(
    before: Mapping[str, Any], after: Mapping[str, Any], *, within: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """(name, before, after) of every field in which two records differ."""
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        where = f"{within}.{name}" if within else name
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from what_differs(old, new, within=where)
        else:
            yield where, old, new
