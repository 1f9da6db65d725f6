"""What litellm looks up in every call: the same answers, asked for once."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from areopagus.judges.models.litellm_setup import litellm_module
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
        _remember_models([self.main], utils)

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


def test_the_installed_litellm_looks_a_model_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = litellm_module()
    searched: list[str] = []
    search = litellm.utils.get_potential_model_names

    def counted(*given: Any, **named: Any) -> Any:
        searched.append(named.get("model") or given[0])
        return search(*given, **named)

    monkeypatch.setattr(litellm.utils, "get_potential_model_names", counted)
    name = "areopagus-model-asked-for-twice"
    with passing(is_untold=True):
        for _ in range(3):
            litellm.main.responses_api_bridge_check(model=name, custom_llm_provider="openai")
    assert searched == [name]


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


def _parses(litellm: Any) -> Any:
    parses = getattr(litellm.main, "_parse_supplemental_provider_params", None)
    if parses is None:
        pytest.skip("this litellm has no such settings")
    return parses


def test_settings_that_no_call_names_are_read_once_and_handed_out_apart() -> None:
    parses = _parses(litellm_module())
    kwargs = {"extra_headers": None, "metadata": None}
    plain = parses(kwargs)
    with passing(is_untold=True):
        first, second = parses(kwargs), parses(dict(kwargs))
        other = parses({"metadata": None})
    assert first == second == plain
    assert first.params.model_fields_set == plain.params.model_fields_set
    assert other.params.model_fields_set != plain.params.model_fields_set  # as it was named
    first.params.extra_headers = {"of": "one call"}
    assert second.params.extra_headers is None
    with passing(is_untold=True):
        assert parses(kwargs) == plain


def test_settings_that_a_call_names_are_litellms_own() -> None:
    parses = _parses(litellm_module())
    with passing(is_untold=True):
        parses({"extra_headers": None})
        assert parses({"extra_headers": {"a": "b"}}).params.extra_headers == {"a": "b"}
        assert parses({"extra_headers": None}).params.extra_headers is None
        assert parses({"aws_region_name": 7}).param == "aws_region_name"  # refused as before


def test_what_could_be_changed_for_all_is_not_shared() -> None:
    from areopagus.judges.wire.lookups import _remember_no_settings

    @dataclass(frozen=True)
    class Read:
        params: Any

    main = SimpleNamespace(
        SUPPLEMENTAL_KWARGS_KEYS=frozenset({"a"}),
        _parse_supplemental_provider_params=lambda kwargs: Read(
            SimpleNamespace(a=kwargs["a"], b=[])
        ),
    )
    _remember_no_settings(main)
    with passing(is_untold=True):
        reads = [main._parse_supplemental_provider_params({"a": None}) for _ in range(2)]
    assert reads[0].params.b is not reads[1].params.b
