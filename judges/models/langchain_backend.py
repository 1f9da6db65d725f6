"""A langchain-core chat model as a backend, with the same parser, limits and ledger."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...records.types import Reply
from .backend import Backend, BackendSpec
from .credentials import without_secrets
from .prices import Prices
from .provider_errors import one_attempt
from .reply import TOOL_CALLS, ending_of, is_complete
from .request import Request
from .usage import usage_from

_SHAPE_NOTHING = frozenset(
    {
        "cache",
        "callback_manager",
        "callbacks",
        "custom_get_token_ids",
        "max_retries",
        "metadata",
        "name",
        "rate_limiter",
        "tags",
        "verbose",
    }
)

_SECRET_FIELD = re.compile(r"key|token$|secret|password|credential|authorization", re.IGNORECASE)
_DEEPEST = 6
"""A model in a binding in a fallback in a binding, with its headers."""


def is_chat_model(value: Any) -> bool:
    """Whether this is a langchain-core BaseChatModel; loads nothing by asking."""
    return any(
        cls.__name__ == "BaseChatModel" and cls.__module__.startswith("langchain_core.")
        for cls in type(value).__mro__
    )


class ChatModelBackend(Backend):
    """A chat model handed to `Panel(models=[…])`.

    The model keeps its own parameters: they are part of the ledger's key by a hash, and nothing
    of them is stored or shown, since a chat model may carry its key among them. Structured output
    is asked for in words only. Retries inside the chat model are its own affair: switch them off.
    """

    def __init__(
        self,
        model: Any,
        *,
        name: str | None = None,
        prices: Prices | None = None,
        timeout_s: float = 120.0,
        concurrency: int = 32,
    ) -> None:
        identity = _identity(model)
        chosen = name or str(identity.get("model") or identity.get("model_name") or "model")
        kind = str(getattr(model, "_llm_type", type(model).__name__)) or "chat"
        digest = hashlib.sha256(
            json.dumps(identity, sort_keys=True, default=_type_name).encode()
        ).hexdigest()
        self.model = model
        self.spec = BackendSpec(
            model=f"langchain/{kind}/{chosen}",
            name=name or f"langchain/{chosen}",
            structured="prompt",
            prices=prices,
            timeout_s=timeout_s,
            concurrency=concurrency,
            extra={"chat_model_sha256": digest},
        )

    async def send(self, request: Request) -> Reply:
        """The reply to one `ainvoke`; see `Backend.send`."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
        from langsmith import tracing_context

        kinds: dict[str, Any] = {
            "system": SystemMessage,
            "user": HumanMessage,
            "assistant": AIMessage,
        }
        messages = [kinds[m["role"]](content=m["content"]) for m in request.messages]
        started = time.perf_counter()
        # Whatever the environment says, texts go to the endpoints named and nowhere else.
        with tracing_context(enabled=False):
            answer = await one_attempt(
                self.model.ainvoke(messages), self.spec.timeout_s, self.secrets
            )
        return self._reply(answer, time.perf_counter() - started)

    def effective_parameters(self) -> dict[str, Any]:
        """The hash of the chat model's own parameters."""
        return dict(self.spec.extra)

    def secrets(self) -> tuple[str, ...]:
        """Keys that go out with its calls and must not be shown.

        Those are every value that the chat model holds as a secret, and every text under the name
        of one: in its fields, in the mappings and lists of them, in the models that it binds or
        falls back to, and in the clients it was given. Read anew at every call, since a key may be
        changed in between. A key that a function makes for each request is not seen.
        """
        return tuple(dict.fromkeys(_secrets_in(self.model, "", set(), 0)))

    def _reply(self, answer: Any, latency_s: float) -> Reply:
        usage, prices = usage_from(getattr(answer, "usage_metadata", None)), self.unit_prices
        meta = getattr(answer, "response_metadata", None) or {}
        text = _text_of(getattr(answer, "content", None))
        refusal = (getattr(answer, "additional_kwargs", None) or {}).get("refusal")
        finish = ending_of(meta)
        calls = getattr(answer, "tool_calls", None) or getattr(answer, "invalid_tool_calls", None)
        if calls and is_complete(finish):
            finish = TOOL_CALLS
        answered_by = meta.get("model_name") or meta.get("model")
        reply = Reply(
            text=text,
            finish_reason=finish,
            refusal=refusal if isinstance(refusal, str) else None,
            answered_by=str(answered_by) if answered_by else None,
            request_id=getattr(answer, "id", None),
            usage=usage,
            cost_usd=None if prices is None else prices.cost(usage),
            latency_s=round(latency_s, 4),
            created_at=time.time(),
        )
        return without_secrets(reply, self.secrets())


def _identity(model: Any) -> dict[str, Any]:
    """What tells two chat models apart; secrets count by their kind, never by their value.

    What a model calls its identifying parameters is often nothing, so its fields count too, but
    for those that do not shape a reply.
    """
    found: dict[str, Any] = {}
    for name in type(model).model_fields:
        if name not in _SHAPE_NOTHING and not _SECRET_FIELD.search(name):
            found[name] = getattr(model, name, None)
    with contextlib.suppress(Exception):
        found |= dict(model._identifying_params)
    return {str(key): value for key, value in found.items()} | {"class": _type_name(model)}


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _text_of(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [
            part if isinstance(part, str) else str(part.get("text") or "")
            for part in content
            if isinstance(part, str) or (isinstance(part, dict) and part.get("type") == "text")
        ]
        return "".join(parts)
    return None


def _secrets_in(value: Any, name: str, seen: set[int], depth: int) -> Iterator[str]:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        if value and _SECRET_FIELD.search(name):
            yield value
            # Of "Bearer KEY" an endpoint knows the key alone as well.
            yield value.split()[-1] if value.split() else value
        return
    if value is None or isinstance(value, int | float) or depth > _DEEPEST or id(value) in seen:
        return
    seen.add(id(value))
    kind = type(value)
    if hasattr(kind, "get_secret_value"):
        yield from _secrets_in(value.get_secret_value(), "secret", seen, depth)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets_in(inner, str(key), seen, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _secrets_in(inner, name, seen, depth + 1)
    elif hasattr(kind, "model_fields"):
        for held in (value.__dict__, value.__pydantic_private__, value.__pydantic_extra__):
            for key, inner in (held or {}).items():
                yield from _secrets_in(inner, key, seen, depth + 1)
    elif not isinstance(value, type):
        # A client: its own texts, and nothing of what it is made of in turn.
        for key, inner in getattr(value, "__dict__", {}).items():
            if isinstance(inner, str) or hasattr(type(inner), "get_secret_value"):
                yield from _secrets_in(inner, key, seen, depth + 1)
