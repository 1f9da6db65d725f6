"""How long `calibrate` takes: 20,000 ratings of six criteria against a panel of thirty judges.

    python benchmarks/calibrate_speed.py [--prompts 96] [--responses 10] [--raters 3] [--judges 30]

One made-up study is calibrated once, and written with and without its charts. Printed: seconds of
every stage, their share of the whole, and the whole beside its goal of 15 seconds. Reading a run
folder of so many judgments is in it; starting Python is not.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np

CRITERIA = ("clarity", "evidence", "depth", "pluralism", "relevance", "argument")
GOAL_S = 15.0


def write_study(folder: Path, prompts: int, responses: int, raters: int, judges: int) -> None:
    """Writes judgments.csv and ratings.csv: whole scores from 1 to 10 around one quality."""
    rng = np.random.default_rng(1)
    quality = 5.5 + rng.normal(scale=1.2, size=(prompts, responses, len(CRITERIA)))

    def write(name: str, who: str, n: int, noise: float) -> None:
        scores = quality[:, :, None] + rng.normal(scale=noise, size=(*quality.shape[:2], n, 6))
        scores = np.clip(np.round(scores), 1, 10).astype(int)
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["prompt_id", "response_id", who, *CRITERIA])
            for p, r, k in np.ndindex(prompts, responses, n):
                table.writerow([f"p{p}", f"p{p}/r{r}", f"{who}{k}", *scores[p, r, k].tolist()])

    write("judgments.csv", "judge", judges, 1.0)
    write("ratings.csv", "rater_id", raters, 1.4)


def main() -> None:
    """Prints a line a stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("prompts", 96), ("responses", 10), ("raters", 3), ("judges", 30)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    from areopagus.calibration import calibrate

    stages: list[tuple[str, float]] = []

    def note(stage: object) -> None:
        stages.append((str(getattr(stage, "doing", stage)), time.perf_counter()))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_study(folder, options.prompts, options.responses, options.raters, options.judges)
        start = time.perf_counter()
        found = calibrate(
            folder / "judgments.csv", folder / "ratings.csv", scale=(1, 10), on_progress=note
        )
        note("writing, with charts")
        found.write(folder / "out")
        end = time.perf_counter()
    n = options.prompts * options.responses * options.raters * len(CRITERIA)
    print(f"{n:,} ratings, {options.judges} judges")
    for (stage, at), (_, after) in zip(stages, [*stages[1:], ("", end)], strict=True):
        print(f"{stage:45s} {after - at:6.2f} s  {(after - at) / (end - start):5.0%}")
    whole = end - start
    print(f"{'the whole':45s} {whole:6.2f} s  {whole / GOAL_S:.2f} of the goal of {GOAL_S:.0f} s")


if __name__ == "__main__":
    main()
