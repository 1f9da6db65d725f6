"""`areopagus scenarios` and `areopagus concept-pairs`: material for audits, written by models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..experiment.config import InputConfig
from .options import (
    config_options,
    dry_run_options,
    effort_option,
    folder_options,
    ledger_option,
    models_from,
)

if TYPE_CHECKING:
    from ..auditing.constructing import ConstructionJob, ConstructionRun


Command = TypeVar("Command", bound=Callable[..., Any])


def model_options(about: str) -> Callable[[Command], Command]:
    """Adds the options that name who writes; `about` is the help of --model."""

    def added(command: Command) -> Command:
        file = click.option("--models-file", metavar="FILE", help="YAML with models and settings.")
        named = click.option("--model", "-m", "models", multiple=True, metavar="MODEL", help=about)
        return named(file(command))

    return added


def _run_options(command: Command) -> Command:
    return effort_option(folder_options(ledger_option(dry_run_options(command))))


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
    from .jobs import Manner, carry_out

    named = models_from(models, models_file)
    manner = Manner(dry_run, quiet, price_file="--models-file", show=_show)
    return carry_out(lambda line: prepare(models=named, on_progress=line.update, **options), manner)


def _show(run: ConstructionRun) -> None:
    from ..experiment.cost_cap import STOPPED_BY_CAP
    from .display import printable
    from .results import echo_cost

    for text in run.lines:
        click.echo(printable(text))
    echo_cost(run.spending.to_json())
    if run.state == "budget":
        click.echo(STOPPED_BY_CAP)
    click.echo(f"{run.made}: {printable(str(run.table))}")


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
@_run_options
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
@config_options(InputConfig, only=("columns", "limit"))
@_run_options
def concept_pairs(sources: str, **options: Any) -> int:
    """Make concept pairs for `audit hidden-bias` from sources.

    SOURCES needs scenario_id and scenario_text: sentences or test items that hold a stereotype.
    For each, a model sums the belief up, names two opposite concepts, has them checked, and hides
    them in two endings of one scene. The result, concepts.jsonl, is for --concepts of the audit.
    Read it before use.
    """
    from ..auditing.concept_pairs import concept_job

    return construct(concept_job, sources=sources, **options)
