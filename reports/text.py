"""A document as lines of at most 80 columns, for a terminal and for .txt files."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from ..aggregation.estimate import Estimate
from ..errors import visible_text
from ..formats import UNDEFINED, interval, units
from .document import (
    Cell,
    Chart,
    Column,
    Document,
    Excerpts,
    Paragraph,
    Part,
    Points,
    Records,
    Scalar,
    Section,
    Table,
    Tiles,
)

WIDTH: Final = 80
_NAMES: Final = ("text", "id", "time")
_GAP: Final = 2
_LEAST_NAME: Final = 8
_MOST_ROWS: Final = 200
SCREEN: Final = 25
"""Lines of a summary, with those that say where the rest is."""
END: Final = 3
LEAST_ROWS: Final = 3
LIMITS: Final = "% interval"
"""How the head of a column of intervals ends, which stays beside its figure."""


def render_text(document: Document, *, full: bool = False, width: int = WIDTH) -> list[str]:
    """The lines of a document: its answer, why it can be trusted, and its summary.

    A summary of what has more to show fits on a screen of 25 lines, with those of the command that
    follow it: tables lose their last rows, and the later ones give way.

    Args:
        document: what is shown.
        full: whether sections for those who ask for more, and for those who check, follow.
        width: columns of a line at the most.
    """
    is_cut = not full and any(one.audience != "summary" for one in document.sections)
    lines: list[str] = []
    if document.is_demonstration:
        lines += [*_wrap(f"DEMONSTRATION: {document.demonstration}", width), ""]
    if document.headline:
        for sentence in document.headline:
            lines += _wrap(sentence, width)
    else:
        lines += _wrap(document.title, width)
        lines += _wrap(" ".join(filter(None, document.lead)), width) if any(document.lead) else []
    if document.trust:
        lines.append("")
        wide = max(len(word) for word, _ in document.trust) + _GAP
        for word, sentence in document.trust:
            lines += textwrap.wrap(
                visible_text(sentence), width, initial_indent=f"  {visible_text(word):<{wide}}",
                subsequent_indent=" " * (wide + 2), break_on_hyphens=False,
            )  # fmt: skip
    if document.state:
        lines += _wrap(document.state, width)
    for notice in document.notices:
        lines += _wrap(f"Note: {notice}", width)
    for section in document.sections:
        if full or section.audience == "summary":
            room = SCREEN - END - len(lines) if is_cut else None
            lines += _section(section, width, full=full, room=room)
    if document.more and not full:
        lines += ["", *(line for one in document.more for line in _wrap(one, width))]
    return lines


def _section(section: Section, width: int, *, full: bool, room: int | None) -> Iterator[str]:
    lines: list[str] = []
    for part in section.parts:
        left = None if room is None else room - len(lines)
        lines += _part(part, width) if left is None else _fitted(part, width, left)
    if full and lines:  # one of drawings alone has nothing to say here
        title = visible_text(section.title)
        yield from ["", title[:width], "-" * min(len(title), width)]
    yield from lines


def _fitted(part: Part, width: int, room: int) -> list[str]:
    """The lines of a part; of a table as many rows as there is room for, three at the least."""
    lines = list(_part(part, width))
    if not isinstance(part, Table):
        return lines
    # The line that says how many rows are left out takes the place of one.
    for most in range(len(part.rows) - 2, LEAST_ROWS - 1, -1):
        if len(lines) <= room:
            break
        lines = list(_part(part, width, most))
    return lines


def _part(part: Part, width: int, most: int = _MOST_ROWS) -> Iterator[str]:
    match part:
        case Paragraph(text, "heading"):
            yield from ["", *_wrap(text, width)]
        case Paragraph(text):
            yield from _wrap(text, width)
        case Points(items):
            for head, text in items:
                yield from _wrap(f"- {head} {text}" if head else f"- {text}", width)
        case Tiles(tiles):
            for tile in tiles:
                note = f" ({tile.note})" if tile.note else ""
                yield from _wrap(f"{tile.label}: {tile.value}{note}", width)
        case Table():
            yield ""
            caption = f"{part.caption} * {part.bold_says}" if part.bold_says else part.caption
            yield from _wrap(caption, width) if caption else []
            yield from table_lines(part, width, most)
            for note in part.notes:
                yield from _wrap(f"– {note}", width)
        case Excerpts():
            yield from ["", *_wrap(f"{part.title} ({part.note})", width)]
            for side in part.sides:
                yield from _wrap(f"{side.who} {side.figure}: {side.text}".rstrip(": "), width, "  ")
                if side.reason:
                    yield from _wrap(f"“{side.reason}” ({side.by})", width, "    ")
        case Records():
            yield from _wrap(f"{part.label}: {units(len(part.rows), 'row')} in {part.file}", width)
        case Chart():
            return


def table_lines(table: Table, width: int = WIDTH, most: int = _MOST_ROWS) -> list[str]:
    """A table's lines: names first, then its figures, in further blocks where they do not fit.

    Names that are the same in every row are said once above; sentences stand below the rows. An
    estimate is its value and its interval, each in a column of its own.
    """
    rows = [*table.rows, *table.foot]
    left_out = len(table.rows) - most
    if left_out > 0:
        rows = [*table.rows[:most], *table.foot]
    names, figures, wide = _columns(table.columns, rows, has_stars=bool(table.bold_says))
    more = [f"  … and {units(left_out, 'more row')}"] if left_out > 0 else []
    lines: list[str] = []
    if len(names) > 1 and not figures and not wide:
        return [*_list(names, width), *more]
    if len(rows) > 1:
        same = [head for head in names if len(set(head[1])) == 1][: len(names) - 1]
        told = [f"{title}: {texts[0]}" for title, texts in same if texts[0]]
        lines += _wrap("; ".join(told), width, indent="  ") if told else []
        names = [head for head in names if head not in same]
    if figures:
        is_long = len(rows) == 1 and _width(names) + _width(figures) > width - 4
        lines += _listed(names, figures, width) if is_long else _blocks(names, figures, width)
    lines += more
    for place in range(len(rows)):
        who = ", ".join(texts[place] for _, texts in names if texts[place])
        said = [f"{title}: {texts[place]}" for title, texts in wide if texts[place]]
        if len(wide) == 1 and not figures:  # what is said has one head, which need not be repeated
            said = [texts[place] for _, texts in wide if texts[place]]
        if said:
            lines += _wrap(f"{who}: {'; '.join(said)}" if who else "; ".join(said), width, "  ")
        elif not figures and who:
            lines += _wrap(who, width, "  ")
    return lines


Head = tuple[str, list[str]]
"""A column as it is printed: its title and its cells."""


def _columns(
    columns: Sequence[Column], rows: Sequence[Sequence[Scalar | Cell]], *, has_stars: bool
) -> tuple[list[Head], list[Head], list[Head]]:
    """Names, figures and sentences; columns without any content are left out."""
    names: list[Head] = []
    figures: list[Head] = []
    wide: list[Head] = []
    for place, column in enumerate(columns):
        given = [row[place] for row in rows]
        cells = [one if isinstance(one, Cell) else Cell(one) for one in given]
        texts = [_text(cell, column) for cell in cells]
        if has_stars and any(cell.is_bold for cell in cells):
            texts = [
                f"{text}{'*' if cell.is_bold else ' '}"
                for cell, text in zip(cells, texts, strict=True)
            ]
        if place and all(text in ("", UNDEFINED) for text in texts):
            continue
        head = (visible_text(column.title), texts)
        notes = [_note(cell, column) for cell in cells]
        if column.kind == "wide" and place:
            wide.append(head)
        elif column.kind in _NAMES and not figures:
            names.append(head)
        else:
            figures.append(head)
        if not any(notes):
            continue
        if all(len(note) <= 18 for note in notes):
            is_limits = any(note.startswith("[") for note in notes)
            filler = UNDEFINED if is_limits else ""
            (names if head in names else figures).append(
                (
                    _level(cells) if is_limits else "",
                    [n or (text and filler) for n, text in zip(notes, texts, strict=True)],
                )
            )
        else:
            wide.append((head[0], notes))
    return names, figures, wide


def _level(cells: Sequence[Cell]) -> str:
    """The head of a column's limits."""
    found = [one.value for one in cells if isinstance(one.value, Estimate)]
    levels = [one.level for one in found if one.has_interval]
    return f"{levels[0] if levels else 0.95:.0%} interval"


