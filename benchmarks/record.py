"""Runs commands again whose output the documentation quotes, and stores what they print.

    python benchmarks/record.py NAME [NAME …]

A file of benchmarks/results/ begins with its command, and the rest is what that printed, without
seconds. To add one, write a file with the command alone and record it. `tests/test_figures.py`
compares the pages with the files, and runs the quick commands again.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
_SECONDS = re.compile(r",? \d+(\.\d+)? m?s\b|^\d+ s( in all)?$", re.MULTILINE)


def printed(command: str) -> str:
    """What `$ python benchmarks/…` prints, without the time that it took."""
    words = shlex.split(command)
    if words[:2] != ["$", "python"]:
        raise SystemExit(f"the first line must be `$ python benchmarks/…`, got: {command}")
    done = subprocess.run(
        [sys.executable, *words[2:]],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=RESULTS.parents[1],
    )
    return "\n".join(line.rstrip() for line in _SECONDS.sub("", done.stdout).splitlines()).strip()


def main() -> None:
    """Records anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=sorted(p.stem for p in RESULTS.glob("*.txt")))
    for name in parser.parse_args().names:
        path = RESULTS / f"{name}.txt"
        command = path.read_text(encoding="utf-8").partition("\n")[0]
        path.write_text(f"{command}\n{printed(command)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
