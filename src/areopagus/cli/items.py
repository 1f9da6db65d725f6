"""`areopagus scenarios` and `areopagus concept-pairs`: items for audits, written by models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..prompts.config import ConceptPairsConfig, ScenariosConfig
from .display import Command
from .options import (
    chosen,
    config_options,
    dry_run_options,
    ledger_option,
    model_options,
    models_from,
    report_options,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..prompts.items import ItemJob

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _options(config: type[BaseModel], about: str) -> Callable[[Decorated], Decorated]:
    """Adds who writes (`about` is the help of --model), what is chosen, and what is shown."""

    def added(command: Decorated) -> Decorated:
        shown = ledger_option(dry_run_options(report_options(command)))
        return model_options("models", about, "--model", "-m")(config_options(config)(shown))

    return added


def _carry_out(
    prepare: Callable[..., ItemJob], config: type[BaseModel], given: dict[str, Any]
) -> int:
    """Runs the job, or says what it would call, and returns the exit code."""
    from .jobs import Manner, carry_out

    named = models_from(given["models"], given["models_file"])
    options = chosen(given, config.model_fields)
    manner = Manner(
        given["dry_run"],
        given["quiet"],
        price_file="--models-file",
        full=given["full"],
        json_file=given["json_file"],
    )
    return carry_out(
        lambda line: prepare(
            models=named, ledger=given["ledger"], on_progress=line.update, **options
        ),
        manner,
    )


@click.command(cls=Command, name="scenarios")
@_options(ScenariosConfig, "Who writes; one model.")
def scenarios(**given: Any) -> int:
    """Have a model write scenarios for `audit silverspoon-judgement`.

    In each a poor person, P1, breaks a rule out of need, and somebody else answers it. Rules check
    what is written, and what does not serve is asked for once more; no scenario is written twice.
    The result, scenarios.csv, is for the audit's --scenarios; batches.jsonl says what was left out
    and why. Gold labels are never made: people give them. Read the scenarios before use.
    """
    from ..prompts.scenario_items import ScenarioJob

    return _carry_out(ScenarioJob, ScenariosConfig, given)


@click.command(cls=Command, name="concept-pairs")
@click.argument("sources", metavar="SOURCES")
@_options(ConceptPairsConfig, "Who writes; given twice, the second checks the concept pairs.")
def concept_pairs(sources: str, **given: Any) -> int:
    """Make concept pairs for `audit hidden-bias` from sources.

    SOURCES needs scenario_id and scenario_text: sentences or test items that hold a stereotype.
    For each, a model sums the belief up, names two opposite concepts, has them checked, and hides
    them in two endings of one scene; no pair and no scene is made twice. The result,
    concepts.jsonl, is for --concepts of the audit. Read it before use.
    """
    from ..prompts.concept_items import ConceptJob

    return _carry_out(lambda **options: ConceptJob(sources, **options), ConceptPairsConfig, given)
