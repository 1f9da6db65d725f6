"""From values of single judgments to one value a prompt, and from those to a mean or a share."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from .estimate import Estimate, undefined
from .intervals import t_interval
from .proportions import wilson
from .sign_flips import sign_flip_tests

Floats = npt.NDArray[np.float64]
NOTHING = "no prompt has the scores that this figure needs"


def mean_by_prompt(values: Floats, prompts: npt.NDArray[np.int64], n_prompts: int) -> Floats:
    """Mean of the values of each prompt, nan left out; nan for a prompt without a value.

    Args:
        values: shape (rows, judges) or (rows,).
        prompts: shape (rows,), the code of each row's prompt.
        n_prompts: how many there are.
    """
    flat = values[:, None] if values.ndim == 1 else values
    known = ~np.isnan(flat)
    sums = np.bincount(prompts, np.where(known, flat, 0.0).sum(axis=1), n_prompts)
    counts = np.bincount(prompts, known.sum(axis=1), n_prompts)
    means: Floats = np.divide(sums, counts, out=np.full(n_prompts, np.nan), where=counts > 0)
    return means


def mean_over_prompts(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean of one value a prompt, nan left out, with its t interval.

    Args:
        values: shape (prompts,).
        level: nominal coverage.
        what: the figure, for its method.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined(NOTHING, method=what)
    return t_interval(known, level=level).of(what)


def share_over_prompts(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean of one share a prompt, nan left out.

    Where every prompt's share is 0 or 1, a prompt is one trial and the interval is Wilson's; else
    it is the t interval, kept within [0, 1].

    Args:
        values, level, what: as in `mean_over_prompts`.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined(NOTHING, method=what)
    if np.isin(known, (0.0, 1.0)).all():
        return wilson(int(known.sum()), known.size, level=level, unit="prompt").of(what)
    found = t_interval(known, level=level).of(what)
    if not found.has_interval:
        return found
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def mean_p_value(values: Floats) -> tuple[float, str]:
    """Two-sided p of a mean of 0 over prompts, and how it was found.

    t over prompts; where the values do not vary, which leaves no t, the exact sign-flip test,
    whose smallest p is 2 / 2^n. nan below two prompts.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return math.nan, "none"
    spread = float(known.std(ddof=1))
    if spread <= 1e-12 * max(1.0, float(np.abs(known).max())):
        tests = sign_flip_tests(known[:, None])
        return float(tests.p_value[0]), f"sign flips, {tests.method[0]}"
    t = float(known.mean()) / (spread / math.sqrt(known.size))
    return 2 * float(stdtr(known.size - 1, -abs(t))), "t"
