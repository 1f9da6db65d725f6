"""Critical thinking degradation (CTD): how far scores move under reframing, and what that shows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from ..errors import InputError, InputFault
from .common_judges import CommonJudges, common_judges, mean_of_known, panel_means
from .degradation_cells import (
    Arms,
    Balance,
    CellFamily,
    CellPlan,
    DegradationCell,
    FamilyScope,
    measured_cells,
)
from .effects import Floats, deviation_of, prompt_means
from .estimate import Estimate
from .framing_contrasts import (
    FRAMING_PAIRS,
    Abstention,
    Asymmetry,
    DeltasOf,
    FramingContrast,
    FramingPair,
    TargetComparison,
    abstentions_of,
    compare_targets,
    framing_asymmetry,
    framing_contrasts,
)
from .intervals import t_interval
from .rater_severity import severity
from .vulnerability import Finding, vulnerability_findings


@dataclass(frozen=True, slots=True)
class Degradation:
    """A stress test's results. Deltas are baseline − variant in points: positive is worse.

    Attributes:
        targets, conditions, dimensions: names as handed in, the baseline among the conditions.
        baseline: its name.
        families: the declared families and what each could show.
        levels: mean score by target, condition and dimension (None: their mean), over the prompts
            scored there; "unbalanced" where judges are missing in some arm of the target, and then
            from the additive fit.
        cells: by target, variant and dimension, each variant's mean over dimensions last.
        overall: by target, the mean delta over all conditions and dimensions.
        robust_everywhere: one a target.
        asymmetries: empty, with asymmetry_reason, where a framing is missing.
        asymmetry_reason: why nothing was declared or measured, or None.
        contrasts: by target.
        comparisons: pairs of targets; empty for one target.
        by_model: mean delta over dimensions by target, variant and judge's model; empty for panel
            means.
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
    by_model: Mapping[tuple[str, str, str], Estimate]
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

    Every dimension cell's equivalence test at alpha without correction.

    Attributes:
        is_robust: True or False; None when a cell's test is undefined.
        p_value: the largest of the cells'; nan when one is undefined.
        n_cells: dimension cells.
        n_failing: those whose test does not pass or is undefined.
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
    models: Sequence[str] = (),
    quorum: float = 2 / 3,
    units: Sequence[Hashable] = (),
    baseline: str = "baseline",
    margin: float = 0.5,
    alpha: float = 0.05,
    scale: tuple[float, float] = (1, 10),
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

    Missing judges: both sides of every figure are means over the judges that scored all of its
    arms (`common_judges`), so that a model which is filtered under one framing is no change of the
    target. Levels of single arms come from the additive fit of responses and judges where judges
    are missing.

    Missing responses: a prompt counts for a figure when every score that the figure needs is there,
    and is else left out of it whole: both arms for a cell, both arms in every dimension for a mean
    over dimensions, all arms for a mean over conditions or a contrast, both targets' for a
    comparison. Averaging what is at hand would let the mix of dimensions change from prompt to
    prompt. n stands beside every figure; a target lacking a condition has no mean over conditions.

    Families: Holm and max-T adjust the dimension cells of one target together (family "target"),
    or of all targets (family "all"); the mean cells form a second family of the same scope. The
    family-wise error is alpha in each. Verdicts are those of `verdict_of`: changed (Holm), robust
    (equivalence), undecided.

    Measured (benchmarks/simulate_stress.py, 20 dimension cells sharing a baseline, deltas of
    standard deviation .8, 2,000 studies a figure), at 9, 20, 30, 100 prompts, nothing changed:
    some cell changed by Holm .000, .041, .036, .028 (± .004), by max-T .041, .051, .044, .044
    (± .005); some mean cell .037, .041, .045, .035 (± .005); coverage of the intervals .950, .949,
    .953, .952 (± .002). Skewed response errors: Holm .037, max-T .045 (± .005) at 20 prompts.
    Planted deltas at 20 prompts come back with a bias of −.003 ± .002. Sign-flip
    tests assume true changes that spread symmetrically over prompts; where they are exponential
    about a mean of 0 (20 prompts), Holm errs in .059 ± .005, max-T in .068 ± .006. Where one of
    three models refuses every response under one framing, or three in ten (20 prompts, 250
    studies), some cell of an unchanged target is changed in .040 ± .012 and .036 ± .012; by panel
    means of whoever scored in .996 and .144.

    Args:
        scores: shape (targets, conditions, prompts, repeats, judges, dimensions), the scores that
            each judge gave each of the repeated responses; or (targets, conditions, prompts,
            dimensions), panel means. nan is not measured.
        targets, conditions, dimensions: names of the axes.
        models: of each judge; needed where there are judges.
        quorum: share of the judges that must have scored a response for its panel mean, of which
            levels are made; a difference needs `common_judges.FEWEST_JUDGES` that scored both.
        units: of each prompt, what it is the same as: prompts with the same text are one unit,
            whose deltas are averaged. Each its own when left out.
        baseline: which condition is the baseline.
        margin: of equivalence in points, fixed before looking.
        alpha: family-wise level, and level of the equivalence tests; intervals have level
            1 − alpha.
        scale: lowest and highest score. Of panel means, those within half a point of the highest
            count as being there.
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
    arrays = StressArrays.of(
        scores, targets=targets, conditions=conditions, dimensions=dimensions, models=models,
        quorum=quorum, units=units, abstained=abstained,
    )  # fmt: skip
    _check_stress(
        arrays, baseline=baseline, margin=margin, alpha=alpha, scale=scale, family=family,
        flips=flips,
    )  # fmt: skip
    names = arrays.conditions
    at = names.index(baseline)
    variants = tuple(name for name in names if name != baseline)
    level = 1 - alpha

    def deltas_of(target: int, chosen: Sequence[str]) -> Floats:
        means, _ = arrays.arms([(target, at), *((target, names.index(name)) for name in chosen)])
        return means[:1] - means[1:]

    def between(first: int, second: int, chosen: Sequence[str]) -> Floats:
        each = [at, *(names.index(name) for name in chosen)]
        means, _ = arrays.arms([(t, c) for t in (first, second) for c in each])
        one, other = means[: len(each)], means[len(each) :]
        found: Floats = (one[:1] - one[1:]) - (other[:1] - other[1:])
        return found

    abstentions: tuple[Abstention, ...] = ()
    if arrays.abstained is not None:
        declined = {name: arrays.abstained[:, names.index(name)] for name in variants}
        abstentions = abstentions_of(arrays.abstained[:, at], declined, targets=arrays.targets)
    cells, families = measured_cells(
        _both_arms(arrays, at, variants, scale[1]),
        CellPlan(
            arrays.targets, variants, arrays.dimensions, margin, alpha, family, flips, seed
        ),
    )  # fmt: skip
    every = [partial(deltas_of, t) for t in range(len(arrays.targets))]
    asymmetries, reason = _asymmetries(
        arrays, every, variants, asymmetry, asymmetry_dimension, level, flips, seed
    )
    contrasts = tuple(
        one
        for name, of_target in zip(arrays.targets, every, strict=True)
        for one in framing_contrasts(
            of_target, target=name, variants=variants, dimensions=arrays.dimensions,
            pairs=framing_pairs, level=level, flips=flips, seed=seed,
        )
    )  # fmt: skip
    overall = {
        name: prompt_means(
            of_target(variants).mean(axis=(0, 2))[:, None], level=level, flips=flips, seed=seed
        )[0]
        for name, of_target in zip(arrays.targets, every, strict=True)
    }
    return Degradation(
        arrays.targets, names, arrays.dimensions, baseline,
        families=families,
        levels=_score_levels(arrays, level),
        cells=cells,
        overall=overall,
        robust_everywhere=tuple(_robust_everywhere(name, cells) for name in arrays.targets),
        asymmetries=asymmetries,
        asymmetry_reason=reason,
        contrasts=contrasts,
        comparisons=compare_targets(
            between, targets=arrays.targets, variants=variants, dimensions=arrays.dimensions,
            level=level, flips=flips, seed=seed,
        ),
        by_model=_by_model(arrays, at, variants, level),
        abstentions=abstentions,
        findings=tuple(
            finding
            for name in arrays.targets
            for finding in vulnerability_findings(
                name, cells=cells, contrasts=contrasts, asymmetries=asymmetries,
                abstentions=abstentions, alpha=alpha,
                together=arrays.targets if family == "all" else (),
            )
        ),
    )  # fmt: skip


