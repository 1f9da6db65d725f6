"""Models on loopback whose prompts, votes and refusals are known."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from areopagus.aggregation.estimate import Estimate
from areopagus.prompts import PromptRun
from areopagus.records.estimates import estimates_by, select
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

_WORDS = (
    "harbour lantern meadow orchard quarry ribbon saddle timber valley willow anchor "
    "basket candle dancer ember feather garden hammer island jacket kettle ladder market "
    "needle oyster parcel quilt river shovel tunnel urchin violin wagon yarrow zephyr "
    "bridge circus dragon engine forest "
)
WORDS = tuple(_WORDS.split())
MODELS = ("alpha", "beta", "gamma")


def draw(*parts: object) -> int:
    said = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8], "big")


@dataclass
class PromptWorld:
    """What each model does.

    Attributes:
        n: scenarios; `count` prompts wanted.
        refusing: (model, scenario) that declines.
        malformed: (model, scenario) to numbers whose block is broken at first; a repair brings
            them right but for those `unmended`.
        flaws: (writer, number) to the criterion that judges find wrong, in every scenario.
        soft: judges that find no flaw at all.
        same: writer to groups of numbers that demand the same work; for a pair of writers the
            pairs of numbers.
        lenient: judges that call every pair equivalent.
        noise: answers of unreadable form: (role, model) to a text sent every time.
    """

    n: int = 4
    count: int = 5
    source: str = "bbq"
    refusing: set[tuple[str, str]] = field(default_factory=set)
    malformed: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    unmended: set[tuple[str, str]] = field(default_factory=set)
    flaws: dict[tuple[str, int], str] = field(default_factory=dict)
    soft: set[str] = field(default_factory=set)
    same: dict[str, tuple[frozenset[int], ...]] = field(default_factory=dict)
    lenient: set[str] = field(default_factory=set)
    noise: dict[tuple[str, str], str] = field(default_factory=dict)

    def scenarios(self) -> list[dict[str, str]]:
        return [
            {
                "scenario_id": f"s{i}",
                "source": self.source,
                "stratum": f"group {i % 3}",
                "scenario_text": f"Context: case s{i} of a kind. Question: who was it?",
                "source_file": "made.jsonl",
            }
            for i in range(self.n)
        ]

    def write_scenarios(self, path: Path) -> None:
        rows = "\n".join(json.dumps(row) for row in self.scenarios())
        path.write_text(rows + "\n", encoding="utf-8")

    def question(self, model: str, scenario: str, number: int) -> str:
        start = draw(model, scenario, number)
        words = " ".join(WORDS[(start >> (5 * k)) % len(WORDS)] for k in range(9))
        return (
            f"Prompt {model} {scenario} {number} weighs {words}. "
            f"What would {words.split()[0]} owe to {words.split()[-1]} in such a place?"
        )

    def __call__(self, request: ServedRequest) -> ServedReply:
        role = self.role(request)
        text = self.noise.get((role, request.model))
        if text is not None:
            return ServedReply(text)
        answer: dict[str, Any]
        if role == "generate":
            made = self.generate(request)
            if isinstance(made, ServedReply):
                return made
            answer = made
        else:
            answer = self.quality(request) if role == "quality" else self.compare(request)
        return ServedReply(json.dumps(answer))

    def role(self, request: ServedRequest) -> str:
        system = request.text_of("system")
        if "You set questions" in system:
            return "generate"
        return "quality" if "You check questions" in system else "compare"

    def generate(self, request: ServedRequest) -> dict[str, Any] | ServedReply:
        user = request.messages[1]["content"]
        scenario = re.search(r"case (s\d+)", user)[1]  # type: ignore[index]
        if (request.model, scenario) in self.refusing:
            return ServedReply(None, refusal="I will not write about this.")
        is_repair = len(request.messages) > 2
        wanted = range(1, self.count + 1)
        if is_repair:
            found = re.findall(r'"prompt_(\d+)_question"', request.messages[-1]["content"])
            wanted = [int(number) for number in found]  # type: ignore[assignment]
        broken: tuple[int, ...] = self.malformed.get((request.model, scenario), ())
        if is_repair and (request.model, scenario) not in self.unmended:
            broken = ()
        answer: dict[str, Any] = {"scratchpad": f"SECRET plan of {request.model}"}
        for number in wanted:
            if number in broken:
                continue
            answer[f"prompt_{number}_dimensions"] = f"level {number}"
            answer[f"prompt_{number}_angle"] = f"angle {number} of {request.model} in {scenario}"
            answer[f"prompt_{number}_question"] = self.question(request.model, scenario, number)
            if self.source == "concepts":
                answer[f"prompt_{number}_technology"] = False
        return answer

    def quality(self, request: ServedRequest) -> dict[str, Any]:
        (found,) = prompts_in(request)
        writer, _, number = found
        value: dict[str, Any] = {
            "reason": f"{request.model} looked at {writer} {number}",
            "deep": True,
            "open_ended": True,
            "generalises": True,
            "embeds_answer": False,
            "judgmental": False,
            "testable_hypothesis": False,
            "refers_to_source": False,
        }
        flaw = self.flaws.get((writer, number))
        if flaw is not None and request.model not in self.soft:
            value[flaw] = not value[flaw]
        return value

    def compare(self, request: ServedRequest) -> dict[str, Any]:
        (writer, _, one), (other_writer, _, other) = prompts_in(request)
        is_same = writer == other_writer and any(
            {one, other} <= group for group in self.same.get(writer, ())
        )
        return {
            "reason": f"{request.model} compared",
            "equivalent": is_same or request.model in self.lenient,
        }


def prompts_in(request: ServedRequest) -> list[tuple[str, str, int]]:
    """(writer, scenario, number) of the prompts that a judge is shown."""
    found = re.findall(r"Prompt (\w+) (s\d+) (\d+) weighs", request.messages[1]["content"])
    return [(writer, scenario, int(number)) for writer, scenario, number in found]


def model(server: ProviderServer, name: str, **more: Any) -> dict[str, Any]:
    return {
        "model": f"openai/{name}",
        "name": name,
        "api_base": server.openai_base,
        "concurrency": 16,
        "max_attempts": 1,
        **more,
    }


def models_yaml(server: ProviderServer, names: tuple[str, ...] = MODELS, **more: Any) -> str:
    lines = ["models:"]
    for name in names:
        settings: Mapping[str, Any] = model(server, name, **more)
        lines.append("  - " + json.dumps(settings))
    return "\n".join(lines) + "\n"


def figure(run: PromptRun, generator: str, measure: str) -> Estimate:
    """A generator's figure over all sources."""
    rows = select(run.estimates, "generators", respondent=generator)
    *_, (_, measures) = estimates_by(rows, ["group"])  # over all sources comes last
    return measures[measure]


def diversity(run: PromptRun, first: str | None, second: str | None, measure: str) -> Estimate:
    """Within the first where both are one; over all twos where there is none."""
    if first is not None and first == second:
        return figure(run, first, measure)
    rows = select(run.estimates, "diversity across", respondent=first, baseline=second)
    *_, (_, measures) = estimates_by(rows, ["group"])
    return measures[measure]
