"""What litellm looks up in every call: the same answers, asked for once."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from areopagus.judges.quiet_litellm import litellm_module
from areopagus.judges.wire import passing
from areopagus.judges.wire.lookups import _remember_models


class UnmappedError(Exception):
    pass


class Litellm:
    """As much of litellm as looks models up."""

    def __init__(self) -> None:
        self.map: dict[str, dict[str, Any]] = {"known": {"mode": "chat"}}
        self.changes = 0
        self.asked: list[tuple[str, str | None]] = []
        self.main = SimpleNamespace(
            litellm=SimpleNamespace(model_cost=self.map), get_model_info_helper=self.look_up
        )
        utils = SimpleNamespace(get_model_cost_mutation_generation=lambda: self.changes)
        _remember_models(self.main, utils)

    def look_up(self, model: str, custom_llm_provider: str | None = None, **named: Any) -> Any:
        self.asked.append((model, custom_llm_provider))
        if model not in self.map:
            raise UnmappedError(f"{model} is not in the map")
        return {**self.map[model], **named}

    def known(self, model: str, provider: str | None = "p", **named: Any) -> Any:
        return self.main.get_model_info_helper(model=model, custom_llm_provider=provider, **named)


@pytest.fixture(autouse=True)
def quiet() -> None:
    litellm_module()


@pytest.fixture
def within(quiet: None) -> Iterator[None]:
    with passing(is_untold=True):
        yield


@pytest.mark.usefixtures("within")
def test_a_model_is_looked_up_once_and_what_is_written_into_the_answer_does_not_stay() -> None:
    litellm = Litellm()
    first = litellm.known("known")
    first["mode"] = "responses"
    assert litellm.known("known") == {"mode": "chat"}
    assert litellm.known("known", "other") == {"mode": "chat"}
    assert litellm.asked == [("known", "p"), ("known", "other")]


@pytest.mark.usefixtures("within")
def test_a_model_that_is_not_in_the_map_is_refused_alike_without_holding_on_to_the_call() -> None:
    litellm = Litellm()
    errors = []
    for _ in range(3):
        with pytest.raises(UnmappedError, match="new is not in the map") as caught:
            litellm.known("new")
        errors.append(caught.value)
    assert litellm.asked == [("new", "p")]
    assert len(set(map(id, errors))) == 3  # each call its own: frames do not pile up on one


@pytest.mark.usefixtures("within")
def test_a_change_of_the_map_is_seen() -> None:
    litellm = Litellm()
    with pytest.raises(UnmappedError):
        litellm.known("new")
    litellm.map["new"] = {"mode": "chat"}  # grown
    assert litellm.known("new") == {"mode": "chat"}
    litellm.map["new"] = {"mode": "responses"}
    litellm.changes += 1  # changed in place, through litellm
    assert litellm.known("new") == {"mode": "responses"}
    litellm.main.litellm.model_cost = litellm.map = {"new": {"mode": "other"}, "known": {}}
    assert litellm.known("new") == {"mode": "other"}


def test_calls_of_others_and_questions_with_more_in_them_are_litellms_own() -> None:
    litellm = Litellm()
    for _ in range(2):
        litellm.known("known")
    with passing(is_untold=True):
        assert litellm.known("known", api_base="there") == {"mode": "chat", "api_base": "there"}
        litellm.known("known", api_base="there")
    assert len(litellm.asked) == 4


def test_many_models_are_not_all_kept() -> None:
    litellm = Litellm()
    with passing(is_untold=True):
        for number in range(300):
            litellm.map[str(number)] = {}
            litellm.known(str(number))
        assert litellm.known("299") == {}
    assert len(litellm.asked) == 300


def test_the_installed_litellm_sees_a_model_that_is_entered_while_it_runs() -> None:
    litellm = litellm_module()
    check = litellm.main.responses_api_bridge_check
    name = "areopagus-test-model"
    with passing(is_untold=True):
        assert check(model=name, custom_llm_provider="openai")[0].get("mode") is None
        entry = {"litellm_provider": "openai", "mode": "responses"}
        try:
            litellm.register_model({name: entry})
            assert check(model=name, custom_llm_provider="openai")[0]["mode"] == "responses"
        finally:
            litellm.model_cost.pop(name)
            litellm.utils._invalidate_model_cost_lowercase_map()
        assert check(model=name, custom_llm_provider="openai")[0].get("mode") is None


def test_litellms_names_of_providers_are_what_they_were() -> None:
    litellm_module()
    from litellm.types.utils import LlmProviders

    values = [provider.value for provider in LlmProviders]
    assert values == [provider._value_ for provider in LlmProviders]
    assert all(vars(provider)["value"] == provider for provider in LlmProviders)  # at hand
    openai = LlmProviders("openai")
    assert openai is LlmProviders.OPENAI is LlmProviders["OPENAI"]
    assert openai.value == "openai" == openai
    assert pickle.loads(pickle.dumps(openai)) is openai is copy.deepcopy(openai)
    assert repr(openai) == "<LlmProviders.OPENAI: 'openai'>"
