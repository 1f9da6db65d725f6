"""Keys stand in no message, and one that an endpoint echoes in an answer is not stored."""

from __future__ import annotations

import pytest

from areopagus.judges.models.credentials import redact, without_secrets
from areopagus.records.types import Reply

KEY = "zq0123456789abcdef"
CANARY = "canary-71e0b2f3c6d8"


def test_an_echoed_key_is_taken_out_of_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    reply = Reply(
        text=f"a {KEY} b {KEY}", refusal=KEY, answered_by=KEY, request_id=KEY,
        finish_reason="stop", cost_usd=0.5, logprobs=[{"token": KEY}],
    )  # fmt: skip
    clean = without_secrets(reply)
    assert KEY not in repr(clean)
    assert clean.text == "a [redacted] b [redacted]"
    assert (clean.finish_reason, clean.cost_usd) == ("stop", 0.5)


def test_a_key_that_begins_with_another_is_taken_out_whole() -> None:
    clean = without_secrets(Reply(text=f"{KEY}-longer"), [KEY, f"{KEY}-longer"])
    assert clean.text == "[redacted]"


def test_a_reply_without_a_key_is_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_TOKEN", "seven")
    reply = Reply(text="It deserves seven, and sk-looks-like-a-key-0123456789 is only quoted.")
    assert without_secrets(reply, [KEY]) is reply


def test_values_of_the_environment_that_are_named_as_secrets_are_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SOME_API_KEY", "MY_TOKEN", "DB_PASSWORD", "A_SECRET", "CREDENTIALS"):
        monkeypatch.setenv(name, f"{CANARY}{name.lower()}")
        assert redact(f"bad: {CANARY}{name.lower()}!") == f"bad: [{name}]!"


def test_a_secret_that_begins_with_another_is_replaced_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "abcdefgh")
    monkeypatch.setenv("B_KEY", "abcdefgh-and-more")
    assert redact("abcdefgh-and-more abcdefgh") == "[B_KEY] [A_KEY]"


LIKE_KEYS = (
    "sk-proj-abcDEF0123456789",
    "sk-ant-api03-abcdefghijk",
    "gsk_abcdefghijklmnop",
    "hf_abcdefghijklmnop",
    "xai-abcdefghijklmnop",
    "AIzaSyA0123456789012345678901234567",
    "AKIAIOSFODNN7EXAMPLE",
    "Bearer abcdefgh.ijkl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln",
    '"api_key": "plain0123456789"',
    "x-api-key: plain0123456789",
    "api-key=plain0123456789",
    "Authorization: Basic0123456789",
    "https://user:plain0123456789@host/v1",
    "postgresql://user@server:plain0123456789@host/db",
    "postgresql://:plain@plain0123456789@host/db",
)


def test_what_looks_like_a_key_is_replaced_and_ordinary_words_are_left_alone() -> None:
    for key in LIKE_KEYS:
        shown = redact(f"The key {key} is wrong.")
        assert "[redacted]" in shown, key
        assert shown.startswith("The key ")
        assert "0123456789" not in shown, key
        assert "abcdefgh" not in shown, key
    for text in (
        "prompt is too long: 210000 tokens > 200000 maximum",
        "response_format: this response_format is not supported by model x",
        "The api_key client option must be set",
    ):
        assert redact(text) == text


def test_a_message_is_one_printable_line_of_bounded_length_without_a_traceback() -> None:
    assert redact("a\nb\x1b[31m\u202ec") == "a b [31m c"
    assert len(redact("x" * 10_000)) == 600
    text = 'It broke. Traceback (most recent call last)\n  File "/home/me/x.py"\nValueError: odd\n'
    assert redact(text) == "It broke. ValueError: odd"
