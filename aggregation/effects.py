"""The engine of every comparison: arms with weights over units, scored by the same judges.

    unit    what is independent: a prompt, a scenario, a pair of concepts
    item    what the arms have in common; its own unit, or one of several of a unit
    arm     what is compared: a respondent, a framing, a group, a model, before or after
    judge   persona x model x repeat; a judge counts in an item where it scored every arm
    column  a criterion, or their mean

A `Contrast` names arms and columns with weights. `effects` gives each a value a unit, its mean in
both universes, and the verdict of the one rule (`rules`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import t_interval
from .panel_interval import METHODS, NO_VARIATION, REASONS, facet_intervals
from .rater_severity import AdditiveFit
from .rules import WORTH, Limits, cut, decided, separate, with_verdict

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FEWEST_JUDGES: Final = 2
"""Judges that must have scored every arm of an item for it to count; one where one was planned.

A comparison needs no quorum: judges are compared with themselves, so that an item with few of them
has a noisier difference and no other one. Measured: docs/how-it-works/measurement.md, "Missing
votes".
"""

MOST_ABSTAINED: Final = 0.5
"""Share of a response's judgments above which it declined: the few scores it has are compared with
nothing."""

FREE: Final[Limits] = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class Contrast:
    """A sum over arms and columns of weight x mean.

    Attributes:
        arms: arm to weight; their sum is 0 for a difference.
        columns: column to weight, or one column.
        keys: what the row is called, for the table of estimates.
        family: what it is decided together with.
        margin: within which it is *alike*; None where none is declared.
        is_pooled: whether an arm is a ratio over clusters (a share, a rate): every score weighs the
            same, units are clusters of scores, and arms need no item in common.
    """

    arms: Mapping[str, float]
    columns: Mapping[str, float] | str
    keys: Mapping[str, str] = field(default_factory=dict)
    family: str = "comparisons"
    margin: float | None = None
    is_pooled: bool = False

    @property
    def weights(self) -> Mapping[str, float]:
        """Column to weight."""
        return {self.columns: 1.0} if isinstance(self.columns, str) else self.columns

    @property
    def is_difference(self) -> bool:
        """Whether it is 0 where all arms, or all columns, are alike."""
        return abs(sum(self.arms.values()) * sum(self.weights.values())) < 1e-9


@dataclass(frozen=True)
class Scores:
    """Scores in rows, coded from 0.

    Attributes:
        values: shape (rows, columns), nan where it was not scored, in all columns or none.
        arm, item, judge: shape (rows,).
        wanted: shape (rows,), whether the judge was to be asked.
        arms, columns: names.
        unit_of: shape (items,), the unit of each.
        units: names.
        persona, model: shape (judges,), codes.
    """

    values: Floats
    arm: Integers
    item: Integers
    judge: Integers
    wanted: Mask
    arms: tuple[str, ...]
    columns: tuple[str, ...]
    unit_of: Integers
    units: tuple[str, ...]
    persona: Integers
    model: Integers

    @classmethod
    def of(
        cls,
        table: Mapping[str, Any],
        *,
        arm: str,
        unit: str,
        columns: Sequence[str],
        item: str | None = None,
        persona: str | None = None,
        model: str | None = None,
        repeat: str | None = None,
        wanted: npt.ArrayLike | None = None,
    ) -> Scores:
        """Codes a table of one row a score.

        Args:
            table: a DataFrame, or columns by name.
            arm, unit: names of its columns.
            columns: the columns that hold scores, nan where there is none.
            item: what the arms have in common within a unit; the unit itself when left out.
            persona, model, repeat: of the judge; without any there is one judge.
            wanted: shape (rows,), whether the judge was to be asked; all when left out.
        """
        values = np.column_stack([np.asarray(table[name], dtype=np.float64) for name in columns])
        n = len(values)
        arm_code, arms = _coded([table[arm]], n)
        unit_code, units = _coded([table[unit]], n)
        item_code, items = _coded([table[unit], *([table[item]] if item else [])], n)
        of_judge = [table[name] for name in (persona, model, repeat) if name]
        judge_code, judges = _coded(of_judge, n)
        first = [np.unique(code, return_index=True)[1] for code in (item_code, judge_code)]
        unit_of = unit_code[first[0]] if items else np.zeros(0, dtype=np.int64)
        facets = []
        for name in (persona, model):
            code, _ = _coded([table[name]] if name else [], n)
            facets.append(code[first[1]] if judges else np.zeros(0, dtype=np.int64))
        return cls(
            values, arm_code, item_code, judge_code,
            np.ones(n, dtype=bool) if wanted is None else np.asarray(wanted, dtype=bool),
            tuple(label[0] for label in arms), tuple(columns), unit_of,
            tuple(label[0] for label in units), *facets,
        )  # fmt: skip

    def of_judges(self, kept: npt.ArrayLike) -> Scores:
        """The same by some of the judges, shape (judges,)."""
        mine = np.asarray(kept, dtype=bool)[self.judge]
        return replace(
            self, values=self.values[mine], arm=self.arm[mine], item=self.item[mine],
            judge=self.judge[mine], wanted=self.wanted[mine],
        )  # fmt: skip

    @cached_property
    def sides(self) -> dict[str, _Side]:
        """What each arm was scored."""
        return {name: self._side(code) for code, name in enumerate(self.arms)}

    def _side(self, code: int) -> _Side:
        rows = np.flatnonzero((self.arm == code) & self.wanted)
        items, place = np.unique(self.item[rows], return_inverse=True)
        n_judges = len(self.persona)
        shape = (len(items), n_judges)
        cell = place.reshape(-1).astype(np.int64) * n_judges + self.judge[rows]
        is_scored = np.isfinite(self.values[rows]).all(axis=1)
        size = len(items) * n_judges

        def summed(weights: Floats | None) -> Floats:
            counted = np.bincount(cell[is_scored], weights, size)
            return counted.astype(np.float64).reshape(shape)

        totals = np.empty((*shape, len(self.columns)))
        for k in range(len(self.columns)):
            totals[:, :, k] = summed(self.values[rows[is_scored], k])
        is_wanted = np.bincount(cell, minlength=size).reshape(shape) > 0
        return _Side(items.astype(np.int64), totals, summed(None), is_wanted)


@dataclass(frozen=True, slots=True)
class _Side:
    """Items of an arm, sorted; (items, judges, columns) sums, (items, judges) counts and whether
    it was to be asked."""

    items: Integers
    totals: Floats
    counts: Floats
    wanted: Mask

    def at(self, items: Integers) -> _Side:
        place = np.searchsorted(self.items, items)
        return _Side(items, self.totals[place], self.counts[place], self.wanted[place])

    @property
    def means(self) -> Floats:
        return self.totals / np.maximum(self.counts, 1)[:, :, None]


@dataclass(frozen=True, slots=True)
class Matched:
    """Which judgments a contrast rests on.

    Attributes:
        n_planned: items that every arm was to be scored on.
        n_kept: those that enough judges scored in every arm.
        n_few: left out, some arm having fewer than enough judges.
        n_apart: left out, every arm having enough, but too few that are the same.
        n_one_sided: judgments that are there in some arms and missing in others, where every arm
            was to have them.
        only: arm to the items that enough judges scored in it, and not in every arm.
        is_paired: whether the arms have items in common.
    """

    n_planned: int
    n_kept: int
    n_few: int
    n_apart: int
    n_one_sided: int
    only: Mapping[str, int]
    is_paired: bool = True

    @property
    def reason(self) -> str | None:
        """Why items are left out, or None."""
        parts = [
            f"{n} with fewer than {FEWEST_JUDGES} judges {where}"
            for n, where in (
                (self.n_few, "on one side"),
                (self.n_apart, "who scored both sides"),
            )
            if n
        ]
        return "; ".join(parts) or None


@dataclass(frozen=True)
class Effect:
    """What a contrast amounts to.

    Attributes:
        contrast: what was asked.
        this_panel: its mean over other units of this kind, scored by these judges.
        such_judges: the same for judges like these; no limits where nothing varies over judges.
        by_unit: shape (units,), its value on each, freed from which judges scored it.
        units: shape (units,), places in `Scores.units`.
        spread: shape (units,), values with the same mean that scatter as much as it is uncertain:
            what is decided, also together with values that come from elsewhere (`rules.decided`).
        matched: what it rests on.
        moved: what freeing the values added to their plain mean.
        scored: share of the wanted judgments that the arms of weight above 0 have a score of, less
            that of the others, over units.
        bounds: where that differs from 0: the contrast if all missing votes stood at one end of
            the scale, or the other.
    """

    contrast: Contrast
    this_panel: Estimate
    such_judges: Estimate
    by_unit: Floats
    units: Integers
    spread: Floats
    matched: Matched
    moved: float
    scored: Estimate
    bounds: Estimate | None


@dataclass(frozen=True, slots=True)
class _Values:
    """Values of some arms' contrast, all columns: before columns are weighted and decided."""

    by_unit: Floats
    spread: Floats
    units: Integers
    judges: Floats
    seen: Mask
    moved: Floats
    matched: Matched
    scored: Floats
    n_units: int
    extremes: tuple[Floats, ...] | None
    apart: tuple[Floats, ...] | None = None


