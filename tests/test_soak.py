"""The short form of the soak; the long one is a command of benchmarks/README.md."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import Command

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


# Kills and signals have tests of their own: tests/experiment/test_kill.py. Instead of "faults",
# which makes a run of each, "together" has all of them in one.
@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    ["together", "slow", "rerun", "dns", "clock", "disk", "locked", "truncated", "returns"],
)
def test_everything_holds_in_the_short_soak(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    soak = importlib.import_module("soak")
    started: Callable[..., Any] = soak.start_command

    def start(given: Sequence[str], folder: Path, home: Path, **special: Any) -> Any:
        # What must be set before Python starts needs a start from nothing.
        if special:
            return started(given, folder, home, **special)
        return Command(*given, folder=folder, home=home)

    monkeypatch.setattr(soak, "start_command", start)
    place = soak.Soak(tmp_path, 12, random.Random(1))
    soak.PARTS[part](place)
    assert place.wrong == []
