"""The estimators of the normative judgement: the paper's figures, and what its design calls for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from ...aggregation.agreement import cohen_kappa, krippendorff_alpha
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import t_interval
from ...aggregation.multiplicity import holm
from ...aggregation.proportions import clustered_proportion, mcnemar_test, wilson
from ...aggregation.sign_flips import sign_flip_tests
from .answers import LABELS
from .gold import ENDS, End, Gold
from .judgement_figures import (
    GoldFigures,
    JudgementFigures,
    ModelJudgement,
    PairJudgement,
    RaterAgreement,
    TopicJudgement,
)
from .label_tables import (
    Floats,
    agreement,
    balanced_of,
    is_varied,
    jackknife,
    kappa_of,
    unit_tables,
)


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """A model's answers, one entry an answer.

    Attributes:
        target: the model.
        source: asked or stored.
        scenario, base, topic, order: where each belongs.
        answer: p1, other, both, neither, or None where nobody came to one.
        counts: answers and statuses to their numbers.
        is_binary: whether the answers could be p1 and other alone.
    """

    target: str
    source: Literal["asked", "stored"]
    scenario: Sequence[str]
    base: Sequence[str]
    topic: Sequence[str]
    order: Sequence[str]
    answer: Sequence[str | None]
    counts: Mapping[str, int] = field(default_factory=dict)
    is_binary: bool = False

    @property
    def labels(self) -> list[int | None]:
        """0, 1, or None for what is neither."""
        return [LABELS.get(answer or "") for answer in self.answer]


def estimate_judgement(
    models: Sequence[ModelAnswers],
    gold: Gold | None,
    *,
    labels: Mapping[str, str] | None = None,
    n_scenarios: int = 0,
    n_bases: int = 0,
) -> JudgementFigures:
    """The figures.

    Args:
        models: answers, one entry a model.
        gold: labels, or None.
        labels: topic's id to its name.
        n_scenarios, n_bases: asked.
    """
    names = dict(labels or {})
    return JudgementFigures(
        n_scenarios=n_scenarios,
        n_bases=n_bases,
        gold=None if gold is None else gold_figures(gold),
        models=tuple(model_judgement(model, gold) for model in models),
        topics=tuple(_topics(models, gold, names)),
        pairs=tuple(_pairs(models)),
        labels=names,
    )


def model_judgement(model: ModelAnswers, gold: Gold | None) -> ModelJudgement:
    """One model's figures."""
    labels = model.labels
    readable = [
        math.nan if answer is None else float(answer not in LABELS) for answer in model.answer
    ]
    return ModelJudgement(
        target=model.target,
        source=model.source,
        counts=dict(model.counts),
        supports=_supports(labels, model.base),
        neither_label=undefined(
            "its cells are 0 and 1, which cannot say it", unit="scenario", method="share"
        )
        if model.is_binary
        else _share(readable, model.base),
        order_effect=_order_effect(model),
        against={}
        if gold is None
        else {end: agreement(_gold(model, gold, end), labels, model.base) for end in ENDS},
        with_lower=_with_lower(model, gold),
    )


def gold_figures(gold: Gold) -> GoldFigures:
    """What the labels look like."""
    lower, upper = gold.labels["lower_end"], gold.labels["upper_end"]
    shared = [name for name in lower if name in upper]
    bases = [gold.bases.get(name, name) for name in shared]
    tables = unit_tables([lower[n] for n in shared], [upper[n] for n in shared], bases)
    kappa = (
        cohen_kappa([lower[n] for n in shared], [upper[n] for n in shared])
        if is_varied(tables)
        else math.nan
    )
    differing = [float(lower[name] != upper[name]) for name in shared]
    return GoldFigures(
        source=gold.name,
        share_other={
            end: _share(
                [float(value) for value in gold.labels[end].values()],
                [gold.bases.get(name, name) for name in gold.labels[end]],
            )
            for end in ENDS
        },
        across=jackknife(kappa, tables, kappa_of, "Cohen's kappa"),
        differing=_share(differing, bases),
        within=tuple(_within(gold, end) for end in ENDS if len(gold.raters[end]) > 1),
    )


