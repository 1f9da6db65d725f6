"""One cell of a stress test: how a dimension moves under a framing, and what may be said of it."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from .abstention_change import Abstention
from .degradation_power import prompts_to_detect, prompts_to_exclude
from .equivalence import Equivalence, tost, tost_from_error
from .estimate import Estimate
from .intervals import MIN_UNITS
from .noise_floor import NoiseComponent
from .prompt_means import Floats, PromptMean

Verdict = Literal["changed", "robust", "undecided"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How much of a cell stands at the top of the scale, where a rise can no longer show.

    Attributes:
        baseline, variant: shares in [0, 1] over the prompts scored in both arms; nan without one.
        n_prompts: those prompts.
        method: "judgments at the top" (from counts handed in) or "panel means within half a point
            of the top".
    """

    baseline: float
    variant: float
    n_prompts: int
    method: str


@dataclass(frozen=True, slots=True)
class NoiseGate:
    """Whether the noise floor lets a cell be called robust.

    Attributes:
        sdc: smallest detectable change of the cell's mean, from s; nan when not measured.
        sdc_bound: the same from the upper bound of s: this is compared with the margin.
        source: whose noise it is, "re-asked" or "re-generated": the larger of those measured.
        prompts_needed: prompts that would bring sdc_bound to the margin; None when not measured.
        reason: why no cell may be called robust; None when the gate is open.
    """

    sdc: float
    sdc_bound: float
    source: str
    prompts_needed: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DegradationCell:
    """Mean delta (baseline − variant) of one target, condition and dimension over prompts.

    Positive means that the variant is worse. `dimension` None is the mean over all dimensions of
    each prompt, the scorecard's mean column.

    Attributes:
        target, condition, dimension: what the cell is.
        interval: mean delta in points and its t interval; n counts the prompts scored in both
            arms (for the mean column: in every dimension of both).
        n_planned: prompts handed in.
        n_baseline_only, n_variant_only: prompts scored in one arm only, and so left out.
        standard_deviation: of the deltas between prompts.
        p_value, p_method: two-sided sign-flip test, as in `sign_flip_tests`.
        p_holm, p_max_t: adjusted within the declared family.
        d_z, hedges_g, d_av: standardised sizes (mean / sd of deltas; the same unbiased; mean / mean
            sd of the arms); nan where there is no variation or fewer than two prompts. Raw points
            come first: these depend on the design.
        equivalence: two one-sided tests against the margin and their 1 − 2 alpha interval;
            undefined below six prompts.
        p_equivalence_holm: its p, Holm-adjusted within the family: for a claim that picks out
            the cells that are robust.
        noise: the noise gate.
        verdict: "changed", "robust" or "undecided".
        within_margin: whether the equivalence test passes; a changed cell can be within the
            margin: a real change too small to matter. None when undefined.
        reason: why it is undecided, or None.
        ceiling: shares at the top of the scale.
        abstention: of this target and condition, or None where it was not handed in.
        margin, alpha, n_tests: what the verdict was reached with; n_tests is the family's size.
    """

    target: str
    condition: str
    dimension: str | None
    interval: Estimate
    n_planned: int
    n_baseline_only: int
    n_variant_only: int
    standard_deviation: float
    p_value: float
    p_method: str
    p_holm: float
    p_max_t: float
    d_z: float
    hedges_g: float
    d_av: float
    equivalence: Equivalence
    p_equivalence_holm: float
    noise: NoiseGate
    verdict: Verdict
    within_margin: bool | None
    reason: str | None
    ceiling: Ceiling
    abstention: Abstention | None
    margin: float
    alpha: float
    n_tests: int

    @property
    def mean(self) -> float:
        """Mean delta in points; nan when no prompt was scored in both arms."""
        return self.interval.value

    @property
    def n_prompts(self) -> int:
        """Prompts scored in both arms."""
        return self.interval.n

    @property
    def prompts_to_detect(self) -> int | None:
        """Prompts that find a true change of the margin's size (80%, Holm's first step)."""
        if not self._varies:
            return None
        return prompts_to_detect(
            self.standard_deviation, self.margin, alpha=self.alpha, tests=max(self.n_tests, 1)
        )

    @property
    def prompts_for_equivalence(self) -> int | None:
        """Prompts that find a true change of 0 inside the margin (80%)."""
        if not self._varies:
            return None
        return max(
            MIN_UNITS, prompts_to_exclude(self.standard_deviation, self.margin, alpha=self.alpha)
        )

    @property
    def prompts_needed(self) -> int | None:
        """Prompts an undecided cell needs, at 80% power with its own standard deviation.

        With so many, a true change of the margin's size would be called changed, and a true
        change of 0 robust (the noise floor's own number counts too): the largest of the three.
        Where the noise floor was not measured no number makes a cell robust: it is then that for
        "changed" alone. None, with `prompts_needed_reason`, where there is no such number; None
        for a decided cell.
        """
        return None if self.prompts_needed_reason is not None else self._needed

    @property
    def prompts_needed_for(self) -> str | None:
        """Which verdict `prompts_needed` leads to: "changed or robust", or "changed" alone."""
        if self.prompts_needed is None:
            return None
        return "changed or robust" if self._can_be_robust else "changed"

    @property
    def prompts_needed_reason(self) -> str | None:
        """Why an undecided cell has no number of prompts that would decide it; None for others."""
        if self.verdict != "undecided":
            return None
        if self.n_prompts < 2:
            return "fewer than two prompts show how much deltas vary"
        if not self._varies:
            return "its deltas do not vary"
        needed = self._needed
        if needed is None or needed <= self.n_prompts:
            ends = "between 0 and the margin" if self._can_be_robust else "below the margin"
            return f"it has so many already: its true change may lie {ends}"
        return None

    @property
    def _needed(self) -> int | None:
        detect, exclude = self.prompts_to_detect, self.prompts_for_equivalence
        if self.verdict != "undecided" or detect is None or exclude is None:
            return None
        if not self._can_be_robust:
            return detect
        return max(detect, exclude, self.noise.prompts_needed or 0)

    @property
    def _can_be_robust(self) -> bool:
        return self.noise.reason is None or self.noise.prompts_needed is not None

    @property
    def _varies(self) -> bool:
        return self.standard_deviation > 1e-12 * max(abs(self.mean), 1e-3)


