"""From a scripted reply to an HTTP answer: error bodies of three protocols, faults worked in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import formatdate
from math import ceil
from time import time
from typing import Any, NamedTuple

from .exchange import HTTP_FAULTS, TEXT_FAULTS, Fault, ServedReply, ServedRequest, WireProtocol
from .protocols import write_reply

JSON_HEADERS = {"content-type": "application/json"}
_HTML_HEADERS = {"content-type": "text/html"}
_HTML_PAGE = (
    b"<!DOCTYPE html><html><head><title>Gateway</title></head>"
    b"<body><h1>Something between you and the model went wrong.</h1></body></html>"
)
_REQUEST_ID: dict[WireProtocol, str] = {"openai": "x-request-id", "anthropic": "request-id"}
_FORMAT: dict[WireProtocol, str] = {
    "openai": "response_format",
    "anthropic": "output_format",
    "ollama": "format",
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One HTTP answer before it is put on the wire; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Error(NamedTuple):
    """An error as providers tell it; texts may name {model}, {key} and {format}."""

    status: int
    openai_type: str
    anthropic_type: str
    message: str
    code: str | None = None
    param: str | None = None
    anthropic_message: str | None = None


_INVALID = "invalid_request_error"
_RATE = _Error(
    429,
    "requests",
    "rate_limit_error",
    "Rate limit reached for requests. Please try again later.",
    "rate_limit_exceeded",
)
_ERRORS: dict[Fault, _Error] = {
    Fault.RATE_LIMIT: _RATE,
    Fault.RATE_LIMIT_RETRY_AFTER: _RATE,
    Fault.RATE_LIMIT_RETRY_AFTER_DATE: _RATE,
    Fault.OVERLOADED: _Error(529, "server_error", "overloaded_error", "Overloaded"),
    Fault.SERVER_ERROR: _Error(500, "server_error", "api_error", "The server had an error."),
    Fault.UNAVAILABLE: _Error(
        503, "server_error", "api_error", "The service is unavailable for now."
    ),
    Fault.GATEWAY_TIMEOUT: _Error(504, "server_error", "timeout_error", "The model took too long."),
    Fault.QUOTA: _Error(
        429,
        "insufficient_quota",
        "rate_limit_error",
        "You exceeded your current quota (insufficient_quota): see to your billing.",
        "insufficient_quota",
    ),
    Fault.UNAUTHORIZED_ECHOING_KEY: _Error(
        401,
        _INVALID,
        "authentication_error",
        "Incorrect API key provided: {key}.",
        "invalid_api_key",
    ),
    Fault.FORBIDDEN: _Error(
        403,
        _INVALID,
        "permission_error",
        "This key may not use this resource.",
        "permission_denied",
    ),
    Fault.MODEL_NOT_FOUND: _Error(
        404, _INVALID, "not_found_error", "The model '{model}' was not found.", "model_not_found"
    ),
    # litellm tells a full context by these words, not by the code.
    Fault.CONTEXT_LENGTH: _Error(
        400,
        _INVALID,
        _INVALID,
        "This model's maximum context length is 8192 tokens, and 9000 were asked for.",
        "context_length_exceeded",
        "messages",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    Fault.CONTENT_POLICY: _Error(
        400,
        _INVALID,
        _INVALID,
        "Your request was rejected as a result of our safety system.",
        "content_policy_violation",
        None,
        "Output blocked by content filtering policy",
    ),
    Fault.RESPONSE_FORMAT_UNSUPPORTED: _Error(
        400,
        _INVALID,
        _INVALID,
        "{format}: this response_format is not supported by model {model}",
        "unsupported_parameter",
        "response_format",
    ),
    Fault.TEMPERATURE_UNSUPPORTED: _Error(
        400,
        _INVALID,
        _INVALID,
        "Unsupported value: 'temperature' may only be left at its default here.",
        "unsupported_value",
        "temperature",
    ),
}


def http_answer(
    request: ServedRequest, reply: ServedReply, *, api_key: str, retry_after_s: float
) -> HttpAnswer:
    """The HTTP answer of a reply; faults of the connection are left to the connection.

    Args:
        request: what was asked.
        reply: what the judge decided.
        api_key: the key that was sent, for the fault that echoes it.
        retry_after_s: what the Retry-After header says, for the faults that have one. A date has
            whole seconds only, so it names the next one.
    """
    if reply.fault is not None and reply.fault in HTTP_FAULTS:
        answer = _failure(request, reply.fault, api_key, retry_after_s)
    else:
        answer = _success(request, reply)
    name = _REQUEST_ID.get(request.protocol)
    identity = {name: f"req_{request.n}"} if name else {}
    return replace(answer, headers={**answer.headers, **identity, **reply.headers})


def _failure(
    request: ServedRequest, fault: Fault, api_key: str, retry_after_s: float
) -> HttpAnswer:
    if fault is Fault.BAD_GATEWAY:  # proxies answer in HTML, whatever is behind them
        return HttpAnswer(502, _HTML_HEADERS, _HTML_PAGE)
    protocol, error = request.protocol, _ERRORS[fault]
    said = (error.anthropic_message if protocol == "anthropic" else None) or error.message
    message = said.format(model=request.model, key=api_key, format=_FORMAT[protocol])
    headers = dict(JSON_HEADERS)
    if fault is Fault.RATE_LIMIT_RETRY_AFTER:
        headers["retry-after"] = f"{retry_after_s:g}"
    elif fault is Fault.RATE_LIMIT_RETRY_AFTER_DATE:
        headers["retry-after"] = formatdate(ceil(time() + retry_after_s), usegmt=True)
    return HttpAnswer(error.status, headers, error_body(protocol, message, error))


def _success(request: ServedRequest, reply: ServedReply) -> HttpAnswer:
    fault = reply.fault
    if fault is not None and fault in TEXT_FAULTS:
        reply = mangled(reply, fault)
    if reply.body is not None:
        body = reply.body
    elif reply.status != 200:
        body = error_body(request.protocol, reply.text or "")
    else:
        body = write_reply(request, reply)
    if fault is Fault.HTML_PAGE:
        return HttpAnswer(200, {"content-type": "text/html; charset=utf-8"}, _HTML_PAGE)
    if fault is Fault.WRONG_CONTENT_TYPE:
        return HttpAnswer(reply.status, {"content-type": "text/plain; charset=utf-8"}, body)
    if fault is Fault.TRUNCATED_BODY:
        body = body[: len(body) // 2]
    return HttpAnswer(reply.status, JSON_HEADERS, body)


_REJECTED = _Error(400, _INVALID, _INVALID, "")


def error_body(protocol: WireProtocol, message: str, error: _Error = _REJECTED) -> bytes:
    """The JSON error body of a protocol: the message, and what is told beside it."""
    body: dict[str, Any] = {"error": message}
    if protocol == "openai":
        named = {"type": error.openai_type, "param": error.param, "code": error.code}
        body = {"error": {"message": message, **named}}
    elif protocol == "anthropic":
        body = {"type": "error", "error": {"type": error.anthropic_type, "message": message}}
    return json.dumps(body).encode()


HUGE_BYTES = 6 * 1024 * 1024
NESTING = 100_000
"""Deeper than Python's recursion limit, which a careless reader meets."""

