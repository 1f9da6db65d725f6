"""litellm's own call by the short way: the same bytes, the same answers, the same faults."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import gc
import gzip
import json
import logging
import subprocess
import sys
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_world import (
    ANSWERS,
    ANTHROPIC,
    CANARY,
    KINDS,
    ODD,
    OPENAI,
    PROTOCOLS,
    TEXTS,
    VOTE,
    Recorder,
    alone,
    backend,
    comparable,
    outcome,
    request,
    same_fault,
    same_on_the_wire,
)

from areopagus.errors import ProviderError
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.wire import Received, Sent, doors, passing
from areopagus.judges.wire.client_answer import PROOFS, FilledAnswers
from areopagus.judges.wire.connection import Connection
from areopagus.judges.wire.lane import CALLBACKS
from areopagus.judges.wire.short_way import PostedBodies, ShortWays
from areopagus.records.types import Reply
from areopagus.testing import Fault, ProviderServer, ServedReply, by_hash, constant

pytestmark = [
    pytest.mark.usefixtures("clients", "key"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
]
# By OpenAI's library, by litellm's handler with a text, by it with JSON, and with a text again.
ROADS = ("openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5", "ollama_chat/x")
JSON = ((b"Content-Type", b"application/json"),)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bodies that went by the short way."""
    post, bodies = Connection.post, []

    async def spied(self: Connection, body: bytes) -> Received:
        bodies.append(body)
        return await post(self, body)

    monkeypatch.setattr(Connection, "post", spied)
    return bodies


def by_litellm(model: str, base: str, **settings: Any) -> LitellmBackend:
    return backend(model, base, lane="litellm", **settings)


def whole(model: str, base: str, **settings: Any) -> LitellmBackend:
    """One whose calls go all of litellm's way."""
    asked = by_litellm(model, base, **settings)
    asked.lane._ways = None  # type: ignore[assignment]
    return asked


async def shortened(asked: LitellmBackend, **changes: Any) -> LitellmBackend:
    for number in range(4):
        await asked.send(request(asked, f"Découvert {number}.", **changes))
        await asked.send(request(asked, f"Plain {number}.", **changes))
    return asked


# What is sent -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ANSWERS)
async def test_the_short_way_sends_what_litellm_sends(
    recorder: Recorder, taken: list[bytes], model: str, kind: str
) -> None:
    without_tool = model.startswith("anthropic") and kind != "json_schema"
    recorder.body = json.dumps(ANTHROPIC if without_tool else ANSWERS[model]).encode()
    await both_agree(recorder, taken, model, {}, KINDS[kind])


@pytest.mark.parametrize(
    ("model", "settings", "params"),
    [
        (
            "openai/x",
            {"temperature": 0.25, "top_p": 0.5, "seed": 7, "reasoning_effort": "low"},
            {},
        ),
        ("openai/x", {"extra": {"min_tokens": 3, "extra_headers": {"x-ours": "1"}}}, {}),
        ("openai/gpt-4o-mini", {}, {"logprobs": True, "top_logprobs": 20}),
        ("hosted_vllm/x", {"extra": {"repetition_penalty": 1.1}}, {"logprobs": True}),
        ("gemini/gemini-2.5-flash", {"temperature": 0.0, "reasoning_effort": "low"}, {}),
    ],
)
async def test_the_short_way_sends_the_same_parameters(
    recorder: Recorder,
    taken: list[bytes],
    model: str,
    settings: dict[str, Any],
    params: dict[str, Any],
) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = backend(model, "http://127.0.0.1:1", **settings)
    changes = {"params": {**asked.spec.parameters(), **params}}
    await both_agree(recorder, taken, model, settings, changes)


