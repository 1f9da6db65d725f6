"""What the commands of jobs in stages share: the table of a dry run, and how a job ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from ..cap_stop import STOPPED_BY_CAP
from .cost import echo_cost, write_numbers
from .display import console, dollars, printable, same_command, table, visible

if TYPE_CHECKING:
    from ..loop import Stoppable


def run_staged(
    job: Stoppable[Any],
    json_file: str | None,
    figures: str,
    *,
    quiet: bool,
    show: Callable[[Any], None] | None = None,
) -> int:
    """Runs the job, shows what came of it, and returns the exit code.

    Args:
        job: a StagedJob.
        json_file: where --json says.
        figures: the file of figures in the job's folder.
        quiet: whether nothing is shown.
        show: prints the results; the run's text when left out.
    """
    from ..loop import run_stoppable

    run, was_interrupted = run_stoppable(job)
    if was_interrupted:
        return interrupted()
    if json_file is not None:
        write_numbers(json_file, run.path / figures, run.record)
    if not quiet:
        if show is not None:
            show(run)
        else:
            click.echo(printable(run.text).rstrip("\n"))
        click.echo()
        echo_cost(run.record["sessions"][-1])
        click.echo(f"\nResults: {printable(str(run.path))}")
        if run.state == "budget":
            click.echo(STOPPED_BY_CAP)
    code: int = run.exit_code
    return code


def interrupted() -> int:
    """Says how to go on after an interrupt, and returns the exit code."""
    from .main import terminated

    click.echo(
        "Stopped. What was paid is kept in the ledger.\n"
        f"To go on, give the same command again: {same_command()}",
        err=True,
    )
    return 143 if terminated() else 130


def show_stages(found: Iterable[Any]) -> None:
    """The table of a dry run, a row a stage and backend.

    Args:
        found: what the job's rehearsal gave, see `BackendEstimate`; each names its stage and
            backend.
    """
    rows = table(
        "Dry run: nothing is sent",
        ["stage", "backend", "planned", "stored", "calls", "likely", "at most"],
        left=2,
    )
    for item in found:
        rows.add_row(
            item.stage,
            visible(item.backend, width=26),
            f"{item.planned:,}",
            f"{item.stored:,}",
            f"{item.calls:,}",
            dollars(item.likely_usd),
            dollars(item.most_usd),
        )
    console().print(rows)
