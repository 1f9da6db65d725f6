"""Holm and Benjamini-Hochberg over a family that is known by its p-values and how often each comes.

Exact p-values of counts are few, however many instances there are.
"""

from __future__ import annotations

from collections.abc import Mapping


def holm_of(family: Mapping[float, int]) -> dict[float, float]:
    """p-value to its Holm-adjusted one; see `aggregation.holm`."""
    m = sum(family.values())
    adjusted: dict[float, float] = {}
    before, highest = 0, 0.0
    for p in sorted(family):
        highest = max(highest, min(1.0, (m - before) * p))
        adjusted[p] = highest
        before += family[p]
    return adjusted


def benjamini_hochberg_of(family: Mapping[float, int]) -> dict[float, float]:
    """p-value to its Benjamini-Hochberg-adjusted one; see `aggregation.benjamini_hochberg`."""
    m = sum(family.values())
    adjusted: dict[float, float] = {}
    upto, lowest = m, 1.0
    for p in sorted(family, reverse=True):
        lowest = min(lowest, m * p / upto)
        adjusted[p] = lowest
        upto -= family[p]
    return adjusted
