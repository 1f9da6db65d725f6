"""The OpenAI, Anthropic and Ollama protocols: requests read, replies written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from time import time
from types import MappingProxyType
from typing import Any

from .exchange import (
    Fault,
    ServedReply,
    ServedRequest,
    Structured,
    WireProtocol,
    request_key,
)

PATHS: dict[str, WireProtocol] = {
    "/v1/chat/completions": "openai",
    "/chat/completions": "openai",
    "/v1/messages": "anthropic",
    "/api/chat": "ollama",
    "/api/generate": "ollama",
}
"""The paths that ask a model something."""

_ANTHROPIC_STOP = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_OTHER_TOOL = "look_something_up"


def read_request(
    protocol: WireProtocol,
    path: str,
    body: Mapping[str, Any],
    headers: Mapping[str, str] = MappingProxyType({}),
) -> ServedRequest:
    """The request that a body makes, as the first one of its key.

    Raises:
        ValueError: where the body lacks what the protocol demands; the text says what.
    """
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise ValueError("model: must be a non-empty string")
    if path == "/api/generate":
        given: Any = [{"role": "user", "content": body.get("prompt", "")}]
    else:
        given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise ValueError("messages: must be a list with at least one message")
    messages = [_message(message) for message in given]
    if protocol == "anthropic" and not isinstance(body.get("max_tokens"), int):
        raise ValueError("max_tokens: Field required")
    if body.get("system"):  # Anthropic's, and that of Ollama's /api/generate
        messages.insert(0, {"role": "system", "content": _text(body["system"])})
    structured, schema, tool = _asked_form(protocol, body)
    return ServedRequest(
        protocol=protocol,
        path=path,
        model=model,
        messages=tuple(messages),
        params=body,
        headers=headers,
        schema=schema,
        structured=structured,
        forced_tool=tool,
        n=1,
        attempt=1,
        key=request_key(model, messages),
        time=time(),
    )


def _message(message: Any) -> dict[str, str]:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ValueError("messages: every message must be an object with a role")
    return {"role": message["role"], "content": _text(message.get("content"))}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(
            part["text"]
            if isinstance(part, dict) and isinstance(part.get("text"), str)
            else json.dumps(part)
            for part in content
        )
    return json.dumps(content)


_Form = tuple[Structured | None, Mapping[str, Any] | None, str | None]


def _asked_form(protocol: WireProtocol, body: Mapping[str, Any]) -> _Form:
    if protocol == "ollama":
        asked = body.get("format")
        if isinstance(asked, dict):
            return "json_schema", asked, None
        return ("json_object" if asked == "json" else None), None, None
    if protocol == "anthropic":
        config = body.get("output_config")
        asked = body.get("output_format") or (
            config.get("format") if isinstance(config, dict) else None
        )
        if isinstance(asked, dict):
            return "json_schema", asked.get("schema"), None
    else:
        asked = body.get("response_format")
        if isinstance(asked, dict) and asked.get("type") == "json_schema":
            return "json_schema", (asked.get("json_schema") or {}).get("schema"), None
        if isinstance(asked, dict) and asked.get("type") == "json_object":
            return "json_object", None, None
    return _forced_tool(body)


def _forced_tool(body: Mapping[str, Any]) -> _Form:
    choice, tools = body.get("tool_choice"), body.get("tools")
    if not isinstance(choice, dict) or not isinstance(tools, list):
        return None, None, None
    name = choice.get("name") or (choice.get("function") or {}).get("name")
    for tool in tools:
        function = tool.get("function") or tool
        if name is not None and function.get("name") == name:
            schema = function.get("input_schema") or function.get("parameters")
            return "json_schema", schema, name
    return None, None, None


def write_reply(request: ServedRequest, reply: ServedReply) -> bytes:
    """The body of a successful answer in the protocol of its request."""
    writer = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}
    return writer[request.protocol](request, reply)


def _usage(request: ServedRequest, reply: ServedReply) -> tuple[int, int, int]:
    if reply.usage is not None:
        return reply.usage
    characters = sum(len(message["content"]) for message in request.messages)
    return max(1, characters // 4), max(1, len(reply.text or "") // 4), 0


def _openai(request: ServedRequest, reply: ServedReply) -> bytes:
    sent, written, cached = _usage(request, reply)
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    finish = reply.finish_reason
    call = _tool_call(request, reply)
    if call:
        message["content"], finish = None, "tool_calls"
        message["tool_calls"] = [
            {
                "id": f"call_{request.n}",
                "type": "function",
                "function": {"name": call[0], "arguments": call[1]},
            }
        ]
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
    choice["logprobs"] = None if reply.logprobs is None else {"content": _plain(reply.logprobs)}
    return _encoded(
        {
            "id": f"chatcmpl-{request.n}",
            "object": "chat.completion",
            "created": int(time()),
            "model": reply.model or request.model,
            "choices": [] if reply.fault is Fault.EMPTY_CHOICES else [choice],
            "usage": {
                "prompt_tokens": sent,
                "completion_tokens": written,
                "total_tokens": sent + written,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }
    )


def _anthropic(request: ServedRequest, reply: ServedReply) -> bytes:
    sent, written, cached = _usage(request, reply)
    stop = "refusal" if reply.refusal else _ANTHROPIC_STOP.get(reply.finish_reason, "end_turn")
    blocks: list[dict[str, Any]] = []
    call = _tool_call(request, reply)
    arguments = "{}"
    if reply.fault is Fault.EMPTY_CHOICES or (reply.refusal and not reply.text):
        pass  # a stopped stream leaves no block at all
    elif call:
        stop = "tool_use" if reply.finish_reason == "stop" else stop
        arguments = call[1]
        blocks = [{"type": "tool_use", "id": f"toolu_{request.n}", "name": call[0], "input": {}}]
    elif reply.text is not None:
        blocks = [{"type": "text", "text": reply.text}]
    body: dict[str, Any] = {
        "id": f"msg_{request.n}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or request.model,
        # The protocol has no null text; a null list is as near as it gets.
        "content": None if reply.text is None and not reply.refusal and not call else blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            # Anthropic counts the cached tokens apart; litellm adds them up again.
            "input_tokens": sent - cached - reply.cache_written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": reply.cache_written,
            "output_tokens": written,
        },
    }
    if reply.fault is Fault.EMPTY_CHOICES:
        body["content"] = []
    # The judge's own text goes in as it is, so that doubled keys and the like survive.
    return _encoded(body).replace(b'"input": {}', b'"input": ' + arguments.encode(), 1)


def _ollama(request: ServedRequest, reply: ServedReply) -> bytes:
    sent, written, _ = _usage(request, reply)
    body: dict[str, Any] = {
        "model": reply.model or request.model,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "done": True,
        "done_reason": "length" if reply.finish_reason == "length" else "stop",
        "prompt_eval_count": sent,
        "eval_count": written,
        "total_duration": 1_000_000,
        "load_duration": 1_000,
        "prompt_eval_duration": 1_000,
        "eval_duration": 1_000,
    }
    # There is no refusal field: what is declined is declined in the text.
    text = reply.refusal if reply.text is None and reply.refusal else reply.text
    if reply.fault is Fault.EMPTY_CHOICES:
        return _encoded(body)
    if request.path == "/api/generate":
        body["response"] = text
        return _encoded(body)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.fault is Fault.TOOL_CALL:
        message["content"] = ""
        message["tool_calls"] = [{"function": {"name": _OTHER_TOOL, "arguments": {"query": "x"}}}]
    body["message"] = message
    return _encoded(body)


def _tool_call(request: ServedRequest, reply: ServedReply) -> tuple[str, str] | None:
    """Name and JSON arguments of the tool call to send, or None for plain text."""
    if reply.fault is Fault.TOOL_CALL:
        return _OTHER_TOOL, '{"query": "x"}'
    if request.forced_tool is None or reply.text is None:
        return None
    try:
        is_object = isinstance(json.loads(reply.text), dict)
    except (ValueError, RecursionError):
        is_object = False
    # A model that breaks out of its tool answers in prose.
    return (request.forced_tool, reply.text) if is_object else None


def _plain(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [dict(item) for item in items]


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()
