"""Bringing a study home: ratings unblinded and checked, or written responses as a table."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault, StoreError
from ..records.humans import HumanColumns
from ..records.spreadsheets import spreadsheet_safe
from .checks import RaterCheck, check_raters
from .files import (
    STORE_FILE,
    StudyFile,
    csv_text,
    json_text,
    read_packets,
    read_study,
    write_private,
)
from .raters import read_codes
from .returned import ReturnedPage, from_file, from_store
from .store import read_store
from .unblind import RATING_COLUMNS, StudyMap, read_map, unblinded
from .written import WRITTEN_COLUMNS, written_rows

RATINGS_FILE, CHECKS_FILE, COMMENTS_FILE, SUMMARY_FILE = (
    "ratings.csv",
    "raters.csv",
    "justifications.csv",
    "collected.json",
)
WRITTEN_FILE = "responses.csv"
COMMENT_COLUMNS = ("rater_id", "prompt_id", "comment", "letters")


@dataclass(frozen=True, slots=True)
class Collected:
    """What was brought back.

    Attributes:
        kind: "rating" or "writing".
        folder: where the tables were written; None where nothing was.
        rows: the ratings as `calibrate` reads them, or the responses as `study build` and `score`
            do.
        n_pages, n_pages_done: pages of the study, and those scored whole or handed in.
        raters: a check of each rater; empty for writing.
        notices: sentences for the organiser.
    """

    kind: str
    folder: Path | None
    rows: tuple[dict[str, Any], ...]
    n_pages: int
    n_pages_done: int
    raters: tuple[RaterCheck, ...]
    notices: tuple[str, ...]

    @property
    def table(self) -> Path | None:
        """The table that the next command reads."""
        name = RATINGS_FILE if self.kind == "rating" else WRITTEN_FILE
        return None if self.folder is None else self.folder / name


def collect_study(
    folder: str | Path,
    returned: Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    store: str | Path | None = None,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
) -> Collected:
    """Returns what raters have said, unblinded; a server may be running meanwhile.

    Args:
        folder: the study, with its organiser's folder.
        returned: files that raters or other tools have given back. The server's store is read too
            where there is one; a page that both have must say the same.
        out: folder for the tables; by default `collected` in the study. Earlier ones are replaced.
        store: the server's store; by default `ratings.sqlite` in the study.
        columns: a column map for files whose layout cannot be guessed.

    Raises:
        InputError: with every fault of every file; or there is nothing to collect.
        StoreError: the tables cannot be written.
    """
    folder = Path(folder)
    study = read_study(folder)
    packets = read_packets(folder)
    study_map, rater_of = read_map(folder), read_codes(folder)
    path = Path(store) if store is not None else folder / STORE_FILE
    has_store = store is not None or path.exists()
    if not has_store and not returned:
        raise InputError(
            [InputFault(str(folder), "nothing was saved by a server, and no file was given")]
        )
    saved = read_store(path, study.study_id) if has_store else []
    target = Path(out) if out is not None else folder / "collected"
    if study.kind == "writing":
        if returned:
            raise InputError("a writing study is collected from its server; no file was expected")
        rows, notices = written_rows(study, packets, saved, study_map, rater_of, now=time.time())
        collected = Collected(
            "writing", target, tuple(rows), len(packets), len(rows), (), tuple(notices)
        )
        _write(target, {WRITTEN_FILE: csv_text(WRITTEN_COLUMNS, rows)})
        return collected
    pages = from_store(saved)
    faults: list[InputFault] = []
    for file in returned:
        try:
            found, wrong = from_file(
                file, study, packets, rater_of, study_map.prompts, columns=columns
            )
        except InputError as error:
            faults += error.faults
            continue
        pages += found
        faults += wrong
    merged = _merged(pages, study_map, faults)
    if faults:
        raise InputError(faults)
    return _rated(study, packets, merged, study_map, rater_of, target)


def _rated(
    study: StudyFile,
    packets: Sequence[Any],
    pages: Sequence[ReturnedPage],
    study_map: StudyMap,
    rater_of: Mapping[str, str],
    target: Path,
) -> Collected:
    dimensions = study.rubric.dimension_ids if study.rubric is not None else ()
    rows = tuple(unblinded(pages, study_map, dimensions))
    checks = check_raters(packets, pages, study_map, rater_of, dimensions)
    n_done = sum(check.n_done for check in checks)
    notices = _notices(pages, checks, len(packets), n_done)
    collected = Collected("rating", target, rows, len(packets), n_done, checks, notices)
    comments = [
        {
            "rater_id": rater_of[page.rater],
            "prompt_id": study_map.prompts[page.rater, page.number],
            "comment": page.comment,
            "letters": "; ".join(
                f"{label} = {hidden.response_id}"
                for (code, number, label), hidden in study_map.labels.items()
                if (code, number) == (page.rater, page.number)
            ),
        }
        for page in pages
        if page.comment.strip()
    ]
    summary = {
        "study_id": study.study_id,
        "n_ratings": len(rows),
        "n_pages": len(packets),
        "n_pages_done": n_done,
        "notices": notices,
        "raters": [asdict(check) for check in checks],
    }
    shown = [
        {name: "; ".join(v) if isinstance(v, tuple) else v for name, v in asdict(check).items()}
        for check in checks
    ]
    names = tuple(RaterCheck.__dataclass_fields__)
    _write(
        target,
        {
            RATINGS_FILE: csv_text(RATING_COLUMNS, map(_safe_comment, rows)),
            CHECKS_FILE: csv_text(names, shown),
            COMMENTS_FILE: csv_text(COMMENT_COLUMNS, map(_safe_comment, comments)),
            SUMMARY_FILE: json_text(summary),
        },
    )
    return collected


def _safe_comment(row: Mapping[str, Any]) -> dict[str, Any]:
    """Raters' own words may begin like a formula; ids stay as they are, so that they match."""
    return {**row, "comment": spreadsheet_safe(row["comment"])}


