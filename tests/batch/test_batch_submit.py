"""Submissions that were cut off are settled: nothing is lost, nothing is bought twice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from batch_material import batch_values

from areopagus.batch.store import BatchStore
from areopagus.batch.submit import Submitter
from areopagus.errors import ProviderError
from areopagus.judges.models.client import Client
from areopagus.records.ledger import Ledger

Found = tuple[bool, str | None] | ProviderError


class _Provider:
    """What of a `BatchProvider` settling needs."""

    def __init__(self, found: Found, *, before: Found = (True, None), only_after: int = 0) -> None:
        self.found, self.before, self.only_after = found, before, only_after
        self.looks = 0

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
        store = BatchStore.open(tmp_path)
        entered = store.add(["a" * 32, "b" * 32], **batch_values(status=status, worst_usd=0.5))
        submitter = Submitter(store, client, said.append)
        asyncio.run(submitter.settle(entered, _Provider(found)))
        assert store.records[0].status == then
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
        store = BatchStore.open(tmp_path)
        entered = store.add(["a" * 32, "b" * 32], **batch_values(status="creating"))
        asyncio.run(Submitter(store, Client(ledger), print).settle(entered, provider))
    assert (store.records[0].status, store.records[0].batch_id) == ("open", "batch_7")
    assert provider.looks == 4


@pytest.mark.parametrize("fault", ["connection", "authentication"])
def test_a_submission_that_cannot_be_looked_for_stays_for_the_next_run(
    fault: Any, tmp_path: Path
) -> None:
    provider = _Provider(ProviderError(fault, "not now"))
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        client = Client(ledger)
        store = BatchStore.open(tmp_path)
        entered = store.add(["a" * 32, "b" * 32], **batch_values(status="creating", worst_usd=0.5))
        with pytest.raises(ProviderError, match="not now"):
            asyncio.run(Submitter(store, client, print).settle(entered, provider))
        assert (client.counts.repeated, client.budget.possibly_spent) == (0, 0.0)
    assert BatchStore.open(tmp_path).records[0].status == "creating"
    assert provider.looks == (5 if fault == "connection" else 1)
