"""Single responses in a panel run's document: those that stand out, and all with a view each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..formats import count, number, words
from ..records.judgments import JudgmentTable, read_said
from ..records.tables import read_texts
from .document import Cell, Column, Entry, Paragraph, Part, Records, Scalar, Section, Table, View

MOST_ROWS: Final = 20_000
"""Responses that the page carries; scores.csv holds all."""
MOST_LISTED: Final = 200
"""Responses in each list of those that stand out."""
RECORDS: Final = "responses"
"""The name of the table of all responses, whose rows other tables open."""

Rows = Sequence[Mapping[str, str]]
_DISAGREEMENTS: Final = ("low", "moderate", "high", "split", "undefined")


def divided_responses(scores: Rows, axes: Sequence[str], counts: Mapping[str, int]) -> list[Part]:
    """How many responses divide the panel, and which, the farthest apart first.

    Args:
        scores: rows of scores.csv.
        axes: the personas' axes.
        counts: disagreement to number of responses.
    """

    def spread(row: Mapping[str, str]) -> str:
        means = ", ".join(
            f"{words(axis)} {number(parsed(row.get(f'axis_{axis}')))}" for axis in axes
        )
        return f"{row['disagreement']}: SD {number(parsed(row['sd']))}; {means}"

    def gap(row: Mapping[str, str]) -> float:
        known = [v for v in (parsed(row.get(f"axis_{axis}")) for axis in axes) if v is not None]
        return max(known) - min(known) if known else 0.0

    divided = [(k, r) for k, r in enumerate(scores) if r["disagreement"] in ("split", "high")]
    divided.sort(key=lambda item: (-gap(item[1]), -(parsed(item[1]["sd"]) or 0.0)))
    return [
        Table(
            caption="How far the judges of a response disagree. Low, moderate and high: the SD "
            "between judges is below a tenth of the scale's width, below a fifth, or above. Split "
            "comes before these: two axes lie a fifth of the width or more apart, by more than "
            "noise. Undefined: fewer than two judges scored.",
            label="Disagreement counts",
            columns=[Column("disagreement"), Column("responses", "count")],
            rows=[(name, counts.get(name, 0)) for name in _DISAGREEMENTS],
            is_short=True,
        ),
        *_listed(
            divided,
            spread,
            caption="Responses that split the panel, or on which disagreement is high, with the "
            "means of the axes, those farthest apart first",
            label="Responses that divide the panel",
            head="how",
            none="No response splits the panel, and on none is disagreement high.",
        ),
    ]


def set_apart(scores: Rows, flags: Mapping[str, int]) -> Section:
    """Inconclusive, screened and flagged responses.

    Args:
        scores: rows of scores.csv.
        flags: flag to number of responses.
    """
    places = list(enumerate(scores))
    named = ", ".join(f"{words(name)} {count(n)}" for name, n in flags.items())
    noticed: list[Part] = []
    if named:
        noticed.append(
            Paragraph(f"A flag says what was noticed in the text, and changes no score: {named}.")
        )
    return Section(
        "apart",
        "Set apart",
        [
            Paragraph("Inconclusive", "heading"),
            *_listed(
                [(k, row) for k, row in places if row["status"] == "inconclusive"],
                _reason,
                caption="Responses with fewer scored judgments than the quorum, which have no "
                "score and are in no mean by respondent",
                label="Inconclusive responses",
                head="reason",
                none="None: every response that was put to the panel reached the quorum.",
            ),
            Paragraph("Screened", "heading"),
            *_listed(
                [(k, row) for k, row in places if row["status"] == "screened"],
                _reason,
                caption="Responses in which there is nothing to judge; nobody was asked, and they "
                "have no score",
                label="Screened responses",
                head="reason",
                none="None.",
            ),
            Paragraph("Flagged", "heading"),
            *noticed,
            *_listed(
                [(k, row) for k, row in places if row["flags"]],
                _flags,
                caption="Responses with a flag",
                label="Flagged responses",
                head="flags",
                none="None.",
            ),
        ],
    )


def _listed(
    found: Sequence[tuple[int, Mapping[str, str]]],
    why: Callable[[Mapping[str, str]], str],
    *,
    caption: str,
    label: str,
    head: str,
    none: str,
) -> list[Part]:
    """A table of responses that stand out, each opening its view; a sentence where there is none.

    Args:
        found: (place among the rows, row).
        why: why a row stands out.
        caption: what they are; the number is put behind it.
        label, head: short name of the table; head of the column that says why.
        none: what is said of none.
    """
    if not found:
        return [Paragraph(none)]
    parts: list[Part] = [
        Table(
            caption=f"{caption}: {count(len(found))}.",
            label=label,
            columns=[
                Column("response", "id"),
                Column("prompt", "id"),
                Column("respondent", "id"),
                Column(head, "wide"),
            ],
            rows=[
                [
                    Cell(row["response_id"], record=(RECORDS, place)),
                    row["prompt_id"],
                    row["respondent_id"],
                    why(row),
                ]
                for place, row in found[:MOST_LISTED]
            ],
        )
    ]
    if len(found) > MOST_LISTED:
        parts.append(
            Paragraph(
                f"{count(len(found) - MOST_LISTED)} more are not listed here; the table of "
                "responses filters them, and scores.csv holds all of them."
            )
        )
    return parts


def all_responses(
    scores: Rows,
    *,
    folder: Path,
    table: JudgmentTable,
    heads: Sequence[str],
    axes: Sequence[str],
    scale: tuple[float, float],
) -> Section:
    """The table of responses, each with its text, every judge's scores and rationales.

    Args:
        scores: rows of scores.csv.
        folder: where judgments.parquet and maybe texts.parquet lie.
        table: its judgments.
        heads: what the criteria are called.
        axes: the personas' axes.
        scale: ends of the rubric's scale.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    criteria = table.criteria
    shown = scores[:MOST_ROWS]
    rows = [_row(row, criteria, axes) for row in shown]
    columns = _columns(heads, axes)
    texts = read_texts(folder, (row["response_id"] for row in shown))
    judges, seats = _judges(table)
    view = View(
        texts=("Prompt", "Response"),
        judge_columns=("persona", "axis", "model", "asking")[: 4 if _repeats(table) else 3],
        judges=[judge[: 4 if _repeats(table) else 3] for judge in judges],
        scores=heads,
        scale=scale,
        entries=_entries(table, shown, texts, seats, len(judges), folder),
    )
    parts: list[Part] = []
    if not texts:
        parts.append(
            Paragraph(
                "The texts of prompts and responses are not stored in this folder; the views show "
                "scores only.",
                "quiet",
            )
        )
    parts.append(
        Records(
            name=RECORDS,
            caption="One line a response, in the order of the input. The interval is the panel's "
            "on this one response, over judges. The name of a response opens its view: its text, "
            "and the scores of every judge side by side.",
            label="All responses",
            columns=columns,
            rows=rows,
            filters=_filters(rows, columns),
            view=view,
            file="scores.csv",
            left_out=max(0, len(scores) - MOST_ROWS),
        )
    )
    return Section("all-responses", "Responses", parts)


