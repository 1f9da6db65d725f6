"""The report of an audit, from its definition, its run.json and its estimates alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..experiment.cost_cap import cap_notices
from ..formats import count, units
from ..records.estimates import select
from ..reports.document import Chart, Document, Paragraph, Part, Points, Records, Section, Table
from ..reports.run_sections import job_sections, state_told
from ..reports.views import Measure, estimates_chart, estimates_table
from .audit import ANSWER_STATUSES
from .contrasts import CROSS
from .definition import (
    Change,
    ChartView,
    Contrast,
    Definition,
    Differences,
    Outcome,
    TableView,
)
from .headline import (
    AuditView,
    Names,
    capital,
    headline,
    sentence,
    sentences,
    trust,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 6
"""Rows of a summary's table of differences; the tables below it hold all."""


def document(
    definition: Definition,
    record: Mapping[str, Any],
    estimates: pd.DataFrame,
    *,
    records: Sequence[Records] = (),
) -> Document:
    """What is shown of an audit.

    Args:
        definition: of the audit, as its options had it.
        record: the content of run.json.
        estimates: every figure, see `estimate.estimate`.
        records: prompts and answers behind the figures.
    """
    view = AuditView(definition, record, estimates)
    sections = _Sections(view)
    result, names = record.get("result", {}), view.respondents
    asked = [str(one["model"]) for one in record["identity"].get("targets", {}).values()]
    stand_ins = sorted({name for name in asked if name.startswith("offline/")})
    whose = names[0] if len(names) == 1 else units(len(names), "model") if names else "no model"
    notices = (*cap_notices(result), *result.get("limitations", ()))
    answers: list[Part] = []
    if records:
        warning = [Paragraph(sentence(definition.warning), "notice")] if definition.warning else []
        answers = [*warning, *records]
    return Document(
        title=f"{definition.title}: {whose}",
        kind="audit",
        headline=list(headline(view)),
        trust=list(trust(view)),
        state="" if record["state"] == "complete" else state_told(record),
        notices=[sentence(text) for text in notices],
        sections=[
            *sections.all(),
            *_section("answers", "Prompts and answers", answers),
            *_section("remarks", "Remarks", _remarks(result.get("notices", ()))),
            *sections.appendix(),
            *job_sections(record),
        ],
        is_demonstration=bool(stand_ins),
        demonstration=(
            f"{' and '.join(stand_ins)} answered, which is no language model: the answers are "
            "picked by a hash of the prompt, and say nothing about any model."
        ),
    )


