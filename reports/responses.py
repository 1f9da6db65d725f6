"""The responses in the report: how many came to what, which stand out, and all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .numbers import parsed, shown, span, words
from .scorecard import columns_of

MOST_ROWS: Final = 2000
"""Responses in the table of all of them."""

MOST_LISTED: Final = 200
"""Responses in each list of those that stand out."""

DISAGREEMENTS: Final = ("low", "moderate", "high", "split", "undefined")
VERDICTS: Final = ("scored", "inconclusive", "screened")


@dataclass(frozen=True, slots=True)
class Note:
    """A response that stands out, and why."""

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
class ResponseLine:
    """One response as text cells, "–" for what is undefined.

    Attributes:
        numbers: composite, its interval, median, trimmed mean, SD, then the criteria.
        why: why there is no composite, or no interval for it; "" where both stand.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    status: str
    counted: str
    numbers: tuple[str, ...]
    disagreement: str
    flags: str
    why: str


@dataclass(frozen=True, slots=True)
class Responses:
    """What the report says of single responses.

    Attributes:
        n: rows of scores.csv.
        verdicts, disagreements, flags, methods: value to number of responses.
        inconclusive, screened, flagged, divided: those that stand out; `divided` are those on
            which the panel's disagreement is "split" or "high".
        heads: column heads of `ResponseLine.numbers`.
        lines: the first `MOST_ROWS` responses, in the order of the input.
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
    heads: tuple[str, ...]
    lines: tuple[ResponseLine, ...]

    @property
    def left_out(self) -> int:
        """Responses that the table does not show."""
        return self.n - len(self.lines)


def read_responses(
    rows: Sequence[Mapping[str, str]], criteria: Sequence[str], axes: Sequence[str]
) -> Responses:
    """The rows of scores.csv, counted and listed.

    Args:
        rows: the table.
        criteria: what judges score.
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
    heads = columns_of(criteria)
    return Responses(
        n=len(rows),
        verdicts=verdicts,
        disagreements=disagreements,
        flags=flags,
        methods=methods,
        inconclusive=_notes([r for r in rows if r["status"] == "inconclusive"], _reason),
        screened=_notes([r for r in rows if r["status"] == "screened"], _reason),
        flagged=_notes([r for r in rows if r["flags"]], _flags),
        divided=_notes([r for r in rows if r["disagreement"] in ("split", "high")], spread),
        heads=(heads[0], "95% interval over judges", "median", "trimmed mean", "SD", *heads[1:]),
        lines=tuple(_line(row, criteria) for row in rows[:MOST_ROWS]),
    )


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _notes(rows: Sequence[Mapping[str, str]], why: Callable[[Mapping[str, str]], str]) -> NoteList:
    found = tuple(
        Note(row["response_id"], row["prompt_id"], row["respondent_id"], why(row))
        for row in rows[:MOST_LISTED]
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


def _line(row: Mapping[str, str], criteria: Sequence[str]) -> ResponseLine:
    composite = parsed(row["composite"])
    low, high = parsed(row["composite_low"]), parsed(row["composite_high"])
    why = ""
    if composite is None:
        why = _plain_reason(row)
    elif low is None or high is None:
        why = f"no interval: {row['interval_reason'] or 'no reason recorded'}"
    named = criteria if len(criteria) > 1 else ()
    return ResponseLine(
        response_id=row["response_id"],
        prompt_id=row["prompt_id"],
        respondent_id=row["respondent_id"],
        status=row["status"],
        counted=f"{row['n_scored']} of {row['n_planned']}",
        numbers=(
            shown(composite),
            span(low, high),
            *(shown(parsed(row[name])) for name in ("median", "trimmed_mean", "sd")),
            *(shown(parsed(row[name])) for name in named),
        ),
        disagreement=row["disagreement"],
        flags=_flags(row),
        why=why,
    )
