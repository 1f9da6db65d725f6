"""Sections of a panel run's page: who judged how, and where the panel disagrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from .bench import (
    Agreement,
    Group,
    Worth,
    agreement_of,
    cell_means,
    groups_of,
    shades_of,
    worth_of,
)
from .document import Cell, Column, Figure, Paragraph, Part, Section, Table
from .judgment_table import JudgmentTable
from .numbers import count, shown, words
from .panel_figures import draw_agreement, draw_two_axes
from .responses import NoteList, Responses

RECORDS: Final = "responses"
"""The name of the table of all responses, whose rows other tables open."""

MOST_IN_MAP: Final = 24
"""Personas in the drawn map of agreement; its table has all."""


def judges(
    table: JudgmentTable,
    columns: Sequence[str],
    *,
    prompts: Mapping[str, str],
    personas: Sequence[Mapping[str, Any]],
    scale: tuple[float, float],
) -> Section:
    """What the panel's judgments are worth, and means by model, persona and axis.

    Args:
        table: the judgments.
        columns: heads of composite and criteria.
        prompts: response id to prompt id.
        personas: as run.json describes them.
        scale: ends of the rubric's scale.
    """
    notes = {str(p["id"]): f"{p.get('label', '')} ({p.get('axis', '')})" for p in personas}
    worth = worth_of(table, [prompts.get(name, name) for name in table.response_ids])
    parts: list[Part] = [
        Paragraph(_worth_told(worth)),
        Paragraph(
            "Means over responses: each judge group's mean on a response, averaged over the "
            "responses of which it scored something. Groups may have scored different responses; "
            "compare those with the same n. Differences between them are severity as much as "
            "insight."
        ),
    ]
    for kind, coded in (("model", table.model), ("persona", table.persona), ("axis", table.axis)):
        parts += [
            Paragraph(f"By {kind}", "heading"),
            Table(
                caption=f"Mean score by {kind} over n responses, and what became of the planned "
                "judgments. Repaired: a second ask was needed to read the vote.",
                label=f"Means by {kind}",
                columns=[
                    Column(kind, "id"),
                    *(Column(name, "number") for name in columns),
                    Column("n responses", "count"),
                    Column("scored", "count"),
                    Column("planned", "count"),
                    Column("repaired", "count"),
                    Column("not scored", "wide"),
                ],
                rows=[
                    _group_line(group, notes.get(group.name, ""), len(columns))
                    for group in groups_of(table, coded)
                ],
            ),
        ]
    parts += [Paragraph("Persona by model", "heading"), _map(table, personas, scale)]
    return Section("judges", "Judges", parts)


def disagreement(
    table: JudgmentTable,
    responses: Responses,
    scores: Sequence[Mapping[str, str]],
    *,
    personas: Sequence[Mapping[str, Any]],
    scale: tuple[float, float],
    figures: Path | None,
) -> Section:
    """Which responses divide the panel, axis against axis, and persona against persona.

    Args:
        table, responses: the judgments, and the responses counted.
        scores: rows of scores.csv.
        personas: as run.json describes them.
        scale: ends of the rubric's scale.
        figures: the folder for pictures; None = none are drawn.
    """
    parts: list[Part] = [
        Table(
            caption="How far the judges of a response disagree. Low, moderate and high: the SD "
            "between judges is below a tenth of the scale's width, below a fifth, or above. Split "
            "comes before these: two axes lie a fifth of the width or more apart, by more than "
            "noise. Undefined: fewer than two judges scored.",
            label="Disagreement counts",
            columns=[Column("disagreement"), Column("responses", "count")],
            rows=list(responses.disagreements.items()),
            is_short=True,
        )
    ]
    parts += note_table(
        responses.divided,
        caption="Responses that split the panel, or on which disagreement is high, with the means "
        "of the axes, those farthest apart first",
        label="Responses that divide the panel",
        head="how",
        none="No response splits the panel, and on none is disagreement high.",
    )
    parts += _axes_against(table, figures, scale)
    composite = table.by_group(table.persona.codes, table.persona.n)[:, :, 0]
    found = agreement_of(table.persona.names, composite)
    parts += _agreement_parts(found, personas, figures)
    return Section("disagreement", "Disagreement", parts)


def note_table(
    notes: NoteList, *, caption: str, label: str, head: str, none: str
) -> list[Table | Paragraph]:
    """A table of responses that stand out, each opening its view; a sentence where there is none.

    Args:
        notes: the responses.
        caption: what they are; the number is put behind it.
        label: short name of the table.
        head: head of the column that says why.
        none: what is said of none.
    """
    if not notes.n:
        return [Paragraph(none)]
    parts: list[Table | Paragraph] = [
        Table(
            caption=f"{caption}: {count(notes.n)}.",
            label=label,
            columns=[
                Column("response", "id"),
                Column("prompt", "id"),
                Column("respondent", "id"),
                Column(head, "wide"),
            ],
            rows=[
                [
                    Cell(note.response_id, record=(RECORDS, note.place)),
                    note.prompt_id,
                    note.respondent_id,
                    note.why,
                ]
                for note in notes.shown
            ],
        )
    ]
    if notes.left_out:
        parts.append(
            Paragraph(
                f"{count(notes.left_out)} more are not listed here; the table of responses filters "
                "them, and scores.csv holds all of them."
            )
        )
    return parts


def _worth_told(worth: Worth) -> str:
    many = f"{count(worth.n_judgments)} judgments of a response"
    if worth.effective is None:
        return f"How many independent judgments the {many} are worth is undefined: {worth.reason}."
    return (
        f"The {many} are worth {worth.effective:.1f} independent single ones, by the variance "
        "components of this run's composites. An error that all judges share does not show in "
        "it: that takes a calibration against people."
    )


def _group_line(group: Group, note: str, width: int) -> list[Any]:
    return [
        Cell(group.name, note=note),
        *(
            Cell(mean, note="nothing scored" if mean is None else "")
            for mean in group.means[: width if width > 1 else 1]
        ),
        group.n_responses,
        group.counts["scored"],
        group.n_planned,
        group.n_repaired,
        group.others,
    ]


def _map(
    table: JudgmentTable, personas: Sequence[Mapping[str, Any]], scale: tuple[float, float]
) -> Table:
    means, number = cell_means(table)
    shades = shades_of(means, scale)
    axes = {str(p["id"]): str(p["axis"]) for p in personas}
    known = means[~np.isnan(means)]
    told = ""
    if known.size:
        told = (
            " The stronger the shade, the higher; values run from "
            f"{shown(float(known.min()))} to {shown(float(known.max()))}, a part of the scale."
        )
    rows: list[list[Any]] = [
        [
            persona,
            axes.get(persona, ""),
            *(
                Cell(
                    float(means[p, m]),
                    note=f"n {count(int(number[p, m]))}" if number[p, m] else "nothing scored",
                    shade=None if shades[p, m] < 0 else int(shades[p, m]),
                )
                for m in range(table.model.n)
            ),
        ]
        for p, persona in enumerate(table.persona.names)
    ]
    return Table(
        caption=f"Mean composite over responses, with the number of responses.{told}",
        label="Persona by model",
        columns=[
            Column("persona"),
            Column("axis", "id"),
            *(Column(model, "number") for model in table.model.names),
        ],
        rows=rows,
        is_map=True,
        is_short=table.model.n < 3,
    )


def _axes_against(
    table: JudgmentTable, figures: Path | None, scale: tuple[float, float]
) -> list[Part]:
    if table.axis.n < 2:
        return []
    by_axis = table.by_group(table.axis.codes, table.axis.n)[:, :, 0]
    rows: list[list[Any]] = []
    for first in range(table.axis.n):
        for second in range(first + 1, table.axis.n):
            gap = by_axis[first] - by_axis[second]
            gap = gap[~np.isnan(gap)]
            name = f"{table.axis.names[first]} minus {table.axis.names[second]}"
            ends = np.quantile(gap, [0.05, 0.5, 0.95]).tolist() if gap.size else [None] * 3
            mean = float(gap.mean()) if gap.size else None
            rows.append([name, mean, *ends, len(gap)])
    parts: list[Part] = [Paragraph("Axis against axis", "heading")]
    if figures is not None:
        names = (table.axis.names[0], table.axis.names[1])
        draw_two_axes(figures / "axes", x=by_axis[0], y=by_axis[1], names=names, scale=scale)
        parts.append(
            Figure(
                figures / "axes.svg",
                f"{words(names[0])} against {words(names[1])}",
                "Each mark is where responses stand by the means of the two axes; the larger, the "
                "more responses. On the dashed line both axes say the same; far from it they part.",
            )
        )
    parts.append(
        Table(
            caption="Differences between the means of two axes on the same response, in points.",
            label="Differences between axes",
            columns=[
                Column("difference", "id"),
                Column("mean", "number"),
                Column("5%", "number"),
                Column("median", "number"),
                Column("95%", "number"),
                Column("responses", "count"),
            ],
            rows=rows,
            is_short=True,
        )
    )
    return parts


def _agreement_parts(
    found: Agreement, personas: Sequence[Mapping[str, Any]], figures: Path | None
) -> list[Part]:
    if len(found.names) < 2 or np.isnan(found.tau).all():
        return []
    axes = {str(p["id"]): str(p["axis"]) for p in personas}
    parts: list[Part] = [Paragraph("Persona against persona", "heading")]
    told = (
        "Kendall's tau-b between the personas' mean composites over the responses that both "
        "scored: 1 = the same order, 0 = none, −1 = the reverse. It counts differences between "
        "prompts as well as within them, and says nothing of severity."
    )
    order = sorted(range(len(found.names)), key=lambda k: axes.get(found.names[k], ""))
    if figures is not None and len(order) <= MOST_IN_MAP:
        names = [found.names[k] for k in order]
        draw_agreement(
            figures / "agreement",
            names=names,
            groups=[axes.get(name, "") for name in names],
            tau=found.tau[np.ix_(order, order)],
        )
        parts.append(Figure(figures / "agreement.svg", "Agreement of the personas", told))
    rows: list[list[Any]] = [
        [
            found.names[k],
            axes.get(found.names[k], ""),
            float(found.others[k]),
            *(Cell(float(found.tau[k, j]), shade=_shade(float(found.tau[k, j]))) for j in order),
        ]
        for k in order
    ]
    parts.append(
        Table(
            caption=told,
            label="Agreement of the personas",
            columns=[
                Column("persona"),
                Column("axis", "id"),
                Column("mean with others", "number"),
                *(Column(words(found.names[j]), "number") for j in order),
            ],
            rows=rows,
            is_map=True,
        )
    )
    return parts


def _shade(tau: float) -> int | None:
    return None if np.isnan(tau) else min(7, max(0, int(8 * tau)))
