"""What commands print: lines and tables of at most 80 columns, made harmless for a terminal."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, visible_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


WIDTH = 80


def printable(text: str) -> str:
    """The text with everything but line feeds that a terminal would act on made visible."""
    return visible_text(text, keep="\n")


def same_command() -> str:
    """The command line as it can be given again; a ledger's password is left out."""
    from ..records.ledger.address import without_password

    # Before the shell's quotation marks are set: they would be taken for a part of the password.
    return printable(shlex.join(["areopagus", *map(without_password, sys.argv[1:])]))


def show_notices(notices: Iterable[str], *, width: int | None = None) -> None:
    """Each notice as a line on stderr, or wrapped to a width; words, paths say, stay whole."""
    for notice in notices:
        text = f"Note: {visible_text(notice)}"
        if width is not None:
            text = textwrap.fill(
                text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        click.echo(text, err=True)


def say(text: str = "", *, bold: bool = False, indent: str = "  ") -> None:
    """The text on stdout in lines of at most 80 columns, made harmless; words stay whole."""
    for line in printable(text).split("\n"):
        wrapped = textwrap.fill(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        click.secho(wrapped, bold=bold)


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1
) -> None:
    """A table of at most 80 columns; the first `left` columns are names, the others figures."""
    from ..reports.document import Column, Table
    from ..reports.text import table_lines

    heads = [Column(name, "id" if k < left else "number") for k, name in enumerate(columns)]
    if title:
        click.secho(printable(title), bold=True)
    cells = [list(map(str, row)) for row in rows]
    for line in table_lines(Table("", "", heads, cells), WIDTH, len(cells)):
        click.echo(line)


def cut(text: str, width: int) -> str:
    """The text, cut to a width."""
    return text if len(text) <= width else text[: width - 1] + "…"


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; 80 columns where there is none."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False, soft_wrap=False, emoji=False)
    if not found.is_terminal:
        return Console(stderr=stderr, highlight=False, emoji=False, width=WIDTH, no_color=True)
    return found


def visible(text: str, *, width: int | None = None) -> str:
    """The text without control characters and rich markup, cut to a width."""
    from rich.markup import escape

    plain = visible_text(text)
    if width is not None and len(plain) > width:
        plain = plain[: width - 1] + "…"
    return escape(plain)


def table(title: str, columns: Iterable[str], *, left: int = 1) -> Table:
    """An empty table; the first `left` columns are text, the others numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    for index, name in enumerate(columns):
        made.add_column(
            name, justify="left" if index < left else "right", overflow="ellipsis", no_wrap=True
        )
    return made


def number(value: float | None, digits: int = 2) -> str:
    """The number, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


def span(interval: Sequence[float | None] | None) -> str:
    """`low to high`, or a dash."""
    if interval is None or interval[0] is None or interval[1] is None:
        return "–"
    return f"{interval[0]:.2f} to {interval[1]:.2f}"


def dollars(value: float | None) -> str:
    """US dollars, see `formats.dollars`."""
    from ..formats import dollars as shown

    return shown(value)


_BEFORE = len("Error: ")


class NarrowInputError(InputError):
    """An input error in lines of at most 80 columns, once `Error: ` stands before the first."""

    def _text(self) -> str:
        lines: list[str] = []
        for line in super()._text().splitlines():
            # a path or an id longer than a line stays whole, so that it can be copied
            lines += textwrap.wrap(
                line, WIDTH, initial_indent="" if lines else " " * _BEFORE,
                subsequent_indent="    ", break_long_words=False, break_on_hyphens=False,
            ) or [""]  # fmt: skip
        return "\n".join(lines).removeprefix(" " * _BEFORE)


class NarrowCommand(click.Command):
    """A command that says what is wrong with its input in lines of at most 80 columns."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command.

        Raises:
            NarrowInputError: bad input.
        """
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise NarrowInputError(error.faults, hint=error.hint) from error
