"""Critical thinking degradation (CTD): how far scores move under reframing, and what that shows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .abstention_change import Abstention, abstentions_of
from .degradation_cells import DegradationCell
from .degradation_request import StressArrays, check_stress, stress_arrays
from .degradation_summary import (
    Headline,
    RobustEverywhere,
    ScoreLevel,
    headlines,
    robust_everywhere,
    score_levels,
)
from .framing_asymmetry import Asymmetry, framing_asymmetry
from .framing_contrasts import FRAMING_PAIRS, FramingContrast, FramingPair, framing_contrasts
from .measured_cells import CellFamily, CellPlan, FamilyScope, measured_cells
from .noise_floor import NoiseFloor
from .prompt_means import Floats
from .target_comparison import (
    TargetComparison,
    compare_targets,
    compare_targets_by_dimension,
)
from .vulnerability import Finding, vulnerability_findings


@dataclass(frozen=True, slots=True)
class Degradation:
    """A stress test's results. Deltas are baseline − variant in points: positive is worse.

    Attributes:
        targets, conditions, dimensions: names as handed in, the baseline among the conditions.
        baseline: its name.
        n_prompts: prompts handed in.
        margin, alpha, family, flips, seed: as handed in.
        families: the declared families and what each could show.
        levels: mean scores by target, condition and dimension.
        cells: by target, variant and dimension, each variant's mean over dimensions last.
        headlines: by target: over all conditions (None), then by condition.
        robust_everywhere: one a target.
        asymmetries: empty, with asymmetry_reason, where a framing is missing.
        asymmetry_reason: why nothing was declared or measured, or None.
        contrasts: by target.
        comparisons: pairs of targets on the mean over dimensions; empty for one target.
        abstentions: empty where they were not handed in.
        findings: the vulnerability profile of each target.
        dimension_comparisons: pairs of targets on each dimension; empty for one target.
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    baseline: str
    n_prompts: int
    margin: float
    alpha: float
    family: FamilyScope
    flips: int
    seed: int
    families: tuple[CellFamily, ...]
    levels: tuple[ScoreLevel, ...]
    cells: tuple[DegradationCell, ...]
    headlines: tuple[Headline, ...]
    robust_everywhere: tuple[RobustEverywhere, ...]
    asymmetries: tuple[Asymmetry, ...]
    asymmetry_reason: str | None
    contrasts: tuple[FramingContrast, ...]
    comparisons: tuple[TargetComparison, ...]
    abstentions: tuple[Abstention, ...]
    findings: tuple[Finding, ...]
    dimension_comparisons: tuple[TargetComparison, ...] = ()

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

    def to_json(self) -> dict[str, Any]:
        """Returns every number as plain data for JSON, null for nan, prompts needed included.

        A finding's cells are given by condition and dimension: they stand under "cells".
        """
        plain: dict[str, Any] = _plain(self)
        for row, cell in zip(plain["cells"], self.cells, strict=True):
            row["prompts_needed"] = cell.prompts_needed
            row["prompts_needed_for"] = cell.prompts_needed_for
            row["prompts_needed_reason"] = cell.prompts_needed_reason
            row["prompts_to_detect"] = cell.prompts_to_detect
            row["prompts_for_equivalence"] = cell.prompts_for_equivalence
        for row, finding in zip(plain["findings"], self.findings, strict=True):
            row["sentence"] = finding.sentence()
            row["cells"] = [[cell.condition, cell.dimension] for cell in finding.cells]
        return plain


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
    plan = stress_arrays(scores, targets, conditions, dimensions, top_share, abstained)
    floors = {
        name: (_floor_of(name, noise), _floor_of(name, response_noise)) for name in plan.targets
    }
    check_stress(
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
        {(row.target, row.condition): row for row in abstentions},
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
    return Degradation(
        plan.targets, names, plan.dimensions, baseline, table.shape[2], margin, alpha, family,
        flips, seed,
        families=families,
        levels=score_levels(plan, level),
        cells=cells,
        headlines=headlines(plan.targets, variants, whole, level, flips, seed),
        robust_everywhere=tuple(robust_everywhere(name, cells) for name in plan.targets),
        asymmetries=asymmetries,
        asymmetry_reason=reason,
        contrasts=contrasts,
        comparisons=compare_targets(
            whole, targets=plan.targets, variants=variants, level=level, flips=flips, seed=seed
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
        dimension_comparisons=compare_targets_by_dimension(
            deltas, targets=plan.targets, variants=variants, dimensions=plan.dimensions,
            level=level, flips=flips, seed=seed,
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


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