def _text(cell: Cell, column: Column) -> str:
    shown = column.shown(cell.value)
    if shown is not None:
        return shown
    return "" if cell.value is None else visible_text(str(cell.value))


def _note(cell: Cell, column: Column) -> str:
    value = cell.value
    if isinstance(value, Estimate) and value.has_interval and not cell.note:
        return interval(value.low, value.high, column.digits, is_signed=column.is_signed)
    return visible_text(cell.note)


def _width(heads: Sequence[Head]) -> int:
    return sum(max(_title_width(head), *map(len, head[1])) + _GAP for head in heads)


def _listed(names: Sequence[Head], figures: Sequence[Head], width: int) -> Iterator[str]:
    """The figures of a single row, one below the other, each with its interval."""
    who = "; ".join(f"{title}: {texts[0]}" for title, texts in names if texts[0])
    yield from _wrap(who, width, "  ") if who else []
    shown: list[tuple[str, str, str]] = []
    for title, (text, *_) in figures:
        if title.endswith(LIMITS) and shown:
            shown[-1] = (*shown[-1][:2], "" if text == UNDEFINED else text)
        elif text:
            shown.append((title, text, ""))
    titles, values = (max(map(len, column)) for column in list(zip(*shown, strict=True))[:2])
    for title, text, limits in shown:
        yield f"  {title:<{titles}}  {text:>{values}}  {limits}".rstrip()