async def both_agree(
    recorder: Recorder,
    taken: list[bytes],
    model: str,
    settings: dict[str, Any],
    changes: dict[str, Any],
) -> None:
    base = f"http://127.0.0.1:{recorder.port}/v1"
    short, long = by_litellm(model, base, **settings), whole(model, base, **settings)
    for number in range(4):
        for text in (f"Découvert {number}.", f"Plain {number}."):
            await short.send(request(short, text, **alone(changes, text)))
    taken.clear()
    await same_on_the_wire(recorder, short, long, changes)
    assert len(taken) == len(TEXTS)
    assert (short.lane.fast, short.lane.plain) == (0, 8 + len(TEXTS))


async def test_the_first_requests_go_all_the_way(
    server: ProviderServer, taken: list[bytes]
) -> None:
    for model, base, needed in (
        ("openai/x", server.openai_base, 3),  # one that shows how, two that prove it
        ("hosted_vllm/x", server.openai_base, 2),
    ):
        asked = by_litellm(model, base)
        taken.clear()
        for number in range(needed):
            await asked.send(request(asked, f"Découvert {number}."))
        assert taken == []
        await asked.send(request(asked, "Découvert."))
        assert len(taken) == 1


async def test_letters_beyond_ascii_are_proven_by_themselves(
    server: ProviderServer, taken: list[bytes]
) -> None:
    for model in ("openai/x", "hosted_vllm/x"):
        asked = by_litellm(model, server.openai_base)
        messages: tuple[dict[str, str], ...]
        taken.clear()
        for text in ("One.", "Two.", "Three.", "Four.", "Vière.", "Fünf.", "Sächs.", "Sieben ß."):
            messages = ({"role": "user", "content": text},)
            await asked.send(request(asked, messages=messages, schema=None))
            assert server.requests[-1].prompt == text
        assert 2 <= len(taken) <= 6
        assert "Sieben ß".encode() in taken[-1] or b"Sieben \\u00df" in taken[-1]


