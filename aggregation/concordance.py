"""Kendall's coefficient of concordance W, what goes with it within prompts, and tests of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .intervals import t_interval
from .jackknife import cut_to_range, jackknife
from .ratings import Ratings, constant_raters, prompt_tables
from .rotations import IncompleteRankings, mid_ranks, rating_table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_DRAWN = 20_000_000
"""Cells permuted at most for one p; with more ratings fewer permutations are drawn."""

FEWEST_RESAMPLES, MOST_RESAMPLES = 199, 9999

MOST_ROTATED = 2000
"""Prompts rated in part that are used; of more, so many are drawn."""

MOST_ROTATED_CELLS, ROTATED_RESAMPLES = 20_000_000, 1999
"""Cells permuted at most there, and permutations."""


def w_of_ranks(ranks: Floats) -> Floats:
    """Returns Kendall's W, corrected for ties, of each table of mid-ranks (…, raters, items).

    W = 12 S / (m²(n³ − n) − m Σ_j T_j)      S: squared deviations of the n rank sums from their
    mean; T_j = Σ(t³ − t) over the tie groups of rater j. Its mean is 1/m when nobody agrees; nan
    where every rater ties every item.

    Source: Kendall & Gibbons (1990), ch. 6.
    """
    m, n = ranks.shape[-2:]
    middle = (n + 1) / 2
    squares = ((ranks.sum(axis=-2) - m * middle) ** 2).sum(axis=-1)
    possible = m * ((ranks - middle) ** 2).sum(axis=(-2, -1))
    w: Floats = np.divide(
        squares, possible, out=np.full(squares.shape, np.nan), where=possible > 1e-9
    )
    return w


def kendall_w_uncorrected(ranks: npt.ArrayLike) -> float:
    """Returns W as published with SCRuB: raw rank column, no re-ranking, no tie correction.

    W = 12 S / (m²(n³ − n))      S: squared deviations of the rank sums from their own mean.
    For comparison with that paper only: where ranks are tied or taken out of a longer list it is
    not a coefficient of concordance and can fall far short of `w_of_ranks` (or exceed 1).

    Args:
        ranks: shape (m raters, n items), as written by the raters; raters with any missing rank
            are left out, as there.

    Returns:
        nan with fewer than two complete raters or two items.

    Raises:
        ValueError: not two-dimensional.
    """
    table = rating_table(ranks)
    table = table[~np.isnan(table).any(axis=1)]
    n_raters, n_items = table.shape
    if n_raters < 2 or n_items < 2:
        return math.nan
    sums = table.sum(axis=0)
    squares = float(((sums - sums.mean()) ** 2).sum())
    return float(12 * squares / (n_raters**2 * (n_items**3 - n_items)))


@dataclass(frozen=True, slots=True)
class Rotation:
    """Prompts of which most raters saw only part of the responses.

    Attributes:
        n_prompts: how many.
        n_balanced: of them in a balanced design (`balanced_design`).
        n_apart: of them without W: no raters connect all the responses.
        seen: fewest and most responses that a rater saw of a prompt.
        responses: fewest and most responses of a prompt.
        skillings_mack: the statistic added over prompts, with its permutation p.
        degrees_of_freedom: added over prompts.
    """

    n_prompts: int
    n_balanced: int
    n_apart: int
    seen: tuple[int, int]
    responses: tuple[int, int]
    skillings_mack: Estimate
    degrees_of_freedom: int


@dataclass(frozen=True, slots=True)
class Concordance:
    """Agreement of the raters of each prompt: of those who rated all of it, where most did.

    Attributes:
        w: mean W over prompts: of complete raters Kendall's, tie-corrected; in a rotation that of
            `IncompleteRankings`, which is Durbin's in a balanced design.
        chance_w: its value when nobody agrees: the mean of W₀, which is 1/m of complete raters and
            the mean over shuffled values in a rotation.
        mean_spearman: mean over prompts of r̄ = (W − W₀) / (1 − W₀), which is (mW − 1) / (m − 1) of
            complete raters; chance value 0.
        p: one-sided permutation p of r̄; every rater's values shuffled within prompts.
        icc_one, icc_mean: consistency of one rater, ICC(3,1), and of the mean of m̄ raters.
        icc_absolute: absolute agreement of one rater, ICC(2,1).
        top_one: share of pairs of raters who put the same response first (ties share).
        top_one_chance: its chance value, the mean of 1/n.
        same_order: share of pairs of raters with the same order throughout.
        mean_raters: m̄, the mean number of complete raters a prompt.
        n_partial: raters left out of a prompt because they rated only part of it.
        w_by_prompt: (prompt code, W) of each prompt with a W.
        n_constant: raters left out of all of these because they gave one value throughout.
        rotation: the prompts that were rated in part; None where there are none.
    """

    w: Estimate
    chance_w: float
    mean_spearman: Estimate
    p: Estimate
    icc_one: Estimate
    icc_mean: Estimate
    icc_absolute: Estimate
    top_one: Estimate
    top_one_chance: float
    same_order: Estimate
    mean_raters: float
    n_partial: int
    w_by_prompt: tuple[tuple[int, float], ...]
    n_constant: int = 0
    rotation: Rotation | None = None


@dataclass(slots=True)
class _Sums:
    """Per-prompt figures, collected over shapes."""

    prompt: list[Integers]
    w: list[Floats]
    raters: list[Floats]
    items: list[Floats]
    top: list[Floats]
    order: list[Floats]
    squares: list[Floats]  # (prompts, 3): between responses, raters, residual


def concordance(
    ratings: Ratings, *, level: float = 0.95, seed: int = 0, permute: bool = True
) -> Concordance:
    """Returns W with its chance level, r̄ with its permutation p, ICC and shared choices.

    In a prompt only raters who rated all its responses count, and two are needed. Where they are
    fewer than half of those who rated two responses or more, raters saw different responses, as in
    a rotation: there all of these count in W and r̄, and nobody in the rest. The mean
    squares of the ICC are pooled over prompts, so that differences between prompts are not in
    it. Prompts whose raters all tie everything have no W and are not in its mean. A rater who
    gives one value throughout orders nothing: left in, it would count in m as if it disagreed
    (with one other rater W is then 1/2 and r̄ 0, whatever that one says), so it is left out,
    counted, and with fewer than two raters who vary every figure is undefined.
    Measured coverage of the 95% intervals with five raters at 9, 26, 100 prompts of six
    (benchmarks/simulate.py calibration, 2,000 worlds, Monte Carlo error .004 to .006): W and r̄
    .946, .962, .947; ICC(3,1) .938, .947, .945; ICC(2,1) .935, .949, .948; same first choice .917,
    .945, .941. At 9 prompts the ICC and the same first choice fall short of .95.
    """
    sums = _Sums([], [], [], [], [], [], [])
    stacks: list[Floats] = []
    rotated: dict[int, Floats] = {}
    n_partial = 0
    constant = constant_raters(ratings)
    if len(constant):
        ratings = ratings.select(~np.isin(ratings.rater, constant))
    for tables in prompt_tables(ratings):
        complete = tables.complete
        counts = complete.sum(axis=1)
        usable = ((~np.isnan(tables.values)).sum(axis=2) >= 2).sum(axis=1)
        is_rotated = (usable >= 2) & (2 * counts < usable)
        for at in np.flatnonzero(is_rotated).tolist():
            rotated[int(tables.prompt[at])] = tables.values[at]
        n_partial += int((~complete)[~is_rotated].sum())
        counts = np.where(is_rotated, 0, counts)
        for m in np.unique(counts[counts >= 2]).tolist():
            chosen = np.flatnonzero(counts == m)
            # complete raters first, each prompt's in their order
            rows = np.argsort(~complete[chosen], axis=1, kind="stable")[:, :m]
            values = np.take_along_axis(tables.values[chosen], rows[:, :, None], axis=1)
            ranks = mid_ranks(values)
            stacks.append(ranks)
            sums.prompt.append(tables.prompt[chosen])
            sums.w.append(w_of_ranks(ranks))
            sums.raters.append(np.full(len(chosen), float(m)))
            sums.items.append(np.full(len(chosen), float(values.shape[2])))
            sums.top.append(_same_top(values))
            sums.order.append(_same_order(ranks))
            sums.squares.append(_mean_squares(values))
    codes = sorted(rotated)
    if len(codes) > MOST_ROTATED:
        drawn_codes = np.random.default_rng(seed).choice(codes, MOST_ROTATED, replace=False)
        codes = sorted(drawn_codes.tolist())
    resamples = MOST_ROTATED_CELLS // max(sum(rotated[code].size for code in codes), 1)
    resamples = int(np.clip(resamples, FEWEST_RESAMPLES, ROTATED_RESAMPLES))
    parts = [_in_rotation(rotated[code], resamples, [seed, code]) for code in codes]
    if not stacks and not any(part.rankings.is_defined for part in parts):
        none = _nothing(n_partial, ratings.n_raters, len(constant))
        return replace(none, rotation=_rotation(parts, len(rotated)) if parts else None)
    prompt = np.array(codes, dtype=np.int64)
    w, chance = (np.array([getattr(one, name) for one in parts]) for name in ("w", "chance"))
    m, n, mean_m = np.zeros(0), np.zeros(0), math.nan
    method = _method(bool(stacks), parts)
    if stacks:
        m, n = np.concatenate(sums.raters), np.concatenate(sums.items)
        prompt = np.concatenate([*sums.prompt, prompt])
        w, chance = np.concatenate([*sums.w, w]), np.concatenate([1 / m, chance])
        mean_m = float(m.mean())
    defined = ~np.isnan(w)
    r_bar = (w - chance) / (1 - chance)
    formula = "(W − W₀)/(1 − W₀), W₀ by chance" if parts else "(mW − 1)/(m − 1)"
    p = undefined("W is undefined in every prompt", method="permutation within prompts")
    if not permute:
        p = undefined("not asked for", method="permutation within prompts")
    elif defined.any():
        p = _permutation_p(stacks, parts, float(r_bar[defined].mean()), int(defined.sum()), seed)
    none = _nothing(n_partial, ratings.n_raters, len(constant))
    found = replace(
        none,
        w=_mean(w, f"mean over prompts of {method}", level),
        chance_w=float(chance[defined].mean()) if defined.any() else math.nan,
        mean_spearman=_mean(r_bar, f"mean over prompts of r̄ = {formula}", level, -1.0),
        p=p,
        w_by_prompt=tuple(zip(prompt[defined].tolist(), w[defined].tolist(), strict=True)),
        rotation=_rotation(parts, len(rotated)) if parts else None,
    )
    if not stacks:
        return found
    icc = _icc(np.concatenate(sums.squares), m, n, mean_m, level)
    return replace(
        found,
        icc_one=icc[0],
        icc_mean=icc[1],
        icc_absolute=icc[2],
        top_one=_mean(np.concatenate(sums.top), "share of rater pairs with the same top", level),
        top_one_chance=float((1 / n).mean()),
        same_order=_mean(
            np.concatenate(sums.order), "share of rater pairs with one order throughout", level
        ),
        mean_raters=mean_m,
    )


@dataclass(frozen=True, slots=True)
class _InRotation:
    """One prompt that was rated in part, with what it is where nobody agrees.

    Attributes:
        seen: shape (raters,), responses of each rater.
        n_responses: of the prompt.
        chance: mean of W over shuffled values.
        drawn, drawn_w: shape (resamples,), statistic and W of shuffled values.
    """

    rankings: IncompleteRankings
    seen: Integers
    n_responses: int
    chance: float
    drawn: Floats
    drawn_w: Floats

    @property
    def w(self) -> float:
        return self.rankings.w


def _in_rotation(values: Floats, resamples: int, seed: list[int]) -> _InRotation:
    rankings = IncompleteRankings(values)
    seen = (~np.isnan(values)).sum(axis=1)
    none = np.zeros(0)
    if not rankings.is_defined:
        return _InRotation(rankings, seen, values.shape[1], math.nan, none, none)
    drawn, drawn_w = rankings.drawn(np.random.default_rng(seed), resamples)
    chance = math.nan if np.isnan(drawn_w).all() else float(np.nanmean(drawn_w))
    return _InRotation(rankings, seen, values.shape[1], chance, drawn, drawn_w)


def _rotation(parts: list[_InRotation], n_prompts: int) -> Rotation:
    """Skillings-Mack over prompts, and what the design was."""
    defined = [part for part in parts if part.rankings.is_defined]
    seen = np.concatenate([part.seen for part in parts])
    sizes = [part.n_responses for part in parts]
    degrees = sum(part.rankings.degrees_of_freedom for part in defined)
    method = f"Skillings-Mack, added over prompts, {degrees} degrees of freedom"
    if n_prompts > len(parts):
        method += f"; {len(parts):,} of {n_prompts:,} prompts, drawn"
    test = undefined("in no prompt do raters connect the responses", method=method)
    if defined:
        resamples = len(defined[0].drawn)
        statistic = sum(part.rankings.statistic for part in defined)
        drawn = sum((part.drawn for part in defined), np.zeros(resamples))
        reached = int((drawn >= statistic - 1e-9).sum())
        test = Estimate(
            statistic, n=len(defined), method=method, reason="a test statistic has no interval",
            p=(1 + reached) / (1 + resamples),
            p_method=f"permutation within raters, {resamples} resamples",
        )  # fmt: skip
    return Rotation(
        n_prompts=len(parts),
        n_balanced=sum(part.rankings.is_balanced for part in defined),
        n_apart=len(parts) - len(defined),
        seen=(int(seen[seen > 1].min()), int(seen.max())),
        responses=(min(sizes), max(sizes)),
        skillings_mack=test,
        degrees_of_freedom=degrees,
    )


def _method(is_complete: bool, parts: list[_InRotation]) -> str:
    """The names of the coefficients that were averaged."""
    balanced = sum(part.rankings.is_balanced for part in parts if part.rankings.is_defined)
    other = sum(part.rankings.is_defined for part in parts) - balanced
    names = [
        *(["Kendall's W, tie-corrected"] if is_complete else []),
        *([f"Durbin's W ({balanced} prompts)"] if balanced else []),
        *([f"W by Skillings-Mack ({other} prompts)"] if other else []),
    ]
    return ", ".join(names)


def _permutation_p(
    stacks: list[Floats], parts: list[_InRotation], observed: float, n: int, seed: int
) -> Estimate:
    cells = sum(stack.size for stack in stacks)
    shared = [len(part.drawn) for part in parts if part.rankings.is_defined]
    if shared:
        resamples = shared[0]
    else:
        resamples = int(np.clip(MOST_DRAWN // cells, FEWEST_RESAMPLES, MOST_RESAMPLES))
    rng = np.random.default_rng(seed)
    totals = np.zeros(resamples)
    for part in parts:
        if not math.isnan(part.w):
            totals += np.nan_to_num((part.drawn_w - part.chance) / (1 - part.chance))
    for stack in stacks:
        m, middle = stack.shape[1], (stack.shape[2] + 1) / 2
        spread = ((stack - middle) ** 2).sum(axis=(1, 2))
        varied, possible = stack[spread > 1e-9], m * spread[spread > 1e-9]  # in any order the same
        step = max(1, 2_000_000 // max(varied.size, 1))
        for start in range(0, resamples if varied.size else 0, step):
            count = min(step, resamples - start)
            drawn = rng.permuted(np.broadcast_to(varied, (count, *varied.shape)), axis=3)
            w = ((drawn.sum(axis=2) - m * middle) ** 2).sum(axis=2) / possible
            totals[start : start + count] += ((m * w - 1) / (m - 1)).sum(axis=1)
    reached = int((totals / n >= observed - 1e-9).sum())
    return Estimate(
        (1 + reached) / (1 + resamples),
        n=n,
        unit="prompt",
        method=f"one-sided permutation within prompts, {resamples} resamples",
        reason="a p-value has no interval",
    )


def _same_top(values: Floats) -> Floats:
    is_top = values == values.max(axis=2, keepdims=True)
    weight = is_top / is_top.sum(axis=2, keepdims=True)
    m = values.shape[1]
    together = (weight.sum(axis=1) ** 2).sum(axis=1) - (weight**2).sum(axis=(1, 2))
    shared: Floats = together / (m * (m - 1))
    return shared


def _same_order(ranks: Floats) -> Floats:
    # One integer an order: a random odd multiplier a place; two orders collide about once in 2^60.
    factors = np.random.default_rng(20).integers(1, 2**62, size=ranks.shape[2], dtype=np.int64)
    with np.errstate(over="ignore"):
        code = ((2 * ranks).astype(np.int64) * factors).sum(axis=2)
    code = np.sort(code, axis=1)
    m = code.shape[1]
    # Of equal ones in a row the k-th is in k − 1 pairs with those before it.
    place = np.arange(m)
    is_new = np.ones(code.shape, dtype=bool)
    is_new[:, 1:] = code[:, 1:] != code[:, :-1]
    before = place - np.maximum.accumulate(np.where(is_new, place, 0), axis=1)
    shared: Floats = before.sum(axis=1) / (m * (m - 1) / 2)
    return shared


def _mean_squares(values: Floats) -> Floats:
    centred = values - values.mean(axis=(1, 2), keepdims=True)
    of_item, of_rater = centred.mean(axis=1), centred.mean(axis=2)
    m, n = values.shape[1:]
    residual = centred - of_item[:, None, :] - of_rater[:, :, None]
    return np.stack(
        [
            m * (of_item**2).sum(axis=1),
            n * (of_rater**2).sum(axis=1),
            (residual**2).sum(axis=(1, 2)),
        ],
        axis=1,
    )


def _icc(
    squares: Floats, m: Floats, n: Floats, mean_m: float, level: float
) -> tuple[Estimate, Estimate, Estimate]:
    """ICC(3,1), ICC(3,m̄) and ICC(2,1) from sums of squares added up over prompts.

    s²_e = Σ SSE / Σ (m−1)(n−1);  s²_r = (Σ SSR − Σ (n−1) s²_e) / Σ m(n−1), likewise raters: the
    classical forms where there is one prompt.
    """
    terms = np.stack(
        [
            squares[:, 0], squares[:, 1], squares[:, 2],
            (m - 1) * (n - 1), n - 1, m * (n - 1), m - 1, n * (m - 1),
        ],
        axis=1,
    )  # fmt: skip

    total = terms.sum(axis=0)
    return _icc_forms(total, total - terms, mean_m, "mean squares pooled within prompts", level)


def icc_across(
    ratings: Ratings, *, level: float = 0.95
) -> tuple[Estimate, Estimate, Estimate, float]:
    """Returns ICC(3,1), ICC(3,m), ICC(2,1) and m, of prompts with one response each.

    Of raters who rated all responses, one two-way table: differences between prompts are what they
    agree on. Jackknife over prompts. Measured coverage with five raters whose ICC(3,1) is .5
    (benchmarks/simulate.py one-response, 2,000 worlds, Monte Carlo error .005) at 9, 30, 100
    prompts: ICC(3,1) .914, .933, .946; ICC(2,1), these raters' severities given, .905, .931, .944.

    Source: Shrout & Fleiss (1979), two-way ANOVA.
    """
    kept = ratings.select(~np.isin(ratings.rater, constant_raters(ratings)))
    n = ratings.n_responses
    _, at, sizes = np.unique(kept.rater, return_inverse=True, return_counts=True)
    complete = np.flatnonzero(sizes == n)
    m = len(complete)
    how = "prompts with one response each, one table"
    if m < 2 or n < 2:
        none = np.full(8, np.nan)
        reason = "fewer than two raters rated every response"
        one, mean, absolute = _icc_forms(none, none[None], math.nan, how, level, reason)
        return one, mean, absolute, math.nan
    rows = np.isin(at.reshape(-1), complete)
    by_rater = np.lexsort((kept.response[rows], kept.rater[rows]))
    x = kept.value[rows][by_rater].reshape(m, n).T
    x = x - x.mean()

    def sums(size: Floats, total: Floats, squares: Floats, items: Floats, raters: Floats) -> Floats:
        """Sums of squares and degrees of freedom, from plain sums."""
        mean_square = total**2 / (size * m)
        between, of_raters = items / m - mean_square, raters / size - mean_square
        error = squares - mean_square - between - of_raters
        df = np.ones_like(size) * (m - 1)
        return np.stack(
            [between, of_raters, error, df * (size - 1), size - 1, m * (size - 1), df, size * df],
            axis=-1,
        )

    item, rater = x.sum(axis=1), x.sum(axis=0)
    square = (x**2).sum(axis=1)
    whole = sums(np.array(float(n)), item.sum(), square.sum(), (item**2).sum(), (rater**2).sum())
    left_out = sums(
        np.full(n, n - 1.0), item.sum() - item, square.sum() - square,
        (item**2).sum() - item**2, ((rater - x) ** 2).sum(axis=1),
    )  # fmt: skip
    return *_icc_forms(whole, left_out, float(m), how, level), float(m)


def icc_one_way(ratings: Ratings, *, level: float = 0.95) -> tuple[Estimate, Estimate]:
    """Returns ICC(1) of one rating and ICC(1,m) of the mean of a response's m ratings.

    ICC(1) = (MSB − MSW) / (MSB + (m₀ − 1) MSW)      MSB, MSW: mean squares between and within
    responses; m₀ = (N − Σ m_r² / N) / (n − 1), the usual number of ratings of a response. Who
    rated is not asked, so that differences in strictness are error; differences between prompts
    count as agreement. Responses with one rating say nothing. Jackknife over prompts.

    Returns:
        Both at most 1; below 0 where ratings of one response are less alike than any two. The
        second is nan where the first is not positive.

    Source: Shrout & Fleiss (1979), case 1; m₀ by Snedecor, as in Donner (1986).
    """
    _, at, sizes = np.unique(ratings.response, return_inverse=True, return_counts=True)
    mine = ratings.select(sizes[at.reshape(-1)] > 1)
    names = [f"ICC({form}), one-way over responses" for form in ("1", "1,m")]
    if len(mine) < 3 or np.ptp(mine.value) == 0:
        why = "no response has two ratings, or only one value is used"
        return undefined(why, method=names[0]), undefined(why, method=names[1])
    _, first, at, sizes = np.unique(
        mine.response, return_index=True, return_inverse=True, return_counts=True
    )
    x = mine.value - mine.value.mean()
    sums = np.bincount(at.reshape(-1), weights=x)
    squares = np.bincount(at.reshape(-1), weights=x**2)
    # by response: 1, m, m², Σx, (Σx)²/m, Σx²
    parts = np.stack([np.ones(len(sizes)), sizes, sizes**2, sums, sums**2 / sizes, squares], axis=1)
    _, prompt = np.unique(mine.prompt[first], return_inverse=True)
    n_prompts = int(prompt.max()) + 1
    of_prompt = np.stack(
        [np.bincount(prompt.reshape(-1), weights=part, minlength=n_prompts) for part in parts.T],
        axis=1,
    )

    def both(total: Floats) -> Floats:
        n, size, squared_sizes, sum_all, between, square = np.moveaxis(total, -1, 0)
        mean_between = (between - sum_all**2 / size) / (n - 1)
        mean_within = (square - between) / (size - n)
        usual = (size - squared_sizes / size) / (n - 1)
        one = (mean_between - mean_within) / (mean_between + (usual - 1) * mean_within)
        m = size / n
        return np.stack([one, np.where(one > 0, m * one / (1 + (m - 1) * one), np.nan)], axis=-1)

    whole = of_prompt.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, without = both(whole), both(whole - of_prompt)
    one = jackknife(
        float(values[0]), without[:, 0], n=n_prompts, method=names[0], level=level,
        bounds=(-math.inf, 1.0),
    )  # fmt: skip
    if not values[0] > 0:
        return one, undefined("ICC(1) is not positive", method=names[1], n=n_prompts)
    return one, jackknife(
        float(values[1]), without[:, 1], n=n_prompts, method=names[1], level=level,
        bounds=(-math.inf, 1.0),
    )  # fmt: skip


def _icc_forms(
    total: Floats, left_out: Floats, mean_m: float, how: str, level: float, why: str | None = None
) -> tuple[Estimate, Estimate, Estimate]:
    """The three forms from sums of squares: items, raters, residual; then what divides them.

    Args:
        total: shape (8,).
        left_out: shape (units, 8), without each unit in turn.
        mean_m: raters of the mean.
        how: what they are sums over.
        level: of the jackknife.
        why: that there are none.
    """

    def forms(sums: Floats) -> Floats:
        error = sums[..., 2] / sums[..., 3]
        of_item = (sums[..., 0] - sums[..., 4] * error) / sums[..., 5]
        of_rater = (sums[..., 1] - sums[..., 6] * error) / sums[..., 7]
        one = of_item / (of_item + error)
        return np.stack(
            [one, of_item / (of_item + error / mean_m), of_item / (of_item + of_rater + error)],
            axis=-1,
        )

    n = len(left_out)
    of_mean = "m" if math.isnan(mean_m) else f"{mean_m:.3g}"
    names = [f"ICC({form}), {how}" for form in ("3,1", f"3,{of_mean}", "2,1")]
    if why is None and not total[0] + total[2] > 1e-12:
        why = "complete raters tie all responses of every prompt"
    if why is not None:
        return tuple(undefined(why, method=name, n=n) for name in names)  # type: ignore[return-value]
    with np.errstate(divide="ignore", invalid="ignore"):
        values, without = forms(total), forms(left_out)
    one, mean, absolute = (
        jackknife(
            float(values[k]),
            without[:, k],
            n=n,
            method=names[k],
            level=level,
            bounds=(-math.inf, 1.0),
        )
        for k in range(3)
    )
    return one, mean, absolute


def _mean(values: Floats, method: str, level: float, least: float = 0.0) -> Estimate:
    return cut_to_range(t_interval(values, level=level).of(method), (least, 1.0))


def _nothing(n_partial: int, n_varying: int, n_constant: int) -> Concordance:
    reason = "no prompt has two raters who rated all its responses"
    if n_constant and n_varying < 2:
        reason = (
            f"fewer than two raters vary: {n_constant} of {n_varying + n_constant} give one value"
        )
    none = undefined(reason)
    return Concordance(
        none, math.nan, none, none, none, none, none, none, math.nan, none, math.nan, n_partial,
        (), n_constant,
    )  # fmt: skip
