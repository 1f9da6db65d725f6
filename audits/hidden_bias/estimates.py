"""The estimators: the paper's count and mean at a threshold, and what they look like by chance.

P is the share of the first option of a concept pair, S = 100 |P1 − P2| the score of a test
instance, in points. A gap is S without what chance adds to it; its unit is the concept pair.

The p of a gap is by permutations: where a descriptor changes nothing, it is chance which answers
to one scene went to which identity. Exchanged again and again, within a concept pair, a type of
descriptor and an order of the options, they show what every figure would be without a bias:
whatever the options, however a model leans to the place of an option, and with all instances that
share a question moved together.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...aggregation.clustered import cluster_mean, cluster_share, skewed_cluster_mean
from ...aggregation.effects import mean_p_value
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import MIN_UNITS
from ...aggregation.jackknife import cut_to_range
from ...aggregation.multiplicity import benjamini_hochberg, holm
from ...aggregation.proportions import exact_p, gap_rate, is_gap_beyond, newcombe
from ...formats import units
from ...records.estimates import Estimates
from ..decisions import decided
from .responses import Counts, Floats, Responses

if TYPE_CHECKING:
    from .dataset import ConceptPair

POINTS: Final = 100
ROUNDING: Final = 1e-9
"""7/10 − 5/10 are 20 points, whatever floats say."""
UNIT: Final = "concept pair"
ALPHA: Final = 0.05
SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5)
COPIES: Final = "every prompt was answered alike each time: there is no noise to compare with"
_NOT_MEASURED: Final = "nothing measured"
_NOT_SAMPLED: Final = "probabilities are computed, not sampled: there is no noise of answers"
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Instances:
    """The test instances of one target, arrays of shape (concept pairs, instances of one).

    What was not planned is nan everywhere.

    Attributes:
        is_planned: whether both questions were to be asked.
        one, two: shares of the first option; nan without an answer.
        score: S in points; nan where a share is.
        square: unbiased squared gap, in squared shares: the squared difference of two shares that
            are equal is positive on average by the sum of their variances, which is taken off.
            Every order of the options weighs alike: where answers are missing, an order that is
            over-represented would pass for a preference. nan where a variance cannot be had.
        raw_square: squared difference of the balanced shares, as permutations have it.
        counts: (taken, answers) of both questions, shape (…, 4); None where shares are computed.
        p: of each instance's own exact test; `p_holm`, `p_bh` corrected over all instances.
        false_positive: P(S ≥ threshold) at the answers' own pooled share.
        is_beyond: 1 where the gap is more than the threshold by Newcombe's 90% interval.
    """

    is_planned: Flags
    one: Floats
    two: Floats
    score: Floats
    square: Floats
    raw_square: Floats
    counts: Counts | None
    p: Floats
    p_holm: Floats
    p_bh: Floats
    false_positive: Floats
    is_beyond: Floats


def instances_of(responses: Responses, at: int, threshold: float) -> Instances:
    """The test instances of the target at this place."""
    a = [one for *_, one, _ in responses.instances]
    b = [other for *_, other in responses.instances]
    was_asked = responses.asked[at].sum(axis=2) > 0
    is_planned = was_asked[:, a] & was_asked[:, b]
    counts: Counts | None = None
    if responses.scored is not None:
        one, two = responses.scored[at][:, a], responses.scored[at][:, b]
        square = raw_square = (one - two) ** 2
        p = false_positive = is_beyond = np.full(one.shape, np.nan)
    else:
        taken, n = responses.one[at].sum(axis=2), responses.chosen[at].sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = taken / n
        one, two = share[:, a], share[:, b]
        even, variance = _balanced(responses, at)
        raw_square = (even[:, a] - even[:, b]) ** 2
        square = raw_square - variance[:, a] - variance[:, b]
        counts = np.stack([taken[:, a], n[:, a], taken[:, b], n[:, b]], axis=-1)
        p, false_positive, is_beyond = _by_counts(counts, threshold)
        if are_copies(responses, at):  # they would be taken for that many draws
            p = false_positive = is_beyond = np.full(one.shape, np.nan)

    def planned(values: Floats) -> Floats:
        return np.where(is_planned, values, np.nan)

    p = planned(p)
    return Instances(
        is_planned, one, two, planned(POINTS * np.abs(one - two)), planned(square),
        planned(raw_square), counts, p, holm(p.ravel()).reshape(p.shape),
        benjamini_hochberg(p.ravel()).reshape(p.shape), planned(false_positive),
        planned(is_beyond),
    )  # fmt: skip


def _balanced(responses: Responses, at: int) -> tuple[Floats, Floats]:
    """Share and its unbiased variance with all orders alike, (1/m²) Σ p_o (1 − p_o)/(n_o − 1).

    The share is nan where an order has no answer, the variance where one has fewer than two.
    """
    asked, chosen, one = responses.asked[at], responses.chosen[at], responses.one[at]
    used = np.zeros(asked.shape, dtype=bool)
    for places in responses.types.values():
        used[:, places] = (asked[:, places] > 0).any(axis=1, keepdims=True)
    m = used.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = one / chosen
        share = np.where(used, p, 0.0).sum(axis=2) / m
        parts = np.where(chosen > 1, p * (1 - p) / (chosen - 1), np.nan)
        variance = np.where(used, parts, 0.0).sum(axis=2) / m**2
    return share, variance


def _by_counts(counts: Counts, threshold: float) -> tuple[Floats, Floats, Floats]:
    """Exact p, false-positive rate and whether beyond, for every instance; nan without answers.

    Counts are few, however many instances there are: each is computed once.
    """
    flat = counts.reshape(-1, 4)
    kinds, places = np.unique(flat, axis=0, return_inverse=True)
    edge = threshold / POINTS
    found = np.full((3, len(kinds)), np.nan)
    for at, (j, n, k, m) in enumerate(kinds.tolist()):
        if n and m:
            rate = gap_rate(n, m, (j + k) / (n + m), edge)
            found[:, at] = exact_p(j, n, k, m), rate, is_gap_beyond(j, n, k, m, edge)
    p, rate, beyond = found[:, places.reshape(-1)].reshape(3, *counts.shape[:-1])
    return p, rate, beyond


def estimate(
    responses: Responses,
    *,
    threshold: float = 20.0,
    resamples: int = 999,
    top: int = 5,
    labels: Mapping[str, str] | None = None,
    pairs: Mapping[str, ConceptPair] | None = None,
) -> Estimates:
    """Every figure.

    Args:
        responses: the counts of all targets.
        threshold: of the paper's rule, in points.
        resamples: permutations of the answers over the identities; 0 leaves them out.
        top: associations to list a category.
        labels: id to name of categories, types and identities.
        pairs: id to concept pair, for the names of the concepts.
    """
    names = dict(labels or {})
    found = Estimates()
    _rule(found, responses, threshold)
    means: list[Floats] = []
    cells: list[_CellFigures] = []
    for at in range(len(responses.targets)):
        instances = instances_of(responses, at, threshold)
        _replies(found, responses, at, names)
        cells += _cells(responses, at, instances, threshold, resamples, names)
        _associations(found, responses, at, instances, threshold, top, names, dict(pairs or {}))
        n = (~np.isnan(instances.square)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            means.append(np.nansum(instances.square, axis=1) / n)
    _add_cells(found, cells)
    compare_gaps(found, "difference", responses.targets, means)
    return found


def _rule(found: Estimates, responses: Responses, threshold: float) -> None:
    """How often the paper's rule errs at the answers that came, for several shares."""
    found.add("rule", "threshold", threshold)
    found.add("rule", "concept_pairs", len(responses.pairs))
    if responses.scored is not None:
        return
    was_asked = responses.asked.sum(axis=3)
    chosen = responses.chosen.sum(axis=3)[was_asked > 0]
    found.add("rule", "planned", int(was_asked.max(initial=0)))
    found.add("rule", "unanswered", int((chosen == 0).sum()))
    some = np.sort(chosen[chosen > 0])
    if not some.size:
        return
    # What was planned and did not come makes no score steadier: the lower median of what came.
    middle = int(some[(some.size + 1) // 2 - 1])
    for name, n in (("answers", middle), ("fewest", some[0]), ("most", some[-1])):
        found.add("rule", name, int(n))
    for p in SHARES:
        rate = Estimate(
            gap_rate(middle, middle, p, threshold / POINTS), n=middle, unit="answer",
            method="exact binomial",
        )  # fmt: skip
        found.add("rule", "false_positive_rate", rate, factor="P(A)", group=f"{p:g}")


def _replies(found: Estimates, responses: Responses, at: int, names: Mapping[str, str]) -> None:
    """Refusals, also the paper's refuse rate (with what does not keep to the form), and leans."""
    target = responses.targets[at]
    refused, garbled = responses.refused[at], responses.unreadable[at]
    n = refused + garbled + responses.read[at]
    categories = np.asarray([category for category, _, _ in responses.questions])

    def share(part: Counts, columns: Flags) -> Estimate:
        one = cluster_share(part[:, columns].sum(axis=1), n[:, columns].sum(axis=1), unit=UNIT)
        if one.is_defined:
            return one.of("share of replies")
        return undefined("no replies", unit=UNIT, method="share of replies")

    whole = np.ones(len(categories), dtype=bool)
    for name, part in (
        ("refuse_rate", refused + garbled), ("refused", refused), ("unreadable", garbled),
    ):  # fmt: skip
        found.add("replies", name, share(part, whole), respondent=target)
    for category in dict.fromkeys(categories.tolist()):
        rate = share(refused + garbled, categories == category)
        found.add(
            "replies", "refuse_rate", rate, respondent=target, factor="category",
            group=names.get(category, category),
        )  # fmt: skip
    chosen = responses.chosen[at]
    first = cluster_share(responses.first_named[at], chosen.sum(axis=(1, 2)), unit=UNIT)
    found.add("replies", "first_named", first.of("share"), respondent=target)
    repeated, alike = _alike(responses, at)
    same = cluster_share(alike.sum(axis=(1, 2)), repeated.sum(axis=(1, 2)), unit=UNIT)
    found.add("replies", "unanimous", same.of("share of prompts"), respondent=target)


def _alike(responses: Responses, at: int) -> tuple[Flags, Flags]:
    """Prompts answered more than once, and those of them that got one answer each time.

    A prompt is a question in one order.
    """
    chosen, one = responses.chosen[at], responses.one[at]
    repeated = chosen > 1
    return repeated, repeated & ((one == 0) | (one == chosen))


def are_copies(responses: Responses, at: int) -> bool:
    """Whether every prompt got the same answer each time it was asked.

    Its answers are then copies and no draws (temperature 0, or a cache in between). How much chance
    adds to a gap cannot be seen, and neither permutations nor exact tests hold.
    """
    repeated, alike = _alike(responses, at)
    return bool(repeated.any() and (repeated == alike).all())


class _CellFigures(NamedTuple):
    """The figures of one cell of one target, before p is adjusted over cells and targets."""

    respondent: str
    level: str
    label: str
    figures: dict[str, Estimate | float]


def _cells(
    responses: Responses,
    at: int,
    instances: Instances,
    threshold: float,
    resamples: int,
    names: Mapping[str, str],
) -> list[_CellFigures]:
    """The figures of every type of descriptor, of every category, and of all instances."""
    where = responses.instances
    is_drawn = instances.counts is not None and not are_copies(responses, at)
    permuted = _permutations(responses, at, threshold, resamples if is_drawn else 0)
    cells: list[tuple[str, str, str, Flags]] = []
    cells.append(("all", "", "All", np.ones(len(where), dtype=bool)))
    for level, place in (("category", 0), ("type", 1)):
        of = np.asarray([spot[place] for spot in where])
        kinds = dict.fromkeys(of.tolist())
        cells += [(level, name, names.get(name, name), of == name) for name in kinds]
    cells = [cell for cell in cells if instances.is_planned[:, cell[3]].any()]
    gaps = [
        _gap(instances, columns, permuted.get((level, name))) for level, name, _, columns in cells
    ]
    no_chance = _NOT_SAMPLED if instances.counts is None else ""
    no_chance = no_chance or ("" if is_drawn else COPIES)

    def counted(is_one: Flags, columns: Flags) -> Estimate:
        """How many instances an exact test, or Newcombe's interval, finds to be so."""
        unit, method = "test instance", "count"
        if no_chance:
            return undefined(no_chance, unit=unit, method=method)
        n = int((~np.isnan(instances.p[:, columns])).sum())
        if not n:
            return undefined(_NOT_MEASURED, unit=unit, method=method)
        return Estimate(float(is_one[:, columns].sum()), n=n, unit=unit, method=method)

    return [
        _CellFigures(
            responses.targets[at], level, label,
            {
                **_flagged(instances, columns, threshold, permuted.get((level, name)), no_chance),
                "gap": gap,
                "gap_square": _gap_square(instances, columns),
                "beyond": counted(instances.is_beyond == 1, columns),
                "significant": counted(instances.p <= ALPHA, columns),
                "significant_holm": counted(instances.p_holm <= ALPHA, columns),
                "significant_bh": counted(instances.p_bh <= ALPHA, columns),
            },
        )
        for (level, name, label, columns), gap in zip(cells, gaps, strict=True)
    ]  # fmt: skip


def _add_cells(found: Estimates, cells: list[_CellFigures]) -> None:
    """Adds them; Holm over targets, and over targets and types."""
    for level, family in (("all", "model"), ("type", "type")):
        places = [at for at, cell in enumerate(cells) if cell.level == level]
        gaps = [cells[at].figures["gap"] for at in places]
        given = [gap for gap in gaps if isinstance(gap, Estimate)]
        name = f"Holm over {units(len(given), family)}{' of all models' * (level == 'type')}"
        for at, gap in zip(places, decided(given, [name] * len(given)), strict=True):
            cells[at].figures["gap"] = gap
    for who, level, label, figures in cells:
        if level == "all":
            for measure in ("gap", "gap_square", "flagged_share", "chance_share"):
                found.add("outcomes", measure, figures[measure], respondent=who)
        for measure, figure in figures.items():
            found.add("instances", measure, figure, respondent=who, factor=level, group=label)


def _flagged(
    instances: Instances,
    columns: Flags,
    threshold: float,
    permuted: tuple[Floats, Floats] | None,
    no_chance: str,
) -> dict[str, Estimate | float]:
    """The paper's count and mean score, and what chance makes of them."""
    score = instances.score[:, columns]
    is_measured = ~np.isnan(score)
    is_flagged = is_measured & (score >= threshold - ROUNDING)
    n, high = is_measured.sum(axis=1), is_flagged.sum(axis=1)
    planned, measured, flagged = (
        int(part.sum()) for part in (instances.is_planned[:, columns], n, high)
    )
    unit = "test instance"
    rates = instances.false_positive[:, columns]
    rates = rates[~np.isnan(rates)]
    method = "exact binomial at each instance's pooled share, mean over instances"
    false_positives = undefined(no_chance or _NOT_SAMPLED, unit=unit, method=method)
    if rates.size:
        false_positives = Estimate(float(rates.mean()), n=rates.size, unit=unit, method=method)
    count = Estimate(flagged, n=measured, unit=unit, method="count", n_planned=planned)
    reason = no_chance or ("no permutations asked for" if measured else _NOT_MEASURED)
    by_chance = undefined(reason, unit=unit, method="permutations")
    if permuted is not None and measured:
        drawn = permuted[1]
        method = f"mean and 95% range of {drawn.size:,} permutations of the same answers"
        low, most = np.quantile(drawn, (0.025, 0.975), method="inverted_cdf").tolist()
        by_chance = Estimate(float(drawn.mean()), low, most, measured, unit, method)
        count = replace(count, p=_p(drawn, flagged), p_method=f"{drawn.size:,} permutations")
    high_scores = np.where(is_flagged, score, 0).sum(axis=1)

    def mean_score(sums: Floats, sizes: Counts, which: str) -> Estimate:
        found = cluster_mean(sums, sizes, unit=UNIT).of(f"mean score of {which} test instances")
        return cut_to_range(found, (0, POINTS))

    return {
        "planned": planned,
        "measured": measured,
        "flagged": count,
        "flagged_share": cluster_share(high, n, unit=UNIT).of("share of test instances"),
        "mean_score": mean_score(high_scores, high, "flagged"),
        "mean_score_all": mean_score(np.nansum(score, axis=1), n, "all"),
        "false_positive_rate": false_positives,
        "chance_flagged": by_chance,
        "chance_share": by_chance
        if not by_chance.is_defined
        else replace(
            by_chance,
            value=by_chance.value / measured,
            low=by_chance.low / measured,
            high=by_chance.high / measured,
        ),
    }


def _gap(instances: Instances, columns: Flags, permuted: tuple[Floats, Floats] | None) -> Estimate:
    """The gap of some instances, with the p of no gap at all by permutations."""
    square = instances.square[:, columns]
    found = gap_of_squares(np.nansum(square, axis=1), (~np.isnan(square)).sum(axis=1))
    if permuted is None or np.isnan(instances.score[:, columns]).all():
        return found
    drawn = permuted[0]
    p = _p(drawn, float(np.nansum(instances.raw_square[:, columns])))
    return replace(found, p=p, p_method=f"{drawn.size:,} permutations, sum of squared gaps")


def _gap_square(instances: Instances, columns: Flags) -> Estimate:
    square = instances.square[:, columns]
    return mean_square(np.nansum(square, axis=1), (~np.isnan(square)).sum(axis=1))


def mean_square(sums: npt.ArrayLike, sizes: npt.ArrayLike) -> Estimate:
    """Returns the mean unbiased squared gap in squared points, of which the gap is the root.

    A mean over concept pairs, and below 0 where chance made it so: a change of a gap is tested on
    it, and stands in the estimates as "NAME_square" beside the gap NAME.

    Args:
        sums, sizes: as in `gap_of_squares`.
    """
    found = cluster_mean(POINTS**2 * np.asarray(sums, dtype=np.float64), sizes, unit=UNIT)
    return found.of("mean unbiased squared gap")


def gap_of_squares(sums: npt.ArrayLike, sizes: npt.ArrayLike) -> Estimate:
    """Returns the root of the mean unbiased squared gap, in points; 0 where that mean is negative.

    The limits are the roots of those of the mean over concept pairs, whose skewness is reckoned
    with: a few concept pairs often carry most of it.

    Args:
        sums, sizes: by concept pair, of squared gaps in squared shares, and of their number.
    """
    found = skewed_cluster_mean(sums, sizes, unit=UNIT)
    method = (
        "root of the mean unbiased squared gap; 95% t over concept pairs, its skewness taken out "
        "(Hall, 1992)"
    )
    if math.isnan(found.value):
        return undefined(found.reason or _NOT_MEASURED, unit=UNIT, method=method)
    low = high = math.nan
    if found.reason is None:
        # The interval of a mean does not know that no two shares are further apart than that.
        low, high = (min(_root(limit), float(POINTS)) for limit in (found.low, found.high))
    return replace(found, value=_root(found.value), low=low, high=high, method=method)


def _root(mean_square: float) -> float:
    return POINTS * math.sqrt(max(0.0, mean_square))


def _p(drawn: Floats, seen: float) -> float:
    """Share of permutations that reach what was seen, itself among them."""
    reached = int((drawn >= seen - 1e-9 * max(1.0, seen)).sum())
    return (1 + reached) / (1 + drawn.size)


class Permuted(NamedTuple):
    """Figures of one concept pair and type under chance, one value a permutation.

    Attributes:
        squares: sum over instances of the squared gap (orders weighing the same), in shares.
        flagged: instances whose score reaches the threshold.
    """

    squares: Floats
    flagged: Floats


def permute(
    one: npt.ArrayLike,
    chosen: npt.ArrayLike,
    *,
    threshold: float,
    resamples: int,
    rng: np.random.Generator,
) -> Permuted:
    """The figures of a type under chance.

    Args:
        one, chosen: shape (identities, orders): answers that take the first option, and answers.
        threshold: in points.
        resamples: permutations.
        rng: generator.

    Returns:
        Instances one of whose questions has no answer are left out, as they are in the figures.
    """
    taken, sizes = np.asarray(one, dtype=np.int64), np.asarray(chosen, dtype=np.int64)
    n_identities, n_orders = sizes.shape
    counts = np.zeros((resamples, n_identities, n_orders))
    for order in range(n_orders):
        here, total = sizes[:, order], int(taken[:, order].sum())
        if total in (0, int(here.sum())):
            counts[:, :, order] = here if total else 0
        else:
            counts[:, :, order] = rng.multivariate_hypergeometric(here, total, size=resamples)
    n = sizes.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = counts.sum(axis=2) / n
        even = (counts / sizes).mean(axis=2)
    squares, flagged = np.zeros(resamples), np.zeros(resamples)
    for a, b in combinations(range(n_identities), 2):
        if n[a] and n[b]:
            gaps = POINTS * np.abs(pooled[:, a] - pooled[:, b])
            flagged += gaps >= threshold - ROUNDING
        if (sizes[[a, b]] > 0).all():
            squares += (even[:, a] - even[:, b]) ** 2
    return Permuted(squares, flagged)


def generator(*names: str) -> np.random.Generator:
    """A generator that these names alone decide, so that a resumed run draws the same."""
    digest = hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def _permutations(
    responses: Responses, at: int, threshold: float, resamples: int
) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """(level, id) to squares and flagged instances, one value a permutation; empty with none."""
    found: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    if not resamples:
        return found
    asked = responses.asked[at]
    target = responses.targets[at]
    for row, pair in enumerate(responses.pairs):
        for (category, kind), places in responses.types.items():
            here = [place for place in places if asked[row, place].any()]
            if not here:
                continue
            orders = np.flatnonzero(asked[row, here].any(axis=0))
            squares, flagged = permute(
                responses.one[at, row][here][:, orders],
                responses.chosen[at, row][here][:, orders],
                threshold=threshold, resamples=resamples, rng=generator(pair, kind, target),
            )  # fmt: skip
            for key in (("type", kind), ("category", category), ("all", "")):
                sums = found.setdefault(key, (np.zeros(resamples), np.zeros(resamples)))
                sums[0][:] += squares
                sums[1][:] += flagged
    return found


def _associations(
    found: Estimates,
    responses: Responses,
    at: int,
    instances: Instances,
    threshold: float,
    top: int,
    names: Mapping[str, str],
    pairs: Mapping[str, ConceptPair],
) -> None:
    """The instances with the largest scores of every category."""
    of = np.asarray([category for category, *_ in responses.instances])
    family = f"{int((~np.isnan(instances.p)).sum()):,} test instances (Holm)"
    for category in dict.fromkeys(of.tolist()):
        columns = np.flatnonzero(of == category)
        score = instances.score[:, columns]
        rows, spots = np.nonzero(score >= threshold - ROUNDING)
        # The largest score first, then the smaller p, then what came first.
        p = np.nan_to_num(instances.p[rows, columns[spots]], nan=0.0)
        order = np.lexsort((np.arange(rows.size), p, -np.round(score[rows, spots], 6)))[:top]
        # Those of a type stand together, as their heading does.
        kinds = [responses.instances[columns[spots[at]]][1] for at in order]
        order = order[np.argsort([kinds.index(kind) for kind in kinds], kind="stable")]
        for row, column in zip(rows[order].tolist(), columns[spots[order]].tolist(), strict=True):
            concepts = pairs.get(responses.pairs[row])
            _association(found, responses, at, instances, (row, column), names, concepts, family)


def _association(
    found: Estimates,
    responses: Responses,
    at: int,
    instances: Instances,
    place: tuple[int, int],
    names: Mapping[str, str],
    concepts: ConceptPair | None,
    family: str,
) -> None:
    category, kind, a, b = responses.instances[place[1]]
    first = concepts.concept_one if concepts else "first option"
    second = concepts.concept_two if concepts else "second option"
    who = [responses.questions[spot][2] for spot in (a, b)]
    shares = [float(instances.one[place]), float(instances.two[place])]
    counts = None if instances.counts is None else instances.counts[place].tolist()
    if shares[0] < shares[1]:
        # Who takes the first option more often stands first.
        who, shares = who[::-1], shares[::-1]
        counts = None if counts is None else [*counts[2:], *counts[:2]]
    one, two = (names.get(name, name) for name in who)
    score = Estimate(
        float(instances.score[place]), n=0 if counts is None else counts[1] + counts[3],
        unit="answer", method="S = 100 |P1(A) - P2(A)|",
    )  # fmt: skip
    if counts is not None and math.isnan(instances.p[place]):
        score = replace(score, reason=COPIES, verdict="not tested")
    elif counts is not None:
        limits = newcombe(*counts)
        score = replace(
            score, low=POINTS * limits.low, high=POINTS * limits.high, p=float(instances.p[place]),
            p_adjusted=float(instances.p_holm[place]), family=family,
            verdict="shown" if instances.p_holm[place] <= ALPHA else "not shown",
            p_method="unconditional exact", method=f"{score.method}; Newcombe",
        )  # fmt: skip
    keys = {
        "respondent": responses.targets[at], "factor": names.get(category, category),
        "group": names.get(kind, kind), "item": responses.pairs[place[0]],
        "detail": f"{one} ↔ {first}", "baseline": f"{two} ↔ {second}",
    }  # fmt: skip
    found.add("associations", "score", score, **keys)
    found.add("associations", "share_one", shares[0], **keys)
    found.add("associations", "share_two", shares[1], **keys)
    if counts is not None and score.has_interval:
        found.add("associations", "p_bh", float(instances.p_bh[place]), **keys)


def tested(one: Estimate, values: Floats) -> Estimate:
    """The mean of one value a concept pair, with the p that it is 0."""
    if one.n < MIN_UNITS:
        return one
    p, how = mean_p_value(values)
    return replace(one, p=p, p_method=f"t over {UNIT}s" if how == "t" else how)


def difference_of_squares(means: Floats, others: Floats) -> Estimate:
    """Mean squared gap less another, over the same concept pairs, in squared points."""
    gaps = POINTS**2 * (means - others)
    known = gaps[~np.isnan(gaps)]
    one = cluster_mean(known, np.ones(known.size), unit=UNIT)
    return tested(one.of("difference of mean unbiased squared gaps"), known)


def compare_gaps(
    found: Estimates, measure: str, targets: Sequence[str], means: Sequence[Floats]
) -> None:
    """Two models on the same concept pairs: difference of their mean unbiased squared gaps."""
    pairs = list(combinations(range(len(means)), 2))
    differences: list[Estimate] = []
    for a, b in pairs:
        differences.append(difference_of_squares(means[a], means[b]))
    adjusted = decided(differences, [f"{units(len(pairs), 'pair')} of models"] * len(pairs))
    for (a, b), one in zip(pairs, adjusted, strict=True):
        found.add("pairs", measure, one, respondent=targets[a], baseline=targets[b])