def _both_arms(arrays: StressArrays, at: int, variants: Sequence[str], top: float) -> Arms:
    """Every cell's two arms."""
    shape = (2, len(arrays.targets), len(variants), arrays.n_units, len(arrays.dimensions))
    scores, raw, shares = (np.full(shape, np.nan) for _ in range(3))
    limit, method = top, "judgments at the top"
    if not arrays.has_judges:
        limit, method = top - 0.5, "panel means within half a point of the top"
    at_top = replace(arrays, scores=np.where(
        np.isnan(arrays.scores), np.nan, arrays.scores >= limit
    ))  # fmt: skip
    balance = []
    for t in range(len(arrays.targets)):
        row = []
        for v, name in enumerate(variants):
            cells = [(t, at), (t, arrays.conditions.index(name))]
            scores[:, t, v], found = arrays.arms(cells)
            raw[:, t, v] = arrays.by_unit(found.raw)
            shares[:, t, v] = arrays.by_unit(at_top.arms(cells)[1].plain)
            both = ~np.isnan(found.means).any(axis=(0, 2))
            left_out = set(arrays.units[found.left_out].tolist()) - set(arrays.units[both].tolist())
            row.append(
                Balance(
                    found.n_common, found.n_planned, found.n_one_sided, found.without, len(left_out)
                )
            )
        balance.append(row)
    return Arms(scores, raw, shares, method, balance)


