"""Panels of judges: the panel's interval and the effective number of judges."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from simulation import covers, simulation

from areopagus.aggregation.decision_study import layout_of
from areopagus.aggregation.generalizability import panel_g_study
from areopagus.aggregation.judge_worth import worth_of_components, worth_of_layout
from areopagus.aggregation.panel_interval import facet_intervals
from areopagus.graphs.stopping import PlannedJudgment, balanced_order

BATCH = 100
PANELS = {"10 x 3": (10, 3), "10 x 5": (10, 5), "5 x 3": (5, 3), "10 x 1": (10, 1)}
VARIANCES = {
    ".06/.30/.25": (0.06, 0.30, 0.25),
    "1/1/1": (1.0, 1.0, 1.0),
    ".2/.2/1": (0.2, 0.2, 1.0),
    "0/1/1": (0.0, 1.0, 1.0),
    "0/0/1": (0.0, 0.0, 1.0),
}


@simulation(
    worlds=10,
    judgments=("all", "15% missing", "12 drawn", "8 drawn"),
    panel=PANELS,
    variances=VARIANCES,
    skip=lambda judgments, panel, **_: "drawn" in judgments and panel[0] * panel[1] < 30,
)
def panel_interval(
    rng: np.random.Generator,
    judgments: str,
    panel: tuple[int, int],
    variances: tuple[float, float, float],
) -> Mapping[str, float]:
    """Coverage of the interval of a panel's mean, and its median width, by personas x models and by
    variances of personas, models and the rest. 100 panels a world. With one model the interval is
    of personas on that model. "Drawn": a stopping rule asked so many judges, in balance."""
    personas, models = panel
    of_persona, of_model, rest = np.sqrt(variances)
    shared = rng.normal(0, of_model, (BATCH, 1, models))
    scores = shared + rng.normal(0, of_persona, (BATCH, personas, 1))
    scores = (scores + rng.normal(0, rest, (BATCH, personas, models))).reshape(BATCH, -1)
    persona, model = np.divmod(np.arange(personas * models), models)
    is_there = rng.random(scores.shape) >= (0.15 if judgments == "15% missing" else 0)
    if judgments.endswith("drawn"):
        plan = [
            PlannedJudgment(f"{k}", f"{m}", str(p < personas // 2), f"{p}")
            for k, (p, m) in enumerate(zip(persona, model, strict=True))
        ]
        for row in range(BATCH):
            order = balanced_order(plan, seed=int(rng.integers(1 << 30)), response_id=f"{row}")
            is_there[row, [int(key) for key in order[int(judgments.removesuffix(" drawn")) :]]] = (
                False
            )
    values = np.where(is_there, scores, 0.0)[:, None]
    interval = facet_intervals(values, is_there.astype(float), persona, model)
    low, high = interval.low[:, 0], interval.high[:, 0]
    truth = shared[:, 0, 0] if models == 1 else np.zeros(BATCH)
    has_limits = np.isfinite(low)
    covered = (low <= truth) & (truth <= high)
    return {
        "covered": float(covered[has_limits].mean()),
        "width": float(np.median((high - low)[has_limits])),
    }


S2 = {"q": 0.3, "r:q": 0.6, "qP": 0.05, "qM": 0.1, "rP": 0.06, "rM": 0.2, "residual": 0.5}
INDEPENDENT = {**S2, "rP": 0.0, "rM": 0.0, "residual": 0.76}
SEVERITY = (np.array([0.3, 0.0, -0.1, -0.2]), np.array([0.4, 0.0, -0.4]))


def scores_of(rng: np.random.Generator, prompt: np.ndarray, s2: Mapping[str, float]) -> np.ndarray:
    """Scores of four personas on three models, shape (responses, 4, 3, 1), 15% of them missing."""
    n, n_prompts = len(prompt), int(prompt.max()) + 1
    shapes = {
        "q": (n_prompts, 1, 1), "r:q": (n, 1, 1), "qP": (n_prompts, 4, 1), "qM": (n_prompts, 1, 3),
        "rP": (n, 4, 1), "rM": (n, 1, 3), "residual": (n, 4, 3),
    }  # fmt: skip
    scores = 6 + SEVERITY[0][:, None] + SEVERITY[1]
    for name, shape in shapes.items():
        effect = rng.normal(0, math.sqrt(s2[name]), shape)
        scores = scores + (effect[prompt] if name.startswith("q") else effect)
    scores[rng.random(scores.shape) < 0.15] = np.nan
    return scores[..., None]


@simulation(worlds=200, errors=("shared", "independent"), prompts=(9, 26, 100))
def effective_judges(rng: np.random.Generator, errors: str, prompts: int) -> Mapping[str, float]:
    """Four personas on three models with 15% of the judgments missing, prompts of six responses:
    coverage of the effective number of judges, whose errors are shared or independent."""
    prompt = np.repeat(np.arange(prompts), 6)
    s2 = S2 if errors == "shared" else INDEPENDENT
    scores = scores_of(rng, prompt, s2)
    study = panel_g_study(scores, prompt=prompt)
    layout = layout_of(scores, prompt, study, is_adjusted=True)
    number = worth_of_components(study, layout, prompts, 0.95)
    return {"covered": covers(number, worth_of_layout(s2, layout))}