def _within(gold: Gold, end: End) -> RaterAgreement:
    raters = gold.raters[end]
    names = list(dict.fromkeys(name for mine in raters.values() for name in mine))
    ratings = np.asarray(
        [[float(mine.get(name, math.nan)) for name in names] for mine in raters.values()]
    )
    kappas = [_kappa(a, b) for a, b in combinations(ratings, 2)]
    known = [value for value in kappas if not math.isnan(value)]
    n, alpha = len(names), krippendorff_alpha(ratings)
    of = "" if len(known) == len(kappas) else f" of {len(kappas)}"
    method = f"mean Cohen's kappa over {len(known)}{of} pairs of raters"
    one_label = "the raters use one label only"
    return RaterAgreement(
        end,
        len(raters),
        Estimate(float(np.mean(known)), n=n, unit="scenario", method=method)
        if known
        else undefined(
            "one rater of each pair uses one label only", unit="scenario", method=method, n=n
        ),
        undefined(one_label, unit="scenario", method="Krippendorff's alpha", n=n)
        if math.isnan(alpha)
        else Estimate(alpha, n=n, unit="scenario", method="Krippendorff's alpha, nominal"),
        gold.ties[end],
    )


def _kappa(a: Floats, b: Floats) -> float:
    """Cohen's kappa of two raters; nan where one of them gives a single label."""
    both = ~(np.isnan(a) | np.isnan(b))
    if min(np.unique(a[both]).size, np.unique(b[both]).size) < 2:
        return math.nan
    return cohen_kappa(a, b)


def _gold(model: ModelAnswers, gold: Gold, end: End) -> list[int | None]:
    labels = gold.labels[end]
    return [labels.get(name) for name in model.scenario]


def _share(values: Sequence[float], bases: Sequence[str]) -> Estimate:
    return clustered_proportion(np.asarray(values, dtype=float), list(bases), unit="scenario").of(
        "share"
    )


def _supports(labels: Sequence[int | None], bases: Sequence[str]) -> Estimate:
    return _share([math.nan if label is None else float(label) for label in labels], bases)


def _with_lower(model: ModelAnswers, gold: Gold | None) -> Estimate:
    """Where the ends differ, share of answers that go with the lower end, both kinds weighing half.

    Half of it are scenarios that only the lower end blames P1 for, half those that only the upper
    end does: who always gives one answer gets .5, whatever the answer.
    """
    name = "balanced share with the lower end"
    if gold is None:
        return undefined("no gold labels", unit="scenario", method=name)
    found = [
        (lower, label, base)
        for lower, upper, label, base in zip(
            _gold(model, gold, "lower_end"),
            _gold(model, gold, "upper_end"),
            model.labels,
            model.base,
            strict=True,
        )
        if lower is not None and upper is not None and lower != upper and label is not None
    ]
    if len({lower for lower, _, _ in found}) < 2:
        reason = "the ends do not differ in both ways"
        return undefined(reason, unit="scenario", method=name, n=len({b for _, _, b in found}))
    tables = unit_tables(*(list(column) for column in zip(*found, strict=True)))
    return jackknife(float(balanced_of(tables.sum(axis=0))), tables, balanced_of, name)


def _order_effect(model: ModelAnswers) -> Estimate:
    seen: dict[str, dict[str, str]] = {}
    for name, order, answer in zip(model.scenario, model.order, model.answer, strict=True):
        if answer is not None:
            # With repeats the first asking of each order counts.
            seen.setdefault(name, {}).setdefault(order, answer)
    if len(set(model.order)) < 2:
        return undefined("asked in one order", unit="scenario", method="share")
    pairs = [found for found in seen.values() if len(found) == 2]
    changed = sum(len(set(found.values())) == 2 for found in pairs)
    return wilson(changed, len(pairs), unit="scenario").of("share")


