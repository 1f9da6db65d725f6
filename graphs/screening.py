"""Screening of a response before the panel is asked: gates, flags, and echoes in details.

A gate keeps a response from the panel because there is nothing to judge in it. A flag only says
what looks like an attempt on a judge: named patterns, and where they were found. It changes no
score, it can miss, and it can be wrong about a text that quotes an instruction to discuss it.
Patterns are searched in a copy in which hiding is undone: invisible characters taken out, letters
of other alphabets and widths read as the Latin ones they imitate. The text itself is never altered.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

DETECTORS: Final[dict[str, str]] = {
    "invisible_characters": "characters of no width inside the text",
    "bidi_controls": "characters that turn the reading direction",
    "tag_characters": "Unicode tag characters, which spell hidden text",
    "control_characters": "control characters",
    "marker_lookalike": "something like the markers around judged texts",
    "role_tokens": "chat-template tokens, role markers, or tags such as </response>",
    "addresses_judge": "a phrase that talks to a judge or asks for a score",
    "score_claim": "a sentence that says which score the text deserves or got",
    "vote_lookalike": "something like a judge's JSON reply",
    "encoded_payload": "base64 that decodes to readable text",
    "hidden_markup": "an HTML comment or a style that hides text from a reader",
    "lookalike_letters": "letters of another alphabet or width inside Latin words",
    "blank_flood": "a long run of blank lines or blanks",
}
"""Flag to what it says."""

INVISIBLE: Final = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]"
    # One chooses the shape of the character before it; a run of them carries hidden bytes.
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"
)
BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
TAGS: Final = re.compile("[\U000e0000-\U000e007f]")
CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

# What the searched copy lacks: joiners too, which belong to words of some languages and to emoji.
_UNSEEN: Final = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0\u202a-\u202e\u2066-\u2069"
    "\u061c\ufe00-\ufe0f\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}")
_LOOKALIKE: Final = re.compile(
    # Cyrillic letters that look Latin, inside a word that has Latin ones; and runs of letters in
    # full width or in the mathematical alphabets, which are Latin ones in other clothes.
    "[A-Za-z][аеорсухіјѕԁһАВЕКМНОРСТХІЈЅ]|[аеорсухіјѕԁһАВЕКМНОРСТХІЈЅ][A-Za-z]"
    "|[\uff21-\uff3a\uff41-\uff5a](?:[\uff21-\uff3a\uff41-\uff5a\u3000 ]){11}"
    "|[\U0001d400-\U0001d7ff]{4}"
)
_CHARACTERS: Final = (
    ("control_characters", CONTROLS),
    ("invisible_characters", INVISIBLE),
    ("bidi_controls", BIDI),
    ("tag_characters", TAGS),
    ("lookalike_letters", _LOOKALIKE),
)
# Patterns in lower case, each with pieces of text of which one must be there for it to match: they
# are found much faster. Every quantifier is bounded, or matches characters that end at the next
# start: a text of the longest size is searched in linear time.
_WORDED: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    (
        "marker_lookalike",
        ("<<<", "marker of this", "the marked"),
        re.compile(
            r"<<<\s{0,8}(?:end\s{1,8})?(?:prompt|response)\b[^>\n]{0,80}(?:>{1,3})?"
            r"|\bmarker of this message\b[^\n]{0,80}"
            r"|\bthe marked (?:material|text) ends\b[^\n]{0,80}",
        ),
    ),
    (
        "role_tokens",
        ("<", "[", "system", "assistant"),
        re.compile(
            r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext|eot_id|begin_of_text"
            r"|start_header_id|end_header_id|start_of_turn|end_of_turn)\b(?:\|?>)?"
            r"|\[/?inst\]|<</?sys>>|</?(?:response|prompt|system|instructions?|rubric)>"
            r"|^[ \t]{0,8}(?:#{1,4} ?)?\[?(?:system|assistant)\]?(?: (?:message|prompt|turn|note))?"
            r"[ \t]{0,4}:",
            re.MULTILINE,
        ),
    ),
    (
        "addresses_judge",
        (
            "ignor", "disregard", "forget", "set aside", "overrid", "give", "assign", "award",
            "rate", "score", "grade", "judge", "evaluator", "reviewer", "you", "recommend",
            "return", "repl", "respond", "output", "report", "忽略", "игнор",
        ),
        re.compile(
            r"\b(?:ignore|disregard|forget|set aside|override)\b[^.\n]{0,40}"
            r"\b(?:instructions?|rubric|criteria|prompt|above|guidelines|scale)\b"
            r"|\b(?:give|assign|award|rate|score|grade)\s{1,3}(?:this|it|me|my|us|the)\b"
            r"[^.\n]{0,40}\b(?:maximum|highest|top|full|perfect|10|ten|lowest|minimum)\b"
            r"|\b(?:dear|note (?:to|for)|attention|message (?:to|for))\b[^.\n]{0,12}"
            r"\b(?:judges?|graders?|evaluators?|reviewers?|raters?|scorers?)\b"
            r"|\b(?:judges?|graders?|evaluators?|raters?|scorers?|you)\s{1,3}(?:must|should|shall"
            r"|are (?:now )?(?:required|instructed|asked|told|ordered) to|will now)\b[^.\n]{0,40}"
            r"\b(?:scores?|rate|award|grade|marks?|points?|verdict|reply with|output)\b"
            r"|\b(?:recommend|return|reply with|respond with|output|report)\b[^.\n]{0,30}"
            r"\b(?:maximum|highest|top|full|perfect|lowest|minimum) (?:scores?|marks?|ratings?"
            r"|grades?|points)\b"
            r"|\bignorier\w{0,4}\b[^.\n]{0,40}\b(?:anweisung|vorgabe|kriteri|bewertung)"
            r"|\bignor(?:e|ez|er|a|ar|en)\b[^.\n]{0,40}\b(?:consignes|critères|instrucciones"
            r"|criterios|istruzioni|criteri)\b"
            r"|忽略[^。\n]{0,12}(?:指令|指示|说明|标准|提示)|игнорируй[^.\n]{0,40}(?:инструкци|критери)",
        ),
    ),
    (
        "score_claim",
        (
            "deserv", "merit", "earn", "warrant", "receiv", "rated", "scor", "grade", "award",
            "verified", "rating", "verdict", "judgement", "judgment",
        ),
        re.compile(
            r"\b(?:this|the|my|above|following)\s{1,3}(?:response|answer|essay|submission|text"
            r"|reply|work)\b[^.\n]{0,60}\b(?:deserves?|merits?|earns?|earned|warrants?|receives?"
            r"|received|was (?:rated|scored|graded|awarded)"
            r"|has been (?:rated|scored|graded|awarded|verified))\b[^.\n]{0,40}"
            r"\b(?:\d{1,3}|ten|full|highest|maximum|top|perfect|best)\b"
            r"|^[ \t*#]{0,6}(?:(?:final|overall|total|my)\s{1,3})?(?:score|grade|rating|verdict"
            r"|judge?ment)s?[ \t*]{0,4}[:=][^\n\d]{0,12}\d",
            re.MULTILINE,
        ),
    ),
    (
        "vote_lookalike",
        ("{",),
        re.compile(
            r"\{\s{0,40}[\"“'][a-z_]{3,40}[\"”']\s{0,8}:\s{0,8}\d{1,3}\s{0,8}(?:\}|,[^{}]{0,400}\}?)"
        ),
    ),
    (
        "hidden_markup",
        ("<!--", "none", "hidden", "font-size", "[//]:"),
        re.compile(
            r"<!--(?:(?!-->)[\s\S]){0,2000}(?:-->)?"
            r"|\b(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden"
            r"|font-size\s{0,3}:\s{0,3}0)\b|^\[//\]:[^\n]{0,2000}",
            re.MULTILINE,
        ),
    ),
    (
        "blank_flood",
        ("\n\n", "\n ", "\n\t", "     ", "\t\t", "\u00a0", "\u3000"),
        re.compile(r"(?:\n[ \t\r]{0,8}){20,}|[ \t\u00a0\u3000]{100,}"),
    ),
)  # fmt: skip

SENTENCES: Final = frozenset({"addresses_judge", "score_claim"})
"""Flags whose hit is one phrase of a sentence that makes sense only as a whole."""

_LOOKALIKES: Final = dict(
    zip(
        "аеорсухіјѕԁһАВЕКМНОРСТХІЈЅαοϲΑΒΕΗΙΚΜΝΟΡΤΧΥΖ",
        "aeopcyxijsdhABEKMHOPCTXIJSaocABEHIKMNOPTXYZ",
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class Hit:
    """What was noticed and where: `text[start:end]` of the text as it came."""

    flag: str
    start: int
    end: int


def flags_of(text: str) -> tuple[str, ...]:
    """The flags that a text gets, in the order of `DETECTORS`."""
    found = {name for name, pattern in _patterns_for(text) if pattern.search(text)}
    plain, _ = unveiled(text)
    found |= _worded_flags(_lowered(plain))
    if not text.isascii():
        found |= _worded_flags(_lowered(text))
    for _, _, hidden in _payloads(plain):
        found.add("encoded_payload")
        found |= _worded_flags(hidden.lower())
    if "tag_characters" in found:
        found |= _worded_flags(_spelled_by_tags(text).lower())
    return tuple(name for name in DETECTORS if name in found)


def find_hits(text: str) -> tuple[Hit, ...]:
    """Every place that a flag is about, in the order of the text; they may overlap."""
    hits = [
        Hit(name, match.start(), match.end())
        for name, pattern in _patterns_for(text)
        for match in pattern.finditer(text)
    ]
    plain, places = unveiled(text)

    def add(name: str, start: int, end: int) -> None:
        if places is not None:
            start, end = places[start], places[end - 1] + 1
        hits.append(Hit(name, start, end))

    searched, as_written = _lowered(plain), "" if text.isascii() else _lowered(text)
    for name, _, pattern in _WORDED:
        for match in pattern.finditer(searched):
            add(name, match.start(), match.end())
        hits += [Hit(name, m.start(), m.end()) for m in pattern.finditer(as_written)]
    for start, end, _ in _payloads(plain):
        add("encoded_payload", start, end)
    return tuple(sorted(hits, key=lambda hit: (hit.start, hit.end, hit.flag)))


def unveiled(text: str) -> tuple[str, list[int] | None]:
    """The text as a reader would spell it out, and where each of its characters stood.

    Characters without width are taken out, look-alikes become the Latin letters they imitate. The
    places are None where nothing was taken out: then they are the same.

    Single characters are folded and not the whole text: normalising a text takes time quadratic in
    a run of combining marks.
    """
    if text.isascii():
        return text, None
    plain = text.translate(_FOLDS)
    if not _UNSEEN.search(plain):
        return plain, None
    places = [index for index, character in enumerate(plain) if not _UNSEEN.match(character)]
    return "".join(plain[index] for index in places), places


def _lowered(text: str) -> str:
    """Lower case, character for character: İ alone would become two."""
    return text.replace("İ", "i").lower()


class _Folds(dict[int, str]):
    """What each character is read as; always one character, so that places stay."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _LOOKALIKES.get(character) or unicodedata.normalize("NFKC", character)
        kept = folded if len(folded) == 1 else character
        if len(self) < 20_000:
            self[code] = kept
        return kept


