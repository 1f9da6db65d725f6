"""One plain form for everybody's responses, so that the form does not tell who wrote them.

The form: paragraphs set apart by one blank line, list items on lines of their own as `• ` or
`1. `, straight quotes, ` - ` for every dash between words, three full stops for an ellipsis, one
plain space between words, no markup, no signs around formulas, no hidden or fancy characters. Words
and their order stay. What was a heading stays as a line of its own: it cannot be told from words.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Final, Literal, get_args

_ENTITY: Final = re.compile(
    r"&(?:(?:amp|#0*38|#[xX]0*26);)*(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
)
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KEYCAP: Final = re.compile("([0-9])\ufe0f?\u20e3|\U0001f51f")

_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing although their category is that of a letter or mark."""

_COMPATIBLE: Final = (
    (0x2160, 0x2188),  # roman numerals
    (0xFB00, 0xFB06),  # Latin ligatures
    (0xFF10, 0xFF19),  # full-width figures
    (0xFF21, 0xFF3A),  # and letters
    (0xFF41, 0xFF5A),
    (0x1D400, 0x1D7FF),  # letters of formulas, which make bold and slanted ones without markup
)
_BOXED: Final = (
    (0x2460, 0x249B),  # figures in circles, in brackets, with a full stop
    (0x249C, 0x24E9),  # letters
)
_BOXED_FROM: Final = {0x24EB: 11, 0x24F5: 1, 0x2776: 1, 0x2780: 1, 0x278A: 1}
"""Ten figures each that have no compatible form, by the first."""


def without_entities(text: str) -> str:
    """Returns the text with the characters that entities such as `&amp;nbsp;` stand for."""
    return _ENTITY.sub(lambda found: html.unescape(f"&{found[1]};"), text)


def without_hidden(text: str) -> str:
    """Returns the text without characters that nobody sees.

    A watermark of them would unblind as well as a signature.
    """
    return "".join(c for c in text if c in "\n\t" or not _is_hidden(c))


def with_plain_letters(text: str) -> str:
    """Returns the text composed (NFC), with ligatures, wide and boxed letters as plain ones.

    Compatible forms (NFKC) are taken for these classes alone: superscripts, fractions and the like
    have a meaning. Figures in circles or boxes get brackets: ① becomes (1). Full-width punctuation
    stays where it belongs, among Chinese, Japanese or Korean letters.
    """
    text = _KEYCAP.sub(lambda found: f"({found[1] or 10})", unicodedata.normalize("NFC", text))
    if text.isascii():
        return text
    has_cjk = _CJK.search(text) is not None
    parts = [_plain(c, has_cjk=has_cjk) for c in text]
    out: list[str] = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        out.append(part)
        if len(part) > 2 and part[0] == "(" and (following[:1].isalnum() or following[:1] == "("):
            out.append(" ")
    return unicodedata.normalize("NFC", "".join(out))


def _is_hidden(c: str) -> bool:
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") or c in _FILLERS:
        return True
    code = ord(c)  # selectors of variants: 256 values a character, which nobody sees
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


def _plain(c: str, *, has_cjk: bool) -> str:
    code = ord(c)
    if code < 0x2160:
        return c
    if any(low <= code <= high for low, high in _COMPATIBLE):
        return unicodedata.normalize("NFKC", c)
    if any(low <= code <= high for low, high in _BOXED):
        return f"({unicodedata.normalize('NFKC', c).strip('().')})"
    for first, figure in _BOXED_FROM.items():
        if first <= code < first + 10:
            return f"({figure + code - first})"
    if 0xFF01 <= code <= 0xFF5E and not has_cjk:
        return unicodedata.normalize("NFKC", c)
    return c


BULLET: Final = "• "

