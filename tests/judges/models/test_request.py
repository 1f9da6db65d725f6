"""The key of a call: the same for the same question, another for any other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areopagus.judges.models.request import JsonSchema, Request
from areopagus.judges.prompt import delimited, nonce_for

SCHEMA = JsonSchema(type="object", properties={"a": {}, "b": {}})


def about(prompt: str, response: str, secret: bytes = b"one", **changes: Any) -> Request:
    nonce = nonce_for(secret, prompt, response)
    values: dict[str, Any] = {
        "backend": "openai/x",
        "endpoint": "http://h/v1",
        "messages": (
            {"role": "system", "content": "Judge."},
            {
                "role": "user",
                "content": delimited("PROMPT", prompt, nonce)
                + delimited("RESPONSE", response, nonce),
            },
        ),
        "params": {"max_tokens": 100, "temperature": 0.0},
        "schema": SCHEMA,
        "structured": "json_schema",
        "nonce": nonce,
        "repeat": 0,
        "template": "1",
        "order": "response_first",
        "labels": {"persona": "historian"},
    }
    return Request(**{**values, **changes})


BASE = about("Why?", "Because.")


def test_the_key_changes_with_each_part_of_the_request() -> None:
    for changes in (
        {"backend": "openai/y"},
        {"endpoint": ""},
        {"params": {"max_tokens": 101, "temperature": 0.0}},
        {"params": {"max_tokens": 100}},
        {"params": {"max_tokens": 100, "temperature": 0.0, "seed": 1}},
        {"schema": None},
        {"schema": JsonSchema(type="object", properties={"b": {}, "a": {}})},
        {"structured": "prompt"},
        {"repeat": 1},
        {"template": "2"},
        {"order": "persona_first"},
        {"messages": BASE.messages[:1]},
        {"messages": BASE.messages[::-1]},
        {"messages": ({**BASE.messages[0], "role": "user"}, BASE.messages[1])},
        {"messages": ({**BASE.messages[0], "content": "Judge!"}, BASE.messages[1])},
    ):
        assert replace(BASE, **changes).key() != BASE.key()


def test_the_key_depends_neither_on_labels_nor_on_the_order_of_parameters() -> None:
    same = replace(
        BASE, labels={"persona": "other"}, params={"temperature": 0.0, "max_tokens": 100}
    )
    assert same.key() == BASE.key()
    assert len(BASE.key()) == 64


def test_the_key_is_the_same_under_another_secret() -> None:
    other = about("Why?", "Because.", secret=b"two")
    assert other.nonce != BASE.nonce
    assert other.messages != BASE.messages
    assert other.key() == BASE.key()


texts = st.text(max_size=60) | st.text("<>0123456789abcdef#{}\n", max_size=60)


@given(prompt=texts, response=texts)
def test_the_key_of_any_texts_is_the_same_under_every_secret(prompt: str, response: str) -> None:
    assert about(prompt, response).key() == about(prompt, response, secret=b"two").key()


@given(
    said=st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), texts), max_size=4),
    nonce=st.sampled_from(["", "0123"]),
    schema=st.sampled_from([None, SCHEMA]),
    word=st.text(max_size=9),
)
def test_the_key_is_the_hash_of_one_json_object_whatever_is_said(
    said: list[tuple[str, str]], nonce: str, schema: dict[str, Any] | None, word: str
) -> None:
    messages = tuple({"role": role, "content": text} for role, text in said)
    asked = replace(BASE, messages=messages, nonce=nonce, schema=schema, endpoint=word, order=word)
    described = {
        "backend": asked.backend,
        "endpoint": word,
        "messages": [[role, text.split(nonce) if nonce else [text]] for role, text in said],
        "params": asked.params,
        "structured": asked.structured,
        "schema": schema and json.dumps(schema),
        "order": word,
        "repeat": asked.repeat,
        "template": asked.template,
    }
    written = json.dumps(described, sort_keys=True, separators=(",", ":"))
    assert asked.key() == hashlib.sha256(written.encode()).hexdigest()


@given(first=st.tuples(texts, texts), second=st.tuples(texts, texts))
def test_different_texts_have_different_keys(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    assert (about(*first).key() == about(*second).key()) == (first == second)


def test_a_text_that_holds_a_placeholder_forges_no_key() -> None:
    for placeholder in ("", "NONCE", "{nonce}", "#" * 16, "\x00", '","', '"],["'):
        # The attack: a response that spells the message of another one with the nonce's place
        # filled by whatever a canonical form might write there.
        honest = about("Why?", f"a{BASE.nonce}b")
        forged = replace(
            BASE,
            messages=(
                BASE.messages[0],
                {
                    "role": "user",
                    "content": honest.messages[1]["content"].replace(honest.nonce, placeholder),
                },
            ),
        )
        assert forged.key() != honest.key()


def test_a_parameter_that_cannot_be_written_down_is_a_defect_and_not_a_random_key() -> None:
    with pytest.raises(TypeError):
        replace(BASE, params={"stop": {"a", "b"}}).key()


def test_the_description_holds_everything_but_the_texts() -> None:
    described = json.dumps(BASE.description())
    assert "Because" not in described
    assert BASE.nonce not in described
    assert json.loads(described)["persona"] == "historian"
    assert json.loads(described)["params"] == {"max_tokens": 100, "temperature": 0.0}
    assert BASE.description()["schema_sha256"] != replace(BASE, schema=None).description().get(
        "schema_sha256"
    )


def test_the_size_counts_bytes_and_the_schema() -> None:
    request = replace(BASE, messages=({"role": "user", "content": "naïve ☃"},), schema=None)
    assert request.size_bytes() == 10  # n a ï(2) v e space ☃(3)
    assert replace(request, schema=JsonSchema(a=1)).size_bytes() == 10 + len('{"a": 1}')


def test_a_lone_surrogate_has_a_key_and_a_size() -> None:
    request = about("Why?", "\ud800")
    assert request.key() != BASE.key()
    assert request.size_bytes() > 0
