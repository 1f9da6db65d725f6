"""`areopagus stress`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..stress_test.config import StressConfig
from .display import Command
from .options import (
    chosen,
    config_options,
    dry_run_options,
    model_options,
    models_from,
    panel_from,
    panel_options,
    report_options,
    target_options,
)

if TYPE_CHECKING:
    from ..stress_test import StressRun


@click.command(cls=Command)
@click.argument("prompts", required=False)
@target_options("Model under test, as provider/model; repeatable. Left out: an embedded stand-in.")
@model_options(
    "rewriters",
    "Model that rewrites prompts; several share them by seed. Default: the panel's models.",
    "--rewriter",
    file="The same for the rewriters.",
)
@click.option(
    "--responses", metavar="FILE", help="Responses that are there already, with their conditions."
)
@config_options(StressConfig)
@report_options
@dry_run_options
@panel_options
def stress(
    prompts: str | None,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    rewriters: tuple[str, ...],
    rewriters_file: str | None,
    responses: str | None,
    json_file: str | None,
    full: bool,
    dry_run: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Measure how critical thinking moves when PROMPTS are reframed.

    Each prompt is rewritten as a personal belief, as something a friend said, and as a strong
    conviction for and against; the target answers all of them, the panel scores every answer.
    With --responses, answers that are there already are scored instead.
    """
    from ..errors import InputError
    from ..stress_test.job import StressJob
    from .jobs import Manner, carry_out

    config = StressConfig.checked(**chosen(given, StressConfig.model_fields))
    if config.rewrite_only and json_file is not None:
        raise InputError("--rewrite-only measures nothing that --json could hold: leave one out")
    with panel_from(given) as panel:
        manner = Manner(
            dry_run,
            quiet,
            name_with="--target, --models and --rewriter",
            full=full,
            json_file=json_file,
            show=_show_rewriting if config.rewrite_only else None,
        )
        return carry_out(
            lambda line: StressJob(
                panel.spec,
                prompts,
                config,
                targets=models_from(targets, targets_file),
                rewriters=models_from(rewriters, rewriters_file),
                responses=responses,
                on_progress=line.update,
            ),
            manner,
        )


def _show_rewriting(run: StressRun) -> None:
    from ..formats import units
    from .display import say
    from .jobs import show_end

    found = run.record["stages"]["rewrite"]
    say(
        f"{found['accepted']} accepted of {found['planned']} planned variants, "
        f"{found['failed']} failed, {found['not_asked']} not asked; "
        f"{units(found['repaired'], 'prompt')} asked a second time"
    )
    for title, key, unit in (
        ("written by", "rewriters", "prompt"),
        ("reviewed by a second model", "reviewed", "prompt"),
        ("faults", "reasons", "variant"),
    ):
        for name, number in found[key].items():
            say(f"  {title}: {name} ({units(number, unit)})", indent="    ")
    say(
        "Look them through, edit prompt_text where you like, and go on with\n"
        f"  --variants {run.variants_path}"
    )
    show_end(run)
