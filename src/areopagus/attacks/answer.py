"""What an attack says first: whether the panel gives way, and what the answer rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.common_judges import FEWEST_JUDGES
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..formats import (
    count,
    estimate,
    listed,
    number,
    p_value,
    percent,
    said,
    share,
    told_by_reason,
    units,
)
from ..records.estimates import estimates_by, select
from ..reports.panel_answer import judges_told
from .effects import ANY

if TYPE_CHECKING:
    import pandas as pd

Figures = dict[str, Estimate]
"""Measure to estimate, of one row."""
NO_KEYS: Final = {"detail": None, "model": None, "criterion": None}
WORKS: Final = ("as demanded", "raw shift as demanded")


def points(one: Estimate) -> str:
    """A difference of shares in percentage points, with its sign and interval."""
    hundredfold = replace(one, value=100 * one.value, low=100 * one.low, high=100 * one.high)
    return estimate(hundredfold, 0, is_signed=True)


class Answer:
    """What the figures of an attack say, in sentences."""

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record, self.estimates = record, estimates
        self.threshold = float(record["identity"]["plan"]["threshold"])
        self.alpha = float(record["identity"]["plan"]["alpha"])
        self.overall = self._row("overall")
        self.counts = self._row("counts")
        self.by_family: dict[str, Figures] = {
            str(at["group"]): row
            for at, row in estimates_by(select(estimates, "families", detail=None), ["group"])
        }
        rows = select(estimates, "families")
        # Families that ask for no score: their figures are shares of judgments.
        self.asked_status: dict[str, str] = {}
        self.by_status_family: dict[str, Figures] = {}
        for at, row in estimates_by(rows[rows["detail"].notna()], ["group", "detail"]):
            self.asked_status[str(at["group"])] = str(at["detail"])
            self.by_status_family[str(at["group"])] = row
        self.names: dict[str | None, str] = {
            family: f"{family} (lowest)" if row["direction"].value < 0 else family
            for family, row in self.by_family.items()
        }
        self.names |= {family: f"{family} ({ends})" for family, ends in self.asked_status.items()}

    def _row(self, table: str, **keys: str | None) -> Figures:
        rows = estimates_by(select(self.estimates, table, **keys), [])
        return next((row for _, row in rows), {})

    @property
    def _has_controls(self) -> bool:
        return any(row["beyond"].is_defined for row in self.by_family.values())

    def tested(self, family: str) -> Estimate:
        """What was tested of a family: its shift beyond harmless prose, or the raw one."""
        row = self.by_family.get(family) or self.by_status_family[family]
        return row["beyond"] if row["beyond"].verdict else row["shift"]

    def with_verdict(self, *verdicts: str) -> list[str]:
        """Families of whom that was found, the largest effect first."""
        named = [f for f in self.by_family if self.tested(f).verdict in verdicts]
        return sorted(named, key=lambda family: -abs(self.tested(family).value))

    def sorted_families(self) -> list[str]:
        """All families with a figure, by what was tested, the most as demanded first."""
        named = [f for f in self.by_family if self.tested(f).is_defined]
        return sorted(
            named, key=lambda f: -self.tested(f).value * self.by_family[f]["direction"].value
        )

    def figures_of(self, families: Sequence[str], most: int = 3) -> str:
        """The families with what was tested of them."""
        told = [f"{f} {estimate(self.tested(f), is_signed=True)}" for f in families]
        return listed(told, most)

    def headline(self) -> Iterator[str]:
        """Whether the panel holds, which family moves it most and by how much, what is noticed."""
        tested = [f for f in self.by_family if not math.isnan(self.tested(f).p_adjusted)]
        demanded = self.with_verdict("as demanded")
        raw = self.with_verdict("raw shift as demanded")
        against = self.with_verdict("against its demand", "raw shift against its demand")
        controlled = [f for f in tested if self.by_family[f]["beyond"].verdict]
        only, of = self._one_of(controlled), ""
        if len(controlled) < len(self.by_family):
            of = f" tested against harmless prose, of {len(self.by_family)}"
        if demanded:
            most, rest = demanded[0], demanded[1:]
            size = estimate(self.tested(most), is_signed=True)
            to = only or (
                f"{len(demanded)} of {len(controlled)} families of attacks{of}, "
                f"{'most ' if rest else ''}to {most}"
            )
            yield (
                f"The panel gives way to {to}: {size} points beyond harmless prose"
                f"{f'; then {self.figures_of(rest)}' if rest else ''}."
            )
        elif controlled:
            to = only or f"any of {len(controlled)} families of attacks{of}"
            yield f"The panel is not shown to give way to {to}{self._largest(controlled)}."
        yield from self._aside_told()
        if raw:
            yield (
                "Without a control, so that length has its part in it, the panel moves as "
                f"demanded with {self.figures_of(raw)}."
            )
        if against:
            yield f"Against the demand it moves with {self.figures_of(against)}."
        if not tested and self.by_family:
            yield from self._nothing_tested()
        elif not (controlled or raw or against) and self.by_family:
            yield "No family is shown to move the panel; none has a control."
        if tested and (rest := [f for f in self.by_family if f not in tested]):
            yield f"Not tested: {listed(rest, 3)}."
        every = [*self.by_family, *self.by_status_family]
        if not self.by_family or any(not math.isnan(self.tested(f).p_adjusted) for f in every):
            yield from self._statuses_told()
        yield self._noticed([*demanded, *raw])

    def _one_of(self, controlled: Sequence[str]) -> str:
        """The one family that was tested against harmless prose; empty where there are more."""
        if len(controlled) != 1:
            return ""
        if len(self.by_family) > 1:
            n = len(self.by_family)
            return f"{controlled[0]}, the one of {n} families tested against harmless prose"
        what = "that asks for a score" if self.by_status_family else "tried"
        return f"the one family of attacks {what}, {controlled[0]}"

    def _nothing_tested(self) -> Iterator[str]:
        """Why no family is tested, and what can be said all the same."""
        shift = self.overall["shift"]
        if not shift.is_defined:
            yield f"No family is tested: {said(shift.reason)}."
            return
        why = f"{units(shift.n, 'prompt')} of the {MIN_UNITS} that a test needs"
        yield f"No family is tested: {why if shift.n < MIN_UNITS else said(self.untested_of())}."
        size = estimate(shift, is_signed=True)
        yield f"Attacked responses shift by {size} points against clean ones."

    def untested_of(self) -> str:
        """Why families are not tested."""
        rows = {f: self.tested(f) for f in (*self.by_family, *self.by_status_family)}
        return told_by_reason(
            (self.names.get(family, family), (one.p_method or "").removeprefix("none: "))
            for family, one in rows.items()
            if one.verdict == "not tested"
        )

    def _largest(self, controlled: Sequence[str]) -> str:
        """The largest effect as demanded, where it is not said as "ahead of harmless prose"."""
        family = next(f for f in self.sorted_families() if f in controlled)
        one = self.tested(family)
        if one.verdict != "not shown":
            return ""
        told = f"{estimate(one, is_signed=True)} points beyond harmless prose"
        if one.has_interval and not one.low <= 0 <= one.high:
            told += f", p {p_value(one.p_adjusted)} after Holm's correction"
        return f": {told}" if len(controlled) == 1 else f"; the most is {family} {told}"

    def _aside_told(self) -> Iterator[str]:
        """Families that differ from harmless prose alone: no score is shown to have moved."""
        for verdict in ("ahead of harmless prose", "behind harmless prose"):
            told = [
                f"{self.names[f]} by {estimate(self.tested(f), is_signed=True)} points "
                f"(clean scores move by {estimate(self.by_family[f]['shift'], is_signed=True)})"
                for f in self.with_verdict(verdict)
            ]
            told += [
                f"{f} by {points(self.tested(f))} percentage points of judgments"
                for f in self.by_status_family
                if self.tested(f).verdict == verdict
            ]
            if told:
                yield (
                    f"{verdict.capitalize()}, and not shown to move clean responses as demanded: "
                    f"{listed(told, 3)}."
                )

    def _statuses_told(self) -> Iterator[str]:
        """Whether texts keep judges from scoring, of families that ask for that, and how many."""
        every = list(self.by_status_family)
        if not every:
            return
        is_one = len(every) == 1
        many = "The one family" if is_one else f"{len(every)} families"
        many += f" that {'asks' if is_one else 'ask'} for no score"
        found = [f for f in every if self.tested(f).verdict in WORKS]
        shown = sorted(found or every, key=lambda family: -self.tested(family).value)
        figures = [f"{f} {points(self.tested(f))} {self.asked_status[f]}" for f in shown]
        first, status = f"{shown[0]} {points(self.tested(shown[0]))}", self.asked_status[shown[0]]
        figures[0] = f"{first} percentage points of judgments {status}"
        told = listed(figures, 3)
        if found:
            is_raw = any(self.tested(f).verdict == "raw shift as demanded" for f in found)
            more = "in clean responses" if is_raw else "under harmless prose"
            keep = "keeps" if len(found) == 1 else "keep"
            who = many if is_one else f"Of {many}, {len(found)}"
            yield f"{who} {keep} judges from scoring: {told}, more than {more}."
        elif any(not math.isnan(self.tested(f).p_adjusted) for f in every):
            who = f"{many} is not shown to work:" if is_one else f"None of {many} is shown to work;"
            yield f"{who} {'' if is_one else 'the most is '}{figures[0]}."
        else:
            n = max(row["shift"].n for row in self.by_status_family.values())
            who = f"{many} is not tested" if is_one else f"None of {many} is tested"
            yield f"{who}: {units(n, 'prompt')} of the {MIN_UNITS} needed."

    def _noticed(self, moving: Sequence[str]) -> str:
        clean = self._row("detectors", group=ANY)["flagged_clean"]
        told = (
            f"Detectors notice {share(self.overall['flagged'])} of the attacked responses, and "
            f"flag {clean.n} of {units(clean.n_planned or 0, 'clean one')}"
        )
        moving = [f for f in moving if f in self.by_family]
        unseen = [f for f in moving if self.by_family[f]["flagged"].value < 1]
        if unseen:
            shares = [f"{f} ({percent(self.by_family[f]['flagged'].value)})" for f in unseen]
            told += f"; of what moves the panel, not always: {listed(shares, 4)}"
        return f"{told}."

    def trust(self, people: str) -> Iterator[tuple[str, str]]:
        """Whether the answer can be trusted, and why.

        Args:
            people: how near the panel is to people.
        """
        judgments = self.counts["judgments"]
        n_responses, n_prompts, low, high = (
            int(self.counts[name].value)
            for name in ("responses", "prompts", "scale_low", "scale_high")
        )
        told = (
            f"{count(judgments.n)} of {units(judgments.n_planned or 0, 'vote')} on "
            f"{units(n_responses, 'response')} to {units(n_prompts, 'prompt')}; "
            f"scale {low} to {high}"
        )
        if "as_asked" in self.counts:
            left = (judgments.n_planned or 0) - judgments.n
            asked = int(self.counts["as_asked"].value)
            who = "all others" if asked == left else f"{count(asked)} of {count(left)} others"
            told += f"; {who} ended as the attack asks" if left else ""
        uneven = self._unbalanced()
        yield "coverage", f"{told}. {uneven}" if uneven else told
        told = "no control: what length alone does is not known"
        if harmless := self._row("harmless", **NO_KEYS):
            shift = harmless["shift"]
            told = "prose of the same length"
            if shift.is_defined:
                told += f" moves scores by {estimate(shift, is_signed=True)}"
            else:
                told += f": {said(shift.reason)}"
        yield "harmless", told
        if (self.record["identity"].get("panel") or {}).get("datamark"):
            yield "datamark", "on: judges read a mark before every word of a response"
        if len(self.record["panel"]["models"]) > 1:
            yield "direction", self._direction()
        worth = self._row("worth").get("effective judges")
        yield "judges", judges_told(self.record["panel"], worth)
        yield "people", people
        yield "limits", "texts are few and known: what moves nothing is not shown harmless"

    def _unbalanced(self) -> str:
        """Where judges are missing on one side, and what whoever scored would have shown."""
        rows = [
            (str(at["group"]), row)
            for at, row in estimates_by(
                select(self.estimates, "balance", model=None), ["group", "detail"]
            )
            if "moved" in row
        ]
        if not rows:
            return ""

        def moved(row: Figures) -> float:
            value = row["moved"].value
            return abs(value) if math.isfinite(value) else -1.0

        family, worst = max(rows, key=lambda one: moved(one[1]))
        out = select(self.estimates, "balance", group=family)
        models = sorted(set(out[out["measure"] == "model_left_out"]["model"]))
        told = (
            f"UNBALANCED in {units(len({name for name, _ in rows}), 'family', 'families')}: votes "
            "on one side only count on neither"
        )
        if models:
            told += (
                f"; {listed(models, 3)} left out of {family}, without a response scored on both "
                "sides"
            )
        counts = select(self.estimates, "balance", detail="attacked − clean")
        left_out = int(counts[counts["measure"] == "responses_left_out"]["value"].sum())
        if left_out:
            told += (
                f"; {units(left_out, 'response')} left out, scored by fewer than {FEWEST_JUDGES} "
                "of the same judges on both sides"
            )
        if moved(worst) >= 0:
            raw = worst["raw"].value
            told += (
                f"; whoever scored: {family} {number(raw, is_signed=True)} instead of "
                f"{number(raw - worst['moved'].value, is_signed=True)}"
            )
        return told

    def _direction(self) -> str:
        """How many of the judges' models each family that moves the panel moves."""
        moving = self.with_verdict("as demanded", "raw shift as demanded")
        seen: dict[str, list[str]] = {}
        for family in moving:
            sign = self.by_family[family]["direction"].value
            shifts = [
                row["beyond"].value if row["beyond"].is_defined else row["shift"].value
                for _, row in estimates_by(
                    select(self.estimates, "models", group=family), ["model"]
                )
            ]
            known = [value for value in shifts if math.isfinite(value)]
            if not known:
                continue
            moved = sum(value * sign > 0 for value in known)
            seen.setdefault(f"{moved} of {units(len(known), 'model')}", []).append(family)
        if not seen:
            return "no family that models could agree on"
        return "; ".join(f"{n} moved by {listed(names, 3)}" for n, names in seen.items())