def effects(
    scores: Scores,
    contrasts: Sequence[Contrast],
    *,
    scale: Limits | None = None,
    worth: float = WORTH,
    unit: str = "prompt",
    of: str = "difference",
    level: float = 0.95,
    seed: int = 0,
) -> list[Effect]:
    """Returns every contrast in both universes, decided within its family.

    Of each item those judges count who scored every arm; an item with fewer than `FEWEST_JUDGES` of
    them is left out, and counted. Values are freed from which judges these were by the additive fit
    of items and judges. With s² the variance of the values over n units, and V_J that of a mean
    over random personas and models (`facet_intervals` of the judges' own means):

        this panel          d ± c s / sqrt(n)
        judges like these   d ± sqrt((t(n − 1) s)² / n + t(df)² V_J)

    where c is from the family's signs (`rules.simultaneous`), and both t at the size that c gives
    one comparison. Two arms without an item in common are compared over separate units by Welch's
    t, and so are ratios over clusters whose arms fall into sets without a cluster in common; the
    limits of a family with such a comparison are Bonferroni's.

    Args:
        scores: of all arms.
        contrasts: what is asked.
        scale: the lowest and highest score; limits beyond what a contrast can be are cut.
        worth: the difference that `needed` units would detect where there is no margin.
        unit: what is independent.
        of: what the values are, for the method.
        level: nominal coverage.
        seed: of the sign vectors that are drawn.

    Returns:
        One a contrast, in order. Limits are missing below six units and where values do not vary.

    Source: Cornfield & Tukey (1956) for the two universes; Satterthwaite (1946).
    """
    cache: dict[tuple[Any, ...], _Values] = {}
    values: list[_Values] = []
    for contrast in contrasts:
        key = (*contrast.arms.items(), contrast.is_pooled)
        if key not in cache:
            make = _pooled if contrast.is_pooled else _values
            cache[key] = make(scores, contrast.arms, scale)
        values.append(cache[key])
    rows: list[Effect | None] = [None] * len(contrasts)
    # A mean decides nothing, and plays no part in a family.
    groups = [(contrast.family, contrast.is_difference) for contrast in contrasts]
    for group in dict.fromkeys(groups):
        mine = [at for at, other in enumerate(groups) if other == group]
        family_effects = _family(
            scores, [contrasts[at] for at in mine], [values[at] for at in mine], scale=scale,
            worth=worth, unit=unit, of=of, level=level, seed=seed,
        )  # fmt: skip
        for at, effect in zip(mine, family_effects, strict=True):
            rows[at] = effect
    return [effect for effect in rows if effect is not None]


