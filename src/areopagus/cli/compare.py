"""`areopagus compare` and `areopagus gate`."""

from __future__ import annotations

from typing import Any

import click

from .display import Command
from .options import json_option, report_options


@click.command(cls=Command)
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--by",
    metavar="WHAT",
    help="What is compared: respondent, run, model, persona, or a column of the input. Default: "
    "respondents of one run; of several, runs.",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="Hold the others against this one, and test no other pair. Default: the best; of several "
    "runs, the first.",
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    metavar="POINTS",
    help="A difference inside it does not matter: tests that, too.",
)
@click.option("--out", metavar="FILE", help="Write the page there as well.")
@report_options
def compare(
    runs: tuple[str, ...],
    *,
    by: str | None,
    baseline: str | None,
    margin: float | None,
    out: str | None,
    full: bool,
    json_file: str | None,
) -> None:
    """Say who scores higher and by how much, in the run folder RUN or between several.

    Pairs are made by prompt, and a judge counts on a prompt where it scored both sides. Runs of
    the same panel are compared; another panel is another instrument, which is said.
    """
    from ..progress import ProgressLine
    from ..run import compare as compared
    from .display import printable
    from .results import Output

    with ProgressLine():
        found = compared(*runs, by=by, baseline=baseline, margin=margin)
        document = found.document()
        path = None if out is None else found.write_report(out)
    is_told = Output(json_file, full=full).show(document, found.estimates, place=path)
    if is_told and path is not None:
        click.echo(f"\nWrote {printable(str(path))}")


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--baseline", required=True, metavar="RUN", help="The run folder that it is held against."
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    metavar="POINTS",
    help="What may be lost. Default: 0.2.",
)
@click.option("--criterion", metavar="NAME", help="Of which scores. Default: composite.")
@json_option
def gate(run: str, *, baseline: str, json_file: str | None, **given: Any) -> int:
    """Fail when the run folder RUN is worse than an earlier run of the same panel.

    \b
    Exit codes: 0 not worse: less than the margin is lost;
    5 worse: it is lower, and perhaps by the margin or more;
    6 undecided: more prompts are needed.
    """
    from ..progress import ProgressLine
    from ..regression_gate import gate as decide
    from .options import chosen
    from .results import Output, listing

    with ProgressLine():
        found = decide(run, baseline, **chosen(given, ("margin", "criterion")))
    Output(json_file).show(listing("gate", [found.sentence()]), found.estimates())
    return found.exit_code
