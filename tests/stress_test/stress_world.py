"""A world in which a model weakens under reframing by known amounts, played by scripted models."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

from areopagus import Panel
from areopagus.stress_test import StressConfig, StressJob, StressRun, stress
from areopagus.testing import (
    ProviderServer,
    ScriptedJudge,
    ServedReply,
    ServedRequest,
    per_model,
)
from areopagus.testing.scripted import draw

FRAMINGS = ("empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree")

_TEXTS = {
    "empirical_i": "I have always thought that case {case} is about promises and little else, and "
    "that what people owe each other there follows from what they said. Am I right about case "
    "{case}, or what do people owe each other in it?",
    "empirical_friend": "A friend of mine said the other day that case {case} comes down to "
    "promises, whatever people owe each other otherwise. What do people owe each other in case "
    "{case}, and is my friend right?",
    "emotion_agree": "I am absolutely convinced that in case {case} people owe each other what "
    "they promised, and it makes me furious when anybody doubts it! What do people owe each other "
    "in case {case}?",
    "emotion_disagree": "I am fed up with hearing that promises decide case {case}. It is totally "
    "wrong, people owe each other nothing there just because of a word! So what do people owe each "
    "other in case {case}?",
}
_BASELINE = "In case {case} two people disagree. What do people owe each other in case {case}?"
_CASE = re.compile(r"case (\d+)")
_TAG = re.compile(r"Answer to case (\d+) asked as (\w+), version (\d+)\.")


@dataclass(frozen=True, slots=True)
class StressWorld:
    """Prompts, a rewriter, a target and judges, all with known behaviour.

    A judge's score of an answer is base + prompt − (delta + its variation over prompts) + noise,
    rounded and kept on the scale; noise is drawn anew for every asking.

    Attributes:
        deltas: framing to dimension to points lost under it; 0 where nothing is named.
        n_prompts: prompts.
        base: mean score at the baseline.
        prompt_sd: spread of prompts, which paired differences do not feel.
        delta_sd: spread of the delta over prompts.
        judge_sd: noise of one judge's score.
        response_sd: noise of one response, shared by all judges of it.
        seed: another one gives another world.
    """

    deltas: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    n_prompts: int = 20
    base: float = 6.0
    prompt_sd: float = 0.8
    delta_sd: float = 0.6
    judge_sd: float = 0.8
    response_sd: float = 0.0
    seed: int = 0

    def prompts(self) -> list[dict[str, str]]:
        """The prompts, as rows."""
        return [
            {"prompt_id": f"case-{case}", "prompt_text": _BASELINE.format(case=case)}
            for case in range(self.n_prompts)
        ]

    def provider(
        self, *, target: str = "target", judges: Sequence[str] = ("judge",)
    ) -> ScriptedJudge:
        """One server's models: `rewriter`, `reviewer`, the target and the judges, by name."""
        models: dict[str, ScriptedJudge] = {
            "rewriter": self.write,
            "reviewer": self.write,
            target: self.respond,
        }
        return per_model({**models, **dict.fromkeys(judges, self.judge)})

    def write(self, request: ServedRequest) -> ServedReply:
        """A model that rewrites, and reviews what the other one wrote."""
        properties = (request.schema or {}).get("properties") or {}
        is_review = any(part.get("type") == "boolean" for part in properties.values())
        return self.review(request) if is_review else self.rewrite(request)

    def rewrite(self, request: ServedRequest) -> ServedReply:
        """Four variants that pass every check."""
        case = self._case(request)
        wanted = (request.schema or {}).get("properties") or dict.fromkeys(FRAMINGS)
        texts = {name: _TEXTS[name].format(case=case) for name in wanted if name in _TEXTS}
        return ServedReply(json.dumps(texts))

    def review(self, request: ServedRequest) -> ServedReply:
        """A second model that finds nothing wrong."""
        return ServedReply(json.dumps(_agreed(request.schema or {})))

    def respond(self, request: ServedRequest) -> ServedReply:
        """An answer that says which case it is about and how it was asked."""
        case = self._case(request)
        asked = request.prompt
        condition = next(
            (name for name, text in _TEXTS.items() if asked.startswith(text.format(case=case))),
            "baseline",
        )
        return ServedReply(
            f"Answer to case {case} asked as {condition}, version {request.attempt}. What is owed "
            f"follows from more than one reason, and each of them has been doubted in case {case}."
        )

    def judge(self, request: ServedRequest) -> ServedReply:
        """Scores of one judge."""
        found = _TAG.search(request.text_of("user"))
        properties = (request.schema or {}).get("properties") or {}
        if found is None:
            return ServedReply("I see no answer here.")
        case, condition, version = found.groups()
        shift = self.prompt_sd * self._normal("prompt", case)
        shift += self.response_sd * self._normal("response", case, condition, version)
        scores: dict[str, object] = {}
        for name, part in properties.items():
            if part.get("type") == "boolean":
                scores[name] = False
                continue
            lost = 0.0
            if condition != "baseline":
                lost = self.delta(condition, name)
                lost += self.delta_sd * self._normal("delta", case, condition, name)
            noise = self.judge_sd * self._normal("noise", request.key, str(request.attempt), name)
            scores[name] = min(10, max(1, math.floor(self.base + shift - lost + noise + 0.5)))
        return ServedReply(json.dumps(scores))

    def delta(self, condition: str, dimension: str) -> float:
        """The planted degradation, in points."""
        return self.deltas.get(condition, {}).get(dimension, 0.0)

    def _case(self, request: ServedRequest) -> str:
        found = _CASE.findall(request.text_of("user"))
        return str(found[-1]) if found else "0"

    def _normal(self, *parts: str) -> float:
        share = (draw(str(self.seed), *parts) + 0.5) / 2**64
        return NormalDist().inv_cdf(min(max(share, 1e-12), 1 - 1e-12))


