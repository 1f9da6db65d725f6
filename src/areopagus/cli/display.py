"""What commands print: lines and tables of at most 80 columns, made harmless for a terminal."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

from ..errors import InputError, visible_text

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
