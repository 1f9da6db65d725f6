"""Professions and stories about people: differences over names, words that mark a group."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from simulation import simulation

from areopagus.aggregation.proportions import wilson
from areopagus.audits.silverspoon_narratives.words import estimate_words
from areopagus.audits.silverspoon_professions.groups import estimate_groups, group_name

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "audits"))
from audit_runs import Figures
from silverspoon_world import GENDERS, INCOMES, RACES, PeopleWorld

MEN = {("male", race, city): 0.6 for race in RACES for city in ("high", "low")}
WORLDS = {
    "no difference": PeopleWorld(rate=0.4),
    "no difference, names differ": PeopleWorld(rate=0.4, spread=0.2),
    "no difference, rate .1": PeopleWorld(rate=0.1, spread=0.1),
    "men .6, women .4": PeopleWorld(rate=0.4, spread=0.1, cells=MEN),
}


@simulation(worlds=200, kind=tuple(WORLDS), names=(4, 12))
def people(rng: np.random.Generator, kind: str, names: int) -> Mapping[str, float]:
    """Guesses at the professions of 8 groups of names in 4 rich and 4 poor cities; names differ by
    an intraclass correlation of .1 or .2. How often intervals hold the share of a cell (over
    answers, as if these were independent, and over names) and the difference between men and women;
    how often that is shown, and anything of what is not there."""
    template = WORLDS[kind]
    world = PeopleWorld(template.rate, template.cells, template.spread, names)
    figure = Figures(estimate_groups(world.draw(rng), INCOMES, models=("m",)))
    cell = {"respondent": "m", "factor": "gender x race x city",
            "group": group_name("female", "white", "high")}  # fmt: skip
    share, n = figure("groups", "high", **cell), int(figure.value("groups", "answers", **cell))
    naive = wilson(round(share.value * n), n)
    gaps = {
        name: figure("differences", "difference", respondent="m", factor=name)
        for name in figure.keys("differences", "difference", "factor")
    }
    gap = gaps.pop("male - female") if world.cells else gaps["male - female"]
    of = {
        "cell, over answers": naive.covers(world.rate),
        "gap": gap.covers(0.2 if world.cells else 0.0),
        "any false": any(one.verdict in ("higher", "lower") for one in gaps.values()),
    }
    if share.has_interval:
        of["cell, over names"] = share.covers(world.rate)
    if world.cells:
        of["shown"] = gap.verdict == "higher"
    return {name: float(value) for name, value in of.items()}


@simulation(worlds=60, kind=("alike", "30 words go together", "one race uses one word more"))
def story_words(rng: np.random.Generator, kind: str) -> Mapping[str, float]:
    """Stories of 8 groups of 12 names that use each of 100 words by chance, "market" in .2 of them,
    or in .7 of black people's: how often any other word is shown to mark a group, and that one."""
    vocabulary = PeopleWorld().vocabulary(rng, words=100)
    bundle = {f"w{number}" for number in range(20, 50)}
    has = {unit: rng.random() < 0.3 for unit, *_ in vocabulary}
    is_planted = kind.startswith("one race")
    for (unit, _, race, _), words in vocabulary.items():
        if rng.random() < (0.7 if is_planted and race == "black" else 0.2):
            words.add("market")
        if kind.startswith("30"):
            words.difference_update(bundle)
            words.update(bundle if has[unit] else ())
    found = estimate_words("m", vocabulary, GENDERS, RACES, resamples=99).frame()
    shown = found[(found["measure"] == "log_odds") & (found["verdict"] == "higher")]
    is_market = (shown["item"] == "market") & (shown["factor"] == "race")
    of = {"any false": not shown[~(is_market & is_planted)].empty}
    if is_planted:
        of["found"] = not shown[is_market & (shown["group"] == "black")].empty
    return {name: float(value) for name, value in of.items()}
