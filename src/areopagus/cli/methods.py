"""`areopagus methods`."""

from __future__ import annotations

from pathlib import Path

import click

from ..progress import READING, ProgressLine
from .display import Command, printable
from .options import json_option, quiet_option
from .results import Output

FORMS = ("text", "md", "tex")


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--as", "form", type=click.Choice(FORMS), default="text",
    help="Text, Markdown, or LaTeX with booktabs. Default: text.",
)  # fmt: skip
@click.option("--out", metavar="FILE", help="Write it there instead of printing it.")
@json_option
@quiet_option
def methods(run: str, *, form: str, out: str | None, json_file: str | None, quiet: bool) -> None:
    """Write the methods paragraphs and tables of a paper on the folder RUN.

    RUN is the folder of a panel run, a stress test, a calibration, an audit or a comparison. All is
    made of its run.json and estimates: who judged what and how, what became of it, how it was
    aggregated and tested, what it cost, and what is not claimed.
    """
    from ..any_report import run_of
    from ..publishing.markup import to_latex, to_markdown
    from ..publishing.methods import methods as methods_of
    from ..records.run_folder import replaced
    from ..reports.text import render_text

    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        document = methods_of(run)
    if form == "text":
        written = "\n".join(render_text(document, full=True)) + "\n"
    else:
        written = (to_latex if form == "tex" else to_markdown)(document)
    if out is not None:
        with replaced(Path(out)) as part:
            part.write_text(written, encoding="utf-8")
    if json_file is not None:
        Output(json_file, quiet=True).show(document, run_of(run).estimates, place=out)
    elif out is not None:
        click.echo(printable(out) if quiet else f"Wrote {printable(out)}")
    elif not quiet:
        for one in written.splitlines():
            click.echo(printable(one))
