"""How many independent judges a panel is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .decision_study import (
    Layout,
    crossed_layout,
    is_replicated,
    layout_of,
    target_of,
)
from .design import Target
from .estimate import Estimate, undefined
from .generalizability import RESIDUAL, GStudy, henderson_of_many, panel_cells, panel_g_study
from .jackknife import jackknife
from .pair_counting import Labels, group_codes
from .ratings import Ratings, prompt_tables

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NULL_BATCH: Final = 50
"""Null panels drawn at once."""


@dataclass(frozen=True, slots=True)
class EffectiveJudges:
    """The effective number of judges of a panel.

    Attributes:
        kish: k / (1 + (k - 1) rho) with rho the mean pairwise correlation of errors; without an
            interval. Infinite where the errors cancel out.
        null: what `kish` comes out as for so many *independent* judges on so many items: the
            median with 2.5% to 97.5%. A panel inside is not shown to share errors: the verdict.
        variance_ratio: mean variance of a judge's error over the variance of the mean error;
            needs no exchangeable judges.
        mean_correlation: rho.
    """

    kish: Estimate
    null: Estimate
    variance_ratio: float = math.nan
    mean_correlation: float = math.nan


def effective_judges_from_components(
    components: GStudy | Mapping[str, float], *, personas: int, models: int, repeats: int = 1
) -> float:
    """Returns how many independent single judgments a panel is worth, from a G-study.

    n_eff = (s2_rP + s2_rM + s2_rPM + s2_e) / (relative error of the panel mean): errors of
    responses to one prompt; of a study with one response a prompt, errors of responses wherever
    they stand, with qP and qM in place of rP and rM. nan where no component of error is positive.

    Raises:
        ValueError: as `d_study`.

    Source: the ratio of design effects, Kish (1965), Survey Sampling, ch. 8, on the components of
    Brennan (2001), Generalizability Theory.
    """
    if min(personas, models, repeats) < 1:
        raise ValueError(
            f"personas, models and repeats must be at least 1, got {personas}, {models}, {repeats}"
        )
    layout = crossed_layout(
        personas, models, repeats,
        target=target_of(components), is_replicated=is_replicated(components),
    )  # fmt: skip
    return worth_of_layout(components, layout)


def worth_of_layout(components: GStudy | Mapping[str, float], layout: Layout) -> float:
    """Returns the worth of the judgments of a layout: `layout_of` those that were really scored.

    The error of one judgment over that of the mean, of what does not cancel between the responses
    that are compared. Where judges differ from response to response, in a rotation, that is also
    how harsh each is. nan where no component of error is positive; negative ones count as 0.

    Raises:
        ValueError: an undefined component.
    """
    given = components.components if isinstance(components, GStudy) else components
    s2 = {name: max(float(value), 0.0) for name, value in given.items()}
    if any(math.isnan(value) for value in given.values()):
        raise ValueError("a worth needs defined components, got nan")
    mean = layout.relative_error(s2)
    # never more than were given: what cancels is rounded apart from what does not
    return min(layout.error_of_one(s2) / mean, layout.judgments) if mean > 0 else math.nan


def effective_judges(
    scores: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    groups: Labels | None = None,
    reference_noise: float = 0.0,
    draws: int = 1000,
    seed: int = 0,
) -> EffectiveJudges:
    """Returns the effective number of judges from their errors against a reference.

    The error of judge j on item i is score - reference; each judge's own level (severity) is
    taken out, within each group where groups are given. Correlations are of errors, never of
    scores: scores share the truth, and that is not redundancy. A reference that is itself noisy
    (a mean of m humans) lends its noise to all errors alike and makes judges look redundant;
    its variance s2_human / m is subtracted from every variance and covariance.

    There is no interval: what independent judges come out as says how much the figure can tell.
    How often the null's limits hold independent judges is not simulated. What is measured is the
    interval of the worth from components, a jackknife over prompts: see `worth_of_components`.

    Args:
        scores: shape (items, judges), nan where missing; covariances use the common items.
        reference: shape (items,), nan where there is none.
        groups: one label an item; errors are then centred within groups.
        reference_noise: error variance of a reference value, at least 0.
        draws: independent panels simulated for the null, with the same items, missing cells,
            error variances and reference noise; 0 for none.
        seed: of the simulation.

    Returns:
        nan with a reason for fewer than two judges, judge pairs without three common degrees of
        freedom, errors that do not vary, or an error variance that the reference noise uses up.
        Infinite, with the reason, where the errors cancel out in the mean.

    Raises:
        ValueError: shapes that do not fit, or a negative noise.

    Source: Kish (1965), Survey Sampling, ch. 8, for the form k / (1 + (k - 1) rho).
    """
    table = np.asarray(scores, dtype=np.float64)
    truth = np.asarray(reference, dtype=np.float64)
    if table.ndim != 2 or truth.shape != table.shape[:1]:
        raise ValueError(
            "scores must be (items, judges) with one reference an item, got "
            f"{table.shape} and {truth.shape}"
        )
    if not reference_noise >= 0 or draws < 0:
        raise ValueError(f"noise and draws must be at least 0, got {reference_noise}, {draws}")
    codes, labels = group_codes(groups, len(table))
    known = np.isfinite(truth)
    errors = (table - truth[:, None])[known]
    codes = codes[known]
    mask = np.isfinite(errors)
    method = "Kish's number of the judges' errors against people"

    def none(reason: str) -> EffectiveJudges:
        return EffectiveJudges(
            undefined(reason, unit="response", method=method, n=len(errors)),
            undefined("not simulated", unit="simulation"),
        )

    if table.shape[1] < 2:
        return none("fewer than two judges")
    members = [np.flatnonzero(codes == code) for code in range(len(labels))]
    members = [rows for rows in members if len(rows) > 1]
    covariance, df = _covariances(np.where(mask, errors, 0.0)[None], mask, members)
    if (df < 3).any():
        return none("some judges share fewer than three comparable items")
    own = np.diag(covariance[0])
    if (own <= 1e-12 * max(float(np.nanmax(errors**2)), 1.0)).any():
        return none("a judge's errors are the same throughout: they do not vary")
    shared = covariance[0] - reference_noise
    if (np.diag(shared) <= 0).any():
        return none("the reference noise is as large as a judge's whole error")
    rho, kish, ratio = _figures(shared[None])
    found = Estimate(
        float(kish[0]), n=len(errors), unit="response", method=method,
        reason="no interval: what independent judges come out as stands beside it"
        if np.isfinite(kish[0])
        else "the judges' errors cancel out in their mean: worth any number of judges",
    )  # fmt: skip
    low = median = high = math.nan
    if draws:
        drawn = _null(np.diag(shared), reference_noise, mask, members, draws, seed)
        low, median, high = _quantiles(drawn, (0.025, 0.5, 0.975))
    missing = None if draws else "not simulated"
    if draws and not math.isfinite(high):
        missing = "infinite: errors of so few responses can cancel out by chance"
    side = against_null(found.value, low, high)
    low, median, high = (one if math.isfinite(one) else math.nan for one in (low, median, high))
    null = Estimate(
        median, low, high, n=draws, unit="simulation", reason=missing,
        method=f"2.5% to 97.5% of {draws} panels of independent judges with as large errors",
        verdict=side,
    )  # fmt: skip
    return EffectiveJudges(found, null, float(ratio[0]), float(rho[0]))


def against_null(worth: float, low: float, high: float) -> str | None:
    """On which side of what independent judges come out as a panel stands; None where unknown."""
    if not math.isfinite(low) or not math.isfinite(worth):
        return None
    if worth < low:
        return "below: errors are shared"
    return "above: errors offset each other" if worth > high else "inside: no shared errors shown"


def _covariances(
    errors: Floats, mask: npt.NDArray[np.bool_], members: list[npt.NDArray[np.intp]]
) -> tuple[Floats, Floats]:
    """Returns pairwise covariances (draws, J, J) within groups, and their degrees of freedom.

    A pair's means are taken over its common items, group by group: a judge's mean over other
    items would bring in who was missing.
    """
    judges = mask.shape[1]
    products = np.zeros((len(errors), judges, judges))
    df = np.zeros((judges, judges))
    for rows in members:
        part = errors[:, rows]
        there = mask[rows].astype(np.float64)
        n = there.T @ there
        sums = np.swapaxes(part, 1, 2) @ there
        products += np.swapaxes(part, 1, 2) @ part - sums * np.swapaxes(sums, 1, 2) / np.maximum(
            n, 1
        )
        df += np.maximum(n - 1, 0)
    return products / np.maximum(df, 1), df


def _figures(covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns mean correlation, Kish and variance-ratio numbers of each covariance matrix."""
    k = covariance.shape[1]
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    kept = np.where(variance > 0, variance, np.nan)
    correlation = covariance / np.sqrt(kept[:, :, None] * kept[:, None, :])
    rho = (correlation.sum(axis=(1, 2)) - k) / (k * (k - 1))
    inflation = 1 + (k - 1) * rho
    of_mean = covariance.sum(axis=(1, 2)) / k**2
    # errors that cancel out leave nothing to divide by: as many judges as one likes
    kish = np.where(inflation > 0, k / np.where(inflation > 0, inflation, 1), np.inf)
    ratio = np.where(of_mean > 0, variance.mean(axis=1) / np.where(of_mean > 0, of_mean, 1), np.inf)
    return rho, np.where(np.isnan(rho), np.nan, kish), ratio


