"""The cells of a stress test: how a dimension moves under a framing, and what may be said of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, nctdtrinc, stdtrit

from .common_judges import FEWEST_JUDGES
from .effect_size import cohen_dav, cohen_dz, hedges_correction
from .effects import Floats, deviation_of, tested_means
from .equivalence import METHOD, prompts_for_equivalence, tost
from .estimate import Estimate
from .intervals import MIN_UNITS, fewest_units
from .multiplicity import holm, max_t
from .sign_flips import SignFlips, smallest_holm_p

Verdict = Literal["changed", "robust", "undecided"]
FamilyScope = Literal["target", "all"]

NOT_BOTH: Final = "no prompt was scored in both arms"


@dataclass(frozen=True, slots=True)
class Balance:
    """Which judgments a difference of two arms rests on.

    Attributes:
        n_common: judgments of judges that scored the prompt in both arms, once for both.
        n_planned: as many were planned, of the prompts that were scored in both.
        n_one_sided: judgments there in one arm and missing in the other: left out of both.
        without: models that scored no counted prompt in both arms.
        n_left_out: prompts scored in both arms that fewer than `common_judges.FEWEST_JUDGES` judges
            scored in both, and so left out.
    """

    n_common: int
    n_planned: int
    n_one_sided: int
    without: tuple[str, ...]
    n_left_out: int

    @property
    def is_even(self) -> bool:
        """Whether both arms were scored by the same judges."""
        return not self.n_one_sided


@dataclass(frozen=True, slots=True)
class DegradationCell:
    """Mean delta (baseline − variant) of one target, condition and dimension over prompts.

    Positive means that the variant is worse. `dimension` None is the mean over all dimensions of
    each prompt, the scorecard's mean column.

    Attributes:
        target, condition, dimension: what the cell is.
        delta: in points, over the judges that scored both arms, with its t interval, its sign-flip
            p, that p after Holm within the declared family, and the verdict: "changed", "robust" or
            "undecided"; n counts the prompts scored in both arms (for the mean column: in every
            dimension of both).
        reason: why it is undecided, or None.
        n_baseline_only, n_variant_only: prompts scored in one arm only, and so left out.
        raw: the same difference of panel means, whoever scored: equal to delta where the judges
            of both arms are the same, and else no finding about the target.
        balance: the judgments behind delta.
        standard_deviation: of the deltas between prompts.
        p_max_t: adjusted within the family by max-T.
        d_z, hedges_g, d_av: standardised sizes (mean / sd of deltas; the same unbiased; mean / mean
            sd of the arms); nan where there is no variation or fewer than two prompts. Raw points
            come first: these depend on the design.
        equivalence: two one-sided tests against the margin and their 1 − 2 alpha interval; without
            a p below six prompts. Its adjusted p is for a claim that picks out the cells that are
            robust.
        at_top: of the baseline and of the variant, the share at the top of the scale, where a rise
            can no longer show, over the prompts scored in both arms.
        margin, alpha, n_tests: what the verdict was reached with; n_tests is the family's size.
    """

    target: str
    condition: str
    dimension: str | None
    delta: Estimate
    reason: str | None
    n_baseline_only: int
    n_variant_only: int
    raw: Estimate
    balance: Balance
    standard_deviation: float
    p_max_t: float
    d_z: float
    hedges_g: float
    d_av: float
    equivalence: Estimate
    at_top: tuple[Estimate, Estimate]
    margin: float
    alpha: float
    n_tests: int

    @property
    def verdict(self) -> str:
        """What may be said of it."""
        return str(self.delta.verdict)

    @property
    def within_margin(self) -> bool | None:
        """Whether the equivalence test passes; None when undefined.

        A changed cell can be within the margin: a real change too small to matter.
        """
        inside = self.equivalence.verdict
        return None if inside is None else inside == "inside"

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
            MIN_UNITS, _prompts_to_exclude(self.standard_deviation, self.margin, alpha=self.alpha)
        )

    @property
    def prompts_needed(self) -> int | None:
        """Prompts an undecided cell needs, at 80% power with its own standard deviation.

        With so many, a true change of the margin's size would be called changed, and a true
        change of 0 robust. None, with `prompts_needed_reason`, where there is no such number; None
        for a decided cell.
        """
        return None if self.prompts_needed_reason is not None else self._needed

    @property
    def prompts_needed_reason(self) -> str | None:
        """Why an undecided cell has no number of prompts that would decide it; None for others."""
        if self.verdict != "undecided":
            return None
        if self.delta.n < 2:
            return "fewer than two prompts show how much deltas vary"
        if not self._varies:
            return "its deltas do not vary"
        needed = self._needed
        if needed is None or needed <= self.delta.n:
            return "it has so many already: its true change may lie between 0 and the margin"
        return None

    @property
    def _needed(self) -> int | None:
        detect, exclude = self.prompts_to_detect, self.prompts_for_equivalence
        if self.verdict != "undecided" or detect is None or exclude is None:
            return None
        return max(detect, exclude)

    @property
    def _varies(self) -> bool:
        return self.standard_deviation > 1e-12 * max(abs(self.delta.value), 1e-3)


def _equivalence(mean: Estimate, values: Floats, margin: float, alpha: float) -> Estimate:
    """Returns the test against the margin; undefined below six prompts, as every interval is.

    Where every prompt moves by the same, as judges without chance may have it, there is no t, and
    no interval: the test is whether that value is inside.
    """
    level = 2 * (1 - alpha) - 1
    if mean.n < MIN_UNITS:
        return Estimate(mean.value, n=mean.n, method=METHOD, level=level, reason=mean.reason)
    found = tost(values, margin, level=1 - alpha)
    if found.reason is None:
        return found
    is_inside = abs(mean.value) < margin
    return replace(
        found, low=math.nan, high=math.nan, p=float(not is_inside),
        reason="every prompt moves by the same, which itself is held against the margin",
        verdict="inside" if is_inside else "not shown",
        method=f"{METHOD}; the same value for every prompt",
    )  # fmt: skip


def verdict_of(
    mean: Estimate,
    equivalence: Estimate,
    p_holm: float,
    *,
    alpha: float,
    margin: float,
    smallest_holm: float,
    n_tests: int,
) -> tuple[Verdict, str | None]:
    """Returns the verdict of a cell and, for an undecided one, the reason.

    "changed": Holm's p is at most alpha; this comes first, whatever the margin says. "robust": not
    changed, and the equivalence test passes at alpha. "undecided": everything else.

    The equivalence test is over prompts, and each prompt's delta holds the noise of its own
    askings: where judges waver, deltas scatter and the interval is wide; where they do not, it
    is narrow by right. No noise floor is asked for besides.

    Measured (benchmarks/simulate_stress.py, 2,000 studies, margin .5, deltas of standard deviation
    .8): cells of an unchanged target called robust at 9, 20, 30, 100 prompts .170, .704, .914, .998
    (± .004 or less; theory .167, .706, .910, 1.000); cells changed by exactly the margin called
    robust at 20 prompts .051 ± .002, skewed errors .048 ± .002, where all scatter is noise of the
    asking that judges share .048 ± .001. A target that loses 10 points on one prompt in twenty, .5
    on average, is called robust in .362 ± .005 at 20 prompts, .170 ± .004 at 60: t has no way to
    see what did not occur. Called changed at 20 prompts among 20 cells: .306 at a true .5, .836 at
    .8, .999 at 1.2 (± .008 or less).
    """
    if p_holm <= alpha:
        return "changed", None
    is_inside = equivalence.verdict == "inside"
    if is_inside:
        return "robust", None
    reasons = []
    if equivalence.has_interval:
        reasons.append(
            f"the {1 - 2 * alpha:.0%} interval, {equivalence.low:.2f} to {equivalence.high:.2f}, "
            f"is not inside ±{margin:g}, and the change is not significant (Holm p {p_holm:.2g})"
        )
    elif mean.reason:
        reasons.append(mean.reason)
    if mean.n and smallest_holm > alpha:
        reasons.append(
            f"among {n_tests} tests the smallest Holm p that so few prompts can give is "
            f"{smallest_holm:.2g}: no change could be called"
        )
    return "undecided", "; ".join(reasons)


@lru_cache(maxsize=4096)
def prompts_to_detect(
    standard_deviation: float,
    effect: float,
    *,
    alpha: float = 0.05,
    tests: int = 1,
    power: float = 0.8,
) -> int:
    """Returns the fewest prompts that find a true mean of `effect` at level alpha / tests.

    Power of the two-sided paired t test by the noncentral t, at the level of Holm's first step
    (alpha / tests): the number is enough however few other cells change. Never fewer than the
    prompts with which a sign-flip test can reach that level at all, 2 / 2^n ≤ alpha / tests.

    Args:
        standard_deviation: of the per-prompt differences, above 0.
        effect: true mean in the same units; only its size counts, above 0.
        alpha: family-wise level.
        tests: cells in the family.
        power: wanted probability.

    Raises:
        ValueError: an argument outside its range.
    """
    effect = abs(effect)
    if not (standard_deviation > 0 and effect > 0 and tests >= 1):
        raise ValueError("standard_deviation and effect must be above 0, tests at least 1")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError("alpha and power must be in (0, 1)")
    level = alpha / tests
    lattice = max(1, math.ceil(1 - math.log2(level) - 1e-9) - 1)
    return fewest_units(
        lambda n: detection_power(n, standard_deviation, effect, level) >= power, after=lattice
    )


def smallest_to_detect(
    standard_deviation: float, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Returns the smallest true mean that n prompts find: the reverse of `prompts_to_detect`.

    Args:
        standard_deviation: of the per-prompt differences, above 0.
        n: prompts, at least 2.
        alpha: level of the two-sided test.
        power: wanted probability.
    """
    limit = float(stdtrit(n - 1, 1 - alpha / 2))
    return float(nctdtrinc(n - 1, 1 - power, limit)) * standard_deviation / math.sqrt(n)


