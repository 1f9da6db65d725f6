"""The form of a response: how long it is and how it is set, and the same words in another form."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])")
_RULE = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)\]]*\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is set.

    Attributes:
        words: runs of characters between blanks.
        headings, items, bold: lines that begin as a heading or an item of a list, and bold pieces.
    """

    words: int
    headings: int
    items: int
    bold: int

    @property
    def is_formatted(self) -> bool:
        """Whether it has any of the three."""
        return bool(self.headings or self.items or self.bold)


def form_of(text: str) -> Form:
    """Returns the form of a text."""
    return Form(
        len(text.split()),
        len(_HEADING.findall(text)),
        len(_ITEM.findall(text)),
        len(_BOLD.findall(text)),
    )


def without_markdown(text: str) -> str:
    """Returns the same words without headings, lists and emphasis; items of a list run on."""
    if not form_of(text).is_formatted:
        return text
    text = _QUOTE.sub("", _RULE.sub("", _HEADING.sub("", text)))
    text = _EMPHASIS.sub(r"\1", _BOLD.sub(r"\2", text))
    paragraphs = []
    for paragraph in _PARAGRAPH.split(text.strip()):
        lines = [_ITEM.sub("", line).strip() for line in paragraph.splitlines()]
        paragraphs.append(" ".join(line for line in lines if line))
    return "\n\n".join(one for one in paragraphs if one)


def with_markdown(text: str) -> str:
    """Returns the same words with a heading, bold and lists; a text that has some stays as it is.

    The first sentence is the heading, the first of each further paragraph is bold, and every other
    sentence is an item of a list.
    """
    if form_of(text).is_formatted:
        return text
    made = []
    for number, paragraph in enumerate(_PARAGRAPH.split(text.strip())):
        first, *others = sentences(paragraph)
        lines = [f"**{first}**" if number else f"## {first}"]
        if others:
            lines += ["", *(f"- {one}" for one in others)]
        made.append("\n".join(lines))
    return "\n\n".join(made)


def said_again(text: str) -> str:
    """Returns the text and, as one more paragraph, every second of its sentences once more."""
    again = [one for part in _PARAGRAPH.split(without_markdown(text)) for one in sentences(part)]
    return f"{text.rstrip()}\n\n{' '.join(again[::2])}"


def sentences(paragraph: str) -> list[str]:
    """Returns the sentences of a paragraph, its lines joined; the whole where none ends."""
    joined = " ".join(paragraph.split())
    found, start = [], 0
    for gap in _SENTENCE.finditer(joined):
        found.append(joined[start : gap.end()].strip())
        start = gap.end()
    return [*found, joined[start:]] if start < len(joined) or not found else found