def _merged(
    pages: Sequence[ReturnedPage], study_map: StudyMap, faults: list[InputFault]
) -> list[ReturnedPage]:
    """One page a rater and number; two that say different things are a fault."""
    found: dict[tuple[str, int], ReturnedPage] = {}
    for page in pages:
        key = (page.rater, page.number)
        if key not in study_map.prompts:
            faults.append(InputFault(page.where, f"rater {page.rater} has no page {page.number}"))
            continue
        other = found.get(key)
        if other is not None and other.scores != page.scores:
            rule = f"page {page.number} of rater {page.rater} has other scores at {other.where}"
            faults.append(InputFault(page.where, f"{rule}: keep one of the two"))
        elif other is None or not other.comment.strip():
            found[key] = page
    return sorted(found.values(), key=lambda page: (page.rater, page.number))


def _notices(
    pages: Sequence[ReturnedPage], checks: Sequence[RaterCheck], n_pages: int, n_done: int
) -> tuple[str, ...]:
    notices: list[str] = []
    idle = [check.rater_id for check in checks if not check.n_scores]
    if n_done < n_pages:
        notices.append(f"{n_pages - n_done} of {n_pages} pages are not scored whole")
    if idle:
        shown = ", ".join(idle[:8]) + (" …" if len(idle) > 8 else "")
        notices.append(f"{len(idle)} raters have given no score: {shown}")
    part = sum(1 for page in pages if page.scores) - n_done
    if part:
        notices.append(f"{part} pages are scored in part: their scores are kept, without a place")
    unsaid = sum(page.is_done is False for page in pages)
    if unsaid:
        notices.append(f"{unsaid} pages were saved and not called done by their rater")
    flagged = sum(bool(check.flags) for check in checks)
    if flagged:
        notices.append(f"{flagged} raters are flagged; nobody was left out")
    return tuple(notices)


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made ({error.strerror or error})") from error
    for name, text in texts.items():
        write_private(folder / name, text)
