"""`areopagus ARGUMENTS` called in this process: a process of its own takes seconds to start."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import click
from click.testing import CliRunner
from processes import Finished

from areopagus.cli.main import cli
from areopagus.errors import AreopagusError


def areopagus(*arguments: object, folder: Path) -> Finished:
    """What becomes of `areopagus ARGUMENTS` in a folder; its errors end as in `main`."""
    given = [str(argument) for argument in arguments]
    with chdir(folder):
        found = CliRunner(env={"COLUMNS": "80"}).invoke(cli, given, standalone_mode=False)
    error = found.exception
    if error is None:
        code = found.return_value if isinstance(found.return_value, int) else 0
        return Finished(code, found.stdout, found.stderr)
    if isinstance(error, click.ClickException):
        return Finished(2, found.stdout, f"{found.stderr}{error.format_message()}")
    if isinstance(error, AreopagusError):
        return Finished(2, found.stdout, f"{found.stderr}Error: {error}")
    raise error
