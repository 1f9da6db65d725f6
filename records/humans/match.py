"""Matches human ratings to the responses of a run; what does not fit is listed with its rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .table import Coded, HumanTable

Scale = tuple[float, float] | Mapping[str, tuple[float, float]]
"""Lowest and highest score: one for all criteria, or by criterion, `REST` for all others."""

REST = "rest"


def read_scale(text: str) -> tuple[float, float]:
    """Returns lowest and highest score from "LOW:HIGH".

    Raises:
        ValueError: with a sentence, for anything else.
    """
    low, colon, high = text.partition(":")
    try:
        ends = (float(low), float(high)) if colon else None
    except ValueError:
        ends = None
    if ends is None or not -math.inf < ends[0] < ends[1] < math.inf:
        raise ValueError("must be LOW:HIGH, such as 1:10")
    return ends


SHOWN = 1000
"""So many of each kind are spelled out, and so many rows of each; all are counted."""


class Places(NamedTuple):
    """An id and the ratings it stands in: how many, and the first rows."""

    id: str
    n: int
    lines: tuple[int, ...]


class Repeated(NamedTuple):
    """One rater's several ratings of one response on one criterion (and kind); the first stands."""

    rater_id: str
    response_id: str
    criterion: str
    kind: str
    values: tuple[float, ...]
    lines: tuple[int, ...]


class OutOfRange(NamedTuple):
    """A score off the scale, or a rank below 1."""

    rater_id: str
    response_id: str
    criterion: str
    value: float
    line: int


class OtherPrompt(NamedTuple):
    """A response whose ratings name another prompt than the run does."""

    response_id: str
    prompt_id: str
    expected: str
    n: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatchReport:
    """What fits and what does not. Nothing is removed from the table.

    Attributes:
        n_ratings: ratings in the table.
        n_matched: those whose response is in the run.
        n_raters, n_responses_rated: different raters; responses of the run with a rating.
        n_responses: responses in the run.
        unmatched_ratings: rated responses that the run does not have.
        unrated_responses: responses of the run without a rating.
        repeated: ratings given more than once; `n_repeated` counts the ratings beyond the first.
        out_of_range: ratings off the scale; `n_out_of_range` counts all.
        unknown_raters: raters that the roster does not approve.
        other_prompts: ratings whose prompt differs from the run's.
    """

    n_ratings: int
    n_matched: int
    n_raters: int
    n_responses_rated: int
    n_responses: int
    unmatched_ratings: tuple[Places, ...]
    unrated_responses: tuple[str, ...]
    repeated: tuple[Repeated, ...]
    n_repeated: int
    out_of_range: tuple[OutOfRange, ...]
    n_out_of_range: int
    unknown_raters: tuple[Places, ...]
    other_prompts: tuple[OtherPrompt, ...]

    @property
    def is_clean(self) -> bool:
        """Whether every rating fits; responses that nobody rated do not count against it."""
        return not (
            self.unmatched_ratings
            or self.n_repeated
            or self.n_out_of_range
            or self.unknown_raters
            or self.other_prompts
        )


def match(
    table: HumanTable,
    responses: Mapping[str, str] | Iterable[str],
    *,
    scale: Scale | None = None,
    raters: Collection[str] | None = None,
) -> MatchReport:
    """Returns how the ratings fit the responses of a run.

    Args:
        table: the ratings.
        responses: the run's response ids, or response to prompt.
        scale: see `Scale`; without it only ranks are checked (at least 1). A criterion that a
            mapping does not name is not checked.
        raters: the raters there may be; by default any.
    """
    prompt_of = dict(responses) if isinstance(responses, Mapping) else {}
    known = dict.fromkeys(responses)
    rated = set(table.response_id.used())
    is_known = _is_among(table.response_id, known)
    out = off_scale(table, scale)
    first = np.flatnonzero(out)[:SHOWN]
    repeated, n_repeated = _repeated(table)
    strangers: tuple[Places, ...] = ()
    if raters is not None:
        strangers = _places(table.select(~_is_among(table.rater_id, raters)), "rater_id")
    return MatchReport(
        n_ratings=len(table),
        n_matched=int(is_known.sum()),
        n_raters=len(table.rater_id.used()),
        n_responses_rated=sum(name in rated for name in known),
        n_responses=len(known),
        unmatched_ratings=_places(table.select(~is_known), "response_id"),
        unrated_responses=tuple(name for name in known if name not in rated),
        repeated=repeated,
        n_repeated=n_repeated,
        out_of_range=tuple(
            OutOfRange(*found)
            for found in _rows(
                table.select(first), "rater_id", "response_id", "criterion", "value", "line"
            )
        ),
        n_out_of_range=int(out.sum()),
        unknown_raters=strangers,
        other_prompts=_other_prompts(table, prompt_of),
    )


