"""Backends through litellm's real network path, to a provider on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from transport_world import CANARY, PROTOCOLS, request

from areopagus.errors import InputError, ProviderError
from areopagus.judges.factory import backend_of
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend, with_endpoint
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.prices import Prices
from areopagus.testing import Fault, ProviderServer, ServedReply, constant

pytestmark = pytest.mark.usefixtures("clients")


def backend(server: ProviderServer, model: str, **settings: Any) -> LitellmBackend:
    base = server.bases[PROTOCOLS.get(model, "openai")]
    given = {"api_base": base, "api_key_env": None, **settings}
    return LitellmBackend(BackendSpec(model=model, **given))


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_one_send_is_one_request_with_its_reply_and_usage(
    server: ProviderServer, model: str
) -> None:
    server.judge = lambda asked: ServedReply('{"overall": 7}', usage=(100, 20, 0), model="other")
    asked = backend(server, model)
    reply = await asked.send(request(asked))
    assert server.counts.total == 1
    assert reply.text == '{"overall": 7}'
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    assert reply.finish_reason == "stop"
    assert 0 < (reply.latency_s or 0) < 10
    assert reply.created_at > 1e9
    assert reply.attempts == 1
    if not model.startswith("ollama"):
        assert reply.answered_by == "other"


async def test_calls_that_others_make_through_litellm_keep_its_own_ways(
    server: ProviderServer,
) -> None:
    server.judge = constant(Fault.RESET_BEFORE_ANSWER)
    with pytest.raises(Exception, match="reset"):
        await litellm_module().acompletion(
            model="hosted_vllm/x",
            messages=[{"role": "user", "content": "A text."}],
            api_base=server.openai_base,
            api_key="x",
            max_retries=0,
        )
    assert server.counts.total in (1, 2)  # newer releases of litellm do not send again either


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_each_form_of_structured_output_arrives_as_it_was_meant(
    server: ProviderServer, model: str
) -> None:
    server.judge = constant({"overall": 7})
    asked = backend(server, model)
    for response_format in ("json_schema", "json_object", "prompt"):
        server.reset()
        await asked.send(request(asked, structured=response_format))
        [served] = server.requests
        if response_format == "json_schema":
            assert served.structured == "json_schema"
            assert served.schema is not None
            assert list(served.schema["properties"]) == ["overall"]
        elif response_format == "prompt":
            assert served.structured is None
            assert not {"response_format", "format", "tools", "output_format"} & set(served.params)
        elif not model.startswith("anthropic"):
            assert served.structured == "json_object"
        assert "temperature" not in served.params
        assert "stream" not in served.params or served.params["stream"] is False


async def test_the_parameters_arrive_and_nothing_else_does(server: ProviderServer) -> None:
    asked = backend(
        server,
        "openai/x",
        temperature=0.25,
        top_p=0.5,
        seed=7,
        max_tokens=99,
        reasoning_effort="low",
        extra={"min_tokens": 3},
    )
    await asked.send(request(asked, schema=None))
    assert dict(server.requests[0].params) == {
        "model": "x",
        "messages": [
            {"role": "system", "content": "Judge “fairly”."},
            {"role": "user", "content": "A text."},
        ],
        "temperature": 0.25,
        "top_p": 0.5,
        "seed": 7,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "min_tokens": 3,
    }


async def test_the_key_that_is_named_is_the_key_that_is_sent(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another-key-altogether")
    monkeypatch.setenv("OUR_ACCESS", CANARY)
    server.api_key = CANARY
    for model in PROTOCOLS:
        asked = backend(server, model, api_key_env="OUR_ACCESS")
        assert (await asked.send(request(asked))).text


async def test_a_named_key_that_is_missing_sends_nothing(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("EMPTY_KEY", "")
    for name in ("EMPTY_KEY", "NO_SUCH_KEY"):
        asked = backend(server, "openai/x", api_key_env=name)
        with pytest.raises(ProviderError, match=f"authentication: .*{name} is not set or empty"):
            await asked.send(request(asked))
        assert name in str(asked.access_faults()[0])
    assert server.counts.total == 0


async def test_the_time_is_over_for_a_whole_answer_not_for_each_byte(
    server: ProviderServer,
) -> None:
    server.trickle_s = 0.05
    server.judge = constant(Fault.TRICKLE)
    asked = backend(server, "openai/x", timeout_s=0.4)
    started = asyncio.get_running_loop().time()
    with pytest.raises(ProviderError, match=r"no answer within 0\.4 s") as caught:
        await asked.send(request(asked))
    assert asyncio.get_running_loop().time() - started < 3
    assert (caught.value.fault, caught.value.may_be_billed) == ("timeout", True)


# Usage and cost -----------------------------------------------------------------------------------


async def test_prices_are_ones_own_or_those_of_the_list_or_unknown_and_never_nothing(
    server: ProviderServer,
) -> None:
    server.judge = lambda asked: ServedReply('{"overall": 7}', usage=(1000, 100, 400))
    listed = backend(server, "openai/gpt-4o-mini")
    reply = await listed.send(request(listed))
    assert reply.usage.cached_input_tokens == 400
    # 600 × 0.15 + 400 × 0.075 + 100 × 0.60 dollars a million
    assert reply.cost_usd == pytest.approx((600 * 0.15 + 400 * 0.075 + 100 * 0.60) / 1e6)
    prices = Prices(input=10, output=20, cached_input=1)
    own = backend(server, "openai/gpt-4o-mini", prices=prices)
    reply = await own.send(request(own))
    assert reply.cost_usd == pytest.approx((600 * 10 + 400 * 1 + 100 * 20) / 1e6)
    assert own.worst_cost(1_000_000, 1_000_000) == pytest.approx(30)
    assert own.likely_cost(1_000_000, 0) == pytest.approx(10)
    # An Ollama of one's own is free.
    for model, cost in (("openai/x", None), ("ollama_chat/x", 0.0)):
        asked = backend(server, model)
        assert (await asked.send(request(asked))).cost_usd == cost
        assert asked.worst_cost(10**6, 10**6) == asked.likely_cost(1, 1) == cost


async def test_tokens_that_nobody_counted_are_unknown_and_so_is_the_cost(
    server: ProviderServer,
) -> None:
    # litellm fills in zeros, and a price times zero would read as a free call.
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "7"},
                "finish_reason": "stop",
            }
        ],
    }
    server.judge = lambda asked: ServedReply(None, body=json.dumps(answer).encode())
    asked = backend(server, "openai/gpt-4o-mini")
    reply = await asked.send(request(asked))
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("7", None, None)
    assert reply.cost_usd is None


@pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning")
def test_prices_and_preparation_ask_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*given: Any, **named: Any) -> Any:
        raise AssertionError(f"reached for the network: {given}")

    monkeypatch.setattr(socket.socket, "connect", nobody)
    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    for model in ("ollama_chat/x", "ollama/y", "huggingface/together/meta/x", "gemini/x"):
        asked = LitellmBackend(BackendSpec(model=model))
        asked.prepare()
        asked.worst_cost(1, 1)
        asked.likely_tokens("Some words.")
        asked.access_faults()


@pytest.mark.both_loops  # what asyncio's connects to is seen here, all of it
async def test_nothing_is_contacted_but_the_address_named(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: set[Any] = set()
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            reached.add(tuple(address[:2]))
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    for model in PROTOCOLS:
        asked = backend(server, model)
        asked.prepare()
        asked.worst_cost(10, 10)
        await asked.send(request(asked))
    assert reached == {("127.0.0.1", server.port)}
    assert set(server.counts.by_path) == {"/v1/chat/completions", "/v1/messages", "/api/chat"}


# Reply parts --------------------------------------------------------------------------------------


# Preparation --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "nosuch/x"}, "unknown provider 'nosuch'"),
        ({"model": "hosted_vllm/x"}, "needs the address of its server: set api_base"),
        ({"model": "openai/o3", "temperature": 0.0}, "temperature"),
        ({"model": "anthropic/claude-sonnet-4-5", "seed": 1}, "seed"),
        ({"model": "anthropic/claude-sonnet-4-5", "score_mode": "expected"}, "log-probabilities"),
        ({"model": "ollama_chat/x", "score_mode": "expected"}, "log-probabilities"),
        ({"model": "offline/nosuch"}, "no such embedded model"),
        ({"model": "offline/lexical", "score_mode": "expected"}, "no log-probabilities"),
        (
            {
                "model": "anthropic/claude-sonnet-4-5",
                "reasoning_effort": "high",
                "max_tokens": 1000,
            },
            "max_tokens must be more than",
        ),
    ],
)
def test_settings_that_a_model_does_not_take_are_refused_before_any_call(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        backend_of(BackendSpec(**settings)).prepare()
    assert message in str(caught.value)
    assert "drop_params" not in str(caught.value)


def test_a_model_that_takes_several_requests_is_refused_before_any_call(
    server: ProviderServer,
) -> None:
    for model in ("replicate/meta/x", "azure_ai/agents/x"):
        with pytest.raises(InputError, match="a second request"):
            backend(server, model).prepare()
    assert server.counts.total == 0


def test_the_effective_parameters_are_those_of_the_wire() -> None:
    asked = LitellmBackend(BackendSpec(model="ollama_chat/x", max_tokens=9, temperature=0.5))
    assert asked.effective_parameters() == {"num_predict": 9, "temperature": 0.5}
    asked = LitellmBackend(BackendSpec(model="openai/o3", max_tokens=9, extra={"min_tokens": 3}))
    assert asked.effective_parameters() == {"max_completion_tokens": 9, "min_tokens": 3}


# Addresses from the environment -------------------------------------------------------------------


ADDRESSES = [
    ("OPENAI_API_BASE", "openai/x"),
    ("OPENAI_BASE_URL", "openai/x"),
    ("ANTHROPIC_API_BASE", "anthropic/x"),
    ("ANTHROPIC_BASE_URL", "anthropic/x"),
    ("HOSTED_VLLM_API_BASE", "hosted_vllm/x"),
    ("OLLAMA_API_BASE", "ollama_chat/x"),
    ("OLLAMA_API_BASE", "ollama/x"),
    ("DATAROBOT_ENDPOINT", "datarobot/x"),
    ("FEATHERLESS_API_BASE", "featherless_ai/x"),
    ("FIREWORKS_API_BASE", "fireworks_ai/x"),
    ("FRIENDLI_API_BASE", "friendliai/x"),
    ("GRADIENT_AI_AGENT_ENDPOINT", "gradient_ai/x"),
    ("HF_API_BASE", "huggingface/x"),
    ("LAMBDA_API_BASE", "lambda_ai/x"),
    ("LLAMA_API_BASE", "meta_llama/x"),
    ("MISTRAL_AZURE_API_BASE", "mistral/x"),
    ("SCX_API_BASE", "scx-ai/x"),
    ("TENSORMESH_SERVERLESS_BASE_URL", "tensormesh/x"),
    ("WATSONX_URL", "watsonx/x"),
    ("WX_URL", "watsonx/x"),
    ("WML_URL", "watsonx_text/x"),
]


def test_an_address_of_the_environment_becomes_part_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, model in ADDRESSES:
        with monkeypatch.context() as patch:
            patch.setenv(variable, "http://127.0.0.1:9/v1/")
            spec = with_endpoint(BackendSpec(model=model, temperature=0.5))
        assert spec.api_base == "http://127.0.0.1:9/v1", variable
        assert (spec.api_key_env, spec.temperature, spec.name) == (None, 0.5, model)


def test_the_key_goes_with_the_address_of_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    assert with_endpoint(BackendSpec(model="openai/x")).api_key_env == "OPENAI_API_KEY"
    named = BackendSpec(model="openai/x", api_key_env="OTHER_KEY")
    assert with_endpoint(named).api_key_env == "OTHER_KEY"


def test_a_key_whose_variable_has_a_name_of_its_own_goes_with_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FIREWORKS_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("FIREWORKS_AI_API_KEY", CANARY)
    assert with_endpoint(BackendSpec(model="fireworks_ai/x")).api_key_env == "FIREWORKS_AI_API_KEY"
    monkeypatch.setenv("FIREWORKS_API_KEY", CANARY)
    assert with_endpoint(BackendSpec(model="fireworks_ai/x")).api_key_env == "FIREWORKS_API_KEY"
    monkeypatch.setenv("AZURE_API_BASE", "https://fire.example.org")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", CANARY)
    assert with_endpoint(BackendSpec(model="azure/x")).api_key_env == "AZURE_OPENAI_API_KEY"


def test_two_servers_named_by_a_variable_are_two_endpoints(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    for address in (server.openai_base, "http://127.0.0.1:9/v1"):
        monkeypatch.setenv("LAMBDA_API_BASE", address)
        keys.add(request(LitellmBackend(BackendSpec(model="lambda_ai/x"))).key())
    assert len(keys) == 2


def test_of_two_variables_the_one_that_litellm_takes_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_BASE", "http://127.0.0.1:1")
        monkeypatch.setenv(f"{provider}_BASE_URL", "http://127.0.0.1:2")
    monkeypatch.setenv("FIREWORKS_AI_API_BASE", "http://127.0.0.1:1")
    monkeypatch.setenv("FIREWORKS_API_BASE", "http://127.0.0.1:2")
    assert with_endpoint(BackendSpec(model="fireworks_ai/x")).api_base == "http://127.0.0.1:2"
    assert with_endpoint(BackendSpec(model="openai/x")).api_base == "http://127.0.0.1:2"
    assert with_endpoint(BackendSpec(model="anthropic/x")).api_base == "http://127.0.0.1:1"


def test_an_address_in_the_settings_is_not_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    spec = BackendSpec(model="openai/x", api_base="http://127.0.0.1:8/v1")
    assert with_endpoint(spec) == spec


def test_a_variable_that_holds_a_password_or_no_address_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The address is stored with every reply.
    for address in (f"http://me:{CANARY}@h/v1", f"http://h?key={CANARY}", "h:80"):
        monkeypatch.setenv("OPENAI_API_BASE", address)
        with pytest.raises(InputError, match="environment variable OPENAI_API_BASE") as caught:
            LitellmBackend(BackendSpec(model="openai/x"))
        assert CANARY not in str(caught.value)
