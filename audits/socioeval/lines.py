"""The report of SocioEval as text of at most 80 columns."""

from __future__ import annotations

from ...aggregation.estimate import Estimate
from ...number import cell, heading, item, plain, probability, show, table
from .categories import BIASED, CATEGORIES, LABELS
from .figures import Comparison, JudgeAgreement, ModelFigures, SliceRate, SocioEvalFigures

_MOST_PAIRS = 40
_MOST_BY_PART = 4
"""With more models, their parts stand on the page and in audit.json."""
_SLICE_TITLES = {
    "theme": "By theme",
    "topic": "By topic",
    "pair": "By pair of classes",
    "scenario": "By scenario",
}


def lines(figures: SocioEvalFigures) -> list[str]:
    """The report."""
    found = [*_rates(figures), *_favouring(figures), *_strategies(figures)]
    found += _parts(figures)
    if figures.comparison is not None:
        found += _comparison(figures.comparison)
    found += _agreement(figures.agreement)
    return found


def _rates(figures: SocioEvalFigures) -> list[str]:
    found = heading("Bias rate by model")
    rows = [
        [
            model.target,
            str(model.bias_rate.n),
            cell(model.bias_rate, digits=3),
            cell(model.bias_rate_clustered, digits=3),
        ]
        for model in figures.models
    ]
    found += table(["model", "answers", "as the paper: Wilson", "template as the unit"], rows)
    found += _wrapped(
        "Share of stereotype reinforcement, class preference and proxy assumption among answers "
        "with a category. Answers to prompts made from one template resemble each other: the "
        "interval to rely on is the second."
    )
    for model in figures.models:
        least, most = model.bias_rate_least, model.bias_rate_most
        if least.is_defined and most.value - least.value > 1e-9:
            text = (
                f"not every answer has a category; whatever the others are, the rate over all is "
                f"from {plain(least.value)} to {plain(most.value)} ({least.n:,} answers)"
            )
            found += item(model.target, text)
    return found


def _favouring(figures: SocioEvalFigures) -> list[str]:
    found = heading("Whom choices favour, and what place does")
    rows = [
        [
            model.target,
            cell(model.choice_rate),
            cell(model.favours_higher),
            cell(model.first_named),
            cell(model.order_effect),
        ]
        for model in figures.models
    ]
    found += table(["model", "chooses", "favours higher", "first named", "order changes"], rows)
    found += _wrapped(
        "favours higher: share of choices that favour the higher class; being chosen for something "
        "bad favours the other. first named: share of choices that fall on the class named first. "
        "Both are .5 without a preference. order changes: share of questions whose chosen class "
        "changes when the two are named the other way round."
    )
    return found


def _strategies(figures: SocioEvalFigures) -> list[str]:
    found = heading("Response strategies")
    head = ["model", *(_short(name) for name in CATEGORIES)]
    rows = [
        [model.target, *(_share(model, name) for name in CATEGORIES)] for model in figures.models
    ]
    found += table(head, rows)
    names = ", ".join(
        f"{_short(name)} {LABELS[name].lower()}{' (biased)' if name in BIASED else ''}"
        for name in CATEGORIES
    )
    return [*found, *_wrapped(f"{names}.")]


def _share(model: ModelFigures, category: str) -> str:
    number = model.strategies[category]
    return plain(number.value, 2) if number.is_defined else "–"


def _short(category: str) -> str:
    return "".join(word[0] for word in category.split("_")).upper()


def _parts(figures: SocioEvalFigures) -> list[str]:
    targets = list(dict.fromkeys(one.target for one in figures.shown_slices()))
    if len(targets) > _MOST_BY_PART:
        found = heading("By part of the prompts")
        text = f"The rates of {len(targets)} models by theme, topic, pair of classes and scenario "
        return [*found, *_wrapped(text + "stand on the page and in audit.json.")]
    found = []
    for by, title in _SLICE_TITLES.items():
        for target in targets:
            here = [one for one in figures.shown_slices() if (one.by, one.target) == (by, target)]
            found += _slice(f"{title}: {target}" if target else title, here)
    return found


def _slice(title: str, slices: list[SliceRate]) -> list[str]:
    found = heading(title)
    rows = [
        [
            one.label,
            str(one.rate.n),
            cell(one.rate),
            cell(one.clustered) if one.clustered.has_interval else "few",
            plain(one.favours_higher.value, 2) if one.favours_higher.is_defined else "–",
        ]
        for one in slices
    ]
    return found + table(["", "n", "bias, Wilson", "template", "higher"], rows)


def _comparison(comparison: Comparison) -> list[str]:
    found = heading("Do the models differ?")
    chi, q = comparison.chi_square, comparison.cochran_q
    if chi.is_defined:
        text = (
            f"chi-square = {plain(chi.value, 2)}, df = {comparison.chi_square_df}, "
            f"{probability(comparison.chi_square_p)}"
        )
    else:
        text = f"undefined: {chi.reason}"
    found += item("As the paper, answers taken for independent", text)
    text = (
        f"Cochran's Q = {plain(q.value, 2)}, {probability(comparison.cochran_p)}"
        if q.is_defined
        else f"undefined: {q.reason}"
    )
    found += item("Models answer the same prompts", text)
    found += item("Prompts of one template kept together", probability(comparison.permutation_p))
    pairs = sorted(comparison.pairs, key=lambda pair: _sorted_p(pair.p_templates_holm))
    found += ["", f"  Pairs of models (Bonferroni level {comparison.alpha_bonferroni:.3g})"]
    rows = [
        [
            f"{pair.a} – {pair.b}",
            cell(pair.difference),
            f"{pair.only_a}:{pair.only_b}",
            _small(pair.p_mid),
            _small(pair.p_mid_holm),
            _small(pair.p_templates_holm),
        ]
        for pair in pairs[:_MOST_PAIRS]
    ]
    found += table(["pair", "difference", "only", "mid-p", "Holm", "templ."], rows)
    found += _wrapped(
        "only: prompts on which the first, and the second, alone is biased. mid-p: McNemar; Holm: "
        "corrected over pairs; templ.: sign flips of whole templates, corrected by Holm."
    )
    if len(pairs) > _MOST_PAIRS:
        found += _wrapped(f"{len(pairs) - _MOST_PAIRS} more pairs stand in audit.json.")
    return found


def _agreement(agreement: JudgeAgreement | None) -> list[str]:
    found = heading("Agreement of the two judges, before anything was settled")
    if agreement is None:
        return [*found, "  Not measured: no two judges read the same answer."]
    of = agreement
    rows = [
        ["six categories", *_cells(of.same_category, of.kappa_category, of.ac1_category)],
        ["biased or not", *_cells(of.same_decision, of.kappa_decision, of.ac1_decision)],
    ]
    found += table(["", "same", "kappa", "AC1"], rows)
    said = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in agreement.rulings.items()
    )
    return [*found, *item("Answers judged", said)]


def _cells(same: Estimate, kappa: Estimate, ac1: Estimate) -> list[str]:
    return [show(same, digits=2), cell(kappa, digits=3), cell(ac1, digits=3)]


def _small(number: Estimate) -> str:
    if not number.is_defined:
        return "–"
    return "<.0001" if number.value < 0.0001 else f"{number.value:.4f}".removeprefix("0")


def _sorted_p(number: Estimate) -> float:
    return number.value if number.is_defined else 2.0


def _wrapped(text: str) -> list[str]:
    return item("", text)
