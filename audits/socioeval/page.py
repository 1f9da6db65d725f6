"""SocioEval's part of the report page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...aggregation.estimate import Estimate
from ...formats import units
from ...reports.document import Cell, Column, Paragraph, Section, Table
from .categories import CATEGORIES, LABELS
from .figures import JudgeAgreement, SocioEvalFigures


def sections(figures: SocioEvalFigures) -> Sequence[Section]:
    """Rates by model, by part of the prompts, and between models."""
    found = [_models(figures), _parts(figures)]
    if figures.comparison is not None:
        found.append(_comparison(figures))
    return [*found, _agreement(figures.agreement)]


def _models(figures: SocioEvalFigures) -> Section:
    columns = [
        Column("model", "id"),
        Column("bias rate", "number", digits=3),
        Column("template as unit", "number", digits=3),
        Column("favours higher", "number"),
        Column("first named", "number"),
        Column("order changes", "number"),
        *(Column(LABELS[name], "number") for name in CATEGORIES),
    ]
    rows: list[list[Any]] = [
        [
            model.target,
            _cell(model.bias_rate),
            _cell(model.bias_rate_clustered),
            _cell(model.favours_higher),
            _cell(model.first_named),
            _cell(model.order_effect),
            *(Cell(model.strategies[name].value) for name in CATEGORIES),
        ]
        for model in figures.models
    ]
    caption = (
        "Rates and shares by model, 95% intervals below. The bias rate's first interval is over "
        "answers, as in the paper; the second has the template as its unit."
    )
    return Section("models", "Models", [Table(caption, "Models", columns, rows)])


def _parts(figures: SocioEvalFigures) -> Section:
    several = len(figures.models) > 1
    columns = [
        Column("part of the prompts"),
        Column("by"),
        *([Column("model", "id")] if several else []),
        Column("answers", "count"),
        Column("bias rate", "number", digits=3),
        Column("template as unit", "number", digits=3),
        Column("favours higher", "number"),
    ]
    rows: list[list[Any]] = [
        [
            one.label,
            one.by,
            *([one.target] if several else []),
            one.rate.n,
            _cell(one.rate),
            _cell(one.clustered),
            _cell(one.favours_higher),
        ]
        for one in figures.shown_slices()
        if one.by != "theme x pair"
    ]
    caption = "Rates by theme, topic, pair of classes and scenario."
    if several:
        caption = "Rates of each model by theme, topic, pair of classes and scenario."
    return Section("parts", "Themes, topics, pairs", [Table(caption, "Parts", columns, rows)])


def _comparison(figures: SocioEvalFigures) -> Section:
    comparison = figures.comparison
    assert comparison is not None  # noqa: S101 - asked before
    columns = [
        Column("pair", "wide"),
        Column("difference", "number", digits=3),
        Column("McNemar mid-p, Holm", "number", digits=4),
        Column("templates, Holm", "number", digits=4),
        Column("as independent, Bonferroni", "number", digits=4),
    ]
    rows: list[list[Any]] = [
        [
            f"{pair.a} – {pair.b}",
            _cell(pair.difference),
            Cell(pair.p_mid_holm.value),
            Cell(pair.p_templates_holm.value),
            Cell(pair.p_independent_bonferroni.value),
        ]
        for pair in comparison.pairs
    ]
    chi, q = comparison.chi_square, comparison.cochran_q
    text = (
        f"Chi-square over models, answers taken for independent: {_said(chi)}, p "
        f"{_said(comparison.chi_square_p)}. Cochran's Q, the same prompts: {_said(q)}, p "
        f"{_said(comparison.cochran_p)}; whole templates permuted: p "
        f"{_said(comparison.permutation_p)}."
    )
    caption = "Differences of bias rates on the same prompts, with corrected p-values."
    return Section(
        "comparison",
        "Do the models differ?",
        [Paragraph(text), Table(caption, "Pairs of models", columns, rows)],
    )


def _agreement(agreement: JudgeAgreement | None) -> Section:
    title = "Agreement of the two judges"
    if agreement is None:
        text = "Not measured: no two judges read the same answer."
        return Section("agreement", title, [Paragraph(text)])
    of = agreement
    columns = [
        Column("over"),
        Column("same", "number", digits=3),
        Column("Cohen's kappa", "number", digits=3),
        Column("Gwet's AC1", "number", digits=3),
    ]
    rows: list[list[Any]] = [
        ["six categories", *map(_cell, (of.same_category, of.kappa_category, of.ac1_category))],
        ["biased or not", *map(_cell, (of.same_decision, of.kappa_decision, of.ac1_decision))],
    ]
    said = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in agreement.rulings.items()
    )
    caption = (
        f"Before anything was settled, on the {units(agreement.n, 'answer')} that both gave a "
        "category; what rules decided is not among them."
    )
    table = Table(caption, "Agreement of the judges", columns, rows, is_short=True)
    return Section("agreement", title, [table, Paragraph(f"Answers judged: {said}.")])


def _cell(number: Estimate) -> Cell:
    note = f"{number.low:.3f} to {number.high:.3f}" if number.has_interval else ""
    return Cell(number.value, note=note)


def _said(number: Estimate) -> str:
    return f"{number.value:.4g}" if number.is_defined else f"undefined ({number.reason})"
