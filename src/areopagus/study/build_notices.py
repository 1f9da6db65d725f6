"""What an organiser should know of a study before raters do: repeats, lengths, give-aways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from .material import StudyMaterial, StudyResponse
from .settings import RatingSettings

MOST_NAMED = 8
NOTABLE_RATIO = 1.25
"""Ratio of mean lengths from which length is named as something that tells who wrote."""

NOTABLE_SHARE = 0.3
"""Difference of shares from which lists or headings are named likewise."""

_LIST = re.compile(r"^(?:• |\d+\. )", re.M)
_HEADING = re.compile(r"(?:^|\n\n)(?!• |\d+\. )[^\n]{1,60}[^\s.!?:;,\"')](?=\n\n)")

_MACHINE = re.compile(
    r"\b(?:as an? (?:ai|artificial intelligence|large language model|language model)|"
    r"(?:i am|i'm) an? (?:ai|language model)|my training data|chatgpt|claude|gemini|openai|"
    r"anthropic|i hope this helps|certainly! here)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:my (?:wife|husband|dissertation|students|thesis|childhood|mother|father)|"
    r"when i was (?:a |young)|in my own (?:life|teaching|fieldwork))\b",
    re.IGNORECASE,
)


def notices_of(
    material: StudyMaterial,
    packets: Iterable[Sequence[StudyResponse]],
    repeated: Mapping[str, tuple[int, int]],
    settings: RatingSettings,
) -> tuple[str, ...]:
    """Sentences for the organiser.

    Args:
        material: all responses.
        packets: the responses of each packet.
        repeated: prompt to (different sets there are, sets that repeat).
        settings: the design.
    """
    shown = {one.response_id: one for packet in packets for one in packet}
    notices: list[str] = []
    if not settings.rotate and settings.humans:
        notices.append("all raters of a prompt see the same human responses: rotation is off")
    for prompt, (possible, repeats) in repeated.items():
        notices.append(
            f"prompt {prompt}: only {possible} different sets of {settings.humans} human "
            f"responses, so {repeats} raters see a set that another rater has seen"
        )
    if not any(one.source == "weak" for one in shown.values()):
        notices.append("no calibration item with a weak response: none was handed in")
    notices += _lengths(list(shown.values()))
    notices += _structure(list(shown.values()))
    for word, pattern in (("a model", _MACHINE), ("a person", _PERSON)):
        telling = [one for one in shown.values() if pattern.search(one.plain.text)]
        if telling:
            notices.append(f"may give away that {word} wrote it: {_named(telling)}: look at it")
    signed = [one for one in shown.values() if _is_signed(one)]
    if signed:
        notices.append(f"holds the name of who wrote it: {_named(signed)}: look at it")
    unused = len(material.responses) - len(shown)
    if unused:
        notices.append(f"{unused} of {len(material.responses)} responses are in no packet")
    return tuple(notices)


def _lengths(shown: Sequence[StudyResponse]) -> list[str]:
    words = {
        source: [one.n_words for one in shown if one.source == source]
        for source in ("human", "model")
    }
    if not words["human"] or not words["model"]:
        return []
    people, models = fmean(words["human"]), fmean(words["model"])
    if max(people, models) < NOTABLE_RATIO * max(1.0, min(people, models)):
        return []
    told = f"people's responses have {people:.0f} words on average, models' {models:.0f}"
    return [f"length tells who wrote: {told}"]


def _structure(shown: Sequence[StudyResponse]) -> list[str]:
    """Whether lists and headings, which no plain form can take away, are one side's habit."""
    told: list[str] = []
    for word, pattern in (("lists", _LIST), ("headings", _HEADING)):
        has = {
            source: [bool(pattern.search(one.plain.text)) for one in shown if one.source == source]
            for source in ("human", "model")
        }
        if not has["human"] or not has["model"]:
            continue
        people, models = fmean(has["human"]), fmean(has["model"])
        if abs(people - models) >= NOTABLE_SHARE:
            both = f"{people:.0%} of people's responses, {models:.0%} of models'"
            told.append(f"structure tells who wrote: {word} in {both}")
    return told


def _is_signed(one: StudyResponse) -> bool:
    name = one.respondent_id.strip()
    if len(name) < 4 or name == "unnamed":
        return False
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", one.plain.text, re.IGNORECASE) is not None


def _named(responses: Sequence[StudyResponse]) -> str:
    names = ", ".join(one.response_id for one in responses[:MOST_NAMED])
    return names if len(responses) <= MOST_NAMED else f"{names} and {len(responses) - MOST_NAMED}"
