"""`areopagus respond`."""

from __future__ import annotations

import sys
import time

import click

from .options import columns_from


@click.command(context_settings={"max_content_width": 80})
@click.argument("prompts")
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    required=True,
    metavar="MODEL[,MODEL…]",
    help="Model to ask, as provider/model; repeatable.",
)
@click.option("--out", required=True, metavar="FILE.csv", help="The table that score reads.")
@click.option(
    "--track",
    type=click.Choice(["matched", "maximum"]),
    help="matched: effort medium, 400 words, at most 440. maximum: effort high.",
)
@click.option("--effort", metavar="LEVEL", help="Reasoning effort, instead of the track's.")
@click.option("--words", type=click.IntRange(min=1), help="Words to aim at.")
@click.option("--repeats", type=click.IntRange(1, 1000), default=1, help="Askings of each prompt.")
@click.option("--column", "columns", multiple=True, metavar="OURS=THEIRS")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many prompts.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD")
@click.option("--ledger", metavar="PATH|URL", help="Store of paid calls. Default: shared.")
@click.option("--quiet", "-q", is_flag=True)
def respond(
    prompts: str,
    *,
    targets: tuple[str, ...],
    out: str,
    track: str | None,
    effort: str | None,
    words: int | None,
    repeats: int,
    columns: tuple[str, ...],
    limit: int | None,
    max_cost: float | None,
    ledger: str | None,
    quiet: bool,
) -> int:
    """Ask target models the PROMPTS as a bare user turn.

    PROMPTS has the column prompt_text and optionally prompt_id; others are carried through.
    """
    from ..responding import RespondJob, RespondResult, run_respond
    from .display import console, dollars, visible

    named = [name.strip() for group in targets for name in group.split(",") if name.strip()]
    began = time.monotonic()

    stderr = sys.stderr

    def tell(result: RespondResult) -> None:
        if quiet or not stderr.isatty():
            return
        counts = result.counts
        done = counts.answered + counts.empty + counts.refused + counts.failed
        rate = result.sent / max(time.monotonic() - began, 1e-9)
        click.echo(
            f"\r{done}/{counts.planned} responses · {rate:.1f} calls/s · "
            f"{dollars(result.spent_usd)}\x1b[K",
            nl=False,
            err=True,
        )

    job = RespondJob(
        prompts,
        named,
        out,
        track=track,  # type: ignore[arg-type]
        effort=effort,
        words=words,
        repeats=repeats,
        columns=columns_from(columns),
        limit=limit,
        ledger=ledger,
        max_cost=max_cost,
        on_progress=tell,
    )
    result = run_respond(job)
    counts = result.counts
    if not quiet:
        screen = console()
        screen.print(
            f"\n{counts.answered} answered of {counts.planned} planned responses"
            + (f", {counts.cut_off} of them cut off at the token limit" if counts.cut_off else "")
        )
        troubles = {
            "empty": counts.empty,
            "refused": counts.refused,
            "failed": counts.failed,
            "not asked": counts.not_asked,
        }
        if any(troubles.values()):
            screen.print(", ".join(f"{n} {name}" for name, n in troubles.items() if n))
        for fault, number in result.faults.items():
            screen.print(f"  {number} × failed: {visible(fault)}")
        cost = dollars(result.spent_usd)
        if result.unknown_price_calls:
            cost += f"; {result.unknown_price_calls} calls have no known price"
        screen.print(
            f"{result.sent} calls sent, {result.from_ledger} answered by the ledger; {cost}"
        )
        screen.print(f"Score them: areopagus score {visible(out)}")
    if result.interrupted:
        from .main import terminated

        return 143 if terminated() else 130
    return result.exit_code
