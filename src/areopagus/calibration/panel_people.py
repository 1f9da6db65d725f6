"""How far the panel agrees with people, within prompts: by criterion, pair type and rater.

And whether it may stand in for one of them: the alternative annotator test.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..aggregation.across_prompts import drawn_items, item_pairs
from ..aggregation.alternative_annotator import AltTest, alt_test
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import (
    cut_to_range,
    jackknife,
    ratio,
    ratio_difference,
    verdict_limits,
)
from ..aggregation.kendall import (
    PairwiseTau,
    agreement_ceiling,
    bootstrap_stratified_tau,
    kendall_tau_b,
    pairwise_tau,
)
from ..aggregation.one_more_person import ratings_beside_one_person, verdict_on
from ..aggregation.pair_counting import (
    PAIR_TYPES,
    PairSums,
    PairType,
    pair_sums,
    round_ties,
    sums_by_type,
)
from ..records.estimates import Estimates
from .dataset import Dataset, Target, keys_of
from .people import UNNAMED
from .responses import MODEL

Floats = npt.NDArray[np.float64]

RESAMPLES = 4000

MOST_RATERS = 5000
"""Raters that are left out one by one on the main target; of more, those with the most ratings."""

MOST_RATERS_ELSEWHERE = 300
"""The same on every other target."""

NONE_RATED = "no response is both rated and scored"


def none_rated(dataset: Dataset) -> str:
    """Returns why there is no target."""
    if dataset.preferences and not dataset.ratings:
        return "people compared responses and rated none"
    return NONE_RATED


def add_panel(
    out: Estimates,
    dataset: Dataset,
    targets: tuple[Target, ...],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> None:
    """Adds how far the panel agrees with people on every target, and on the main one in detail."""
    for place, target in enumerate(targets):
        pairs = pairwise_tau(target.ratings, level=level)
        add_agreement(out, dataset, target, pairs=pairs, level=level, seed=seed)
        is_main = place == 0
        add_one_person(
            out, dataset, target, pairs=pairs, level=level,
            by_rater=is_main and not dataset.has_unnamed_raters,
            most=MOST_RATERS if is_main else MOST_RATERS_ELSEWHERE,
        )  # fmt: skip
    if targets:
        add_pair_types(out, dataset, targets[0], level=level)


def add_agreement(
    out: Estimates,
    dataset: Dataset,
    target: Target,
    *,
    pairs: PairwiseTau | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> None:
    """Adds the table "panel": the panel against the mean of the raters on one target.

    tau         stratified tau-b, bootstrap-t over prompts
    ceiling     tau expected of a judge who knows the truth, given these raters; its range is the
                interval of the raters' own tau carried through
    above_ceiling  tau less the ceiling, jackknife over prompts of both at once; its verdict "above
                its ceiling", where the interval lies above 0, means ties, pooling, or errors that
                the panel shares with these raters
    tau_of_plain_means  where judges are missing: tau of the plain means, which the additive fit
                corrects (`PanelScores.mean`)
    only_score  the score that the panel gives every response; no row where its scores differ

    Measured coverage of the 95% intervals at 9, 26, 100 prompts of six responses
    (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error .004 to .006): tau .942,
    .952, .945; ceiling .950, .964, .949; less the source-only judge .946, .950, .946; within source
    .933, .946, .941.
    """
    keys, both = keys_of(target.ratings), target.both
    prompt = dataset.responses.prompt
    out.add("panel", "n_responses", int(both.sum()), **keys)
    if not both.any():
        out.add("panel", "tau", undefined(NONE_RATED), **keys)
        return
    of_raters = pairs or pairwise_tau(target.ratings, level=level)
    x, y, groups = round_ties(target.panel[both]), round_ties(target.human[both]), prompt[both]
    if len(x) > 1 and np.ptp(x) == 0:
        out.add("panel", "only_score", float(x[0]), **keys)
    if target.is_across(prompt):
        _add_agreement_across(out, target, x, y, groups, of_raters, level=level, seed=seed)
        return
    sums = pair_sums(
        target.panel, target.human, prompt, n_prompts=len(dataset.responses.prompt_ids)
    )
    tau = bootstrap_stratified_tau(x, y, groups, resamples=RESAMPLES, level=level, rng=seed)
    figures: dict[str, Estimate | float] = {
        "n_prompts": len(np.unique(groups)),
        "tau": cut_to_range(tau.of("stratified tau-b: pairs within prompts"), (-1.0, 1.0)),
        "ceiling": ceiling_of(of_raters, target),
        "above_ceiling": above_ceiling(sums, of_raters, target, level),
    }
    if (target.moved != 0).any():
        x = round_ties(target.plain[both])
        figures["tau_of_plain_means"] = Estimate(
            kendall_tau_b(x, y, groups), n=tau.n, method="stratified tau-b of the plain means of "
            "the judges that are there", reason="for comparison only: no interval",
        )  # fmt: skip
    out.add_all("panel", figures, **keys)


def _add_agreement_across(
    out: Estimates,
    target: Target,
    x: Floats,
    y: Floats,
    prompts: npt.NDArray[np.int64],
    of_raters: PairwiseTau,
    *,
    level: float,
    seed: int,
) -> None:
    """Adds the table "panel" where every prompt has one response: order is that across prompts."""
    chosen, n_all = drawn_items(len(x), seed=seed), len(x)
    x, y, prompts = x[chosen], y[chosen], prompts[chosen]
    drawn = f"; {len(x):,} of {n_all:,} prompts, drawn" if len(x) < n_all else ""
    pairs = item_pairs(x, y)
    rest = pairs.tau_b_left_out()
    order = np.argsort(prompts)
    tau = jackknife(
        pairs.tau_b, rest, n=len(x), method=f"tau-b across prompts, one response each{drawn}",
        level=level, bounds=(-1.0, 1.0),
    )  # fmt: skip
    figures: dict[str, Estimate | float] = {
        "n_prompts": len(x),
        "tau": tau,
        "ceiling": ceiling_of(of_raters, target),
        "above_ceiling": _less_ceiling(
            pairs.tau_b, prompts[order], rest[order], of_raters, target, level
        ),
    }
    if (target.moved != 0).any():
        plain = kendall_tau_b(target.plain[target.both][chosen], y)
        figures["tau_of_plain_means"] = Estimate(
            plain, n=len(x), reason="for comparison only: no interval",
            method="tau-b across prompts of the plain means of the judges that are there",
        )  # fmt: skip
    out.add_all("panel", figures, **keys_of(target.ratings))


def ceiling_of(
    pairs: PairwiseTau, target: Target, *, left_out: int = 0, of: int | None = None
) -> Estimate:
    """Returns the tau that a judge who knows the truth would reach against these raters' mean.

    Args:
        pairs: the raters' own tau.
        target: what was rated.
        left_out: raters who are not in the mean.
        of: raters in the mean, where that is not all of a response.
    """
    m = of or _mean_raters(target, left_out)
    tau = pairs.tau
    method = f"Gaussian ceiling for {m} raters; range from the interval of the raters' tau"
    value = agreement_ceiling(min(tau.value, 1.0), m) if tau.is_defined else math.nan
    if math.isnan(value):
        reason = (
            tau.reason
            if not tau.is_defined
            else ("the raters' own tau is not positive: they measure nothing in common")
        )
        return Estimate(math.nan, n=tau.n, unit="prompt", method=method, reason=reason)
    if not tau.has_interval:
        return Estimate(value, n=tau.n, unit="prompt", method=method, reason=tau.reason)
    low = agreement_ceiling(float(np.clip(tau.low, 0, 1)), m)
    high = agreement_ceiling(float(np.clip(tau.high, 0, 1)), m)
    return Estimate(value, n=tau.n, method=method, low=low, high=high, level=tau.level)


def _mean_raters(target: Target, left_out: int = 0) -> int:
    rated = target.n_raters[target.both]
    return max(round(float(rated.mean())) - left_out, 1) if len(rated) else 1


ABOVE_CEILING = "above its ceiling"
"""The verdict on a tau that is higher than even a judge without errors would reach."""


def above_ceiling(sums: PairSums, pairs: PairwiseTau, target: Target, level: float) -> Estimate:
    """Returns tau less the ceiling, both without each prompt in turn.

    A judge without errors reaches the ceiling, so that half of such judges stand above it by their
    point estimate (.525, .495, .493 of worlds of 9, 26, 100 prompts of six, three raters); the
    caution needs an interval, and falls on .015, .027, .015 of them
    (benchmarks/simulate_calibration.py, 1,000 worlds, Monte Carlo error .004).
    """
    parts = (sums.difference, sums.ordered, sums.decided)
    top, left, right = (part.sum() - part for part in parts)
    scale = np.sqrt(left * right)
    rest = np.divide(top, scale, out=np.full(len(top), np.nan), where=scale > 0)
    prompts = np.flatnonzero(sums.decided > 0)
    return _less_ceiling(sums.tau, prompts, rest[prompts], pairs, target, level)


def _less_ceiling(
    tau: float,
    prompts: npt.NDArray[np.int64],
    rest: Floats,
    pairs: PairwiseTau,
    target: Target,
    level: float,
) -> Estimate:
    """The same of any tau: its value, and its values without each of these prompts."""
    method = "tau-b less the ceiling"
    m = _mean_raters(target)
    of_raters = pairs.tau.value

    def ceiling(one: float) -> float:
        return agreement_ceiling(min(max(one, 0.0), 1.0), m)

    if not of_raters > 0 or math.isnan(tau):
        return undefined("there is no ceiling", method=method)
    every = np.union1d(prompts, pairs.prompts)
    # a prompt that says nothing on one side leaves that side as it is
    of_panel, of_people = np.full(len(every), tau), np.full(len(every), of_raters)
    of_panel[np.searchsorted(every, prompts)] = rest
    of_people[np.searchsorted(every, pairs.prompts)] = pairs.left_out
    left_out = of_panel - np.array([ceiling(one) for one in of_people.tolist()])
    found = jackknife(tau - ceiling(of_raters), left_out, n=len(every), method=method, level=level)
    is_above = found.has_interval and found.low > 0
    return replace(found, verdict=ABOVE_CEILING if is_above else None)


def add_pair_types(
    out: Estimates, dataset: Dataset, target: Target, *, level: float = 0.95
) -> None:
    """Adds the table "pair types", and what the panel is beyond judges that know one thing only.

    By type of pair: pair accuracy of the panel, and of judges that know only the source (they
    prefer the source that raters prefer) or only the length; measures of the table "panel":

    beyond_source  accuracy of the panel less that of the source-only judge, over all pairs; its
                   verdict is "source confound" where the panel's agreement may be the source
                   alone: it is above chance on cross pairs and not above it within either source.
                   A figure that is the same in every prompt stands for its interval.
    beyond_length  the same against the length-only judge
    """
    responses, keys = dataset.responses, keys_of(target.ratings)
    n_prompts = len(responses.prompt_ids)
    # the judges that know one thing only see the same responses as the panel
    human = np.where(target.both, target.human, np.nan)
    length = np.where(np.isfinite(responses.length), responses.length, np.nan)
    whole = pair_sums(target.panel, human, responses.prompt, n_prompts=n_prompts)
    by_length = pair_sums(length, human, responses.prompt, n_prompts=n_prompts)
    has_length = by_length.decided.sum() > 0
    no_length = undefined("the lengths of the responses are not known")
    beyond_length = ratio_difference(
        whole.accuracy, by_length.accuracy, level=level,
        method="pair accuracy, panel less a judge that prefers the longer response",
    )  # fmt: skip
    out.add("panel", "beyond_length", beyond_length if has_length else no_length, **keys)
    if not responses.has_both_sources:
        no_source = undefined("the sources of the responses are not known, or there is one only")
        out.add("panel", "beyond_source", no_source, **keys)
        return
    kinds = (responses.prompt, responses.source)
    panel = sums_by_type(target.panel, human, *kinds, n_prompts=n_prompts)
    is_model = np.where(responses.source == MODEL, 1.0, 0.0)
    of_source = sums_by_type(is_model, human, *kinds, n_prompts=n_prompts)
    right, decided = (float(part.sum()) for part in of_source["cross"].accuracy)
    prefers_model = right >= decided / 2
    if not prefers_model:
        of_source = sums_by_type(-is_model, human, *kinds, n_prompts=n_prompts)
    of_length = sums_by_type(length, human, *kinds, n_prompts=n_prompts)
    preferred = "model" if prefers_model else "human"
    found: dict[PairType, Estimate] = {}
    for kind in ("all", *PAIR_TYPES):
        name = f"pair accuracy on {kind} pairs, ties one half"

        def accuracy(sums: PairSums, name: str = name) -> Estimate:
            return ratio(*sums.accuracy, method=name, level=level)

        sums = panel[kind]
        found[kind] = accuracy(sums)
        figures: dict[str, Estimate | float] = {
            "n_pairs": int(sums.decided.sum()),
            "accuracy": found[kind],
            "source_only": replace(accuracy(of_source[kind]), verdict=f"prefers {preferred}s"),
            "length_only": accuracy(of_length[kind]) if has_length else no_length,
        }  # fmt: skip
        out.add_all("pair types", figures, factor="pairs", group=kind, **keys)
    is_confounded = (
        verdict_limits(found["cross"])[0] > 0.5 and verdict_limits(found["within-source"])[0] <= 0.5
    )
    beyond_source = ratio_difference(
        panel["all"].accuracy, of_source["all"].accuracy, level=level,
        method="pair accuracy, panel less a judge that knows the source only",
    )  # fmt: skip
    verdict = "source confound" if is_confounded else None
    out.add("panel", "beyond_source", replace(beyond_source, verdict=verdict), **keys)


def add_one_person(
    out: Estimates,
    dataset: Dataset,
    target: Target,
    *,
    pairs: PairwiseTau | None = None,
    level: float = 0.95,
    by_rater: bool = True,
    most: int = MOST_RATERS,
) -> None:
    """Adds the table "one person": whether the panel is better than what one more person gives.

    Rater and panel are each compared with every other rater; see `aggregation.one_more_person`,
    which gives the same of choices between two responses. With the mean of *all* raters beside
    rater with rater the panel would be flattered: a mean is easier to agree with.

    tau_of_one, tau_of_panel  Somers' d within prompts, (C - D) / pairs that the other rater orders,
                    which is 2 x pair accuracy - 1 and does not reward whoever ties, as tau-b does
    tau_difference  panel less rater, paired by prompt, with its verdict
    ceiling         as in the table "panel", against one rater

    Where every prompt has one response, two raters may share no two responses: rater and panel are
    then compared with the mean of the other raters, across prompts.

    Measured with three raters at 9, 26, 100 prompts of six (benchmarks/simulate_calibration.py,
    1,000 worlds, Monte Carlo error at most .016): for a judge exactly as good as a person the
    paired 95% interval covers 0 in .930, .938, .943; it is called at least half as good or better
    in .397, .828, .982, worse in .016, .025, .018; one with a third of a person's agreement at
    least half as good or better in .010, .005, .000. Across prompts of one response each the
    interval covers .946, .955, .946.

    Args:
        out: takes the figures.
        dataset, target: what was rated and scored.
        pairs: the raters' own tau, where it is known.
        level: nominal coverage.
        by_rater: whether each rater gets rows of its own.
        most: raters with rows of their own, or that are left out one by one across prompts; of
            more, those with the most ratings.
    """
    ratings, keys = target.ratings, keys_of(target.ratings)
    pairs = pairs or pairwise_tau(ratings, level=level)
    if target.is_across(dataset.responses.prompt):
        ceiling = ceiling_of(pairs, target, left_out=1)
        _add_one_person_across(
            out, dataset, target, ceiling, level=level, by_rater=by_rater, most=most
        )
        return
    beside, cells = ratings_beside_one_person(ratings, target.panel, level=level)
    figures = {
        "tau_of_one": beside.of_one,
        "tau_of_panel": beside.of_scores,
        "tau_difference": beside.difference,
    }
    if not beside.difference.is_defined:
        out.add("one person", "tau_difference", beside.difference, **keys)
        return
    raters, sizes = np.unique(ratings.rater, return_counts=True)
    chosen = np.sort(raters[np.argsort(-sizes, kind="stable")[:most]])
    for rater in chosen.tolist() if by_rater else ():
        mine = cells.person == rater
        own = {
            name: _somers_d(part[mine], cells.decided[mine], level)
            for name, part in (("tau_of_one", cells.of_one), ("tau_of_panel", cells.of_scores))
        }
        out.add_all("one person", own, rater=dataset.rater_ids[rater], **keys)
    out.add_all("one person", {**figures, "ceiling": ceiling_of(pairs, target, of=1)}, **keys)
    out.add("one person", "n_comparisons", len(cells.person), **keys)


def _add_one_person_across(
    out: Estimates,
    dataset: Dataset,
    target: Target,
    ceiling: Estimate,
    *,
    level: float,
    by_rater: bool,
    most: int,
) -> None:
    """The same where every prompt has one response: Somers' d across prompts, jackknife."""
    ratings, keys = target.ratings, keys_of(target.ratings)
    R = len(dataset.responses)
    sums = np.bincount(ratings.response, weights=ratings.value, minlength=R)
    counts = np.bincount(ratings.response, minlength=R)
    raters, sizes = np.unique(ratings.rater, return_counts=True)
    chosen = np.sort(raters[np.argsort(-sizes, kind="stable")[:most]])
    names = ("tau_of_one", "tau_of_panel")
    values: dict[str, list[float]] = {name: [] for name in names}
    rests = {name: np.zeros(R) for name in names}
    told, kept = np.zeros(R, dtype=bool), np.zeros(R, dtype=bool)
    rows = np.flatnonzero(target.both)
    kept[rows[drawn_items(len(rows))]] = True
    for rater in chosen.tolist():
        mine = ratings.rater == rater
        response = ratings.response[mine]
        usable = (counts[response] > 1) & kept[response]
        response, own = response[usable], ratings.value[mine][usable]
        others = round_ties((sums[response] - own) / (counts[response] - 1))
        found = {
            name: item_pairs(given, others)
            for name, given in zip(names, (own, round_ties(target.panel[response])), strict=True)
        }
        if not found["tau_of_one"].second.any():
            continue
        told[response[found["tau_of_one"].second > 0]] = True
        figures = {}
        for name, pairs in found.items():
            d, rest = pairs.somers_d, pairs.somers_d_left_out()
            values[name].append(d)
            rests[name] += d
            rests[name][response] += np.where(np.isnan(rest), d, rest) - d
            figures[name] = jackknife(
                d, rest, n=len(response), level=level, bounds=(-1.0, 1.0),
                method="Somers' d across prompts against the mean of the other raters",
            )  # fmt: skip
        if by_rater:
            out.add_all("one person", figures, rater=dataset.rater_ids[rater], **keys)
    if not values["tau_of_one"]:
        none = undefined("no rater shares responses with the panel and another rater")
        out.add("one person", "tau_difference", none, **keys)
        return
    n = len(values["tau_of_one"])

    def mean(value: float, rest: Floats, method: str, end: float) -> Estimate:
        return jackknife(
            value, rest[told] / n, n=int(told.sum()), method=method, level=level,
            bounds=(-end, end),
        )  # fmt: skip

    means = {name: float(np.mean(given)) for name, given in values.items()}
    one, panel = (
        mean(means[name], rests[name], f"Somers' d across prompts of the {who}, same others", 1.0)
        for name, who in zip(names, ("rater left out", "panel"), strict=True)
    )
    difference, beyond_half = (
        mean(
            means["tau_of_panel"] - share * means["tau_of_one"],
            rests["tau_of_panel"] - share * rests["tau_of_one"],
            "panel less rater, across prompts", 2.0,
        )
        for share in (1.0, 0.5)
    )  # fmt: skip
    out.add_all(
        "one person",
        {
            "tau_of_one": one,
            "tau_of_panel": panel,
            "tau_difference": replace(difference, verdict=verdict_on(difference, beyond_half)),
            "ceiling": ceiling,
            "n_comparisons": n,
        },
        **keys,
    )


