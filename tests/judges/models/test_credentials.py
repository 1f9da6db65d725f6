"""Keys that an endpoint echoes in an answer are not stored."""

from __future__ import annotations

import pytest

from areopagus.judges.models.credentials import without_secrets
from areopagus.records.types import Reply

KEY = "zq0123456789abcdef"


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
