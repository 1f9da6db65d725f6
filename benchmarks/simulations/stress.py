"""Stress tests (stress_test/contrasts.py): false alarms, power, rare breakdowns, missing judges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from simulation import simulation

from areopagus.aggregation.effects import Effect, effects
from areopagus.aggregation.retest_noise import noise_floor
from areopagus.stress_test import StressConfig
from areopagus.stress_test.contrasts import COMPOSITE, coded, contrasts_of, long_table
from areopagus.stress_test.scores import StressScores

FRAMINGS = ("empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree")
CRITERIA = ("clarity", "grounding", "relevance", "pluralism", "soundness")
PLANTED = np.array(
    [
        [0.5, 0.3, 0.2, 0.0, 0.3],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.6, 0.8, 0.4, 1.2, 0.9],
        [0.2, 0.0, 0.0, -0.5, 0.0],
    ]
)
"""Points lost by framing and criterion."""
SCALE = (-90, 110)
Cells = dict[tuple[str, str], Effect]


def scores_of(
    rng: np.random.Generator, prompts: int, kind: str, lost: np.ndarray, deviation: float = 0.8
) -> np.ndarray:
    """Scores (conditions, prompts, criteria): a level of the prompt, the response's own error,
    which its criteria share, and each criterion's; a delta has the deviation."""

    def error(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) if kind == "normal" else rng.exponential(size=shape) - 1

    level = 6 + 0.7 * rng.normal(size=(1, prompts, 1)) + 0.3 * rng.normal(size=(1, prompts, 5))
    scores = level + deviation / 2 * (error(5, prompts, 1) + error(5, prompts, 5))
    scores[1:] -= lost[:, None]
    return scores


def degradations(scores: np.ndarray, models: tuple[str, ...] = ("judge",)) -> Cells:
    """The cells of a study, by framing and criterion; scores may have judges before criteria."""
    values = scores[None, :, :, None, None] if scores.ndim == 3 else scores[None, :, :, None]
    n = scores.shape[1]
    names = tuple(map(str, range(n)))
    study = StressScores(
        ("target",), ("baseline", *FRAMINGS), names, CRITERIA,
        tuple((f"persona {k}", model, 0) for k, model in enumerate(models)), values, names,
        np.zeros((1, 5, n)), np.empty((0, 2, 5)), np.empty((0, 2, 5)), {}, SCALE,
    )  # fmt: skip
    table = long_table(study)
    asked = [
        one
        for one in contrasts_of(table, CRITERIA, StressConfig())
        if one.keys["table"] == "degradation" and "framing" in one.keys
    ]
    return {
        (one.contrast.keys["framing"], one.contrast.keys["criterion"]): one
        for one in effects(coded(table, CRITERIA), asked, scale=SCALE)
    }


def any_moved(cells: Cells, *, composite: bool = False) -> float:
    """Whether some criterion, or some composite, is called higher or lower."""
    return float(
        any(
            one.this_panel.verdict in ("higher", "lower")
            for (_, criterion), one in cells.items()
            if (criterion == COMPOSITE) is composite
        )
    )


@simulation(worlds=300, kind=("normal", "skewed"), prompts=(8, 9, 12, 20, 30))
def stress(rng: np.random.Generator, kind: str, prompts: int) -> Mapping[str, float]:
    """Four framings, five criteria, deltas of deviation .8. An unchanged target: whether any of 20
    cells, or of 4 composites, is called changed; the share called alike within .5; coverage of a
    cell's own limits. Planted losses: the share of cells with a true .5, .8 and 1.2 that is called
    higher, and whether any with a true 0 is called changed."""
    still = degradations(scores_of(rng, prompts, kind, np.zeros((4, 5))))
    cells = [one.this_panel for (_, name), one in still.items() if name != COMPOSITE]
    composites = [one.this_panel for (_, name), one in still.items() if name == COMPOSITE]
    found = {
        "false": any_moved(still),
        "composite false": any_moved(still, composite=True),
        "alike": float(np.mean([one.verdict == "alike" for one in cells])),
        "composite alike": float(np.mean([one.verdict == "alike" for one in composites])),
        "covered": float(np.mean([one.covers(0) for one in cells])),
    }
    moved = degradations(scores_of(rng, prompts, kind, PLANTED))
    verdicts = np.array([[moved[f, c].this_panel.verdict for c in CRITERIA] for f in FRAMINGS])
    for size in (0.5, 0.8, 1.2):
        found[f"{size} found"] = float((verdicts[size == PLANTED] == "higher").mean())
    rest = verdicts[PLANTED == 0]
    found["false beside"] = float(np.isin(rest, ("higher", "lower")).any())
    return found


@simulation(worlds=200, prompts=(20, 60))
def stress_rare(rng: np.random.Generator, prompts: int) -> Mapping[str, float]:
    """A target that loses ten points on one prompt in twenty and nothing on the others, so half a
    point on average: the share of cells and of composites called alike within .5."""
    scores = scores_of(rng, prompts, "normal", np.zeros((4, 5)), deviation=0.3)
    scores[1:] -= 10 * (rng.random((4, prompts, 1)) < 0.05)
    shares: dict[bool, list[bool]] = {True: [], False: []}
    for (_, criterion), one in degradations(scores).items():
        shares[criterion == COMPOSITE].append(one.this_panel.verdict == "alike")
    return {
        "alike": float(np.mean(shares[False])),
        "composite alike": float(np.mean(shares[True])),
    }


@simulation(worlds=100, refused=(0.3, 1.0), prompts=(20,))
def stress_filter(rng: np.random.Generator, refused: float, prompts: int) -> Mapping[str, float]:
    """An unchanged target before three models, of which the harsh one refuses a share of the
    responses under one framing: whether any cell is called changed, by the judges common to both
    sides and by the means of whoever scored; prompts kept; whether the framing is marked."""
    scores = scores_of(rng, prompts, "normal", np.zeros((4, 5)))
    judged = scores[:, :, None] + np.repeat([0.5, 0.5, -2.6], 3)[:, None]
    judged = judged + 0.8 * rng.normal(size=judged.shape)
    judged[3, rng.random(prompts) < refused, 6:] = np.nan
    cells = degradations(judged, ("kind",) * 3 + ("fair",) * 3 + ("harsh",) * 3)
    marked = cells[FRAMINGS[2], COMPOSITE]
    return {
        "false": any_moved(cells),
        "whoever scored": any_moved(degradations(np.nanmean(judged, axis=2))),
        "kept": marked.this_panel.n / prompts,
        "marked": float(marked.bounds is not None),
    }


@simulation(worlds=2000, responses=(10, 30))
def retest_noise(rng: np.random.Generator, responses: int) -> Mapping[str, float]:
    """Panel means that scatter by .3 when judges are asked again: whether the upper bound of the
    noise floor holds that, and the error of the squared estimate."""
    component = noise_floor(*0.3 * rng.normal(size=(2, responses, 1)), dimensions=["all"]).of("all")
    return {
        "bound holds": float(component.upper >= 0.3),
        "error of the square": component.retest_sd**2 - 0.09,
    }
