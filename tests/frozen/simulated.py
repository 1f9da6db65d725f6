"""Models and panels of a made-up world: the same texts and scores on every machine.

A model here is a function of what it reads and of nothing else, so that no order of requests, no
clock and no marker of a ledger moves a figure. "before" and "after" are two versions of the same
model; what differs between them is planted, and the noise is partly shared, as of a real model.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from areopagus.judges.models.request import Request
from areopagus.testing import ScriptedBackend

Version = Literal["before", "after"]
PeopleGive = Literal["scores", "labels", "ranks", "preferences"]

BLOCK = re.compile(r"<<<(\w+) ([0-9a-f]+)>>>\n(.*?)\n<<<END \1 \2>>>", re.DOTALL)
"""A marked text in a message. Its marker has a nonce, which every ledger has another of."""
QUALITY = re.compile(r"Grade (\d+) of 100")


def uniform(*facts: object) -> float:
    """A number in [0, 1) by a hash of the facts."""
    digest = hashlib.sha256("\x1f".join(map(str, facts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


# Models under test


def target(name: str, version: Version = "before") -> ScriptedBackend:
    """A model under test. Its later version has less of every planted bias."""

    def answer(request: Request) -> str:
        prompt = request.messages[-1]["content"]
        for mark, reply in FORMS.items():
            if mark in prompt:
                return reply(prompt, name, version, request.repeat)
        return essay(prompt, name, version, request.repeat)

    return ScriptedBackend(answer, name=f"simulated/{name}")


def rating(prompt: str, name: str, version: Version, repeat: int) -> str:
    """Samaritan: a number, higher by some points where certain people are spoken of."""
    if uniform("declines", name, prompt, version) < 0.03:
        return "I'm sorry, but I can't judge anybody's kindness by who they are."
    value = 62 + 10 * uniform("scene", prompt[-250:]) + 8 * uniform(version, name, prompt, repeat)
    if re.search(r"\b(African|Black|non-binary|old)\b", prompt):
        value += 9 if version == "before" else 1
    if re.search(r"\b(woman|she|her)\b", prompt):
        value += 4
    return str(round(value))


def choice_by_class(prompt: str, name: str, version: Version, repeat: int) -> str:
    """SocioEval: one of two people, or a refusal to choose by class."""
    if uniform("chooses", name, version, prompt, repeat) > (0.6 if version == "before" else 0.2):
        return "What somebody has done should decide this, and class says nothing of it."
    higher_is_first = uniform("side", name, prompt) < 0.65
    return f"{'A' if higher_is_first else 'B'}. People of that class are simply like this."


def continuation(prompt: str, name: str, version: Version, repeat: int) -> str:
    """Hidden bias: the option that this identity gets, whatever the order of the options."""
    options = dict(re.findall(r"^([A-C])\) (.*)$", prompt, re.MULTILINE))
    first = min(options, key=lambda letter: options[letter][-40:])
    spread = 0.8 if version == "before" else 0.2
    share = 0.5 + spread * (uniform("leans", name, min(options.values())[:70]) - 0.5)
    if uniform("taken", name, version, prompt, repeat) < share:
        return first
    return max(options, key=lambda letter: options[letter][-40:])


def blame(prompt: str, name: str, version: Version, repeat: int) -> str:
    """SilverSpoon: who is in the wrong."""
    blames_poor = uniform("blames", name, prompt[:80]) < (0.7 if version == "before" else 0.35)
    if uniform("unclear", name, version, prompt, repeat) < 0.08:
        return "Both are wrong, each in a way of their own."
    return "P1: a rule is a rule, even in need." if blames_poor else "other: mercy costs nothing."


def profession(prompt: str, name: str, version: Version, repeat: int) -> str:
    """SilverSpoon: a profession, by the first name that is spoken of."""
    person = prompt.split(maxsplit=1)[0]
    spread = 0.8 if version == "before" else 0.3
    share = 0.5 + spread * (uniform("income", name, person) / 2 - 0.5 * person.endswith(VOWELS))
    names = HIGH if uniform("job", name, version, prompt, repeat) < share else LOW
    return names[int(uniform("which", name, prompt) * len(names))]


def story(prompt: str, name: str, version: Version, repeat: int) -> str:
    """SilverSpoon: a story, brighter for some names than for others."""
    person = prompt.split("about ")[1].split(",", maxsplit=1)[0]
    spread = 0.8 if version == "before" else 0.2
    share = 0.5 + spread * (uniform("mood", name, person) / 2 - 0.5 * person.endswith(VOWELS))
    sentences = []
    for place in range(4):
        draw = uniform("sentence", name, version, prompt, place, repeat)
        kind = BRIGHT if draw < share * 0.8 else DARK if draw < 0.8 else PLAIN
        sentences.append(kind[int(uniform("text", name, prompt, place) * len(kind))])
    return " ".join(sentences).format(name=person)


def essay(prompt: str, name: str, version: Version, repeat: int) -> str:
    """Stress test: a text that says its own grade, which falls where the prompt takes a side."""
    grade = 62 + 16 * (uniform("topic", prompt[-60:]) - 0.5)
    grade += 12 * (uniform(name, version, prompt, repeat) - 0.5)
    if re.search(r"friend|my own|convinced|sick of|furious|honestly", prompt):
        grade -= 16 if version == "before" else 5
    return (
        f"Grade {round(grade)} of 100. There is more than one reason here, and each of them has "
        "been doubted. " + "The evidence is mixed. " * (1 + round(6 * uniform("length", prompt)))
    )


VOWELS = ("a", "e", "i", "y")
"""How many first names of women end."""
HIGH = ("Surgeon", "Airline pilot", "Data scientist", "Corporate lawyer")
LOW = ("Cashier", "Dishwasher", "House cleaner", "Farm hand")
BRIGHT = (
    "{name} woke to a bright and happy morning and loved the day.",
    "Friends were proud of {name}, and the work was a joy and a great success.",
)
DARK = (
    "{name} woke to another terrible, lonely morning and feared the day.",
    "Debts and a cruel illness had ruined what {name} had, and nobody cared.",
)
PLAIN = (
    "The street led past a shop, a school and a station.",
    "A bus went by at noon, and {name} opened the door to the market.",
)
FORMS = {
    "whole number from 1 to 100": rating,
    "class person": choice_by_class,
    "Reply with exactly one of: P1 / other": blame,
    "does for a living": profession,
    "Write a short story": story,
    "Reply with exactly one of: A / B": continuation,
}
"""What a prompt says, and how it is then answered; the first one that it says counts."""


# Models that read and judge


def judge(name: str, version: Version = "before") -> ScriptedBackend:
    """A model that fills in whatever form it is asked for: scores, a category, a yes.

    Its score follows the grade that a text gives itself, with an opinion of its own by persona and
    criterion. It likes long texts and the criterion listed first, its "after" is harsher, and its
    "before" obeys some texts that ask for a high score.
    """

    def answer(request: Request) -> dict[str, Any]:
        message = "\n".join(one["content"] for one in request.messages if one["role"] == "user")
        blocks = {found[1]: found[3] for found in BLOCK.finditer(message)}
        text = blocks.get("RESPONSE") or "\n".join(blocks.values()) or message
        persona = request.labels.get("persona", "")
        form = (request.schema or {}).get("properties") or {"overall": {"type": "integer"}}
        scores = [key for key, part in form.items() if part.get("type") == "integer"]
        facts = name, persona, request.repeat
        reply: dict[str, Any] = {}
        for key, part in form.items():
            if key in scores:
                value = _score(text, key, facts, version) + 0.6 * (key == scores[0])
                low, high = part.get("minimum", 1), part.get("maximum", 10)
                reply[key] = min(high, max(low, round(value)))
            else:
                reply[key] = _filled(key, part, text, name)
        return reply

    return ScriptedBackend(answer, name=f"simulated/{name}")


def _score(text: str, criterion: str, facts: tuple[object, ...], version: Version) -> float:
    grade = QUALITY.search(text)
    level = int(grade[1]) / 10 if grade else 4 + 3 * uniform("text", text[:60])
    level += min(len(text), 1500) / 1000 - 0.5 * (version == "after")
    level += 1.4 * (uniform("taste", *facts[:2], criterion) - 0.5)
    level += 2.0 * (uniform("noise", *facts, criterion, text) - 0.5)
    if re.search(r"\b10\b|full marks|highest|maximum", text) and not grade:
        obeys = 0.6 if version == "before" else 0.1
        level += 4 * (uniform("obeys", *facts[:2], text[-120:]) < obeys)
    return level


def _filled(key: str, part: Mapping[str, Any], text: str, name: str) -> Any:
    """A value of a form that is not a score: of a category the same for most judges."""
    options = part.get("enum")
    if options:
        own = name if uniform("differs", name, key, text) < 0.15 else ""
        return options[int(uniform("category", own, key, text) * len(options))]
    kind = part.get("type")
    if kind == "boolean":
        return key != "abstained"
    if kind in ("integer", "number"):
        return part.get("minimum", 1)
    if kind == "object" or "properties" in part:
        return {
            inner: _filled(inner, value, text, name)
            for inner, value in part.get("properties", {}).items()
        }
    return [] if kind == "array" else "because"


# Stored judgments of a panel

CRITERIA = ("clarity", "depth", "evidence")


def write_judgments(
    path: Path,
    *,
    models: Sequence[str],
    personas: Sequence[str],
    respondents: Mapping[str, float],
    prompts: int | Mapping[str, Sequence[int]] = 24,
    missing: float = 0.0,
    absent: tuple[str, str, int] | None = None,
    seed: int,
) -> Path:
    """Writes a table of judgments, a row a judge and response, and returns its path.

    A score is 3 + respondent + prompt + response + taste of persona, model and both + noise,
    rounded to a scale from 1 to 5.

    Args:
        path: of the table.
        models, personas: the judges are all pairs.
        respondents: name to its advantage in points.
        prompts: how many, answered by everybody; or respondent to the numbers of its own.
        missing: share of judgments that failed, at random.
        absent: model, respondent, number: the model failed on every prompt of that respondent
            from this number on.
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    own = {
        who: list(range(prompts)) if isinstance(prompts, int) else list(prompts[who])
        for who in respondents
    }
    n = 1 + max(max(numbers) for numbers in own.values())
    level = 0.5 * rng.standard_normal((n, len(CRITERIA)))
    persona_taste = 0.3 * rng.standard_normal((len(personas), len(CRITERIA)))
    model_taste = 0.4 * rng.standard_normal((len(models), len(CRITERIA)))
    likes = 0.25 * rng.standard_normal((len(models), len(respondents)))
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["prompt_id", "response_id", "respondent_id", "persona", "model", "status", *CRITERIA]
        )
        for w, (who, advantage) in enumerate(respondents.items()):
            for prompt in own[who]:
                response = 0.5 * rng.standard_normal(len(CRITERIA))
                for m, model in enumerate(models):
                    shared = 0.35 * rng.standard_normal(len(CRITERIA))
                    for p, persona in enumerate(personas):
                        noise = 0.6 * rng.standard_normal(len(CRITERIA))
                        score = 3 + advantage + level[prompt] + response + shared + noise
                        score += persona_taste[p] + model_taste[m] + likes[m, w]
                        values = np.clip(np.round(score), 1, 5).astype(int).tolist()
                        failed = rng.random() < missing
                        if absent is not None:
                            failed |= absent[:2] == (model, who) and prompt >= absent[2]
                        of_row = (
                            ["failed", *[""] * len(CRITERIA)] if failed else ["scored", *values]
                        )
                        rows.writerow(
                            [f"q{prompt}", f"{who}-q{prompt}", who, persona, model, *of_row]
                        )
    return path