def noise_gate(
    components: list[tuple[str, NoiseComponent]],
    *,
    n_prompts: int,
    margin: float,
    repeats: int,
) -> NoiseGate:
    """Returns the gate of one cell from its re-asked and, where measured, re-generated noise.

    Args:
        components: (source, component) of the cell's dimension. Noise re-asked must be there and
            be measured; noise re-generated counts where it could be measured.
        n_prompts: of the cell.
        margin: in points.
        repeats: responses averaged in each score.
    """
    asked = [component for source, component in components if source == "re-asked"]
    if not asked:
        why = "the noise floor was not measured"
        return NoiseGate(math.nan, math.nan, "none", None, why)
    if asked[0].reason:
        why = f"the noise floor could not be measured: {asked[0].reason}"
        return NoiseGate(math.nan, math.nan, "re-asked", None, why)
    if n_prompts < 1:
        return NoiseGate(math.nan, math.nan, "re-asked", None, "no prompt was scored in both arms")
    source, worst = max(
        (one for one in components if not one[1].reason), key=lambda one: one[1].upper
    )
    sdc = worst.sdc(n_prompts, repeats=repeats)
    bound = worst.sdc(n_prompts, repeats=repeats, bound=True)
    needed = worst.prompts_below(margin, repeats=repeats)
    if bound <= margin:
        return NoiseGate(sdc, bound, source, needed)
    why = (
        f"the noise floor ({source}) may reach {bound:.2f} points in a mean of {n_prompts} "
        f"prompts, above the margin of {margin:g}"
    )
    return NoiseGate(sdc, bound, source, needed, why)


def equivalence_of(mean: PromptMean, values: Floats, margin: float, alpha: float) -> Equivalence:
    """Returns the test against the margin; undefined below six prompts, as every interval is."""
    if mean.n_prompts >= MIN_UNITS and mean.interval.reason is None:
        return tost(values, margin, level=1 - alpha)
    undefined = tost_from_error(
        mean.mean, math.nan, mean.n_prompts - 1, margin, level=1 - alpha, n=mean.n_prompts
    )
    return replace(undefined, reason=mean.interval.reason)


def verdict_of(
    mean: PromptMean,
    equivalence: Equivalence,
    p_holm: float,
    gate: NoiseGate,
    *,
    alpha: float,
    margin: float,
    smallest_holm: float,
    n_tests: int,
) -> tuple[Verdict, str | None]:
    """Returns the verdict of a cell and, for an undecided one, the reason.

    "changed": Holm's p is at most alpha; this comes first, whatever the margin says. "robust": not
    changed, the equivalence test passes at alpha, and the noise gate is open. "undecided":
    everything else.

    Measured (benchmarks/simulate_stress.py, 2,000 studies, margin .5, deltas of standard deviation
    .8): cells of an unchanged target called robust at 9, 20, 30, 100 prompts .166, .699, .909, .998
    (± .004 or less; theory .167, .706, .910, 1.000); cells changed by exactly the margin called
    robust at 20 prompts .050 ± .002, skewed errors .049 ± .002. Called changed at 20 prompts among
    20 cells: .306 at a true .5, .831 at .8, .999 at 1.2 (± .008 or less).
    """
    if p_holm <= alpha:
        return "changed", None
    if equivalence.is_equivalent and gate.reason is None:
        return "robust", None
    reasons = []
    if mean.interval.reason:
        reasons.append(mean.interval.reason)
    elif not equivalence.is_equivalent:
        reasons.append(
            f"the {1 - 2 * alpha:.0%} interval, {equivalence.low:.2f} to {equivalence.high:.2f}, "
            f"is not inside ±{margin:g}, and the change is not significant (Holm p {p_holm:.2g})"
        )
    if mean.n_prompts and smallest_holm > alpha:
        reasons.append(
            f"among {n_tests} tests the smallest Holm p that so few prompts can give is "
            f"{smallest_holm:.2g}: no change could be called"
        )
    if gate.reason and mean.n_prompts:
        reasons.append(gate.reason)
    return "undecided", "; ".join(reasons)
