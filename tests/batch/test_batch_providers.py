"""Requests as they stand in a batch, answers as they come out, prices, and batches looked for."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from batch_server import Batch, BatchServer

from areopagus.async_runner import run_sync
from areopagus.batch.providers import provider_of
from areopagus.errors import ProviderError
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.connections import Answer
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.request import Request
from areopagus.records.types import Reply, Usage
from areopagus.testing import ProviderServer

JSON = {"content-type": "application/json"}


def backend(model: str = "openai/gpt-4o-mini", **settings: Any) -> LitellmBackend:
    base = {"openai": "http://127.0.0.1:9/v1", "anthropic": "http://127.0.0.1:9"}
    address = base[model.partition("/")[0]]
    return LitellmBackend(BackendSpec(model=model, **{"api_base": address, **settings}))


def request(text: str, of: LitellmBackend) -> Request:
    return Request(
        backend=of.spec.model,
        endpoint=of.spec.api_base or "",
        messages=({"role": "system", "content": "You judge."}, {"role": "user", "content": text}),
        params=of.spec.parameters(),
    )


def test_bodies_are_those_that_are_sent_online() -> None:
    texts = ["plain", "müde “quotes” \\ / \n\t\x00 \u2028", "日本語 🙂", " leading", "x" * 5000]
    with ProviderServer() as server:
        for model, base in (
            ("openai/gpt-4o-mini", server.openai_base),
            ("anthropic/claude-sonnet-4-5", server.anthropic_base),
        ):
            for lane in ("auto", "litellm"):
                here = backend(model, api_base=base, lane=lane)
                for text in texts:
                    asked = request(text, here)
                    run_sync(here.send(asked))
                    body = here.translate_request(asked).body
                    assert json.loads(body) == server.requests[-1].params


def test_answers_are_read_as_online_and_errors_are_the_same_faults() -> None:
    here = backend()

    def read(status: int, content: bytes) -> Reply:
        return here.translate_reply(asked, Answer(status, JSON, content), lambda usage: 0.5)

    asked = request("text", here)
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini-2024",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "7"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }

    reply = read(200, json.dumps(body).encode())
    assert (reply.text, reply.finish_reason) == ("7", "stop")
    assert reply.usage == Usage(11, 3, reply.usage.cached_input_tokens)
    assert (reply.cost_usd, reply.latency_s) == (0.5, None)
    assert reply.answered_by == "gpt-4o-mini-2024"
    cut = {**body, "choices": [{**body["choices"][0], "finish_reason": "length"}]}  # type: ignore[index]
    assert read(200, json.dumps(cut).encode()).finish_reason == "length"
    said = json.dumps({"error": {"message": "context_length_exceeded", "type": "x"}}).encode()
    for status, fault in ((400, "context_length"), (429, "rate_limit"), (500, "server")):
        with pytest.raises(ProviderError) as raised:
            read(status, said)
        assert raised.value.fault == fault


def test_batch_prices_come_from_the_user_then_from_the_list_and_are_unknown_else() -> None:
    usage = Usage(input_tokens=1_000_000 // 20, output_tokens=1000, cached_input_tokens=10_000)
    listed = backend().pricing.in_batches(None)
    assert listed is not None
    # gpt-4o-mini in a batch: 0.075 dollars a million in, 0.30 out; cached input has no price of
    # its own there: 50,000 × 0.075e-6 + 1,000 × 0.3e-6 = 0.00405.
    assert listed.cost(usage) == pytest.approx(0.00405)
    assert listed.cost(Usage(None, 5)) is None
    halved = backend().pricing.in_batches(0.5)
    assert halved is not None
    # Online 0.15, 0.60 and 0.075 for what was cached, each by half:
    # 40,000 × 0.075e-6 + 10,000 × 0.0375e-6 + 1,000 × 0.3e-6 = 0.003675.
    assert halved.cost(usage) == pytest.approx(0.003675)
    unlisted = backend("openai/of-my-own")
    assert unlisted.pricing.in_batches(None) is None
    assert unlisted.pricing.in_batches(0.5) is None
    searching = backend("openai/gpt-4o-search-preview")  # fees on top, whatever tokens cost
    assert searching.pricing.in_batches(0.5) is None
    free = backend("openai/of-my-own", prices={"input": 0, "output": 0})
    costs_nothing = free.pricing.in_batches(None)
    assert costs_nothing is not None
    assert costs_nothing.cost(usage) == 0.0
    priced = backend("openai/of-my-own", prices={"input": 2.0, "output": 8.0})
    assert priced.pricing.in_batches(None) is None


def test_a_batch_is_looked_for_on_every_page_that_may_hold_it(server: BatchServer) -> None:
    server.a_page = 2
    for n in range(7):
        server.batches.append(Batch(f"batch_{n}", "openai", {}, f"file-{n}"))
    asked = backend(api_base=server.openai_base)
    provider = provider_of(asked, request("t", asked))

    def find(name: str, since: datetime) -> tuple[bool, str | None]:
        return run_sync(provider.find(name, since=since))

    # The server's batches say that they were made in 1970.
    long_ago = datetime.fromtimestamp(0, UTC)
    assert find("file-0", long_ago) == (True, "batch_0")
    assert find("file-9", long_ago) == (True, None)
    # Batches that are older than the file cannot have been made of it: one page is enough.
    assert find("file-6", datetime.now(UTC)) == (True, "batch_6")
    assert find("file-0", datetime.now(UTC)) == (True, None)
