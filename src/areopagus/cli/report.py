"""`areopagus report`."""

from __future__ import annotations

import click


@click.command()
@click.argument("run")
def report(run: str) -> None:
    """Write the HTML report of the run folder RUN anew."""
    from ..run import Run

    click.echo(f"Wrote {Run(run).report()}")
