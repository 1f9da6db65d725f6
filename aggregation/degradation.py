"""Critical thinking degradation (CTD): how far scores move under reframing, and what that shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt

from ..errors import InputError, InputFault
from .degradation_cells import CellFamily, CellPlan, DegradationCell, FamilyScope, measured_cells
from .effects import Floats, deviation_of, prompt_means
from .estimate import Estimate
from .framing_contrasts import (
    FRAMING_PAIRS,
    Abstention,
    Asymmetry,
    FramingContrast,
    FramingPair,
    TargetComparison,
    abstentions_of,
    compare_targets,
    framing_asymmetry,
    framing_contrasts,
)
from .intervals import t_interval
from .noise_floor import NoiseFloor
from .vulnerability import Finding, vulnerability_findings


@dataclass(frozen=True, slots=True)
class Degradation:
    """A stress test's results. Deltas are baseline − variant in points: positive is worse.

    Attributes:
        targets, conditions, dimensions: names as handed in, the baseline among the conditions.
        baseline: its name.
        families: the declared families and what each could show.
        levels: mean score by target, condition and dimension (None: their mean), over the prompts
            scored there.
        cells: by target, variant and dimension, each variant's mean over dimensions last.
        overall: by target, the mean delta over all conditions and dimensions.
        robust_everywhere: one a target.
        asymmetries: empty, with asymmetry_reason, where a framing is missing.
        asymmetry_reason: why nothing was declared or measured, or None.
        contrasts: by target.
        comparisons: pairs of targets; empty for one target.
        abstentions: empty where they were not handed in.
        findings: the vulnerability profile of each target.
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    baseline: str
    families: tuple[CellFamily, ...]
    levels: Mapping[tuple[str, str, str | None], Estimate]
    cells: tuple[DegradationCell, ...]
    overall: Mapping[str, Estimate]
    robust_everywhere: tuple[RobustEverywhere, ...]
    asymmetries: tuple[Asymmetry, ...]
    asymmetry_reason: str | None
    contrasts: tuple[FramingContrast, ...]
    comparisons: tuple[TargetComparison, ...]
    abstentions: tuple[Abstention, ...]
    findings: tuple[Finding, ...]

    @property
    def variants(self) -> tuple[str, ...]:
        """The conditions without the baseline."""
        return tuple(name for name in self.conditions if name != self.baseline)

    def cell(self, target: str, condition: str, dimension: str | None) -> DegradationCell:
        """Returns one cell; dimension None is the mean over dimensions.

        Raises:
            KeyError: no such cell.
        """
        for one in self.cells:
            if (one.target, one.condition, one.dimension) == (target, condition, dimension):
                return one
        raise KeyError((target, condition, dimension))


@dataclass(frozen=True, slots=True)
class RobustEverywhere:
    """The claim that no framing moves any dimension by the margin: an intersection-union test.

    Every dimension cell's equivalence test at alpha without correction, and every noise gate open.

    Attributes:
        is_robust: True or False; None when a cell's test is undefined.
        p_value: the largest of the cells'; nan when one is undefined.
        n_cells: dimension cells.
        n_failing: those whose test does not pass, is undefined or whose gate is closed.
        n_changed: cells within the margin and yet significantly different from 0.
        reason: why it is not robust, or None.
    """

    target: str
    is_robust: bool | None
    p_value: float
    n_cells: int
    n_failing: int
    n_changed: int
    reason: str | None


