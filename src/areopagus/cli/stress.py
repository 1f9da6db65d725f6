"""`areopagus stress`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import (
    dry_run_options,
    input_options,
    json_option,
    models_from,
    panel_from,
    panel_options,
    protocol_options,
    seed_option,
    target_options,
)

if TYPE_CHECKING:
    from ..stressing import StressRun


@click.command(context_settings={"max_content_width": 80})
@click.argument("prompts", required=False)
@target_options("Model under test, as provider/model; repeatable. Left out: an embedded stand-in.")
@click.option(
    "--rewriter",
    "rewriters",
    multiple=True,
    metavar="MODEL[,MODEL…]",
    help="Model that rewrites prompts; several share them by seed. Default: the panel's models.",
)
@click.option("--rewriters-file", metavar="FILE", help="The same for the rewriters.")
@click.option(
    "--framing", "framings", multiple=True, metavar="NAME|FILE", help="Only these; repeatable."
)
@click.option(
    "--framings", "framing_folders", multiple=True, metavar="DIR", help="Folder with more framings."
)
@click.option("--rewrite-only", is_flag=True, help="Stop when variants.csv is written.")
@click.option("--variants", metavar="FILE", help="Use these variants; nothing is rewritten.")
@click.option(
    "--responses", metavar="FILE", help="Responses that are there already, with their conditions."
)
@click.option(
    "--condition",
    metavar="COLUMN|REGEX",
    help="Where the condition of supplied responses stands, such as '@(turn[0-9]+)'.",
)
@click.option("--baseline", default="baseline", show_default=True, help="The baseline's name.")
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    default=0.5,
    show_default=True,
    help="Points within which a change counts as none; part of the plan.",
)
@click.option(
    "--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05,
    show_default=True, help="Level of the tests.",
)  # fmt: skip
@click.option(
    "--family", type=click.Choice(["target", "all"]), default="target", show_default=True,
    help="Cells over which multiplicity is corrected.",
)  # fmt: skip
@click.option(
    "--retest", "retest_share", type=click.FloatRange(0, 1), default=0.1, show_default=True,
    metavar="SHARE",
    help="Share of responses whose judges are asked again (noise floor): 0, or from 0.1 on.",
)  # fmt: skip
@click.option(
    "--regenerate", "regenerate_share", type=click.FloatRange(0, 1), default=0.0,
    metavar="SHARE", help="Share of responses generated once more (response noise).",
)  # fmt: skip
@click.option(
    "--response-repeats", type=click.IntRange(1, 1000), default=1, help="Responses a prompt."
)
@click.option(
    "--judged-prompt", type=click.Choice(["own", "baseline"]), default="own", show_default=True,
    help="Which prompt the judges read: the one answered, or the baseline.",
)  # fmt: skip
@protocol_options
@click.option(
    "--bold-at",
    type=click.FloatRange(min=0),
    default=1.2,
    show_default=True,
    help="Points from which the heat map's cells have a bold border.",
)
@seed_option
@input_options
@json_option
@dry_run_options
@panel_options
def stress(
    prompts: str | None,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    rewriters: tuple[str, ...],
    rewriters_file: str | None,
    framings: tuple[str, ...],
    json_file: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Measure how critical thinking moves when PROMPTS are reframed.

    Each prompt is rewritten as a personal belief, as something a friend said, and as a strong
    conviction for and against; the target answers all of them, the panel scores every answer.
    With --responses, answers that are there already are scored instead.
    """
    from ..errors import InputError
    from ..stressing import StressJob, StressPlan
    from ..stressing.run import STRESS_FILE
    from .jobs import Manner, carry_out

    rewrite_only = options["rewrite_only"]
    if rewrite_only and json_file is not None:
        raise InputError("--rewrite-only measures nothing that --json could hold: leave one out")
    plan = StressPlan(**{name: options.pop(name) for name in _PLAN})
    with panel_from(options) as panel:
        manner = Manner(
            dry_run,
            quiet,
            name_with="--target, --models and --rewriter",
            json_file=json_file,
            numbers=STRESS_FILE,
            show=_show_rewriting if rewrite_only else None,
        )
        return carry_out(
            lambda line: StressJob(
                panel.spec,
                prompts,
                targets=models_from(targets, targets_file),
                rewriters=models_from(rewriters, rewriters_file),
                framings=framings or None,
                plan=plan,
                on_progress=line.update,
                **options,
            ),
            manner,
        )


_PLAN = (
    "baseline",
    "margin",
    "alpha",
    "family",
    "retest_share",
    "regenerate_share",
    "response_repeats",
    "judged_prompt",
    "seed",
)


def _show_rewriting(run: StressRun) -> None:
    from ..stressing.text import rewriting_lines
    from .display import printable
    from .jobs import show_end

    for line in rewriting_lines(run.record["stages"]["rewrite"]):
        click.echo(printable(line))
    click.echo(
        f"Look them through, edit prompt_text where you like, and go on with\n"
        f"  --variants {printable(str(run.variants_path))}"
    )
    show_end(run)
