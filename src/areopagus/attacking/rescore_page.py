"""A neutralised re-scoring as an HTML page: every flagged response, with and without passages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..calibration.page_parts import finite
from ..errors import InputError, InputFault
from ..rebuilt import rebuilt
from ..reports.frame import Page, write_page
from ..reports.numbers import shown, span
from ..reports.parts import (
    Column,
    Entry,
    Paragraph,
    Part,
    Records,
    Section,
    Table,
    Tile,
    Tiles,
    View,
)
from ..reports.responses import MOST_ROWS
from ..reports.section_job import job_sections
from ..text_lines import said
from .rescore import RescoreFigures
from .run import RescoreRun


@dataclass(frozen=True, slots=True)
class RescorePage:
    """What a page shows: figures, judges, source, what to know first, and run.json."""

    figures: RescoreFigures
    judges: str
    source: str
    notices: tuple[str, ...]
    is_demonstration: bool
    record: Mapping[str, Any]


def rescore_page_of(folder: Path) -> RescorePage:
    """The page of a rescoring's folder, from rescore.json.

    Raises:
        InputError: the folder holds no rescoring, or one that has not come so far.
        ValueError: rescore.json is not what this version writes.
    """
    run = RescoreRun(folder)
    try:
        plain = run.figures
    except json.JSONDecodeError as error:
        raise InputError([InputFault(str(folder / "rescore.json"), str(error))]) from error
    return RescorePage(
        figures=rebuilt(RescoreFigures, plain),
        judges=str(plain["judges"]),
        source=str(plain["source"]),
        notices=tuple(map(str, run.record["notices"])),
        is_demonstration=bool(plain["demonstration"]),
        record=run.record,
    )


def write_rescore_page(path: Path, page: RescorePage) -> Path:
    """Writes the page and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    found = page.figures
    measured = sum(one.shift is not None for one in found.responses)
    marked = sum(one.is_marked for one in found.responses)
    shift = found.shift
    limits = span(shift.low, shift.high) if shift.has_interval else said(shift.reason)
    glance: list[Part] = [
        Tiles(
            [
                Tile("responses with a hit", f"{found.n_flagged:,} of {found.n_responses:,}"),
                Tile("screened, nobody asked", f"{found.n_screened:,}"),
                Tile(f"moved by {found.threshold:g} points or more", f"{marked} of {measured}"),
                Tile("mean shift over prompts", shown(finite(shift.value)), limits),
            ]
        ),
        Paragraph("An audit: no score is changed by it."),
    ]
    if found.flags:
        rows = sorted(found.flags.items(), key=lambda item: (-item[1], item[0]))
        glance.append(
            Table(
                "Flags of the detectors.",
                "Flags",
                [Column("flag", "id"), Column("responses", "count")],
                [list(row) for row in rows],
                is_short=True,
            )
        )
    return write_page(
        path,
        Page(
            title="Neutralised re-scoring",
            kind="rescore",
            lead=(
                f"{measured:,} measured of {found.n_flagged:,} flagged",
                f"responses of {page.source}. Judged by {page.judges}.",
            ),
            notices=page.notices,
            sections=[
                Section("glance", "At a glance", glance),
                Section("responses", "Flagged responses", [_records(found)]),
                *job_sections(page.record),
            ],
            is_demonstration=page.is_demonstration,
        ),
    )


def _records(found: RescoreFigures) -> Records:
    shown_rows = found.responses[:MOST_ROWS]
    return Records(
        name="flagged",
        caption="Means of the judges that scored both, as the response came and without the "
        "passages that were noticed; shift: what the passages added. A response opens to the "
        "passages taken out.",
        label="Flagged responses",
        columns=[
            Column("response", "id"),
            Column("respondent", "id"),
            Column("flags", "wide"),
            Column("as it came", "number"),
            Column("without", "number"),
            Column("shift", "number"),
            Column("judges", "count"),
            Column("planned", "count"),
            Column("why there is none", "wide"),
        ],
        rows=[
            [
                one.response_id,
                one.respondent_id,
                " ".join(one.flags),
                one.original,
                one.neutralised,
                one.shift,
                one.n_scored,
                one.n_planned,
                one.reason or "",
            ]
            for one in shown_rows
        ],
        filters=[1] if 1 < len({one.respondent_id for one in shown_rows}) <= 500 else [],
        view=View(
            texts=["Taken out"],
            judge_columns=[],
            judges=[],
            scores=[],
            scale=(0, 1),
            entries=(Entry(["\n\n".join(one.removed)], []) for one in shown_rows),
        ),
        left_out=max(0, len(found.responses) - MOST_ROWS),
    )
