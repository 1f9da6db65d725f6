"""Carries out a job for a command: notices, dry run or run, interruption, results, exit code."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..formats import count, dollars, units
from ..progress import READING, ProgressLine
from ..records.estimates import ESTIMATES_CSV
from ..records.run_folder import REPORT_FILE
from ..run import JobRun
from .display import WIDTH, in_options, printable, same_command, say, show_notices, show_table
from .results import (
    STDOUT,
    as_command,
    cost_line,
    echo_cost,
    fault_lines,
    stopped_by_cap,
    write_shown,
)

if TYPE_CHECKING:
    from ..experiment.dry_run import DryRun
    from ..experiment.job import Job
    from ..reports.document import Document


@dataclass(frozen=True, slots=True)
class Manner:
    """How a command carries out its job.

    Attributes:
        dry_run: whether only calls and cost are shown.
        quiet: whether nothing is shown but where the result is.
        name_with: the options that name models in the place of embedded stand-ins.
        price_file: the option whose file can hold a price.
        full: whether the whole document is shown instead of its summary.
        json_file: where --json says; "-" is stdout, which then holds nothing else.
        show: prints what came of it; see `show_result` for what is shown where it is left out.
        after_estimate: prints what a command adds to the dry run.
        stopped: what is said first after an interrupt.
    """

    dry_run: bool
    quiet: bool
    name_with: str = "--models"
    price_file: str = "panel.yaml"
    full: bool = False
    json_file: str | None = None
    show: Callable[[Any], None] | None = None
    after_estimate: Callable[[DryRun], None] | None = None
    stopped: Callable[[Any], str] = lambda run: "Stopped. "


def carry_out(prepare: Callable[[ProgressLine], Job[Any]], manner: Manner) -> int:
    """Prepares the job with a line that shows how far it is, carries it out, and reports.

    Returns:
        The exit code.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the results cannot be written.
    """
    from ..async_runner import run_stoppable

    finish: Callable[[], int]
    with ProgressLine(quiet=manner.quiet) as line:
        line.do(READING)
        job = prepare(line)
        if not manner.quiet:
            announce(job, manner.name_with)
        if manner.dry_run:
            line.do("counting the calls")
            finish = partial(_show_dry_run, job.estimate(), job, manner)
        else:
            run, was_interrupted = run_stoppable(job.run(), partial(_stop, job))
            if was_interrupted:
                finish = partial(interrupted, manner.stopped(run))
            else:
                is_shown = manner.json_file is not None or not (manner.quiet or manner.show)
                document = run.document() if is_shown else None
                finish = partial(_show, run, document, manner, announced=job.notices)
    return finish()


def _stop(job: Job[Any]) -> None:
    """Asks the job to end, and says what it still waits for."""
    calls, seconds = job.awaited
    job.stop()
    if calls:
        waiting = (
            f"Stopping: waiting for {units(calls, 'call')} in flight, {seconds:.0f} s at most; "
            "their replies are stored. Press Ctrl-C again to abandon them."
        )
        click.echo("\n" + textwrap.fill(waiting, WIDTH), err=True)


def _show_dry_run(found: DryRun, job: Job[Any], manner: Manner) -> int:
    if manner.json_file is not None:
        write_shown(manner.json_file, estimate_document(found))
    if manner.json_file != STDOUT:
        show_estimate(found, job.config.max_cost, price_file=manner.price_file)
        if manner.after_estimate is not None:
            manner.after_estimate(found)
    return 0


def _show(run: Any, document: Document | None, manner: Manner, *, announced: Sequence[str]) -> int:
    code: int = run.exit_code
    document = None if document is None else as_command(document)
    if manner.json_file is not None and document is not None:
        cost = run.record.get("cost")
        write_shown(manner.json_file, document, run.estimates, place=str(run.path), cost=cost)
    if manner.json_file == STDOUT:
        return code
    if manner.quiet:
        click.echo(printable(str(run.path)))
    elif manner.show is not None:
        manner.show(run)
    elif document is not None:
        command = click.get_current_context().command
        known_notices = {in_options(notice, command) for notice in announced}
        notices = [notice for notice in document.notices if notice not in known_notices]
        show_result(run, replace(document, notices=notices), full=manner.full)
    if manner.json_file is not None and not manner.quiet:
        click.echo(f"Wrote {printable(manner.json_file)}", err=True)
    return code


def announce(job: Job[Any], name_with: str) -> None:
    """What a person should know before anything is spent."""
    command = click.get_current_context().command
    show_notices([in_options(one, command) for one in job.notices], width=WIDTH)
    models = sorted({b.spec.model for b in job.backends if b.spec.is_offline})
    if not (job.is_demonstration and models):  # of those in what is read the result says it
        return
    are = "is embedded and no" if len(models) == 1 else "are embedded, none a"
    click.echo(
        textwrap.fill(
            f"{', '.join(models)} {are} language model. Name models with {name_with}.",
            WIDTH,
            break_on_hyphens=False,
        ),
        err=True,
    )


def show_result(run: JobRun, document: Document, *, full: bool = False) -> None:
    """The answer of a run, why it can be trusted, its summary, where the rest is, what it cost.

    Args:
        run: the folder.
        document: what is shown of it.
        full: whether all of its document is shown, and all that is known of the cost.
    """
    show_document(document, full=full)
    if full:
        show_end(run)
    else:
        session, place = run.record["sessions"][-1], printable(str(run.path))
        written = [name for name in (REPORT_FILE, ESTIMATES_CSV) if (run.path / name).is_file()]
        end = f"{place}: {' · '.join([*written, cost_line(session)])}"
        click.echo("\n" + textwrap.fill(end, WIDTH, subsequent_indent="  "))
        for line in fault_lines(session.get("faults") or ()):
            click.echo(textwrap.fill(printable(line), WIDTH, subsequent_indent="  "))
        click.echo(f"More: areopagus report {place} --full")
        if run.state == "budget":
            click.echo(stopped_by_cap(session))
    if run.exit_code == 3:
        click.echo("Exit code 3: some replies were refused, unreadable or failed.")


def show_document(document: Document, *, full: bool) -> None:
    """The document as text, its summary alone or all of it."""
    from ..reports.text import render_text

    for line in render_text(document, full=full, width=WIDTH):
        click.echo(printable(line))


def show_end(run: Any) -> None:
    """What a run cost, and where its results are."""
    click.echo()
    echo_cost(run.record["sessions"][-1])
    click.echo(f"\nResults: {printable(str(run.path))}")
    if run.state == "budget":
        click.echo(stopped_by_cap(run.record["sessions"][-1]))


def interrupted(said: str = "Stopped. ") -> int:
    """Says how to go on after an interrupt, and returns the exit code."""
    from .main import terminated

    click.echo(
        f"{said}What was paid is kept in the ledger.\n"
        f"To go on, give the same command again: {same_command()}",
        err=True,
    )
    return 143 if terminated() else 130


def show_estimate(found: DryRun, max_cost: float | None, *, price_file: str) -> None:
    """The dry run: cost and calls of all stages, then a row a stage and backend.

    Args:
        found: what the job would call.
        max_cost: the cap.
        price_file: where a price can be given.
    """
    nobody = "" if found.stages else ", nobody is to be asked"
    cost = _range(found.likely_usd, found.most_usd)
    click.secho(f"Dry run: nothing is sent{nobody}. Cost: {cost}", bold=True)
    most = found.most_usd
    if max_cost is not None and most is not None and most > max_cost:
        is_likely = (found.likely_usd or 0.0) > max_cost
        outcome = "will stop the run early" if is_likely else "may stop the run early"
        say(f"--max-cost {dollars(max_cost)} {outcome}; it is never passed.")
    least = found.least
    said = f"{units(found.calls, 'call')} to send"
    if least is not None:
        said = f"from {least.calls:,} to {said}"
    more = f", at most {found.most_calls:,} with every repair and second review"
    say(said + (more if found.most_calls > found.calls else ""))
    if least is not None:
        say("from: the first block of each response; to: as many as may be asked")
    if found.unpriced:
        names = ", ".join(found.unpriced)
        say(f"Price unknown: {names}; give one under prices in a {price_file}")
    if least is not None and least.likely_usd is not None and least.calls < found.calls:
        say(f"Cost at the least: {dollars(least.likely_usd)} likely")
    if found.n_responses:
        screened = f", {found.n_screened} of them screened (nobody is asked)"
        say(units(found.n_responses, "response") + (screened if found.n_screened else ""))
    _show_stages(found)
    for sentence in found.assumptions:
        say(sentence)


def estimate_document(found: DryRun) -> Document:
    """The dry run as a document, for JSON."""
    from ..reports.document import Column, Document, Section, Table

    columns = [Column("stage"), Column("backend", "id"), Column("planned", "count")]
    columns += [Column(name, "count") for name in ("stored", "calls", "calls at most")]
    columns += [Column(name, "count") for name in ("tokens in", "tokens out")]
    columns += [Column(name, "number") for name in ("likely $", "at most $")]
    rows = [
        (
            item.stage, item.backend, item.planned, item.stored, item.calls, item.most_calls,
            item.input_tokens, item.output_tokens, item.likely_usd, item.most_usd,
        )
        for item in found.stages
    ]  # fmt: skip
    table = Table("Nothing is sent.", "Calls and cost", columns, rows)
    return Document(
        title="Dry run",
        kind="dry_run",
        headline=[
            f"{units(found.calls, 'call')} to send.",
            f"Cost: {_range(found.likely_usd, found.most_usd)}.",
        ],
        notices=list(found.assumptions),
        sections=[Section("calls", "Calls and cost", [table], "summary")],
    )


def _show_stages(found: DryRun) -> None:
    """The table: tokens where all of them are counted, with the cost in lines below it."""
    if not found.stages:
        return
    with_tokens = all(item.input_tokens is not None for item in found.stages)
    head = ["stage", "backend", "planned", "stored", "calls"]
    head += ["tokens in", "tokens out"] if with_tokens else ["most", "likely $", "most $"]
    rows = []
    for item in found.stages:
        row = [item.stage, item.backend, *map(count, (item.planned, item.stored, item.calls))]
        if with_tokens:
            row += [count(item.input_tokens or 0), count(item.output_tokens or 0)]
        else:
            row += [count(item.most_calls), dollars(item.likely_usd), dollars(item.most_usd)]
        rows.append(row)
    show_table("", head, rows, left=2)
    if with_tokens and len(found.stages) > 1:
        for item in found.stages:
            cost = _range(item.likely_usd, item.most_usd) if item.calls else "$0"
            say(f"{item.stage}, {item.backend}: {cost}")


def _range(likely: float | None, most: float | None) -> str:
    if likely is None or most is None:
        return "unknown"
    return "$0" if most == 0 else f"{dollars(likely)} likely, at most {dollars(most)}"
