"""`areopagus score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .options import columns_from, panel_from, panel_options

if TYPE_CHECKING:
    from ..engines import Engine
    from ..panel import Panel
    from ..run import Run


@click.command(context_settings={"max_content_width": 80})
@click.argument("responses")
@click.option("--out", metavar="DIR", help="Run folder. Default: runs/NAME-xxxxxxxx.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Another name for a column, such as prompt_text=question; repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many responses.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop asking before this much is spent.",
)
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and a cost range; send nothing.")
@click.option("--resume", is_flag=True, help="Demand that the run folder exists already.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Work in this process, or on the nodes of a Ray cluster.",
)
@click.option("--address", metavar="HOST:PORT", help="Head of the cluster; without: this machine.")
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no table.")
@panel_options
def score(
    responses: str,
    *,
    out: str | None,
    columns: tuple[str, ...],
    limit: int | None,
    max_cost: float | None,
    dry_run: bool,
    resume: bool,
    engine: str,
    address: str | None,
    quiet: bool,
    **panel: Any,
) -> int:
    """Score a file of RESPONSES (CSV, JSONL or Parquet) with the panel.

    Columns: response_id, prompt_text, response_text, and optionally prompt_id and respondent_id;
    others are carried through. The same command goes on where an earlier one stopped: what is
    paid is known by the ledger.
    """
    named = columns_from(columns)
    chosen = _engine(engine, address)
    with panel_from(**panel) as seated:
        if not quiet:
            announce(seated)
        if dry_run:
            from .display import show_notices
            from .estimate import show_estimate

            found = seated.estimate(responses, columns=named, limit=limit)
            if not quiet:
                show_notices(found.notices)
            show_estimate(found, max_cost)
            return 0
        return _score(
            seated,
            responses,
            quiet=quiet,
            out=out,
            columns=named,
            limit=limit,
            resume=resume,
            max_cost=max_cost,
            engine=chosen,
        )


def _engine(name: str, address: str | None) -> Engine | None:
    if name == "ray":
        from ..engines import RayEngine

        return RayEngine(address)
    if address is not None:
        raise InputError("--address names a Ray cluster: give --engine ray with it")
    return None


def _score(panel: Panel, responses: str, *, quiet: bool, **options: Any) -> int:
    from ..job import run_job
    from ..run import RunInterrupted
    from .display import show_notices
    from .main import terminated
    from .progress import ProgressLine
    from .results import show_run

    with ProgressLine(unit="responses", quiet=quiet) as line:
        job = panel.job(responses, on_progress=line.update, **options)
        if not quiet:
            show_notices(job.summary.notices)
        try:
            run = run_job(job)
        except RunInterrupted as interrupted:
            _show_interruption(interrupted.run)
            return 143 if terminated() else 130
    if not quiet:
        show_run(run)
    return run.exit_code


def announce(panel: Panel) -> None:
    """What a person should know of the panel: the embedded baseline, files that hide built-ins."""
    from .display import show_notices

    show_notices(panel.notices)
    if panel.is_demonstration:
        click.echo(
            "DEMONSTRATION: the embedded judge offline/lexical scores. It counts features of the\n"
            "text and is no language model; name models with --models.",
            err=True,
        )


def _show_interruption(run: Run) -> None:
    from .display import same_command

    counts = run.counts
    click.echo(
        f"\nStopped: {counts['scored']} scored of {run.n_planned} planned, "
        f"{counts['not_asked']} not asked. What was paid is kept in the ledger.\n"
        f"To go on, give the same command again: {same_command()}",
        err=True,
    )
