"""Every judge, persona, model and axis: how far it agrees with people, and how it tilts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..records.types import STATUSES
from .families import family_of
from .judge_bias import length_slope, level_difference, own_family_preference, spread
from .leave_out import ratio, ratio_difference, verdict_limits
from .material import Material, Target
from .pair_parts import PairSums, pair_sums, sums_by_type
from .panel_scores import PanelScores, judge_name
from .panel_severity import PanelSeverity, panel_severity
from .responses import MODEL

Floats = npt.NDArray[np.float64]

Kind = Literal["judge", "persona", "model", "axis"]

NEAR_CHANCE = 0.6
"""A judge with a higher accuracy within source is not called one that knows the source only,
however wide the interval is."""


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One judge, or the mean of the judges of one persona, model or axis.

    Attributes:
        kind, name: what it is.
        n_scored, n_planned: judgments, all responses; planned is 0 where it is not known.
        accuracy: pair accuracy with people on the main target, ties one half.
        tau: stratified tau-b, which rewards ties: compare accuracies, not taus.
        severity: mean of its score less the panel's; positive is lenient.
        spread: standard deviation of its scores within prompts.
        without: accuracy of the panel without it less that of the whole panel; above 0 the
            panel agrees better without it.
        own_family: preference for responses of its own family (judges and models).
        length: points a doubling of length, people's mean held fixed.
        abstention: share of its judgments that found the response to decline.
        cross, within: accuracy on cross-source and on within-source pairs.
        is_useless: the interval of its accuracy covers chance (one half) or lies below it; so
            does a judge with one score for everything, whose accuracy is one half in every prompt
            and stands for its interval.
        is_source_only: right on cross-source pairs, at chance within each source, and the two
            differ; a figure that is the same in every prompt stands for its interval.
    """

    kind: Kind
    name: str
    n_scored: int
    n_planned: int
    accuracy: Estimate
    tau: Estimate
    severity: Estimate
    spread: Estimate
    without: Estimate
    own_family: Estimate
    length: Estimate
    abstention: Estimate
    cross: Estimate
    within: Estimate
    is_useless: bool
    is_source_only: bool


@dataclass(frozen=True, slots=True)
class JudgesTable:
    """All rows, judges first; the names of those that fail; personas' and models' severities."""

    rows: tuple[JudgeRow, ...]
    useless: tuple[str, ...]
    source_only: tuple[str, ...]
    families: Mapping[str, str]
    severity_parts: PanelSeverity

    def of(self, kind: Kind) -> tuple[JudgeRow, ...]:
        """Returns the rows of one kind."""
        return tuple(row for row in self.rows if row.kind == kind)


@dataclass(frozen=True, slots=True)
class _World:
    """What all rows are measured against."""

    material: Material
    target: Target
    panel: PanelScores
    human: Floats
    by_judge: Floats
    whole: PairSums
    n_prompts: int
    families: Mapping[str, str] | None
    respondent_family: tuple[str | None, ...]
    level: float


