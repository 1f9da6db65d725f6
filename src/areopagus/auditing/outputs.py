"""What an audit leaves in its folder beside the tables: numbers, text, pictures, page."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audits.answers_table import AnswersTable
from ..audits.definition import ANSWER_STATUSES
from ..cap_stop import cap_notices
from ..number import as_json
from ..records.run_folder import REPORT_FILE, read_run_file, replaced
from ..text_lines import WIDTH, heading, table, units
from .page import AuditPage, demonstration, write_audit_page
from .run import AUDIT_FILE, FIGURES_FOLDER, TEXT_FILE

if TYPE_CHECKING:
    from .job import AuditJob


def write_outputs(job: AuditJob, answers: AnswersTable) -> Any:
    """Estimates, and writes audit.json, audit.txt, the pictures and report.html.

    Raises:
        StoreError: the folder cannot be written.
    """
    audit, options = job.audit, job.options
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
            stand_ins=stand_ins(job) if job.is_demonstration else (),
            record=read_run_file(job.path, kind=job.kind),
        ),
    )
    return figures


def head_lines(job: AuditJob, counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Title, warnings, and what became of the askings, by target."""
    audit, plan = job.audit, job.plan
    lines = []
    if job.is_demonstration:
        lines += [*textwrap.wrap(f"DEMONSTRATION: {demonstration(stand_ins(job))}", WIDTH), ""]
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


def draw(job: AuditJob, figures: Any) -> list[tuple[str, str]]:
    """Draws the audit's pictures; returns the name and the caption of each."""
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


def stand_ins(job: AuditJob) -> tuple[str, ...]:
    """The embedded targets."""
    return tuple(sorted({b.spec.model for b in job.targets if b.spec.is_offline}))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
