"""The error answers of the three protocols, as litellm reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from math import ceil
from time import time

from .exchange import WireProtocol
from .faults import Fault

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
    headers = {"content-type": "application/json"}
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
