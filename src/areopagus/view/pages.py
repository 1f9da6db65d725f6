"""The pages of runs and comparisons, made of their files by this version of the package.

A page that lies in a run's folder is not served: it may be old, or somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock

from ..any_report import run_of
from ..changes import compare
from ..reports.document import Document
from ..reports.html import write_html
from ..study.status import is_study, study_status
from .listing import ListedRun, Listing, unreadable

HOME = "../index.html"


class Pages:
    """Pages of a listing, made when they are asked for, anew where a run has changed."""

    def __init__(self, listing: Listing, cache: Path) -> None:
        """Takes the listing, and a folder to write into."""
        self._listing, self._cache = listing, cache
        self._lock = Lock()

    def of_run(self, run: ListedRun) -> Path:
        """The file of a run's page; one that says why where it cannot be made."""
        return self._made(f"run-{run.id}", [run], partial(run_document, self._listing, run))

    def of_comparison(self, first: ListedRun, second: ListedRun) -> Path:
        """The file of the page that holds the second run against the first."""
        places = [self._listing.place(run) for run in (first, second)]
        name = f"compare-{first.id}-{second.id}"
        return self._made(name, [first, second], lambda: compare(*places).document())

    def _made(self, name: str, runs: list[ListedRun], document: Callable[[], Document]) -> Path:
        stamp = "-".join(str(abs(hash(self._listing.stamp(run)))) for run in runs)
        path = self._cache / f"{name}-{stamp}.html"
        with self._lock:  # charts are drawn one after the other
            if not path.is_file():
                for old in self._cache.glob(f"{name}-*.html"):
                    old.unlink()
                write_page(path, runs, self._listing, document, charts=self._cache / name)
        return path


def run_document(listing: Listing, run: ListedRun) -> Document:
    """What is shown of a run.

    Raises:
        InputError: its files cannot be read.
    """
    place = listing.place(run)
    return study_status(place).document() if is_study(place) else run_of(place).document()


def write_page(
    path: Path,
    runs: list[ListedRun],
    listing: Listing,
    document: Callable[[], Document],
    *,
    charts: Path,
) -> bool:
    """Writes a page; whether it shows what was wanted, and not why that cannot be shown.

    Args:
        path: of the page.
        runs: whose it is.
        listing: where they lie.
        document: what it shows.
        charts: the folder into which its charts are drawn.
    """
    try:
        write_html(path, document(), charts=charts, home=HOME)
        return True
    except Exception as error:
        # Files that were cut, edited or are somebody else's: the page says so.
        told = unreadable(listing.place(runs[0]), error)
        names = " and ".join(run.path for run in runs)
        write_html(
            path, Document(f"{names} cannot be shown", "problem", [], notices=[told]), home=HOME
        )
        return False
