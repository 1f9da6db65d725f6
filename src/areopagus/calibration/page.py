"""A calibration as an HTML page: its figures and tables in the frame of all reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..aggregation.estimate import Estimate
from ..formats import listed, said, units
from ..records.run_folder import NUMBERS_FILE
from ..reports.all_numbers import numbers_section
from ..reports.document import Document, Section, Tile, Tiles
from ..reports.html import write_html
from ..reports.numbers import shown, span
from .cautions import FEW_PROMPTS, demonstration
from .how_many import HowMany
from .page_panel import against_one_person, judges_section, one_person_section, panel_section
from .page_parts import finite
from .page_people import matched_section, paper_section, people_section
from .page_use import alt_section, corrections_section, how_many_section, unsaid_section
from .result import Calibration


def write_calibration_page(
    path: Path, calibration: Calibration, folder: Path, *, figures: bool = True
) -> Path:
    """Writes the page and returns its path.

    Args:
        path: the file.
        calibration: its numbers; material and target are not looked at.
        folder: where `write_figures` has put the pictures.
        figures: whether the page shows them.

    Raises:
        StoreError: it cannot be written.
    """
    matched = calibration.matched
    panel = matched.panel
    on = f", on {calibration.main_target}" if calibration.main_target else ""
    rated = f"{panel.n_calibrated:,} responses rated and scored" if panel else "No panel"
    prompts = units(panel.n_prompts_calibrated if panel else 0, "prompt")
    by = f"{units(matched.n_raters, 'rater')} and {units(panel.judges if panel else 0, 'judge')}"
    about = f"{calibration.level:.0%} and over prompts unless another unit is named"
    page = Document(
        title="Calibration of a panel against people",
        kind="calibration",
        lead=(rated, f"in {prompts}, by {by}{on}. Intervals are {about}."),
        notices=list(_notices(calibration)),
        sections=list(_sections(calibration, folder)),
        is_demonstration=bool(calibration.stand_ins),
        demonstration=demonstration(calibration.stand_ins),
    )
    return write_html(path, page if figures else page.without_figures())


def _sections(calibration: Calibration, folder: Path) -> Iterator[Section]:
    yield Section("glance", "At a glance", [Tiles(list(_tiles(calibration)))])
    yield matched_section(calibration.matched)
    yield people_section(calibration.people, folder)
    yield panel_section(calibration.panel, folder)
    yield one_person_section(calibration.one_person)
    yield judges_section(calibration.judges, folder)
    yield how_many_section(calibration.how_many, folder)
    yield corrections_section(calibration.corrections, folder)
    yield alt_section(calibration.alt_tests, calibration.alt_tests_reason, folder)
    yield paper_section(calibration.people, calibration.paper)
    yield unsaid_section(calibration.unsaid)
    yield numbers_section(calibration.to_json(), file=NUMBERS_FILE)


def _tiles(calibration: Calibration) -> Iterator[Tile]:
    if calibration.panel.by_target:
        first = calibration.panel.by_target[0]
        yield _tile("tau with people, within prompts", first.tau)
        yield _tile("ceiling that these raters allow", first.ceiling)
        yield _tile("pairs ordered as people do, chance .50", first.accuracy)
    verdict = against_one_person(calibration.one_person)
    difference = _tile(
        "panel less one more person, pairs", calibration.one_person.accuracy_difference
    )
    yield Tile(difference.label, difference.value, f"{difference.note} {verdict}".strip())
    size = calibration.how_many
    yield _worth(size)
    for test in calibration.alt_tests:
        rate = f"winning rate {shown(finite(test.winning_rate.value))}"
        yield Tile(f"stands in for a rater ({test.form})", test.verdict, rate)


def _tile(label: str, number: Estimate, *, digits: int = 2) -> Tile:
    note = span(number.low, number.high, digits) if number.has_interval else said(number.reason)
    return Tile(label, shown(finite(number.value), digits), note)


def _worth(size: HowMany) -> Tile:
    tile = _tile("worth in independent judgments", size.effective, digits=1)
    null = size.effective_null
    if not size.effective.is_defined or not null.is_known:
        return tile
    told = f"independent judges: {span(null.null_low, null.null_high, 1)}"
    return Tile(tile.label, tile.value, f"{tile.note}; {told}" if tile.note else told)


def _notices(calibration: Calibration) -> Iterator[str]:
    panel, judges = calibration.panel, calibration.judges
    if panel.source_confound:
        yield (
            "Source confound: the panel tells people from models, and within either source its "
            "agreement is not shown to be above chance."
        )
    above = [one.target for one in panel.by_target if one.above_ceiling]
    if above:
        yield (
            f"Tau is above the ceiling on {listed(above)}: chance, ties, or errors shared with "
            "these raters."
        )
    if judges.useless:
        yield f"Useless (agreement covers chance): {listed(judges.useless, 12)}."
    if judges.source_only:
        yield f"Source only (at chance within source): {listed(judges.source_only, 12)}."
    n_prompts = max((row.accuracy.n for row in judges.rows), default=0)
    if 0 < n_prompts < FEW_PROMPTS:
        yield (
            f"With {units(n_prompts, 'prompt')} some intervals are too short, and good judges may "
            "be among those named useless or source only."
        )
