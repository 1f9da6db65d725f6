"""Every judge, persona, model and axis: how far it agrees with people, and how harsh it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import ratio, ratio_difference, verdict_limits
from ..aggregation.pair_counting import pair_sums, sums_by_type
from ..aggregation.rater_effects import level_difference
from ..records.estimates import Estimates
from ..records.types import STATUSES
from .dataset import Dataset, Target
from .panel_scores import PanelScores, judge_name, mean_over_judges

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

Kind = Literal["judge", "persona", "model", "axis"]

NEAR_CHANCE = 0.6
"""A judge with a higher accuracy within source is not called one that knows the source only,
however wide the interval is."""

NOT_ABOVE_CHANCE, SOURCE_ONLY = "not shown above chance", "source only"


@dataclass(frozen=True, slots=True)
class _World:
    """What all rows are measured against."""

    dataset: Dataset
    target: Target
    panel: PanelScores
    human: Floats
    by_judge: Floats
    everybody: Floats
    n_prompts: int
    level: float


def add_judges(
    out: Estimates,
    dataset: Dataset,
    target: Target,
    *,
    level: float = 0.95,
) -> None:
    """Adds the table "judges" on the main target; the key `factor` says which kind a row is of.

    n_scored        judgments scored, of those planned where that is known
    accuracy        pair accuracy with people, ties one half. The verdict is "not shown above
                    chance" where the interval covers chance (one half) or lies below it, and on a
                    judge with one score for everything, whose accuracy is one half in every prompt
                    and stands for its interval; else "source only" where it is right on
                    cross-source pairs, at chance within each source, and the two differ
    severity        mean of its score less the panel's on the same responses; positive is lenient
    without         accuracy of the panel without it less that of the whole panel; above 0 the
                    panel agrees better without it
    cross, within   accuracy on cross-source and on within-source pairs

    A persona, a model or the panel without a judge is the mean of its judges, by the additive fit
    where one of them is missing; a judge is held against people and panel over the responses that
    both have.

    It is a screen. Measured with twelve judges of whom ten are good, at 9, 26, 100 prompts of six
    (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error at most .011): a judge at random
    named in .971, .973, .978 of the worlds, the source-only judge in .170, .558, .949; any of the
    ten "not shown above chance" in .332, .000, .000, "source only" in .099, .018, .000. Coverage of
    the 95% intervals: accuracy .938, .935, .943; severity .955, .944, .950; without it .983, .948,
    .951 (error .003 to .006).

    What a judge makes of length, form and its own family is a matter of `areopagus judges`.

    Args:
        out: takes the figures.
        dataset: with a panel.
        target: the main target.
        level: of the intervals.
    """
    panel, responses = dataset.panel, dataset.responses
    if panel is None:
        return
    human = np.where(target.both, target.human, np.nan)
    by_judge = panel.by_judge(target.criterion)
    world = _World(
        dataset=dataset,
        target=target,
        panel=panel,
        human=human,
        by_judge=by_judge,
        everybody=mean_over_judges(by_judge.reshape(len(by_judge), -1)).score,
        n_prompts=len(responses.prompt_ids),
        level=level,
    )
    P, M, _ = panel.shape
    for keys, mask in _members(panel):
        if keys["factor"] != "judge" and (mask.all() or (P, M) == (1, 1)):
            continue  # the panel itself
        _add_row(out, world, keys, mask)


def _members(panel: PanelScores) -> list[tuple[dict[str, str], Mask]]:
    """Keys and cells (personas x models) of every judge, persona, model and axis."""
    shape = panel.scores.shape[1:3]
    found: list[tuple[dict[str, str], Mask]] = []

    def mask_of(persona: int | None, model: int | None) -> Mask:
        mask = np.zeros(shape, dtype=bool)
        mask[
            slice(None) if persona is None else persona, slice(None) if model is None else model
        ] = True
        return mask

    for p, persona in enumerate(panel.personas):
        for m, model in enumerate(panel.models):
            if np.isfinite(panel.scores[:, p, m]).any() or any(
                grid[p, m] for grid in panel.status.values()
            ):
                keys = {"group": judge_name(persona, model), "persona": persona, "model": model}
                found.append(({"factor": "judge", **keys}, mask_of(p, m)))
    found += [(_keys_of_part("persona", n), mask_of(p, None)) for p, n in enumerate(panel.personas)]
    found += [(_keys_of_part("model", n), mask_of(None, m)) for m, n in enumerate(panel.models)]
    for axis in dict.fromkeys(name for name in panel.axes if name):
        mask = np.zeros(shape, dtype=bool)
        mask[[p for p, own in enumerate(panel.axes) if own == axis]] = True
        found.append(({"factor": "axis", "group": axis}, mask))
    return found


def _keys_of_part(kind: Literal["persona", "model"], name: str) -> dict[str, str]:
    """The keys of the figures of one persona, or of one model."""
    return {"factor": kind, "group": name, kind: name}


def _mean_of(table: Floats, mask: Mask) -> Floats:
    return mean_over_judges(table[:, mask]).score


def _add_row(out: Estimates, world: _World, keys: dict[str, str], mask: Mask) -> None:
    panel, responses, level = world.panel, world.dataset.responses, world.level
    prompt, n_prompts = responses.prompt, world.n_prompts
    score = _mean_of(world.by_judge, mask)
    rest = _mean_of(world.by_judge, ~mask) if not mask.all() else np.full(len(score), np.nan)
    sums = pair_sums(score, world.human, prompt, n_prompts=n_prompts)
    accuracy = ratio(*sums.accuracy, method="pair accuracy, ties one half", level=level)
    planned = sum(int(grid[mask].sum()) for grid in panel.status.values())
    by_status = {s: int(panel.status[s][mask].sum()) for s in STATUSES if s in panel.status}
    n_scored = by_status.get("scored", int(np.isfinite(score).sum()))
    is_planned = bool(panel.n_planned.any())
    without = undefined("it is the whole panel")
    both = np.isfinite(rest) & np.isfinite(world.target.panel)
    if both.any():
        without = ratio_difference(
            *(
                pair_sums(
                    np.where(both, one, np.nan), world.human, prompt, n_prompts=n_prompts
                ).accuracy
                for one in (rest, world.target.panel)
            ),
            method="pair accuracy of the panel without it less that of the panel, over the "
            "responses that both have",
            level=level,
        )  # fmt: skip
    verdict = NOT_ABOVE_CHANCE if verdict_limits(accuracy)[0] <= 0.5 else None
    of_source: dict[str, Estimate] = {}
    if responses.has_both_sources:
        types = sums_by_type(score, world.human, prompt, responses.source, n_prompts=n_prompts)
        cross = ratio(*types["cross"].accuracy, method="accuracy on cross pairs", level=level)
        within = ratio(
            *types["within-source"].accuracy, method="accuracy within source", level=level
        )
        gap = ratio_difference(
            types["cross"].accuracy, types["within-source"].accuracy, method="gap", level=level
        )
        low, high = verdict_limits(within)
        if (
            verdict_limits(cross)[0] > 0.5 and low <= 0.5 <= high
            and within.value <= NEAR_CHANCE and verdict_limits(gap)[0] > 0
        ):  # fmt: skip
            of_source["within"] = replace(within, verdict=SOURCE_ONLY)
            verdict = verdict or SOURCE_ONLY
        of_source = {"cross": cross, "within": within} | of_source
    figures = {
        "n_scored": Estimate(
            n_scored, n=n_scored, n_planned=planned if is_planned else None, unit="judgment",
            method="count", level=math.nan,
        ),
        "accuracy": replace(accuracy, verdict=verdict),
        "severity": level_difference(
            score, world.everybody, prompt, n_prompts, level
        ),
        "without": without,
        **of_source,
    }  # fmt: skip
    out.add_all("judges", figures, **keys)
