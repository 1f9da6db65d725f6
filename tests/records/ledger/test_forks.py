"""What a forked child can do beside its parent, and what it is told where it cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from postgres_server import PostgresServer
from processes import Command

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

_WORLD = """
import asyncio, os, sys
from areopagus import Panel
from areopagus.errors import StoreError
from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply

PLACE, OTHER = sys.argv[1:]
ASKED = ("What is justice?", "Justice is fairness, because it is so. However, one may object.")

async def pay(ledger, number):
    key = f"{number:064x}"
    pending = await ledger.begin(key, backend="b")
    await ledger.finish(pending, Reply(text="x" * 3000), purpose="judge", request={})

def told(name, work):
    try:
        print(name, work(), flush=True)
    except StoreError as error:
        print(name, "refused:", error, flush=True)

def forked(work):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            sys.stdout.flush()
            os._exit(0)
    return child
"""


def said(script: str, *places: str, home: Path) -> str:
    """What a process and its forks print; one that hangs is ended."""
    done = Command(*places, folder=home, home=home, code=_WORLD + script).finished()
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_panel_in_use_is_its_process_s_own(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place, other = str(tmp_path / "l.sqlite"), str(tmp_path / "other.sqlite")
    if kind == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        place, other = server.address("forked"), server.address("forked_other")
    script = """
with Panel(ledger=PLACE) as panel:
    before = panel.score(*ASKED).composite

def apart():
    with Panel(ledger=PLACE) as panel:
        told("same", lambda: panel.score(*ASKED).composite == before)
        told("other", lambda: panel.score("How?", ASKED[1]).composite is not None)

os.waitpid(forked(apart), 0)
panel = Panel(ledger=PLACE)
panel.score(*ASKED)
unused = Panel(ledger=OTHER)

def work():
    told("score", lambda: panel.score(*ASKED).composite)
    told("new score", lambda: panel.score("Why?", ASKED[1]).composite)
    told("begin", lambda: asyncio.run(panel.ledger.begin("0" * 64, backend="b")))
    told("abandoned", panel.ledger.abandoned)
    panel.close()
    with Panel(ledger=PLACE) as anew:
        told("anew", lambda: anew.score(*ASKED).composite == before)
    told("unused", lambda: unused.score(*ASKED).composite == before)
    unused.close()

os.waitpid(forked(work), 0)
told("parent", lambda: panel.score("Why?", ASKED[1]).composite is not None)
asyncio.run(pay(panel.ledger, 1))
panel.close()
"""
    same, other_text, *lines = said(script, place, other, home=tmp_path).splitlines()
    assert (same, other_text) == ("same True", "other True")  # on a loop of its own
    for line, name in zip(lines, ("score", "new score", "begin", "abandoned"), strict=False):
        assert line.startswith(f"{name} refused: ")
        assert "opened before this process was forked" in line
    if kind == "postgres":
        assert lines.pop(4) == "anew True"
    else:
        assert "opened before this process was forked" in lines.pop(4)
    assert lines[4:] == ["unused True", "parent True"]


def test_a_child_does_not_open_a_file_that_its_parent_had_open(tmp_path: Path) -> None:
    script = """
ledger = Ledger.open(PLACE)
asyncio.run(pay(ledger, 1))
link = PLACE + ".link"
os.symlink(PLACE, link)

def work():
    for name in (PLACE, link):
        for read_only in (False, True):
            told("open", lambda: Ledger.open(name, read_only=read_only))
    with Ledger.open(OTHER) as own:
        asyncio.run(pay(own, 2))
        told("other", lambda: len(own.lookup([f"{2:064x}"])))

os.waitpid(forked(work), 0)
asyncio.run(pay(ledger, 3))
ledger.close()

def later():
    with Ledger.open(PLACE) as own:
        asyncio.run(pay(own, 4))

os.waitpid(forked(later), 0)
with Ledger.open(PLACE) as again:
    told("stored", lambda: len(again.lookup([f"{n:064x}" for n in (1, 3, 4)])))
    told("abandoned", again.abandoned)
"""
    places = (str(tmp_path / "l.sqlite"), str(tmp_path / "other.sqlite"))
    lines = said(script, *places, home=tmp_path).splitlines()
    assert all("opened before this process was forked" in line for line in lines[:4])
    assert lines[4:] == ["other 1", "stored 3", "abandoned 0"]


def test_a_fork_while_calls_are_stored_hinders_neither(tmp_path: Path) -> None:
    script = """
import threading, time
ledger = Ledger.open(PLACE)
done = []

def keep_paying():
    for number in range(120):
        asyncio.run(pay(ledger, number))
        done.append(number)

busy = threading.Thread(target=keep_paying)
busy.start()

def work():
    told("refused", lambda: ledger.lookup(["0" * 64]))
    ledger.close()
    with Ledger.open(f"{OTHER}{os.getpid()}") as own:
        asyncio.run(pay(own, 1))

for _ in range(4):
    os.waitpid(forked(work), 0)
busy.join()
told("stored", lambda: len(ledger.lookup([f"{n:064x}" for n in done])))
ledger.close()
"""
    places = (str(tmp_path / "l.sqlite"), str(tmp_path / "other.sqlite"))
    lines = said(script, *places, home=tmp_path).splitlines()
    assert len([line for line in lines if "before this process was forked" in line]) == 4
    assert lines[-1] == "stored 120"
