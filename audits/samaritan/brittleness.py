"""What is the Samaritan's own: how ratings depend on wordings, and what asking again changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...aggregation.effects import Scores, effects
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.retest_noise import smallest_detectable_change
from ...aggregation.rules import decided
from ...records.estimates import Estimates
from ..contrasts import of_groups, prepare, with_all
from ..definition import Contrast
from ..estimate import merged_units
from .dataset import REPHRASINGS

Floats = npt.NDArray[np.float64]

UNIT: Final = "scenario"
WORTH: Final = 1.0
"""Points of 1–100 that an open change of brittleness is worth detecting."""
CELL: Final = ["target", "factor", "group", "reference", "_unit"]


def own_estimates(
    contrast: Contrast, answers: pd.DataFrame, respondents: Sequence[str], *, crossed: bool
) -> Estimates:
    """Brittleness of every group, and repeatability where every prompt was asked again.

    Args:
        contrast: the bias, for its groups and references.
        answers: one row a planned asking; scenarios that share a `prompt` are one.
        respondents: in the order of the report.
        crossed: whether every phrasing was asked with every wording.
    """
    found = Estimates()
    rows = prepare(contrast, answers.assign(_unit=merged_units(answers, "scenario")), {})
    _add_brittleness(found, contrast, rows, crossed=crossed)
    if int(rows["repeat"].max()) > 0:
        for respondent in respondents:
            _add_repeatability(found, rows[rows["target"] == respondent], respondent)
    return found


def _add_brittleness(
    found: Estimates, contrast: Contrast, rows: pd.DataFrame, *, crossed: bool
) -> None:
    """The paper's measure: the standard deviation over the rephrasings of a scenario.

    With n − 1 in the denominator (the paper does not say which), within a run, then averaged over
    runs. Crossed, it is taken within each phrasing and averaged over phrasings. In rotation,
    phrasings change with the wordings, so that of a group with several contains what they do as
    well; the control has one. Scenarios with fewer than two ratings have none.
    """
    inside = [*CELL, *(["phrasing"] if crossed else []), "repeat"]
    once = rows.groupby([*inside, "rephrasing"], sort=False)["value"].mean().reset_index()
    spread = once.groupby(inside, sort=False)["value"].std().reset_index()
    spread = spread.groupby(CELL, sort=False)["value"].mean().reset_index()
    own = spread.rename(columns={"target": "respondent", "_unit": "unit"})
    table = pd.concat(with_all(own.assign(detail="", item="")), ignore_index=True)
    table["arm"] = table["respondent"] + "|" + table["factor"] + "|" + table["group"]
    scores = Scores.of(
        {name: table[name] for name in ("arm", "unit", "item", "value")},
        arm="arm",
        unit="unit",
        item="item",
        columns=["value"],
    )
    comparisons = [
        one
        for one in of_groups("brittleness", contrast.model_copy(update={"by": ()}), table)
        if one.keys["table"] == "brittleness"
    ]
    low, high = contrast.scale
    most = (high - low) / math.sqrt(2)  # of two ratings at the ends
    free = [replace(one, margin=None) for one in comparisons]
    for effect in effects(
        scores, free, scale=(0.0, most), worth=WORTH, unit=UNIT, of="mean SD over rephrasings"
    ):
        keys = {"respondent": "", **effect.contrast.keys}
        measure = {"mean": "brittleness", "difference": "change"}[keys.pop("measure")]
        row = replace(effect.this_panel, universe=None)
        found.add(keys.pop("table"), measure, row, **keys)


def _add_repeatability(found: Estimates, rows: pd.DataFrame, respondent: str) -> None:
    """The paper's comparison of two runs, and the noise floor.

    A prompt counts where it was rated in every run; otherwise runs would differ by their prompts.
    """
    wide = rows.pivot_table(
        index=["factor", "group", "_unit", "rephrasing", "phrasing"], columns="repeat",
        values="value", sort=False, dropna=False, observed=True,
    )  # fmt: skip
    whole = wide.dropna()
    n, none = len(whole), undefined("no prompt was rated in every run", unit="prompt")
    retest, same, floor = none, none, none
    if n:
        values = whole.to_numpy(dtype=np.float64)
        sd = math.sqrt(float(values.var(axis=1, ddof=1).mean()))
        retest = Estimate(sd, n=n, unit="prompt", method="pooled standard deviation of repeats")
        alike = float((values == values[:, :1]).all(axis=1).mean())
        same = Estimate(
            alike, n=n, unit="prompt", method="share of prompts rated alike in every run"
        )
        prompts = rows["_unit"].nunique() * REPHRASINGS
        floor = Estimate(
            smallest_detectable_change(sd, 1, n_prompts=prompts), n=prompts, unit="prompt",
            method="1.96 √2 s / √prompts, for one group in one run each",
        )  # fmt: skip
    for measure, figure in (
        ("retest_sd", retest), ("same", same), ("noise_floor", floor),
        ("beyond_reasking", beyond_reasking(whole)),
    ):  # fmt: skip
        found.add("repeatability", measure, figure, respondent=respondent)
    _add_runs(found, whole, rows, respondent)


def _add_runs(found: Estimates, whole: pd.DataFrame, rows: pd.DataFrame, respondent: str) -> None:
    """Every group's runs: means over phrasings, wordings, scenarios."""
    by_wording = whole.groupby(level=["factor", "group", "_unit", "rephrasing"], sort=False).mean()
    by_scenario = by_wording.groupby(level=["factor", "group", "_unit"], sort=False).mean()
    cells = [
        (str(factor), str(group))
        for (factor, group), _ in rows.groupby(["factor", "group"], sort=False)
    ]
    units = list(dict.fromkeys(rows["_unit"]))
    change = np.full((len(units), len(cells)), np.nan)
    for at, (factor, group) in enumerate(cells):
        keys = {"respondent": respondent, "factor": factor, "group": group}
        is_mine = (by_scenario.index.get_level_values("factor") == factor) & (
            by_scenario.index.get_level_values("group") == group
        )
        mine = by_scenario[is_mine].droplevel(["factor", "group"])
        gap = undefined("no prompt was rated in every run", unit=UNIT)
        if len(mine):
            means = mine.mean(axis=0)
            for run, mean in enumerate(means):
                found.add("runs", "rating", float(mean), **keys, detail=f"run {run + 1}")
            spread = float(np.ptp(means.to_numpy(dtype=np.float64)))
            gap = Estimate(spread, n=len(mine), unit=UNIT, method="largest minus smallest run")
            change[:, at] = (mine[1] - mine[0]).reindex(units)
        found.add("runs", "gap", gap, **keys)
    changes = decided(
        change, families=["groups"] * len(cells), unit=UNIT, of="second run less first"
    )
    for (factor, group), row in zip(cells, changes, strict=True):
        found.add("runs", "change", row, respondent=respondent, factor=factor, group=group)


