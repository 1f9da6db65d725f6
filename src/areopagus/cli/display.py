"""What commands print: lines and tables of at most 80 columns, made harmless for a terminal."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

from ..errors import InputError, InputFault, StoreError, visible_text

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


_ARGUMENT = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
_CALLED = {
    "target": "targets",
    "personas": "persona_names",
    "standard_error": "plan_error",
    "calls": "plan_calls",
    "only": "batch_only",
    "discount": "batch_discount",
    "rater": "renew",
    "ledger": "location",
    "failures_only": "failures",
}
"""Arguments of Python calls whose options have another name in a command."""


def in_options(text: str, command: click.Command) -> str:
    """The text, in which arguments between backquotes are named as this command's options."""
    options = {one.name: one for one in command.params if isinstance(one, click.Option)}

    def named(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        known = (name, _CALLED.get(name, ""))
        option = next((options[one] for one in known if one in options), None)
        if option is None:
            return match[0]
        flag = next(flag for flag in option.opts if flag.startswith("--"))
        return flag if value is None else f"{flag} {_as_argument(value)}"

    return _ARGUMENT.sub(named, text)


def _as_argument(value: str) -> str:
    """A Python value as it is given on a command line."""
    try:
        found = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value
    if isinstance(found, dict):
        return shlex.quote(",".join(f"{ours}={theirs}" for ours, theirs in found.items()))
    return shlex.quote(str(found))


class Command(click.Command):
    """A command whose errors name its options, where the library names arguments."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """See click; where a shell completes the line, texts complete what they may be."""
        if extra.get("resilient_parsing"):
            from .completion import make_completed

            make_completed(self, parent.info_name if parent is not None else None)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command.

        Raises:
            InputError: bad input.
            StoreError: something cannot be read or written.
        """
        try:
            return super().invoke(ctx)
        except InputError as error:
            faults = [
                InputFault(
                    in_options(f.where or f"`{f.field}`", self) if f.where or f.field else "",
                    in_options(f.message, self),
                    f.field if f.where else None,
                )
                for f in error.faults
            ]
            hint = in_options(error.hint, self) if error.hint else None
            raise self.input_error(faults, hint) from error
        except StoreError as error:
            raise StoreError(in_options(str(error), self)) from error

    def input_error(self, faults: Sequence[InputFault], hint: str | None) -> InputError:
        """The error that is shown."""
        return InputError(faults, hint=hint)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


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


class NarrowCommand(Command):
    """A command that says what is wrong with its input in lines of at most 80 columns."""

    def input_error(self, faults: Sequence[InputFault], hint: str | None) -> InputError:
        """The error, wrapped."""
        return NarrowInputError(faults, hint=hint)
