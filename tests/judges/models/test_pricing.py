"""What is set aside for a call, and what is booked for it.

Sums of tokens times prices are used only where they are what litellm works out.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from transport_world import OPENAI, Recorder, backend, request

from areopagus import InputError, Panel
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.price_list import litellms_entry
from areopagus.judges.models.prices import TokenPrices
from areopagus.judges.models.pricing import (
    MOST_TOKENS,
    ModelPricing,
    always_searches,
    checked_prices,
    is_usual,
)
from areopagus.judges.models.usage import usage_from
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


def test_searches_that_an_answer_tells_of_are_in_its_cost() -> None:
    for model, told, cost in (
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
    ):
        made = answer(model, **told)
        assert not is_usual(made)
        assert asked(model).pricing.cost(made, USED) == pytest.approx(cost)


def test_where_an_answer_is_silent_on_its_searches_its_cost_is_unknown() -> None:
    for model, told in (
        ("perplexity/sonar", {}),
        # sources cited, and no word on the fee for finding them
        ("perplexity/sonar", {"citation_tokens": 50, "notes": [NOTE]}),
        ("openai/gpt-4o-search-preview", {}),
    ):
        assert asked(model).pricing.cost(answer(model, **told), USED) is None


def test_what_a_searching_model_costs_at_most_is_unknown() -> None:
    for model in (
        "perplexity/sonar",
        "perplexity/sonar-deep-research",
        "openai/gpt-4o-search-preview-2025-03-11",
        "openai/gpt-5-search-api",
        "openai/o3-deep-research",
        "gemini/deep-research-pro-preview-12-2025",
        "vercel_ai_gateway/perplexity/sonar",
    ):
        found = asked(model)
        assert found.has_fees
        assert found.worst_cost(1, 1) is None
        assert found.likely_cost(1, 1) is None
        stated = asked(model, prices={"input": 10, "output": 20})
        assert not stated.has_fees
        assert stated.worst_cost(1000, 500) == pytest.approx(0.02)
        # stated prices are all that is booked too
        assert stated.pricing.cost(
            answer(model, notes=[NOTE], **ONE_SEARCH), USED
        ) == pytest.approx(0.02)


def test_a_model_told_to_search_costs_what_nobody_knows_at_most() -> None:
    for extra, is_bounded in (
        ({}, True),
        ({"user": "me"}, True),
        ({"web_search_options": {"search_context_size": "low"}}, False),
        ({"extra_body": {"search_parameters": {"mode": "on"}}}, False),
        ({"plugins": [{"id": "web"}]}, False),
        ({"enable_search": False}, True),
    ):
        found = asked("openai/gpt-4o-mini", extra=extra)
        assert (found.worst_cost(1, 1) is not None) == is_bounded


def test_an_ordinary_model_is_not_taken_for_one_that_searches() -> None:
    """Some 300 models list a fee for searches that they can be told to make."""
    searching = set()
    for name, entry in litellm_module().model_cost.items():
        model = name if "/" in name else f"{entry.get('litellm_provider')}/{name}"
        if entry.get("litellm_provider") != "perplexity" and "/" in model:
            spec = BackendSpec(model=model)
            if (litellms_entry(spec) is entry) and always_searches(spec, entry):
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


def test_the_worst_price_is_that_of_the_tier_asked_for() -> None:
    for model, tier, dearest in (
        ("openai/gpt-5", "priority", 0.0125),
        ("openai/gpt-4o-mini", "priority", 0.00075),
        ("openai/gpt-4.1", "fast", 0.0105),  # another word for it
        ("openai/gpt-5", "flex", 0.00625),  # may be served as usual
        ("openai/gpt-5", "auto", 0.0125),  # as the project is set up
        ("openai/gpt-5", "default", 0.00625),
        ("openai/gpt-5", None, 0.00625),
    ):
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
            cost = found.pricing.cost(answer(model, tier=served), USED)
            assert cost is not None
            assert cost <= worst * (1 + 1e-9), model
    assert tried >= 1


def test_a_tier_that_was_not_asked_for_counts_from_the_first_answer_at_it() -> None:
    found = asked("openai/gpt-5")

    def cost_at(tier: str) -> float | None:
        return found.pricing.cost(answer("openai/gpt-5", tier=tier), USED)

    assert cost_at("default") == pytest.approx(0.00625)
    assert found.worst_cost(1000, 500) == pytest.approx(0.00625)
    assert cost_at("priority") == pytest.approx(0.0125)
    assert found.worst_cost(1000, 500) == pytest.approx(0.0125)
    assert found.likely_cost(1000, 500) == pytest.approx(0.00625)
    assert cost_at("default") == pytest.approx(0.00625)


def test_googles_word_for_a_tier_is_understood() -> None:
    model = "gemini/gemini-3-flash-preview"
    made = answer(model)
    made._hidden_params["provider_specific_fields"] = {"traffic_type": "ON_DEMAND"}
    assert is_usual(made)
    made._hidden_params["provider_specific_fields"] = {"traffic_type": "ON_DEMAND_PRIORITY"}
    assert not is_usual(made)
    found = asked(model)
    before, cost = found.worst_cost(1000, 500), found.pricing.cost(made, USED)
    after = found.worst_cost(1000, 500)
    assert before is not None
    assert cost is not None
    assert after is not None
    assert before < cost <= after


def test_a_dearer_speed_or_place_that_is_asked_for_counts() -> None:
    model = "anthropic/claude-opus-4-8"
    found = asked(model, extra={"speed": "fast", "inference_geo": "us"})
    cost = found.pricing.cost(answer(model, speed="fast", inference_geo="us"), USED)
    worst, usual = found.worst_cost(1000, 500), asked(model).worst_cost(1000, 500)
    assert cost is not None
    assert worst is not None
    assert usual is not None
    assert usual < cost <= worst


@pytest.mark.usefixtures("clients", "key")
@pytest.mark.parametrize(
    ("change", "cost"),
    [({"service_tier": "priority"}, 0.00075), ({"service_tier": "default"}, 0.00045)],
)
async def test_an_answer_does_not_lose_its_tier(
    recorder: Recorder, change: dict[str, Any], cost: float
) -> None:
    used = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    usual = {**OPENAI, "usage": used, "service_tier": "default"}
    recorder.body = json.dumps(usual).encode()
    found = backend("openai/gpt-4o-mini", f"http://127.0.0.1:{recorder.port}/v1")
    await found.send(request(found, "A text."))
    recorder.body = json.dumps({**usual, **change}).encode()
    reply = await found.send(request(found, "Another."))
    assert reply.cost_usd == pytest.approx(cost)


@pytest.mark.usefixtures("clients", "key")
async def test_a_long_answer_is_not_free(recorder: Recorder) -> None:
    found = backend("openai/gpt-4o-mini", f"http://127.0.0.1:{recorder.port}/v1")
    for sent in (1000, 110_000):
        used = {"prompt_tokens": sent, "completion_tokens": 500, "total_tokens": sent + 500}
        recorder.body = json.dumps({**OPENAI, "usage": used}).encode()
        reply = await found.send(request(found, f"Text {sent}."))
        assert reply.cost_usd == pytest.approx((sent * 0.15 + 500 * 0.60) / 1e6)


def test_a_price_is_found_under_the_name_that_the_list_has_for_the_seller() -> None:
    for model, listed in (
        ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("ai21_chat/jamba-1.5", True),
        ("openai/anthropic.claude-sonnet-4-5-20250929-v1:0", False),
    ):
        spec = BackendSpec(model=model)
        assert (litellms_entry(spec) is not None) is listed
        assert (LitellmBackend(spec).worst_cost(1000, 1000) is not None) is listed


PROVIDERS = ("openai", "anthropic", "gemini", "mistral", "deepseek", "groq", "xai", "together_ai")


def counted(model: str, sent: int, said: int, read: int, written: int) -> Any:
    litellm = litellm_module()
    made = litellm.ModelResponse(model=model.partition("/")[2])
    made.usage = litellm.Usage(
        prompt_tokens=sent,
        completion_tokens=said,
        total_tokens=sent + said,
        prompt_tokens_details={"cached_tokens": read},
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
    )
    return made


def listed() -> dict[str, dict[str, Any]]:
    found = {}
    for name, entry in litellm_module().model_cost.items():
        provider = entry.get("litellm_provider", "")
        if provider in PROVIDERS and entry.get("mode") == "chat":
            found[name if name.startswith(f"{provider}/") else f"{provider}/{name}"] = entry
    return found


def test_over_the_whole_list_the_sum_is_litellms_or_is_not_used() -> None:
    litellm, chance = litellm_module(), random.Random(4)
    summed = 0
    models = sorted(listed().items())
    for model, entry in chance.sample(models, 60):
        price = checked_prices(model, entry)
        if price is None:
            continue
        summed += 1
        read, written = chance.choice([(0, 0), (1024, 0), (0, 2048), (640, 333)])
        sent = read + written + chance.randrange(1, 60_000)
        made = counted(model, sent, chance.randrange(1, 5_000), read, written)
        ours = price.cost(usage_from(made.usage))
        theirs = litellm.completion_cost(completion_response=made, model=model)
        assert ours is not None
        assert math.isclose(ours, theirs, rel_tol=1e-9), model
    assert summed > 30


def test_a_cost_by_hand() -> None:
    price = TokenPrices(input=3e-6, output=15e-6, cache_read=0.3e-6, cache_write=3.75e-6)
    # 500 × 3 + 1000 × 0.3 + 500 × 3.75 + 100 × 15 dollars a million
    usage = Usage(2000, 100, cached_input_tokens=1000, cache_write_tokens=500)
    assert price.cost(usage) == pytest.approx((1500 + 300 + 1875 + 1500) / 1e6)


def test_what_the_sum_may_not_cover_is_left_to_litellm() -> None:
    for usage in [
        Usage(None, 5),
        Usage(5, None),
        Usage(MOST_TOKENS + 1, 5),
        Usage(5, MOST_TOKENS + 1),
        Usage(10, 5, cached_input_tokens=20),  # an endpoint may claim anything
    ]:
        assert TokenPrices(1.0, 1.0, 1.0, 1.0, most_tokens=MOST_TOKENS).cost(usage) is None


def test_a_model_with_another_way_of_pricing_has_no_prices_to_sum() -> None:
    entry = {"input_cost_per_token": 1.0, "output_cost_per_token": None}
    assert checked_prices("openai/gpt-4o-mini", entry) is None
    wrong = {"input_cost_per_token": 9.0, "output_cost_per_token": 9.0}  # not what litellm says
    assert checked_prices("openai/gpt-4o-mini", wrong) is None


def test_sounds_tiers_and_tools_are_not_usual() -> None:
    made = counted("openai/gpt-4o-mini", 10, 5, 0, 0)
    assert is_usual(made)
    made.service_tier = "priority"
    assert not is_usual(made)
    made = counted("openai/gpt-4o-mini", 10, 5, 0, 0)
    made.usage.prompt_tokens_details.audio_tokens = 4
    assert not is_usual(made)


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm's list without two models that genai-prices has."""
    for name in ("gpt-4o-mini", "openai/gpt-4o-mini", "gemini/gemini-2.5-pro", "gemini-2.5-pro"):
        monkeypatch.delitem(litellm_module().model_cost, name, raising=False)


