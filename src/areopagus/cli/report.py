"""`areopagus export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..formats import words
from ..progress import READING, WRITING, ProgressLine, doing
from ..records.export import KINDS
from .display import Command, printable
from .options import json_option, quiet_option, report_options
from .results import Output, listing

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.document import Document


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--as",
    "kind",
    required=True,
    type=click.Choice(list(KINDS)),
    help="sav: SPSS; dta: Stata; codebook: what each variable means; scrub: the column layout of "
    "the paper's released scoring tool.",
)
@click.option("--out", metavar="FILE", help="Default: a file of the form's name in the folder.")
@click.option(
    "--log",
    metavar="FILE",
    help="inspect: the log of Inspect AI that was scored, of which a copy gets the scores.",
)
@click.option(
    "--verbatim",
    is_flag=True,
    help="csv, scores, scrub: leave text as it is, also where a spreadsheet would see a formula.",
)
@click.option(
    "--table",
    type=click.Choice(["scores", "judgments"]),
    help="sav, dta: one row a response, or one a planned judgment. Default: scores.",
)
@click.option(
    "--texts",
    is_flag=True,
    help="Forms that leave texts out: put prompts, responses and judges' words in.",
)
@click.option(
    "--personas",
    metavar="DIR",
    multiple=True,
    help="sav, dta, codebook, hf: where the run's own personas and rubric are. Repeatable.",
)
@json_option
@quiet_option
def export(
    run: str,
    *,
    kind: str,
    out: str | None,
    json_file: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Export the run folder RUN in another form.

    jsonl and parquet are lossless. csv puts an apostrophe before text that a spreadsheet would
    take for a formula. scrub holds scored and abstained judgments only, and says what it left out.
    """
    from ..records.export import export_run
    from ..reports.document import Column, Table

    with ProgressLine(quiet=quiet) as line:
        line.do("writing the export")
        result = export_run(run, kind, out, **options)
    rows = [(words(name), n) for name, n in result.left_out.items()]
    columns = [Column("status"), Column(f"{result.unit}s", "count")]
    left_out = Table("Left out, because they are no scores.", "Left out", columns, rows)
    told = f"{result.written} of {result.total} {result.unit}s exported as {kind}."
    document = listing("export", [told], [left_out], notices=result.notes)
    if Output(json_file, quiet).show(document, place=result.path):
        click.echo(f"Wrote {printable(str(result.path))}")


COMPARISON_FILE = "comparison.html"


@click.command(cls=Command)
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--out",
    metavar="FILE",
    help=f"The page to write. Default: report.html in RUN; {COMPARISON_FILE} for several.",
)
@click.option("--no-figures", is_flag=True, help="Draw no pictures.")
@report_options
@quiet_option
def report(
    runs: tuple[str, ...],
    *,
    out: str | None,
    no_figures: bool,
    json_file: str | None,
    full: bool,
    quiet: bool,
) -> None:
    """Write the HTML report of the folder RUN anew, and print its summary.

    RUN is the folder of a panel run, a stress test, an audit, an attack, a construction of prompts,
    a calibration or a comparison. Of several, the page of `areopagus compare` is written.
    """
    estimates = None
    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        if len(runs) == 1:
            path, document, estimates = _one(runs[0], out, figures=not no_figures)
        else:
            path, document = _several(runs, out, figures=not no_figures)
    if Output(json_file, quiet, full).show(document, estimates, place=path):
        click.echo(f"\nWrote {printable(str(path))}")


def _one(folder: str, out: str | None, *, figures: bool) -> tuple[Path, Document, pd.DataFrame]:
    from ..any_report import run_of, write_any_report

    path = write_any_report(folder, out=out, figures=figures)
    run = run_of(folder)
    return path, run.document(), run.estimates


def _several(runs: tuple[str, ...], out: str | None, *, figures: bool) -> tuple[Path, Document]:
    from ..changes import compare

    found = compare(*runs)
    doing(WRITING)
    return found.write_report(out or COMPARISON_FILE, figures=figures), found.document()