def _somers_d(apart: Floats, decided: Floats, level: float) -> Estimate:
    """C - D over the comparisons, with limits from the prompts."""
    found = ratio((apart + decided) / 2, decided, method="pair accuracy", level=level)
    method = f"Somers' d with each other rater; {found.method.partition('; ')[2]}"
    return replace(
        found, value=2 * found.value - 1, low=2 * found.low - 1, high=2 * found.high - 1,
        se=2 * found.se, method=method,
    )  # fmt: skip


BY_RANK = "by rank"

MOST_CELLS = 2_000_000
"""Raters x responses beyond which the test is not made."""

MOST_PROMPTS = 1000
"""Prompts that are used; of more, so many are drawn: that is power enough."""

MOST_POWER_CELLS = 50_000
"""Raters x responses beyond which power is not simulated."""


def add_alt_test(
    out: Estimates,
    dataset: Dataset,
    target: Target | None,
    *,
    epsilon: float,
    seed: int = 0,
) -> None:
    """Adds the table "alt-test", of ratings by rank: closeness is the order within a prompt.

    winning_rate    share of raters whom the panel may replace; its verdict is "pass", "fail",
                    "not enough prompts" or "uninformative" (a constant or a random judge passes
                    as well)
    power           probability that a judge exactly as good as one human passes here
    epsilon         what is allowed for the cost of a human

    Why no test was made stands in a row without a form (`detail`).
    """
    if target is None or not target.both.any():
        return _add_none(out, none_rated(dataset))
    if dataset.has_unnamed_raters:
        return _add_none(out, UNNAMED)
    ratings, responses = target.ratings, dataset.responses
    usable = target.both.copy()
    prompts = np.unique(responses.prompt[usable])
    drawn = ""
    if len(prompts) > MOST_PROMPTS:
        chosen = np.random.default_rng(seed).choice(prompts, MOST_PROMPTS, replace=False)
        usable &= np.isin(responses.prompt, chosen)
        drawn = f"; {MOST_PROMPTS:,} of {len(prompts):,} prompts, drawn at random"
    mine = ratings.select(usable[ratings.response])
    raters = np.unique(mine.rater)
    cells = len(raters) * len(np.unique(mine.response))
    if len(raters) < 2:
        return _add_none(out, "one rater")
    if cells > MOST_CELLS:
        return _add_none(out, f"more than {MOST_CELLS:,} raters x responses")
    by_rater: dict[int, dict[int, float]] = {int(code): {} for code in raters}
    for who, what, value in zip(
        mine.rater.tolist(), mine.response.tolist(), mine.value.tolist(), strict=True
    ):
        by_rater[who][what] = value
    rows = np.flatnonzero(usable)
    prompt_of = {int(r): int(responses.prompt[r]) for r in rows}
    panel = dict(zip(rows.tolist(), round_ties(target.panel[rows]).tolist(), strict=True))
    by_rank = alt_test(
        panel, by_rater, epsilon=epsilon, score="rank", groups=prompt_of, seed=seed,
        worlds=300 if cells <= MOST_POWER_CELLS else 0,
    )  # fmt: skip
    add_form(out, BY_RANK, by_rank, drawn)
    return None