_BULLETS: Final = "-*+•‣◦●▪·–—⁃∙○◉⦿■□◆◇▶►▸▹➔➜➤➢★☆☐☑👉🔹🔸"
_ITEM: Final = re.compile(
    rf"[ ]*(?:(?P<bullet>[{_BULLETS}])|\(?(?P<number>\d{{1,3}})[.)])[ ]+(?=\S)"
)
_BOX: Final = re.compile(r"[ ]*(?:[-*+•][ ]+)?\[[ xX]\][ ]+(?=\S)")
_LETTERED: Final = re.compile(r"[ ]*(\(?)([A-Za-z]|[ivxIVX]{1,5})([.)])[ ]+(?=\S)")

_REFERRED: Final = re.compile(r"\S \(([A-Za-z]|[ivxIVX]{1,5})\)")

_TENS, _ONES = ("", "x"), ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN: Final = {
    ten + one: 10 * tens + ones
    for tens, ten in enumerate(_TENS)
    for ones, one in enumerate(_ONES)
    if ten or one
}
_FEWEST_INITIALS: Final = 3
"""Lines that begin with A., B., … from which these are markers, and not people's initials."""


@dataclass(slots=True)
class _Run:
    """Lines whose markers count on: a), b), c) or i., ii., iii."""

    style: tuple[str, str, bool, bool]
    last: int
    lines: list[int] = field(default_factory=list)


def is_item(line: str) -> bool:
    """Whether the line begins with a plain marker, or one that `plain_item` makes plain."""
    return _ITEM.match(line) is not None


def begins_like_item(line: str) -> bool:
    """Whether the line begins as items do, also with a letter that is alone of its kind."""
    if is_item(line) or _BOX.match(line):
        return True
    found = _LETTERED.match(line)
    return found is not None and found[3] == ")"


def plain_item(line: str) -> str:
    """Returns the line with `• ` or `1. ` for its marker, boxes to tick left out."""
    if box := _BOX.match(line):
        return BULLET + line[box.end() :]
    found = _ITEM.match(line)
    if found is None:
        return line
    marker = BULLET if found["bullet"] else f"{int(found['number'])}. "
    return marker + line[found.end() :].lstrip(" ")


def with_figures(lines: list[str]) -> list[str]:
    """Returns the lines with figures for markers that are letters or roman numbers.

    Only where they count on from the first, a then b, i then ii, in one style: `A. Smith` at the
    head of a line is a person. A list that the text speaks of, "as (b) says", keeps its letters.
    """
    referred = {found[1] for line in lines for found in _REFERRED.finditer(line)}
    runs: list[_Run] = []
    current: dict[tuple[str, str, bool, bool], _Run] = {}
    for number, line in enumerate(lines):
        found = _LETTERED.match(line)
        if found is None:
            continue
        for is_roman, value in _values(found[2]):
            style = (found[1], found[3], found[2].isupper(), is_roman)
            run = current.get(style)
            if run is not None and value == run.last + 1:
                run.last = value
                run.lines.append(number)
            elif value == 1:
                current[style] = _Run(style, 1, [number])
                runs.append(current[style])
    out = list(lines)
    # the longer run has the line: the i of i, ii, iii and not of a, b, …, i
    for run in sorted(runs, key=lambda one: len(one.lines)):
        markers = [found for number in run.lines if (found := _LETTERED.match(lines[number]))]
        _, closing, is_upper, is_roman = run.style
        fewest = _FEWEST_INITIALS if closing == "." and is_upper and not is_roman else 2
        if len(markers) < fewest or any(found[2] in referred for found in markers):
            continue
        for value, (number, found) in enumerate(zip(run.lines, markers, strict=True), start=1):
            out[number] = f"{value}. {lines[number][found.end() :]}"
    return out


def _values(marker: str) -> list[tuple[bool, int]]:
    """What the marker may count as: (whether roman, value)."""
    plain = marker.lower()
    found: list[tuple[bool, int]] = []
    if len(plain) == 1:
        found.append((False, ord(plain) - ord("a") + 1))
    if plain in _ROMAN and (marker.isupper() or marker.islower()):
        found.append((True, _ROMAN[plain]))
    return found