def _family(
    scores: Scores,
    contrasts: Sequence[Contrast],
    values: Sequence[_Values],
    *,
    scale: Limits | None,
    worth: float,
    unit: str,
    of: str,
    level: float,
    seed: int,
) -> list[Effect]:
    weights = [
        np.array([contrast.weights.get(name, 0.0) for name in scores.columns])
        for contrast in contrasts
    ]
    sides = [
        tuple(part @ w for part in (cell.apart or (cell.spread,)))
        for cell, w in zip(values, weights, strict=True)
    ]
    table = np.full((len(scores.units), len(contrasts)), np.nan)
    for k, (cell, side) in enumerate(zip(values, sides, strict=True)):
        if len(side) == 1:
            table[cell.units, k] = side[0]
    families = [contrast.family for contrast in contrasts]
    margins = [contrast.margin for contrast in contrasts]
    if any(len(side) > 1 for side in sides):
        rows = separate(
            sides, families=families, margins=margins, worth=worth, unit=unit, of=of, level=level
        )
    else:
        rows = decided(
            table, families=families, margins=margins, worth=worth, unit=unit, of=of, level=level,
            seed=seed,
        )  # fmt: skip
    family_effects = []
    for contrast, cell, w, side, row in zip(contrasts, values, weights, sides, rows, strict=True):
        here = replace(row, universe="this panel", n_planned=cell.n_units)
        if not here.n:
            here = replace(here, reason=_nothing(cell.matched, unit))
        there = _such_judges(scores, contrast, cell, w, here, worth, level)
        if not contrast.is_difference:
            here, there = _undecided(here), _undecided(there)
        limits = _limits(contrast, w, scale)
        share = t_interval(cell.scored, level=level, unit=unit).of("share of judgments scored")
        family_effects.append(
            Effect(
                contrast, cut(here, limits), cut(there, limits), cell.by_unit @ w, cell.units,
                side[0] if len(side) == 1 else np.zeros(0), cell.matched, float(cell.moved @ w),
                share, _at_the_ends(cell, w, here, share),
            )
        )  # fmt: skip
    return family_effects


