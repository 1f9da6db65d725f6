"""What is shown of an examination of judges: a document made of run.json and the estimates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.multiplicity import holm
from ..formats import (
    UNDEFINED,
    count,
    estimate,
    listed,
    number,
    p_value,
    said,
    told_by_reason,
    units,
    words,
)
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
from ..reports.views import Measure, estimates_table
from .estimates import BIASES, COMPOSITE, NO_EARLIER, NO_PROBE, OF_ID, Bias

if TYPE_CHECKING:
    import pandas as pd

FOUND: Final = {
    "differs": "shown",
    "differs within margin": "shown, small",
    "undecided": "not shown",
    "equivalent": "small",
    "undefined": UNDEFINED,
}
"""Verdict to how it is said: what is not shown may be there."""

_ROUNDING: Final = 1e-9
_LABELS: Final = {one.id: one.label for one in BIASES}
_PROBES: Final = {
    "base": "as the run asked",
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
            "New calls tell more; what they would cost:",
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
        self.record, self.estimates = record, estimates
        self.margin = record["identity"]["plan"]["margin"]
        self.alpha = 1 - record["identity"]["plan"]["level"]
        rows = estimates_by(select(estimates, "biases"), ["group"])
        self.found = {str(at["group"]): row["effect"] for at, row in rows}
        self.tested = {k: one for k, one in self.found.items() if not math.isnan(one.p_adjusted)}
        ((_, self.counts),) = estimates_by(select(estimates, "counts"), [])

    def _with(self, *verdicts: str) -> list[Bias]:
        """The biases of such a verdict, points first, the largest first."""
        mine = [OF_ID[name] for name, one in self.found.items() if one.verdict in verdicts]
        return sorted(mine, key=lambda b: (b.unit != "points", -abs(self.found[b.id].value)))

    def _said(self, bias: Bias) -> str:
        size = estimate(self.found[bias.id], is_signed=True)
        unit = " points" if bias.unit else ""
        mark = " (association)" if bias.is_association else ""
        name = "" if bias.unit else f"{bias.label}, "
        return f"{name}{size}{unit} {bias.shown}{mark}"

    def headline(self) -> Iterator[str]:
        """Which biases are shown and how large; what can still be there where none is."""
        tested = self.tested
        shown = self._with("differs", "differs within margin")
        if shown:
            told = "; ".join(self._said(bias) for bias in shown[:3])
            more = f"; and {units(len(shown) - 3, 'more')}" if len(shown) > 3 else ""
            more = more.replace("mores", "more")
            yield f"{len(shown)} of {units(len(tested), 'bias', 'biases')} shown: {told}{more}."
        elif tested:
            yield (
                f"None of {units(len(tested), 'bias', 'biases')} is shown. That is not their "
                f"absence: {self._widest()}."
            )
        else:
            yield f"No bias could be tested ({self._why_none()})."
        drift = self.found["drift"]
        if "earlier" in self.record and not drift.is_defined:
            before = self.record["earlier"]["name"]
            yield f"Whether they drifted since {before} cannot be told: {said(drift.reason)}."
        inside = [b for b in self._with("equivalent", "differs within margin") if b.unit]
        if inside:
            labels = "; ".join(bias.label for bias in inside)
            yield f"Inside ±{self.margin:g} points: {labels}."

    def _widest(self) -> str:
        rows = [(OF_ID[n], one) for n, one in self.found.items() if one.has_interval]
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
            return f"{units(n, 'prompt')} of the {MIN_UNITS} that a test needs"
        of = Counter(one.reason for one in self.found.values() if one.reason)
        told = [why for why, _ in of.most_common() if why not in (NO_PROBE, NO_EARLIER)]
        more = f"; and {units(len(told) - 2, 'other reason')}" if len(told) > 2 else ""
        shown = told[:2] or list(of)
        reasons = ((OF_ID[name].label, one.reason) for name, one in self.found.items())
        return told_by_reason((name, why) for name, why in reasons if why in shown) + more

    def _undecided(self) -> Iterator[tuple[str, str]]:
        """Why a bias is not shown whose figure alone would say that it is there.

        Of n prompts there are 2^n vectors of signs, of which two are the furthest from 0.
        """
        flips = [k for k, v in self.tested.items() if str(v.p_method).startswith("sign flips")]
        least = {k: 2.0 ** (1 - v.n) if k in flips else v.p for k, v in self.tested.items()}
        lowest = dict(zip(least, holm(list(least.values())).tolist(), strict=True))
        open_ = [name for name, one in self.tested.items() if one.verdict == "undecided"]
        never = [k for k in open_ if k in flips and lowest[k] > self.alpha + _ROUNDING]
        if never:
            n = max(self.tested[name].n for name in never)
            floor = p_value(min(lowest[name] for name in never))
            so = "for this, so it cannot be shown" if len(never) == 1 else (
                "for these, so none of them can be shown"
            )  # fmt: skip
            yield (
                "prompts",
                (
                    f"with {units(n, 'prompt')} no p{self._by_holm} can be below {floor} {so}: "
                    f"{'; '.join(_LABELS[name] for name in never)}"
                ),
            )
        for name in open_:
            one = self.tested[name]
            if name not in never and one.has_interval and not one.covers(0):
                told = f"that of {_LABELS[name]} leaves out 0, but its p{self._by_holm} is "
                yield "interval", f"{told}{p_value(one.p_adjusted)}"
            elif one.p_adjusted <= self.alpha + _ROUNDING:
                told = f"that of {_LABELS[name]} holds 0, though its p{self._by_holm} is "
                yield "interval", f"{told}{p_value(one.p_adjusted)}"

    @property
    def _by_holm(self) -> str:
        return " by Holm" if len(self.tested) > 1 else ""

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether the answer can be trusted, and why."""
        counts = self.counts
        judgments = counts["judgments"]
        n_prompts = int(counts["prompts"].value)
        asked = [row["judgments"] for _, row in self._probes()]
        told = (
            f"{count(judgments.n)} scored of {count(judgments.n_planned)} stored judgments on "
            f"{units(int(counts['responses'].value), 'response')} to {units(n_prompts, 'prompt')}"
        )
        if asked:
            n, planned = (sum(getattr(one, k) or 0 for one in asked) for k in ("n", "n_planned"))
            told += f"; probe: {count(n)} of {count(planned)}"
        yield "coverage", told
        yield from self._undecided()
        judges = units(len(self.record["personas"]) * len(self.record["models"]), "judge")
        if len(self.tested) > 1:
            told = f"{len(self.tested)} biases together (Holm) over prompts; {judges}"
            more = "; the more are tested, the less is shown of each"
            yield "tests", told + (more if asked else "")
        elif self.tested:
            yield "tests", f"1 bias over prompts; {judges}"
        if any(self.found[b.id].is_defined for b in BIASES if b.is_association):
            stored = [b.label for b in BIASES if b.is_association and self.found[b.id].is_defined]
            yield "association", f"of stored scores, no cause: {', '.join(stored)}"
        yield "not shown", "is not absence; and a shift is no error: people were not asked"

    def _probes(self) -> list[tuple[Mapping[str, Any], dict[str, Estimate]]]:
        return list(estimates_by(select(self.estimates, "probes"), ["item"]))

    def biases(self) -> list[Part]:
        """The picture, and the one table."""
        parts: list[Part] = []
        drawn = [b for b in BIASES if b.unit and self.found[b.id].is_defined]
        if drawn:
            effects = [self.found[bias.id] for bias in drawn]
            parts.append(
                Chart(
                    "forest", "biases", "Shift of scores",
                    "Points that scores shift by, with intervals over prompts. Own family, length "
                    "and headings are associations.",
                    [bias.label for bias in drawn],
                    values=[[one.value] for one in effects],
                    low=[[one.low] for one in effects],
                    high=[[one.high] for one in effects],
                    axis="points", reference=0.0, is_diverging=True,
                )
            )  # fmt: skip
        level = next((one.level for one in self.found.values() if one.has_interval), 0.95)
        told = f"Points (halo: correlations), {level:.0%} intervals over prompts"
        told += "." if self.margin is None else f"; small: inside ±{self.margin:g}."
        rows: list[list[Scalar | Cell]] = []
        for bias in sorted(BIASES, key=lambda one: _place(self.found[one.id])):
            one = self.found[bias.id]
            if one.is_defined:
                is_shown = (one.verdict or "").startswith("differs")
                found = FOUND.get(one.verdict or "", "")
                rows.append([bias.label, Cell(one, is_bold=is_shown), found, _n_of(one)])
        missing = [bias.label for bias in BIASES if not self.found[bias.id].is_defined]
        notes = [f"Not estimated, the report says why: {'; '.join(missing)}."] if missing else []
        columns = [
            Column("what", "id"), Column("effect", "estimate", is_signed=True),
            Column("found"), Column("prompts"),
        ]  # fmt: skip
        return [*parts, Table(told, "Each bias", columns, rows, notes=notes)]

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
            caption="The same judge asked the same again. SD: between its askings, in points. "
            "Equal: share of pairs of askings with the same score.",
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
                measures=[
                    Measure("mean correlation", "correlation"),
                    Measure("first component", "first component"),
                ],
                caption="How alike criteria are. As scored: over all judgments, which holds that "
                "good responses are good on several criteria. Beyond the response: what one judge "
                "sees and the others do not. Together and apart: all criteria in one call, and "
                "one call each. First component: share of the variance that one dimension carries; "
                f"{number(1 / max(1, len(self.record['criteria'])))} where nothing is shared.",
                label="Correlation of criteria",
            ),
        ]  # fmt: skip
        return [part for part in parts if part is not None]

    def models(self) -> list[Part]:
        """The same by model; own family by family."""
        table = estimates_table(
            self.estimates, "by model", keys={"group": "what", "model": "model or family"},
            measures=[Measure("effect", is_signed=True), Measure("effect", "prompts", "n_of")],
            caption="Each bias of the judges of one model, with its interval: nothing is tested "
            "here, and the largest of many is partly luck. Own family: of the judges of a family, "
            "against responses by nobody's family.",
            label="By model", named={"group": _LABELS},
        )  # fmt: skip
        return [table] if table else []

    def drift(self) -> list[Part]:
        """Who scores the same texts otherwise now."""
        table = estimates_table(
            self.estimates, "drift by judge", keys={"persona": "persona", "model": "model"},
            measures=[
                Measure("effect", "now less then", is_signed=True),
                Measure("effect", "p (Holm)", "p_adjusted"),
                Measure("effect", "prompts", "n_of"),
            ],
            caption="Change on texts that both runs scored.", label="Drift by judge",
        )  # fmt: skip
        parts: list[Part] = [table] if table else []
        if "earlier" in self.record:
            parts.append(Points([_answered(self.record[k], k) for k in ("earlier", "later")]))
        return parts

    def how(self) -> list[Part]:
        """The method of each figure."""
        rows: list[list[Scalar | Cell]] = [
            [bias.label, one.p_adjusted, one.p_method or "", one.method]
            for bias in BIASES
            if (one := self.found[bias.id]).is_defined
        ]
        columns = [
            Column("what", "id"), Column("p (Holm)", "p"), Column("test", "wide"),
            Column("estimator", "wide"),
        ]  # fmt: skip
        return [Table("Estimator and test of each figure.", "Methods", columns, rows)]

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
    verdicts = list(FOUND)
    return verdicts.index(one.verdict) if one.verdict in verdicts else len(verdicts)


def _n_of(one: Estimate) -> str:
    return f"{count(one.n)} of {count(one.n if one.n_planned is None else one.n_planned)}"


def _answered(told: Mapping[str, Any], which: str) -> tuple[str, str]:
    names = [
        f"{model}: {listed(list(by), 3)}" for model, by in dict(told["answered_by"]).items()
    ]  # fmt: skip
    when = f", {told['started']}" if told["started"] else ""
    return f"The {which} run", f"({told['name']}{when}) was answered by {listed(names, 6)}."
