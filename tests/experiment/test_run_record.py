"""A run's record is never long behind what it tells of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus import Ledger
from areopagus.errors import StoreError
from areopagus.experiment.run_record import RunRecord
from areopagus.judges.models.client import Client
from areopagus.records.run_folder import RunFolder


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areopagus.experiment.run_record.AUTOSAVE_S", 0.05)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the records said of `n`, each time that one was written."""
    found: list[int] = []

    def write(_: RunFolder, content: dict[str, Any]) -> None:
        found.append(content["n"])

    monkeypatch.setattr(RunFolder, "write_run_file", write)
    return found


@pytest.fixture
def state() -> list[int]:
    """What a record is to say of `n`."""
    return [0]


@pytest.fixture
def record(tmp_path: Path, state: list[int]) -> Iterator[RunRecord]:
    """A record that says one number."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        folder = RunFolder.open(tmp_path / "run", {})
        made = RunRecord(folder, Client(ledger), lambda: {"n": state[0]})
        yield made
        made.close()


async def test_the_last_change_is_written_though_nothing_follows_it(
    record: RunRecord, state: list[int], written: list[int]
) -> None:
    record.changed()
    assert written == []  # it has not begun
    record.write("running")
    for number in range(1, 200):
        state[0] = number
        record.changed()
    assert written == [0]
    await asyncio.sleep(0.1)
    assert written == [0, 199]
    await asyncio.sleep(0.1)
    assert written == [0, 199]
    state[0] = 200
    record.changed()  # the record is old: at once
    assert written == [0, 199, 200]


async def test_what_has_ended_writes_no_more(record: RunRecord, written: list[int]) -> None:
    record.write("running")
    record.changed()
    record.write("complete")
    record.changed()
    await asyncio.sleep(0.1)
    assert written == [0, 0]


async def test_a_record_that_cannot_be_written_keeps_nobody_from_work_and_is_tried_again(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.write("running")
    tried: list[int] = []

    def fail(*_: object) -> None:
        tried.append(1)
        raise StoreError("no room")

    monkeypatch.setattr(RunFolder, "write_run_file", fail)
    for count in (1, 2):
        record.changed()
        await asyncio.sleep(0.1)
        assert len(tried) == count
    with pytest.raises(StoreError, match="no room"):
        record.write("complete")
