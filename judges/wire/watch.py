"""The watch on litellm's way out: requests are looked at, sent at most once, or not sent at all.

litellm hands every request, whichever client built it, to its aiohttp transport, or to httpx's own
where aiohttp is switched off. Within `passing` the request that arrives there is noted, and a
second one is refused: litellm would send again when a connection broke, and follow redirects with
the key. Two clients have a way out of their own, a session of aiohttp alone and whatever is not
asynchronous: these are kept from following redirects. With an answer to replay nothing is sent:
litellm reads what was received elsewhere. No cookie that an answer brought goes out with the next
request: litellm's own client keeps none either, OpenAI's does. Where nobody is to be told of the
call, litellm does not work out what it would tell (a cost by its own list, records for callbacks):
that is a fifth to a half of what a call through it takes. What it looks up in every call and finds
unchanged is kept at hand (`lookups`). Calls that others make through litellm in the same process
keep its behaviour, and so does what listeners send on of a call.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from .doors import shorten_clients
from .lookups import keep_lookups
from .passage import Passage, Received, Sent, current_passage
from .template import same_head

_KEPT_BYTES = 1_000_000
"""Most bytes of an answer that are kept to be read a second time."""
_NOT_FOLLOWED = "the address redirects; redirects are not followed"


def watch_litellm() -> None:
    """Puts the watch on litellm's transports and HTTP handlers; to be called once a process."""
    import httpx
    from litellm import utils
    from litellm.litellm_core_utils.litellm_logging import Logging
    from litellm.llms.custom_httpx.aiohttp_handler import BaseLLMAIOHTTPHandler
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.openai import OpenAIChatCompletion

    _watch_transport(LiteLLMAiohttpTransport)
    # Beside aiohttp, httpx's own transport carries what others send who are told of a call.
    by_aiohttp: Any = getattr(AsyncHTTPHandler, "_should_use_aiohttp_transport", lambda: True)
    _watch_transport(
        httpx.AsyncHTTPTransport,
        is_others=lambda passage: passage.is_mingled and by_aiohttp(),
    )
    _stay(httpx.HTTPTransport)
    _stay_with_aiohttp(BaseLLMAIOHTTPHandler)
    shorten_clients(AsyncHTTPHandler, OpenAIChatCompletion)
    _send_once(AsyncHTTPHandler)
    _only_where_told(Logging, "response_cost_calculator")  # the backend prices its own calls
    _only_where_told(utils, "update_response_metadata")  # times and addresses, in the answer
    _keep_the_answer_alone(Logging)
    keep_lookups()


def _watch_transport(
    transport: Any, is_others: Callable[[Passage], bool] = lambda passage: False
) -> None:
    import httpx

    send = transport.handle_async_request

    async def watched(self: Any, request: Any) -> Any:
        passage = current_passage()
        if passage is None or passage.is_aside(str(request.url), request.headers.items()):
            return await send(self, request)
        if is_others(passage):
            return await send(self, request)
        request.headers.pop("cookie", None)
        body = await request.aread()
        replay, passage.replay = passage.replay, None
        if passage.sent is None:
            headers = tuple(request.headers.raw)
            passage.sent = Sent(self, request.method, str(request.url), headers, body)
            if passage.replay_to is not None and not same_head(passage.sent, passage.replay_to):
                replay = None
        elif replay is None or not _is_same(passage.sent, request, body):
            # What a short way has sent may be replayed to its own request, and to no other.
            passage.replay = replay
            raise httpx.RemoteProtocolError("a second request of one call is not sent")
        if replay is not None:
            response = _replayed(replay, request)
        else:
            response = await send(self, request)
        if _moves(passage, response.status_code, response.headers):
            await response.aclose()
            raise httpx.RemoteProtocolError(_NOT_FOLLOWED)
        if replay is None:
            response.stream = _noted_stream(response, passage)
        return response

    transport.handle_async_request = watched


def _moves(passage: Passage, status: int, headers: Any) -> bool:
    """Whether an answer sends the call to another address, which is noted."""
    location = headers.get("location")
    if location is None or not 300 <= status < 400:
        return False
    passage.moved_to = str(location)
    return True