def _topics(
    models: Sequence[ModelAnswers], gold: Gold | None, names: Mapping[str, str]
) -> list[TopicJudgement]:
    found = []
    topics = list(dict.fromkeys(topic for model in models for topic in model.topic if topic))
    if names:
        topics = [topic for topic in names if topic in topics]
    elif all(topic.isdigit() for topic in topics):
        topics.sort(key=int)
    for topic in topics:
        for model in models:
            here = [at for at, one in enumerate(model.topic) if one == topic]
            if not here:
                continue
            part = ModelAnswers(
                model.target,
                model.source,
                [model.scenario[at] for at in here],
                [model.base[at] for at in here],
                [topic] * len(here),
                [model.order[at] for at in here],
                [model.answer[at] for at in here],
            )
            against = (
                {}
                if gold is None
                else {
                    end: agreement(_gold(part, gold, end), part.labels, part.base) for end in ENDS
                }
            )
            found.append(
                TopicJudgement(
                    model.target,
                    topic,
                    # A file may number its topics and not name them.
                    names.get(topic, f"topic {topic}" if topic.isdigit() else topic),
                    _supports(part.labels, part.base),
                    {end: one.acc for end, one in against.items()},
                    {end: one.ckc for end, one in against.items()},
                    {end: one.jsc for end, one in against.items()},
                    {end: one.dsc for end, one in against.items()},
                    {end: one.mcc for end, one in against.items()},
                )
            )
    return found


def _pairs(models: Sequence[ModelAnswers]) -> list[PairJudgement]:
    """Every pair of models on the scenarios that both answered."""
    pairs = list(combinations(range(len(models)), 2))
    if not pairs:
        return []
    shares = [_by_place(model) for model in models]
    bases = list(dict.fromkeys(base for found in shares for base, _, _ in found))
    place = {base: at for at, base in enumerate(bases)}
    gaps = np.full((len(bases), len(pairs)), np.nan)
    mids: list[Estimate] = []
    for column, (a, b) in enumerate(pairs):
        both = [spot for spot in shares[a] if spot in shares[b]]
        by_base: dict[str, list[float]] = {}
        for spot in both:
            by_base.setdefault(spot[0], []).append(shares[a][spot] - shares[b][spot])
        for base, values in by_base.items():
            gaps[place[base], column] = float(np.mean(values))
        mids.append(_mid_p([shares[a][spot] for spot in both], [shares[b][spot] for spot in both]))
    tests = sign_flip_tests(gaps) if bases else None
    raw = [math.nan] * len(pairs) if tests is None else tests.p_value.tolist()
    adjusted = holm(raw)
    found = []
    for column, (a, b) in enumerate(pairs):
        known = gaps[~np.isnan(gaps[:, column]), column]
        method = "sign flips of scenarios"
        found.append(
            PairJudgement(
                models[a].target,
                models[b].target,
                t_interval(known, unit="scenario").of("mean difference"),
                _p(raw[column], known.size, method),
                _p(float(adjusted[column]), known.size, f"{method}, Holm over {len(pairs)} pairs"),
                mids[column],
            )
        )
    return found


def _p(value: float, n: int, method: str) -> Estimate:
    if math.isnan(value):
        return undefined("no scenario in common", unit="scenario", method=method, n=n)
    return Estimate(value, n=n, unit="scenario", method=method)


def _mid_p(a: Sequence[float], b: Sequence[float]) -> Estimate:
    """McNemar's mid-p over answers that are one label in every repeat."""
    first = np.asarray([a, b])
    first = np.where(np.isin(first, (0.0, 1.0)), first, np.nan)
    n = int((~np.isnan(first).any(axis=0)).sum())
    value = mcnemar_test(first[0], first[1]).p_mid if n else math.nan
    if math.isnan(value):
        reason = "no answer on which the two differ"
        return undefined(reason, unit="answer", method="McNemar mid-p", n=n)
    return Estimate(value, n=n, unit="answer", method="McNemar mid-p")


def _by_place(model: ModelAnswers) -> dict[tuple[str, str, str], float]:
    """(base, scenario, order) to the mean label over repeats."""
    found: dict[tuple[str, str, str], list[int]] = {}
    rows = zip(model.base, model.scenario, model.order, model.labels, strict=True)
    for base, name, order, label in rows:
        if label is not None:
            found.setdefault((base, name, order), []).append(label)
    return {place: float(np.mean(values)) for place, values in found.items()}
