"""Serving a view until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from ..web_server import LOOPBACK, serve
from .app import ViewApp, log

DEFAULT_PORT = 8766


def serve_view(
    folder: str | Path,
    *,
    port: int = DEFAULT_PORT,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serves all runs under a folder to this machine, until SIGINT or SIGTERM.

    Args:
        folder: under which runs lie; it is read, and nothing outside it.
        port: 0 for any that is free.
        started: told the address, which holds a secret, once it is served.

    Raises:
        InputError: there is no such folder, or the address cannot be had.
    """
    app = ViewApp(folder)
    try:
        asyncio.run(run_view(app, port=port, started=started))
    finally:
        app.close()


async def run_view(
    app: ViewApp,
    *,
    port: int,
    started: Callable[[str], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serves a view on this loop until `stop` is set, or a signal comes.

    Raises:
        InputError: the address cannot be had.
    """
    await serve(
        app.application(), host=LOOPBACK, port=port, log=log, stop=stop,
        started=lambda address: started(f"{address.url}/{app.secret}/") if started else None,
    )  # fmt: skip
