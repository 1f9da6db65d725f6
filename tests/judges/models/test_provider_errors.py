"""Every way in which a call can fail, in our own classes: by litellm's word and by the wire's."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from areopagus.errors import FAULT_CLASSES, ProviderError
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.provider_errors import (
    CLOSES_BACKEND,
    TRANSIENT,
    classify,
    is_about_format,
    parse_wait,
)
from areopagus.judges.models.request import Request
from areopagus.testing import (
    ENVELOPE_FAULTS,
    HTTP_FAULTS,
    TRANSPORT_FAULTS,
    Fault,
    ProviderServer,
    constant,
)

CANARY = "canary-71e0b2f3c6d8"
BASES = {"openai/x": "openai", "anthropic/x": "anthropic", "ollama_chat/x": "ollama"}


def chained(error: Exception, *causes: Exception) -> Exception:
    link: BaseException = error
    for cause in causes:
        link.__cause__ = cause
        link = cause
    return error


# The map ------------------------------------------------------------------------------------------


def exceptions_of_litellm() -> list[type[BaseException]]:
    module = litellm_module().exceptions
    return [
        found
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Exception) and found.__module__ == module.__name__
    ]


def test_the_map_covers_every_exception_that_litellm_defines() -> None:
    known = exceptions_of_litellm()
    assert len(known) >= 20
    for found in known:
        # A subclass that needs no arguments and has no status: the class alone must say it.
        blank = type("Blank", (found,), {"__init__": lambda self: None, "__str__": lambda self: ""})
        fault = classify(blank()).fault
        if found.__name__ in ("ModelNotMappedError", "MockException"):
            continue
        assert fault != "internal", found.__name__
        assert fault in FAULT_CLASSES


@pytest.mark.parametrize(
    ("name", "code", "fault"),
    [
        ("RateLimitError", "insufficient_quota", "quota"),
        ("BadRequestError", "context_length_exceeded", "context_length"),
        ("BadRequestError", "content_policy_violation", "content_policy"),
        ("BadRequestError", None, "bad_request"),
    ],
)
def test_the_code_of_a_fault_says_what_its_sentence_leaves_out(
    name: str, code: str | None, fault: str
) -> None:
    # From 1.109 on litellm's text is the endpoint's sentence alone.
    error = type(name, (Exception,), {"body": {"message": "No.", "type": None, "code": code}})
    assert classify(error("No.")).fault == fault
    assert classify(type(name, (Exception,), {"body": ["code"]})("No.")).fault != "quota"


def test_what_nobody_foresaw_is_a_defect_of_our_own_and_is_not_tried_again() -> None:
    assert classify(ZeroDivisionError("x")).fault == "internal"
    assert "internal" not in TRANSIENT


def test_one_of_our_own_errors_stays_as_it_is() -> None:
    error = ProviderError("quota", "no more")
    assert classify(error) is error


def test_no_fault_is_both_passing_and_closing() -> None:
    assert not TRANSIENT & CLOSES_BACKEND
    assert set(FAULT_CLASSES) >= TRANSIENT | CLOSES_BACKEND


STATUSES = {
    400: "bad_request",
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "server",
    422: "bad_request",
    429: "rate_limit",
    500: "server",
    503: "server",
    529: "server",
}


def test_an_http_clients_own_error_is_read_by_its_status() -> None:
    # Chat models raise what their client raises; httpx keeps the status in the response.
    request = httpx.Request("POST", "http://h")
    for status, fault in STATUSES.items():
        response = httpx.Response(status, request=request, headers={"Retry-After": "7"})
        found = classify(httpx.HTTPStatusError("no", request=request, response=response))
        assert (found.fault, found.status, found.retry_after_s) == (fault, status, 7.0)


@pytest.mark.parametrize(
    ("error", "fault", "billed"),
    [
        (httpx.ConnectError("refused"), "connection", False),
        (httpx.ConnectTimeout("slow"), "timeout", True),
        (httpx.ReadTimeout("slow"), "timeout", True),
        (httpx.ReadError("cut"), "connection", True),
        (httpx.RemoteProtocolError("cut"), "connection", True),
        (ConnectionRefusedError("no"), "connection", False),
        (ConnectionResetError("cut"), "connection", True),
        (TimeoutError("slow"), "timeout", True),
        # The client's word for a reset is the one for a refusal; the system's is not.
        (chained(httpx.ConnectError("x"), ConnectionResetError("x")), "connection", True),
        (chained(httpx.ConnectError("x"), ConnectionRefusedError("x")), "connection", False),
    ],
)
def test_a_call_that_was_never_sent_was_not_billed(
    error: Exception, fault: str, billed: bool
) -> None:
    found = classify(error)
    assert (found.fault, found.may_be_billed) == (fault, billed)


def test_causes_that_go_in_a_circle_end() -> None:
    first, second = ValueError("a"), KeyError("b")
    first.__cause__, second.__context__ = second, first
    assert classify(first).fault == "internal"


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (ProviderError("unsupported_parameter", "whatever"), True),
        (ProviderError("bad_request", "response_format is not supported"), True),
        (ProviderError("bad_request", "Unknown field: json_schema"), True),
        (ProviderError("bad_request", "guided_json: bad grammar"), True),
        (ProviderError("bad_request", "temperature must be 1"), False),
        (ProviderError("server", "response_format broke us"), False),
        (ProviderError("authentication", "response_format"), False),
    ],
)
def test_an_objection_to_the_form_is_told_from_others(error: ProviderError, is_it: bool) -> None:
    assert is_about_format(error) is is_it


def test_a_key_that_was_sent_is_replaced_whatever_it_looks_like_or_is_called() -> None:
    shown = classify(ValueError("not 9f3k2"), secrets=["9f3k2"]).detail
    assert "9f3k2" not in shown


# Retry-After --------------------------------------------------------------------------------------


WAITS: dict[str, float | None] = {
    "3": 3.0,
    "0": 0.0,
    "0.5": 0.5,
    "-1": 0.0,
    "nan": None,
    "inf": None,
    "-inf": 0.0,
    "1e300": None,
    "1.2.3s": None,
    "soon": None,
    "": None,
    "Wed, 21 Oct 2015 07:28:00 GMT": 0.0,
    "Wed, 99 Oct 2015 07:28:00 GMT": None,
    "Wed, 21 Oct 99999999 07:28:00 GMT": None,
}


def test_retry_after_is_a_number_or_a_date_or_nothing() -> None:
    assert {value: parse_wait(value) for value in WAITS} == WAITS


def test_a_date_is_read_in_its_own_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        in_a_minute = formatdate(time.time() + 60, usegmt=True)
        for date in (in_a_minute, in_a_minute.replace("GMT", "-0000")):
            assert parse_wait(date) == pytest.approx(60, abs=2)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_header_is_found_however_it_is_written() -> None:
    error = ValueError("slow down")
    for name in ("Retry-After", "retry-after"):
        error.litellm_response_headers = {name: "4"}  # type: ignore[attr-defined]
        assert classify(error).retry_after_s == 4.0


# The wire -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer(retry_after_s=3, trickle_s=0.05) as running:
        yield running


@pytest.fixture
async def fault_of(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    monkeypatch.setenv("OUR_ACCESS", CANARY)

    async def fault_of(model: str, fault: Fault, *, timeout_s: float = 10) -> ProviderError | None:
        server.reset()
        server.judge = constant(fault)
        spec = BackendSpec(
            model=model,
            api_base=server.bases[BASES[model]],
            api_key_env="OUR_ACCESS",
            timeout_s=timeout_s,
        )
        messages = ({"role": "user", "content": "A text."},)
        request = Request(model, spec.api_base or "", messages, spec.parameters())
        error: ProviderError | None = None
        try:
            await LitellmBackend(spec).send(request)
        except ProviderError as raised:
            error = raised
        assert server.counts.total == 1, "one send is one attempt"
        for hidden in (CANARY, "Traceback", "/site-packages/"):
            assert hidden not in f"{error}"
        return error

    yield fault_of
    await litellm_module().close_litellm_async_clients()
    litellm_module().in_memory_llm_clients_cache.flush_cache()


# fault: class, whether it may be billed
HTTP: dict[Fault, tuple[str, bool]] = {
    Fault.RATE_LIMIT: ("rate_limit", False),
    Fault.RATE_LIMIT_RETRY_AFTER: ("rate_limit", False),
    Fault.RATE_LIMIT_RETRY_AFTER_DATE: ("rate_limit", False),
    Fault.QUOTA: ("quota", False),
    Fault.OVERLOADED: ("server", False),
    Fault.SERVER_ERROR: ("server", True),
    Fault.BAD_GATEWAY: ("server", True),
    Fault.UNAVAILABLE: ("server", False),
    Fault.GATEWAY_TIMEOUT: ("timeout", True),
    Fault.UNAUTHORIZED_ECHOING_KEY: ("authentication", False),
    Fault.FORBIDDEN: ("permission", False),
    Fault.MODEL_NOT_FOUND: ("not_found", False),
    Fault.CONTEXT_LENGTH: ("context_length", False),
    Fault.CONTENT_POLICY: ("content_policy", False),
    Fault.RESPONSE_FORMAT_UNSUPPORTED: ("bad_request", False),
    Fault.TEMPERATURE_UNSUPPORTED: ("bad_request", False),
    Fault.RESET_BEFORE_ANSWER: ("connection", True),
    Fault.RESET_MID_BODY: ("connection", True),
    Fault.CLOSE_BEFORE_ANSWER: ("connection", True),
    Fault.CLOSE_MID_BODY: ("connection", True),
    Fault.HANG: ("timeout", True),
    Fault.TRICKLE: ("timeout", True),
    Fault.TRUNCATED_BODY: ("server", True),
    Fault.HTML_PAGE: ("server", True),
}


def test_the_table_names_every_fault_that_brings_no_reply() -> None:
    others = {Fault.WRONG_CONTENT_TYPE, Fault.EMPTY_CHOICES, Fault.TOOL_CALL}
    assert set(HTTP) | others == HTTP_FAULTS | TRANSPORT_FAULTS | ENVELOPE_FAULTS


@pytest.mark.parametrize("fault", HTTP, ids=str)
async def test_a_fault_on_the_wire_ends_in_its_class(fault_of: Any, fault: Fault) -> None:
    for model in BASES:
        never_ends = fault in (Fault.HANG, Fault.TRICKLE)
        error = await fault_of(model, fault, timeout_s=0.4 if never_ends else 10)
        assert error is not None, model
        assert (error.fault, error.may_be_billed) == HTTP[fault], model
        assert is_about_format(error) == (fault is Fault.RESPONSE_FORMAT_UNSUPPORTED), model
        if fault is Fault.RATE_LIMIT_RETRY_AFTER:
            assert error.retry_after_s == 3.0
        elif fault is Fault.RATE_LIMIT_RETRY_AFTER_DATE:
            assert error.retry_after_s == pytest.approx(3.0, abs=1.1)
        else:
            assert error.retry_after_s is None


async def test_an_answer_without_choices_is_a_reply_or_a_bad_one_but_never_tried_again(
    fault_of: Any,
) -> None:
    for model in BASES:
        error = await fault_of(model, Fault.EMPTY_CHOICES)
        assert error is None or (error.fault == "bad_reply" and error.fault not in TRANSIENT)