def _values(scores: Scores, arms: Mapping[str, float], scale: Limits | None) -> _Values:
    """The contrast of these arms by unit, of every column."""
    sides = [scores.sides[name] for name in arms]
    items = reduce(np.intersect1d, [side.items for side in sides])
    if not len(items) and len(sides) == 2 and all(len(side.items) for side in sides):
        return _apart(scores, arms)
    w = np.array(list(arms.values()))
    at = [side.at(items) for side in sides]
    there = np.stack([side.counts > 0 for side in at])
    wanted = np.asarray(np.stack([side.wanted for side in at]).all(axis=0), dtype=bool)
    common = np.asarray(there.all(axis=0), dtype=bool)
    enough = np.clip(wanted.sum(axis=1), 1, FEWEST_JUDGES)
    has = there.sum(axis=2) >= enough
    kept = common.sum(axis=1) >= enough
    matched = Matched(
        n_planned=len(items),
        n_kept=int(kept.sum()),
        n_few=int((~has.all(axis=0)).sum()),
        n_apart=int((has.all(axis=0) & ~kept).sum()),
        n_one_sided=int((there.any(axis=0) & ~common & wanted).sum()),
        only={
            name: int((mine & ~has.all(axis=0)).sum())
            for name, mine in zip(arms, has, strict=True)
        },
    )  # fmt: skip
    each = np.tensordot(w, np.stack([side.means for side in at]), axes=1)
    units, of_item = np.unique(scores.unit_of[items], return_inverse=True)
    of_item = of_item.reshape(-1)
    n_items = np.maximum(np.bincount(of_item, minlength=len(units)), 1)
    positive = w > 0
    has_wanted = there & wanted
    share = has_wanted[positive].sum(axis=(0, 2)) / np.maximum(positive.sum(), 1)
    share = share - has_wanted[~positive].sum(axis=(0, 2)) / np.maximum((~positive).sum(), 1)
    share = np.bincount(of_item, share / np.maximum(wanted.sum(axis=1), 1), len(units)) / n_items
    extremes = None
    if scale is not None and len(items):
        extremes = tuple(
            _over_units(_filled(at, w, wanted, scale, end), of_item, len(units)) for end in (0, 1)
        )  # fmt: skip
    rows = np.flatnonzero(kept)
    counts = common[rows].astype(np.float64)
    totals = np.where(common[rows, :, None], each[rows], 0.0)
    fit = _Fit(totals, counts, of_item[rows])
    return _Values(
        fit.over_units(fit.adjusted), fit.over_units(fit.spread), units[fit.units], fit.judges,
        fit.seen, fit.weights @ fit.moved, matched, share, len(units), extremes,
    )  # fmt: skip


