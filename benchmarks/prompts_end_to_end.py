"""Whole constructions of prompts over HTTP, with models whose every habit is known.

    python benchmarks/prompts_end_to_end.py [--constructions 20] [--scenarios 12]

Three simulated models write, judge and compare. Each has a planted rate of refusals, of prompts
with a flaw and of prompts that share a theme; two prompts of one theme demand the same work. For
each construction the estimates must be those that its models really drew, to the last
digit, and their intervals are held against what was planted.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from areopagus.aggregation.estimate import Estimate
from areopagus.prompts import construct_prompts
from areopagus.records.estimates import estimates_by, select
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

THEMES = 8
COUNT = 5
WORDS = [
    one + other
    for one in ("har", "lan", "mea", "or", "quar", "rib", "sad", "tim", "val", "wil", "an", "bas")
    for other in ("bour", "tern", "dow", "chard", "ry", "bon", "dle", "ber", "ley", "low", "chor")
]
"""Enough that no two prompts share most of theirs: near copies are left out of a set."""


@dataclass(frozen=True)
class Habits:
    """What a model does: shares of refusals, of flawed prompts, of prompts on its own theme."""

    refuses: float
    flawed: float
    own_theme: float

    @property
    def same(self) -> float:
        """Chance that two of its prompts share a theme."""
        rest = (1 - self.own_theme) / THEMES
        return (self.own_theme + rest) ** 2 + (THEMES - 1) * rest**2


HABITS = {
    "alpha": Habits(0.2, 0.1, 0.5),
    "beta": Habits(0.0, 0.25, 0.2),
    "gamma": Habits(0.05, 0.0, 0.0),
}
FLAWS = ("embeds_answer", "judgmental", "testable_hypothesis", "refers_to_source")


def across(one: str, other: str) -> float:
    """Chance that prompts of two models share a theme; each model's own theme is another one."""
    shares = []
    for name in (one, other):
        rest = (1 - HABITS[name].own_theme) / THEMES
        share = np.full(THEMES, rest)
        share[list(HABITS).index(name)] += HABITS[name].own_theme
        shares.append(share)
    return float(shares[0] @ shares[1])


