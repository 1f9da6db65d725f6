"""What is noticed by its form: marks around texts, turns of a conversation, replies, hidden markup.

Every quantifier is bounded, or matches characters that end at the next start: a text of the longest
size is searched in linear time. Each pattern has pieces of text of which one must be there for it
to match: they are found much faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from pydantic import BaseModel

from ...yaml_files import STRICT, read_document
from .phrases import Found
from .views import folded

INVISIBLE: Final = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]+"
    # One chooses the shape of the character before it; a run of them carries hidden bytes.
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"
)
BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]+")
TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")

_LOOKALIKE: Final = re.compile(
    # Cyrillic and Greek letters that look Latin, inside a word that has Latin ones; and runs of
    # letters in full width, in the mathematical alphabets, in circles and squares, or of small
    # capitals, which are Latin ones in other clothes.
    "[A-Za-z][аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅοА-ЯΑΒΕΗΙΚΜΝΟΡΤΧ]"
    "|[аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅοΑΒΕΗΙΚΜΝΟΡΤΧ][A-Za-z]"
    "|[\uff21-\uff3a\uff41-\uff5a](?:[\uff21-\uff3a\uff41-\uff5a\u3000 ]){11}"
    "|[\U0001d400-\U0001d7ff]{4}"
    "|(?:[\u24b6-\u24e9\u249c-\u24b5\U0001f130-\U0001f189\U0001f1e6-\U0001f1ff] ?){6}"
    "|[ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ]{4}"
)
CHARACTERS: Final = (
    ("control_characters", CONTROLS),
    ("invisible_characters", INVISIBLE),
    ("bidi_controls", BIDI),
    ("tag_characters", TAGS),
    ("lookalike_letters", _LOOKALIKE),
)
"""Patterns of characters, for the text as it came; in ASCII there is only the first."""

_JUDGED: Final = (
    r"(?:prompt|response|answer|essay|submission|material|text|input|document|panel|conversation"
    r"|instructions?|context|candidate|assignment)"
)
_EDGE: Final = r"(?:end|begin|start)"


class Form(NamedTuple):
    """A form that is searched for in lower case.

    Attributes:
        flag, about: as of `Found`.
        pieces: of each group one piece of text must be there for the form to match.
        pattern: the form.
        before: signs that alone may stand before it in its line; None where anything may.
    """

    flag: str
    about: str
    pieces: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]
    before: frozenset[str] | None = None


_BEGINNING: Final = frozenset(" \t>*#[({-\"'")

FORMS: Final = (
    Form(
        "marker_lookalike",
        "a mark around a text",
        (("<<", "< <"),),
        re.compile(
            rf"(?:<\s?){{2,4}}\s{{0,8}}/?\s{{0,3}}(?:{_EDGE}\s{{1,8}}(?:of\s{{1,8}})?)?"
            rf"{_JUDGED}\b[^>\n]{{0,80}}>{{0,4}}"
        ),
    ),
    Form(
        "marker_lookalike",
        "words of the marks around a text",
        (("marker of this", "the marked "),),
        re.compile(
            r"\bmarker of this message\b[^\n]{0,80}"
            r"|\bthe marked (?:material|text) ends\b[^\n]{0,80}"
        ),
    ),
    Form(
        "marker_lookalike",
        "a ruled end or beginning of a text",
        (("---", "===", "***", "###", "___", "~~~", ">>>", "- -"), ("end", "begin", "start")),
        re.compile(
            rf"(?:[-=*#_~>]\s?){{3}}[-=*#_~>\s]{{0,40}}{_EDGE}\s{{1,3}}(?:of\s{{1,3}})?"
            rf"(?:the\s{{1,3}})?(?:[a-z]{{1,20}}\s{{1,3}})?{_JUDGED}\b[^\n\w]{{0,60}}"
        ),
    ),
    Form(
        "marker_lookalike",
        "an end or beginning of a text in brackets",
        (("[", "{"), ("end", "begin", "start")),
        re.compile(
            rf"[\[{{]\s{{0,3}}/?{_EDGE}[\s_]{{1,3}}(?:of[\s_]{{1,3}})?(?:the[\s_]{{1,3}})?"
            rf"(?:[a-z]{{1,20}}[\s_]{{1,3}})?{_JUDGED}\s{{0,3}}[\]}}]"
        ),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("system", "assistant"), (":",)),
        re.compile(
            r"(?:system|assistant)\]?(?: (?:message|prompt|turn|note|override|notice|update))?"
            r"[ \t*]{0,4}:"
        ),
        frozenset(" \t>*#["),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("#",), ("instruction", "response", "input", "user", "human"), (":",)),
        re.compile(r"#{1,4} ?(?:instructions?|response|input|user|human)[ \t]{0,4}:"),
        frozenset(" \t"),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("\nhuman:", "\nhuman :"),),
        re.compile(r"\n[ \t]{0,8}\nhuman ?:"),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("gpt4 correct ",),),
        re.compile(r"gpt4 correct (?:user|assistant):"),
    ),
    Form(
        "score_claim",
        "a line that gives a score",
        (("score", "grade", "rating", "verdict", "judgement", "judgment"), (":", "=")),
        re.compile(
            r"(?:(?:final|overall|total|my|composite|recommended)\s{1,3})?"
            r"(?:score|grade|rating|verdict|judge?ment)s?[\]\"']?[ \t*]{0,4}[:=][^\n\d]{0,12}\d"
        ),
        _BEGINNING,
    ),
    Form(
        "vote_lookalike",
        "a reply of the judge",
        (("{",), (":",)),
        re.compile(
            r"\{\s{0,40}[\"“'][a-z_]{3,40}[\"”']\s{0,8}:\s{0,8}\d{1,3}\s{0,8}(?:\}|,[^{}]{0,400}\}?)"
        ),
    ),
    Form(
        "hidden_markup",
        "a comment that a page does not show",
        (("<!--", "[//]:"),),
        re.compile(r"<!--(?:(?!-->)[\s\S]){0,2000}(?:-->)?|^\[//\]:[^\n]{0,2000}", re.MULTILINE),
    ),
    Form(
        "hidden_markup",
        "a style that hides text",
        (("display", "visibility", "font-size", "opacity", "color"), (":",)),
        re.compile(
            r"display\s{0,3}:\s{0,3}none\b|visibility\s{0,3}:\s{0,3}hidden\b"
            r"|(?:font-size|opacity)\s{0,3}:\s{0,3}0(?:\.0)?(?:px|pt|em|%)?(?![\w.])"
            r"|style\s{0,3}=\s{0,3}[\"'][^\"'\n]{0,80}\bcolor\s{0,3}:\s{0,3}(?:white|#fff(?:fff)?)\b"
        ),
    ),
    Form(
        "blank_flood",
        "a run of blank lines",
        (("\n\n\n", "\n ", "\n\t", "\n\r"),),
        re.compile(r"(?:\n[ \t\r]{0,8}){20,}"),
    ),
    Form(
        "blank_flood",
        "a run of blanks",
        (("          ", "\t\t\t", "\u00a0", "\u3000"),),
        re.compile(r"[ \t\u00a0\u3000]{100,}"),
    ),
)

_BRACKETS: Final = re.compile(r"(?:<\s{0,2}){1,2}[^<>\n]{1,48}>(?:\s{0,2}>)?|\[[^\[\]\n]{1,40}\]")
_BARRED: Final = re.compile(r"[<\[]{1,2}\s{0,3}/?\s{0,3}\|[^|]{2,40}\|\s{0,3}[>\]]{1,2}")
_LOOSE: Final = re.compile(r"[\s_\-]")


class ChatTokens(BaseModel):
    """The file of the chat tokens."""

    model_config = STRICT

    id: str
    families: Mapping[str, tuple[str, ...]]


@cache
def chat_tokens() -> Mapping[str, str]:
    """Token to family; the token without case, blanks, underscores and hyphens."""
    path = resources.files("areopagus.graphs.detectors") / "chat_tokens.yaml"
    families = read_document(path, ChatTokens, kind="chat tokens").families
    return {
        _LOOSE.sub("", folded(token)): family
        for family, tokens in families.items()
        for token in tokens
    }


@cache
def _bare_tokens() -> tuple[str, ...]:
    """Tokens that stand in no brackets."""
    return tuple(token for token in chat_tokens() if not _BRACKETS.fullmatch(token))


def find_marks(text: str) -> Iterator[Found]:
    """What a reading holds by its form."""
    for form in FORMS:
        if all(any(piece in text for piece in group) for group in form.pieces):
            for match in form.pattern.finditer(text):
                if form.before is None or _begins_line(text, match.start(), form.before):
                    yield Found(form.flag, match.start(), match.end(), form.about)
    if "<" in text or "[" in text or "]" in text:
        yield from _find_tokens(text)


def _begins_line(text: str, start: int, before: frozenset[str]) -> bool:
    least = max(0, start - 12)
    at = start
    while at > least and text[at - 1] in before:
        at -= 1
    return at == 0 or text[at - 1] == "\n"


def _find_tokens(text: str) -> Iterator[Found]:
    tokens = chat_tokens()
    for match in _BRACKETS.finditer(text):
        family = tokens.get(_LOOSE.sub("", match[0]))
        if family is None and _BARRED.fullmatch(match[0]):
            family = "a token of no known family"
        if family is not None:
            yield Found("role_tokens", match.start(), match.end(), family)
    for token in _bare_tokens():
        start = text.find(token)
        while start >= 0:
            yield Found("role_tokens", start, start + len(token), tokens[token])
            start = text.find(token, start + len(token))
