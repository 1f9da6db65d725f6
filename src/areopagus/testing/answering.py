"""From a reply to the bytes of an HTTP answer, faults included."""

from __future__ import annotations

from dataclasses import replace

from .exchange import ServedReply, ServedRequest, WireProtocol
from .faults import ENVELOPE_FAULTS, HTTP_FAULTS, TEXT_FAULTS, Fault
from .http_errors import HTML_PAGE, HttpAnswer, error_body, fault_answer
from .mangling import mangled
from .protocols import write_reply

_JSON = {"content-type": "application/json"}
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
    answer = HttpAnswer(reply.status, _JSON, body)
    if fault not in ENVELOPE_FAULTS:
        return answer
    if fault is Fault.TRUNCATED_BODY:
        return replace(answer, body=body[: len(body) // 2])
    if fault is Fault.WRONG_CONTENT_TYPE:
        return replace(answer, headers={"content-type": "text/plain; charset=utf-8"})
    if fault is Fault.HTML_PAGE:
        return HttpAnswer(200, {"content-type": "text/html; charset=utf-8"}, HTML_PAGE)
    return answer
