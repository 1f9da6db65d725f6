"""Sections of a panel run's page: responses set apart, and all of them with a view each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..records.tables import read_texts
from .document import Entry, Paragraph, Part, Records, Section, View
from .judgment_table import JudgmentTable, read_said
from .numbers import count, words
from .responses import MOST_ROWS, Responses, record_columns, record_row
from .section_judges import RECORDS, note_table


def set_apart(responses: Responses) -> Section:
    """Inconclusive, screened and flagged responses."""
    flags = ", ".join(f"{words(name)} {count(n)}" for name, n in responses.flags.items())
    flagged: list[Part] = []
    if flags:
        flagged.append(
            Paragraph(
                f"A flag says what was noticed in the text, and changes no score: {flags}.",
            )
        )
    return Section(
        "apart",
        "Set apart: inconclusive, screened, flagged",
        [
            Paragraph("Inconclusive", "heading"),
            *note_table(
                responses.inconclusive,
                caption="Responses with fewer scored judgments than the quorum, which have no "
                "score and are in no mean by respondent",
                label="Inconclusive responses",
                head="reason",
                none="None: every response that was put to the panel reached the quorum.",
            ),
            Paragraph("Screened", "heading"),
            *note_table(
                responses.screened,
                caption="Responses in which there is nothing to judge; nobody was asked, and they "
                "have no score",
                label="Screened responses",
                head="reason",
                none="None.",
            ),
            Paragraph("Flagged", "heading"),
            *flagged,
            *note_table(
                responses.flagged,
                caption="Responses with a flag",
                label="Flagged responses",
                head="flags",
                none="None.",
            ),
        ],
    )


def all_responses(
    table: JudgmentTable,
    scores: Sequence[Mapping[str, str]],
    *,
    folder: Path,
    axes: Sequence[str],
    columns: Sequence[str],
    scale: tuple[float, float],
) -> Section:
    """The table of responses, each with its text, every judge's scores and rationales.

    Args:
        table: the judgments.
        scores: rows of scores.csv.
        folder: where texts.parquet may lie.
        axes: the personas' axes.
        columns: heads of the criteria.
        scale: ends of the rubric's scale.
    """
    rows = [record_row(row, table.criteria, axes) for row in scores[:MOST_ROWS]]
    texts = read_texts(folder, (row["response_id"] for row in scores[:MOST_ROWS]))
    judges, seats = _judges(table)
    view = View(
        texts=("Prompt", "Response"),
        judge_columns=("persona", "axis", "model", "asking")[: 4 if _repeats(table) else 3],
        judges=[judge[: 4 if _repeats(table) else 3] for judge in judges],
        scores=columns,
        scale=scale,
        entries=_entries(table, scores[:MOST_ROWS], texts, seats, len(judges), folder),
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
            columns=record_columns(table.criteria, axes),
            rows=rows,
            filters=_filters(rows, axes, table.criteria),
            view=view,
            file="scores.csv",
            left_out=max(0, len(scores) - MOST_ROWS),
        )
    )
    return Section("all-responses", "Responses", parts)


def _filters(
    rows: Sequence[Sequence[Any]], axes: Sequence[str], criteria: Sequence[str]
) -> list[int]:
    titles = [column.title for column in record_columns(criteria, axes)]
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
