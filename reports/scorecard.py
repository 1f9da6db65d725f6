"""The scorecard: means by respondent with their intervals, and the geometry of its dot plots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .numbers import words

MOST_PLOTTED: Final = 30
"""Respondents in a dot plot; the table beneath holds all."""

NO_VARIATION: Final = "the prompt means do not vary"
NOTHING_SCORED: Final = "no response was scored"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; None where undefined, `reason` says why."""

    mean: float | None
    low: float | None
    high: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class RespondentRow:
    """One line of the scorecard.

    Attributes:
        name: the respondent.
        n_scored, n_responses, n_prompts: what is behind the means.
        estimates: the composite, then one a criterion.
        why: why intervals are missing, one sentence for the line, "" where none is.
    """

    name: str
    n_scored: int
    n_responses: int
    n_prompts: int
    estimates: tuple[Estimate, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A stretch of the rubric's scale, with ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where the value lies between the ends, in [0, 1]; beyond them, at the end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


@dataclass(frozen=True, slots=True)
class Plot:
    """One dot plot: a criterion, and a (respondent, estimate) a line."""

    title: str
    rows: tuple[tuple[str, Estimate], ...]


def columns_of(criteria: Sequence[str]) -> tuple[str, ...]:
    """Column heads: the composite and the criteria, or one alone where they are the same."""
    if len(criteria) == 1:
        return (words(criteria[0]),)
    return ("composite", *(words(name) for name in criteria))


def respondent_rows(
    stored: Sequence[Mapping[str, Any]], criteria: Sequence[str]
) -> list[RespondentRow]:
    """The respondents of run.json as lines of the scorecard, in their order."""
    return [_row(item, criteria) for item in stored]


def plots_of(rows: Sequence[RespondentRow], columns: Sequence[str]) -> list[Plot]:
    """A dot plot for each column, with the first `MOST_PLOTTED` respondents."""
    return [
        Plot(title, tuple((row.name, row.estimates[k]) for row in rows[:MOST_PLOTTED]))
        for k, title in enumerate(columns)
    ]


def axis_of(rows: Sequence[RespondentRow], scale: tuple[float, float]) -> Axis:
    """The part of the scale that all the plots share.

    The smallest stretch between round figures that holds every mean and interval, at least a third
    of the scale wide, so that small differences are not drawn large. Limits of an interval outside
    the scale are drawn at its end.
    """
    low, high = scale
    drawn = [value for row in rows[:MOST_PLOTTED] for value in _ends(row)]
    inside = [min(high, max(low, value)) for value in drawn] or [low, high]
    step = _step(high - low)
    start = low + step * math.floor((min(inside) - low) / step + 1e-9)
    stop = low + step * math.ceil((max(inside) - low) / step - 1e-9)
    while stop - start < (high - low) / 3:
        start, stop = max(low, start - step), min(high, stop + step)
    stop = min(stop, high)
    number = math.floor((stop - start) / step + 1e-9)
    return Axis(start, stop, tuple(start + step * k for k in range(number + 1)))


def _row(item: Mapping[str, Any], criteria: Sequence[str]) -> RespondentRow:
    low, high = item["interval"] or (None, None)
    composite = Estimate(item["composite"], low, high, item["reason"])
    # run.json holds one reason, that of the composite. All criteria of a respondent have the same
    # prompts, so a criterion alone can lack an interval for one cause only.
    estimates = [composite]
    for name in criteria if len(criteria) > 1 else ():
        mean, low, high = item["dimensions"].get(name, (None, None, None))
        reason = None
        if mean is None:
            reason = item["reason"] or NOTHING_SCORED
        elif low is None or high is None:
            reason = item["reason"] or NO_VARIATION
        estimates.append(Estimate(mean, low, high, reason))
    return RespondentRow(
        name=str(item["respondent_id"]),
        n_scored=item["n_scored"],
        n_responses=item["n_responses"],
        n_prompts=item["n_prompts"],
        estimates=tuple(estimates),
        why=_why(estimates, columns_of(criteria)),
    )


def _why(estimates: Sequence[Estimate], columns: Sequence[str]) -> str:
    missing: dict[str, list[str]] = {}
    for title, estimate in zip(columns, estimates, strict=True):
        if estimate.reason:
            missing.setdefault(estimate.reason, []).append(title)
    if len(missing) == 1 and len(*missing.values()) == len(columns):
        return next(iter(missing))
    return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in missing.items())


def _ends(row: RespondentRow) -> Iterator[float]:
    for estimate in row.estimates:
        for value in (estimate.low, estimate.mean, estimate.high):
            if value is not None:
                yield value


def _step(width: float) -> float:
    """A round tick distance that divides the width into at most ten parts."""
    rough = width / 10
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough - 1e-12)
