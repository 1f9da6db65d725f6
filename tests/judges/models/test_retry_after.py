"""Limits that pass and quotas that are spent, and how long an endpoint asks to be left alone."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from transport_world import Recorder, backend, request

from areopagus.errors import ProviderError

pytestmark = pytest.mark.usefixtures("clients", "key")


def googles(quota_id: str, *, limit: str = "15", delay: str | None = "37s") -> dict[str, Any]:
    """A 429 of Gemini's: the sentence is the same for every kind of limit."""
    details: list[dict[str, Any]] = [
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": quota_id, "quotaValue": limit}],
        }
    ]
    if delay is not None:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    return {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing "
            f"details.\n* Quota exceeded for metric: requests, limit: {limit}, model: g",
            "status": "RESOURCE_EXHAUSTED",
            "details": details,
        }
    }


async def refusal(
    recorder: Recorder, model: str, body: Any, *headers: str, lane: str = "auto", status: int = 429
) -> ProviderError:
    recorder.head = f"HTTP/1.1 {status} No\r\n" + "".join(f"{line}\r\n" for line in headers)
    recorder.body = json.dumps(body).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    with pytest.raises(ProviderError) as caught:
        await asked.send(request(asked))
    return caught.value


@pytest.mark.parametrize(
    ("body", "fault", "wait"),
    [
        (googles("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), "rate_limit", 37.0),
        (googles("GenerateRequestsPerMinutePerProject", delay="0.5s"), "rate_limit", 0.5),
        (googles("GenerateRequestsPerMinutePerProject", delay=None), "rate_limit", None),
        (googles("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), "quota", 37.0),
        (googles("GenerateContentInputTokensPerModelPerMinute", limit="0"), "quota", 37.0),
    ],
)
async def test_googles_limit_by_the_minute_passes_and_that_by_the_day_does_not(
    recorder: Recorder, body: Any, fault: str, wait: float | None
) -> None:
    for lane in ("auto", "litellm"):
        error = await refusal(recorder, "gemini/gemini-2.5-flash", body, lane=lane)
        assert (error.fault, error.retry_after_s) == (fault, wait)


async def test_only_a_quota_that_is_spent_is_one(recorder: Recorder) -> None:
    for error, fault in [
        ({"message": "You exceeded your current quota", "code": "insufficient_quota"}, "quota"),
        ({"message": "You exceeded your current quota", "type": "insufficient_quota"}, "quota"),
        ({"message": "You exceeded your current quota of tokens a minute"}, "rate_limit"),
        ({"message": "Rate limit reached, limit: 0.5 a second"}, "rate_limit"),
        ({"message": "Rate limit reached", "code": "rate_limit_exceeded"}, "rate_limit"),
    ]:
        assert (await refusal(recorder, "openai/x", {"error": error})).fault == fault


def in_half_a_minute() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=30)


async def test_every_form_of_a_wait_is_read(recorder: Recorder) -> None:
    for headers, wait in [
        (["retry-after: 12"], 12.0),
        (["retry-after: 1.5"], 1.5),
        (["retry-after-ms: 250", "retry-after: 1"], 0.25),
        (["x-ratelimit-reset-requests: 6m0s", "x-ratelimit-remaining-requests: 0"], 360.0),
        (
            [
                "x-ratelimit-reset-requests: 1h2m3s",
                "x-ratelimit-remaining-requests: 9",
                "x-ratelimit-reset-tokens: 350ms",
                "x-ratelimit-remaining-tokens: 0",
            ],
            0.35,
        ),
        (["x-ratelimit-reset: 20"], 20.0),
        (["x-ratelimit-reset: soon"], None),
        ([], None),
    ]:
        error = await refusal(recorder, "openai/x", {"error": {"message": "slow down"}}, *headers)
        assert error.retry_after_s == (None if wait is None else pytest.approx(wait))


async def test_moments_are_read_as_waits(recorder: Recorder) -> None:
    said = {"error": {"message": "slow down"}}
    for line in (
        f"retry-after: {format_datetime(in_half_a_minute(), usegmt=True)}",
        f"x-ratelimit-reset: {time.time() + 30:.0f}",
        f"x-ratelimit-reset: {(time.time() + 30) * 1000:.0f}",
        f"anthropic-ratelimit-requests-reset: {in_half_a_minute().isoformat()}",
        f"anthropic-ratelimit-requests-reset: {in_half_a_minute():%Y-%m-%dT%H:%M:%SZ}",
    ):
        error = await refusal(recorder, "openai/x", said, line)
        assert error.retry_after_s == pytest.approx(30, abs=3)


async def test_when_limits_begin_anew_says_nothing_about_a_broken_server(
    recorder: Recorder,
) -> None:
    said = {"error": {"message": "broken"}}
    error = await refusal(recorder, "openai/x", said, "x-ratelimit-reset: 20", status=500)
    assert (error.fault, error.retry_after_s) == ("server", None)


async def test_googles_word_for_a_wrong_key_is_a_wrong_key(recorder: Recorder) -> None:
    said = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}
    error = await refusal(recorder, "gemini/gemini-2.5-flash", said, status=400)
    assert error.fault == "authentication"
