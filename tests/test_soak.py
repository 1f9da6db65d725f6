"""The short form of the soak; the long one is a command of benchmarks/README.md."""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from processes import Command

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


# Kills and signals have tests of their own: tests/experiment/test_kill.py. Instead of "faults",
# which makes a run of each, "together" has all of them in one.
@pytest.mark.long
@pytest.mark.parametrize(
    "part",
    ["together", "slow", "rerun", "dns", "clock", "disk", "locked", "truncated", "returns"],
)
def test_everything_holds_in_the_short_soak(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    soak = importlib.import_module("soak")

    def start(given: Sequence[str], folder: Path, home: Path, *, first: str = "") -> Command:
        code = first + soak.COMMAND if first else None
        return Command(*given, folder=folder, home=home, code=code)

    monkeypatch.setattr(soak, "start_command", start)
    place = soak.Soak(tmp_path, 12, random.Random(1))
    soak.PARTS[part](place)
    assert place.wrong == []
