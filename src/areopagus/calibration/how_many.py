"""How many judges are enough: variance components, effective number, best designs by budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.decision_study import (
    DecisionStudy,
    best_designs,
    d_study,
    smallest_designs,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.generalizability import GStudy, level_bounds, panel_g_study
from .leave_out import cut_to_range
from .material import Material, Target
from .panel_worth import (
    NO_NULL,
    NullBand,
    null_of_components,
    worth_of_components,
    worth_of_errors,
)

Floats = npt.NDArray[np.float64]

BUDGETS = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120)
"""Calls a response for which the best design is named."""

STANDARD_ERRORS = (1.0, 0.75, 0.5, 0.35, 0.25)
"""Wanted standard errors of a score, in points, for which the cheapest design is named."""

MOST_SCORES = 200_000
"""Scores used for the components; of more, whole prompts are drawn."""

EFFECTS = {
    "q": "prompts",
    "r:q": "responses within prompts",
    "P": "personas",
    "M": "models",
    "PM": "personas x models",
    "qP": "prompts x personas",
    "qM": "prompts x models",
    "rP": "responses x personas",
    "rM": "responses x models",
    "rPM": "responses x personas x models",
    "residual": "residual",
}


@dataclass(frozen=True, slots=True)
class Component:
    """One variance component; a negative estimate is shown as it is, and counts as 0."""

    effect: str
    meaning: str
    variance: Estimate
    is_negative: bool
    n_levels: int


@dataclass(frozen=True, slots=True)
class Design:
    """A panel of personas x models x repeats and its expected quality within prompts.

    `reason` says why e_rho2 is nan.
    """

    budget: int
    personas: int
    models: int
    repeats: int
    calls: int
    e_rho2: float
    standard_error: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NeededDesign:
    """The fewest calls a response that reach a standard error; None where no design does.

    Attributes:
        standard_error: wanted, in points of the scale.
        aim: "order" of the responses to one prompt (relative error), or "level" of a score
            (absolute error, with what personas and models add to all responses alike).
        reason: why there is no design, or None.
    """

    standard_error: float
    aim: Literal["order", "level"]
    personas: int | None
    models: int | None
    repeats: int | None
    calls: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class HowMany:
    """How many judges.

    Attributes:
        components: variance components of single judgments.
        few_levels: facets with fewer than five levels, whose components are hardly known.
        effective: independent judgments the panel is worth, from the components; its interval
            is a jackknife over prompts on the logarithm, for these personas and models.
        effective_of_errors: the same from the judges' errors against people (Kish), where people
            gave scores; without an interval.
        effective_null, effective_of_errors_null: what independent judges come out as.
        errors_from: the target that the errors are of; None where people gave ranks only.
        this_panel: the design as it stands.
        designs: the best design for each budget of calls a response.
        needed: the cheapest design for each wanted standard error, of order and of level.
        n_scores: scores used.
        is_sample: whether prompts were drawn because there were too many scores.
        reason: why there are no designs, or None.
    """

    components: tuple[Component, ...]
    few_levels: tuple[str, ...]
    effective: Estimate
    effective_of_errors: Estimate
    this_panel: Design | None
    designs: tuple[Design, ...]
    needed: tuple[NeededDesign, ...]
    n_scores: int
    is_sample: bool
    reason: str | None
    effective_null: NullBand = NO_NULL
    effective_of_errors_null: NullBand = NO_NULL
    errors_from: str | None = None


def how_many(
    material: Material,
    target: Target | None,
    *,
    levels: Target | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> HowMany:
    """Returns what the panel's own variance says about its size.

    The components need no people; only the errors do. Coverage of their jackknife intervals:
    see `aggregation.generalizability.panel_g_study`.

    Args:
        material: with a panel.
        target: the main target: its criterion is the panel's whose variance is taken apart.
        levels: what errors are of; the main target where that holds scores.
        level: nominal coverage.
        seed: of samples and nulls.
    """
    if levels is None and target is not None and target.ratings.kind == "score":
        levels = target
    panel = material.panel
    none = undefined("no panel")
    if panel is None:
        return HowMany((), (), none, none, None, (), (), 0, False, "no panel")
    prompt = material.responses.prompt
    criterion = target.criterion if target is not None else None
    if criterion is None:
        scores = _composite(panel.scores)
    else:
        scores = panel.scores[..., panel.criteria.index(criterion)]
    rows, is_sample = _rows(scores, prompt, seed)
    P, M, T = panel.shape
    study = panel_g_study(scores[rows], prompt=prompt[rows], level=level)
    n_prompts = len(np.unique(prompt[rows]))
    components = tuple(_component(study, name, n_prompts) for name in study.components)
    reason = study.reason or _no_variance(study, scores[rows])
    this_panel: Design | None = None
    designs: tuple[Design, ...] = ()
    needed: tuple[NeededDesign, ...] = ()
    effective = undefined(reason or "the design holds no error component", unit="judgment")
    null = NO_NULL
    if reason is None and not any(math.isnan(v) for v in study.components.values()):
        this_panel = _design(P * M * T, d_study(study, personas=P, models=M, repeats=T))
        budgets = sorted({*BUDGETS, P * M * T})
        designs = tuple(
            _design(best.budget, best.design)
            for best in best_designs(study, budgets, most=_most(study))
        )
        needed = _needed(study)
        effective = worth_of_components(study, (P, M, T), n_prompts, level)
        if effective.is_defined:
            null = null_of_components(scores[rows], prompt[rows], study, seed)
    errors, errors_null = worth_of_errors(material, target, levels, seed)
    return HowMany(
        components=components,
        few_levels=study.few_levels,
        effective=effective,
        effective_of_errors=errors,
        this_panel=this_panel,
        designs=designs,
        needed=needed,
        n_scores=study.n,
        is_sample=is_sample,
        reason=reason,
        effective_null=null,
        effective_of_errors_null=errors_null,
        errors_from=levels.name if levels is not None else None,
    )


def _no_variance(study: GStudy, scores: Floats) -> str | None:
    """Why components tell nothing: judgments that are all alike have none above 0.

    Every standard error would then be 0, and one judge enough for anything.
    """
    largest = max((v for v in study.components.values() if not math.isnan(v)), default=math.nan)
    if largest > 1e-12 * max(float(np.nanmean(scores**2)), 1e-30):
        return None
    return "no variance component is positive: the judgments do not differ"


def _composite(scores: Floats) -> Floats:
    counts = np.isfinite(scores).sum(axis=4)
    sums = np.nansum(scores, axis=4)
    mean: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return mean


def _rows(
    scores: Floats, prompt: npt.NDArray[np.int64], seed: int
) -> tuple[npt.NDArray[np.int64], bool]:
    per_response = np.isfinite(scores).sum(axis=(1, 2, 3))
    if per_response.sum() <= MOST_SCORES:
        return np.arange(len(scores)), False
    order = np.random.default_rng(seed).permutation(int(prompt.max()) + 1)
    taken = np.bincount(prompt, weights=per_response, minlength=len(order))[order]
    chosen = order[np.cumsum(taken) <= MOST_SCORES]
    return np.flatnonzero(np.isin(prompt, chosen)), True


def _most(study: GStudy) -> tuple[int, int, int]:
    """A facet of one level has no component of its own: its gain cannot be foreseen."""
    return (
        100 if study.levels.get("P", 1) > 1 else 1,
        20 if study.levels.get("M", 1) > 1 else 1,
        10 if study.replicated else 1,
    )


def _needed(study: GStudy) -> tuple[NeededDesign, ...]:
    aims: tuple[tuple[Literal["order", "level"], Literal["relative", "absolute"]], ...] = (
        ("order", "relative"),
        ("level", "absolute"),
    )
    found = []
    for aim, criterion in aims:
        for one in smallest_designs(study, STANDARD_ERRORS, criterion=criterion, most=_most(study)):
            d = one.design
            found.append(
                NeededDesign(
                    standard_error=one.standard_error,
                    aim=aim,
                    personas=d.personas if d else None,
                    models=d.models if d else None,
                    repeats=d.repeats if d else None,
                    calls=d.calls if d else None,
                    reason=None if d else "no design that was looked at reaches it",
                )
            )
    return tuple(found)


def _component(study: GStudy, name: str, n_prompts: int) -> Component:
    value, method = study.components[name], "Henderson's method I"
    if name in study.intervals:
        number = study.intervals[name].of(method)
        # no variance is below 0, though an unbiased estimate of a small one may be
        number = cut_to_range(number, (min(0.0, value), math.inf))
    else:
        low, high = level_bounds(study.levels[name])
        reason = study.reason or (
            f"no interval over prompts: {study.levels[name]} levels bound it by the factors "
            f"{low:.2f} and {high:.1f}"
            if math.isfinite(low)
            else "one level"
        )
        number = Estimate(value, n=study.levels[name], unit="level", method=method, reason=reason)
    return Component(
        effect=name,
        meaning=EFFECTS.get(name, name),
        variance=number,
        is_negative=name in study.negative,
        n_levels=study.levels[name],
    )


def _design(budget: int, study: DecisionStudy) -> Design:
    return Design(
        budget=budget,
        personas=study.personas,
        models=study.models,
        repeats=study.repeats,
        calls=study.calls,
        e_rho2=study.e_rho2,
        standard_error=math.sqrt(study.relative_error),
        reason="responses within prompts are not shown to differ"
        if math.isnan(study.e_rho2)
        else None,
    )
