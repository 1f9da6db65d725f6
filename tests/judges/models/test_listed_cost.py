"""Costs by litellm's list: the straight sum is used only where it is what litellm works out."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.models.pricing import MOST_TOKENS, StraightPrice, is_usual, straight_price
from areopagus.judges.models.reply import usage_of
from areopagus.records.types import Usage

PROVIDERS = ("openai", "anthropic", "gemini", "mistral", "deepseek", "groq", "xai", "together_ai")


def answer(model: str, sent: int, said: int, read: int, written: int) -> Any:
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
    straight = 0
    models = sorted(listed().items())
    for model, entry in chance.sample(models, 120):
        price = straight_price(litellm, model, entry)
        if price is None:
            continue
        straight += 1
        read, written = chance.choice([(0, 0), (1024, 0), (0, 2048), (640, 333)])
        sent = read + written + chance.randrange(1, 60_000)
        made = answer(model, sent, chance.randrange(1, 5_000), read, written)
        ours = price.cost(usage_of(made))
        theirs = litellm.completion_cost(completion_response=made, model=model)
        assert ours is not None
        assert math.isclose(ours, theirs, rel_tol=1e-9), model
    assert straight > 60


def test_a_cost_by_hand() -> None:
    price = StraightPrice(input=3e-6, output=15e-6, cache_read=0.3e-6, cache_write=3.75e-6)
    # 500 × 3 + 1000 × 0.3 + 500 × 3.75 + 100 × 15 dollars a million
    usage = Usage(2000, 100, cached_input_tokens=1000, cache_write_tokens=500)
    assert price.cost(usage) == pytest.approx((1500 + 300 + 1875 + 1500) / 1e6)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(None, 5),
        Usage(5, None),
        Usage(MOST_TOKENS + 1, 5),
        Usage(5, MOST_TOKENS + 1),
        Usage(10, 5, cached_input_tokens=20),  # an endpoint may claim anything
    ],
)
def test_what_the_sum_may_not_cover_is_left_to_litellm(usage: Usage) -> None:
    assert StraightPrice(1.0, 1.0, 1.0, 1.0).cost(usage) is None


def test_a_model_with_another_way_of_pricing_has_no_straight_price() -> None:
    litellm = litellm_module()
    assert straight_price(litellm, "openai/gpt-4o-mini", None) is None
    entry = {"input_cost_per_token": 1.0, "output_cost_per_token": None}
    assert straight_price(litellm, "openai/gpt-4o-mini", entry) is None
    wrong = {"input_cost_per_token": 9.0, "output_cost_per_token": 9.0}  # not what litellm says
    assert straight_price(litellm, "openai/gpt-4o-mini", wrong) is None


def test_sounds_tiers_and_tools_are_not_usual() -> None:
    made = answer("openai/gpt-4o-mini", 10, 5, 0, 0)
    assert is_usual(made)
    made.service_tier = "priority"
    assert not is_usual(made)
    made = answer("openai/gpt-4o-mini", 10, 5, 0, 0)
    made.usage.prompt_tokens_details.audio_tokens = 4
    assert not is_usual(made)
