"""How many independent judges a panel is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .decision_study import d_study
from .estimate import Estimate, undefined
from .generalizability import RESIDUAL, GStudy, henderson_of_many, panel_design, panel_g_study
from .pair_counting import Labels, group_codes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NULL_BATCH: Final = 50
"""Null panels drawn at once."""


@dataclass(frozen=True, slots=True)
class EffectiveJudges:
    """The effective number of judges of a panel.

    Attributes:
        kish: k / (1 + (k - 1) rho) with rho the mean pairwise correlation of errors.
        variance_ratio: mean variance of a judge's error over the variance of the mean error;
            needs no exchangeable judges.
        mean_correlation: rho.
        null_low, null_median, null_high: what `kish` comes out as for so many *independent*
            judges on so many items (2.5%, 50%, 97.5%). A panel inside is not shown to share
            errors.
        n_judges, n_items: judges, and items with a reference.
        reason: why figures are nan or infinite, or None.
    """

    kish: float
    variance_ratio: float
    mean_correlation: float
    null_low: float
    null_median: float
    null_high: float
    n_judges: int
    n_items: int
    reason: str | None = None


def effective_judges_from_components(
    components: GStudy | Mapping[str, float], *, personas: int, models: int, repeats: int = 1
) -> float:
    """Returns how many independent single judgments a panel is worth, from a G-study.

    n_eff = (s2_rP + s2_rM + s2_rPM + s2_e) / (relative error of the panel mean): errors of
    responses to one prompt. nan where no component of error is positive.

    Raises:
        ValueError: as `d_study`.

    Source: the ratio of design effects, Kish (1965), Survey Sampling, ch. 8, on the components of
    Brennan (2001), Generalizability Theory.
    """
    one = d_study(components, personas=1, models=1).relative_error
    panel = d_study(components, personas=personas, models=models, repeats=repeats).relative_error
    return one / panel if panel > 0 else float("nan")


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
    interval of the worth from components (`effective_judges_from_components`, jackknife over
    prompts in a calibration): see `calibration.panel_worth.worth_of_components`.

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
    judges = table.shape[1]
    nan = float("nan")

    def undefined(reason: str) -> EffectiveJudges:
        return EffectiveJudges(nan, nan, nan, nan, nan, nan, judges, len(errors), reason)

    if judges < 2:
        return undefined("fewer than two judges")
    members = [np.flatnonzero(codes == code) for code in range(len(labels))]
    members = [rows for rows in members if len(rows) > 1]
    covariance, df = _covariances(np.where(mask, errors, 0.0)[None], mask, members)
    if (df < 3).any():
        return undefined("some judges share fewer than three comparable items")
    own = np.diag(covariance[0])
    if (own <= 1e-12 * max(float(np.nanmax(errors**2)), 1.0)).any():
        return undefined("a judge's errors are the same throughout: they do not vary")
    shared = covariance[0] - reference_noise
    if (np.diag(shared) <= 0).any():
        return undefined("the reference noise is as large as a judge's whole error")
    rho, kish, ratio = _figures(shared[None])
    low = median = high = nan
    if draws:
        null = _null(np.diag(shared), reference_noise, mask, members, draws, seed)
        low, median, high = _quantiles(null, (0.025, 0.5, 0.975))
    return EffectiveJudges(
        kish=float(kish[0]),
        variance_ratio=float(ratio[0]),
        mean_correlation=float(rho[0]),
        null_low=low,
        null_median=median,
        null_high=high,
        n_judges=judges,
        n_items=len(errors),
        reason=None if np.isfinite(kish[0])
        else "the judges' errors cancel out in their mean: worth any number of judges",
    )  # fmt: skip


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

_PANEL: Final = "simulation"

SHARED: Final = ("rP", "rM", "rPM")
"""Components by which judgments of one response err alike."""


def independent_worth(
    scores: npt.ArrayLike,
    *,
    prompt: Sequence[Any] | npt.NDArray[Any],
    components: Mapping[str, float] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Estimate:
    """Returns what so many independent judges come out as on such data: the median, with 95% of it.

    Panels are drawn with the same cells missing, the same variances of prompts, responses and
    severities, and the same variance of a single judgment's error, of which nothing is shared:
    s2_rP + s2_rM + s2_rPM + s2_e all fall to the residual. Each is put through Henderson's method
    I as the panel was. A panel inside the limits is not shown to share errors; the upper limit is
    mostly the panel's size, since estimates below 0 count as 0.

    Measured at 9 prompts of six responses, four personas and three models, 15% missing
    (benchmarks/simulate_panel_size.py, 700 panels of independent judges): .023 of them below the
    lower limit, nominal .025 (Monte Carlo error .006).

    Args:
        scores: shape (R, P, M) or (R, P, M, repeats), nan where missing.
        prompt: R prompt ids.
        components: of `panel_g_study`, where they are known already.
        draws: panels drawn.
        seed: of the draws.

    Raises:
        ValueError: as `panel_g_study`, or draws below 1.

    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    table = np.asarray(scores, dtype=np.float64)
    if components is None:
        components = panel_g_study(table, prompt=prompt, jackknife=False).components
    y, codes, _, _ = panel_design(table, prompt)
    found = {name: max(float(value), 0.0) for name, value in components.items()}
    error = sum(found.get(name, 0.0) for name in (*SHARED, RESIDUAL))
    if any(math.isnan(value) for value in components.values()) or not error > 0:
        return undefined("no component of error is known and positive", unit=_PANEL)
    rng = np.random.default_rng(seed)
    kept = [(code, found.get(name, 0.0)) for name, code in codes.items() if name not in SHARED]

    def panels() -> Iterator[Floats]:
        for _ in range(draws):
            drawn: Floats = rng.normal(scale=math.sqrt(error), size=len(y))
            for code, variance in kept:
                if variance > 0:
                    levels = int(code.max()) + 1
                    drawn += rng.normal(scale=math.sqrt(variance), size=levels)[code]
            yield drawn

    estimates = henderson_of_many(panels(), list(codes.values()), n=len(y))
    personas, models = table.shape[1], table.shape[2]
    repeats = table.shape[3] if table.ndim == 4 else 1
    worths = np.array(
        [
            effective_judges_from_components(
                dict(zip([*codes, RESIDUAL], row, strict=True)),
                personas=personas, models=models, repeats=repeats,
            )
            for row in estimates.tolist()
        ]
    )  # fmt: skip
    known = np.sort(worths[np.isfinite(worths)])
    if not len(known):
        return undefined("no panel drawn has a worth", unit=_PANEL)
    low, median, high = np.quantile(known, [0.025, 0.5, 0.975])
    return Estimate(
        float(median), float(low), float(high), len(known), _PANEL,
        f"2.5% to 97.5% of {len(known)} panels whose judgments share no error",
    )  # fmt: skip
