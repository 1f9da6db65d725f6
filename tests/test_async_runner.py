"""The package's event loop: whose it is, and that results do not depend on it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from processes import Command, areopagus

from areopagus.async_runner import new_loop, run_async, run_sync
from areopagus.testing import ProviderServer

WITHOUT = """
import sys

sys.modules["uvloop"] = sys.modules["httptools"] = None
from areopagus.cli import main

main()
"""
RESPONSES = Path(__file__).parent.parent / "examples" / "responses.csv"


def test_uvloops_is_taken_where_it_is_installed() -> None:
    uvloop = pytest.importorskip("uvloop", reason="the extra `fast` is not installed")
    loop = new_loop()
    assert isinstance(loop, uvloop.Loop)
    loop.close()


def test_asyncios_is_taken_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_loop()
    assert isinstance(loop, asyncio.SelectorEventLoop)
    loop.close()


async def test_one_loop_serves_synchronous_and_asynchronous_callers() -> None:
    async def where() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    mine = asyncio.get_running_loop()
    theirs = await run_async(where())
    assert theirs is not mine
    assert await asyncio.to_thread(lambda: run_sync(where())) is theirs


@pytest.mark.slow
def test_a_run_comes_to_the_same_table_with_the_extra_fast_and_without(tmp_path: Path) -> None:
    tables = {}
    for loop in ("fast", "plain"):
        given = ["score", RESPONSES, "--panel", "panel.yaml", "--out", loop, "--limit", "3"]
        with ProviderServer() as server:
            panel = {"models": [{"model": "openai/judge", "api_base": server.openai_base}]}
            (tmp_path / "panel.yaml").write_text(json.dumps(panel))
            if loop == "fast":
                areopagus(*given, "--ledger", "fast.sqlite", folder=tmp_path)
            else:
                Command(*given, "--ledger", "plain.sqlite", folder=tmp_path, code=WITHOUT).ended()
        assert server.counts.answered == 30
        tables[loop] = (tmp_path / loop / "scores.csv").read_text()
    assert tables["fast"] == tables["plain"]
