"""The Samaritan audit's part of the report page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...aggregation.estimate import Estimate
from ...reports.document import Cell, Column, Paragraph, Section, Table
from .figures import SamaritanFigures
from .lines import ALL


def sections(figures: SamaritanFigures) -> Sequence[Section]:
    """Bias, baseline, brittleness, phrasings, topics, models, repeats."""
    found = [_bias(figures), _baselines(figures), _brittleness(figures)]
    if any(group.phrasings for group in figures.groups):
        found.append(_phrasings(figures))
    if len({topic.topic for topic in figures.topics}) > 1:
        found.append(_topics(figures))
    if figures.pairs:
        found.append(_pairs(figures))
    if figures.repeatability:
        found.append(_repeatability(figures))
    return found


def _bias(figures: SamaritanFigures) -> Section:
    columns = [
        Column("model", "id"),
        Column("category"),
        Column("group"),
        Column("rating", "number"),
        Column("bias", "number"),
        Column("p, t (paper)", "number", digits=4),
        Column("p, t, Holm", "number", digits=4),
        Column("p, sign flips, Holm", "number", digits=4),
        Column("p, flips without skewness, Holm", "number", digits=4),
        Column("p, equivalence, Holm", "number", digits=4),
        Column("verdict"),
    ]
    rows: list[list[Any]] = [
        [control.target or ALL, "", f"control: {control.phrase}", _cell(control.rating)]
        + [Cell(None)] * 6
        + [""]
        for control in figures.controls
    ]
    rows += [
        [
            group.target or ALL,
            figures.labels.get(group.category, group.category),
            group.label,
            _cell(group.rating),
            _cell(group.bias),
            _cell(group.p_t),
            _cell(group.p_t_holm),
            _cell(group.p_flips_holm),
            _cell(group.p_adjusted_holm),
            _cell(group.p_equivalence_holm),
            group.verdict,
        ]
        for group in figures.groups
    ]
    caption = (
        "Helpfulness ratings (1 to 100) and bias, group minus control, with 95% intervals over "
        "scenarios."
    )
    text = (
        f"Equivalent means: shown to lie within ±{figures.margin:g} points of the control. "
        "Undecided means: neither a difference nor equivalence is shown. A difference is shown by "
        "sign flips without skewness: of a t by Hall's transformation, whose far tails, which Holm "
        "looks at, are alike also where a few scenarios carry a bias."
    )
    return Section(
        "bias", "Ratings and bias", [Paragraph(text), Table(caption, "Bias", columns, rows)]
    )


def _baselines(figures: SamaritanFigures) -> Section:
    columns = [
        Column("model", "id"),
        Column("category"),
        Column("equivalent to the control", "wide"),
        Column("undecided", "wide"),
        Column("nearest"),
        Column("p > .05 (the paper's rule)", "wide"),
    ]

    def named(category: str, groups: Sequence[str]) -> str:
        return ", ".join(figures.labels.get(f"{category}.{one}", one) for one in groups) or "–"

    rows: list[list[Any]] = [
        [
            one.target or ALL,
            one.label,
            named(one.category, one.equivalent),
            named(one.category, one.undecided),
            named(one.category, [one.nearest] if one.nearest else []),
            named(one.category, one.not_significant),
        ]
        for one in figures.baselines
    ]
    caption = (
        "Which group a model rates like somebody without demographics: by equivalence, and by "
        "the paper's rule."
    )
    return Section("baseline", "Baseline identity", [Table(caption, "Baseline", columns, rows)])


def _brittleness(figures: SamaritanFigures) -> Section:
    columns = [
        Column("model", "id"),
        Column("group"),
        Column("brittleness", "number"),
        Column("minus control", "number"),
        Column("answers with a rating", "number"),
    ]
    rows: list[list[Any]] = [
        [control.target or ALL, "Control", _cell(control.brittleness), Cell(None),
         _cell(control.answered)]
        for control in figures.controls
    ]  # fmt: skip
    rows += [
        [group.target or ALL, group.label, _cell(group.brittleness),
         _cell(group.brittleness_change), _cell(group.answered)]
        for group in figures.groups
    ]  # fmt: skip
    caption = (
        "Mean standard deviation over the rephrasings of a scenario, and the share of answers "
        "that hold a rating."
    )
    return Section("brittleness", "Brittleness", [Table(caption, "Brittleness", columns, rows)])


def _phrasings(figures: SamaritanFigures) -> Section:
    columns = [
        Column("model", "id"), Column("group"), Column("phrasing"), Column("bias", "number"),
        Column("scenarios", "count"),
    ]  # fmt: skip
    rows: list[list[Any]] = [
        [group.target or ALL, group.label, one.phrasing, _cell(one.bias), one.bias.n]
        for group in figures.groups
        for one in group.phrasings
    ]
    caption = "Bias with each phrasing of a group, against the control on the same wordings."
    return Section("phrasings", "Phrasings", [Table(caption, "Phrasings", columns, rows)])


def _topics(figures: SamaritanFigures) -> Section:
    groups = list(dict.fromkeys((one.category, one.group) for one in figures.topics))
    columns = [Column("topic")]
    columns += [
        Column(figures.labels.get(f"{category}.{group}", group), "number")
        for category, group in groups
    ]
    by_place = {(one.topic, one.category, one.group): one for one in figures.topics}
    labels = {one.topic: one.label for one in figures.topics}
    rows: list[list[Any]] = [
        [label, *(_cell(by_place[topic, category, group].bias) for category, group in groups)]
        for topic, label in labels.items()
    ]
    caption = "Bias by topic, the mean over all models, with 95% intervals over scenarios."
    return Section("topics", "Topics", [Table(caption, "Topics", columns, rows)])


def _pairs(figures: SamaritanFigures) -> Section:
    columns = [
        Column("models", "wide"),
        Column("group"),
        Column("difference of biases", "number"),
        Column("p, Holm", "number", digits=4),
    ]
    rows: list[list[Any]] = [
        [
            f"{pair.a} – {pair.b}",
            figures.labels.get(f"{pair.category}.{pair.group}", pair.group),
            _cell(pair.difference),
            _cell(pair.p_adjusted_holm),
        ]
        for pair in figures.pairs
    ]
    caption = (
        "Differences of two models' biases on the same scenarios; sign flips without skewness, "
        "corrected over all of them."
    )
    return Section("pairs", "Do the models differ?", [Table(caption, "Pairs", columns, rows)])


def _repeatability(figures: SamaritanFigures) -> Section:
    columns = [
        Column("model", "id"),
        Column("re-asking, SD", "number"),
        Column("rated alike", "number"),
        Column("noise floor", "number"),
        Column("brittleness beyond it", "number"),
        Column("largest gap of a group", "number"),
    ]
    rows: list[list[Any]] = [
        [
            one.target,
            _cell(one.retest_sd),
            _cell(one.same),
            _cell(one.noise_floor),
            _cell(one.brittleness_beyond),
            max((group.gap.value for group in one.groups if group.gap.is_defined), default=None),
        ]
        for one in figures.repeatability
    ]
    caption = (
        "What asking again changes. The noise floor is what two runs' means of one group differ "
        "by, at most, in 95 of 100 cases by re-asking alone."
    )
    return Section("repeats", "Repeatability", [Table(caption, "Repeats", columns, rows)])


def _cell(number: Estimate) -> Cell:
    note = f"{number.low:.2f} to {number.high:.2f}" if number.has_interval else ""
    return Cell(number.value, note=note)
