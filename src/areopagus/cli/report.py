"""`areopagus report`."""

from __future__ import annotations

import click


@click.command()
@click.argument("run")
def report(run: str) -> None:
    """Write the HTML report of the run folder RUN anew."""
    from ..run import Run
    from .display import printable

    click.echo(f"Wrote {printable(str(Run(run).report()))}")
