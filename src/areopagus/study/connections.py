"""Requests that never reach the handlers of a study.

aiohttp answers them itself in words of the request, and logs them with a traceback that quotes it,
where the secret of a link may stand. Here they get the answers of this project, and a line in the
log that names the class of the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from .app import HEADERS, json_answer, log


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
