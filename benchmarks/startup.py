"""How soon the package answers: a bare interpreter, an import, and `--help`, in one run.

    python benchmarks/startup.py [--runs N]

Run it from an environment with the wheel installed: pip compiles it, as a user's would be.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "bare interpreter": [sys.executable, "-c", "pass"],
    "import areopagus": [sys.executable, "-c", "import areopagus"],
    "areopagus --help": [sys.executable, "-m", "areopagus", "--help"],
}


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Prints medians, the commands taking turns so that a drifting machine hurts all alike."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(runs + 1):
        for name, command in COMMANDS.items():
            taken = seconds(command)
            if turn:  # the first turn warms the file cache
                times[name].append(taken)
    bare = statistics.median(times["bare interpreter"])
    print(f"median of {runs} runs, milliseconds")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"{name:18} {1000 * middle:7.1f}   over bare {1000 * (middle - bare):7.1f}")


if __name__ == "__main__":
    main()
