"""What is shown of a calibration, and of an agreement: made of run.json and the estimates alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.decision_study import target_of
from ..aggregation.estimate import Estimate
from ..formats import count, listed_all, number, plain, said, units, words
from ..records.design import order_of, stored_design
from ..records.estimates import select
from ..reports.document import (
    Audience,
    Chart,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Scalar,
    Section,
    Table,
    in_demonstration,
)
from . import preferences_answer, tables
from .answer import AT_LEAST_HALF_NOTE, FEW_PROMPTS, Answer, demonstration
from .decision_study import THIS_PANEL, stored_study
from .facets import facets_parts
from .judges import NOT_ABOVE_CHANCE, SOURCE_ONLY
from .label_document import label_people, labels_in_detail, labels_in_short
from .people import ITEMS
from .tables import CalibrationTable

if TYPE_CHECKING:
    import pandas as pd

MOST_RATERS: Final = 300
"""Raters of one table and criterion; of more, the harshest and the most lenient."""

_PAPER: Final = {
    "w_raw_ranks": "W, raw ranks, no tie correction",
    "tau_concatenated": "pairwise tau, ranks concatenated",
    "alpha_raw_ranks": "ordinal alpha of raw ranks",
    "tau": "tau of pairs of raters",
    "panel_tau": "tau of panel and people, all responses at once (.666)",
    "model_wins": "model-person pairs won by the model (.744)",
    "model_wins_untied": "the same without ties",
    "model_first": "rankings with a model first (.808)",
    "inferred": "INFERRED from justifications, all responses (.308)",
    "inferred_within": "INFERRED from justifications, within prompts",
}


VERDICTS: Final = (
    "Better, worse: the interval of the difference leaves out 0. At least half: no difference is "
    "shown, and the interval of the panel's agreement less half of a person's lies above 0. "
    "Unconfirmed: the panel's own agreement with people may be chance. Disagreeing: it is shown to "
    "be below chance. Constant: the panel gives everything one score, or one label. Undecided: too "
    "few prompts, or too little agreement among people, to tell."
)
"""The words for a panel beside one more person."""


def calibration_document(record: Mapping[str, Any], estimates: pd.DataFrame) -> Document:
    """Describes a calibration: whether the panel may stand in for people, and where not."""
    shown = _Shown(record, estimates)
    return Document(
        title="Calibration of a panel against people",
        kind="calibration",
        headline=list(shown.headline()),
        trust=list(shown.trust()),
        sections=_sections(
            ("criteria", "By criterion", shown.by_criterion(), "summary"),
            ("labels", "Labels", labels_in_short(shown, tables.PANEL_IS), "summary"),
            ("matched", "What was matched", shown.matched(), "detail"),
            ("people", "People with people", shown.people(), "detail"),
            ("raters", "Raters, harsh and lenient", shown.raters(), "detail"),
            ("facets", "Use of the scale (many-facet model)", facets_parts(estimates), "detail"),
            ("label-people", "Labels of people", label_people(shown), "detail"),
            ("panel", "Panel with people", shown.panel(), "detail"),
            ("label-panel", "Panel with people's labels", labels_in_detail(shown), "detail"),
            ("one-person", "Panel against one more person", shown.one_person(), "detail"),
            ("preferences", "Pairs that people compared", shown.preferences(), "detail"),
            ("judges", "Judges, personas, models, axes", shown.judges(), "detail"),
            ("how-many", "How many judges", shown.how_many(), "detail"),
            ("corrections", "Corrections, out of fold", shown.corrections(), "detail"),
            ("alt-test", "May the panel stand in for a rater?", shown.alt_test(), "detail"),
            ("items", "Calibration items", shown.items(), "detail"),
            *shown.ends(),
        ),
        is_demonstration=bool(record["stand_ins"]),
        demonstration=demonstration(record["stand_ins"]),
    )


def calibration_headline(record: Mapping[str, Any], estimates: pd.DataFrame) -> list[str]:
    """The first sentences of `calibration_document`."""
    first, *others = _Shown(record, estimates).headline()
    return [in_demonstration(first) if record["stand_ins"] else first, *others]


def agreement_document(record: Mapping[str, Any], estimates: pd.DataFrame) -> Document:
    """Describes how far people agree with each other."""
    shown = _Shown(record, estimates)
    return Document(
        title="Agreement of people with people",
        kind="agreement",
        headline=list(shown.people_headline()),
        trust=list(shown.people_trust()),
        sections=_sections(
            ("criteria", "By criterion", shown.people_by_criterion(), "summary"),
            ("labels", "Labels of people", label_people(shown), "summary"),
            ("matched", "What was matched", shown.matched(), "detail"),
            ("people", "People with people", shown.people(), "detail"),
            ("preferences", "Pairs that people compared", shown.preferences(), "detail"),
            ("raters", "Raters, harsh and lenient", shown.raters(), "detail"),
            ("facets", "Use of the scale (many-facet model)", facets_parts(estimates), "detail"),
            ("items", "Calibration items", shown.items(), "detail"),
            *shown.ends(),
        ),
    )


_Parts = tuple[str, str, Iterator[Part], Audience]


def _sections(*given: _Parts) -> list[Section]:
    """Why a figure or an interval is missing stands once in each."""
    return [Section(name, title, list(_told_once(parts)), who) for name, title, parts, who in given]


def _told_once(parts: Iterator[Part]) -> Iterator[Part]:
    told: set[str] = set()
    for part in parts:
        if not isinstance(part, Table):
            yield part
            continue
        yield replace(part, notes=[note for note in part.notes if note not in told])
        told.update(part.notes)


class _Shown(Answer):
    """The sections of the document of one calibration, or of one agreement."""

    def ends(self) -> Iterator[_Parts]:
        """What every document ends with."""
        yield "limitations", "What cannot be said with these data", self._limits(), "detail"
        yield "paper", "The paper's definitions and figures", self._paper(), "appendix"
        yield "method", "How it was computed", self._method(), "appendix"

    def table(self, declared: CalibrationTable, **fields: Any) -> Iterator[Part]:
        """A declared table, where it has rows."""
        if made := declared.shown(self.estimates, **fields):
            yield made

    # People

    def by_criterion(self) -> Iterator[Part]:
        """The picture and the table of the summary; of preferences the same by accuracy."""
        yield from self._by_criterion()
        found = [
            (name, tables.PANEL_IS.get(verdict, verdict), figures)
            for name, figures in preferences_answer.criteria(self.estimates)
            if (verdict := preferences_answer.verdict(figures)) is not None
        ]
        if not found:
            return
        yield _forest(
            "preferences", "Panel and people on pairs", [name for name, _, _ in found],
            {
                "one more person": [one.get("accuracy_of_one") for _, _, one in found],
                "panel": [one.get("accuracy_of_panel") for _, _, one in found],
            },
            "Share of pairs on which panel, or person, prefers what another rater prefers, with "
            "intervals over prompts; the dashed line is chance.",
            axis="accuracy", reference=0.5, hollow=("one more person",),
        )  # fmt: skip
        yield Table(
            "Share of pairs on which panel, or person, prefers what another rater prefers (ties "
            f"one half, chance 0.50). {AT_LEAST_HALF_NOTE}",
            "By criterion, of pairs",
            [Column("criterion", "id"), Column("panel", "number"), Column("person", "number"),
             Column("gap", "estimate", is_signed=True), Column("panel is", "id")],
            [
                [name, *(
                    None if figures.get(one) is None else figures[one].value
                    for one in ("accuracy_of_panel", "accuracy_of_one")
                ), figures.get("accuracy_difference"), so]
                for name, so, figures in found
            ],
        )  # fmt: skip

    def _by_criterion(self) -> Iterator[Part]:
        found = []
        for keys, figures in self.criteria("panel"):
            panel, one, ceiling, apart = (
                self.of("one person", name, rater=None, **keys)
                for name in ("tau_of_panel", "tau_of_one", "ceiling", "tau_difference")
            )
            if panel is None:  # one rater: nobody is left to compare with
                panel, ceiling = figures["tau"], figures.get("ceiling")
            verdict = self.verdict(keys, figures)
            panel_is = tables.PANEL_IS.get(verdict, verdict)
            found.append((self.named(keys), panel_is, panel, one, ceiling, apart))
        if not found:
            return
        names, _, of_panel, of_one, ceilings, _ = zip(*found, strict=True)
        yield _forest(
            "ceiling", "Panel and people", names,
            {"one more person": of_one, "panel": of_panel, "ceiling": ceilings},
            f"Agreement with {self.others}, with intervals over prompts; the dashed line is "
            "chance, the ceiling what a judge without errors would reach.",
            axis=f"tau {self.where}", reference=0.0, hollow=("one more person",),
        )  # fmt: skip
        yield Table(
            f"Agreement in ranking with {self.others} (tau {self.where}). {AT_LEAST_HALF_NOTE}",
            "By criterion",
            [Column("criterion", "id"), Column("panel", "number"), Column("person", "number"),
             Column("gap", "estimate", is_signed=True), Column("panel is", "id")],
            [
                [name, tau.value, one.value if one else None, apart, so]
                for name, so, tau, one, _, apart in found
            ],
        )  # fmt: skip

    def people_by_criterion(self) -> Iterator[Part]:
        """The summary of people alone."""
        yield from self._agreement_chart()
        is_unnamed = self.record["matched"]["has_unnamed_raters"]
        for declared in (tables.UNNAMED_IN_SHORT,) if is_unnamed else tables.PEOPLE_IN_SHORT:
            yield from self.table(declared)
        yield from self._preferences_chart()
        yield from self.table(tables.PREFERENCES_IN_SHORT)

    def _preferences_chart(self) -> Iterator[Part]:
        found = preferences_answer.criteria(self.estimates)
        if found:
            yield _forest(
                "equal", "Equal preferences by criterion", [name for name, _ in found],
                {"beyond chance": [figures["kappa"] for _, figures in found]},
                "Equal preferences of two raters beyond chance, with intervals over prompts.",
                axis="kappa", reference=0.0,
            )  # fmt: skip

    def preferences(self) -> Iterator[Part]:
        """What people prefer of two responses, and the panel, its judges and respondents."""
        yield from self.table(tables.PREFERENCES)
        yield from self.table(tables.PREFERENCES_PANEL)
        yield from self.table(tables.PREFERENCES_JUDGES)
        yield from self.table(tables.WORTHS)

    def _agreement_chart(self) -> Iterator[Part]:
        found = [row for row in self.criteria("people") if "n_raters" in row[1]]
        measures = {"pairwise tau": "tau"}
        for level in ("interval", "ordinal"):
            if any(f"alpha_{level}" in figures for _, figures in found):
                measures[f"alpha, {level}"] = f"alpha_{level}"
        if self.record["matched"]["has_unnamed_raters"]:
            measures["ICC of one rating"] = "icc_one_way"
        if found:
            yield _forest(
                "agreement", "Agreement of people by criterion",
                [self.named(keys) for keys, _ in found],
                {title: [one.get(name) for _, one in found] for title, name in measures.items()},
                "How far people agree, with intervals over prompts; an open marker has none. Tau "
                "is within prompts, Krippendorff's alpha over all responses.",
                axis="agreement of people", reference=0.0,
            )  # fmt: skip

    def matched(self) -> Iterator[Part]:
        """What the figures rest on, and what was left out, by name."""
        told = self.record["matched"]
        n = {
            name: self.n("matched", f"n_{name}s")
            for name in ("rater", "prompt", "response", "rating", "preference", "label", "judge",
                         "persona", "model", "repeat")
        }  # fmt: skip
        counted = {name: units(number_of, name) for name, number_of in n.items()}
        if told["has_unnamed_raters"]:
            counted["rater"] = "unnamed raters"
        given = [name for name in ("rating", "preference", "label") if n[name]] or ["rating"]
        of_people = ", ".join(counted[name] for name in ("rater", "prompt", "response", *given))
        points = [("People:", f"{of_people}.")]
        if n["judge"] and not n["persona"]:
            points.append(("Panel:", f"{counted['judge']}, which gave labels."))
        elif self.of("matched", "n_judges") is not None:
            design = f"{counted['persona']} × {counted['model']}, {counted['repeat']}"
            statuses = ", ".join(
                f"{count(found['n_judgments'].value)} {words(str(keys['group']))}"
                for keys, found in self.groups("matched", "group", factor="status")
                if found["n_judgments"].value
            )
            points.append(("Panel:", f"{counted['judge']} ({design}); judgments: {statuses}."))
            rated = "Labelled" if self.has_labels_only else "Rated"
            for name, label in (("n_scored", "With a panel score:"), ("n_rated", f"{rated}:"),
                                ("n_both", f"{rated} and scored:")):  # fmt: skip
                if found := self.of("matched", name):
                    of = units(found.n_planned or 0, "judged response")
                    points.append((label, f"{count(found.n)} of {of}."))
        if n_items := self.n("matched", "n_item_ratings"):
            one, many = "rating of a calibration item", "ratings of calibration items"
            points.append(("", f"{units(n_items, one, many)}, kept apart."))
        if n_missing := self.n("matched", "n_missing"):
            codes = [
                f"{count(self.n('matched', 'n_missing_by_code', group=code))} × {code} ({rows})"
                for code, rows in told.get("missing", ())
            ]
            points.append((f"{units(n_missing, 'missing rating')}:", f"{', '.join(codes)}."))
        if n_apart := self.n("matched", "n_preferences_left_out"):
            one, many = "preference with a response", "preferences with responses"
            points.append(
                ("", f"{units(n_apart, one, many)} that the run does not have, left out.")
            )
        for sentence, places in told["misfits"]:
            points.append((f"{sentence}:", f"{'; '.join(_first(places, 20))}."))
        if told["unrated"]:
            n_unrated = self.n("matched", "n_unrated")
            left = n_unrated - len(told["unrated"][:8])
            names = ", ".join(told["unrated"][:8]) + (f" and {left:,} more" if left > 0 else "")
            done = "labelled" if self.has_labels_only else "rated"
            points.append((f"{units(n_unrated, 'judged response')} nobody {done}:", f"{names}."))
        for reason, rows in told["left_out"]:
            n_rows = self.n("matched", "n_left_out", group=reason)
            points.append(("Left out on reading:", f"{count(n_rows)}: {reason} ({rows})."))
        yield Points([*points, *(("Note:", f"{notice}.") for notice in told["notices"])])

    def people(self) -> Iterator[Part]:
        """How far people agree with each other."""
        if self.has_labels_only:
            return
        if not len(select(self.estimates, "people")):
            if not preferences_answer.criteria(self.estimates):
                yield Paragraph("Undefined: nobody's ratings count.")
            return
        for declared in tables.PEOPLE:
            yield from self.table(declared)
        points = [
            (f"{self.named(keys)}:", text)
            for keys, found in self.criteria("people")
            for text in (*self._rotated(keys), *_oddities(found))
        ]
        if points:
            yield Points(points)
        if 0 < self.n("matched", "n_prompts") < FEW_PROMPTS:
            yield Paragraph(
                "With few prompts some intervals are too short. In simulations those of "
                "95% covered, at 9 prompts: AC2 .930; at 26 .946.", "quiet",
            )  # fmt: skip

    def _rotated(self, keys: Mapping[str, Any]) -> Iterator[str]:
        """What raters saw in a rotation."""
        if told := self.rotation(keys):
            yield f"in rotation, {told}."

    def raters(self) -> Iterator[Part]:
        """Who is harsh or lenient, and who says nothing."""
        rows = select(self.estimates, "raters")
        named = rows[rows["rater"].notna() & (rows["measure"] == "deviation")]
        if len(named):
            main = named[named["criterion"] == named["criterion"].iloc[0]]
            main = main[main["value"].notna()].iloc[: MOST_RATERS // 5]
            if len(main):
                yield _forest(
                    "severity", f"Severity of raters, {self.named(main.iloc[0])}",
                    [f"{who} ({called})" if isinstance(called, str) else str(who)
                     for who, called in zip(main["rater"], main["verdict"], strict=True)],
                    {"deviation": [Estimate(value, low=low, high=high) for value, low, high in
                                   main[["value", "low", "high"]].itertuples(index=False)]},
                    "Points above (lenient, to the right) or below (harsh) the other usual raters "
                    "on the same responses, with intervals over prompts.",
                    axis="points from the other usual raters", reference=0.0, is_diverging=True,
                )  # fmt: skip
            shown = self.estimates.drop(index=_between(named, MOST_RATERS))
            if made := tables.RATERS.shown(shown):
                yield made
        why = rows[rows["rater"].isna() & rows["reason"].notna()]
        if len(why):
            yield Points([
                (f"{listed_all([self.named(row) for row in mine.to_dict('records')])}:",
                 f"no severities: {reason}.")
                for reason, mine in why.groupby("reason", sort=False)
            ])  # fmt: skip

    def items(self) -> Iterator[Part]:
        """Packets mixed in unmarked."""
        if len(select(self.estimates, ITEMS)):
            yield from self.table(tables.CALIBRATION_ITEMS)

    # Panel

    def panel(self) -> Iterator[Part]:
        """The panel against the mean of the raters."""
        if self.has_labels_only:
            return
        if not self.main:
            if not preferences_answer.criteria(self.estimates):
                yield Paragraph("Undefined: people and panel share no criterion.")
            return
        yield from self.table(tables.PANEL, where=self.where)
        if preferred := self.of("pair types", "source_only", group="cross"):
            yield from self.table(tables.PAIR_TYPES, preferred=preferred.verdict)
        yield from self.table(tables.BEYOND)
        if self.has_few_prompts:
            yield Paragraph(
                "With few prompts some intervals are too short. In simulations those of "
                "95% covered, at 9 prompts: tau (bootstrap) .942, within source .933; at 26 .952, "
                ".946.", "quiet",
            )  # fmt: skip

    def one_person(self) -> Iterator[Part]:
        """The panel against one more person, on the same footing."""
        if made := tables.ONE_PERSON.shown(self.estimates, where=self.where, others=self.others):
            yield made
            yield Paragraph(VERDICTS, "quiet")
        rows = select(self.estimates, "one person")
        each = rows[rows["rater"].isin(rows["rater"].dropna().unique()[:MOST_RATERS])]
        if len(each) and (
            made := tables.EACH_PERSON.shown(
                each, criterion=self.named(self.main), where=self.where, others=self.others
            )
        ):
            yield made

    def judges(self) -> Iterator[Part]:
        """Every judge, persona, model and axis."""
        found = self.groups("judges", "group", factor="judge")
        known = [(str(k["group"]), f["accuracy"]) for k, f in found if f["accuracy"].is_defined]
        if known:
            known.sort(key=lambda row: -row[1].value)
            short = [re.sub(r"[\w.-]+/", "", name) for name, _ in known]  # without providers
            names = short if len(set(short)) == len(short) else [name for name, _ in known]
            called = [one if one.verdict else None for _, one in known]
            columns = {
                "judge": [None if one.verdict else one for _, one in known],
                "chance, or source only": called,
            }
            yield _forest(
                "judges", "Judges", names, columns if any(called) else {"": columns["judge"]},
                "Pairs ordered as people do, with intervals over prompts, the best first; the "
                "dashed line is chance.",
                axis="pairs ordered as people do, ties one half", reference=0.5, scale=(0.0, 1.0),
                hollow=("chance, or source only",),
            )  # fmt: skip
        for kind in ("judge", "persona", "model", "axis"):
            yield from self.table(tables.judge_table(kind))
        named = self.judges_called(NOT_ABOVE_CHANCE) or self.judges_called(SOURCE_ONLY)
        if named and self.has_few_prompts:
            yield Paragraph(
                "With few prompts good judges may be among those named: at 9 prompts that befell "
                "one or more of ten in a third of simulated worlds, at 26 in none.", "quiet",
            )  # fmt: skip

    def how_many(self) -> Iterator[Part]:
        """How many judges are enough."""
        design, worth = stored_design(self.estimates), self.of("size", "worth")
        if worth is not None:
            notes = []
            if design is not None and design.fell_out and worth.has_interval:
                notes.append(
                    "a model or persona fell out: in simulations of that the interval of this "
                    "worth covered .88 in the place of .95"
                )
            yield Table(
                "Independent judgments that the panel's mean is worth, for these personas and "
                "models, from how its judges agree.",
                "Worth in independent judgments",
                [Column("worth", "estimate", 1), Column("note", "wide")],
                [[worth, said(worth.reason) if not worth.is_defined else ""]],
                notes=notes,
            )
        if scores := self.of("size", "n_scores"):
            is_sample = scores.n_planned is not None and scores.n_planned > scores.n
            yield from self.table(
                tables.COMPONENTS, judgments=units(scores.n, "judgment"),
                sample=", a sample of prompts" if is_sample else "",
                level=f"{self.record['config']['level']:.0%}",
            )  # fmt: skip
        designs = self.groups("designs", "group")
        why = next((f["e_rho2"].reason for _, f in designs if "calls" not in f), None)
        if why:
            yield Paragraph(f"Designs: undefined: {why}.")
        elif designs:
            order = order_of(target_of(stored_study(self.estimates)))
            yield _designs_chart(designs, order)
            yield from self.table(tables.DESIGNS, order=order)
            yield from self.table(tables.DESIGNS_NEEDED, order=order)

    # Use

    def corrections(self) -> Iterator[Part]:
        """What is earned out of fold."""
        if self.has_labels_only:
            return
        points = []
        if self.is_without_agreement:
            points.append(("Advice:", "none, as the panel is not shown to agree with people."))
        for table, measure, label, kept in (
            ("weights", "agreement", "Weights of judges:", {"equal": "keep equal weights"}),
            ("maps", "error", "Map to people's scale:", {"as is": "keep the scores as they are"}),
        ):
            if not self.is_without_agreement:
                points += [
                    (label, f"{kept.get(way, f'adopt {words(way)}')}.")
                    for way in self.adopted(table, measure)
                ]
            points += self._why_none(table, measure, label)
        if self.record["map_note"]:
            points.append(("", f"{self.record['map_note']}."))
        if levels := self.record["levels"]:
            keys = {"criterion": levels["criterion"], "detail": levels["kind"]}
            points.append(("People's level:", f"{self.named(keys)}, for maps, means and widths."))
        if points:
            yield Points(points)
        if len(select(self.estimates, "judge weights")):
            yield from self.table(tables.WEIGHTS)
        if self.of("maps", "error", group="as is") is not None:
            yield from self.table(tables.MAPS)
        width = self.of("conformal", "half_width")
        if width is not None and width.is_defined:
            _, _, split = width.method.partition("; ")
            yield Paragraph(
                f"Around a calibrated score, ±{number(width.value)} points cover people's mean in "
                f"{width.level:.0%} of cases ({units(width.n, width.unit)}; {split}); human noise "
                "is included."
            )
        elif width is not None and width.reason and self.record["levels"]:
            yield Paragraph(f"No width around a calibrated score: {width.reason}.", "quiet")

    def _why_none(self, table: str, measure: str, label: str) -> list[tuple[str, str]]:
        found = self.of(table, measure, group=None)
        return [(label, f"{found.reason}.")] if found is not None and found.reason else []

    def alt_test(self) -> Iterator[Part]:
        """The alternative annotator test."""
        if none := self.of("alt-test", "winning_rate", detail=None):
            yield Paragraph(f"Not made: {none.reason}.")
        found = [
            (keys, figures["winning_rate"])
            for keys, figures in self.groups("alt-test", "detail")
            if "winning_rate" in figures and keys["detail"]
        ]
        for keys, rate in found:
            epsilon = self.of("alt-test", "epsilon", detail=str(keys["detail"]))
            allowed = "" if epsilon is None else f", epsilon {number(epsilon.value)}"
            why = rate.reason or ""
            told = "" if why.startswith("over raters") else f": {why}"
            verdict = f"{keys['detail'].capitalize()}{allowed}: {rate.verdict}{told}."
            yield Paragraph(verdict)
        if found:
            yield from self.table(tables.ALT_TEST)

    def _limits(self) -> Iterator[Part]:
        """What these data leave open."""
        if rows := self.record["limitations"]:
            yield Points([(f"{what}:", f"{said(reason)}.") for what, reason in rows])
        else:
            yield Paragraph("Nothing was left out for want of data.")

    def _paper(self) -> Iterator[Part]:
        """The paper's definitions and figures."""
        rows: list[list[Scalar]] = []
        for keys, figures in self.groups("paper", "criterion", "detail", "respondent", "group"):
            mean = f"mean {keys['detail']}, {keys['respondent']}"
            place = f", {keys['group']}" if keys["group"] else ""
            for measure, found in figures.items():
                if label := mean if measure == "mean" else _PAPER.get(measure):
                    note = said(found.reason) if not found.is_defined else ""
                    rows.append([f"{label}{place}", self.named(keys), found, found.n, note])
        if rows:
            yield Paragraph(
                "Computed as the SCRuB paper does, to be held against its figures (in brackets) "
                "and for nothing else."
            )
            yield Table(
                "The paper's definitions.",
                "The paper's figures",
                [Column("figure", "id"), Column("criterion", "id"), Column("value", "estimate"),
                 Column("n", "count"), Column("note", "wide")],
                rows,
            )  # fmt: skip

    def _method(self) -> Iterator[Part]:
        """Settings and versions."""
        config = self.record["config"]

        def told(pairs: Mapping[str, Any], mark: str = " ") -> str:
            return ", ".join(f"{name}{mark}{plain(value)}" for name, value in pairs.items()) + "."

        about = (
            f"{config['level']:.0%}; the unit is the prompt unless another is named. Limits are "
            "cut where the range of a figure ends; fewer than six prompts have none."
        )
        yield Points([
            ("Intervals:", about),
            ("Settings:", told(config)),
            ("Every figure:", "estimates.csv, with its method, unit, n and reason."),
            ("Versions:", told(self.record["versions"])),
        ])  # fmt: skip


