"""What a scripted judge is asked and what it answers, for every protocol; and faults by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias


class Fault(StrEnum):
    """One thing that a `ProviderServer` can do wrong on purpose.

    A refused connection is `ProviderServer.stop()`; an endpoint that comes back is `start()`.
    """

    # Answered with an HTTP error, in the error body of the protocol that was spoken.
    RATE_LIMIT = "rate_limit"
    RATE_LIMIT_RETRY_AFTER = "rate_limit_retry_after"
    RATE_LIMIT_RETRY_AFTER_DATE = "rate_limit_retry_after_date"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    BAD_GATEWAY = "bad_gateway"
    UNAVAILABLE = "unavailable"
    GATEWAY_TIMEOUT = "gateway_timeout"
    QUOTA = "quota"
    UNAUTHORIZED_ECHOING_KEY = "unauthorized_echoing_key"
    FORBIDDEN = "forbidden"
    MODEL_NOT_FOUND = "model_not_found"
    CONTEXT_LENGTH = "context_length"
    CONTENT_POLICY = "content_policy"
    RESPONSE_FORMAT_UNSUPPORTED = "response_format_unsupported"
    TEMPERATURE_UNSUPPORTED = "temperature_unsupported"

    # The connection itself.
    RESET_BEFORE_ANSWER = "reset_before_answer"
    RESET_MID_BODY = "reset_mid_body"
    CLOSE_BEFORE_ANSWER = "close_before_answer"
    CLOSE_MID_BODY = "close_mid_body"
    HANG = "hang"
    TRICKLE = "trickle"

    # A status of 200 around a body that is not the protocol's.
    TRUNCATED_BODY = "truncated_body"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    HTML_PAGE = "html_page"
    EMPTY_CHOICES = "empty_choices"
    TOOL_CALL = "tool_call"

    # A proper answer without a proper vote in it.
    CONTENT_NULL = "content_null"
    REFUSAL = "refusal"
    CUT_BY_LENGTH = "cut_by_length"
    CONTENT_FILTER = "content_filter"
    HUGE = "huge"
    FENCED = "fenced"
    PROSE_BEFORE = "prose_before"
    DUPLICATE_KEYS = "duplicate_keys"
    SCORE_AS_STRING = "score_as_string"
    SCORE_AS_FLOAT = "score_as_float"
    SCORE_AS_FRACTION = "score_as_fraction"
    SCORE_AS_BOOLEAN = "score_as_boolean"
    SCORE_NULL = "score_null"
    OUT_OF_RANGE = "out_of_range"
    MISSING_KEY = "missing_key"
    EXTRA_KEY = "extra_key"
    NOT_A_NUMBER = "not_a_number"
    DEEPLY_NESTED = "deeply_nested"
    OTHER_LANGUAGE = "other_language"


def _from(first: Fault, last: Fault) -> frozenset[Fault]:
    """The faults from one to another, both included, as they stand above."""
    faults = list(Fault)
    return frozenset(faults[faults.index(first) : faults.index(last) + 1])


HTTP_FAULTS = _from(Fault.RATE_LIMIT, Fault.TEMPERATURE_UNSUPPORTED)
"""Answered with a status other than 200."""
TRANSPORT_FAULTS = _from(Fault.RESET_BEFORE_ANSWER, Fault.TRICKLE)
"""The connection breaks, stalls or crawls."""
ENVELOPE_FAULTS = _from(Fault.TRUNCATED_BODY, Fault.TOOL_CALL)
"""Status 200 around something that is not the answer asked for."""
TEXT_FAULTS = _from(Fault.CONTENT_NULL, Fault.OTHER_LANGUAGE)
"""The protocol is kept; what the model says is wrong."""
TRANSIENT_FAULTS = (
    _from(Fault.RATE_LIMIT, Fault.GATEWAY_TIMEOUT) | TRANSPORT_FAULTS | {Fault.TRUNCATED_BODY}
)
"""Those after which the same call may well succeed."""


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
