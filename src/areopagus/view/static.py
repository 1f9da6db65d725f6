"""A view as files to publish: the list, a page a run, and the comparisons asked for."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..changes import compare
from ..errors import InputError, InputFault
from ..records.run_folder import TEXTS_FILE, replaced, unwritable
from .index import index_file
from .listing import ListedRun, Listing
from .pages import run_document, write_page

if TYPE_CHECKING:
    from ..reports.document import Document

LIST_FILE: Final = "runs.json"
_FORMAT: Final = "areopagus view 1"


@dataclass(frozen=True, slots=True)
class WrittenView:
    """What was written.

    Attributes:
        folder: with index.html in it.
        n_runs: runs in the list.
        n_pages: pages of runs.
        n_with_texts: pages that carry the texts of prompts and responses.
        unread: (path, reason) of runs that have none.
    """

    folder: Path
    n_runs: int
    n_pages: int
    n_with_texts: int
    unread: tuple[tuple[str, str], ...]


def write_view(
    folder: str | Path, out: str | Path, *, compare: Sequence[tuple[str, str]] = ()
) -> WrittenView:
    """Writes the view of a folder as files, readable as the umask says.

    Args:
        folder: under which runs lie.
        out: a new or empty folder, or one that was written so before.
        compare: pairs of panel runs, by their paths, that get a page of their own.

    Raises:
        InputError: there is no such folder or run, or `out` holds other files.
        StoreError: the files cannot be written.
    """
    listing = Listing(folder)
    listing.refresh()
    while listing.read_next():
        pass
    pairs = _pairs(listing, compare)
    target = Path(out)
    _refuse_foreign(target)
    written: set[Path] = set()
    pages: dict[str, bool] = {}
    try:
        for name in ("runs", "compare"):
            (target / name).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="areopagus-view-") as charts:
            for run in listing.runs:
                if run.has_page:
                    path = target / "runs" / f"{run.id}.html"
                    shown = partial(run_document, listing, run)
                    pages[run.id] = write_page(
                        path, [run], listing, shown, charts=Path(charts) / run.id
                    )
                    written.add(path)
            for pair in pairs:
                path = target / "compare" / f"{pair[0].id}-{pair[1].id}.html"
                places = [listing.place(run) for run in pair]
                compared = partial(_compared, places)
                write_page(path, list(pair), listing, compared, charts=Path(charts) / path.stem)
                written.add(path)
        data = _data(listing, pairs)
        for name, text in (
            ("index.html", index_file(data)),
            (LIST_FILE, json.dumps(data, indent=1, ensure_ascii=False) + "\n"),
        ):
            with replaced(target / name) as part:
                part.write_text(text, encoding="utf-8", errors="replace")
            written.add(target / name)
        _publish(target, written)
    except OSError as error:
        raise unwritable(target, error) from error
    with_texts = [run for run in listing.runs if run.id in pages and _has_texts(listing, run)]
    return WrittenView(
        folder=target,
        n_runs=len(listing.runs),
        n_pages=len(pages),
        n_with_texts=len(with_texts),
        unread=tuple((run.path, run.problem) for run in listing.runs if run.problem),
    )


def _compared(places: Sequence[Path]) -> Document:
    return compare(*places).document()


def _data(listing: Listing, pairs: Sequence[tuple[ListedRun, ListedRun]]) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "notice": listing.notice,
        "runs": [run.to_json() for run in listing.runs],
        "comparisons": [[run.id for run in pair] for pair in pairs],
    }


def _pairs(
    listing: Listing, compare: Sequence[tuple[str, str]]
) -> list[tuple[ListedRun, ListedRun]]:
    known = {run.path: run for run in listing.runs}
    faults: list[InputFault] = []
    pairs: list[tuple[ListedRun, ListedRun]] = []
    for names in compare:
        found = [known.get(Path(name).as_posix()) for name in names]
        for name, run in zip(names, found, strict=True):
            if run is None or not run.is_comparable:
                faults.append(InputFault(name, "is no run in the list that can be compared"))
        first, second = found
        if first is not None and second is not None:
            pairs.append((first, second))
    if faults:
        raise InputError(faults, hint="Name runs as the list does, relative to the folder.")
    return pairs


def _refuse_foreign(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError([InputFault(str(target), "is a file; a view needs a folder")])
    if not any(target.iterdir()):
        return
    try:
        listed = json.loads((target / LIST_FILE).read_text(encoding="utf-8"))
        is_ours = listed["format"] == _FORMAT
    except (OSError, ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        raise InputError(
            [InputFault(str(target), "holds other files")],
            hint="Choose an empty or a new folder; nothing was overwritten.",
        )


def _publish(target: Path, written: set[Path]) -> None:
    """Removes pages of an earlier time, and gives the files the rights that the umask leaves."""
    for name in ("runs", "compare"):
        for path in (target / name).iterdir():
            if path not in written and re.fullmatch(
                r"[0-9a-f]{12}(-[0-9a-f]{12})?\.html", path.name
            ):
                path.unlink()
    umask = os.umask(0o077)
    os.umask(umask)
    for path in written:
        path.chmod(0o666 & ~umask)


def _has_texts(listing: Listing, run: ListedRun) -> bool:
    return (listing.place(run) / TEXTS_FILE).is_file()
