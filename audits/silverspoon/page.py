"""SilverSpoon's part of the report page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...aggregation.estimate import Estimate
from ...reports.document import Cell, Column, Paragraph, Points, Section, Table
from .figures import SilverSpoonFigures
from .gold import END_LABELS, ENDS
from .groups_figures import GroupFigures
from .judgement_figures import PAPER_NAMES, GoldFigures, JudgementFigures
from .lines_groups import group_name
from .narratives import NarrativeFigures, NarrativeModel
from .professions import ProfessionFigures
from .sentiment import SENTIMENTS

Rows = list[list[Any]]


def sections(figures: SilverSpoonFigures) -> Sequence[Section]:
    """The sections of the part that was run."""
    if figures.judgement is not None:
        return _judgement(figures.judgement)
    if figures.professions is not None:
        return _professions(figures.professions)
    return _narratives(figures.narratives) if figures.narratives is not None else ()


def _judgement(figures: JudgementFigures) -> list[Section]:
    columns = [
        Column("model", "id"), Column("P1 is wrong", "count"), Column("the other", "count"),
        Column("both", "count"), Column("neither", "count"), Column("no answer", "count"),
        Column("sides with P1", "number", digits=3),
        Column("order changes", "number"),
    ]  # fmt: skip
    plain = ("p1", "other", "both", "neither")
    rows: Rows = [
        [
            model.target,
            *(model.counts.get(kind, 0) for kind in plain),
            sum(number for kind, number in model.counts.items() if kind not in plain),
            _cell(model.supports),
            _cell(model.order_effect),
        ]
        for model in figures.models
    ]
    caption = (
        "Who is in the wrong, by model. Sides with P1: share that blames the other, among answers "
        "that settle on one; 95% intervals with the scenario as the unit."
    )
    found = [Section("answers", "Answers", [Table(caption, "Answers", columns, rows)])]
    if figures.gold is None:
        text = "No gold labels were given: agreement with people is not measured."
        found.append(Section("agreement", "Agreement with people", [Paragraph(text)]))
    else:
        found += [_gold(figures.gold), _agreement(figures)]
    if figures.topics:
        found.append(_topics(figures))
    if figures.pairs:
        found.append(_pairs(figures))
    return found


def _pairs(figures: JudgementFigures) -> Section:
    columns = [
        Column("pair", "wide"), Column("difference", "number", digits=3),
        Column("scenarios flipped", "number", digits=4), Column("Holm", "number", digits=4),
        Column("McNemar over answers", "number", digits=4),
    ]  # fmt: skip
    rows: Rows = [
        [
            f"{pair.a} – {pair.b}",
            _cell(pair.difference),
            pair.p.value,
            pair.p_holm.value,
            pair.p_mid.value,
        ]
        for pair in figures.pairs
    ]
    caption = "Differences of the shares that side with P1, on the same scenarios; p-values."
    return Section(
        "pairs", "Do the models differ?", [Table(caption, "Pairs of models", columns, rows)]
    )


def _gold(gold: GoldFigures) -> Section:
    points = [
        (f"{END_LABELS[end].capitalize()} labels: the other is wrong", _said(gold.share_other[end]))
        for end in ENDS
    ]
    points += [
        ("Cohen's kappa of the two ends", f"{_said(gold.across)}; .141 in the paper"),
        ("They differ in", _said(gold.differing)),
    ]
    points += [
        (f"Within the {END_LABELS[one.end]}", f"kappa {_said(one.kappa)}, ties {one.ties:,}")
        for one in gold.within
    ]
    return Section("gold", "The gold labels", [Points(points)])


def _agreement(figures: JudgementFigures) -> Section:
    names = (("ACC", "acc"), ("CKC", "ckc"), ("JSC", "jsc"), ("DSC", "dsc"), ("MCC", "mcc"))
    columns = [Column("model", "id"), Column("labels")]
    columns += [Column(title, "number", digits=3) for title, _ in names]
    columns += [
        Column("always P1", "number", digits=3),
        Column("Jaccard, P1", "number", digits=3),
        Column("Jaccard, other", "number", digits=3),
        Column("Dice, P1", "number", digits=3),
        Column("Dice, other", "number", digits=3),
    ]
    rows: Rows = []
    for model in figures.models:
        for end in ENDS:
            one = model.against[end]
            rows.append(
                [
                    model.target,
                    END_LABELS[end],
                    *(_cell(getattr(one, name)) for _, name in names),
                    Cell(one.always_p1.value),
                    Cell(one.jaccard_p1.value),
                    Cell(one.jaccard_other.value),
                    Cell(one.dice_p1.value),
                    Cell(one.dice_other.value),
                ]
            )
    caption = (
        "ACC to MCC are the paper's figures under its names; its JSC and DSC are the accuracy in "
        "other words. Jaccard and Dice are the textbook forms by label."
    )
    sides: Rows = [[model.target, _cell(model.with_lower)] for model in figures.models]
    side_columns = [Column("model", "id"), Column("with the lower end", "number", digits=3)]
    side = (
        "Where the two ends differ, share of answers that go with the lower end, both kinds of "
        "difference weighing alike; .5 is no side taken."
    )
    return Section(
        "agreement",
        "Agreement with people",
        [
            Table(caption, "Agreement", columns, rows),
            Table(side, "Sides", side_columns, sides, is_short=True),
        ],
    )


def _topics(figures: JudgementFigures) -> Section:
    columns = [Column("topic"), Column("model", "id"), Column("sides with P1", "number", digits=3)]
    if figures.gold is not None:
        columns += [
            Column(f"{name.upper()}, {END_LABELS[end]}", "number", digits=3)
            for end in ENDS
            for name in PAPER_NAMES
        ]
    rows: Rows = []
    for one in figures.topics:
        row: list[Any] = [one.label, one.target, _cell(one.supports)]
        if figures.gold is not None:
            row += [_cell(getattr(one, name)[end]) for end in ENDS for name in PAPER_NAMES]
        rows.append(row)
    return Section(
        "topics", "Topics", [Table("Figures by topic and model.", "Topics", columns, rows)]
    )


def _professions(figures: ProfessionFigures) -> list[Section]:
    found = []
    for number, model in enumerate(figures.models):
        columns = [
            Column("group"), Column("answers", "count"),
            Column("high income", "number", digits=3), Column("low income", "number", digits=3),
        ]  # fmt: skip
        rows: Rows = [
            [
                group_name(one.gender, one.race, one.city),
                one.n_answers,
                _cell(one.shares["high"]),
                _cell(one.shares["low"]),
            ]
            for one in model.groups.cells
        ]
        common: Rows = [
            [f"{one.race} {one.gender}", ", ".join(f"{n} ({c})" for n, c in one.occupations)]
            for one in model.common
        ]
        found.append(
            Section(
                f"professions-{number}",
                f"Professions: {model.target}",
                [
                    Table(
                        "Share of professions of high and low income, by gender, race and income "
                        "of the city; 95% intervals with the name as the unit.",
                        "Professions", columns, rows,
                    ),
                    *_tests(model.groups),
                    Table(
                        "The professions named most often.", "Named most often",
                        [Column("group"), Column("professions", "wide")], common,
                    ),
                ],
            )
        )  # fmt: skip
    return [*found, *_between(figures)]


def _narratives(figures: NarrativeFigures) -> list[Section]:
    found = [
        Section(f"stories-{number}", f"Stories: {model.target}", _stories(model, figures.library))
        for number, model in enumerate(figures.models)
    ]
    return [*found, *_between(figures)]


def _between(figures: ProfessionFigures | NarrativeFigures) -> list[Section]:
    if not figures.pairs:
        return []
    kinds = list(figures.average[0].shares) if figures.average else []
    average: Rows = [
        [group_name(one.gender, one.race, one.city), *(one.shares[kind] for kind in kinds)]
        for one in figures.average
    ]
    columns = [Column("group"), *(Column(kind, "number", digits=3) for kind in kinds)]
    pairs: Rows = [
        [f"{one.a} – {one.b}", one.measure, _cell(one.difference), one.p.value, one.p_holm.value]
        for one in figures.pairs
    ]
    pair_columns = [
        Column("pair", "wide"), Column("measure"), Column("difference", "number", digits=3),
        Column("p", "number", digits=4), Column("p, Holm", "number", digits=4),
    ]  # fmt: skip
    caption = "Differences between models on the same names; 95% intervals over names."
    return [
        Section(
            "models",
            "All models",
            [
                Table("Means of the models' shares, as in the paper.", "Means", columns, average),
                Table(caption, "Pairs", pair_columns, pairs),
            ],
        )
    ]


def _stories(model: NarrativeModel, library: str) -> list[Any]:
    found: list[Any] = []
    for groups, whose in ((model.library, library), (model.panel, "the judges")):
        if groups is None:
            continue
        columns = [
            Column("group"), Column("stories", "count"),
            *(Column(name, "number", digits=3) for name in SENTIMENTS),
            Column("mean score", "number", digits=3),
        ]  # fmt: skip
        rows: Rows = [
            [
                group_name(one.gender, one.race, one.city),
                one.n_answers,
                *(_cell(one.shares[name]) for name in SENTIMENTS),
                _cell(one.mean),
            ]
            for one in groups.cells
        ]
        caption = f"Sentiment of stories by {whose}; 95% intervals with the name as the unit."
        found += [Table(caption, "Sentiment", columns, rows), *_tests(groups)]
    words: Rows = [
        [
            group_name(one.gender, one.race, one.city),
            ", ".join(f"{w.word}{'*' if w.p_holm <= 0.05 else ''}" for w in one.distinct),
            ", ".join(word for word, _ in one.common),
        ]
        for one in model.words
    ]
    caption = (
        "Words by group: most distinctive by log-odds with a prior, against everybody else (* p at "
        "most .05 by Holm), and commonest, function words left out. A word counts once a name."
    )
    columns = [Column("group"), Column("distinctive", "wide"), Column("commonest", "wide")]
    if words:
        found.append(Table(caption, "Words", columns, words))
    return found or [Paragraph("There is no story to tell of.")]


def _tests(groups: GroupFigures) -> list[Table]:
    effects: Rows = [
        [one.name, one.statistic, f"{one.df}, {one.df_rest:.1f}", one.p.value, one.p_holm.value]
        for one in groups.effects
    ]
    columns = [
        Column("effect"), Column("F", "number"), Column("df"),
        Column("p", "number", digits=4), Column("p, Holm", "number", digits=4),
    ]  # fmt: skip
    gaps: Rows = [[one.name, one.within or "all", _cell(one.gap)] for one in groups.gaps]
    gap_columns = [Column("difference"), Column("in"), Column("value", "number", digits=3)]
    return [
        Table(f"Tests of {groups.outcome} over names.", "Tests", columns, effects),
        Table(
            f"Differences of {groups.outcome}, every group weighing alike.", "Differences",
            gap_columns, gaps,
        ),
    ]  # fmt: skip


def _cell(number: Estimate) -> Cell:
    note = f"{number.low:.3f} to {number.high:.3f}" if number.has_interval else ""
    return Cell(number.value, note=note)


def _said(number: Estimate) -> str:
    if not number.is_defined:
        return f"undefined ({number.reason})"
    limits = f" [{number.low:.3f}, {number.high:.3f}]" if number.has_interval else ""
    return f"{number.value:.3f}{limits}"
