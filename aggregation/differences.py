"""Paired differences between sides that the same judges scored on the same prompts.

A side is a respondent, a judge model, a persona, a run. On each prompt only those judges count who
scored both sides, so that a judge who is missing on one of them is no finding about the other; the
prompt's difference is their mean, and prompts are the units of every test. A prompt counts where at
least `common_judges.FEWEST_JUDGES` judges did. Two intervals are given:

    this panel           other prompts of this kind, put to these judges: t over prompts
    judges like these    other prompts, and other personas and models of these kinds as well
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from .common_judges import FEWEST_JUDGES
from .degradation_cells import prompts_to_detect
from .effects import adjusted_by_holm, deviation_of, mean_p_value
from .equivalence import tost
from .estimate import Estimate, undefined
from .intervals import MIN_UNITS, t_interval
from .jackknife import Bounds, cut_to_range
from .panel_interval import METHODS, REASONS, facet_intervals
from .panel_interval import NO_VARIATION as NO_JUDGE_VARIES
from .proportions import wilson
from .rater_severity import AdditiveFit
from .respondents import TOO_FEW_PROMPTS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NO_SCORE: Final = "no prompt was scored"
SMALLEST_WORTH_TELLING: Final = 0.2
"""Points for which the prompts needed are told where no margin is given."""

HIGHER: Final = "higher"
LOWER: Final = "lower"
NOT_TOLD_APART: Final = "not told apart"


@dataclass(frozen=True, slots=True)
class BothUniverses:
    """A mean over prompts and judges, in either universe.

    Attributes:
        this_panel, such_judges: the mean with its interval and the t test of 0.
        by_prompt: shape (prompts,), its value on each prompt, freed from which judges were there.
        spread: shape (prompts,), the values whose scatter is the error of the mean
            (`AdditiveFit.spread`).
        moved: what freeing it added to the mean of the plain values.
    """

    this_panel: Estimate
    such_judges: Estimate
    by_prompt: Floats
    spread: Floats
    moved: float


def in_both_universes(
    totals: Floats,
    counts: Floats,
    persona: npt.ArrayLike,
    model: npt.ArrayLike,
    *,
    bounds: Bounds,
    level: float = 0.95,
    empty: str = NO_SCORE,
) -> list[BothUniverses]:
    """Returns the mean of each column over prompts and judges, with an interval a universe.

    On prompt q the judges' additive fit gives the value d_q. With s² the variance of d over n
    prompts, spread by what the fit adds to the error of their mean (`AdditiveFit.spread`), and V_J
    that of a mean over random personas and models (`facet_intervals` of the judges' own means):

        this panel          d ± t(n − 1) s / sqrt(n)
        judges like these   d ± t(df) sqrt(s² / n + V_J)

    where df is Satterthwaite's, from n − 1 and V_J's own. Judges of one model only are a sample of
    personas on that model, and the other way round; one judge alone has no interval for others,
    and two models have none for other models.

    Args:
        totals: shape (prompts, judges, columns), sums of scores or differences; 0 without any.
        counts: shape (prompts, judges), how many there are; a prompt without any is left out.
        persona, model: shape (judges,), codes from 0.
        bounds: of such a mean; limits beyond are cut.
        level: nominal coverage.
        empty: why there is none, where no prompt is left.

    Returns:
        One a column. No limits below six prompts, or where the values do not vary over prompts.

    Source: Cornfield & Tukey (1956) for the two universes; Satterthwaite (1946).
    """
    has = counts.sum(axis=1) > 0
    totals, counts = totals[has], counts[has]
    fit = AdditiveFit(counts.shape[1], totals.shape[2])
    fit.add(totals, counts)
    moved = fit.moved(counts)
    plain = totals.sum(axis=1) / counts.sum(axis=1)[:, None]
    adjusted = plain + moved
    spread = fit.spread(totals, counts)
    seen = counts.sum(axis=0) > 0
    found = []
    if len(adjusted):
        judges = np.unique(np.asarray(persona)[seen], return_inverse=True)[1].astype(np.int64)
        models = np.unique(np.asarray(model)[seen], return_inverse=True)[1].astype(np.int64)
        facets = facet_intervals(
            (adjusted.mean(axis=0) + fit.severity[seen]).T[None],
            np.ones((1, int(seen.sum()))),
            judges.reshape(-1),
            models.reshape(-1),
            level=level,
        )
    for k in range(totals.shape[2]):
        if not len(adjusted):
            none = undefined(empty)
            found.append(
                BothUniverses(
                    replace(none, universe="this panel"),
                    replace(none, universe="judges like these"),
                    adjusted[:, k], spread[:, k], math.nan,
                )
            )  # fmt: skip
            continue
        values = spread[:, k]
        here = replace(t_interval(values, level=level), universe="this panel")
        if here.n < MIN_UNITS:
            here = replace(here, reason=TOO_FEW_PROMPTS)
        else:
            p, how = mean_p_value(values)
            here = replace(here, p=p, p_method=f"{how} over {here.n} prompts")
        why = REASONS[facets.reason[0, k]]
        method = METHODS[facets.method[0]]
        there = _beyond(
            here, float(facets.high[0, k] - facets.low[0, k]) / 2, float(facets.df[0, k]),
            why, method, level,
        )  # fmt: skip
        here, there = cut_to_range(here, bounds), cut_to_range(there, bounds)
        found.append(BothUniverses(here, there, adjusted[:, k], values, float(moved[:, k].mean())))
    return found


def _beyond(
    here: Estimate, half: float, df: float, why: str | None, method: str, level: float
) -> Estimate:
    """The estimate for judges like these, from that for this panel and the judges' own interval."""
    bare = replace(
        here, low=math.nan, high=math.nan, se=math.nan, p=math.nan, p_method=None,
        universe="judges like these", method=f"t; {method}",
    )  # fmt: skip
    if not here.has_interval:
        return bare
    if why is not None and why != NO_JUDGE_VARIES:
        return replace(bare, reason=why)
    of_judges = 0.0 if why is not None else (half / float(stdtrit(df, (1 + level) / 2))) ** 2
    df = df if of_judges else 1.0

    def reach(tail: float) -> float:
        prompts = float(stdtrit(here.n - 1, 1 - tail)) * here.se
        return math.hypot(prompts, float(stdtrit(df, 1 - tail)) * math.sqrt(of_judges))

    width = reach((1 - level) / 2)
    return replace(
        bare, low=here.value - width, high=here.value + width,
        se=math.sqrt(here.se**2 + of_judges), p=_where_it_reaches(reach, abs(here.value)),
        p_method="the level at which the interval reaches 0",
    )  # fmt: skip


def _where_it_reaches(reach: Callable[[float], float], distance: float) -> float:
    """Twice the tail whose half-width is the distance."""
    low, high = math.log(1e-12), math.log(0.5)
    if reach(1e-12) <= distance:
        return 2e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reach(math.exp(middle)) > distance else (low, middle)
    return 2 * math.exp(high)


@dataclass(frozen=True, slots=True)
class Side:
    """What one side was scored, an item a row: a prompt, or a response both sides judged.

    Attributes:
        items: shape (items,), sorted codes of what is paired with the same item of another side.
        totals: shape (items, judges, columns), sums of scores; 0 without any.
        counts: shape (items, judges), how many these are.
        wanted: shape (items, judges), whether the judge was to be asked at all.
    """

    items: Integers
    totals: Floats
    counts: Floats
    wanted: npt.NDArray[np.bool_]


def sides_of(
    values: Floats,
    wanted: npt.NDArray[np.bool_],
    *,
    side: Integers,
    item: Integers,
    judge: Integers,
    n_sides: int,
    n_judges: int,
) -> list[Side]:
    """Returns the sides of judgments that stand in rows.

    Args:
        values: shape (judgments, columns), nan where it was not scored, in all columns or none.
        wanted: shape (judgments,), whether it was to be asked.
        side, item, judge: shape (judgments,), codes from 0.
        n_sides, n_judges: how many of them there are.
    """
    found = []
    for code in range(n_sides):
        rows = np.flatnonzero((side == code) & wanted)
        items, place = np.unique(item[rows], return_inverse=True)
        cell = place.reshape(-1).astype(np.int64) * n_judges + judge[rows]
        size = len(items) * n_judges
        known = np.isfinite(values[rows, 0])
        shape = (len(items), n_judges)
        counts = np.bincount(cell[known], minlength=size).astype(np.float64).reshape(shape)
        totals = np.empty((*shape, values.shape[1]))
        for k in range(values.shape[1]):
            weights = values[rows[known], k]
            totals[:, :, k] = np.bincount(cell[known], weights, size).reshape(shape)
        asked = np.bincount(cell, minlength=size).reshape(shape) > 0
        found.append(Side(items.astype(np.int64), totals, counts, asked))
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """One side minus another, on one column of scores.

    Attributes:
        this_panel, such_judges: mean difference in points, with its interval, the p of a test of 0,
            and after `paired_differences` the p adjusted over the family and the verdict "higher",
            "lower" or "not told apart"; n of n_planned prompts that have both sides.
        won, tied: share of these prompts on which the first side is higher, or the same.
        moved: this difference minus that of the plain means, which other judges may have made.
        n_unbalanced: prompts on which a judge scored one side only.
        pairs: pairs that enough judges scored on both sides, of those that both were asked about;
            its reason counts those that are left out, by why.
        only_first, only_second: pairs that enough judges scored on that side alone.
        scored: share of pairs that the first has a score of, less that of the second, over prompts.
        deviation: SD of the differences over prompts.
        equivalence: test that the difference lies inside the margin; None without a margin.
        prompts_needed: prompts that would tell a difference of the margin (.2 points without one)
            with a chance of 80%, at Holm's first step; None where the differences do not vary.
        by_prompt: shape (prompts,), the difference on each.
        prompts: shape (prompts,), which they are.
    """

    this_panel: Estimate
    such_judges: Estimate
    won: Estimate
    tied: Estimate
    moved: float
    n_unbalanced: int
    pairs: Estimate
    only_first: int
    only_second: int
    scored: Estimate
    deviation: float
    equivalence: Estimate | None
    prompts_needed: int | None
    by_prompt: Floats
    prompts: Integers


def paired_differences(
    sides: Sequence[Side],
    pairs: Sequence[tuple[int, int]],
    *,
    prompt_of: Integers,
    persona: npt.ArrayLike,
    model: npt.ArrayLike,
    most: float,
    margin: float | None = None,
    level: float = 0.95,
    fewest: int = FEWEST_JUDGES,
) -> list[list[Difference]]:
    """Returns first minus second of each pair, by column, tested over prompts.

    Of each item the judges count who scored both sides; where they are fewer than `fewest`, and
    fewer than were to be asked on both, the item is left out. A prompt's difference is freed from
    which judges those were, and prompts are the units (`in_both_universes`).

    p-values are adjusted by Holm in each universe: the first column, the composite, over the pairs;
    the others over pairs and columns together. The interval is that of the one comparison.

    Measured (benchmarks/simulate_differences.py, see docs/how-it-works/measurement.md).

    Args:
        sides: what each was scored.
        pairs: places of (first, second) in `sides`.
        prompt_of: shape (all items,), the prompt of each item.
        persona, model: shape (judges,), codes.
        most: points that two scores can be apart, the width of their scale.
        margin: points inside which a difference does not matter.
        level: nominal coverage.
        fewest: judges that must have scored both sides of an item.

    Returns:
        shape (pairs, columns).

    Source: Holm (1979); Schuirmann (1987) for equivalence.
    """
    found = [
        _pair(sides[a], sides[b], prompt_of, persona, model, fewest, most, margin, level)
        for a, b in pairs
    ]
    alpha = 1 - level
    here = decided([[one.this_panel for one in row] for row in found], alpha)
    there = decided([[one.such_judges for one in row] for row in found], alpha)
    smallest = margin or SMALLEST_WORTH_TELLING

    def needed(one: Difference, tests: int) -> int | None:
        if not one.deviation > 1e-9:
            return None
        return prompts_to_detect(one.deviation, smallest, alpha=alpha, tests=tests)

    return [
        [
            replace(
                one,
                this_panel=here[row][k],
                such_judges=there[row][k],
                prompts_needed=needed(one, len(found) * (len(columns) - 1 if k else 1)),
            )
            for k, one in enumerate(columns)
        ]
        for row, columns in enumerate(found)
    ]


def decided(table: list[list[Estimate]], alpha: float) -> list[list[Estimate]]:
    """Returns differences with Holm's p and the verdict of each.

    Args:
        table: shape (pairs, columns): the first column is adjusted over the pairs, the others over
            pairs and columns together.
        alpha: from which adjusted p on sides are not told apart.
    """
    made = [list(row) for row in table]
    width = len(made[0]) if made else 0
    for columns, what in ((range(1), "pairs"), (range(1, width), "pairs and criteria")):
        at = [(row, k) for row in range(len(made)) for k in columns]
        tested = [made[row][k] for row, k in at]
        n = sum(not math.isnan(one.p) for one in tested)
        adjusted = adjusted_by_holm(tested, [f"{n} {what}"] * len(tested))
        for (row, k), one in zip(at, adjusted, strict=True):
            made[row][k] = replace(one, verdict=_verdict(one, alpha))
    return made


def _verdict(one: Estimate, alpha: float) -> str | None:
    if math.isnan(one.p_adjusted):
        return None
    if one.p_adjusted > alpha:
        return NOT_TOLD_APART
    return HIGHER if one.value > 0 else LOWER


def _pair(
    first: Side,
    second: Side,
    prompt_of: Integers,
    persona: npt.ArrayLike,
    model: npt.ArrayLike,
    fewest: int,
    most: float,
    margin: float | None,
    level: float,
) -> list[Difference]:
    items, left, right = np.intersect1d(first.items, second.items, return_indices=True)
    prompts, at = np.unique(prompt_of[items], return_inverse=True)
    at = at.reshape(-1)
    a_n, b_n = first.counts[left], second.counts[right]
    wanted = first.wanted[left] & second.wanted[right]
    common = (a_n > 0) & (b_n > 0)
    n_common = common.sum(axis=1)
    needed = np.clip(wanted.sum(axis=1), 1, fewest)
    kept = n_common >= needed
    is_first, is_second = ((one > 0).sum(axis=1) >= needed for one in (a_n, b_n))
    n_few, n_apart = int((~is_first | ~is_second).sum()), int((is_first & is_second & ~kept).sum())
    n_pairs = np.bincount(at, minlength=len(prompts))
    scored = np.bincount(at, is_first * 1.0 - is_second, minlength=len(prompts)) / n_pairs
    a, b = first.totals[left][kept], second.totals[right][kept]
    a_n, b_n, common, at_kept = a_n[kept], b_n[kept], common[kept], at[kept]
    both = np.where(
        common[:, :, None],
        a / np.maximum(a_n, 1)[:, :, None] - b / np.maximum(b_n, 1)[:, :, None],
        0.0,
    )
    judges, columns = a_n.shape[1], first.totals.shape[2]
    totals = np.zeros((len(prompts), judges, columns))
    counts = np.zeros((len(prompts), judges))
    np.add.at(totals, at_kept, both)
    np.add.at(counts, at_kept, common.astype(np.float64))
    plain_items = (
        a.sum(axis=1) / a_n.sum(axis=1)[:, None] - b.sum(axis=1) / b_n.sum(axis=1)[:, None]
    )
    n_items = np.bincount(at_kept, minlength=len(prompts)).astype(np.float64)
    has = n_items > 0
    plain = np.zeros((len(prompts), columns))
    np.add.at(plain, at_kept, plain_items)
    plain = plain[has] / n_items[has][:, None]
    is_one_sided = ((a_n > 0) != (b_n > 0)).any(axis=1)
    n_unbalanced = len(np.unique(at_kept[is_one_sided]))
    found = []
    bounds = (-most, most)
    most_needed = int(needed.max(initial=1))
    few = f"fewer than {most_needed} judges" if most_needed > 1 else "no judge"
    empty = "they have no prompt in common"
    if len(items):
        some = f"{most_needed} judges" if most_needed > 1 else "a judge"
        empty = f"no prompt has {some} who scored both"
    left_out = "; ".join(
        f"{n} scored {how}"
        for n, how in (
            (n_few, f"by {few} on one side"),
            (n_apart, f"on both sides by {few.replace('judge', 'of the same judge')}"),
        )
        if n
    )
    each = in_both_universes(
        totals, counts, persona, model, bounds=bounds, level=level, empty=empty
    )
    for k, one in enumerate(each):
        values, n = one.by_prompt, len(one.by_prompt)
        planned = len(prompts)
        is_tied = np.abs(values) < 1e-9
        shares = [
            replace(
                wilson(int(mask.sum()), n, level=level, unit="prompt"),
                n_planned=planned, universe="this panel",
            ) if n else undefined(empty)
            for mask in ((values > 0) & ~is_tied, is_tied)
        ]  # fmt: skip
        equivalence = None
        if margin is not None and n:
            equivalence = replace(
                cut_to_range(_inside(one.spread, margin, level), bounds),
                n_planned=planned, universe="this panel",
            )  # fmt: skip
        found.append(
            Difference(
                replace(one.this_panel, n_planned=planned),
                replace(one.such_judges, n_planned=planned),
                shares[0],
                shares[1],
                float((values - plain[:, k]).mean()) if n else math.nan,
                n_unbalanced,
                Estimate(
                    int(kept.sum()),
                    n=int(kept.sum()),
                    n_planned=len(items),
                    unit="pair",
                    method="count",
                    reason=left_out or None,
                ),
                int((is_first & ~is_second).sum()),
                int((is_second & ~is_first).sum()),
                _scored(scored, level),
                deviation_of(one.spread),
                equivalence,
                None,
                values,
                prompts[has],
            )
        )
    return found


def _scored(shares: Floats, level: float) -> Estimate:
    p, how = mean_p_value(shares)
    found = t_interval(shares, level=level, unit="prompt").of("share of pairs with a score")
    return replace(cut_to_range(found, (-1.0, 1.0)), p=p, p_method=how)


def _inside(values: Floats, margin: float, level: float) -> Estimate:
    """The test that the difference lies inside the margin; the same everywhere needs no test."""
    found = tost(values, margin, level=level)
    if found.verdict is None and len(values) >= MIN_UNITS:
        is_inside = abs(float(values.mean())) < margin
        return replace(found, verdict="inside" if is_inside else "not shown")
    return found