def degradation(
    scores: npt.ArrayLike,
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    dimensions: Sequence[str],
    baseline: str = "baseline",
    margin: float = 0.5,
    alpha: float = 0.05,
    noise: NoiseFloor | Mapping[str, NoiseFloor] | None = None,
    response_noise: NoiseFloor | Mapping[str, NoiseFloor] | None = None,
    response_repeats: int = 1,
    scale: tuple[float, float] = (1, 10),
    top_share: npt.ArrayLike | None = None,
    abstained: npt.ArrayLike | None = None,
    asymmetry: tuple[str, str] = ("emotion_agree", "emotion_disagree"),
    asymmetry_dimension: str = "pluralistic_engagement",
    framing_pairs: Sequence[FramingPair] = FRAMING_PAIRS,
    family: FamilyScope = "target",
    flips: int = 9999,
    seed: int = 0,
) -> Degradation:
    """Returns how far each target's scores move under each framing, tested, with verdicts.

    delta = S_baseline − S_variant per prompt, dimension, condition and target (SCRuB, appendix
    15.4); the prompt is the unit of every interval and test.

    Missing scores: a prompt counts for a figure when every score that the figure needs is there,
    and is else left out of it whole: both arms for a cell, both arms in every dimension for a mean
    over dimensions, all arms for a mean over conditions or a contrast, both targets' for a
    comparison. Averaging what is at hand would let the mix of dimensions change from prompt to
    prompt. n stands beside every figure; a target lacking a condition has no mean over conditions.

    Families: Holm and max-T adjust the dimension cells of one target together (family "target"),
    or of all targets (family "all"); the mean cells form a second family of the same scope. The
    family-wise error is alpha in each. Verdicts are those of `verdict_of`: changed (Holm), robust
    (equivalence and an open noise gate), undecided.

    Measured (benchmarks/simulate_stress.py, 20 dimension cells sharing a baseline, deltas of
    standard deviation .8, 2,000 studies a figure), at 9, 20, 30, 100 prompts, nothing changed:
    some cell changed by Holm .000, .040, .041, .040 (± .004), by max-T .046, .051, .050, .056
    (± .005); some mean cell .044, .047, .046, .043 (± .005); coverage of the intervals .951, .949,
    .950, .949 (± .002). Skewed response errors: Holm .047, max-T .052 (± .005) at 20 prompts.
    Planted deltas at 20 prompts come back with a bias of .002 ± .002. Sign-flip
    tests assume true changes that spread symmetrically over prompts; where they are exponential
    about a mean of 0 (20 prompts), Holm errs in .056 ± .005, max-T in .066 ± .006.

    Args:
        scores: shape (targets, conditions, prompts, dimensions), panel means, averaged over
            repeated responses; nan is not measured.
        targets, conditions, dimensions: names of the axes.
        baseline: which condition is the baseline.
        margin: of equivalence in points, fixed before looking.
        alpha: family-wise level, and level of the equivalence tests; intervals have level
            1 − alpha.
        noise: of the panel re-asked, for all targets or by target. None: no cell is robust.
        response_noise: of responses generated again, likewise; where measured, the larger of the
            two noises is compared with the margin.
        response_repeats: responses averaged in each score.
        scale: lowest and highest score.
        top_share: shape of scores, share of a response's judgments at the top of the scale. None:
            the ceiling counts panel means within half a point of it.
        abstained: shape (targets, conditions, prompts): 1 abstained, 0 did not, nan unknown.
        asymmetry: the framings whose difference is the asymmetry (first minus second).
        asymmetry_dimension: the dimension on which it is claimed.
        framing_pairs: groups of framings to contrast.
        family: scope of the families.
        flips: sign vectors drawn where they are not all counted (sign-flip beyond 30 prompts,
            max-T beyond 12).
        seed: of those.

    Raises:
        InputError: every argument that does not fit, at once.
    """
    plan = StressArrays(
        np.asarray(scores, dtype=np.float64),
        tuple(targets),
        tuple(conditions),
        tuple(dimensions),
        None if top_share is None else np.asarray(top_share, dtype=np.float64),
        None if abstained is None else np.asarray(abstained, dtype=np.float64),
    )
    floors = {
        name: (_floor_of(name, noise), _floor_of(name, response_noise)) for name in plan.targets
    }
    _check_stress(
        plan, baseline=baseline, margin=margin, alpha=alpha, scale=scale, noise=floors,
        response_repeats=response_repeats, family=family, flips=flips,
    )  # fmt: skip
    table, names = plan.scores, plan.conditions
    at = names.index(baseline)
    others = [k for k in range(len(names)) if k != at]
    variants = tuple(names[k] for k in others)
    level = 1 - alpha
    deltas = table[:, [at]] - table[:, others]
    whole = deltas.mean(axis=3)
    abstentions: tuple[Abstention, ...] = ()
    if plan.abstained is not None:
        declined = {names[k]: plan.abstained[:, k] for k in others}
        abstentions = abstentions_of(plan.abstained[:, at], declined, targets=plan.targets)
    top, method = plan.top_share, "judgments at the top"
    if top is None:
        top = np.where(np.isnan(table), np.nan, table >= scale[1] - 0.5)
        method = "panel means within half a point of the top"
    cells, families = measured_cells(
        table[:, at], table[:, others], (top[:, at], top[:, others]), method,
        CellPlan(
            plan.targets, variants, plan.dimensions, margin, alpha, family, flips, seed,
            {name: tuple(one for one in pair if one) for name, pair in floors.items()},
            response_repeats,
        ),
    )  # fmt: skip
    asymmetries, reason = _asymmetries(
        plan, deltas, variants, asymmetry, asymmetry_dimension, level, flips, seed
    )
    contrasts = tuple(
        one
        for t, name in enumerate(plan.targets)
        for one in framing_contrasts(
            deltas[t], target=name, variants=variants, dimensions=plan.dimensions,
            pairs=framing_pairs, level=level, flips=flips, seed=seed,
        )
    )  # fmt: skip
    overall = {
        name: prompt_means(whole[t].mean(axis=0)[:, None], level=level, flips=flips, seed=seed)[0]
        for t, name in enumerate(plan.targets)
    }
    return Degradation(
        plan.targets, names, plan.dimensions, baseline,
        families=families,
        levels=_score_levels(plan, level),
        cells=cells,
        overall=overall,
        robust_everywhere=tuple(_robust_everywhere(name, cells) for name in plan.targets),
        asymmetries=asymmetries,
        asymmetry_reason=reason,
        contrasts=contrasts,
        comparisons=compare_targets(
            deltas, targets=plan.targets, variants=variants, dimensions=plan.dimensions,
            level=level, flips=flips, seed=seed,
        ),
        abstentions=abstentions,
        findings=tuple(
            finding
            for name in plan.targets
            for finding in vulnerability_findings(
                name, cells=cells, contrasts=contrasts, asymmetries=asymmetries,
                abstentions=abstentions, alpha=alpha,
                together=plan.targets if family == "all" else (),
            )
        ),
    )  # fmt: skip


