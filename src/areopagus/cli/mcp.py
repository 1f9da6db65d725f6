"""`areopagus mcp`: the panel as tools of an assistant."""

from __future__ import annotations

import os
from typing import Any

import click

from .display import Command
from .options import panel_from, panel_options


@click.command(cls=Command)
@click.argument("folder", default=".")
@click.option(
    "--out",
    metavar="DIR",
    help="Run folder of the verdicts, from FOLDER. Default: a new one below runs in it.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Most that all scores may cost as long as the server runs; set one.",
)
@panel_options
def mcp(folder: str, *, out: str | None, max_cost: float | None, **given: Any) -> None:
    """Serve the panel to an assistant by MCP, over stdin and stdout.

    Tools: score, compare, explain, estimate, personas. Files are read below FOLDER alone (here,
    if left out). Needs the extra mcp: pip install 'areopagus[mcp]'.
    """
    from ..integrations.mcp_server import serve
    from .main import terminated

    try:
        with panel_from(given) as panel:
            serve(panel, folder, out=out, max_cost=max_cost)
    except KeyboardInterrupt:
        # All is written. A thread of the protocol waits for stdin, and the process for the thread.
        os._exit(143 if terminated() else 130)
