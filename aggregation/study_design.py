"""What a human study can show: the width of its intervals, its power, and the spread of people.

A response's quality and everybody's error are normal; raters share quality with correlation icc,
scores have no ties, and prompts are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from .alternative_annotator import PASSING_RATE, rank_differences, rates_of_worlds
from .generalizability import RESIDUAL, crossed, g_study
from .intervals import MIN_UNITS, fewest_units

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BATCH = 100
MOST_PROMPTS = 100_000


def half_width(prompts: int, spread: float, *, level: float) -> float:
    """t(Q - 1) x SD / sqrt(Q): the half-width of a mean over Q prompts, of this SD over prompts."""
    return float(stats.t.ppf((1 + level) / 2, prompts - 1)) * spread / math.sqrt(prompts)


def fewest_prompts(spread: float, wanted: float, *, level: float) -> int | None:
    """The fewest prompts, from six on, with at most the wanted half-width; None above 100,000."""
    most = MIN_UNITS
    while most <= MOST_PROMPTS and half_width(most, spread, level=level) > wanted:
        most *= 2
    if most > MOST_PROMPTS:
        return None
    return fewest_units(lambda n: half_width(n, spread, level=level) <= wanted, after=MIN_UNITS - 1)


def difference_spread(
    sd: float, icc: float, between_sd: float, *, raters: int, per_side: int
) -> float:
    """The SD over prompts of the difference of two sides that are rated on the same pages.

    With m raters and n responses a side and prompt, where what a rater or a prompt adds to all
    responses cancels:

        sqrt(2 sd² (icc + (1 - icc) / m) / n + between_sd²)
    """
    return math.sqrt(2 * sd**2 * (icc + (1 - icc) / raters) / per_side + between_sd**2)


def tau_spread(
    responses: int, raters: int, *, icc: float, panel_r: float, worlds: int, seed: int
) -> tuple[float, float, float]:
    """Mean and SD over prompts of the panel's tau-b with the raters' mean, and Monte Carlo error.

    The last is the standard error of the SD, from its fourth moment.

    Args:
        responses: of a prompt, 2 or more.
        raters: whose mean is compared.
        icc: correlation of two raters within a prompt.
        panel_r: correlation of the panel with what infinitely many raters would say.
        worlds: simulated prompts.
        seed: of everything drawn.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(worlds, responses))
    mean = quality + math.sqrt((1 / icc - 1) / raters) * rng.normal(size=quality.shape)
    panel = panel_r * quality + math.sqrt(1 - panel_r**2) * rng.normal(size=quality.shape)
    first, second = np.triu_indices(responses, k=1)
    signs = np.sign(mean[:, first] - mean[:, second]) * np.sign(panel[:, first] - panel[:, second])
    tau = signs.mean(axis=1)
    spread = float(tau.std(ddof=1))
    if spread == 0.0:
        return float(tau.mean()), 0.0, 0.0
    fourth = float(((tau - tau.mean()) ** 4).mean())
    error = math.sqrt(max(fourth - spread**4, 0.0) / worlds) / (2 * spread)
    return float(tau.mean()), spread, error


def alt_test_power(
    prompts: int,
    responses: int,
    raters: int,
    per_prompt: int,
    *,
    icc: float,
    panel_r: float,
    epsilon: float,
    worlds: int,
    seed: int,
) -> float:
    """How likely the panel passes the rank alt-test of `alt_test`.

    Units are prompts; a rater's closeness is tau-b with the mean of the prompt's other raters;
    Benjamini-Yekutieli at .05; passed from a winning rate of .5 on. nan where no rater has the six
    prompts that are needed, or a prompt has fewer than two raters.

    Args:
        prompts, responses: of the study, and of a prompt.
        raters: in all.
        per_prompt: raters of a prompt; dealt out in turn, so that loads differ by one at most.
        icc, panel_r: see `tau_spread`.
        epsilon: of the test.
        worlds: simulated studies; the Monte Carlo error is sqrt(p (1 - p) / worlds).
        seed: of everything drawn.
    """
    if per_prompt < 2 or prompts * per_prompt < MIN_UNITS * raters:
        return math.nan
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(prompts, dtype=np.int64), responses)
    rates = np.zeros((raters, prompts), dtype=bool)
    for prompt in range(prompts):
        rates[(prompt * per_prompt + np.arange(per_prompt)) % raters, prompt] = True
    missing = ~rates[:, groups]
    noise = math.sqrt(1 / icc - 1)
    passed = 0
    for start in range(0, worlds, BATCH):
        batch = min(BATCH, worlds - start)
        quality = rng.normal(size=(batch, prompts * responses))
        table = quality[:, None, :] + noise * rng.normal(size=(batch, raters, quality.shape[1]))
        table[:, missing] = np.nan
        error = rng.normal(size=quality.shape)
        judge = panel_r * quality + math.sqrt(1 - panel_r**2) * error
        differences = rank_differences(judge, table, groups)
        passed += int((rates_of_worlds(differences, epsilon) >= PASSING_RATE).sum())
    return passed / worlds


