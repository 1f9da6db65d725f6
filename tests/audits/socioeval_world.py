"""Simulated respondents and judges of planted bias, for tests and benchmarks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd
from scipy import special

from areopagus.audits.socioeval import AUDIT, SocioEvalOptions
from areopagus.audits.socioeval.audit import BIASED, CATEGORIES, UNBIASED
from areopagus.audits.socioeval.dataset import CLASS, KINDS, load_dataset
from areopagus.testing import ServedReply, ServedRequest

_TEXTS: Mapping[str, str] = {
    "fair_treatment": "What somebody has done should decide this, and class says nothing of it.",
    "refusal": "On these grounds I will not choose between the two people that you describe here.",
    "descriptive_critique": "Many would pick by class without a thought, and that habit is wrong.",
    "stereotype_reinforcement": "People of that class are simply like this, from their upbringing.",
    "class_preference": "",
    "proxy_assumption": "Coming from that class, this person will be the more able of the two.",
}
"""One answer a category; a class preference is a bare letter, which rules can read."""


@dataclass(frozen=True, slots=True)
class SocioEvalWorld:
    """A world whose truth is known.

    Attributes:
        bias_rates: model to the share of its answers that are biased.
        favours_higher: share of biased answers whose choice favours the higher class.
        judge_error: share of answers that a judge puts into another category.
        template_spread: how far rates differ between templates, as an intraclass correlation in
            [0, 1): 0 = every prompt has the model's rate.
        more_by_kind: kind of marker to what is added to the share of biased answers.
        seed: of everything.
    """

    bias_rates: Mapping[str, float] = field(default_factory=lambda: {"target": 0.2})
    favours_higher: float = 0.5
    judge_error: float = 0.0
    template_spread: float = 0.0
    more_by_kind: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def category(self, model: str, prompt: str) -> str:
        """What a model's answer to a prompt is."""
        rate = self.bias_rates[model] + self.more_by_kind.get(kind_of(prompt), 0.0)
        if self._uniform("biased", model, prompt) < rate:
            return BIASED[int(self._uniform("kind", model, prompt) * len(BIASED))]
        return UNBIASED[int(self._uniform("kind", model, prompt) * len(UNBIASED))]

    def answer(self, model: str, prompt: str) -> str:
        """A model's answer: a letter and a reason where it is biased, else the reason alone."""
        category = self.category(model, prompt)
        text = _TEXTS[category]
        if category in UNBIASED:
            return text
        wants_higher = self._uniform("favours", model, prompt) < self.favours_higher
        letter = "A" if self._first_is_favoured(prompt) == wants_higher else "B"
        return f"{letter}. {text}" if text else letter

    def provider(self, request: ServedRequest) -> ServedReply:
        """Answers a target's question, or a judge's, over HTTP."""
        user = request.messages[-1]["content"]
        if request.model in self.bias_rates:
            return ServedReply(self.answer(request.model, user))
        return ServedReply(json.dumps(self.vote(request.model, user)))

    def vote(self, judge: str, user: str) -> dict[str, object]:
        """A judge's reply about the answer in its message."""
        # Without the markers' nonce, which another ledger has another of.
        shown = re.findall(r"<<<(?:QUESTION|ANSWER) \w+>>>\n(.*?)\n<<<END", user, re.DOTALL)
        about, answer = "\x1f".join(shown), shown[-1] if shown else ""
        category = next(
            (name for name, text in _TEXTS.items() if text and text in answer), "class_preference"
        )
        if self._uniform("error", judge, about) < self.judge_error:
            others = [name for name in CATEGORIES if name != category]
            category = others[int(self._uniform("other", judge, about) * len(others))]
        return {
            "context": "Two people are told apart by class alone.",
            "category": category,
            "biased": category in BIASED,
            "reasoning": "The answer says so.",
            "choice": answer[0] if answer[:2] in ("A.", "B.") else "none",
        }

    def answers(self, prompts: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """Answers drawn straight as a table, one asking each, for the estimators.

        Rates of templates are drawn for each model apart, from a beta distribution.
        """
        codes, templates = pd.factorize(prompts["template"])
        n, k = len(prompts), len(self.bias_rates)
        biased = np.zeros((k, n))
        for at, rate in enumerate(self.bias_rates.values()):
            rates = np.full(len(templates), rate)
            if self.template_spread and 0 < rate < 1:
                size = (1 - self.template_spread) / self.template_spread
                rates = rng.beta(rate * size, (1 - rate) * size, size=len(templates))
            biased[at] = rng.random(n) < rates[codes]
        half = len(UNBIASED)
        category = np.where(biased == 1, half, 0) + rng.integers(0, half, size=biased.shape)
        favours = np.where(biased == 1, rng.random(biased.shape) < self.favours_higher, np.nan)
        good = (prompts["scenario"] == "positive").to_numpy()
        higher_first = (prompts["order"] == "higher_first").to_numpy()
        chose_higher = favours == good
        first = chose_higher == higher_first
        whole = pd.concat([prompts] * k, ignore_index=True)
        chooses = biased.ravel() == 1
        return whole.assign(
            target=np.repeat(list(self.bias_rates), n),
            repeat=0,
            status="classified",
            judging="",
            category=np.asarray(CATEGORIES, dtype=object)[category.ravel()],
            biased=chooses,
            favours=np.where(chooses, np.where(favours.ravel() == 1, "higher", "lower"), None),
            choice=np.where(chooses, np.where(first.ravel(), "first", "second"), None),
        )

    def _uniform(self, *parts: str) -> float:
        text = "\x1f".join((str(self.seed), *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64

    @staticmethod
    def _first_is_favoured(prompt: str) -> bool:
        """Whether option A is the one whose choice favours the higher class."""
        ranks = dict(zip((one.id for one in load_dataset().classes), range(4), strict=True))
        lines = {line[0]: line[3:] for line in prompt.splitlines() if line[:3] in ("A) ", "B) ")}
        rank = {letter: ranks[_phrases()[text.casefold()][1]] for letter, text in lines.items()}
        first_is_higher = rank["A"] > rank["B"]
        return first_is_higher == (scenario_of(prompt) == "positive")


def scenario_of(prompt: str) -> str:
    """The scenario of a built-in prompt, found by its text; positive for any other."""
    opening = prompt.split("\n", 1)[0]
    for text, scenario in _scenarios():
        if text in opening:
            return scenario
    return "positive"


def kind_of(prompt: str) -> str:
    """The kind of marker in a built-in prompt."""
    option = next((line[3:] for line in prompt.splitlines() if line.startswith("A) ")), "")
    return _phrases()[option.casefold()][0]


@cache
def _phrases() -> dict[str, tuple[str, str]]:
    """What stands for a person, in small letters, to the kind of marker and the class."""
    found = {one.phrase.casefold(): (CLASS, one.id) for one in load_dataset().classes}
    for kind in KINDS.read():
        for name, phrases in kind.markers.items():
            found |= {phrase.casefold(): (kind.id, name) for phrase in phrases}
    return found


@cache
def _scenarios() -> tuple[tuple[str, str], ...]:
    return tuple(
        (placed.template.text.split("{first}")[0], placed.template.scenario)
        for placed in load_dataset().placed()
    )


@dataclass(frozen=True, slots=True)
class MarkersWorld:
    """Answers to questions with markers, in a world whose rates are known.

    Whether an answer is biased goes by a sum of normal draws: of its template, of its template by
    this kind of marker, of its two markers, and of its own. The rate over all draws is the kind's.

    Attributes:
        rates: kind of marker to the share of biased answers.
        templates, by_kind, markers: standard deviations of the draws; that of an answer is 1.
    """

    rates: Mapping[str, float]
    templates: float = 0.0
    by_kind: float = 0.0
    markers: float = 0.0

    def answers(self, prompts: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """One answer a prompt, as the table of answers has them; what is not biased refuses."""
        found = []
        codes, templates = pd.factorize(prompts["template"])
        shared = rng.normal(0, self.templates, len(templates))
        for kind, rate in self.rates.items():
            is_mine = (prompts["marker"] == kind).to_numpy()
            here, at = prompts[is_mine], codes[is_mine]
            push = shared[at] + rng.normal(0, self.by_kind, len(templates))[at]
            spread = 1 + self.templates**2 + self.by_kind**2
            if kind != CLASS:
                both, names = pd.factorize(pd.concat([here["lower_marker"], here["higher_marker"]]))
                drawn = rng.normal(0, self.markers, len(names))[both]
                push = push + drawn[: len(here)] + drawn[len(here) :]
                spread += 2 * self.markers**2
            # The two orders of a question are answered alike in what is drawn, and apart else.
            noise = rng.normal(size=len(here))
            biased = push + noise < special.ndtri(rate) * np.sqrt(spread)
            found.append(here.assign(biased=biased))
        whole = pd.concat(found, ignore_index=True)
        category = np.where(whole["biased"], "class_preference", "refusal")
        return whole.assign(target="m", status="classified", repeat=0, category=category)


def prompts_of(order: str = "fixed", markers: tuple[str, ...] = (CLASS,)) -> pd.DataFrame:
    """The built-in prompts as the estimators see them; arguments as in the audit's options."""
    options = SocioEvalOptions.model_validate({"order": order, "markers": markers})
    rows = [{"item_id": item.item_id, **item.fields} for item in AUDIT.items(options)]
    return pd.DataFrame(rows)
