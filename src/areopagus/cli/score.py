"""`areopagus score`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..experiment.config import ScoreConfig
from .display import Command
from .options import (
    chosen,
    config_options,
    dry_run_options,
    models_from,
    panel_from,
    panel_options,
    protocol_options,
    report_options,
    target_options,
)

if TYPE_CHECKING:
    from ..batch import BatchSettings
    from ..engines import Engine
    from ..experiment.dry_run import DryRun
    from ..experiment.score import ScoreJob
    from ..graphs.panel_spec import PanelSpec
    from ..panel import Panel
    from ..progress import ProgressLine
    from ..run import Run

_ASKING = ("track", "effort", "words", "response_repeats")


@click.command(cls=Command)
@click.argument("responses")
@target_options("RESPONSES are prompts, which this model answers first; repeatable.")
@protocol_options
@click.option(
    "--response-repeats", type=click.IntRange(1, 1000), help="Answers of each target to a prompt."
)
@config_options(ScoreConfig)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    help="Take as many judges as this calibration's D-study plans.",
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
@report_options
@dry_run_options
@panel_options
def score(
    responses: str,
    *,
    targets: tuple[str, ...],
    targets_file: str | None,
    plan_file: str | None,
    plan_calls: int | None,
    plan_error: float | None,
    engine: str,
    address: str | None,
    batch: bool,
    batch_only: bool,
    batch_poll: float | None,
    batch_discount: float | None,
    dry_run: bool,
    quiet: bool,
    full: bool,
    json_file: str | None,
    **given: Any,
) -> int:
    """Score RESPONSES with the panel: a table (CSV, JSONL, Parquet, …), or what another tool saved.

    Other tools: logs of Inspect AI, samples of lm-evaluation-harness, scenario states of HELM,
    batches of OpenAI and Anthropic (with --prompts-from), hf://owner/name on Hugging Face.

    Columns: prompt_text, response_text, and optionally respondent_id, prompt_id and response_id,
    or usual names such as question, answer and model. Others are carried through. The same command
    goes on where an earlier one stopped: what is paid is known by the ledger.

    With --target, RESPONSES is a file of prompts (prompt_text, optional prompt_id), such as a
    prompt set: each target answers each prompt, and the panel scores the answers.
    """
    from ..batch import batch_sentence
    from ..scoring import prompt_score_job, score_job
    from .display import in_options, show_notices
    from .jobs import Manner, carry_out

    command = click.get_current_context().command  # the notices come from another thread
    asking = chosen(given, _ASKING)
    named = models_from(targets, targets_file)
    if asking and not named:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(asking))
        raise InputError(f"{flags}: of models that answer prompts; name them with --target")
    batches = _batches(
        batch or batch_only, only=batch_only, poll_s=batch_poll, discount=batch_discount
    )
    options: dict[str, Any] = {
        **chosen(given, ScoreConfig.model_fields),
        "engine": _engine(engine, address),
        "batch": batches or False,
    }
    wish = {"calls": plan_calls, "standard_error": plan_error}
    seed = options.get("order_seed", 0)
    with _planned(plan_file, wish, given["repeats"], panel_from(given), seed) as panel:

        def prepare(line: ProgressLine) -> ScoreJob:
            listening: dict[str, Any] = {
                "on_progress": line.update,
                "on_batch": lambda progress: line.say(batch_sentence(progress)),
                "on_notice": lambda notice: show_notices([in_options(notice, command)]),
            }
            if named:
                job = prompt_score_job(
                    panel.spec, responses, named, **asking, **options, **listening
                )
            else:
                job = score_job(panel.spec, responses, **options, **listening)
            if not quiet:
                _tell(job, in_batches=batches is not None)
            return job

        manner = Manner(
            dry_run,
            quiet,
            full=full,
            json_file=json_file,
            name_with="--models" if not named else "--target and --models",
            after_estimate=partial(_show_batch_costs, panel.spec, batches),
            stopped=_stopped,
        )
        return carry_out(prepare, manner)


def _planned(
    file: str | None, wish: dict[str, Any], repeats: int | None, panel: Panel, seed: int
) -> Panel:
    """The panel that the plan makes; --repeats may only say what the plan says too."""
    if file is None:
        if any(value is not None for value in wish.values()):
            raise InputError("--plan-calls and --plan-error speak of a plan: give --plan too")
        return panel
    planned = panel.planned(file, **wish, seed=seed)
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


def _tell(job: ScoreJob, *, in_batches: bool) -> None:
    """What a person should know of a rule, and of batches of an earlier run."""
    from .display import show_notices

    show_notices(_about_rule(job.panel))
    if not in_batches:
        _warn_of_open_batches(job.path)


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


def _show_batch_costs(panel: PanelSpec, batches: BatchSettings | None, found: DryRun) -> None:
    """What the calls likely cost in a batch, by backend; an unknown price stays unknown."""
    if batches is None:
        return
    from ..batch import batch_costs
    from ..formats import dollars
    from .display import say

    costs = batch_costs(panel, found.least or found, discount=batches.discount)
    for name, cost in costs.items():
        unknown = "price unknown; state it with --batch-discount"
        said = unknown if cost is None else f"{dollars(cost)} likely"
        say(f"In a batch, {name}: {said}")
    if not costs:
        say("No backend of this panel takes batches; all are asked online.")


def _stopped(run: Run) -> str:
    from .results import answer_lines

    counts, answers = run.counts, run.record.get("answers")
    answered = "; ".join(answer_lines(answers["counts"])) + "; " if answers else ""
    return (
        f"\nStopped: {answered}{counts['scored']} scored of {run.n_planned} planned judgments, "
        f"{counts['not_asked']} not asked. "
    )
