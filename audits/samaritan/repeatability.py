"""What asking the same again changes: the paper's comparison of two runs, and the noise floor."""

from __future__ import annotations

import math

import numpy as np

from ...aggregation.effect_size import smallest_detectable_change
from ...aggregation.estimate import Estimate, undefined
from .brittleness import beyond_reasking
from .figures import GroupRuns, Repeatability
from .material import REPHRASINGS
from .outcomes import Floats, GroupCell, Outcomes, known_mean
from .scenario_means import UNIT, mean_over, paired_t


def repeatability(outcomes: Outcomes) -> tuple[Repeatability, ...]:
    """One entry a model; empty where every prompt was asked once."""
    if outcomes.repeats < 2:
        return ()
    return tuple(_of(outcomes, at) for at in range(len(outcomes.targets)))


def _of(outcomes: Outcomes, at: int) -> Repeatability:
    ratings = outcomes.ratings[at]
    # A prompt counts where it was rated in every run; otherwise runs would differ by their prompts.
    complete = np.where(np.isnan(ratings).any(axis=-1, keepdims=True), np.nan, ratings)
    flat = complete.reshape(-1, outcomes.repeats)
    flat = flat[~np.isnan(flat).any(axis=1)]
    n = len(flat)
    none = undefined("no prompt was rated in every run", unit="prompt")
    retest, same, floor = none, none, none
    if n:
        sd = math.sqrt(float(flat.var(axis=1, ddof=1).mean()))
        retest = Estimate(sd, n=n, unit="prompt", method="pooled standard deviation of repeats")
        alike = float((flat == flat[:, :1]).all(axis=1).mean())
        same = Estimate(
            alike, n=n, unit="prompt", method="share of prompts rated alike in every run"
        )
        prompts = len(outcomes.scenarios) * REPHRASINGS
        change = smallest_detectable_change(sd, 1, n_prompts=prompts)
        floor = Estimate(
            change,
            n=prompts,
            unit="prompt",
            method="1.96 √2 s / √prompts, for one group in one run each",
        )
    return Repeatability(
        outcomes.targets[at],
        retest,
        same,
        floor,
        beyond_reasking(ratings),
        tuple(_runs(complete[:, :, place], cell) for place, cell in enumerate(outcomes.groups)),
    )


def _runs(ratings: Floats, cell: GroupCell) -> GroupRuns:
    """One group's runs; `ratings` is (scenarios, rephrasings, phrasings, repeats)."""
    by_scenario = known_mean(known_mean(ratings, 2), 1)
    means = known_mean(by_scenario, 0)
    n = int((~np.isnan(by_scenario[:, 0])).sum())
    change = by_scenario[:, 1] - by_scenario[:, 0]
    gap = (
        Estimate(float(np.ptp(means)), n=n, unit=UNIT, method="largest minus smallest run")
        if n
        else undefined("no prompt was rated in every run", unit=UNIT)
    )
    return GroupRuns(
        cell.key,
        tuple(float(mean) for mean in means),
        gap,
        mean_over(change, "second run minus first"),
        paired_t(change),
    )
