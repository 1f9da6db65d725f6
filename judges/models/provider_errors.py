"""Maps the errors of litellm and of the HTTP client to our classes of fault.

The map works on class names along the inheritance line, so that reading it loads nothing heavy; a
test checks that it covers every exception litellm defines.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar

from ...errors import FaultClass, ProviderError
from .connections import HttpError
from .credentials import TRACEBACK, redact

T = TypeVar("T")

# The nearest class name along the inheritance line decides; order within this table is free.
_BY_CLASS: dict[str, FaultClass] = {
    "AuthenticationError": "authentication",
    "PermissionDeniedError": "permission",
    "NotFoundError": "not_found",
    "RedirectedError": "not_found",
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
    "ServerTimeoutError": "timeout",
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
    # Google's sentence is the same for a limit by the minute; what ends for the day says PerDay.
    r"insufficient_quota|\w*PerDay\w*|\blimit: 0(?![.\d])|credit balance is too low"
    r"|billing_hard_limit",
    re.IGNORECASE,
)
# litellm reports refused connections, failed look-ups and connections that break off as a server's
# error 500; what it really was stands among the causes. The first three cost nothing. A reset can
# carry the same class as a refusal (the HTTP client's ConnectError), so it is told first.
_BROKEN_OFF = frozenset(
    {
        "ClientPayloadError",
        "ConnectionResetError",
        "ContentLengthError",
        "IncompleteRead",
        "ReadError",
        "RemoteProtocolError",
        "ServerDisconnectedError",
        "BrokenPipeError",
        "WriteError",
    }
)
_NOT_CONNECTED = frozenset(
    {"ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"}
)
_OF_CONNECTIONS = _BROKEN_OFF | _NOT_CONNECTED | {"ClientError", "OSError", "TransportError"}
# Two providers' full contexts and filters come through litellm as plain bad requests.
_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|context window|prompt is too long"
    r"|exceeds? (?:the )?(?:available )?context",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"content_policy_violation|content filter|as a result of our safety system", re.IGNORECASE
)
_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|structured[_ ]output|output_format"
    r"|output_config|guided_json|response_mime_type|grammar|\bformat\b",
    re.IGNORECASE,
)
_NAMES_FORMAT = re.compile(
    r"response[_ ]format|json[_ ]schema|json[_ ]object|structured[_ ]outputs?|response_mime_type",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(
    r"JSONDecodeError|Expecting value|Unterminated|Expecting property|disconnect|payload"
    r"|ClientOSError|ConnectionReset|ReadError|RemoteProtocolError",
    re.IGNORECASE,
)
_RETRY_DELAY = re.compile(r"\"retryDelay\"\s*:\s*\"([\d.]+s)\"")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}
_YEAR_2001 = 1e9
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid")
_BY_STATUS: dict[int, FaultClass] = {
    400: "bad_request",
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "server",
    413: "context_length",
    422: "bad_request",
    425: "server",
    429: "rate_limit",
    504: "timeout",
}
_TURNED_AWAY = frozenset({503, 529})
"""Statuses of a provider that has no room for the call, and so has not begun it."""


async def one_attempt(
    attempt: Awaitable[T], timeout_s: float, secrets: Callable[[], Sequence[str]]
) -> T:
    """What an attempt brings; it ends after so many seconds, and whatever it raises in our terms.

    Args:
        attempt: what is awaited.
        timeout_s: for all of it: a server that drips a byte a second passes a limit on each read.
        secrets: keys that were sent; see `classify`.

    Raises:
        ProviderError: instead of any other exception.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await attempt
    except TimeoutError as error:
        raise ProviderError(
            "timeout", f"no answer within {timeout_s:g} s", may_be_billed=True
        ) from error
    except Exception as error:
        raise classify(error, secrets=secrets()) from error


def classify(error: BaseException, *, secrets: Sequence[str] = ()) -> ProviderError:
    """The same fault in our terms, its text redacted.

    Args:
        error: what litellm, a chat model or an HTTP client raised.
        secrets: keys that were sent and must not be shown, whatever they look like.
    """
    if isinstance(error, ProviderError):
        return error
    body = error.text if isinstance(error, HttpError) else ""
    text = str(error) if body else f"{type(error).__name__}: {error}"
    status = _status(error)
    causes = frozenset().union(*map(_class_names, _chain(error)))
    fault = _fault_of(error, text, body, status, causes)
    told = text + _reason(error, text) if fault == "connection" else text
    if fault == "bad_reply":  # a traceback of litellm's reading
        told = "litellm could not read the answer: it is not in the provider's form"
    return ProviderError(
        fault,
        redact(told, secrets=secrets),
        status=status,
        retry_after_s=_retry_after(error, body, status),
        may_be_billed=_may_be_billed(fault, status, causes, text),
    )


def is_about_format(error: ProviderError) -> bool:
    """Whether the endpoint objects to the way structured output was asked for."""
    if error.fault == "unsupported_parameter":
        return True
    if error.fault == "bad_request":
        return bool(_FORMAT.search(error.detail))
    # Some servers refuse a format with another status: llama-cpp-python with 500. A server that is
    # overloaded, or a key that is refused, says nothing of formats whatever words it uses.
    return (
        error.fault in ("server", "not_found", "permission")
        and error.status not in (None, 401, 402, 429, 502, 503, 504, 529)
        and bool(_NAMES_FORMAT.search(error.detail))
    )


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _class_names(error: BaseException) -> frozenset[str]:
    """The names of its class and of those that it inherits from."""
    return frozenset(cls.__name__ for cls in type(error).__mro__)


