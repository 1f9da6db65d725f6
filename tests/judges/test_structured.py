"""One typed answer: asked in a format that is learnt once, parsed, repaired once, or why not."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import ProviderError
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.client import Client
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.request import RESPONSE_FORMATS, JsonSchema, Request, ResponseFormat
from areopagus.judges.schema import FLAG, TEXT, object_schema
from areopagus.judges.structured import Question, ask, complete
from areopagus.records.ledger import Ledger
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply, ServedRequest

SCHEMA = object_schema({"why": TEXT, "is_fit": FLAG})
FIT = {"why": "It names the matter.", "is_fit": True}
GOOD = json.dumps(FIT)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


def question(text: str = "Is it fit?", **changes: Any) -> Question[dict[str, Any]]:
    asked = Question(
        messages=({"role": "user", "content": text},),
        schema=SCHEMA,
        template="fit-1",
        purpose="classify",
    )
    return replace(asked, **changes)


def request(text: str = "Why?", **changes: Any) -> Request:
    values: dict[str, Any] = {
        "backend": "scripted/judge",
        "endpoint": "",
        "messages": ({"role": "user", "content": text},),
        "params": {"max_tokens": 100},
    }
    return Request(**{**values, **changes})


# Typed answers -----------------------------------------------------------------------------------


async def test_an_answer_that_can_be_read_is_a_value(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(GOOD), Client(ledger)
    done = await complete(client, backend, question())
    assert (done.status, done.value, done.reason) == ("read", FIT, None)
    assert (done.calls, len(backend.requests)) == (1, 1)
    sent = backend.requests[0]
    assert (sent.schema, sent.template, sent.purpose) == (SCHEMA.json_schema, "fit-1", "classify")


async def test_an_unreadable_answer_is_asked_for_once_more(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(["It is fit.", GOOD]), Client(ledger)
    done = await complete(client, backend, question())
    assert (done.status, done.value, done.calls) == ("read", FIT, 2)
    roles = [message["role"] for message in backend.requests[1].messages]
    assert roles == ["user", "assistant", "user"]
    assert SCHEMA.shape() in backend.requests[1].messages[2]["content"]
    assert client.usage.repairs.replies == 1


async def test_what_stays_unreadable_says_why_and_is_asked_no_third_time(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(["It is fit.", '{"why": "so"}', GOOD]), Client(ledger)
    done = await complete(client, backend, question())
    assert (done.status, done.reason, done.value) == ("unreadable", "missing_key", None)
    assert done.found == {"why": "so"}
    assert [fault.key for fault in done.faults] == ["is_fit"]
    assert len(backend.requests) == 2
    assert client.usage.unreadable.replies == 2


async def test_a_question_without_repairs_is_left_to_its_caller(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(["It is fit.", GOOD]), Client(ledger)
    first = question(repairs=False)
    done = await complete(client, backend, first)
    assert (done.status, done.text) == ("unreadable", "It is fit.")
    assert client.usage.unreadable.replies == 0
    second = question("Once more.", is_repair=True)
    again = await complete(client, backend, second, response_format=done.response_format)
    assert again.value == FIT
    assert client.usage.repairs.replies == 1


# Response formats --------------------------------------------------------------------------------


def build(text: str = "Why?") -> Callable[[ResponseFormat], Request]:
    return lambda response_format: request(
        text, structured=response_format, schema=JsonSchema(type="object")
    )


def picky(*accepted: str) -> Callable[[Request], Any]:
    def answer(asked: Request) -> Any:
        if asked.structured in accepted:
            return "{}"
        return ProviderError("bad_request", f"response_format {asked.structured} is not supported")

    return answer


@pytest.mark.parametrize("accepted", RESPONSE_FORMATS)
async def test_the_form_of_structured_output_is_learned_once_and_remembered(
    ledger: Ledger, accepted: str
) -> None:
    backend = ScriptedBackend(picky(accepted), structured="auto")
    client = Client(ledger)
    answers = await asyncio.gather(
        *(ask(client, backend, build(str(n)), client.reservation()) for n in range(30))
    )
    assert {asked.structured for _, asked in answers} == {accepted}
    refused = list(RESPONSE_FORMATS).index(accepted)
    assert len(backend.requests) == 30 + refused  # one refused call a form, not thirty
    later = ScriptedBackend(picky(accepted), structured="auto")
    client = Client(ledger)
    await ask(client, later, build("new"), client.reservation())
    assert len(later.requests) == 1
    assert ledger.capability(backend.spec.identity) == accepted


async def test_while_a_form_waits_to_be_stored_calls_of_other_backends_go_on(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, client = ScriptedBackend(picky("json_schema"), structured="auto"), Client(ledger)
    assert ledger.path is not None
    other = sqlite3.connect(ledger.path, isolation_level=None, check_same_thread=False)
    finish = ledger.finish

    async def finish_and_lock(*given: Any, **options: Any) -> None:
        await finish(*given, **options)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.4, other.execute, ["ROLLBACK"]).start()

    monkeypatch.setattr(ledger, "finish", finish_and_lock)
    task = asyncio.create_task(ask(client, backend, build(), client.reservation()))
    assert await longest_pause_until(task) < 0.3
    other.close()
    assert ledger.capability(backend.spec.identity) == "json_schema"


async def longest_pause_until(task: asyncio.Task[Any]) -> float:
    """Seconds for which the loop stood still at most, until the task was done."""
    loop = asyncio.get_running_loop()
    longest, last = 0.0, loop.time()
    while not task.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, loop.time() - last), loop.time()
    await task
    return longest


async def test_a_fault_that_is_not_about_the_form_teaches_nothing(ledger: Ledger) -> None:
    backend = ScriptedBackend(ProviderError("context_length", "too long"), structured="auto")
    client = Client(ledger)
    with pytest.raises(ProviderError):
        await ask(client, backend, build(), client.reservation())
    assert len(backend.requests) == 1
    assert ledger.capability(backend.spec.identity) is None


async def test_a_form_that_is_set_is_not_probed(ledger: Ledger) -> None:
    backend = ScriptedBackend(picky("prompt"), structured="json_schema")
    client = Client(ledger)
    with pytest.raises(ProviderError):
        await ask(client, backend, build(), client.reservation())
    assert len(backend.requests) == 1


async def test_a_dead_endpoint_is_not_probed_one_call_after_the_other(ledger: Ledger) -> None:
    class Dead(ScriptedBackend):
        async def send(self, request: Request) -> Any:
            await asyncio.sleep(0.1)
            raise ProviderError("connection", "refused")

    backend, client = Dead("", structured="auto", max_attempts=1), Client(ledger)
    started = asyncio.get_running_loop().time()
    results = await asyncio.gather(
        *(ask(client, backend, build(str(n)), client.reservation()) for n in range(8)),
        return_exceptions=True,
    )
    assert all(isinstance(result, ProviderError) for result in results)
    assert asyncio.get_running_loop().time() - started < 0.6


@pytest.mark.parametrize("status", [404, 500])
async def test_an_error_that_names_the_format_is_not_this_format_whatever_its_status(
    ledger: Ledger, status: int
) -> None:
    # As llama-cpp-python answers 500: json_schema is refused, a JSON object with a schema taken.
    fault: Any = {404: "not_found", 500: "server"}[status]
    refusal = "body.response_format.type: Input should be 'text' or 'json_object'"

    def answer(asked: Request) -> Any:
        if asked.structured == "json_schema":
            return ProviderError(fault, refusal, status=status)
        return GOOD

    backend, client = ScriptedBackend(answer, structured="auto"), Client(ledger)
    done = await complete(client, backend, question())
    assert (done.status, done.response_format) == ("read", "json_object_schema")
    assert len(backend.requests) == 2  # and the refused one was not tried again
    assert (await complete(client, backend, question("Another?"))).status == "read"


async def test_a_server_that_falls_over_every_format_is_asked_once_without_one(
    ledger: Ledger,
) -> None:
    def answer(asked: Request) -> Any:
        if asked.structured != "prompt":
            return ProviderError("server", "internal server error", status=500)
        return GOOD

    backend = ScriptedBackend(answer, structured="auto", max_attempts=1)
    client = Client(ledger)
    done = await complete(client, backend, question())
    assert (done.status, done.response_format) == ("read", "prompt")
    assert [asked.structured for asked in backend.requests] == ["json_schema", "prompt"]
    await complete(client, backend, question("Another?"))
    assert backend.requests[-1].structured == "prompt"
    assert len(backend.requests) == 3
    # A server that is down is tried once in this way, whatever number of calls follow.
    down: Any = ProviderError("server", "internal server error", status=500)
    dead = ScriptedBackend(down, name="scripted/dead", structured="auto", max_attempts=1)
    for text in ("One?", "Two?"):
        assert (await complete(client, dead, question(text))).status == "failed"
    sent = [asked.structured for asked in dead.requests]
    assert sent == ["json_schema", "prompt", "json_schema"]


async def test_a_server_that_is_overloaded_is_asked_again_in_the_same_format(
    ledger: Ledger,
) -> None:
    busy = ProviderError("server", "overloaded: json_schema worker", status=503)
    backend, client = ScriptedBackend([busy, GOOD], structured="auto"), Client(ledger)
    done = await complete(client, backend, question())
    assert done.response_format == "json_schema"
    assert [asked.structured for asked in backend.requests] == ["json_schema"] * 2


async def test_what_an_earlier_version_learned_still_holds(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(GOOD, structured="auto"), Client(ledger)
    await ledger.set_capability(backend.spec.identity, "json_object")
    done = await complete(client, backend, question())
    assert (done.response_format, len(backend.requests)) == ("json_object", 1)


async def test_a_server_that_refuses_a_schema_with_500_is_asked_for_an_object_with_one(
    server: ProviderServer, ledger: Ledger, clients: None
) -> None:
    server.reset()
    formats: list[Any] = []

    def llama_cpp(served: ServedRequest) -> ServedReply:
        formats.append(served.params.get("response_format"))
        if formats[-1]["type"] == "json_schema":
            body = "body.response_format.type: Input should be 'text' or 'json_object'"
            return ServedReply(body, status=500)
        return ServedReply(GOOD)

    server.judge = llama_cpp
    backend = LitellmBackend(BackendSpec(model="openai/local", api_base=server.openai_base))
    done = await complete(Client(ledger), backend, question())
    assert (done.status, done.response_format) == ("read", "json_object_schema")
    assert formats[1:] == [{"type": "json_object", "schema": SCHEMA.grammar_schema}]