@dataclass(frozen=True, slots=True)
class RaterSpread:
    """How people's scores spread within prompts.

    Attributes:
        sd: sqrt(response + residual): of one rating within a prompt and side.
        icc: response / (response + residual): the correlation of two raters there.
        between_sd: SD over prompts of the true difference of people's and models' responses; 0
            where no more than chance is seen, nan where it cannot be told.
        n_both: prompts with both.
        reason: why there are no components, or None.
    """

    sd: float
    icc: float
    between_sd: float
    n_both: int
    reason: str | None


def rater_spread(
    values: Floats, *, prompt: Integers, response: Integers, rater: Integers, side: Integers
) -> RaterSpread:
    """Components of y = prompt + side + response + rater + residual, of ratings sorted by prompt.

    All effects but the first stand within prompts, so that neither a rater's level nor a prompt's
    is in any figure. Henderson's method I, after each side's mean was taken off; a negative
    component counts as 0. Where one response stands on each side, side and response are one: the
    sides are then left out, and what they differ by is in the response.

    Sides need not spread alike, so between² is not taken from their component but from the
    difference D of each prompt: a rater's mean of people's responses less that of models', averaged
    over the raters of both. With w the weight of a rating in it,

        Var(D) = between² + response sum_r (sum_h w_hr)² + residual sum_hr w_hr²

    and between² is the variance of D over prompts less the mean of the last two.

    Args:
        values, prompt, response, rater: of each rating.
        side: of each rating's response: 0 people, 1 models, -1 not known.
    """
    both = np.intersect1d(prompt[side == 0], prompt[side == 1])
    effects = {"prompt": prompt, "response": response, "rater": crossed(prompt, rater)}
    study = None
    if len(both):
        y = values.astype(np.float64)
        for one in np.unique(side).tolist():
            y[side == one] -= y[side == one].mean()
        study = g_study(y, {**effects, "side": crossed(prompt, side)})
    has_sides = study is not None and study.reason is None and len(both) >= MIN_UNITS
    if study is None or study.reason is not None:
        study = g_study(values.astype(np.float64), effects)
    nan = math.nan
    if study.reason is not None:
        return RaterSpread(nan, nan, nan, len(both), study.reason)
    of_response = max(study.components["response"], 0.0)
    residual = max(study.components[RESIDUAL], 0.0)
    total = of_response + residual
    # of scores that never vary rounding errors are left
    if not total > 1e-12:
        return RaterSpread(nan, nan, nan, len(both), "they do not vary within prompts")
    between = nan
    if has_sides:
        differences, noise = [], []
        starts = np.flatnonzero(np.diff(prompt, prepend=-1))
        for rows in np.split(np.arange(len(values)), starts[1:]):
            weight = _weights(rater[rows], side[rows])
            if weight is None:
                continue
            differences.append(float(weight @ values[rows]))
            _, code = np.unique(response[rows], return_inverse=True)
            by_response = np.bincount(code.reshape(-1), weights=weight)
            noise.append(
                of_response * float(by_response @ by_response) + residual * float(weight @ weight)
            )
        if len(differences) >= MIN_UNITS:
            excess = float(np.var(differences, ddof=1)) - float(np.mean(noise))
            between = math.sqrt(max(excess, 0.0))
    return RaterSpread(math.sqrt(total), of_response / total, between, len(both), None)


def _weights(rater: Integers, side: Integers) -> Floats | None:
    """Of each rating in its prompt's difference; None where no rater saw both sides."""
    weight = np.zeros(len(rater))
    n_raters = 0
    for one in np.unique(rater).tolist():
        people, models = (rater == one) & (side == 0), (rater == one) & (side == 1)
        if people.any() and models.any():
            weight[people] = 1 / people.sum()
            weight[models] = -1 / models.sum()
            n_raters += 1
    return weight / n_raters if n_raters else None
