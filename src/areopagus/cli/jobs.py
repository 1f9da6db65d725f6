"""What the commands of long jobs share: dry runs, interruption, stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from ..experiment.dry_run import plus
from ..experiment.job import STOPPED_BY_CAP
from .display import console, dollars, printable, same_command, table, visible
from .results import echo_cost, write_numbers

if TYPE_CHECKING:
    from ..async_runner import Stoppable
    from ..experiment.dry_run import Estimate
    from ..experiment.respond import RespondEstimate


def show_answers_estimate(found: RespondEstimate) -> None:
    """Calls to target models and a cost range; an unknown price stays unknown."""
    out = console()
    out.print(
        f"Dry run: nothing is sent. {found.planned:,} responses planned, {found.stored:,} stored, "
        f"{found.calls:,} calls to send"
    )
    out.print(writing_cost(found.likely_usd, found.most_usd, file="--targets-file"))


def writing_cost(likely: float | None, most: float | None, *, file: str) -> str:
    """What models that write at length cost, or the option by which a price can be given."""
    if likely is None or most is None:
        return f"Cost: unknown; give a price under prices in a {file}"
    return f"Cost: {dollars(likely)} likely, reasoning apart; at most {dollars(most)}"


def show_estimate(
    found: Estimate, max_cost: float | None, answers: RespondEstimate | None = None
) -> None:
    """Calls, tokens and a cost range by backend; an unknown price stays unknown.

    Args:
        found: of judging.
        max_cost: the cap.
        answers: of asking target models before, where that is done.
    """
    if answers is not None:
        show_answers_estimate(answers)
    from ..number import units

    out = console()
    rows = table(
        "Dry run: nothing is sent",
        ["backend", "planned", "stored", "calls", "tokens in", "tokens out"],
    )
    for item in found.backends:
        rows.add_row(
            visible(item.name, width=26),
            f"{item.planned:,}",
            f"{item.stored:,}",
            f"{item.calls:,}",
            f"{item.input_tokens:,}",
            f"{item.output_tokens:,}",
        )
    out.print(rows)
    if len(found.backends) > 1:
        for item in found.backends:
            cost = _range(item.likely_usd, item.most_usd, item.calls)
            out.print(f"{visible(item.name)}: {cost}")
    least = found.least
    out.print(
        units(found.n_responses, "response")
        + (f", {found.n_screened} of them screened (nobody is asked)" if found.n_screened else "")
        + ("; " if least is None else f"; from {least.calls:,} to ")
        + f"{units(found.calls, 'call')} to send, repairs apart"
    )
    if least is not None:
        out.print("[dim]from: the first block of each response; to: as many as may be asked[/dim]")
    unknown = [b.name for b in found.backends if b.calls and b.likely_usd is None]
    if unknown:
        out.print(f"Price unknown: {visible(', '.join(unknown))}; give one under prices")
    if least is not None and least.likely_usd is not None and least.calls < found.calls:
        out.print(f"Cost at the least: {dollars(least.likely_usd)} likely")
    likely, most = found.likely_usd, found.most_usd
    out.print(f"Cost: {_range(likely, most, found.calls)}")
    if answers is not None:
        likely, most = plus(likely, answers.likely_usd), plus(most, answers.most_usd)
        out.print(f"Answers and judgments: {_range(likely, most, found.calls + answers.calls)}")
    out.print(
        "[dim]likely: usual replies, nothing cached; at most: every call at its full max_tokens, "
        "with a repair. Prices are those of the installed litellm.[/dim]"
    )
    if max_cost is not None and most is not None and most > max_cost:
        is_likely = (likely or 0.0) > max_cost
        outcome = "will stop the run early" if is_likely else "may stop the run early"
        out.print(f"--max-cost {dollars(max_cost)} {outcome}; it is never passed.")


def show_batch_costs(costs: Mapping[str, float | None]) -> None:
    """What the calls likely cost in a batch, by backend; an unknown price stays unknown."""
    out = console()
    for name, cost in costs.items():
        said = (
            "price unknown; state it with --batch-discount"
            if cost is None
            else (f"{dollars(cost)} likely")
        )
        out.print(f"In a batch, {visible(name)}: {said}")
    if not costs:
        out.print("No backend of this panel takes batches; all are asked online.")


def _range(likely: float | None, most: float | None, calls: int) -> str:
    if calls == 0:
        return "$0"
    if likely is None or most is None:
        return "unknown"
    if most == 0:
        return "$0"
    return f"{dollars(likely)} likely, at most {dollars(most)}"


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
    from ..async_runner import run_stoppable

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
