"""Whoever asks the ledger in the same moment shares one look into it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import pytest

from areopagus.errors import StoreError
from areopagus.records.ledger.ledger import GatheredLookups
from areopagus.records.types import Reply, Usage

STORED = {key: Reply(text=key, finish_reason="stop", usage=Usage()) for key in ("a", "b")}


class Shelf:
    """A ledger that writes down what it was asked, and where."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.threads: set[int] = set()
        self.arrived = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None

    def look(self, keys: Sequence[str]) -> Mapping[str, Reply]:
        self.asked.append(list(keys))
        self.threads.add(threading.get_ident())
        self.arrived.set()
        self.gate.wait(10)
        if self.error is not None:
            raise self.error
        return {key: STORED[key] for key in keys if key in STORED}


@pytest.mark.parametrize("aside", [False, True])
async def test_those_who_ask_together_share_a_look(aside: bool) -> None:
    shelf = Shelf()
    lookups = GatheredLookups(shelf.look, aside=aside)
    found = await asyncio.gather(*(lookups.find(key) for key in ("a", "c", "b", "a")))
    assert found == [STORED["a"], None, STORED["b"], STORED["a"]]
    assert shelf.asked == [["a", "c", "b"]]
    assert (shelf.threads == {threading.get_ident()}) is not aside
    assert await lookups.find("b") == STORED["b"]
    assert shelf.asked[1:] == [["b"]]


async def test_while_one_look_is_under_way_the_next_gathers_and_the_loop_goes_on() -> None:
    shelf = Shelf()
    shelf.gate.clear()
    lookups = GatheredLookups(shelf.look, aside=True)
    first = asyncio.create_task(lookups.find("a"))
    assert await asyncio.to_thread(shelf.arrived.wait, 10)
    later = []
    for key in ("b", "c", "a"):
        later.append(asyncio.create_task(lookups.find(key)))
        await asyncio.sleep(0.002)
    assert shelf.asked == [["a"]]
    shelf.gate.set()
    assert await first == STORED["a"]
    assert await asyncio.gather(*later) == [STORED["b"], None, STORED["a"]]
    assert shelf.asked == [["a"], ["b", "c", "a"]]


@pytest.mark.parametrize("aside", [False, True])
async def test_a_ledger_that_cannot_be_read_is_told_to_everybody(aside: bool) -> None:
    shelf = Shelf()
    shelf.error = StoreError("gone")
    lookups = GatheredLookups(shelf.look, aside=aside)
    found = await asyncio.gather(*(lookups.find(key) for key in "ab"), return_exceptions=True)
    assert [str(error) for error in found] == ["gone", "gone"]
    shelf.error = None
    assert await lookups.find("a") == STORED["a"]


@pytest.mark.parametrize("aside", [False, True])
async def test_who_gives_up_takes_nobody_along(aside: bool) -> None:
    shelf = Shelf()
    lookups = GatheredLookups(shelf.look, aside=aside)
    one, other = (asyncio.create_task(lookups.find(key)) for key in "ab")
    await asyncio.sleep(0)
    one.cancel()
    assert await other == STORED["b"]
    with pytest.raises(asyncio.CancelledError):
        await one
    assert len(shelf.asked) == 1


def test_loops_do_not_wait_for_each_other() -> None:
    shelf = Shelf()
    lookups = GatheredLookups(shelf.look, aside=False)
    assert [asyncio.run(lookups.find(key)) for key in "ab"] == [STORED["a"], STORED["b"]]
