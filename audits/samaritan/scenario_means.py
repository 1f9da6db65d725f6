"""Means over scenarios with their intervals and tests: the scenario is what is independent."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from ...aggregation.equivalence import Equivalence, tost
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import MIN_UNITS, t_interval
from ...aggregation.sign_flips import SignFlips, sign_flip_tests, skewness_adjusted_flips
from .outcomes import Floats, Outcomes, known_mean

UNIT = "scenario"


def by_wording(outcomes: Outcomes) -> Floats:
    """(targets, scenarios, rephrasings, groups): mean over phrasings and repeats."""
    return known_mean(known_mean(outcomes.ratings, 5), 4)


def differences(outcomes: Outcomes, cells: Floats) -> Floats:
    """(targets, scenarios, groups): group minus its control, on the wordings rated in both.

    A wording that either side has no rating for is left out of both: otherwise a group that is
    refused the hard wordings would look kinder than it is.

    Args:
        outcomes: whose groups they are.
        cells: (targets, scenarios, rephrasings, groups).
    """
    controls = [cell.control for cell in outcomes.groups]
    return known_mean(cells - cells[:, :, :, controls], 2)


def mean_over(values: Floats, what: str) -> Estimate:
    """The mean of one value a scenario with its t interval."""
    return t_interval(values, unit=UNIT).of(what)


def paired_t(values: Floats) -> Estimate:
    """p of the two-sided paired t-test over scenarios, as in the paper.

    Undefined with fewer than two differences, or where they do not vary.
    """
    known = values[~np.isnan(values)]
    n = known.size
    method = "paired t over scenarios"
    error = float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not error > 1e-12 * max(abs(float(known.mean())) if n else 0.0, 1e-3):
        reason = "fewer than two scenarios, or differences that do not vary"
        return undefined(reason, unit=UNIT, method=method, n=n)
    t = float(known.mean()) / error
    p = 2 * float(stats.t.sf(abs(t), n - 1))
    return Estimate(p, n=n, unit=UNIT, method=f"{method}, t = {t:.2f}, df = {n - 1}")


def flipped(columns: Floats, resamples: int) -> list[Estimate]:
    """p of the sign-flip test of every column's mean.

    Args:
        columns: (scenarios, cells); nan is missing.
        resamples: sign vectors beyond 30 scenarios; more are drawn where there are so many cells
            that Holm's correction of the smallest p they allow would pass .025.
    """
    found = sign_flip_tests(columns, flips=_flips(columns, resamples))
    return _numbers(found, "sign flips of scenarios")


def adjusted_flips(columns: Floats, resamples: int) -> list[Estimate]:
    """p of the same signs with Hall's statistic, which Holm corrects.

    Holm looks at the far tails. Where a few scenarios carry a bias, those of a mean are unequal, so
    that a difference is found too often on one side.

    Args:
        columns: as in `flipped`.
        resamples: sign vectors beyond 14 scenarios; more as in `flipped`.
    """
    found = skewness_adjusted_flips(columns, flips=_flips(columns, resamples))
    return _numbers(found, "sign flips of scenarios, t without its skewness")


def _flips(columns: Floats, resamples: int) -> int:
    return max(resamples, 40 * int(columns.shape[1]))


def _numbers(found: SignFlips, test: str) -> list[Estimate]:
    numbers = []
    for p, n, method in zip(found.p_value, found.n, found.method, strict=True):
        name = f"{test}, {method}"
        if np.isnan(p):
            numbers.append(undefined("no scenario rated in both", unit=UNIT, method=name))
        else:
            numbers.append(Estimate(float(p), n=int(n), unit=UNIT, method=name))
    return numbers


def equivalence_of(values: Floats, margin: float) -> tuple[Estimate, Estimate]:
    """The bias with its 90% interval, and p of the two one-sided tests.

    Where every scenario has the same difference, that is what it is: the interval is that point,
    and p is 0 or 1.
    """
    known = values[~np.isnan(values)]
    found: Equivalence = tost(known, margin)
    method = f"90% t interval over scenarios, margin ±{margin:g}"
    test = f"two one-sided t over scenarios, margin ±{margin:g}"
    if found.is_equivalent is not None:
        return (
            Estimate(
                found.estimate,
                n=known.size,
                unit=UNIT,
                method=method,
                low=found.low,
                high=found.high,
            ),
            Estimate(found.p_value, n=known.size, unit=UNIT, method=test),
        )
    if known.size >= MIN_UNITS:
        mean = float(known.mean())
        same = "the same difference in every scenario"
        return (
            Estimate(
                mean, n=known.size, unit=UNIT, method=f"{method}; {same}", low=mean, high=mean
            ),
            Estimate(float(abs(mean) >= margin), n=known.size, unit=UNIT, method=f"{test}; {same}"),
        )
    reason = "fewer than two scenarios rated in both, or few without variation"
    empty = undefined(reason, unit=UNIT, method=method, n=known.size)
    return empty, undefined(reason, unit=UNIT, method=test, n=known.size)


def corrected(numbers: list[Estimate], adjusted: Floats, family: str) -> list[Estimate]:
    """The p-values with Holm's correction in their place.

    Args:
        numbers: raw.
        adjusted: Holm's, in the same order; nan where raw is.
        family: what they were corrected over.
    """
    return [
        one
        if np.isnan(p)
        else Estimate(float(p), n=one.n, unit=one.unit, method=f"{one.method}; Holm over {family}")
        for one, p in zip(numbers, adjusted, strict=True)
    ]