class World:
    """The models of one construction."""

    def __init__(self, seed: int, scenarios: int) -> None:
        self.seed, self.names = seed, [f"s{number}" for number in range(scenarios)]

    def draw(self, *parts: object) -> float:
        """A number in [0, 1) that the parts decide."""
        text = "\x1f".join(str(part) for part in (self.seed, *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64

    def refuses(self, model: str, scenario: str) -> bool:
        """Whether a model declines a scenario."""
        return self.draw("refuse", model, scenario) < HABITS[model].refuses

    def flaw(self, model: str, scenario: str, number: int) -> str | None:
        """What is wrong with a prompt."""
        if self.draw("flaw", model, scenario, number) >= HABITS[model].flawed:
            return None
        return FLAWS[int(self.draw("which", model, scenario, number) * len(FLAWS))]

    def theme(self, model: str, scenario: str, number: int) -> int:
        """What a prompt is about."""
        if self.draw("own", model, scenario, number) < HABITS[model].own_theme:
            return list(HABITS).index(model)
        return int(self.draw("theme", model, scenario, number) * THEMES)

    def question(self, model: str, scenario: str, number: int) -> str:
        """A prompt: its writer and number can be read from it, and it is like no other."""
        words = [
            WORDS[int(self.draw("word", model, scenario, number, at) * len(WORDS))]
            for at in range(14)
        ]
        return f"Prompt {model} {scenario} {number} weighs {' '.join(words)}. What follows from it?"

    def __call__(self, request: ServedRequest) -> ServedReply:
        system, user = request.text_of("system"), request.messages[1]["content"]
        if "You set questions" in system:
            scenario = re.search(r"case (s\d+)", user)[1]  # type: ignore[index]
            if self.refuses(request.model, scenario):
                return ServedReply(None, refusal="I will not write about this.")
            value: dict[str, Any] = {"scratchpad": "plans"}
            for number in range(1, COUNT + 1):
                value |= {
                    f"prompt_{number}_dimensions": "the level",
                    f"prompt_{number}_angle": f"angle {number} of {request.model} in {scenario}",
                    f"prompt_{number}_question": self.question(request.model, scenario, number),
                }
            return ServedReply(json.dumps(value))
        shown = [
            (model, scenario, int(number))
            for model, scenario, number in re.findall(r"Prompt (\w+) (s\d+) (\d+) weighs", user)
        ]
        if len(shown) == 2:
            same = self.theme(*shown[0]) == self.theme(*shown[1])
            return ServedReply(json.dumps({"reason": "compared", "equivalent": same}))
        flaw = self.flaw(*shown[0])
        answer: dict[str, Any] = {"reason": "looked"}
        answer |= dict.fromkeys(("deep", "open_ended", "generalises"), True)
        answer |= {name: name == flaw for name in FLAWS}
        return ServedReply(json.dumps(answer))

    def drawn(self) -> dict[str, float]:
        """The figures as these models drew them, each name as in `found_in`."""
        found: dict[str, float] = {}
        numbers = range(1, COUNT + 1)
        for name in HABITS:
            written = [one for one in self.names if not self.refuses(name, one)]
            found[f"yield {name}"] = len(written) / len(self.names)
            clean = [self.flaw(name, one, n) is None for one in written for n in numbers]
            found[f"pass {name}"] = sum(clean) / len(clean)
            found[f"FD {name}"] = float(
                np.mean([self._diversity(one, name, name) for one in written])
            )
        for one, other in itertools.combinations(HABITS, 2):
            both = [s for s in self.names if not (self.refuses(one, s) or self.refuses(other, s))]
            found[f"FD {one} x {other}"] = float(
                np.mean([self._diversity(scenario, one, other) for scenario in both])
            )
        return found

    def _diversity(self, scenario: str, one: str, other: str) -> float:
        numbers = range(1, COUNT + 1)
        pairs: Any = (
            itertools.combinations(numbers, 2)
            if one == other
            else itertools.product(numbers, numbers)
        )
        same = [self.theme(one, scenario, a) == self.theme(other, scenario, b) for a, b in pairs]
        return 1 - sum(same) / len(same)


def planted() -> dict[str, float]:
    """The truth behind the draws."""
    found: dict[str, float] = {}
    for name, habits in HABITS.items():
        found[f"yield {name}"] = 1 - habits.refuses
        found[f"pass {name}"] = 1 - habits.flawed
        found[f"FD {name}"] = 1 - habits.same
    for one, other in itertools.combinations(HABITS, 2):
        found[f"FD {one} x {other}"] = 1 - across(one, other)
    return found


def found_in(estimates: pd.DataFrame) -> dict[str, Estimate]:
    """The same figures as the construction has them."""
    found: dict[str, Estimate] = {}
    for keys, one in estimates_by(select(estimates, "generators"), ["respondent"]):
        found[f"yield {keys['respondent']}"] = one["yield"]
        found[f"pass {keys['respondent']}"] = one["pass_rate"]
        found[f"FD {keys['respondent']}"] = one["diversity"]
    names = ["respondent", "baseline"]
    for keys, one in estimates_by(select(estimates, "diversity across"), names):
        if keys["respondent"] is not None:
            found[f"FD {keys['respondent']} x {keys['baseline']}"] = one["diversity"]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Runs the constructions and prints what came out; 1 where a figure is not what was drawn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--constructions", type=int, default=20)
    parser.add_argument("--scenarios", type=int, default=12)
    given = parser.parse_args(arguments)
    truth, started = planted(), time.monotonic()
    hits: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    gaps: dict[str, list[float]] = {}
    wrong = calls = 0
    for seed in range(given.constructions):
        world = World(seed, given.scenarios)
        rows = [
            {"scenario_id": name, "scenario_text": f"Context: case {name}. Question: who was it?"}
            for name in world.names
        ]
        with ProviderServer(world, record=False) as server, tempfile.TemporaryDirectory() as folder:
            models = [
                {"model": f"openai/{name}", "name": name, "api_base": server.openai_base}
                for name in HABITS
            ]
            run = construct_prompts(
                rows, models=models, out=Path(folder) / "run", ledger=Path(folder) / "l.sqlite"
            )
            found, drawn = found_in(run.estimates), world.drawn()
            calls += server.counts.total
        for name, number in found.items():
            kind = name.split()[0] + (" across" if " x " in name else "")
            if not math.isclose(number.value, drawn[name], abs_tol=1e-12):
                wrong += 1
                print(f"  {seed}: {name}: found {number.value}, drawn {drawn[name]}")
            gaps.setdefault(kind, []).append(number.value - truth[name])
            if number.has_interval:
                trials[kind] += 1
                hits[kind] += number.low - 1e-12 <= truth[name] <= number.high + 1e-12
        print(f"  {seed + 1} of {given.constructions}", file=sys.stderr)
    print(
        f"{given.constructions} constructions of {given.scenarios} scenarios, {calls:,} calls, "
        f"{time.monotonic() - started:.0f} s; figures that are not what was drawn: {wrong}"
    )
    for kind, values in gaps.items():
        error = float(np.std(values)) / math.sqrt(len(values))
        print(
            f"  {kind:<10} found - planted {np.mean(values):+.4f} (SE {error:.4f}); "
            f"intervals that hold the planted: {hits[kind]} of {trials[kind]}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
