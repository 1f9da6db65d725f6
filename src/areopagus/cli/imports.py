"""`areopagus import`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import InputError, InputFault
from ..experiment.config import HumansConfig
from ..progress import READING, ProgressLine
from .display import Command, printable
from .options import chosen, config_options, quiet_option, report_options
from .results import Output


@click.command("import", cls=Command)
@click.argument("judgments")
@click.option("--out", metavar="DIR", help="The run folder. Default: runs/NAME, after the file.")
@click.option(
    "--responses", metavar="FILE", help="The judged responses, if JUDGMENTS has no texts."
)
@config_options(HumansConfig, only=("columns", "column", "criteria", "missing", "scale"))
@quiet_option
@report_options
def import_(
    judgments: str,
    *,
    out: str | None,
    responses: str | None,
    json_file: str | None,
    full: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Make a run folder from stored judgments, for compare, judges, calibrate and others.

    JUDGMENTS is a table with a row for each judge and response. Its columns are response_id,
    prompt_id, respondent_id, judge or model, optionally persona and status, and the scores: a
    column for each criterion, or criterion and value. JUDGMENTS can also be a file saved by
    DeepEval, Inspect, MLflow, openevals or pydantic-evals.
    """
    from .humans import column_map, scale_from

    config = HumansConfig.checked(**chosen(options, HumansConfig.model_fields))
    scale = scale_from(config.scale)
    if not (scale is None or isinstance(scale, tuple)):
        fault = "must be one scale for all criteria, such as 1:5, because a composite is their mean"
        raise InputError([InputFault("--scale", fault)])
    folder = Path(out) if out is not None else Path("runs") / Path(judgments).name.split(".")[0]
    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        from ..imported import import_judgments

        run = import_judgments(
            judgments,
            folder,
            responses=responses,
            columns=column_map(config),
            criteria=config.criteria or None,
            scale=scale,
        )
        document = run.document()
    if Output(json_file, quiet, full).show(document, run.estimates, place=folder):
        click.echo(f"\n{printable(str(folder))}: report.html · estimates.csv")
        click.echo(f"More: areopagus report {printable(str(folder))} --full")
