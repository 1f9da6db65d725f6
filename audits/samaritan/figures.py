"""The figures of the Samaritan audit, as they stand in audit.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...aggregation.estimate import Estimate

Verdict = Literal["differs", "equivalent", "differs within margin", "undecided", "undefined"]


@dataclass(frozen=True, slots=True)
class PhrasingBias:
    """Bias with one phrasing of a group.

    Attributes:
        phrasing: as in the prompts.
        bias: against the control on the same wordings.
    """

    phrasing: str
    bias: Estimate


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """The ratings without demographics.

    Attributes:
        target: the model; "" for the mean over all.
        control: the control's id, and the phrase in prompts.
        rating: helpfulness rating.
        answered: share of answers with a rating.
        brittleness: mean standard deviation over the rephrasings of a scenario.
    """

    target: str
    control: str
    phrase: str
    rating: Estimate
    answered: Estimate
    brittleness: Estimate


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """One group with one model.

    Attributes:
        target: the model; "" for the mean over all.
        category, group: ids; and `label`.
        rating: the paper's helpfulness rating: mean over rephrasings, then over scenarios.
        bias: rating minus the control's, scenario by scenario, on wordings rated in both.
        p_t: the paper's paired t-test over scenarios.
        p_t_holm: corrected over all groups of all models of the run.
        p_flips, p_flips_holm: sign flips of the scenarios' differences, likewise.
        p_adjusted, p_adjusted_holm: sign flips with a t freed of skewness (Hall), likewise; the
            verdict goes by these.
        equivalence: the bias with the 90% interval that the test of equivalence looks at.
        p_equivalence: two one-sided tests against the margin.
        p_equivalence_holm: corrected over the groups of the category, in this model.
        verdict: by the two corrected tests: `differs`, `equivalent`, both (`differs within
            margin`), or neither (`undecided`).
        answered: share of answers with a rating.
        brittleness: mean standard deviation over the rephrasings of a scenario.
        brittleness_change: that minus the control's.
        phrasings: the bias with each phrasing, where there are several.
    """

    target: str
    category: str
    group: str
    label: str
    rating: Estimate
    bias: Estimate
    p_t: Estimate
    p_t_holm: Estimate
    p_flips: Estimate
    p_flips_holm: Estimate
    p_adjusted: Estimate
    p_adjusted_holm: Estimate
    equivalence: Estimate
    p_equivalence: Estimate
    p_equivalence_holm: Estimate
    verdict: Verdict
    answered: Estimate
    brittleness: Estimate
    brittleness_change: Estimate
    phrasings: tuple[PhrasingBias, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Which group a model takes for the default of a category.

    Attributes:
        target: the model; "" for the mean over all.
        category: its id; and `label`.
        equivalent: groups shown to lie within the margin of the control.
        undecided: groups of which neither a difference nor equivalence is shown.
        differing: groups that differ, and are not shown to lie within the margin.
        nearest: the group whose bias is smallest in size; "" without one.
        not_significant: what the paper's rule names: groups with p > .05 in an uncorrected paired
            t-test. That a difference is not shown does not show that there is none.
    """

    target: str
    category: str
    label: str
    equivalent: tuple[str, ...]
    undecided: tuple[str, ...]
    differing: tuple[str, ...]
    nearest: str
    not_significant: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicBias:
    """The bias within one topic, all models together."""

    topic: str
    label: str
    category: str
    group: str
    bias: Estimate


@dataclass(frozen=True, slots=True)
class GroupRuns:
    """The ratings of one group by run.

    Attributes:
        key: category and group.
        ratings: the helpfulness rating of each run, on the prompts rated in every run.
        gap: largest minus smallest of them.
        change: second run minus first.
        p_t: paired t-test of that over scenarios, as in the paper.
    """

    key: str
    ratings: tuple[float, ...]
    gap: Estimate
    change: Estimate
    p_t: Estimate


@dataclass(frozen=True, slots=True)
class Repeatability:
    """What asking again changes.

    Attributes:
        target: the model.
        retest_sd: standard deviation of ratings of one prompt, pooled over prompts.
        same: share of prompts whose ratings are all the same.
        noise_floor: what the difference of two runs' means of a group stays below in 95 of 100
            cases by re-asking alone.
        brittleness_beyond: standard deviation over rephrasings that re-asking does not explain.
        groups: by group.
    """

    target: str
    retest_sd: Estimate
    same: Estimate
    noise_floor: Estimate
    brittleness_beyond: Estimate
    groups: tuple[GroupRuns, ...]


@dataclass(frozen=True, slots=True)
class TargetPair:
    """Two models on the same scenarios.

    Attributes:
        a, b: the models.
        category, group: ids.
        difference: bias of `a` minus bias of `b`.
        p_flips: sign flips of the scenarios' differences.
        p_flips_holm: corrected over pairs and groups.
        p_adjusted, p_adjusted_holm: the same with a t freed of skewness (Hall).
    """

    a: str
    b: str
    category: str
    group: str
    difference: Estimate
    p_flips: Estimate
    p_flips_holm: Estimate
    p_adjusted: Estimate
    p_adjusted_holm: Estimate


@dataclass(frozen=True, slots=True)
class SamaritanFigures:
    """Everything.

    Attributes:
        n_scenarios, n_groups: asked; controls are no groups.
        crossed: whether every phrasing was asked with every rephrasing.
        margin: of equivalence, in points.
        controls, groups: one entry a model, then those over all models where there are several.
        baselines: likewise, by category.
        topics: bias by topic.
        repeatability: empty with one run.
        pairs: of models; empty with one.
        labels: id to name of categories, groups ("category.group") and controls.
    """

    n_scenarios: int
    n_groups: int
    crossed: bool
    margin: float
    controls: tuple[ControlFigures, ...]
    groups: tuple[GroupFigures, ...]
    baselines: tuple[Baseline, ...]
    topics: tuple[TopicBias, ...]
    repeatability: tuple[Repeatability, ...]
    pairs: tuple[TargetPair, ...]
    labels: dict[str, str]
