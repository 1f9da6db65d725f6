"""`areopagus judges`."""

from __future__ import annotations

from typing import Any

import click

from ..judge_behaviour.config import JudgesConfig
from .display import Command
from .options import (
    chosen,
    config_options,
    dry_run_options,
    report_options,
)


@click.command(cls=Command)
@click.argument("run")
@config_options(JudgesConfig)
@click.option(
    "--panel",
    "panel_file",
    metavar="FILE",
    help="The panel.yaml of the run, for its keys. Default: as run.json describes it.",
)
@click.option(
    "--personas",
    "persona_folders",
    multiple=True,
    metavar="DIR",
    help="Folder with persona files of the run; repeatable.",
)
@click.option("--rubric", metavar="NAME|FILE", help="The rubric of the run, where it is a file.")
@click.option(
    "--ledger",
    metavar="PATH|URL",
    help="Store of paid calls. Default: the run's, where that is a file here.",
)
@report_options
@dry_run_options
def judges(
    run: str, *, full: bool, json_file: str | None, dry_run: bool, quiet: bool, **given: Any
) -> int:
    """Say how the judges of the run folder RUN behave: each of their biases, with its interval.

    Nothing is asked without --probe: length, formatting, own family, halo, consistency and drift
    are estimated from stored scores. --probe N asks the same judges about N of the responses in
    changed ways: order of the criteria, one call a criterion, position of the persona, length
    and formatting with the same content, repeats.
    """
    from ..judge_behaviour.job import JudgesJob
    from ..run import Run
    from .jobs import Manner, carry_out

    about_panel = chosen(given, ("panel_file", "persona_folders", "rubric", "ledger"))
    config = JudgesConfig.checked(**chosen(given, JudgesConfig.model_fields))
    judged = Run(run)
    panel = None if config.probe is None else _panel(judged, about_panel)
    try:
        spec = None if panel is None else panel.spec
        return carry_out(
            lambda line: JudgesJob(judged, config, panel=spec, on_progress=line.update),
            Manner(dry_run, quiet, name_with="--panel", full=full, json_file=json_file),
        )
    finally:
        if panel is not None:
            panel.close()


def _panel(run: Any, about: dict[str, Any]) -> Any:
    from ..panel import Panel

    file = about.pop("panel_file", None)
    return Panel.of_run(run, **about) if file is None else Panel.from_file(file, **about)
