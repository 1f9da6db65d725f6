"""What a stress test says first: its answer for each target, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..formats import (
    count,
    estimate,
    listed,
    listed_all,
    number,
    told_by_reason,
    units,
    words,
)
from ..records.estimates import estimate_at, estimates_by, select
from ..reports.panel_answer import judges_told
from .contrasts import COMPOSITE

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED = 3
"""Respondents that have a sentence of their own at the head."""

UNBALANCED = "†"
"""Marks a comparison where unequal shares of the judgments of both sides are missing."""

_NAMES: Final = {
    "empirical_i": "“I”",
    "empirical_friend": "“my friend”",
    "emotion_agree": "agreement",
    "emotion_disagree": "disagreement",
}
"""What the built-in framings are called; others go by their own names."""


def framing_name(framing: str) -> str:
    """What a framing, or a condition of supplied responses, is called wherever it is shown."""
    return _NAMES.get(framing, words(framing))


def _size(change: Estimate) -> str:
    """The points of a change with their limits; the words around them say in which direction."""
    if change.value < 0:
        change = replace(change, value=-change.value, low=-change.high, high=-change.low)
    return estimate(change)


class Answer:
    """What the figures of a stress test say, in sentences.

    Limits shown are those that decide: of all comparisons of a family at once.
    """

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record = record
        is_decided = estimates["family"].notna()
        self.frame = estimates.assign(
            low=estimates["low_family"].where(is_decided, estimates["low"]),
            high=estimates["high_family"].where(is_decided, estimates["high"]),
            # With so many prompts already, more of them are no promise.
            needed=estimates["needed"].where(estimates["needed"] > estimates["n"]),
        )
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
            "framing": {
                None: f"all {self.noun}s",
                **{name: framing_name(name) for name in self.conditions},
            },
            "detail": {"re-asked": "judges asked again", "re-generated": "generated again"},
            "factor": {"condition": self.noun, "dimension": "criterion", "framing": "group"},
        }  # fmt: skip
        rows = select(self.frame, "degradation")
        self.cells: dict[tuple[str | None, str | None, str | None], Estimate] = {
            (keys["respondent"], keys["framing"], keys["criterion"]): figures["degradation"]
            for keys, figures in estimates_by(rows, ("respondent", "framing", "criterion"))
        }

    @property
    def margin(self) -> str:
        """What counts as no change, such as "±0.5"."""
        return f"±{self.plan['margin']:g}"

    def delta(self, target: str, framing: str, criterion: str = COMPOSITE) -> Estimate:
        """One cell's mean degradation."""
        return self.cells[target, framing, criterion]

    def total(self, table: str, measure: str, **keys: str) -> int:
        """The sum of a count over its rows."""
        rows = select(self.frame, table, **keys)
        return int(rows[rows["measure"] == measure]["value"].sum())

    @property
    def notices(self) -> list[str]:
        """What a reader must know first: that the cost cap stopped it."""
        stop = self.result.get("cost_cap")
        return [] if stop is None else [f"{stop[:1].upper()}{stop[1:]}."]

    def spoken(self, framings: Sequence[str]) -> str:
        """The framings as a sentence has them."""
        return listed_all(list(map(framing_name, framings)))

    def headline(self) -> list[str]:
        """Of each target, under which framings its scores drop, rise or stay alike."""
        if not self.total("responses", "scored"):
            return ["No response was scored: there is no figure."]
        sentences = [self._answer(target) for target in self.targets[:_MOST_NAMED]]
        if (left := len(self.targets) - _MOST_NAMED) > 0:
            sentences.append(f"{units(left, 'more target')} below.")
        return sentences

    def _answer(self, target: str) -> str:
        by_verdict: dict[str, dict[str, Estimate]] = {}
        for framing in self.framings:
            change = self.delta(target, framing)
            by_verdict.setdefault(str(change.verdict), {})[framing] = change
        drops, rises, alike, undecided, undefined = (
            by_verdict.get(name, {}) for name in ("higher", "lower", "alike", "open", "undefined")
        )
        single = {name: self._of_criteria(target, name) for name in (*alike, *undecided)}
        steady = [name for name in alike if not single[name]]
        parts = [
            f"{verb} {self._sized(changes)}"
            for verb, changes in (("drops", drops), ("rises", rises))
            if changes
        ]
        if steady:
            parts.append(f"stays within {self.margin} points under {self.spoken(steady)}")
        rest = [
            f"under {self.spoken([framing])} only {criteria}"
            for framing, criteria in single.items()
            if criteria
        ]
        if small := [k for k, d in (drops | rises).items() if self._is_within_margin(d)]:
            rest.append(
                f"under {self.spoken(small)} the change is smaller than the margin of "
                f"{self.plan['margin']:g}"
            )
        if still := {name: d for name, d in undecided.items() if not single[name]}:
            where = (
                f"any {self.noun}" if len(still) == len(self.framings) else self.spoken([*still])
            )
            rest.append(f"no change is shown under {where}{self._would_tell(still)}")
        if undefined:
            why = told_by_reason(
                (framing_name(name), change.reason or "there are no limits")
                for name, change in undefined.items()
            )
            every = len(undefined) == len(self.framings)
            where = f"any {self.noun}" if every else self.spoken([*undefined])
            rest.append(f"nothing can be decided under {where} ({why}){self._largest(undefined)}")
        sentence = "; ".join([*([" and ".join(parts)] if parts else []), *rest])
        return f"{target} {sentence}." if parts else f"{target}: {sentence}."

    def _sized(self, changes: Mapping[str, Estimate]) -> str:
        """By how much scores drop or rise, and under which framings."""
        order = sorted(changes, key=lambda name: abs(changes[name].value))
        least, most = order[0], order[-1]
        if len(order) == 1:
            return f"by {_size(changes[most])} points under {self.spoken([most])}"
        every = len(order) == len(self.framings) > 2
        where = f"all {len(order)} {self.noun}s" if every else self.spoken([*changes])
        return (
            f"under {where}: by {_size(changes[least])} points ({self.spoken([least])}) to "
            f"{_size(changes[most])} points ({self.spoken([most])})"
        )

    def _would_tell(self, undecided: Mapping[str, Estimate]) -> str:
        """How many prompts would decide, where more would."""
        needed = max(one.needed or 0 for one in undecided.values())
        return f" yet: {count(needed)} prompts would tell" if needed else ", and none is ruled out"

    def _largest(self, changes: Mapping[str, Estimate]) -> str:
        known = {name: one for name, one in changes.items() if one.is_defined and one.value}
        if not known:
            return ""
        name, most = max(known.items(), key=lambda item: abs(item[1].value))
        verb = "a drop" if most.value > 0 else "a rise"
        return f"; the largest is {verb} by {number(abs(most.value))} under {self.spoken([name])}"

    def _is_within_margin(self, change: Estimate) -> bool:
        return max(abs(change.low), abs(change.high)) < float(self.plan["margin"])

    def _of_criteria(self, target: str, framing: str) -> str:
        """The criteria that drop or rise there, in words; "" where none does."""
        moved = {name: self.delta(target, framing, name) for name in self.criteria}
        return listed_all(
            [
                f"{words(name)} {verb} by {number(abs(one.value))}"
                for verdict, verb in (("higher", "drops"), ("lower", "rises"))
                for name, one in moved.items()
                if one.verdict == verdict
            ]
        )

    def trust(self, people: str) -> Iterator[tuple[str, str]]:
        """Whether that can be trusted, and why.

        Args:
            people: how near the panel is to people.
        """
        if most := self._most():
            yield "most in", most
        uneven = self._unbalanced()
        yield "coverage", f"{self._coverage()}. {uneven}" if uneven else self._coverage()
        if len(self.record["panel"]["models"]) > 1:
            yield "direction", self._direction()
        worth = estimate_at(self.frame, "worth", "effective judges")
        yield "judges", judges_told(self.record["panel"], worth)
        yield "people", people

    def _most(self) -> str:
        """The criterion that drops most, by target."""
        sentences = []
        for target in self.targets[:_MOST_NAMED]:
            fallen = [
                (change.value, str(criterion), str(framing))
                for (who, framing, criterion), change in self.cells.items()
                if who == target and criterion != COMPOSITE and change.verdict == "higher"
            ]
            if fallen:
                value, criterion, framing = max(fallen)
                who = f"{target}, " if len(self.targets) > 1 else ""
                size = number(value, is_signed=True)
                sentences.append(f"{words(criterion)} ({who}{size} under {self.spoken([framing])})")
        return "; ".join(sentences)

    def _coverage(self) -> str:
        scored, planned = (self.total("responses", name) for name in ("scored", "planned"))
        sentence = f"{count(scored)} of {count(planned)} responses scored"
        judgments = select(self.frame, "judgments").groupby("measure")["value"].sum()
        if total := int(judgments.sum()):
            voted = int(judgments.get("scored", 0))
            sentence += f", {count(voted)} of {count(total)} votes"
            short = {name: int(n) for name, n in judgments.items() if n and name != "scored"}
            if short:
                kinds = ", ".join(f"{count(n)} {words(str(name))}" for name, n in short.items())
                sentence += f" ({kinds})"
        n_units, n_prompts = (self.total("responses", name) for name in ("units", "prompts"))
        if n_units < n_prompts:
            sentence += f"; {count(n_prompts)} prompts of {count(n_units)} different texts"
        return sentence

    def bounds(self, target: str, framing: str) -> Estimate | None:
        """Of an unbalanced comparison: between what missing judgments could put the change."""
        return estimate_at(self.frame, "balance", "bounds", respondent=target, framing=framing)

    def _unbalanced(self) -> str:
        """Where judges are missing on one side more than on the other, and what that leaves."""
        uneven = {
            (target, framing): bounds
            for target in self.targets
            for framing in self.framings
            if (bounds := self.bounds(target, framing))
        }
        if not uneven:
            return ""
        target, framing = worst = max(uneven, key=lambda at: uneven[at].high - uneven[at].low)
        keys = {"respondent": target, "framing": framing}
        scored = estimate_at(self.frame, "balance", "scored", **keys)
        gap = 0.0 if scored is None else scored.value
        rows = select(self.frame, "direction", **keys)
        models = [str(name) for name in rows[rows["value"].isna()]["model"]]
        who = f" of {target}" if len(self.targets) > 1 else ""
        side = "lower" if gap > 0 else "higher"
        sentence = (
            f"Unbalanced ({UNBALANCED}): the share of judgments scored is "
            f"{number(100 * abs(gap), 0)} points {side} under {self.spoken([framing])}{who} than "
            f"at the {words(self.plan['baseline'])}. Only judges that scored both sides count"
        )
        if models:
            sentence += f", so that {listed(models, 3)} is left out"
        bounds = uneven[worst]
        sentence += (
            ". With the missing judgments at the ends of the scale the change could be from "
            f"{number(bounds.low, is_signed=True)} to {number(bounds.high, is_signed=True)}."
        )
        if len(uneven) > 1:
            sentence += f" {units(len(uneven) - 1, 'more comparison')} less so."
        return sentence

    def _direction(self) -> str:
        """How many of the judges' models see the changes, target by target."""
        rows = select(self.frame, "direction")
        rows = rows[rows["value"].notna()]
        sentences: dict[str, list[str]] = {}
        for target in self.targets[:_MOST_NAMED]:
            seen: dict[str, list[str]] = {}
            for framing in self.framings:
                delta = self.delta(target, framing)
                mine = rows[(rows["respondent"] == target) & (rows["framing"] == framing)]
                if delta.verdict in ("higher", "lower") and len(mine):
                    agree = int((mine["value"] * delta.value > 0).sum())
                    seen.setdefault(f"{agree} of {units(len(mine), 'model')}", []).append(framing)
            if not seen:
                continue
            each = [f"{n} under {self.spoken(names)}" for n, names in seen.items()]
            see = f"{next(iter(seen))} see it" if len(seen) == 1 else f"seen by {listed_all(each)}"
            sentences.setdefault(see, []).append(target)
        if not sentences:
            return "no change that models could agree on"
        if len(self.targets) == 1:
            return next(iter(sentences))
        return "; ".join(f"{see} ({listed_all(of)})" for see, of in sentences.items())
