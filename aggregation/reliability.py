"""Intraclass correlations of complete rating tables, and the Spearman-Brown step."""

import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

IccForm = Literal["ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)"]


def icc(ratings: npt.ArrayLike, form: IccForm) -> float:
    """Returns an intraclass correlation in the notation of Shrout and Fleiss.

    With n items, k raters and the mean squares of items (MSR), raters (MSC), residual (MSE) and
    within items (MSW):
    (1,1) = (MSR − MSW) / (MSR + (k−1) MSW)        (1,k) = (MSR − MSW) / MSR
    (2,1) = (MSR − MSE) / (MSR + (k−1) MSE + k (MSC − MSE) / n)
    (2,k) = (MSR − MSE) / (MSR + (MSC − MSE) / n)
    (3,1) = (MSR − MSE) / (MSR + (k−1) MSE)        (3,k) = (MSR − MSE) / MSR

    (2,k) suits absolute scores of a panel sampled from many; (3,k) a fixed panel, or rankings.
    Over responses of several prompts it contains the differences between prompts: give it
    deviations from each prompt's mean, or use variance components.

    Args:
        ratings: shape (raters, items), complete.
        form: one of the six.

    Returns:
        At most 1; negative estimates are legal and are not clipped; nan when items do not vary
        (0 / 0 in the formula).

    Raises:
        ValueError: missing values (their number is named: use variance components), fewer than
            two raters or items, or an unknown form.

    Source: Shrout & Fleiss (1979), Psychological Bulletin 86; McGraw & Wong (1996).
    """
    if form not in get_args(IccForm):
        raise ValueError(f"form must be one of {', '.join(get_args(IccForm))}, got {form!r}")
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(f"ratings must be (raters >= 2, items >= 2), got shape {table.shape}")
    n_missing = int(np.isnan(table).sum())
    if n_missing:
        raise ValueError(
            f"ratings must be complete for an intraclass correlation, got {n_missing} missing of "
            f"{table.size}; use variance components instead"
        )
    k, n = table.shape
    centred = table - table.mean()
    item_means, rater_means = centred.mean(axis=0), centred.mean(axis=1)
    between_items = k * float((item_means**2).sum()) / (n - 1)
    between_raters = n * float((rater_means**2).sum()) / (k - 1)
    residuals = centred - item_means[None, :] - rater_means[:, None]
    residual = float((residuals**2).sum()) / ((n - 1) * (k - 1))
    within_items = float(((centred - item_means) ** 2).sum()) / (n * (k - 1))
    error = within_items if form.startswith("ICC(1") else residual
    if form.endswith("1)"):
        denominator = between_items + (k - 1) * error
        if form == "ICC(2,1)":
            denominator += k * (between_raters - residual) / n
    else:
        denominator = between_items
        if form == "ICC(2,k)":
            denominator += (between_raters - residual) / n
    # A table whose items have one mean leaves rounding error, not information, in the denominator.
    if denominator <= 1e-12 * float((table**2).mean()):
        return math.nan
    return float((between_items - error) / denominator)


def spearman_brown(reliability: float, factor: float) -> float:
    """Returns the reliability of a measure made `factor` times as long.

    R = f r / (1 + (f − 1) r). It turns ICC(·,1) into ICC(·,k) with f = k, and back with f = 1/k.

    Args:
        reliability: of the present length, at most 1; may be negative; nan is carried.
        factor: new length / present length, above 0.

    Returns:
        nan where the denominator is not positive (a strongly negative reliability).

    Raises:
        ValueError: reliability above 1, or factor not above 0.

    Source: Spearman (1910); Brown (1910).
    """
    if factor <= 0:
        raise ValueError(f"factor must be above 0, got {factor}")
    if reliability > 1:
        raise ValueError(f"reliability must be at most 1, got {reliability}")
    denominator = 1 + (factor - 1) * reliability
    return factor * reliability / denominator if denominator > 0 else math.nan