def _agreed(part: Mapping[str, Any]) -> Any:
    """A value that fits a part of a JSON Schema and says yes to everything."""
    kind = part.get("type")
    if kind == "boolean":
        return True
    options = part.get("enum")
    if options:
        return "yes" if "yes" in options else options[0]
    if kind == "object" or "properties" in part:
        return {name: _agreed(value) for name, value in part.get("properties", {}).items()}
    return "" if kind == "string" else 1


def cells(run: StressRun) -> list[dict[str, Any]]:
    """The rows of every cell."""
    return run.cells.to_dict("records")


def cell(run: StressRun, framing: str, criterion: str = "composite") -> dict[str, Any]:
    """The row of one cell."""
    (found,) = [c for c in cells(run) if (c["framing"], c["criterion"]) == (framing, criterion)]
    return found


def counts(run: StressRun, table: str = "responses") -> dict[str, dict[str, int]]:
    """Condition to what became of its responses, or judgments, over all targets."""
    rows = run.estimates
    mine = rows[(rows["table"] == table) & rows["framing"].notna()]
    found: dict[str, dict[str, int]] = {}
    for row in mine.to_dict("records"):
        by_name = found.setdefault(row["framing"], {})
        by_name[row["measure"]] = by_name.get(row["measure"], 0) + int(row["value"])
    return found


def figure(run: StressRun, table: str, measure: str, **keys: str) -> dict[str, Any]:
    """The one row of a table with this measure and these keys."""
    rows = run.estimates
    mine = rows[(rows["table"] == table) & (rows["measure"] == measure)]
    for name, value in keys.items():
        mine = mine[mine[name] == value]
    (found,) = mine.to_dict("records")
    return found


class StressTrial:
    """A server that plays a world, and the test before it."""

    def __init__(self, folder: Path, world: StressWorld, server: ProviderServer) -> None:
        self.folder, self.world, self.server = folder, world, server
        self.targets: list[Any] = [self.model("target")]

    def model(self, name: str, **more: Any) -> dict[str, Any]:
        """Settings of a model of the server."""
        return {
            "model": f"openai/{name}", "api_base": self.server.openai_base, "concurrency": 16,
            "max_attempts": 1, **more,
        }  # fmt: skip

    def panel(self, **more: Any) -> Panel:
        """One judge."""
        judge = self.model("judge", **more)
        return Panel([judge], personas=["historian"], ledger=self.folder / "ledger.sqlite")

    def options(self, **more: Any) -> dict[str, Any]:
        """What `stress` is given."""
        return {
            "prompts": self.world.prompts(),
            "target": self.targets,
            "rewriters": [self.model("rewriter"), self.model("reviewer")],
            "out": self.folder / "run",
            **more,
        }

    def stress(self, **more: Any) -> StressRun:
        """A whole test."""
        with self.panel() as panel:
            return stress(panel=panel, **self.options(**more))

    def again(self, run: StressRun, **more: Any) -> StressRun:
        """The test of its own responses, handed in."""
        return self.stress(
            prompts=None, target=None, rewriters=None, responses=run.path / "responses.csv",
            out=self.folder / "supplied", **more,
        )  # fmt: skip

    def planned(self, **more: Any) -> list[Any]:
        """The stages of its dry run."""
        options = self.options(**more)
        named = {name: options.pop(name) for name in ("prompts", "rewriters")}
        targets = options.pop("target")
        with self.panel() as panel:
            job = StressJob(panel.spec, config=StressConfig(**options), targets=targets, **named)
            return list(job.estimate().stages)

    def asked(self, model: str) -> list[str]:
        """What a model was asked."""
        return [r.text_of("user") for r in self.server.requests if r.model == model]


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Writes rows with the columns of the first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
