"""Writing and reading without sending, batch prices, the book and the parcels."""

from __future__ import annotations

import asyncio
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from batch_server import Batch, BatchServer

from areopagus import InputError
from areopagus.async_runner import run_sync
from areopagus.batch import BatchProgress, batch_prices, batch_sentence, open_batches
from areopagus.batch.providers import provider_of
from areopagus.batch.store import BatchFile, BatchRecord, BatchStore, now
from areopagus.batch.submit import Submitter
from areopagus.errors import ProviderError
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.client import Client
from areopagus.judges.models.connections import Answer
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.request import Request
from areopagus.records.ledger import Ledger
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
        messages=(
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": text},
        ),
        params=of.spec.parameters(),
    )


def test_bodies_are_those_that_are_sent_online() -> None:
    texts = [
        "plain",
        "müde “quotes” \\ / \n\t\x00 \u2028",
        "日本語 🙂",
        " leading",
        "x" * 5000,
    ]
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
    listed = batch_prices(backend(), discount=None)
    assert listed is not None
    # gpt-4o-mini in a batch: 0.075 dollars a million in, 0.30 out; cached input has no price of
    # its own there: 50,000 × 0.075e-6 + 1,000 × 0.3e-6 = 0.00405.
    assert listed.cost(usage) == pytest.approx(0.00405)
    assert listed.cost(Usage(None, 5)) is None
    halved = batch_prices(backend(), discount=0.5)
    assert halved is not None
    # Online 0.15, 0.60 and 0.075 for what was cached, each by half:
    # 40,000 × 0.075e-6 + 10,000 × 0.0375e-6 + 1,000 × 0.3e-6 = 0.003675.
    assert halved.cost(usage) == pytest.approx(0.003675)
    unlisted = backend("openai/of-my-own")
    assert batch_prices(unlisted, discount=None) is None
    assert batch_prices(unlisted, discount=0.5) is None
    searching = backend("openai/gpt-4o-search-preview")  # fees on top, whatever tokens cost
    assert batch_prices(searching, discount=0.5) is None
    free = backend("openai/of-my-own", prices={"input": 0, "output": 0})
    costs_nothing = batch_prices(free, discount=None)
    assert costs_nothing is not None
    assert costs_nothing.cost(usage) == 0.0
    priced = backend("openai/of-my-own", prices={"input": 2.0, "output": 8.0})
    assert batch_prices(priced, discount=None) is None


def record(**values: Any) -> BatchRecord:
    given: dict[str, Any] = {
        "number": 1,
        "backend": "openai/gpt-4o-mini",
        "provider": "openai",
        "structured": "prompt",
        "status": "uploading",
        "requests": 0,
        "first_row": 0,
        "last_row": 0,
        "ids_sha256": "",
        "created": now(),
    }
    return BatchRecord(**{**given, **values})


def test_the_book_is_there_again_after_a_kill_and_texts_are_swept(tmp_path: Path) -> None:
    book = BatchStore.open(tmp_path)
    first = book.add(record(), ["a" * 32, "b" * 32])
    second = book.add(record(), ["c" * 32])
    assert (first.number, second.number, first.requests) == (1, 2, 2)
    book.change(first, status="open", batch_id="batch_1")
    left = book.input_path(0)
    left.write_text("a text")
    again = BatchStore.open(tmp_path)
    assert not left.exists()
    assert [r.status for r in again.records] == ["open", "uploading"]
    assert again.ids(again.records[0]) == ["a" * 32, "b" * 32]
    assert [r.number for r in open_batches(tmp_path)] == [1]
    again.change(again.records[0], status="collected")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch-0002.ids", "batches.json"]


def test_ids_that_were_changed_are_refused(tmp_path: Path) -> None:
    book = BatchStore.open(tmp_path)
    entered = book.add(record(), ["a" * 32])
    (tmp_path / "batch-0001.ids").write_text("b" * 32)
    with pytest.raises(InputError, match="not what was written"):
        book.ids(entered)
    (tmp_path / "batch-0001.ids").unlink()
    with pytest.raises(InputError, match="cannot be used"):
        book.ids(entered)


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2}', '{"format": 1, "batches": 3}'])
def test_a_book_of_something_else_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "batches.json").write_text(content)
    with pytest.raises(InputError, match=r"batches\.json"):
        BatchStore.open(tmp_path)
    assert open_batches(tmp_path / "nowhere") == ()


Found = tuple[bool, str | None] | ProviderError


