"""Answers are read without litellm's translation only where both are known to read alike."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.reply import reply_of
from areopagus.judges.wire.answers import AnswerReader, Asked
from areopagus.judges.wire.passage import Received
from areopagus.judges.wire.plain_answer import PROOFS
from areopagus.judges.wire.shape import Shape, same_reading
from areopagus.judges.wire.template import Template
from areopagus.judges.wire.written import Written
from areopagus.records.types import Reply

Change = Callable[[dict[str, Any]], None]
USUAL: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "served",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": '{"overall": 7}', "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {
        "prompt_tokens": 900,
        "completion_tokens": 9,
        "total_tokens": 909,
        "prompt_tokens_details": {"cached_tokens": 512, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 0},
    },
    "service_tier": "default",
    "system_fingerprint": None,
}


def read(answer: Any) -> Reply:
    return reply_of(answer, latency_s=0.0)


class CountingReader:
    """litellm's translation, and how often it was asked."""

    def __init__(self, model: str) -> None:
        self.asked = 0
        self._inner = AnswerReader(litellm_module(), model, "http://127.0.0.1:1/v1", {})
        # What the first answers through litellm's own call teach a shape.
        self._inner.names_provider = model.startswith("hosted_vllm/")
        self.prefix = self._inner.prefix

    def read(self, received: Received, asked: Asked) -> Any:
        self.asked += 1
        return self._inner.read(received, asked)


def received(answer: Any, **changed: Any) -> Received:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    headers = changed.get("headers", ((b"content-type", b"application/json"),))
    return Received(200, headers, body)


def shape_of(model: str) -> tuple[Shape, CountingReader]:
    reader = CountingReader(model)
    written = Written(template=Template.__new__(Template), proofs=1)
    return Shape(reader=reader, written=written, same_read=2), reader  # type: ignore[arg-type]


def taught(model: str) -> tuple[Shape, CountingReader]:
    shape, reader = shape_of(model)
    for number in range(PROOFS):
        answer = copy.deepcopy(USUAL)
        answer["id"] = f"chatcmpl-{number}"
        shape.read(received(answer), read)
    return shape, reader


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "hosted_vllm/x"])
def test_after_some_answers_the_next_of_their_outline_are_read_here(model: str) -> None:
    shape, reader = taught(model)
    assert reader.asked == PROOFS
    answer = copy.deepcopy(USUAL)
    answer["choices"][0]["message"]["content"] = '{"overall": 3}'
    answer["usage"]["prompt_tokens"] = 1234
    found = shape.read(received(answer), read)
    assert reader.asked == PROOFS
    assert found is not None
    assert (found.text, found.usage.input_tokens) == ('{"overall": 3}', 1234)
    fresh, _ = shape_of(model)
    other = fresh.read(received(answer), read)
    assert other is not None
    assert same_reading(found, other)
    assert found.request_id == other.request_id == "chatcmpl-1"


def message(**changes: Any) -> Change:
    return lambda answer: answer["choices"][0]["message"].update(changes)


def choice(**changes: Any) -> Change:
    return lambda answer: answer["choices"][0].update(changes)


def usage(**changes: Any) -> Change:
    return lambda answer: answer["usage"].update(changes)