class _Fit:
    """Values of items freed from which judges scored them (`AdditiveFit`), and their units.

    A unit is a mean over its items; all units weigh the same.
    """

    def __init__(self, totals: Floats, counts: Floats, unit: Integers) -> None:
        self.units, place = np.unique(unit, return_inverse=True)
        self._unit = place.reshape(-1)
        self.weights = (
            1
            / np.maximum(len(self.units) * np.bincount(self._unit, minlength=len(self.units)), 1)[
                self._unit
            ]
        )
        fit = AdditiveFit(counts.shape[1], totals.shape[2])
        fit.add(totals, counts)
        self.moved = fit.moved(counts)
        plain = totals.sum(axis=1) / np.maximum(counts.sum(axis=1), 1)[:, None]
        self.adjusted: Floats = plain + self.moved
        self.spread: Floats = fit.spread(totals, counts, self.weights)
        self.seen: Mask = counts.sum(axis=0) > 0
        self.judges: Floats = self.weights @ self.adjusted + fit.severity
        """Shape (judges, columns): each judge's own mean; of those that are `seen`."""

    def over_units(self, values: Floats) -> Floats:
        return _over_units(values, self._unit, len(self.units))


def _over_units(values: Floats, unit: Integers, n_units: int) -> Floats:
    sums = np.zeros((n_units, values.shape[1]))
    np.add.at(sums, unit, values)
    means: Floats = sums / np.maximum(np.bincount(unit, minlength=n_units), 1)[:, None]
    return means


def _apart(scores: Scores, arms: Mapping[str, float]) -> _Values:
    """Two arms without an item in common, each over its own units, by the judges of both."""
    sides = [scores.sides[name] for name in arms]
    both = np.stack([side.counts.sum(axis=0) > 0 for side in sides]).all(axis=0)
    fits, scored = [], []
    for side in sides:
        there = (side.counts > 0) & both
        rows = there.sum(axis=1) >= np.clip((side.wanted & both).sum(axis=1), 1, FEWEST_JUDGES)
        totals = np.where(there[rows, :, None], side.means[rows], 0.0)
        fits.append(_Fit(totals, there[rows] * 1.0, scores.unit_of[side.items[rows]]))
        scored.append(rows)
    w = list(arms.values())
    matched = Matched(
        n_planned=sum(map(len, scored)), n_kept=int(sum(is_kept.sum() for is_kept in scored)),
        n_few=int(sum((~is_kept).sum() for is_kept in scored)), n_apart=0, n_one_sided=0,
        only=dict.fromkeys(arms, 0), is_paired=False,
    )  # fmt: skip
    apart = tuple(f * fit.over_units(fit.spread) for f, fit in zip(w, fits, strict=True))
    columns = len(scores.columns)
    return _Values(
        np.zeros((0, columns)), np.zeros((0, columns)), np.zeros(0, dtype=np.int64),
        w[0] * fits[0].judges + w[1] * fits[1].judges, fits[0].seen & fits[1].seen,
        np.zeros(columns), matched, np.zeros(0),
        sum(len(np.unique(scores.unit_of[side.items])) for side in sides), None, apart,
    )  # fmt: skip


