"""What is shown of a stress test, from run.json and its estimates alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregation.effects import FEWEST_JUDGES
from ..audits.headline import capital
from ..formats import count, listed, number, percent, said, told_by_reason, units, words
from ..records.estimates import estimates_by, select
from ..reports.document import (
    Cell,
    Chart,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Scalar,
    Section,
    Table,
)
from ..reports.panel_answer import NOT_CALIBRATED
from ..reports.run_sections import job_sections, state_told
from ..reports.views import Measure, estimates_table
from .answer import UNBALANCED, Answer, framing_name
from .contrasts import COMPOSITE
from .estimates import FREED

if TYPE_CHECKING:
    import pandas as pd

HIGH_CEILING = 0.1
"""Share of judgments at the top of the scale above which a cell is said to stand there."""

_MARKS = {"higher": "*", "lower": "*", "alike": "=", "open": "?"}


def document(
    record: Mapping[str, Any], estimates: pd.DataFrame, *, people: str = NOT_CALIBRATED
) -> Document:
    """The document of a stress test.

    Args:
        record: the content of run.json.
        estimates: the rows of estimates.parquet.
        people: how near the panel is to people.
    """
    shown = _Shown(record, estimates)
    targets = shown.targets
    sections = [
        Section("framings", f"By {shown.noun}", list(shown.summary()), "summary"),
        Section("cells", f"By {shown.noun} and criterion", list(shown.cell_parts())),
        Section("by-model", "By judge model", list(shown.by_model())),
        Section("levels", "Scores under each condition", list(shown.levels())),
        Section(
            "contrasts", f"{capital(shown.noun)}s and targets compared", list(shown.contrasts())
        ),
        Section("noise", "Noise floor", list(shown.noise())),
        Section("counts", "What became of the responses", list(shown.counts())),
        Section(
            "limitations",
            "What cannot be said, and why",
            [Points([("", one) for one in shown.result.get("limitations", ())])],
        ),
        *(replace(one, audience="appendix") for one in job_sections(record)),
    ]
    state = str(record["state"])
    return Document(
        title=f"Stress test of {listed(targets, most=4)}",
        kind="stress",
        headline=shown.headline(),
        trust=list(shown.trust(people)),
        state="" if state in ("complete", "budget") else state_told(record),
        notices=shown.notices,
        sections=sections,
        is_demonstration=bool(record["demonstration"]),
        more=[],
    )


class _Shown(Answer):
    """The parts of the document, with what they share."""

    # The summary

    def summary(self) -> Iterator[Part]:
        """The heat map, and framing by criterion with marks."""
        if not self.total("responses", "scored"):
            return
        columns = [*([COMPOSITE] if len(self.criteria) > 1 else []), *self.criteria]
        rows = [(target, framing) for target in self.targets for framing in self.framings]
        cells = [[self.delta(*row, name) for name in columns] for row in rows]
        signs = self._marks()
        if any(self.bounds(*row) for row in rows):
            signs += f" {UNBALANCED} more judgments are missing on one side."
        yield Chart(
            kind="heatmap",
            name="delta_heatmap",
            title=f"Degradation by {self.noun} and criterion",
            caption=f"{self._what()} {signs} A bold border: {self._bold_at:g} points or more.",
            rows=[
                f"{f'{target}, ' if len(self.targets) > 1 else ''}{self.spoken([framing])}"
                f"{f' {UNBALANCED}' if self.bounds(target, framing) else ''}"
                for target, framing in rows
            ],
            columns=[words(name) for name in columns],
            values=np.asarray([[one.value for one in row] for row in cells]),
            marks=[[_MARKS.get(one.verdict or "", "") for one in row] for row in cells],
            is_diverging=True,
            bold_at=self._bold_at,
        )
        yield self._short_table()

    @property
    def _bold_at(self) -> float:
        return float(self.record.get("config", {}).get("bold_at", 1.2))

    def _what(self) -> str:
        low, high = self.identity["panel"]["scale"]
        return (
            f"Delta = {words(self.plan['baseline'])} minus {self.noun}, in points of {low} to "
            f"{high}; positive is worse."
        )

    def _marks(self) -> str:
        return f"* drops or rises, = stays within {self.margin}, ? open."

    def _short_table(self) -> Table:
        """Framing by criterion of the one target, or target by framing of several."""
        rows: list[list[Scalar | Cell]] = []
        marks, notes = self._marks(), []
        if why := self._no_interval():
            notes.append(f"no interval: {said(why)}")
        if len(self.targets) > 1:
            for target in self.targets:
                marked = [self._marked(target, framing, COMPOSITE, 2) for framing in self.framings]
                rows.append([target, *marked])
            return Table(
                caption=f"{self._what()} Means over criteria: {marks}",
                label=f"Degradation by target and {self.noun}",
                columns=[
                    Column("target", "id"),
                    *(Column(framing_name(name), "number") for name in self.framings),
                ],
                rows=rows,
                notes=notes,
            )
        codes = _codes(self.criteria) if len(self.criteria) > 1 else {}
        for framing in self.framings:
            marked = [self._marked(self.targets[0], framing, name, 1) for name in codes]
            is_uneven = self.bounds(self.targets[0], framing)
            name = self.spoken([framing])
            rows.append(
                [
                    f"{name} {UNBALANCED}" if is_uneven else name,
                    self.delta(self.targets[0], framing),
                    *marked,
                ]
            )
        if codes:
            notes.append(", ".join(f"{code} {words(name)}" for name, code in codes.items()))
        return Table(
            caption=f"{self._what()} {marks}",
            label=f"Degradation by {self.noun}",
            columns=[
                Column(self.noun, "id"),
                Column("composite", "estimate", is_signed=True),
                *(Column(code, "number", 1) for code in codes.values()),
            ],
            rows=rows,
            notes=notes,
        )

    def _no_interval(self) -> str:
        """Why means have no interval, said once."""
        deltas = {(t, f): self.delta(t, f) for t in self.targets for f in self.framings}
        of = f"{{}}{', {}' if len(self.targets) > 1 else ''}"
        return told_by_reason(
            (of.format(framing_name(framing), target), delta.reason)
            for (target, framing), delta in deltas.items()
            if delta.reason
        )

    def _marked(self, target: str, framing: str, criterion: str, digits: int) -> str:
        found = self.delta(target, framing, criterion)
        if not found.is_defined:
            return number(None)
        mark = _MARKS.get(found.verdict or "", "")
        if criterion == COMPOSITE and self.bounds(target, framing):
            mark += UNBALANCED
        return f"{number(found.value, digits, is_signed=True)}{mark}"

    # More

    def cell_parts(self) -> Iterator[Part]:
        """Every cell with what is decided of it; those at the top of the scale."""
        whole = "one target" if self.plan["family"] == "target" else "all targets"
        yield from self._table(
            "degradation",
            [
                Measure("degradation", "delta", is_signed=True),
                Measure("degradation", "verdict", "verdict", called=self._verdicts),
                *self._prompts("degradation"),
            ],
            keys=("framing", "criterion"),
            caption=f"{self._what()} {self._decided(f'the cells of {whole}')} The composites are "
            "a family of their own.",
        )
        yield from self._at_the_top()

    def _prompts(self, table: str, measure: str = "") -> list[Measure]:
        """The columns of prompts: those that count, where some do not, and those needed."""
        rows, name = select(self.frame, table), measure or table
        needed = Measure(name, "needed", "needed", is_count=True)
        if (rows["n"] == rows["n_planned"]).all():
            return [needed]
        return [Measure(name, "prompts", "n_of"), needed]

    @property
    def _verdicts(self) -> dict[str, str]:
        return {"higher": "drops", "lower": "rises", "alike": f"within {self.margin}"}

    def _decided(self, family: str) -> str:
        """How a table is decided, for its caption."""
        return (
            f"{1 - self.plan['alpha']:.0%} intervals over prompts that hold for {family} "
            "together. Scores drop or rise where the interval leaves out 0, and stay within "
            f"{self.margin} where it lies inside; else it is open, and the prompts needed would "
            f"show a difference of {self.plan['margin']:g} in 8 of 10 studies."
        )

    def _at_the_top(self) -> Iterator[Part]:
        level = select(self.frame, "level")
        shares = {
            (keys["respondent"], keys["framing"], keys["criterion"]): figures["at_top"].value
            for keys, figures in estimates_by(level, ("respondent", "framing", "criterion"))
            if "at_top" in figures
        }
        rows: list[list[Scalar | Cell]] = []
        for target, framing, criterion in product(self.targets, self.framings, self.criteria):
            both = [shares[target, name, criterion] for name in (self.plan["baseline"], framing)]
            if max(both) > HIGH_CEILING:
                verdict = str(self.delta(target, framing, criterion).verdict)
                names = [target, framing_name(framing), words(criterion)]
                rows.append([*names, *both, self._verdicts.get(verdict, verdict)])
        if rows:
            yield Table(
                caption=f"At the top: cells with more than {percent(HIGH_CEILING)} of judgments at "
                "the top of the scale, where a rise can no longer show; that nothing moves says "
                "less there.",
                label="At the top",
                columns=[
                    Column("target", "id"),
                    Column(self.noun, "id"),
                    Column("criterion", "id"),
                    Column(words(self.plan["baseline"]), "percent", 0),
                    Column(self.noun, "percent", 0),
                    Column("verdict"),
                ],
                rows=rows,
            )

    def levels(self) -> Iterator[Part]:
        """Mean scores under each condition."""
        rows = select(self.frame, "level")
        found = {
            (keys["respondent"], keys["framing"], keys["criterion"]): figures["mean"]
            for keys, figures in estimates_by(rows, ("respondent", "framing", "criterion"))
        }
        means = [
            [[found[t, f, c] for f in self.conditions] for c in self.criteria] for t in self.targets
        ]
        value = np.asarray([[[one.value for one in row] for row in part] for part in means])
        error = np.asarray([[[one.se for one in row] for row in part] for part in means])
        low, high = self.identity["panel"]["scale"]
        yield Chart(
            kind="bars",
            name="scorecard",
            title="Scores under each condition",
            caption="Means over prompts; error bars are one standard error over prompts."
            + (
                " Judges are missing in some conditions: means from the additive fit of responses "
                "and judges."
                if any(FREED in one.method for one in found.values())
                else ""
            ),
            rows=[words(name) for name in self.criteria],
            columns=[framing_name(name) for name in self.conditions],
            values=value,
            low=value - error,
            high=value + error,
            facets=self.targets if len(self.targets) > 1 else (),
            axis=f"mean score ({low} to {high})",
            scale=(float(low), float(high)),
        )
        yield from self._table(
            "level",
            [Measure("mean"), Measure("mean", "prompts", "n_of")],
            keys=("framing", "criterion"),
            caption="Mean scores with 95% t intervals over prompts.",
            heads={"framing": "condition"},
        )

    def contrasts(self) -> Iterator[Part]:
        """The asymmetry, the contrasts, targets against each other, abstention."""
        declared = self.plan["asymmetry_dimension"]
        agree, disagree = (framing_name(self.plan[name]) for name in ("agree", "disagree"))
        yield from self._differences(
            "asymmetry",
            keys=("criterion",),
            where={"detail": "declared"},
            caption=f"Asymmetry on {words(declared)}: delta under {agree} minus delta under "
            f"{disagree}. Positive: agreement costs more, which the SCRuB "
            "paper reads as sycophancy.",
        )
        yield from self._differences(
            "comparison",
            keys=("baseline", "framing"),
            where={"criterion": COMPOSITE},
            heads={"respondent": "first", "baseline": "second"},
            caption="Targets compared on the same prompts: mean delta of the first minus that of "
            "the second, paired.",
        )
        yield from self._differences(
            "contrast",
            keys=("factor", "group", "detail"),
            heads={"factor": "of", "group": "first", "detail": "second"},
            named=self._contrasted(),
            caption="Contrasts: mean delta of the first minus that of the second.",
        )
        if select(self.frame, "abstention")["value"].any():
            yield from self._differences(
                "abstention",
                keys=("framing",),
                caption=f"Abstention: share of the prompts declined under the {self.noun} minus "
                "the share declined at the baseline.",
            )

    def _differences(self, table: str, **options: Any) -> list[Part]:
        """Differences of one family with what is decided of them."""
        return self._table(
            table,
            [
                Measure("difference", is_signed=True),
                Measure("difference", "verdict", "verdict"),
                *self._prompts(table, "difference"),
            ],
            **options,
        )

    def noise(self) -> Iterator[Part]:
        """How much scores vary when nothing but the asking, or the answer, is new."""
        rows = select(self.frame, "noise", criterion=COMPOSITE)
        asked = {
            self.named["detail"][row["detail"]]: units(int(row["n"]), "response")
            for row in rows[rows["measure"] == "retest_sd"].to_dict("records")
        }
        rows = select(self.frame, "noise")
        known = {
            (measure, field)
            for field in ("value", "high")
            for measure in rows[rows[field].notna()]["measure"]
        }
        meant = [
            told
            for at, told in (
                (("retest_sd", "value"), "sd: of a panel mean when nothing else is new"),
                (("retest_sd", "high"), "bound: its upper 95% limit"),
                (("shift", "value"), "shift: second minus first"),
                (("sdc_prompt", "value"), "SDC: the change that noise alone passes in 5 of 100"),
            )
            if at in known
        ]
        found = self._table(
            "noise",
            [
                Measure("retest_sd", "sd", "value"),
                Measure("retest_sd", "bound", "high"),
                Measure("shift", field="value", is_signed=True),
                Measure("sdc_prompt", "SDC, one prompt", "value"),
                Measure("sdc_mean", f"SDC, mean of {self.total('responses', 'prompts')}", "value"),
            ],
            keys=("criterion",),
            first=("detail",),
            heads={"detail": "what was new"},
            caption=f"{capital(listed([f'{what}: {n}' for what, n in asked.items()]))}. "
            f"{'; '.join(meant)}. The margin is {self.plan['margin']:g} points.",
        )
        yield from found or [Paragraph("Nobody was asked again, and nothing generated again.")]

    def counts(self) -> Iterator[Part]:
        """Responses, judgments and variants by what became of them."""
        names = ("planned", "scored", "abstained", "refused", "empty", "failed", "not_asked")
        rows = select(self.frame, "responses")
        used = {n for n in rows["measure"].unique() if self.total("responses", n)}
        shown = [n for n in (*names, "no_variant") if n in used or n in ("scored", "abstained")]
        yield from self._table(
            "responses",
            [
                *(Measure(n, field="value", is_count=True) for n in shown),
                *(
                    Measure(f"again_{n}", f"once more: {n}", "value", is_count=True)
                    for n in ("planned", "scored")
                    if f"again_{n}" in used
                ),
            ],
            keys=("framing",),
            heads={"framing": "condition"},
            caption="Responses. Abstained: those that most judges, or the target's provider, call "
            "a refusal to engage; no variant: no usable variant to ask; once more: generated "
            "again to see how much responses vary, in no figure.",
        )
        statuses = list(select(self.frame, "judgments")["measure"].unique())
        yield from self._table(
            "judgments",
            [
                Measure(n, field="value", is_count=True)
                for n in statuses
                if n == "scored" or self.total("judgments", n)
            ],
            keys=("framing",),
            heads={"framing": "condition"},
            caption="Judgments on these responses, by status.",
        )
        yield from self._variants()

    def _variants(self) -> Iterator[Part]:
        rows = select(self.frame, "variants")
        if rows.empty:
            return
        found = {n: self.total("variants", n) for n in rows["measure"].unique()}

        def listed_counts(measure: str, key: str) -> str:
            mine = rows[rows["measure"] == measure]
            pairs = zip(mine[key], mine["value"], strict=True)
            return ", ".join(f"{name} ({count(n)})" for name, n in pairs)

        became = (
            f"{count(found['accepted'])} accepted of {count(found['planned'])} planned, "
            f"{count(found['failed'])} failed, {count(found['not_asked'])} not asked; "
            f"{units(found['repaired'], 'prompt')} asked a second time"
        )
        points = [
            ("Variants:", became),
            ("Written by:", listed_counts("rewriters", "model")),
            ("Reviewed by a second model:", _why_not_checked(listed_counts("reviewed", "detail"))),
        ]
        if "reasons" in found:
            points.append(("Faults:", listed_counts("reasons", "detail")))
        yield Points(points)

    def _contrasted(self) -> dict[str, dict[str | None, str]]:
        """What the sides of contrasts are called: of many, "all others"."""
        rows = select(self.frame, "contrast")
        wholes = [set(self.framings), set(self.criteria)]

        def side(given: str) -> str:
            names = given.split(", ")
            if len(names) > 2 and any(len(all_ - {*names}) == 1 for all_ in wholes):
                return "all others"
            return ", ".join(map(framing_name, names))

        return {
            **self.named,
            **{key: {one: side(one) for one in rows[key].unique()} for key in ("group", "detail")},
        }

    def by_model(self) -> Iterator[Part]:
        """The mean delta as each judge's model sees it, and the judgments both sides share."""
        yield from self._table(
            "direction",
            [
                Measure("degradation", "delta", is_signed=True),
                Measure("degradation", "prompts", "n_of"),
            ],
            keys=("framing", "model"),
            caption="Mean delta over criteria in the scores of each judge's model alone. A change "
            "that one model sees and others do not is a finding about that judge.",
        )
        if self.total("balance", "one_sided"):
            yield from self._table(
                "balance",
                [
                    Measure(
                        "scored", "share scored, baseline minus other", "value", is_percent=True
                    ),
                    Measure("one_sided", "on one side only", "value", is_count=True),
                    Measure("left_out", "left out", "value", is_count=True),
                    Measure("bounds", "least", "low", is_signed=True),
                    Measure("bounds", "most", "high", is_signed=True),
                ],
                keys=("framing",),
                caption="Missing judgments. On one side only: judgments that count on neither "
                "side. Left out: responses that fewer than "
                f"{FEWEST_JUDGES} of the same judges scored on both sides. Least and most: what "
                "the change could be with the missing judgments at the ends of the scale, where "
                "more are missing on one side.",
            )

    def _table(
        self,
        table: str,
        measures: Sequence[Measure],
        *,
        keys: Sequence[str],
        caption: str,
        first: Sequence[str] = ("respondent",),
        heads: Mapping[str, str] | None = None,
        where: Mapping[str, str | None] | None = None,
        named: Mapping[str, Mapping[str | None, str]] | None = None,
    ) -> list[Part]:
        """A table of estimates, the target's name first."""
        titles = {"respondent": "target", "framing": self.noun, "detail": "what"} | dict(
            heads or {}
        )
        made = estimates_table(
            self.frame,
            table,
            keys={name: titles.get(name, "") for name in (*first, *keys)},
            measures=measures,
            caption=caption,
            where=where,
            named=named or self.named,
        )
        return [] if made is None else [made]


def _codes(criteria: Sequence[str]) -> dict[str, str]:
    """A short heading for each criterion: its initials, or more letters where two share them."""
    codes = {
        name: "".join(part[0] for part in name.split("_") if part).upper() for name in criteria
    }
    if len(set(codes.values())) < len(codes) or any(len(code) < 2 for code in codes.values()):
        return {name: name[:8] for name in criteria}
    return codes


def _why_not_checked(told: str) -> str:
    """Without the brackets within brackets of "not checked (no_variant) (2)"."""
    return re.sub(
        r"not checked \(([\w ]+)\)", lambda found: f"not checked: {words(found[1])}", told
    )
