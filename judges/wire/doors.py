"""The doors at which litellm hands a request to a client, each with a shorter way behind it.

There are two: its HTTP handler, which gives a body to httpx, and its call of OpenAI's library. Only
calls within `passing` that bring their ways along may take one; whatever is no plain question goes
in at the door as before. An answer that is not an ordinary one is handed to the client as if that
had received it, so that a fault has one reading.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

from .outline import outline_of, texts_of
from .passage import Passage, current_passage
from .short_way import ShortWays, Way

Door = Callable[..., Awaitable[Any]]
Given = TypeVar("Given")
Asked = tuple[Way[Any], Any]
"""A way, and what it is given."""

_POSTED = frozenset({"url", "data", "json", "headers", "timeout", "stream", "logging_obj"})
_ASKED = frozenset({"openai_aclient", "data", "timeout", "logging_obj"})
# From these OpenAI's library takes a key when it sends, another one each time it may be.
_LATER_KEYS = (
    "workload_identity",
    "_workload_identity_auth",
    "_api_key_provider",
    "_provider_runtime",
    "custom_auth",
)


def shorten_clients(handler: Any, openai_calls: Any) -> None:
    """Puts shorter ways behind both doors.

    Args:
        handler: litellm's class around httpx, with the coroutine `post`.
        openai_calls: litellm's class that calls OpenAI's library, with the coroutine
            `make_openai_chat_completion_request`.
    """
    _shorten(handler, "post", _posted)
    _shorten(openai_calls, "make_openai_chat_completion_request", _asked)


def _shorten(
    owner: Any,
    name: str,
    asked_of: Callable[[Passage, ShortWays, Any, Sequence[Any], Mapping[str, Any]], Asked | None],
) -> None:
    door: Door | None = getattr(owner, name, None)
    if door is None:  # a litellm that goes another way
        return
    # Around the door litellm counts its time, and starts a task to tell of it.
    count: Any = getattr(_logging_utils(), "track_llm_api_timing", None)
    is_timed = count is not None and _file(door) == _file(count)
    inner: Door = getattr(door, "__wrapped__", door) if is_timed else door
    if hasattr(inner, "__wrapped__"):  # somebody looks on here, and is to see every call
        return

    @functools.wraps(inner)
    async def short(self: Any, *given: Any, **named: Any) -> Any:
        passage = current_passage()
        asked = None
        if passage is not None and passage.ways is not None and passage.sent is None:
            try:
                asked = asked_of(passage, passage.ways, self, given, named)
            except Exception:
                asked = None  # no plain question: the client says what is wrong, if anything is
        if passage is None or asked is None:
            return await inner(self, *given, **named)
        return await _by(*asked, passage, lambda: inner(self, *given, **named))

    told: Door = count()(short) if is_timed else short

    @functools.wraps(door)
    async def shortened(self: Any, *given: Any, **named: Any) -> Any:
        passage = current_passage()
        if passage is None or passage.ways is None:
            return await door(self, *given, **named)
        return await (short if passage.is_untold else told)(self, *given, **named)

    setattr(owner, name, shortened)


def _logging_utils() -> Any:
    from litellm.litellm_core_utils import logging_utils

    return logging_utils


def _file(function: Any) -> str | None:
    return getattr(getattr(function, "__code__", None), "co_filename", None)


async def _by(
    way: Way[Given], given: Given, passage: Passage, whole: Callable[[], Awaitable[Any]]
) -> Any:
    """What the client gives back, by the way where it is known."""
    body = way.body(given)
    if body is None:
        back = await whole()
        way.learn(given, passage.sent, passage.received, back)
        return back
    passage.sent = way.sent(body)  # from here on nothing else is sent in this call
    started = perf_counter()
    received = await way.post(body)
    back = way.read(received, perf_counter() - started)
    if back is not None:
        passage.received = received
        return back
    passage.replay = received
    back = await whole()
    way.learn(given, None, received, back)
    return back


def _posted(
    passage: Passage, ways: ShortWays, handler: Any, given: Sequence[Any], named: Mapping[str, Any]
) -> Asked | None:
    """A body that litellm gives to httpx: a text of its own, or what httpx is to write as JSON."""
    if len(given) > 1 or not named.keys() <= _POSTED or named.get("stream"):
        return None
    url = given[0] if given else named["url"]
    headers = named.get("headers") or {}
    client = handler.client  # another one, where the last was closed
    if passage.is_aside(url, headers.items()) or _is_looked_at(client):
        return None
    text, value = named.get("data"), named.get("json")
    if value is None and isinstance(text, str):
        body = text.encode()
    elif text is None and isinstance(value, dict):
        body = _as_json(value).encode()
    else:
        return None
    # By its kind httpx says what a body is.
    key = (value is None, url, named.get("timeout"), *headers.items())
    return ways.posted(client, key), body


def _is_looked_at(client: Any) -> bool:
    """Whether something of an httpx client's owner sees, or signs, each request."""
    return client.auth is not None or any(client.event_hooks.values())


# As httpx writes it; not so written, the first requests show it.
_as_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _asked(
    passage: Passage, ways: ShortWays, _: Any, given: Sequence[Any], named: Mapping[str, Any]
) -> Asked | None:
    """A question that litellm gives to OpenAI's library."""
    if given or named.keys() != _ASKED:
        return None
    client, question = named["openai_aclient"], dict(named["data"])
    if client.is_closed() or any(getattr(client, name, None) for name in _LATER_KEYS):
        return None
    if _is_looked_at(client._client):
        return None
    if passage.is_aside(str(client.base_url), (("authorization", client.api_key),)):
        return None
    messages = question.pop("messages")
    texts = texts_of(messages[-1])
    outline = outline_of(messages, texts, question)
    if outline is None or question.get("stream"):
        return None
    # A client may be given another key later.
    about = client.api_key, client.organization, client.project
    return ways.asked(client, (*about, named["timeout"], *outline)), texts
