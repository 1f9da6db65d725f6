"""Coverage and false alarms of SocioEval's estimators, and the audit end to end with planted bias.

    python benchmarks/simulate_socioeval.py [--worlds 2000] [--audits 20]

In each world models with a known bias rate answer the 240 prompts of the paper's design (40
templates x 6 pairs of classes). Printed: how often an interval holds the truth (.95 is stated), how
often a test rejects where there is nothing to find (.05), and the Monte Carlo error of both. Then
whole audits over HTTP, with a simulated respondent and three simulated judges.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from areopagus.aggregation.estimate import Estimate
from areopagus.auditing import audit
from areopagus.audits.estimate import estimate
from areopagus.audits.socioeval import AUDIT, SocioEvalOptions
from areopagus.audits.socioeval.audit import BIASED
from areopagus.records.estimates import estimate_of, estimates_of, select
from areopagus.testing import ProviderServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from socioeval_world import SocioEvalWorld, prompts_of

RESAMPLES = 499


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

    def p_value(self, name: str, *values: float) -> None:
        """Counts whether one of these tests rejects at .05; one without a p-value does not."""
        self.add(name, any(p <= 0.05 for p in values))

    def lines(self, stated: dict[str, float]) -> list[str]:
        """Share, Monte Carlo error, and whether that is off the stated level."""
        found = []
        for name, n in self.trials.items():
            share = self.hits[name] / n
            level = stated[name.split(":")[0]]
            error = math.sqrt(level * (1 - level) / n)
            z = (share - level) / error
            is_safe = share > level if name.startswith("coverage") else share < level
            mark = "" if abs(z) <= 3 else ("  conservative" if is_safe else "  OFF")
            found.append(
                f"  {name:<46} {share:.4f} +- {error:.4f} (n {n:>5}, stated {level}){mark}"
            )
        return found


def one_setting(
    title: str, world: SocioEvalWorld, prompts: pd.DataFrame, worlds: int, *, is_null: bool
) -> None:
    """Simulates one setting and prints it."""
    tally = Tally()
    start = time.monotonic()
    kept = {name: AUDIT.definition.outcomes[name] for name in ("bias_rate", "favours_higher")}
    definition = AUDIT.definition.model_copy(
        update={"resamples": RESAMPLES, "by": (), "shares": {}, "changes": {}, "outcomes": kept}
    )
    for number in range(worlds):
        rng = np.random.default_rng([number, 20_251])
        answers = world.answers(prompts, rng)
        found = estimate(definition, answers, list(world.bias_rates)).frame()
        outcomes = select(found, "outcomes")
        names = zip(outcomes["respondent"], outcomes["measure"], strict=True)
        by_name = dict(zip(names, estimates_of(outcomes), strict=True))
        for name, rate in world.bias_rates.items():
            wilson, clustered = by_name[name, "bias_rate_answers"], by_name[name, "bias_rate"]
            tally.interval("coverage: bias rate, Wilson (paper)", wilson, rate)
            tally.interval("coverage: bias rate, template", clustered, rate)
            if rate:
                favours = by_name[name, "favours_higher"]
                tally.interval(
                    "coverage: share favouring the higher", favours, world.favours_higher
                )
        tests = select(found, "models").set_index("measure")

        def p(measure: str, field: str = "p", tests: pd.DataFrame = tests) -> list[float]:
            return [float(value) for value in tests.loc[[measure], field]]

        if is_null:
            tally.p_value("alarm: chi-square (paper)", *p("chi_square"))
            tally.p_value("alarm: Cochran's Q", *p("cochran_q"))
            tally.p_value("alarm: templates permuted", *p("cochran_q_units"))
            for name, measure in (
                ("alarm: any pair, chi-square Bonferroni (paper)", "independent"),
                ("alarm: any pair, McNemar mid-p Holm", "mcnemar"),
                ("alarm: any pair, templates flipped Holm", "difference"),
            ):
                tally.p_value(name, *p(measure, "p_adjusted"))
        else:
            tally.p_value("power: templates permuted", *p("cochran_q_units"))
    print(f"\n{title} ({worlds:,} worlds, {time.monotonic() - start:.0f} s)")
    stated = {"coverage": 0.95, "alarm": 0.05, "power": 0.5}
    for line in tally.lines(stated):
        print(line if not line.startswith("  power") else line.split(" +-")[0])
    sys.stdout.flush()


def estimator_layer(worlds: int) -> None:
    """All settings."""
    prompts = prompts_of("fixed")
    equal = {"a": 0.2, "b": 0.2, "c": 0.2}
    settings: Sequence[tuple[str, SocioEvalWorld, bool]] = (
        ("No model is ever biased", SocioEvalWorld({"a": 0.0, "b": 0.0, "c": 0.0}), True),
        ("Rates .20, every prompt alike", SocioEvalWorld(equal), True),
        ("Rates .20, templates differ (ICC .2)", SocioEvalWorld(equal, template_spread=0.2), True),
        ("Rates .05, templates differ (ICC .1)",
         SocioEvalWorld({"a": 0.05, "b": 0.05, "c": 0.05}, template_spread=0.1), True),
        ("Rates .05, .15, .34, favouring the higher in .7, ICC .1",
         SocioEvalWorld({"a": 0.05, "b": 0.15, "c": 0.34}, favours_higher=0.7,
                        template_spread=0.1), False),
    )  # fmt: skip
    for title, world, is_null in settings:
        one_setting(title, world, prompts, worlds, is_null=is_null)


def end_to_end(audits: int) -> None:
    """Whole audits over HTTP: what is planted, and what comes out."""
    print(f"\n{audits} audits end to end (both orders, 480 prompts a model, three judges)")
    tally = Tally()
    gaps, drawn_gaps = [], []
    asked = [item.prompt for item in AUDIT.items(SocioEvalOptions())]
    for seed in range(audits):
        rates = {"calm": 0.0} if seed % 4 == 0 else {"calm": 0.05, "partial": 0.3}
        error = 0.0 if seed % 4 == 0 else 0.03
        world = SocioEvalWorld(rates, favours_higher=0.7, judge_error=error, seed=seed)
        with (
            ProviderServer(world.provider, record=False) as server,
            tempfile.TemporaryDirectory() as d,
        ):
            folder = Path(d)

            def model(name: str, base: str = server.openai_base) -> dict[str, object]:
                return {"model": f"openai/{name}", "name": name, "api_base": base}

            run = audit(
                "socioeval", target=[model(name) for name in rates],
                judges=[model(name) for name in ("first", "second", "third")],
                options={"resamples": RESAMPLES}, out=folder / "run", ledger=folder / "l.sqlite",
            )  # fmt: skip
            rates_found = {}
            for name, truth in rates.items():
                mine = select(run.estimates, "outcomes", respondent=name).set_index("measure")
                rate = mine.loc["bias_rate_answers"]
                rates_found[name] = round(float(rate["value"]), 3)
                gaps.append(float(rate["value"]) - truth)
                drawn = np.mean([world.category(name, text) in BIASED for text in asked])
                drawn_gaps.append(float(rate["value"]) - float(drawn))
                hit = rate["low"] <= truth <= rate["high"]
                tally.add("coverage: bias rate, Wilson", bool(hit))
                share = estimate_of(mine.loc["favours_higher"])
                if truth:
                    tally.interval(
                        "coverage: share favouring the higher", share, world.favours_higher
                    )
            judges = select(run.estimates, "judges", factor="category").set_index("measure")
            print(
                f"  {seed:>2}: planted {rates}, found {rates_found}, "
                f"kappa {judges.loc['kappa', 'value']:.3f}, exit {run.exit_code}"
            )
            sys.stdout.flush()
    for against, values in (("planted", gaps), ("drawn in these worlds", drawn_gaps)):
        error = float(np.std(values)) / math.sqrt(len(values))
        print(f"  mean gap, found - {against}: {np.mean(values):+.4f} (SE {error:.4f})")
    for line in tally.lines({"coverage": 0.95}):
        print(line)


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--audits", type=int, default=20)
    given = parser.parse_args()
    if given.worlds:
        estimator_layer(given.worlds)
    if given.audits:
        end_to_end(given.audits)


if __name__ == "__main__":
    main()
