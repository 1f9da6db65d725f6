"""A translated call is what `litellm.acompletion` sends and reads: address, head, body, reply."""

from __future__ import annotations

import json
from typing import Any

import pytest
from transport_world import (
    ANSWERS,
    ANTHROPIC,
    CANARY,
    KINDS,
    ODD,
    ODD_TEXT,
    OLLAMA,
    OPENAI,
    PROTOCOLS,
    VOTE,
    Recorder,
    alone,
    backend,
    comparable,
    lasting,
    outcome,
    request,
)

from areopagus.errors import ProviderError
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_calls import ALWAYS_TRANSLATED
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.provider_errors import classify
from areopagus.judges.models.reply import reply_of
from areopagus.judges.models.request import Request
from areopagus.judges.models.transport import TRANSLATED
from areopagus.records.types import Reply, Usage
from areopagus.testing import Fault, ProviderServer, ServedReply, constant

pytestmark = [
    pytest.mark.usefixtures("clients", "key"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
]
HEADERS = frozenset(
    {
        "anthropic-beta",
        "anthropic-version",
        "authorization",
        "content-type",
        "x-api-key",
        "x-goog-api-key",
        "x-ours",
    }
)
# Its reading falls over an answer without a tier, in litellm's own call as well.
GROQ = {**OPENAI, "service_tier": "on_demand"}
COHERE = {
    "id": "c",
    "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [{"type": "text", "text": VOTE}]},
    "usage": {"tokens": {"input_tokens": 900, "output_tokens": 9}},
}
OTHERS = {
    "cohere": COHERE,
    "cohere_chat": COHERE,
    "groq": GROQ,
    "ollama": {**{k: v for k, v in OLLAMA.items() if k != "message"}, "response": VOTE},
}
MODELS: dict[str, Any] = {
    **ANSWERS,
    "xai/grok-4": OPENAI,
    "groq/llama-3.3-70b-versatile": GROQ,
    "perplexity/sonar": OPENAI,
    **{
        f"{provider}/x": OTHERS.get(provider, OPENAI)
        for provider in sorted(TRANSLATED - {"aiohttp_openai"})
        if not any(model.startswith(f"{provider}/") for model in ANSWERS)
    },
}


@pytest.fixture(autouse=True)
def listed_ollamas(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm asks the server about an Ollama model that it does not list, and blocks the loop."""
    for provider in ("ollama", "ollama_chat"):
        prices = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
        entry = {**prices, "litellm_provider": provider, "mode": "chat"}
        monkeypatch.setitem(litellm_module().model_cost, f"{provider}/x", entry)


async def by_litellm(asked: LitellmBackend, what: Request) -> Reply:
    """The reply by `litellm.acompletion` with nothing of ours about it."""
    answer = await litellm_module().acompletion(**asked.arguments(what), drop_params=False)
    return lasting(reply_of(answer, cost_of=lambda usage: asked.pricing.cost(answer, usage)))


async def agree(recorder: Recorder, asked: LitellmBackend, changes: dict[str, Any]) -> None:
    what = request(asked, ODD_TEXT, **alone(changes, ODD_TEXT))
    recorder.raw.clear()
    reply = await asked.send(what)
    again = await asked.send(what)
    expected = await by_litellm(asked, what)
    first, second, theirs = recorder.raw
    assert first[2] == second[2], "what is kept between calls was changed by one"
    assert first[0] == theirs[0]  # method and path, query and all
    assert _head(first[1]) == _head(theirs[1], asked.spec.provider)
    assert json.loads(first[2]) == json.loads(theirs[2])
    assert lasting(reply) == lasting(again) == expected
    assert reply.text == VOTE


def _head(headers: list[tuple[str, str]], provider: str = "") -> dict[str, str]:
    found = {name: value for name, value in headers if name in HEADERS}
    if provider.startswith("ollama"):
        found["content-type"] = "application/json"  # litellm's client says octet-stream
    assert CANARY in str(found)
    return found


# Every provider is asked in one way, and each kind of translation in every way.
IN_EVERY_WAY = (
    *("openai/gpt-4o-mini", "hosted_vllm/x", "anthropic/claude-sonnet-4-5", "ollama_chat/x"),
    *("gemini/gemini-2.5-flash", "mistral/mistral-small-latest", "deepseek/deepseek-chat"),
)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        # For Cohere's models litellm knows no response format.
        *((model, "prompt" if model.startswith("cohere") else "json_schema") for model in MODELS),
        *((model, kind) for model in IN_EVERY_WAY for kind in KINDS if kind != "json_schema"),
    ],
)
async def test_the_same_request_goes_out_and_the_answer_is_read_alike(
    recorder: Recorder, model: str, kind: str
) -> None:
    without_tool = model.startswith("anthropic") and kind != "json_schema"
    recorder.body = json.dumps(ANTHROPIC if without_tool else MODELS[model]).encode()
    base = f"http://127.0.0.1:{recorder.port}/v1"
    await agree(recorder, backend(model, base), KINDS[kind])
    if kind == "json_schema" and model.partition("/")[0] not in ALWAYS_TRANSLATED:
        # Nor does litellm's own call go by another client than ours.
        recorder.raw.clear()
        asked = backend(model, base, lane="litellm")
        assert (await asked.send(request(asked))).text == VOTE
        [(_, headers, _)] = recorder.raw
        assert dict(headers)["accept-encoding"] == "identity"


@pytest.mark.parametrize("base", ["", "/v1", "/v1/messages"])
async def test_anthropics_address_is_the_same_however_it_is_named(
    recorder: Recorder, base: str
) -> None:
    recorder.body = json.dumps(ANTHROPIC).encode()
    asked = backend("anthropic/claude-sonnet-4-5", f"http://127.0.0.1:{recorder.port}{base}")
    await agree(recorder, asked, KINDS["prompt"])


@pytest.mark.parametrize(
    ("model", "settings", "params"),
    [
        (
            "openai/x",
            {"temperature": 0.25, "top_p": 0.5, "seed": 7, "reasoning_effort": "low"},
            {},
        ),
        ("openai/o3", {"reasoning_effort": "high"}, {}),
        ("openai/gpt-5-mini", {"reasoning_effort": "low"}, {}),
        ("openai/x", {"extra": {"min_tokens": 3, "extra_headers": {"x-ours": "1"}}}, {}),
        ("openai/x", {"extra": {"extra_body": {"guided_regex": "[0-9]"}}}, {}),
        ("hosted_vllm/x", {"extra": {"extra_headers": {"x-ours": "1"}}}, {}),
        ("hosted_vllm/x", {"extra": {"extra_body": {"top_k": 5}}}, {}),
        ("openai/gpt-4o-mini", {}, {"logprobs": True, "top_logprobs": 20}),
        ("hosted_vllm/x", {"extra": {"repetition_penalty": 1.1}}, {"logprobs": True}),
        ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "low", "max_tokens": 4000}, {}),
        ("gemini/gemini-2.5-flash", {"temperature": 0.0, "reasoning_effort": "low"}, {}),
        ("ollama_chat/x", {"temperature": 0.5, "seed": 3}, {}),
        ("mistral/mistral-small-latest", {"temperature": 0.5, "seed": 3}, {}),
        ("deepseek/deepseek-reasoner", {}, {}),
        ("xai/grok-4", {"temperature": 0.5, "seed": 3}, {}),
        ("openrouter/meta/x", {"extra": {"provider": {"order": ["a"]}}}, {}),
    ],
)
async def test_parameters_are_the_same(
    recorder: Recorder, model: str, settings: dict[str, Any], params: dict[str, Any]
) -> None:
    recorder.body = json.dumps(ANSWERS.get(model, OPENAI)).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}/v1", **settings)
    await agree(recorder, asked, {"params": {**asked.spec.parameters(), **params}})


COUNTS = {"usage", "prompt_eval_count", "eval_count"}


@pytest.mark.parametrize(
    ("model", "structured"),
    [
        ("ollama_chat/x", "json_schema"),
        ("ollama_chat/x", "prompt"),
        ("hosted_vllm/x", "prompt"),
        ("openai/x", "json_schema"),
    ],
)
async def test_an_answer_that_does_not_count_is_counted_as_litellm_counts_it(
    recorder: Recorder, model: str, structured: Any
) -> None:
    # Ollama leaves the count out where the whole prompt was in its cache.
    whole = MODELS.get(model, OPENAI)
    recorder.body = json.dumps({k: v for k, v in whole.items() if k not in COUNTS}).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}")
    for n_words in (30, 3000):
        what = request(asked, "word " * n_words + "end", structured=structured)
        reply = await asked.send(what)
        assert reply.usage == (await by_litellm(asked, what)).usage
    if model.startswith("ollama"):
        assert (reply.usage.input_tokens or 0) > 3000


THINKING = {
    "openai/x": {
        **OPENAI,
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": VOTE, "reasoning_content": "Hm."},
            }
        ],
        "usage": {
            "prompt_tokens": 2000,
            "completion_tokens": 300,
            "total_tokens": 2300,
            "prompt_tokens_details": {"cached_tokens": 1024},
            "completion_tokens_details": {"reasoning_tokens": 256},
        },
    },
    "anthropic/claude-sonnet-4-5": {
        **ANTHROPIC,
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": VOTE},
        ],
        "usage": {
            "input_tokens": 900,
            "output_tokens": 90,
            "cache_read_input_tokens": 1024,
            "cache_creation_input_tokens": 7,
        },
    },
    "gemini/gemini-2.5-flash": {
        "candidates": [
            {
                "content": {"parts": [{"text": "Hm.", "thought": True}, {"text": VOTE}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 900,
            "candidatesTokenCount": 9,
            "thoughtsTokenCount": 80,
            "totalTokenCount": 989,
        },
        "modelVersion": "served",
    },
    "ollama_chat/x": {
        **OLLAMA,
        "message": {"role": "assistant", "content": VOTE, "thinking": "Hm."},
    },
}


@pytest.mark.parametrize("model", THINKING)
async def test_reasoning_and_cached_tokens_are_read_alike(recorder: Recorder, model: str) -> None:
    recorder.body = json.dumps(THINKING[model]).encode()
    await agree(recorder, backend(model, f"http://127.0.0.1:{recorder.port}"), KINDS["prompt"])


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": 900, "completion_tokens": 9, "prompt_tokens_details": None},
        {"prompt_tokens": 900, "completion_tokens": 9, "prompt_cache_hit_tokens": 512},
        {"prompt_tokens": 900, "completion_tokens": 9, "prompt_cache_hit_tokens": 0},
        {"prompt_tokens": 900, "completion_tokens": 9, "cache_read_input_tokens": 100},
        {"prompt_tokens": 900, "completion_tokens": 9, "cache_creation_input_tokens": 100},
        {"prompt_tokens": 900, "completion_tokens": 90, "reasoning_tokens": 80},
        {
            "prompt_tokens": 900,
            "completion_tokens": 90,
            "reasoning_tokens": 80,
            "prompt_cache_hit_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 7, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        {
            "prompt_tokens": 900,
            "completion_tokens": 90,
            "cache_read_input_tokens": 3,
            "prompt_cache_hit_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 7},
            "completion_tokens_details": {"reasoning_tokens": None},
        },
    ],
)
async def test_counts_of_every_kind_are_read_alike(
    recorder: Recorder, told: dict[str, Any]
) -> None:
    recorder.body = json.dumps({**OPENAI, "usage": told}).encode()
    for model in ("openai/gpt-4o-mini", "deepseek/deepseek-chat"):
        asked = backend(model, f"http://127.0.0.1:{recorder.port}")
        reply = await asked.send(request(asked))
        expected = await by_litellm(asked, request(asked))
        assert reply.usage == expected.usage
        assert reply.cost_usd == expected.cost_usd


async def test_a_count_that_is_not_told_is_unknown_and_not_0(recorder: Recorder) -> None:
    told = {"prompt_tokens": 900, "completion_tokens": None}
    recorder.body = json.dumps({**OPENAI, "usage": told}).encode()
    asked = backend("openai/gpt-4o-mini", f"http://127.0.0.1:{recorder.port}")
    reply = await asked.send(request(asked))
    assert reply.usage == Usage(input_tokens=900)
    assert reply.cost_usd is None


# One of each kind; in which class of ours each ends stands in test_provider_errors and test_judge.
FAULTS = (
    *(Fault.RATE_LIMIT_RETRY_AFTER_DATE, Fault.QUOTA, Fault.SERVER_ERROR, Fault.CONTEXT_LENGTH),
    *(Fault.UNAUTHORIZED_ECHOING_KEY, Fault.RESET_BEFORE_ANSWER, Fault.CLOSE_MID_BODY),
    *(Fault.TRUNCATED_BODY, Fault.HTML_PAGE, Fault.EMPTY_CHOICES, Fault.TOOL_CALL, Fault.REFUSAL),
    *(Fault.CONTENT_NULL, Fault.CONTENT_FILTER, Fault.WRONG_CONTENT_TYPE),
)


@pytest.mark.parametrize("model", PROTOCOLS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_the_same_fault(server: ProviderServer, model: str, fault: Fault) -> None:
    server.judge = constant(fault)
    asked = backend(model, server.bases[PROTOCOLS[model]])
    found = await outcome(asked)
    assert server.counts.total == 1, "one send is one request"
    assert CANARY not in str(found)
    try:
        expected: Any = await by_litellm(asked, request(asked))
    except Exception as error:
        told = classify(error)
        expected = told.fault, told.detail, told.status, told.may_be_billed, told.retry_after_s
    if isinstance(found, Reply):
        assert found == expected
    else:
        assert (found[0], found[3]) == (expected[0], expected[3])
        assert (found[4] or 0) == pytest.approx(expected[4] or 0, abs=1.1)


@pytest.mark.parametrize("odd", ODD)
async def test_odd_answers_are_read_alike_or_are_bad_replies(
    server: ProviderServer, odd: str
) -> None:
    asked = backend("openai/gpt-4o-mini", server.openai_base)
    server.judge = lambda asked: ServedReply(None, body=json.dumps(ODD[odd]).encode())
    found = await outcome(asked)
    try:
        expected: Any = await by_litellm(asked, request(asked))
    except Exception as error:
        expected = classify(error).fault
    if odd == "usage of words":  # a good answer, whose counts are unknown; litellm falls over it
        assert isinstance(found, Reply)
        assert found.usage == Usage()
    elif isinstance(found, Reply):
        assert found == expected
    else:
        assert found[0] in ("bad_reply", "server")
        assert expected in ("bad_reply", "server", "internal", "connection")


@pytest.mark.parametrize("model", sorted(PROTOCOLS))
async def test_litellms_own_call_over_our_connections_is_the_same(
    server: ProviderServer, model: str
) -> None:
    server.judge = constant(VOTE)
    outcomes = []
    for lane in ("auto", "litellm"):
        asked = backend(model, server.bases[PROTOCOLS[model]], lane=lane)
        outcomes.append(comparable(await outcome(asked)))
    assert outcomes[0] == outcomes[1]


async def test_a_parameter_that_a_model_does_not_take_is_refused_before_it_is_sent(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for drops in (False, True):
        monkeypatch.setattr(litellm_module(), "drop_params", drops)
        for lane in ("auto", "litellm"):
            base = f"http://127.0.0.1:{recorder.port}"
            asked = backend("openai/o3", base, temperature=0.5, lane=lane)
            with pytest.raises(ProviderError) as caught:
                await asked.send(request(asked))
            assert caught.value.fault == "unsupported_parameter"
    assert recorder.raw == []
