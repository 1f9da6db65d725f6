"""Coverage and false alarms of the hidden-bias audit, and the audit end to end with planted gaps.

    python benchmarks/simulate_hidden_bias.py [--worlds 2000] [--end-to-end 20] [--pairs 30]

In each world a model with known shares answers 30 concept pairs with the three types of age and one
of religion (270 test instances), ten times a question in both orders. Printed: how often an
interval holds the truth (.95 is stated), how often a test rejects where there is nothing to find
(.05), how often the paper's rule flags an instance without a bias, and the Monte Carlo error of
each. Then whole audits over HTTP.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.proportions import gap_rate
from areopagus.auditing import audit
from areopagus.audits.hidden_bias.dataset import Category, load_descriptors
from areopagus.audits.hidden_bias.estimates import estimate
from areopagus.testing import ProviderServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from audit_runs import Figures
from hidden_bias_world import HiddenBiasWorld, together

PERMUTATIONS = 99
ANSWERS = 10
EXACT = gap_rate(ANSWERS, ANSWERS, 0.5, 0.2)


@dataclass
class Tally:
    """Hits out of trials, by name; the first word of a name says what is stated."""

    hits: dict[str, float] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)
    squares: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Counts one trial: a hit, or a share of several."""
        self.trials[name] = self.trials.get(name, 0) + 1
        self.hits[name] = self.hits.get(name, 0.0) + value
        self.squares[name] = self.squares.get(name, 0.0) + value * value

    def lines(self) -> list[str]:
        """Share, Monte Carlo error, and whether that is off the stated level."""
        stated = {"coverage": 0.95, "alarm": 0.05}
        found = []
        for name, n in self.trials.items():
            share = self.hits[name] / n
            level = stated.get(name.split(":")[0])
            if level is None:
                spread = math.sqrt(max(0.0, self.squares[name] / n - share**2) / n)
                found.append(f"  {name:<52} {share:.4f} +- {spread:.4f} (n {n})")
                continue
            error = math.sqrt(level * (1 - level) / n)
            is_safe = share > level if name.startswith("coverage") else share < level
            off = abs(share - level) > 3 * error
            mark = "" if not off else "  conservative" if is_safe else "  OFF"
            found.append(f"  {name:<52} {share:.4f} +- {error:.4f} (n {n}, stated {level}){mark}")
        return found


def small_design() -> tuple[Category, ...]:
    """The three types of age and the first of religion."""
    age, religion = load_descriptors(None, ("age", "religion"))
    return age, religion.model_copy(update={"types": religion.types[:1]})


def whole(figure: Figures, measure: str) -> Estimate:
    """A figure of all instances."""
    return figure("instances", measure, respondent="target", factor="all", group="All")


def one_setting(title: str, world: HiddenBiasWorld, worlds: int, pairs: int) -> None:
    """Simulates one setting and prints it."""
    categories, tally = small_design(), Tally()
    sizes = [len(one.descriptors) for category in categories for one in category.types]
    truth = math.sqrt(world.mean_squared_gap(sizes))
    is_null = world.gap == 0
    shares: list[tuple[float, float, float]] = []
    start = time.monotonic()
    for number in range(worlds):
        rng = np.random.default_rng([number, 20_261])
        drawn = world.drawn(pairs, categories, answers=ANSWERS, rng=rng, name=f"{number}-")
        figure = Figures(estimate(drawn, resamples=PERMUTATIONS, top=0))
        cell = {
            name: whole(figure, name)
            for name in (
                "gap", "flagged", "flagged_share", "measured", "significant", "significant_holm",
                "significant_bh", "chance_flagged", "false_positive_rate", "mean_score",
            )
        }  # fmt: skip
        gap, measured = cell["gap"], cell["measured"].value
        tally.add("coverage: gap", gap.low - 1e-9 <= truth <= gap.high + 1e-9)
        share = cell["flagged_share"]
        shares.append((share.value, share.low, share.high))
        kind = "alarm" if is_null else "power"
        tally.add(f"{kind}: permutations, all instances", gap.p <= 0.05)
        holm = [
            figure("instances", "gap", respondent="target", factor="type", group=one.id).p_adjusted
            for category in categories
            for one in category.types
        ]
        tally.add(f"{kind}: permutations, any type, Holm", any(p <= 0.05 for p in holm))
        tally.add(f"{kind}: permutations of the count", cell["flagged"].p <= 0.05)
        tally.add(f"{kind}: any instance, Holm", cell["significant_holm"].value > 0)
        tally.add(f"{kind}: any instance, BH", cell["significant_bh"].value > 0)
        alone = cell["significant"].value / measured
        tally.add(f"{kind}: single exact test, uncorrected", alone)
        tally.add("flagged by the paper's rule", cell["flagged"].value / measured)
        by_chance = cell["chance_flagged"].value / measured
        tally.add("flagged by chance, as the permutations have it", by_chance)
        by_binomial = cell["false_positive_rate"].value
        tally.add("flagged by chance, binomial at pooled shares", by_binomial)
        tally.add("points: mean score of flagged instances", cell["mean_score"].value)
        tally.add("points: gap found", gap.value)
    mean = float(np.mean([value for value, _, _ in shares]))
    for _, low, high in shares:
        tally.add("coverage: share flagged", low <= mean <= high)
    print(f"\n{title} (true gap {truth:.2f}; {worlds:,} worlds, {time.monotonic() - start:.0f} s)")
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


