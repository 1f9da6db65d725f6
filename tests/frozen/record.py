"""Holds the runs of this checkout against the frozen figures, or records these anew.

    cd tests
    python -m frozen.record --compare ['stress*' …]    what is equal, gone, changed, by run
    python -m frozen.record ['stress*' …]              record these runs anew; others stay

Record anew only what has been declared in differences.yaml and reviewed, or a run that is new.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from fnmatch import fnmatchcase
from pathlib import Path
from unittest import mock

# As in the suite: matrices are small, and threads would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pandas as pd

from .figures import (
    FIGURES_FILE,
    chosen,
    compare,
    keyed,
    read_declared,
    read_frozen,
    write_frozen,
)
from .runs import RUNS, Workbench


def main() -> int:
    """Makes the runs; returns 1 where a figure differs that nobody has declared."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", default=["*"], metavar="GLOB", help="only these runs")
    parser.add_argument("--compare", action="store_true", help="record nothing, say what differs")
    parser.add_argument("--most", type=int, default=20, help="differences printed of one run")
    given = parser.parse_args()
    names = [name for name in RUNS if any(fnmatchcase(name, glob) for glob in given.runs)]
    if not names:
        parser.error(f"no run is called so; there are {', '.join(RUNS)}")
    frozen = read_frozen() if FIGURES_FILE.is_file() else None
    tables, n_undeclared = [], 0
    with (
        tempfile.TemporaryDirectory(prefix="frozen-") as folder,
        mock.patch.dict(os.environ, {"AREOPAGUS_HOME": str(Path(folder) / "home")}),
        # The page takes longer to write than all figures to make.
        mock.patch("areopagus.run.JobRun.write_report", lambda run, *_, **__: run.path / "report"),
    ):
        bench = Workbench(Path(folder) / "runs")
        for name in names:
            since = time.process_time()
            frame = bench.figures(name)
            seconds = time.process_time() - since
            if not given.compare:
                table = chosen(keyed(frame))
                table.insert(0, "run", name)
                tables.append(table)
                print(f"{name:38s} {len(table):5d} of {len(frame):5d} figures {seconds:6.1f} s")
                continue
            assert frozen is not None
            outcome = compare(name, frame, frozen, read_declared())
            n_undeclared += len(outcome.undeclared) + len(outcome.unused)
            print(f"{outcome.line()} {seconds:6.1f} s", flush=True)
            for line in [*map(str, outcome.undeclared[: given.most]), *outcome.unused]:
                print(f"    {line}")
    if given.compare:
        return int(n_undeclared > 0)
    if frozen is not None:
        tables.append(frozen[~frozen["run"].isin(names) & frozen["run"].isin(RUNS)])
    order = {name: place for place, name in enumerate(RUNS)}
    whole = pd.concat(tables, ignore_index=True)
    whole = whole.sort_values("run", key=lambda run: run.map(order), kind="stable")
    write_frozen(whole.reset_index(drop=True))
    print(f"{len(whole):,} figures of {whole['run'].nunique()} runs in {FIGURES_FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
