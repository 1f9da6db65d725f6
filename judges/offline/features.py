"""What can be counted in a response without understanding it: the features of `offline/lexical`.

Everything here is a count, a share or a published readability formula over English text; the words
looked for stand in `markers.yaml`, were chosen by hand and are compared without inflection. A text
that says false things in a scholarly manner measures well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import Final

import yaml

from ..english import (
    FUNCTION_WORDS,
    QUESTION_WORDS,
    WORD,
    is_refusal,
    kept_sentences,
    key_of,
    runs,
    uninflected,
)
from .word_order import places

MEASURED_CHARACTERS: Final = 60_000
"""Characters of a text that are measured; what follows is counted in `characters` only."""

CACHED_TEXTS: Final = 64
"""Measured texts kept: all judges of one response come in a row and share one measurement."""

_QUOTED: Final = re.compile(r"[“\"][^“”\"\n]{8,300}[”\"]")
_CITED: Final = re.compile(r"[, (](?:1[5-9]|20)\d\d[a-z]?\)|\bet al\b")
_LIST_ITEM: Final = re.compile(r"^\s{0,8}(?:[-*•]|\d{1,2}[.)]|#{1,6})\s", re.MULTILINE)
_FAULTS: Final = frozenset({"absolutes", "insults", "vagueness"})

Phrase = tuple[str, ...]


@cache
def _phrases() -> tuple[tuple[str, ...], dict[str, tuple[tuple[Phrase, str], ...]]]:
    """The families of markers, and first word to the phrases that begin so, longest first."""
    path = resources.files(__package__) / "markers.yaml"
    markers: dict[str, list[str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    by_first_word: dict[str, list[tuple[Phrase, str]]] = {}
    for family, phrases in markers.items():
        for phrase in phrases:
            words = tuple(uninflected(word) for word in re.split(r"[ -]", phrase))
            by_first_word.setdefault(words[0], []).append((words, family))
    return tuple(markers), {
        first: tuple(sorted(phrases, key=lambda entry: -len(entry[0])))
        for first, phrases in by_first_word.items()
    }


@lru_cache(maxsize=16_384)
def _entry(word: str) -> tuple[str, str, bool]:
    """Comparison key, topic stem ("" for words without a subject), whether a function word.

    The topic stem is cut at five letters, so that `deserve` meets `desert`.
    """
    lowered = word.lower().replace("’", "'")
    key = key_of(word)
    if lowered in FUNCTION_WORDS:
        return key, "", True
    empty = len(key) < 3 or lowered in QUESTION_WORDS or key in QUESTION_WORDS
    return key, "" if empty else key[:5], False


@dataclass(frozen=True, slots=True)
class Features:
    """Counts and shares of one response to one prompt; all finite, shares in [0, 1].

    A sentence is engaged if it, or one beside it, takes up a subject word of the prompt. Merits are
    counted in engaged sentences only, so that padding with prose on something else earns nothing;
    faults are counted everywhere. Each marker counts once, however often it is repeated.

    Attributes:
        characters: length of the whole response, measured or not.
        words, sentences: of the measured text, without the sentences left out.
        engaged_words, paragraphs: words of, and paragraphs with, engaged sentences.
        mean_sentence_words: words a sentence; 0.0 for an empty text.
        readability: automated readability index (US school grade), cut to 0–30:
            4.71 letters/words + 0.5 words/sentences − 21.43 (Smith & Senter, 1967).
        definitions, evidence, caution, contrasts, stakeholders, viewpoints, objections, premises,
            conclusions, order, absolutes, insults, vagueness: distinct markers of `markers.yaml`.
        numbers, years: distinct numerals; four digits from 1000 to 2100 are years.
        names: distinct capitalised words inside sentences.
        citations, quotations: distinct years that close a bracket, and "et al"; distinct quoted
            passages of eight characters or more.
        prompt_coverage: share of the prompt's distinct subject words that the response takes up.
        off_topic_share: share of sentences that are not engaged.
        prompt_echo: share of the response's runs of four words that are copied from the prompt.
        variety: distinct subject words; 0 for an empty text.
        repetition: share of runs of three words that occurred before.
        marker_share: share of the words that are part of a marker.
        function_share: share of English function words; about 0.4–0.6 in English prose.
        checked_places, broken_places: places behind a small word with a rule of `word_order`, and
            the pairs of words there that English does not allow.
        list_items: lines that open with a bullet, a number or a heading mark.
        exclamations: exclamation marks.
        is_refusal: whether the response declines to answer.
        demands: sentences and lines left out because they speak to whoever scores.
        stems: comparison keys in order, between spaces; what persona lexicons are looked up in.
    """

    characters: int = 0
    words: int = 0
    engaged_words: int = 0
    sentences: int = 0
    paragraphs: int = 0
    mean_sentence_words: float = 0.0
    readability: float = 0.0
    definitions: int = 0
    evidence: int = 0
    caution: int = 0
    contrasts: int = 0
    stakeholders: int = 0
    viewpoints: int = 0
    objections: int = 0
    premises: int = 0
    conclusions: int = 0
    order: int = 0
    absolutes: int = 0
    insults: int = 0
    vagueness: int = 0
    numbers: int = 0
    years: int = 0
    names: int = 0
    citations: int = 0
    quotations: int = 0
    prompt_coverage: float = 0.0
    off_topic_share: float = 0.0
    prompt_echo: float = 0.0
    variety: int = 0
    repetition: float = 0.0
    marker_share: float = 0.0
    function_share: float = 0.0
    checked_places: int = 0
    broken_places: tuple[str, ...] = field(default=(), repr=False)
    list_items: int = 0
    exclamations: int = 0
    is_refusal: bool = False
    demands: int = 0
    stems: str = field(default="", repr=False)


def lexicon_key(term: str) -> str:
    """A persona's term as it stands in `Features.stems`: keys between spaces; "" for no word."""
    keys = " ".join(_entry(word)[0] for word in WORD.findall(term[:200]))
    return f" {keys} " if keys else ""


