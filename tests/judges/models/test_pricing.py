"""What is set aside for a call, and what is booked for it: searches and tiers of service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wire_world import OPENAI, Recorder, backend, request

from areopagus import InputError, Panel
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.pricing import always_searches, is_usual, listed_prices
from areopagus.records.types import Usage
from areopagus.testing import ProviderServer

USED = Usage(1000, 500)
NOTE = {"type": "url_citation", "url_citation": {"url": "https://example.org"}}
ONE_SEARCH = {"prompt_tokens_details": {"web_search_requests": 1}}


def asked(model: str, **settings: Any) -> LitellmBackend:
    return LitellmBackend(BackendSpec(model=model, **settings))


def answer(model: str, notes: Any = None, tier: str | None = None, **usage: Any) -> Any:
    litellm = litellm_module()
    made = litellm.ModelResponse(model=model.partition("/")[2])
    made.usage = litellm.Usage(
        **{"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500, **usage}
    )
    if notes is not None:
        made.choices[0].message.annotations = notes
    if tier is not None:
        made.service_tier = tier
    return made


# Searches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "told", "cost"),
    [
        # 1000 × 1 + 500 × 1 dollars a million, and half a cent for the search
        ("perplexity/sonar", ONE_SEARCH, 0.0065),
        ("perplexity/sonar-pro", ONE_SEARCH, 0.0165),
        ("perplexity/sonar-pro", {"cost": 0.0321}, 0.0321),
        ("perplexity/sonar-deep-research", {**ONE_SEARCH, "citation_tokens": 2000}, 0.015),
        ("openai/gpt-4o-mini-search-preview", ONE_SEARCH, 0.02545),
        ("openai/gpt-4o-mini-search-preview", {"notes": [NOTE]}, 0.02545),
        ("openai/gpt-4o-search-preview", {"notes": [NOTE]}, 0.0325),
        ("openai/gpt-5-search-api", {"notes": [NOTE]}, 0.01625),
        # one that searches only when told to
        ("openai/gpt-5", {"notes": [NOTE]}, 0.01625),
    ],
)
def test_searches_that_an_answer_tells_of_are_in_its_cost(
    model: str, told: dict[str, Any], cost: float
) -> None:
    made = answer(model, **told)
    assert not is_usual(made)
    assert asked(model)._cost(made, USED) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("perplexity/sonar", {}),
        # sources cited, and no word on the fee for finding them
        ("perplexity/sonar", {"citation_tokens": 50, "notes": [NOTE]}),
        ("openai/gpt-4o-search-preview", {}),
    ],
)
def test_where_an_answer_is_silent_on_its_searches_its_cost_is_unknown(
    model: str, told: dict[str, Any]
) -> None:
    assert asked(model)._cost(answer(model, **told), USED) is None


@pytest.mark.parametrize(
    "model",
    [
        "perplexity/sonar",
        "perplexity/sonar-deep-research",
        "openai/gpt-4o-search-preview-2025-03-11",
        "openai/gpt-5-search-api",
        "openai/o3-deep-research",
        "gemini/deep-research-pro-preview-12-2025",
        "vercel_ai_gateway/perplexity/sonar",
    ],
)
def test_what_a_searching_model_costs_at_most_is_unknown(model: str) -> None:
    found = asked(model)
    assert found.has_fees
    assert found.worst_cost(1, 1) is None
    assert found.likely_cost(1, 1) is None
    stated = asked(model, prices={"input": 10, "output": 20})
    assert not stated.has_fees
    assert stated.worst_cost(1000, 500) == pytest.approx(0.02)
    # stated prices are all that is booked too
    assert stated._cost(answer(model, notes=[NOTE], **ONE_SEARCH), USED) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("extra", "is_bounded"),
    [
        ({}, True),
        ({"user": "me"}, True),
        ({"web_search_options": {"search_context_size": "low"}}, False),
        ({"extra_body": {"search_parameters": {"mode": "on"}}}, False),
        ({"plugins": [{"id": "web"}]}, False),
        ({"enable_search": False}, True),
    ],
)
def test_a_model_told_to_search_costs_what_nobody_knows_at_most(
    extra: dict[str, Any], is_bounded: bool
) -> None:
    found = asked("openai/gpt-4o-mini", extra=extra)
    assert (found.worst_cost(1, 1) is not None) == is_bounded


def test_an_ordinary_model_is_not_taken_for_one_that_searches() -> None:
    """Some 300 models list a fee for searches that they can be told to make."""
    searching = set()
    for name, entry in litellm_module().model_cost.items():
        model = name if "/" in name else f"{entry.get('litellm_provider')}/{name}"
        if entry.get("litellm_provider") != "perplexity" and "/" in model:
            spec = BackendSpec(model=model)
            if (listed_prices(spec) is entry) and always_searches(spec, entry):
                searching.add(name)
    assert 10 < len(searching) < 40
    assert not {"gpt-5", "gpt-4o-mini", "gemini/gemini-2.5-flash"} & searching
    assert not [name for name in searching if "NousResearch" in name]
    assert not asked("ollama_chat/deep-research").has_fees  # a machine of one's own


def test_a_cap_is_refused_for_a_searching_model_before_anything_is_sent(
    tmp_path: Path, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_ACCESS", "key")
    model = {
        "model": "openai/gpt-4o-search-preview",
        "api_base": server.bases["openai"],
        "api_key_env": "OUR_ACCESS",
    }
    rows = [{"response_id": "r", "prompt_text": "Why?", "response_text": "Because of that."}]
    with Panel(model) as panel, pytest.raises(InputError, match="charges for searches") as caught:
        panel.score_many(rows, tmp_path / "run", max_cost=1)
    assert "no known worst price" in str(caught.value)
    assert server.counts.total == 0


# Tiers of service ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "tier", "dearest"),
    [
        ("openai/gpt-5", "priority", 0.0125),
        ("openai/gpt-4o-mini", "priority", 0.00075),
        ("openai/gpt-4.1", "fast", 0.0105),  # another word for it
        ("openai/gpt-5", "flex", 0.00625),  # may be served as usual
        ("openai/gpt-5", "auto", 0.0125),  # as the project is set up
        ("openai/gpt-5", "default", 0.00625),
        ("openai/gpt-5", None, 0.00625),
    ],
)
def test_the_worst_price_is_that_of_the_tier_asked_for(
    model: str, tier: str | None, dearest: float
) -> None:
    found = asked(model, extra={} if tier is None else {"service_tier": tier})
    assert found.worst_cost(1000, 500) == pytest.approx(dearest)
    within = asked(model, extra={"extra_body": {"service_tier": tier}})
    assert within.worst_cost(1000, 500) == pytest.approx(dearest)


@pytest.mark.parametrize("tier", ["flex", "priority", "ultrafast"])
def test_no_listed_tier_costs_more_than_was_set_aside_for_it(tier: str) -> None:
    tried = 0
    for name, entry in litellm_module().model_cost.items():
        is_asked = entry.get("litellm_provider") in ("openai", "gemini")
        if not is_asked or f"output_cost_per_token_{tier}" not in entry or entry["mode"] != "chat":
            continue
        provider = entry["litellm_provider"]
        model = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        found = asked(model, extra={"service_tier": tier})
        worst = found.worst_cost(1000, 500)
        if worst is None:
            continue
        tried += 1
        for served in (tier, None):  # an answer need not name its tier
            cost = found._cost(answer(model, tier=served), USED)
            assert cost is not None
            assert cost <= worst * (1 + 1e-9), model
    assert tried >= 1


def test_a_tier_that_was_not_asked_for_counts_from_the_first_answer_at_it() -> None:
    found = asked("openai/gpt-5")
    assert found._cost(answer("openai/gpt-5", tier="default"), USED) == pytest.approx(0.00625)
    assert found.worst_cost(1000, 500) == pytest.approx(0.00625)
    assert found._cost(answer("openai/gpt-5", tier="priority"), USED) == pytest.approx(0.0125)
    assert found.worst_cost(1000, 500) == pytest.approx(0.0125)
    assert found.likely_cost(1000, 500) == pytest.approx(0.00625)
    assert found._cost(answer("openai/gpt-5", tier="default"), USED) == pytest.approx(0.00625)


def test_googles_word_for_a_tier_is_understood() -> None:
    model = "gemini/gemini-3-flash-preview"
    made = answer(model)
    made._hidden_params["provider_specific_fields"] = {"traffic_type": "ON_DEMAND"}
    assert is_usual(made)
    made._hidden_params["provider_specific_fields"] = {"traffic_type": "ON_DEMAND_PRIORITY"}
    assert not is_usual(made)
    found = asked(model)
    before, cost = found.worst_cost(1000, 500), found._cost(made, USED)
    after = found.worst_cost(1000, 500)
    assert before is not None
    assert cost is not None
    assert after is not None
    assert before < cost <= after


def test_a_dearer_speed_or_place_that_is_asked_for_counts() -> None:
    model = "anthropic/claude-opus-4-8"
    found = asked(model, extra={"speed": "fast", "inference_geo": "us"})
    cost = found._cost(answer(model, speed="fast", inference_geo="us"), USED)
    worst, usual = found.worst_cost(1000, 500), asked(model).worst_cost(1000, 500)
    assert cost is not None
    assert worst is not None
    assert usual is not None
    assert usual < cost <= worst


@pytest.mark.usefixtures("clients", "key")
@pytest.mark.parametrize(
    ("change", "cost"),
    [
        ({"service_tier": "priority"}, 0.00075),
        ({"service_tier": "default"}, 0.00045),
    ],
)
async def test_an_answer_that_is_read_without_litellm_does_not_lose_its_tier(
    recorder: Recorder, change: dict[str, Any], cost: float
) -> None:
    used = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    usual = {**OPENAI, "usage": used, "service_tier": "default"}
    recorder.body = json.dumps(usual).encode()
    found = backend("openai/gpt-4o-mini", f"http://127.0.0.1:{recorder.port}/v1")
    for number in range(6):  # until answers of this outline are read here alone
        await found.send(request(found, f"Text {number}."))
    assert found.lane.fast > 2
    recorder.body = json.dumps({**usual, **change}).encode()
    reply = await found.send(request(found, "Another."))
    assert reply.cost_usd == pytest.approx(cost)


@pytest.mark.usefixtures("clients", "key")
async def test_a_long_answer_that_is_read_without_litellm_is_not_free(recorder: Recorder) -> None:
    found = backend("openai/gpt-4o-mini", f"http://127.0.0.1:{recorder.port}/v1")
    for sent in (*[1000] * 6, 110_000):
        used = {"prompt_tokens": sent, "completion_tokens": 500, "total_tokens": sent + 500}
        recorder.body = json.dumps({**OPENAI, "usage": used}).encode()
        reply = await found.send(request(found, f"Text {sent}."))
        assert reply.cost_usd == pytest.approx((sent * 0.15 + 500 * 0.60) / 1e6)


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("ai21_chat/jamba-1.5", True),
        ("openai/anthropic.claude-sonnet-4-5-20250929-v1:0", False),
    ],
)
def test_a_price_is_found_under_the_name_that_the_list_has_for_the_seller(
    model: str, listed: bool
) -> None:
    spec = BackendSpec(model=model)
    assert (listed_prices(spec) is not None) is listed
    assert (LitellmBackend(spec).worst_cost(1000, 1000) is not None) is listed
