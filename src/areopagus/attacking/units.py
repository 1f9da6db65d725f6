"""From values of single judgments to a figure over prompts, with an interval that fits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.proportions import wilson
from ..aggregation.sign_flips import sign_flip_tests

Floats = npt.NDArray[np.float64]
NOTHING = "no prompt has the scores that this figure needs"


def per_prompt(values: Floats, prompts: npt.NDArray[np.int64], n_prompts: int) -> Floats:
    """Mean of the values of each prompt, nan left out; nan for a prompt without a value.

    Args:
        values: shape (rows, judges) or (rows,).
        prompts: shape (rows,), the code of each row's prompt.
        n_prompts: how many there are.
    """
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    sums = np.bincount(prompts, np.where(known, flat, 0.0).sum(axis=1), n_prompts)
    counts = np.bincount(prompts, known.sum(axis=1), n_prompts)
    means: Floats = np.divide(sums, counts, out=np.full(n_prompts, np.nan), where=counts > 0)
    return means


def mean_number(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean over prompts with its t interval."""
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined(NOTHING, method=what)
    return t_interval(known, level=level).of(what)


def share_number(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean over prompts of a share.

    Where every prompt's share is 0 or 1, a prompt is one trial and the interval is Wilson's; else
    it is the t interval, kept within [0, 1].
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined(NOTHING, method=what)
    if np.isin(known, (0.0, 1.0)).all():
        return wilson(int(known.sum()), known.size, level=level, unit="prompt").of(what)
    number = t_interval(known, level=level).of(what)
    return Estimate(
        number.value,
        n=number.n,
        unit=number.unit,
        method=number.method,
        low=max(0.0, number.low) if math.isfinite(number.low) else number.low,
        high=min(1.0, number.high) if math.isfinite(number.high) else number.high,
        reason=number.reason,
    )


def count_number(hits: int, trials: int, *, unit: str, level: float, what: str) -> Estimate:
    """A share of texts or prompts that are trials of their own, with Wilson's interval."""
    if not trials:
        return undefined(f"no {unit}s", unit=unit, method=what)
    return wilson(hits, trials, level=level, unit=unit).of(what)


def p_of_mean(values: Floats) -> tuple[float, str]:
    """Two-sided p of a mean of 0 over prompts, and how it was found.

    t over prompts; where the values do not vary, which leaves no t, the exact sign-flip test,
    whose smallest p is 2 / 2^n. nan below two prompts.
    """
    from scipy.special import stdtr

    known = values[~np.isnan(values)]
    if known.size < 2:
        return math.nan, "none"
    spread = float(known.std(ddof=1))
    if spread <= 1e-12 * max(1.0, float(np.abs(known).max())):
        tests = sign_flip_tests(known[:, None])
        return float(tests.p_value[0]), f"sign flips, {tests.method[0]}"
    t = float(known.mean()) / (spread / math.sqrt(known.size))
    return 2 * float(stdtr(known.size - 1, -abs(t))), "t"