def _add_none(out: Estimates, why: str) -> None:
    out.add("alt-test", "winning_rate", undefined(why, unit="rater"))


def add_form(out: Estimates, form: str, test: AltTest, drawn: str = "") -> None:
    """Adds the rows of one form of the test to the table "alt-test"; see `add_alt_test`."""
    description = "over raters: its test is the verdict, it has no interval"
    rate = Estimate(
        test.winning_rate, n=sum(not math.isnan(one.p) for one in test.comparisons), unit="rater",
        method=f"share of raters beaten, Benjamini-Yekutieli, epsilon {test.epsilon:g}, by "
        f"{test.score}{drawn}",
        reason=test.reason or description, verdict=test.verdict,
    )  # fmt: skip
    figures: dict[str, Estimate | float] = {"winning_rate": rate, "epsilon": test.epsilon}
    if form == BY_RANK:  # power is simulated for that form only
        none = "the raters' own tau is not positive, or too many ratings to simulate"
        figures["power"] = Estimate(
            test.power, n=max((one.n for one in test.comparisons), default=0), unit=test.unit,
            method="power of a judge exactly as good as one human, 300 simulated worlds",
            reason=none if math.isnan(test.power) else "simulated",
        )  # fmt: skip
    out.add_all("alt-test", figures, detail=form)
