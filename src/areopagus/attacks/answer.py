"""What an attack says first: whether the panel gives way, and what the answer rests on.

Every sentence follows from the verdicts of the estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..formats import (
    count,
    estimate,
    listed,
    number,
    percent,
    said,
    share,
    told_by_reason,
    units,
)
from ..records.estimates import estimates_by, select
from ..reports.panel_answer import judges_told
from ..reports.views import jointly
from .effects import ANY, Outcome, outcome_of
from .families import STATUS_OF

if TYPE_CHECKING:
    import pandas as pd

Figures = dict[str, Estimate]
"""Measure to estimate, of one row."""
HARMLESS: Final = "harmless text of the same length"


def points(figure: Estimate) -> str:
    """A difference of shares in percentage points, with its sign and the limits that decide."""
    figure = jointly(figure)
    hundredfold = replace(
        figure, value=100 * figure.value, low=100 * figure.low, high=100 * figure.high
    )
    return estimate(hundredfold, 0, is_signed=True)


def open_told(figure: Estimate) -> str:
    """What would decide an open comparison; "no difference" of one that is alike."""
    if figure.verdict == "alike":
        return "no difference"
    if figure.needed is None:
        return "open"
    return f"open: {units(figure.needed, figure.unit)} would tell"


class Answer:
    """What the figures of an attack say, in sentences."""

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record, self.estimates = record, estimates
        self.threshold = float(record["identity"]["plan"]["threshold"])
        self.overall = self._row("overall")
        self.counts = self._row("counts")
        self.families: dict[str, Figures] = {}
        self.asks: dict[str, str] = {}
        for at, row in estimates_by(select(estimates, "families"), ["group", "detail"]):
            self.families[str(at["group"])] = row
            self.asks[str(at["group"])] = str(at["detail"])
        statuses = set(STATUS_OF.values())
        self.of_scores = [f for f, end in self.asks.items() if end not in statuses]
        self.of_statuses = [f for f, end in self.asks.items() if end in statuses]
        self.names: dict[str | None, str] = {
            f: f if end == "highest" else f"{f} ({end})" for f, end in self.asks.items()
        }

    def _row(self, table: str, **keys: str | None) -> Figures:
        rows = estimates_by(select(self.estimates, table, **keys), [])
        return next((row for _, row in rows), {})

    def sign(self, family: str) -> int:
        """1 where more is what the family asks for, −1 where less is."""
        return -1 if self.asks[family] == "lowest" else 1

    def tested(self, family: str) -> Estimate:
        """What decides of a family: attacked less control; less the clean response without one."""
        row = self.families[family]
        return row.get("beyond") or row["shift"]

    def outcome(self, family: str) -> Outcome:
        """What is shown of a family."""
        row = self.families[family]
        beyond = row["beyond"].verdict if "beyond" in row else None
        return outcome_of(row["shift"].verdict, beyond, self.sign(family))

    def with_outcome(self, *outcomes: Outcome, among: Sequence[str] | None = None) -> list[str]:
        """The families of which that is shown, the largest effect first."""
        names = self.of_scores if among is None else among
        chosen = [family for family in names if self.outcome(family) in outcomes]
        return sorted(chosen, key=lambda family: -abs(self.tested(family).value))

    def sorted_families(self) -> list[str]:
        """Families with a figure in points, by what decides, the most as asked first."""
        defined = [f for f in self.of_scores if self.tested(f).is_defined]
        return sorted(defined, key=lambda f: -self.tested(f).value * self.sign(f))

    def sized(self, family: str, measure: str = "") -> str:
        """A figure of a family with the limits that decide."""
        figure = self.families[family][measure] if measure else self.tested(family)
        return estimate(jointly(figure), is_signed=True)

    def figures_of(self, families: Sequence[str]) -> str:
        """The first families with what decides of them."""
        return listed([f"{family} {self.sized(family)}" for family in families], 3)

    def headline(self) -> Iterator[str]:
        """Whether the panel gives way, to what most and by how much, and what is noticed."""
        tested = [f for f in self.of_scores if self.outcome(f) != "untested"]
        controlled = [f for f in tested if "beyond" in self.families[f]]
        works, raw = self.with_outcome("works"), self.with_outcome("shifts")
        of = "" if len(controlled) == len(self.of_scores) else f" tested (of {len(self.of_scores)})"
        many = f"{units(len(controlled), 'attack family', 'attack families')}{of}"
        if works:
            most, rest = works[0], works[1:]
            who = most if len(controlled) == 1 else (
                f"{len(works)} of {many}, {'most ' if rest else ''}to {most}"
            )  # fmt: skip
            then = f"; then {self.figures_of(rest)}" if rest else ""
            size = f"{self.sized(most)} points against {HARMLESS}"
            yield f"This panel gives way to {who}: {size}{then}."
        elif controlled:
            most = next(f for f in self.sorted_families() if f in controlled)
            size = f"{self.sized(most)} points against {HARMLESS}"
            if len(controlled) == 1:
                n = units(len(self.of_scores), "attack family", "attack families")
                alone = f", the only one of {n} with a control that is tested" if of else ""
                text = f"to {most}{alone}: {size}"
            else:
                text = f"to any of {many}; the most is {most}, {size}"
            is_open = self.outcome(most) == "not shown"
            yield (
                f"This panel is not shown to give way {text}"
                f"{f' ({open_told(self.tested(most))})' if is_open else ''}."
            )
        yield from self._asides()
        if raw:
            yield (
                "Without harmless text to compare with, so that length plays a part, scores move "
                f"as the attack asks with {self.figures_of(raw)}."
            )
        if back := self.with_outcome("backfires", "shifts back"):
            yield f"Scores move against what the attack asks with {self.figures_of(back)}."
        if not tested and self.of_scores:
            yield from self._nothing_tested()
        elif not (controlled or raw or back) and self.of_scores:
            yield "No attack family is shown to move scores; none is compared with harmless text."
        if tested and (rest := [f for f in self.of_scores if f not in tested]):
            yield f"Not tested: {listed(rest, 3)}."
        if not self.of_scores or any(self.outcome(f) != "untested" for f in self.families):
            yield from self._statuses_told()
        yield self._noticed([*works, *raw])

    def _nothing_tested(self) -> Iterator[str]:
        """Why no family is tested, and what can be said all the same."""
        shift = self.overall["shift"]
        if not shift.is_defined:
            yield f"Nothing is decided: {said(shift.reason)}."
            return
        why = f"{units(shift.n, 'prompt')}, and a test of an attack family needs {MIN_UNITS}"
        yield f"Nothing is decided: {why if shift.n < MIN_UNITS else said(self.untested_of())}."
        if shift.value:
            side = "higher" if shift.value > 0 else "lower"
            size = f"{number(abs(shift.value))} points {side}"
            yield f"Attacked responses score {size} than clean ones."
        else:
            yield "Attacked responses score as clean ones do."

    def untested_of(self) -> str:
        """Why families are not tested."""
        return told_by_reason(
            (self.names[family], figure.reason or f"fewer than {MIN_UNITS} prompts")
            for family in self.families
            if self.outcome(family) == "untested"
            for figure in [self.tested(family)]
        )

    def _asides(self) -> Iterator[str]:
        """Families that differ from harmless text alone: no score is shown to move as asked."""
        for outcome in ("ahead", "behind"):
            figures = [
                f"{self.names[f]} by {self.sized(f)} points (against clean responses "
                f"{self.sized(f, 'shift')})"
                for f in self.with_outcome(outcome)
            ]
            figures += [
                f"{f} by {points(self.tested(f))} percentage points of judgments"
                for f in self.with_outcome(outcome, among=self.of_statuses)
            ]
            if figures:
                where = "Closer to" if outcome == "ahead" else "Further from"
                yield (
                    f"{where} what the attack asks than {HARMLESS}, but clean responses are not "
                    f"shown to move that way: {listed(figures, 3)}."
                )

    def _statuses_told(self) -> Iterator[str]:
        """Whether texts keep judges from scoring, of families that ask for that, and how many."""
        every = self.of_statuses
        if not every:
            return
        many = "The one family that asks for no score" if len(every) == 1 else (
            f"{len(every)} families that ask for no score"
        )  # fmt: skip
        works = self.with_outcome("works", "shifts", among=every)
        shown = sorted(works or every, key=lambda family: -self.tested(family).value)
        figures = [
            f"{f} {points(self.tested(f))}"
            f"{'' if k else ' percentage points of judgments'} {self.asks[f]}"
            for k, f in enumerate(shown)
        ]
        if works:
            who = many if len(every) == 1 else f"Of {many}, {len(works)}"
            keep = "keeps" if len(works) == 1 else "keep"
            than = HARMLESS if all("beyond" in self.families[f] for f in works) else "clean text"
            yield f"{who} {keep} judges from scoring: {listed(figures, 3)}, against {than}."
        elif any(self.outcome(f) != "untested" for f in every):
            who = f"{many} is not shown to work:" if len(every) == 1 else (
                f"None of {many} is shown to work; the most is"
            )  # fmt: skip
            yield f"{who} {figures[0]}."
        else:
            n = max(self.families[f]["shift"].n for f in every)
            who = f"{many} is not tested" if len(every) == 1 else f"None of {many} is tested"
            yield f"{who}: {units(n, 'prompt')} of the {MIN_UNITS} needed."

    def _noticed(self, moving: Sequence[str]) -> str:
        clean = self._row("detectors", group=ANY)["flagged_clean"]
        text = (
            f"Detectors notice {share(self.overall['flagged'])} of the attacked responses and flag "
            f"{clean.n} of {units(clean.n_planned or 0, 'clean one')}"
        )
        unseen = [f for f in moving if self.families[f]["flagged"].value < 1]
        if unseen:
            shares = [f"{f} ({percent(self.families[f]['flagged'].value)})" for f in unseen]
            text += f"; of what moves the panel, not always: {listed(shares, 4)}"
        return f"{text}."

    def trust(self, people: str) -> Iterator[tuple[str, str]]:
        """Whether the answer can be trusted, and why.

        Args:
            people: how near the panel is to people.
        """
        yield "coverage", self._coverage()
        text = "no control: what length alone does is not known"
        if harmless := self._row("harmless"):
            shift = harmless["shift"]
            text = f"{HARMLESS}: {estimate(shift, is_signed=True)} points"
            if not shift.is_defined:
                text = f"{HARMLESS}: {said(shift.reason)}"
        yield "control", text
        if (self.record["identity"].get("panel") or {}).get("datamark"):
            yield "datamark", "on: judges read a mark before every word of a response"
        if len(self.record["panel"]["models"]) > 1:
            yield "models", self._models()
        worth = self._row("worth").get("effective judges")
        yield "judges", judges_told(self.record["panel"], worth)
        yield "people", people
        yield "scope", "few known attack texts: new ones may still work"

    def _coverage(self) -> str:
        judgments = self.counts["judgments"]
        n_prompts = units(int(self.counts["prompts"].value), "prompt")
        text = f"{count(judgments.n)} of {units(judgments.n_planned or 0, 'judgment')} scored"
        text += f" on {units(int(self.counts['responses'].value), 'response')} to {n_prompts}"
        left = (judgments.n_planned or 0) - judgments.n
        if left and "as_asked" in self.counts:
            asked = int(self.counts["as_asked"].value)
            who = "all others" if asked == left else f"{count(asked)} of {count(left)} others"
            text += f"; {who} ended as the attack asks"
        uneven = [f for f in self.of_scores if "one_sided" in self.families[f]]
        if uneven:
            many = units(len(uneven), "family", "families")
            text += f"; in {many} some judges scored one side only, and count on neither"
        return text

    def _models(self) -> str:
        """How many of the judges' models each family that works moves as it asks."""
        seen: dict[str, list[str]] = {}
        for family in self.with_outcome("works", "shifts"):
            rows = estimates_by(select(self.estimates, "models", group=family), ["model"])
            figures = [figure for _, row in rows for figure in row.values()]
            defined = [figure.value for figure in figures if figure.is_defined]
            moved = sum(value * self.sign(family) > 0 for value in defined)
            if defined:
                text = f"{moved} of {units(len(defined), 'model')}"
                seen.setdefault(text, []).append(family)
        if not seen:
            return "no attack family moves the panel"
        return "; ".join(f"{n} moved by {listed(names, 3)}" for n, names in seen.items())