def _pooled(scores: Scores, arms: Mapping[str, float], scale: Limits | None) -> _Values:
    """The contrast of ratios over clusters: v_g = T + G Σ w_a (x_ga − R_a n_ga) / N_a.

    T is the contrast of the ratios R_a, G the clusters of any arm; the standard error of the mean
    of v is the linearised one of T. Source: Cochran (1977), Sampling Techniques, 2.11.
    """
    from scipy.sparse.csgraph import connected_components

    columns, n_units = len(scores.columns), len(scores.units)
    parts, sizes, ratios = [], [], []
    for name, weight in arms.items():
        side = scores.sides[name]
        of_unit = scores.unit_of[side.items]
        x, n = np.zeros((n_units, columns)), np.zeros(n_units)
        np.add.at(x, of_unit, side.totals.sum(axis=1))
        np.add.at(n, of_unit, side.counts.sum(axis=1))
        size = n.sum()
        ratio = x.sum(axis=0) / size if size else np.full(columns, np.nan)
        parts.append(weight * (x - ratio * n[:, None]) / max(size, 1.0))
        sizes.append(n)
        ratios.append(ratio)
    there = np.stack(sizes) > 0
    units = np.flatnonzero(there.any(axis=0))
    if not there.any(axis=1).all():
        units = units[:0]
    weighted = np.array(list(arms.values()))[:, None] * np.stack(ratios)
    values = weighted.sum(axis=0) + len(units) * np.sum(parts, axis=0)[units]
    # Arms without a cluster in common are independent: each set has the error of its own clusters.
    set_of = connected_components(there @ there.T)[1] if len(units) else np.zeros(len(arms), int)
    apart = None
    if set_of.max() > 0:
        sets = [set_of == number for number in range(set_of.max() + 1)]
        apart = tuple(
            weighted[mine].sum(axis=0) + has.sum() * np.stack(parts)[mine].sum(axis=0)[has]
            for mine, has in ((mine, there[mine].any(axis=0)) for mine in sets)
        )
    judged = [scores.sides[name] for name in arms]
    matched = Matched(
        n_planned=int(sum(side.wanted.sum() for side in judged)),
        n_kept=int(sum(side.counts.sum() for side in judged)),
        n_few=0, n_apart=0, n_one_sided=0, only={}, is_paired=apart is None,
    )  # fmt: skip
    planned = np.unique(np.concatenate([scores.unit_of[side.items] for side in judged]))
    no_judge = np.zeros(len(scores.persona), dtype=bool)
    return _Values(
        values, values, units, np.zeros((len(no_judge), columns)), no_judge, np.zeros(columns),
        matched, np.zeros(0), len(planned), None, apart,
    )  # fmt: skip


def _such_judges(
    scores: Scores,
    contrast: Contrast,
    values: _Values,
    w: Floats,
    here: Estimate,
    worth: float,
    level: float,
) -> Estimate:
    """The estimate for judges like these, from that for this panel and the judges' own means."""
    bare = replace(
        here, low=math.nan, high=math.nan, low_family=math.nan, high_family=math.nan, se=math.nan,
        p=math.nan, universe="judges like these", verdict="undefined", needed=None,
    )  # fmt: skip
    seen = values.seen
    if not (here.has_interval and seen.any()):
        return bare
    codes = [
        np.unique(facet[seen], return_inverse=True)[1] for facet in (scores.persona, scores.model)
    ]
    facets = facet_intervals(
        (values.judges[seen] @ w)[None, None], np.ones((1, int(seen.sum()))),
        *(facet.reshape(-1).astype(np.int64) for facet in codes), level=level,
    )  # fmt: skip
    why = REASONS[facets.reason[0, 0]]
    if why is not None and why != NO_VARIATION:
        return replace(bare, reason=why)
    from scipy.special import stdtrit

    upper = (1 + level) / 2
    df, of_judges = 1.0, 0.0
    if why is None:
        df = float(facets.df[0, 0])
        half = float(facets.high[0, 0] - facets.low[0, 0]) / 2
        of_judges = (half / float(stdtrit(df, upper))) ** 2
    df_here = max(here.n - (len(values.apart) if values.apart else 1), 1)

    def reach(quantile: float) -> float:
        judges = float(stdtrit(df, quantile)) * math.sqrt(of_judges)
        return math.hypot(float(stdtrit(df_here, quantile)) * here.se, judges)

    width, tail = reach(upper), _tail(here, df_here)
    of_family = max(reach(1 - tail), width)
    se = math.sqrt(here.se**2 + of_judges)
    row = replace(
        bare, low=here.value - width, high=here.value + width, se=se,
        # What holds for other judges as well cannot be narrower than what holds for these alone.
        low_family=min(here.value - of_family, here.low_family),
        high_family=max(here.value + of_family, here.high_family),
        method=f"t; {METHODS[facets.method[0]]}", p_method=None,
    )  # fmt: skip
    return with_verdict(row, margin=contrast.margin, worth=worth, tail=tail, level=level)


