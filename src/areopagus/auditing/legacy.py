"""Reports of audits that have no definition yet: audit.json, audit.txt and a page of their own."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..audits.answers_table import AnswersTable
from ..audits.definition import ANSWER_STATUSES, AuditOptions
from ..audits.legacy import LegacyAudit
from ..audits.registry import find_audit
from ..experiment.cost_cap import cap_notices
from ..formats import units
from ..number import WIDTH, as_json, heading, table
from ..records.run_folder import FIGURES_FOLDER, REPORT_FILE, read_run_file, replaced
from ..reports.all_numbers import numbers_section
from ..reports.document import Cell, Column, Document, Figure, Scalar, Section, Table
from ..reports.html import write_html
from ..reports.run_sections import job_sections, state_told
from .config import read_options

AUDIT_FILE = "audit.json"
TEXT_FILE = "audit.txt"


def write_outputs(job: Any, answers: AnswersTable) -> Any:
    """Estimates, and writes audit.json, audit.txt, the pictures and report.html.

    Raises:
        StoreError: the folder cannot be written.
    """
    audit, options = job.audit, job.options
    assert isinstance(audit, LegacyAudit)  # noqa: S101 - asked before
    figures = audit.estimate(answers, options)
    audit.write_tables(answers, options)
    counts = answers.counts()
    plain = {
        "audit": audit.name,
        "title": audit.title,
        "source": audit.source,
        "warning": audit.warning,
        "demonstration": job.is_demonstration,
        "options": options.model_dump(mode="json"),
        "items": {"n": job.plan.n_items, "units": job.plan.n_units, "unit": audit.unit_name},
        "repeats": job.plan.repeats,
        "targets": list(job.target_names),
        "judges": [backend.spec.name for backend in job.judges],
        "notices": list(job.notices),
        "cost_cap": None if job.cap_stop is None else job.cap_stop.to_json(),
        "counts": {
            name: {status: found.get(status, 0) for status in ANSWER_STATUSES}
            for name, found in counts.items()
        },
        "judging": job.outcome.get("classify"),
        "figures": as_json(figures),
    }
    _write(job.path / AUDIT_FILE, json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False))
    body = audit.lines(figures, options)
    lines = [*head_lines(job, counts), *body]
    pictures = draw(job, figures)
    _write(job.path / TEXT_FILE, "\n".join(lines))
    write_audit_page(
        job.path / REPORT_FILE,
        AuditPage(
            audit=audit,
            options=options,
            figures=figures,
            counts=counts,
            pictures=pictures,
            pictures_folder=job.path / FIGURES_FOLDER,
            notices=(*cap_notices(plain), *job.notices),
            stand_ins=job.stand_ins,
            record=read_run_file(job.path, kind=job.kind),
        ),
    )
    return figures


def head_lines(job: Any, counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Title, warnings, and what became of the askings, by target."""
    audit, plan = job.audit, job.plan
    assert isinstance(audit, LegacyAudit)  # noqa: S101 - asked before
    lines = []
    if job.is_demonstration:
        lines += [*textwrap.wrap(f"DEMONSTRATION: {demonstration(job.stand_ins)}", WIDTH), ""]
    if (stop := job.cap_stop) is not None:
        lines += [*stop.lines(WIDTH), ""]
    lines += [audit.title, "=" * min(len(audit.title), WIDTH)]
    if audit.source:
        lines += textwrap.wrap(f"After {audit.source}", WIDTH)
    asked = f"{units(plan.n_items, 'prompt')} of {units(plan.n_units, audit.unit_name)}"
    asked += f", {plan.n_askings:,} askings a target" if plan.n_askings != plan.n_items else ""
    targets = units(len(counts), "target") if counts else "nobody was asked"
    lines += textwrap.wrap(f"{asked}; {targets}", WIDTH)
    judges = [backend.spec.name for backend in job.judges]
    if audit.takes_judges and counts:
        lines += textwrap.wrap(f"Judges: {', '.join(judges) or 'none, rules alone'}", WIDTH)
    for notice in job.notices:
        lines += textwrap.wrap(f"Note: {notice}", WIDTH, subsequent_indent="  ")
    if not counts:  # answers that the audit's own options bring
        return lines
    lines += heading("What became of the askings")
    used = [name for name in ANSWER_STATUSES if any(found.get(name) for found in counts.values())]
    header, rows = _count_table(counts, used)
    lines += table(header, rows)
    return lines


def draw(job: Any, figures: Any) -> list[tuple[str, str]]:
    """Draws the audit's pictures; returns the name and the caption of each."""
    assert isinstance(job.audit, LegacyAudit)  # noqa: S101 - asked before
    return list(job.audit.draw(job.path / FIGURES_FOLDER, figures, job.options))


def _count_table(
    counts: Mapping[str, Mapping[str, int]], used: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    header = ["target", "planned", *(_words(name) for name in used)]
    rows = [
        [name, f"{sum(found.values()):,}", *(f"{found.get(status, 0):,}" for status in used)]
        for name, found in counts.items()
    ]
    return header, rows


def _words(name: str) -> str:
    return name.replace("_", " ")


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


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

    audit: LegacyAudit[Any]
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


def audit_page_of(run: Any, *, figures: bool) -> AuditPage:
    """The page of an audit's folder: its answers are estimated again, its pictures drawn again.

    An audit of the user's own is found where it lay when it was run; its code is run.

    Raises:
        InputError: the folder holds no audit, one that has not come so far, or one whose
            definition is not there any more.
    """
    folder = run.path
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


def _audit_of(run: Any) -> LegacyAudit[Any]:
    """The definition that the run was made with."""
    return find_audit(str(run.figures["audit"]))  # type: ignore[return-value]


def askings_section(counts: Mapping[str, Mapping[str, int]]) -> Section:
    """What became of the askings, by target."""
    used = [name for name in ANSWER_STATUSES if any(found.get(name) for found in counts.values())]
    columns = [Column("target", "id"), Column("planned", "count")]
    columns += [Column(name.replace("_", " "), "count") for name in used]
    rows: list[list[Scalar | Cell]] = [
        [name, sum(found.values()), *(found.get(status, 0) for status in used)]
        for name, found in counts.items()
    ]
    caption = "Planned askings by target and by what became of them."
    title = "What became of the askings"
    return Section("askings", title, [Table(caption, "Askings by status", columns, rows)])


def pictures_section(folder: Path, pictures: Sequence[tuple[str, str]]) -> Section:
    """The drawings, each with its caption."""
    parts = []
    for name, caption in pictures:
        title, _, rest = caption.partition(". ")
        parts.append(Figure(folder / f"{name}.svg", title, rest, caption))
    return Section("figures", "Figures", parts)


def demonstration(stand_ins: Sequence[str]) -> str:
    """What the banner says of the embedded models that answered."""
    from ..audits.document import demonstration as told

    return told(stand_ins)