def _by_model(
    arrays: StressArrays, at: int, variants: Sequence[str], level: float
) -> dict[tuple[str, str, str], Estimate]:
    """Mean delta over dimensions in the scores of each model's judges alone."""
    rows: dict[tuple[str, str, str], Estimate] = {}
    for model in dict.fromkeys(arrays.models) if arrays.has_judges else ():
        mine = arrays.of_model(model)
        for t, target in enumerate(arrays.targets):
            for name in variants:
                means, _ = mine.arms([(t, at), (t, arrays.conditions.index(name))])
                deltas = (means[0] - means[1]).mean(axis=1)
                found = replace(t_interval(deltas, level=level), n_planned=len(deltas))
                if not found.n:
                    found = replace(found, reason="its judges scored no prompt in both arms")
                rows[target, name, model] = found
    return rows


def _asymmetries(
    plan: StressArrays,
    deltas_of: Sequence[DeltasOf],
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
    agree, disagree = np.stack([of_target(pair) for of_target in deltas_of], axis=1)
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
    """Mean scores of every arm; freed from who judged it, where judges are missing in some."""
    rows: dict[tuple[str, str, str | None], Estimate] = {}
    for t, target in enumerate(arrays.targets):
        each = [arrays.arms([(t, c)]) for c in range(len(arrays.conditions))]
        means = np.stack([panel_means(scores, arrays.quorum) for scores in arrays.scores[t]])
        is_even = all(found.n_common == found.n_planned for _, found in each)
        tables = arrays.by_unit(means if is_even else _adjusted(arrays.scores[t], means))
        for c, condition in enumerate(arrays.conditions):
            columns = np.column_stack([tables[c], tables[c].mean(axis=1)])
            for k, dimension in enumerate((*arrays.dimensions, None)):
                values = columns[~np.isnan(columns[:, k]), k]
                found = t_interval(values, level=level)
                rows[target, condition, dimension] = replace(
                    found,
                    se=deviation_of(values) / math.sqrt(max(values.size, 1)),
                    n_planned=len(columns),
                    reason=found.reason if values.size else "no prompt was scored",
                    method=found.method if is_even else f"{found.method}; {ADDITIVE_FIT}",
                    verdict=None if is_even else "unbalanced",
                )
    return rows


ADDITIVE_FIT: Final = "additive fit of responses and judges"


def _adjusted(scores: Floats, raw: Floats) -> Floats:
    """Scores of one target's responses freed from who judged them, where they have a panel mean.

    Args:
        scores: shape (conditions, prompts, repeats, judges, dimensions).
        raw: panel means, shape (conditions, prompts, dimensions).

    Returns:
        Shape (conditions, prompts, dimensions); the mean over the repeats of a response.
    """
    shape = scores.shape[:4]
    n = int(np.prod(shape[:3]))
    code = np.broadcast_to(np.arange(n).reshape(*shape[:3], 1), shape).ravel()
    judges = np.broadcast_to(np.arange(shape[3]), shape).ravel()
    found = np.full((*scores.shape[:3], scores.shape[4]), np.nan)
    for k in range(scores.shape[4]):
        given = scores[..., k].ravel()
        if not np.isfinite(given).any():
            continue
        fit = severity(given, code, judges, shrink=False)
        found[..., k].flat[np.asarray(fit.responses, dtype=int)] = fit.adjusted
    means = mean_of_known(found, axis=2)
    return np.where(np.isnan(raw), np.nan, means)


def _robust_everywhere(target: str, cells: Sequence[DegradationCell]) -> RobustEverywhere:
    """Returns the claim for all dimension cells of one target."""
    mine = [cell for cell in cells if cell.target == target and cell.dimension is not None]
    p_values = [cell.equivalence.p for cell in mine]
    undefined = [cell for cell in mine if cell.within_margin is None]
    outside = [cell for cell in mine if cell.within_margin is False]
    failing = len(undefined) + len(outside)
    changed = sum(cell.verdict == "changed" and cell.within_margin is True for cell in mine)
    verdict: bool | None = not failing
    reasons = []
    if outside:
        reasons.append(f"{len(outside)} of {len(mine)} cells are not shown to be inside the margin")
    if undefined:
        why = undefined[0].equivalence.reason
        reasons.append(f"{len(undefined)} of {len(mine)} cells have no test ({why})")
        verdict = False if outside else None
    p_value = math.nan if undefined else max(p_values)
    return RobustEverywhere(
        target, verdict, p_value, len(mine), failing, changed, "; ".join(reasons) or None
    )


@dataclass(frozen=True, slots=True)
class StressArrays:
    """Scores and abstentions with the names of their axes, as in `degradation`.

    Attributes:
        scores: shape (targets, conditions, prompts, repeats, judges, dimensions); as it was handed
            in where it does not have the shape of scores at all.
        has_judges: whether it was handed in judge by judge.
        units: code of each prompt's unit.
    """

    scores: Floats
    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    models: tuple[str, ...]
    quorum: float
    units: npt.NDArray[np.int64]
    abstained: Floats | None
    has_judges: bool

    @classmethod
    def of(
        cls,
        scores: npt.ArrayLike,
        *,
        targets: Sequence[str],
        conditions: Sequence[str],
        dimensions: Sequence[str],
        models: Sequence[str],
        quorum: float,
        units: Sequence[Hashable],
        abstained: npt.ArrayLike | None,
    ) -> StressArrays:
        """Takes the arguments of `degradation`; panel means are the scores of one judge."""
        table = np.asarray(scores, dtype=np.float64)
        has_judges = table.ndim != 4
        if not has_judges:
            table = table[:, :, :, None, None, :]
        n = table.shape[2] if table.ndim > 2 else 0
        places = {name: k for k, name in enumerate(dict.fromkeys(units or range(n)))}
        declined = None if abstained is None else np.asarray(abstained, dtype=np.float64)
        codes = np.asarray([places[one] for one in units or range(n)], dtype=np.int64)
        return cls(
            table, tuple(targets), tuple(conditions), tuple(dimensions),
            tuple(models) if has_judges else ("panel",),
            quorum, codes, _declined_by_unit(declined, codes), has_judges,
        )  # fmt: skip

    @property
    def n_units(self) -> int:
        """Units of every interval: prompts of different text."""
        return int(self.units.max(initial=-1)) + 1

    def arms(self, cells: Sequence[tuple[int, int]]) -> tuple[Floats, CommonJudges]:
        """Means of these (target, condition) over the judges they share.

        Returns:
            Shape (arms, units, dimensions); and what they rest on, prompt by prompt.
        """
        found = common_judges([self.scores[t, c] for t, c in cells], self.models, units=self.units)
        return self.by_unit(found.means), found

    def by_unit(self, table: Floats) -> Floats:
        """The mean of the prompts of each unit, shape (…, units, dimensions)."""
        if self.n_units == len(self.units):
            return table
        return np.stack(
            [mean_of_known(table[..., self.units == k, :], axis=-2) for k in range(self.n_units)],
            axis=-2,
        )

    def of_model(self, model: str) -> StressArrays:
        """The scores of one model's judges."""
        mine = np.asarray([name == model for name in self.models])
        names = tuple(name for name in self.models if name == model)
        return replace(self, scores=self.scores[..., mine, :], models=names)


def _declined_by_unit(abstained: Floats | None, units: npt.NDArray[np.int64]) -> Floats | None:
    """1 where most prompts of a unit were declined, shape (targets, conditions, units)."""
    if abstained is None or abstained.ndim != 3 or abstained.shape[2] != len(units):
        return abstained
    if len(set(units.tolist())) == len(units):
        return abstained
    means = np.stack(
        [mean_of_known(abstained[:, :, units == k], axis=2) for k in range(units.max() + 1)], axis=2
    )
    return np.where(np.isnan(means), np.nan, means > 0.5)


def _check_stress(
    arrays: StressArrays,
    *,
    baseline: str,
    margin: float,
    alpha: float,
    scale: tuple[float, float],
    family: str,
    flips: int,
) -> None:
    """Raises InputError naming every argument of `degradation` that does not fit."""
    found = [
        *_array_faults(arrays, baseline, scale),
        *_option_faults(margin, alpha, arrays.quorum, family, flips),
    ]
    if found:
        faults = [InputFault(where="degradation", field=one, message=text) for one, text in found]
        raise InputError(faults)


def _array_faults(
    arrays: StressArrays, baseline: str, scale: tuple[float, float]
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for field, named in (
        ("targets", arrays.targets),
        ("conditions", arrays.conditions),
        ("dimensions", arrays.dimensions),
    ):
        if not named or len(set(named)) < len(named):
            listed = ", ".join(named) or "none"
            found.append((field, f"must be one or more different names, got {listed}"))
    if baseline not in arrays.conditions:
        found.append(("baseline", f"must be one of the conditions, got {baseline!r}"))
    elif len(arrays.conditions) < 2:
        found.append(("conditions", "must hold the baseline and at least one more"))
    shape = arrays.scores.shape
    t, c, d = len(arrays.targets), len(arrays.conditions), len(arrays.dimensions)
    if (
        len(shape) != 6
        or (*shape[:2], *shape[4:]) != (t, c, len(arrays.models), d)
        or min(shape[2:5]) < 1
    ):
        wanted = f"({t} targets, {c} conditions, prompts, {d} dimensions)"
        got = shape if arrays.has_judges else (*shape[:3], *shape[5:])
        if arrays.has_judges:
            many = len(arrays.models)
            wanted += f", or with repeats and {many} judges (one of each model) before dimensions"
        found.append(("scores", f"must have shape {wanted}, got {got}"))
    if len(shape) > 2 and len(arrays.units) != shape[2]:
        found.append(("units", f"must be one a prompt, got {len(arrays.units)}"))
    if not scale[0] < scale[1]:
        found.append(("scale", f"must rise, got {scale[0]:g} to {scale[1]:g}"))
    elif not _within(arrays.scores, *scale):
        found.append(("scores", f"must be nan or in {scale[0]:g} to {scale[1]:g}"))
    if arrays.abstained is not None:
        flags = arrays.abstained[~np.isnan(arrays.abstained)]
        of_units = (*shape[:2], arrays.n_units)
        if arrays.abstained.shape != of_units or not np.isin(flags, (0, 1)).all():
            found.append(("abstained", f"must be 0, 1 or nan, of shape {shape[:3]}"))
    return found


def _option_faults(
    margin: float, alpha: float, quorum: float, family: str, flips: int
) -> list[tuple[str, str]]:
    found = []
    if not (margin > 0 and math.isfinite(margin)):
        found.append(("margin", f"must be above 0, got {margin}"))
    if not 0 < alpha < 0.5:
        found.append(("alpha", f"must be above 0 and below 0.5, got {alpha}"))
    if not 0 <= quorum <= 1:
        found.append(("quorum", f"must be in 0 to 1, got {quorum}"))
    if family not in get_args(FamilyScope):
        allowed = ", ".join(get_args(FamilyScope))
        found.append(("family", f"must be one of {allowed}, got {family!r}"))
    if flips < 1:
        found.append(("flips", f"must be at least 1, got {flips}"))
    return found


def _within(values: Floats, low: float, high: float) -> bool:
    known = values[~np.isnan(values)]
    # Means of many judgments may pass an end by rounding.
    return not known.size or bool(known.min() >= low - 1e-9 and known.max() <= high + 1e-9)
