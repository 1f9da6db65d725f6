"""The page of an audit: its counts, its own sections, its pictures, all its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audits.registry import audit_names, find_audit
from ..errors import InputError, InputFault
from ..experiment.cost_cap import cap_notices
from ..formats import units
from ..number import as_json
from ..records.run_folder import FIGURES_FOLDER
from ..reports.all_numbers import numbers_section
from ..reports.asked import state_told
from ..reports.document import Document
from ..reports.html import write_html
from ..reports.section_job import job_sections
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
        record: the content of run.json: models, versions, sessions.
    """

    audit: Audit[Any]
    options: AuditOptions
    figures: Any
    counts: Mapping[str, Mapping[str, int]]
    pictures: Sequence[tuple[str, str]]
    pictures_folder: Path
    notices: Sequence[str]
    stand_ins: Sequence[str]
    record: Mapping[str, Any]


def write_audit_page(path: Path, page: AuditPage) -> Path:
    """Writes the page and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    n_done = sum(found.get("classified", 0) for found in page.counts.values())
    n_planned = sum(sum(found.values()) for found in page.counts.values())
    targets = units(len(page.counts), "target") if page.counts else "stored answers"
    sections = [askings_section(page.counts)] if page.counts else []
    sections += page.audit.sections(page.figures, page.options)
    if page.pictures:
        sections.append(pictures_section(page.pictures_folder, page.pictures))
    sections.append(numbers_section(as_json(page.figures), file=AUDIT_FILE))
    sections += job_sections(page.record)
    return write_html(
        path,
        Document(
            title=f"{page.audit.title}: {targets}",
            kind="audit",
            sections=sections,
            lead=(f"{n_done:,} classified of {n_planned:,} planned", "answers.")
            if page.counts
            else ("", ""),
            state=state_told(page.record),
            notices=[_sentence(text) for text in page.notices],
            is_demonstration=bool(page.stand_ins),
            demonstration=demonstration(page.stand_ins),
        ),
    )


def _sentence(text: str) -> str:
    end = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


def demonstration(stand_ins: Sequence[str]) -> str:
    """What the banner says of the embedded models that answered."""
    return (
        f"The embedded stand-in {' and '.join(stand_ins)} answered. It is no language model: its "
        "answers are picked by a hash of the prompt, and say nothing about any model."
    )


def audit_page_of(folder: Path, *, figures: bool) -> AuditPage:
    """The page of an audit's folder: its answers are estimated again, its pictures drawn again.

    An audit of the user's own is found where it lay when it was run; its code is run.

    Raises:
        InputError: the folder holds no audit, one that has not come so far, or one whose
            definition is not there any more.
    """
    run = AuditRun(folder)
    plain = run.figures
    audit = _audit_of(run)
    options = read_options(audit, plain["options"])
    answers = run.answers
    found = audit.estimate(answers, options)
    place = folder / FIGURES_FOLDER
    settings = run.record["identity"].get("targets", {}).values()
    names = {str(one["model"]) for one in settings}
    return AuditPage(
        audit=audit,
        options=options,
        figures=found,
        counts=answers.counts(),
        pictures=list(audit.draw(place, found, options)) if figures else (),
        pictures_folder=place,
        notices=[*cap_notices(plain), *(str(one) for one in plain["notices"])],
        stand_ins=sorted(name for name in names if name.startswith("offline/")),
        record=run.record,
    )


def _audit_of(run: AuditRun) -> Audit[Any]:
    """The definition that the run was made with."""
    name, place = str(run.figures["audit"]), run.record["audit"].get("folder")
    if place is None:
        if name in audit_names():
            return find_audit(name)
        fault = f"holds a run of the audit {name!r}, which was handed over as an object"
        hint = "Run areopagus.audit(…) with it and this folder again: nothing is asked twice."
        raise InputError([InputFault(str(run.path), fault)], hint=hint)
    source = Path(str(place))
    if source.is_relative_to(run.path.resolve()):
        # Results are passed on; to read them must not mean to run what came along with them.
        fault = f"names code inside of itself ({place}) as its audit, which is not run"
        raise InputError([InputFault(str(run.path), fault)])
    if not (source / "__init__.py").is_file():
        raise InputError(
            [InputFault(str(run.path), f"the folder of its audit {name!r} is gone: {place}")],
            hint="Put it back, or run the audit from where it is now with --out naming this "
            "folder: nothing is asked twice, and the page is written anew.",
        )
    return find_audit(source)