def judges_table(
    material: Material,
    target: Target,
    *,
    families: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> JudgesTable:
    """Returns the table of judges on the main target.

    It is a screen. Measured with twelve judges of whom ten are good, at 9, 26, 100 prompts of six
    (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error at most .011): the useless
    judge named in .971, .973, .978 of the worlds, the source-only judge in .170, .558, .949; any of
    the ten named useless in .332, .000, .000, named source-only in .099, .018, .000. Coverage of
    the 95% intervals: accuracy .938, .935, .943; severity .955, .944, .950; without it .983, .948,
    .951; own family .951, .943, .953; length slope .944, .953, .953 (error .003 to .006).

    Args:
        material: with a panel.
        target: the main target.
        families: name to family where `family_of` would be wrong.
        level: of the intervals.
    """
    panel = material.panel
    if panel is None:
        return JudgesTable((), (), (), {}, PanelSeverity((), "no panel"))
    responses = material.responses
    human = np.where(target.both, target.human, np.nan)
    world = _World(
        material=material,
        target=target,
        panel=panel,
        human=human,
        by_judge=panel.by_judge(target.criterion),
        whole=pair_sums(target.panel, human, responses.prompt, n_prompts=len(responses.prompt_ids)),
        n_prompts=len(responses.prompt_ids),
        families=families,
        respondent_family=tuple(
            family_of(who, families) if who and source == MODEL else None
            for who, source in zip(responses.respondent, responses.source.tolist(), strict=True)
        ),
        level=level,
    )
    P, M, _ = panel.shape
    rows: list[JudgeRow] = []
    for kind, name, mask in _members(panel):
        if kind != "judge" and (mask.all() or (P, M) == (1, 1)):
            continue  # the panel itself
        rows.append(_row(world, kind, name, mask))
    judges = [row for row in rows if row.kind == "judge"]
    return JudgesTable(
        rows=tuple(rows),
        useless=tuple(row.name for row in judges if row.is_useless),
        source_only=tuple(row.name for row in judges if row.is_source_only),
        families={model: family_of(model, families) for model in panel.models},
        severity_parts=panel_severity(panel, target.criterion, responses.prompt, level=level),
    )


def _members(panel: PanelScores) -> list[tuple[Kind, str, npt.NDArray[np.bool_]]]:
    shape = panel.scores.shape[1:3]
    found: list[tuple[Kind, str, npt.NDArray[np.bool_]]] = []

    def mask_of(persona: int | None, model: int | None) -> npt.NDArray[np.bool_]:
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
                found.append(("judge", judge_name(persona, model), mask_of(p, m)))
    for p, name in enumerate(panel.personas):
        found.append(("persona", name, mask_of(p, None)))
    for m, name in enumerate(panel.models):
        found.append(("model", name, mask_of(None, m)))
    for axis in dict.fromkeys(name for name in panel.axes if name):
        mask = np.zeros(shape, dtype=bool)
        mask[[p for p, own in enumerate(panel.axes) if own == axis]] = True
        found.append(("axis", axis, mask))
    return found


def _mean_of(table: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    part = table[:, mask]
    counts = np.isfinite(part).sum(axis=1)
    sums = np.nansum(part, axis=1)
    mean: Floats = np.divide(sums, counts, out=np.full(len(part), np.nan), where=counts > 0)
    return mean


def _row(world: _World, kind: Kind, name: str, mask: npt.NDArray[np.bool_]) -> JudgeRow:
    panel, responses, level = world.panel, world.material.responses, world.level
    prompt, n_prompts = responses.prompt, world.n_prompts
    score = _mean_of(world.by_judge, mask)
    rest = _mean_of(world.by_judge, ~mask) if not mask.all() else np.full(len(score), np.nan)
    sums = pair_sums(score, world.human, prompt, n_prompts=n_prompts)
    accuracy = ratio(*sums.accuracy, method="pair accuracy, ties one half", level=level)
    planned = sum(int(grid[mask].sum()) for grid in panel.status.values())
    by_status = {s: int(panel.status[s][mask].sum()) for s in STATUSES if s in panel.status}
    without = undefined("it is the whole panel")
    if np.isfinite(rest).any():
        others = pair_sums(
            np.where(np.isfinite(world.target.panel), rest, np.nan),
            world.human, prompt, n_prompts=n_prompts,
        )  # fmt: skip
        without = ratio_difference(
            others.accuracy, world.whole.accuracy, level=level,
            method="pair accuracy of the panel without it less that of the panel",
        )  # fmt: skip
    cross = within = undefined("the sources are not known, or there is one only")
    is_source_only = False
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
        is_source_only = (
            verdict_limits(cross)[0] > 0.5 and low <= 0.5 <= high
            and within.value <= NEAR_CHANCE and verdict_limits(gap)[0] > 0
        )  # fmt: skip
    abstained = by_status.get("abstained", 0)
    return JudgeRow(
        kind=kind,
        name=name,
        n_scored=by_status.get("scored", int(np.isfinite(score).sum())),
        n_planned=planned if panel.n_planned.any() else 0,
        accuracy=accuracy,
        tau=Estimate(
            sums.tau, n=accuracy.n, unit="prompt", method="stratified tau-b",
            reason="it ties all responses of every prompt, or people do" if math.isnan(sums.tau)
            else "the interval stands at the accuracy",
        ),
        severity=level_difference(
            score, _mean_of(world.by_judge, np.ones_like(mask)), prompt, n_prompts, level
        ),
        spread=spread(score, prompt, n_prompts),
        without=without,
        own_family=_own_family(world, kind, mask, score),
        length=length_slope(score, world.human, responses.length, prompt, n_prompts, level),
        abstention=Estimate(
            abstained / planned if planned and panel.n_planned.any() else float("nan"),
            n=planned, unit="judgment", method="share abstained of planned",
            reason="a description of this run: no interval" if panel.n_planned.any()
            else "the file names no judge for judgments that do not count",
        ),
        cross=cross,
        within=within,
        is_useless=verdict_limits(accuracy)[0] <= 0.5,
        is_source_only=is_source_only,
    )  # fmt: skip


def _own_family(world: _World, kind: Kind, mask: npt.NDArray[np.bool_], score: Floats) -> Estimate:
    if kind not in ("judge", "model"):
        return undefined("holds several families")
    families = [family_of(model, world.families) for model in world.panel.models]
    (family,) = {families[m] for m in np.flatnonzero(mask.any(axis=0)).tolist()}
    foreign = np.zeros_like(mask)
    foreign[:, [m for m, own in enumerate(families) if own != family]] = True
    own = np.array([who == family for who in world.respondent_family], dtype=bool)
    other = np.array(
        [who is not None and who != family for who in world.respondent_family], dtype=bool
    )
    return own_family_preference(
        score, _mean_of(world.by_judge, foreign), world.material.responses.prompt,
        own, other, world.n_prompts, world.level,
    )  # fmt: skip
