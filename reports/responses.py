"""The responses in the report: how many came to what, which stand out, and the row of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .document import Column, Scalar
from .numbers import parsed, shown, words
from .scorecard import columns_of

MOST_ROWS: Final = 20_000
"""Responses that the page carries; scores.csv holds all."""

MOST_LISTED: Final = 200
"""Responses in each list of those that stand out."""

DISAGREEMENTS: Final = ("low", "moderate", "high", "split", "undefined")
VERDICTS: Final = ("scored", "inconclusive", "screened")


@dataclass(frozen=True, slots=True)
class Note:
    """A response that stands out: its place among the rows, its ids, and why."""

    place: int
    response_id: str
    prompt_id: str
    respondent_id: str
    why: str


@dataclass(frozen=True, slots=True)
class NoteList:
    """Those of one kind: the first `MOST_LISTED`, and how many there are."""

    shown: tuple[Note, ...]
    n: int

    @property
    def left_out(self) -> int:
        """How many are not listed."""
        return self.n - len(self.shown)


@dataclass(frozen=True, slots=True)
class Responses:
    """What the report says of single responses.

    Attributes:
        n: rows of scores.csv.
        verdicts, disagreements, flags, methods: value to number of responses.
        inconclusive, screened, flagged: those that stand out.
        divided: those on which the panel's disagreement is "split" or "high", the farthest apart
            first.
    """

    n: int
    verdicts: Mapping[str, int]
    disagreements: Mapping[str, int]
    flags: Mapping[str, int]
    methods: Mapping[str, int]
    inconclusive: NoteList
    screened: NoteList
    flagged: NoteList
    divided: NoteList


def read_responses(rows: Sequence[Mapping[str, str]], axes: Sequence[str]) -> Responses:
    """The rows of scores.csv, counted and listed.

    Args:
        rows: the table.
        axes: the personas' axes; what the input carried may be called like a column of theirs.
    """

    def spread(row: Mapping[str, str]) -> str:
        means = ", ".join(
            f"{words(axis)} {shown(parsed(row.get(f'axis_{axis}')))}" for axis in axes
        )
        return f"{row['disagreement']}: SD {shown(parsed(row['sd']))}; {means}"

    verdicts: dict[str, int] = dict.fromkeys(VERDICTS, 0)
    disagreements: dict[str, int] = dict.fromkeys(DISAGREEMENTS, 0)
    flags: dict[str, int] = {}
    methods: dict[str, int] = {}
    for row in rows:
        _count(verdicts, row["status"])
        _count(disagreements, row["disagreement"])
        for flag in row["flags"].split():
            _count(flags, flag)
        if row["composite_low"]:
            _count(methods, row["interval_method"])
    places = list(enumerate(rows))
    divided = [(k, r) for k, r in places if r["disagreement"] in ("split", "high")]
    divided.sort(key=lambda item: (-_gap(item[1], axes), -(parsed(item[1]["sd"]) or 0.0)))
    return Responses(
        n=len(rows),
        verdicts=verdicts,
        disagreements=disagreements,
        flags=flags,
        methods=methods,
        inconclusive=_notes([(k, r) for k, r in places if r["status"] == "inconclusive"], _reason),
        screened=_notes([(k, r) for k, r in places if r["status"] == "screened"], _reason),
        flagged=_notes([(k, r) for k, r in places if r["flags"]], _flags),
        divided=_notes(divided, spread),
    )


def record_columns(criteria: Sequence[str], axes: Sequence[str]) -> tuple[Column, ...]:
    """The columns of the table of all responses."""
    composite, *rest = columns_of(criteria)
    return (
        Column("response", "id"),
        Column("respondent", "id"),
        Column(composite, "number"),
        Column("95% from", "number"),
        Column("95% to", "number"),
        *(Column(name, "number") for name in rest),
        Column("SD", "number"),
        Column("disagreement"),
        *(Column(f"{words(axis)} personas", "number") for axis in axes),
        Column("status"),
        Column("judgments scored", "count"),
        Column("planned", "count"),
        Column("prompt", "id"),
        Column("median", "number", is_minor=True),
        Column("trimmed mean", "number", is_minor=True),
        Column("flags", "wide"),
        Column("why undefined", "wide"),
    )


def record_row(
    row: Mapping[str, str], criteria: Sequence[str], axes: Sequence[str]
) -> list[Scalar]:
    """One response as a row of that table."""
    composite = parsed(row["composite"])
    low, high = parsed(row["composite_low"]), parsed(row["composite_high"])
    why = ""
    if composite is None:
        why = _plain_reason(row)
    elif low is None or high is None:
        why = f"no interval: {row['interval_reason'] or 'no reason recorded'}"
    return [
        row["response_id"],
        row["respondent_id"],
        composite,
        low,
        high,
        *(parsed(row[name]) for name in (criteria if len(criteria) > 1 else ())),
        parsed(row["sd"]),
        row["disagreement"],
        *(parsed(row.get(f"axis_{axis}")) for axis in axes),
        row["status"],
        int(row["n_scored"]),
        int(row["n_planned"]),
        row["prompt_id"],
        parsed(row["median"]),
        parsed(row["trimmed_mean"]),
        _flags(row),
        why,
    ]


def _gap(row: Mapping[str, str], axes: Sequence[str]) -> float:
    known = [v for v in (parsed(row.get(f"axis_{axis}")) for axis in axes) if v is not None]
    return max(known) - min(known) if known else 0.0


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _notes(
    rows: Sequence[tuple[int, Mapping[str, str]]], why: Callable[[Mapping[str, str]], str]
) -> NoteList:
    found = tuple(
        Note(place, row["response_id"], row["prompt_id"], row["respondent_id"], why(row))
        for place, row in rows[:MOST_LISTED]
    )
    return NoteList(found, len(rows))


def _reason(row: Mapping[str, str]) -> str:
    counted = f"{row['n_scored']} scored of {row['n_planned']} planned"
    return f"{_plain_reason(row)}; {counted}"


def _plain_reason(row: Mapping[str, str]) -> str:
    # The reason of a screened response is the code of a gate, all others are sentences.
    reason = words(row["reason"]) if row["status"] == "screened" else row["reason"]
    return reason or "no reason recorded"


def _flags(row: Mapping[str, str]) -> str:
    return ", ".join(words(flag) for flag in row["flags"].split())
