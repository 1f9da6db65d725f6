"""A stored reply that cannot be read counts as not stored, is named once, and is asked again."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_world import Place, key, reply, rows

from areopagus import Panel
from areopagus.records.ledger import Ledger
from areopagus.records.ledger.admin import recent_calls, whole_call
from areopagus.records.ledger.encoding import checksum, decode_reply
from areopagus.testing import ScriptedBackend

Damage = Callable[[bytes], bytes]
LONG = "because promises bind " * 400


async def pay(ledger: Ledger, number: int, text: str) -> None:
    pending_call = await ledger.claim(key(number), backend="b")
    assert pending_call is not None
    await ledger.finish(pending_call, reply(text), purpose="judge", request={})


def damage(place: Place, number: int, change: Damage) -> None:
    ((stored,),) = rows(place, "SELECT reply FROM calls WHERE key = :key", key=key(number))
    changed = change(bytes(stored)).hex()
    value = f"x'{changed}'" if isinstance(place, Path) else f"decode('{changed}', 'hex')"
    rows(place, f"UPDATE calls SET reply = {value} WHERE key = :key", key=key(number))


def _one_bit(reply: bytes) -> bytes:
    # Inside the text, where what it says would change and nothing else would tell.
    middle = len(reply) // 2
    return reply[:middle] + bytes([reply[middle] ^ 1]) + reply[middle + 1 :]


def _cut(reply: bytes) -> bytes:
    return reply[: len(reply) // 2]


DAMAGES: list[Damage] = [
    _one_bit,
    _cut,
    lambda reply: b'{"text": 5}',
    lambda reply: zlib.compress(b"[1, 2, 3]" * 300),
    lambda reply: b"",
]


async def test_a_damaged_reply_is_named_once_and_the_next_one_takes_its_place(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with Ledger.open(place) as ledger:
        for number in (1, 2, 3):
            await pay(ledger, number, f"{number} {LONG if number > 1 else 'short'}")
    damage(place, 2, _one_bit)
    with Ledger.open(place, read_only=True) as ledger, caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert set(ledger.lookup([key(n) for n in (1, 2, 3)])) == {key(1), key(3)}
        assert await ledger.find(key(2)) is None
    ours = [record for record in caplog.records if record.name == "areopagus.ledger"]
    (said,) = [record.getMessage() for record in ours]
    assert key(2)[:12] in said
    assert ledger.place in said
    with Ledger.open(place) as ledger:
        assert await ledger.find(key(2)) is None
        await pay(ledger, 2, "anew")
        replies = ledger.lookup([key(n) for n in (1, 2, 3)])
    assert {k: (r.text or "").split()[0] for k, r in replies.items()} == {
        key(1): "1",
        key(2): "anew",
        key(3): "3",
    }
    assert recent_calls(place)[0].text == "anew"
    assert whole_call(place, key(2))["duplicates"] == 0


async def test_of_two_that_find_a_reply_damaged_one_asks_and_the_other_takes_its_answer(
    place: Place,
) -> None:
    with Ledger.open(place) as ledger:
        await pay(ledger, 1, LONG)
    damage(place, 1, _cut)
    with Ledger.open(place) as one, Ledger.open(place) as two:
        assert (await one.find(key(1)), await two.find(key(1))) == (None, None)
        await pay(one, 1, "mended")
        assert await two.claim(key(1), backend="b") is None
        found = await two.find(key(1))
    assert found is not None
    assert found.text == "mended"


async def test_every_damage_is_seen_and_where_there_was_no_checksum_yet_by_the_form(
    place: Place,
) -> None:
    whole = len(DAMAGES)
    keys = [key(number) for number in range(whole + 1)]
    with Ledger.open(place) as ledger:
        for number in range(whole + 1):
            await pay(ledger, number, LONG)
    for number, change in enumerate(DAMAGES):
        damage(place, number, change)
    with Ledger.open(place, read_only=True) as ledger:
        assert set(ledger.lookup(keys)) == {key(whole)}
    rows(place, "UPDATE calls SET checksum = NULL")
    with Ledger.open(place, read_only=True) as ledger:
        assert set(ledger.lookup(keys[1:])) == {key(whole)}  # one bit of a text has no form


async def test_a_value_of_another_type_in_a_file_is_no_reply(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        for number in (1, 2, 3):
            await pay(ledger, number, "yes")
    rows(path, "UPDATE calls SET checksum = NULL")
    rows(path, "UPDATE calls SET reply = 7 WHERE key = :key", key=key(1))
    rows(path, "UPDATE calls SET reply = 'words' WHERE key = :key", key=key(2))
    with Ledger.open(path) as ledger:
        assert set(ledger.lookup([key(1), key(2), key(3)])) == {key(3)}


async def test_the_commands_show_what_is_left_of_a_damaged_call(place: Place) -> None:
    with Ledger.open(place) as ledger:
        await pay(ledger, 1, "yes")
    damage(place, 1, _cut)
    (call,) = recent_calls(place)
    assert (call.text, call.cost_usd) == (None, 0.01)
    assert whole_call(place, key(1))["reply"] is None


def test_a_checksum_is_of_the_key_too() -> None:
    reply = b'{"text":"yes","usage":{}}'
    assert decode_reply(key(1), reply, checksum(key(1), reply)).text == "yes"
    with pytest.raises(ValueError, match="checksum"):
        decode_reply(key(2), reply, checksum(key(1), reply))


async def test_a_run_asks_again_for_the_one_vote_that_was_damaged(tmp_path: Path) -> None:
    backend = ScriptedBackend('{"overall": 7}')
    path = tmp_path / "ledger.sqlite"

    async def scored() -> float | None:
        panel = Panel(backend, mode="holistic", ledger=path)
        try:
            return (await panel.ascore("Why?", "Because promises bind.")).composite
        finally:
            await asyncio.to_thread(panel.close)

    before = await scored()
    asked = len(backend.requests)
    ((lost,),) = rows(path, "SELECT min(key) FROM calls")
    rows(path, "UPDATE calls SET reply = x'00' WHERE key = :key", key=lost)
    assert await scored() == before
    assert len(backend.requests) == asked + 1
    assert await scored() == before
    assert len(backend.requests) == asked + 1
