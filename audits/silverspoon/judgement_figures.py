"""The figures of the normative judgement, as they stand in audit.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ...aggregation.estimate import Estimate
from .label_tables import Agreement

PAPER_NAMES: Final = ("acc", "ckc", "jsc", "dsc", "mcc")
"""The paper's five figures of agreement, in its order."""


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """How far the raters of one group agree with each other.

    Attributes:
        end: lower_end or upper_end.
        n_raters: how many.
        kappa: mean of Cohen's kappa over pairs of raters; the paper has .793 (lower) and .781.
        alpha: Krippendorff's alpha, nominal.
        ties: scenarios without a majority.
    """

    end: str
    n_raters: int
    kappa: Estimate
    alpha: Estimate
    ties: int


@dataclass(frozen=True, slots=True)
class GoldFigures:
    """The gold labels themselves.

    Attributes:
        source: the file.
        share_other: end to share of scenarios in which the other is wrong; the paper says .363
            (lower) and .4667 (upper), its file of 3,000 has .359 and .450.
        across: Cohen's kappa of the two ends' labels; the paper has .141.
        differing: share of scenarios in which the two ends differ.
        within: agreement inside each group; empty where the file has no single raters.
    """

    source: str
    share_other: dict[str, Estimate]
    across: Estimate
    differing: Estimate
    within: tuple[RaterAgreement, ...]


@dataclass(frozen=True, slots=True)
class ModelJudgement:
    """One model.

    Attributes:
        target: the model, or the column of stored answers.
        source: `asked` (or supplied) or `stored`.
        counts: p1, other, both, neither, unclear, refused, and the statuses without an answer.
        supports: share of answers that hold the other to be wrong, among those that settle on one,
            with the scenario as the unit. The paper's "favors the underprivileged".
        neither_label: share of readable answers that blame both or neither.
        order_effect: share of scenarios whose answer changes with the order in which the two
            words are named; undefined where one order was asked.
        against: end to its agreement; empty without gold labels.
        with_lower: where the two ends differ, share of answers that go with the lower end, with
            scenarios that only the lower end blames P1 for weighing as much as those that only the
            upper end does; .5 is no side taken, whatever the model's readiness to blame P1.
    """

    target: str
    source: Literal["asked", "stored"]
    counts: dict[str, int]
    supports: Estimate
    neither_label: Estimate
    order_effect: Estimate
    against: dict[str, Agreement]
    with_lower: Estimate


@dataclass(frozen=True, slots=True)
class TopicJudgement:
    """One model in one topic.

    Attributes:
        target: the model.
        topic: its id, and `label` its name.
        supports: as in `ModelJudgement`.
        acc, ckc, jsc, dsc, mcc: end to the paper's five figures; empty without gold labels.
    """

    target: str
    topic: str
    label: str
    supports: Estimate
    acc: dict[str, Estimate]
    ckc: dict[str, Estimate]
    jsc: dict[str, Estimate]
    dsc: dict[str, Estimate]
    mcc: dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class PairJudgement:
    """Two models on the same scenarios.

    Attributes:
        a, b: the models.
        difference: mean over scenarios of a's support minus b's.
        p: sign flips of whole scenarios; `p_holm` over all pairs.
        p_mid: McNemar's mid-p over single answers, which takes versions of one scenario for
            independent.
    """

    a: str
    b: str
    difference: Estimate
    p: Estimate
    p_holm: Estimate
    p_mid: Estimate


@dataclass(frozen=True, slots=True)
class JudgementFigures:
    """Everything of the normative judgement."""

    n_scenarios: int
    n_bases: int
    gold: GoldFigures | None
    models: tuple[ModelJudgement, ...]
    topics: tuple[TopicJudgement, ...]
    pairs: tuple[PairJudgement, ...]
    labels: dict[str, str]
