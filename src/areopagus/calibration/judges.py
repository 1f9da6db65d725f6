"""Every judge, persona, model and axis: how far it agrees with people, and how it tilts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import jackknife, ratio, ratio_difference, verdict_limits
from ..aggregation.pair_counting import pair_sums, sums_by_type
from ..aggregation.rater_effects import (
    length_slope,
    level_difference,
    own_family_preference,
    score_spread,
)
from ..aggregation.rater_severity import severity_parts
from ..records.estimates import Estimates
from ..records.types import STATUSES
from .dataset import Dataset, Target
from .panel_scores import PanelScores, judge_name, mean_over_judges
from .responses import MODEL, family_of

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
    families: Mapping[str, str] | None
    respondent_family: tuple[str | None, ...]
    level: float


def add_judges(
    out: Estimates,
    dataset: Dataset,
    target: Target,
    *,
    families: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> None:
    """Adds the table "judges" on the main target; the key `factor` says which kind a row is of.

    n_scored        judgments scored, of those planned where that is known
    accuracy        pair accuracy with people, ties one half. The verdict is "not shown above
                    chance" where the interval covers chance (one half) or lies below it, and on a
                    judge with one score for everything, whose accuracy is one half in every prompt
                    and stands for its interval; else "source only" where it is right on
                    cross-source pairs, at chance within each source, and the two differ
    tau             stratified tau-b, which rewards ties: compare accuracies, not taus
    severity        mean of its score less the panel's on the same responses; positive is lenient
    severity_apart  of personas and of models, fitted together: freed from each other
    spread          standard deviation of its scores within prompts
    without         accuracy of the panel without it less that of the whole panel; above 0 the
                    panel agrees better without it
    own_family      preference for responses of its own family (judges and models)
    length          points a doubling of length, people's mean held fixed
    abstained       share of its judgments that found the response to decline
    cross, within   accuracy on cross-source and on within-source pairs

    A persona, a model or the panel without a judge is the mean of its judges, by the additive fit
    where one of them is missing; a judge is held against people and panel over the responses that
    both have.

    It is a screen. Measured with twelve judges of whom ten are good, at 9, 26, 100 prompts of six
    (benchmarks/simulate.py calibration, 2,000 worlds, Monte Carlo error at most .011): a judge at
    random named in .971, .973, .978 of the worlds, the source-only judge in .170, .558, .949; any
    of the ten "not shown above chance" in .332, .000, .000, "source only" in .099, .018, .000.
    Coverage of the 95% intervals: accuracy .938, .935, .943; severity .955, .944, .950; without it
    .983, .948, .951; own family .951, .943, .953; length slope .944, .953, .953 (error .003 to
    .006).

    Args:
        out: takes the figures.
        dataset: with a panel.
        target: the main target.
        families: name to family where `family_of` would be wrong.
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
        families=families,
        respondent_family=tuple(
            family_of(who, families) if who and source == MODEL else None
            for who, source in zip(responses.respondent, responses.source.tolist(), strict=True)
        ),
        level=level,
    )
    P, M, _ = panel.shape
    for keys, mask in _members(panel):
        if keys["factor"] != "judge" and (mask.all() or (P, M) == (1, 1)):
            continue  # the panel itself
        _add_row(out, world, keys, mask)
    add_severities_apart(out, panel, target.criterion, responses.prompt, level=level)


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
    found += [(keys_of_part("persona", n), mask_of(p, None)) for p, n in enumerate(panel.personas)]
    found += [(keys_of_part("model", n), mask_of(None, m)) for m, n in enumerate(panel.models)]
    for axis in dict.fromkeys(name for name in panel.axes if name):
        mask = np.zeros(shape, dtype=bool)
        mask[[p for p, own in enumerate(panel.axes) if own == axis]] = True
        found.append(({"factor": "axis", "group": axis}, mask))
    return found


def keys_of_part(kind: Literal["persona", "model"], name: str) -> dict[str, str]:
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
        "tau": Estimate(
            sums.tau, n=accuracy.n, unit="prompt", method="stratified tau-b",
            reason="it ties all responses of every prompt, or people do" if math.isnan(sums.tau)
            else "the interval stands at the accuracy",
        ),
        "severity": level_difference(
            score, world.everybody, prompt, n_prompts, level
        ),
        "spread": score_spread(score, prompt, n_prompts),
        "without": without,
        "length": length_slope(score, world.human, responses.length, prompt, n_prompts, level),
        "abstained": Estimate(
            by_status.get("abstained", 0) / planned if planned and is_planned else math.nan,
            n=planned, unit="judgment", method="share abstained of planned",
            reason="a description of this run: no interval" if is_planned
            else "the file names no judge for judgments that do not count",
        ),
        **of_source,
    }  # fmt: skip
    if keys["factor"] in ("judge", "model"):  # others hold several families
        figures["own_family"] = _own_family(world, mask, score)
    out.add_all("judges", figures, **keys)


def _own_family(world: _World, mask: Mask, score: Floats) -> Estimate:
    families = [family_of(model, world.families) for model in world.panel.models]
    (family,) = {families[m] for m in np.flatnonzero(mask.any(axis=0)).tolist()}
    foreign = np.zeros_like(mask)
    foreign[:, [m for m, own in enumerate(families) if own != family]] = True
    own = np.array([who == family for who in world.respondent_family], dtype=bool)
    other = np.array(
        [who is not None and who != family for who in world.respondent_family], dtype=bool
    )
    return own_family_preference(
        score, _mean_of(world.by_judge, foreign), world.dataset.responses.prompt,
        own, other, world.n_prompts, world.level,
    )  # fmt: skip


def add_severities_apart(
    out: Estimates,
    panel: PanelScores,
    criterion: str | None,
    prompt: Integers,
    *,
    level: float = 0.95,
) -> None:
    """Adds the severities of personas and models, freed from each other, to the table "judges".

    With every judge on every response they are differences of means; where judges are missing,
    a persona is not called harsh because harsh models spoke for it. Intervals are jackknife over
    prompts: they hold for these personas and models. Why there are none stands in a row without a
    persona or model.

    Args:
        out: takes the figures.
        panel: the judgments.
        criterion: one of the panel's; None for the mean over its criteria.
        prompt: prompt code of each response.
        level: nominal coverage.
    """
    P, M, _ = panel.shape
    if P < 2 and M < 2:
        why = "one persona and one model: there is nothing to take apart"
        out.add("judges", "severity_apart", undefined(why))
        return
    fit = severity_parts(panel.by_judge(criterion), prompt=prompt)
    if fit.reason:
        out.add("judges", "severity_apart", undefined(fit.reason))
        return
    sides: tuple[tuple[Literal["persona", "model"], tuple[str, ...], Floats, Floats], ...] = (
        ("persona", panel.personas, fit.persona, fit.persona_left_out),
        ("model", panel.models, fit.model, fit.model_left_out),
    )
    method = "least squares, score = response + persona + model"
    for kind, names, values, left_out in sides:
        if len(names) < 2:
            continue
        for name, value, rest in zip(names, values.tolist(), left_out.T, strict=True):
            found = jackknife(value, rest, n=fit.n_prompts, method=method, level=level)
            out.add("judges", "severity_apart", found, **keys_of_part(kind, name))