class _Provider:
    kind = "anthropic"
    most_requests, most_bytes = 3, 1000

    def __init__(self, found: Found, *, before: Found = (True, None), only_after: int = 0) -> None:
        self.found, self.before, self.only_after = found, before, only_after
        self.looks = 0

    @property
    def member(self) -> Any:
        return SimpleNamespace(backend=backend(), provider=self)

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        assert abs(datetime.now(UTC) - since) < timedelta(minutes=1)
        self.looks += 1
        found = self.found if self.looks > self.only_after else self.before
        if isinstance(found, ProviderError):
            raise found
        return found


@pytest.mark.parametrize(
    ("status", "found", "then", "repeated"),
    [
        ("uploading", (True, None), "dropped", 0),
        ("creating", (True, None), "dropped", 0),
        ("creating", (True, "batch_7"), "open", 0),
        ("creating", (False, None), "lost", 2),
        ("creating", ProviderError("not_found", "no list here"), "lost", 2),
    ],
)
def test_a_submission_that_was_cut_off_is_settled(
    status: Any, found: Any, then: str, repeated: int, tmp_path: Path
) -> None:
    said: list[str] = []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        client = Client(ledger)
        book = BatchStore.open(tmp_path)
        entered = book.add(record(status=status, worst_usd=0.5), ["a" * 32, "b" * 32])
        submitter = Submitter(book, client, said.append)
        asyncio.run(submitter.settle(entered, _Provider(found).member))
        assert book.records[0].status == then
        assert client.counts.repeated == repeated
        # Nobody knows whether it was paid, so it counts under the cap.
        assert client.budget.possibly_spent == (0.5 if then == "lost" else 0.0)
    assert bool(said) == bool(repeated)


@pytest.mark.parametrize("before", [(True, None), ProviderError("server", "just now"), "garbage"])
def test_a_submission_that_is_not_listed_yet_is_looked_for_again(
    before: Any, tmp_path: Path
) -> None:
    if before == "garbage":
        before = ProviderError("bad_reply", "no JSON", may_be_billed=True)
    provider = _Provider((True, "batch_7"), before=before, only_after=3)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        book = BatchStore.open(tmp_path)
        entered = book.add(record(status="creating"), ["a" * 32, "b" * 32])
        asyncio.run(Submitter(book, Client(ledger), print).settle(entered, provider.member))
    assert (book.records[0].status, book.records[0].batch_id) == ("open", "batch_7")
    assert provider.looks == 4


@pytest.mark.parametrize("fault", ["connection", "authentication"])
def test_a_submission_that_cannot_be_looked_for_stays_for_the_next_run(
    fault: Any, tmp_path: Path
) -> None:
    provider = _Provider(ProviderError(fault, "not now"))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        client = Client(ledger)
        book = BatchStore.open(tmp_path)
        entered = book.add(record(status="creating", worst_usd=0.5), ["a" * 32, "b" * 32])
        with pytest.raises(ProviderError, match="not now"):
            asyncio.run(Submitter(book, client, print).settle(entered, provider.member))
        assert (client.counts.repeated, client.budget.possibly_spent) == (0, 0.0)
    assert BatchStore.open(tmp_path).records[0].status == "creating"
    assert provider.looks == (5 if fault == "connection" else 1)


def test_a_batch_is_looked_for_on_every_page_that_may_hold_it() -> None:
    with BatchServer() as server:
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


def test_a_parcel_is_for_its_owner_only_and_knows_its_limits(tmp_path: Path) -> None:
    parcel = BatchFile(tmp_path / "parcel", _Provider((False, None)))  # type: ignore[arg-type]
    assert stat.S_IMODE((tmp_path / "parcel").stat().st_mode) == 0o600
    assert parcel.has_room_for(b"x" * 936)
    assert not parcel.has_room_for(b"x" * 937)
    parcel.seal()
    parcel.remove()
    parcel.remove()
    assert not (tmp_path / "parcel").exists()


def test_the_progress_in_a_line_holds_nothing_that_a_terminal_obeys() -> None:
    progress = BatchProgress(
        phase="waiting", open_batches=2, requests=2400, done=7, answered=3, elapsed_s=61.0
    )
    progress.trouble = "server: \x1b[2J"
    said = batch_sentence(progress)
    assert said.startswith("waiting · 2 batches, 7 of 2,400 done · 3 answered, 0 not · 0:01:01 · ")
    assert "\x1b" not in said
