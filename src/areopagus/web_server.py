"""A small web server on this machine: one policy for every page that is served.

A study and the view of runs are served by it. Nothing is loaded from elsewhere, nothing may frame a
page or be guessed about it, nothing is cached, and neither answers nor the log repeat what a
request said. Who may ask is for the application to say: both use a secret that is not a cookie, so
that a request from another site carries no rights.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from .errors import AreopagusError, InputError, InputFault

LOOPBACK: Final = "127.0.0.1"

OWN_FILES: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The content policy of pages whose script and style are files of ours."""

HEADERS: Final = {
    "Content-Security-Policy": OWN_FILES,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Robots-Tag": "noindex, nofollow",
    "Server": "areopagus",
}
"""What every answer carries, unless it has a header of that name already."""

BODY_S: Final = 30.0
"""Seconds in which a request's body must have come whole, and its head likewise."""

LINGER_S: Final = 2.0
"""Seconds in which a body that nobody wants is still taken in and thrown away, so that the other
side can read why."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def json_answer(content: Any, status: int = 200) -> web.Response:
    """Returns an answer; what UTF-8 cannot hold is replaced."""
    body = json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8")


async def set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """For `on_response_prepare`: also where aiohttp answers before the handlers are asked."""
    for name, value in HEADERS.items():
        if name == "Server" or name not in response.headers:
            response.headers[name] = value


def outermost(
    log: logging.Logger,
    *,
    unavailable: str,
    defect: str,
    who: Callable[[web.Request], str] = lambda _: "-",
) -> Middleware:
    """The middleware that turns errors into answers and writes the log.

    Args:
        log: where each request's route and outcome go.
        unavailable: the answer where an error of ours is no defect.
        defect: the answer where it is one.
        who: a word for who asked.
    """

    @web.middleware
    async def answered(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.monotonic()
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = json_answer({"error": error.reason}, error.status)
        except AreopagusError as error:
            log.error("%s", error)
            response = json_answer({"error": unavailable}, 503)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("a defect of areopagus")
            response = json_answer({"error": defect}, 500)
        # The route, not the address: whoever pastes a secret into an address does not publish it.
        resource = request.match_info.route.resource
        route = resource.canonical if resource is not None else "(no such page)"
        log.info(
            "%s %s %s %s %.0f ms", who(request), request.method, route, response.status,
            1000 * (time.monotonic() - began),
        )  # fmt: skip
        return response

    return answered


async def body_of(request: web.Request) -> bytes:
    """The body of a request: at most as large as the application takes, and in time.

    Raises:
        HTTPRequestEntityTooLarge: it is larger than the application takes.
        HTTPRequestTimeout: it has not come whole within `BODY_S`.
        HTTPBadRequest: it broke off.
    """
    try:
        async with asyncio.timeout(BODY_S):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout(reason="the body has not come in time") from None
    except (web.RequestPayloadError, ConnectionError):
        raise web.HTTPBadRequest(reason="the body cannot be read") from None


def _refused_unread(request: web.BaseRequest) -> web.Response | None:
    """The answer to a request whose body is not looked at: packed, or too large by its own word.

    A packed body of a kilobyte can hold a gigabyte; no page of ours sends one.
    """
    packed = request.headers.get("Content-Encoding", "").strip().lower()
    if packed not in ("", "identity"):
        answer = json_answer({"error": "packed bodies are not taken"}, 415)
    elif (request.content_length or 0) > request.client_max_size:
        answer = json_answer({"error": "the body is too large"}, 413)
    else:
        return None
    # No handler was chosen: the application's signals do not come.
    answer.headers.update(HEADERS)
    answer.force_close()
    return answer


def refuse_other_sites(request: web.Request, what: str) -> None:
    """Raises HTTPForbidden where a page of another site asks, as far as the browser says so."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise web.HTTPForbidden(reason=f"only {what} may ask")


@web.middleware
async def only_from_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses what was not addressed to this machine by its own name.

    A site whose name is made to lead here would else read what its visitor can.
    """
    if request.url.host not in ("127.0.0.1", "localhost", "::1"):
        raise web.HTTPForbidden(reason="this address is not served")
    refuse_other_sites(request, "the pages served here")
    return await handler(request)


class Connection(web.RequestHandler):
    """One connection; says nothing of what was sent, neither to the other side nor to the log."""

    __slots__ = ("_own_log",)

    def __init__(self, server: web.Server, *, own_log: logging.Logger, **options: Any) -> None:
        super().__init__(server, logger=own_log, **options)
        self._own_log = own_log

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
            self._own_log.error("a request failed with %d: %s", status, cause)
        else:
            self._own_log.info("- (no request) %d: %s", status, cause)
        if request.writer.output_size > 0:
            raise ConnectionError("another answer is sent already")
        words = "a defect of the server" if is_ours else "the request cannot be read"
        answer = json_answer({"error": words}, status)
        # No application belongs to such a request: its signals do not come.
        answer.headers.update(HEADERS)
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """One line; `exc_info` holds the request."""
        self._own_log.warning("a connection was given up: %s", type(kw.get("exc_info")).__name__)


def connections(server: web.Server, log: logging.Logger) -> Callable[[], Connection]:
    """What makes the connections of a server that a runner has set up."""
    handle = server.request_handler

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        refused = _refused_unread(request)
        if refused is not None:
            log.info("- %s (not read) %d", request.method, refused.status)
            return refused
        try:
            return await handle(request)
        except web.HTTPException as error:
            # Of an Expect that nobody meets: refused before the middleware, with an echo of it.
            log.info("- %s (not handled) %d", request.method, error.status)
            return json_answer({"error": error.reason}, error.status)

    server.request_handler = answered
    # aiohttp's own access log would hold whole request lines, its own log whole requests.
    # Half a head is waited for as long as a connection may idle.
    options: Mapping[str, Any] = {
        "access_log": None, "own_log": log, "auto_decompress": False,
        "keepalive_timeout": BODY_S, "lingering_time": LINGER_S,
    }  # fmt: skip
    return lambda: Connection(server, loop=asyncio.get_running_loop(), **options)


@dataclass(frozen=True, slots=True)
class Address:
    """Where something is served: host, port, and whether only this machine reaches it."""

    host: str
    port: int
    is_loopback: bool

    @property
    def url(self) -> str:
        """The address as a browser takes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


async def serve(
    application: web.Application,
    *,
    host: str,
    port: int,
    log: logging.Logger,
    started: Callable[[Address], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serves an application on this loop until `stop` is set, or a signal comes.

    Args:
        application: what answers.
        host, port: where; port 0 is any that is free.
        log: of connections.
        started: told the address once it is served.
        stop: ends it when set.

    Raises:
        InputError: the address cannot be had.
    """
    ended = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    runner = web.AppRunner(application)
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    listening: asyncio.Server | None = None
    handled: list[signal.Signals] = []
    try:
        try:
            # Not by a site of aiohttp's, which would make connections of its own class.
            listening = await loop.create_server(connections(runner.server, log), host, port)
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


def _is_loopback(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
