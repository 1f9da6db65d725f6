"""All cells of a stress test, tested within their declared families."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .abstention_change import Abstention
from .degradation_cells import (
    Ceiling,
    DegradationCell,
    equivalence_of,
    noise_gate,
    verdict_of,
)
from .effect_size import cohen_dav, cohen_dz, hedges_correction
from .equivalence import Equivalence
from .multiplicity import holm, max_t
from .noise_floor import NoiseFloor
from .prompt_means import Floats, PromptMean, tested_means
from .sign_flips import SignFlips, smallest_holm_p

FamilyScope = Literal["target", "all"]


@dataclass(frozen=True, slots=True)
class CellFamily:
    """The cells whose tests are adjusted together; each family has its own level alpha.

    Attributes:
        kind: "dimensions" (one cell a condition and dimension) or "means" (the mean column).
        targets: whose cells.
        n_tests: cells with a p-value.
        smallest_p_holm: the smallest adjusted p any cell could reach with so many prompts; above
            alpha, no cell can be called changed. nan without a test.
        n_changed, n_robust, n_undecided: verdicts.
        reason: why no cell can be called changed, or None.
    """

    kind: str
    targets: tuple[str, ...]
    n_tests: int
    smallest_p_holm: float
    n_changed: int
    n_robust: int
    n_undecided: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CellPlan:
    """What cells are judged with; the names as in `degradation`."""

    targets: tuple[str, ...]
    variants: tuple[str, ...]
    dimensions: tuple[str, ...]
    margin: float
    alpha: float
    scope: FamilyScope
    flips: int
    seed: int
    noise: Mapping[str, tuple[NoiseFloor, ...]]
    response_repeats: int


@dataclass(frozen=True, slots=True)
class _Measured:
    """One target's columns of one kind: values (prompts, cells) and what was found in them."""

    baseline: Floats
    variant: Floats
    at_top: tuple[Floats, Floats]
    means: tuple[PromptMean, ...]
    tests: SignFlips
    equivalences: tuple[Equivalence, ...]

    @property
    def delta(self) -> Floats:
        return self.baseline - self.variant


