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
@click.option("--out", metavar="DIR", help="The run folder. Default: runs/ and the file's name.")
@click.option(
    "--responses", metavar="FILE", help="The responses judged, where JUDGMENTS has no texts."
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
    """Make a run folder of stored judgments, on which compare, judges, calibrate and others work.

    JUDGMENTS is a table with a row a judge and response (response_id, prompt_id, respondent_id,
    judge or model, optional persona and status, and scores: a column a criterion, or criterion and
    value), or a file that DeepEval, Inspect, MLflow, openevals or pydantic-evals has saved.
    """
    from .humans import column_map, scale_from

    config = HumansConfig.checked(**chosen(options, HumansConfig.model_fields))
    scale = scale_from(config.scale)
    if not (scale is None or isinstance(scale, tuple)):
        fault = "must be one scale for all criteria, such as 1:5: a composite is their mean"
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
