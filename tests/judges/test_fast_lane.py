"""The fast lane writes to the wire what litellm writes, and closes where it cannot prove it."""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
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
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.wire.answers import AnswerReader
from areopagus.judges.wire.lane import CALLBACKS
from areopagus.testing import Fault, ProviderServer, ServedReply, by_hash, constant

pytestmark = pytest.mark.usefixtures("clients", "key")


async def opened(asked: LitellmBackend, **changes: Any) -> LitellmBackend:
    for number in range(3):
        await asked.send(request(asked, f"Découvert {number}.", **changes))
    assert asked.lane.fast == 1, "the lane did not open"
    return asked


# What is sent -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ANSWERS)
async def test_both_lanes_write_the_same_bytes(recorder: Recorder, model: str, kind: str) -> None:
    without_tool = model.startswith("anthropic") and kind != "json_schema"
    recorder.body = json.dumps(ANTHROPIC if without_tool else ANSWERS[model]).encode()
    await both_lanes_agree(recorder, model, {}, KINDS[kind])


@pytest.mark.parametrize(
    ("model", "settings", "params"),
    [
        (
            "openai/x",
            {"temperature": 0.25, "top_p": 0.5, "seed": 7, "reasoning_effort": "low"},
            {},
        ),
        ("openai/o3", {"reasoning_effort": "high"}, {}),
        ("openai/x", {"extra": {"min_tokens": 3, "extra_headers": {"x-ours": "1"}}}, {}),
        ("openai/gpt-4o-mini", {}, {"logprobs": True, "top_logprobs": 20}),
        ("hosted_vllm/x", {"extra": {"repetition_penalty": 1.1}}, {"logprobs": True}),
        (
            "anthropic/claude-sonnet-4-5",
            {"reasoning_effort": "low", "max_tokens": 4000},
            {},
        ),
        ("gemini/gemini-2.5-flash", {"temperature": 0.0, "reasoning_effort": "low"}, {}),
        ("ollama_chat/x", {"temperature": 0.5, "seed": 3}, {}),
    ],
)
async def test_both_lanes_write_the_same_parameters(
    recorder: Recorder, model: str, settings: dict[str, Any], params: dict[str, Any]
) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = backend(model, "http://127.0.0.1:1", **settings)
    changes = {"params": {**asked.spec.parameters(), **params}}
    await both_lanes_agree(recorder, model, settings, changes)


async def both_lanes_agree(
    recorder: Recorder, model: str, settings: dict[str, Any], changes: dict[str, Any]
) -> None:
    base = f"http://127.0.0.1:{recorder.port}/v1"
    fast = backend(model, base, **settings)
    slow = backend(model, base, lane="litellm", **settings)
    for number in range(2):
        text = f"Découvert {number}."
        await fast.send(request(fast, text, **alone(changes, text)))
    await same_on_the_wire(recorder, fast, slow, changes)
    assert (fast.lane.fast, fast.lane.plain) == (len(TEXTS), 2)
    assert (slow.lane.fast, slow.lane.plain) == (0, len(TEXTS))


