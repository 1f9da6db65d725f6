"""What the embedded writers write: variants, responses and prompts from `texts.yaml`.

They let every path be tried without a key. Nothing is understood. The rewriter does not know which
claim a prompt leans towards, so the two sides of a pair take sides on "the usual reading" of it.
The respondent gives in to conviction: the stronger the prompt's tone, the fewer objections it
brings, so that there is something to see; that is built in and no finding about anything. The
generator asks the same kinds of question of every topic.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

import yaml

from .subject import capital, chosen, question_of, subject_words, topic_of

REWRITER_VERSION: Final = "1"


def offline_variants(prompt: str, templates: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Framing id to text; a framing without a template is left out, as a model might.

    The same prompt and templates always give the same texts.
    """
    topic, question = topic_of(prompt), question_of(prompt)
    variants: dict[str, str] = {}
    for name, options in templates.items():
        if options:
            template = chosen(list(options), name, prompt)
            # not str.format: a prompt may hold braces
            head, _, tail = template.partition("{question}")
            variants[name] = (
                f"{head.replace('{topic}', topic)}{question}{tail.replace('{topic}', topic)}"
            )
    return variants


RESPONDENT_VERSION: Final = "2"

Tone = Literal["neutral", "mild", "approving", "rejecting"]

_LENGTH: Final = re.compile(r"\n\nWrite about (\d{1,6}) words, and no more than \d{1,6}\.\s*$")
_FORM: Final = re.compile(
    # As the languages of audits ask: English, German, Spanish.
    r"(?:exactly one of(?: these)?|genau einer dieser Angaben"
    r"|exactamente con una de estas opciones): (?P<options>(?:(?!\. )[^\n]){1,1200})"
    r"|(?:whole number from|ganzen Zahl von|número entero del) (?P<low>\d{1,6}) (?:to|bis|al) "
    r"(?P<high>\d{1,6})"
)
_MARKS: Final = " .\"'“”‘’`"
_REJECTING: Final = re.compile(
    r"\b(?:don't buy|disagree|wrong about|just wrong|reject|other way round|exact reverse|opposite"
    r"|nonsense|the whole premise)\b",
    re.IGNORECASE,
)
_STRONG: Final = re.compile(
    r"\b(?:absolutely|convinced|strongly|deeply|no doubt|sick of|fed up|totally|completely sure|"
    r"certain|furious|outraged|passionate|no way|can't stand|firmly|drives me)\b|!",
    re.IGNORECASE,
)
_MILD: Final = re.compile(
    r"\b(?:i've kind of|my own impression|i guess|i tend to|i think|i feel like|my friend|"
    r"friend of mine|a friend|somebody told me)\b",
    re.IGNORECASE,
)


@cache
def _texts() -> dict[str, Any]:
    path = resources.files(__package__) / "texts.yaml"
    texts: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return texts


def offline_answer(prompt: str) -> str:
    """What is asked for in a set form, else an essay; the same prompt always gives the same.

    Of several forms the last one counts: what is asked for stands at a prompt's end.
    """
    form = None
    for found in _FORM.finditer(prompt):
        if found["options"] is None or " / " in found["options"]:
            form = found
    if form is None:
        return offline_essay(prompt)
    number = int.from_bytes(hashlib.sha256(prompt.encode("utf-8", "replace")).digest()[:8], "big")
    if form["options"] is not None:
        options = [option.strip(_MARKS) for option in form["options"].split(" / ")]
        return options[number % len(options)]
    low, high = sorted((int(form["low"]), int(form["high"])))
    return str(low + number % (high - low + 1))


def offline_essay(prompt: str) -> str:
    """An essay of several paragraphs; the same prompt always gives the same one.

    A length instruction as `respond` adds it is taken off the prompt and decides how many
    paragraphs there are.
    """
    found = _LENGTH.search(prompt)
    bare = prompt[: found.start()] if found else prompt
    room = int(found[1]) if found else 400
    kind = tone_of(bare)
    words = [*subject_words(bare, 3), "the matter", "the practice", "the rule"]
    names = {"a": words[0], "b": words[1], "c": words[2]}

    def filled(name: str, *, skip: int = 0) -> str:
        options = _texts()[name]
        place = options.index(chosen(options, bare)) + skip
        text: str = options[place % len(options)]
        return text.format(**names)

    objections = {"neutral": 2, "mild": 1, "rejecting": 1, "approving": 0}[kind]
    paragraphs = [filled("approval" if kind == "approving" else "openings"), filled("reasons")]
    if kind in ("neutral", "mild"):
        paragraphs.append(filled("evidence"))
    paragraphs += [filled("objections", skip=number) for number in range(objections)]
    # Each paragraph has some fifty words; the opening and the conclusion always stay.
    most = max(1, room // 50 - 1)
    ending = filled("short_conclusions" if kind == "approving" else "conclusions")
    return "\n\n".join(capital(paragraph) for paragraph in [*paragraphs[:most], ending])


def tone_of(prompt: str) -> Tone:
    """How the prompt sounds, by set words: a strong tone before a mild one."""
    said = prompt.replace("’", "'")
    if _STRONG.search(said):
        return "rejecting" if _REJECTING.search(said) else "approving"
    return "mild" if _MILD.search(said) or _REJECTING.search(said) else "neutral"


GENERATOR_VERSION: Final = "1"


def offline_prompts(
    material: str, numbers: Sequence[int], *, topic: str, technology: bool
) -> dict[str, Any]:
    """The object that a generator is asked for; the same arguments always give the same.

    Args:
        material: the scenario.
        numbers: of the prompts to write, from 1.
        topic: a word or two for the matter.
        technology: whether to say of each prompt if it is about technology.
    """
    reply: dict[str, Any] = {"scratchpad": f"Templates about {topic}."}
    for number in numbers:
        template = _texts()["prompts"][(number - 1) % len(_texts()["prompts"])]
        angle = template["angle"].replace("{topic}", topic)
        question = chosen(template["questions"], str(number), material).replace("{topic}", topic)
        reply[f"prompt_{number}_dimensions"] = template["dimensions"]
        reply[f"prompt_{number}_angle"] = " ".join(angle.split()[:15])
        if technology:
            reply[f"prompt_{number}_technology"] = False
        reply[f"prompt_{number}_question"] = question
    return reply