NARROWEST, WIDEST = 50, 120
"""Widths at which editors and mail break lines; verse is narrower, and nobody breaks wider."""

_FEWEST_LINES: Final = 3
"""Lines of a paragraph from which their lengths say something."""

_QUOTED: Final = re.compile(r"(?: {0,3}> ?)*")
_FENCE: Final = re.compile(r" *(?:```|~~~)")
_ALONE: Final = re.compile(r" *(?:#{1,6} |<|\||([-*_=])(?: *\1){2,} *$)|.*(?:  |\\|<br ?/?>)$")
"""Headings, tags, rows, rules, and lines that break on purpose: nothing goes on after these."""


def unwrapped(text: str) -> str:
    """Returns the text with the lines of each paragraph joined that was broken at a width.

    To be asked before markup goes, since that counted when the lines were broken. A paragraph of
    three lines or more tells a width, and so do several of two lines that all fit one; one of two
    lines is joined where it fits a width that was told.
    """
    parts = list(_parts(text.split("\n")))
    widths = [own_width(part) for part in parts]
    width = max((found for found in widths if found is not None), default=None) or _shared(parts)
    out: list[str] = []
    for part, told in zip(parts, widths, strict=True):
        if told is not None or (width is not None and len(part) > 1 and _is_full(part, width)):
            rest = (line[_prefix(line) :].strip() for line in part[1:])
            out.append(" ".join([part[0].rstrip(), *rest]))
        else:
            out += part
    return "\n".join(out)


def own_width(lines: list[str]) -> int | None:
    """Returns the width at which a program broke these lines, or None where nothing shows one.

    It breaks where the next word has no room: every line and the first word of the next are then
    longer than the longest line. Lines of verse, of an address or of a list end where their writer
    wanted; and since verse may come close, half the lines that go on must not begin with a capital.
    """
    width = max(len(line.rstrip()) for line in lines)
    if len(lines) < _FEWEST_LINES or not NARROWEST <= width <= WIDEST:
        return None
    return width if _is_full(lines, width) else None


def _shared(parts: list[list[str]]) -> int | None:
    """The width that all parts of two lines show together."""
    several = [part for part in parts if len(part) > 1]
    width = max((len(line.rstrip()) for part in several for line in part), default=0)
    if len(several) < _FEWEST_LINES - 1 or not NARROWEST <= width <= WIDEST:
        return None
    return width if all(_is_full(part, width) for part in several) else None


def _is_full(lines: list[str], width: int) -> bool:
    if max(len(line.rstrip()) for line in lines) > width:
        return False
    follows = [line[_prefix(line) :].lstrip() for line in lines[1:]]
    for line, other in zip(lines, follows, strict=False):
        if len(line.rstrip()) + 1 + len(other.split(" ")[0]) <= width:
            return False
    return 2 * sum(not other[0].isupper() for other in follows) >= len(follows)


def _parts(lines: list[str]) -> list[list[str]]:
    """The lines in groups that may be one paragraph or item each, in order."""
    parts: list[list[str]] = [[line] for line in lines[:1]]
    is_code = bool(lines) and _FENCE.match(lines[0]) is not None
    for before, line in pairwise(lines):
        is_fence = _FENCE.match(line) is not None
        if is_code or is_fence or not _goes_on(before, line):
            parts.append([line])
        else:
            parts[-1].append(line)
        is_code ^= is_fence
    return parts


def _goes_on(before: str, line: str) -> bool:
    """Whether the line may go on with the one before."""
    at, was_at = _prefix(line), _prefix(before)
    own, old = line[at:], before[was_at:]
    if not own.strip() or not old.strip() or line[:at].split() != before[:was_at].split():
        return False
    return not (begins_like_item(own) or _ALONE.match(own) or _ALONE.match(old))


def _prefix(line: str) -> int:
    """Where a quoted line's own text begins."""
    found = _QUOTED.match(line)
    return found.end() if found else 0


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
