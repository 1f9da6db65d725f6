"""Kendall's coefficient of concordance W, what goes with it within prompts, and tests of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from .estimate import Estimate, undefined
from .intervals import t_interval
from .jackknife import cut_to_range, jackknife
from .ratings import Ratings, constant_raters, prompt_tables

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_DRAWN = 20_000_000
"""Cells permuted at most for one p; with more ratings fewer permutations are drawn."""

FEWEST_RESAMPLES, MOST_RESAMPLES = 199, 9999


def mid_ranks(values: Floats) -> Floats:
    """Returns mid-ranks along the last axis."""
    from scipy import stats

    ranked: Floats = stats.rankdata(values, axis=-1)
    return ranked


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
    table = _table(ranks)
    table = table[~np.isnan(table).any(axis=1)]
    n_raters, n_items = table.shape
    if n_raters < 2 or n_items < 2:
        return math.nan
    sums = table.sum(axis=0)
    squares = float(((sums - sums.mean()) ** 2).sum())
    return float(12 * squares / (n_raters**2 * (n_items**3 - n_items)))


@dataclass(frozen=True, slots=True)
class Concordance:
    """Agreement of the complete raters of each prompt.

    Attributes:
        w: mean tie-corrected W over prompts.
        chance_w: its value when nobody agrees: the mean of 1/m.
        mean_spearman: mean over prompts of r̄ = (mW − 1) / (m − 1); chance value 0.
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

    In each prompt only raters who rated all its responses count, and two are needed. The mean
    squares of the ICC are pooled over prompts, so that differences between prompts are not in
    it. Prompts whose raters all tie everything have no W and are not in its mean. A rater who
    gives one value throughout orders nothing: left in, it would count in m as if it disagreed
    (with one other rater W is then 1/2 and r̄ 0, whatever that one says), so it is left out,
    counted, and with fewer than two raters who vary every figure is undefined.
    Measured coverage of the 95% intervals with five raters at 9, 26, 100 prompts of six
    (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error .004 to .006): W and r̄
    .946, .962, .947; ICC(3,1) .938, .947, .945; ICC(2,1) .935, .949, .948; same first choice .917,
    .945, .941. At 9 prompts the ICC and the same first choice fall short of .95.
    """
    sums = _Sums([], [], [], [], [], [], [])
    stacks: list[Floats] = []
    n_partial = 0
    constant = constant_raters(ratings)
    if len(constant):
        ratings = ratings.select(~np.isin(ratings.rater, constant))
    for tables in prompt_tables(ratings):
        complete = tables.complete
        n_partial += int((~complete).sum())
        counts = complete.sum(axis=1)
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
    if not stacks:
        return _nothing(n_partial, ratings.n_raters, len(constant))
    prompt, w = np.concatenate(sums.prompt), np.concatenate(sums.w)
    m, n = np.concatenate(sums.raters), np.concatenate(sums.items)
    defined = ~np.isnan(w)
    r_bar = (m * w - 1) / (m - 1)
    mean_m = float(m.mean())
    icc = _icc(np.concatenate(sums.squares), m, n, mean_m, level)
    p = undefined("W is undefined in every prompt", method="permutation within prompts")
    if not permute:
        p = undefined("not asked for", method="permutation within prompts")
    elif defined.any():
        p = _permutation_p(stacks, float(r_bar[defined].mean()), int(defined.sum()), seed)
    return Concordance(
        w=_mean(w, "mean over prompts of Kendall's W, tie-corrected", level),
        chance_w=float((1 / m[defined]).mean()) if defined.any() else math.nan,
        mean_spearman=_mean(r_bar, "mean over prompts of r̄ = (mW − 1)/(m − 1)", level, -1.0),
        p=p,
        icc_one=icc[0],
        icc_mean=icc[1],
        icc_absolute=icc[2],
        top_one=_mean(np.concatenate(sums.top), "share of rater pairs with the same top", level),
        top_one_chance=float((1 / n).mean()),
        same_order=_mean(
            np.concatenate(sums.order), "share of rater pairs with one order throughout", level
        ),
        mean_raters=mean_m,
        n_partial=n_partial,
        w_by_prompt=tuple(zip(prompt[defined].tolist(), w[defined].tolist(), strict=True)),
        n_constant=len(constant),
    )


def _permutation_p(stacks: list[Floats], observed: float, n: int, seed: int) -> Estimate:
    cells = sum(stack.size for stack in stacks)
    resamples = int(np.clip(MOST_DRAWN // cells, FEWEST_RESAMPLES, MOST_RESAMPLES))
    rng = np.random.default_rng(seed)
    totals = np.zeros(resamples)
    for stack in stacks:
        m = stack.shape[1]
        spread = ((stack - (stack.shape[2] + 1) / 2) ** 2).sum(axis=(1, 2)) > 1e-9
        varied = stack[spread]
        step = max(1, 2_000_000 // max(varied.size, 1))
        for start in range(0, resamples if varied.size else 0, step):
            count = min(step, resamples - start)
            drawn = rng.permuted(np.broadcast_to(varied, (count, *varied.shape)), axis=3)
            totals[start : start + count] += ((m * w_of_ranks(drawn) - 1) / (m - 1)).sum(axis=1)
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
    (benchmarks/simulate_worlds.py; 2,000 worlds, Monte Carlo error .005) at 9, 30, 100
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


@dataclass(frozen=True, slots=True)
class SkillingsMack:
    """The Skillings-Mack test of no difference between items, raters as blocks.

    Attributes:
        statistic: chi-square-like, nan when undefined.
        degrees_of_freedom: items − 1 (items that some usable rater ranked).
        p_chi_square: by the chi-square approximation.
        p_permutation: (1 + k) / (B + 1) over permutations within raters.
        resamples: B.
        n_raters: raters with two or more items.
    """

    statistic: float
    degrees_of_freedom: int
    p_chi_square: float
    p_permutation: float
    resamples: int
    n_raters: int


def skillings_mack(
    ratings: npt.ArrayLike,
    *,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> SkillingsMack:
    """Returns the Skillings-Mack test for raters who each rated only some of the items.

    A = Σ_j sqrt(12 / (k_j + 1)) (rank − (k_j + 1) / 2), missing cells 0;  statistic = A' Σ⁻ A
    k_j: items of rater j;  Σ_ii = Σ of (k_j − 1) over raters who rated i;  Σ_ih = −(raters who
    rated both). It has no correction for ties, so with ties trust the permutation p.

    Args:
        ratings: shape (raters, items), nan where not rated; raters with one item are left out.
        resamples: permutations of each rater's values among the items that rater rated.
        rng: generator or seed.

    Returns:
        nan statistic and p when fewer than two raters or items are usable, or when the items
        fall into sets that no rater connects.

    Raises:
        ValueError: not two-dimensional.

    Source: Skillings & Mack (1981), Technometrics 23, 171–177.
    """
    table = _table(ratings)
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    table = table[:, (~np.isnan(table)).any(axis=0)] if table.size else table[:, :0]
    n_raters, n_items = table.shape
    seen = ~np.isnan(table)
    together = seen.T.astype(np.float64) @ seen.astype(np.float64)
    np.fill_diagonal(together, 0.0)
    covariance = np.diag(together.sum(axis=1)) - together
    connected = n_items >= 2 and np.linalg.matrix_rank(covariance) == n_items - 1
    if n_raters < 2 or not connected:
        return SkillingsMack(math.nan, max(n_items - 1, 0), math.nan, math.nan, resamples, n_raters)
    scores = np.zeros(table.shape)
    for row in range(n_raters):
        rank = mid_ranks(table[row, seen[row]])
        scores[row, seen[row]] = math.sqrt(12 / (rank.size + 1)) * (rank - (rank.size + 1) / 2)
    inverse = np.linalg.pinv(covariance, hermitian=True)
    adjusted = scores.sum(axis=0)
    statistic = float(adjusted @ inverse @ adjusted)
    generator = np.random.default_rng(rng)
    reached = 0
    for start in range(0, resamples, 1000):
        count = min(1000, resamples - start)
        sums = np.zeros((count, n_items))
        for row in range(n_raters):
            mine = np.broadcast_to(scores[row, seen[row]], (count, int(seen[row].sum())))
            sums[:, seen[row]] += generator.permuted(mine, axis=1)
        drawn = np.einsum("bi,ij,bj->b", sums, inverse, sums)
        reached += int((drawn >= statistic - 1e-9).sum())
    return SkillingsMack(
        statistic=statistic,
        degrees_of_freedom=n_items - 1,
        p_chi_square=float(chdtrc(n_items - 1, statistic)),
        p_permutation=(1 + reached) / (resamples + 1),
        resamples=resamples,
        n_raters=n_raters,
    )


def durbin_w(ratings: npt.ArrayLike) -> float:
    """Returns Kendall's W of a balanced incomplete design.

    W = (12 Σ_i R_i² − 3 n r² (k + 1)²) / (λ² n (n² − 1))      R_i: sum of the ranks of item i
    n items; each rater ranks k of them; each item is ranked r times; each pair of items meets in
    the blocks of λ raters. 1 where the raters' orders are those of one common order, 0 where rank
    sums are equal; with k = n it is Kendall's W. Ties get mid-ranks, without a correction.

    Args:
        ratings: shape (raters, items), nan where a rater did not rate.

    Returns:
        In [0, 1]; nan where the design is not balanced (block sizes, ratings of an item or
        meetings of pairs differ): Skillings-Mack then tests, and no W is defined.

    Raises:
        ValueError: not two-dimensional.

    Source: Durbin (1951), British Journal of Statistical Psychology 4, 85–90.
    """
    table = _table(ratings)
    seen = np.isfinite(table)
    table, seen = table[seen.any(axis=1)], seen[seen.any(axis=1)]
    n = table.shape[1]
    if not len(table) or n < 2:
        return math.nan
    together = seen.T.astype(np.int64) @ seen.astype(np.int64)
    block_sizes, times = seen.sum(axis=1), np.diag(together)
    meetings = together[~np.eye(n, dtype=bool)]
    if any(len(set(counts.tolist())) > 1 for counts in (block_sizes, times, meetings)):
        return math.nan
    k, r, shared = int(block_sizes[0]), int(times[0]), int(meetings[0])
    if not shared:
        return math.nan
    sums = np.zeros(n)
    for row, mine in zip(table, seen, strict=True):
        sums[mine] += mid_ranks(row[mine])
    top = 12 * float(sums @ sums) - 3 * n * r**2 * (k + 1) ** 2
    return float(top / (shared**2 * n * (n**2 - 1)))


def _table(ratings: npt.ArrayLike) -> Floats:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be (raters, items), got shape {table.shape}")
    return table