def _reason(error: BaseException, text: str) -> str:
    """What the system said of a connection: some of litellm's errors say "Connection error"."""
    said = [str(link) for link in _chain(error) if _class_names(link) & _OF_CONNECTIONS]
    return f" ({said[-1]})" if said and said[-1] and said[-1] not in text else ""


def _code(error: BaseException) -> str:
    """What the endpoint calls the fault beside its sentence, which litellm does not always tell."""
    body = getattr(error, "body", None)
    if not isinstance(body, Mapping):
        return ""
    return " ".join(str(body[name]) for name in ("type", "code") if isinstance(body.get(name), str))


def _fault_of(
    error: BaseException, text: str, body: str, status: int | None, causes: frozenset[str]
) -> FaultClass:
    lineage = [cls.__name__ for cls in type(error).__mro__]
    nearest = next((name for name in lineage if name in _BY_CLASS), None)
    fault: FaultClass = "internal" if nearest is None else _BY_CLASS[nearest]
    # The class is not the same for one status over litellm's providers and the HTTP clients of
    # chat models; the status is.
    if status is not None and fault in ("bad_request", "server", "connection", "internal"):
        if fault == "internal" and status >= 500:
            fault = "server"
        fault = _BY_STATUS.get(status, fault)
    said = f"{text} {_code(error)} {body}"
    if fault == "bad_request" and _BAD_KEY.search(said):
        return "authentication"
    if fault in ("rate_limit", "bad_request", "permission") and _QUOTA.search(said):
        return "quota"
    if fault == "bad_request" and _CONTEXT.search(said):
        return "context_length"
    if fault == "bad_request" and _POLICY.search(said):
        return "content_policy"
    if fault in ("server", "connection") and TRACEBACK in text and not _CUT_OFF.search(text):
        # litellm's reading of an answer fell over it and says "connection error": asking again
        # would buy the same answer again.
        return "bad_reply"
    if fault == "server" and causes & (_BROKEN_OFF | _NOT_CONNECTED):
        return "connection"
    if fault == "connection" and "JSONDecodeError" in causes:
        return "server"
    return fault


def _may_be_billed(
    fault: FaultClass, status: int | None, causes: frozenset[str], text: str
) -> bool:
    """Whether the provider may have worked for nothing: it answers a 4xx before it begins."""
    if fault == "connection":
        return not causes & _NOT_CONNECTED or bool(causes & _BROKEN_OFF)
    if fault in ("timeout", "bad_reply"):
        return True
    # One of litellm's providers turns the status of an overload into 500.
    return fault == "server" and status not in _TURNED_AWAY and "overloaded_error" not in text


def _retry_after(error: BaseException, body: str, status: int | None) -> float | None:
    """Seconds after which the endpoint wants to be asked again, in whichever form it says so."""
    headers = _headers(error)
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        seconds = parse_wait(headers[name], unit) if name in headers else None
        if seconds is not None:
            return seconds
    said = _RETRY_DELAY.search(body or str(error))
    if said is not None:
        return parse_wait(said[1])
    return _until_reset(headers) if status == 429 else None


def _headers(error: BaseException) -> dict[str, str]:
    headers: Any = getattr(error, "litellm_response_headers", None)
    if not headers:
        headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return {str(name).lower(): str(value) for name, value in headers.items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """When the limits that are used up begin anew: x-ratelimit-reset-*, anthropic-ratelimit-*."""
    waits: dict[str, float] = {}
    for name, value in headers.items():
        if "ratelimit" in name and "reset" in name and (wait := parse_wait(value)) is not None:
            waits[name.replace("reset", "remaining")] = wait
    used_up = [waits[left] for left in waits if headers.get(left, "").strip() in ("0", "0.0")]
    return max(used_up) if used_up else min(waits.values(), default=None)


def parse_wait(value: str, unit: float = 1.0) -> float | None:
    """Seconds from now, 0.0 for what is past; None where it cannot be read.

    Args:
        value: a number ("12"), spans ("6m0s", "350ms"), a time in seconds or milliseconds since
            1970, or a date of HTTP or of ISO 8601.
        unit: seconds in one of the number.
    """
    spans = _SPAN.findall(value)
    if spans and "".join(number + name for number, name in spans) == value.strip():
        return sum(float(number) * _SECONDS[name] for number, name in spans)
    try:
        seconds = float(value) * unit
    except ValueError:
        moment = _moment(value)
        if moment is None:
            return None
        seconds = moment.timestamp() - time()
    else:
        if seconds > _YEAR_2001:
            seconds = (seconds / 1000 if seconds > _YEAR_2001 * 1000 else seconds) - time()
    if not seconds < _YEAR_2001:  # also rejects nan
        return None
    return max(0.0, seconds)


def _moment(value: str) -> datetime | None:
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(value)
            # "-0000" is read as a time without a zone, which would be taken for local time.
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
    return None
