"""Serving a study until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from ..errors import InputError, InputFault
from .app import HEADERS, StudyApp, json_answer, log, open_app


class Connection(web.RequestHandler):
    """One connection; says nothing of what was sent, neither to the other side nor to the log."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer where no handler gave one; the connection is closed after it."""
        is_ours = status >= 500
        cause = type(exc).__name__ if exc is not None else "no cause"
        if is_ours:
            log.error("a request failed with %d: %s", status, cause)
        else:
            log.info("- (no request) %d: %s", status, cause)
        if request.writer.output_size > 0:
            raise ConnectionError("another answer is sent already")
        words = "a defect of the study's server" if is_ours else "the request cannot be read"
        answer = json_answer({"error": words}, status)
        # No application belongs to such a request: its signals do not come.
        answer.headers.update(HEADERS)
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """One line; `exc_info` holds the request."""
        log.warning("a connection was given up: %s", type(kw.get("exc_info")).__name__)


def connections(server: web.Server) -> Callable[[], Connection]:
    """What makes the connections of a server that a runner has set up."""
    handle = server.request_handler

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handle(request)
        except web.HTTPException as error:
            # Of an Expect that nobody meets: refused before the middleware, with an echo of it.
            log.info("- %s (not handled) %d", request.method, error.status)
            return json_answer({"error": error.reason}, error.status)

    server.request_handler = answered
    # aiohttp's own access log would hold whole request lines, its own log whole requests.
    options: dict[str, Any] = {"access_log": None, "logger": log}
    return lambda: Connection(server, loop=asyncio.get_running_loop(), **options)


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765


@dataclass(frozen=True, slots=True)
class Address:
    """Where a study is served: host, port, and whether only this machine reaches it."""

    host: str
    port: int
    is_loopback: bool

    @property
    def url(self) -> str:
        """The address as a browser takes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


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
    ended = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    runner = web.AppRunner(app.application())
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    listening: asyncio.Server | None = None
    handled: list[signal.Signals] = []
    try:
        try:
            # Not by a site of aiohttp's, which would make connections of its own class.
            listening = await loop.create_server(connections(runner.server), host, port)
        except OSError as error:
            raise InputError(
                [InputFault(f"{host}:{port}", f"cannot be served: {error.strerror or error}")],
                hint="another `port` may be free; 0 takes any that is",
            ) from error
        for number in (signal.SIGINT, signal.SIGTERM):
            # Not on every platform, and in the main thread only.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, ended.set)
                handled.append(number)
        bound = listening.sockets[0].getsockname()
        if started is not None:
            started(Address(host, int(bound[1]), _is_loopback(str(bound[0]))))
        await ended.wait()
    finally:
        for number in handled:
            # A loop need not do it when it is closed: uvloop's leaves the process deaf to Ctrl-C.
            loop.remove_signal_handler(number)
        if listening is not None:
            listening.close()
        await runner.cleanup()
        app.close()


def _is_loopback(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
