"""Peak memory of the hidden-bias audit by size of the job, with a model inside the process.

    python benchmarks/hidden_bias_memory.py [--pairs 20 200] [--table 200 1547]

Each size runs in a process of its own: so many concept pairs with 50 questions at ten answers, 500
askings a pair. `--pairs` runs whole audits: items, ledger, table, estimates, report. `--table`
writes the table of answers of that many pairs at once and estimates from it, which is the part that
reads everything. 1,547 pairs are the paper's 773,500 askings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from areopagus.auditing import audit
from areopagus.auditing.run import estimated
from areopagus.audits.answers_table import (
    ANSWERS_FILE,
    OWN_COLUMNS,
    AnswersTable,
    ColumnKind,
    written_rows,
)
from areopagus.audits.hidden_bias import AUDIT, HiddenBiasOptions
from areopagus.audits.hidden_bias.dataset import load_pairs
from areopagus.judges.models.request import Request
from areopagus.records.types import Reply
from areopagus.testing import ScriptedBackend

ASKINGS = 500


class Instant(ScriptedBackend):
    """Answers by a hash of the prompt and the asking, and keeps nothing."""

    async def send(self, request: Request) -> Reply:
        """A or B."""
        said = f"{request.repeat}|{request.messages[-1]['content']}"
        bit = hashlib.sha256(said.encode()).digest()[0] % 2
        return Reply("AB"[bit], finish_reason="stop", cost_usd=0.0, created_at=time.time())


def write_concepts(path: Path, n: int) -> None:
    """So many concept pairs, the first of the built-in ones under other names."""
    pair = load_pairs()[0].model_dump()
    with path.open("w", encoding="utf-8") as stream:
        for number in range(n):
            scene = f"{pair['scene']} It was day {number}."
            stream.write(json.dumps({**pair, "id": f"pair-{number}", "scene": scene}) + "\n")


def peak_mb() -> float:
    """Most memory that this process has held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def whole(n: int, folder: Path) -> dict[str, Any]:
    """A whole audit."""
    write_concepts(folder / "pairs.jsonl", n)
    options = {
        "concepts": [str(folder / "pairs.jsonl")], "only_concepts": True,
    }  # fmt: skip
    start = time.monotonic()
    run = audit(
        "hidden-bias", target=Instant("A", name="instant/model", concurrency=32), options=options,
        out=folder / "run", ledger=folder / "l.sqlite",
    )  # fmt: skip
    return {"askings": sum(run.statuses.values()), "seconds": time.monotonic() - start}


def table_alone(n: int, folder: Path) -> dict[str, Any]:
    """The table of answers of so many pairs, and the estimate from it."""
    write_concepts(folder / "pairs.jsonl", n)
    options = HiddenBiasOptions(concepts=(str(folder / "pairs.jsonl"),), only_concepts=True)
    named = AUDIT.definition
    columns: dict[str, ColumnKind] = {**OWN_COLUMNS, **named.item_columns, **named.value_columns}
    askings = 0
    with written_rows(folder / ANSWERS_FILE, columns) as writer:
        for item in AUDIT.items(options):
            for repeat in range(item.repeats):
                is_first = hashlib.sha256(f"{item.item_id}{repeat}".encode()).digest()[0] % 2 == 0
                is_one = is_first == (item.fields["order"] == "one_first")
                writer.write({
                    **item.fields, "item_id": item.item_id, "unit": item.cluster,
                    "target": "model", "repeat": repeat, "prompt_text": item.prompt,
                    "response_text": "A" if is_first else "B", "status": "classified",
                    "chose": "one" if is_one else "two", "place": "first" if is_first else "second",
                })  # fmt: skip
                askings += 1
    written = peak_mb()
    start = time.monotonic()
    found = estimated(AUDIT, options, AnswersTable(folder, ["model"])).frame()
    measured = found[(found["measure"] == "measured") & (found["factor"] == "all")]
    return {
        "askings": askings,
        "seconds": time.monotonic() - start,
        "instances": int(measured["value"].iloc[0]),
        "written_mb": written,
    }


def child(mode: str, n: int) -> None:
    """One measurement; printed as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        found = (whole if mode == "pairs" else table_alone)(n, Path(folder))
    print(json.dumps({"mode": mode, "pairs": n, "peak_mb": peak_mb(), **found}))


def main() -> None:
    """Runs every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="*", default=[20, 200])
    parser.add_argument("--table", type=int, nargs="*", default=[200, 1_547])
    parser.add_argument("--child", nargs=2, metavar=("MODE", "N"))
    given = parser.parse_args()
    if given.child:
        child(given.child[0], int(given.child[1]))
        return
    for mode, sizes in (("pairs", given.pairs), ("table", given.table)):
        before: dict[str, Any] | None = None
        for n in sizes:
            command = [sys.executable, __file__, "--child", mode, str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            what = "whole audit" if mode == "pairs" else "estimate from the table"
            line = (
                f"{what}: {n:>5,} concept pairs, {found['askings']:>9,} askings: peak "
                f"{found['peak_mb']:.0f} MiB, {found['seconds']:.0f} s"
            )
            if before is not None:
                more = found["peak_mb"] - before["peak_mb"]
                per = 1e5 * more / (found["askings"] - before["askings"])
                line += f" ({per:+.1f} MiB for 100,000 askings more)"
            print(line, flush=True)
            before = found


if __name__ == "__main__":
    main()
