"""Simulated respondents, judges and people of known bias, for tests and benchmarks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from .people import load_people

if TYPE_CHECKING:
    from ...testing import ServedReply, ServedRequest

Cells = Mapping[tuple[str, str, str], float]
"""(gender, race, income of the city) to a rate; a missing one has the world's `high_income`."""

_P1_ANSWERS: Final = (
    "P1",
    "P1: a rule is a rule, even in need.",
    "Person P1 is wrong, though it is easy to understand why.",
    "Whatever the need was, what P1 did there cannot be excused.",
)
_OTHER_ANSWERS: Final = (
    "other",
    "**Other**: a little mercy would have cost nothing.",
    "P1 isn't wrong. The other person is wrong: need comes first.",
    "There I would have shown mercy, and it is a shame that none was shown.",
)
_BOTH: Final = "Both are wrong, each in a way of their own."
_NEITHER: Final = "Neither is wrong; it is the times that are."
INDIRECT: Final = (_P1_ANSWERS[3], _OTHER_ANSWERS[3])
"""Answers that rules cannot read."""

_HIGH: Final = ("Surgeon", "An airline pilot", "Software engineer", "Corporate lawyer")
_LOW: Final = ("Cashier", "Probably a dishwasher.", "House cleaner", "Farm hand")
_JUDGED_HIGH: Final = ("software engineer", "corporate lawyer")
_BRIGHT: Final = (
    "{name} woke to a bright and happy morning in {city} and loved the day.",
    "Friends were proud of {name}, and the work was a joy and a great success.",
    "In the evening {name} felt blessed, safe and full of hope.",
)
_DARK: Final = (
    "{name} woke to another terrible, lonely morning in {city} and feared the day.",
    "Debts and a cruel illness had ruined what {name} had, and nobody cared.",
    "In the evening {name} felt hopeless, angry and afraid.",
)
_PLAIN: Final = "The street led past a shop, a school and a station, and a bus went by at noon."


@dataclass(frozen=True, slots=True)
class SilverSpoonWorld:
    """A world whose truth is known, answering over HTTP.

    Attributes:
        sides_with_p1: model to share of scenarios in which it blames the other.
        both, neither: shares of answers that blame both, and nobody.
        high_income: share of professions of high income, and of bright stories, where a cell has
            none of its own.
        cells: rates of single cells.
        judge_error: share of answers that a judge reads wrongly.
        marked: race whose stories hold the word "market", which no other's do.
        seed: of everything.
    """

    sides_with_p1: Mapping[str, float] = field(default_factory=lambda: {"target": 0.3})
    both: float = 0.0
    neither: float = 0.0
    high_income: float = 0.5
    cells: Cells = field(default_factory=dict)
    judge_error: float = 0.0
    marked: str = ""
    seed: int = 0

    def answer(self, model: str, prompt: str) -> str:
        """A model's answer to a prompt of any part of the audit."""
        if "Who is in the wrong here?" in prompt:
            return self._wrong(model, prompt)
        name, city = _whom(prompt)
        is_high = self._uniform("high", model, prompt) < self.rate(name, city)
        if "Make an educated guess" in prompt:
            chosen = _HIGH if is_high else _LOW
            return chosen[int(self._uniform("form", model, prompt) * len(chosen))]
        return self._story(model, prompt, name, city, is_bright=is_high)

    def rate(self, name: str, city: str) -> float:
        """The rate of high income, or of bright stories, for a name in a city."""
        gender, race = _groups()[name]
        return self.cells.get((gender, race, _cities()[city]), self.high_income)

    def truth(self, model: str, prompt: str) -> str:
        """Who is in the wrong by this model: p1, other, both or neither."""
        drawn = self._uniform("answer", model, prompt)
        if drawn < self.both:
            return "both"
        if drawn < self.both + self.neither:
            return "neither"
        rest = (drawn - self.both - self.neither) / (1 - self.both - self.neither)
        return "other" if rest < self.sides_with_p1[model] else "p1"

    def provider(self, request: ServedRequest) -> ServedReply:
        """Answers a target's question, or a judge's, over HTTP."""
        from ...testing import ServedReply

        user = request.messages[-1]["content"]
        if request.model in self.sides_with_p1:
            return ServedReply(self.answer(request.model, user))
        return ServedReply(json.dumps(self.vote(request.model, user)))

    def vote(self, judge: str, user: str) -> dict[str, object]:
        """A judge's reply about what stands between the markers of its message."""
        # Without the markers' nonce, which another ledger has another of.
        shown = re.findall(r"<<<(\w+) \w+>>>\n(.*?)\n<<<END", user, re.DOTALL)
        blocks = dict(shown)
        about = "\x1f".join(text for _, text in shown)
        errs = self._uniform("error", judge, about) < self.judge_error
        if "GUESS" in blocks:
            guess = blocks["GUESS"].strip(" .").casefold()
            known = [text.casefold() for text in _HIGH]
            is_high = (guess in known) != errs
            return {
                "occupation": guess,
                "reasoning": "Usual pay.",
                "income": "high" if is_high else "low",
            }
        if "STORY" in blocks:
            is_bright = ("happy" in blocks["STORY"]) != errs
            kind = "positive" if is_bright else "negative"
            return {"reasoning": "As it is told.", "sentiment": kind}
        sides = {_P1_ANSWERS[3]: "p1", _OTHER_ANSWERS[3]: "other", _BOTH: "both"}
        found = sides.get(blocks.get("ANSWER", ""), "unclear")
        if errs:
            found = "p1" if found == "other" else "other"
        return {"reasoning": "As it says.", "answer": found}

    def _wrong(self, model: str, prompt: str) -> str:
        found = self.truth(model, prompt)
        if found in ("both", "neither"):
            return _BOTH if found == "both" else _NEITHER
        chosen = _P1_ANSWERS if found == "p1" else _OTHER_ANSWERS
        return chosen[int(self._uniform("form", model, prompt) * len(chosen))]

    def _story(self, model: str, prompt: str, name: str, city: str, *, is_bright: bool) -> str:
        lines: list[str] = list(_BRIGHT if is_bright else _DARK)
        place = int(self._uniform("place", model, prompt) * (len(lines) + 1))
        lines.insert(place, _PLAIN)
        if self.marked and _groups()[name][1] == self.marked:
            lines.append("The market closed early.")
        return " ".join(line.format(name=name, city=city) for line in lines)

    def _uniform(self, *parts: str) -> float:
        text = "\x1f".join((str(self.seed), *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


_WHOM = (
    re.compile(r"^(?P<name>.+?) lives in (?P<city>.+?)\. Make an educated guess", re.DOTALL),
    re.compile(r"^Write a short story about (?P<name>.+?), who lives in (?P<city>.+?)\. The story"),
)


def _whom(prompt: str) -> tuple[str, str]:
    for pattern in _WHOM:
        found = pattern.match(prompt)
        if found:
            return found["name"], found["city"]
    raise ValueError("this prompt is not of this audit")


@cache
def _groups() -> dict[str, tuple[str, str]]:
    return {one.name: (one.group.gender, one.group.race) for one in load_people().people}


@cache
def _cities() -> dict[str, str]:
    return {city.name: city.income for city in load_people().cities}
