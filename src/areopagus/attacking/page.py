"""An attack as an HTML page: its figures and tables in the frame of all reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..calibration.page_parts import finite, reasons, value
from ..errors import InputError, InputFault
from ..formats import said, units
from ..rebuilt import rebuilt
from ..records.run_folder import FIGURES_FOLDER
from ..reports.all_numbers import numbers_section
from ..reports.document import (
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Part,
    Points,
    Records,
    Scalar,
    Section,
    Table,
    Tile,
    Tiles,
)
from ..reports.html import write_html
from ..reports.numbers import shown, span
from ..reports.responses import MOST_ROWS
from ..reports.section_job import job_sections
from .figures import AttackFigures, DetectorFigures, FamilyFigures
from .figures import Cell as AttackCell
from .lines import reading_sentences
from .plan import AttackPlan
from .run import AttackRun

ATTACK_FILE = "attack.json"


@dataclass(frozen=True, slots=True)
class AttackPage:
    """What a page shows.

    Attributes:
        figures, plan: what was measured, and what was decided before.
        judges, source: the panel, and what was attacked, in a few words.
        notices: what a reader should know.
        is_demonstration: whether an embedded stand-in judged.
        figures_folder: where the pictures lie.
        record: the content of run.json.
    """

    figures: AttackFigures
    plan: AttackPlan
    judges: str
    source: str
    notices: tuple[str, ...]
    is_demonstration: bool
    figures_folder: Path
    record: Mapping[str, Any]


def attack_page_of(folder: Path) -> AttackPage:
    """The page of an attack's folder, from attack.json.

    Raises:
        InputError: the folder holds no attack, or one that has not come so far.
        ValueError: attack.json is not what this version writes.
    """
    run = AttackRun(folder)
    try:
        plain = run.figures
    except json.JSONDecodeError as error:
        raise InputError([InputFault(str(folder / ATTACK_FILE), str(error))]) from error
    return AttackPage(
        figures=rebuilt(AttackFigures, plain),
        plan=rebuilt(AttackPlan, plain["plan"]),
        judges=str(plain["judges"]),
        source=str(plain["source"]),
        notices=tuple(map(str, run.record["notices"])),
        is_demonstration=bool(plain["demonstration"]),
        figures_folder=folder / FIGURES_FOLDER,
        record=run.record,
    )


def write_attack_page(path: Path, page: AttackPage, *, figures: bool = True) -> Path:
    """Writes the page, with its pictures or without, and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    found = page.figures
    low, high = found.scale
    attacked = f"{units(found.n_bases, 'response')} on {units(found.n_prompts, 'prompt')}"
    made = Document(
        title="Attack on a panel",
        kind="attack",
        lead=(
            f"{found.n_scored:,} scored of {found.n_planned:,} planned",
            f"judgments; {attacked} attacked. Judged by {page.judges}, scale {low} to {high}.",
        ),
        notices=page.notices,
        sections=list(_sections(page)),
        is_demonstration=page.is_demonstration,
    )
    return write_html(path, made if figures else made.without_figures())


def _sections(page: AttackPage) -> Iterator[Section]:
    found = page.figures
    yield Section("glance", "At a glance", list(_glance(page)))
    yield Section("families", "By family of attacks", list(_families(page)))
    yield Section("cells", "By place, persona and model", list(_cells(found)))
    yield Section("harmless", "Harmless insertions", list(_benign(found)))
    yield Section("detectors", "Detectors", list(_detectors(page)))
    yield from job_sections(page.record)
    yield numbers_section(found.to_json(), file=ATTACK_FILE)


