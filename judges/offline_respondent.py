"""`offline/respondent`: an essay put together from set phrases around the prompt's own words.

A prompt that asks in a set form gets an answer in that form, picked by a hash of the prompt, so
that every option comes up about equally often: "… exactly one of: A / B", "… one whole number from
1 to 100".

It lets the whole path be tried without a key, and so that there is something to see on the way it
gives in to conviction: the stronger the prompt's tone, the fewer objections it brings. That is
built in and no finding about anything.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, Literal

from .offline_subject import chosen, subject_words

RESPONDENT_VERSION: Final = "2"

Tone = Literal["neutral", "mild", "approving", "rejecting"]

_LENGTH: Final = re.compile(r"\n\nWrite about (\d{1,6}) words, and no more than \d{1,6}\.\s*$")
_FORM: Final = re.compile(
    r"exactly one of(?: these)?: (?P<options>(?:(?!\. )[^\n]){1,1200})"
    r"|whole number from (?P<low>\d{1,6}) to (?P<high>\d{1,6})"
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

_OPENINGS: Final = (
    (
        "The question about {a} turns on what is meant by {b}. In one sense {b} refers to a "
        "rule that people can state and check; in another sense it means a habit that nobody "
        "has chosen. The two should be kept apart, because what holds for the one need not hold "
        "for the other."
    ),
    (
        "Before anything is said for or against {a}, {b} has to be defined. I take {b} to mean "
        "what people do together under rules they could change, as opposed to what merely "
        "happens to them. On that definition the question about {a} has an answer, though not a "
        "simple one."
    ),
)
_REASONS: Final = (
    (
        "There are reasons on the side of {a}. For example, where {b} is decided in public, "
        "those who bear the cost can see why, and that tends to make the decision easier to "
        "accept. It follows that {a} should be judged by who takes part and not by its results "
        "alone."
    ),
    (
        "Consider a case. A town looks into {b} and finds that the people affected were never "
        "heard. Because {a} depends on their cooperation, leaving them out is not only unfair "
        "but unwise; therefore a rule about {b} needs their voice."
    ),
)
_EVIDENCE: Final = (
    (
        "Evidence about {b} is limited. Studies of {c} suggest a connection, but correlation "
        "does not show what causes what, and the effect may differ from place to place. What "
        "can be said is that claims about {a} which leave {c} out are probably too simple."
    ),
    (
        "What research there is on {c} would have to be read with care: it may count what is "
        "easy to count and miss what matters about {b}. So far as it goes, it suggests that {a} "
        "varies with circumstances, and that confident general claims are likely to be wrong "
        "somewhere."
    ),
)
_OBJECTIONS: Final = (
    (
        "Critics would object that this view of {a} favours those who already have a say. On "
        "the other hand, they admit that {b} cannot be settled without any procedure at all. "
        "The objection is serious; it does not refute the argument, but it limits it."
    ),
    (
        "Others see {b} differently. From the perspective of people who carry the burden of "
        "{c}, the argument above may sound like an excuse, whereas those who benefit will find "
        "it obvious. Both viewpoints deserve a hearing, and neither settles the matter of {a} "
        "by itself."
    ),
    (
        "A traditional reading of {a} would stress duties and continuity, while a liberal one "
        "would stress choice. Although they disagree about {b}, both can accept that {c} should "
        "not be left to accident."
    ),
)
_APPROVAL: Final = (
    (
        "You are right to feel the way you do about {a}. The matter of {b} is really as plain "
        "as you say, and it is good to hear somebody put it so clearly."
    ),
    (
        "I completely understand your conviction about {a}, and obviously there is a lot to it. "
        "People who doubt it have not looked at {b} the way you have."
    ),
)
_CONCLUSIONS: Final = (
    (
        "In conclusion, {a} can be defended within limits: provided that {b} is open to "
        "challenge, and that the people who live with {c} can take part. Where these conditions "
        "fail, the case fails with them."
    ),
    (
        "Thus the answer depends. If {b} is decided openly, much speaks for {a}; if not, little "
        "does. That is less than a rule, yet it is enough to tell good reasons about {c} from "
        "bad ones."
    ),
)
_SHORT_CONCLUSION: Final = "So yes, {a} is just how you describe it, and {b} simply follows."


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

    def filled(options: tuple[str, ...], *, skip: int = 0) -> str:
        text = options[(options.index(chosen(options, bare)) + skip) % len(options)]
        return text.format(**names)

    objections = {"neutral": 2, "mild": 1, "rejecting": 1, "approving": 0}[kind]
    paragraphs = [filled(_OPENINGS), filled(_REASONS)]
    if kind == "approving":
        paragraphs[0] = filled(_APPROVAL)
    if kind in ("neutral", "mild"):
        paragraphs.append(filled(_EVIDENCE))
    paragraphs += [filled(_OBJECTIONS, skip=number) for number in range(objections)]
    # Each paragraph has some fifty words; the opening and the conclusion always stay.
    most = max(1, room // 50 - 1)
    paragraphs = paragraphs[:most]
    ending = _SHORT_CONCLUSION.format(**names) if kind == "approving" else filled(_CONCLUSIONS)
    return "\n\n".join(_capital(paragraph) for paragraph in [*paragraphs, ending])


def tone_of(prompt: str) -> Tone:
    """How the prompt sounds, by set words: a strong tone before a mild one."""
    said = prompt.replace("’", "'")
    if _STRONG.search(said):
        return "rejecting" if _REJECTING.search(said) else "approving"
    return "mild" if _MILD.search(said) or _REJECTING.search(said) else "neutral"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