@pytest.mark.usefixtures("unlisted")
def test_a_model_that_litellm_does_not_list_has_the_prices_of_genai_prices() -> None:
    backend = asked("openai/gpt-4o-mini")
    assert backend.price_source == "genai-prices"
    assert backend.pricing.usual == TokenPrices(0.15e-6, 0.6e-6, 0.075e-6, 0.15e-6)
    # 1,000 tokens at 0.15 and 500 at 0.60 dollars a million
    assert backend.likely_cost(1000, 500) == pytest.approx(0.00045)
    assert backend.worst_cost(1000, 500) == pytest.approx(0.00045)
    assert backend.pricing.cost(answer("openai/gpt-4o-mini"), USED) == pytest.approx(0.00045)


@pytest.mark.usefixtures("unlisted")
def test_what_a_long_text_may_cost_by_genai_prices_counts_at_most_and_is_no_sum() -> None:
    pricing = ModelPricing(BackendSpec(model="gemini/gemini-2.5-pro"))
    assert pricing.source == "genai-prices"
    likely, worst = pricing.likely_cost(1000, 1000), pricing.worst_cost(1000, 1000)
    assert likely is not None
    assert worst is not None
    assert likely < worst
    long = answer("gemini/gemini-2.5-pro")
    assert pricing.cost(long, Usage(MOST_TOKENS + 1, 500)) is None


@pytest.mark.usefixtures("unlisted")
def test_behind_an_address_of_ones_own_no_list_says_what_a_model_costs() -> None:
    backend = asked("openai/gpt-4o-mini", api_base="http://127.0.0.1:1/v1")
    assert backend.price_source is None
    assert backend.worst_cost(1, 1) is None


@pytest.mark.usefixtures("unlisted")
def test_the_record_says_where_prices_come_from(tmp_path: Path) -> None:
    models: list[Any] = [
        "openai/gpt-4o-mini",
        "anthropic/claude-sonnet-4-5",
        {"model": "hosted_vllm/mine", "api_base": "http://127.0.0.1:1/v1"},
        {"model": "openai/gpt-4o", "prices": {"input": 1, "output": 2}},
    ]
    with Panel(models, ledger=tmp_path / "ledger.sqlite") as panel:
        described = panel.spec.describe()["models"]
    assert [one["prices"] for one in described] == ["genai-prices", "litellm", None, "settings"]


def test_without_genai_prices_a_model_that_litellm_does_not_list_has_no_price(
    unlisted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.judges.models.price_list.find_spec", lambda _: None)
    assert asked("openai/gpt-4o-mini").price_source is None
