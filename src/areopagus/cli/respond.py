"""`areopagus respond`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..experiment.config import RespondConfig
from .display import Command
from .options import (
    chosen,
    config_options,
    dry_run_options,
    json_option,
    ledger_option,
    models_from,
    target_options,
)

if TYPE_CHECKING:
    from ..experiment.respond import RespondResult


@click.command(cls=Command)
@click.argument("prompts")
@target_options("Model to ask, as provider/model; repeatable.")
@config_options(RespondConfig, leave=("resume",), required=("out",))
@json_option
@dry_run_options
@ledger_option
def respond(
    prompts: str,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    ledger: str | None,
    dry_run: bool,
    quiet: bool,
    json_file: str | None,
    **given: Any,
) -> int:
    """Ask target models the PROMPTS as a bare user turn.

    PROMPTS has the column prompt_text and optionally prompt_id; others are carried through.
    """
    from ..experiment.respond import RespondJob
    from .jobs import Manner, carry_out

    named = models_from(targets, targets_file)
    if not named:
        raise InputError("name at least one model to ask, with --target or --targets-file")
    config = RespondConfig.checked(**chosen(given, RespondConfig.model_fields))
    manner = Manner(
        dry_run,
        quiet,
        name_with="--target",
        price_file="--targets-file",
        json_file=json_file,
        show=_show,
    )
    return carry_out(
        lambda line: RespondJob(prompts, named, config, ledger=ledger, on_progress=line.update),
        manner,
    )


def _show(result: RespondResult) -> None:
    from .display import same_command, say
    from .results import answer_lines, cost_lines, stopped_by_cap

    for line in answer_lines(asdict(result.counts)):
        say(line)
    if result.counts.failed:
        say(f"Failed calls are made again by the same command: {same_command()}")
    if result.over_budget:
        say(stopped_by_cap(result.spending.to_json()))
    for line in cost_lines(result.spending.to_json()):
        say(line)
    say(f"Score them: areopagus score {result.path}")
