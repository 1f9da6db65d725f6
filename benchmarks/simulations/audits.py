"""Audits (audits/): how often anything is shown where nothing is, and how often what is there."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from simulation import simulation

from areopagus.aggregation.estimate import Estimate
from areopagus.audits.decisions import is_shown
from areopagus.audits.estimate import estimate
from areopagus.audits.hidden_bias.audit import HiddenBiasOptions, dataset_of
from areopagus.audits.hidden_bias.estimates import estimate as hidden_bias_estimate
from areopagus.audits.samaritan import AUDIT as SAMARITAN
from areopagus.audits.samaritan import SamaritanOptions
from areopagus.audits.samaritan.dataset import load_dataset
from areopagus.audits.silverspoon_professions import groups
from areopagus.audits.socioeval import AUDIT as SOCIOEVAL
from areopagus.records.estimates import estimates_by, select

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "audits"))
from hidden_bias_world import HiddenBiasWorld, together
from samaritan_world import SamaritanWorld
from silverspoon_world import INCOMES, RACES, PeopleWorld
from socioeval_world import SocioEvalWorld, prompts_of

Figures = dict[tuple[str | None, ...], Estimate]


def figures(found: pd.DataFrame, table: str, measure: str, *keys: str) -> Figures:
    """One measure by these keys; the row that has none of them is left out."""
    rows = select(found, table)
    given = estimates_by(rows[rows["measure"] == measure], keys)
    return {tuple(at.values()): one[measure] for at, one in given if any(at.values())}


def shown(found: Figures, planted: tuple[str, ...], null: float = 0.0) -> dict[str, float]:
    """Whether any is shown without cause, would be by its own interval, and what is planted is."""
    others = [one for at, one in found.items() if at != planted]
    return {
        "any shown": float(any(map(is_shown, others))),
        "any by its own": float(any(one.has_interval and not one.covers(null) for one in others)),
        "planted shown": float(is_shown(found[planted])) if planted in found else math.nan,
    }


@simulation(worlds=300, scenarios=(10, 40), tail=("even", "long"), bias=(0.0, 4.0))
def samaritan(
    rng: np.random.Generator, scenarios: int, tail: str, bias: float
) -> Mapping[str, float]:
    """Twelve groups of which one may have a bias, in points of 1-100; biases differ by scenario (SD
    2, or 6 with a long tail): whether any other group is shown to differ, would be by its own
    interval, whether that one is shown, the share of the others called alike within 2 points, and
    coverage of the interval of one."""
    world = SamaritanWorld(
        {"m": {"race.asian": bias}}, interaction_sd=6.0 if tail == "long" else 2.0,
        skewed=tail == "long",
    )  # fmt: skip
    whole = SAMARITAN.defined(SamaritanOptions())
    bare = whole.contrasts["bias"].model_copy(update={"by": ()})
    definition = whole.model_copy(update={"contrasts": {"bias": bare}})
    answers = world.answers(load_dataset(), scenarios, rng)
    found = figures(estimate(definition, answers, ["m"]).frame(), "bias", "difference", "group")
    planted = ("asian",) if bias else ()
    others = [one for at, one in found.items() if at != planted]
    return shown(found, planted) | {
        "alike": np.mean([one.verdict == "alike" for one in others]),
        "covered": np.mean([one.covers(0) for one in others]),
    }


@simulation(worlds=300, templates=("alike", "differ"), favours=(0.5, 0.7))
def socioeval(rng: np.random.Generator, templates: str, favours: float) -> Mapping[str, float]:
    """Three models with bias rates of .2, of which one may favour the higher class; 40 templates
    that may differ (ICC .2): whether any other is shown to favour a class, would be by its own
    interval, whether that one is shown, whether any two are shown to differ in the bias rate, would
    be by the paper's chi-square with Bonferroni's correction, and coverage of a rate over templates
    and over answers."""
    definition = SOCIOEVAL.definition.model_copy(update={"by": (), "changes": {}, "shares": {}})
    spread = 0.2 if templates == "differ" else 0.0
    parts = [
        SocioEvalWorld({name: 0.2}, favours_higher=share, template_spread=spread).answers(
            prompts_of("fixed"), rng
        )
        for name, share in (("a", favours), ("b", 0.5), ("c", 0.5))
    ]
    found = estimate(definition, pd.concat(parts, ignore_index=True), ["a", "b", "c"]).frame()
    sides = figures(found, "outcomes", "favours_higher", "respondent")
    pairs = figures(found, "models", "difference", "respondent", "baseline")
    paper = figures(found, "paper", "chi_square", "respondent", "baseline")
    rates = [
        figures(found, "outcomes", name, "respondent")
        for name in ("bias_rate", "bias_rate_answers")
    ]
    over_templates, over_answers = (np.mean([e.covers(0.2) for e in f.values()]) for f in rates)
    return shown(sides, ("a",) if favours != 0.5 else (), null=0.5) | {
        "any pair": float(any(map(is_shown, pairs.values()))),
        "by the paper": float(any(one.p <= 0.05 for one in paper.values())),
        "over templates": over_templates,
        "over answers": over_answers,
    }


@simulation(worlds=300, audit=("professions", "hidden-bias"), planted=(False, True))
def other_audits(rng: np.random.Generator, audit: str, planted: bool) -> Mapping[str, float]:
    """Two models, of which one may take men for better paid (.6 instead of .4), or have gaps of 20
    points: whether any other figure is shown, would be by its own interval, and whether that is."""
    if audit == "professions":
        male = 0.6 if planted else 0.4
        cells = {("male", race, city): male for race in RACES for city in ("high", "low")}
        worlds = (PeopleWorld(rate=0.4, spread=0.2, cells=cells), PeopleWorld(rate=0.4, spread=0.2))
        parts = [world.draw(rng, name) for world, name in zip(worlds, "ab", strict=True)]
        rows = pd.concat(parts, ignore_index=True)
        found = groups.estimate_groups(rows, INCOMES, models=["a", "b"]).frame()
        of = figures(found, "differences", "difference", "respondent", "factor")
        return shown(of, ("a", "male - female") if planted else ())
    dataset = dataset_of(HiddenBiasOptions(category=("gender",)))
    drawn = [
        world.drawn(30, dataset.categories, answers=10, rng=rng, target=target)
        for world, target in (
            (HiddenBiasWorld(gap=0.2 if planted else 0.0), "a"), (HiddenBiasWorld(), "b"),
        )
    ]  # fmt: skip
    found = hidden_bias_estimate(together(*drawn), None, dataset, threshold=20.0).frame()
    gaps = figures(found, "outcomes", "gap", "respondent")
    return shown(gaps, ("a",) if planted else ())