async def test_compressed_answers_are_read_without_translation_too(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate, translated = AnswerReader.read, []

    def spied(self: AnswerReader, received: Any, asked: Any) -> Any:
        translated.append(received)
        return translate(self, received, asked)

    monkeypatch.setattr(AnswerReader, "read", spied)
    recorder.body = gzip.compress(json.dumps(OPENAI).encode())
    recorder.head += "content-encoding: gzip\r\n"
    asked = await opened(backend("openai/x", f"http://127.0.0.1:{recorder.port}"))
    before = len(translated)
    assert (await asked.send(request(asked))).text == VOTE
    assert asked.lane.fast == 2
    assert len(translated) == before
    recorder.body = b"not packed at all"
    with pytest.raises(ProviderError):
        await asked.send(request(asked))


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
async def test_a_cookie_is_not_sent_back_and_closes_no_lane(recorder: Recorder, model: str) -> None:
    # As content networks before an endpoint set them; OpenAI's client would return them.
    recorder.body = json.dumps(OPENAI).encode()
    recorder.head += "set-cookie: __bm=abc; path=/; HttpOnly\r\n"
    asked = await opened(backend(model, f"http://127.0.0.1:{recorder.port}"))
    slow = backend(model, f"http://127.0.0.1:{recorder.port}", lane="litellm")
    for _ in range(4):
        await slow.send(request(slow))
    assert asked.lane.fast == 1
    assert len(recorder.raw) == 7
    assert all("cookie" not in dict(headers) for _, headers, _ in recorder.raw)


# When the lane is not taken -----------------------------------------------------------------------


async def test_other_margins_are_another_shape(server: ProviderServer) -> None:
    asked = await opened(backend("anthropic/claude-sonnet-4-5", server.anthropic_base))
    for text in (" leading", "trailing\n", "trailing"):
        await asked.send(request(asked, text))
        assert server.requests[-1].prompt == text
    assert (asked.lane.fast, asked.lane.plain) == (2, 4)


async def test_repairs_and_empty_texts_go_through_litellm(server: ProviderServer) -> None:
    asked = await opened(backend("openai/x", server.openai_base))
    before = asked.lane.plain
    for text in ("", " \n"):
        await asked.send(request(asked, text))
    await asked.send(
        request(
            asked,
            messages=(
                {"role": "user", "content": "A"},
                {"role": "assistant", "content": "B"},
                {"role": "user", "content": "C"},
            ),
        )
    )
    assert (asked.lane.fast, asked.lane.plain) == (1, before + 3)


async def test_a_lane_that_saw_only_plain_letters_learns_the_others_before_it_sends_them(
    server: ProviderServer,
) -> None:
    asked = backend("openai/x", server.openai_base)
    messages = ({"role": "user", "content": ""},)
    for text in ("One.", "Two.", "Three.", "Vière.", "Fünf.", "Six."):
        messages = ({"role": "user", "content": text},)
        await asked.send(request(asked, messages=messages))
        assert server.requests[-1].prompt == text
    assert (asked.lane.fast, asked.lane.plain) == (3, 3)


async def test_whoever_listens_to_litellm_is_told_of_every_call(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await opened(backend("openai/x", server.openai_base))
    for name in CALLBACKS:  # litellm hands them on from one list to others
        monkeypatch.setattr(litellm_module(), name, [])
    monkeypatch.setattr(litellm_module(), "success_callback", [lambda *given: None])
    await asked.send(request(asked))
    assert asked.lane.fast == 1


async def test_litellm_prices_and_records_a_call_only_where_somebody_listens(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    litellm = litellm_module()
    from litellm import cost_calculator
    from litellm.integrations.custom_logger import CustomLogger

    told: asyncio.Queue[float] = asyncio.Queue()
    priced: list[str] = []

    class Listener(CustomLogger):
        async def async_log_success_event(self, kwargs: Any, *_: Any, **__: Any) -> None:
            await told.put(kwargs["response_cost"])

    price = cost_calculator.completion_cost

    def spied(*given: Any, **named: Any) -> float:
        priced.append(named["model"])
        return price(*given, **named)

    monkeypatch.setattr(cost_calculator, "completion_cost", spied)
    for name in CALLBACKS:
        monkeypatch.setattr(litellm_module(), name, [])
    asked = backend("openai/gpt-4o-mini", server.openai_base, lane="litellm")
    await asked.send(request(asked))  # the first one asks litellm for the price, to know it after
    priced.clear()
    untold = await asked.send(request(asked))
    assert priced == []
    monkeypatch.setattr(litellm, "callbacks", [Listener()])
    heard = await asked.send(request(asked))
    cost = await asyncio.wait_for(told.get(), 20)
    assert cost > 0
    assert cost == pytest.approx(heard.cost_usd)
    assert len(priced) >= 1
    passing = {"created_at": 0.0, "latency_s": 0.0, "request_id": None}
    assert replace(untold, **passing) == replace(heard, **passing)


async def test_another_key_is_another_shape(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.api_key = CANARY
    asked = await opened(backend("openai/x", server.openai_base))
    monkeypatch.setenv("OUR_ACCESS", "another-key")
    with pytest.raises(ProviderError, match="authentication") as caught:
        await asked.send(request(asked))
    assert "another-key" not in str(caught.value)
    assert asked.lane.fast == 1


async def test_without_a_key_of_its_own_a_call_goes_through_litellm(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A key that litellm fetches from somebody else may be another one in an hour.
    monkeypatch.setattr(litellm_module(), "api_base", server.openai_base)
    monkeypatch.setattr(litellm_module(), "openai_key", "fetched")
    asked = LitellmBackend(BackendSpec(model="openai/x"))
    for _ in range(4):
        await asked.send(request(asked))
    assert (asked.lane.fast, asked.lane.plain) == (0, 4)
    monkeypatch.setattr(litellm_module(), "openai_key", None)
    monkeypatch.setenv("OPENAI_API_KEY", "named")
    for _ in range(4):
        await asked.send(request(asked))
    assert (asked.lane.fast, asked.lane.plain) == (2, 6)


async def test_a_shape_that_is_written_differently_each_time_never_opens(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = backend("openai/x", server.openai_base)
    for number in range(4):
        # As a signature or a request's own number would do it.
        monkeypatch.setattr(litellm_module(), "headers", {"x-number": str(number)})
        await asked.send(request(asked, f"Text {number}."))
    assert (asked.lane.fast, asked.lane.plain) == (0, 4)
    assert [served.headers["x-number"] for served in server.requests] == ["0", "1", "2", "3"]


async def test_a_shape_whose_answers_litellm_reads_differently_never_opens(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = AnswerReader.read

    def misread(self: AnswerReader, received: Any, asked: Any) -> Any:
        answer = read(self, received, asked)
        answer.choices[0].message.content = '{"overall": 10}'
        return answer

    monkeypatch.setattr(AnswerReader, "read", misread)
    server.judge = constant(VOTE)
    asked = backend("openai/x", server.openai_base)
    for number in range(4):
        assert (await asked.send(request(asked, f"Text {number}."))).text == VOTE
    assert (asked.lane.fast, asked.lane.plain) == (0, 4)


# What is received ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", PROTOCOLS)
@pytest.mark.parametrize("fault", sorted(set(Fault)))
async def test_every_fault_is_the_same_fault_on_both_lanes(
    server: ProviderServer, model: str, fault: Fault
) -> None:
    base = server.bases[PROTOCOLS[model]]
    patience = 0.6 if fault in (Fault.HANG, Fault.TRICKLE) else 20.0
    fast = await opened(backend(model, base, timeout_s=patience))
    slow = backend(model, base, timeout_s=patience, lane="litellm")
    await same_fault(server, fast, slow, fault)
    assert fast.lane.fast == 2


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "hosted_vllm/x"])
async def test_odd_answers_are_read_alike_on_both_lanes(
    server: ProviderServer, model: str, odd: str
) -> None:
    fast = await opened(backend(model, server.openai_base))
    slow = backend(model, server.openai_base, lane="litellm")
    server.judge = lambda asked: ServedReply(None, body=json.dumps(ODD[odd]).encode())
    assert comparable(await outcome(fast)) == comparable(await outcome(slow))


async def test_log_probabilities_and_refusals_come_through_the_lane(
    server: ProviderServer,
) -> None:
    content = [{"token": "7", "logprob": -0.1, "bytes": [55], "top_logprobs": []}]
    server.judge = lambda asked: ServedReply("7", logprobs=content)
    asked = backend("openai/x", server.openai_base)
    params = {**asked.spec.parameters(), "logprobs": True}
    await opened(asked, params=params)
    assert (await asked.send(request(asked, params=params))).logprobs == content
    server.judge = lambda asked: ServedReply(None, refusal="I will not.")
    assert (await asked.send(request(asked, params=params))).refusal == "I will not."
    assert asked.lane.fast == 3


async def test_an_endpoint_that_dies_is_a_connection_that_cost_nothing() -> None:
    with ProviderServer(by_hash(1, 10)) as server:
        asked = await opened(backend("openai/x", server.openai_base))
        server.stop()
        with pytest.raises(ProviderError) as caught:
            await asked.send(request(asked))
        assert caught.value.fault == "connection"
        with pytest.raises(ProviderError) as refused:
            await asked.send(request(asked))
        assert (refused.value.fault, refused.value.may_be_billed) == ("connection", False)
        server.start()
        assert (await asked.send(request(asked))).text
        assert asked.lane.fast == 4


async def test_a_cancelled_call_is_cancelled_and_nothing_else(server: ProviderServer) -> None:
    asked = await opened(backend("openai/x", server.openai_base))
    server.judge = constant(Fault.HANG)
    task = asyncio.create_task(asked.send(request(asked)))
    await asyncio.sleep(0.2)
    assert server.in_flight == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("lane", ["auto", "litellm"])
@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5"])
async def test_a_redirect_is_not_followed_and_the_key_stays(
    recorder: Recorder, server: ProviderServer, model: str, lane: str
) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    if lane == "auto":
        await opened(asked)
    recorder.head = (
        f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {server.base}/v1/chat/completions\r\n"
    )
    with pytest.raises(ProviderError, match=r"not_found: .*redirects to http://127") as caught:
        await asked.send(request(asked))
    assert CANARY not in str(caught.value)
    assert server.counts.connections == 0
    assert asked.lane.fast == (2 if lane == "auto" else 0)


async def test_the_environments_proxy_is_taken_on_both_lanes(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{recorder.port}")
    recorder.body = json.dumps(OPENAI).encode()
    asked = await opened(backend("openai/x", "http://judges.invalid/v1"))
    await asked.send(request(asked))
    assert {line for line, _, _ in recorder.raw} == {
        "POST http://judges.invalid/v1/chat/completions HTTP/1.1"
    }
    assert asked.lane.fast == 2


async def test_nothing_that_holds_a_key_shows_it(server: ProviderServer) -> None:
    asked = await opened(backend("openai/x", server.openai_base))
    [shape] = asked.lane._shapes.values()
    written = shape.written
    assert written.template is not None
    assert CANARY in str(written.template.sent.headers)
    for shown in (shape, written, written.template, written.template.sent, asked.lane, asked):
        assert CANARY not in repr(shown)