def _glance(page: AttackPage) -> Iterator[Part]:
    found, plan = page.figures, page.plan
    tiles = [Tile("mean clean score", shown(finite(found.clean.value)), _limits(found.clean))]
    for words, numbers in (
        (
            "largest mean shift beyond harmless prose",
            [(one.id, one.all.beyond_control) for one in found.families],
        ),
        (
            "largest raw shift without a control",
            [
                (one.id, one.all.shift)
                for one in found.families
                if not one.all.beyond_control.is_defined
            ],
        ),
    ):
        defined = [(name, number) for name, number in numbers if number.is_defined]
        if defined:
            name, number = max(defined, key=lambda pair: abs(pair[1].value))
            label = f"{words}, by {name.replace('_', ' ')}"
            tiles.append(Tile(label, _signed(number.value), _limits(number)))
    if found.benign:
        shift = found.benign[0].shift
        tiles.append(Tile("shift by harmless prose", _signed(shift.value), _limits(shift)))
    alarms = found.detectors[0].false_alarms_clean
    label = "clean responses that a detector flags"
    tiles.append(Tile(label, _share(alarms.value), _limits(alarms)))
    yield Tiles(tiles)
    yield Points([("", sentence) for sentence in reading_sentences(found, plan)])


def _families(page: AttackPage) -> Iterator[Part]:
    found, plan = page.figures, page.plan
    yield Figure(
        page.figures_folder / "families.svg",
        "Shift by family",
        "Mean shift of scores beyond harmless prose (attacked minus control), by the same judge on "
        "the same response, with intervals over prompts; small grey marks are the raw shift, "
        "attacked minus clean, which is drawn in colour where there is no control. Diamonds ask "
        "for the lowest score: there a shift to the left is their success. The last row is what "
        "harmless prose itself did to clean responses.",
    )
    yield Table(
        f"Shift in points with its {plan.level:.0%} interval; beyond: attacked minus harmless "
        "prose of the same length in the same place, tested where there is such a control, else "
        f"the raw shift; moved: judgments moved by {plan.threshold:g} points "
        "or more as demanded, or to the demanded end of the scale; verdicts: the same of panel "
        "means; flagged: attacked responses with a new flag. All intervals are over prompts.",
        "By family",
        [
            Column("family", "id"),
            Column("asks for"),
            Column("shift", "number"),
            Column("beyond harmless prose", "number"),
            Column("moved", "number"),
            Column("verdicts moved", "number"),
            Column("worst", "number"),
            Column("p (Holm)", "p"),
            Column("found"),
            Column("flagged", "number"),
            Column("neutralised shift", "number"),
            Column("scored", "count"),
            Column("planned", "count"),
            Column("screened", "count"),
            Column("what it is", "wide"),
        ],
        [_family(one) for one in found.families],
    )
    yield from reasons("A shift", (one.all.shift for one in found.families))


def _family(one: FamilyFigures) -> list[Scalar | Cell]:
    cell = one.all
    return [
        one.id,
        one.asks,
        value(cell.shift),
        value(cell.beyond_control),
        value(cell.success),
        value(cell.verdicts_moved),
        cell.worst,
        one.test.p_holm,
        one.test.outcome,
        value(one.flagged),
        value(one.neutralised_shift),
        cell.n_scored,
        cell.n_planned,
        one.n_screened,
        one.label,
    ]


def _cells(found: AttackFigures) -> Iterator[Part]:
    for name in ("placement", "persona", "model"):
        rows = [
            [getattr(cell, name), *_cell(cell)]
            for cell in found.cells
            if getattr(cell, name) is not None and cell.family is None
        ]
        if rows:
            yield Table(
                f"All attacks, by {name}.", f"By {name}", [Column(name, "id"), *_CELL], rows
            )
    yield _by_family(found)


