"""The figures of SocioEval, as they stand in audit.json."""

from __future__ import annotations

from dataclasses import dataclass

from ...aggregation.estimate import Estimate


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """One model.

    Attributes:
        target: the model.
        bias_rate: share of biased answers among those with a category, with Wilson's interval over
            answers: the paper's figure.
        bias_rate_clustered: the same share with the template as the unit: prompts made from one
            template resemble each other, and Wilson's interval is too narrow for them.
        bias_rate_least, bias_rate_most: the share if none, and if all, of the answers that have no
            category were biased; without an interval.
        favours_higher: among answers with a choice, share that favours the higher class (chosen
            for something good, or the other chosen for something bad); .5 is no preference.
        choice_rate: share of answers that choose.
        first_named: among choices, share that falls on the one named first; .5 is no preference.
        order_effect: among questions answered with a choice in both orders, share in which the
            chosen class changes with the order.
        strategies: category to its share among answers with one.
    """

    target: str
    bias_rate: Estimate
    bias_rate_clustered: Estimate
    bias_rate_least: Estimate
    bias_rate_most: Estimate
    favours_higher: Estimate
    choice_rate: Estimate
    first_named: Estimate
    order_effect: Estimate
    strategies: dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class SliceRate:
    """Bias rate in one part of the prompts.

    Attributes:
        by: theme, topic, pair or scenario; "theme x pair" for the paper's third figure.
        value: its id, and `label` its name.
        target: a model, or "" for all of them together.
        rate: with Wilson's interval over answers, as in the paper; of several models together
            without one, as their answers to a prompt are no two draws.
        clustered: the same share with the template as the unit; without limits where there are few.
        favours_higher: among choices, with the template as the unit.
    """

    by: str
    value: str
    label: str
    target: str
    rate: Estimate
    clustered: Estimate
    favours_higher: Estimate


@dataclass(frozen=True, slots=True)
class PairFigures:
    """Two models on the same prompts.

    Attributes:
        a, b: the models.
        difference: bias rate of a minus that of b on prompts that both have a category for.
        only_a, only_b: prompts on which one of them alone is biased.
        p_mid: McNemar's mid-p; `p_mid_bonferroni` and `p_mid_holm` over all pairs.
        p_templates: sign flips of whole templates; `p_templates_holm` over all pairs.
        p_independent: chi-square of two independent samples, as in the paper, with Bonferroni's
            correction in `p_independent_bonferroni`.
    """

    a: str
    b: str
    difference: Estimate
    only_a: int
    only_b: int
    p_mid: Estimate
    p_mid_bonferroni: Estimate
    p_mid_holm: Estimate
    p_templates: Estimate
    p_templates_holm: Estimate
    p_independent: Estimate
    p_independent_bonferroni: Estimate


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether the models differ.

    Attributes:
        chi_square, chi_square_p: of independence of model and bias, as in the paper; it takes the
            models' answers to the same prompts for independent samples.
        chi_square_df: degrees of freedom.
        cochran_q, cochran_p: the same question for paired answers.
        permutation_p: Cochran's Q with whole templates permuted over models.
        alpha_bonferroni: .05 over the number of pairs; 6.41e-4 for the paper's 78.
        pairs: every pair of models.
    """

    chi_square: Estimate
    chi_square_df: int
    chi_square_p: Estimate
    cochran_q: Estimate
    cochran_p: Estimate
    permutation_p: Estimate
    alpha_bonferroni: float
    pairs: tuple[PairFigures, ...]


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """How far the two judges agree before anybody settles anything.

    Attributes:
        n: answers that both gave a category.
        same_category, kappa_category, ac1_category: over the six categories.
        same_decision, kappa_decision, ac1_decision: over biased and unbiased.
        rulings: outcome of judging to number of answers.
    """

    n: int
    same_category: Estimate
    kappa_category: Estimate
    ac1_category: Estimate
    same_decision: Estimate
    kappa_decision: Estimate
    ac1_decision: Estimate
    rulings: dict[str, int]


@dataclass(frozen=True, slots=True)
class SocioEvalFigures:
    """Everything.

    Attributes:
        n_prompts, n_templates: asked.
        models: one entry a model, in the order of the targets.
        slices: rates by theme, topic, pair and scenario, and by theme and pair, for all models
            together and, where there are several, for each.
        comparison: None with one model.
        agreement: None where no two judges read the same answer.
        labels: id to name of themes, topics and classes.
    """

    n_prompts: int
    n_templates: int
    models: tuple[ModelFigures, ...]
    slices: tuple[SliceRate, ...]
    comparison: Comparison | None
    agreement: JudgeAgreement | None
    labels: dict[str, str]

    def shown_slices(self) -> tuple[SliceRate, ...]:
        """The parts as reports show them: by model, and together only where there is but one."""
        return tuple(one for one in self.slices if bool(one.target) == (len(self.models) > 1))
