"""One plain form for everybody's responses, so that the form does not tell who wrote them.

The form: paragraphs set apart by one blank line, list items on lines of their own as `• ` or
`1. `, straight quotes, ` - ` for every dash between words, three full stops for an ellipsis, one
plain space between words, no markup, no signs around formulas, no hidden or fancy characters. Words
and their order stay. What was a heading stays as a line of its own: it cannot be told from words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from .letter_forms import with_plain_letters, without_entities, without_hidden
from .list_markers import BULLET, is_item, plain_item, with_figures
from .wrapping import unwrapped

ChangeKind = Literal[
    "entities",
    "hidden characters",
    "line ends",
    "formulas",
    "footnote marks",
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
_RULE = re.compile(r" *([-*_=])(?: *\1){2,} *")
_HEADING = re.compile(r" {0,3}#{1,6} +(.*?)(?: +#+)? *")
_TABLE_RULE = re.compile(r" *\|? *:?-+:? *(\| *:?-+:? *)*\|? *")
_TAGS = re.compile(
    r"</?(?:b|i|em|strong|u|ul|ol|span|div|sub|sup|center|code|kbd|mark|small|del|ins|font|td|th)"
    r"(?: [^<>]*)?>",
    re.I,
)
_BLOCKS = "details|summary|blockquote|section|article|table|thead|tbody|tr|pre"
_BREAKS = re.compile(rf"<(?:br|hr|/p|/li|/h[1-6]|/(?:{_BLOCKS}))(?: [^<>]*)?/?>|<[bh]r/>", re.I)
_OPENINGS = re.compile(rf"<(?:p|li|h[1-6]|{_BLOCKS})(?: [^<>]*)?>", re.I)
_FORMULAS = (
    (re.compile(r"\\\(((?:[^\n\\]|\\[^\n()]){1,2000}?)\\\)"), "()"),
    (re.compile(r"\\\[([^\[\]]{1,2000}?)\\\]"), "[]"),
    (re.compile(r"\$\$([^$]{1,2000})\$\$"), ""),
    # a price is no formula: a sign of arithmetic and a letter, or one letter alone
    (
        re.compile(
            r"(?<![\w$\\])\$(?=[^\s$])([A-Za-z]|(?=[^$\n]{0,300}?[\\^_={}])"
            r"(?=[^$\n]{0,300}?[A-Za-z])[^$\n]{1,300})(?<=[^\s\\])\$(?![\w$])"
        ),
        "",
    ),
)
_MATHS = re.compile(r"[\\^_={}<>+\n]")
_SYMBOL = re.compile(r"[A-Za-z0-9]{1,3}")
_FOOTNOTE = re.compile(r"\[\^([\w-]{1,40})\](:?)")
_LINK = re.compile(
    r"!?\[([^\[\]\n]{1,1000})\]\(([^\s()]{1,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,4})\)"
)
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


def _spaces(text: str) -> str:
    plain = "".join(" " if c == "\t" or unicodedata.category(c) == "Zs" else c for c in text)
    return "\n".join(re.sub(" {2,}", " ", line).rstrip() for line in plain.split("\n"))


def _formulas(text: str) -> str:
    for pattern, brackets in _FORMULAS:
        text = pattern.sub(partial(_bare, brackets), text)
    return text


def _bare(brackets: str, found: re.Match[str]) -> str:
    """The formula alone; brackets that were merely escaped stay as brackets."""
    inner = found[1].strip(" ")
    is_symbol = brackets == "()" and _SYMBOL.fullmatch(inner) is not None
    if not brackets or is_symbol or _MATHS.search(inner):
        return inner
    return brackets[0] + found[1] + brackets[1]


def _footnote_marks(text: str) -> str:
    return _FOOTNOTE.sub(r"[\1]", text)


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
    lines = text.split("\n")
    is_rule = ["|" in line and _TABLE_RULE.fullmatch(line) is not None for line in lines]
    is_row = [_has_outer_pipes(line) for line in lines]
    for rule in (number for number, found in enumerate(is_rule) if found):
        # a table without outer pipes: the line above its rule, and what follows with pipes
        if rule and "|" in lines[rule - 1]:
            is_row[rule - 1] = True
        for number in range(rule + 1, len(lines)):
            if "|" not in lines[number] or is_rule[number]:
                break
            is_row[number] = True
    return "\n".join(
        _row(line) if row else line
        for line, row, rule in zip(lines, is_row, is_rule, strict=True)
        if not rule
    )


def _has_outer_pipes(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) > 1 and stripped.startswith("|") and stripped.endswith("|")


def _row(line: str) -> str:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return BULLET + "; ".join(cell for cell in cells if cell)


def _lists(text: str) -> str:
    return "\n".join(plain_item(line) for line in with_figures(text.split("\n")))


def _paragraphs(text: str) -> str:
    blocks: list[list[str]] = []
    for line in text.split("\n"):
        stripped = line.strip()
        # Items of one list stand together, whatever stood between them.
        if stripped and blocks and is_item(stripped) and is_item(blocks[-1][-1]):
            blocks[-1].append(stripped)
        elif stripped:
            blocks.append([stripped])
    return "\n\n".join("\n".join(block) for block in blocks)


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
    ("paragraphs", unwrapped),
    ("entities", without_entities),
    ("letter forms", with_plain_letters),
    ("hidden characters", without_hidden),
    ("spaces", _spaces),
    ("formulas", _formulas),
    ("footnote marks", _footnote_marks),
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
