"""`areopagus export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from ..formats import units
from ..progress import READING, WRITING, ProgressLine, doing
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
    type=click.Choice(["csv", "jsonl", "parquet", "scores", "scrub", "xlsx", "inspect"]),
    help="scrub: the column layout of the paper's released scoring tool. inspect: scores in a log "
    "of Inspect AI.",
)
@click.option("--out", metavar="FILE", help="Default: judgments.KIND or scrub.csv in the folder.")
@click.option(
    "--log",
    metavar="FILE",
    help="inspect: the log that was scored; a copy NAME-scored.eval gets the scores, or --out.",
)
@click.option(
    "--texts", is_flag=True, help="inspect without --log: prompts and responses may be written."
)
@click.option(
    "--verbatim",
    is_flag=True,
    help="csv, scores, scrub: leave text as it is, also where a spreadsheet would see a formula.",
)
@json_option
@quiet_option
def export(
    run: str,
    *,
    kind: str,
    out: str | None,
    log: str | None,
    texts: bool,
    verbatim: bool,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Export the judgments of the run folder RUN.

    jsonl and parquet are lossless. csv puts an apostrophe before text that a spreadsheet would
    take for a formula. scrub holds scored and abstained judgments only, and says what it left out.
    """
    from ..records.export import export_run
    from ..reports.document import Column, Table

    with ProgressLine(quiet=quiet) as line:
        line.do("writing the export")
        if kind == "inspect":
            from ..integrations.inspect_ai import export_inspect

            place, scored = (None if given is None else Path(given) for given in (out, log))
            result = export_inspect(Path(run), place, log=scored, texts=texts)
        elif log is not None or texts:
            raise InputError("--log and --texts belong to --as inspect")
        else:
            result = export_run(run, kind, out, verbatim=verbatim)
    rows = [(name.replace("_", " "), n) for name, n in result.left_out.items()]
    columns = [Column("status"), Column("judgments", "count")]
    left_out = Table("Left out, because they are no scores.", "Left out", columns, rows)
    told = f"{result.written} of {units(result.total, result.unit)} exported as {kind}."
    document = listing("export", [told], [left_out])
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
@click.option("--no-figures", is_flag=True, help="Draw no pictures: much faster.")
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

    RUN is the folder of a panel run, a stress test, an audit, an attack, a construction of prompts
    or a calibration. Several panel runs are compared, each with the first; of two runs of one
    audit, what has changed from the first to the second is shown.
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
    from ..any_report import run_of
    from ..auditing import AuditRun
    from ..records.run_folder import FIGURES_FOLDER
    from ..reports.html import write_html

    path = Path(out or COMPARISON_FILE)
    if len(runs) == 2 and all(isinstance(run_of(one), AuditRun) for one in runs):
        from ..auditing.compare import compare_audits

        document, _ = compare_audits(*runs)
        charts = path.parent / FIGURES_FOLDER
    else:
        from ..run import compare

        document = compare(*runs).document()
        charts = path.with_name(f"{path.stem}_figures")
    doing(WRITING)
    return write_html(path, document, charts=charts if figures else None), document
