"""What is shown of an examination of judges: a document made of run.json and the estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..formats import count, estimate, listed, number, said, told_by_reason, units, words
from ..panel_estimates import NOBODY_SCORED
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
from ..reports.run_sections import job_sections
from ..reports.views import Measure, estimates_table, joint_limits, jointly
from .estimates import BIASES, COMPOSITE, NO_EARLIER, NO_PROBE, OF_ID, Bias

if TYPE_CHECKING:
    import pandas as pd

_FIRST: Final = ("higher", "lower", "alike", "open")
"""Verdicts in the order of the table."""
_LABELS: Final = {one.id: one.label for one in BIASES}
_PROBES: Final = {
    "base": "as in the run",
    "order": "criteria rotated",
    "calls": "one call a criterion, or all in one",
    "persona": "persona on the other side",
    "length": "every second sentence said again",
    "formatting": "the same words in the other form",
}


def judges_document(
    record: Mapping[str, Any], estimates: pd.DataFrame, *, judged: str = "RUN"
) -> Document:
    """What is shown of an examination.

    Args:
        record: the content of run.json.
        estimates: of `estimates.estimate`.
        judged: the folder of the run whose judges were examined.
    """
    found = _Judges(record, estimates)
    return Document(
        title="How these judges behave",
        kind="judges",
        headline=list(found.headline()),
        trust=list(found.trust()),
        more=[]
        if "panel" in record or record["is_imported"]
        else [
            "To test the others, see the cost of new calls:",
            f"areopagus judges {judged} --probe 20 --dry-run",
        ],
        notices=[str(notice) for notice in record["notices"]],
        sections=[
            Section("biases", "Each bias", found.biases(), "summary"),
            Section("missing", "What is missing", found.missing()),
            Section("consistency", "Consistency of each judge", found.consistency()),
            Section("criteria", "Criteria: place and halo", found.criteria()),
            Section("models", "By model", found.models()),
            Section("drift", "Drift, judge by judge", found.drift()),
            Section("how", "How each is estimated", found.how()),
            Section("probe", "What was asked", found.probe(), "appendix"),
            *job_sections(record),
        ],
        is_demonstration=bool(record["demonstration"]),
    )


class _Judges:
    """The figures of an examination, by what is asked of them."""

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record, self.estimates = record, joint_limits(estimates)
        self.margin = record["identity"]["plan"]["margin"]
        rows = estimates_by(select(self.estimates, "biases"), ["group"])
        self.found = {str(at["group"]): row["effect"] for at, row in rows}
        self.tested = {
            name: one for name, one in self.found.items() if one.verdict not in (None, "undefined")
        }
        ((_, self.counts),) = estimates_by(select(estimates, "counts"), [])

    def _with(self, *verdicts: str) -> list[Bias]:
        """The biases of such a verdict, points first, the largest first."""
        mine = [OF_ID[name] for name, one in self.found.items() if one.verdict in verdicts]
        return sorted(mine, key=lambda b: (b.unit != "points", -abs(self.found[b.id].value)))

    def _sentence(self, bias: Bias) -> str:
        """What is shown of a bias: "scores are 0.60 [0.38, 0.82] points lower for …"."""
        one = jointly(self.found[bias.id])
        if not bias.unit:
            return f"criteria correlate {estimate(one, is_signed=True)} {bias.when}"
        side = "higher" if one.value > 0 else "lower"
        if one.value < 0:
            one = replace(one, value=-one.value, low=-one.high, high=-one.low)
        return f"scores are {estimate(one)} points {side} {bias.when}"

    def headline(self) -> Iterator[str]:
        """Which biases are shown and how large; what can still be there where none is."""
        tested = self.tested
        where = "In this panel's stored scores" if not self._probes() else "For this panel"
        shown = self._with("higher", "lower")
        n_tested = units(len(tested), "bias", "biases")
        if shown:
            left = f"; and {len(shown) - 3} more" if len(shown) > 3 else ""
            sentences = "; ".join(self._sentence(bias) for bias in shown[:3])
            is_or_are = "is" if len(shown) == 1 else "are"
            yield f"{where}, {len(shown)} of {n_tested} {is_or_are} shown: {sentences}{left}."
        elif tested:
            yield (
                f"{where}, none of {n_tested} is shown. That does not prove that there is none: "
                f"{self._widest()}."
            )
        else:
            yield f"No bias could be tested ({self._why_none()})."
        drift = self.found["drift"]
        if "earlier" in self.record and not drift.is_defined:
            before = self.record["earlier"]["name"]
            yield f"Whether the judges drifted since {before} is unknown: {said(drift.reason)}."
        if alike := [bias for bias in self._with("alike") if bias.unit]:
            labels = "; ".join(bias.label for bias in alike)
            within = "No difference" if self.margin is None else f"Within ±{self.margin:g} points"
            yield f"{within}: {labels}."

    def _widest(self) -> str:
        rows = [(OF_ID[n], jointly(one)) for n, one in self.found.items() if one.has_interval]
        rows = [(bias, one) for bias, one in rows if bias.unit]
        if not rows:
            return "no interval in points could be made"
        bias, one = max(rows, key=lambda row: max(-row[1].low, row[1].high))
        far = one.high if one.high >= -one.low else one.low
        return f"the widest interval reaches {number(far, is_signed=True)} points ({bias.label})"

    def _why_none(self) -> str:
        """What the stored scores lack, the reason of most biases first; else what was not asked."""
        if not self.counts["judgments"].n:
            return NOBODY_SCORED
        if (n := int(self.counts["prompts"].value)) < MIN_UNITS:
            return f"{units(n, 'prompt')}, and a test needs {MIN_UNITS}"
        of = Counter(one.reason for one in self.found.values() if one.reason)
        told = [why for why, _ in of.most_common() if why not in (NO_PROBE, NO_EARLIER)]
        more = f"; and {units(len(told) - 2, 'other reason')}" if len(told) > 2 else ""
        shown = told[:2] or list(of)
        reasons = ((OF_ID[name].label, one.reason) for name, one in self.found.items())
        return told_by_reason((name, why) for name, why in reasons if why in shown) + more

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether the answer can be trusted, and why."""
        stored = [bias for bias in BIASES if bias.is_association and bias.id in self.tested]
        if stored:
            which = "these" if len(stored) == len(self.tested) else (
                listed([bias.label.partition(":")[0] for bias in stored])
            )  # fmt: skip
            are = "is an association, not a cause" if len(stored) == 1 and which != "these" else (
                "are associations, not causes"
            )  # fmt: skip
            yield "cause", f"{which} {are}"
        yield "people", "not asked; a bias need not be an error"
        judgments, n_prompts = self.counts["judgments"], int(self.counts["prompts"].value)
        judges = units(len(self.record["personas"]) * len(self.record["models"]), "judge")
        told = (
            f"{count(judgments.n)} of {units(judgments.n_planned or 0, 'judgment')} scored, by "
            f"{judges} on {units(n_prompts, 'prompt')}"
        )
        if asked := [row["judgments"] for _, row in self._probes()]:
            n, planned = (sum(getattr(one, k) or 0 for one in asked) for k in ("n", "n_planned"))
            told += f"; {count(n)} of {count(planned)} new ones"
        yield "coverage", told
        if left := len(BIASES) - len(self.tested):
            others = "other bias needs" if left == 1 else "other biases need"
            yield "untested", f"{left} {others} new calls or other data"

    def _probes(self) -> list[tuple[Mapping[str, Any], dict[str, Estimate]]]:
        return list(estimates_by(select(self.estimates, "probes"), ["item"]))

    def biases(self) -> list[Part]:
        """The picture, and the one table."""
        parts: list[Part] = []
        drawn = [b for b in BIASES if b.unit and self.found[b.id].is_defined]
        if drawn:
            effects = [jointly(self.found[bias.id]) for bias in drawn]
            parts.append(
                Chart(
                    "forest", "biases", "Shift of scores",
                    "Points that scores shift by, with the limits that decide. Own family, length "
                    "and formatting are associations.",
                    [bias.label for bias in drawn],
                    values=[[one.value] for one in effects],
                    low=[[one.low] for one in effects],
                    high=[[one.high] for one in effects],
                    axis="points", reference=0.0, is_diverging=True,
                )
            )  # fmt: skip
        n = len(self.tested)
        told = f"Points (halo: correlations) over prompts; intervals hold jointly for {n} biases."
        if n < 2:
            told = "Points (halo: correlations) over prompts, with 95% intervals."
        rows: list[list[Scalar | Cell]] = []
        for bias in sorted(BIASES, key=lambda one: _place(self.found[one.id])):
            one = self.found[bias.id]
            if one.is_defined:
                is_shown = one.verdict in ("higher", "lower")
                cell = Cell(jointly(one), is_bold=is_shown)
                rows.append([bias.label, cell, self._result(one)])
        columns = [
            Column("bias", "id"), Column("effect", "estimate", is_signed=True), Column("result"),
        ]  # fmt: skip
        notes = ["Open does not mean absent."] if self._with("open") else []
        return [*parts, Table(told, "Each bias", columns, rows, notes=notes)]

    def _result(self, one: Estimate) -> str:
        if one.verdict == "alike" and self.margin is not None:
            return f"within ±{self.margin:g}"
        return "" if one.verdict in (None, "undefined") else str(one.verdict)

    def missing(self) -> list[Part]:
        """Why figures or intervals are missing."""
        rows = [
            [bias.label, said(one.reason)] for bias in BIASES if (one := self.found[bias.id]).reason
        ]
        columns = [Column("what", "id"), Column("why", "wide")]
        caption = "Why there is no figure, or no interval."
        return [Table(caption, "What is missing", columns, rows)] if rows else []

    def consistency(self) -> list[Part]:
        """How far a judge agrees with itself."""
        found = select(self.estimates, "consistency")
        if not found["value"].notna().any():
            return [Paragraph(f"{said(str(found['reason'].iloc[0]))}.".capitalize(), "quiet")]
        table = estimates_table(
            self.estimates, "consistency", keys={"criterion": "score", "factor": "from"},
            measures=[Measure("SD"), Measure("equal"), Measure("SD", "prompts", "n")],
            caption="The same judge asked the same again. SD: between its scores, in points. "
            "Equal: share of pairs of scores that are the same.",
            label="Consistency", named={"criterion": {COMPOSITE: "mean of the criteria"}},
        )  # fmt: skip
        return [table] if table else []

    def criteria(self) -> list[Part]:
        """What each place adds, and how alike criteria are."""
        parts: list[Part | None] = [
            estimates_table(
                self.estimates, "places", keys={"item": "place, 1 = asked first"},
                measures=[Measure("effect", "points", is_signed=True)],
                caption="What a criterion gains by its place, against the mean of all places. Each "
                "is compared with itself at other places, by the same judge on the same response.",
                label="Places", is_short=True,
            ),
            estimates_table(
                self.estimates, "correlations", keys={"detail": "judgments"},
                measures=[Measure("mean correlation", "correlation")],
                caption="How alike criteria are. As scored: over all judgments, where good "
                "responses are good on several criteria. Beyond the response: what one judge sees "
                "and the others do not. Together and apart: all criteria in one call, and one call "
                "each.",
                label="Correlation of criteria",
            ),
        ]  # fmt: skip
        return [part for part in parts if part is not None]

    def models(self) -> list[Part]:
        """The same by model; own family by family."""
        table = estimates_table(
            self.estimates, "by model", keys={"group": "bias", "model": "model or family"},
            measures=[Measure("effect", is_signed=True), Measure("effect", "prompts", "n_of")],
            caption="Each bias of the judges of one model, with its own 95% interval: nothing is "
            "tested here, and the largest of many is partly luck. Own family: of the judges of a "
            "family, against responses by no judge's family.",
            label="By model", named={"group": _LABELS},
        )  # fmt: skip
        return [table] if table else []

    def drift(self) -> list[Part]:
        """Who scores the same texts otherwise now."""
        table = estimates_table(
            self.estimates, "drift by judge", keys={"persona": "persona", "model": "model"},
            measures=[
                Measure("effect", "change", is_signed=True),
                Measure("effect", "result", "verdict"),
                Measure("effect", "prompts", "n_of"),
            ],
            caption="This run minus the earlier one, on texts that both scored; intervals hold "
            "jointly for all judges.",
            label="Drift by judge",
        )  # fmt: skip
        parts: list[Part] = [table] if table else []
        if "earlier" in self.record:
            parts.append(Points([_answered(self.record[k], k) for k in ("earlier", "later")]))
        return parts

    def how(self) -> list[Part]:
        """The method of each figure."""
        rows: list[list[Scalar | Cell]] = [
            [bias.label, one.p, one.p_method or "", _n_of(one), one.needed, one.method]
            for bias in BIASES
            if (one := self.found[bias.id]).is_defined
        ]
        columns = [
            Column("bias", "id"), Column("p", "p"), Column("rule", "wide"), Column("prompts"),
            Column("prompts needed", "count"), Column("estimator", "wide"),
        ]  # fmt: skip
        caption = "How each figure is made and decided, p for all biases together. Prompts needed: "
        caption += "to decide an open one within the margin, or to detect 0.2 points."
        return [Table(caption, "Methods", columns, rows)]

    def probe(self) -> list[Part]:
        """What each arm asked, and what came of it."""
        rows: list[list[Scalar | Cell]] = []
        for at, row in self._probes():
            name, judgments = str(at["item"]), row["judgments"]
            longer = row["words"].value if "words" in row else None
            rows.append([_PROBES.get(name, words(name)), _n_of(judgments), longer])
        if not rows:
            return [Paragraph("Nothing: everything is estimated from stored scores.", "quiet")]
        return [
            Table(
                "Judgments scored of those planned, and words over those of the response as it "
                "is. The texts and every judgment stand in the folder probe/.",
                "Arms of the probe",
                [Column("arm"), Column("judgments"), Column("words", "number")],
                rows,
            )
        ]


def _place(one: Estimate) -> int:
    """What is shown stands first."""
    return _FIRST.index(one.verdict) if one.verdict in _FIRST else len(_FIRST)


def _n_of(one: Estimate) -> str:
    return f"{count(one.n)} of {count(one.n if one.n_planned is None else one.n_planned)}"


def _answered(told: Mapping[str, Any], which: str) -> tuple[str, str]:
    names = [
        f"{model}: {listed(list(by), 3)}" for model, by in dict(told["answered_by"]).items()
    ]  # fmt: skip
    when = f", {told['started']}" if told["started"] else ""
    return f"The {which} run", f"({told['name']}{when}) was answered by {listed(names, 6)}."
