"""What tests of the roads to the wire share: answers, odd and hostile ones, and who asks."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import Any

from areopagus.errors import ProviderError
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.request import JsonSchema, Request
from areopagus.records.types import Reply

SCHEMA = {
    "type": "object",
    "properties": {"overall": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["overall"],
    "additionalProperties": False,
}
CANARY = "canary-77ab520d9c1f"
VOTE = '{"overall": 7}'
OPENAI = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "served",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": VOTE, "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909},
}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "served",
    "content": [{"type": "text", "text": VOTE}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 900, "output_tokens": 9},
}
ANTHROPIC_TOOL = {
    **ANTHROPIC,
    "content": [{"type": "tool_use", "id": "t", "name": "json_tool_call", "input": {"overall": 7}}],
    "stop_reason": "tool_use",
}
OLLAMA = {
    "model": "served",
    "created_at": "2026-01-01T00:00:00Z",
    "done": True,
    "done_reason": "stop",
    "message": {"role": "assistant", "content": VOTE},
    "prompt_eval_count": 900,
    "eval_count": 9,
}
GEMINI = {
    "candidates": [
        {"content": {"parts": [{"text": VOTE}], "role": "model"}, "finishReason": "STOP"}
    ],
    "usageMetadata": {
        "promptTokenCount": 900,
        "candidatesTokenCount": 9,
        "totalTokenCount": 909,
        "cachedContentTokenCount": 512,
    },
    "modelVersion": "served",
    "responseId": "r",
}
ANSWERS: dict[str, Any] = {
    "openai/gpt-4o-mini": OPENAI,
    "openai/x": OPENAI,
    "openai/o3": OPENAI,
    "openai/gpt-5-mini": OPENAI,
    "hosted_vllm/x": OPENAI,
    "lm_studio/x": OPENAI,
    "mistral/mistral-small-latest": OPENAI,
    "deepseek/deepseek-chat": OPENAI,
    "openrouter/meta/x": OPENAI,
    "together_ai/x": OPENAI,
    "anthropic/claude-sonnet-4-5": ANTHROPIC,
    "anthropic/claude-3-haiku-20240307": ANTHROPIC_TOOL,
    "ollama_chat/x": OLLAMA,
    "gemini/gemini-2.5-flash": GEMINI,
}
# What a writer of JSON, or a translation between providers, might treat differently, in one text.
ODD_TEXT = "\n\n".join(
    (
        'Quotes " and \\ backslashes \\n, braces {"overall": 10}, </script>',
        "Zeile\nfür Zeile\ttab\r\n — “curly” … ελληνικά 日本語 🙂 \u2028 \x7f end",
        "<<<RESPONSE 0123456789abcdef>>>\nImage https://a.example/a.png data:image/png;base64,AAAA",
        "x" * 20_000,
    )
)

KINDS: dict[str, dict[str, Any]] = {
    "json_schema": {},
    "json_object": {"structured": "json_object"},
    "prompt": {"structured": "prompt"},
    "no system": {"messages": "user alone", "schema": None},
}

ODD: dict[str, Any] = {
    "no usage": {**OPENAI, "usage": None},
    "usage of words": {**OPENAI, "usage": {"prompt_tokens": "many", "completion_tokens": []}},
    "no choices": {**OPENAI, "choices": []},
    "two choices": {**OPENAI, "choices": OPENAI["choices"] * 2},  # type: ignore[operator]
    "no message": {**OPENAI, "choices": [{"index": 0, "finish_reason": "stop"}]},
    "a list": [OPENAI],
    "a number": 7,
    "an error with status 200": {"error": {"message": "overloaded", "code": 503}},
    "text in parts": {
        **OPENAI,
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": [{"type": "text", "text": VOTE}]},
            }
        ],
    },
    "thoughts": {
        **OPENAI,
        "choices": [
            {
                "index": 0,
                "finish_reason": "eos",
                "message": {
                    "role": "assistant",
                    "content": f"<think>Hm.</think>{VOTE}",
                    "reasoning_content": "Hm.",
                },
            }
        ],
    },
    "cached and reasoned": {
        **OPENAI,
        "usage": {
            "prompt_tokens": 2000,
            "completion_tokens": 300,
            "total_tokens": 2300,
            "prompt_tokens_details": {"cached_tokens": 1024},
            "completion_tokens_details": {"reasoning_tokens": 256},
        },
    },
    "priority service": {**OPENAI, "service_tier": "priority"},
}

# The ways on which a call goes out: translated by us for one protocol or the other, and by
# litellm's own call through either of its two kinds of client.
WAYS = (
    ("openai/x", "auto"),
    ("anthropic/claude-sonnet-4-5", "auto"),
    ("openai/x", "litellm"),
    ("hosted_vllm/x", "litellm"),
)
PROTOCOLS = {
    "openai/x": "openai",
    "hosted_vllm/x": "openai",
    "anthropic/claude-sonnet-4-5": "anthropic",
    "ollama_chat/x": "ollama",
}


@dataclass
class Recorder:
    """A server that keeps the raw requests and gives one answer to all."""

    body: bytes = b""
    head: str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    port: int = 0
    raw: list[tuple[str, list[tuple[str, str]], bytes]] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                pairs = [line.partition(": ") for line in lines[1:] if line]
                headers = [(name.lower(), value) for name, _, value in pairs]
                length = int(dict(headers).get("content-length", "0"))
                self.raw.append((lines[0], headers, await reader.readexactly(length)))
                answer = f"{self.head}content-length: {len(self.body)}\r\n\r\n"
                writer.write(answer.encode() + self.body)
        writer.close()


def backend(model: str, base: str, **settings: Any) -> LitellmBackend:
    given = {"api_base": base, "api_key_env": "OUR_ACCESS", "timeout_s": 20.0, **settings}
    return LitellmBackend(BackendSpec(model=model, **given))


def request(asked: LitellmBackend, text: str = "A text.", **changes: Any) -> Request:
    values: dict[str, Any] = {
        "backend": asked.spec.model,
        "endpoint": asked.spec.api_base or "",
        "messages": (
            {"role": "system", "content": "Judge “fairly”."},
            {"role": "user", "content": text},
        ),
        "params": asked.spec.parameters(),
        "schema": JsonSchema(SCHEMA),
        "structured": "json_schema",
    }
    return Request(**{**values, **changes})


def alone(changes: dict[str, Any], text: str) -> dict[str, Any]:
    if changes.get("messages") != "user alone":
        return changes
    return {**changes, "messages": ({"role": "user", "content": text},)}


def lasting(reply: Reply) -> Reply:
    """All of a reply but times, and the id that litellm makes up for some providers."""
    return replace(reply, latency_s=None, created_at=0.0, request_id=None)


async def outcome(asked: LitellmBackend) -> Any:
    try:
        return lasting(await asked.send(request(asked)))
    except ProviderError as error:
        return (error.fault, error.detail, error.status, error.may_be_billed, error.retry_after_s)


def comparable(found: Any) -> Any:
    if isinstance(found, Reply):
        return found
    fault, detail, status, billed, after = found
    # Running numbers of requests and times stand in some texts.
    return (fault, status, billed, None if after is None else round(after), detail[:12])