def _floor_of(
    target: str, noise: NoiseFloor | Mapping[str, NoiseFloor] | None
) -> NoiseFloor | None:
    return noise.get(target) if isinstance(noise, Mapping) else noise


def _asymmetries(
    plan: StressArrays,
    deltas: Floats,
    variants: tuple[str, ...],
    pair: tuple[str, str],
    declared: str,
    level: float,
    flips: int,
    seed: int,
) -> tuple[tuple[Asymmetry, ...], str | None]:
    missing = [name for name in pair if name not in variants]
    if missing:
        return (), f"no condition named {' or '.join(missing)}"
    agree, disagree = (deltas[:, variants.index(name)] for name in pair)
    rows = framing_asymmetry(
        agree, disagree, targets=plan.targets, dimensions=plan.dimensions, conditions=pair,
        declared=declared, level=level, flips=flips, seed=seed,
    )  # fmt: skip
    if declared in plan.dimensions:
        return rows, None
    return rows, f"no dimension named {declared}: none of these was declared beforehand"


def _score_levels(
    arrays: StressArrays, level: float
) -> dict[tuple[str, str, str | None], Estimate]:
    rows: dict[tuple[str, str, str | None], Estimate] = {}
    for t, target in enumerate(arrays.targets):
        for c, condition in enumerate(arrays.conditions):
            table = arrays.scores[t, c]
            columns = np.column_stack([table, table.mean(axis=1)])
            for k, dimension in enumerate((*arrays.dimensions, None)):
                values = columns[~np.isnan(columns[:, k]), k]
                found = t_interval(values, level=level)
                rows[target, condition, dimension] = replace(
                    found,
                    se=deviation_of(values) / math.sqrt(max(values.size, 1)),
                    n_planned=len(table),
                    reason=found.reason if values.size else "no prompt was scored",
                )
    return rows


def _robust_everywhere(target: str, cells: Sequence[DegradationCell]) -> RobustEverywhere:
    """Returns the claim for all dimension cells of one target."""
    mine = [cell for cell in cells if cell.target == target and cell.dimension is not None]
    p_values = [cell.equivalence.p for cell in mine]
    undefined = [cell for cell in mine if cell.within_margin is None]
    outside = [cell for cell in mine if cell.within_margin is False]
    closed = [cell for cell in mine if cell.noise.reason is not None]
    failing = [cell for cell in mine if not cell.within_margin or cell.noise.reason is not None]
    changed = sum(cell.verdict == "changed" and cell.within_margin is True for cell in mine)
    verdict: bool | None = not failing
    reasons = []
    if outside:
        reasons.append(f"{len(outside)} of {len(mine)} cells are not shown to be inside the margin")
    if undefined:
        reasons.append(f"{len(undefined)} undefined ({undefined[0].equivalence.reason})")
        verdict = False if outside else None
    if closed and not (outside or undefined):
        reasons.append(str(closed[0].noise.reason))
    p_value = math.nan if undefined else max(p_values)
    return RobustEverywhere(
        target, verdict, p_value, len(mine), len(failing), changed, "; ".join(reasons) or None
    )


