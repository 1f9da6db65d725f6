"""What the calibrations of a run say of its panel, in a sentence for the run's own page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from .errors import AreopagusError
from .formats import units
from .records.run_folder import RUN_FILE, panel_of, read_run_file, run_identity_hash

KIND: Final = "calibration"

MOST_FOLDERS: Final = 500
"""Folders beside a run that are looked into."""


def people_sentence(folder: Path) -> str | None:
    """Returns how near to people the panel of a run was found to be, and where that stands.

    Looked into are the folders in the run's own, and those beside it with what lies in them. A
    calibration of this run comes first; else one of the same panel on other responses, which says
    so. One of another panel, or of the run before it went on, is named as such, so that nobody
    takes it for this one.

    Args:
        folder: of a run of any kind.

    Returns:
        Without a full stop; None where no calibration is found.

    Raises:
        InputError: the folder holds no run.
    """
    record = read_run_file(folder)
    found = [
        (rank, told) for place in _places(folder) if (one := _told(place, folder, record))
        for rank, told in [one]
    ]  # fmt: skip
    return min(found, key=lambda one: one[0])[1] if found else None


def people_told(folder: Path) -> str:
    """What a page says of how near the panel of a folder is to people.

    Args:
        folder: of a panel's run; where there is none yet, nothing was calibrated.
    """
    from .reports.panel_answer import NOT_CALIBRATED

    told = people_sentence(folder) if (folder / RUN_FILE).is_file() else None
    return told or NOT_CALIBRATED


def _places(folder: Path) -> Iterator[Path]:
    """Folders that may hold a calibration: in the run's, then beside it, and in those."""
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    beside = sorted(
        path for path in folder.resolve().parent.iterdir()
        if path.is_dir() and path.resolve() != folder.resolve()
    )[:MOST_FOLDERS]  # fmt: skip
    yield from inside
    for path in beside:
        yield path
        yield path / KIND


def _told(place: Path, folder: Path, run: Mapping[str, Any]) -> tuple[int, str] | None:
    """How well a calibration fits the run (0 the best), and what it says; None where not at all."""
    if not (place / RUN_FILE).is_file():
        return None
    try:
        record = read_run_file(place, kind=KIND)
        where = os.path.relpath(place, folder)
        identity = run.get("identity", {})
        named = record.get("run") or {}
        is_this = named.get("identity_sha256") == run_identity_hash(identity)
        is_inside = place.parent.resolve() == folder.resolve()
        if record.get("panel") != panel_of(identity):
            if not is_inside:
                return None
            return 3, f"not calibrated: {where} is of another panel, so make it anew"
        told = f"{_answer(record)} ({where})"
        if not is_this:
            return 2, f"on other responses, this panel was {told}"
        if named.get("counts") != run.get("counts"):
            return 1, f"{told}; the run has gone on since: calibrate it anew"
        return 0, told
    except (AreopagusError, KeyError, TypeError, ValueError):
        return None  # a folder that cannot be read says nothing of this run


def _answer(record: Mapping[str, Any]) -> str:
    from .reports.document import IN_DEMONSTRATION

    headline = " ".join(record.get("headline", ())).rstrip(".")
    n = record.get("n_raters")
    raters = units(n, "rater") if n is not None else "people"
    answer = headline.removeprefix(IN_DEMONSTRATION).lstrip(":, ")
    scope = "" if answer == headline else f", {IN_DEMONSTRATION[0].lower()}{IN_DEMONSTRATION[1:]}"
    told = f"{scope}: {answer[0].lower()}{answer[1:]}" if answer else ""
    return f"calibrated against {raters}{told}"