def _null(
    variances: Floats,
    noise: float,
    mask: npt.NDArray[np.bool_],
    members: list[npt.NDArray[np.intp]],
    draws: int,
    seed: int,
) -> Floats:
    rng = np.random.default_rng(seed)
    found = []
    for start in range(0, draws, NULL_BATCH):
        batch = min(NULL_BATCH, draws - start)
        own = rng.normal(size=(batch, *mask.shape)) * np.sqrt(variances)
        human = rng.normal(size=(batch, len(mask), 1)) * np.sqrt(noise)
        covariance, _ = _covariances(np.where(mask, own - human, 0.0), mask, members)
        found.append(_figures(covariance - noise)[1])
    return np.concatenate(found)


def _quantiles(values: npt.NDArray[np.float64], levels: tuple[float, ...]) -> tuple[float, ...]:
    """Order statistics: numpy's interpolation makes nan of two infinities."""
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return (float("nan"),) * len(levels)
    return tuple(float(ordered[round(level * (len(ordered) - 1))]) for level in levels)


DRAWS: Final = 200

MOST_SEVERITY: Final = 0.05
"""Share of the error that personas and models may make by their severities, for an interval."""

_PANEL: Final = "simulation"

SHARED: Final[Mapping[Target, tuple[str, ...]]] = {
    "response_within_prompt": ("rP", "rM", "rPM"),
    "response": ("qP", "qM", "rP", "rM", "rPM"),
}
"""Components by which judgments of one response err alike, by what is told apart."""


