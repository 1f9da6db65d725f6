"""The settings of a backend: what is refused, in which words, and that no key is ever echoed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from areopagus.errors import InputError
from areopagus.judges.models.backend import OFFLINE_MODEL, BackendSpec
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
    assert BackendSpec(model="openai/x", name="").name == "openai/x"
    assert BackendSpec(model="openai/x", name="strict").name == "strict"
    assert BackendSpec(model=OFFLINE_MODEL).is_offline


def test_only_the_parameters_that_are_set_are_sent() -> None:
    extra = dict.fromkeys(("max_thinking_tokens", "prompt_cache_key", "top_k", "user"), 5)
    spec = BackendSpec(model="openai/x", temperature=0.0, seed=0, top_p=0.5, extra=extra)
    set_ones = {"max_tokens": 2048, "temperature": 0.0, "seed": 0, "top_p": 0.5}
    assert spec.parameters() == {**set_ones, **extra}


def test_a_capability_belongs_to_model_and_endpoint() -> None:
    here, there = (
        BackendSpec(model="openai/x", api_base=f"http://h:{port}", name="n") for port in (1, 2)
    )
    assert here.identity != there.identity
    assert BackendSpec(model="openai/x", name="other").identity == "openai/x"
    # A slash at the end of an address makes no other endpoint.
    assert BackendSpec(model="openai/x", api_base="http://h/v1/").api_base == "http://h/v1"


NO_MODEL = "must be provider/model, such as openai/gpt-4o-mini"
FORMATS = "'json_schema', 'json_object_schema', 'json_object', 'prompt' or 'auto'"
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"model": model}, NO_MODEL)
        for model in ("gpt-4o", "/gpt-4o", "openai/", "openai/ ", " openai/x", "")
    ),
    *(
        ({"name": name}, "must be printable, without '|'")
        for name in ("a|b", "a\nb", "x" * 201, " a")
    ),
    *(
        ({"api_base": address}, "must be an http(s) address")
        for address in ("ftp://host", "host:80/v1", "http://", "", "http://h\x00")
    ),
    *(({"api_base": f"http://host:{port}/v1"}, "ort") for port in (0, 99999)),
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
    ({"structured": "yaml"}, FORMATS),
    ({"score_mode": "mean"}, "'integer' or 'expected'"),
    ({"prices": {"input": -1, "output": 1}}, "greater than or equal to 0"),
    ({"prices": {"input": 1}}, "Field required"),
    ({"prices": {"input": 1, "output": float("inf")}}, "finite"),
    ({"prices": {"input": 1, "output": 1, "batch": 1}}, "not permitted"),
    ({"tempereture": 0}, "Extra inputs are not permitted"),
    # What has a field of its own, and what would change who answers or what is sent.
    *(
        ({"extra": {name: 1}}, f"{name} is not an extra")
        for name in (
            *("model", "temperature", "num_retries", "fallbacks", "stream"),
            *("mock_response", "additional_drop_params", "client", "offline"),
        )
    ),
    # It would be part of the ledger's key, which has to be the same on every day.
    *(
        ({"extra": {"thing": value}}, "must hold what JSON can say")
        for value in ({1, 2}, object(), float("nan"), Path("x"))
    ),
]


@pytest.mark.parametrize(("settings", "rule"), REFUSED)
def test_what_no_backend_can_have_is_refused(settings: dict[str, Any], rule: str) -> None:
    assert rule in refusal(**settings)


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
    message = refusal(extra={"stream": True, **extra})
    assert "looks like a credential; use api_key_env" in message
    assert "stream is not an extra" in message, "all faults of the extras come together"
    assert CANARY not in message


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"api_key": CANARY}, "api_key: keys are never written down"),
        ({"api_key_env": f"sk-{CANARY}"}, "must be the NAME of an environment variable"),
        ({"api_key_env": "hf_" + CANARY.replace("-", "")}, "must be the NAME of an environment"),
        ({"api_key_env": ""}, "must be the NAME of an environment variable"),
        ({"api_base": f"https://me:{CANARY}@host/v1"}, "must not carry a user name, a password"),
        ({"api_base": f"ftp://me:{CANARY}@host/v1"}, "must not carry a user name, a password"),
        ({"api_base": f"https://host/v1?key={CANARY}"}, "or a query"),
        ({"token": CANARY}, "not permitted"),
    ],
)
def test_no_message_shows_what_may_be_a_key(
    settings: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    [(field, value)] = settings.items()
    file = tmp_path / "panel.yaml"
    file.write_text(f'models:\n  - model: openai/x\n    {field}: "{value}"\n', "utf-8")
    with pytest.raises(InputError) as caught:
        read_settings(file)
    assert field in str(caught.value)
    assert rule in refusal(**settings)
    for message in (refusal(**settings), str(caught.value)):
        assert CANARY not in message
        assert CANARY.replace("-", "") not in message


def test_the_response_formats_go_from_the_strongest_to_the_weakest() -> None:
    assert RESPONSE_FORMATS == ("json_schema", "json_object_schema", "json_object", "prompt")
