"""From scores to the figures of a stress test: noise floor, degradation, and their JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..aggregation.degradation import Degradation, degradation
from ..aggregation.noise_floor import NoiseFloor, noise_floor
from ..formats import units
from .table import ConditionCounts, Floats, StressScores

if TYPE_CHECKING:
    from .plan import StressPlan

STRESS_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StressFigures:
    """Everything that a stress test says.

    Attributes:
        degradation: the cells and what is built on them.
        noise: of the panel asked again, or None where nobody was asked again.
        response_noise: of responses generated again, or None.
        n_retested, n_regenerated: pairs behind the two.
        counts: (target, condition) to what became of the responses.
        notes: sentences about what these figures cannot say, with the reason.
    """

    degradation: Degradation
    noise: NoiseFloor | None
    response_noise: NoiseFloor | None
    n_retested: int
    n_regenerated: int
    counts: Mapping[tuple[str, str], ConditionCounts]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Every number as plain data, null where it is undefined, reasons beside."""
        return {
            "format": STRESS_FORMAT,
            "unit": "prompt",
            "counts": [
                {"target": target, "condition": condition, **asdict(tally)}
                for (target, condition), tally in self.counts.items()
            ],
            "noise": {
                "re_asked": _floor(self.noise, self.n_retested),
                "re_generated": _floor(self.response_noise, self.n_regenerated),
            },
            "notes": list(self.notes),
            **self.degradation.to_json(),
        }


def measure(
    scores: StressScores, plan: StressPlan, retested: Floats, top_share: Floats
) -> StressFigures:
    """The figures of a stress test.

    Args:
        scores: the panel's scores by design.
        plan: what was decided beforehand.
        retested: panel means of both askings, (responses, 2, dimensions).
        top_share: share of judgments at the top of the scale, shaped as the scores.
    """
    names = scores.dimensions
    noise = _noise(retested, names, "re-asked")
    response_noise = _noise(scores.regenerated, names, "re-generated")
    found = degradation(
        scores.scores,
        targets=scores.targets,
        conditions=scores.conditions,
        dimensions=names,
        baseline=plan.baseline,
        margin=plan.margin,
        alpha=plan.alpha,
        noise=noise,
        response_noise=response_noise,
        response_repeats=plan.response_repeats,
        scale=scores.scale,
        top_share=top_share,
        abstained=scores.abstained,
        asymmetry=(plan.agree, plan.disagree),
        asymmetry_dimension=plan.asymmetry_dimension,
        family=plan.family,
        seed=plan.seed,
    )
    return StressFigures(
        found,
        noise,
        response_noise,
        len(retested),
        len(scores.regenerated),
        scores.counts,
        tuple(_notes(found, noise, plan, scores.counts)),
    )


def _noise(
    pairs: Floats, dimensions: tuple[str, ...], source: Literal["re-asked", "re-generated"]
) -> NoiseFloor | None:
    if not len(pairs):
        return None
    return noise_floor(pairs[:, 0], pairs[:, 1], dimensions=dimensions, source=source)


def _floor(floor: NoiseFloor | None, n: int) -> dict[str, Any]:
    if floor is None:
        return {"n": n, "reason": "nothing was asked again", "components": []}
    return {
        "n": n,
        "reason": None,
        "components": [
            {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in asdict(component).items()
            }
            for component in floor.components
        ],
    }


def _notes(
    found: Degradation,
    noise: NoiseFloor | None,
    plan: StressPlan,
    counts: Mapping[tuple[str, str], ConditionCounts],
) -> list[str]:
    notes = []
    if not any(tally.scored for tally in counts.values()):
        notes.append("No response was scored: there is no figure.")
    bare = max(tally.no_variant for (_, name), tally in counts.items() if name == plan.baseline)
    if bare:
        prompts = units(bare // plan.response_repeats, "prompt")
        notes.append(
            f"{prompts} without any usable variant: the baseline was not asked for either, since "
            "there is nothing to compare it with."
        )
    undefined = sorted({c.interval.reason for c in found.cells if c.interval.reason is not None})
    notes += [f"No interval for some cells: {reason}." for reason in undefined]
    whole = noise.of(None) if noise is not None else None
    if noise is None:
        why = "(--retest 0)" if not plan.retest_share else "with success"
        notes.append(f"No cell can be called robust: no judge was asked again {why}.")
    elif whole is not None and whole.reason:
        notes.append(f"No cell can be called robust: {whole.reason}.")
    if found.asymmetry_reason:
        notes.append(f"No declared asymmetry: {found.asymmetry_reason}.")
    silent = [one for one in found.families if one.smallest_p_holm > plan.alpha]
    for family in silent:
        notes.append(
            f"{', '.join(family.targets)}: among {family.n_tests} tests the smallest Holm p that "
            f"these prompts can give is {family.smallest_p_holm:.2g}, above {plan.alpha:g}; no "
            f"{'change of a dimension' if family.kind == 'dimensions' else 'mean change'} could "
            "be called."
        )
    if plan.response_repeats == 1 and not plan.regenerate_share:
        notes.append(
            "Each cell rests on one response a prompt: how much responses vary when they are "
            "generated again is part of the spread over prompts and was not measured by itself "
            "(--regenerate, --response-repeats)."
        )
    notes.append(
        "The panel is taken as fixed: the intervals say how the result would vary over prompts "
        "such as these, not over other judges."
    )
    return notes
