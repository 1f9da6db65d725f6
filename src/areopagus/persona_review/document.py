"""What is shown of a review of personas: made of run.json, the estimates and departures.csv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.departures import departs
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..calibration.answer import demonstration
from ..formats import estimate, listed, listed_all, number, said, units, words
from ..records.estimates import estimate_at, estimates_by, select
from ..reports.document import (
    Column,
    Document,
    Entry,
    Paragraph,
    Part,
    Points,
    Records,
    Section,
    View,
)
from ..reports.views import Measure, estimates_chart, estimates_table, joint_limits, jointly
from .response_table import DEPARTURES_FILE

if TYPE_CHECKING:
    import pandas as pd

_MOST_SAID: Final = 3
"""Personas that the headline speaks of by name."""

_ORDER: Final = (
    Measure("accuracy", "right", "value"),
    Measure("accuracy_others", "others", "value"),
    Measure("order", "differs", is_signed=True),
)
_TESTED: Final = (*_ORDER, Measure("order", "result", "verdict"))
_LEVEL: Final = (
    Measure("level", "persona", "value", is_signed=True),
    Measure("level_others", "others", "value", is_signed=True),
    Measure("level", "against people", "verdict"),
    Measure("severity", "apart", is_signed=True),
    Measure("severity", "against the others", "verdict"),
)


def review_document(
    record: Mapping[str, Any], estimates: pd.DataFrame, rows: Sequence[Mapping[str, Any]]
) -> Document:
    """Describes a review: which persona departs from people, and where.

    Args:
        record: the content of run.json.
        estimates: every figure.
        rows: of `run.read_departures`.
    """
    shown = _Shown(record, estimates, rows)
    sections = [
        Section("departures", "Agreement in order", list(shown.summary()), "summary"),
        Section("order", "Order, by criterion", list(shown.order())),
        Section("level", "Level", list(shown.level())),
        Section("respondents", "Respondents marked up and down", list(shown.respondents())),
        Section("responses", "Where they stand farthest from people", list(shown.responses())),
        Section("method", "How it was computed", list(shown.method()), "appendix"),
    ]
    return Document(
        title="Review of personas against people",
        kind="persona_review",
        headline=list(shown.headline()),
        trust=list(shown.trust()),
        sections=sections,
        is_demonstration=bool(record["stand_ins"]),
        demonstration=demonstration(record["stand_ins"]),
    )


class _Shown:
    """The parts of the document of one review."""

    def __init__(
        self,
        record: Mapping[str, Any],
        estimates: pd.DataFrame,
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        self.record = record
        self.estimates = joint_limits(estimates)
        self.rows = rows
        self.personas: list[str] = list(record["personas"])
        self.main: dict[str, str] = record["criteria"][0]
        self.several = len({one["criterion"] for one in record["criteria"]}) < len(
            record["criteria"]
        )

    # The answer

    def headline(self) -> Iterator[str]:
        n = self._n_prompts()
        if 0 < n < MIN_UNITS:
            yield (
                f"{units(n, 'prompt')} both rated and scored: too few to show where a persona "
                f"departs from people (at least {MIN_UNITS})."
            )
            return
        if len(self.record["panel_personas"]) < 2:
            (one,) = self.personas
            found = self._figure(one, self.main, "accuracy")
            yield (
                f"{one} orders {estimate(found)} of the pairs as people do; no other persona "
                "judged, so that nothing can be called its own."
            )
            return
        departing = [name for name in self.personas if self._named(name)]
        for name in departing[:_MOST_SAID]:
            yield self._departure_sentence(name)
        rest = departing[_MOST_SAID:]
        if rest:
            yield f"So do {listed(rest, 8)}, each on some criterion."
        if not departing:
            who = (
                f"{self.personas[0]} is not shown"
                if len(self.personas) == 1
                else f"None of {units(len(self.personas), 'persona')} is shown"
            )
            yield (
                f"{who} to agree with people less than the other personas do{self._where()}; "
                f"{self._shared()}."
            )
        levels = self._levels()
        if levels:
            yield levels

    def _shared(self) -> str:
        """What all have in common with people: where nobody departs, all may."""
        found = [self._figure(name, self.main, "accuracy") for name in self.personas]
        right = [one.value for one in found if one.is_defined] or [float("nan")]
        low, high = number(min(right)), number(max(right))
        told = low if low == high else f"{low} to {high}"
        who = "it orders" if len(right) == 1 else "each orders"
        return f"{who} {told} of the pairs as people do ({self._criterion(self.main)})"

    def _where(self) -> str:
        n = len(self.record["criteria"])
        return f" on any of {n} criteria" if n > 1 else f" on {self._criterion(self.main)}"

    def _departure_sentence(self, name: str) -> str:
        told: list[str] = []
        for keys in self._named(name):
            own, apart = (jointly(self._figure(name, keys, m)) for m in ("accuracy", "order"))
            limits = ""
            if apart.has_interval:
                limits = f" [{number(-apart.high)}, {number(-apart.low)}]"
            right = "" if told else "right on "
            pairs = "" if told else " of the pairs that people order"
            told.append(
                f"{self._criterion(keys)} ({right}{number(own.value)}{pairs}, "
                f"{number(-apart.value)}{limits} below)"
            )
        elsewhere = len(self.record["criteria"]) - len(told)
        end = "; no difference shown elsewhere" if elsewhere else ""
        return f"{name} agrees with people less than the other personas on {listed_all(told)}{end}."

    def _levels(self) -> str:
        """Who is harsh or lenient, in one sentence that says it is no matter of order."""
        keys = self._scored()
        sides: dict[int, list[str]] = {}
        for name in self.personas:
            measures = ("level", "level_others", "severity")
            side = departs(*(self._figure(name, keys, measure) for measure in measures))
            sides.setdefault(side, []).append(name)
        sentences = [
            f"{what} than people and the others: {listed(sides[side], 4)}"
            for side, what in ((-1, "harsher"), (1, "more lenient"))
            if side in sides
        ]
        if not sentences:
            return ""
        told = "; ".join(sentences)
        on = self._criterion(self._scored())
        return f"{told[0].upper()}{told[1:]} ({on}). That is level, which may be meant, not order."

    def trust(self) -> Iterator[tuple[str, str]]:
        matched = {
            name: self._count("matched", f"n_{name}s")
            for name in ("rater", "prompt", "response", "persona", "model")
        }
        counted = ", ".join(units(matched[n], n) for n in ("rater", "prompt", "response"))
        yield "people", f"{counted} rated"
        judged = ", ".join(units(matched[n], n) for n in ("persona", "model"))
        yield "panel", f"{judged}; each persona is the mean over its models"
        yield (
            "named",
            (
                "what is the persona's own: against people and against the other personas, "
                "all personas and criteria decided together"
            ),
        )

    # The sections

    def summary(self) -> Iterator[Part]:
        """Every persona on the main criterion; of one persona, every criterion."""
        mine = select(self.estimates, "departures")
        by, of = "criterion", self.personas[0]
        if len(self.personas) > 1:
            by, of = "persona", self._criterion(self.main)
            mine = self._rows_of(mine, self.main)
            worst = mine[mine["measure"] == "order"].set_index("persona")["value"]
            mine = mine.sort_values("persona", key=lambda names: names.map(worst), kind="stable")
        chart = estimates_chart(
            mine, "departures", "forest", measure="order", rows=by, name="order",
            title=f"Order, {of}",
            caption="Pair accuracy with people less that of the other personas, each alone, with "
            "intervals over prompts. Left of the line: it orders less as people do.",
            axis="accuracy beyond the others", reference=0.0,
        )  # fmt: skip
        if chart is not None:
            yield chart
        made = estimates_table(
            mine, "departures", keys={by: ""}, measures=_TESTED, label=f"By {by}",
            caption=f"{of[0].upper()}{of[1:]}: share of the pairs that people order which the "
            "persona orders alike, beside the other personas, each alone"
            f"{'; the lowest beside them first.' if by == 'persona' else '.'}",
        )  # fmt: skip
        if made is not None:
            yield made

    def order(self) -> Iterator[Part]:
        """Every persona and criterion, where the summary has not shown all of them."""
        if len(self.personas) == 1 or len(self.record["criteria"]) == 1:
            return
        made = estimates_table(
            self.estimates, "departures", keys=self._keys("persona"),
            measures=_TESTED,
            caption="Pair accuracy with people, ties of judges one half, of the persona and of the "
            "other personas, each alone; intervals hold jointly for all rows.",
            label="Order by criterion",
        )  # fmt: skip
        if made is not None:
            yield made

    def level(self) -> Iterator[Part]:
        """How harsh or lenient each persona is."""
        yield Paragraph(
            "A persona may be harsh by design: a level moves every response alike and can be taken "
            "out. An order cannot.",
            "quiet",
        )
        made = estimates_table(
            self.estimates, "departures", keys=self._keys("persona"), measures=_LEVEL,
            caption="Score minus people's mean in points, of the persona, of the other personas, "
            "and the difference. Harsh or lenient is who differs from people and from the others "
            "on one side, and is farther from people than they are.", label="Level",
        )  # fmt: skip
        if made is not None:
            yield made

    def respondents(self) -> Iterator[Part]:
        """What each persona gives to whose responses."""
        table = select(self.estimates, "respondents")
        if not len(table[table["respondent"].notna()]):
            for one in (e for _, f in estimates_by(table, ["criterion"]) for e in f.values()):
                yield Paragraph(f"Undefined: {said(one.reason)}.", "quiet")
            return
        unit = "points" if self.main["detail"] == "score" else "places"
        made = estimates_table(
            self.estimates, "respondents", keys={"persona": "", "respondent": ""},
            measures=(
                Measure("gap", "persona", "value", is_signed=True),
                Measure("gap_others", "others", "value", is_signed=True),
                Measure("gap", "against people", "verdict"),
                Measure("preference", "apart", is_signed=True),
                Measure("preference", "against the others", "verdict"),
            ),
            caption=f"{self._criterion(self.main).capitalize()}, {unit}: score less people's mean "
            "on the respondent's responses, less the same on the other responses of the prompt; "
            "of the other personas; and the difference.",
            label="Respondents",
        )  # fmt: skip
        if made is not None:
            yield made

    def responses(self) -> Iterator[Part]:
        """The responses, each opening to its texts, reasons and comments."""
        if not self.rows:
            return
        entries = [
            Entry([row["prompt"] or None, row["response"] or None, *_voices(row)], [])
            for row in self.rows
        ]
        yield Records(
            name="farthest",
            caption="Responses on which a persona is farthest from people, beyond the other "
            "personas, its mean severity taken out; chosen as the largest, so that part of each "
            "gap is chance. Of ranks, places within the prompt, 1 the lowest.",
            label="Largest departures",
            columns=[
                Column("response", "id"), Column("persona", "id"), Column("respondent", "id"),
                Column("criterion", "id"), Column("persona's", "number"),
                Column("others", "number"), Column("people", "number"),
                Column("gap", "number", is_signed=True),
            ],
            rows=[
                [row["response_id"], row["persona"], row["respondent_id"], words(row["criterion"]),
                 row["score"], row["others"], row["people"], row["gap"]]
                for row in self.rows
            ],
            filters=[1] if len(self.personas) > 1 else [],
            view=View(
                texts=["Prompt", "Response", "The persona's reasons", "People's comments"],
                judge_columns=[], judges=[], scores=[], scale=(0, 1), entries=entries,
            ),
            file=DEPARTURES_FILE,
        )  # fmt: skip

    def method(self) -> Iterator[Part]:
        """Methods, and what limits them."""
        points = [
            ("Others, each alone:",
             ("a mean of several personas agrees better with people than one does, by being a "
             "mean; the persona is held against the average single one.")),
            ("Level and respondents:",
             ("a departure is one from people and from the other personas on one side, each "
             "decided for all personas and criteria together, and farther from people than "
             "theirs.")),
            ("Shared departures:",
             ("where all personas depart from people alike, none is named: areopagus calibrate "
             "says how far the panel agrees.")),
        ]  # fmt: skip
        matched = self.record.get("matched") or {}
        points += [(f"{told}:", "; ".join(places[:20])) for told, places in matched["misfits"]]
        points += [("Note:", f"{one}.") for one in matched["notices"]]
        yield Points(points)

    # Small things

    def _keys(self, *first: str) -> dict[str, str]:
        kinds = {"detail": "kind"} if self.several else {}
        return {**dict.fromkeys(first, ""), "criterion": "", **kinds}

    def _criterion(self, keys: Mapping[str, str]) -> str:
        kind = f", {keys['detail']}" if self.several else ""
        return f"{words(keys['criterion'])}{kind}"

    def _at(self, persona: str, keys: Mapping[str, str]) -> dict[str, str | None]:
        return {"persona": persona, **keys}

    def _figure(self, persona: str, keys: Mapping[str, str], measure: str) -> Estimate:
        found = estimate_at(self.estimates, "departures", measure, **self._at(persona, keys))
        return found or Estimate(float("nan"))

    def _named(self, persona: str) -> list[dict[str, str]]:
        return [
            keys for keys in self.record["criteria"]
            if self._figure(persona, keys, "order").verdict == "lower"
        ]  # fmt: skip

    def _scored(self) -> dict[str, str]:
        """The main criterion that has a level."""
        scored = [keys for keys in self.record["criteria"] if keys["detail"] == "score"]
        alike = [keys for keys in scored if keys["criterion"] == self.main["criterion"]]
        return next(iter(alike or scored), self.main)

    @staticmethod
    def _rows_of(table: pd.DataFrame, keys: Mapping[str, str]) -> pd.DataFrame:
        return table[
            (table["criterion"] == keys["criterion"]) & (table["detail"] == keys["detail"])
        ]

    def _count(self, table: str, measure: str) -> int:
        found = estimate_at(self.estimates, table, measure)
        return 0 if found is None or not found.is_defined else int(found.value)

    def _n_prompts(self) -> int:
        return self._count("matched", "n_prompts_both")


def _voices(row: Mapping[str, Any]) -> list[str | None]:
    """Reasons and comments, one paragraph a voice; None where there is none."""
    return [
        "\n\n".join(f"{who}: {text}" for who, text in row[name]) or None
        for name in ("reasons", "comments")
    ]
