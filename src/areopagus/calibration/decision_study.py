"""How many judges are enough: variance components, effective number, best designs by budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..aggregation.decision_study import (
    DecisionStudy,
    best_designs,
    d_study,
    smallest_designs,
)
from ..aggregation.effective_judges import (
    SHARED,
    effective_judges,
    effective_judges_from_components,
    independent_worth,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.generalizability import RESIDUAL, GStudy, level_bounds, panel_g_study
from ..aggregation.jackknife import cut_to_range, jackknife
from ..aggregation.ratings import prompt_tables
from ..records.estimates import Estimates
from .dataset import Dataset, Target

Floats = npt.NDArray[np.float64]

BUDGETS = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120)
"""Calls a response for which the best design is named."""

STANDARD_ERRORS = (1.0, 0.75, 0.5, 0.35, 0.25)
"""Wanted standard errors of a score, in points, for which the cheapest design is named."""

MOST_SCORES = 200_000
"""Scores used for the components; of more, whole prompts are drawn."""

NULL_DRAWS = 200
MOST_NULL_CELLS = 100_000
"""Panels drawn for the null of the errors, and the scores from which on none are."""

THIS_PANEL = "this panel"

NO_DESIGN = "no design that was looked at reaches it"


def add_decision_study(
    out: Estimates,
    dataset: Dataset,
    target: Target | None,
    *,
    levels: Target | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> None:
    """Adds what the panel's own variance says about its size.

    "components"   variance components of single judgments, by effect (`group`): a negative
                   estimate is shown as it is, says so, and counts as 0; n_levels beside it
    "size"         worth: independent judgments that the panel is worth, from the components; its
                   interval is a jackknife over prompts on the logarithm, for these personas and
                   models. worth_by_errors: the same from the judges' errors against people (Kish),
                   where people gave scores; without an interval. worth_if_independent and
                   worth_by_errors_if_independent: what so many independent judges come out as,
                   2.5%, 50% and 97.5% of simulations on data of this shape: no interval of the
                   panel's own figure
    "designs"      the best design for each budget of calls a response (`group`), and this panel's:
                   its expected reliability e_rho2 and standard error within prompts
    "designs needed"  the fewest calls a response that reach a standard error (`group`), of the
                   "order" of responses to one prompt (relative error) or the "level" of a score
                   (absolute error, with what personas and models add to all responses alike)

    The components need no people; only the errors do. Coverage of their jackknife intervals:
    see `aggregation.generalizability.panel_g_study`.

    Args:
        out: takes the figures.
        dataset: with a panel.
        target: the main target: its criterion is the panel's whose variance is taken apart.
        levels: what errors are of; the main target where that holds scores.
        level: nominal coverage.
        seed: of samples and nulls.
    """
    if levels is None and target is not None and target.ratings.kind == "score":
        levels = target
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
    P, M, T = panel.shape
    study = panel_g_study(scores[rows], prompt=prompt[rows], level=level)
    n_prompts = len(np.unique(prompt[rows]))
    n_all = int(np.isfinite(scores).sum())
    n_scores = Estimate(
        study.n, n=study.n, n_planned=n_all, unit="judgment", method="count", level=math.nan
    )
    out.add("size", "n_scores", n_scores)
    for name in study.components:
        keys = {"factor": "component", "group": name}
        out.add("components", "variance", _component(study, name, n_prompts), **keys)
        out.add("components", "n_levels", study.levels[name], **keys)
    reason = study.reason or _no_variance(study, scores[rows])
    worth = undefined(reason or "the design holds no error component", unit="judgment")
    if reason is None and not any(math.isnan(v) for v in study.components.values()):
        _add_designs(out, study, (P, M, T))
        worth = worth_of_components(study, (P, M, T), n_prompts, level)
        if worth.is_defined:
            found = independent_worth(
                scores[rows], prompt=prompt[rows], components=study.components, seed=seed
            )
            side = _side(worth.value, found.low, found.high)
            out.add("size", "worth_if_independent", replace(found, verdict=side))
    else:
        why = undefined(reason or "a variance component is not known")
        out.add("designs", "e_rho2", why, group=THIS_PANEL)
    out.add("size", "worth", worth)
    _add_worth_by_errors(out, dataset, target, levels, seed)


def _add_designs(out: Estimates, study: GStudy, shape: tuple[int, int, int]) -> None:
    P, M, T = shape
    most = most_judges(study.levels, is_replicated=study.replicated)
    here = d_study(study, personas=P, models=M, repeats=T)
    _add_design(out, "designs", here, group=THIS_PANEL)
    for best in best_designs(study, sorted({*BUDGETS, P * M * T}), most=most):
        _add_design(out, "designs", best.design, group=str(best.budget))
    for one in smallest_designs(study, STANDARD_ERRORS, criterion="relative", most=most):
        _add_needed(out, one.design, one.standard_error, "order")
    for one in smallest_designs(study, STANDARD_ERRORS, criterion="absolute", most=most):
        _add_needed(out, one.design, one.standard_error, "level")


def _add_design(out: Estimates, table: str, design: DecisionStudy, **keys: str) -> None:
    figures: dict[str, Estimate | float] = {
        "personas": design.personas,
        "models": design.models,
        "repeats": design.repeats,
        "calls": design.calls,
        "e_rho2": Estimate(
            design.e_rho2, unit="", method="expected generalizability within prompts",
            reason="responses within prompts are not shown to differ"
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


def most_judges(levels: Mapping[str, int], *, is_replicated: bool) -> tuple[int, int, int]:
    """The most personas, models and repeats that a design may have.

    A facet of one level has no component of its own: its gain cannot be foreseen.

    Args:
        levels: effect to its number of levels.
        is_replicated: whether judges were asked again.
    """
    return (
        100 if levels.get("P", 1) > 1 else 1,
        20 if levels.get("M", 1) > 1 else 1,
        10 if is_replicated else 1,
    )


def _side(worth: float, low: float, high: float) -> str | None:
    """On which side of what independent judges come out as a panel stands."""
    if not math.isfinite(low) or not math.isfinite(worth):
        return None
    if worth < low:
        return "below: errors are shared"
    return "above: errors offset each other" if worth > high else "inside: no shared errors shown"


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
    verdict = "negative: counts as 0" if name in study.negative else None
    if name in study.intervals:
        found = study.intervals[name].of(method)
        # no variance is below 0, though an unbiased estimate of a small one may be
        return replace(cut_to_range(found, (min(0.0, value), math.inf)), verdict=verdict)
    low, high = level_bounds(study.levels[name])
    reason = study.reason or (
        f"{study.levels[name]} levels bound it by the factors {low:.2f} and {high:.1f}"
        if math.isfinite(low)
        else "one level"
    )
    return Estimate(
        value, n=study.levels[name], unit="level", method=method, reason=reason, verdict=verdict
    )


def worth_of_components(
    study: GStudy, panel: tuple[int, int, int], n_prompts: int, level: float
) -> Estimate:
    """Returns the worth of a panel, with an interval from components as they were estimated.

    A negative estimate counts as 0 in the worth itself. In the interval it keeps its sign: cut at
    0 the worth would be the panel's size without every prompt alike, and seem to be known exactly.

    Measured coverage of the 95% interval (benchmarks/simulate_panel_size.py, four personas and
    three models, 15% missing, worth 6.2 of 12): .959 at 9 prompts, .952 at 26 (Monte Carlo error
    .005, .010); of independent judges, worth 12 of 12, .961 at 9 prompts (.007).
    """
    method = "variance of one judgment's error over that of the panel mean, on the logarithm"
    size = math.prod(panel)
    if not set(SHARED) & set(study.components):
        shape = "one judge" if size == 1 else "with one model, or one persona,"
        return undefined(
            f"{shape} what judges share does not show in their scores", unit="prompt", method=method
        )
    personas, models, repeats = panel
    found = effective_judges_from_components(
        study, personas=personas, models=models, repeats=repeats
    )
    if not found > 0:
        return undefined("no component of error is positive", unit="prompt", method=method)
    signed = _signed_worth(study.components, panel)
    left_out = np.array([_signed_worth(components, panel) for components in study.left_out])
    negative = [name for name in study.negative if name in (*SHARED, RESIDUAL)]
    if negative:
        method += f"; in the interval negative components ({', '.join(negative)}) keep their sign"
    number = jackknife(signed, left_out, n=n_prompts, method=method, level=level)
    if not number.has_interval:
        reason = number.reason
        is_whole = not any(math.isnan(v) for parts in study.left_out for v in parts.values())
        if math.isnan(signed) or (is_whole and np.isnan(left_out).any()):
            reason = "no interval: components of error below 0 outweigh the others"
        return replace(number, value=found, reason=reason)
    # A panel is worth at least one judgment and at most as many as it gives.
    return replace(
        number,
        value=found,
        low=min(max(math.exp(number.low), 1.0), found),
        high=max(min(math.exp(min(number.high, 700.0)), float(size)), found),
    )


def _signed_worth(components: Mapping[str, float], panel: tuple[int, int, int]) -> float:
    """The logarithm of the worth, components as estimated; nan where a variance is not positive."""
    personas, models, repeats = panel
    judges = personas * models
    # as in `d_study`: without rPM the residual holds it, and repeats do not shrink it
    divisor = {
        "rP": personas, "rM": models, "rPM": judges,
        RESIDUAL: judges * repeats if "rPM" in components else judges,
    }  # fmt: skip
    one = sum(components.get(name, 0.0) for name in divisor)
    mean = sum(components.get(name, 0.0) / n for name, n in divisor.items())
    return math.log(one / mean) if one > 0 and mean > 0 else math.nan


def human_noise(target: Target) -> float:
    """Returns the error variance of a mean rating within prompts: s²_e / m̄; nan if unknown."""
    squares = df = raters = cells = 0.0
    for tables in prompt_tables(target.ratings):
        for table, complete in zip(tables.values, tables.complete, strict=True):
            whole = table[complete]
            m, n = whole.shape
            if m < 2:
                continue
            residual = whole - whole.mean(axis=0) - whole.mean(axis=1)[:, None] + whole.mean()
            squares += float((residual**2).sum())
            df += (m - 1) * (n - 1)
            raters += m
            cells += 1
    return squares / df / (raters / cells) if df else math.nan


def _add_worth_by_errors(
    out: Estimates, dataset: Dataset, target: Target | None, levels: Target | None, seed: int
) -> None:
    """Adds the worth of a panel from its errors against people, and its null."""
    method = "Kish's number of the judges' errors against people"
    panel = dataset.panel

    def without(reason: str) -> None:
        none = undefined(reason, unit="judge", method=method)
        out.add("size", "worth_by_errors", none)

    if target is None or panel is None:
        return without("people and panel share no criterion")
    if levels is None:
        return without("people gave ranks, which have no level to be wrong against")
    by_judge = panel.by_judge(levels.criterion)
    table = by_judge.reshape(len(by_judge), -1)
    table = table[:, np.isfinite(table).any(axis=0)]
    rows = np.flatnonzero(levels.both)
    noise = human_noise(levels)
    if math.isnan(noise):
        return without("no prompt has two complete raters: people's own error is not known")
    draws = NULL_DRAWS if len(rows) * table.shape[1] < MOST_NULL_CELLS else 0
    # judges whose errors cancel out are infinitely many: their null has infinite quantiles
    with np.errstate(invalid="ignore"):
        found = effective_judges(
            table[rows], levels.human[rows], groups=dataset.responses.prompt[rows],
            reference_noise=noise, draws=draws, seed=seed,
        )  # fmt: skip
    worth = Estimate(
        found.kish, n=found.n_items, unit="response", method=method,
        reason=found.reason or "no interval: what independent judges come out as stands beside it",
    )  # fmt: skip
    keys = {"criterion": levels.ratings.criterion, "detail": levels.ratings.kind}
    out.add("size", "worth_by_errors", worth, **keys)
    if math.isnan(found.kish):
        return None
    missing = None
    if not draws:
        missing = f"not simulated: {MOST_NULL_CELLS:,} scores or more"
    elif not math.isfinite(found.null_high):
        missing = "infinite: errors of so few responses can cancel out by chance"
    low, median, high = (
        limit if math.isfinite(limit) else math.nan
        for limit in (found.null_low, found.null_median, found.null_high)
    )
    null = Estimate(
        median, low=low, high=high, n=draws, unit="simulation", reason=missing,
        method=f"2.5% to 97.5% of {draws} panels of independent judges with as large errors",
        verdict=_side(found.kish, found.null_low, found.null_high),
    )  # fmt: skip
    return out.add("size", "worth_by_errors_if_independent", null, **keys)