async def test_repairs_empty_texts_and_another_key_take_no_way_that_is_not_theirs(
    server: ProviderServer, taken: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.api_key = CANARY
    asked = await shortened(by_litellm("openai/x", server.openai_base))
    taken.clear()
    await asked.send(request(asked, " \n"))
    said = [{"role": role, "content": "A"} for role in ("user", "assistant", "user")]
    await asked.send(request(asked, messages=tuple(said)))
    monkeypatch.setenv("OUR_ACCESS", "another-key")
    with pytest.raises(ProviderError, match="authentication") as caught:
        await asked.send(request(asked))
    assert "another-key" not in str(caught.value)
    assert taken == []


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
async def test_headers_that_change_with_every_call_open_no_way(
    server: ProviderServer, taken: list[bytes], model: str
) -> None:
    asked = by_litellm(model, server.openai_base)
    for number in range(6):
        params = {**asked.spec.parameters(), "extra_headers": {"x-number": str(number)}}
        await asked.send(request(asked, f"Découvert {number}.", params=params))
    assert taken == []
    assert [served.headers["x-number"] for served in server.requests] == list("012345")


def test_a_client_that_changes_the_body_or_its_head_closes_the_way() -> None:
    def sent(body: bytes, head: bytes = b"1") -> Sent:
        class Transport:
            _ssl_verify = None

        return Sent(Transport(), "POST", "http://127.0.0.1:1/", ((b"x-head", head),), body)

    class Back:
        request = httpx.Request("POST", "http://127.0.0.1:1/")

    back, answer = Back(), Received(200, JSON, b"{}")
    for last in (sent(b"other"), sent(b"a", b"2")):
        way = PostedBodies()
        for _ in range(3):
            way.learn(b"a", sent(b"a"), answer, back)
        assert way.body(b"a") == b"a"
        assert way.body("é".encode()) is None
        way.learn(b"a", last, answer, back)
        assert way.body(b"a") is None


def test_ways_are_kept_up_to_a_number_and_as_long_as_their_client() -> None:
    class Client:
        pass

    ways, client = ShortWays(), Client()
    first = ways.posted(client, "0")
    assert ways.posted(client, "0") is first
    assert ways.posted(Client(), "0") is not first
    for number in range(1, 256):
        ways.posted(client, str(number))
    assert ways.posted(client, "0") is first
    ways.posted(client, "256")
    assert ways.posted(client, "0") is not first
    del client
    gc.collect()
    assert not ways._known


async def test_a_text_and_json_are_not_one_way(recorder: Recorder) -> None:
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client

    recorder.body = b"{}"
    handler = get_async_httpx_client(llm_provider="own")
    url, ways = f"http://127.0.0.1:{recorder.port}", ShortWays()
    for body in ({"json": {}}, {"data": "{}"}) * 4:
        with passing(is_untold=True, ways=ways):
            await handler.post(url, **body)
    kinds = [dict(headers).get("content-type") for _, headers, _ in recorder.raw]
    assert kinds == ["application/json", "application/octet-stream"] * 4


async def test_a_client_that_fetches_its_key_is_not_passed_by() -> None:
    async def fetch() -> str:
        return "another each time"

    client = openai.AsyncOpenAI(api_key="A", base_url="http://127.0.0.1:1")
    with passing(is_untold=True, ways=ShortWays()) as passage:
        assert passage.ways is not None
        data = {"messages": [{"role": "user", "content": "A"}]}
        asked = {"openai_aclient": client, "data": data, "timeout": 1, "logging_obj": None}
        assert doors._asked(passage, passage.ways, None, (), asked) is not None
        for name in ("_api_key_provider", "workload_identity"):
            before = getattr(client, name, None)
            setattr(client, name, fetch)
            assert doors._asked(passage, passage.ways, None, (), asked) is None
            setattr(client, name, before)
    await client.close()


async def test_the_proxy_that_is_switched_off_is_not_taken(
    recorder: Recorder, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{recorder.port}")
    recorder.body = json.dumps(OPENAI).encode()
    for lane in ("auto", "litellm"):
        recorder.raw.clear()
        server.reset()
        asked = await shortened(backend("openai/x", server.openai_base, lane=lane))
        assert (len(recorder.raw), server.counts.total) == (8, 0)
        monkeypatch.setattr(litellm_module(), "disable_aiohttp_trust_env", True)
        assert (await asked.send(request(asked))).text
        assert (len(recorder.raw), server.counts.total) == (8, 1)
        monkeypatch.setattr(litellm_module(), "disable_aiohttp_trust_env", False)


async def test_a_client_that_is_closed_is_asked_itself(
    server: ProviderServer, taken: list[bytes]
) -> None:
    for model, asked_again in (("openai/x", False), ("hosted_vllm/x", True)):
        short = await shortened(by_litellm(model, server.openai_base))
        await litellm_module().close_litellm_async_clients()
        server.reset()
        taken.clear()
        found = await outcome(short)
        # OpenAI's client refuses once it is closed; litellm's handler makes itself another.
        assert isinstance(found, Reply) == asked_again
        assert (len(taken), server.counts.total) == (0, int(asked_again))
        litellm_module().in_memory_llm_clients_cache.flush_cache()


# What is received ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ROADS[:3])
@pytest.mark.parametrize("fault", sorted(set(Fault)))
async def test_every_fault_is_the_same_fault_by_the_short_way(
    server: ProviderServer, model: str, fault: Fault
) -> None:
    base = server.bases[PROTOCOLS[model]]
    patience = 0.6 if fault in (Fault.HANG, Fault.TRICKLE) else 20.0
    short = await shortened(by_litellm(model, base, timeout_s=patience))
    long = whole(model, base, timeout_s=patience)
    await same_fault(server, short, long, fault)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "hosted_vllm/x"])
