"""Runs whole stress tests through loopback servers, with a target that weakens by known amounts.

Run: python benchmarks/stress_end_to_end.py --studies 20 --seed 1
Prints, over the studies, the planted deltas beside the mean of the measured ones, coverage, how
often a planted change was called changed and an unplanted one too, and what an unchanged target
was called. The estimator layer by itself, over hundreds of studies: simulate.py stress.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from areopagus import Panel
from areopagus.stress_test import stress
from areopagus.testing import ProviderServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "stress_test"))
from stress_world import FRAMINGS, StressWorld

PLANTED = {
    "empirical_i": {"conceptual_clarity": 0.8},
    "emotion_agree": {"pluralistic_engagement": 1.5, "argumentative_soundness": 1.0},
    "emotion_disagree": {"pluralistic_engagement": -0.8},
}
PROMPTS = 30
PERSONAS = ["sociologist", "historian", "libertarian_ethicist"]


def study(world: StressWorld, folder: Path) -> list[dict[str, Any]]:
    """The cells of one whole study."""
    with ProviderServer(world.provider(), record=False) as server:

        def model(name: str) -> dict[str, Any]:
            return {"model": f"openai/{name}", "api_base": server.openai_base, "concurrency": 64}

        with Panel([model("judge")], personas=PERSONAS, ledger=folder / "ledger.sqlite") as panel:
            run = stress(
                world.prompts(),
                panel=panel,
                target=[model("target")],
                rewriters=[model("rewriter"), model("reviewer")],
                seed=world.seed,
                out=folder / "run",
            )
        if server.errors:
            raise server.errors[0]
    if run.exit_code:
        raise RuntimeError(f"{run}: exit code {run.exit_code}")
    cells = run.cells[run.cells["criterion"] != "composite"]
    return list(cells.to_dict("records"))


def main() -> None:
    """Reads the options and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    for name, planted in (("weakens by known amounts", PLANTED), ("does not change", {})):
        means: dict[tuple[str, str], list[float]] = defaultdict(list)
        covered, verdicts = Counter[bool](), defaultdict[bool, Counter[str]](Counter)
        families = 0
        for number in range(options.studies):
            world = StressWorld(
                planted, n_prompts=PROMPTS, delta_sd=0.6, judge_sd=0.8,
                seed=options.seed * 10_000 + number + (0 if planted else 5_000),
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as folder:
                cells = study(world, Path(folder))
            is_wrong = False
            for cell in cells:
                true = world.delta(cell["framing"], cell["criterion"])
                means[cell["framing"], cell["criterion"]].append(cell["value"])
                covered[cell["low"] <= true <= cell["high"]] += 1
                verdicts[true != 0][cell["verdict"]] += 1
                is_wrong |= true == 0 and cell["verdict"] in ("higher", "lower")
            families += is_wrong
        report(name, planted, means, covered, verdicts, families, options.studies)
    print(f"\n{time.monotonic() - began:.0f} s")


def report(
    name: str,
    planted: dict[str, dict[str, float]],
    means: dict[tuple[str, str], list[float]],
    covered: Counter[bool],
    verdicts: dict[bool, Counter[str]],
    families: int,
    studies: int,
) -> None:
    """Prints one target's outcome."""
    print(f"\nA target that {name}: {studies} studies, {PROMPTS} prompts, 3 judges, 20 cells")
    errors = []
    for condition in FRAMINGS:
        for dimension, true in planted.get(condition, {}).items():
            found = np.asarray(means[condition, dimension])
            error = found.std(ddof=1) / np.sqrt(len(found))
            print(
                f"  {condition}, {dimension}: planted {true:+.2f}, measured {found.mean():+.3f} "
                f"± {error:.3f}"
            )
    for (condition, dimension), values in means.items():
        true = planted.get(condition, {}).get(dimension, 0.0)
        errors.append(np.asarray(values) - true)
    bias = np.mean(errors, axis=0)
    print(
        f"  bias, mean over cells: {bias.mean():+.4f} ± {bias.std(ddof=1) / len(bias) ** 0.5:.4f}"
    )
    total = sum(covered.values())
    share = covered[True] / total
    print(f"  95% intervals that hold the planted delta: {share:.3f} of {total}")
    for is_planted in (True, False):
        counts = verdicts[is_planted]
        number = sum(counts.values())
        if number:
            said = ", ".join(f"{kind} {n / number:.3f}" for kind, n in sorted(counts.items()))
            print(f"  cells {'with' if is_planted else 'without'} a planted change: {said}")
    print(f"  studies with some unplanted cell called changed: {families} of {studies}")


if __name__ == "__main__":
    main()
