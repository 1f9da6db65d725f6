"""`areopagus score`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .options import (
    columns_from,
    models_from,
    panel_from,
    panel_options,
    protocol_options,
    target_options,
)

if TYPE_CHECKING:
    from ..batch import BatchSettings
    from ..engines import Engine
    from ..experiment.dry_run import Estimate
    from ..experiment.respond import RespondEstimate
    from ..experiment.score import ScoreJob
    from ..experiment.score_prompts import PromptScoreJob
    from ..graphs.panel_spec import PanelSpec
    from ..panel import Panel
    from ..run import Run
    from .progress import ProgressLine


@click.command(context_settings={"max_content_width": 80})
@click.argument("responses")
@target_options("RESPONSES are prompts, which this model answers first; repeatable.")
@protocol_options
@click.option(
    "--response-repeats", type=click.IntRange(1, 1000), help="Answers of each target to a prompt."
)
@click.option("--out", metavar="DIR", help="Run folder. Default: runs/NAME-xxxxxxxx.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Another name for a column, such as prompt_text=question; repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many responses.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop asking before this much is spent.",
)
@click.option(
    "--precision",
    type=click.FloatRange(min=0, min_open=True),
    metavar="POINTS",
    help="Ask judges in random order until the panel's mean is known to within so much.",
)
@click.option(
    "--judges-per-response",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask at most so many judges a response, drawn at random.",
)
@click.option(
    "--order-seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of those orders, and of the personas that a plan seats.",
)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    help="Seat as many judges as this calibration's D-study plans.",
)
@click.option(
    "--plan-calls",
    type=click.IntRange(min=1),
    metavar="N",
    help="Plan for so many calls a response. Default: the calibrated panel's.",
)
@click.option(
    "--plan-error",
    type=click.FloatRange(min=0, min_open=True),
    metavar="POINTS",
    help="Plan for this standard error of the order of responses instead.",
)
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and a cost range; send nothing.")
@click.option("--resume", is_flag=True, help="Demand that the run folder exists already.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Work in this process, or on the nodes of a Ray cluster.",
)
@click.option("--address", metavar="HOST:PORT", help="Head of the cluster; without: this machine.")
@click.option(
    "--batch", is_flag=True, help="Ask in the providers' batches first, at their lower price."
)
@click.option(
    "--batch-only", is_flag=True, help="The same, and what a batch does not answer has failed."
)
@click.option(
    "--batch-poll",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time between two looks at a batch. Default: 15, growing to 300.",
)
@click.option(
    "--batch-discount",
    type=click.FloatRange(min=0, max=1, max_open=True),
    metavar="SHARE",
    help="How much cheaper batches are than usual, such as 0.5. Default: as listed.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no table.")
@panel_options
def score(
    responses: str,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    track: str | None,
    effort: str | None,
    words: int | None,
    response_repeats: int | None,
    out: str | None,
    columns: tuple[str, ...],
    limit: int | None,
    max_cost: float | None,
    precision: float | None,
    judges_per_response: int | None,
    order_seed: int,
    plan_file: str | None,
    plan_calls: int | None,
    plan_error: float | None,
    dry_run: bool,
    resume: bool,
    engine: str,
    address: str | None,
    batch: bool,
    batch_only: bool,
    batch_poll: float | None,
    batch_discount: float | None,
    quiet: bool,
    **panel: Any,
) -> int:
    """Score a file of RESPONSES (CSV, JSONL or Parquet) with the panel.

    Columns: response_id, prompt_text, response_text, and optionally prompt_id and respondent_id;
    others are carried through. The same command goes on where an earlier one stopped: what is
    paid is known by the ledger.

    With --target, RESPONSES is a file of prompts (prompt_text, optional prompt_id), such as a
    prompt set: each target answers each prompt, and the panel scores the answers.
    """
    named = columns_from(columns)
    asked = {
        "track": track, "effort": effort, "words": words, "response_repeats": response_repeats
    }  # fmt: skip
    answering = _answering(models_from(targets, targets_file), asked)
    chosen = _engine(engine, address)
    batches = _batches(
        batch or batch_only, only=batch_only, poll_s=batch_poll, discount=batch_discount
    )
    rule: dict[str, Any] = {
        "precision": precision,
        "judges_per_response": judges_per_response,
        "order_seed": order_seed,
    }
    if plan_file is None and (plan_calls is not None or plan_error is not None):
        raise InputError("--plan-calls and --plan-error speak of a plan: give --plan too")
    whole = panel_from(**panel)
    if plan_file is not None:
        whole = _planned(
            whole,
            plan_file,
            repeats=panel["repeats"],
            calls=plan_calls,
            standard_error=plan_error,
            seed=order_seed,
        )
    with whole as seated:
        if not quiet:
            announce(seated)
        options: dict[str, Any] = {"columns": named, "limit": limit, **rule}
        if dry_run:
            answers = None
            if answering is None:
                found = seated.estimate(responses, **options)
            else:
                answers, found = _rehearsed(seated, responses, answering | options, quiet=quiet)
            _show_estimate(seated, found, max_cost, batches, answers, quiet=quiet)
            return 0
        options |= {
            "resume": resume, "max_cost": max_cost, "engine": chosen, "batch": batches or False
        }  # fmt: skip

        def job_of(line: ProgressLine, **listeners: Any) -> ScoreJob | PromptScoreJob:
            if answering is None:
                return seated.job(responses, out, **options, **listeners)
            from ..experiment.score_prompts import PromptScoreJob

            more = {**answering, **options, **listeners}
            return PromptScoreJob(
                seated.spec, responses, out=out, on_answers=line.update_answers, **more
            )

        return _score(job_of, quiet=quiet, in_batches=batches is not None)


def _answering(targets: list[Any], asked: dict[str, Any]) -> dict[str, Any] | None:
    """How prompts are answered before they are scored; None where responses are given."""
    given = {name: value for name, value in asked.items() if value is not None}
    if targets:
        return {"targets": targets, **given}
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InputError(f"{options}: of models that answer prompts; name them with --target")
    return None


def _planned(panel: Panel, file: str, *, repeats: int | None, **wish: Any) -> Panel:
    """The panel that the plan seats; --repeats may only say what the plan says too."""
    planned = panel.planned(file, **wish)
    if repeats not in (None, planned.spec.repeats):
        raise InputError(
            f"--plan sets the repeats to {planned.spec.repeats}, --repeats to {repeats}: "
            "leave one of them out"
        )
    return planned


def _engine(name: str, address: str | None) -> Engine | None:
    if name == "ray":
        from ..engines import RayEngine

        return RayEngine(address)
    if address is not None:
        raise InputError("--address names a Ray cluster: give --engine ray with it")
    return None


def _batches(
    wanted: bool, *, only: bool, poll_s: float | None, discount: float | None
) -> BatchSettings | None:
    if wanted:
        from ..batch import BatchSettings

        return BatchSettings(poll_s, only, discount)
    if poll_s is not None or discount is not None:
        raise InputError("--batch-poll and --batch-discount speak of batches: give --batch too")
    return None


def _show_estimate(
    panel: Panel,
    found: Estimate,
    max_cost: float | None,
    batches: BatchSettings | None,
    answers: RespondEstimate | None,
    *,
    quiet: bool,
) -> None:
    from .display import show_notices
    from .jobs import show_batch_costs, show_estimate

    if not quiet:
        show_notices(found.notices)
    show_estimate(found, max_cost, answers)
    if batches is not None:
        from ..batch import batch_costs

        show_batch_costs(batch_costs(panel.spec, found.least or found, discount=batches.discount))


def _rehearsed(
    panel: Panel, prompts: str, options: dict[str, Any], *, quiet: bool
) -> tuple[RespondEstimate, Estimate]:
    from ..experiment.score_prompts import PromptScoreJob
    from .display import show_notices

    job = PromptScoreJob(panel.spec, prompts, **options)
    if not quiet:
        show_notices(job.notices)
    return job.estimate()


def _score(make: Callable[..., ScoreJob | PromptScoreJob], *, quiet: bool, in_batches: bool) -> int:
    """Runs the job that is made of what listens to it, and returns the exit code."""
    from ..async_runner import run_stoppable
    from ..batch import batch_sentence
    from .display import show_notices
    from .main import terminated
    from .progress import ProgressLine
    from .results import show_run

    with ProgressLine(unit="responses", quiet=quiet) as line:
        job = make(
            line,
            on_progress=line.update,
            on_batch=lambda progress: line.say(batch_sentence(progress)),
            on_notice=lambda notice: show_notices([notice]),
        )
        if not quiet:
            show_notices(job.notices)
            show_notices(_about_rule(job.panel))
        if not in_batches:
            _warn_of_open_batches(job.path)
        run, was_interrupted = run_stoppable(job)
    if was_interrupted:
        _show_interruption(run)
        return 143 if terminated() else 130
    if not quiet:
        show_run(run)
    return run.exit_code


def _about_rule(panel: PanelSpec) -> list[str]:
    """What a person should know before a rule spares judges, or spares none."""
    from ..graphs.stopping import FIRST_BLOCK

    rule, planned = panel.rule, len(panel.planned())
    if rule is None:
        return []
    is_limited = rule.most is not None and rule.most < planned
    if rule.half_width is not None and planned <= FIRST_BLOCK and not is_limited:
        return [f"the panel has {planned} judgments a response: --precision asks for all of them"]
    if rule.half_width is None and not is_limited:
        return [f"the panel has {planned} judgments a response: {rule.most} spare none"]
    return ["fewer judges than planned may be asked; what that saves and costs is said at the end"]


def _warn_of_open_batches(folder: Path) -> None:
    """Says that batches of an earlier run in the folder are still with their providers."""
    from ..batch import open_batches
    from .display import show_notices

    waiting = open_batches(folder)
    if waiting:
        number = sum(record.requests for record in waiting)
        warning = (
            f"{len(waiting)} batches with {number} requests of an earlier run in this folder are "
            "with their providers. Without --batch they are not waited for, and what they would "
            "answer is paid again."
        )
        show_notices([warning])


def announce(panel: Panel) -> None:
    """What a person should know of the panel: the embedded baseline, files that hide built-ins."""
    from .display import show_notices

    show_notices(panel.notices)
    if panel.is_demonstration:
        click.echo(
            "DEMONSTRATION: the embedded judge offline/lexical scores. It counts features of the\n"
            "text and is no language model; name models with --models.",
            err=True,
        )


def _show_interruption(run: Run) -> None:
    from .display import same_command
    from .results import answer_lines

    counts, answers = run.counts, run.record.get("answers")
    answered = "; ".join(answer_lines(answers["counts"])) + "; " if answers else ""
    click.echo(
        f"\nStopped: {answered}{counts['scored']} scored of {run.n_planned} planned judgments, "
        f"{counts['not_asked']} not asked. What was paid is kept in the ledger.\n"
        f"To go on, give the same command again: {same_command()}",
        err=True,
    )
