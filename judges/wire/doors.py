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
    asked_of: Callable[[ShortWays, Any, Sequence[Any], Mapping[str, Any]], Asked | None],
) -> None:
    door: Door | None = getattr(owner, name, None)
    if door is None:  # a litellm that goes another way
        return
    # Around the door litellm counts its time, and starts a task to tell of it.
    inner: Door = getattr(door, "__wrapped__", door)

    @functools.wraps(inner)
    async def short(self: Any, *given: Any, **named: Any) -> Any:
        passage = current_passage()
        asked = None
        if passage is not None and passage.ways is not None and passage.sent is None:
            try:
                asked = asked_of(passage.ways, self, given, named)
            except (KeyError, TypeError, ValueError):
                asked = None  # no plain question
        if passage is None or asked is None:
            return await inner(self, *given, **named)
        return await _by(*asked, passage, lambda: inner(self, *given, **named))

    told = _timed(short) if inner is not door else short

    @functools.wraps(door)
    async def shortened(self: Any, *given: Any, **named: Any) -> Any:
        passage = current_passage()
        if passage is None or passage.ways is None:
            return await door(self, *given, **named)
        return await (short if passage.is_untold else told)(self, *given, **named)

    setattr(owner, name, shortened)


def _timed(short: Door) -> Door:
    from litellm.litellm_core_utils import logging_utils

    count: Any = logging_utils.track_llm_api_timing
    timed: Door = count()(short)
    return timed


async def _by(
    way: Way[Given], given: Given, passage: Passage, whole: Callable[[], Awaitable[Any]]
) -> Any:
    """What the client gives back, by the way where it is known."""
    body = way.body(given)
    if body is None:
        back = await whole()
        way.learn(given, passage.sent, passage.received, back)
        return back
    started = perf_counter()
    received = await way.post(body)
    back = way.read(received, perf_counter() - started)
    if back is not None:
        passage.sent, passage.received = way.sent(body), received
        return back
    passage.replay = received
    back = await whole()
    way.learn(given, None, received, back)
    return back


def _posted(
    ways: ShortWays, handler: Any, given: Sequence[Any], named: Mapping[str, Any]
) -> Asked | None:
    """A body that litellm gives to httpx: a text of its own, or what httpx is to write as JSON."""
    if len(given) > 1 or not named.keys() <= _POSTED or named.get("stream"):
        return None
    url = given[0] if given else named["url"]
    text, value = named.get("data"), named.get("json")
    if value is None and isinstance(text, str):
        body = text.encode()
    elif text is None and isinstance(value, dict):
        body = _as_json(value).encode()
    else:
        return None
    headers = named.get("headers") or {}
    return ways.posted((handler, url, named.get("timeout"), *headers.items())), body


# As httpx writes it; not so written, the first requests show it.
_as_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _asked(ways: ShortWays, _: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Asked | None:
    """A question that litellm gives to OpenAI's library."""
    if given or named.keys() != _ASKED:
        return None
    client, question = named["openai_aclient"], dict(named["data"])
    messages = question.pop("messages")
    texts = texts_of(messages[-1])
    outline = outline_of(messages, texts, question)
    if outline is None or question.get("stream"):
        return None
    # A client may be given another key later.
    about = client.api_key, client.organization, client.project
    return ways.asked((client, *about, named["timeout"], *outline)), texts
