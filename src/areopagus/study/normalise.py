"""One plain form for everybody's responses, so that the form does not tell who wrote them.

The form: paragraphs set apart by one blank line, list items on lines of their own as `• ` or
`1. `, straight quotes, ` - ` for every dash between words, three full stops for an ellipsis, one
plain space between words, no markup and no hidden characters. Words and their order stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

ChangeKind = Literal[
    "hidden characters",
    "line ends",
    "markup",
    "headings",
    "quoted lines",
    "tables",
    "lists",
    "paragraphs",
    "quotes",
    "dashes",
    "ellipses",
    "spaces",
    "letter forms",
]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)

BULLET = "• "

_MOST_ROUNDS = 20
_MOST_EMPHASISED = 800
"""Characters between two marks of emphasis: without a bound, a text of marks takes hours."""

_QUOTES = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»〝〞＂❝❞", '"'),
        **dict.fromkeys("‘’‚‛‹›ʼ′＇❛❜`´", "'"),
    }
)
_HYPHENS = str.maketrans(dict.fromkeys("‐‑−﹣－", "-"))
_ITEM = re.compile(r"[ ]*(?:(?P<bullet>[-*+•‣◦●▪·–—])|\(?(?P<number>\d{1,3})[.)])[ ]+(?=\S)")
_RULE = re.compile(r" *([-*_=])(?: *\1){2,} *")
_HEADING = re.compile(r" {0,3}#{1,6} +(.*?)(?: +#+)? *")
_TABLE_RULE = re.compile(r" *\|? *:?-{2,}:? *(\| *:?-{2,}:? *)*\|? *")
_TAGS = re.compile(r"</?(?:b|i|em|strong|u|ul|ol|span|div|sub|sup|center)(?: [^<>]*)?>", re.I)
_BREAKS = re.compile(r"<(?:br|/p|/li|/h[1-6])(?: [^<>]*)?/?>|<br/>", re.I)
_OPENINGS = re.compile(r"<(?:p|li|h[1-6])(?: [^<>]*)?>", re.I)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{1,1000})\]\(([^\s()]{1,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,4})\)"
)
_ENDS_SENTENCE = tuple(".!?:;\"')")

Step = tuple[ChangeKind, Callable[[str], str]]


@dataclass(frozen=True, slots=True)
class Normalised:
    """A text in the plain form, and what was changed to get there.

    Attributes:
        text: the plain form; "" where there was nothing but form.
        changes: kind of change to the number of lines it touched, in the order of `CHANGE_KINDS`.
    """

    text: str
    changes: dict[ChangeKind, int]


def normalise(text: str) -> Normalised:
    """Returns the text in the plain form; the same text again where it is in it already.

    Applying it twice changes nothing more. Letters, figures and their order stay as they are, but
    for the markers of lists and what stands inside removed HTML tags.
    """
    counts: dict[ChangeKind, int] = {}
    current = text
    for _ in range(_MOST_ROUNDS):
        before = current
        for kind, step in _STEPS:
            changed = step(current)
            if changed != current:
                counts[kind] = counts.get(kind, 0) + _lines_touched(current, changed)
            current = changed
        if current == before:
            break
    return Normalised(current, {kind: counts[kind] for kind in CHANGE_KINDS if kind in counts})


def _lines_touched(before: str, after: str) -> int:
    """Lines of the one that the other does not have; at least one."""
    kept = set(after.splitlines())
    return max(1, sum(line not in kept for line in before.splitlines()))


def _line_ends(text: str) -> str:
    return re.sub("\r\n?|[\u2028\u2029\u0085\v\f]", "\n", text)


def _hidden(text: str) -> str:
    """A watermark of characters nobody sees would unblind as well as a signature."""
    return "".join(
        c
        for c in text
        if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )


def _letter_forms(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _spaces(text: str) -> str:
    plain = "".join(" " if c == "\t" or unicodedata.category(c) == "Zs" else c for c in text)
    return "\n".join(re.sub(" {2,}", " ", line).rstrip() for line in plain.split("\n"))


def _markup(text: str) -> str:
    text = _TAGS.sub("", _OPENINGS.sub("\n", _BREAKS.sub("\n", text)))
    text = re.sub(r"^ *(```|~~~).*$", "", text, flags=re.M)
    text = _LINK.sub(lambda m: m[1] if m[1] == m[2] else f"{m[1]} ({m[2]})", text)
    text = re.sub(r"`+([^`\n]+)`+", r"\1", text)
    for mark in (r"\*\*\*", r"\*\*", "__", r"\*", "_", "~~"):
        sign = mark[-1]
        text = re.sub(
            rf"(?<![\w{sign}\\]){mark}(?=[^\s{sign}])([^\n]{{0,{_MOST_EMPHASISED}}}?[^\s{sign}]){mark}(?![\w{sign}])",
            r"\1",
            text,
        )
    return re.sub(r"\\([*_#`~>])", r"\1", text)


def _headings(text: str) -> str:
    out: list[str] = []
    for line in text.split("\n"):
        if _RULE.fullmatch(line):
            out.append("")
        elif found := _HEADING.fullmatch(line):
            out += ["", found[1], ""]
        else:
            out.append(line)
    return "\n".join(out)


def _quoted_lines(text: str) -> str:
    return re.sub(r"^(?: {0,3}> ?)+", "", text, flags=re.M)


def _tables(text: str) -> str:
    out: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if "|" in stripped and _TABLE_RULE.fullmatch(stripped):
            continue
        if len(stripped) > 1 and stripped.startswith("|") and stripped.endswith("|"):
            cells = [cell.strip() for cell in stripped.strip("|").split("|")]
            out.append(BULLET + "; ".join(cell for cell in cells if cell))
        else:
            out.append(line)
    return "\n".join(out)


def _lists(text: str) -> str:
    return "\n".join(_list_line(line) for line in text.split("\n"))


def _list_line(line: str) -> str:
    found = _ITEM.match(line)
    if found is None:
        return line
    marker = BULLET if found["bullet"] else f"{int(found['number'])}. "
    return marker + line[found.end() :].lstrip(" ")


def _paragraphs(text: str) -> str:
    lines = [line.strip() for line in text.strip("\n").split("\n")]
    has_blanks = any(not line for line in lines)
    blocks: list[str] = []
    for block in _blocks(lines):
        joined = has_blanks or _is_wrapped(block)
        for part in _parts(block, joined=joined):
            # Items of one list stand together, whatever stood between them.
            is_item = _ITEM.match(part) is not None
            if blocks and is_item and _ITEM.match(blocks[-1].rpartition("\n")[2]):
                blocks[-1] += "\n" + part
            else:
                blocks.append(part)
    return "\n\n".join(blocks)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in [*lines, ""]:
        if line:
            block.append(line)
        elif block:
            yield block
            block = []


def _parts(block: list[str], *, joined: bool) -> list[str]:
    """The paragraphs and list items of a block of lines."""
    parts: list[str] = []
    for line in block:
        starts = not parts or _ITEM.match(line) is not None
        if starts or not joined:
            parts.append(line)
        else:
            parts[-1] += " " + line
    return parts


def _is_wrapped(lines: list[str]) -> bool:
    """Whether the lines are one paragraph broken at a width, not a paragraph each."""
    if len(lines) < 3 or max(map(len, lines)) > 100:
        return False
    return sum(line.endswith(_ENDS_SENTENCE) for line in lines[:-1]) * 2 < len(lines) - 1


def _quotes(text: str) -> str:
    return text.translate(_QUOTES)


def _dashes(text: str) -> str:
    text = text.translate(_HYPHENS)
    text = re.sub(r"(?<=\d)[–—‒](?=\d)", "-", text)
    text = re.sub(r"(?<=\w)–(?=\w)", "-", text)
    text = re.sub(r"(?<=\S) ?[–—―‒] ?(?=\S)", " - ", text)
    text = re.sub(r"(?<=[^\s-]) ?--{1,2} ?(?=[^\s-])", " - ", text)
    return re.sub("[–—―‒]", "-", text)


def _ellipses(text: str) -> str:
    return re.sub(r"\.{4,}|\. \. \.", "...", text.replace("…", "..."))


_STEPS: tuple[Step, ...] = (
    ("line ends", _line_ends),
    ("hidden characters", _hidden),
    ("letter forms", _letter_forms),
    ("spaces", _spaces),
    ("markup", _markup),
    ("headings", _headings),
    ("quoted lines", _quoted_lines),
    ("tables", _tables),
    ("lists", _lists),
    ("paragraphs", _paragraphs),
    ("quotes", _quotes),
    ("dashes", _dashes),
    ("ellipses", _ellipses),
)