@dataclass(frozen=True, slots=True)
class StressArrays:
    """Scores, top shares and abstentions with the names of their axes, as in `degradation`."""

    scores: Floats
    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    top_share: Floats | None
    abstained: Floats | None


def _check_stress(
    arrays: StressArrays,
    *,
    baseline: str,
    margin: float,
    alpha: float,
    scale: tuple[float, float],
    response_repeats: int,
    family: str,
    flips: int,
    noise: Mapping[str, tuple[NoiseFloor | None, NoiseFloor | None]],
) -> None:
    """Raises InputError naming every argument of `degradation` that does not fit."""
    found = [
        *_array_faults(arrays, baseline, scale),
        *_option_faults(margin, alpha, response_repeats, family, flips),
        *_noise_faults(arrays.dimensions, noise),
    ]
    if found:
        faults = [InputFault(where="degradation", field=one, message=text) for one, text in found]
        raise InputError(faults)


def _array_faults(
    arrays: StressArrays, baseline: str, scale: tuple[float, float]
) -> list[tuple[str, str]]:
    found = []
    for field, names in (
        ("targets", arrays.targets),
        ("conditions", arrays.conditions),
        ("dimensions", arrays.dimensions),
    ):
        if not names or len(set(names)) < len(names):
            listed = ", ".join(names) or "none"
            found.append((field, f"must be one or more different names, got {listed}"))
    if baseline not in arrays.conditions:
        found.append(("baseline", f"must be one of the conditions, got {baseline!r}"))
    elif len(arrays.conditions) < 2:
        found.append(("conditions", "must hold the baseline and at least one more"))
    shape = arrays.scores.shape
    t, c, d = len(arrays.targets), len(arrays.conditions), len(arrays.dimensions)
    if len(shape) != 4 or (shape[0], shape[1], shape[3]) != (t, c, d) or shape[2] < 1:
        wanted = f"({t} targets, {c} conditions, prompts, {d} dimensions)"
        found.append(("scores", f"must have shape {wanted}, got {shape}"))
    if not scale[0] < scale[1]:
        found.append(("scale", f"must rise, got {scale[0]:g} to {scale[1]:g}"))
    elif not _within(arrays.scores, *scale):
        found.append(("scores", f"must be nan or in {scale[0]:g} to {scale[1]:g}"))
    if arrays.top_share is not None and not (
        arrays.top_share.shape == shape and _within(arrays.top_share, 0, 1)
    ):
        found.append(("top_share", f"must be nan or in 0 to 1, of shape {shape}"))
    if arrays.abstained is not None:
        flags = arrays.abstained[~np.isnan(arrays.abstained)]
        if arrays.abstained.shape != shape[:3] or not np.isin(flags, (0, 1)).all():
            found.append(("abstained", f"must be 0, 1 or nan, of shape {shape[:3]}"))
    return found


def _option_faults(
    margin: float, alpha: float, response_repeats: int, family: str, flips: int
) -> list[tuple[str, str]]:
    found = []
    if not (margin > 0 and math.isfinite(margin)):
        found.append(("margin", f"must be above 0, got {margin}"))
    if not 0 < alpha < 0.5:
        found.append(("alpha", f"must be above 0 and below 0.5, got {alpha}"))
    if response_repeats < 1:
        found.append(("response_repeats", f"must be at least 1, got {response_repeats}"))
    if family not in get_args(FamilyScope):
        allowed = ", ".join(get_args(FamilyScope))
        found.append(("family", f"must be one of {allowed}, got {family!r}"))
    if flips < 1:
        found.append(("flips", f"must be at least 1, got {flips}"))
    return found


def _noise_faults(
    dimensions: tuple[str, ...], noise: Mapping[str, tuple[NoiseFloor | None, NoiseFloor | None]]
) -> list[tuple[str, str]]:
    found = []
    for target, floors in noise.items():
        for field, source, floor in zip(
            ("noise", "response_noise"), ("re-asked", "re-generated"), floors, strict=True
        ):
            if floor is None:
                continue
            if floor.source != source:
                found.append((field, f"must be of {source} responses, got {floor.source}"))
            held = {component.dimension for component in floor.components}
            if missing := [name for name in (*dimensions, None) if name not in held]:
                listed = ", ".join(name or "the mean over dimensions" for name in missing)
                found.append((field, f"must hold every dimension, lacks {listed} for {target}"))
    return list(dict.fromkeys(found))


def _within(values: Floats, low: float, high: float) -> bool:
    known = values[~np.isnan(values)]
    # Means of many judgments may pass an end by rounding.
    return not known.size or bool(known.min() >= low - 1e-9 and known.max() <= high + 1e-9)
