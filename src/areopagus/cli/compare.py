"""`areopagus compare` and `areopagus gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .display import Command
from .options import json_option, report_options


@click.command(cls=Command)
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--by",
    metavar="WHAT",
    help="Panel runs: what is compared: respondent, run, model, persona, or a column of the input. "
    "Default: respondents of one run; of several, runs.",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="Panel runs: compare the others with this one, and make no other pair. Default: the best; "
    "of several runs, the first.",
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    metavar="POINTS",
    help="Differences smaller than this do not matter: what is shown to lie within is alike.",
)
@click.option(
    "--out",
    metavar="DIR|FILE",
    help="Keep it: a folder of results, or FILE.html for the page alone.",
)
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
    """Say who scores higher in panel runs, or what has changed from BEFORE to AFTER.

    \b
    areopagus compare RUN [RUN …]       panel runs: sides of one, or several
    areopagus compare BEFORE AFTER      two audits, stress tests or attacks

    Pairs are made by prompt, or by what the audit has as its independent unit. Only what both sides
    have counts; what differs between the runs is said.
    """
    from ..changes import compare as compared
    from ..progress import ProgressLine
    from .display import printable
    from .results import Output

    with ProgressLine():
        found = compared(*runs, by=by, baseline=baseline, margin=margin)
        document = found.document()
        path = None
        if out is not None and not out.endswith(".html"):
            found.write(out)
            path = Path(out)
        elif out is not None:
            path = found.write_report(out)
    is_told = Output(json_file, full=full).show(document, found.estimates, place=path)
    if is_told and path is not None:
        click.echo(f"\nWrote {printable(str(path))}")


@click.command(cls=Command)
@click.argument("run", required=False)
@click.option(
    "--baseline", required=True, metavar="RUN", help="The run folder that it is held against."
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    metavar="POINTS",
    help="What may be lost, in the unit of each figure: of a share 0.2 is 20 percentage points. "
    "Default: 0.2; of audits it must be given.",
)
@click.option(
    "--criterion", metavar="NAME",
    help="Of which scores, or measure of an audit. Default: composite; of an audit all.",
)  # fmt: skip
@click.option(
    "--dry-run",
    is_flag=True,
    help="Say which margins can be decided with the prompts of --baseline; RUN, of another "
    "version, makes that exact.",
)
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing: the exit code decides.")
def gate(
    run: str | None,
    *,
    baseline: str,
    dry_run: bool,
    json_file: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Fail when the run folder RUN is worse than an earlier run of its kind.

    RUN is a panel run, a stress test, an attack or an audit.

    \b
    Exit codes:
    0 not worse: less than the margin is lost;
    5 worse: shown to be worse, and not shown to be so by less than the margin;
    6 undecided: more units are needed, nothing was asked anew, or responses
      are not scored any more.
    """
    from ..progress import ProgressLine
    from ..regression_gate import gate as decide
    from ..regression_gate import plan_gate
    from .display import printable
    from .options import chosen
    from .results import Output

    options = chosen(given, ("margin", "criterion"))
    output = Output(json_file, quiet=quiet)
    if dry_run:
        with ProgressLine(quiet=quiet):
            planned = plan_gate(baseline, run, **options)
        output.show(planned)
        return 0
    if run is None:
        raise click.UsageError("Missing argument 'RUN': the run folder that is tested.")
    with ProgressLine(quiet=quiet):
        decided = decide(run, baseline, **options)
    if output.show(decided.document(), decided.estimates()):
        code, runs = decided.exit_code, printable(f"{baseline} {run}")
        click.echo(f"\nExit code {code}. What changed: areopagus compare {runs}")
    return decided.exit_code