def _markers(keys: list[str], is_engaged: list[bool]) -> tuple[dict[str, int], int]:
    """Distinct markers by family, and the number of words that belong to one.

    Faults count wherever they stand, merits only in sentences that reach the question. Of phrases
    of one family that overlap, the first counts, and of those that begin together the longest.
    """
    families, by_first_word = _phrases()
    found: dict[str, set[Phrase]] = {family: set() for family in families}
    free_from = dict.fromkeys(families, 0)
    positions: set[int] = set()
    for position, key in enumerate(keys):
        for phrase, family in by_first_word.get(key, ()):
            size = len(phrase)
            if position < free_from[family]:
                continue
            if size == 1 or tuple(keys[position : position + size]) == phrase:
                free_from[family] = position + size
                positions.update(range(position, position + size))
                if is_engaged[position] or family in _FAULTS:
                    found[family].add(phrase)
    return {family: len(phrases) for family, phrases in found.items()}, len(positions)


def _reached(on_topic: list[bool]) -> list[bool]:
    """Whether each sentence, or one beside it, takes up the subject."""
    near = [False, *on_topic, False]
    return [any(near[place : place + 3]) for place in range(len(on_topic))]


@lru_cache(maxsize=CACHED_TEXTS)
def measure(prompt: str, response: str) -> Features:
    """The features of a response to a prompt; the same texts always give the same features.

    The last texts are remembered, because all personas judge the same one. An empty response gives
    zeros. Only the first `MEASURED_CHARACTERS` of each text are read.
    """
    characters, response = len(response), response[:MEASURED_CHARACTERS]
    prompt_entries = [_entry(word) for word in WORD.findall(prompt[:MEASURED_CHARACTERS])]
    prompt_keys = [entry[0] for entry in prompt_entries]
    subject = {entry[1] for entry in prompt_entries if entry[1] and not entry[1][0].isdigit()}

    sentences, demands = kept_sentences(response)
    if not sentences:
        return Features(characters=characters, demands=demands)
    entries_of = [[_entry(word) for word in sentence.words] for sentence in sentences]
    # A prompt without a subject word ("Why?") asks about nothing that could be missed.
    reached = _reached(
        [not subject or any(entry[1] in subject for entry in entries) for entries in entries_of]
    )
    keys: list[str] = []
    is_engaged: list[bool] = []
    stems: set[str] = set()
    numerals: set[str] = set()
    names: set[str] = set()
    letters = function_words = 0
    for sentence, entries, is_reached in zip(sentences, entries_of, reached, strict=True):
        is_engaged += [is_reached] * len(entries)
        for place, (word, (key, stem, is_function)) in enumerate(
            zip(sentence.words, entries, strict=True)
        ):
            keys.append(key)
            letters += len(word)
            if is_function:
                function_words += 1
            elif not is_reached:
                continue
            elif word[0].isdigit():
                numerals.add(word)
            elif stem:
                stems.add(stem)
                if place and word[0].isupper():
                    names.add(key)

    count = len(keys)
    engaged = [sentence for sentence, is_on in zip(sentences, reached, strict=True) if is_on]
    text = "\n".join(sentence.text for sentence in engaged)
    counts, marked = _markers(keys, is_engaged)
    years = sum(len(numeral) == 4 and "1000" <= numeral <= "2100" for numeral in numerals)
    sentence_words = count / len(sentences)
    threes, fours = runs(keys, 3), runs(keys, 4)
    prompt_fours = set(runs(prompt_keys, 4))
    checked, broken = places(sentence.text for sentence in sentences)
    grade = 4.71 * letters / count + 0.5 * sentence_words - 21.43
    return Features(
        characters=characters,
        words=count,
        engaged_words=sum(is_engaged),
        sentences=len(sentences),
        paragraphs=len({sentence.paragraph for sentence in engaged}),
        mean_sentence_words=sentence_words,
        readability=min(30.0, max(0.0, grade)),
        **counts,
        numbers=len(numerals) - years,
        years=years,
        names=len(names),
        citations=len(set(_CITED.findall(text))),
        quotations=len(set(_QUOTED.findall(text))),
        prompt_coverage=len(subject & stems) / len(subject) if subject else 0.0,
        off_topic_share=1.0 - len(engaged) / len(sentences),
        prompt_echo=sum(run in prompt_fours for run in fours) / len(fours) if fours else 0.0,
        variety=len(stems),
        repetition=1.0 - len(set(threes)) / len(threes) if threes else 0.0,
        marker_share=marked / count,
        function_share=function_words / count,
        checked_places=checked,
        broken_places=broken,
        list_items=len(_LIST_ITEM.findall(text)),
        exclamations=sum(sentence.text.count("!") for sentence in sentences),
        is_refusal=is_refusal([sentence.text for sentence in sentences], count),
        demands=demands,
        stems=f" {' '.join(keys)} ",
    )