_FOLDS: Final = _Folds()


def _patterns_for(text: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The patterns of characters; in ASCII there is only the first to be found."""
    return _CHARACTERS[:1] if text.isascii() else _CHARACTERS


def _worded_flags(text: str) -> set[str]:
    return {
        name
        for name, pieces, pattern in _WORDED
        if any(piece in text for piece in pieces) and pattern.search(text)
    }


def _payloads(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and content of what decodes to readable text."""
    for match in _BASE64.finditer(text):
        run = match[0].replace("-", "+").replace("_", "/")
        # Words joined by hyphens, paths and hashes are runs of the same letters.
        if run.isalpha() and (run.islower() or run.isupper()):
            continue
        try:
            raw = base64.b64decode(run[: len(run) // 4 * 4], validate=True)
        except (binascii.Error, ValueError):
            continue
        content = raw.decode("utf-8", "replace")
        if _is_readable(content):
            yield match.start(), match.end(), content


def _is_readable(content: str) -> bool:
    sound = sum(c.isalnum() or c in " .,:;!?'\"{}/\n-_" for c in content)
    return " " in content.strip() and sound >= 0.95 * len(content)


def _spelled_by_tags(text: str) -> str:
    return "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)


_PIECE = 24
"""Characters in a row that are no chance agreement."""


def without_echo(detail: str, *texts: str) -> str:
    """The message up to the place where it begins to repeat one of the texts.

    Any run of `2 * _PIECE - 1` characters of a text is found, and a shorter text that stands there
    whole. Messages have their line ends and other controls replaced by blanks; so have the texts
    before they are compared.
    """
    first = len(detail)
    for text in texts:
        plain = "".join(c if c.isprintable() else " " for c in text).strip()
        pieces = [plain[i : i + _PIECE] for i in range(0, len(plain) - _PIECE + 1, _PIECE)]
        if len(plain) < _PIECE:
            pieces = [plain] if len(plain) >= _PIECE // 2 else []
        for piece in pieces:
            place = detail.find(piece)
            if 0 <= place < first:
                first = place
    if first == len(detail):
        return detail
    # The echo may have begun up to a piece before the one that was found.
    return f"{detail[: max(0, first - _PIECE)].rstrip()} [the judged text, left out]".lstrip()


MAX_RESPONSE_CHARACTERS: Final = 200_000

GATES: Final = ("empty", "no_letters", "opener_only", "too_long")
"""Flags for which nobody is asked."""

# Phrases that open an answer and, sent alone, have made judge models give good scores
# ("master keys"). Compared without case, punctuation and white space.
_OPENERS: Final = frozenset(
    re.sub(r"\W", "", phrase.casefold())
    for phrase in (
        "Thought process",
        "Let's solve this problem step by step",
        "Let us think step by step",
        "Let's think about this step by step",
        "Let's think step by step",
        "Let's think",
        "Solution",
        "Answer",
        "The answer",
        "Final answer",
        "Reasoning",
        "Explanation",
        "Sure",
        "Sure, here is the answer",
        "Here is my answer",
        "Here is my response",
        "Response",
        "Okay",
        "Solución",
        "Respuesta",
        "Lösung",
        "Antwort",
        "Réponse",
        "Raisonnement",
        "解",
        "解答",
        "答案",
        "思考过程",
        "かいとう",
        "解説",
    )
)


@dataclass(frozen=True, slots=True)
class Screening:
    """What the screen noticed.

    Attributes:
        flags: codes, gates included.
        gate: why nobody is asked, or None.
    """

    flags: tuple[str, ...]
    gate: str | None


def screen(
    response: str, *, repeated: bool = False, most_characters: int = MAX_RESPONSE_CHARACTERS
) -> Screening:
    """The flags of a response text, and the gate that closes on it, if one does.

    Args:
        response: the text, as it came.
        repeated: whether its respondent gives this very text to several prompts.
        most_characters: longer texts are not sent.
    """
    gate = _gate(response, most_characters)
    flags = [gate] if gate else []
    if repeated:
        flags.append("repeated_text")
    # A text far over the limit is not searched: the answer is known, and the time is not.
    searched = response[:most_characters]
    flags += flags_of(searched)
    return Screening(tuple(flags), gate)


def _gate(response: str, most_characters: int) -> str | None:
    if len(response) > most_characters:
        return "too_long"
    visible = TAGS.sub("", INVISIBLE.sub("", BIDI.sub("", response)))
    if not visible.strip():
        return "empty"
    if not any(unicodedata.category(character)[0] in "LN" for character in visible):
        return "no_letters"
    if len(visible) <= 200 and re.sub(r"\W", "", visible.casefold()) in _OPENERS:
        return "opener_only"
    return None
