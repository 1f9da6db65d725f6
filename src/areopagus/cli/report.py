"""`areopagus export`."""

from __future__ import annotations

from pathlib import Path

import click

from .display import Command


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--as",
    "kind",
    required=True,
    type=click.Choice(["csv", "jsonl", "parquet", "scores", "scrub", "xlsx"]),
    help="scrub: the column layout of the paper's released scoring tool.",
)
@click.option("--out", metavar="FILE", help="Default: judgments.KIND or scrub.csv in the folder.")
@click.option(
    "--verbatim",
    is_flag=True,
    help="csv, scores, scrub: leave text as it is, also where a spreadsheet would see a formula.",
)
def export(run: str, *, kind: str, out: str | None, verbatim: bool) -> None:
    """Export the judgments of the run folder RUN.

    jsonl and parquet are lossless. csv puts an apostrophe before text that a spreadsheet would
    take for a formula. scrub holds scored and abstained judgments only, and says what it left out.
    """
    from ..records.export import export_run
    from .display import printable

    result = export_run(run, kind, out, verbatim=verbatim)
    click.echo(f"Wrote {printable(str(result.path))}: {result.written} of {result.total} judgments")
    if result.left_out:
        parts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in result.left_out.items())
        click.echo(f"Left out, because they are no scores: {parts}")


COMPARISON_FILE = "comparison.html"


@click.command(cls=Command)
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--out",
    metavar="FILE",
    help=f"The page to write. Default: report.html in RUN; {COMPARISON_FILE} for several.",
)
@click.option("--no-figures", is_flag=True, help="Draw no pictures: much faster.")
@click.option("--full", is_flag=True, help="Print the whole report, not its summary.")
def report(runs: tuple[str, ...], *, out: str | None, no_figures: bool, full: bool) -> None:
    """Write the HTML report of the folder RUN anew, and print its summary.

    RUN is the folder of a panel run, a stress test, an audit, an attack, a construction of prompts
    or a calibration. Several panel runs are compared, each with the first; of two runs of one
    audit, what has changed from the first to the second is shown.
    """
    from ..any_report import run_of, write_any_report
    from ..auditing import AuditRun
    from ..records.run_folder import FIGURES_FOLDER
    from .display import printable
    from .jobs import show_document

    if len(runs) == 1:
        path = write_any_report(runs[0], out=out, figures=not no_figures)
        document = run_of(runs[0]).document()
    else:
        from ..reports.html import write_html

        path = Path(out or COMPARISON_FILE)
        if len(runs) == 2 and all(isinstance(run_of(one), AuditRun) for one in runs):
            from ..auditing.compare import compare_audits

            document, _ = compare_audits(*runs)
            charts = path.parent / FIGURES_FOLDER
        else:
            from ..reports.comparison import comparison_document

            document = comparison_document(runs)
            charts = path.with_name(f"{path.stem}_figures")
        path = write_html(path, document, charts=None if no_figures else charts)
    show_document(document, full=full)
    click.echo()
    click.echo(f"Wrote {printable(str(path))}")
