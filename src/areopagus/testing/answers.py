"""From a scripted reply to an HTTP answer: error bodies of three protocols, faults worked in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import formatdate
from math import ceil
from time import time
from typing import Any

from .exchange import (
    ENVELOPE_FAULTS,
    HTTP_FAULTS,
    TEXT_FAULTS,
    Fault,
    ServedReply,
    ServedRequest,
    WireProtocol,
)
from .protocols import write_reply

JSON_HEADERS = {"content-type": "application/json"}
HTML_PAGE = (
    b"<!DOCTYPE html><html><head><title>Gateway</title></head>"
    b"<body><h1>Something between you and the model went wrong.</h1></body></html>"
)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One HTTP answer before it is put on the wire; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Error:
    status: int
    openai_type: str
    code: str | None
    anthropic_type: str
    message: Callable[[WireProtocol, str, str], str]
    """From protocol, model and API key."""
    param: str | None = None


def _said(text: str) -> Callable[[WireProtocol, str, str], str]:
    return lambda protocol, model, api_key: text


def _context(protocol: WireProtocol, model: str, api_key: str) -> str:
    # litellm tells a full context by these words, not by the code.
    if protocol == "anthropic":
        return "prompt is too long: 210000 tokens > 200000 maximum"
    return "This model's maximum context length is 8192 tokens, and 9000 were asked for."


def _format(protocol: WireProtocol, model: str, api_key: str) -> str:
    name = {"openai": "response_format", "anthropic": "output_format", "ollama": "format"}
    return f"{name[protocol]}: this response_format is not supported by model {model}"


_RATE = _Error(
    429,
    "requests",
    "rate_limit_exceeded",
    "rate_limit_error",
    _said("Rate limit reached for requests. Please try again later."),
)

_ERRORS: dict[Fault, _Error] = {
    Fault.RATE_LIMIT: _RATE,
    Fault.RATE_LIMIT_RETRY_AFTER: _RATE,
    Fault.RATE_LIMIT_RETRY_AFTER_DATE: _RATE,
    Fault.QUOTA: _Error(
        429,
        "insufficient_quota",
        "insufficient_quota",
        "rate_limit_error",
        _said("You exceeded your current quota (insufficient_quota): see to your billing."),
    ),
    Fault.OVERLOADED: _Error(529, "server_error", None, "overloaded_error", _said("Overloaded")),
    Fault.SERVER_ERROR: _Error(
        500, "server_error", None, "api_error", _said("The server had an error.")
    ),
    Fault.UNAVAILABLE: _Error(
        503, "server_error", None, "api_error", _said("The service is unavailable for now.")
    ),
    Fault.GATEWAY_TIMEOUT: _Error(
        504, "server_error", None, "timeout_error", _said("The model took too long.")
    ),
    Fault.UNAUTHORIZED_ECHOING_KEY: _Error(
        401,
        "invalid_request_error",
        "invalid_api_key",
        "authentication_error",
        lambda protocol, model, api_key: f"Incorrect API key provided: {api_key}.",
    ),
    Fault.FORBIDDEN: _Error(
        403,
        "invalid_request_error",
        "permission_denied",
        "permission_error",
        _said("This key may not use this resource."),
    ),
    Fault.MODEL_NOT_FOUND: _Error(
        404,
        "invalid_request_error",
        "model_not_found",
        "not_found_error",
        lambda protocol, model, api_key: f"The model '{model}' was not found.",
    ),
    Fault.CONTEXT_LENGTH: _Error(
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "invalid_request_error",
        _context,
        "messages",
    ),
    Fault.CONTENT_POLICY: _Error(
        400,
        "invalid_request_error",
        "content_policy_violation",
        "invalid_request_error",
        lambda protocol, model, api_key: (
            "Output blocked by content filtering policy"
            if protocol == "anthropic"
            else "Your request was rejected as a result of our safety system."
        ),
    ),
    Fault.RESPONSE_FORMAT_UNSUPPORTED: _Error(
        400,
        "invalid_request_error",
        "unsupported_parameter",
        "invalid_request_error",
        _format,
        "response_format",
    ),
    Fault.TEMPERATURE_UNSUPPORTED: _Error(
        400,
        "invalid_request_error",
        "unsupported_value",
        "invalid_request_error",
        _said("Unsupported value: 'temperature' may only be left at its default here."),
        "temperature",
    ),
}


def fault_answer(
    fault: Fault, protocol: WireProtocol, model: str, *, api_key: str, retry_after_s: float
) -> HttpAnswer:
    """The HTTP answer of a fault in `HTTP_FAULTS`, in the error body of a protocol.

    Args:
        fault: which.
        protocol: whose error body.
        model: the model asked for, for the texts that name it.
        api_key: the key that was sent, for the text that echoes it.
        retry_after_s: what the Retry-After header says, where the fault has one. A date has
            whole seconds only, so it names the next one.
    """
    if fault is Fault.BAD_GATEWAY:  # proxies answer in HTML, whatever is behind them
        return HttpAnswer(502, {"content-type": "text/html"}, HTML_PAGE)
    error = _ERRORS[fault]
    headers = dict(JSON_HEADERS)
    if fault is Fault.RATE_LIMIT_RETRY_AFTER:
        headers["retry-after"] = f"{retry_after_s:g}"
    elif fault is Fault.RATE_LIMIT_RETRY_AFTER_DATE:
        headers["retry-after"] = formatdate(ceil(time() + retry_after_s), usegmt=True)
    body = error_body(
        protocol,
        error.message(protocol, model, api_key),
        openai_type=error.openai_type,
        anthropic_type=error.anthropic_type,
        code=error.code,
        param=error.param,
    )
    return HttpAnswer(error.status, headers, body)


def error_body(
    protocol: WireProtocol,
    message: str,
    *,
    openai_type: str = "invalid_request_error",
    anthropic_type: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
) -> bytes:
    """The JSON error body of a protocol."""
    if protocol == "openai":
        error = {"message": message, "type": openai_type, "param": param, "code": code}
        return json.dumps({"error": error}).encode()
    if protocol == "anthropic":
        return json.dumps(
            {"type": "error", "error": {"type": anthropic_type, "message": message}}
        ).encode()
    return json.dumps({"error": message}).encode()


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
    name = _first_score(vote)
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


def _first_score(vote: dict[str, Any]) -> str:
    return next(name for name, value in vote.items() if type(value) is int)


def _halved(text: str) -> str:
    return text[: max(1, len(text) // 2)]


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
    Fault.CUT_BY_LENGTH: lambda reply: replace(
        reply, text=_halved(json.dumps(_vote(reply))), finish_reason="length"
    ),
    Fault.CONTENT_FILTER: lambda reply: replace(reply, text="", finish_reason="content_filter"),
    Fault.HUGE: lambda reply: replace(reply, text="x" * HUGE_BYTES + (reply.text or "")),
    Fault.FENCED: lambda reply: replace(reply, text=f"```json\n{reply.text or ''}\n```"),
    Fault.PROSE_BEFORE: lambda reply: replace(
        reply, text=f"Having read it twice, this is my vote:\n\n{reply.text or ''}"
    ),
    Fault.OTHER_LANGUAGE: lambda reply: replace(reply, text=_GREEK),
}


_REQUEST_ID: dict[WireProtocol, str] = {"openai": "x-request-id", "anthropic": "request-id"}


def http_answer(
    request: ServedRequest, reply: ServedReply, *, api_key: str, retry_after_s: float
) -> HttpAnswer:
    """The HTTP answer of a reply; faults of the connection are left to the connection.

    Args:
        request: what was asked.
        reply: what the judge decided.
        api_key: the key that was sent, for the fault that echoes it.
        retry_after_s: for the faults with a Retry-After header.
    """
    fault = reply.fault
    if fault is not None and fault in HTTP_FAULTS:
        answer = fault_answer(
            fault, request.protocol, request.model, api_key=api_key, retry_after_s=retry_after_s
        )
    else:
        answer = _answer_200(request, reply, fault)
    name = _REQUEST_ID.get(request.protocol)
    identity = {name: f"req_{request.n}"} if name else {}
    return replace(answer, headers={**answer.headers, **identity, **reply.headers})


def _answer_200(request: ServedRequest, reply: ServedReply, fault: Fault | None) -> HttpAnswer:
    if fault is not None and fault in TEXT_FAULTS:
        reply = mangled(reply, fault)
    if reply.body is not None:
        body = reply.body
    elif reply.status != 200:
        body = error_body(request.protocol, reply.text or "")
    else:
        body = write_reply(request, reply)
    answer = HttpAnswer(reply.status, JSON_HEADERS, body)
    if fault not in ENVELOPE_FAULTS:
        return answer
    if fault is Fault.TRUNCATED_BODY:
        return replace(answer, body=body[: len(body) // 2])
    if fault is Fault.WRONG_CONTENT_TYPE:
        return replace(answer, headers={"content-type": "text/plain; charset=utf-8"})
    if fault is Fault.HTML_PAGE:
        return HttpAnswer(200, {"content-type": "text/html; charset=utf-8"}, HTML_PAGE)
    return answer