class _Sections:
    """The tables and drawings."""

    def __init__(self, view: AuditView) -> None:
        self.view = view
        self.definition, self.estimates = view.definition, view.estimates
        self.respondents, self.unit = view.respondents, view.unit
        self.is_several = len(view.respondents) > 1
        self.drawn: set[str] = set()

    def all(self) -> Iterator[Section]:
        """Those of the definition, the audit's own after them."""
        found, outcomes = self.definition, self.definition.outcomes
        own = list(self._own_sections())
        first = [section for section in own if section.audience == "summary"]
        in_detail: list[Section] = []
        for name, contrast in found.contrasts.items():
            largest = self._contrast_summary(name, contrast)
            yield from _section(name, capital(contrast.title), largest, audience="summary")
        for name, one in found.differences.items():
            largest = self._differences_summary(name, one)
            if one.summary:
                yield from _section(name, capital(one.title), largest, audience="summary")
            else:
                in_detail.extend(_section(name, capital(one.title), largest))
        has_differences = bool(found.contrasts) or any(
            one.summary for one in found.differences.values()
        )
        has_picture = has_differences or any(
            isinstance(part, Chart) for section in first for part in section.parts
        )
        yield from first
        # Beside differences, or an audit's own first table, the levels stand in the headline, and
        # in the table of all outcomes.
        has_table = any(isinstance(part, Table) for section in first for part in section.parts)
        is_told = has_differences or has_table
        levels = [] if is_told else self._first_outcomes(has_picture=has_picture)
        yield from _section("outcomes", "Outcomes", levels, audience="summary")
        for name, contrast in found.contrasts.items():
            for place, (heading, parts) in enumerate(self._contrast_details(name, contrast)):
                yield from _section(f"{name}-{place}", heading, parts)
        yield from in_detail
        yield from (section for section in own if section.audience != "summary")
        yield from _section("all-outcomes", "All outcomes", self._all_outcomes())
        yield from _section("shares", "Shares", self._shares())
        yield from _section("parts", "By part of the prompts", self._by_part())
        tests = [part for name, one in outcomes.items() for part in self._models(name, one)]
        yield from _section("models", "Do the models differ?", tests)
        if found.takes_judges:
            yield from _section("agreement", "Agreement of the two judges", self._agreement())

    def appendix(self) -> Iterator[Section]:
        """What became of the askings, and the paper."""
        asked = [name for name in ANSWER_STATUSES if self.view.counts.get(name)]
        counts = self._table(
            "counts", {"respondent": "model"},
            [Measure(name, field="value", is_count=True) for name in ("planned", *asked)],
            "Planned askings by what became of them.", label="Askings by status",
        )  # fmt: skip
        yield from _section("askings", "What became of the askings", counts)
        if self.definition.source:
            said = Paragraph(sentence(f"After {self.definition.source}"))
            yield Section("source", "Source", [said], audience="appendix")

    def _table(
        self,
        table: str,
        keys: Mapping[str, str],
        measures: Sequence[Measure],
        caption: str,
        *,
        rows: pd.DataFrame | None = None,
        **more: Any,
    ) -> list[Part]:
        """A table as the parts of a section: none where it has no rows."""
        found: Table | None = estimates_table(
            self.estimates if rows is None else rows, table, keys=keys, measures=measures,
            caption=caption, **more,
        )  # fmt: skip
        return [] if found is None else [found]

    # Outcomes

    def _first_outcomes(self, *, has_picture: bool) -> list[Part]:
        """What the headline speaks of; a drawing of models where there is none of groups."""
        outcomes = self.definition.outcomes
        first = [
            Measure(name, one.title, digits=one.digits, is_signed=one.is_difference)
            for place, (name, one) in enumerate(outcomes.items())
            if not place or one.summary or one.neutral is not None
        ]
        table = self._table(
            "outcomes", {"respondent": "model"}, first,
            f"With 95% intervals over {self.unit}s.", label="Outcomes",
        )  # fmt: skip
        if not table or not self.is_several or has_picture:
            return table
        name, one = next(
            ((n, o) for n, o in outcomes.items() if o.neutral is not None),
            next(iter(outcomes.items())),
        )
        chart = estimates_chart(
            self.estimates, "outcomes", "forest", measure=name, rows="respondent", name=name,
            where={"factor": None, "group": None}, title=f"{capital(one.title)} by model",
            caption=f"Points with 95% intervals over {self.unit}s.", axis=one.title,
            reference=one.neutral, scale=one.scale, digits=one.digits,
        )  # fmt: skip
        return [*([chart] if chart is not None else ()), *table]

    def _all_outcomes(self) -> list[Part]:
        """All outcomes with how they are read, then those of papers and their bounds."""
        named: dict[str, Outcome | Change] = {**self.definition.outcomes, **self.definition.changes}
        measures = [
            Measure(
                name, one.title, digits=one.digits if isinstance(one, Outcome) else 2,
                is_signed=isinstance(one, Outcome) and one.is_difference,
            )
            for name, one in named.items()
        ]  # fmt: skip
        measures += [
            Measure(f"{name}_lean", one.lean_title, digits=2, is_signed=True)
            for name, one in self.definition.changes.items()
            if one.lean
        ]
        beside = [
            Measure(f"{name}{end}", f"{one.title}{said}", digits=one.digits)
            for name, one in self.definition.outcomes.items()
            for end, said in (
                ("_answers", ", over answers"), ("_least", ", at least"), ("_most", ", at most"),
            )
        ]  # fmt: skip
        keys = {"respondent": "model"}
        notes = sentences([one.note for one in named.values() if one.note])
        said = (
            "Over answers: Wilson's interval, as papers have it; it takes answers to prompts of "
            f"one {self.unit} for independent and is too narrow for them. At least and at most: if "
            "all answers that came and could not be read were at one end of the scale."
        )
        return [
            *self._table("outcomes", keys, measures, notes, label="All outcomes"),
            *self._table("outcomes", keys, beside, said, label="Over answers, and bounds"),
        ]

    def _shares(self) -> Iterator[Part]:
        for name, shares in self.definition.shares.items():
            named: dict[str, Names] = {"group": dict(shares.levels.items())}
            where: dict[str, str | None] = {"factor": name}
            chart = estimates_chart(
                self.estimates, "shares", "heatmap", measure="share", rows="respondent",
                columns="group", where=where, named=named, title=shares.title, name=name,
                caption=shares.note, scale=(0.0, 1.0),
            )  # fmt: skip
            if chart is not None:
                yield chart
            yield from self._table(
                "shares", {"respondent": "model", "group": shares.title.lower()},
                [Measure("share", "share of answers")], f"{shares.title}. {shares.note}".strip(),
                where=where, named=named, label=shares.title,
            )  # fmt: skip

    def _by_part(self) -> Iterator[Part]:
        outcomes = {name: one for name, one in self.definition.outcomes.items() if one.parts}
        if not outcomes:
            return
        rows = select(self.estimates, "parts")
        rows = rows[rows["respondent"].notna()] if self.is_several else rows
        model = {"respondent": "model"} if self.is_several else {}
        for crossed in self.definition.by:
            if len(crossed) == 2:
                yield from self._maps(rows, crossed, *next(iter(outcomes.items())))
                continue
            said = self.view.word(crossed[0])
            measures = [
                Measure(f"{name}{end}", f"{one.title}{more}", digits=one.digits)
                for name, one in outcomes.items()
                for end, more in (("", ""), ("_answers", ", over answers"))
            ]
            yield from self._table(
                "parts", {"group": said, **model}, measures, f"By {said}.", rows=rows,
                where={"factor": crossed[0]}, named={"group": self.view.names(crossed[0])},
                label=f"By {said}",
            )  # fmt: skip

    def _maps(
        self, rows: pd.DataFrame, crossed: Sequence[str], name: str, one: Outcome
    ) -> Iterator[Part]:
        """The first outcome by two columns of the prompts: a drawing a model."""
        whole = select(rows, "parts", factor=CROSS.join(crossed))
        whole = whole[whole["measure"] == name]
        labels = [self.view.names(column) for column in crossed]
        said = f"{capital(one.title)} by {' and '.join(map(self.view.word, crossed))}"
        for who in dict.fromkeys(whole["respondent"]):
            mine = whole[whole["respondent"].isna() if who is None else whole["respondent"] == who]
            cells = {str(row["group"]): float(row["value"]) for row in mine.to_dict("records")}
            down, across = (
                list(dict.fromkeys(cell.split(CROSS)[k] for cell in cells)) for k in (0, 1)
            )
            values = [[cells.get(f"{a}{CROSS}{b}", np.nan) for b in across] for a in down]
            place = f"_{self.respondents.index(who) + 1}" if who in self.respondents else ""
            yield Chart(
                "heatmap", "_by_".join((name, *crossed)) + place, f"{said}, {who}" if who else said,
                "Grey: no answer.", rows=[labels[0].get(v, v) for v in down],
                columns=[labels[1].get(v, v) for v in across], values=values, scale=one.scale,
                digits=one.digits,
            )  # fmt: skip

    # Contrasts

    def _contrast_summary(self, name: str, contrast: Contrast) -> Iterator[Part]:
        named = self.view.contrast_names(contrast)
        rows = self.view.rows(name, "difference")
        yield from self._largest(
            rows[rows["respondent"].notna()], name, "group", named,
            title=f"{capital(contrast.title)}, group less {contrast.reference_name}",
            axis=contrast.points or contrast.title, digits=contrast.digits,
        )  # fmt: skip

    def _differences_summary(self, name: str, one: Differences) -> Iterator[Part]:
        rows = self.view.rows(name, "difference")
        named: Names = {factor: " − ".join(one.sides(factor)) for factor in rows["factor"]}
        yield from self._largest(
            rows, name, "factor", {"factor": named},
            title=f"Differences in the {one.title}", axis=one.title, digits=one.digits,
        )  # fmt: skip

    def _largest(
        self,
        rows: pd.DataFrame,
        name: str,
        key: str,
        named: Mapping[str, Names],
        *,
        title: str,
        axis: str,
        digits: int,
    ) -> Iterator[Part]:
        """The differences as a forest and a table, the largest first."""
        size = rows["value"].abs()
        order = size.groupby(rows[key]).max().rename("_most")
        rows = rows.assign(_size=size).join(order, on=key)
        rows = rows.sort_values(["_most", "_size"], ascending=False, kind="stable")
        by = {key: {"group": "group", "factor": "difference"}[key]}
        chart = estimates_chart(
            rows, name, "forest", measure="difference", rows=key, columns="respondent",
            named=named, name=name, title=title, axis=axis, reference=0.0, is_diverging=True,
            digits=digits,
            caption=f"The largest first. {self._limits()}",
        )  # fmt: skip
        if chart is not None:
            yield chart
        if not rows["value"].notna().any():
            return
        of = f", the largest of {len(rows)}" if len(rows) > MOST_ROWS else ""
        caption = f"{title}{of}. {self._limits()}"
        yield from self._table(
            name, {**by, **({"respondent": "model"} if self.is_several else {})},
            [
                Measure("difference", self._short(name), digits=digits, is_signed=True),
                Measure("difference", "verdict", field="verdict"),
            ],
            caption, named=named, rows=rows.iloc[:MOST_ROWS], label=title,
        )  # fmt: skip

    def _limits(self) -> str:
        """What the intervals of comparisons are."""
        return f"Intervals over {self.unit}s, 95% for all comparisons of a family at once."

    def _short(self, name: str) -> str:
        """The head of a column of differences."""
        contrast = self.definition.contrasts.get(name)
        return contrast.title if contrast else "more by"

    def _contrast_details(
        self, name: str, contrast: Contrast
    ) -> Iterator[tuple[str, Sequence[Part]]]:
        named, title, unit = self.view.contrast_names(contrast), contrast.title, self.unit
        keys = {"respondent": "model", "factor": "of", "group": "group"}
        digits, margin = contrast.digits, contrast.margin
        difference = Measure("difference", title, digits=digits, is_signed=True)
        verdict = Measure("difference", "verdict", field="verdict")
        needed = Measure("difference", f"{unit}s needed", field="needed")
        note = sentence(contrast.note) if contrast.note else ""
        caption = f"{note} {self._limits()}".strip()
        if margin is not None:
            caption += f" Alike: the interval lies within ±{margin:g}."
        yield (
            f"{capital(title)} of every group",
            self._table(
                name, keys,
                [Measure("mean", contrast.mean_title, digits=digits), difference, verdict, needed],
                caption, named=named,
            ),
        )  # fmt: skip
        bounds = [
            Measure("difference_least", "at least", field="value", digits=digits, is_signed=True),
            Measure("difference_most", "at most", field="value", digits=digits, is_signed=True),
            Measure("answered", "answers with a value", digits=2),
        ]  # fmt: skip
        said = (
            "At least and at most: if all answers that came and could not be read were at the ends "
            "of the scale."
        )
        yield (
            "Bounds, and answers with a value",
            self._table(name, keys, bounds, said, named=named),
        )
        for column in contrast.by:
            word = self.view.word(column)
            measures = [difference, Measure("difference", f"{unit}s", field="n")]
            yield (
                f"{capital(title)} by {word}",
                self._table(
                    f"{name}_by_{column}", {**keys, "detail": word}, measures,
                    f"The {title} within each {word}.", named=named,
                ),
            )  # fmt: skip
        yield (
            f"Do the models differ in {title}?",
            self._table(
                f"{name}_models", {"respondent": "model", "baseline": "minus", "group": "group"},
                [difference, verdict],
                f"Differences of the {title} between models. {self._limits()}",
                named=named,
            ),
        )  # fmt: skip

    # Models, judges, people

    def _models(self, name: str, outcome: Outcome) -> Iterator[Part]:
        """Pairs of models; and beside them the tests of papers."""
        title = capital(outcome.title)
        yield from self._table(
            "models", {"respondent": "model", "baseline": "minus"},
            [
                Measure("difference", outcome.title, digits=3, is_signed=True),
                Measure("difference", "verdict", field="verdict"),
                Measure("difference", f"{self.unit}s needed", field="needed"),
            ],
            f"{title} on the prompts to which both have a value. {self._limits()}",
            where={"factor": name}, label=f"{title}, pairs of models",
        )  # fmt: skip
        yield from self._table(
            "paper", {"respondent": "model", "baseline": "minus"},
            [Measure("chi_square", "chi-square", digits=2, field="value"),
             Measure("chi_square", "p", field="p")],
            "As papers test it: all models, and pairs with Bonferroni's correction, by a "
            "chi-square that takes answers for independent. It finds differences too readily.",
            where={"factor": name}, named={"respondent": {None: "all models"}},
            label="The paper's chi-square",
        )  # fmt: skip

    def _agreement(self) -> Iterator[Part]:
        table = self._table(
            "judges", {"factor": "over"},
            [
                Measure("same", "same", digits=3), Measure("same", "questions", field="n"),
                Measure("kappa", "Cohen's kappa", digits=3), Measure("ac1", "Gwet's AC1", digits=3),
            ],
            "Before anything was settled, over the distinct questions that both gave a vote on; "
            "what rules decided is not among them.",
            rows=self.estimates[self.estimates["factor"] != "rulings"],
            named={"factor": {k: one.title for k, one in self.definition.agreement.items()}},
            label="Agreement of the judges", is_short=True,
        )  # fmt: skip
        yield from table or [Paragraph("Not measured: no two judges read the same answer.")]
        rulings = select(self.estimates, "judges", factor="rulings")
        said = [
            f"{count(row['value'])} {str(row['group']).replace('_', ' ')}"
            for row in rulings.to_dict("records")
        ]
        if said:
            yield Paragraph(f"Answers judged: {', '.join(said)}.")

    # What the audit's class estimates

    def _own_sections(self) -> Iterator[Section]:
        sections: dict[tuple[str, str], list[Part]] = {}
        for table in self.definition.table_views:
            sections.setdefault((table.section, table.audience), []).extend(self._own(table))
        for place, ((title, audience), parts) in enumerate(sections.items()):
            yield from _section(f"own-{place}", title, parts, audience=audience)

    def _own(self, table: TableView) -> Iterator[Part]:
        every = self.view.names(*self.view.labels)
        keys = ("group", "factor", "item", "detail")
        named: dict[str, Names] = dict.fromkeys(keys, every)
        named["respondent"] = {None: "all models" if self.is_several else self._only}
        if (chart := table.chart) is not None:
            given = chart.model_dump(exclude={"kind", "is_ranked"})
            if chart.facets == "respondent" and not self.is_several:
                given["facets"] = ""  # one drawing, which is also made for phones
            rows = self.estimates
            if chart.is_ranked and self.is_several:  # the models, and not their mean beside them
                rows = rows[rows["respondent"].notna()]
            drawn = estimates_chart(
                rows, table.table, chart.kind, where=table.where, named=named,
                name=self._chart_name(table, chart), **given,
            )  # fmt: skip
            if drawn is not None:
                yield _ranked(drawn) if chart.is_ranked else drawn
        measures = [Measure(**one.model_dump()) for one in table.measures]
        if measures:
            yield from self._table(
                table.table, table.keys, measures, table.caption, where=table.where, named=named
            )

    def _chart_name(self, table: TableView, chart: ChartView) -> str:
        """The name of a drawing's file: further ones of a table say by what they differ."""
        name = f"{table.table}_{chart.measure}"
        if name in self.drawn:
            which = "_".join(str(value) for value in table.where.values())
            name = "_".join((name, re.sub(r"[^a-z0-9]+", "_", which.casefold())))
        self.drawn.add(name)
        return name

    @property
    def _only(self) -> str:
        return self.respondents[0] if self.respondents else ""


def _section(
    name: str, title: str, parts: Iterator[Part] | Sequence[Part], **more: Any
) -> Iterator[Section]:
    """The section, if there is something in it."""
    if found := list(parts):
        yield Section(name.replace("_", "-"), title, found, **more)


def _ranked(chart: Chart) -> Chart:
    """The same with the rows furthest from the reference first."""
    values, low, high = (np.asarray(one) for one in (chart.values, chart.low, chart.high))
    apart = np.abs(values - (chart.reference or 0.0))
    order = np.argsort(-np.where(np.isnan(apart), -1.0, apart).max(axis=1), kind="stable")
    return replace(
        chart, rows=[chart.rows[at] for at in order], values=values[order], low=low[order],
        high=high[order],
    )  # fmt: skip


def _remarks(notices: Sequence[str]) -> list[Part]:
    return [Points([("", sentence(text)) for text in notices])] if notices else []


__all__ = ["document"]
