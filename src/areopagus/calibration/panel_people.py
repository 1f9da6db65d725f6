"""How far the panel agrees with people, within prompts: by criterion, pair type and rater."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.jackknife import cut_to_range, ratio, ratio_difference, verdict_limits
from ..aggregation.kendall import (
    PairwiseTau,
    agreement_ceiling,
    bootstrap_stratified_tau,
    kendall_tau_b,
    mean_group_tau,
    pairwise_tau,
)
from ..aggregation.pair_counting import (
    PAIR_TYPES,
    PairSums,
    PairType,
    pair_sums,
    round_ties,
    sums_by_type,
)
from ..aggregation.permutation import permutation_test
from ..records.estimates import Estimates
from .dataset import Dataset, Target, keys_of
from .responses import MODEL

Floats = npt.NDArray[np.float64]

RESAMPLES = 4000

MOST_RATERS = 5000
"""Raters that are left out one by one on the main target; of more, those with the most ratings."""

MOST_RATERS_ELSEWHERE = 300
"""The same on every other target."""

NONE_RATED = "no response is both rated and scored"


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
        add_agreement(out, dataset, target, level=level, seed=seed)
        if place == 0:
            add_one_person(out, dataset, target, level=level)
        else:
            add_one_person(
                out, dataset, target, level=level, by_rater=False, most=MOST_RATERS_ELSEWHERE
            )
    if targets:
        add_pair_types(out, dataset, targets[0], level=level)


def add_agreement(
    out: Estimates, dataset: Dataset, target: Target, *, level: float = 0.95, seed: int = 0
) -> None:
    """Adds the table "panel": the panel against the mean of the raters on one target.

    tau         stratified tau-b, bootstrap-t over prompts; its p is the exact permutation within
                prompts, two-sided; its verdict "above its ceiling" means ties, pooling, chance, or
                shared errors
    mean_tau    mean of per-prompt tau-b, t interval
    accuracy    share of pairs that people decide ordered likewise, panel ties one half
    n_ties      those pairs that the panel ties
    tau_of_raters  mean tau-b of pairs of raters, within prompts
    ceiling     tau expected of a judge who knows the truth, given these raters; its range is the
                interval of the raters' own tau carried through
    pooled_tau  tau-b over all responses at once: the paper's definition, which differences
                between prompts inflate

    Measured coverage of the 95% intervals at 9, 26, 100 prompts of six responses
    (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error .004 to .006): tau .942,
    .952, .945; mean of prompt taus and accuracy .925, .945, .940; ceiling .950, .964, .949; less
    the source-only judge .946, .950, .946; within source .933, .946, .941. Size of the exact p at
    .05 where nothing is there: .047, .044 at 9, 26 prompts (error .005).
    """
    keys, both = keys_of(target.ratings), target.both
    prompt = dataset.responses.prompt
    out.add("panel", "n_responses", int(both.sum()), **keys)
    if not both.any():
        out.add("panel", "tau", undefined(NONE_RATED), **keys)
        return
    x, y, groups = round_ties(target.panel[both]), round_ties(target.human[both]), prompt[both]
    sums = pair_sums(
        target.panel, target.human, prompt, n_prompts=len(dataset.responses.prompt_ids)
    )
    tau = bootstrap_stratified_tau(x, y, groups, resamples=RESAMPLES, level=level, rng=seed)
    test = permutation_test(x, y, groups, rng=seed)
    mean_tau = t_interval(np.array(mean_group_tau(x, y, groups).taus), level=level)
    of_raters = pairwise_tau(target.ratings, level=level)
    ceiling = ceiling_of(of_raters, target)
    is_above = ceiling.is_defined and tau.value > ceiling.value
    pooled = kendall_tau_b(x, y)
    figures: dict[str, Estimate | float] = {
        "n_prompts": len(np.unique(groups)),
        "tau": replace(
            cut_to_range(tau.of("stratified tau-b: pairs within prompts"), (-1.0, 1.0)),
            p=test.p, p_method=test.p_method,
            verdict="above its ceiling" if is_above else None,
        ),
        "mean_tau": cut_to_range(mean_tau.of("mean of per-prompt tau-b"), (-1.0, 1.0)),
        "accuracy": ratio(
            *sums.accuracy, method="pair accuracy, panel ties one half", level=level
        ),
        "n_ties": int(sums.ties.sum()),
        "tau_of_raters": of_raters.tau,
        "ceiling": ceiling,
        "pooled_tau": Estimate(
            pooled, n=int(both.sum()), unit="response",
            method="the paper's definition: tau-b over all responses of all prompts at once",
            reason="people or panel put all responses of all prompts level"
            if math.isnan(pooled) else "prompts are not kept apart: no interval",
        ),
    }  # fmt: skip
    out.add_all("panel", figures, **keys)


def ceiling_of(pairs: PairwiseTau, target: Target) -> Estimate:
    """Returns the tau that a judge who knows the truth would reach against these raters' mean."""
    rated = target.n_raters[target.both]
    m = max(round(float(rated.mean())), 1) if len(rated) else 1
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
            "tau": Estimate(
                sums.tau, n=int((sums.decided > 0).sum()), unit="prompt",
                method=f"stratified tau-b on {kind} pairs",
                reason="the panel, or people, order no such pair" if math.isnan(sums.tau)
                else "the interval stands at the accuracy",
            ),
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
    level: float = 0.95,
    by_rater: bool = True,
    most: int = MOST_RATERS,
) -> None:
    """Adds the table "one person": whether the panel is better than what one more person gives.

    Rater i is left out; on the responses that i rated and the panel scored, rater i and the panel
    are each compared with the mean of the other raters. The panel against the mean of *all*
    raters beside rater against rater would flatter the panel: a mean is easier to agree with.
    Means over prompts of the mean over raters: of the within-prompt tau, and of pair accuracy,
    which does not reward whoever ties; the difference is paired by prompt.
    Measured coverage of the paired 95% interval at 9, 26, 100 prompts of six: .937, .953,
    .941 (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error .005).

    Args:
        out: takes the figures.
        dataset, target: what was rated and scored.
        level: nominal coverage.
        by_rater: whether each rater left out gets rows of its own.
        most: raters that are left out one by one; of more, those with the most ratings.
    """
    ratings, keys = target.ratings, keys_of(target.ratings)
    R, G = len(dataset.responses), len(dataset.responses.prompt_ids)
    sums = np.bincount(ratings.response, weights=ratings.value, minlength=R)
    counts = np.bincount(ratings.response, minlength=R)
    order = np.argsort(ratings.rater, kind="stable")
    raters, starts = np.unique(ratings.rater[order], return_index=True)
    cuts = np.append(starts, len(order))
    chosen = np.arange(len(raters))
    if len(raters) > most:
        chosen = np.sort(np.argsort(-np.diff(cuts), kind="stable")[:most])
    totals = {name: np.zeros(G) for name in ("tau_h", "tau_p", "acc_h", "acc_p")}
    n_tau, n_acc = np.zeros(G), np.zeros(G)
    for k in chosen.tolist():
        at = order[cuts[k] : cuts[k + 1]]
        response = ratings.response[at]
        usable = (counts[response] > 1) & np.isfinite(target.panel[response])
        response, own = response[usable], ratings.value[at][usable]
        prompts, local = np.unique(ratings.prompt[at][usable], return_inverse=True)
        if not len(prompts):
            continue
        others = (sums[response] - own) / (counts[response] - 1)
        human = pair_sums(own, others, local, n_prompts=len(prompts))
        panel = pair_sums(target.panel[response], others, local, n_prompts=len(prompts))
        tau_h, tau_p = _tau_by_prompt(human), _tau_by_prompt(panel)
        # a prompt counts for both or for neither
        both = np.isfinite(tau_h) & np.isfinite(tau_p)
        totals["tau_h"][prompts[both]] += tau_h[both]
        totals["tau_p"][prompts[both]] += tau_p[both]
        n_tau[prompts[both]] += 1
        decided = human.decided > 0
        totals["acc_h"][prompts[decided]] += human.right[decided] / human.decided[decided]
        totals["acc_p"][prompts[decided]] += panel.right[decided] / panel.decided[decided]
        n_acc[prompts[decided]] += 1
        if by_rater:
            method = "pair accuracy against the mean of the other raters"
            figures = {
                "accuracy_of_one": ratio(*human.accuracy, method=method, level=level),
                "accuracy_of_panel": ratio(*panel.accuracy, method=method, level=level),
            }
            who = dataset.rater_ids[int(raters[k])]
            out.add_all("one person", figures, rater=who, **keys)
    if not n_acc.any():
        none = undefined("no rater shares a response with the panel and another rater")
        out.add("one person", "accuracy_difference", none, **keys)
        return
    for n in (n_tau, n_acc):
        n[n == 0] = np.nan
    of_one, of_panel = totals["tau_h"] / n_tau, totals["tau_p"] / n_tau
    right_one, right_panel = totals["acc_h"] / n_acc, totals["acc_p"] / n_acc

    def mean(values: Floats, method: str, least: float, most: float = 1.0) -> Estimate:
        found = t_interval(values, level=level).of(method)
        return cut_to_range(found, (least, most))

    left = "left out, against the mean of the others"
    paired = "panel less rater, paired by prompt"
    figures = {
        "tau_of_one": mean(of_one, f"within-prompt tau of the rater {left}", -1),
        "tau_of_panel": mean(of_panel, "within-prompt tau of the panel, same others", -1),
        "tau_difference": mean(of_panel - of_one, paired, -2, 2),
        "accuracy_of_one": mean(right_one, f"pair accuracy of the rater {left}", 0),
        "accuracy_of_panel": mean(right_panel, "pair accuracy of the panel, same others", 0),
        "accuracy_difference": _judged(mean(right_panel - right_one, paired, -1)),
    }
    out.add_all("one person", figures, **keys)
    out.add("one person", "n_comparisons", int(np.nansum(n_acc)), **keys)


def _judged(difference: Estimate) -> Estimate:
    """The difference with its verdict: the side of 0 on which its interval lies."""
    if not difference.has_interval:
        return difference
    verdict = (
        "better" if difference.low > 0 else "worse" if difference.high < 0 else "not told apart"
    )
    return replace(difference, verdict=verdict)


def _tau_by_prompt(sums: PairSums) -> Floats:
    scale = np.sqrt(sums.ordered * sums.decided)
    tau: Floats = np.divide(
        sums.difference, scale, out=np.full(scale.shape, np.nan), where=scale > 0
    )
    return tau
