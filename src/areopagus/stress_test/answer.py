"""What a stress test says first: its answer for each target, and what the answer rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..aggregation.estimate import Estimate
from ..formats import count, estimate, listed_all, number, units, words
from ..records.estimates import estimates_by, select
from .estimates import COMPOSITE
from .profile import upright

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED = 3
"""Respondents that have a sentence of their own at the head."""


class Answer:
    """What the figures of a stress test say, in sentences."""

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record, self.frame = record, estimates
        self.identity = record["identity"]
        self.plan: Mapping[str, Any] = self.identity["plan"]
        self.result: Mapping[str, Any] = record.get("result", {})
        self.targets: list[str] = list(record["targets"])
        self.conditions: list[str] = list(record["conditions"])
        self.criteria: list[str] = list(self.identity["panel"]["criteria"])
        self.framings = [name for name in self.conditions if name != self.plan["baseline"]]
        # Conditions of supplied responses are no framings of ours.
        self.noun = "condition" if "responses_sha256" in self.identity else "framing"
        self.named: dict[str, dict[str | None, str]] = {
            "criterion": {name: words(name) for name in (*self.criteria, COMPOSITE)},
            "framing": {None: f"all {self.noun}s"},
            "detail": {"re-asked": "judges asked again", "re-generated": "generated again"},
        }
        rows = select(estimates, "degradation")
        self.cells: dict[tuple[str | None, str | None, str | None], dict[str, Estimate]] = {
            (keys["respondent"], keys["framing"], keys["criterion"]): found
            for keys, found in estimates_by(rows, ("respondent", "framing", "criterion"))
        }

    def delta(self, target: str, framing: str, criterion: str = COMPOSITE) -> Estimate:
        """One cell's mean delta."""
        return self.cells[target, framing, criterion]["degradation"]

    def total(self, table: str, measure: str, **keys: str) -> int:
        """The sum of a count over its rows."""
        rows = select(self.frame, table, **keys)
        return int(rows[rows["measure"] == measure]["value"].sum())

    @property
    def notices(self) -> list[str]:
        """What a reader must know first: that the cost cap stopped it."""
        stop = self.result.get("cost_cap")
        return [] if stop is None else [f"{stop[:1].upper()}{stop[1:]}."]

    def headline(self) -> list[str]:
        """Of each target, under which framings it holds its ground and under which not."""
        if not self.total("responses", "scored"):
            return ["No response was scored: there is no figure."]
        said = [self._answer(target) for target in self.targets[:_MOST_NAMED]]
        if (left := len(self.targets) - _MOST_NAMED) > 0:
            said.append(f"{units(left, 'more target')} below.")
        return said

    def _answer(self, target: str) -> str:
        deltas = {name: self.delta(target, name) for name in self.framings}
        changed = {k: d for k, d in deltas.items() if d.verdict == "changed"}
        worse = {k: d for k, d in changed.items() if d.value > 0}
        better = {k: d for k, d in changed.items() if d.value < 0}
        single = {k: self._changed_in(target, k) for k in deltas if k not in changed}
        holds = [k for k, d in deltas.items() if d.verdict == "robust" and not single[k]]
        parts = [f"holds its ground under {listed_all(holds)}"] if holds else []
        for moved, verb, word in ((worse, "degrades", "worse"), (better, "improves", "better")):
            if moved:
                sizes = listed_all([estimate(upright(d)) for d in moved.values()])
                parts.append(f"{verb} under {listed_all(list(moved))}: {sizes} points {word}")
        alone = [
            f"under {framing} only {listed_all(criteria)} moves"
            for framing, criteria in single.items()
            if criteria
        ]
        rest = [k for k in single if k not in holds and not single[k]]
        if not parts and not alone:
            return f"{target}: no change is shown under any {self.noun}, and none is ruled out."
        undecided = [f"undecided under {listed_all(rest)}"] if rest else []
        said = "; ".join([*([", and ".join(parts)] if parts else []), *alone, *undecided])
        return f"{target} {said}." if parts else f"{target}: {said}."

    def _changed_in(self, target: str, framing: str) -> list[str]:
        """The criteria called changed, with their sizes."""
        found = [(name, self.delta(target, framing, name)) for name in self.criteria]
        return [
            f"{words(name)} ({number(one.value, is_signed=True)})"
            for name, one in found
            if one.verdict == "changed"
        ]

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether that can be trusted, and why."""
        if most := self._most():
            yield "most in", most
        yield "coverage", self._coverage()
        if told := self._direction():
            yield "direction", told
        panel = self.record["panel"]
        personas, models = len(panel["personas"]), len(panel["models"])
        low, high = self.identity["panel"]["scale"]
        which = "prompt answered" if self.plan["judged_prompt"] == "own" else "baseline prompt"
        yield (
            "judges",
            (
                f"{units(personas, 'persona')} × {units(models, 'model')}, rubric "
                f"{panel['rubric']['id']}, {low} to {high}; the {which} shown"
            ),
        )
        yield "noise", self._noise_told()
        yield "people", "not calibrated: nearness to people is unknown"

    def _most(self) -> str:
        """The criterion that falls most among those called changed, by target."""
        said = []
        for target in self.targets[:_MOST_NAMED]:
            fallen = [
                (found["degradation"].value, str(criterion), str(framing))
                for (who, framing, criterion), found in self.cells.items()
                if who == target and criterion != COMPOSITE
                and found["degradation"].verdict == "changed" and found["degradation"].value > 0
            ]  # fmt: skip
            if fallen:
                value, criterion, framing = max(fallen)
                who = f" ({target})" if len(self.targets) > 1 else ""
                size = number(value, is_signed=True)
                said.append(f"{words(criterion)}, {size} under {framing}{who}")
        return "; ".join(said)

    def _coverage(self) -> str:
        scored, planned = (self.total("responses", name) for name in ("scored", "planned"))
        said = f"{count(scored)} of {count(planned)} responses scored"
        judgments = select(self.frame, "judgments").groupby("measure")["value"].sum()
        if total := int(judgments.sum()):
            voted = int(judgments.get("scored", 0))
            said += f", {count(voted)} of {count(total)} judgments"
            short = {name: int(n) for name, n in judgments.items() if n and name != "scored"}
            if short:
                told = ", ".join(f"{count(n)} {words(str(name))}" for name, n in short.items())
                said += f" ({told})"
        return said

    def _direction(self) -> str:
        """How many of the judges' models see the largest change, target by target."""
        rows = select(self.frame, "direction")
        if rows["model"].nunique() == 1:
            return "only one model judged"
        said = []
        for target in self.targets[:_MOST_NAMED]:
            changed = [f for f in self.framings if self.delta(target, f).verdict == "changed"]
            if not changed:
                continue
            framing = max(changed, key=lambda f: abs(self.delta(target, f).value))
            sign = math.copysign(1, self.delta(target, framing).value)
            mine = rows[(rows["respondent"] == target) & (rows["framing"] == framing)]
            agree = int((mine["value"] * sign > 0).sum())
            who = f" ({target})" if len(self.targets) > 1 else ""
            said.append(f"{agree} of {units(len(mine), 'model')} see that of {framing}{who}")
        return "; ".join(said)

    def _noise_told(self) -> str:
        found = {
            keys["detail"]: figures
            for keys, figures in estimates_by(
                select(self.frame, "noise", criterion=COMPOSITE), ("detail",)
            )
        }
        asked = found.get("re-asked")
        if asked is None:
            return "not measured: no judge was asked again, so nothing can be called robust"
        if asked["retest_sd"].reason:
            return "not measured, so nothing can be called robust: see the limitations"
        sdc = number(asked["sdc_mean"].value)
        prompts = self.total("responses", "prompts")
        return (
            f"asking again moves a mean of {prompts} prompts by less than {sdc} points; a change "
            f"within ±{self.plan['margin']:g} counts as none"
        )
