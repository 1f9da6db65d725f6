"""May the judge stand in for a human rater? The alternative annotator test.

First the scores, how close a judge and each rater come to the other raters; then the test.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from .intervals import MIN_UNITS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Score = Literal["accuracy", "rank"]

_NAN: Final = float("nan")
TIE: float = 1e-9
"""Scores closer than this are equal: rounding must not decide who wins."""


def label_differences(judge: Floats, table: Floats) -> Floats:
    """Returns d = 1[rater >= judge] - 1[judge >= rater], item by item, of labels.

    Closeness is the share of an item's other raters who give the same label. Shape (raters, items),
    nan where the rater, the judge or all other raters are missing. Works through counts of labels
    by item, so that its cost is that of one pass over the ratings.

    Args:
        judge: shape (items,), codes of labels.
        table: shape (raters, items), likewise.
    """
    there = np.isfinite(table)
    d = np.full(table.shape, np.nan)
    count = there.sum(axis=0)
    rater, item = np.nonzero(there & np.isfinite(judge) & (count > 1))
    if len(item) == 0:
        return d
    own = table[rater, item]
    labels, codes = np.unique(table[there], return_inverse=True)
    items = np.nonzero(there)[1]
    said = np.bincount(items * len(labels) + codes, minlength=table.shape[1] * len(labels))

    def closeness(values: Floats) -> Floats:
        at = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
        same = np.where(labels[at] == values, said[item * len(labels) + at], 0) - (own == values)
        return np.asarray(same / (count[item] - 1), dtype=np.float64)

    of_rater, of_judge = closeness(own), closeness(judge[item])
    d[rater, item] = (of_rater >= of_judge - TIE).astype(float) - (of_judge >= of_rater - TIE)
    return d


class RankBlocks:
    """Which pairs of items each rater has ordered, prompt by prompt: the same in every world.

    A block is one rater and one prompt with at least two items that the rater, the judge and
    another rater have.
    """

    def __init__(
        self, there: npt.NDArray[np.bool_], judged: npt.NDArray[np.bool_], groups: Integers
    ) -> None:
        """Finds the pairs.

        Args:
            there: shape (raters, items), which ratings there are.
            judged: shape (items,), which items the judge has.
            groups: shape (items,), prompt codes from 0.
        """
        self.shape = (len(there), int(groups.max(initial=-1)) + 1)
        rater, item = np.nonzero(there)
        self.item = item
        self.count = there.sum(axis=0)
        usable = np.flatnonzero(judged[item] & (self.count[item] > 1))
        block = rater[usable] * self.shape[1] + groups[item[usable]]
        order = np.argsort(block, kind="stable")
        usable, block = usable[order], block[order]
        found, starts, sizes = np.unique(block, return_index=True, return_counts=True)
        first, second, of_block = [], [], []
        for size in np.unique(sizes[sizes > 1]):
            mine = np.flatnonzero(sizes == size)
            one, two = np.triu_indices(size, k=1)
            first.append((starts[mine][:, None] + one).ravel())
            second.append((starts[mine][:, None] + two).ravel())
            of_block.append(np.repeat(mine, len(one)))
        none = np.zeros(0, dtype=np.int64)
        of_pair = np.concatenate([none, *of_block])
        by_block = np.argsort(of_pair, kind="stable")
        self.first = usable[np.concatenate([none, *first])[by_block]]
        self.second = usable[np.concatenate([none, *second])[by_block]]
        blocks, self.starts = np.unique(of_pair[by_block], return_index=True)
        self.rater, self.prompt = np.divmod(found[blocks], self.shape[1])

    @property
    def n_pairs(self) -> int:
        """Pairs over all blocks."""
        return len(self.first)

    def differences(self, judge: Floats, ratings: Floats) -> Floats:
        """Returns d, shape (worlds, raters, prompts), nan where there is no block.

        Args:
            judge: shape (worlds, items).
            ratings: shape (worlds, ratings), in the order of the ratings that there are.
        """
        worlds = len(judge)
        d = np.full((worlds, *self.shape), np.nan)
        if self.n_pairs == 0:
            return d
        total = np.stack(
            [np.bincount(self.item, weights=row, minlength=len(self.count)) for row in ratings]
        )
        n = np.maximum(self.count[self.item] - 1, 1)
        others = (total[:, self.item] - ratings) / n
        reference = self._signs(others, self.first, self.second)
        of_rater = self._tau(self._signs(ratings, self.first, self.second), reference)
        items = self.item[self.first], self.item[self.second]
        of_judge = self._tau(self._signs(judge, *items), reference)
        at_least = of_judge >= of_rater - TIE
        d[:, self.rater, self.prompt] = (of_rater >= of_judge - TIE).astype(float) - at_least
        return d

    @staticmethod
    def _signs(values: Floats, first: Integers, second: Integers) -> Floats:
        difference = values[:, first] - values[:, second]
        return np.where(np.abs(difference) < TIE, 0.0, np.sign(difference))

    def _tau(self, x: Floats, y: Floats) -> Floats:
        def by_block(values: Floats) -> Floats:
            return np.add.reduceat(values, self.starts, axis=1)

        scale = np.sqrt(by_block(np.abs(x)) * by_block(np.abs(y)))
        return np.asarray(by_block(x * y) / np.where(scale > 0, scale, 1.0), dtype=np.float64)


def rank_differences(judge: Floats, table: Floats, groups: Integers) -> Floats:
    """Returns the same prompt by prompt, from within-prompt tau-b.

    A prompt's score is tau-b with the mean of the other raters, 0 where undefined, over the
    items that the rater, the judge and at least one other rater have; prompts with fewer than
    two such items are nan.

    Args:
        judge: shape (worlds, items).
        table: shape (worlds, raters, items), the same cells missing in every world.
        groups: shape (items,), prompt codes from 0.

    Returns:
        Shape (worlds, raters, prompts).
    """
    there = np.isfinite(table[0])
    return RankBlocks(there, np.isfinite(judge[0]), groups).differences(judge, table[:, there])


def winning_rates(p: Floats, q: float) -> Floats:
    """Returns the share of raters whose null Benjamini-Yekutieli rejects, world by world.

    Args:
        p: shape (worlds, raters), no nan.
        q: false discovery rate.
    """
    m = p.shape[1]
    rank = np.arange(1, m + 1)
    passed = np.sort(p, axis=1) <= rank / m * q / (1 / rank).sum()
    return np.asarray(np.where(passed, rank, 0).max(axis=1) / m, dtype=np.float64)


Verdict = Literal["pass", "fail", "not enough prompts", "uninformative"]
Judge = Mapping[Any, Any]

FALSE_DISCOVERY_RATE: Final = 0.05
PASSING_RATE: Final = 0.5
FEWEST_ITEMS: Final = 30
"""Items a rater needs where items are the unit: the published rule."""
ENOUGH_POWER: Final = 0.8
RANDOM_JUDGES: Final = 20
"""Random judges of whom the reference is the mean; fewer where a test of one is long."""
MOST_COPIES: Final = 50
"""Raters who are tried as judges for the reference "human", drawn by seed where there are more."""


@dataclass(frozen=True, slots=True)
class RaterComparison:
    """The judge against one rater.

    Attributes:
        rater: who.
        n: units compared: items, or prompts.
        difference: mean of 1[rater >= judge] - 1[judge >= rater]; positive favours the rater.
        p: one-sided p of "mean difference >= epsilon"; nan with too few units.
        won: whether that is rejected, all raters considered.
    """

    rater: Hashable
    n: int
    difference: float
    p: float
    won: bool


@dataclass(frozen=True, slots=True)
class AltTest:
    """The outcome of an alternative annotator test.

    Attributes:
        winning_rate: share of the raters compared whom the judge beats; nan without any.
        verdict: "uninformative" where a judge who always says the same, or one who answers at
            random, passes; else "pass" for a winning rate of at least .5; else "fail" where the
            judge is shown to fall short of more than half of the raters by more than epsilon, or a
            judge exactly as good as a human would pass with a probability of at least .8; else
            "not enough prompts". For scores whose power is not simulated, "fail" is all else; for
            "accuracy" with prompts as units it takes that a rater handed in as the judge passes.
        comparisons: one entry a rater, those with too few units too.
        references: the winning rates of "constant", "random" (the mean of several) and "human"
            judges (each rater in turn handed in as the judge of the others, averaged).
        power: probability that a judge exactly as good as one human passes here; nan where not
            simulated.
        epsilon, score, unit: the test that was made.
        reason: why there is no verdict, or None.
    """

    winning_rate: float
    verdict: Verdict
    comparisons: tuple[RaterComparison, ...]
    epsilon: float
    score: Score
    unit: str
    references: dict[str, float] = field(default_factory=dict)
    power: float = _NAN
    reason: str | None = None


def alt_test(
    judge: Judge,
    raters: Mapping[Any, Mapping[Any, Any]],
    *,
    epsilon: float,
    score: Score = "accuracy",
    groups: Mapping[Any, Any] | None = None,
    references: bool = True,
    worlds: int = 500,
    seed: int = 0,
) -> AltTest:
    """Returns whether the judge represents the raters at least as well as one of them would.

    For each rater h, on each unit: d = 1[h >= judge] - 1[judge >= h], by closeness to the other
    raters. One-sided t of "mean d >= epsilon"; Benjamini-Yekutieli at .05 over raters; winning
    rate = share rejected; it passes from .5 on. epsilon is what human labour costs: the
    authors propose .2 against experts, .15 against skilled raters, .1 against crowd workers.

    "accuracy" without groups is the published test of labels: items are the unit, raters with
    fewer than 30 items are not compared. With groups prompts are the unit (means of d over a
    prompt's items), because items of one prompt are not independent. The published test of scores,
    by squared error, is not here: a judge who always says the middle of the scale passes it.

    "rank" needs groups: a unit is a prompt, closeness is within-prompt tau-b with the mean of the
    other raters (0 where undefined). A constant never wins. Power is simulated from Gaussian
    scores with the raters' own mean pairwise tau and the same cells missing.

    Measured size of one comparison by rank at mean d = epsilon, level .05 (9, 26, 100 prompts of 5;
    2,000 worlds, Monte Carlo error .005, benchmarks/simulate_calibration.py): .053, .049, .043.

    Args:
        judge: value by item.
        raters: value by item, by rater. None and nan are missing. Labels of any kind serve for
            "accuracy"; numbers, higher is better, for "rank".
        epsilon: in [0, 1).
        score: closeness.
        groups: prompt by item.
        references: whether to run the reference judges.
        worlds: simulated worlds for the power; 0 for none.
        seed: of the random judge and the simulation.

    Raises:
        ValueError: an epsilon outside [0, 1), fewer than two raters, an item without a group, a
            rank test without groups, or values that are not numbers where numbers are needed.

    Source: Calderon, Reichart & Dror (2025), ACL, arXiv 2501.10970.
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon must be at least 0 and below 1, got {epsilon}")
    if len(raters) < 2:
        raise ValueError(f"an alt-test needs at least two raters, got {len(raters)}")
    if score == "rank" and groups is None:
        raise ValueError("the rank score needs groups: the prompt of every item")
    items = list(dict.fromkeys(item for values in raters.values() for item in values))
    items = [item for item in items if _known(judge.get(item))]
    table, of_judge = _numbers(judge, raters, items, labels=score == "accuracy")
    codes = None
    if groups is not None:
        missing = [item for item in items if item not in groups]
        if missing:
            raise ValueError(f"{len(missing)} items have no group, the first is {missing[0]!r}")
        order = {label: code for code, label in enumerate(dict.fromkeys(groups[i] for i in items))}
        codes = np.array([order[groups[item]] for item in items], dtype=np.int64)

    comparisons = _compare(of_judge, table, list(raters), score, codes, epsilon)
    rate = _winning_rate(comparisons)
    unit = "item" if codes is None else "prompt"
    beside = _references(of_judge, table, score, codes, epsilon, seed) if references else {}
    power = _NAN
    if score == "rank" and worlds > 0 and codes is not None and not np.isnan(rate):
        power = simulate_power(
            table, np.isfinite(of_judge), codes, epsilon=epsilon, worlds=worlds, seed=seed
        )
    verdict: Verdict = "pass" if rate >= PASSING_RATE else "fail"
    reason = None
    passing = [
        said
        for name, said in (("constant", "always says the same"), ("random", "answers at random"))
        if name in beside and beside[name] >= PASSING_RATE
    ]
    if np.isnan(rate):
        verdict = "not enough prompts"
        fewest = FEWEST_ITEMS if codes is None else MIN_UNITS
        reason = f"no rater shares {fewest} {unit}s with the judge and another rater"
    elif passing:
        verdict = "uninformative"
        reason = f"it is passed by a judge who {' and by one who '.join(passing)}"
    elif verdict == "fail" and power < ENOUGH_POWER and not _is_beaten(comparisons):
        verdict = "not enough prompts"
        reason = f"a judge exactly as good as a human would pass with probability {power:.2f} only"
    elif (
        verdict == "fail"
        and score == "accuracy"
        and codes is not None
        and not _is_beaten(comparisons)
        and "human" in beside
        and beside["human"] < PASSING_RATE
    ):
        verdict = "not enough prompts"
        of_human = beside["human"]
        reason = f"a rater handed in as the judge of the others wins against {of_human:.2f} of them"
    return AltTest(
        rate, verdict, comparisons, epsilon, score, unit, references=beside, power=power,
        reason=reason,
    )  # fmt: skip


def _known(value: Any) -> bool:
    return value is not None and value == value


def _numbers(
    judge: Judge, raters: Mapping[Any, Mapping[Any, Any]], items: list[Any], *, labels: bool
) -> tuple[Floats, Floats]:
    """Returns values as numbers, or as codes of labels; nan where missing."""
    codes: dict[Any, float] = {}

    def number(value: Any) -> float:
        if not _known(value):
            return _NAN
        if labels:
            return codes.setdefault(value, float(len(codes)))
        if isinstance(value, (str, bytes)):
            raise ValueError(f"this score needs numbers, got {value!r}")
        return float(value)

    of_judge = np.array([number(judge[item]) for item in items], dtype=np.float64)
    table = np.array(
        [[number(values.get(item)) for item in items] for values in raters.values()],
        dtype=np.float64,
    ).reshape(len(raters), len(items))
    return table, of_judge


def one_sided_p(d: Floats, epsilon: float, *, clustered: bool) -> float:
    """Returns the p of "mean d >= epsilon" by a one-sided t test.

    Where d does not vary, t is undefined: with items as units the published code's answer, 0 or
    1; with prompts 1/2^n, the smallest that n signs can give.
    """
    n = len(d)
    spread = d.std(ddof=1)
    if spread <= 1e-12:
        if d.mean() >= epsilon:
            return 1.0
        return 0.5**n if clustered else 0.0
    return float(stdtr(n - 1, (d.mean() - epsilon) / (spread / np.sqrt(n))))


def _compare(
    judge: Floats,
    table: Floats,
    names: list[Any],
    score: Score,
    groups: Integers | None,
    epsilon: float,
) -> tuple[RaterComparison, ...]:
    if score == "rank":
        d = rank_differences(judge[None], table[None], cast("Integers", groups))[0]
    else:
        d = label_differences(judge, table)
        if groups is not None:
            d = _prompt_means(d, groups)
    fewest = FEWEST_ITEMS if groups is None else MIN_UNITS
    is_clustered = groups is not None
    found = []
    for name, values in zip(names, d, strict=True):
        row = values[np.isfinite(values)]
        p = one_sided_p(row, epsilon, clustered=is_clustered) if len(row) >= fewest else _NAN
        difference = float(row.mean()) if len(row) else _NAN
        found.append(RaterComparison(name, len(row), difference, p, won=False))
    tested = [place for place, one in enumerate(found) if not np.isnan(one.p)]
    if tested:
        p_values = np.array([found[place].p for place in tested])
        rate = float(winning_rates(p_values[None], FALSE_DISCOVERY_RATE)[0])
        for first in np.argsort(p_values, kind="stable")[: round(rate * len(tested))].tolist():
            found[tested[first]] = replace(found[tested[first]], won=True)
    return tuple(found)


def _is_beaten(comparisons: tuple[RaterComparison, ...]) -> bool:
    """Whether the judge is shown to fall short of more than half of the raters.

    By the same test turned round, "mean difference <= epsilon", at the same rate of false
    discoveries.
    """
    p = np.array([1 - one.p for one in comparisons if not np.isnan(one.p)])
    return bool(winning_rates(p[None], FALSE_DISCOVERY_RATE)[0] > 1 - PASSING_RATE)


def _prompt_means(values: Floats, groups: Integers) -> Floats:
    size = int(groups.max(initial=-1)) + 1
    rater, item = np.nonzero(np.isfinite(values))
    cell = rater * size + groups[item]
    count = np.bincount(cell, minlength=len(values) * size)
    total = np.bincount(cell, weights=values[rater, item], minlength=len(values) * size)
    out = np.full(len(values) * size, np.nan)
    np.divide(total, count, out=out, where=count > 0)
    return out.reshape(len(values), size)


def _winning_rate(comparisons: tuple[RaterComparison, ...]) -> float:
    won = [one.won for one in comparisons if not np.isnan(one.p)]
    return float(np.mean(won)) if won else _NAN


def _references(
    judge: Floats,
    table: Floats,
    score: Score,
    groups: Integers | None,
    epsilon: float,
    seed: int,
) -> dict[str, float]:
    judged = np.isfinite(judge)
    pool = table[np.isfinite(table)]
    if len(pool) == 0:
        return {}
    if score == "accuracy":
        values, counts = np.unique(pool, return_counts=True)
        middle = values[counts.argmax()]
    else:
        middle = pool.mean()
    n_random = max(1, min(RANDOM_JUDGES, 4_000_000 // max(table.size, 1)))
    drawn = np.random.default_rng(seed).choice(pool, size=(n_random, len(judge)))

    def outcome(one: Floats | float, rows: Floats) -> float:
        names = list(range(len(rows)))
        of_one = np.where(judged, one, np.nan)
        return _winning_rate(_compare(of_one, rows, names, score, groups, epsilon))

    out = {
        "constant": outcome(middle, table),
        "random": float(np.mean([outcome(one, table) for one in drawn])),
    }
    if len(table) > 2:
        # Who stands for a human as a judge: everybody, or so many by seed where there are more.
        some = np.random.default_rng(seed).permutation(len(table))[:MOST_COPIES]
        copies = [outcome(table[k], np.delete(table, k, axis=0)) for k in sorted(some)]
        if known := [rate for rate in copies if not np.isnan(rate)]:
            out["human"] = float(np.mean(known))
    return out


BATCH: Final = 250
"""Worlds simulated at once."""
PAIRS_AT_ONCE: Final = 2_000_000
MOST_PAIRS: Final = 40_000_000
FEWEST_WORLDS: Final = 50


def simulate_power(
    table: Floats,
    judged: npt.NDArray[np.bool_],
    groups: Integers,
    *,
    epsilon: float,
    worlds: int = 500,
    seed: int = 0,
) -> float:
    """Returns the probability that a judge equal to a human passes.

    Raters see quality plus noise, both normal, with correlation r = sin(pi t / 2) between raters,
    t their mean pairwise within-prompt tau; scores have no ties. Monte Carlo error of 500 worlds
    is at most .022. nan where t is undefined, or not positive: raters who have nothing in common
    cannot be represented.

    Args:
        table: shape (raters, items); which cells are missing is carried over.
        judged: shape (items,), items that the judge has.
        groups: shape (items,), prompt codes from 0.
        epsilon: as in `alt_test`.
        worlds: simulated worlds.
        seed: of the simulation.
    """
    from .kendall import pairwise_tau
    from .ratings import ratings_of_table

    tau = pairwise_tau(ratings_of_table(table, groups)).tau.value
    if not tau > 0:
        return _NAN
    correlation = np.sin(np.pi * min(tau, 0.999) / 2)
    noise = np.sqrt(1 / correlation - 1)
    rng = np.random.default_rng(seed)
    there = np.isfinite(table)
    blocks = RankBlocks(there, judged, groups)
    _, item = np.nonzero(there)
    size = max(blocks.n_pairs, len(item), 1)
    worlds = min(worlds, max(FEWEST_WORLDS, MOST_PAIRS // size))
    at_once = max(1, min(BATCH, PAIRS_AT_ONCE // size))
    passed = 0.0
    for start in range(0, worlds, at_once):
        batch = min(at_once, worlds - start)
        quality = rng.normal(size=(batch, table.shape[1]))
        ratings = quality[:, item] + noise * rng.normal(size=(batch, len(item)))
        human = quality + noise * rng.normal(size=quality.shape)
        d = blocks.differences(human, ratings)
        passed += float((rates_of_worlds(d, epsilon) >= PASSING_RATE).sum())
    return passed / worlds


def rates_of_worlds(d: Floats, epsilon: float) -> Floats:
    """Returns the winning rate of every world from differences (worlds, raters, prompts).

    Raters with fewer than six prompts are left out; where none is left, every rate is 0.
    """
    n = np.isfinite(d[0]).sum(axis=1)
    d = d[:, n >= MIN_UNITS]
    n = n[n >= MIN_UNITS].astype(np.float64)
    if d.shape[1] == 0:
        return np.zeros(len(d))
    mean = np.nansum(d, axis=2) / n
    spread = np.sqrt(np.nansum((d - mean[:, :, None]) ** 2, axis=2) / (n - 1))
    varies = spread > 1e-12
    t = (mean - epsilon) / np.where(varies, spread / np.sqrt(n), 1.0)
    flat = np.where(mean >= epsilon, 1.0, 0.5**n)
    return winning_rates(np.where(varies, stdtr(n - 1, t), flat), FALSE_DISCOVERY_RATE)
