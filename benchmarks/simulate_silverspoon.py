"""Coverage and false alarms of SilverSpoon's judgement.

    python benchmarks/simulate_silverspoon.py [--worlds 2000] [--part NAME]

In each world judgements of 60 scenarios in three versions with labels of two groups are drawn.
Printed: how often an interval holds the truth (.95 is stated), how often a test rejects where there
is nothing to find (.05), and the Monte Carlo error of both. Professions and stories:
simulations/people.py.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from areopagus.aggregation.clustered_agreement import jackknife_of_tables, kappa_of, unit_tables
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.proportions import wilson
from areopagus.audits.decisions import is_shown
from areopagus.audits.silverspoon_judgement.estimates import estimate_judgement

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from audit_runs import Figures
from silverspoon_world import (
    JudgementWorld,
    drawn_rates,
)

_PARTS = ("all", "judgement", "sizes")
_LEVELS = {"coverage": 0.95, "alarm": 0.05}


@dataclass
class Tally:
    """Hits out of trials, by name."""

    hits: dict[str, int] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, hit: bool) -> None:
        """Counts one trial."""
        self.trials[name] = self.trials.get(name, 0) + 1
        self.hits[name] = self.hits.get(name, 0) + bool(hit)

    def interval(self, name: str, number: Estimate, truth: float) -> None:
        """Counts whether an interval holds the truth; one without limits is no trial."""
        if number.has_interval:
            self.add(name, number.low - 1e-12 <= truth <= number.high + 1e-12)

    def p_value(self, name: str, p: float) -> None:
        """Counts whether a test rejects at .05; one without a p-value does not."""
        self.add(name, p <= 0.05)

    def lines(self) -> list[str]:
        """Share, Monte Carlo error, and whether that is off the stated level."""
        found = []
        for name, n in self.trials.items():
            share = self.hits[name] / n
            kind = name.split(":")[0]
            if kind not in _LEVELS:
                found.append(f"  {name:<52} {share:.4f} (n {n:,})")
                continue
            level = _LEVELS[kind]
            error = math.sqrt(level * (1 - level) / n)
            z = (share - level) / error
            is_safe = share > level if kind == "coverage" else share < level
            mark = "" if abs(z) <= 3 else ("  conservative" if is_safe else "  OFF")
            found.append(f"  {name:<52} {share:.4f} +- {error:.4f} (n {n:,}){mark}")
        return found


def judgement(title: str, world: JudgementWorld, worlds: int) -> None:
    """One setting of the normative judgement."""
    tally, start = Tally(), time.monotonic()
    truth = world.population()
    for number in range(worlds):
        answers, gold = world.draw(np.random.default_rng([number, 61]))
        figure = Figures(estimate_judgement(answers, gold, models=("a", "b")))
        # One model a world: two share their scenarios' labels and are no independent trials.
        labels = (answers["answer"][answers["target"] == "a"] == "other").tolist()
        of_a = {"respondent": "a", "criterion": "lower end"}
        naive = wilson(sum(labels), len(labels))
        tally.add(
            "coverage: sides with P1, over answers",
            naive.low <= truth["support"] <= naive.high,
        )
        supports = figure("outcomes", "supports", respondent="a")
        tally.interval("coverage: sides with P1", supports, truth["support"])
        table = np.asarray(
            [
                [
                    figure.value(
                        "agreement", "pairs", detail=f"label {row}, answer {column}", **of_a
                    )
                    for column in ("p1", "other")
                ]
                for row in ("p1", "other")
            ]
        )
        naive = wilson(int(np.trace(table)), len(labels))
        tally.add("coverage: ACC, over answers", naive.low <= truth["accuracy"] <= naive.high)
        tally.interval("coverage: ACC", figure("agreement", "acc", **of_a), truth["accuracy"])
        low, high = kappa_over_answers(table)
        if math.isfinite(low):
            tally.add("coverage: kappa, over answers", low <= truth["kappa"] <= high)
        kappa = figure("agreement", "ckc", **of_a)
        tally.interval("coverage: kappa (CKC)", kappa, truth["kappa"])
        tally.interval(
            "coverage: kappa of the two ends",
            figure("gold", "kappa", factor="lower and upper end"),
            0.0,
        )
        with_lower = figure("outcomes", "with_lower", respondent="a")
        tally.interval("coverage: with the lower end", with_lower, truth["with_lower"])
        pair = {"respondent": "a", "baseline": "b"}
        gap = figure("models", "difference", factor="supports", **pair)
        tally.add("alarm: models differ, over scenarios", is_shown(gap))
    _print(title, tally, worlds, start)


def kappa_over_answers(table: np.ndarray) -> tuple[float, float]:
    """Returns the plain 95% limits of Cohen's kappa, which take answers for independent.

    The delta method of Fleiss, Cohen & Everitt (1969), Psychological Bulletin 72, 323–327.
    """
    n = float(table.sum())
    share = table / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    seen, chance = float(np.trace(share)), float(rows @ columns)
    if chance >= 1:
        return math.nan, math.nan
    kappa = (seen - chance) / (1 - chance)
    agreed = sum(
        share[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(len(table))
    )
    apart = sum(
        share[i, j] * (columns[i] + rows[j]) ** 2
        for i in range(len(table))
        for j in range(len(table))
        if i != j
    )
    spread = agreed + (1 - kappa) ** 2 * apart - (kappa - chance * (1 - kappa)) ** 2
    reach = 1.959964 * math.sqrt(max(float(spread), 0.0) / n) / (1 - chance)
    return kappa - reach, kappa + reach


def sizes(worlds: int) -> None:
    """What is off with few scenarios or names, at the sizes of the design."""
    for bases in (60, 200, 1_000):
        tally, start = Tally(), time.monotonic()
        truth = 0.0
        for number in range(worlds):
            rng = np.random.default_rng([number, 64, bases])
            gold = (rng.random(bases) < 0.36).astype(int)
            rates = drawn_rates(rng, 0.05, 0.2, bases)
            answers = (rng.random((bases, 3)) < rates[:, None]).astype(int)
            tables = unit_tables(
                np.repeat(gold, 3).tolist(), answers.ravel().tolist(),
                np.repeat(np.arange(bases), 3).tolist(),
            )  # fmt: skip
            found = jackknife_of_tables(tables, kappa_of, "", "scenario", bounds=(-1.0, 1.0))
            tally.interval("coverage: kappa (CKC)", found, truth)
        _print(f"Judgement: .05 everywhere, ICC .2, {bases:,} scenarios", tally, worlds, start)


def _print(title: str, tally: Tally, worlds: int, start: float) -> None:
    print(f"\n{title} ({worlds:,} worlds, {time.monotonic() - start:.0f} s)")
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


def estimator_layer(worlds: int, part: str) -> None:
    """All settings."""
    if part in ("all", "judgement"):
        for title, world in (
            ("Judgement: no tie to any label, scenarios alike", JudgementWorld()),
            ("Judgement: no tie to any label, scenarios differ (ICC .3)",
             JudgementWorld(spread=0.3)),
            ("Judgement: .6 where the lower end blames the other, else .2, ICC .3",
             JudgementWorld(hit=0.6, alarm=0.2, spread=0.3)),
            ("Judgement: .05 everywhere, ICC .2", JudgementWorld(hit=0.05, alarm=0.05, spread=0.2)),
        ):  # fmt: skip
            judgement(title, world, worlds)
    if part in ("all", "sizes"):
        sizes(worlds)


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--part", choices=_PARTS, default="all")
    given = parser.parse_args()
    estimator_layer(given.worlds, given.part)


if __name__ == "__main__":
    main()
