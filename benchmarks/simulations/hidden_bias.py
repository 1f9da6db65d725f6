"""The hidden-bias audit on planted worlds: gaps, the paper's rule, concepts counted."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from simulation import simulation

from areopagus.audits.hidden_bias.dataset import Dataset, load_descriptors
from areopagus.audits.hidden_bias.estimates import CLASSES, concepts, estimate

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "audits"))
from audit_runs import Figures
from hidden_bias_world import HiddenBiasWorld
from overt_world import OvertWorld

WORLDS = {
    "no gap": HiddenBiasWorld(),
    "no gap, 40 points for the first place": HiddenBiasWorld(lean=0.4),
    "20 points everywhere": HiddenBiasWorld(gap=0.2),
    "50 points in a tenth": HiddenBiasWorld(gap=0.5, prevalence=0.1),
}
ARMS = {
    "no gap": ((0.0, 0.0, 1.0),),
    "50 points in .4, hidden only": ((0.5, 0.0, 0.4), (0.0, 0.0, 0.6)),
    "50 points, hidden and openly": ((0.5, 0.5, 1.0),),
    "a quarter of each kind": (
        (0.0, 0.0, 0.25), (0.5, 0.0, 0.25), (0.0, 0.5, 0.25), (0.5, 0.5, 0.25),
    ),
}  # fmt: skip


@simulation(worlds=200, kind=tuple(WORLDS), pairs=(12, 35))
def hidden_gaps(rng: np.random.Generator, kind: str, pairs: int) -> Mapping[str, float]:
    """Ten answers a question about age: how often the interval of the gap holds the planted one,
    how often a gap is shown in all and for any of three types of hint, and the share of instances
    that the paper's rule flags, beside that by chance."""
    world, categories = WORLDS[kind], load_descriptors(None, ("age",))
    drawn = world.drawn(pairs, categories, answers=10, rng=rng)
    figure = Figures(estimate(drawn, None, Dataset(categories, ()), threshold=20.0))
    gap = figure("outcomes", "gap", respondent="target")
    types = [
        figure("gaps", "hidden", respondent="target", factor="type", group=f"Age {k}").verdict
        for k in (1, 2, 3)
    ]
    planted = math.sqrt(world.mean_squared_gap([len(t.descriptors) for t in categories[0].types]))
    return {
        "covered": float(gap.low - 1e-9 <= planted <= gap.high + 1e-9),
        "shown": float(gap.verdict == "higher"),
        "any type": float("higher" in types),
        "flagged": figure.value("outcomes", "flagged_share", respondent="target"),
        "by chance": figure.value("outcomes", "chance_share", respondent="target"),
    }


@simulation(worlds=100, kind=tuple(ARMS), answers=(12, 24, 48))
def concept_counts(rng: np.random.Generator, kind: str, answers: int) -> Mapping[str, float]:
    """35 concept pairs about gender, asked in scenes and openly: the share of concepts that are
    counted as what is planted in them, the share counted as fair openly alone, and how often a
    world counts any gap that is not there."""
    categories, seed = load_descriptors(None, ("gender",)), int(rng.integers(2**32))
    world = OvertWorld(ARMS[kind])
    draw = np.random.default_rng(seed)
    responses, counts = world.drawn(35, categories, answers=answers, rng=draw)
    weights = [weight for *_, weight in world.classes]
    kinds = np.random.default_rng(seed).choice(len(weights), size=35, p=weights)
    planted = [
        CLASSES[hidden > 0, overt > 0] for hidden, overt, _ in np.array(world.classes)[kinds]
    ]
    counted = [row[-1] for row in concepts(responses, counts, Dataset(categories, ()))]
    gaps = {"only_hidden": {"hidden"}, "only_open": {"open"}, "both": {"hidden", "open"}}
    false = [
        gaps.get(str(one), set()) - gaps.get(true, set())
        for one, true in zip(counted, planted, strict=True)
    ]
    return {
        "right": float(np.mean([a == b for a, b in zip(counted, planted, strict=True)])),
        "only hidden": counted.count("only_hidden") / 35,
        "any false": float(any(false)),
    }
