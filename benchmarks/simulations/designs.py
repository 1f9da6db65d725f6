"""Designs of a panel run (aggregation/design.py): the standard error stated and the true one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from simulation import covers, simulation

from areopagus.aggregation.decision_study import asked_study, layout_of, target_of
from areopagus.aggregation.generalizability import GStudy, panel_g_study
from areopagus.aggregation.judge_worth import worth_of_components, worth_of_layout
from areopagus.aggregation.rater_severity import severity
from areopagus.graphs.stopping import PlannedJudgment, balanced_order

S2 = {
    "q": 0.36, "r:q": 0.64, "P": 0.20, "M": 0.30, "PM": 0.05, "qP": 0.02, "qM": 0.10,
    "rP": 0.04, "rM": 0.20, "rPM": 0.15, "residual": 0.10,
}  # fmt: skip
"""With one response a prompt, ten personas on three models: .06/10 + .30/3 + .25/30 = .338²."""


def rotation(scores: np.ndarray, rng: np.random.Generator) -> None:
    """Six of the judges each, in the balanced order of `--judges-per-response`."""
    places = [(p, m) for p in range(scores.shape[1]) for m in range(scores.shape[2])]
    plan = [PlannedJudgment(f"{p} {m}", f"b{m}", f"a{p % 2}", f"p{p}") for p, m in places]
    seed = int(rng.integers(1 << 30))
    for r in range(len(scores)):
        for key in balanced_order(plan, seed=seed, response_id=str(r))[6:]:
            p, m = map(int, key.split())
            scores[r, p, m] = np.nan


def quota(scores: np.ndarray, rng: np.random.Generator) -> None:
    """One model ends after a third of the responses, in random order."""
    order = rng.permutation(len(scores))
    scores[order[len(scores) // 3 :], :, 0] = np.nan


class Layout(NamedTuple):
    """A design; `missing` takes judgments away, and the means are those of the additive fit."""

    prompts: int = 100
    each: int = 4
    personas: int = 10
    models: int = 3
    repeats: int = 1
    missing: Callable[[np.ndarray, np.random.Generator], None] | None = None
    is_adjusted: bool = False


LAYOUTS = {
    "several responses a prompt": Layout(),
    "one response a prompt": Layout(500, 1),
    "one response, asked twice": Layout(500, 1, repeats=2),
    "one model": Layout(models=1),
    "one model, one response": Layout(500, 1, models=1),
    "one persona": Layout(personas=1, models=10),
    "one judge, asked three times": Layout(personas=1, models=1, repeats=3),
    "six of thirty judges": Layout(missing=rotation),
    "six of thirty judges, additive fit": Layout(missing=rotation, is_adjusted=True),
    "six of thirty, one response, fit": Layout(500, 1, missing=rotation, is_adjusted=True),
    "a model fell out": Layout(missing=quota),
    "a model fell out, additive fit": Layout(missing=quota, is_adjusted=True),
}


def draw(
    rng: np.random.Generator, layout: Layout
) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, float]]:
    """Scores of shape (R, P, M, repeats), what they measure (R), the prompt of each response, and
    the variances of the judges that were drawn. With one model (persona) what is measured is what
    such personas on that model would say."""
    q = np.repeat(np.arange(layout.prompts), layout.each)
    n, p, m = len(q), layout.personas, layout.models
    shapes = {
        "q": (layout.prompts, 1, 1), "r:q": (n, 1, 1), "P": (1, p, 1), "M": (1, 1, m),
        "PM": (1, p, m), "qP": (layout.prompts, p, 1), "qM": (layout.prompts, 1, m),
        "rP": (n, p, 1), "rM": (n, 1, m), "rPM": (n, p, m),
    }  # fmt: skip
    alone = {letter for letter, size in (("P", p), ("M", m)) if size == 1}
    total, measured, judges = np.zeros((n, p, m)), np.zeros(n), {}
    for name, shape in shapes.items():
        effect = rng.normal(0, math.sqrt(S2[name]), shape)
        if name in ("P", "M", "PM") and effect.size > 1:
            judges[name] = float(effect.var(ddof=1))
        effect = effect[q] if name.startswith("q") else effect
        total = total + effect
        if not set(name) & {"P", "M"} - alone:  # all judges that there are share it
            measured = measured + np.broadcast_to(effect, (n, p, m))[:, 0, 0]
    noise = rng.normal(0, math.sqrt(S2["residual"]), (n, p, m, layout.repeats))
    scores = 6 + total[..., None] + noise
    if layout.missing is not None:
        layout.missing(scores, rng)
    return scores, measured, q, judges


def components_of(study: GStudy) -> dict[str, float]:
    """The true components as a study of the design has them."""
    true = dict(S2)
    if target_of(study) == "response":
        for part, whole in (("r:q", "q"), ("rP", "qP"), ("rM", "qM")):
            true[whole] += true.pop(part)
    # in a rotation in which a persona judges a response once, what it makes of it is noise as well
    lost = true.keys() - set(study.components)
    true["residual"] += sum(true[name] for name in ("rPM", "rP", "qP") if name in lost)
    return {name: value for name, value in true.items() if name in study.components}


@simulation(worlds=20, design=LAYOUTS)
def designs(rng: np.random.Generator, design: Layout) -> Mapping[str, float]:
    """The standard error of a response's mean that is stated, the true one (within prompts where
    these have several responses), and their ratio. Each world draws new judges."""
    scores, measured, q, _ = draw(rng, design)
    if design.is_adjusted:
        flat = scores.reshape(len(scores), -1)
        response, judge = np.nonzero(np.isfinite(flat))
        means = np.array(severity(flat[response, judge], response, judge).adjusted)
    else:
        means = np.nanmean(scores, axis=(1, 2, 3))
    block = q if design.each > 1 else np.zeros_like(q)  # responses that are compared
    error = means - measured
    error = error - (np.bincount(block, weights=error) / np.bincount(block))[block]
    true = float((error**2).sum() / (len(q) - block[-1] - 1))
    study = panel_g_study(scores, prompt=q, jackknife=False)
    stated = asked_study(study, scores, q, is_adjusted=design.is_adjusted).relative_error
    ratio = math.sqrt(stated / true)
    return {"stated": math.sqrt(stated), "true": math.sqrt(true), "ratio": ratio}


MANY_JUDGES = {k: v for k, v in LAYOUTS.items() if v.models > 1 < v.personas and v.repeats == 1}


@simulation(worlds=60, design=MANY_JUDGES)
def judges_by_design(rng: np.random.Generator, design: Layout) -> Mapping[str, float]:
    """Coverage of the effective number of judges, those at hand."""
    scores, _, q, judges = draw(rng, design)
    study = panel_g_study(scores, prompt=q)
    layout = layout_of(scores, q, study, is_adjusted=design.is_adjusted)
    truth = worth_of_layout(components_of(study) | judges, layout)
    number = worth_of_components(study, layout, design.prompts, 0.95)
    return {"covered": covers(number, min(truth, layout.judgments))}
