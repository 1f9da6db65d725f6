"""The page of an audit: its counts, its own sections, its pictures, all its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audits.registry import find_audit
from ..calibration.text_lines import units
from ..number import as_json
from ..records.run_folder import FIGURES_FOLDER
from ..reports.all_numbers import numbers_section
from ..reports.frame import Page, write_page
from .options import read_options
from .page_sections import askings_section, pictures_section
from .run import AUDIT_FILE, AuditRun

if TYPE_CHECKING:
    from ..audits.definition import Audit, AuditOptions


@dataclass(frozen=True, slots=True)
class AuditPage:
    """What a page shows.

    Attributes:
        audit, options: what was asked.
        figures: what the audit estimated.
        counts: target to status to number of askings.
        pictures: name and caption of each.
        pictures_folder: where they lie.
        notices: what a reader should know.
        stand_ins: the embedded models that answered.
    """

    audit: Audit[Any]
    options: AuditOptions
    figures: Any
    counts: Mapping[str, Mapping[str, int]]
    pictures: Sequence[tuple[str, str]]
    pictures_folder: Path
    notices: Sequence[str]
    stand_ins: Sequence[str]


def write_audit_page(path: Path, page: AuditPage) -> Path:
    """Writes the page and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    n_done = sum(found.get("classified", 0) for found in page.counts.values())
    n_planned = sum(sum(found.values()) for found in page.counts.values())
    sections = [
        askings_section(page.counts),
        *page.audit.sections(page.figures, page.options),
    ]
    if page.pictures:
        sections.append(pictures_section(page.pictures_folder, page.pictures))
    sections.append(numbers_section(as_json(page.figures), file=AUDIT_FILE))
    return write_page(
        path,
        Page(
            title=f"{page.audit.title}: {units(len(page.counts), 'target')}",
            kind="audit",
            sections=sections,
            lead=(f"{n_done:,} classified of {n_planned:,} planned", "answers."),
            notices=[f"{text[:1].upper()}{text[1:]}" for text in page.notices],
            is_demonstration=bool(page.stand_ins),
            demonstration=demonstration(page.stand_ins),
        ),
    )


def demonstration(stand_ins: Sequence[str]) -> str:
    """What the banner says of the embedded models that answered."""
    return (
        f"The embedded stand-in {' and '.join(stand_ins)} answered. It is no language model: its "
        "answers are picked by a hash of the prompt, and say nothing about any model."
    )


def audit_page_of(folder: Path, *, figures: bool) -> AuditPage:
    """The page of an audit's folder: its answers are estimated again, its pictures drawn again.

    Raises:
        InputError: the folder holds no audit, one that has not come so far, or one whose
            definition is not among those of this installation.
    """
    from importlib.util import find_spec

    run = AuditRun(folder)
    plain = run.figures
    audit = find_audit(str(plain["audit"]))
    options = read_options(audit, plain["options"])
    answers = run.answers
    found = audit.estimate(answers, options)
    place = folder / FIGURES_FOLDER
    has_pictures = figures and find_spec("matplotlib") is not None
    settings = run.record["identity"].get("targets", {}).values()
    names = {str(one["model"]) for one in settings}
    return AuditPage(
        audit=audit,
        options=options,
        figures=found,
        counts=answers.counts(),
        pictures=list(audit.draw(place, found, options)) if has_pictures else (),
        pictures_folder=place,
        notices=[str(one) for one in plain["notices"]],
        stand_ins=sorted(name for name in names if name.startswith("offline/")),
    )
