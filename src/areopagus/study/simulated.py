"""Simulated studies: prompts of k responses, m raters each, and a panel of known worth.

A response's quality and everybody's error are normal; raters share quality with correlation icc,
scores have no ties, and prompts are alike.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from ..aggregation.alt_test import (
    FALSE_DISCOVERY_RATE,
    FEWEST_PROMPTS,
    PASSING_RATE,
    rank_differences,
    winning_rates,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BATCH = 100


def tau_spread(
    responses: int, raters: int, *, icc: float, panel_r: float, worlds: int, seed: int
) -> tuple[float, float, float]:
    """Returns mean and SD over prompts of the panel's tau-b with the raters' mean, and MC error.

    The last is the standard error of the SD, from its fourth moment.

    Args:
        responses: of a prompt, 2 or more.
        raters: whose mean is compared.
        icc, panel_r: see `assumptions`.
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
    """Returns how likely the panel passes the rank alt-test of `aggregation.alt_test`.

    Units are prompts; a rater's closeness is tau-b with the mean of the prompt's other raters;
    Benjamini-Yekutieli at .05; passed from a winning rate of .5 on. nan where no rater has the six
    prompts that are needed, or a prompt has fewer than two raters.

    Args:
        prompts, responses: of the study, and of a prompt.
        raters: in all.
        per_prompt: raters of a prompt; dealt out in turn, so that loads differ by one at most.
        icc, panel_r: see `assumptions`.
        epsilon: of the test.
        worlds: simulated studies; the Monte Carlo error is sqrt(p (1 - p) / worlds).
        seed: of everything drawn.
    """
    if per_prompt < 2 or prompts * per_prompt < FEWEST_PROMPTS * raters:
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
        differences, _ = rank_differences(judge, table, groups)
        passed += int((_winning(differences, epsilon) >= PASSING_RATE).sum())
    return passed / worlds


def _winning(differences: Floats, epsilon: float) -> Floats:
    """The winning rate of every world: one-sided t of "mean difference >= epsilon", by rater.

    Args:
        differences: shape (worlds, raters, prompts); nan where a rater has no such prompt.
    """
    counts = np.isfinite(differences[0]).sum(axis=1)
    enough = counts >= FEWEST_PROMPTS
    if not enough.any():
        return np.zeros(len(differences))
    kept, n = differences[:, enough], counts[enough].astype(np.float64)
    mean = np.nansum(kept, axis=2) / n
    spread = np.sqrt(np.nansum((kept - mean[:, :, None]) ** 2, axis=2) / (n - 1))
    varies = spread > 1e-12
    t = (mean - epsilon) / np.where(varies, spread / np.sqrt(n), 1.0)
    # A rater who never differs: n equal signs, as in a sign test.
    flat = np.where(mean >= epsilon, 1.0, 0.5**n)
    p = np.where(varies, stats.t.cdf(t, n - 1), flat)
    return winning_rates(p, FALSE_DISCOVERY_RATE)
