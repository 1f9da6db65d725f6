"""`areopagus report`."""

from __future__ import annotations

import click

COMPARISON_FILE = "comparison.html"


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--out",
    metavar="FILE",
    help=f"The page to write. Default: report.html in RUN; {COMPARISON_FILE} for several.",
)
@click.option("--no-figures", is_flag=True, help="Draw no pictures: much faster.")
def report(runs: tuple[str, ...], *, out: str | None, no_figures: bool) -> None:
    """Write the HTML report of the folder RUN anew.

    RUN is the folder of a panel run, a stress test, an audit, an attack, a construction of prompts
    or a calibration. Several panel runs are compared, each with the first.
    """
    from ..any_report import write_any_report
    from ..reports import write_comparison
    from .display import printable

    if len(runs) == 1:
        path = write_any_report(runs[0], out=out, figures=not no_figures)
    else:
        path = write_comparison(runs, out or COMPARISON_FILE, figures=not no_figures)
    click.echo(f"Wrote {printable(str(path))}")
