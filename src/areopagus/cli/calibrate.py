"""`areopagus agreement`, `areopagus calibrate` and `areopagus apply`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import visible_text
from ..experiment.config import AgreementConfig, CalibrateConfig
from ..records.run_folder import csv_table
from .display import WIDTH, NarrowCommand, printable
from .humans import human_options, reading_from
from .jobs import show_document
from .options import chosen, config_options, report_options, seed_option
from .progress import ProgressLine
from .results import write_json

if TYPE_CHECKING:
    from ..calibration import Applied


@click.command(cls=NarrowCommand)
@click.argument("humans")
@report_options
@config_options(AgreementConfig)
@human_options
def agreement(humans: str, *, json_file: str | None, full: bool, **options: Any) -> None:
    """Say how far the people in the file HUMANS agree with each other."""
    from ..calibration import agreement as people_alone

    config = chosen(options, AgreementConfig.model_fields)
    found = people_alone(reading_from(humans, **options), **config)
    show_document(found.document(), full=full)
    if json_file is not None:
        write_json(json_file, found)
        click.echo(f"Wrote {json_file}", err=True)


@click.command(cls=NarrowCommand)
@click.argument("run")
@click.argument("humans")
@click.option("--responses", metavar="FILE", help="The responses judged: adds lengths and domains.")
@click.option("--inferred", metavar="FILE", help="Scores inferred from raters' justifications.")
@click.option("--out", metavar="DIR", help="Folder of the calibration. Default: RUN/calibration.")
@report_options
@config_options(CalibrateConfig)
@human_options
def calibrate(
    run: str,
    humans: str,
    *,
    responses: str | None,
    inferred: str | None,
    out: str | None,
    json_file: str | None,
    full: bool,
    **options: Any,
) -> None:
    """Compare the panel of RUN with the people in the file HUMANS.

    RUN is a run folder, or a table of any tool's stored judgments (prompt_id, response_id,
    judge, optional persona and model, and scores).
    """
    from ..calibration import calibrate as against_people

    config = chosen(options, CalibrateConfig.model_fields)
    place = out or (Path(run) / "calibration" if Path(run).is_dir() else None)
    written = None
    with ProgressLine() as line:
        line.stage("reading ratings")
        found = against_people(
            run, reading_from(humans, **options), responses=responses, inferred=inferred,
            on_progress=line.stage, **config,
        )  # fmt: skip
        if place is not None:
            line.stage("writing the page and its charts")
            written = found.write(place)
    show_document(found.document(), full=full)
    if json_file is not None:
        write_json(json_file, found)
        click.echo(f"Wrote {json_file}", err=True)
    if written is None:
        click.echo("Nothing is written without --out, since RUN is no run folder.", err=True)
        return
    folder = printable(str(written.path))
    click.echo(f"\n{folder}: report.html · estimates.csv")
    click.echo(f"More: areopagus report {folder} --full\n      areopagus apply {folder} RUN")


@click.command(cls=NarrowCommand)
@click.argument("calibration")
@click.argument("run")
@click.option("--responses", metavar="FILE", help="The responses judged, to compare their texts.")
@click.option("--despite-differences", is_flag=True, help="Apply it to another panel all the same.")
@click.option("--out", metavar="FILE.csv", help="Write the calibrated scores.")
@seed_option
def apply(
    calibration: str,
    run: str,
    *,
    responses: str | None,
    despite_differences: bool,
    out: str | None,
    seed: int,
) -> None:
    """Apply a saved CALIBRATION (its folder) to a later RUN of the same panel.

    RUN is a run folder, or a table of later judgments where stored ones were calibrated.
    """
    from ..calibration import apply as applied_to

    found = applied_to(
        calibration, run, responses=responses, despite_differences=despite_differences, seed=seed
    )
    for line in _applied(found):
        click.echo(
            textwrap.fill(
                visible_text(line), WIDTH, subsequent_indent="    ", break_on_hyphens=False
            )
        )
    if out is not None:
        _write_scores(found, Path(out))
        click.echo(f"Wrote {out}", err=True)


def _applied(found: Applied) -> list[str]:
    from ..formats import number, p_value, units
    from ..records.estimates import estimates_by

    lines = [f"Calibrated scores of {units(len(found.scores), 'response')}"]
    nothing = "none" if found.withheld else "none were earned"
    lines.append(f"  corrections applied: {', '.join(found.corrections) or nothing}")
    lines += [f"  earned and not applied: {name}: {why}" for name, why in found.withheld]
    lines += [f"  differs: {text}" for text in found.differences]
    for keys, figures in estimates_by(found.drift, ["group"]):
        change, n = figures["change"], int(figures["n_responses"].value)
        verdict = ": the judge moved, not the respondents" if change.verdict else ""
        lines.append(
            f"  {keys['group']}: {number(change.value, is_signed=True)} on "
            f"{units(n, 'identical response')}, p (Holm) {p_value(change.p_adjusted)}{verdict}"
        )
    return [*lines, *(f"  {text}" for text in found.notices)]


def _write_scores(found: Applied, path: Path) -> None:
    names = ("response_id", "prompt_id", "score", "calibrated", "low", "high")
    with csv_table(path, names) as lines:
        for row in found.scores[list(names)].itertuples(index=False):
            lines.write(["" if v != v else v for v in row])
