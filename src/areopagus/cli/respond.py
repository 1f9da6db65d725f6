"""`areopagus respond`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from .options import columns_from, models_from, protocol_options, target_options

if TYPE_CHECKING:
    from ..experiment.respond import RespondJob, RespondResult


@click.command(context_settings={"max_content_width": 80})
@click.argument("prompts")
@target_options("Model to ask, as provider/model; repeatable.")
@click.option("--out", required=True, metavar="FILE.csv", help="The table that score reads.")
@protocol_options
@click.option("--repeats", type=click.IntRange(1, 1000), default=1, help="Askings of each prompt.")
@click.option(
    "--column", "columns", multiple=True, metavar="OURS=THEIRS", help="Another name for a column."
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many prompts.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop asking before this much is spent.",
)
@click.option("--dry-run", is_flag=True, help="Print calls and a cost range; send nothing.")
@click.option("--ledger", metavar="PATH|URL", help="Store of paid calls. Default: shared.")
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no summary.")
def respond(
    prompts: str,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    out: str,
    columns: tuple[str, ...],
    ledger: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Ask target models the PROMPTS as a bare user turn.

    PROMPTS has the column prompt_text and optionally prompt_id; others are carried through.
    """
    from ..errors import InputError
    from ..experiment.respond import RespondJob, run_respond
    from .display import show_notices
    from .jobs import interrupted
    from .progress import ProgressLine

    named = models_from(targets, targets_file)
    if not named:
        raise InputError("name at least one model to ask, with --target or --targets-file")
    with ProgressLine(unit="responses", quiet=quiet or dry_run) as line:
        job = RespondJob(
            prompts,
            named,
            out,
            columns=columns_from(columns),
            ledger=ledger,
            on_progress=line.update_answers,
            **options,
        )
        if not quiet:
            show_notices(job.summary.notices)
        if dry_run:
            return _show_estimate(job, ledger)
        result = run_respond(job)
    if not quiet:
        _show(result)
    if result.interrupted:
        return interrupted()
    return result.exit_code


def _show(result: RespondResult) -> None:
    from ..experiment.job import STOPPED_BY_CAP
    from .display import console, same_command, visible
    from .results import answer_lines, cost_lines

    out = console()
    out.print()
    for line in answer_lines(asdict(result.counts)):
        out.print(line)
    if result.counts.failed:
        out.print(f"Failed calls are made again by the same command: {visible(same_command())}")
    if result.over_budget:
        out.print(STOPPED_BY_CAP)
    for line in cost_lines(result.spending.to_json()):
        out.print(line, markup=False)
    out.print(f"Score them: areopagus score {visible(str(result.path))}")


def _show_estimate(job: RespondJob, ledger: str | None) -> int:
    from ..records.ledger import Ledger
    from .jobs import show_answers_estimate

    with Ledger.open(ledger) as opened, job.source:
        found = job.estimate(opened)
    show_answers_estimate(found)
    return 0
