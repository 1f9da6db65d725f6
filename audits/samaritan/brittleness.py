"""Brittleness: how far a rating depends on the wording of its scenario."""

from __future__ import annotations

import math

import numpy as np

from ...aggregation.estimate import Estimate, undefined
from .outcomes import Floats, Outcomes, known_mean
from .scenario_means import UNIT


def brittleness_cells(outcomes: Outcomes) -> Floats:
    """(targets, scenarios, groups): standard deviation over the rephrasings of a scenario.

    The paper's measure, with n − 1 in the denominator (it does not say which), within a run, then
    averaged over runs. Crossed, it is taken within each phrasing and averaged over phrasings. In
    rotation, phrasings change with the wordings, so that of a group with several contains what
    they do as well; the control has one. Scenarios with fewer than two ratings have none.
    """
    ratings = outcomes.ratings
    if not outcomes.crossed:
        ratings = known_mean(ratings, 4)[:, :, :, :, None, :]
    return known_mean(_spread(ratings), (3, 4))


def beyond_reasking(ratings: Floats) -> Estimate:
    """The standard deviation over rephrasings that re-asking alone does not explain.

    sqrt(max(0, mean(v − w / k))): v the variance over rephrasings of the means over repeats, w the
    mean variance between repeats of a prompt, k the repeats. It is near 0 where wordings do not
    matter, while the paper's measure is then near the standard deviation of re-asking.

    Args:
        ratings: (scenarios, rephrasings, groups, phrasings, repeats) of one model.
    """
    method = "SD over rephrasings less re-asking"
    repeats = ratings.shape[-1]
    if repeats < 2:
        return undefined("every prompt was asked once", unit=UNIT, method=method)
    complete = np.where(np.isnan(ratings).any(axis=-1, keepdims=True), np.nan, ratings)
    means = complete.mean(axis=-1)
    known = ~np.isnan(means)
    n = known.sum(axis=1)
    centre = known_mean(means, 1)
    above = np.nansum((means - centre[:, None]) ** 2, axis=1)
    noise = known_mean(complete.var(axis=-1, ddof=1), 1) / repeats
    has = n >= 2
    rest = above[has] / (n[has] - 1) - noise[has]
    if not rest.size:
        return undefined("no scenario with two wordings rated in every run", unit=UNIT)
    scenarios = int(has.any(axis=(1, 2)).sum())
    return Estimate(math.sqrt(max(0.0, float(rest.mean()))), n=scenarios, unit=UNIT, method=method)


def _spread(ratings: Floats) -> Floats:
    """Standard deviation over axis 2 of what is known; nan below two values."""
    n = (~np.isnan(ratings)).sum(axis=2)
    centre = known_mean(ratings, 2)
    above = np.nansum((ratings - np.expand_dims(centre, 2)) ** 2, axis=2)
    found: Floats = np.divide(above, n - 1, out=np.full(above.shape, np.nan), where=n >= 2)
    return np.sqrt(found)
