"""How far the panel agrees with people, within prompts, by dimension and by type of pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import bootstrap_stratified_tau, t_interval
from ..aggregation.kendall import agreement_ceiling, kendall_tau_b, mean_group_tau
from ..aggregation.permutation import permutation_test
from .leave_out import cut_to_range, ratio, ratio_difference, verdict_limits
from .material import Material, Target
from .pair_parts import PAIR_TYPES, PairType, pair_sums, settled, sums_by_type
from .rater_pairs import PairwiseTau, pairwise_tau
from .responses import MODEL

Floats = npt.NDArray[np.float64]

RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class Agreement:
    """The panel against the mean of the raters on one target.

    Attributes:
        target: "overall, rank", "clarity, score", …
        n_responses, n_prompts: rated and scored.
        tau: stratified tau-b, bootstrap-t interval over prompts.
        p: exact permutation within prompts, two-sided.
        mean_tau: mean of per-prompt tau-b, t interval.
        accuracy: share of pairs that people decide ordered likewise, panel ties one half.
        n_ties: those pairs that the panel ties.
        ceiling: tau expected of a judge who knows the truth, given these raters; its range is
            the interval of the raters' own tau carried through.
        above_ceiling: whether tau is above the ceiling: ties, pooling, chance, or shared errors.
        pooled_tau: tau-b over all responses at once: the paper's definition, which differences
            between prompts inflate.
    """

    target: str
    n_responses: int
    n_prompts: int
    tau: Estimate
    p: Estimate
    mean_tau: Estimate
    accuracy: Estimate
    n_ties: int
    ceiling: Estimate
    above_ceiling: bool
    pooled_tau: Estimate


@dataclass(frozen=True, slots=True)
class PairTypeRow:
    """One type of pair: the panel, and judges that know only the source or only the length."""

    pair_type: PairType
    n_pairs: int
    panel: Estimate
    panel_tau: Estimate
    source_only: Estimate
    length_only: Estimate


@dataclass(frozen=True, slots=True)
class PanelPeople:
    """Panel with people.

    Attributes:
        by_target: the main target first, then the others.
        pair_types: on the main target, all pairs first; empty without any source.
        beyond_source: accuracy of the panel less that of the source-only judge, over all pairs.
        beyond_length: the same against the length-only judge.
        source_confound: whether the panel's agreement may be the source alone: it is above
            chance on cross pairs and not above it within either source. A figure that is the
            same in every prompt stands for its interval.
        source_preferred: the source that raters prefer ("model" or "human"), which the
            source-only judge prefers too.
    """

    by_target: tuple[Agreement, ...]
    pair_types: tuple[PairTypeRow, ...]
    beyond_source: Estimate
    beyond_length: Estimate
    source_confound: bool
    source_preferred: str | None


def panel_with_people(
    material: Material, targets: tuple[Target, ...], *, level: float = 0.95, seed: int = 0
) -> PanelPeople:
    """Returns the agreement of the panel with people on every target."""
    rows = tuple(agreement(material, target, level=level, seed=seed) for target in targets)
    if not targets:
        none = undefined("people and panel share no criterion")
        return PanelPeople((), (), none, none, False, None)
    return _by_pair_type(material, targets[0], rows, level)


def agreement(
    material: Material, target: Target, *, level: float = 0.95, seed: int = 0
) -> Agreement:
    """Returns the agreement of the panel with people on one target.

    Measured coverage of the 95% intervals at 9, 26, 100 prompts of six responses
    (benchmarks/simulate_worlds.py, 2,000 worlds, Monte Carlo error .004 to .006): tau .942,
    .952, .945; mean of prompt taus and accuracy .925, .945, .940; ceiling .950, .964, .949; less
    the source-only judge .946, .950, .946; within source .933, .946, .941. Size of the exact p at
    .05 where nothing is there: .047, .044 at 9, 26 prompts (error .005).
    """
    prompt = material.responses.prompt
    both = target.both
    x, y = settled(target.panel[both]), settled(target.human[both])
    groups = prompt[both]
    n_prompts = len(np.unique(groups))
    sums = pair_sums(
        target.panel, target.human, prompt, n_prompts=len(material.responses.prompt_ids)
    )
    if not both.any():
        none = undefined("no response is both rated and scored")
        return Agreement(target.name, 0, 0, none, none, none, none, 0, none, False, none)
    tau = bootstrap_stratified_tau(x, y, groups, resamples=RESAMPLES, level=level, rng=seed).of(
        "stratified tau-b: pairs within prompts"
    )
    tau = cut_to_range(tau, (-1.0, 1.0))
    test = permutation_test(x, y, groups, rng=seed)
    by_prompt = mean_group_tau(x, y, groups)
    ceiling = ceiling_of(pairwise_tau(target.ratings, level=level), target)
    pooled = kendall_tau_b(x, y)
    return Agreement(
        target=target.name,
        n_responses=int(both.sum()),
        n_prompts=n_prompts,
        tau=tau,
        p=Estimate(
            test.p_value, n=test.n_groups, unit="prompt",
            method=f"two-sided permutation within prompts, {test.method}",
            reason=test.reason or "a p-value has no interval",
        ),
        mean_tau=cut_to_range(
            t_interval(np.array(by_prompt.taus), level=level).of("mean of per-prompt tau-b"),
            (-1.0, 1.0),
        ),
        accuracy=ratio(
            *sums.accuracy, method="pair accuracy, panel ties one half", level=level
        ),
        n_ties=int(sums.ties.sum()),
        ceiling=ceiling,
        above_ceiling=bool(tau.value > ceiling.value) if ceiling.is_defined else False,
        pooled_tau=Estimate(
            pooled, n=int(both.sum()), unit="response",
            method="the paper's definition: tau-b over all responses of all prompts at once",
            reason="people or panel put all responses of all prompts level"
            if math.isnan(pooled) else "prompts are not kept apart: no interval",
        ),
    )  # fmt: skip


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
    return Estimate(value, n=tau.n, unit="prompt", method=method, low=low, high=high)


def _by_pair_type(
    material: Material, target: Target, rows: tuple[Agreement, ...], level: float
) -> PanelPeople:
    responses = material.responses
    n_prompts = len(responses.prompt_ids)
    # the judges that know one thing only see the same responses as the panel
    human = np.where(target.both, target.human, np.nan)
    length = np.where(np.isfinite(responses.length), responses.length, np.nan)
    no_source = undefined("the sources of the responses are not known, or there is one only")
    no_length = undefined("the lengths of the responses are not known")
    whole = pair_sums(target.panel, human, responses.prompt, n_prompts=n_prompts)
    by_length = pair_sums(length, human, responses.prompt, n_prompts=n_prompts)
    beyond_length = no_length
    if by_length.decided.sum() > 0:
        beyond_length = ratio_difference(
            whole.accuracy, by_length.accuracy, level=level,
            method="pair accuracy, panel less a judge that prefers the longer response",
        )  # fmt: skip
    if not responses.has_both_sources:
        return PanelPeople(rows, (), no_source, beyond_length, False, None)
    kinds = (responses.prompt, responses.source)
    panel = sums_by_type(target.panel, human, *kinds, n_prompts=n_prompts)
    is_model = np.where(responses.source == MODEL, 1.0, 0.0)
    of_source = sums_by_type(is_model, human, *kinds, n_prompts=n_prompts)
    right, decided = (float(part.sum()) for part in of_source["cross"].accuracy)
    prefers_model = right >= decided / 2
    if not prefers_model:
        of_source = sums_by_type(-is_model, human, *kinds, n_prompts=n_prompts)
    of_length = sums_by_type(length, human, *kinds, n_prompts=n_prompts)
    types: tuple[PairType, ...] = ("all", *PAIR_TYPES)
    table = []
    for kind in types:
        sums = panel[kind]
        name = f"pair accuracy on {kind} pairs, ties one half"
        table.append(
            PairTypeRow(
                pair_type=kind,
                n_pairs=int(sums.decided.sum()),
                panel=ratio(*sums.accuracy, method=name, level=level),
                panel_tau=Estimate(
                    sums.tau, n=int((sums.decided > 0).sum()), unit="prompt",
                    method=f"stratified tau-b on {kind} pairs",
                    reason="the panel, or people, order no such pair" if math.isnan(sums.tau)
                    else "the interval stands at the accuracy",
                ),
                source_only=ratio(*of_source[kind].accuracy, method=name, level=level),
                length_only=ratio(*of_length[kind].accuracy, method=name, level=level)
                if by_length.decided.sum() > 0 else no_length,
            )
        )  # fmt: skip
    cross, within = table[types.index("cross")].panel, table[types.index("within-source")].panel
    return PanelPeople(
        by_target=rows,
        pair_types=tuple(table),
        beyond_source=ratio_difference(
            panel["all"].accuracy, of_source["all"].accuracy, level=level,
            method="pair accuracy, panel less a judge that knows the source only",
        ),
        beyond_length=beyond_length,
        source_confound=verdict_limits(cross)[0] > 0.5 and verdict_limits(within)[0] <= 0.5,
        source_preferred="model" if prefers_model else "human",
    )  # fmt: skip
