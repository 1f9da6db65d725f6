"""What kind of answer is a reply, and what one says that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from transport_world import (
    ANTHROPIC,
    GEMINI,
    OLLAMA,
    OPENAI,
    PROTOCOLS,
    WAYS,
    Recorder,
    backend,
    request,
)

from areopagus.errors import ProviderError
from areopagus.judges.logprobs import weighted_scores
from areopagus.judges.models.connections import Answer
from areopagus.judges.models.langchain_backend import ChatModelBackend
from areopagus.judges.parse import Parsed, parse
from areopagus.judges.schema import judgment_schema
from areopagus.records.types import Reply

pytestmark = [
    pytest.mark.usefixtures("clients", "key"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class '_Ollama:UserWarning"),
]
INCOMPLETE = (
    "error",
    "cancelled",
    "network_error",
    "insufficient_system_resource",
    "abort",
    "timeout",
    "incomplete",
    "MALFORMED_FUNCTION_CALL",
)
HOLISTIC = judgment_schema(("overall",), 1, 10, abstained=False, rationale=False)
LANES = ("auto", "litellm")
CALL = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
CHOICE: dict[str, Any] = OPENAI["choices"][0]  # type: ignore[index]


def openai(ending: str, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "1", **message}
    return {**OPENAI, "choices": [{**CHOICE, "message": said, "finish_reason": ending}]}


def gemini(ending: str, *parts: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "1"}, *parts]}
    return {**GEMINI, "candidates": [{"content": content, "finishReason": ending}]}


def anthropic(ending: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {**ANTHROPIC, "content": [{"type": "text", "text": "1"}, *blocks], "stop_reason": ending}


def ollama(ending: str) -> dict[str, Any]:
    return {**OLLAMA, "message": {"role": "assistant", "content": "1"}, "done_reason": ending}


BODIES = {
    "openai/x": openai,
    "hosted_vllm/x": openai,
    "anthropic/claude-sonnet-4-5": anthropic,
    "gemini/gemini-2.5-flash": gemini,
    "ollama_chat/x": ollama,
}
SAID = {"anthropic": "end_turn", "gemini": "STOP"}


async def parsed(recorder: Recorder, body: Any, model: str, lane: str = "auto") -> Parsed[Any]:
    recorder.body = json.dumps(body).encode()
    judge = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    return parse(await judge.send(request(judge, schema=None)), HOLISTIC)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("model", BODIES)
async def test_an_answer_that_the_provider_did_not_end_by_itself_is_no_vote(
    recorder: Recorder, model: str, lane: str
) -> None:
    write = BODIES[model]
    for ending in INCOMPLETE:
        vote = await parsed(recorder, write(ending), model, lane)
        assert (vote.outcome, vote.problem) == ("unreadable", "finish_reason"), ending
        assert vote.detail == f"the reply ended by {ending.lower()!r}"
    whole = SAID.get(model.partition("/")[0], "stop")
    assert (await parsed(recorder, write(whole), model, lane)).value is not None


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("openai/x", openai("stop", tool_calls=[CALL])),
        ("openai/x", openai("tool_calls", tool_calls=[CALL])),
        ("openai/x", openai("tool_calls")),
        ("openai/x", openai("stop", function_call=CALL["function"])),
        (
            "anthropic/claude-sonnet-4-5",
            anthropic("tool_use", {"type": "tool_use", "id": "t", "name": "look_up", "input": {}}),
        ),
        ("gemini/gemini-2.5-flash", gemini("STOP", {"functionCall": {"name": "f", "args": {}}})),
    ],
)
async def test_a_text_beside_a_tool_call_is_no_vote(
    recorder: Recorder, model: str, body: Any, lane: str
) -> None:
    vote = await parsed(recorder, body, model, lane)
    assert (vote.outcome, vote.problem) == ("unreadable", "tool_call")
    assert vote.detail == "the reply is a tool call with text beside it"


async def test_a_batchs_answer_that_broke_off_is_no_vote(recorder: Recorder) -> None:
    judge = backend("openai/x", f"http://127.0.0.1:{recorder.port}")
    answer = Answer(200, {}, json.dumps(openai("error")).encode())
    reply = judge.translate_reply(request(judge), answer, lambda usage: None)
    assert parse(reply, HOLISTIC).problem == "finish_reason"


async def test_an_answer_that_broke_off_has_no_weighted_score(recorder: Recorder) -> None:
    token = {"token": "1", "logprob": -0.1, "bytes": [49], "top_logprobs": []}
    body = openai("cancelled")
    body["choices"][0]["logprobs"] = {"content": [token]}
    recorder.body = json.dumps(body).encode()
    judge = backend("openai/x", f"http://127.0.0.1:{recorder.port}")
    reply = await judge.send(request(judge))
    assert reply.logprobs is not None
    assert weighted_scores(reply, HOLISTIC).problem == "not_scored"


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"finish_reason": "error"}, "finish_reason"),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, "finish_reason"),
        ({"stop_reason": "pause_turn"}, "finish_reason"),
        ({"status": "failed"}, "finish_reason"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "truncated",
        ),
        ({"status": "completed"}, None),
        ({"finish_reason": "STOP"}, None),
    ],
)
async def test_what_a_chat_model_reports_of_its_ending_counts(
    metadata: dict[str, Any], problem: str | None
) -> None:
    message = AIMessage("1", response_metadata=metadata)
    judge = ChatModelBackend(GenericFakeChatModel(messages=iter([message])))
    assert parse(await judge.send(request(judge)), HOLISTIC).problem == problem  # type: ignore[arg-type]


# Answers that are none


@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_a_stream_that_nobody_asked_for_is_named_and_not_asked_for_again(
    recorder: Recorder, model: str, lane: str
) -> None:
    judge = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    head = recorder.head
    event = b'data: {"choices": []}\n\n'
    for kind, body in (("text/event-stream", event), ("application/json", b"\n" + event)):
        recorder.head = head.replace("application/json", kind)
        recorder.body = body
        with pytest.raises(ProviderError) as caught:
            await judge.send(request(judge))
        assert "the endpoint streams its answers (text/event-stream)" in caught.value.detail
        assert (caught.value.fault, caught.value.closes_backend) == ("bad_reply", True)


NO_ANSWERS: list[tuple[Any, str]] = [
    ([OPENAI], "the answer is a list where an object was expected"),
    (7, "the answer is a number where an object was expected"),
    ({"hello": 1}, "the answer is an object without `choices`"),
    ({**OPENAI, "choices": "x"}, "`choices` in the answer is a text where a list was expected"),
    ({**OPENAI, "choices": [7]}, "`choices` in the answer holds a number where an object was"),
    (
        {**OPENAI, "choices": [{"message": []}]},
        "`choices[0].message` in the answer is a list where an object was expected",
    ),
]


@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(("body", "detail"), NO_ANSWERS, ids=range(len(NO_ANSWERS)))
async def test_a_bad_reply_says_in_words_what_was_received(
    recorder: Recorder, body: Any, detail: str, lane: str, model: str
) -> None:
    recorder.body = json.dumps(body).encode()
    judge = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    with pytest.raises(ProviderError) as caught:
        await judge.send(request(judge))
    assert caught.value.fault == "bad_reply"
    assert caught.value.detail.startswith(detail)
    assert "Error" not in caught.value.detail


@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_names_in_an_answer_are_cut(recorder: Recorder, model: str, lane: str) -> None:
    long = "m" * 10_000
    body = {"anthropic": ANTHROPIC, "openai": OPENAI}[PROTOCOLS[model]]
    recorder.body = json.dumps({**body, "model": long, "id": long}).encode()
    judge = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    reply: Reply = await judge.send(request(judge))
    assert reply.answered_by == "m" * 199 + "…"
    assert len(reply.request_id or "") <= 200