def _stay(transport: Any) -> None:
    """Keeps clients that are not asynchronous from following redirects within a call."""
    import httpx

    send = transport.handle_request

    @functools.wraps(send)
    def stayed(self: Any, request: Any) -> Any:
        passage = current_passage()
        response = send(self, request)
        if passage is None or passage.is_aside(str(request.url), request.headers.items()):
            return response
        if _moves(passage, response.status_code, response.headers):
            response.close()
            raise httpx.RemoteProtocolError(_NOT_FOLLOWED)
        return response

    transport.handle_request = stayed


def _stay_with_aiohttp(handler: Any) -> None:
    """Keeps litellm's handler of aiohttp sessions from following redirects within a call."""
    import aiohttp

    name = "_get_async_client_session"
    session_of = getattr(handler, name, None)
    if session_of is None:  # a litellm that goes another way
        return

    class Staying:
        def __init__(self, session: Any, passage: Passage) -> None:
            self._session, self._passage = session, passage

        async def post(self, **asked: Any) -> Any:
            response = await self._session.post(**asked, allow_redirects=False)
            if _moves(self._passage, response.status, response.headers):
                response.release()
                raise aiohttp.ClientError(_NOT_FOLLOWED)
            return response

        def __getattr__(self, name: str) -> Any:
            return getattr(self._session, name)

    @functools.wraps(session_of)
    def staying(self: Any, *given: Any, **named: Any) -> Any:
        session, passage = session_of(self, *given, **named), current_passage()
        return session if passage is None else Staying(session, passage)

    setattr(handler, name, staying)


def _is_same(sent: Sent, request: Any, body: bytes) -> bool:
    same_address = (sent.method, sent.url) == (request.method, str(request.url))
    return same_address and bool(sent.body == body)


def _replayed(answer: Received, request: Any) -> Any:
    import httpx
    from litellm.llms.custom_httpx.aiohttp_transport import map_aiohttp_exceptions

    class Replay(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield answer.body
            if answer.broken is not None:
                with map_aiohttp_exceptions():
                    raise answer.broken

    if not answer.status and answer.broken is not None:
        with map_aiohttp_exceptions():
            raise answer.broken
    return httpx.Response(
        answer.status, headers=list(answer.headers), stream=Replay(), request=request
    )


def _noted_stream(response: Any, passage: Passage) -> Any:
    """The stream of an answer, which notes what goes by once it has ended."""
    import httpx

    inner = response.stream

    class Noted(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            parts: list[bytes] = []
            size = 0
            async for part in inner:
                size += len(part)
                if size <= _KEPT_BYTES:
                    parts.append(part)
                yield part
            if size <= _KEPT_BYTES:
                passage.received = Received(
                    response.status_code, tuple(response.headers.raw), b"".join(parts)
                )

        async def aclose(self) -> None:
            await inner.aclose()

    return Noted()


def _send_once(handler: Any) -> None:
    """Stops litellm's HTTP handler from sending a request again after a broken connection.

    The provider may have done the work, and been paid, when the connection breaks; whether to ask
    again is decided, counted and stored by the desk.
    """
    # The second is the name that it has from 1.109 on.
    for name in ("single_connection_post_request", "single_connection_request"):
        again = getattr(handler, name, None)
        if again is not None:
            setattr(handler, name, _not_again(again))


def _not_again(again: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(again)
    async def not_again(self: Any, *given: Any, **named: Any) -> Any:
        if current_passage() is not None:
            raise  # noqa: PLE0704 - what the first attempt met: litellm calls this in its handler
        return await again(self, *given, **named)

    return not_again


def _only_where_told(owner: Any, name: str) -> None:
    """Passes over a step of litellm's that serves only those who are told of a call."""
    step = getattr(owner, name, None)
    if step is None:
        return

    @functools.wraps(step)
    def taken(*given: Any, **named: Any) -> Any:
        passage = current_passage()
        return None if passage is not None and passage.is_untold else step(*given, **named)

    setattr(owner, name, taken)


def _keep_the_answer_alone(log: Any) -> None:
    """Where nobody is told of a call, its log takes the answer without preparing it for anybody."""
    post_call = getattr(log, "post_call", None)
    if post_call is None:
        return
    logger = logging.getLogger("LiteLLM")

    @functools.wraps(post_call)
    def kept(self: Any, original_response: Any, *given: Any, **named: Any) -> None:
        passage = current_passage()
        if passage is None or not passage.is_untold or logger.isEnabledFor(logging.DEBUG):
            post_call(self, original_response, *given, **named)
        else:
            self.model_call_details["original_response"] = original_response

    log.post_call = kept
