"""The short form of the soak; the long one is a command of benchmarks/README.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent.parent / "benchmarks" / "soak.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        # Kills and signals have tests of their own: tests/test_kill.py. Instead of "faults", which
        # makes a run of each, "together" has all of them in one.
        ("together",),
        ("slow",),
        ("rerun", "dns", "clock"),
        ("disk", "locked", "truncated"),
        ("returns",),
    ],
    ids=" ".join,
)
def test_everything_holds_in_the_short_soak(parts: tuple[str, ...]) -> None:
    wanted = [word for part in parts for word in ("--only", part)]
    done = subprocess.run(
        [sys.executable, str(SOAK), "--responses", "12", *wanted],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DOES NOT HOLD" not in done.stdout
