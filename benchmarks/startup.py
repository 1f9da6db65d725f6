"""How soon the package answers: an interpreter, an import, `--help`, small jobs, in one run.

    python benchmarks/startup.py [--runs N]

Run it from an environment with the wheel installed: pip compiles it, as a user's would be.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
AREOPAGUS = (sys.executable, "-m", "areopagus")
SCORE = (*AREOPAGUS, "score", str(EXAMPLES / "responses.csv"), "--out", "run")
COMMANDS = {
    "bare interpreter": (sys.executable, "-c", "pass"),
    "import areopagus": (sys.executable, "-c", "import areopagus"),
    "areopagus --help": (*AREOPAGUS, "--help"),
    "score, 32 responses": SCORE,
    "the same again": SCORE,
    "calibrate, 160 ratings": (
        *AREOPAGUS, "calibrate", "run", str(EXAMPLES / "humans" / "ratings.csv"),
    ),
}  # fmt: skip
"""In the order of a turn, which has a folder and a ledger of its own."""


def seconds(command: tuple[str, ...], folder: str) -> tuple[float, float]:
    """Wall time and CPU time of one run in a folder."""
    environment = {**os.environ, "AREOPAGUS_HOME": folder}
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, check=True, cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu


def main() -> None:
    """Prints medians, the commands taking turns so that a drifting machine hurts all alike."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for turn in range(runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            for name, command in COMMANDS.items():
                taken = seconds(command, folder)
                if turn:  # the first turn warms the file cache
                    times[name].append(taken)
    print(f"median of {runs} runs, seconds")
    print(f"{'':24}{'wall':>8}{'CPU':>8}")
    for name, taken in times.items():
        wall, cpu = (statistics.median(values) for values in zip(*taken, strict=True))
        print(f"{name:24}{wall:8.2f}{cpu:8.2f}")


if __name__ == "__main__":
    main()