def _columns(heads: Sequence[str], axes: Sequence[str]) -> list[Column]:
    return [
        Column("response", "id"),
        Column("respondent", "id"),
        Column("composite" if len(heads) > 1 else heads[0], "number"),
        Column("95% from", "number"),
        Column("95% to", "number"),
        *(Column(name, "number") for name in (heads if len(heads) > 1 else ())),
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
    ]


def _row(row: Mapping[str, str], criteria: Sequence[str], axes: Sequence[str]) -> list[Scalar]:
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


def parsed(cell: str | None) -> float | None:
    """The number in a cell of scores.csv; None where it is empty or none."""
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _reason(row: Mapping[str, str]) -> str:
    counted = f"{row['n_scored']} scored of {row['n_planned']} planned"
    return f"{_plain_reason(row)}; {counted}"


def _plain_reason(row: Mapping[str, str]) -> str:
    # The reason of a screened response is the code of a gate, all others are sentences.
    reason = words(row["reason"]) if row["status"] == "screened" else row["reason"]
    return reason or "no reason recorded"


def _flags(row: Mapping[str, str]) -> str:
    return ", ".join(words(flag) for flag in row["flags"].split())


def _filters(rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> list[int]:
    titles = [column.title for column in columns]
    wanted = [titles.index(name) for name in ("respondent", "status", "disagreement", "flags")]
    return [place for place in wanted if 1 < len({row[place] for row in rows}) <= 500]


def _repeats(table: JudgmentTable) -> bool:
    return bool(table.repeat.size and table.repeat.max() > 0)


def _judges(table: JudgmentTable) -> tuple[list[tuple[str, ...]], list[int]]:
    """(labels of the judges in the order of their axes and personas, judge's place by judgment)."""
    codes = list(
        zip(
            table.persona.codes.tolist(),
            table.model.codes.tolist(),
            table.repeat.tolist(),
            strict=True,
        )
    )
    axis_of = dict(zip(table.persona.codes.tolist(), table.axis.codes.tolist(), strict=True))
    known = sorted(set(codes), key=lambda judge: (axis_of[judge[0]], *judge))
    place = {judge: at for at, judge in enumerate(known)}
    labels: list[tuple[str, ...]] = [
        (
            table.persona.names[persona],
            table.axis.names[axis_of[persona]],
            table.model.names[model],
            str(repeat + 1),
        )
        for persona, model, repeat in known
    ]
    return labels, [place[judge] for judge in codes]


def _entries(
    table: JudgmentTable,
    scores: Sequence[Mapping[str, str]],
    texts: Mapping[str, tuple[str, str]],
    seats: Sequence[int],
    n_judges: int,
    folder: Path,
) -> Iterator[Entry]:
    details, rationales = read_said(folder)
    values = table.scores.tolist()
    statuses, reasons = table.status, table.reason
    start = {name: k for k, name in enumerate(table.response_ids)}
    nothing: tuple[float | None, ...] = (None,) * len(table.criteria)
    for row in scores:
        name = row["response_id"]
        remarks: dict[int, str] = {}
        said: dict[int, str] = {}
        lines: list[Sequence[float | None]] = [nothing] * n_judges
        place = start.get(name)
        for at in range(*table.start[place : place + 2].tolist()) if place is not None else ():
            seat = seats[at]
            lines[seat] = values[at]
            status = statuses.names[statuses.codes[at]]
            if status != "scored":
                told = (words(status), words(reasons.names[reasons.codes[at]]), details[at] or "")
                remarks[seat] = ": ".join(filter(None, told))
            if rationales[at]:
                said[seat] = str(rationales[at])
        if len(table.start) and place is None:
            remarks = dict.fromkeys(range(n_judges), "not in the table of judgments")
        yield Entry(texts.get(name, (None, None)), lines, remarks, said)
