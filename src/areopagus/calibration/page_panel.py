"""The page of a calibration: the panel's side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..reports.document import Cell, Column, Figure, Paragraph, Part, Points, Scalar, Section, Table
from .judges_table import JudgeRow, JudgesTable
from .one_person import AgainstOnePerson
from .page_parts import cut, finite, measures, reasons, value
from .panel_people import PanelPeople
from .text_panel import KINDS


def panel_section(panel: PanelPeople, folder: Path) -> Section:
    """The panel against the mean of the raters."""
    return Section("panel", "Panel with people", list(_panel(panel, folder)))


def _panel(panel: PanelPeople, folder: Path) -> Iterator[Part]:
    if not panel.by_target:
        yield Paragraph("Undefined: people and panel share no criterion.")
        return
    yield Figure(
        folder / "ceiling.svg",
        "Panel against people, and the ceiling",
        "Tau-b of the panel with people within prompts, with its interval, and the tau that a "
        "judge who knows the truth would reach with these raters (open diamonds).",
    )
    yield Table(
        "Tau-b within prompts, pairs ordered as people do (ties one half, chance .50), and the "
        "ceiling. Tau above the ceiling means chance, ties, or errors shared with these raters. "
        "Pooled tau is the paper's definition, which differences between prompts inflate.",
        "Panel with people",
        [
            Column("compared on", "id"),
            Column("responses", "count"),
            Column("prompts", "count"),
            Column("tau", "number"),
            Column("p", "p"),
            Column("mean tau by prompt", "number"),
            Column("pairs as people", "number"),
            Column("pairs tied", "count"),
            Column("ceiling", "number"),
            Column("above ceiling"),
            Column("pooled tau", "number"),
        ],
        [
            [
                one.target,
                one.n_responses,
                one.n_prompts,
                value(one.tau),
                finite(one.p.value),
                value(one.mean_tau),
                value(one.accuracy),
                one.n_ties,
                value(one.ceiling),
                "yes" if one.above_ceiling else "no",
                finite(one.pooled_tau.value),
            ]
            for one in panel.by_target
        ],
    )
    yield from reasons("Tau", (one.tau for one in panel.by_target))
    yield Figure(
        folder / "scores_and_people.svg",
        "Responses: panel's score and people's judgment",
        "One mark a response on the first criterion compared.",
    )
    yield from _pair_types(panel)


def _pair_types(panel: PanelPeople) -> Iterator[Part]:
    if panel.pair_types:
        preferred = panel.source_preferred
        yield Table(
            "Pairs ordered as people do, by where the two responses come from. The source-only "
            f"judge prefers every {preferred}'s response, the length-only judge the longer one: "
            "what the panel is above them is more than recognition.",
            "By type of pair",
            [
                Column("pairs", "id"),
                Column("n", "count"),
                Column("panel", "number"),
                Column("source only", "number"),
                Column("length only", "number"),
            ],
            [
                [
                    row.pair_type,
                    row.n_pairs,
                    value(row.panel),
                    value(row.source_only),
                    value(row.length_only),
                ]
                for row in panel.pair_types
            ],
        )
    yield measures(
        "Against judges that look at one thing only, over all pairs.",
        "Beyond source and length",
        [
            ("panel less source-only judge", panel.beyond_source),
            ("panel less length-only judge", panel.beyond_length),
        ],
    )


def one_person_section(one: AgainstOnePerson) -> Section:
    """The panel against one more person."""
    parts: list[Part] = [
        Paragraph(
            "Each rater is left out in turn; rater and panel are both compared with the mean of "
            "the same other raters."
        ),
        measures(
            "One person and the panel on the same footing, and the panel less the person.",
            "Panel against one more person",
            [
                ("one person, tau", one.human_tau),
                ("panel, tau", one.panel_tau),
                ("panel less person, tau", one.tau_difference),
                ("one person, pairs as people", one.human_accuracy),
                ("panel, pairs as people", one.panel_accuracy),
                ("panel less person, pairs as people", one.accuracy_difference),
            ],
        ),
    ]
    if one.raters:
        rows, told = cut(
            [[r.rater, r.n_prompts, value(r.human), value(r.panel)] for r in one.raters], "raters"
        )
        parts.append(
            Table(
                "Pairs ordered as the other raters order them.",
                "Rater by rater",
                [
                    Column("rater left out", "id"),
                    Column("prompts", "count"),
                    Column("rater", "number"),
                    Column("panel", "number"),
                ],
                rows,
                is_short=True,
            )
        )
        parts += told
    return Section("one-person", "Panel against one more person", parts)


def against_one_person(one: AgainstOnePerson) -> str:
    """The verdict in words, "" where there is none."""
    difference = one.accuracy_difference
    if not difference.has_interval:
        return ""
    if difference.low > 0:
        return "better than one more person"
    if difference.high < 0:
        return "worse than one more person"
    return "not shown to differ from one more person"


def judges_section(judges: JudgesTable, folder: Path) -> Section:
    """Every judge, persona, model and axis."""
    return Section("judges", "Judges, personas, models, axes", list(_judges(judges, folder)))


def _judges(judges: JudgesTable, folder: Path) -> Iterator[Part]:
    if not judges.rows:
        yield Paragraph("Undefined: people and panel share no criterion.")
        return
    yield Figure(
        folder / "judges.svg",
        "Judges",
        "Pairs ordered as people do, with intervals over prompts; the dashed line is chance. Open "
        "diamonds are useless (their interval covers chance) or know the source only.",
    )
    for kind in KINDS:
        rows, told = cut([_judge(row) for row in judges.of(kind)], f"{kind}s")
        if not rows:
            continue
        yield Table(
            f"By {kind}. Severity: points above the panel. Without it: change of the panel's share "
            "of pairs when it is left out; above 0 the panel agrees better without it. Own family: "
            "points more for responses of its own family. Length: points a doubling of length, "
            "people's mean held fixed.",
            f"By {kind}",
            [
                Column(kind, "id"),
                Column("scored", "count"),
                Column("pairs as people", "number"),
                Column("tau", "number"),
                Column("severity", "number"),
                Column("spread", "number"),
                Column("without it", "number", 3),
                Column("own family", "number"),
                Column("length", "number"),
                Column("abstained", "number"),
                Column("named"),
            ],
            rows,
        )
        yield from told
    for name in ("accuracy", "severity", "own_family", "length", "abstention"):
        numbers = (getattr(row, name) for row in judges.rows)
        yield from reasons(name.replace("_", " ").capitalize(), numbers)
    yield from _severity_parts(judges)


def _judge(row: JudgeRow) -> list[Scalar | Cell]:
    named = "useless" if row.is_useless else "source only" if row.is_source_only else ""
    return [
        row.name,
        row.n_scored,
        value(row.accuracy),
        value(row.tau),
        value(row.severity),
        value(row.spread),
        value(row.without, digits=3),
        value(row.own_family),
        value(row.length),
        value(row.abstention),
        named,
    ]


def _severity_parts(judges: JudgesTable) -> Iterator[Part]:
    apart = judges.severity_parts
    if not apart.parts:
        yield Points([("Severity taken apart:", f"not made: {apart.reason}.")])
        return
    rows, told = cut([[p.name, p.kind, value(p.severity)] for p in apart.parts], "parts")
    yield Table(
        "Severity taken apart: score = response + persona + model, fitted together.",
        "Severity taken apart",
        [Column("name", "id"), Column("of the"), Column("severity", "number")],
        rows,
        is_short=True,
    )
    yield from told
