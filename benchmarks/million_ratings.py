"""Times the commands of a calibration on one million human ratings, as whole processes.

Run: python benchmarks/million_ratings.py
4,000 prompts of five responses, ten raters of a pool of 200 a prompt, five dimensions, and twelve
judges whose stored scores are calibrated against them. Prints seconds, processor seconds (which a
busy machine changes less) and peak memory of `areopagus agreement` and `areopagus calibrate`; the
goal is a minute and 2 GB for each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

DIMENSIONS = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
RESPONSES, RATERS, POOL, JUDGES = 5, 10, 200, 12


def write_ratings(path: Path, prompts: int, quality: np.ndarray, rng: np.random.Generator) -> int:
    """Writes the long table of ratings; returns how many."""
    lines = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("rater_id,prompt_id,response_id,criterion,value\n")
        for prompt in range(prompts):
            raters = rng.choice(POOL, RATERS, replace=False)
            noise = rng.normal(0, 1.2, (RATERS, RESPONSES, len(DIMENSIONS)))
            values = np.clip(np.rint(quality[prompt] + noise), 1, 10).astype(int)
            for r, rater in enumerate(raters):
                for k in range(RESPONSES):
                    for d, dimension in enumerate(DIMENSIONS):
                        value = values[r, k, d]
                        file.write(f"h{rater},p{prompt},p{prompt}-{k},{dimension},{value}\n")
                        lines += 1
    return lines


def write_judgments(path: Path, prompts: int, quality: np.ndarray, rng: np.random.Generator) -> int:
    """Writes stored scores of twelve judges, one row a judge and response; returns how many."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f"prompt_id,response_id,judge,persona,model,{','.join(DIMENSIONS)}\n")
        for prompt in range(prompts):
            for judge in range(JUDGES):
                noise = rng.normal(0, 1.0, (RESPONSES, len(DIMENSIONS)))
                values = np.clip(np.rint(quality[prompt] + noise), 1, 10).astype(int)
                for k in range(RESPONSES):
                    scores = ",".join(map(str, values[k]))
                    who = f"j{judge},persona-{judge % 4},model-{judge // 4}"
                    file.write(f"p{prompt},p{prompt}-{k},{who},{scores}\n")
    return prompts * JUDGES * RESPONSES


def timed(folder: Path, *arguments: str) -> tuple[float, float, float, int]:
    """Seconds, processor seconds, peak memory in GB and exit code of one command."""
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "areopagus", *arguments], cwd=folder, stdout=output,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print((folder / "output.txt").read_text()[-2000:])
    seconds, busy = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    return seconds, busy, usage.ru_maxrss / 1e6, process.returncode


def main() -> None:
    """Makes the files, runs both commands, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=4000)
    parser.add_argument("--keep", metavar="DIR", help="leave files and output there")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    quality = rng.normal(6, 1, (options.prompts, RESPONSES, len(DIMENSIONS)))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(options.keep or made)
        folder.mkdir(exist_ok=True)
        n = write_ratings(folder / "humans.csv", options.prompts, quality, rng)
        m = write_judgments(folder / "judges.csv", options.prompts, quality, rng)
        print(f"{n:,} ratings ({(folder / 'humans.csv').stat().st_size / 1e6:.0f} MB), {m:,} rows "
              "of stored judgments")  # fmt: skip
        for arguments in (
            ("agreement", "humans.csv", "--json", "agreement.json"),
            ("calibrate", "judges.csv", "humans.csv", "--json", "calibration.json"),
        ):
            seconds, busy, memory, code = timed(folder, *arguments)
            lines = len((folder / "output.txt").read_text().splitlines())
            print(
                f"areopagus {arguments[0]:10} {seconds:6.1f} s  processor {busy:6.1f} s  "
                f"{memory:5.2f} GB  exit {code}, {lines} lines"
            )


if __name__ == "__main__":
    main()
