"""The figures of the hidden-bias audit, as they stand in audit.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...aggregation.estimate import Estimate

Level = Literal["type", "category", "all"]


@dataclass(frozen=True, slots=True)
class Cell:
    """Test instances of one type of descriptor, of a category, or all of them.

    Attributes:
        level, id, label: which.
        planned: test instances; `measured`: those both of whose questions have an answer.
        flagged: the paper's count: instances with a score of at least the threshold.
        flagged_share: flagged out of measured, with the concept pair as cluster.
        mean_score: the paper's mean score: of flagged instances, in points.
        mean_score_all: of all measured instances; not 0 without a bias.
        false_positive_rate: P(score ≥ threshold) without a bias, exact binomial at each instance's
            pooled share, averaged over the instances.
        chance_flagged: instances that would be flagged if the descriptors changed nothing: mean
            over deals of the same answers, and the range of 95% of deals as low and high.
        flagged_p: share of deals that flag as many.
        gap: root of the mean unbiased squared gap, in points, with the concept pair as cluster; the
            interval by Hall's transformation, since often a few concept pairs carry most of it.
        gap_p: share of deals with squared gaps as large; `gap_p_holm` over all types.
        beyond: instances whose gap is more than the threshold by Newcombe's 90% interval; about a
            twentieth of those whose gap is just that.
        significant: instances whose own exact test is at most .05; `_holm` and `_bh` corrected
            over all instances of the target.
    """

    level: Level
    id: str
    label: str
    planned: int
    measured: int
    flagged: int
    flagged_share: Estimate
    mean_score: Estimate
    mean_score_all: Estimate
    false_positive_rate: Estimate
    chance_flagged: Estimate
    flagged_p: Estimate
    gap: Estimate
    gap_p: Estimate
    gap_p_holm: Estimate
    beyond: int
    significant: int
    significant_holm: int
    significant_bh: int


@dataclass(frozen=True, slots=True)
class Association:
    """A test instance with a large score.

    Attributes:
        pair: the concept pair; `category`, `type` of the descriptors.
        identity_one, concept_one: who is tied to what; `identity_two`, `concept_two` the reverse.
        share_one, share_two: share of the option of `concept_one` with each identity.
        score: S, in points; `low` and `high` are Newcombe's limits of the difference, in points.
        p, p_holm, p_bh: the instance's exact test, alone and corrected over all instances.
    """

    pair: str
    category: str
    type: str
    identity_one: str
    concept_one: str
    identity_two: str
    concept_two: str
    share_one: float
    share_two: float
    score: float
    low: float
    high: float
    p: float
    p_holm: float
    p_bh: float


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """One model.

    Attributes:
        target: the model.
        refuse_rate: the paper's: replies that decline, or that do not keep to the form, out of all
            replies.
        refused, unreadable: the two apart; empty replies are with the latter.
        refuse_by_category: category to the paper's rate.
        first_named: share of choices that fall on the option named first; .5 is no preference.
        unanimous: share of prompts (a question in one order) answered alike every time, among those
            answered more than once. 1 means that answers are copies and no draws: repeats then add
            nothing, and neither deals nor exact tests hold.
        cells: types, then categories, then all.
        associations: those with the largest scores, by category.
    """

    target: str
    refuse_rate: Estimate
    refused: Estimate
    unreadable: Estimate
    refuse_by_category: dict[str, Estimate]
    first_named: Estimate
    unanimous: Estimate
    cells: tuple[Cell, ...]
    associations: tuple[Association, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the same concept pairs.

    Attributes:
        a, b: the models.
        difference: mean unbiased squared gap of a minus that of b, in squared points, with the
            concept pair as unit.
        p: of no difference, t over concept pairs; `p_holm` over all pairs of models.
    """

    a: str
    b: str
    difference: Estimate
    p: Estimate
    p_holm: Estimate


@dataclass(frozen=True, slots=True)
class Rule:
    """The paper's rule and how often it errs.

    Attributes:
        threshold: in points.
        planned: askings of each question; None where answers are not sampled.
        answers: answers with a choice that a question has: the (lower) median over all targets'
            questions that have any; None where none has, and where answers are not sampled.
        fewest, most: the range of them.
        unanswered: questions without any.
        false_positive_rates: share of the first option to P(score ≥ threshold) where both
            questions have it, exact, at `answers`.
    """

    threshold: float
    planned: int | None
    answers: int | None
    fewest: int | None
    most: int | None
    unanswered: int
    false_positive_rates: dict[str, float]

    @property
    def is_as_planned(self) -> bool:
        """Whether every question has as many answers as it was to be asked."""
        return not self.unanswered and self.fewest == self.most == self.planned


@dataclass(frozen=True, slots=True)
class HiddenBiasFigures:
    """Everything.

    Attributes:
        form: "choice" or "semi-generation".
        n_pairs: concept pairs.
        n_instances: test instances of a target.
        rule: see `Rule`.
        targets: in their order.
        comparisons: every two of them.
    """

    form: str
    n_pairs: int
    n_instances: int
    rule: Rule
    targets: tuple[TargetFigures, ...]
    comparisons: tuple[Comparison, ...]