def top(**changes: Any) -> Change:
    return lambda answer: answer.update(changes)


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
# Each differs from the usual answer in something that litellm's translation may look at.
UNUSUAL: dict[str, Change] = {
    "thinking in tags": message(content='<think>so</think>{"overall": 7}'),
    "thinking inside": message(content='{"overall": 7, "why": "<think>a</think>b"}'),
    "no object": message(content="seven"),
    "nothing said": message(content=None),
    "an empty text": message(content=""),
    "a refusal": message(refusal="No."),
    "a tool": message(tool_calls=[CALL]),
    "no tool": message(tool_calls=[]),
    "a thought": message(reasoning_content="so"),
    "a role": message(role=None),
    "cut off": choice(finish_reason="length"),
    "ended otherwise": choice(finish_reason="eos_token"),
    "not ended": choice(finish_reason=None),
    "log-probabilities": choice(
        logprobs={"content": [{"token": "7", "logprob": -0.1, "bytes": None, "top_logprobs": []}]}
    ),
    "an error": top(error={"message": "no", "code": 500}),
    "no error": top(error=None),
    "an error in words": top(error="no"),
    "no id": top(id=""),
    "another model": top(model="other"),
    "no model": top(model=None),
    "another tier": top(service_tier="flex"),
    "no usage": top(usage=None),
    "no choices": top(choices=[]),
    "two choices": lambda answer: answer["choices"].append(answer["choices"][0]),
    "no tokens": usage(prompt_tokens=0),
    "negative": usage(prompt_tokens=-5),
    "too many": usage(prompt_tokens=2**60),
    "half a token": usage(prompt_tokens=1.5),
    "yes": usage(prompt_tokens=True),
    "in words": usage(prompt_tokens="900"),
    "cache by another name": usage(prompt_cache_hit_tokens=100, prompt_cache_miss_tokens=800),
    "written to the cache": usage(cache_creation_input_tokens=300),
    "no details": usage(prompt_tokens_details=None),
    "nothing cached": usage(prompt_tokens_details={"cached_tokens": 0, "audio_tokens": 0}),
    "half a character": message(content='{"overall": 7, "why": "\ud83d"}'),
}


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "hosted_vllm/x"])
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_an_unusual_answer_is_read_as_litellm_reads_it(model: str, name: str) -> None:
    shape, _ = taught(model)
    answer = copy.deepcopy(USUAL)
    UNUSUAL[name](answer)
    for _ in range(2 * PROOFS):  # also after it has become an outline that is known
        fresh, _ = shape_of(model)
        long_way = fresh.read(received(answer), read)
        found = shape.read(received(answer), read)
        if long_way is None:
            assert found is None
        else:
            assert same_reading(found, long_way)


def test_what_is_no_json_or_cannot_be_unpacked_or_is_too_large_goes_the_long_way() -> None:
    shape, reader = taught("openai/gpt-4o-mini")
    long = copy.deepcopy(USUAL)
    long["choices"][0]["message"]["content"] = '{"why": "' + "x" * 200_000 + '"}'
    deep: Any = 1
    for _ in range(10):
        deep = {"more": deep}
    cases = [
        received(b"nonsense"),
        received(b"[]"),
        received(long),
        received({**USUAL, "deep": deep}),
        received(USUAL, headers=((b"Content-Encoding", b"gzip"),)),
    ]
    for number, case in enumerate(cases, 1):
        shape.read(case, read)
        assert reader.asked == PROOFS + number


def test_an_outline_read_unlike_once_is_never_read_here() -> None:
    shape, reader = shape_of("openai/gpt-4o-mini")
    honest = reader._inner.read

    def otherwise(answer: Received, asked: Asked) -> Any:
        found = honest(answer, asked)
        found.model = "somebody else"
        return found

    reader._inner.read = otherwise  # type: ignore[method-assign]
    for number in range(1, 6):
        found = shape.read(received(USUAL), read)
        assert found is not None
        assert found.answered_by == "somebody else"
        assert reader.asked == number


def test_an_endpoint_with_ever_new_outlines_fills_no_memory() -> None:
    shape, reader = taught("openai/gpt-4o-mini")
    for number in range(200):
        shape.read(received({**USUAL, f"new{number}": 1}), read)
    assert len(shape.plain._alike) <= 64
    asked = reader.asked
    shape.read(received(USUAL), read)
    assert reader.asked == asked


counts = some.integers(0, 2**40) | some.none()


@given(
    text=some.text(max_size=40).map(lambda said: json.dumps({"overall": 5, "why": said})),
    tokens=some.tuples(counts, counts, counts, counts),
)
def test_texts_and_counts_of_all_kinds_are_read_as_litellm_reads_them(
    text: str, tokens: tuple[int | None, ...]
) -> None:
    shape, _ = taught("openai/gpt-4o-mini")
    answer = copy.deepcopy(USUAL)
    answer["choices"][0]["message"]["content"] = text
    sent, said, cached, thought = tokens
    answer["usage"] |= {"prompt_tokens": sent, "completion_tokens": said}
    answer["usage"]["prompt_tokens_details"]["cached_tokens"] = cached
    answer["usage"]["completion_tokens_details"]["reasoning_tokens"] = thought
    fresh, _ = shape_of("openai/gpt-4o-mini")
    long_way = fresh.read(received(answer), read)
    for _ in range(PROOFS + 1):
        found = shape.read(received(answer), read)
        assert (found is None) == (long_way is None)
        assert long_way is None or same_reading(found, long_way)
