"""`areopagus view`."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import click

from ..errors import InputError, InputFault
from ..formats import units
from ..progress import ProgressLine
from .display import WIDTH, Command, printable

DEFAULT_FOLDER = "runs"


@click.command(cls=Command)
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8766, show_default=True,
    help="On this machine; 0 for any that is free.",
)  # fmt: skip
@click.option("--no-open", is_flag=True, help="Open no browser; the address is printed.")
@click.option("--static", "out", metavar="OUT", help="Write the same as files to publish, and end.")
@click.option(
    "--compare", nargs=2, multiple=True, metavar="RUN RUN",
    help="With --static: two runs of one kind that get a page of their own; repeatable.",
)  # fmt: skip
def view(
    folder: str | None,
    *,
    port: int,
    no_open: bool,
    out: str | None,
    compare: tuple[tuple[str, str], ...],
) -> None:
    """Show all runs under FOLDER on a page.

    Lists runs of every kind with their headlines, follows those at work,
    compares two of one kind, and opens any answer. FOLDER is runs/ where that is
    there, else this folder; it is only read, and served to this machine alone.
    """
    place = folder or (DEFAULT_FOLDER if Path(DEFAULT_FOLDER).is_dir() else ".")
    if out is not None:
        _write(place, out, compare)
        return
    if compare:
        raise InputError([InputFault("--compare", "goes with --static OUT; the page compares any")])
    from ..view import serve_view

    def started(url: str) -> None:
        click.echo(f"Showing the runs under {printable(place)}; Ctrl-C ends it.")
        click.echo(url)
        click.echo("The address holds a secret: who has it on this machine can read the runs.")
        if not no_open and _has_screen():
            import webbrowser

            webbrowser.open(url)

    serve_view(place, port=port, started=started)


def _write(place: str, out: str, compare: tuple[tuple[str, str], ...]) -> None:
    from ..view import write_view

    with ProgressLine() as shown:
        shown.do("writing the pages")
        made = write_view(place, out, compare=compare)
    click.echo(
        f"Wrote {printable(str(made.folder / 'index.html'))}: {units(made.n_runs, 'run')}, "
        f"{units(made.n_pages, 'page')}"
    )
    for path, reason in made.unread:
        for line in textwrap.wrap(f"no page: {printable(path)}: {printable(reason)}", WIDTH):
            click.echo(line)
    told = (
        f"{units(made.n_with_texts, 'page')} {'holds' if made.n_with_texts == 1 else 'hold'} the "
        "texts of prompts and responses, and judges' reasons: who gets the files can read them."
        if made.n_with_texts
        else "No page holds texts of responses."
    )
    click.echo(textwrap.fill(told, WIDTH))


def _has_screen() -> bool:
    """Whether a browser would open a window, and not take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
