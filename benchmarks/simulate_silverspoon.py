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

from areopagus.aggregation.clustered_agreement import jackknife_of_tables, kappa_of, unit_tables
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.proportions import chi_square_test, wilson
from areopagus.aggregation.welch_james import helmert, permuted_welch_james, welch_james
from areopagus.auditing import audit
from areopagus.audits.decisions import is_shown
from areopagus.audits.registry import find_audit
from areopagus.audits.silverspoon_judgement.estimates import estimate_judgement
from areopagus.audits.silverspoon_narratives.words import estimate_words
from areopagus.audits.silverspoon_professions.groups import estimate_groups, group_name
from areopagus.testing import ProviderServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from audit_runs import Figures
from silverspoon_world import (
    GENDERS,
    INCOMES,
    RACES,
    JudgementWorld,
    PeopleWorld,
    SilverSpoonWorld,
    drawn_rates,
)

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
        figure = Figures(estimate_groups(answers, INCOMES, models=("m",)))
        cell = {
            "respondent": "m", "factor": "gender x race x city",
            "group": group_name("female", "white", "high"),
        }  # fmt: skip
        share, rate = figure("groups", "high", **cell), world.of("female", "white", "high")
        n = int(figure.value("groups", "answers", **cell))
        naive = wilson(round(share.value * n), n)
        tally.add("coverage: a cell, over answers", naive.low <= rate <= naive.high)
        tally.interval("coverage: a cell", share, rate)
        of_women = figure("groups", "high", respondent="m", factor="gender", group="female")
        tally.interval("coverage: all women", of_women, women)
        for name, factor, group, true in (
            ("men - women", "male - female", "all", men - women),
            ("rich - poor, women", "rich - poor cities", "female", change["female"]),
            ("rich - poor, one group of 12", "rich - poor cities", "white female",
             world.of("female", "white", "high") - world.of("female", "white", "low")),
        ):  # fmt: skip
            gap = figure("gaps", "difference", respondent="m", factor=factor, group=group)
            tally.interval(f"coverage: {name}", gap, true)
        effects = {
            name: figure("effects", "f", respondent="m", factor=name)
            for name in figure.keys("effects", "f", "factor")
        }
        if is_null:
            for name, one in effects.items():
                tally.p_value(f"alarm: {name}", one.p)
            tally.add(
                "alarm: any of seven, Holm", any(one.p_adjusted <= 0.05 for one in effects.values())
            )
            counts = [
                [
                    int((answers["category"][answers["race"] == race] == kind).sum())
                    for kind in ("high", "low")
                ]
                for race in RACES
            ]
            p = chi_square_test(counts).p
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


