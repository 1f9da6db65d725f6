"""Calls that begin alike: one goes first where that pays, and marks stand where they must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from prefix_cached import prefix_cached

from areopagus import Panel
from areopagus.async_runner import run_sync
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.prefix_cache import (
    USUAL_MINIMUM,
    prefix_minimum,
    takes_marks,
    with_marks,
)
from areopagus.judges.models.prices import Prices
from areopagus.judges.models.request import Request
from areopagus.testing import (
    ProviderServer,
    ScriptedBackend,
    ServedReply,
    ServedRequest,
    by_hash,
)

LONG = "Much is owed to those who waited, because promises bind. " * 40
DELAY_S = 0.3  # long enough that calls sent together meet on a busy machine


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer(by_hash(1, 10)) as running:
        yield running


@pytest.fixture
def caching() -> Iterator[ProviderServer]:
    """A server that takes its time, and caches what it has answered."""
    judge = prefix_cached(by_hash(1, 10), answered_after_s=DELAY_S)
    with ProviderServer(judge, delay_s=DELAY_S) as running:
        yield running


def spec(server: ProviderServer, model: str, **settings: Any) -> dict[str, Any]:
    base = server.anthropic_base if model.startswith("anthropic") else server.openai_base
    return {"model": model, "api_base": base, "structured": "json_schema", **settings}


def went_alone(server: ProviderServer) -> bool:
    """Whether the second request came only after the first had its answer."""
    first, second, *_ = sorted(served.time for served in server.requests)
    return second - first >= DELAY_S


MINIMA: list[tuple[dict[str, Any], int | None]] = [
    ({"model": "openai/gpt-4o-mini"}, USUAL_MINIMUM),
    ({"model": "anthropic/claude-sonnet-4-5"}, USUAL_MINIMUM),
    ({"model": "anthropic/claude-haiku-4-5"}, 4096),
    ({"model": "anthropic/claude-opus-4-6"}, 4096),
    ({"model": "bedrock/us.anthropic.claude-3-5-haiku-20241022-v1:0"}, 2048),
    ({"model": "gemini/gemini-2.5-flash"}, 2048),
    ({"model": "vertex_ai/gemini-2.5-flash"}, 2048),
    ({"model": "vertex_ai/claude-sonnet-4-5"}, USUAL_MINIMUM),
    ({"model": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"}, USUAL_MINIMUM),
    ({"model": "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"}, 4096),
    # Kept only where it is marked, and nobody marks it.
    ({"model": "bedrock/amazon.nova-pro-v1:0"}, None),
    ({"model": "databricks/databricks-claude-sonnet-4"}, None),
    ({"model": "openai/nobody-knows-it"}, None),
    ({"model": "hosted_vllm/x"}, None),
    ({"model": "ollama_chat/x"}, None),
    ({"model": "hosted_vllm/x", "prices": Prices(input=2, output=2, cached_input=1)}, 1024),
    ({"model": "openai/gpt-4o-mini", "prices": Prices(input=2, output=2)}, None),
    ({"model": "offline/lexical"}, None),
]


def test_a_beginning_is_worth_sharing_where_cached_input_is_cheaper() -> None:
    for settings, expected in MINIMA:
        assert LitellmBackend(BackendSpec(**settings)).prefix_minimum == expected, settings
    assert prefix_minimum(BackendSpec(model="x/y"), None) is None


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"])
def test_one_judge_goes_first_and_the_others_read_what_it_left(
    caching: ProviderServer, model: str
) -> None:
    server = caching
    with Panel(spec(server, model)) as panel:
        verdict = panel.score("What is owed?", LONG)
    assert went_alone(server)
    assert server.counts.peak_in_flight == 8  # a backend's first calls are eight at once
    assert verdict.n_scored == 10
    cached = [j.cached_input_tokens or 0 for j in verdict.judgments]
    assert sorted(cached)[0] == 0
    assert all(
        0.7 * (j.input_tokens or 0) < hit
        for j, hit in zip(verdict.judgments[1:], cached[1:], strict=True)
    )
    # What was read from the cache is cheaper by the list, and so are the judgments.
    first, *others = [j.cost_usd or 0.0 for j in verdict.judgments]
    assert all(0 < cost < 0.7 * first for cost in others)


def test_the_first_of_a_response_is_told_apart_from_one_that_was_paid_before(
    caching: ProviderServer,
) -> None:
    server = caching
    some = ["historian", "ethicist", "sociologist"]
    with Panel(spec(server, "openai/gpt-4o-mini"), personas=some[:1]) as panel:
        panel.score("What is owed?", LONG)
    server.reset()
    with Panel(spec(server, "openai/gpt-4o-mini"), personas=some) as panel:
        panel.score("What is owed?", LONG)
    assert len(server.requests) == 2
    assert went_alone(server)


@pytest.mark.parametrize(
    ("settings", "panel_settings"),
    [
        ({"prefix_first": "off"}, {}),
        ({}, {"order": "persona_first"}),
        ({"model": "openai/nobody-knows-it"}, {}),
    ],
)
def test_where_it_does_not_pay_all_go_at_once(
    caching: ProviderServer, settings: dict[str, Any], panel_settings: dict[str, Any]
) -> None:
    server = caching
    given = spec(server, settings.pop("model", "openai/gpt-4o-mini"), **settings)
    with Panel(given, personas=["historian", "ethicist"], **panel_settings) as p:
        p.score("What is owed?", LONG)
    assert len(server.requests) == server.counts.peak_in_flight == 2


def test_a_scripted_backend_waits_for_one_only_where_it_is_told_to() -> None:
    for wish in ("auto", "on"):
        backend = ScriptedBackend({"overall": 5}, prefix_first=wish)
        with Panel(backend, mode="holistic") as panel:
            assert panel.score(f"What is owed, {wish}?", LONG).n_scored == 10
        assert len(backend.requests) == 10
        shared = {request.shared for request in backend.requests}
        assert (shared == {0}) is (wish == "auto")


def test_marks_stand_around_what_is_shared_and_change_no_text(server: ProviderServer) -> None:
    with Panel(
        spec(server, "anthropic/claude-sonnet-4-5"), personas=["historian", "ethicist"]
    ) as p:
        p.score("What is owed?", LONG)
        p.score("What is owed?", f"{LONG} In case 2.")
        openings = {p.spec.judge_prompt.system(persona) for persona in p.personas}
    texts = [served.params["messages"][0]["content"][0]["text"] for served in server.requests]
    assert len(set(texts)) == 2, "every response has marked blocks of its own"
    for served in server.requests:
        [system] = served.params["system"]
        shared, own = served.params["messages"][0]["content"]
        assert system["cache_control"] == shared["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in own
        assert {system["text"]} == openings
        assert "RESPONSE" in shared["text"]
        assert "Your perspective" in own["text"]
    first, second = (served.params["messages"][0]["content"] for served in server.requests[:2])
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_marks_are_no_part_of_the_key() -> None:
    messages = ({"role": "system", "content": "S"}, {"role": "user", "content": "shared own"})
    plain = Request("m", "", messages, {})
    assert plain.key() == Request("m", "", messages, {}, shared=7).key()
    told = [dict(message) for message in messages]
    assert with_marks(told, 0) == told
    assert with_marks(told, 7) != told


CLAUDE = [
    ("azure_ai", "claude-sonnet-4-5"),
    ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("vertex_ai", "claude-sonnet-4-5"),
]


@pytest.mark.parametrize(("provider", "model"), CLAUDE)
def test_other_sellers_of_claude_are_sent_the_marks(provider: str, model: str) -> None:
    spec = BackendSpec(model=f"{provider}/{model}")
    assert takes_marks(spec, USUAL_MINIMUM)
    assert not takes_marks(spec, None)
    litellm_module()
    from litellm.types.utils import LlmProviders
    from litellm.utils import ProviderConfigManager

    config = ProviderConfigManager.get_provider_chat_config(model, LlmProviders(provider))
    assert config is not None
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "shared own"}]
    body = config.transform_request(
        model=model,
        messages=with_marks(messages, 7),  # type: ignore[arg-type]
        optional_params={"max_tokens": 10},
        litellm_params={},
        headers={},
    )
    assert not takes_marks(BackendSpec(model="openai/gpt-4o-mini"), USUAL_MINIMUM)
    assert not takes_marks(BackendSpec(model="bedrock/amazon.nova"), USUAL_MINIMUM)
    written = json.dumps(body)
    assert written.count('"cache_control"') + written.count('"cachePoint"') == 2


def test_a_repair_keeps_the_marks_of_its_conversation(server: ProviderServer) -> None:
    honest = server.judge

    def once_wrong(request: ServedRequest) -> ServedReply:
        return honest(request) if len(request.messages) > 2 else ServedReply("no JSON at all")

    server.judge = once_wrong
    with Panel(
        spec(server, "anthropic/claude-sonnet-4-5"), personas=["historian", "ethicist"]
    ) as p:
        assert p.score("What is owed?", LONG).n_scored == 2
    last = server.requests[-1].params["messages"]
    assert len(last[0]["content"]) == 2
    assert "cache_control" in last[0]["content"][0]


@pytest.fixture(autouse=True)
def clients() -> Iterator[None]:
    """The panel's loop outlives a test; its connections to this test's server must not."""
    yield
    run_sync(litellm_module().close_litellm_async_clients())
    litellm_module().in_memory_llm_clients_cache.flush_cache()
