"""How many judges are enough: variance components, effective number, best designs by budget."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from ..aggregation.decision_study import (
    DecisionStudy,
    asked_study,
    best_designs,
    layout_of,
    smallest_designs,
)
from ..aggregation.design import Design, design_of, fell_out
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.generalizability import GStudy, level_bounds, panel_g_study
from ..aggregation.jackknife import BLOCKS, cut_to_range
from ..aggregation.judge_worth import worth_of_components
from ..aggregation.multiplicity import holm
from ..records.design import add_design, stored_design
from ..records.estimates import Estimates, estimates_by, select
from .dataset import Dataset, Target
from .panel_scores import PanelScores

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

BUDGETS = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120)
"""Calls a response for which the best design is named."""

STANDARD_ERRORS = (1.0, 0.75, 0.5, 0.35, 0.25)
"""Wanted standard errors of a score, in points, for which the cheapest design is named."""

MOST_SCORES = 200_000
"""Scores used for the components; of more, whole prompts are drawn."""

THIS_PANEL = "this panel"

NO_DESIGN = "no design that was looked at reaches it"


def add_decision_study(
    out: Estimates,
    dataset: Dataset,
    target: Target | None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> None:
    """Adds what the panel's own variance says about its size.

    "components"   variance components of single judgments, by effect (`group`), n_levels beside
                   them. A negative estimate is shown as it is and says so: within its error it
                   counts as 0; shown to be below 0 (one-sided t on the jackknife's error, Holm over
                   components, .05) it says that these judgments are no sum of such effects, and
                   nothing is built upon it. (Prompts, q, are in no error: responses that were
                   chosen to differ, such as people's and models', bring q below 0.)
    "size"         worth: independent judgments that the panel is worth, from the components; its
                   interval is a jackknife over prompts on the logarithm, for these personas and
                   models
    "design"       who judged what; see `records.design`
    "designs"      the best design for each budget of calls a response (`group`), and this panel's,
                   as its judges were really asked (where some are missing, of the means of the
                   additive fit): expected reliability e_rho2 and standard error
                   of the order of responses to one prompt; with one response a prompt, of
                   responses wherever they stand, and what a judge makes of a prompt is error
    "designs needed"  the fewest calls a response that reach a standard error (`group`), of the
                   "order" of responses (relative error) or the "level" of a score (absolute error,
                   with what personas and models add to all responses alike)

    Where every response was judged once there are no designs: the error is confounded with how
    the responses differ.

    The components need no people. Coverage of their jackknife intervals:
    see `aggregation.generalizability.panel_g_study`.

    Args:
        out: takes the figures.
        dataset: with a panel.
        target: the main target: its criterion is the panel's whose variance is taken apart.
        level: nominal coverage.
        seed: of the sample of prompts, where there are very many scores.
    """
    panel = dataset.panel
    if panel is None:
        return
    prompt = dataset.responses.prompt
    criterion = target.criterion if target is not None else None
    if criterion is None:
        scores = _composite(panel.scores)
    else:
        scores = panel.scores[..., panel.criteria.index(criterion)]
    rows = _rows(scores, prompt, seed)
    if design := panel_design(panel, prompt):
        add_design(out, design)
    study = panel_g_study(scores[rows], prompt=prompt[rows], level=level)
    n_prompts = len(np.unique(prompt[rows]))
    n_all = int(np.isfinite(scores).sum())
    n_scores = Estimate(
        study.n, n=study.n, n_planned=n_all, unit="judgment", method="count", level=math.nan
    )
    out.add("size", "n_scores", n_scores)
    wrong = below_zero(study)
    for name in study.components:
        keys = {"factor": "component", "group": name}
        variance = _component(study, name, n_prompts)
        if name in wrong:
            variance = replace(variance, verdict=BELOW_ZERO)
        out.add("components", "variance", variance, **keys)
        out.add("components", "n_levels", study.levels[name], **keys)
    reason = study.reason or _no_variance(study, scores[rows]) or _wrong_model(wrong)
    worth = undefined(reason or "the design holds no error component", unit="judgment")
    if reason is None and not any(math.isnan(v) for v in study.components.values()):
        of_rows = (scores[rows], prompt[rows])
        _add_designs(out, study, asked_study(study, *of_rows, is_adjusted=True))
        layout = layout_of(*of_rows, study, is_adjusted=True)
        worth = worth_of_components(study, layout, n_prompts, level)
    else:
        why = undefined(reason or "a variance component is not known")
        out.add("designs", "e_rho2", why, group=THIS_PANEL)
    out.add("size", "worth", worth)


def panel_design(panel: PanelScores, prompt: npt.NDArray[np.int64]) -> Design | None:
    """The design of a panel's judgments; None where none is known.

    Every judge counts as asked of every response where as many judgments were planned; else those
    count that are there, as in a rotation.

    Args:
        panel: its judgments.
        prompt: shape (R,), codes.
    """
    scored: npt.NDArray[np.bool_] = np.asarray(np.isfinite(panel.scores).any(axis=4))
    n_scored = scored.sum(axis=(0, 3))
    grid = sum(panel.status.values(), np.zeros_like(n_scored))
    judges = (grid > 0) | (n_scored > 0)
    every = scored | (judges[:, :, None] & (panel.n_planned > 0)[:, None, None, None])
    is_whole = np.array_equal(every.sum(axis=(1, 2, 3)), panel.n_planned)
    asked = every if is_whole else scored
    response, persona, model, repeat = np.nonzero(asked)
    if not len(response):
        return None
    design = design_of(
        prompt[response], response, persona, model, repeat=repeat, scored=scored[asked]
    )
    missing = [
        *fell_out("model", panel.models, grid.sum(axis=0), n_scored.sum(axis=0)),
        *fell_out("persona", panel.personas, grid.sum(axis=1), n_scored.sum(axis=1)),
    ]
    return replace(design, fell_out=tuple(missing))


def stored_study(estimates: pd.DataFrame) -> GStudy:
    """The variance components that `add_decision_study` has added, for designs of other panels."""
    found = {
        str(keys["group"]): figures
        for keys, figures in estimates_by(select(estimates, "components"), ["group"])
    }
    components = {name: figures["variance"].value for name, figures in found.items()}
    design = stored_design(estimates)
    return GStudy(
        components=components,
        levels={name: int(figures["n_levels"].value) for name, figures in found.items()},
        negative=tuple(name for name, value in components.items() if value < 0),
        few_levels=(),
        n=max((figures["n_levels"].n for figures in found.values()), default=0),
        replicated="rPM" in components if design is None else design.is_replicated,
    )


def _add_designs(out: Estimates, study: GStudy, here: DecisionStudy) -> None:
    most = most_judges(study)
    _add_design(out, "designs", here, group=THIS_PANEL)
    for best in best_designs(study, sorted({*BUDGETS, here.calls}), most=most):
        _add_design(out, "designs", best.design, group=str(best.budget))
    for one in smallest_designs(study, STANDARD_ERRORS, criterion="relative", most=most):
        _add_needed(out, one.design, one.standard_error, "order")
    for one in smallest_designs(study, STANDARD_ERRORS, criterion="absolute", most=most):
        _add_needed(out, one.design, one.standard_error, "level")


def _add_design(out: Estimates, table: str, design: DecisionStudy, **keys: str) -> None:
    is_within = design.target == "response_within_prompt"
    where = "within prompts" if is_within else "over prompts, of one response each"
    figures: dict[str, Estimate | float] = {
        "personas": design.personas,
        "models": design.models,
        "repeats": design.repeats,
        "calls": design.calls,
        "e_rho2": Estimate(
            design.e_rho2, unit="", method=f"expected generalizability, {where}",
            reason=f"responses {where} are not shown to differ"
            if math.isnan(design.e_rho2) else None,
        ),
        "standard_error": math.sqrt(design.relative_error),
    }  # fmt: skip
    out.add_all(table, figures, **keys)


def _add_needed(out: Estimates, design: DecisionStudy | None, wanted: float, aim: str) -> None:
    keys = {"group": f"{wanted:g}", "detail": aim}
    if design is None:
        none = undefined(NO_DESIGN, unit="", method="count")
        out.add("designs needed", "calls", none, **keys)
    else:
        _add_design(out, "designs needed", design, **keys)


def most_judges(study: GStudy) -> tuple[int, int, int]:
    """The most personas, models and repeats that a design may have.

    A facet of one level has no component of its own: its gain cannot be foreseen.
    """
    return (
        100 if study.levels.get("P", 1) > 1 else 1,
        20 if study.levels.get("M", 1) > 1 else 1,
        10 if study.replicated else 1,
    )


def _no_variance(study: GStudy, scores: Floats) -> str | None:
    """Why components tell nothing: judgments that are all alike have none above 0.

    Every standard error would then be 0, and one judge enough for anything.
    """
    largest = max((v for v in study.components.values() if not math.isnan(v)), default=math.nan)
    if largest > 1e-12 * max(float(np.nanmean(scores**2)), 1e-30):
        return None
    return "no variance component is positive: the judgments do not differ"


BELOW_ZERO = "below 0: the model is wrong"
"""The verdict on a component that no sum of such effects can have."""

WRONG_MODEL_ALPHA = 0.05


def below_zero(study: GStudy) -> tuple[str, ...]:
    """Returns the components that are shown to be below 0, which no variance is.

    Measured where true components are 0 or more: one or more named in .077 and .073 of worlds of
    9 and 26 prompts of four (2,000 worlds, Monte Carlo error .006;
    benchmarks/simulate_calibration.py).
    """
    names = [name for name, one in study.intervals.items() if one.se > 0]
    blocks = min(len(study.left_out), BLOCKS)
    if not names or blocks < 2:
        return ()
    values = np.array([study.components[name] / study.intervals[name].se for name in names])
    p = holm(stdtr(blocks - 1, values).tolist())
    return tuple(name for name, one in zip(names, p, strict=True) if one < WRONG_MODEL_ALPHA)


def _wrong_model(names: tuple[str, ...]) -> str | None:
    in_errors = [name for name in names if name != "q"]
    if not in_errors:
        return None
    return (
        f"a variance component is below 0 beyond its error ({', '.join(in_errors)}): these "
        "judgments are no sum of such effects, as when judges are of different kinds"
    )


def _composite(scores: Floats) -> Floats:
    counts = np.isfinite(scores).sum(axis=4)
    sums = np.nansum(scores, axis=4)
    mean: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return mean


def _rows(scores: Floats, prompt: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """The responses that are used: all, or, of very many scores, those of prompts drawn."""
    per_response = np.isfinite(scores).sum(axis=(1, 2, 3))
    if per_response.sum() <= MOST_SCORES:
        return np.arange(len(scores))
    order = np.random.default_rng(seed).permutation(int(prompt.max()) + 1)
    taken = np.bincount(prompt, weights=per_response, minlength=len(order))[order]
    chosen = order[np.cumsum(taken) <= MOST_SCORES]
    return np.flatnonzero(np.isin(prompt, chosen))


def _component(study: GStudy, name: str, n_prompts: int) -> Estimate:
    value, method = study.components[name], "Henderson's method I"
    verdict = "below 0 within its error: counts as 0" if name in study.negative else None
    if name in study.intervals:
        found = study.intervals[name].of(method)
        # no variance is below 0; an estimate that is, is told by the verdict and keeps its limits
        return replace(cut_to_range(found, (0.0, math.inf)), verdict=verdict)
    low, high = level_bounds(study.levels[name])
    reason = study.reason or (
        f"{study.levels[name]} levels bound it by the factors {low:.2f} and {high:.1f}"
        if math.isfinite(low)
        else "one level"
    )
    return Estimate(
        value, n=study.levels[name], unit="level", method=method, reason=reason, verdict=verdict
    )
