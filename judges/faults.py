"""litellm's and the HTTP client's errors, mapped to our classes of fault in one place.

The map works on class names along the inheritance line, so that reading it loads nothing heavy; a
test checks that it covers every exception litellm defines.
"""

from __future__ import annotations

import os
import re
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from ..errors import FaultClass, ProviderError

# The nearest class name along the inheritance line decides; order within this table is free.
_BY_CLASS: dict[str, FaultClass] = {
    "AuthenticationError": "authentication",
    "PermissionDeniedError": "permission",
    "NotFoundError": "not_found",
    "LiteLLMUnknownProvider": "not_found",
    "ContextWindowExceededError": "context_length",
    "ContentPolicyViolationError": "content_policy",
    "GuardrailRaisedException": "content_policy",
    "BlockedPiiEntityError": "content_policy",
    "RejectedRequestError": "content_policy",
    "ModifyResponseException": "content_policy",
    "SensitiveDataRouteException": "content_policy",
    "UnsupportedParamsError": "unsupported_parameter",
    "PaymentRequiredError": "quota",
    "BudgetExceededError": "quota",
    "BadRequestError": "bad_request",
    "UnprocessableEntityError": "bad_request",
    "ModelNotMappedError": "internal",
    "RateLimitError": "rate_limit",
    "Timeout": "timeout",
    "APITimeoutError": "timeout",
    "TimeoutError": "timeout",
    "TimeoutException": "timeout",
    "APIConnectionError": "connection",
    "ConnectionError": "connection",
    "TransportError": "connection",
    "ClientError": "connection",
    "OSError": "connection",
    "ServiceUnavailableError": "server",
    "BadGatewayError": "server",
    "InternalServerError": "server",
    "APIResponseValidationError": "server",
    "APIError": "server",
    "OpenAIError": "server",
}

TRANSIENT: frozenset[FaultClass] = frozenset({"rate_limit", "timeout", "connection", "server"})
"""Faults after which the same call may succeed."""

CLOSES_BACKEND: frozenset[FaultClass] = frozenset({"authentication", "not_found", "quota"})
"""Faults that every further call to the same backend would meet too. A refused permission is not
among them: a filter in front of an endpoint refuses single texts with the same status."""

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance is too low|billing_hard_limit",
    re.IGNORECASE,
)
# litellm reports refused connections and failed look-ups as a server's error 500.
_NOT_CONNECTED = re.compile(
    r"connection error|cannot connect|connect call failed|connection refused|name or service not"
    r" known|name resolution|nodename nor servname|getaddrinfo|all connection attempts failed",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|structured[_ ]output|output_format"
    r"|output_config|guided_json|response_mime_type|grammar|\bformat\b",
    re.IGNORECASE,
)
_CREDENTIAL = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-]{8,}|Bearer\s+[A-Za-z0-9._\-]{8,}"
    r"|AIza[0-9A-Za-z_\-]{20,}"
)
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
_CUT_OFF = re.compile(
    r"JSONDecodeError|Expecting value|Unterminated|Expecting property|disconnect|payload"
    r"|ClientOSError|ConnectionReset|ReadError|RemoteProtocolError",
    re.IGNORECASE,
)
_BY_STATUS: dict[int, FaultClass] = {
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "server",
    409: "server",
    425: "server",
    429: "rate_limit",
}
_DETAIL_CHARACTERS = 600


def classify(error: BaseException) -> ProviderError:
    """The same fault in our terms, its text redacted."""
    if isinstance(error, ProviderError):
        return error
    text = f"{type(error).__name__}: {error}"
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    fault = _fault_of(error, text, status)
    return ProviderError(
        fault,
        redact(text),
        status=status,
        retry_after_s=_retry_after(error),
        # A refused connection or a 4xx cost nothing; a time-out or a broken body may have.
        may_be_billed=fault in ("timeout", "server", "bad_reply"),
    )


def is_about_format(error: ProviderError) -> bool:
    """Whether the endpoint objects to the way structured output was asked for."""
    return error.fault == "unsupported_parameter" or (
        error.fault == "bad_request" and bool(_FORMAT.search(error.detail))
    )


def redact(text: str, *, limit: int = _DETAIL_CHARACTERS) -> str:
    """The text without any key: by the values in the environment, and by the look of keys."""
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            text = text.replace(value, f"[{name}]")
    text = _CREDENTIAL.sub("[redacted]", text)
    text = text.partition(_TRACEBACK)[0] + _last_line(text) if _TRACEBACK in text else text
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)), ""
    )


def _fault_of(error: BaseException, text: str, status: int | None) -> FaultClass:
    fault: FaultClass = "internal"
    for cls in type(error).__mro__:
        if cls.__name__ in _BY_CLASS:
            fault = _BY_CLASS[cls.__name__]
            break
    if fault in ("rate_limit", "bad_request", "permission") and _QUOTA.search(text):
        return "quota"
    # The class is not the same for one status over litellm's providers; the status is.
    if status in _BY_STATUS and fault in ("bad_request", "server", "connection"):
        return _BY_STATUS[status]
    if fault in ("server", "connection") and _TRACEBACK in text and not _CUT_OFF.search(text):
        # litellm's reading of an answer fell over it and says "connection error": asking again
        # would buy the same answer again.
        return "bad_reply"
    if fault == "server" and _NOT_CONNECTED.search(text):
        return "connection"
    return fault


def _retry_after(error: BaseException) -> float | None:
    headers: Any = getattr(error, "litellm_response_headers", None)
    if not headers:
        headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        value = headers.get("retry-after") if headers else None
    except AttributeError:
        return None
    return parse_retry_after(value) if value is not None else None


def parse_retry_after(value: str) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None where it is neither."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (TypeError, ValueError, IndexError):
            return None
    if not 0 <= seconds < 1e9:  # also rejects nan
        return 0.0 if seconds < 0 else None
    return seconds
