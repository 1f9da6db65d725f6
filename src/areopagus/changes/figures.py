"""A figure before and after, the test of its change, and the rows that it becomes.

What is compared in one sentence of the answer is one family of tests; what stands in a table of
details is a family of its own. A change is *changed* where its p, by Holm over the family, is at
most .05 and its own 95% interval leaves out 0 (`consistent`); *alike* where it is shown to
lie inside the margin (two one-sided tests, Holm over the same figures).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import (
    Effect,
    MeanTest,
    adjusted_by_holm,
    consistent,
    effect_verdict,
    mean_effects,
    separate_effects,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.jackknife import cut_to_range
from ..aggregation.paired_change import change_of_limits
from ..errors import InputError, InputFault
from ..formats import listed, units
from ..records.estimates import Estimates

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

DECIDES: Final[MeanTest] = "skewness-adjusted flips"
VERDICTS: Final = {
    "differs": "changed",
    "differs within margin": "changed within margin",
    "equivalent": "alike",
    "undecided": "not shown",
    "undefined": "undefined",
}
MEASURES: Final = ("before", "after", "change", "equivalence")
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
        family: the tests that are adjusted together: "answer", or what the details are of.
        section: heading of the details.
        null: what stands for no bias, where the figure has two sides; what it is called.
        null_name: what it is called: "the control".
        scale: its ends; a margin holds for figures of one scale.
        bounds: the least and the greatest value that it can have, where that is known: limits are
            cut there, and those of its change at the width.
        in_points: whether it is in points; else it is a share, or a number of its own.
        digits: decimals.
        is_rising_of: the name of the figure whose change is tested in its place, else "".
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
class Paired:
    """What two runs have in common, and its figures.

    Attributes:
        title: of the page.
        figures: before and after.
        notices: what a reader must know first.
        trust: (word, sentence).
        untested: what is left out of the comparison, and why.
    """

    title: str
    figures: Sequence[Figure]
    notices: Sequence[str]
    trust: Sequence[tuple[str, str]]
    untested: Sequence[tuple[str, str]] = ()


def add_changes(
    found: Estimates, figures: Sequence[Figure], *, margin: float | None = None, flips: int = 9_999
) -> None:
    """Adds every figure before, after, its change, and the test of its equivalence.

    Args:
        found: to what they are added.
        figures: of one comparison.
        margin: inside which a change does not matter: tested of the answer's figures that have the
            scale of the first.
        flips: sign vectors of the tests, see `mean_effects`.
    """
    changes = _tested(figures, margin, flips)
    for one, (change, equivalence) in zip(figures, changes, strict=True):
        # The tests of a single run are in its own folder; here they would be another's.
        ends = [
            replace(
                cut_to_range(end, one.bounds) if one.bounds else end,
                p=math.nan, p_adjusted=math.nan, p_method=None, family=None, verdict=None,
            )
            for end in (one.before, one.after)
        ]  # fmt: skip
        for when, figure in zip(MEASURES, (*ends, change, equivalence), strict=True):
            found.add(one.table, f"{one.measure}, {when}", figure, **one.keys)


def _tested(
    figures: Sequence[Figure], margin: float | None, flips: int
) -> list[tuple[Estimate, Estimate | None]]:
    found: list[tuple[Estimate, Estimate | None]] = [(_undefined(one), None) for one in figures]
    answer = [one for one in figures if one.family == ANSWER]
    for family in dict.fromkeys(one.family for one in figures):
        places = [
            k for k, one in enumerate(figures)
            if one.family == family and one.by_unit is not None and one.n >= MIN_UNITS
            and one.before.is_defined and one.after.is_defined
        ]  # fmt: skip
        mine = [figures[k] for k in places]
        fits = [
            family == ANSWER and one.scale == answer[0].scale and not one.is_rising_of
            for one in mine
        ]
        inside = margin if any(fits) else None
        for k, (mean, alike) in zip(places, _effects(mine, inside, fits, flips), strict=True):
            found[k] = _decided(figures[k], mean, alike)
    return found


def _effects(
    figures: Sequence[Figure], margin: float | None, fits: Sequence[bool], flips: int
) -> list[tuple[Estimate, Estimate | None]]:
    """The change of every figure of one family, and the test of its equivalence."""
    n, inside = len(figures), sum(fits)
    margin_families = [f"Holm over {units(inside, 'change')}" if fit else "" for fit in fits]
    found: dict[int, Effect] = {}
    together = [k for k, one in enumerate(figures) if one.first is None]
    apart = [k for k, one in enumerate(figures) if one.first is not None]
    if together:
        of_units = _of_units([figures[k] for k in together], margin, flips)
        found |= zip(together, of_units, strict=True)
    if apart:
        of_groups = _of_groups([figures[k] for k in apart], margin)
        found |= zip(apart, of_groups, strict=True)
    effects = [found[k] for k in range(n)]
    n_tested = sum(not math.isnan(one.mean.p) for one in effects)
    families = [f"Holm over {units(n_tested, 'change')}"] * n
    means = adjusted_by_holm([one.mean for one in effects], families)
    same: Sequence[Estimate | None] = [None] * n
    if margin is not None:
        raw = [one.equivalence for one in effects if one.equivalence is not None]
        same = adjusted_by_holm(raw, margin_families)
    return [
        (mean, alike if fit else None) for mean, alike, fit in zip(means, same, fits, strict=True)
    ]


def _of_units(figures: Sequence[Figure], margin: float | None, flips: int) -> tuple[Effect, ...]:
    """Means of changes by unit."""
    columns = [np.asarray(one.by_unit, dtype=np.float64) for one in figures]
    table = np.full((max(map(len, columns)), len(columns)), np.nan)
    for k, one in enumerate(columns):
        table[: len(one), k] = one
    return mean_effects(
        table, unit=figures[0].unit, of=LESS, tests=(DECIDES,), margin=margin, flips=flips
    )


def _of_groups(figures: Sequence[Figure], margin: float | None) -> tuple[Effect, ...]:
    """Differences of the means of changes of two groups that share no unit."""
    pairs = [
        (one.by_unit[one.first], one.by_unit[~one.first])
        for one in figures
        if one.by_unit is not None and one.first is not None
    ]
    return separate_effects(pairs, unit=figures[0].unit, of=LESS, margin=margin)


def _decided(
    one: Figure, mean: Estimate, alike: Estimate | None
) -> tuple[Estimate, Estimate | None]:
    change = replace(mean, n=one.n, n_planned=one.n_planned)
    if one.is_rising_of:
        limits = change_of_limits(one.after, one.before, one.correlation)
        p_method = f"{mean.p_method}, of the {one.is_rising_of}"
        has_limits = mean.has_interval and limits.has_interval
        change = replace(
            change, value=limits.value, method=f"{LESS}; {limits.method}",
            low=limits.low if has_limits else math.nan,
            high=limits.high if has_limits else math.nan, se=math.nan, p_method=p_method,
            reason=None if has_limits else mean.reason or _no_limits(one),
        )  # fmt: skip
    if one.bounds is not None:
        width = one.bounds[1] - one.bounds[0]
        change = cut_to_range(change, (-width, width))
    change = consistent(replace(change, verdict=effect_verdict(change, alike)))
    change = replace(change, verdict=VERDICTS[str(change.verdict)])
    if alike is not None:
        alike = replace(alike, n=one.n, n_planned=one.n_planned)
    return change, alike


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
    found = undefined(reason, unit=one.unit, method=LESS, n=one.n)
    return replace(found, value=value, n_planned=one.n_planned, verdict="undefined")


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
