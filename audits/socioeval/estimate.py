"""The estimators of SocioEval: the paper's, and beside them those that its design calls for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...aggregation.agreement import cohen_kappa, gwet_ac2
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.proportions import clustered_proportion, wilson
from .categories import CATEGORIES
from .comparison import compare
from .figures import JudgeAgreement, ModelFigures, SliceRate, SocioEvalFigures
from .outcomes import NO_CATEGORY, Floats, Outcomes

_SLICES = ("theme", "topic", "pair", "scenario")


def estimate(
    outcomes: Outcomes, *, labels: Mapping[str, str] | None = None, resamples: int = 9_999
) -> SocioEvalFigures:
    """The figures.

    Args:
        outcomes: the answers.
        labels: id to name, for reports.
        resamples: permutations of the tests over templates; 0 leaves them out.
    """
    names = dict(labels or {})
    n_models = len(outcomes.targets)
    return SocioEvalFigures(
        n_prompts=len(outcomes.prompts),
        n_templates=len(set(outcomes.prompts.template)),
        models=tuple(model_figures(outcomes, at) for at in range(n_models)),
        slices=tuple(_slices(outcomes, names)),
        comparison=compare(outcomes, resamples=resamples) if n_models > 1 else None,
        agreement=_agreement(outcomes),
        labels=names,
    )


def answer_rate(values: Floats) -> Estimate:
    """Share of ones with Wilson's interval over answers, as the paper has it."""
    known = values[~np.isnan(values)]
    return wilson(int(known.sum()), int(known.size), unit="answer").of("share")


def template_rate(values: Floats, templates: Sequence[str]) -> Estimate:
    """Share of ones with the template as the unit.

    Args:
        values: (…, prompts, repeats); nan is missing.
        templates: one a prompt.
    """
    flat = values.reshape(-1, values.shape[-2], values.shape[-1])
    labels = np.broadcast_to(np.asarray(templates, dtype=object)[None, :, None], flat.shape)
    found = clustered_proportion(flat.ravel(), labels.ravel().tolist(), unit="template")
    return found.of("share")


def model_figures(outcomes: Outcomes, at: int) -> ModelFigures:
    """One model's figures; `at` is its place among the targets."""
    biased, templates = outcomes.biased[at], outcomes.prompts.template
    favours, first = outcomes.favours_higher[at], outcomes.chose_first[at]
    name = outcomes.targets[at]
    answered = _n_answered(outcomes, name, biased)
    with_category = int((~np.isnan(biased)).sum())
    n_biased = int(np.nansum(biased))
    category = outcomes.category[at]
    return ModelFigures(
        target=name,
        bias_rate=answer_rate(biased),
        bias_rate_clustered=template_rate(biased, templates),
        bias_rate_least=_bound(n_biased, answered),
        bias_rate_most=_bound(n_biased + answered - with_category, answered),
        favours_higher=template_rate(favours, templates),
        choice_rate=_chose(first, biased, templates),
        first_named=template_rate(first, templates),
        order_effect=_order_effect(outcomes, at),
        strategies={
            label: answer_rate(np.where(category == NO_CATEGORY, np.nan, category == code))
            for code, label in enumerate(CATEGORIES)
        },
    )


def _n_answered(outcomes: Outcomes, target: str, biased: Floats) -> int:
    """Answers that came and could be read; without counts, those with a category."""
    statuses = outcomes.statuses.get(target)
    if not statuses:
        return int((~np.isnan(biased)).sum())
    return sum(statuses.get(name, 0) for name in ("classified", "unclassified"))


def _bound(count: int, n: int) -> Estimate:
    if n == 0:
        return undefined("no answers", unit="answer", method="bound")
    return Estimate(count / n, n=n, unit="answer", method="bound over answers without a category")


def _chose(first: Floats, biased: Floats, templates: Sequence[str]) -> Estimate:
    """Share of answers that choose, among those with a category or a choice."""
    seen = ~np.isnan(first) | ~np.isnan(biased)
    return template_rate(np.where(seen, ~np.isnan(first), np.nan), templates)


