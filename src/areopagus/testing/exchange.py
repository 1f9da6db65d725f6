"""What a scripted judge is asked and what it answers, the same for every protocol."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .faults import Fault

WireProtocol: TypeAlias = Literal["openai", "anthropic", "ollama"]
Structured: TypeAlias = Literal["json_schema", "json_object"]

_NONCE = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{16}(?![0-9a-fA-F])")


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One call as the endpoint saw it.

    Attributes:
        protocol: which of the three protocols was spoken.
        path: the path of the URL.
        model: the model asked for, without litellm's provider prefix.
        messages: role and content (as text) in order; Anthropic's system text comes first.
        params: the whole request body.
        headers: lower-case names; the values of key headers are masked.
        schema: the JSON Schema asked for, in whichever form the protocol has; else None.
        structured: "json_schema", "json_object" or None for free text.
        forced_tool: the name of the tool that must be called, where a schema came that way.
        n: running number of the request on this server, from 1.
        attempt: how often this key has been asked since the server's last `reset`, from 1.
        key: SHA-256 of model and messages, with marker nonces (16 hex digits) masked, so that
            it is the same on every rerun.
        time: seconds since the epoch when the request had arrived whole.
    """

    protocol: WireProtocol
    path: str
    model: str
    messages: tuple[dict[str, str], ...]
    params: Mapping[str, Any]
    headers: Mapping[str, str]
    schema: Mapping[str, Any] | None
    structured: Structured | None
    forced_tool: str | None
    n: int
    attempt: int
    key: str
    time: float

    def text_of(self, role: str) -> str:
        """The contents of all messages of a role, joined by blank lines."""
        return "\n\n".join(m["content"] for m in self.messages if m["role"] == role)

    @property
    def prompt(self) -> str:
        """The content of the last user message; "" where there is none."""
        for message in reversed(self.messages):
            if message["role"] == "user":
                return message["content"]
        return ""


@dataclass(frozen=True, slots=True)
class ServedReply:
    """What the endpoint says back.

    Attributes:
        text: the model's text; None is sent as a null content.
        finish_reason: in OpenAI's words; translated for the other protocols.
        refusal: the refusal field (OpenAI), or the refusal stop reason (Anthropic).
        usage: input tokens (cached ones included), output tokens, cached input tokens; None
            counts a token for every four characters.
        cache_written: input tokens put into the provider's prefix cache (told by Anthropic only).
        status: HTTP status; other than 200, the protocol's error body carries `text`.
        headers: added to the answer's headers, or replacing them (names in lower case).
        delay_s: seconds to wait before answering, on top of the server's own delay.
        model: the model that says it answered; None for the one asked.
        body: the exact bytes of the answer, instead of the protocol's.
        logprobs: the list under `logprobs.content` (OpenAI only).
        fault: what to do wrong on the way.
    """

    text: str | None
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: tuple[int, int, int] | None = None
    cache_written: int = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    model: str | None = None
    body: bytes | None = None
    logprobs: Sequence[Mapping[str, Any]] | None = None
    fault: Fault | None = None


ScriptedJudge: TypeAlias = Callable[[ServedRequest], ServedReply]
"""Decides a reply. Called on the server's own thread, one call at a time: keep it quick."""


def request_key(model: str, messages: Sequence[Mapping[str, str]]) -> str:
    """The SHA-256 (hex) of a model and its messages, with 16-digit hex nonces masked."""
    parts = [model]
    for message in messages:
        parts.append(message["role"])
        parts.append(_NONCE.sub("#" * 16, message["content"]))
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
