"""Intervals and tests of agreement and of differences between a few prompts' figures."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy import stats
from simulation import covers, simulation

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.kendall import bootstrap_stratified_tau
from areopagus.aggregation.multiplicity import holm
from areopagus.aggregation.rules import simultaneous
from areopagus.aggregation.sign_flips import sign_flip_test


@simulation(values=("normal", "exponential"), prompts=(6, 10, 26))
def t_intervals(rng: np.random.Generator, values: str, prompts: int) -> Mapping[str, float]:
    """Coverage of the t interval of a mean over prompts."""
    is_normal = values == "normal"
    drawn = rng.normal(size=prompts) if is_normal else rng.exponential(size=prompts) - 1
    return {"covered": covers(t_interval(drawn), 0)}


def mean_tau() -> Mapping[str, float]:
    """The mean tau of correlations ρ that are uniform in [.3, .9]: the mean of (2/π) asin ρ."""
    return {"covered": float((2 / math.pi * np.arcsin(np.linspace(0.3, 0.9, 20_001))).mean())}


@simulation(prompts=(11, 26, 50), truth=mean_tau)
def stratified_tau(rng: np.random.Generator, prompts: int) -> Mapping[str, Estimate]:
    """Coverage of the bootstrap-t interval of the stratified tau over prompts of six responses."""
    rho = rng.uniform(0.3, 0.9, (prompts, 1))
    x = rng.normal(size=(prompts, 6))
    y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
    groups = np.repeat(np.arange(prompts), 6)
    tau = bootstrap_stratified_tau(x.ravel(), y.ravel(), groups, resamples=999, rng=rng)
    return {"covered": tau}


@simulation()
def test_sizes(rng: np.random.Generator) -> Mapping[str, float]:
    """How often sign flips at .05 reject where nothing is there, of 10 normal and of 10 skewed
    differences."""
    tests = {
        "sign flips": sign_flip_test(rng.normal(size=10)).p,
        "skewed": sign_flip_test(rng.exponential(size=10) - 1).p,
    }
    return {name: float(p <= 0.05) for name, p in tests.items()}


@simulation()
def twenty_cells(rng: np.random.Generator) -> Mapping[str, float]:
    """How often any of 20 cells with a shared baseline is called changed where none is, 10 prompts:
    t tests as they are, with Holm's correction, and by the limits of the family."""
    values = (rng.normal(size=(10, 1, 5)) - rng.normal(size=(10, 4, 5))).reshape(10, 20)
    p = stats.ttest_1samp(values, 0).pvalue
    adjusted = {"raw": p, "Holm": holm(p), "family": simultaneous(values).p}
    return {name: float((p <= 0.05).any()) for name, p in adjusted.items()}
