"""What a stress test says first: its answer for each target, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..aggregation.estimate import Estimate
from ..formats import count, estimate, listed, listed_all, number, p_value, said, units, words
from ..records.estimates import estimate_at, estimates_by, select
from ..reports.panel_answer import judges_told
from .estimates import COMPOSITE
from .profile import framing_name, upright

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED = 3
"""Respondents that have a sentence of their own at the head."""

UNBALANCED = "†"
"""Marks a comparison where judges are missing on one side."""

_MOST_SIZES = 2
"""Framings whose sizes a sentence gives; the picture below has all."""


def _size(found: Estimate) -> str:
    """A change with its interval; the words around it say in which direction."""
    return estimate(upright(found), is_signed=found.value > 0)


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
            "framing": {
                None: f"all {self.noun}s",
                **{name: framing_name(name) for name in self.conditions},
            },
            "detail": {
                "re-asked": "judges asked again", "re-generated": "generated again",
                "dimensions": "criteria", "means": "means over criteria",
            },
            "factor": {"condition": self.noun, "dimension": "criterion", "framing": "group"},
        }  # fmt: skip
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

    def spoken(self, framings: Sequence[str]) -> str:
        """The framings as a sentence has them."""
        return listed_all(list(map(framing_name, framings)))

    def _sized(self, moved: Mapping[str, Estimate]) -> str:
        """The framings and their sizes; of many, the sizes of the first and the last alone."""
        if len(moved) <= _MOST_SIZES:
            return f"{self.spoken(list(moved))}: {listed_all([_size(d) for d in moved.values()])}"
        order = sorted(moved, key=lambda k: -abs(moved[k].value))
        most, least = order[0], order[-1]
        return (
            f"{self.spoken(list(moved))}: most under {self.spoken([most])}, {_size(moved[most])}, "
            f"least under {self.spoken([least])}, {_size(moved[least])}"
        )

    def headline(self) -> list[str]:
        """Of each target, under which framings it holds its ground and under which not."""
        if not self.total("responses", "scored"):
            return ["No response was scored: there is no figure."]
        told = [self._answer(target) for target in self.targets[:_MOST_NAMED]]
        if (left := len(self.targets) - _MOST_NAMED) > 0:
            told.append(f"{units(left, 'more target')} below.")
        return told

    def _answer(self, target: str) -> str:
        deltas = {name: self.delta(target, name) for name in self.framings}
        known = {k: d for k, d in deltas.items() if d.is_defined}
        changed = {k: d for k, d in known.items() if d.verdict == "changed"}
        single = {k: self._changed_in(target, k) for k in known if k not in changed}
        holds = [k for k in single if known[k].verdict == "robust" and not single[k]]
        doubtful = [k for k in single if known[k].verdict != "robust" and not single[k]]
        small = {k: d for k, d in changed.items() if self._is_small(target, k)}
        parts = [f"holds its ground under {self.spoken(holds)}"] if holds else []
        for verb, word, sign in (("degrades", "worse", 1), ("improves", "better", -1)):
            if moved := {k: d for k, d in changed.items() if sign * d.value > 0 and k not in small}:
                parts.append(f"{verb} under {self._sized(moved)} points {word}")
        if small:
            each = [f"{_size(d)} {'worse' if d.value > 0 else 'better'}" for d in small.values()]
            parts.append(
                f"changes by less than the margin of {self.plan['margin']:g} under "
                f"{self.spoken(list(small))}: {listed_all(each)}"
            )
        rest = [
            f"under {self.spoken([framing])} only {listed_all(criteria)} "
            f"{'changes' if len(criteria) == 1 else 'change'}"
            for framing, criteria in single.items()
            if criteria
        ]
        if not known:
            return f"{target}: there is no figure under any {self.noun}."
        if len(doubtful) == len(deltas) and (too_few := self._too_few_prompts(target, known)):
            return f"{target}: {too_few}"
        why = self._not_shown(target, {k: known[k] for k in doubtful})
        if len(doubtful) == len(deltas) > 1:
            return f"{target}: no change {why[0]} under any {self.noun}{why[1]}."
        if doubtful:
            rest.append(f"under {self.spoken(doubtful)} no change {''.join(why)}")
        if unknown := [k for k in deltas if k not in known]:
            rest.append(f"under {self.spoken(unknown)} there is no figure")
        told = "; ".join([*([", and ".join(parts)] if parts else []), *rest])
        return f"{target} {told}." if parts else f"{target}: {told}."

    def floor(self, target: str, detail: str) -> str:
        """That no p of a family can be low enough, whatever the changes are; "" where one can.

        Args:
            target: whose cells.
            detail: "means" of the criteria, or single "dimensions".
        """
        of = ({"respondent": target}, {"respondent": None})  # tested alone, or with other targets
        found = (
            estimate_at(self.frame, "family", "smallest_p_adjusted", detail=detail, **keys)
            for keys in of
        )
        least = next((one.value for one in found if one), 0.0)
        if not least > self.plan["alpha"]:
            return ""
        return f"no p by Holm can be below {p_value(least)}" if least < 1 else "nothing is tested"

    def _not_shown(self, target: str, doubtful: Mapping[str, Estimate]) -> tuple[str, str]:
        """What is said of framings without a verdict, and why although intervals leave out 0."""
        away = {k: d for k, d in doubtful.items() if d.has_interval and not d.covers(0)}
        if not away:
            return "is shown", ", and none is ruled out"
        if floor := self.floor(target, "means"):
            n = units(max(d.n for d in doubtful.values()), "prompt")
            return "could be shown", f", since with {n} {floor}"
        alpha = f"{self.plan['alpha']:g}"
        parts = []
        for by_holm, why in ((True, " by Holm"), (False, "")):
            if mine := [k for k, d in away.items() if (d.p <= self.plan["alpha"]) is by_holm]:
                whose = f" under {self.spoken(mine)}" if len(doubtful) > 1 else ""
                parts.append(f"p is above {alpha}{why}{whose}")
        told = listed_all(parts)
        return "is shown", f", and none is ruled out ({told}, although the interval leaves out 0)"

    def _too_few_prompts(self, target: str, deltas: Mapping[str, Estimate]) -> str:
        """That none of these changes could be shown, whatever they are; empty where one could."""
        if not (floor := self.floor(target, "means")):
            return ""
        most, delta = max(deltas.items(), key=lambda item: abs(item[1].value))
        told = (
            f"no change could be shown: with {units(delta.n, 'prompt')} {floor}. The largest is "
            f"that under {self.spoken([most])}, {_size(delta)} points "
            f"{'worse' if delta.value > 0 else 'better'}"
        )
        if not delta.has_interval:
            told += f" ({said(delta.reason)})"
        needed = [self.cells[target, name, COMPOSITE].get("prompts_needed") for name in deltas]
        known = [one.value for one in needed if one is not None and one.is_defined]
        if len(known) < len(deltas):
            return f"{told}."
        return f"{told}; {count(int(max(known)))} prompts would decide every {self.noun}."

    def _is_small(self, target: str, framing: str) -> bool:
        """Whether the change is shown to be inside the margin."""
        return self.cells[target, framing, COMPOSITE]["equivalence"].verdict == "inside"

    def _changed_in(self, target: str, framing: str) -> list[str]:
        """The criteria called changed, with their sizes."""
        found = [(name, self.delta(target, framing, name)) for name in self.criteria]
        return [
            f"{words(name)} ({number(one.value, is_signed=True)})"
            for name, one in found
            if one.verdict == "changed"
        ]

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
        """The criterion that falls most among those called changed, by target."""
        told = []
        for target in self.targets[:_MOST_NAMED]:
            fallen = [
                (found["degradation"].value, str(criterion), str(framing))
                for (who, framing, criterion), found in self.cells.items()
                if who == target and criterion != COMPOSITE
                and found["degradation"].verdict == "changed" and found["degradation"].value > 0
            ]  # fmt: skip
            if fallen:
                value, criterion, framing = max(fallen)
                who = f"{target}, " if len(self.targets) > 1 else ""
                size = number(value, is_signed=True)
                told.append(f"{words(criterion)} ({who}{size} under {self.spoken([framing])})")
        return "; ".join(told)

    def _coverage(self) -> str:
        scored, planned = (self.total("responses", name) for name in ("scored", "planned"))
        told = f"{count(scored)} of {count(planned)} responses scored"
        judgments = select(self.frame, "judgments").groupby("measure")["value"].sum()
        if total := int(judgments.sum()):
            voted = int(judgments.get("scored", 0))
            told += f", {count(voted)} of {count(total)} votes"
            short = {name: int(n) for name, n in judgments.items() if n and name != "scored"}
            if short:
                kinds = ", ".join(f"{count(n)} {words(str(name))}" for name, n in short.items())
                told += f" ({kinds})"
        n_units, n_prompts = (self.total("responses", name) for name in ("units", "prompts"))
        if n_units < n_prompts:
            told += f"; {count(n_prompts)} prompts of {count(n_units)} different texts"
        return told

    def unbalanced(self, target: str, framing: str) -> bool:
        """Whether some judge is missing in one arm of that comparison."""
        return "moved" in self.cells[target, framing, COMPOSITE]

    def _unbalanced(self) -> str:
        """Where judges are missing on one side, and what that would have been taken for."""
        uneven = [
            (target, framing)
            for target in self.targets
            for framing in self.framings
            if self.unbalanced(target, framing)
        ]
        if not uneven:
            return ""

        def moved(at: tuple[str, str]) -> float:
            value = self.cells[*at, COMPOSITE]["moved"].value
            return abs(value) if value == value else -1.0

        target, framing = worst = max(uneven, key=moved)
        rows = select(self.frame, "balance", respondent=target, framing=framing)
        models = [str(one) for one in rows[rows["measure"] == "model_left_out"]["model"]]
        left_out = int(rows[rows["measure"] == "prompts_left_out"]["value"].sum())
        one_sided = int(rows[rows["measure"] == "one_sided"]["value"].sum())
        who = f" of {target}" if len(self.targets) > 1 else ""
        told = (
            f"UNBALANCED ({UNBALANCED}) under {self.spoken([framing])}{who}: "
            f"{units(one_sided, 'vote')} on one side only count on neither"
        )
        if models:
            told += f"; {listed(models, 3)} left out"
        if left_out:
            told += f"; {units(left_out, 'prompt')} left out, with too few judges on both sides"
        if moved(worst) >= 0:
            raw, delta = self.cells[*worst, COMPOSITE]["raw"], self.delta(target, framing)
            told += (
                f"; whoever scored: {number(raw.value, is_signed=True)} instead of "
                f"{number(delta.value, is_signed=True)}"
            )
        if len(uneven) > 1:
            told += f"; {units(len(uneven) - 1, 'more comparison')} less so"
        return told

    def _direction(self) -> str:
        """How many of the judges' models see the changes, target by target."""
        rows = select(self.frame, "direction")
        rows = rows[rows["value"].notna()]
        told: dict[str, list[str]] = {}
        for target in self.targets[:_MOST_NAMED]:
            seen: dict[str, list[str]] = {}
            for framing in self.framings:
                delta = self.delta(target, framing)
                mine = rows[(rows["respondent"] == target) & (rows["framing"] == framing)]
                if delta.verdict == "changed" and len(mine):
                    agree = int((mine["value"] * delta.value > 0).sum())
                    seen.setdefault(f"{agree} of {units(len(mine), 'model')}", []).append(framing)
            if not seen:
                continue
            each = [f"{n} under {self.spoken(names)}" for n, names in seen.items()]
            see = f"{next(iter(seen))} see it" if len(seen) == 1 else f"seen by {listed_all(each)}"
            told.setdefault(see, []).append(target)
        if not told:
            return "no change that models could agree on"
        if len(self.targets) == 1:
            return next(iter(told))
        return "; ".join(f"{see} ({listed_all(of)})" for see, of in told.items())