def _blocks(names: Sequence[Head], figures: Sequence[Head], width: int) -> Iterator[str]:
    """The rows; as many figures a block as fit beside the names, each with its interval.

    Where they do not fit beside all names, the first of these become headings over their rows.
    """
    names = list(names)
    size = {id(head): max(_title_width(head), *map(len, head[1])) for head in (*names, *figures)}

    def wide(heads: Sequence[Head]) -> int:
        return sum(size[id(head)] + _GAP for head in heads)

    above: list[Head] = []
    n = len(figures[0][1])
    while len(names) > 1 and wide(names) + wide(figures) > width - 4:
        if len(set(zip(*(head[1] for head in (*above, names[0])), strict=True))) > n // 2:
            break
        above.append(names.pop(0))
    pairs: list[list[Head]] = []  # a figure and its interval stay together
    for head in figures:
        if pairs and head[0].endswith(LIMITS):
            pairs[-1].append(head)
        else:
            pairs.append([head])
    widest = max(map(wide, pairs), default=0)
    spare = width - 2 - widest - wide(names)
    for head in sorted(names, key=lambda one: -size[id(one)]):
        if spare < 0:
            cut = min(-spare, size[id(head)] - min(_LEAST_NAME, size[id(head)]))
            size[id(head)] -= cut
            spare += cut
    is_first = True
    while pairs:
        room = width - 2 - wide(names) - (2 if above else 0)
        block: list[Head] = []
        while pairs and (not block or wide(pairs[0]) <= room):
            room -= wide(pairs[0])
            block += pairs.pop(0)
        if not is_first:
            yield ""
        is_first = False
        heads = [*names, *block]
        for line in _row([title for title, _ in heads], heads, size, len(names)):
            yield f"  {line}" if above else line
        group = None
        for k in range(n):
            now = tuple(texts[k] for _, texts in above)
            if above and now != group:
                group = now
                yield f"  {', '.join(text for text in now if text)}"[:width]
            for line in _row([texts[k] for _, texts in heads], heads, size, len(names)):
                yield f"  {line}"[:width] if above else line


def _list(names: Sequence[Head], width: int) -> Iterator[str]:
    """Rows of names alone; the last of them takes what the others leave of the line."""
    size = {id(head): max(_title_width(head), *map(len, head[1])) for head in names}
    room = width - 2 - sum(size[id(head)] + _GAP for head in names[:-1])
    size[id(names[-1])] = max(_LEAST_NAME, min(size[id(names[-1])], room))
    for texts in zip(*([title, *cells] for title, cells in names), strict=True):
        yield from _row(texts, names, size, len(names))


def _row(
    texts: Sequence[str], heads: Sequence[Head], size: dict[int, int], n_names: int
) -> Iterator[str]:
    """One row, of as many lines as its longest cell needs."""
    parts = [
        textwrap.wrap(text, size[id(head)], break_on_hyphens=False) or [""]
        for text, head in zip(texts, heads, strict=True)
    ]
    for line in range(max(map(len, parts))):
        cells = []
        for k, (part, head) in enumerate(zip(parts, heads, strict=True)):
            text = part[line] if line < len(part) else ""
            wide = size[id(head)]
            cells.append(text.ljust(wide) if k < n_names else text.rjust(wide))
        yield ("  " + (" " * _GAP).join(cells)).rstrip()


def _title_width(head: Head) -> int:
    """Of a title: its longest word, and as much of the rest as its cells are wide."""
    longest = max(map(len, head[0].split()), default=0)
    return max(longest, min(len(head[0]), 12))


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        visible_text(text), width, initial_indent=indent, subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    ) or [""]  # fmt: skip
