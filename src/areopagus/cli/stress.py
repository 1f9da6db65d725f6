"""`areopagus stress`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import (
    PANEL_NAMES,
    columns_from,
    models_from,
    panel_from,
    panel_options,
    protocol_options,
    target_options,
)

if TYPE_CHECKING:
    from ..stressing import StressJob, StressRun


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
@click.option("--seed", type=int, default=0, show_default=True, help="Of every random choice.")
@click.option("--out", metavar="DIR", help="Folder. Default: runs/stress-NAME-xxxxxxxx.")
@click.option("--json", "json_file", metavar="FILE", help="Write every number there too.")
@click.option(
    "--column", "columns", multiple=True, metavar="OURS=THEIRS", help="Another name for a column."
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many prompts.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop asking before this much is spent, over all stages.",
)
@click.option("--dry-run", is_flag=True, help="Print calls and a cost range; send nothing.")
@click.option("--resume", is_flag=True, help="Demand that the folder exists already.")
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no report.")
@panel_options
def stress(
    prompts: str | None,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    rewriters: tuple[str, ...],
    rewriters_file: str | None,
    framings: tuple[str, ...],
    columns: tuple[str, ...],
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

    if options["rewrite_only"] and json_file is not None:
        raise InputError("--rewrite-only measures nothing that --json could hold: leave one out")
    plan = StressPlan(**{name: options.pop(name) for name in _PLAN})
    with panel_from(**{name: options.pop(name) for name in PANEL_NAMES}) as panel:
        from ..stressing.run import STRESS_FILE
        from .jobs import run_staged
        from .progress import StageLine

        with StageLine(quiet=quiet or dry_run) as line:
            job = StressJob(
                panel.spec,
                prompts,
                targets=models_from(targets, targets_file),
                rewriters=models_from(rewriters, rewriters_file),
                framings=framings or None,
                plan=plan,
                columns=columns_from(columns),
                on_progress=line.update,
                **options,
            )
            if not quiet:
                _announce(job)
            if dry_run:
                return _show_estimate(job)
            show = _show_rewriting if job.design.rewrite_only else None
            return run_staged(job, json_file, STRESS_FILE, quiet=quiet, show=show)


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


def _announce(job: StressJob) -> None:
    from .display import show_notices

    show_notices(job.notices)
    if job.is_demonstration:
        stand_ins = {backend.spec.model for backend in job.backends if backend.spec.is_offline}
        click.echo(
            f"DEMONSTRATION: embedded stand-ins take part ({', '.join(sorted(stand_ins))}).\n"
            "They are no language models; name models with --target, --models and --rewriter.",
            err=True,
        )


def _show_rewriting(run: StressRun) -> None:
    from ..stressing.text import rewriting_lines
    from .display import printable

    for line in rewriting_lines(run.record["stages"]["rewrite"]):
        click.echo(printable(line))
    click.echo(
        f"Look them through, edit prompt_text where you like, and go on with\n"
        f"  --variants {printable(str(run.variants_path))}"
    )


def _show_estimate(job: StressJob) -> int:
    from ..number import units
    from ..stressing.job import estimate_stages
    from .display import console, dollars, visible
    from .jobs import show_stages

    found = estimate_stages(job)
    out = console()
    show_stages(found)
    likely = [item.likely_usd for item in found if item.most_calls]
    most = [item.most_usd for item in found if item.most_calls]
    counted = (
        f"{units(sum(item.calls for item in found), 'call')}, "
        f"{sum(item.most_calls for item in found):,} with every repair and second review"
    )
    if any(value is None for value in (*likely, *most)):
        unknown = sorted({i.backend for i in found if i.most_calls and i.most_usd is None})
        out.print(f"{counted}. Price unknown: {visible(', '.join(unknown))}")
    else:
        out.print(
            f"{counted}: {dollars(sum(v or 0 for v in likely))} likely, at most "
            f"{dollars(sum(v or 0 for v in most))}"
        )
    out.print(
        "[dim]What is not written yet is assumed: variants somewhat longer than their prompt, "
        "answers of the length asked for, else 500 words. At most: every reply as long as it may "
        "be, every repair and second review made.[/dim]"
    )
    return 0
