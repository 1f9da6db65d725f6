"""`areopagus agreement`, `areopagus calibrate` and `areopagus apply`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, InputFault
from ..records.run_folder import REPORT_FILE, csv_table
from .display import NarrowCommand
from .humans import human_options, reading_from

if TYPE_CHECKING:
    from ..calibration import Applied, Calibration

_JSON = click.option(
    "--json", "json_file", metavar="FILE", help="Every number, in a stable layout."
)
_SEED = click.option("--seed", type=int, default=0, show_default=True)
_LEVEL = click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True)


@click.command(cls=NarrowCommand, context_settings={"max_content_width": 80})
@click.argument("humans")
@_JSON
@_LEVEL
@_SEED
@human_options
def agreement(
    humans: str, *, json_file: str | None, level: float, seed: int, **options: Any
) -> None:
    """Say how far the people in the file HUMANS agree with each other."""
    from ..calibration import agreement as people_alone

    report = people_alone(reading_from(humans, **options), level=level, seed=seed)
    _print(report.text())
    _write_json(json_file, report.to_json())


@click.command(cls=NarrowCommand, context_settings={"max_content_width": 80})
@click.argument("run")
@click.argument("humans")
@click.option("--responses", metavar="FILE", help="The responses judged: adds lengths and domains.")
@click.option("--inferred", metavar="FILE", help="Scores inferred from raters' justifications.")
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Of the alt-test: .2 against experts, .15 skilled raters, .1 crowd workers.",
)
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for report, figures and calibration.json. Default: RUN/calibration.",
)
@_JSON
@_LEVEL
@_SEED
@human_options
def calibrate(
    run: str,
    humans: str,
    *,
    responses: str | None,
    inferred: str | None,
    epsilon: float,
    out: str | None,
    json_file: str | None,
    level: float,
    seed: int,
    **options: Any,
) -> None:
    """Compare the panel of RUN with the people in the file HUMANS.

    RUN is a run folder, or a table of any tool's stored judgments (prompt_id, response_id,
    judge, optional persona and model, and scores).
    """
    from ..calibration import calibrate as against_people

    folder = _folder(run, out)
    result = against_people(
        run,
        reading_from(humans, **options),
        responses=responses,
        inferred=inferred,
        epsilon=epsilon,
        level=level,
        seed=seed,
    )
    lines = result.text()
    _print(lines)
    _write_json(json_file, result.to_json())
    for told in _write_folder(result, lines, folder):
        click.echo(told, err=True)


@click.command(cls=NarrowCommand, context_settings={"max_content_width": 80})
@click.argument("calibration")
@click.argument("run")
@click.option("--responses", metavar="FILE", help="The responses judged, to compare their texts.")
@click.option("--despite-differences", is_flag=True, help="Apply it to another panel all the same.")
@click.option("--out", metavar="FILE.csv", help="Write the calibrated scores.")
@_SEED
def apply(
    calibration: str,
    run: str,
    *,
    responses: str | None,
    despite_differences: bool,
    out: str | None,
    seed: int,
) -> None:
    """Apply a saved CALIBRATION (calibration.json) to a later RUN of the same panel.

    RUN is a run folder, or a table of later judgments where stored ones were calibrated.
    """
    from ..calibration import apply as applied_to

    found = applied_to(
        calibration, run, responses=responses, despite_differences=despite_differences, seed=seed
    )
    _print(_applied_lines(found))
    if out is not None:
        _write_scores(found, Path(out))
        click.echo(f"Wrote {out}", err=True)


def _applied_lines(found: Applied) -> list[str]:
    from ..formats import units
    from ..number import item

    lines = [f"Calibrated scores of {units(len(found.scores), 'response')}"]
    nothing = "none" if found.withheld else "none were earned"
    lines += item("corrections applied", ", ".join(found.corrections) or nothing)
    for name, why in found.withheld:
        lines += item("earned and not applied", f"{name}: {why}")
    for text in found.differences:
        lines += item("differs", text)
    for one in found.drift:
        change = "undefined" if math.isnan(one.change.value) else f"{one.change.value:+.2f}"
        p = "undefined" if math.isnan(one.p) else f"{one.p:.4f}"
        verdict = ": the judge moved, not the respondents" if one.moved else ""
        responses = units(one.n_responses, "identical response")
        lines += item(one.judge, f"{change} on {responses}, p (Holm) {p}{verdict}")
    return [*lines, *(line for text in found.notices for line in item("", text))]


def _write_scores(found: Applied, path: Path) -> None:

    names = ("response_id", "prompt_id", "score", "calibrated", "low", "high")
    with csv_table(path, names) as lines:
        for item in found.scores:
            values = [getattr(item, name) for name in names]
            lines.write(["" if v != v else v for v in values])


def _folder(run: str, out: str | None) -> Path | None:
    if out is not None:
        return Path(out)
    return Path(run) / "calibration" if Path(run).is_dir() else None


def _write_folder(result: Calibration, lines: list[str], folder: Path | None) -> list[str]:
    if folder is None:
        return ["Nothing is written without --out, since RUN is no run folder."]
    from ..calibration import save, write_figures
    from ..calibration.folder import write_numbers
    from ..calibration.page import write_calibration_page
    from ..errors import StoreError
    from ..records.run_folder import replaced

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replaced(folder / "report.txt") as part:
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except (OSError, StoreError) as error:
        raise InputError([InputFault(str(folder), f"cannot be written: {error}")]) from error
    told = [f"Wrote {folder / 'report.txt'}"]
    for what, write in (
        ("calibration.json", lambda: save(result, folder / "calibration.json")),
        ("numbers.json", lambda: write_numbers(result, folder)),
        ("figures", lambda: write_figures(result, folder)),
        ("report.html", lambda: write_calibration_page(folder / REPORT_FILE, result, folder)),
    ):
        try:
            write()
        except InputError as error:
            told.append(f"No {what}: {error}")
        else:
            told.append(f"Wrote {what} to {folder}")
    return told


def _write_json(file: str | None, content: dict[str, Any]) -> None:
    if file is None:
        return
    from ..records.run_folder import replaced

    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    with replaced(Path(file)) as part:
        part.write_text(text + "\n", encoding="utf-8")
    click.echo(f"Wrote {file}", err=True)


def _print(lines: list[str]) -> None:
    for line in lines:
        click.echo("".join(c if c.isprintable() else "�" for c in line))
