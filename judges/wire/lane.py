"""The fast lane: requests that litellm has shown how to write, sent without litellm around them.

litellm stays the one source of what is sent and of how a reply is read. The first calls of a shape
(same model, endpoint, key, parameters, schema, system message, margins of the text) go through
litellm's own call and are watched on their way to the wire. The first shows how the shape is
written. When others have been written byte for byte as the lane would have written them, and their
answers have been read by the lane as litellm read them, the shape is open: from then on only the
judged text is put into the bytes, and the answer is read by litellm's translation alone, or without
it where that has read answers of the same outline alike (`plain_answer`). Any
difference closes the shape for good, and whatever never passes the watched transport never opens.

An answer that is not an ordinary one (an error, a refusal, a cut, a broken connection) is handed to
litellm's own call as if that had received it. So a fault has one reading, whichever lane was taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ...environment import environment_state
from ...records.types import Reply
from ..models.credentials import address_variables, key_variables, prefix_of
from .answers import AnswerReader, Asked
from .departures import Departures
from .outline import outline_of, texts_of
from .passage import Elsewhere, Passage, Sent, origin_of, passing
from .shape import Shape, is_ordinary
from .short_way import ShortWays

NO_KEY = "no-key-needed"
"""What is sent as a key to servers of one's own that take none."""
MOST_SHAPES = 256
CALLBACKS = (
    "callbacks",
    "input_callback",
    "success_callback",
    "failure_callback",
    "_async_input_callback",
    "_async_success_callback",
    "_async_failure_callback",
)
"""Where litellm keeps whom it tells of its calls."""
_TURNED_AWAY = (401, 403)
"""Statuses of a provider that does not accept who asks, which costs nothing."""
_NO_PARAMETERS = frozenset({"model", "messages", "timeout", "max_retries", "api_base", "api_key"})

ReadAnswer = Callable[[Any], Reply]
"""From an answer object to a Reply."""