def independent_worth(
    scores: npt.ArrayLike,
    *,
    prompt: Sequence[Any] | npt.NDArray[Any],
    components: Mapping[str, float] | None = None,
    is_adjusted: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Estimate:
    """Returns what so many independent judges come out as on such data: the median, with 95% of it.

    Panels are drawn with the same cells missing, the same variances of prompts, responses and
    severities, and the same variance of a single judgment's error, of which nothing is shared:
    s2_rP + s2_rM + s2_rPM + s2_e all fall to the residual; with one response a prompt so do s2_qP
    and s2_qM. Each is put through Henderson's method I as the panel was. A panel inside the limits
    is not shown to share errors; the upper limit is mostly the panel's size, since estimates below
    0 count as 0.

    Measured at 9 and 26 prompts of six responses, four personas and three models, 15% missing
    (benchmarks/simulate.py effective-judges, 100 panels of independent judges): .030 of them below
    the lower limit, nominal .025 (Monte Carlo error .017).

    Args:
        scores: shape (R, P, M) or (R, P, M, repeats), nan where missing.
        prompt: R prompt ids.
        components: of `panel_g_study`, where they are known already.
        is_adjusted: as in `layout_of`.
        draws: panels drawn.
        seed: of the draws.

    Raises:
        ValueError: as `panel_g_study`, or draws below 1.

    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    table = np.asarray(scores, dtype=np.float64)
    study = panel_g_study(table, prompt=prompt, jackknife=False)
    if components is None:
        components = study.components
    y, codes, *_ = panel_cells(table, prompt)
    found = {name: max(float(value), 0.0) for name, value in components.items()}
    shared = SHARED[target_of(study)]
    error = sum(found.get(name, 0.0) for name in (*shared, RESIDUAL))
    if any(math.isnan(value) for value in components.values()) or not error > 0:
        return undefined("no component of error is known and positive", unit=_PANEL)
    rng = np.random.default_rng(seed)
    kept = [(code, found.get(name, 0.0)) for name, code in codes.items() if name not in shared]

    def panels() -> Iterator[Floats]:
        for _ in range(draws):
            drawn: Floats = rng.normal(scale=math.sqrt(error), size=len(y))
            for code, variance in kept:
                if variance > 0:
                    levels = int(code.max()) + 1
                    drawn += rng.normal(scale=math.sqrt(variance), size=levels)[code]
            yield drawn

    estimates = henderson_of_many(panels(), list(codes.values()), n=len(y))
    layout = layout_of(table, prompt, study, is_adjusted=is_adjusted)
    worths = np.array(
        [
            worth_of_layout(dict(zip([*codes, RESIDUAL], row, strict=True)), layout)
            for row in estimates.tolist()
        ]
    )
    known = np.sort(worths[np.isfinite(worths)])
    if not len(known):
        return undefined("no panel drawn has a worth", unit=_PANEL)
    low, median, high = np.quantile(known, [0.025, 0.5, 0.975])
    return Estimate(
        float(median), float(low), float(high), len(known), _PANEL,
        f"2.5% to 97.5% of {len(known)} panels whose judgments share no error",
    )  # fmt: skip


def worth_of_components(study: GStudy, layout: Layout, n_prompts: int, level: float) -> Estimate:
    """Returns the worth of a panel, with an interval from components as they were estimated.

    A negative estimate counts as 0 in the worth itself. In the interval it keeps its sign: cut at
    0 the worth would be the panel's size without every prompt alike, and seem to be known exactly.
    There is none where the severity of judges who differ from response to response makes more than
    `MOST_SEVERITY` of the error, as it does of plain means in a rotation.

    Measured coverage of the 95% interval (benchmarks/simulate.py effective-judges, four personas
    and three models, 15% missing, means of the additive fit, worth 5.6 of 12): .975, .953, .968 at
    9, 26, 100 prompts (400 worlds, Monte Carlo error .008 to .011); of independent judges .940,
    .970 at 9, 26 prompts (100 worlds, .024). By benchmarks/simulate.py judges-by-design: one
    response a prompt .950 (60 worlds, .028); six of thirty judges a response .975, the same with
    one response .950 (200 worlds, .015). Where one of three models fell out after a third it is too
    short: .880 (.023).

    Args:
        study: of `panel_g_study`.
        layout: `layout_of` the same scores, or `crossed_layout` of a panel.
        n_prompts: of the study.
        level: nominal coverage.
    """
    method = "variance of one judgment's error over that of the panel mean, on the logarithm"
    size = layout.judgments
    if not set(SHARED[layout.target]) & set(study.components):
        shape = "one judge" if round(size) == 1 else "with one model, or one persona,"
        return undefined(
            f"{shape} what judges share does not show in their scores", unit="prompt", method=method
        )
    found = worth_of_layout(study, layout)
    if not found > 0:
        return undefined("no component of error is positive", unit="prompt", method=method)
    s2 = {name: max(value, 0.0) for name, value in study.components.items()}
    severity = {name: value for name, value in s2.items() if name in ("P", "M", "PM")}
    if layout.relative_error(severity) > MOST_SEVERITY * layout.relative_error(s2):
        return Estimate(
            found, n=n_prompts, unit="prompt", method=method,
            reason="no interval: how harsh each judge is does not cancel between responses with "
            "other judges, and prompts do not show how much that varies",
        )  # fmt: skip
    signed = _signed_worth(study.components, layout)
    left_out = np.array([_signed_worth(components, layout) for components in study.left_out])
    counted = (*SHARED[layout.target], RESIDUAL)
    negative = [name for name in study.negative if name in counted]
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
        high=max(min(math.exp(min(number.high, 700.0)), size), found),
    )


def _signed_worth(components: Mapping[str, float], layout: Layout) -> float:
    """The logarithm of the worth, components as estimated; nan where a variance is not positive."""
    one, mean = layout.error_of_one(components), layout.relative_error(components)
    return math.log(one / mean) if one > 0 and mean > 0 else math.nan


def rating_noise(ratings: Ratings) -> float:
    """Returns the error variance of a mean rating within prompts: s²_e / m̄; nan if unknown."""
    squares = df = raters = cells = 0.0
    for tables in prompt_tables(ratings):
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
