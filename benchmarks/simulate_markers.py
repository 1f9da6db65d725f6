"""Markers of class, and topics found in stories: coverage, false alarms, power.

    python benchmarks/simulate_markers.py [--worlds 2000] [--part markers|topics]

Markers: SocioEval's questions by names of classes, occupations and neighbourhoods. Templates and
markers are drawn anew in each world, so the truth is the rate over all that could have been drawn.
Printed is how often an interval holds it (.95 is stated) and how often two kinds of one rate are
said to differ (.05), by templates alone and by templates and markers.

Topics: stories of 4 groups of 12 names, two a name, made of four topics; names differ in how much
of each their stories have. Topics are found in the stories of half of the names, six a group.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.multiplicity import holm
from areopagus.audits.decisions import decided, decided_by_intervals, is_shown
from areopagus.audits.estimate import over_units
from areopagus.audits.silverspoon_narratives.topics import (
    Story,
    Topics,
    find_topics,
    halves,
)
from areopagus.audits.silverspoon_professions.groups import Design, gaps_over_all, name_table
from areopagus.audits.socioeval import AUDIT
from areopagus.audits.socioeval.audit import kinds_compared

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from silverspoon_world import GENDERS, TopicsWorld
from simulate_silverspoon import Tally
from socioeval_world import MarkersWorld, prompts_of

KINDS = ("class", "occupation", "neighbourhood")


def markers(title: str, world: MarkersWorld, worlds: int) -> Tally:
    """One setting; differences that are planted are power, no alarm."""
    tally, start = Tally(), time.monotonic()
    prompts = prompts_of("fixed", KINDS)
    outcome = AUDIT.definition.outcomes["bias_rate"]
    pairs = [(a, b) for at, a in enumerate(KINDS) for b in KINDS[:at]]
    for number in range(worlds):
        answers = world.answers(prompts, np.random.default_rng([number, 81]))
        mine = answers[answers["marker"] == "occupation"]
        values = mine["biased"].to_numpy(dtype=float)
        units = mine["template"].tolist()
        rate = world.rates["occupation"]
        crossed = [mine[name].tolist() for name in ("lower_marker", "higher_marker")]
        alone = over_units(outcome, values, units, "template")
        both = over_units(outcome, values, units, "template", crossed)
        tally.interval("coverage: rate, over templates", alone, rate)
        tally.interval("coverage: rate, over templates and markers", both, rate)
        makers = [partial(kinds_compared, answers, "difference", *pair) for pair in pairs]
        gaps = decided_by_intervals(makers, family="all")
        shown = [is_shown(one) for one in gaps]
        for (first, second), gap in zip(pairs, gaps, strict=True):
            true = world.rates[first] - world.rates[second]
            name = f"{first} - {second}"
            tally.interval(f"coverage: {name}", gap, true)
            tally.add(f"{'power' if true else 'alarm'}: {name}", not gap.covers(0.0))
        is_null = len(set(world.rates.values())) == 1
        tally.add(f"{'alarm' if is_null else 'power'}: any of three", any(shown))
    _print(title, tally, worlds, start)
    return tally


def topics(title: str, world: TopicsWorld, worlds: int) -> Tally:
    """Topics found in one half and tested on the other; beside it what is often done instead."""
    tally, start = Tally(), time.monotonic()
    design = Design(GENDERS, world.races, (), "share")
    kind = "power" if world.planted else "alarm"
    for number in range(worlds):
        stories = world.draw(np.random.default_rng([number, 82]))
        first, second = halves(stories, seed=number)
        found = find_topics(
            [one.words for one in first], [one.unit for one in first], numbers=(4,), fits=2
        )
        if found is None:
            continue
        for name, half in (("the other half of the names", second), ("the same half", first)):
            gaps = differences(found, half, design)
            shown = [
                factor
                for (factor, _), gap in zip(
                    gaps, decided([gap for _, gap in gaps], ["all"] * len(gaps)), strict=True
                )
                if is_shown(gap)
            ]
            if world.planted:
                shown = [factor for factor in shown if factor.startswith("black")]
            tally.add(f"{kind}: any difference, Holm, {name}", bool(shown))
            for _, gap in gaps if not world.planted else ():
                tally.p_value(f"alarm: one difference, {name}", gap.p)
        if not world.planted:
            tally.add("alarm: any difference, Holm, over stories", over_stories(found, second))
        if (number + 1) % 500 == 0 and number + 1 < worlds:
            _print(title, tally, number + 1, start)
    _print(title, tally, worlds, start)
    return tally


def differences(found: Topics, stories: list[Story], design: Design) -> list[tuple[str, Estimate]]:
    """All differences of all topics, as `add_shares` tests them if all come back.

    Whether a topic comes back has to do with the half alone that it was found in.
    """
    shares = found.shares_of([one.words for one in stories])
    columns = ("unit", "gender", "race", "city_income")
    rows = pd.DataFrame({name: [getattr(one, name) for one in stories] for name in columns})
    return [
        pair
        for at in range(shares.shape[1])
        for pair in gaps_over_all(name_table(rows.assign(score=shares[:, at]), design), design)
    ]


def over_stories(found: Topics, stories: list[Story]) -> bool:
    """Whether a test that takes stories for independent says that any two groups differ."""
    shares = found.shares_of([one.words for one in stories])
    p = []
    for key in ("gender", "race", "city_income"):
        values = np.asarray([getattr(one, key) for one in stories])
        is_first = values == values[0]
        p += stats.ttest_ind(shares[is_first], shares[~is_first], equal_var=False)[1].tolist()
    return bool((holm(p) <= 0.05).any())


def _print(title: str, tally: Tally, worlds: int, start: float) -> None:
    print(f"\n{title} ({worlds:,} worlds, {time.monotonic() - start:.0f} s)")
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


def all_markers(worlds: int) -> None:
    """All settings of markers."""
    same, apart = dict.fromkeys(KINDS, 0.2), {"class": 0.1, "occupation": 0.3, "neighbourhood": 0.1}
    for title, world in (
        ("Markers: rates .2, all alike", MarkersWorld(same)),
        ("Markers: rates .2, templates and markers differ", MarkersWorld(same, 0.5, 0.2, 0.4)),
        ("Markers: rates .05, templates and markers differ",
         MarkersWorld(dict.fromkeys(KINDS, 0.05), 0.5, 0.2, 0.4)),
        ("Markers: occupations .3, others .1, templates and markers differ",
         MarkersWorld(apart, 0.5, 0.2, 0.4)),
    ):  # fmt: skip
        markers(title, world, worlds)


def main() -> None:
    """Runs everything, or one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--part", choices=("all", "markers", "topics"), default="all")
    given = parser.parse_args()
    if given.part in ("all", "markers"):
        all_markers(given.worlds)
    if given.part in ("all", "topics"):
        races = ("white", "black")
        topics("Topics: groups alike", TopicsWorld(races=races), given.worlds)
        world = TopicsWorld(races=races, planted=0.4, names=30)
        title = "Topics: black people's stories .4 more of one, 30 names a group"
        topics(title, world, max(1, given.worlds // 20))


if __name__ == "__main__":
    main()
