"""What commands print: tables of at most 80 columns, and text made harmless for a terminal."""

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


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; 80 columns where there is none."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False, soft_wrap=False, emoji=False)
    if not found.is_terminal:
        return Console(stderr=stderr, highlight=False, emoji=False, width=WIDTH, no_color=True)
    return found


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
    """US dollars with as many digits as small sums need."""
    if value is None:
        return "unknown"
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


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
