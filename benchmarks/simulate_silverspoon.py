"""Coverage and false alarms of SilverSpoon's estimators, and the audit end to end.

    python benchmarks/simulate_silverspoon.py [--worlds 2000] [--end-to-end 20] [--part NAME]

In each world answers with known rates are drawn: judgements of 60 scenarios in three versions with
labels of two groups, guesses at the professions of 8 groups of 12 names in 4 rich and 4 poor
cities, words of stories. Printed: how often an interval holds the truth (.95 is stated), how often
a test rejects where there is nothing to find (.05), and the Monte Carlo error of both. Then whole
audits over HTTP, with a simulated respondent and simulated judges.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.proportions import chi_square_test, wilson
from areopagus.aggregation.welch_james import helmert, permuted_welch_james, welch_james
from areopagus.auditing import audit
from areopagus.audits.silverspoon import AUDIT, SilverSpoonOptions
from areopagus.audits.silverspoon.groups_estimate import group_figures
from areopagus.audits.silverspoon.judgement_estimate import estimate_judgement
from areopagus.audits.silverspoon.label_tables import jackknife, kappa_of, unit_tables
from areopagus.audits.silverspoon.simulated import SilverSpoonWorld
from areopagus.audits.silverspoon.simulated_arrays import (
    GENDERS,
    RACES,
    JudgementWorld,
    PeopleWorld,
    drawn_rates,
)
from areopagus.audits.silverspoon.words import group_words
from areopagus.testing import ProviderServer

_PARTS = ("all", "judgement", "people", "words", "sizes")
_LEVELS = {"coverage": 0.95, "alarm": 0.05}
_UNEQUAL = (0.0, 0.05, 0.2, 0.5, 0.5, 0.2, 0.05, 0.0)


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

    def p_value(self, name: str, number: Estimate) -> None:
        """Counts whether a test rejects at .05; one without a p-value does not."""
        self.add(name, number.is_defined and number.value <= 0.05)

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
        models, gold = world.draw(np.random.default_rng([number, 61]))
        figures = estimate_judgement(models, gold)
        # One model a world: two share their scenarios' labels and are no independent trials.
        first = figures.models[0]
        one = first.against["lower_end"]
        labels = [label for label in models[0].labels if label is not None]
        naive = wilson(sum(labels), len(labels))
        tally.add(
            "coverage: sides with P1, over answers",
            naive.low <= truth["support"] <= naive.high,
        )
        tally.interval("coverage: sides with P1", first.supports, truth["support"])
        right = int(sum(one.table[k][k] for k in (0, 1)))
        naive = wilson(right, len(labels))
        tally.add("coverage: ACC, over answers", naive.low <= truth["accuracy"] <= naive.high)
        tally.interval("coverage: ACC", one.acc, truth["accuracy"])
        low, high = kappa_over_answers(np.asarray(one.table, dtype=float))
        if math.isfinite(low):
            tally.add("coverage: kappa, over answers", low <= truth["kappa"] <= high)
        tally.interval("coverage: kappa (CKC)", one.ckc, truth["kappa"])
        tally.interval("coverage: kappa of the two ends", figures.gold.across, 0.0)  # type: ignore[union-attr]
        tally.interval("coverage: with the lower end", first.with_lower, truth["with_lower"])
        pair = figures.pairs[0]
        tally.p_value("alarm: models differ, McNemar over answers", pair.p_mid)
        tally.p_value("alarm: models differ, scenarios flipped", pair.p)
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


def people(title: str, world: PeopleWorld, worlds: int) -> None:
    """One setting of profession prediction; effects that are planted are power, no alarm."""
    tally, start = Tally(), time.monotonic()
    men = float(np.mean([world.of("male", r, c) for r in RACES for c in ("high", "low")]))
    women = float(np.mean([world.of("female", r, c) for r in RACES for c in ("high", "low")]))
    change = {
        g: float(np.mean([world.of(g, r, "high") - world.of(g, r, "low") for r in RACES]))
        for g in GENDERS
    }
    is_null = not world.cells
    for number in range(worlds):
        answers = world.draw(np.random.default_rng([number, 62]))
        found = group_figures(answers, ("high",), outcome="share", genders=GENDERS, races=RACES)
        by_place = {(one.gender, one.race, one.city): one for one in found.cells}
        cell = by_place["female", "white", "high"]
        share, rate = cell.shares["high"], world.of("female", "white", "high")
        naive = wilson(round(share.value * cell.n_answers), cell.n_answers)
        tally.add("coverage: a cell, over answers", naive.low <= rate <= naive.high)
        tally.interval("coverage: a cell", share, rate)
        tally.interval("coverage: all women", by_place["female", "", ""].shares["high"], women)
        gaps = {(one.name, one.within): one.gap for one in found.gaps}
        tally.interval("coverage: men - women", gaps["male - female", ""], men - women)
        tally.interval(
            "coverage: rich - poor, women", gaps["rich - poor cities", "female"], change["female"]
        )
        tally.interval(
            "coverage: rich - poor, one group of 12",
            gaps["rich - poor cities", "white female"],
            world.of("female", "white", "high") - world.of("female", "white", "low"),
        )
        effects = {one.name: one for one in found.effects}
        if is_null:
            for name, one in effects.items():
                tally.p_value(f"alarm: {name}", one.p)
            tally.add(
                "alarm: any of seven, Holm",
                any(e.p_holm.is_defined and e.p_holm.value <= 0.05 for e in found.effects),
            )
            counts = [
                [
                    int((answers.category[answers.race == race] == kind).sum())
                    for kind in ("high", "low")
                ]
                for race in RACES
            ]
            p = chi_square_test(counts, resamples=0).p
            tally.add("alarm: race, chi-square over answers", p <= 0.05)
        else:
            for name, one in effects.items():
                kind = "power" if name in _planted(world) else "alarm"
                tally.p_value(f"{kind}: {name}", one.p)
    _print(title, tally, worlds, start)


def _planted(world: PeopleWorld) -> set[str]:
    """Effects that are not 0 in this world."""
    rates = np.asarray(
        [[[world.of(g, r, c) for c in ("high", "low")] for r in RACES] for g in GENDERS]
    )
    level, change = rates.mean(axis=2), rates[..., 0] - rates[..., 1]
    found = set()
    for table, name in ((level, ""), (change, "city x ")):
        rows, columns = table.mean(axis=1), table.mean(axis=0)
        rest = table - rows[:, None] - columns[None, :] + table.mean()
        for part, effect in ((rows, "gender"), (columns, "race"), (rest, "gender x race")):
            spread = np.ptp(part) if effect != "gender x race" else np.abs(part).max()
            if spread > 1e-12:
                found.add(f"{name}{effect}")
    if abs(change.mean()) > 1e-12:
        found.add("city")
    return found


def words(title: str, marked: float, worlds: int) -> None:
    """Distinctive words of each race: false alarms, and whether the planted word is found."""
    tally, start = Tally(), time.monotonic()
    world = PeopleWorld()
    for number in range(worlds):
        rng = np.random.default_rng([number, 63])
        vocabulary = world.vocabulary(rng, words=100, marked=marked)
        groups = group_words(vocabulary, (), RACES[1:2])
        black = next(one for one in groups if (one.gender, one.race, one.city) == ("", "black", ""))
        hits = [one.word for one in black.distinct if one.p_holm <= 0.05]
        if marked:
            tally.add("power: the planted word, Holm", "market" in hits)
        tally.add("alarm: any other word, Holm", any(word != "market" for word in hits))
    _print(title, tally, worlds, start)


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
            value = float(kappa_of(tables.sum(axis=0)))
            tally.interval("coverage: kappa (CKC)", jackknife(value, tables, kappa_of, ""), truth)
        _print(f"Judgement: .05 everywhere, ICC .2, {bases:,} scenarios", tally, worlds, start)
    by_race = np.kron(np.full((1, 2), 0.5), helmert(4))
    for title, spread in (("ICC .1", (0.1,) * 8), ("ICC 0 to .5 by group", _UNEQUAL)):
        for names in (12, 25, 50):
            tally, start = Tally(), time.monotonic()
            for number in range(worlds):
                rng = np.random.default_rng([number, 65, names])
                shares = [
                    rng.binomial(20, drawn_rates(rng, 0.1, icc, names)) / 20 for icc in spread
                ]
                high = [round(20 * float((shares[at] + shares[at + 4]).sum())) for at in range(4)]
                counts = [[one, 40 * names - one] for one in high]
                p = chi_square_test(counts, resamples=0).p
                tally.add("alarm: race, chi-square over answers", p <= 0.05)
                tally.add("alarm: race, by F", welch_james(shares, by_race).p <= 0.05)
                # (1 + k) / 200 has the same level as more permutations, in a tenth of the time.
                test = permuted_welch_james(shares, by_race, strata=2, resamples=199, seed=number)
                tally.add("alarm: race, names permuted", test.p <= 0.05)
            _print(f"People: rate .1, {title}, {names} names a group", tally, worlds, start)


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
    if part in ("all", "people"):
        gap = {("male", race, "high"): 0.7 for race in RACES}
        for title, people_world in (
            ("People: no difference, names alike", PeopleWorld()),
            ("People: no difference, names differ (ICC .2)", PeopleWorld(spread=0.2)),
            ("People: no difference, rate .1, names differ (ICC .1)",
             PeopleWorld(rate=0.1, spread=0.1)),
            ("People: men in rich cities .7, all others .5, ICC .1",
             PeopleWorld(cells=gap, spread=0.1)),
        ):  # fmt: skip
            people(title, people_world, worlds)
    if part in ("all", "sizes"):
        sizes(worlds)
    if part in ("all", "words"):
        words("Words: no group differs", 0.0, worlds)
        words("Words: one word in a third of one race's stories", 1 / 3, worlds)


def end_to_end(audits: int) -> None:
    """Whole audits over HTTP: what is planted, and what comes out."""
    print(f"\n{audits} audits end to end, each of all three parts")
    tally = Tally()
    drawn: dict[str, list[float]] = {"judgement": [], "professions": [], "narratives": []}
    for seed in range(audits):
        is_null = seed % 4 == 0
        sides = 0.0 if is_null else 0.3
        cells = {} if is_null else {("male", race, "high"): 0.8 for race in RACES}
        world = SilverSpoonWorld(
            {"target": sides}, both=0.05, high_income=0.4, cells=cells,
            judge_error=0.0 if is_null else 0.03, seed=seed,
        )  # fmt: skip
        shown = []
        for task, more in (
            ("judgement", {}),
            ("professions", {"names_per_group": 6}),
            ("narratives", {"stories": 192, "names_per_group": 12, "sentiment": "judges"}),
        ):
            options = {"task": task, **more}
            found = _run(world, options)
            prompts = [
                item.prompt for item in AUDIT.items(SilverSpoonOptions.model_validate(options))
            ]
            share, truth, in_world = _compared(world, task, found, prompts)
            drawn[task].append(share["value"] - in_world)
            if share["low"] is not None:
                tally.add(f"coverage: {task}", share["low"] <= truth <= share["high"])
            if task != "judgement":
                key = "groups" if task == "professions" else "panel"
                effects = {e["name"]: e["p_holm"]["value"] for e in found[key]["effects"]}
                hit = effects["gender"] is not None and effects["gender"] <= 0.05
                tally.add(f"{'alarm' if is_null else 'power'}: gender, {task}", hit)
            shown.append(f"{task} {share['value']:.3f} (planted {truth:.3f})")
        print(f"  {seed:>2}: {'; '.join(shown)}")
        sys.stdout.flush()
    for task, values in drawn.items():
        error = float(np.std(values)) / math.sqrt(len(values))
        print(f"  {task}: mean gap, found - drawn: {np.mean(values):+.4f} (SE {error:.4f})")
    for line in tally.lines():
        print(line)


def _run(world: SilverSpoonWorld, options: dict[str, Any]) -> dict[str, Any]:
    with (
        ProviderServer(world.provider, record=False) as server,
        tempfile.TemporaryDirectory() as name,
    ):

        def model(called: str) -> dict[str, Any]:
            return {"model": f"openai/{called}", "name": called, "api_base": server.openai_base}

        run = audit(
            "silverspoon", target=model("target"),
            judges=[model(called) for called in ("first", "second", "third")],
            options=options, out=Path(name) / "run", ledger=Path(name) / "l.sqlite",
        )  # fmt: skip
        found: dict[str, Any] = run.figures["figures"][options["task"]]["models"][0]
        return found


def _compared(
    world: SilverSpoonWorld, task: str, found: dict[str, Any], prompts: list[str]
) -> tuple[dict[str, Any], float, float]:
    """The share found, the one planted, and the one drawn in this world."""
    if task == "judgement":
        truth = [world.truth("target", text) for text in prompts]
        settled = [one for one in truth if one in ("p1", "other")]
        share: dict[str, Any] = found["supports"]
        return share, world.sides_with_p1["target"], settled.count("other") / len(settled)
    key, category = ("groups", "high") if task == "professions" else ("panel", "positive")
    share = found[key]["cells"][-1]["shares"][category]
    bright = ("surgeon", "pilot", "engineer", "lawyer", "happy")
    answers = [world.answer("target", text).casefold() for text in prompts]
    drawn = float(np.mean([any(word in text for word in bright) for text in answers]))
    planted = world.high_income if not world.cells else 0.75 * world.high_income + 0.25 * 0.8
    return share, planted, drawn


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--end-to-end", type=int, default=20)
    parser.add_argument("--part", choices=_PARTS, default="all")
    given = parser.parse_args()
    if given.worlds:
        estimator_layer(given.worlds, given.part)
    if given.end_to_end:
        end_to_end(given.end_to_end)


if __name__ == "__main__":
    main()