def _tail(here: Estimate, df: float) -> float:
    """The size on one side that the family's limits give this comparison."""
    from scipy.special import stdtr

    reach = (here.high_family - here.low_family) / 2
    return float(stdtr(df, -reach / here.se))


def _undecided(row: Estimate) -> Estimate:
    return replace(
        row, p=math.nan, p_method=None, family=None, verdict=None, needed=None,
        low_family=math.nan, high_family=math.nan,
    )  # fmt: skip


def _limits(contrast: Contrast, w: Floats, scale: Limits | None) -> Limits:
    """The least and the most that a contrast can be, the scores being on the scale."""
    if scale is None:
        return FREE
    weights = np.outer(list(contrast.arms.values()), w)
    up, down = weights[weights > 0].sum(), weights[weights < 0].sum()
    low, high = scale
    return float(up * low + down * high), float(up * high + down * low)


def _filled(sides: Sequence[_Side], w: Floats, wanted: Mask, scale: Limits, end: int) -> Floats:
    """Items' contrast where every wanted vote that is missing stands at one end of the scale."""
    total = np.zeros((len(wanted), sides[0].totals.shape[2]))
    n = np.maximum(wanted.sum(axis=1), 1)[:, None]
    for side, weight in zip(sides, w, strict=True):
        missing = scale[end] if weight > 0 else scale[1 - end]
        means = np.where((side.counts > 0)[:, :, None], side.means, missing)
        total += weight * np.where(wanted[:, :, None], means, 0.0).sum(axis=1) / n
    return total


def _at_the_ends(values: _Values, w: Floats, here: Estimate, share: Estimate) -> Estimate | None:
    """The bounds that missing votes leave, where the arms miss unequal shares of them."""
    if values.extremes is None or not here.is_defined or share.covers(0.0):
        return None
    if not share.has_interval and share.value == 0:
        return None
    low, high = sorted(float((part @ w).mean()) for part in values.extremes)
    return Estimate(
        here.value, low, high, n=here.n, unit=here.unit, universe="this panel", level=math.nan,
        method="missing votes at either end of the scale",
    )  # fmt: skip


def _nothing(matched: Matched, unit: str) -> str:
    if not matched.n_planned:
        return f"they have no {unit} in common"
    return f"no {unit} has enough judges who scored both"


def _coded(columns: Sequence[Any], n: int) -> tuple[Integers, list[tuple[str, ...]]]:
    """A code a row, in order of appearance, of what the columns say together."""
    if not columns:
        return np.zeros(n, dtype=np.int64), [()] if n else []
    labels: dict[tuple[str, ...], int] = {}
    rows = zip(*(np.asarray(column, dtype=object).tolist() for column in columns), strict=True)
    codes = [labels.setdefault(tuple(map(str, row)), len(labels)) for row in rows]
    return np.array(codes, dtype=np.int64), list(labels)


def before_and_after(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Returns what each contrast has changed by, between two runs whose arms are in one table.

    An arm is called "before: NAME" or "after: NAME" there (`arm_when`), so that judges and units
    are matched over both runs.
    """
    return [
        replace(
            contrast,
            arms={arm_when("after", name): weight for name, weight in contrast.arms.items()}
            | {arm_when("before", name): -weight for name, weight in contrast.arms.items()},
        )
        for contrast in contrasts
    ]


def arm_when(when: str, arm: str) -> str:
    """The name of an arm of the run before, or of that after."""
    return f"{when}: {arm}"