def two_targets(world: HiddenBiasWorld, worlds: int, pairs: int) -> None:
    """Two models with the same gaps: how often they are told apart."""
    categories, tally = small_design(), Tally()
    for number in range(worlds):
        drawn = together(*(
            world.drawn(
                pairs, categories, answers=ANSWERS, target=name,
                rng=np.random.default_rng([number, at, 7]),
            )
            for at, name in enumerate("ab")
        ))  # fmt: skip
        figure = Figures(estimate(drawn, resamples=0, top=0))
        found = figure("pairs", "difference", respondent="a", baseline="b")
        tally.add("alarm: two models alike", found.p <= 0.05)
        tally.add("coverage: their difference", found.covers(0.0))
    print(f"\nTwo models, gaps of {100 * world.gap:g} points in both ({worlds:,} worlds)")
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


def by_perplexity(
    title: str, world: HiddenBiasWorld, noise: float, worlds: int, pairs: int
) -> None:
    """The semi-generation form: the same gap, from shares of which no variance is taken off."""
    categories, tally = small_design(), Tally()
    sizes = [len(one.descriptors) for category in categories for one in category.types]
    planted = math.sqrt(world.mean_squared_gap(sizes))

    def gap(n_pairs: int, *seed: int) -> Estimate:
        rng = np.random.default_rng([*seed, 20_262])
        drawn = world.scored(n_pairs, categories, noise=noise, rng=rng)
        return whole(Figures(estimate(drawn, resamples=0, top=0)), "gap")

    truth = gap(10_000, 1, 1).value
    for number in range(worlds):
        found = gap(pairs, number)
        tally.add("coverage: gap, noise of phrases in it", found.covers(truth))
        tally.add("holds the planted gap", found.low - 1e-9 <= planted <= found.high + 1e-9)
        tally.add("points: gap found", found.value)
    print(
        f"\nBy perplexity: {title}, noise {noise:g} (planted {planted:.2f}, with the noise "
        f"{truth:.2f}; {worlds:,} worlds)"
    )
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


SETTINGS = {
    "null": ("No gap, shares .3 to .7", HiddenBiasWorld()),
    "half": ("No gap, every share .5", HiddenBiasWorld(spread=0.0)),
    "lean": ("No gap, 40 points more for the option named first", HiddenBiasWorld(lean=0.4)),
    "refusals": ("No gap, one answer in ten refused", HiddenBiasWorld(refusals=0.1)),
    "everywhere": ("A gap of 20 points everywhere", HiddenBiasWorld(gap=0.2)),
    "rare": ("A gap of 50 points in a tenth", HiddenBiasWorld(gap=0.5, prevalence=0.1)),
}


FURTHER = ("two", "perplexity")


def estimator_layer(worlds: int, only: list[str], pairs: int) -> None:
    """All settings."""
    print(f"P(S >= 20) at ten answers and P = .5, exact: {EXACT:.4f}")
    for name, setting in SETTINGS.items():
        if not only or name in only:
            one_setting(*setting, worlds, pairs)
    if not only or "two" in only:
        two_targets(HiddenBiasWorld(gap=0.2), worlds, pairs)
    if not only or "perplexity" in only:
        for name in ("null", "everywhere", "rare"):
            by_perplexity(*SETTINGS[name], 0.15, worlds, pairs)


def end_to_end(audits: int) -> None:
    """Whole audits over HTTP: what is planted, and what comes out."""
    options = {"category": ["age", "gender", "ses"], "resamples": 199}
    categories = load_descriptors(None, ("age", "gender", "ses"))
    print(f"\n{audits} audits end to end (12 concept pairs, 18 questions each, ten answers)")
    tally, gaps, alarms = Tally(), [], 0
    for seed in range(audits):
        is_null = seed % 4 == 0
        world = HiddenBiasWorld(
            gap=0.0 if is_null else 0.3, lean=0.1, refusals=0.02, garbled=0.02, seed=seed
        )
        with (
            ProviderServer(world.provider, record=False) as server,
            tempfile.TemporaryDirectory() as d,
        ):
            model = {"model": "openai/target", "name": "target", "api_base": server.openai_base}
            run = audit(
                "hidden-bias", target=model, options=options, sample=12, seed=seed,
                out=Path(d) / "run", ledger=Path(d) / "l.sqlite",
            )  # fmt: skip
            pairs = list(dict.fromkeys(row["unit"] for row in run.answers.rows("unit")))
            truth = world.planted_gap(pairs, categories)
            figure = Figures(run.estimates)
        gap, flagged = whole(figure, "gap"), whole(figure, "flagged")
        tally.add("coverage: gap", gap.low - 1e-9 <= truth <= gap.high + 1e-9)
        gaps.append(gap.value**2 - truth**2)
        alarms += is_null and gap.p <= 0.05
        chance = whole(figure, "chance_flagged").value
        print(
            f"  {seed:>2}: planted {truth:5.2f}, found {gap.value:5.2f} [{gap.low:.1f}, "
            f"{gap.high:.1f}], p {gap.p:.3f}, flagged {flagged.value:.0f}/{flagged.n} "
            f"(chance {chance:.1f}), exit {run.exit_code}"
        )
        sys.stdout.flush()
    error = float(np.std(gaps)) / math.sqrt(len(gaps))
    print(f"  mean of found - planted, squared points: {np.mean(gaps):+.1f} (SE {error:.1f})")
    print(f"  false alarms: {alarms} of {-(-audits // 4)} audits without a gap")
    for line in tally.lines():
        print(line)


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--end-to-end", type=int, default=20, metavar="N")
    parser.add_argument("--only", nargs="*", default=[], choices=[*SETTINGS, *FURTHER])
    parser.add_argument("--pairs", type=int, default=30, help="concept pairs of a world")
    given = parser.parse_args()
    if given.worlds:
        estimator_layer(given.worlds, given.only, given.pairs)
    if given.end_to_end:
        end_to_end(given.end_to_end)


if __name__ == "__main__":
    main()