def _first(places: Sequence[str], most: int) -> list[str]:
    left = len(places) - most
    return [*places[:most], *([f"and {left:,} more"] if left > 0 else [])]


def _oddities(found: Mapping[str, Estimate]) -> Iterator[str]:
    """What is odd about the ratings of one criterion, a sentence each."""
    pairs = found.get("n_rater_pairs")
    if pairs is not None and pairs.n_planned and pairs.n < pairs.n_planned:
        missing = pairs.n_planned - pairs.n
        yield f"pairs of raters without a tau: {missing:,} of {pairs.n_planned:,}."
    n = {name: int(one.value) for name, one in found.items() if name.startswith("n_")}
    if n.get("n_incomplete") or n.get("n_gapped"):
        odd = [
            f"{count(n[name])} {told}"
            for name, told in (
                ("n_incomplete", "of part of the responses"),
                ("n_gapped", "with gaps in the ranks"),
                ("n_beyond", "with ranks above the number of responses"),
            )
            if n.get(name)
        ]
        yield (
            f"of {units(n['n_rankings'], 'ranking')}, {listed_all(odd)}: in these prompts a rank "
            "is the one to be expected among all n responses, (n + 1)/(k + 1) times that among "
            "the k ranked."
        )
    if n.get("n_constant"):
        raters = units(n["n_constant"], "rater")
        yield f"one value throughout, left out of severity: {raters}."
    if n.get("n_too_large"):
        prompts = units(n["n_too_large"], "prompt")
        yield f"too large for figures by prompt, left out: {prompts}."
    if "n_groups_apart" in n:
        yield f"{count(n['n_groups_apart'])} groups of raters share no response."


