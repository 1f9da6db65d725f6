"""A document's sentences and tables as Markdown and as LaTeX, to be put into a paper."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from ..aggregation.estimate import Estimate
from ..errors import visible_text
from ..formats import UNDEFINED, estimate
from ..reports.document import Cell, Column, Document, Paragraph, Points, Scalar, Section, Table

WIDTH: Final = 80
MOST_COLUMNS: Final = 5
"""A table of more is set narrower in LaTeX."""

_TEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "−": "$-$", "–": "--", "×": r"$\times$", "≤": r"$\le$", "≥": r"$\ge$", "±": r"$\pm$",
    "∞": r"$\infty$", "α": r"$\alpha$", "τ": r"$\tau$", "Δ": r"$\Delta$", "δ": r"$\delta$",
    "“": "``", "”": "''", "‘": "`", "’": "'", "…": r"\dots{}", "†": r"\dag{}",
    "`": r"\textasciigrave{}", "/": r"/\allowbreak{}",
}  # fmt: skip
"""Signs that are commands in LaTeX, and those that its usual fonts lack."""


class _Language(NamedTuple):
    """How a language writes a text, a paragraph that begins with what it is about, and a table."""

    text: Callable[[str], str]
    headed: Callable[[str, str], str]
    heading: Callable[[str], str]
    table: Callable[[Table], Iterator[str]]
    comment: Callable[[str], str]


def to_markdown(document: Document) -> str:
    """The document's sentences and tables in Markdown."""
    return _written(document, _MARKDOWN)


def to_latex(document: Document) -> str:
    """The document's sentences and tables in LaTeX; tables need the package booktabs."""
    return _written(document, _LATEX)


def _written(document: Document, language: _Language) -> str:
    lines: list[str] = []
    if document.is_demonstration:
        lines += [language.comment(f"DEMONSTRATION: {document.demonstration}"), ""]
    for section in document.sections:
        lines += [language.heading(section.title), "", *_section(section, language)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section, language: _Language) -> Iterator[str]:
    for part in section.parts:
        if isinstance(part, Points):
            for first, rest in part.items:
                yield from _wrapped(language.headed(first, rest))
                yield ""
        elif isinstance(part, Paragraph):
            yield from _wrapped(language.text(part.text))
            yield ""
        elif isinstance(part, Table):
            yield from language.table(part)
            yield ""


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def latex(text: str) -> str:
    """A text for LaTeX: nothing in it is a command."""
    plain = " ".join(visible_text(text).split())
    # Two hyphens would become a dash.
    plain = re.sub(r"-(?=-)", "-\0", plain)
    told = "".join(_TEX.get(sign, sign) for sign in plain).replace("\0", "{}")
    # A hash is longer than a line, and a line breaks nowhere else.
    return re.sub(r"[0-9a-f]{64}", lambda one: r"\allowbreak{}".join(_pieces(one[0])), told)


def _pieces(text: str, size: int = 8) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def markdown(text: str) -> str:
    """A text for Markdown: nothing in it is markup."""
    plain = " ".join(visible_text(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", plain)


def _cells(row: Sequence[Scalar | Cell], columns: Sequence[Column]) -> Iterator[str]:
    for one, column in zip(row, columns, strict=True):
        value = one.value if isinstance(one, Cell) else one
        if column.kind == "estimate" and isinstance(value, Estimate):
            yield estimate(value, column.digits, is_signed=column.is_signed)
            continue
        shown = column.shown(value)
        text = shown if shown is not None else UNDEFINED if value is None else str(value)
        note = one.note if isinstance(one, Cell) else ""
        yield f"{text} {note}" if note else text


def _latex_table(table: Table) -> Iterator[str]:
    marks = "".join("r" if column.is_numeric else "l" for column in table.columns)
    is_wide = len(table.columns) > MOST_COLUMNS
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}" if is_wide else r"\small"
    yield from (r"\begin{table}", r"\centering", size)
    yield from _wrapped(rf"\caption{{{latex(table.caption)}}}")
    yield rf"\begin{{tabular}}{{{marks}}}"
    yield r"\toprule"
    yield " & ".join(latex(column.title) for column in table.columns) + r" \\"
    yield r"\midrule"
    for row in [*table.rows, *table.foot]:
        # A row that begins with a bracket would be an option of the line before it.
        cells = [latex(one) for one in _cells(row, table.columns)]
        yield " & ".join(f"{{{one}}}" if one.startswith("[") else one for one in cells) + r" \\"
    yield from (r"\bottomrule", r"\end{tabular}")
    for note in table.notes:
        yield from ("", *_wrapped(rf"\par\footnotesize {latex(note)}"))
    yield r"\end{table}"


def _markdown_table(table: Table) -> Iterator[str]:
    yield from _wrapped(markdown(table.caption))
    yield ""
    yield "| " + " | ".join(markdown(column.title) for column in table.columns) + " |"
    yield "|" + "|".join("---:" if column.is_numeric else "---" for column in table.columns) + "|"
    for row in [*table.rows, *table.foot]:
        yield "| " + " | ".join(markdown(one) for one in _cells(row, table.columns)) + " |"
    for note in table.notes:
        yield from ("", *_wrapped(markdown(note)))


_LATEX: Final = _Language(
    latex,
    lambda first, rest: rf"\paragraph{{{latex(first)}}} {latex(rest)}",
    lambda title: rf"\subsection*{{{latex(title)}}}",
    _latex_table,
    lambda text: rf"\textbf{{{latex(text)}}}",
)
_MARKDOWN: Final = _Language(
    markdown,
    lambda first, rest: f"**{markdown(first)}** {markdown(rest)}",
    lambda title: f"## {markdown(title)}",
    _markdown_table,
    lambda text: f"**{markdown(text)}**",
)