_REFUSAL = "I would rather not rate this text."
_GREEK = (
    "Η απάντηση είναι προσεγμένη αλλά όχι πλήρης, και θα της έδινα επτά στα δέκα, "
    "χωρίς να μπορώ να το γράψω με άλλον τρόπο."
)


def mangled(reply: ServedReply, fault: Fault) -> ServedReply:
    """The reply with a fault of `TEXT_FAULTS` worked into it, `reply.fault` cleared.

    Faults in a score take the first integer of the reply's JSON object; a reply that is no
    JSON object is first replaced by `{"overall": 7}`.

    Raises:
        ValueError: for a fault that is not in the text.
    """
    if fault not in TEXT_FAULTS:
        raise ValueError(f"{fault} is not a fault of the text")
    clean = replace(reply, fault=None)
    whole = _WHOLE.get(fault)
    return whole(clean) if whole else replace(clean, text=_in_score(clean, fault))


def _in_score(reply: ServedReply, fault: Fault) -> str:
    vote = _vote(reply)
    name = next(name for name, value in vote.items() if type(value) is int)
    score = vote[name]
    if fault is Fault.DUPLICATE_KEYS:
        # The first value is the honest one; most readers keep the last.
        return json.dumps(vote)[:-1] + f', "{name}": {score + 1}}}'
    if fault is Fault.DEEPLY_NESTED:
        deep = "[" * NESTING + "]" * NESTING
        return json.dumps({**vote, name: "@"}).replace('"@"', deep, 1)
    if fault is Fault.MISSING_KEY:
        del vote[name]
    elif fault is Fault.EXTRA_KEY:
        vote["unasked_remark"] = "this key is not in the schema"
    else:
        vote[name] = _WRONG_SCORE[fault](score)
    return json.dumps(vote)


def _vote(reply: ServedReply) -> dict[str, Any]:
    try:
        vote = json.loads(reply.text or "")
    except ValueError:
        vote = None
    if isinstance(vote, dict) and any(type(value) is int for value in vote.values()):
        return vote
    return {"overall": 7}


def _cut(reply: ServedReply) -> ServedReply:
    vote = json.dumps(_vote(reply))
    return replace(reply, text=vote[: len(vote) // 2], finish_reason="length")


_WRONG_SCORE: dict[Fault, Callable[[int], Any]] = {
    Fault.SCORE_AS_STRING: str,
    Fault.SCORE_AS_FLOAT: float,
    Fault.SCORE_AS_FRACTION: lambda score: score + 0.5,
    Fault.SCORE_AS_BOOLEAN: lambda score: True,
    Fault.SCORE_NULL: lambda score: None,
    Fault.OUT_OF_RANGE: lambda score: score + 1000,
    Fault.NOT_A_NUMBER: lambda score: float("nan"),
}

_WHOLE: dict[Fault, Callable[[ServedReply], ServedReply]] = {
    Fault.CONTENT_NULL: lambda reply: replace(reply, text=None),
    Fault.REFUSAL: lambda reply: replace(reply, text=None, refusal=reply.refusal or _REFUSAL),
    Fault.CUT_BY_LENGTH: _cut,
    Fault.CONTENT_FILTER: lambda reply: replace(reply, text="", finish_reason="content_filter"),
    Fault.HUGE: lambda reply: replace(reply, text="x" * HUGE_BYTES + (reply.text or "")),
    Fault.FENCED: lambda reply: replace(reply, text=f"```json\n{reply.text or ''}\n```"),
    Fault.PROSE_BEFORE: lambda reply: replace(
        reply, text=f"Having read it twice, this is my vote:\n\n{reply.text or ''}"
    ),
    Fault.OTHER_LANGUAGE: lambda reply: replace(reply, text=_GREEK),
}
