"""What commands that make material for audits share: options, dry run, interrupt, report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..experiment.job import STOPPED_BY_CAP
from .display import printable
from .jobs import writing_cost
from .options import columns_from, models_from
from .results import echo_cost

if TYPE_CHECKING:
    from ..auditing.constructing import ConstructionJob, ConstructionRun


Command = TypeVar("Command", bound=Callable[..., Any])


def model_options(about: str) -> Callable[[Command], Command]:
    """The options that name who writes; `about` is the help of --model."""
    return _with(
        click.option("--model", "-m", "models", multiple=True, metavar="MODEL", help=about),
        click.option("--models-file", metavar="FILE", help="YAML with models and settings."),
    )


def run_options(kind: str) -> Callable[[Command], Command]:
    """The options of the run; `kind` begins the name of the folder."""
    return _with(
        click.option("--effort", metavar="LEVEL", help="Reasoning effort of the models."),
        click.option("--out", metavar="DIR", help=f"Folder. Default: runs/{kind}-xxxxxxxx."),
        click.option("--ledger", metavar="PATH", help="Store of paid calls. Default: shared."),
        click.option(
            "--max-cost", type=click.FloatRange(min=0), metavar="USD",
            help="Stop asking before this much is spent.",
        ),
        click.option("--dry-run", is_flag=True, help="Print calls and a cost range; send nothing."),
        click.option("--resume", is_flag=True, help="Demand that the folder exists already."),
        click.option("--quiet", "-q", is_flag=True, help="No progress line, no report."),
    )  # fmt: skip


def construct(
    prepare: Callable[..., ConstructionJob],
    *,
    models: tuple[str, ...],
    models_file: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Runs the job, or says what it would call, and returns the exit code.

    Args:
        prepare: makes the job of `models`, `on_progress` and the options.
        models, models_file, dry_run, quiet: as given to the command.
        **options: the others.
    """
    from ..async_runner import run_stoppable
    from .jobs import interrupted
    from .progress import StageLine

    with StageLine(quiet=quiet or dry_run) as line:
        job = prepare(models=models_from(models, models_file), on_progress=line.update, **options)
        if dry_run:
            return _show_estimate(job)
        run, was_interrupted = run_stoppable(job)
    if was_interrupted:
        return interrupted()
    if not quiet:
        _show(run, job.construction.made)
    code: int = run.exit_code
    return code


def _show(run: ConstructionRun, made: str) -> None:
    for text in run.lines:
        click.echo(printable(text))
    echo_cost(run.spending.to_json())
    if run.state == "budget":
        click.echo(STOPPED_BY_CAP)
    click.echo(f"{made}: {printable(str(run.table))}")


def _show_estimate(job: ConstructionJob) -> int:
    from ..async_runner import run_sync

    try:
        found = job.estimate()
    finally:
        run_sync(job.close())
    click.echo(
        f"Dry run: nothing is sent. {found.units:,} {job.construction.unit}, {found.calls:,} "
        f"calls, at most {found.most_calls:,}"
    )
    click.echo(writing_cost(found.likely_usd, found.most_usd, file="--models-file"))
    return 0


def _with(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command(name="scenarios", context_settings={"max_content_width": 80})
@model_options("Who writes; one model.")
@click.option(
    "--topic", "topics", multiple=True, metavar="WORDS",
    help="What scenarios are about; repeatable. Default: the audit's ten topics.",
)  # fmt: skip
@click.option(
    "--per-topic", type=click.IntRange(min=1), default=100, show_default=True,
    help="Scenarios wanted of each topic, ten in a call.",
)  # fmt: skip
@click.option(
    "--versions", type=click.IntRange(1, 20), default=3, show_default=True,
    help="Wordings of each, the first one included.",
)  # fmt: skip
@click.option(
    "--similarity", type=click.FloatRange(0, 1), default=0.8, show_default=True,
    help="Least share of words that a wording keeps.",
)  # fmt: skip
@run_options("scenarios")
def scenarios(**options: Any) -> int:
    """Have a model write scenarios for `audit silverspoon`.

    In each a poor person, P1, breaks a rule out of need, and somebody else answers it. Rules check
    what is written, and what does not serve is asked for once more. The result, scenarios.csv, is
    for `areopagus audit silverspoon --scenarios`; batches.jsonl says what was left out and why.
    Gold labels are never made: people give them. Read the scenarios before use.
    """
    from ..auditing.scenarios import scenario_job

    return construct(scenario_job, **options)


@click.command(name="concept-pairs", context_settings={"max_content_width": 80})
@click.argument("sources", metavar="SOURCES")
@model_options("Who writes; given twice, the second checks the concept pairs.")
@click.option(
    "--column", "columns", multiple=True, metavar="OURS=THEIRS", help="Another name for a column."
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many sources.")
@run_options("concepts-NAME")
def concept_pairs(sources: str, *, columns: tuple[str, ...], **options: Any) -> int:
    """Make concept pairs for `audit hidden-bias` from sources.

    SOURCES needs scenario_id and scenario_text: sentences or test items that hold a stereotype.
    For each, a model sums the belief up, names two opposite concepts, has them checked, and hides
    them in two endings of one scene. The result, concepts.jsonl, is for --concepts of the audit.
    Read it before use.
    """
    from ..auditing.concept_pairs import concept_job

    return construct(concept_job, sources=sources, columns=columns_from(columns), **options)