def _is_among(column: Coded, names: Collection[str]) -> NDArray[Any]:
    """Returns bool, shape (ratings,): whether the text is one of the names."""
    wanted = set(names)
    is_wanted = np.array([name in wanted for name in column.names], dtype=bool)
    found: NDArray[Any] = is_wanted[column.codes]
    return found


def _rows(table: HumanTable, *names: str) -> Iterator[tuple[Any, ...]]:
    """Returns these columns of each rating, texts as texts."""
    columns = (getattr(table, name) for name in names)
    lists = [(one.texts() if isinstance(one, Coded) else one).tolist() for one in columns]
    return zip(*lists, strict=True)


def _places(table: HumanTable, column: str) -> tuple[Places, ...]:
    """Returns each text of a column with its rows, in order of first appearance."""
    lines: dict[str, list[int]] = {}
    for name, line in _rows(table, column, "line"):
        lines.setdefault(name, []).append(line)
    return tuple(Places(name, len(at), tuple(at[:SHOWN])) for name, at in lines.items())


def _repeated(table: HumanTable) -> tuple[tuple[Repeated, ...], int]:
    """Returns (the first of the ratings given more than once, how many are beyond the first)."""
    # One number for each combination of rater, response, criterion and kind.
    key = table.rater_id.codes.astype(np.int64) * len(table.response_id.names)
    key = (key + table.response_id.codes) * len(table.criterion.names) + table.criterion.codes
    _, which, n = np.unique(2 * key + table.is_rank, return_inverse=True, return_counts=True)
    found: dict[tuple[str, str, str, bool], list[tuple[float, int]]] = {}
    again = table.select(n[which] > 1)
    for *names, value, line in _rows(
        again, "rater_id", "response_id", "criterion", "is_rank", "value", "line"
    ):
        found.setdefault(tuple(names), []).append((value, line))
    shown = []
    for (rater, response, criterion, is_rank), given in itertools.islice(found.items(), SHOWN):
        values, lines = zip(*given[:SHOWN], strict=True)
        kind = "rank" if is_rank else "score"
        shown.append(Repeated(rater, response, criterion, kind, values, lines))
    return tuple(shown), len(table) - len(n)


def _other_prompts(table: HumanTable, prompt_of: Mapping[str, str]) -> tuple[OtherPrompt, ...]:
    lines: dict[tuple[str, str, str], list[int]] = {}
    for response, stated, line in _rows(table, "response_id", "prompt_id", "line"):
        expected = prompt_of.get(response)
        if stated is not None and expected is not None and stated != expected:
            lines.setdefault((response, stated, expected), []).append(line)
    return tuple(
        OtherPrompt(*names, len(at), tuple(at[:SHOWN]))
        for names, at in itertools.islice(lines.items(), SHOWN)
    )


def off_scale(table: HumanTable, scale: Scale | None) -> NDArray[Any]:
    """Returns bool of shape (ratings,): scores off the scale, and ranks below 1.

    Args:
        table: the ratings.
        scale: see `Scale`; None checks ranks only.
    """
    low, high = limits_of(table, scale).T
    is_off = (table.value < low) | (table.value > high)
    return np.where(table.is_rank, table.value < 1, is_off)


def limits_of(table: HumanTable, scale: Scale | None) -> NDArray[Any]:
    """Returns the lowest and highest score of each rating's criterion, shape (ratings, 2).

    Infinite where the scale does not name the criterion.
    """
    unknown = (-np.inf, np.inf)
    limits = [scale_of(scale, name) or unknown for name in table.criterion.names]
    found: NDArray[Any] = np.array(limits, dtype=float).reshape(-1, 2)[table.criterion.codes]
    return found


def scale_of(scale: Scale | None, criterion: str) -> tuple[float, float] | None:
    """Returns the lowest and highest score of a criterion; None where nobody stated them."""
    if scale is None:
        return None
    if isinstance(scale, Mapping):
        return scale.get(criterion, scale.get(REST))
    return (scale[0], scale[1])