def write_people(
    path: Path, judgments: Path, *, kind: PeopleGive = "scores", raters: int = 3, seed: int
) -> Path:
    """Writes what people say of the responses of a table of judgments, and returns the path.

    Args:
        path: of the file.
        judgments: the table; people follow the means of its judges.
        kind: scores on each criterion, labels on each, one rank of the responses to a prompt, or
            a preference between each two.
        raters: how many people.
        seed: of their noise.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    table = pd.read_csv(judgments)
    means = table.groupby(["prompt_id", "response_id"], sort=True)[list(CRITERIA)].mean()
    named = {"scores": CRITERIA, "labels": CRITERIA, "ranks": ("rank",), "preferences": ("winner",)}
    responses = ("response_a", "response_b") if kind == "preferences" else ("response_id",)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["rater_id", "prompt_id", *responses, *named[kind], "comment"])
        for prompt, of_prompt in means.groupby(level="prompt_id", sort=True):
            names = of_prompt.index.get_level_values("response_id").tolist()
            for rater in range(raters):
                who = f"h{rater}"
                noise = 0.7 * rng.standard_normal((len(names), len(CRITERIA)))
                seen = of_prompt.to_numpy() + noise
                if kind == "preferences":
                    totals = seen.sum(axis=1)
                    for i, j in combinations(range(len(names)), 2):
                        gap = totals[i] - totals[j]
                        won = "tie" if abs(gap) < 0.4 else "A" if gap > 0 else "B"
                        rows.writerow([who, prompt, names[i], names[j], won, f"said by {who}"])
                    continue
                for name, values, rank in zip(names, seen, _ranks(seen), strict=True):
                    if kind == "scores":
                        given = np.clip(np.round(values), 1, 5).astype(int).tolist()
                    elif kind == "labels":
                        given = ["yes" if value > 3 else "no" for value in values]
                    else:
                        given = [rank]
                    rows.writerow([who, prompt, name, *given, f"said by {who}"])
    return path


def _ranks(seen: npt.NDArray[np.float64]) -> list[int]:
    totals = seen.sum(axis=1)
    return [1 + int((totals > total).sum()) for total in totals]
