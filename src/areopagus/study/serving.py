"""Serving a study until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from ..web_server import LOOPBACK, Address, serve
from .app import StudyApp, log, open_app

DEFAULT_HOST, DEFAULT_PORT = LOOPBACK, 8765


def serve_study(
    folder: str | Path,
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    store: str | Path | None = None,
    started: Callable[[Address], None] | None = None,
) -> None:
    """Serves a study until SIGINT or SIGTERM; what was saved is on disk at any time.

    Args:
        folder: the study; only its packets folder is read, so that the organiser's need not be
            on this machine.
        host: by default this machine only. Links are secrets: from other machines let them come
            through a proxy that speaks https.
        port: 0 for any that is free.
        store: the file of saves; by default `ratings.sqlite` in the folder.
        started: told the address once it is served.

    Raises:
        InputError: the folder is no study, or the address cannot be had.
        StoreError: the store cannot be written.
    """
    app = open_app(folder, store=store)
    asyncio.run(run_app(app, host=host, port=port, started=started))


async def run_app(
    app: StudyApp,
    *,
    host: str,
    port: int,
    started: Callable[[Address], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serves an application on this loop until `stop` is set, or a signal comes.

    Raises:
        InputError: the address cannot be had.
    """
    try:
        await serve(app.application(), host=host, port=port, log=log, started=started, stop=stop)
    finally:
        app.close()
