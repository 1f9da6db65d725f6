"""Labels of a machine held against people's, and rates of a category corrected by them.

A label is one of a few categories: yes or no, a kind of answer, an outcome. Items that share a
prompt are not independent draws: every interval is over groups of items, and where each group has
one item it is that of independent items.

Where several people labelled an item, each of them counts as a part of it: agreement is that with a
person drawn at random from those who labelled the item. No item is lost to a tie, and agreement
with people stands on the same footing as that of people with each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from .clustered import cluster_share
from .clustered_agreement import jackknife_of_tables, kappa_of
from .estimate import Estimate, undefined
from .intervals import MIN_UNITS
from .one_more_person import verdict_on
from .pair_counting import group_codes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Groups = Sequence[Hashable] | npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one criterion, one an entry: who gave which item which.

    Attributes:
        criterion: what was asked.
        categories: the labels that there are.
        rater, item, code: shape (N,); codes of raters, items and categories. One label a rater and
            item.
    """

    criterion: str
    categories: tuple[str, ...]
    rater: Integers
    item: Integers
    code: Integers

    def __len__(self) -> int:
        return len(self.code)

    def votes(self, n_items: int) -> Floats:
        """Returns how many raters gave each item each label, shape (n_items, categories)."""
        return vote_counts(self.item, self.code, n_items, len(self.categories))

    def most(self, n_items: int) -> Integers:
        """Returns the label that most raters gave each item; -1 for a tie, or where none did."""
        votes = self.votes(n_items)
        is_most = votes == votes.max(axis=1, keepdims=True)
        told = (votes.sum(axis=1) > 0) & (is_most.sum(axis=1) == 1)
        return np.where(told, votes.argmax(axis=1), -1)


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far a machine's labels agree with people's.

    Attributes:
        categories: in the order of the codes.
        table: shape (K, K), rows people's label, columns the machine's; an item counts 1, divided
            among the labels that its people gave it.
        figures: accuracy, and kappa (Cohen's): what is beyond chance. Kappa is undefined where
            people give one label only, and 0 where the machine does.
        recall: by category, of people's labels of it those that the machine gives too: of a yes
            the sensitivity, of a no the specificity.
        precision: by category, of the machine's labels of it those that people give too.
        n_items: items that both labelled.
        n_unlabelled: items that people labelled and the machine did not.
    """

    categories: tuple[str, ...]
    table: Floats
    figures: dict[str, Estimate]
    recall: dict[str, Estimate]
    precision: dict[str, Estimate]
    n_items: int
    n_unlabelled: int


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """The share of items of a category: as the machine finds it, and as people would.

    Attributes:
        category: which.
        raw: share of the items to which the machine gives it.
        corrected: the same for people; see `corrected_rate`.
        n_checked: items that people labelled too.
        n_items: items that the machine labelled.
    """

    category: str
    raw: Estimate
    corrected: Estimate
    n_checked: int
    n_items: int


def vote_counts(item: npt.ArrayLike, code: npt.ArrayLike, n_items: int, n_codes: int) -> Floats:
    """Returns how many people gave each item each label, shape (n_items, n_codes).

    Args:
        item: shape (labels,), the item of each label, from 0.
        code: shape (labels,), which label; -1 counts for nothing.
        n_items, n_codes: the shape.
    """
    items, codes = np.asarray(item, dtype=np.int64), np.asarray(code, dtype=np.int64)
    there = codes >= 0
    cells = items[there] * n_codes + codes[there]
    counted = np.bincount(cells, minlength=n_items * n_codes).reshape(n_items, n_codes)
    return counted.astype(np.float64)


def label_agreement(
    machine: npt.ArrayLike,
    votes: npt.ArrayLike,
    groups: Groups,
    categories: Sequence[str],
    *,
    level: float = 0.95,
    unit: str = "prompt",
) -> LabelAgreement:
    """Returns how far a machine's labels agree with those of people.

    Shares have Wilson's interval at the effective number of items (`cluster_share`), kappa a
    delete-one-group jackknife (`jackknife_of_tables`).

    Args:
        machine: shape (items,), codes of its labels, -1 where it gave none.
        votes: shape (items, K), how many people gave each label; see `vote_counts`.
        groups: one label an item: what items have in common that are no independent draws.
        categories: K names, at least 2.
        level: nominal coverage.
        unit: what a group is.

    Raises:
        ValueError: shapes that do not fit, or fewer than two categories.

    Measured coverage of 95% at 9, 26, 100 prompts of five (see `corrected_rate`): accuracy .942,
    .947, .943; kappa .936, .945, .948; recall .952, .951, .949.

    Source: Cohen (1960), Educational and Psychological Measurement 20, 37–46.
    """
    given, counts, place = _checked(machine, votes, groups, categories)
    people = counts.sum(axis=1)
    both = (given >= 0) & (people > 0)
    share = counts[both] / people[both, None]
    tables = _tables(given[both], share, place[both])
    whole = tables.sum(axis=0)

    # shares of several people vary less than one label: they count as labels, not as items
    weight = float(people[both].mean()) if both.any() else 1.0

    def ratio(top: Floats, bottom: Floats, empty: str) -> Estimate:
        found = cluster_share(weight * top, weight * bottom, level=level, unit=unit)
        return replace(found, reason=empty) if not bottom.sum() > 0 else found

    n = tables.sum(axis=(1, 2))
    right = np.trace(tables, axis1=1, axis2=2)
    nothing = f"people and machine share no item: no {unit} has both labels"
    figures = {
        "accuracy": ratio(right, n, nothing).of("share of items labelled as a person does"),
        "kappa": _coefficient(tables, kappa_of, "Cohen's kappa", level, unit)
        if (whole.sum(axis=1) > 0).sum() != 1
        else undefined(
            "people give one label throughout", unit=unit, method="Cohen's kappa", n=len(tables)
        ),
    }
    recall, precision = {}, {}
    for code, name in enumerate(categories):
        hits = tables[:, code, code]
        recall[name] = ratio(
            hits, tables[:, code].sum(axis=1), "people give this label to no item"
        ).of("share of people's labels that the machine gives too")
        precision[name] = ratio(
            hits, tables[:, :, code].sum(axis=1), "the machine gives this label to no item"
        ).of("share of the machine's labels that people give too")
    n_unlabelled = int(((given < 0) & (people > 0)).sum())
    return LabelAgreement(
        tuple(categories), whole, figures, recall, precision, int(both.sum()), n_unlabelled
    )


def people_agreement(
    votes: npt.ArrayLike,
    groups: Groups,
    *,
    level: float = 0.95,
    unit: str = "prompt",
) -> dict[str, Estimate]:
    """Returns how far people's labels agree: percent agreement, and alpha beyond chance.

    agreement  mean over items of the share of pairs of their people who say the same
    alpha      Krippendorff's, nominal: pairs of an item with m labels weigh 1 / (m − 1)

    Items with one label have nothing to compare.

    Args:
        votes, groups, level, unit: as in `label_agreement`.

    Source: Krippendorff (2011).
    """
    counts = np.asarray(votes, dtype=np.float64)
    _, counts, place = _checked(np.full(len(counts), -1), counts, groups, None)
    sums = _people_sums(counts, place)
    why = "every label is the same" if sums[:, 1].any() else "no item was labelled by two people"
    m = counts.sum(axis=1)
    weight = float(m[m > 1].mean()) if (m > 1).any() else 1.0  # as in `label_agreement`
    same = cluster_share(weight * sums[:, 0], weight * sums[:, 1], level=level, unit=unit)
    method = "share of pairs of an item's people who say the same, mean over items"
    return {
        "agreement": same.of(method),
        # groups without two labels of an item say nothing
        "alpha": _coefficient(
            sums[sums[:, 1] > 0], _alpha, "Krippendorff's alpha, nominal", level, unit, why=why
        ),
    }


def against_one_person(
    machine: npt.ArrayLike,
    votes: npt.ArrayLike,
    groups: Groups,
    *,
    level: float = 0.95,
    unit: str = "prompt",
) -> dict[str, Estimate]:
    """Returns the machine beside one more person, each held against an item's other people.

    Each person of an item is left out in turn; that person and the machine are held against the
    others. Kappa is Cohen's of those tables, in which an item weighs 1: a machine that always gives
    the commonest label may have a person's accuracy, and has a kappa of 0.

    of_one, of_machine   kappa with the others
    difference           machine less person, its jackknife pairing them by group, with the verdict
                         of `one_more_person.verdict_on`

    Only items with two people or more count. Measured (see `corrected_rate`) with three people who
    err on .15, prompts of five, at 9, 26, 100 prompts: the difference covers .923, .946, .941; a
    machine that errs as they do is at least half as good or better in .430, .809, .985, worse in
    .008, .011, .015, one that draws lots at least half as good in .001, .000, .000.

    Args:
        machine, votes, groups, level, unit: as in `label_agreement`.
    """
    given, counts, place = _checked(machine, votes, groups, None)
    people = counts.sum(axis=1)
    used = (given >= 0) & (people > 1)
    counts, given, m = counts[used], given[used], people[used]
    share = counts / m[:, None]
    of_machine = _tables(given, share, place[used])
    k = counts.shape[1]
    each = np.eye(k)
    by_label = [
        # of those who gave it, the others' labels; by label: there may be many items
        _summed(counts[:, [code]] * (counts - each[code]) / (m * (m - 1))[:, None], place[used])
        for code in range(k)
    ]
    of_one = np.stack(by_label, axis=1)
    both = np.stack([of_one, of_machine], axis=1)

    def apart(tables: Floats) -> Floats:
        return _two_kappas(tables)[1] - _two_kappas(tables)[0]

    def beyond_half(tables: Floats) -> Floats:
        one, other = _two_kappas(tables)
        return other - one / 2

    def kappa(which: int, title: str) -> Estimate:
        return _coefficient(both, lambda t: _two_kappas(t)[which], title, level, unit)

    difference = _coefficient(both, apart, "kappa of the machine less that of one person", level,
                              unit, bounds=(-2.0, 2.0))  # fmt: skip
    half = _coefficient(both, beyond_half, "beyond half", level, unit, bounds=(-2.0, 2.0))
    return {
        "of_one": kappa(0, "Cohen's kappa of one person with the others"),
        "of_machine": kappa(1, "Cohen's kappa with the same others"),
        "difference": replace(difference, verdict=verdict_on(difference, half)),
    }


def corrected_rate(
    machine: npt.ArrayLike,
    votes: npt.ArrayLike,
    groups: Groups,
    category: int,
    categories: Sequence[str],
    *,
    among: Sequence[int] | None = None,
    weights: npt.ArrayLike | None = None,
    texts: Groups | None = None,
    level: float = 0.95,
    unit: str = "prompt",
) -> CorrectedRate:
    """Returns the share of a category among all items, corrected by people's labels of some.

    θ = Σ_k W_k p_k / Σ_k W_k d_k    W_k: share of all items that the machine labels k; of the
    checked items among them, p_k: the share that people give the category, d_k: the share that
    they give one of `among`; 1 where that is left out, and θ is Σ_k W_k p_k. Unlike the raw rate
    plus the mean of people less machine, and unlike Rogan and Gladen's ratio, it cannot leave
    [0, 1], needs no category that people found, and also holds where more of some labels were
    checked than of others. With `among` items change sides in both ways: one that the machine
    takes for a choice, and people do not, leaves numerator and denominator.

    Limits: Wilson's at n* = θ (1 − θ) / V, with t of the checked groups less one. V is the larger
    of G/(G − 1) Σ_g e_g² over groups, e of an item w (p_k − θ d_k)/(N D) as one of all plus
    W_k w (z − p_k + θ d_k)/(n_k D) as a checked one, z = y − θ d, D = Σ_k W_k d_k; of the same over
    texts; and of
    Σ_k W_k² s_k² / ((n_k + 2) D²), s_k² the variance of z with two items more, spread evenly over
    what z can be, since few checks that all agree do not prove that none would differ. Where people
    give all or none of the checked items the category, n* is the number of checked groups.

    Args:
        machine: shape (items,), codes of its labels of all items, -1 where it gave none.
        votes: shape (items, K), people's; a row of zeros for an item that nobody checked.
        groups: one label an item.
        category: the code of the category.
        categories, level, unit: as in `label_agreement`.
        among: codes, the category's among them, to which the share is confined.
        weights: shape (items,), at least 0: how much an item weighs in the share; all 1 if left
            out. An item of weight 0 plays no part. N, n_k, W_k and the shares are then of weights;
            in n_k + 2 stands (Σ w)² / Σ w².
        texts: shape (items,), equal for items that share a text and so a label, which may be of
            several groups.

    Measured coverage of 95% (benchmarks/simulate_labels.py, 2,000 worlds, Monte Carlo error .005),
    true shares .02 to .90: .945 to .954 with 200 labels of 1,000 items, .938 to .968 with prompts
    of 5, .962 to .974 with 13 of 26 prompts of 6; where the machine finds .163 and the truth is 0,
    1.000. The raw rate plus the mean of people less machine covers .941 to .957, .938 to .958, .906
    to .970, with mean widths of .093, .098, .191 at a share of .10 against .075, .082, .187. Shares
    among some, and weighted ones: simulate_checked_readings.py, in
    docs/how-it-works/simulations.md.

    Returns:
        All or within each label of the machine, the checked items must be a random part of the
        items: otherwise nothing is corrected. Undefined, with the reason, where nobody checked an
        item, or none of a label that the machine gave, or people give no checked item a category of
        `among`; no limits below six checked groups.

    Source: Tenenbein (1970), Journal of the American Statistical Association 65, 1350–1361, double
    sampling; the ratio and its variance by linearisation with groups are ours (Cochran 1977,
    Sampling Techniques, ch. 6).
    """
    given, counts, place = _checked(machine, votes, groups, categories)
    name = categories[category]
    w = np.ones(len(given)) if weights is None else np.asarray(weights, dtype=np.float64)
    there = (given >= 0) & (w > 0)
    shared = (place if texts is None else group_codes(texts, len(given))[0])[there]
    given, counts, place, w = given[there], counts[there], place[there], w[there]
    people = counts.sum(axis=1)
    checked = people > 0
    N, n = len(given), int(checked.sum())
    confined = list(range(len(categories))) if among is None else list(among)
    size = int(place.max(initial=-1)) + 1
    raw = cluster_share(
        np.bincount(place, weights=w * (given == category), minlength=size),
        np.bincount(place, weights=w * np.isin(given, confined), minlength=size),
        level=level, unit=unit,
    ).of("share of the machine's labels")  # fmt: skip
    y = counts[checked, category] / people[checked]
    d = counts[checked][:, confined].sum(axis=1) / people[checked]
    # one that is not confined has no third outcome
    outcomes = 2 if len(confined) == len(categories) else 3
    corrected = _double_sampling(
        given, checked, y, d, w, (place, shared), categories, outcomes, level, unit
    )
    return CorrectedRate(name, raw, corrected, n, N)


def _double_sampling(
    given: Integers,
    checked: npt.NDArray[np.bool_],
    y: Floats,
    d: Floats,
    w: Floats,
    places: tuple[Integers, Integers],
    categories: Sequence[str],
    outcomes: int,
    level: float,
    unit: str,
) -> Estimate:
    method = "people's share within each label of the machine, weighted by all its labels"
    K = len(categories)
    place = places[0]
    mine, v = given[checked], w[checked]
    has_part = d > 0
    G = len(np.unique(place[checked][has_part]))
    if not len(mine):
        return undefined("nobody checked an item", unit=unit, method=method)
    all_of, checked_of = (np.bincount(of, by, minlength=K) for of, by in ((given, w), (mine, v)))
    if (missing := (all_of > 0) & (checked_of == 0)).any():
        names = ", ".join(categories[code] for code in np.flatnonzero(missing).tolist())
        reason = f"none of the items that the machine calls {names} was checked"
        return undefined(reason, unit=unit, method=method, n=G)
    if not has_part.any():
        reason = "people find none of the checked items to be one of those that the share is of"
        return undefined(reason, unit=unit, method=method)
    total = w.sum()
    W = all_of / total

    def within(values: Floats) -> Floats:
        sums = np.bincount(mine, weights=v * values, minlength=K)
        return np.divide(sums, checked_of, out=np.zeros(K), where=checked_of > 0)

    p, part = within(y), within(d)
    D = float(W @ part)
    value = float(W @ p) / D
    if G < MIN_UNITS:
        reason = f"{G} {unit}s were checked: an interval needs at least {MIN_UNITS}"
        return Estimate(value, n=G, unit=unit, method=method, level=level, reason=reason)
    # what each item, as one of all and as a checked one, adds to the error
    mean = p - value * part
    parts = w * mean[given] / total
    parts[checked] += W[mine] * v / checked_of[mine] * (y - value * d - mean[mine])
    spreads = []
    for one in places:
        sums = np.bincount(one, weights=parts / D)
        n = int((np.bincount(one) > 0).sum())
        spreads.append(n / max(n - 1, 1) * float(sums @ sums))
    squares = np.bincount(mine, weights=v**2, minlength=K)
    seen = np.divide(checked_of**2, squares, out=np.zeros(K), where=squares > 0)
    more = 2.0 / outcomes
    hits, others = ((share * seen + more) / (seen + 2) for share in (p, part - p))
    smooth = hits * (1 - value) ** 2 + others * value**2
    smooth -= (hits * (1 - value) - others * value) ** 2
    least = float((W**2 * smooth / (seen + 2)).sum()) / D**2
    return _wilson(value, max(*spreads, least), G, method, level, unit)


def _wilson(
    value: float, variance: float, G: int, method: str, level: float, unit: str
) -> Estimate:
    quantile = float(stdtrit(G - 1, (1 + level) / 2))
    effective = float(G)
    if 0 < value < 1:
        effective = value * (1 - value) / variance
    centre = value + quantile**2 / (2 * effective)
    reach = quantile * math.sqrt(value * (1 - value) / effective + quantile**2 / (4 * effective**2))
    scale = 1 + quantile**2 / effective
    low = 0.0 if value == 0 else (centre - reach) / scale
    high = 1.0 if value == 1 else (centre + reach) / scale
    named = f"{method}; {level:.0%} clustered wilson over {unit}s"
    return Estimate(value, low, high, G, unit, named, level, se=math.sqrt(variance))


Statistic = Callable[[Floats], Floats]


def best_cut(score: Floats, share: Floats) -> float:
    """Returns the cut of a score that has the highest kappa with people.

    Items from the cut on have the label. It lies midway between two scores; of several as good, the
    middle one.

    Args:
        score: shape (items,), finite.
        share: shape (items,), of each item's people who gave it the label.

    Returns:
        nan where scores or labels are all alike.
    """
    order = np.argsort(score, kind="stable")
    x, y = score[order], share[order]
    ends = np.flatnonzero(np.diff(x) > 1e-9)  # the last item below each cut
    n, total = len(x), float(y.sum())
    if not len(ends) or total <= 0 or total >= n:
        return math.nan
    below = ends + 1.0
    missed = np.cumsum(y)[ends]
    right = (total - missed) + (below - missed)
    by_chance = ((n - below) * total + below * (n - total)) / n
    kappa = (right - by_chance) / (n - by_chance)
    best = ends[kappa >= kappa.max() - 1e-12]
    chosen = int(best[(len(best) - 1) // 2])
    return float((x[chosen] + x[chosen + 1]) / 2)


def _coefficient(
    sums: Floats,
    statistic: Statistic,
    name: str,
    level: float,
    unit: str,
    *,
    why: str = "one label is used throughout, or nothing is shared",
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Estimate:
    found = jackknife_of_tables(sums, statistic, name, unit, bounds=bounds, level=level)
    return found if found.is_defined else replace(found, reason=why)


def _two_kappas(tables: Floats) -> tuple[Floats, Floats]:
    return kappa_of(tables[..., 0, :, :]), kappa_of(tables[..., 1, :, :])


def _people_sums(counts: Floats, place: Integers) -> Floats:
    """By group: agreement, items with two labels, alpha's disagreement, then label counts."""
    m = counts.sum(axis=1)
    several, some = m > 1, m > 0
    pairs = np.where(several, m * (m - 1), 1.0)
    same = (counts * (counts - 1)).sum(axis=1)
    columns = np.column_stack([
        np.where(several, same / pairs, 0.0), several,
        np.where(several, (m**2 - (counts**2).sum(axis=1)) / np.where(several, m - 1, 1.0), 0.0),
        counts * several[:, None],
    ])  # fmt: skip
    return _summed(columns[some], place[some])


def _alpha(sums: Floats) -> Floats:
    counts = sums[..., 3:]
    n = counts.sum(axis=-1)
    expected = n**2 - (counts**2).sum(axis=-1)
    found: Floats = 1 - (n - 1) * sums[..., 2] / expected
    return found


def _tables(machine: Integers, share: Floats, place: Integers) -> Floats:
    """By group (G, K, K): rows people's labels, columns the machine's."""
    k = share.shape[1]
    groups, place = np.unique(place, return_inverse=True)
    cells = place.reshape(-1) * k + machine
    found = [np.bincount(cells, weights=of, minlength=len(groups) * k) for of in share.T]
    return np.stack([one.reshape(-1, k) for one in found], axis=1).astype(np.float64)


def _summed(values: Floats, place: Integers) -> Floats:
    """Sums over the items of each group that has any."""
    order = np.argsort(place, kind="stable")
    _, starts = np.unique(place[order], return_index=True)
    if not len(starts):
        return np.zeros((0, *values.shape[1:]))
    found: Floats = np.add.reduceat(values[order], starts, axis=0)
    return found


def _checked(
    machine: npt.ArrayLike, votes: npt.ArrayLike, groups: Groups, categories: Sequence[str] | None
) -> tuple[Integers, Floats, Integers]:
    given, counts = np.asarray(machine, dtype=np.int64), np.asarray(votes, dtype=np.float64)
    if counts.ndim != 2 or given.shape != (len(counts),):
        raise ValueError(f"needs (items,) and (items, K), got {given.shape} and {counts.shape}")
    k = counts.shape[1]
    if k < 2 or (categories is not None and len(categories) != k):
        raise ValueError(f"needs two categories or more, a column each, got {k} columns")
    if given.size and given.max() >= k:
        raise ValueError(f"codes must be below {k}, got {given.max()}")
    return given, counts, group_codes(groups, len(given))[0]