class Lane:
    """Calls of one backend, by the shortest way that is proven to be litellm's.

    Attributes:
        fast, plain: calls that took the lane and that went through litellm's own call.
    """

    def __init__(self, model: str, api_base: str | None, *, enabled: bool = True) -> None:
        self.fast = self.plain = 0
        self._model = model
        self._api_base = api_base
        self._enabled = enabled
        self._shapes: dict[tuple[Any, ...], Shape] = {}
        self._ways = ShortWays()
        self._departures = Departures()
        self._taken: tuple[Hashable, tuple[str | None, ...]] | None = None
        # What litellm takes from the environment where the call does not say it.
        provider = model.partition("/")[0]
        prefix = prefix_of(provider)
        keys = (*key_variables(provider), f"{prefix}_AUTH_TOKEN")
        self._n_keys = len(keys)
        self._environment = (*keys, *address_variables(provider), f"{prefix}_ORGANIZATION")

    async def call(self, litellm: Any, arguments: dict[str, Any], read: ReadAnswer) -> Reply:
        """The reply to one HTTP attempt.

        Args:
            litellm: the module.
            arguments: what `litellm.acompletion` is called with.
            read: makes the Reply of an answer object.

        Raises:
            Exception: whatever litellm's own call raises.
        """
        texts = texts_of(arguments["messages"][-1])
        may_pass = self._enabled and _is_untold(litellm)
        shape = self._shape_of(litellm, arguments, texts) if may_pass else None
        body = None if shape is None else shape.body(texts)
        if shape is not None and body is not None:
            self.fast += 1
            received = await shape.post(body)
            reply = shape.read(received, read, Asked(arguments["messages"], body))
            if reply is not None and is_ordinary(reply):
                return reply
            # Turned away by its head: where litellm's own is another one by now, that is sent.
            by_head = shape.written.sent if received.status in _TURNED_AWAY else None
            with passing(received, is_untold=True, replay_to=by_head) as passage:
                try:
                    return read(await _through(litellm, arguments, passage))
                finally:
                    shape.learn_sent(passage.sent, texts)
        self.plain += 1
        with self._departures:
            await self._departures.together()
            return await self._by_litellm(litellm, arguments, read, texts, shape)

    async def _by_litellm(
        self,
        litellm: Any,
        arguments: dict[str, Any],
        read: ReadAnswer,
        texts: Sequence[str],
        shape: Shape | None,
    ) -> Reply:
        """The reply by litellm's own call, of which the shape learns."""
        is_untold = _is_untold(litellm)
        if not is_untold:  # a listener may have come meanwhile, and change what is sent
            shape = None
        # A shape is learned from what litellm itself sends.
        ways = self._ways if shape is None or shape.closed else None
        elsewhere = None if is_untold else _elsewhere(arguments)
        with passing(is_untold=is_untold, ways=ways, elsewhere=elsewhere) as passage:
            try:
                reply = read(await _through(litellm, arguments, passage))
            finally:
                if shape is not None:
                    shape.learn_sent(passage.sent, texts)
                    # What litellm gets in exchange for a key may be another one in an hour.
                    shape.closed |= not self._has_key(passage.sent, arguments)
        if shape is not None and passage.received is not None and is_ordinary(reply):
            sent = b"{}" if passage.sent is None else passage.sent.body
            shape.learn_read(passage.received, reply, read, Asked(arguments["messages"], sent))
        return reply

    def _shape_of(
        self, litellm: Any, arguments: dict[str, Any], texts: Sequence[str]
    ) -> Shape | None:
        """The shape of this call; None where it must go through litellm's own call."""
        around = self._in_environment()
        # A key that litellm fetches from elsewhere may be another one in an hour.
        if not (arguments.get("api_key") or any(around[: self._n_keys])):
            return None
        parameters = {k: v for k, v in arguments.items() if k not in _NO_PARAMETERS}
        outline = outline_of(arguments["messages"], texts, parameters)
        if outline is None:
            return None
        key = (
            arguments.get("api_key"),
            *around,
            arguments["timeout"],
            *outline,
        )
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= MOST_SHAPES:
                del self._shapes[next(iter(self._shapes))]
            shape = self._shapes[key] = Shape(self._reader(litellm, parameters))
        return shape

    def _has_key(self, sent: Sent | None, arguments: Mapping[str, Any]) -> bool:
        """Whether a request carries the key itself; one that nobody saw may, for all is known."""
        key = arguments.get("api_key")
        keys = (key,) if key else self._in_environment()[: self._n_keys]
        return sent is None or key == NO_KEY or any(key and sent.carries(key) for key in keys)

    def _in_environment(self) -> tuple[str | None, ...]:
        """What litellm would take from the environment now."""
        state = environment_state()
        if self._taken is None or self._taken[0] != state:
            self._taken = state, tuple(map(os.environ.get, self._environment))
        return self._taken[1]

    def _reader(self, litellm: Any, parameters: Mapping[str, Any]) -> AnswerReader | None:
        try:
            return AnswerReader(litellm, self._model, self._api_base, parameters)
        except Exception:
            return None  # litellm's own call says what is wrong, if anything is


def _elsewhere(arguments: Mapping[str, Any]) -> Elsewhere | None:
    """What is not bound for the endpoint; None where its address or its key is not known."""
    address, key = arguments.get("api_base"), arguments.get("api_key")
    return Elsewhere(origin_of(address), key) if address and key else None


def _is_untold(litellm: Any) -> bool:
    """Whether nobody has litellm tell them of calls, count their cost, or answer from a cache."""
    if litellm.cache is not None or getattr(litellm, "max_budget", None):
        return False
    for name in CALLBACKS:
        listeners = getattr(litellm, name, None)
        # litellm enters "cache" by itself, for its own cache, which is not in use here.
        if listeners and any(listener != "cache" for listener in listeners):
            return False
    return True


class RedirectedError(Exception):
    """The address sends callers elsewhere; whoever stands there is not given the key."""


async def _through(litellm: Any, arguments: dict[str, Any], passage: Passage) -> Any:
    try:
        return await litellm.acompletion(**arguments)
    except Exception as error:
        if passage.moved_to is not None:
            raise RedirectedError(passage.moved_to) from error
        raise
