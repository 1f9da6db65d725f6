"""A record is never long behind what it tells of."""

from __future__ import annotations

import asyncio

import pytest

from areopagus.errors import StoreError
from areopagus.experiment.autosave import Autosave


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areopagus.experiment.autosave.NOTE_EVERY_S", 0.05)


async def test_the_last_change_is_written_though_nothing_follows_it() -> None:
    state, written = [0], list[int]()
    autosave = Autosave(lambda: written.append(state[0]))
    autosave.changed()
    assert written == []  # it has not begun
    autosave.begin()
    for number in range(1, 200):
        state[0] = number
        autosave.changed()
    assert written == []
    await asyncio.sleep(0.1)
    assert written == [199]
    await asyncio.sleep(0.1)
    assert written == [199]
    state[0] = 200
    autosave.changed()  # the record is old: at once
    assert written == [199, 200]


async def test_what_has_ended_writes_no_more() -> None:
    written = list[int]()
    autosave = Autosave(lambda: written.append(1))
    autosave.begin()
    autosave.changed()
    autosave.end()
    autosave.changed()
    await asyncio.sleep(0.1)
    assert written == []


async def test_a_record_that_cannot_be_written_keeps_nobody_from_work() -> None:
    def fail() -> None:
        raise StoreError("no room")

    autosave = Autosave(fail)
    autosave.begin()
    autosave.changed()
    await asyncio.sleep(0.1)