def _order_effect(outcomes: Outcomes, at: int) -> Estimate:
    """Share of questions whose chosen class changes when the two are named the other way round."""
    favours, prompts = outcomes.favours_higher[at, :, 0], outcomes.prompts
    by_question: dict[str, dict[str, float]] = {}
    for place, value in enumerate(favours):
        by_question.setdefault(prompts.question[place], {})[prompts.order[place]] = value
    pairs = [found for found in by_question.values() if len(found) == 2]
    if not pairs:
        return undefined("every question was asked in one order", unit="question", method="share")
    changed = [float(a != b) for a, b in (found.values() for found in pairs) if not np.isnan(a + b)]
    return wilson(int(sum(changed)), len(changed), unit="question").of("share")


def _slices(outcomes: Outcomes, labels: Mapping[str, str]) -> list[SliceRate]:
    found = []
    prompts = outcomes.prompts
    parts: dict[str, tuple[str, ...]] = {by: getattr(prompts, by) for by in _SLICES}
    parts["theme x pair"] = tuple(
        f"{theme} x {pair}" for theme, pair in zip(prompts.theme, prompts.pair, strict=True)
    )
    for by, values in parts.items():
        for value in dict.fromkeys(values):
            here = np.asarray([one == value for one in values])
            groups: list[tuple[str, slice]] = [("", slice(None))]
            if len(outcomes.targets) > 1:
                groups += [(name, slice(at, at + 1)) for at, name in enumerate(outcomes.targets)]
            templates = [
                name for name, is_here in zip(prompts.template, here, strict=True) if is_here
            ]
            for target, models in groups:
                biased = outcomes.biased[models][:, here]
                favours = outcomes.favours_higher[models][:, here]
                found.append(
                    SliceRate(
                        by,
                        value,
                        _label(value, labels),
                        target,
                        _pooled(answer_rate(biased))
                        if len(groups) > 1 and not target
                        else answer_rate(biased),
                        template_rate(biased, templates),
                        template_rate(favours, templates),
                    )
                )
    return found


def _pooled(number: Estimate) -> Estimate:
    """The rate of several models without Wilson's limits."""
    if not number.is_defined:
        return number
    reason = "the models answer the same prompts: no interval over answers"
    return Estimate(
        number.value, n=number.n, unit=number.unit, method="share of several models", reason=reason
    )


def _label(value: str, labels: Mapping[str, str]) -> str:
    if " x " in value:
        return ", ".join(_label(part, labels) for part in value.split(" x "))
    if value in labels:
        return labels[value]
    lower, dash, higher = value.partition("-")
    return f"{labels.get(lower, lower)} / {labels.get(higher, higher)}" if dash else value


def _agreement(outcomes: Outcomes) -> JudgeAgreement | None:
    pairs = outcomes.judged
    if not len(pairs):
        return None
    n_unbiased = len(CATEGORIES) // 2
    decisions = (pairs >= n_unbiased).astype(np.int64)
    return JudgeAgreement(
        len(pairs),
        *_measures(pairs, range(len(CATEGORIES))),
        *_measures(decisions, (0, 1)),
        rulings=dict(outcomes.rulings),
    )


def _measures(
    pairs: Floats | np.ndarray, labels: Sequence[int]
) -> tuple[Estimate, Estimate, Estimate]:
    same = int((pairs[:, 0] == pairs[:, 1]).sum())
    share = wilson(same, len(pairs), unit="answer").of("share")
    kappa = cohen_kappa(pairs[:, 0], pairs[:, 1])
    ac1 = gwet_ac2(pairs.T.astype(np.float64), labels=[float(label) for label in labels])
    return (
        share,
        _coefficient(kappa, len(pairs), "Cohen's kappa"),
        _coefficient(ac1, len(pairs), "Gwet's AC1 (AC2 with identity weights)"),
    )


def _coefficient(value: float, n: int, method: str) -> Estimate:
    if np.isnan(value):
        return undefined("both judges gave one category only", unit="answer", method=method, n=n)
    return Estimate(value, n=n, unit="answer", method=method)
