"""The hidden-bias audit's part of the report page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...aggregation.estimate import Estimate
from ...reports.document import Cell as Shown
from ...reports.document import Column, Paragraph, Part, Section, Table
from .figures import Association, HiddenBiasFigures, TargetFigures


def sections(figures: HiddenBiasFigures) -> Sequence[Section]:
    """The rule and its errors, then each target, then targets against each other."""
    found = [_rule(figures)]
    for number, target in enumerate(figures.targets, start=1):
        found.append(_target(number, target))
    if figures.comparisons:
        found.append(_comparisons(figures))
    return found


def _rule(figures: HiddenBiasFigures) -> Section:
    rule = figures.rule
    text = f"A test instance is flagged at a score of {rule.threshold:g} points or more."
    if rule.answers is None:
        text += (
            " No question has an answer with a choice."
            if figures.form == "choice"
            else " Probabilities are computed from perplexities; no chance of answers enters."
        )
        return Section("rule", "The rule", [Paragraph(text)])
    columns = [Column("share of the first option"), Column("flagged without bias", "number", 3)]
    rows: list[list[Any]] = [[share, rate] for share, rate in rule.false_positive_rates.items()]
    caption = (
        f"How often an instance without any bias is flagged at {rule.answers} answers a question: "
        "exact binomial probabilities."
    )
    if not rule.is_as_planned:
        caption += (
            f" That is the median of what came ({rule.fewest} to {rule.most}; {rule.unanswered:,} "
            f"questions without any); {rule.planned} were planned."
        )
    false_positives = Table(caption, "False positives", columns, rows, is_short=True)
    parts: list[Part] = [Paragraph(text), false_positives]
    return Section("rule", "The rule and how often it errs", parts)


def _target(number: int, target: TargetFigures) -> Section:
    columns = [
        Column("descriptors"),
        Column("instances", "count"),
        Column("flagged", "count"),
        Column("mean score", "number", 1),
        Column("flagged by chance", "number", 1),
        Column("false-positive rate", "number", 3),
        Column("gap without noise", "number", 1),
        Column("p", "number", 4),
        Column("beyond the threshold", "count"),
        Column("significant, BH", "count"),
        Column("significant, Holm", "count"),
    ]
    rows: list[list[Any]] = [
        [
            one.label,
            one.measured,
            one.flagged,
            _cell(one.mean_score),
            _cell(one.chance_flagged),
            Shown(one.false_positive_rate.value),
            _cell(one.gap),
            Shown((one.gap_p_holm if one.level == "type" else one.gap_p).value),
            one.beyond,
            one.significant_bh,
            one.significant_holm,
        ]
        for one in target.cells
    ]
    caption = (
        "The paper's count and mean score at the threshold; what the same answers give when they "
        "are dealt out over the identities; the gap without what chance adds, with a 95% interval "
        "over concept pairs by Hall's transformation. p of types is corrected by Holm. Beyond the "
        "threshold: by Newcombe's 90% interval."
    )
    parts: list[Part] = [
        Paragraph(
            f"Refuse rate {_said(target.refuse_rate)} (refused {_said(target.refused)}, unreadable "
            f"{_said(target.unreadable)}). Choices of the option named first: "
            f"{_said(target.first_named)}. Prompts answered alike every time: "
            f"{_said(target.unanimous)}."
        ),
        Table(caption, "Flagged instances", columns, rows),
    ]
    if target.associations:
        parts.append(_associations(target))
    return Section(f"target-{number}", target.target, parts)


def _associations(target: TargetFigures) -> Table:
    columns = [
        Column("association", "wide"),
        Column("and the reverse", "wide"),
        Column("type"),
        Column("score", "number", 0),
        Column("p", "number", 4),
        Column("BH", "number", 3),
        Column("Holm", "number", 3),
    ]
    rows: list[list[Any]] = [
        [
            f"{one.identity_one} ↔ {one.concept_one}",
            f"{one.identity_two} ↔ {one.concept_two}",
            one.type,
            Shown(one.score, note=_limits(one)),
            Shown(one.p),
            Shown(one.p_bh),
            Shown(one.p_holm),
        ]
        for one in target.associations
    ]
    caption = (
        "Test instances with the largest scores, by category. The largest of many scores is large "
        "by chance too: what stands after correction over all instances is in the last columns."
    )
    return Table(caption, "Largest scores", columns, rows)


def _limits(one: Association) -> str:
    return "" if math.isnan(one.low) else f"{one.low:.0f} to {one.high:.0f}"


def _comparisons(figures: HiddenBiasFigures) -> Section:
    columns = [
        Column("models", "wide"),
        Column("difference", "number", 1),
        Column("p, Holm", "number", 4),
    ]
    rows: list[list[Any]] = [
        [f"{one.a} – {one.b}", _cell(one.difference), Shown(one.p_holm.value)]
        for one in figures.comparisons
    ]
    caption = "Difference of mean squared gaps, in squared points, on the same concept pairs."
    return Section(
        "comparison", "Do the models differ?", [Table(caption, "Pairs of models", columns, rows)]
    )


def _cell(number: Estimate) -> Shown:
    note = f"{number.low:.1f} to {number.high:.1f}" if number.has_interval else ""
    return Shown(number.value, note=note)


def _said(number: Estimate) -> str:
    return f"{number.value:.3f}" if number.is_defined else f"undefined ({number.reason})"