def detection_power(n: int, sd: float, effect: float, level: float) -> float:
    """Returns the probability that n prompts find a true mean of `effect`, at this level."""
    noncentrality = effect * math.sqrt(n) / sd
    limit = float(stdtrit(n - 1, 1 - level / 2))
    # Far out scipy's noncentral t underflows; the power is 1 to every digit long before.
    if noncentrality > limit + 12:
        return 1.0
    return 1.0 - float(nctdtr(n - 1, noncentrality, limit))


@lru_cache(maxsize=4096)
def _prompts_to_exclude(standard_deviation: float, margin: float, *, alpha: float = 0.05) -> int:
    """Returns `prompts_for_equivalence` at power .8 (remembered: a report asks for it often)."""
    return prompts_for_equivalence(standard_deviation, margin, level=1 - alpha)


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


@dataclass(frozen=True, slots=True)
class Arms:
    """Both arms of every cell, shape (2, targets, variants, prompts, dimensions), baseline first.

    Attributes:
        scores: means over the judges that scored both arms.
        raw: the same over whoever scored.
        top: share of those scores at the top of the scale.
        top_method: how that was found.
        balance: by target and variant.
    """

    scores: Floats
    raw: Floats
    top: Floats
    top_method: str
    balance: Sequence[Sequence[Balance]]