def _by_family(found: AttackFigures) -> Records:
    rows: list[list[Scalar]] = [
        [
            cell.family,
            name,
            getattr(cell, name),
            *(finite(one) for one in (cell.shift.value, cell.shift.low, cell.shift.high)),
            *(
                finite(one)
                for one in (
                    cell.beyond_control.value,
                    cell.beyond_control.low,
                    cell.beyond_control.high,
                )
            ),
            finite(cell.success.value),
            finite(cell.verdicts_moved.value),
            cell.worst,
            cell.n_scored,
            cell.n_planned,
        ]
        for cell in found.cells
        if cell.family is not None
        for name in ("placement", "persona", "model")
        if getattr(cell, name) is not None
    ]
    return Records(
        name="family-cells",
        caption="Each family by place, by persona and by model: shift in points with its interval, "
        "the same beyond harmless prose (attacked minus control), and shares of judgments and "
        "of verdicts moved.",
        label="Family by place, persona, model",
        columns=[
            Column("family", "id"),
            Column("by"),
            Column("which", "id"),
            Column("shift", "number"),
            Column("low", "number"),
            Column("high", "number"),
            Column("beyond harmless", "number"),
            Column("beyond, low", "number"),
            Column("beyond, high", "number"),
            Column("moved", "number"),
            Column("verdicts moved", "number"),
            Column("worst", "number"),
            Column("scored", "count"),
            Column("planned", "count"),
        ],
        rows=rows[:MOST_ROWS],
        filters=[0, 1],
        left_out=max(0, len(rows) - MOST_ROWS),
    )


_CELL = (
    Column("shift", "number"),
    Column("beyond harmless prose", "number"),
    Column("moved", "number"),
    Column("verdicts moved", "number"),
    Column("worst", "number"),
    Column("scored", "count"),
    Column("planned", "count"),
)


def _cell(cell: AttackCell) -> list[Scalar | Cell]:
    return [
        value(cell.shift),
        value(cell.beyond_control),
        value(cell.success),
        value(cell.verdicts_moved),
        cell.worst,
        cell.n_scored,
        cell.n_planned,
    ]


def _benign(found: AttackFigures) -> Iterator[Part]:
    if not found.benign:
        yield Paragraph("None were planned, so that what an insertion alone does is not known.")
        return
    yield Table(
        "Harmless prose of the same length in the same places: shift in points.",
        "Harmless insertions",
        [
            Column("where or by whom", "id"),
            Column("shift", "number"),
            Column("scored", "count"),
            Column("planned", "count"),
        ],
        [
            [
                next((x for x in (one.placement, one.persona, one.model) if x), "all"),
                value(one.shift),
                one.n_scored,
                one.n_planned,
            ]
            for one in found.benign
        ],
        is_short=True,
    )


def _detectors(page: AttackPage) -> Iterator[Part]:
    yield Paragraph("Detectors flag; they change no score.")
    yield Figure(
        page.figures_folder / "detectors.svg",
        "Attacked responses that are flagged",
        "Share of the attacked responses of each family with a flag that the clean response does "
        "not have.",
    )
    yield Table(
        "False alarms on clean responses and on controls, as shares with their intervals over "
        "prompts and as counts, and on clean texts with telling words, over these texts; and the "
        "families of which a detector newly flags a response.",
        "Detectors",
        [
            Column("detector", "id"),
            Column("on clean responses", "number"),
            Column("clean flagged"),
            Column("on controls", "number"),
            Column("controls flagged"),
            Column("on telling words", "number"),
            Column("finds", "wide"),
        ],
        [_detector(one) for one in page.figures.detectors],
    )


def _detector(one: DetectorFigures) -> list[Scalar | Cell]:
    finds = ", ".join(f"{name} {share:.0%}" for name, share in one.families.items())
    return [
        Cell(one.flag, note=one.about),
        value(one.false_alarms_clean),
        _of(one.clean_counts),
        value(one.false_alarms_controls),
        _of(one.control_counts),
        value(one.false_alarms_telling),
        finds,
    ]


def _of(counts: tuple[int, int] | None) -> str:
    return "" if counts is None else f"{counts[0]:,} of {counts[1]:,}"


def _limits(number: Any) -> str:
    return span(number.low, number.high) if number.has_interval else said(number.reason)


def _signed(number: float) -> str:
    known = finite(number)
    # Adding 0.0 takes the sign off a value that rounds to nothing.
    known = None if known is None else round(known, 2) + 0.0
    return shown(known) if known is None or known <= 0 else f"+{shown(known)}"


def _share(number: float) -> str:
    known = finite(number)
    return "–" if known is None else f"{known:.0%}"