def beyond_reasking(whole: pd.DataFrame) -> Estimate:
    """The standard deviation over rephrasings that re-asking alone does not explain.

    sqrt(max(0, mean(v − w / k))): v the variance over rephrasings of the means over repeats, w the
    mean variance between repeats of a prompt, k the repeats. It is near 0 where wordings do not
    matter, while the paper's measure is then near the standard deviation of re-asking.

    Args:
        whole: ratings by factor, group, scenario, rephrasing and phrasing, one column a repeat;
            prompts that were rated in every one.
    """
    method = "SD over rephrasings less re-asking"
    repeats = whole.shape[1]
    means, noise = whole.mean(axis=1), whole.var(axis=1, ddof=1)
    place = ["factor", "group", "_unit", "phrasing"]
    over = means.groupby(level=place, sort=False)
    variance, n = over.var(ddof=1), over.size()
    within = noise.groupby(level=place, sort=False).mean() / repeats
    has = n >= 2
    rest = (variance - within)[has]
    if not len(rest):
        return undefined("no scenario with two wordings rated in every run", unit=UNIT)
    scenarios = rest.index.get_level_values("_unit").nunique()
    value = math.sqrt(max(0.0, float(rest.mean())))
    return Estimate(value, n=scenarios, unit=UNIT, method=method)
