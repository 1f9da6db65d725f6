"""`areopagus agreement`, `areopagus calibrate` and `areopagus apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..experiment.config import AgreementConfig, CalibrateConfig
from ..progress import ProgressLine
from ..records.run_folder import csv_table
from .display import NarrowCommand, printable
from .humans import human_options, reading_from
from .options import (
    chosen,
    config_options,
    quiet_option,
    report_options,
    seed_option,
)
from .results import Output

if TYPE_CHECKING:
    from ..calibration import Applied


@click.command(cls=NarrowCommand)
@click.argument("humans")
@report_options
@config_options(AgreementConfig)
@human_options
def agreement(humans: str, *, json_file: str | None, full: bool, **options: Any) -> None:
    """Say how far the people in the file HUMANS agree with each other."""
    config = chosen(options, AgreementConfig.model_fields)
    with ProgressLine():
        from ..calibration import agreement as people_alone

        found = people_alone(reading_from(humans, **options), **config)
    Output(json_file, full=full).show(found.document(), found.estimates)


@click.command(cls=NarrowCommand)
@click.argument("run")
@click.argument("humans")
@click.option("--responses", metavar="FILE", help="The responses judged: adds lengths and domains.")
@click.option("--inferred", metavar="FILE", help="Scores inferred from raters' justifications.")
@click.option("--out", metavar="DIR", help="Folder of the calibration. Default: RUN/calibration.")
@quiet_option
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
    quiet: bool,
    **options: Any,
) -> None:
    """Compare the panel of RUN with the people in the file HUMANS.

    RUN is a run folder, a table of stored judgments (prompt_id, response_id, judge, optional
    persona and model, and scores), or a file of judgments that openevals, LangSmith, DeepEval,
    pydantic-evals, Inspect AI or MLflow saved.

    The table says what the panel is beside one more person. better, worse: the interval of the
    gap leaves out 0. at least half: no difference is shown, and at least half of a person's
    agreement is. unconfirmed: its agreement with people may be chance. disagreeing: that
    is shown to be below chance. constant: it gives everything one score, or one label.
    undecided: too few prompts, or too little agreement among people.
    """
    config = chosen(options, CalibrateConfig.model_fields)
    folder = Path(out) if out is not None else Path(run) / "calibration"
    is_kept = out is not None or Path(run).is_dir()
    with ProgressLine(quiet=quiet):
        from ..calibration import calibrate as against_people
        from ..calibration.reading import criteria_of

        people = reading_from(humans, dimensions=criteria_of(run), **options)
        found = against_people(run, people, responses=responses, inferred=inferred, **config)
        if is_kept:
            found.write(folder)
        document = found.document()
    place = folder if is_kept else None
    is_told = Output(json_file, quiet, full).show(document, found.estimates, place=place)
    if not is_kept:
        click.echo("Nothing is written without --out, since RUN is no run folder.", err=True)
    elif is_told:
        _show_where(printable(str(folder)))


def _show_where(folder: str) -> None:
    click.echo(f"\n{folder}: report.html · estimates.csv")
    click.echo(f"More: areopagus report {folder} --full\n      areopagus apply {folder} RUN")


@click.command(cls=NarrowCommand)
@click.argument("calibration")
@click.argument("run")
@click.option("--responses", metavar="FILE", help="The responses judged, to compare their texts.")
@click.option("--despite-differences", is_flag=True, help="Apply it to another panel all the same.")
@click.option("--out", metavar="FILE.csv", help="Write the calibrated scores.")
@report_options
@quiet_option
@seed_option
def apply(
    calibration: str,
    run: str,
    *,
    responses: str | None,
    despite_differences: bool,
    out: str | None,
    json_file: str | None,
    full: bool,
    quiet: bool,
    seed: int,
) -> None:
    """Apply a saved CALIBRATION (its folder) to a RUN of the same panel.

    Says which respondent is better on people's scale and by how much, beside what the panel's own
    scores say, and which judges moved since.

    RUN is a run folder, or a table of later judgments where stored ones were calibrated.
    """
    with ProgressLine(quiet=quiet) as line:
        from ..calibration import apply as applied_to

        line.do("applying the calibration")
        found = applied_to(
            calibration,
            run,
            responses=responses,
            despite_differences=despite_differences,
            seed=seed,
        )
        if out is not None:
            _write_scores(found, Path(out))
    shown = Output(json_file, quiet, full).show(found.document(), found.estimates, place=out)
    if shown and out is not None:
        click.echo(f"Wrote {out}", err=True)


def _write_scores(found: Applied, path: Path) -> None:
    names = ("response_id", "prompt_id", "score", "calibrated", "low", "high")
    with csv_table(path, names) as lines:
        for row in found.scores[list(names)].itertuples(index=False):
            lines.write(["" if v != v else v for v in row])