@dataclass(frozen=True, slots=True)
class _Measured:
    """One target's columns of one kind: values (2, prompts, cells) and what was found in them."""

    scores: Floats
    raw: Floats
    top: Floats
    means: tuple[Estimate, ...]
    tests: SignFlips
    equivalences: tuple[Estimate, ...]

    @property
    def delta(self) -> Floats:
        found: Floats = self.scores[0] - self.scores[1]
        return found


def measured_cells(
    arms: Arms, plan: CellPlan
) -> tuple[tuple[DegradationCell, ...], tuple[CellFamily, ...]]:
    """Returns the dimension cells and mean cells of every target, and their families."""
    cells: dict[tuple[int, int, int], DegradationCell] = {}
    families = []
    for kind in ("dimensions", "means"):
        measured = [_measure(arms, t, kind, plan) for t in range(len(plan.targets))]
        width = len(plan.dimensions) if kind == "dimensions" else 1
        groups = (
            [list(range(len(plan.targets)))]
            if plan.scope == "all"
            else [[t] for t in range(len(plan.targets))]
        )
        for group in groups:
            columns = (*plan.dimensions,) if kind == "dimensions" else (None,)
            found = _family_cells(group, [measured[t] for t in group], columns, plan, arms)
            families.append(_family(kind, group, [measured[t] for t in group], found, plan))
            for t, row in zip(group, found, strict=True):
                for k, cell in enumerate(row):
                    column = k % width if kind == "dimensions" else len(plan.dimensions)
                    cells[t, k // width, column] = cell
    return tuple(cells[key] for key in sorted(cells)), tuple(families)


def _measure(arms: Arms, target: int, kind: str, plan: CellPlan) -> _Measured:
    """Columns (prompts, variants x dimensions), or (prompts, variants) of whole-prompt means."""
    columns = []
    for given in (arms.scores, arms.raw, arms.top):
        table = given[:, target]
        if kind == "means":
            # Only prompts scored in every dimension: a mean over those at hand would change its
            # meaning from prompt to prompt.
            table = table.mean(axis=3, keepdims=True)
        columns.append(table.transpose(0, 2, 1, 3).reshape(2, table.shape[2], -1))
    scores, raw, top = columns
    deltas = scores[0] - scores[1]
    means, tests = tested_means(
        deltas, level=1 - plan.alpha, flips=plan.flips, seed=plan.seed, empty=NOT_BOTH
    )
    equivalences = tuple(
        _equivalence(mean, deltas[:, k], plan.margin, plan.alpha) for k, mean in enumerate(means)
    )
    return _Measured(scores, raw, top, means, tests, equivalences)


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
        reason = NOT_BOTH
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
    arms: Arms,
) -> list[list[DegradationCell]]:
    tests = _joined(measured)
    smallest = smallest_holm_p(tests)
    n_tests = int((tests.n > 0).sum())
    adjusted = iter(holm(tests.p_value).tolist())
    deltas = np.concatenate([one.delta for one in measured], axis=1)
    over_maximum = iter(max_t(deltas, resamples=plan.flips, rng=plan.seed).p_adjusted.tolist())
    robust = iter(holm([e.p for one in measured for e in one.equivalences]).tolist())
    what = "means over dimensions" if columns == (None,) else "cells"
    family = f"{n_tests} {what} of {', '.join(plan.targets[t] for t in group)}"
    rows = []
    for t, one in zip(group, measured, strict=True):
        row = []
        for k, found in enumerate(one.means):
            condition, dimension = plan.variants[k // len(columns)], columns[k % len(columns)]
            p_holm, equivalence = next(adjusted), one.equivalences[k]
            balance = arms.balance[t][k // len(columns)]
            is_left_out = not found.n and balance.n_left_out
            few = f"fewer than {FEWEST_JUDGES} judges scored both arms of a prompt"
            mean = replace(found, reason=few) if is_left_out else found
            verdict, reason = verdict_of(
                mean, equivalence, p_holm, alpha=plan.alpha, margin=plan.margin,
                smallest_holm=smallest, n_tests=n_tests,
            )  # fmt: skip
            first, second = one.scores[:, :, k]
            raw_first, raw_second = one.raw[:, :, k]
            paired, raw_paired = (~np.isnan(x) for x in (first - second, raw_first - raw_second))
            d_z = cohen_dz(first - second)
            row.append(
                DegradationCell(
                    target=plan.targets[t],
                    condition=condition,
                    dimension=dimension,
                    delta=replace(mean, p_adjusted=p_holm, family=family, verdict=verdict),
                    reason=reason,
                    n_baseline_only=int((~np.isnan(raw_first) & ~raw_paired).sum()),
                    n_variant_only=int((~np.isnan(raw_second) & ~raw_paired).sum()),
                    raw=_raw(raw_first - raw_second),
                    balance=balance,
                    standard_deviation=deviation_of(first - second),
                    p_max_t=next(over_maximum),
                    d_z=d_z,
                    hedges_g=hedges_correction(mean.n - 1) * d_z if mean.n > 2 else math.nan,
                    d_av=cohen_dav(first, second),
                    equivalence=replace(equivalence, p_adjusted=next(robust), family=family),
                    at_top=_at_top(one.top[:, :, k], paired, arms.top_method),
                    margin=plan.margin,
                    alpha=plan.alpha,
                    n_tests=n_tests,
                )
            )
        rows.append(row)
    return rows


def _raw(deltas: Floats) -> Estimate:
    known = deltas[~np.isnan(deltas)]
    made = Estimate(
        float(known.mean()) if known.size else math.nan, n=known.size, n_planned=len(deltas),
        method="difference of panel means, whoever scored",
    )  # fmt: skip
    return made if known.size else replace(made, reason=NOT_BOTH)


def _at_top(top: Floats, paired: npt.NDArray[np.bool_], method: str) -> tuple[Estimate, Estimate]:
    known = paired & ~np.isnan(top).any(axis=0)
    n = int(known.sum())
    shares = [float(one[known].mean()) if n else math.nan for one in top]
    why = None if n else NOT_BOTH
    first, second = (Estimate(one, n=n, method=method, reason=why) for one in shares)
    return first, second
