"""Keys that an endpoint echoes in an answer are not stored."""

from __future__ import annotations

import logging

import pytest

from areopagus.judges.models.credentials import redact_library_logs, without_secrets
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


def test_library_logs_hold_no_key_and_are_filtered_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    redact_library_logs()
    redact_library_logs()
    logger = logging.getLogger("openai._base_client")
    assert len([each for each in logger.filters if "areopagus" in type(each).__module__]) == 1
    with caplog.at_level(logging.DEBUG):
        logger.debug("headers: %s", {"x-debug": KEY})
        try:
            raise ValueError(KEY)
        except ValueError:
            logger.exception("failed")
    assert KEY not in caplog.text
    assert "ValueError" in caplog.text
    # A record that cannot be written is left to whoever handles it.
    broken = logging.LogRecord("httpx", logging.DEBUG, "x", 1, "%d", ("no number",), None)
    assert all(each.filter(broken) for each in logger.filters if isinstance(each, logging.Filter))
    assert broken.args == ("no number",)
