"""Commands whose errors keep to 80 columns."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from ..errors import InputError

WIDTH = 80
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
