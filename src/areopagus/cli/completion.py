"""What a shell completes beside commands and options: files, personas, rubrics and templates.

click has the shells' side: `_AREOPAGUS_COMPLETE=bash_source areopagus` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..errors import AreopagusError

_IS_FILE = re.compile(r"FILE|DIR|PATH|RUN|FOLDER|\.yaml")
_NO_FILES = ("response_id", "key", "job", "name")
"""Arguments that are names; every other one is a file or a folder."""
_CATALOGUES = {
    "persona": "personas",
    "persona_names": "personas",
    "rubric": "rubrics",
    "template": "templates",
}


class CompletedText(click.types.StringParamType):
    """Text that may be a file, a folder, or the name of something that there is a list of."""

    def __init__(self, *, place: str | None, names: str | None) -> None:
        """What it may be.

        Args:
            place: "file" (a folder too), "dir", or None for neither.
            names: "personas", "rubrics", "templates", or None.
        """
        self._place, self._names = place, names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """See click. A place comes first: bash forgets what stands before it."""
        found = [] if self._place is None else [CompletionItem(incomplete, type=self._place)]
        if self._names is not None and "/" not in incomplete:
            names = _listed(self._names, _folders(ctx))
            found += [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found


def make_completed(command: click.Command, group: str | None) -> None:
    """Lets each parameter of a command that is text complete what it may be.

    Args:
        command: whose.
        group: the command that it belongs to, such as "personas".
    """
    for param in command.params:
        if param.type is click.STRING:
            param.type = CompletedText(place=_place(param), names=_names(command, group, param))


def _place(param: click.Parameter) -> str | None:
    shown = param.metavar or ""
    if isinstance(param, click.Argument):
        return None if param.name in _NO_FILES else "file"
    return "dir" if shown == "DIR" else "file" if _IS_FILE.search(shown) else None


def _names(command: click.Command, group: str | None, param: click.Parameter) -> str | None:
    name = param.name or ""
    if isinstance(param, click.Argument):
        is_shown = name == "name" and command.name == "show"
        return group if is_shown and group in _CATALOGUES.values() else None
    return _CATALOGUES.get(name) if "NAME" in (param.metavar or "") else None


def _folders(ctx: click.Context) -> tuple[str, ...]:
    """The folders with further files that stand on the command line already."""
    given = ctx.params.get("persona_folders") or ctx.params.get("folders") or ()
    return tuple(folder for folder in given if Path(folder).is_dir())


def _listed(kind: str, folders: Sequence[str]) -> list[str]:
    try:
        if kind == "personas":
            from ..personas import list_personas

            return [entry.name for entry in list_personas(folders)]
        if kind == "rubrics":
            from ..rubrics import list_rubrics

            return [entry.name for entry in list_rubrics(folders)]
        from ..judges.templates import TEMPLATES

        return [entry.name for entry in TEMPLATES.entries()]
    except AreopagusError:  # a line that is being typed is no place for an error
        return []