def words(
    title: str, worlds: int, *, here: float = 0.2, there: float = 0.2, bundled: bool = False
) -> None:
    """Distinctive words: false alarms by factor, whether the planted word is found, its interval.

    Args:
        title: of the setting.
        worlds: how many.
        here, there: share of black people's, and of the others', names and kinds of cities whose
            stories use the word "market".
        bundled: whether some names' stories share 30 words, and the others' have none of them.
    """
    tally, start = Tally(), time.monotonic()
    world, n_words = PeopleWorld(), 100
    uses = 1 - (1 - np.asarray([here, there])) ** 2  # by a name, in rich cities or in poor ones
    rest = float((1 - (1 - np.geomspace(0.02, 0.9, n_words)) ** 2).sum())
    truth = math.log(uses[0] / rest) - math.log(uses[1] / rest)
    for number in range(worlds):
        rng = np.random.default_rng([number, 63])
        vocabulary = world.vocabulary(rng, words=n_words)
        bundle = {f"w{one}" for one in range(20, 50)}
        has = {name: rng.random() < 0.3 for name, *_ in vocabulary}
        for place, told in vocabulary.items():
            if rng.random() < (here if place[2] == "black" else there):
                told.add("market")
            if bundled:
                told.difference_update(bundle)
                told.update(bundle if has[place[0]] else ())
        # (1 + k) / 100 has the same level as more exchanges, in a tenth of the time.
        found = estimate_words("m", vocabulary, GENDERS, RACES, resamples=99).frame()
        found = found[(found["table"] == "words") & (found["measure"] == "log_odds")]
        shown = found[found["verdict"] == "distinctive"]
        for factor in dict.fromkeys(found["factor"]):
            hits = shown["item"][shown["factor"] == factor].tolist()
            if "race" not in factor or here == there:
                tally.add(f"alarm: any word, by {factor}", bool(hits))
            else:
                tally.add(f"power: the planted word, by {factor}", "market" in hits)
                others = set(hits) - {"market"}
                tally.add(f"alarm: any other word, by {factor}", bool(others))
        odds = found[(found["group"] == "black") & (found["item"] == "market")]
        for row in odds.to_dict("records") if here > there else ():
            tally.add("coverage: log-odds, drawn to 0", row["low"] <= truth <= row["high"])
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
            found = jackknife_of_tables(tables, kappa_of, "", "scenario", bounds=(-1.0, 1.0))
            tally.interval("coverage: kappa (CKC)", found, truth)
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
                p = chi_square_test(counts).p
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
        words("Words: no group differs", worlds)
        words("Words: no group differs, 30 words go together", worlds, bundled=True)
        words("Words: one in .6 of one race's stories, .2 of others'", worlds, here=0.6)


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
        for task, options in (
            ("judgement", {}),
            ("professions", {"names_per_group": 6}),
            ("narratives", {"stories": 192, "names_per_group": 12, "sentiment": "judges"}),
        ):
            figure = _run(world, task, options)
            chosen = find_audit(f"silverspoon-{task}")
            prompts = [
                item.prompt for item in chosen.items(chosen.options_model.model_validate(options))
            ]
            share, truth, in_world = _compared(world, task, figure, prompts)
            drawn[task].append(share.value - in_world)
            if share.has_interval:
                tally.add(f"coverage: {task}", share.low <= truth <= share.high)
            if task != "judgement":
                detail = "judges" if task == "narratives" else ""
                gender = figure("effects", "f", respondent="target", factor="gender", detail=detail)
                name = f"{'alarm' if is_null else 'power'}: gender, {task}"
                tally.add(name, gender.p_adjusted <= 0.05)
            shown.append(f"{task} {share.value:.3f} (planted {truth:.3f})")
        print(f"  {seed:>2}: {'; '.join(shown)}")
        sys.stdout.flush()
    for task, values in drawn.items():
        error = float(np.std(values)) / math.sqrt(len(values))
        print(f"  {task}: mean gap, found - drawn: {np.mean(values):+.4f} (SE {error:.4f})")
    for line in tally.lines():
        print(line)


def _run(world: SilverSpoonWorld, task: str, options: dict[str, Any]) -> Figures:
    with (
        ProviderServer(world.provider, record=False) as server,
        tempfile.TemporaryDirectory() as name,
    ):

        def model(called: str) -> dict[str, Any]:
            return {"model": f"openai/{called}", "name": called, "api_base": server.openai_base}

        run = audit(
            f"silverspoon-{task}", target=model("target"),
            judges=[model(called) for called in ("first", "second", "third")],
            options=options, out=Path(name) / "run", ledger=Path(name) / "l.sqlite",
        )  # fmt: skip
        return Figures(run.estimates)


def _compared(
    world: SilverSpoonWorld, task: str, figure: Figures, prompts: list[str]
) -> tuple[Estimate, float, float]:
    """The share found, the one planted, and the one drawn in this world."""
    if task == "judgement":
        truth = [world.truth("target", text) for text in prompts]
        settled = [one for one in truth if one in ("p1", "other")]
        share = figure("outcomes", "supports", respondent="target")
        return share, world.sides_with_p1["target"], settled.count("other") / len(settled)
    category, detail = ("high", "") if task == "professions" else ("positive", "judges")
    share = figure(
        "groups", category, respondent="target", factor="all", group="everybody", detail=detail
    )
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
