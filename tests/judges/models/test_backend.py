"""The settings of a backend: what is refused, in which words, and that no key is ever echoed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from areopagus.errors import InputError
from areopagus.judges.models.backend import OFFLINE_MODEL, BackendSpec
from areopagus.judges.models.prices import Prices
from areopagus.judges.models.request import RESPONSE_FORMATS
from areopagus.settings import read_settings

CANARY = "canary-5f2c81d07a9e"


def refusal(**settings: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        BackendSpec(**{"model": "openai/gpt-4o-mini", **settings})
    return str(caught.value)


def test_a_bare_name_is_a_whole_backend() -> None:
    spec = BackendSpec.model_validate("openai/gpt-4o-mini")
    assert spec == BackendSpec(model="openai/gpt-4o-mini", name="openai/gpt-4o-mini")
    assert spec.parameters() == {"max_tokens": 2048}
    assert (spec.provider, spec.is_offline, spec.structured) == ("openai", False, "auto")


def test_the_name_is_the_model_unless_given() -> None:
    assert BackendSpec(model="openai/x").name == "openai/x"
    assert BackendSpec(model="openai/x", name="").name == "openai/x"
    assert BackendSpec(model="openai/x", name="strict").name == "strict"


def test_only_the_parameters_that_are_set_are_sent() -> None:
    spec = BackendSpec(
        model="openai/x", temperature=0.0, seed=0, top_p=0.5, extra={"min_tokens": 3}
    )
    assert spec.parameters() == {
        "max_tokens": 2048,
        "temperature": 0.0,
        "seed": 0,
        "top_p": 0.5,
        "min_tokens": 3,
    }


def test_the_embedded_model_is_offline() -> None:
    assert BackendSpec(model=OFFLINE_MODEL).is_offline


def test_a_capability_belongs_to_model_and_endpoint() -> None:
    here, there = (
        BackendSpec(model="openai/x", api_base=f"http://h:{port}", name="n") for port in (1, 2)
    )
    assert here.identity != there.identity
    assert BackendSpec(model="openai/x", name="other").identity == "openai/x"


@pytest.mark.parametrize("model", ["gpt-4o", "/gpt-4o", "openai/", "openai/ ", " openai/x", ""])
def test_a_model_without_a_provider_is_refused(model: str) -> None:
    assert "must be provider/model, such as openai/gpt-4o-mini" in refusal(model=model)


@pytest.mark.parametrize("name", ["a|b", "a\nb", "x" * 201, " a"])
def test_a_name_that_the_results_could_not_carry_is_refused(name: str) -> None:
    assert "must be printable, without '|'" in refusal(name=name)


@pytest.mark.parametrize("address", ["ftp://host", "host:80/v1", "http://", "", "http://h\x00"])
def test_an_address_that_is_not_of_the_web_is_refused(address: str) -> None:
    assert "must be an http(s) address" in refusal(api_base=address)


@pytest.mark.parametrize("port", ["0", "99999"])
def test_a_port_that_does_not_exist_is_refused(port: str) -> None:
    assert "ort" in refusal(api_base=f"http://host:{port}/v1")


def test_the_slash_at_the_end_of_an_address_makes_no_other_endpoint() -> None:
    assert BackendSpec(model="openai/x", api_base="http://h/v1/").api_base == "http://h/v1"


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"temperature": 2.1}, "less than or equal to 2"),
        ({"temperature": -0.1}, "greater than or equal to 0"),
        ({"temperature": float("nan")}, "finite"),
        ({"top_p": 0}, "greater than 0"),
        ({"reasoning_effort": ""}, "'none', 'minimal', 'low'"),
        ({"max_tokens": 0}, "greater than or equal to 1"),
        ({"timeout_s": 0}, "greater than 0"),
        ({"timeout_s": float("inf")}, "finite"),
        ({"max_attempts": 0}, "greater than or equal to 1"),
        ({"max_wait_s": float("inf")}, "finite"),
        ({"rpm": 0}, "greater than 0"),
        ({"tpm": float("inf")}, "finite"),
        ({"concurrency": 0}, "greater than or equal to 1"),
        (
            {"structured": "yaml"},
            "'json_schema', 'json_object_schema', 'json_object', 'prompt' or 'auto'",
        ),
        ({"score_mode": "mean"}, "'integer' or 'expected'"),
        ({"prices": {"input": -1, "output": 1}}, "greater than or equal to 0"),
        ({"prices": {"input": 1}}, "Field required"),
        ({"prices": {"input": 1, "output": float("inf")}}, "finite"),
        ({"tempereture": 0}, "Extra inputs are not permitted"),
    ],
)
def test_every_number_has_its_range(settings: dict[str, Any], rule: str) -> None:
    assert rule in refusal(**settings)


def test_prices_know_no_other_fields() -> None:
    with pytest.raises(ValidationError, match="not permitted"):
        Prices.model_validate({"input": 1, "output": 1, "batch": 1})


@pytest.mark.parametrize("name", ["model", "temperature", "num_retries", "fallbacks", "stream"])
def test_what_has_a_field_of_its_own_is_no_extra(name: str) -> None:
    assert f"{name} is not an extra" in refusal(extra={name: 1})


@pytest.mark.parametrize("name", ["mock_response", "additional_drop_params", "client", "offline"])
def test_what_would_change_who_answers_or_what_is_sent_is_no_extra(name: str) -> None:
    assert f"{name} is not an extra" in refusal(extra={name: 1})


@pytest.mark.parametrize(
    "extra",
    [
        {"api_key": CANARY},
        {"apikey": CANARY},
        {"azure_ad_token": CANARY},
        {"aws_access_key_id": CANARY},
        {"vertex_credentials": CANARY},
        {"extra_headers": {"Authorization": f"Bearer {CANARY}"}},
        {"extra_body": {"routes": [{"x-api-key": CANARY}]}},
        {"extra_headers": {"Cookie": CANARY}},
    ],
)
def test_a_credential_among_the_extras_is_refused_at_any_depth(extra: dict[str, Any]) -> None:
    message = refusal(extra=extra)
    assert "looks like a credential; use api_key_env" in message
    assert CANARY not in message


@pytest.mark.parametrize("name", ["max_thinking_tokens", "prompt_cache_key", "top_k", "user"])
def test_ordinary_extras_pass(name: str) -> None:
    assert BackendSpec(model="openai/x", extra={name: 5}).parameters()[name] == 5


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), Path("x")])
def test_an_extra_that_cannot_be_written_down_is_refused(value: Any) -> None:
    # It would be part of the ledger's key, which has to be the same on every day.
    assert "must hold what JSON can say" in refusal(extra={"thing": value})


def test_all_faults_of_the_extras_are_named_together() -> None:
    message = refusal(extra={"stream": True, "api_key": CANARY})
    assert "stream is not an extra" in message
    assert "api_key looks like a credential" in message


SECRETIVE = [
    ({"api_key": CANARY}, "api_key: keys are never written down"),
    ({"api_key_env": f"sk-{CANARY}"}, "must be the NAME of an environment variable"),
    ({"api_key_env": "hf_" + CANARY.replace("-", "")}, "must be the NAME of an environment"),
    ({"api_key_env": ""}, "must be the NAME of an environment variable"),
    ({"api_base": f"https://me:{CANARY}@host/v1"}, "must not carry a user name, a password"),
    ({"api_base": f"ftp://me:{CANARY}@host/v1"}, "must not carry a user name, a password"),
    ({"api_base": f"https://host/v1?key={CANARY}"}, "or a query"),
    ({"token": CANARY}, "not permitted"),
]


@pytest.mark.parametrize(("settings", "rule"), SECRETIVE)
def test_no_message_of_pydantic_shows_what_may_be_a_key(
    settings: dict[str, Any], rule: str
) -> None:
    message = refusal(**settings)
    assert rule in message
    assert CANARY not in message
    assert CANARY.replace("-", "") not in message


@pytest.mark.parametrize(("settings", "rule"), SECRETIVE)
def test_no_message_about_a_file_shows_what_may_be_a_key(
    settings: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    [(field, value)] = settings.items()
    file = tmp_path / "panel.yaml"
    file.write_text(f'models:\n  - model: openai/x\n    {field}: "{value}"\n', "utf-8")
    with pytest.raises(InputError) as caught:
        read_settings(file)
    assert CANARY not in str(caught.value)
    assert CANARY.replace("-", "") not in str(caught.value)
    assert field in str(caught.value)


def test_the_ladder_goes_from_the_strongest_form_to_the_weakest() -> None:
    assert RESPONSE_FORMATS == ("json_schema", "json_object_schema", "json_object", "prompt")