def _between(rows: pd.DataFrame, most: int) -> list[Any]:
    """Of raters sorted by severity, those of each criterion that one table cannot hold."""
    left: list[Any] = []
    for _, mine in rows.groupby(["criterion", "detail"], sort=False):
        index = list(mine.index)
        left += index[most // 2 : max(len(index) - most // 2, most // 2)]
    return left


def _designs_chart(
    designs: Sequence[tuple[dict[str, Any], dict[str, Estimate]]], order: str
) -> Chart:
    best = {f["calls"].value: f["e_rho2"].value for k, f in designs if k["group"] != THIS_PANEL}
    here = {f["calls"].value: f["e_rho2"].value for k, f in designs if k["group"] == THIS_PANEL}
    x = sorted({*best, *here})
    return Chart(
        "line", "designs", "Reliability by number of judges",
        f"Expected reliability of the order of {order}: of the best design for each number of "
        "calls a response, and of this panel.",
        rows=["best design for the calls", THIS_PANEL], x=x, axis="expected reliability",
        axis_x="calls a response",
        values=[[known.get(calls, math.nan) for calls in x] for known in (best, here)],
        scale=(0.0, 1.0),
    )  # fmt: skip


def _forest(
    name: str,
    title: str,
    rows: Sequence[str],
    columns: Mapping[str, Sequence[Estimate | None]],
    caption: str,
    **given: Any,
) -> Chart:
    """A forest plot: a marker with its interval for every row and column."""
    value, low, high = (
        [
            [math.nan if one is None else getattr(one, field) for one in row]
            for row in zip(*columns.values(), strict=True)
        ]
        for field in ("value", "low", "high")
    )
    return Chart(
        "forest", name, title, caption, rows=rows, columns=list(columns), values=value, low=low,
        high=high, **given,
    )  # fmt: skip