async def test_odd_answers_are_read_alike_each_time(
    server: ProviderServer, model: str, odd: str
) -> None:
    short = await shortened(by_litellm(model, server.openai_base))
    long = whole(model, server.openai_base)
    server.judge = lambda asked: ServedReply(None, body=json.dumps(ODD[odd]).encode())
    expected = comparable(await outcome(long))
    for _ in range(5):  # also once its outline is known
        assert comparable(await outcome(short)) == expected


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
async def test_compressed_answers_come_by_the_short_way(
    recorder: Recorder, taken: list[bytes], model: str
) -> None:
    recorder.body = gzip.compress(json.dumps(OPENAI).encode())
    recorder.head += "content-encoding: gzip\r\n"
    asked = await shortened(by_litellm(model, f"http://127.0.0.1:{recorder.port}"))
    taken.clear()
    assert (await asked.send(request(asked))).text == VOTE
    recorder.body = b"not packed at all"
    with pytest.raises(ProviderError):
        await asked.send(request(asked))
    assert len(taken) == 2
    assert len(recorder.raw) == 10


async def test_a_second_request_of_one_call_is_not_sent(
    server: ProviderServer, taken: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from litellm.llms.openai.openai import OpenAIChatCompletion

    asked = await shortened(by_litellm("openai/x", server.openai_base))
    door = OpenAIChatCompletion.make_openai_chat_completion_request

    async def twice(self: Any, **named: Any) -> Any:
        await door(self, **named)
        return await door(self, **named)

    monkeypatch.setattr(OpenAIChatCompletion, "make_openai_chat_completion_request", twice)
    server.reset()
    taken.clear()
    with pytest.raises(ProviderError):
        await asked.send(request(asked))
    assert (server.counts.total, len(taken)) == (1, 1)


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
async def test_a_cancelled_call_is_cancelled_and_nothing_else(
    server: ProviderServer, model: str
) -> None:
    asked = await shortened(by_litellm(model, server.openai_base))
    server.judge = constant(Fault.HANG)
    task = asyncio.create_task(asked.send(request(asked)))
    await asyncio.sleep(0.2)
    assert server.in_flight == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.judge = by_hash(1, 10)
    assert (await asked.send(request(asked))).text


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5"])
async def test_a_redirect_is_not_followed_by_the_short_way(
    recorder: Recorder, server: ProviderServer, model: str
) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = await shortened(by_litellm(model, f"http://127.0.0.1:{recorder.port}"))
    recorder.head = (
        f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {server.base}/v1/chat/completions\r\n"
    )
    with pytest.raises(ProviderError, match=r"not_found: .*redirects to http://127") as caught:
        await asked.send(request(asked))
    assert CANARY not in str(caught.value)
    assert server.counts.connections == 0


async def test_nothing_that_holds_a_key_shows_it(server: ProviderServer) -> None:
    for model, base in (
        ("openai/x", server.openai_base),
        ("hosted_vllm/x", server.openai_base),
    ):
        asked = await shortened(by_litellm(model, base))
        ways = asked.lane._ways
        known = [way for of_client in ways._known.values() for way in of_client.values()]
        assert known
        for way in known:
            assert CANARY not in repr(way)
        assert CANARY not in repr(ways)


async def test_a_broken_answer_shows_no_key(recorder: Recorder, taken: list[bytes]) -> None:
    seen: list[Received] = []
    recorder.body = json.dumps(OPENAI).encode()
    asked = await shortened(by_litellm("openai/x", f"http://127.0.0.1:{recorder.port}"))
    post = Connection.post

    async def kept(self: Connection, body: bytes) -> Received:
        seen.append(await post(self, body))
        return seen[-1]

    Connection.post = kept  # type: ignore[method-assign]
    try:
        recorder.head = "HTTP/1.1 200 OK\r\nnot a header\r\n"
        assert CANARY not in str(await outcome(asked))
    finally:
        Connection.post = post  # type: ignore[method-assign]
    [answer] = seen
    assert answer.broken is not None
    assert CANARY not in repr(answer)


async def test_a_connector_that_closes_cancels_nobody(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.body = json.dumps(OPENAI).encode()
    asked = await shortened(by_litellm("hosted_vllm/x", f"http://127.0.0.1:{recorder.port}"))

    async def closed(*_: Any, **__: Any) -> Any:
        raise asyncio.CancelledError

    monkeypatch.setattr("aiohttp.connector.BaseConnector.connect", closed)
    found = await outcome(asked)
    assert comparable(found)[0] == "connection"


async def test_an_answer_without_a_length_is_told_without_one(
    recorder: Recorder, taken: list[bytes]
) -> None:
    body = json.dumps(OPENAI).encode()
    kind = (b"content-type", b"application/json")
    way = PostedBodies(request=httpx.Request("POST", "http://127.0.0.1"))
    for head in ((kind,), (kind, (b"Content-Length", b"%d" % len(body)))):
        answer = way.read(Received(200, head, body), 0.1)
        assert answer.json() == OPENAI
        assert ("content-length" in answer.headers) == (len(head) == 2)
        assert answer.elapsed.total_seconds() == 0.1
    assert way.read(Received(500, (kind,), body), 0.1) is None


# Who listens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ROADS)
@pytest.mark.parametrize("lane", ["auto", "litellm"])
async def test_listeners_are_told_the_same(
    recorder: Recorder, taken: list[bytes], monkeypatch: pytest.MonkeyPatch, model: str, lane: str
) -> None:
    litellm_module()  # before anything else of litellm is loaded
    from litellm.integrations.custom_logger import CustomLogger

    told: asyncio.Queue[tuple[dict[str, Any], Any]] = asyncio.Queue()

    class Listener(CustomLogger):
        async def async_log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            await told.put((kwargs, response_obj))

    for name in CALLBACKS:  # litellm hands them on from one list to others
        monkeypatch.setattr(litellm_module(), name, [])
    monkeypatch.setattr(litellm_module(), "callbacks", [Listener()])
    recorder.body = json.dumps(ANSWERS[model]).encode()
    base = f"http://127.0.0.1:{recorder.port}/v1"
    heard = []
    for asked in (backend(model, base, lane=lane), whole(model, base)):
        for number in range(5):
            taken.clear()
            await asked.send(request(asked, f"Découvert {number}."))
            last = await asyncio.wait_for(told.get(), 20)
        heard.append(last)
        assert len(taken) == (asked.lane._ways is not None)
    (one, answer), (other, other_answer) = heard
    for name in ("id", "created"):  # made up by litellm for some
        setattr(answer, name, getattr(other_answer, name))
    assert answer.model_dump() == other_answer.model_dump()
    assert one["response_cost"] == other["response_cost"]
    assert (
        one["standard_logging_object"]["messages"] == other["standard_logging_object"]["messages"]
    )
    assert one["llm_api_duration_ms"] > 0
    assert json.loads(one["original_response"]) == json.loads(other["original_response"])
    for name in ("additional_args", "input"):
        assert one[name] == other[name]


# The client's own form ----------------------------------------------------------------------------

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_COUNT = st.integers(1, 2**40)
_ANSWERS = st.fixed_dictionaries(
    {
        "id": _TEXT,
        "object": st.just("chat.completion"),
        "created": _COUNT,
        "model": _TEXT,
        "choices": st.lists(
            st.fixed_dictionaries(
                {
                    "index": st.integers(0, 3),
                    "message": st.fixed_dictionaries(
                        {"role": st.just("assistant"), "content": _TEXT},
                        optional={
                            "refusal": st.none() | _TEXT,
                            "annotations": st.just([]),
                            "reasoning_content": st.none() | _TEXT,
                            "tool_calls": st.none()
                            | st.just([])
                            | st.lists(
                                st.fixed_dictionaries(
                                    {
                                        "id": _TEXT,
                                        "type": st.sampled_from(["function", "custom", "odd"]),
                                        "function": st.fixed_dictionaries(
                                            {"name": _TEXT, "arguments": _TEXT}
                                        ),
                                    }
                                ),
                                max_size=2,
                            ),
                        },
                    ),
                    "finish_reason": st.sampled_from(["stop", "length", "eos", "tool_calls"]),
                },
                optional={"logprobs": st.none() | st.just({"content": [], "refusal": None})},
            ),
            max_size=2,
        ),
    },
    optional={
        "usage": st.none()
        | st.fixed_dictionaries(
            {"prompt_tokens": _COUNT, "completion_tokens": _COUNT, "total_tokens": _COUNT},
            optional={
                "prompt_tokens_details": st.none()
                | st.fixed_dictionaries({"cached_tokens": st.integers(0, 9)}),
                "completion_tokens_details": st.just({"reasoning_tokens": 0, "own": 1.5}),
            },
        ),
        "service_tier": st.none() | st.sampled_from(["default", "priority", "own"]),
        "system_fingerprint": st.none() | _TEXT,
        "x_own": st.recursive(
            st.none() | st.booleans() | _COUNT | _TEXT,
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
            max_leaves=4,
        ),
    },
)


def _by_client(answer: Any) -> Any:
    from openai.types.chat import ChatCompletion

    # Without its warnings of answers that its own types do not foresee.
    return ChatCompletion.construct(**copy.deepcopy(answer)).model_dump(warnings="none")


@given(st.lists(_ANSWERS, min_size=1, max_size=4))
def test_answers_are_filled_as_the_client_fills_them_or_not_at_all(answers: list[Any]) -> None:
    filled = FilledAnswers()
    for answer in (*answers * (PROOFS + 1), *answers):
        received = Received(200, JSON, json.dumps(answer).encode())
        by_client = _by_client(answer)
        found = filled.read(received)
        if found is not None:
            assert found.model_dump() == by_client
        filled.learn(received, by_client)
    usual = copy.deepcopy(OPENAI)
    for number in range(PROOFS + 2):
        usual["id"] = f"chatcmpl-{number}"
        received = Received(200, JSON, json.dumps(usual).encode())
        found = filled.read(received)
        assert (found is not None) == (number > PROOFS)
        filled.learn(received, _by_client(usual))
    assert found is not None
    assert found.model_dump() == _by_client(usual)
    assert found.choices[0].message.content == VOTE  # what litellm may ask beside


def test_an_outline_that_the_client_fills_in_two_ways_is_the_clients() -> None:
    filled = FilledAnswers()
    received = Received(200, JSON, b'{"a": 1}')
    for number in range(PROOFS + 1):
        assert filled.read(received) is None, number
        filled.learn(received, {"a": 1, "b": None})
    assert filled.read(received) is not None
    filled.learn(received, {"a": 1, "c": None})
    for _ in range(5):
        assert filled.read(received) is None
        filled.learn(received, {"a": 1, "b": None})
    for dumped in ({"a": 2}, {"a": 1, "b": 0}, {"a": 1.0}, {"a": True}, {}, [1]):
        other = FilledAnswers()
        for _ in range(PROOFS + 2):
            other.learn(received, dumped)
        assert other.read(received) is None


def test_what_is_not_said_to_be_json_is_the_clients() -> None:
    filled = FilledAnswers()
    for head in ((), ((b"content-type", b"text/plain"),)):
        for _ in range(PROOFS + 2):
            filled.learn(Received(200, head, b'{"a": 1}'), {"a": 1})
        assert filled.read(Received(200, head, b'{"a": 1}')) is None


@pytest.mark.parametrize("fault", [None, Fault.SERVER_ERROR, Fault.RESET_MID_BODY])
async def test_what_a_listener_sends_by_litellms_clients_is_sent(
    recorder: Recorder,
    server: ProviderServer,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault | None,
) -> None:
    litellm_module()
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client
    from litellm.types.llms.custom_http import httpxSpecialProvider

    sent: asyncio.Queue[int] = asyncio.Queue()
    tasks: list[asyncio.Task[None]] = []

    class Sender(CustomLogger):
        async def async_log_success_event(self, *_: Any, **__: Any) -> None:
            client = get_async_httpx_client(llm_provider=httpxSpecialProvider.LoggingCallback)
            log = f"http://127.0.0.1:{recorder.port}/log"
            answer = await client.post(log, json={"a": 1}, headers={"cookie": "own=1"})
            await sent.put(answer.status_code)

        async_log_failure_event = async_log_success_event

        async def async_pre_call_deployment_hook(self, *_: Any, **__: Any) -> None:
            await self.async_log_success_event()

        def log_pre_api_call(self, *_: Any) -> None:
            with contextlib.suppress(RuntimeError):  # some are told on a thread without a loop
                tasks.append(asyncio.create_task(self.async_log_success_event()))

    for name in CALLBACKS:
        monkeypatch.setattr(litellm_module(), name, [])
    monkeypatch.setattr(litellm_module(), "callbacks", [Sender()])
    recorder.body = b"{}"
    for lane in ("auto", "litellm"):
        asked = backend("openai/x", server.openai_base, lane=lane)
        server.judge = by_hash(1, 10)
        for number in range(6):
            if number == 5 and fault is not None:
                server.judge = constant(fault)
            before = server.counts.total
            await outcome(asked)
            assert server.counts.total == before + 1
            for _ in range(2 + len(tasks)):
                assert await asyncio.wait_for(sent.get(), 20) == 200
            tasks.clear()
    assert len(recorder.raw) >= 24
    assert all(dict(headers)["cookie"] == "own=1" for _, headers, _ in recorder.raw)


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5"])
async def test_no_redirect_is_followed_whatever_a_listener_sends_first(
    recorder: Recorder, server: ProviderServer, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    litellm_module()
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client

    class Sender(CustomLogger):
        async def async_pre_call_deployment_hook(self, *_: Any, **__: Any) -> None:
            client = get_async_httpx_client(llm_provider="own")
            await client.post(f"{server.base}/log", json={"a": 1})

    for name in CALLBACKS:
        monkeypatch.setattr(litellm_module(), name, [])
    monkeypatch.setattr(litellm_module(), "callbacks", [Sender()])
    recorder.head = f"HTTP/1.1 307 Elsewhere\r\nlocation: {server.base}/v1/stranger\r\n"
    asked = by_litellm(model, f"http://127.0.0.1:{recorder.port}")
    with pytest.raises(ProviderError):
        await asked.send(request(asked))
    assert "/v1/stranger" not in server.counts.by_path


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
async def test_whoever_has_litellm_say_all_it_does_reads_the_answers(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = by_litellm(model, f"http://127.0.0.1:{recorder.port}/v1")
    await asked.send(request(asked))
    logger = logging.getLogger("LiteLLM")
    handler = Kept(logging.DEBUG)
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "disabled", False)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        await asked.send(request(asked))
    finally:
        logger.setLevel(level)
    assert sum("RAW RESPONSE" in line and "overall" in line for line in said) == 1


def test_somebody_who_looks_on_at_a_door_sees_every_call() -> None:
    class Owner:
        async def post(self) -> None: ...

    inner = Owner.post

    @functools.wraps(inner)
    async def looked_at(self: Any) -> None:
        await inner(self)

    Owner.post = looked_at  # type: ignore[method-assign]
    doors._shorten(Owner, "post", doors._posted)
    assert Owner.post is looked_at
    Owner.post = inner  # type: ignore[method-assign]
    doors._shorten(Owner, "post", doors._posted)
    assert Owner.post is not inner
    doors._shorten(Owner, "get", doors._posted)
    assert not hasattr(Owner, "get")


def test_threads_that_ask_for_litellm_at_once_watch_it_once() -> None:
    code = """
import threading
from areopagus.judges.models.litellm_setup import litellm_module
threads = [threading.Thread(target=litellm_module) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport
watched = LiteLLMAiohttpTransport.handle_async_request
inner = [cell.cell_contents for cell in watched.__closure__]
print([one.__qualname__ for one in inner if callable(one)])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert "LiteLLMAiohttpTransport.handle_async_request" in done.stdout
    assert "watched" not in done.stdout