def measured_cells(
    baseline: Floats,
    variant: Floats,
    top: tuple[Floats, Floats],
    top_method: str,
    abstentions: Mapping[tuple[str, str], Abstention],
    plan: CellPlan,
) -> tuple[tuple[DegradationCell, ...], tuple[CellFamily, ...]]:
    """Returns the dimension cells and mean cells of every target, and their families.

    Args:
        baseline: shape (targets, prompts, dimensions).
        variant: shape (targets, variants, prompts, dimensions).
        top: what stands at the top of the scale, in the shapes of baseline and variant.
        top_method: how that was found.
        abstentions: by target and condition; empty where not known.
        plan: the options.
    """
    cells: dict[tuple[int, int, int], DegradationCell] = {}
    families = []
    for kind in ("dimensions", "means"):
        measured = [
            _measure(baseline[t], variant[t], (top[0][t], top[1][t]), kind, plan)
            for t in range(len(plan.targets))
        ]
        width = len(plan.dimensions) if kind == "dimensions" else 1
        groups = (
            [list(range(len(plan.targets)))]
            if plan.scope == "all"
            else [[t] for t in range(len(plan.targets))]
        )
        for group in groups:
            columns = (*plan.dimensions,) if kind == "dimensions" else (None,)
            found = _family_cells(
                group, [measured[t] for t in group], columns, plan, abstentions, top_method
            )
            families.append(_family(kind, group, [measured[t] for t in group], found, plan))
            for t, row in zip(group, found, strict=True):
                for k, cell in enumerate(row):
                    column = k % width if kind == "dimensions" else len(plan.dimensions)
                    cells[t, k // width, column] = cell
    return tuple(cells[key] for key in sorted(cells)), tuple(families)


def _measure(
    baseline: Floats, variant: Floats, top: tuple[Floats, Floats], kind: str, plan: CellPlan
) -> _Measured:
    """Columns (prompts, variants x dimensions), or (prompts, variants) of whole-prompt means."""
    both = [np.broadcast_to(baseline, variant.shape), variant]
    tops = [np.broadcast_to(top[0], variant.shape), top[1]]
    if kind == "means":
        # Only prompts scored in every dimension: a mean over those at hand would change its
        # meaning from prompt to prompt.
        both = [one.mean(axis=2, keepdims=True) for one in both]
        tops = [one.mean(axis=2, keepdims=True) for one in tops]
    n_prompts = variant.shape[1]
    first, second, first_top, second_top = (
        one.transpose(1, 0, 2).reshape(n_prompts, -1) for one in (*both, *tops)
    )
    means, tests = tested_means(
        first - second, level=1 - plan.alpha, flips=plan.flips, seed=plan.seed,
        empty="no prompt was scored in both arms",
    )  # fmt: skip
    equivalences = tuple(
        equivalence_of(mean, (first - second)[:, k], plan.margin, plan.alpha)
        for k, mean in enumerate(means)
    )
    return _Measured(first, second, (first_top, second_top), means, tests, equivalences)


def _family(
    kind: str,
    group: list[int],
    measured: list[_Measured],
    found: list[list[DegradationCell]],
    plan: CellPlan,
) -> CellFamily:
    smallest = smallest_holm_p(_joined(measured))
    n_tests = found[0][0].n_tests
    reason = None
    if not n_tests:
        reason = "no prompt was scored in both arms"
    elif smallest > plan.alpha:
        reason = (
            f"among {n_tests} tests the smallest Holm p that so few prompts can give is "
            f"{smallest:.2g}"
        )
    verdicts = [cell.verdict for row in found for cell in row]
    return CellFamily(
        kind,
        tuple(plan.targets[t] for t in group),
        n_tests,
        smallest,
        n_changed=verdicts.count("changed"),
        n_robust=verdicts.count("robust"),
        n_undecided=verdicts.count("undecided"),
        reason=reason,
    )


def _joined(measured: list[_Measured]) -> SignFlips:
    tests = [one.tests for one in measured]
    return SignFlips(
        np.concatenate([one.p_value for one in tests]),
        np.concatenate([one.n for one in tests]),
        tuple(method for one in tests for method in one.method),
        np.concatenate([one.smallest for one in tests]),
    )


def _family_cells(
    group: list[int],
    measured: list[_Measured],
    columns: tuple[str | None, ...],
    plan: CellPlan,
    abstentions: Mapping[tuple[str, str], Abstention],
    top_method: str,
) -> list[list[DegradationCell]]:
    tests = _joined(measured)
    smallest = smallest_holm_p(tests)
    n_tests = int((tests.n > 0).sum())
    adjusted = iter(holm(tests.p_value).tolist())
    deltas = np.concatenate([one.delta for one in measured], axis=1)
    over_maximum = iter(max_t(deltas, resamples=plan.flips, rng=plan.seed).p_adjusted.tolist())
    robust = iter(holm([e.p_value for one in measured for e in one.equivalences]).tolist())
    rows = []
    for t, one in zip(group, measured, strict=True):
        row = []
        target = plan.targets[t]
        for k, mean in enumerate(one.means):
            condition, dimension = plan.variants[k // len(columns)], columns[k % len(columns)]
            gate = noise_gate(
                [(floor.source, floor.of(dimension)) for floor in plan.noise[target]],
                n_prompts=mean.n_prompts, margin=plan.margin, repeats=plan.response_repeats,
            )  # fmt: skip
            p_holm, equivalence = next(adjusted), one.equivalences[k]
            verdict, reason = verdict_of(
                mean, equivalence, p_holm, gate, alpha=plan.alpha, margin=plan.margin,
                smallest_holm=smallest, n_tests=n_tests,
            )  # fmt: skip
            first, second = one.baseline[:, k], one.variant[:, k]
            paired = ~np.isnan(first - second)
            d_z = cohen_dz(first - second)
            row.append(
                DegradationCell(
                    target=target,
                    condition=condition,
                    dimension=dimension,
                    interval=mean.interval,
                    n_planned=mean.n_planned,
                    n_baseline_only=int((~np.isnan(first) & ~paired).sum()),
                    n_variant_only=int((~np.isnan(second) & ~paired).sum()),
                    standard_deviation=mean.standard_deviation,
                    p_value=mean.p_value,
                    p_method=mean.p_method,
                    p_holm=p_holm,
                    p_max_t=next(over_maximum),
                    d_z=d_z,
                    hedges_g=_unbiased(d_z, mean.n_prompts),
                    d_av=cohen_dav(first, second),
                    equivalence=equivalence,
                    p_equivalence_holm=next(robust),
                    noise=gate,
                    verdict=verdict,
                    within_margin=equivalence.is_equivalent,
                    reason=reason,
                    ceiling=_ceiling(one.at_top[0][:, k], one.at_top[1][:, k], paired, top_method),
                    abstention=abstentions.get((target, condition)),
                    margin=plan.margin,
                    alpha=plan.alpha,
                    n_tests=n_tests,
                )
            )
        rows.append(row)
    return rows


def _unbiased(d_z: float, n: int) -> float:
    return hedges_correction(n - 1) * d_z if n > 2 else math.nan


def _ceiling(
    baseline: Floats, variant: Floats, paired: npt.NDArray[np.bool_], method: str
) -> Ceiling:
    known = paired & ~np.isnan(baseline) & ~np.isnan(variant)
    n = int(known.sum())
    if not n:
        return Ceiling(math.nan, math.nan, 0, method)
    return Ceiling(float(baseline[known].mean()), float(variant[known].mean()), n, method)
