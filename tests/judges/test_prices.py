"""What is set aside for a call, and what is booked for it: searches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wire_world import OPENAI, Recorder, backend, request

from areopagus import InputError, Panel
from areopagus.judges.listed_cost import is_usual
from areopagus.judges.llm import LitellmBackend, listed_prices
from areopagus.judges.quiet_litellm import litellm_module
from areopagus.judges.searches import always_searches
from areopagus.judges.spec import BackendSpec
from areopagus.records.reply import Usage
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


# Answers that are read without litellm ----------------------------------------------------------


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
