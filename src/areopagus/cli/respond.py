"""`areopagus respond`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from .options import columns_from

if TYPE_CHECKING:
    from ..respond_results import RespondResult
    from ..responding import RespondJob


@click.command(context_settings={"max_content_width": 80})
@click.argument("prompts")
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    metavar="MODEL[,MODEL…]",
    help="Model to ask, as provider/model; repeatable.",
)
@click.option(
    "--targets-file",
    metavar="FILE",
    help="YAML with models and their settings, as under models in a panel.yaml.",
)
@click.option("--out", required=True, metavar="FILE.csv", help="The table that score reads.")
@click.option(
    "--track",
    type=click.Choice(["matched", "maximum"]),
    help="matched: effort medium, 400 words, at most 440. maximum: effort high.",
)
@click.option(
    "--effort", metavar="LEVEL", help="Reasoning effort, instead of the track's; none sends none."
)
@click.option("--words", type=click.IntRange(min=1), help="Words to aim at.")
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
    from ..responding import RespondJob, run_respond
    from ..settings import read_targets
    from .display import same_command, show_notices

    named: list[Any] = [n.strip() for group in targets for n in group.split(",") if n.strip()]
    if targets_file is not None:
        named += read_targets(targets_file)
    if not named:
        raise InputError("name at least one model to ask, with --target or --targets-file")
    job = RespondJob(
        prompts,
        named,
        out,
        columns=columns_from(columns),
        ledger=ledger,
        on_progress=_teller(quiet=quiet),
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
        from .main import terminated

        click.echo(
            "Stopped. What was paid is kept in the ledger.\n"
            f"To go on, give the same command again: {same_command()}",
            err=True,
        )
        return 143 if terminated() else 130
    return result.exit_code


def _teller(*, quiet: bool) -> Any:
    from .display import dollars

    began, stderr = time.monotonic(), sys.stderr
    shown = not quiet and stderr.isatty()

    def tell(result: RespondResult) -> None:
        if not shown:
            return
        counts = result.counts
        done = counts.answered + counts.empty + counts.refused + counts.failed
        rate = result.sent / max(time.monotonic() - began, 1e-9)
        stderr.write(
            f"\r{done}/{counts.planned} responses · {rate:.1f} calls/s · "
            f"{dollars(result.spent_usd)}\x1b[K"
        )
        stderr.flush()

    return tell


def _show(result: RespondResult) -> None:
    from ..cap_stop import STOPPED_BY_CAP
    from .cost import cost_lines
    from .display import console, same_command, visible

    out, counts = console(), result.counts
    cut = f", {counts.cut_off} of them cut off at the token limit" if counts.cut_off else ""
    out.print(f"\n{counts.answered} answered of {counts.planned} planned responses{cut}")
    troubles = {
        "empty": counts.empty,
        "refused": counts.refused,
        "failed": counts.failed,
        "not asked": counts.not_asked,
    }
    if any(troubles.values()):
        out.print(", ".join(f"{n} {name}" for name, n in troubles.items() if n))
    if counts.failed:
        out.print(f"Failed calls are made again by the same command: {visible(same_command())}")
    if result.over_budget:
        out.print(STOPPED_BY_CAP)
    for fault, number in result.faults.items():
        out.print(f"  {number} × failed: {visible(fault)}")
    for line in cost_lines(result.spending.to_json()):
        out.print(line)
    out.print(f"Score them: areopagus score {visible(str(result.path))}")


def _show_estimate(job: RespondJob, ledger: str | None) -> int:
    from ..records.ledger import Ledger
    from .display import console, dollars

    with Ledger.open(ledger) as opened, job.source:
        found = job.estimate(opened)
    out = console()
    out.print(
        f"Dry run: nothing is sent. {found.planned:,} responses planned, {found.stored:,} stored, "
        f"{found.calls:,} calls to send"
    )
    if found.likely_usd is None or found.most_usd is None:
        out.print("Cost: unknown; give a price under prices in a --targets-file")
    else:
        out.print(
            f"Cost: {dollars(found.likely_usd)} likely, reasoning apart; at most "
            f"{dollars(found.most_usd)}"
        )
    return 0
