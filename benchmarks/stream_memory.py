"""Peak memory and time of a scoring job by the number of responses, all included.

    python benchmarks/stream_memory.py [--responses 10000 100000] [--judges 1]

Each size runs in a process of its own: a file of so many responses of some 700 characters, read,
judged by so many personas on a model inside the process that answers at once, every call noted and
stored in the ledger, tables, intervals and report written.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from areopagus import Panel
from areopagus.judges.models.request import Request
from areopagus.personas import list_personas
from areopagus.records.types import Reply
from areopagus.testing import ScriptedBackend

WORDS = "Promises bind because people plan on them, and a plan that fails has a price. "


class Instant(ScriptedBackend):
    """Answers by a hash of the request, and keeps nothing."""

    async def send(self, request: Request) -> Reply:
        """A vote."""
        self.requests.clear()
        return await super().send(request)


def votes(request: Request) -> dict[str, Any]:
    """Five scores that are the same for the same request."""
    digits = bytes.fromhex(request.key()[:10])
    names = list((request.schema or {})["properties"])
    scores = {name: 1 + digit % 10 for name, digit in zip(names, digits * 2, strict=False)}
    return {**scores, "abstained": False}


def lines(count: int) -> Iterator[str]:
    """The rows of the input."""
    for number in range(count):
        row = {
            "response_id": f"r{number}",
            "prompt_id": f"p{number % 1000}",
            "prompt_text": f"What is owed in case {number % 1000}?",
            "respondent_id": f"writer-{number % 7}",
            "response_text": f"In case {number} much is owed. {WORDS * 8}".strip(),
        }
        yield json.dumps(row) + "\n"


def measure(count: int, judges: int) -> dict[str, float]:
    """One size in this process."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with (place / "responses.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(lines(count))
        personas = [listed.name for listed in list_personas()][:judges]
        backend = Instant(votes, name="instant/model", concurrency=32)
        started = time.monotonic()
        with Panel(backend, personas=personas, ledger=place / "ledger.sqlite") as panel:
            run = panel.score_many(place / "responses.jsonl", place / "run")
        if run.n_scored != count * judges:
            raise RuntimeError(f"{run.n_scored} scored of {count * judges}")
        wall = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall_s": wall, "peak_mb": peak}


def main() -> None:
    """Prints a line a size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--responses", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--judges", type=int, default=1)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.judges)), flush=True)
        return
    print(f"{'responses':>12}{'judgments':>12}{'wall s':>9}{'ms a judgment':>15}{'peak MiB':>10}")
    for count in options.responses:
        command = [sys.executable, __file__, "--one", str(count), "--judges", str(options.judges)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        judged = count * options.judges
        print(
            f"{count:12,}{judged:12,}{found['wall_s']:9.1f}"
            f"{1e3 * found['wall_s'] / judged:15.3f}{found['peak_mb']:10.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
