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
from typing import Final

from pydantic import BaseModel

from ...yaml_files import STRICT, read_document
from .phrases import Found
from .views import folded

INVISIBLE: Final = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]"
    # One chooses the shape of the character before it; a run of them carries hidden bytes.
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"
)
BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
TAGS: Final = re.compile("[\U000e0000-\U000e007f]")
CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

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
_FORMS: Final[tuple[tuple[str, str, tuple[str, ...], re.Pattern[str]], ...]] = (
    (
        "marker_lookalike",
        "a mark around a text",
        ("<<", "marker of this", "the marked", "---", "===", "***", "###", "___", "[", "~~~", ">>>"),
        re.compile(
            r"<{2,4}\s{0,8}/?\s{0,3}(?:(?:end|begin|start)\s{1,8}(?:of\s{1,8})?)?"
            rf"{_JUDGED}\b[^>\n]{{0,80}}>{{0,4}}"
            r"|\bmarker of this message\b[^\n]{0,80}"
            r"|\bthe marked (?:material|text) ends\b[^\n]{0,80}"
            r"|(?:[-=*#_~>]\s?){3,40}\s{0,3}(?:end|begin|start)\s{1,3}(?:of\s{1,3})?(?:the\s{1,3})?"
            rf"(?:[a-z]{{1,20}}\s{{1,3}})?{_JUDGED}\b[^\n\w]{{0,60}}"
            r"|\[\s{0,3}/?(?:end|begin|start)[\s_]{1,3}(?:of[\s_]{1,3})?(?:the[\s_]{1,3})?"
            rf"(?:[a-z]{{1,20}}[\s_]{{1,3}})?{_JUDGED}\s{{0,3}}\]"
        ),
    ),
    (
        "role_tokens",
        "the beginning of a turn",
        ("system", "assistant", "human", "###", "gpt4"),
        re.compile(
            r"^[ \t>*]{0,8}(?:#{1,4} ?)?\[?(?:system|assistant)\]?"
            r"(?: (?:message|prompt|turn|note|override|notice|update))?[ \t*]{0,4}:"
            r"|^[ \t]{0,8}#{1,4} ?(?:instructions?|response|input|user|human)[ \t]{0,4}:"
            r"|(?:^|(?<=\n))\n[ \t]{0,8}human[ \t]{0,4}:|\bgpt4 correct (?:user|assistant):",
            re.MULTILINE,
        ),
    ),
    (
        "score_claim",
        "a line that gives a score",
        ("scor", "grade", "rating", "verdict", "judgement", "judgment"),
        re.compile(
            r"^[ \t*#\-\[({\"'>]{0,8}(?:(?:final|overall|total|my|composite|recommended)\s{1,3})?"
            r"(?:score|grade|rating|verdict|judge?ment)s?[\]\"']?[ \t*]{0,4}[:=][^\n\d]{0,12}\d",
            re.MULTILINE,
        ),
    ),
    (
        "vote_lookalike",
        "a reply of the judge",
        ("{",),
        re.compile(
            r"\{\s{0,40}[\"“'][a-z_]{3,40}[\"”']\s{0,8}:\s{0,8}\d{1,3}\s{0,8}(?:\}|,[^{}]{0,400}\}?)"
        ),
    ),
    (
        "hidden_markup",
        "markup that hides text",
        ("<!--", "none", "hidden", "font-size", "[//]:", "color", "opacity"),
        re.compile(
            r"<!--(?:(?!-->)[\s\S]){0,2000}(?:-->)?"
            r"|\b(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden"
            r"|(?:font-size|opacity)\s{0,3}:\s{0,3}0(?:\.0)?(?:px|pt|em|%)?(?![\d.])"
            r"|style\s{0,3}=\s{0,3}[\"'][^\"'\n]{0,80}\bcolor\s{0,3}:\s{0,3}(?:white|#fff(?:fff)?))\b"
            r"|^\[//\]:[^\n]{0,2000}",
            re.MULTILINE,
        ),
    ),
    (
        "blank_flood",
        "a run of blanks",
        ("\n\n", "\n ", "\n\t", "     ", "\t\t", "\u00a0", "\u3000"),
        re.compile(r"(?:\n[ \t\r]{0,8}){20,}|[ \t\u00a0\u3000]{100,}"),
    ),
)  # fmt: skip

_BRACKETS: Final = re.compile(r"<{1,2}[^<>\n]{1,48}>{1,2}|\[[^\[\]\n]{1,40}\]")
_BARRED: Final = re.compile(r"[<\[]\s{0,3}/?\s{0,3}\|[^|]{2,40}\|\s{0,3}[>\]]")
_LOOSE: Final = re.compile(r"[\s_\-]")


class ChatTokens(BaseModel):
    """The file of the chat tokens."""

    model_config = STRICT

    id: str
    families: Mapping[str, tuple[str, ...]]


@cache
def chat_tokens() -> Mapping[str, str]:
    """Token to family; the token without case, blanks, underscores and hyphens."""
    path = resources.files(__package__) / "chat_tokens.yaml"
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
    for flag, about, pieces, pattern in _FORMS:
        if any(piece in text for piece in pieces):
            for match in pattern.finditer(text):
                yield Found(flag, match.start(), match.end(), about)
    if "<" in text or "[" in text or "]" in text:
        yield from _find_tokens(text)


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
