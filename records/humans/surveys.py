"""Qualtrics and LimeSurvey exports: one row a rater, one column a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..tables import Cells, FaultSink, Row, checked_header
from .excluded import Excluded

QUALTRICS_COLUMNS = frozenset(
    {
        "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Finished", "RecipientLastName",
        "RecipientFirstName", "RecipientEmail", "ExternalReference", "LocationLatitude",
        "LocationLongitude", "DistributionChannel", "UserLanguage",
    }
)  # fmt: skip
LIMESURVEY_COLUMNS = frozenset(
    {"lastpage", "startlanguage", "seed", "startdate", "datestamp", "ipaddr", "refurl"}
)


LIMESURVEY_RATER = "token, else id"
"""The column that says who answered: of each row the one of the two that is filled in."""


def qualtrics_rater(header: Iterable[str]) -> str:
    """Returns the column that says who answered: `PROLIFIC_PID` where kept, else `ResponseId`."""
    return next((name for name in header if name.lower() == "prolific_pid"), "ResponseId")


def qualtrics_rows(rows: Iterator[Cells], sink: FaultSink) -> Iterator[Row | Excluded]:
    """Returns the answers below the three header rows (names, questions, import ids).

    Previews and unfinished answers are left out, counted.
    """
    header = next(rows, None)
    names = None if header is None else checked_header(header, sink)
    if names is None:
        return
    # The second and third header rows: question texts, and {"ImportId": …} in every cell.
    second = next(rows, None)
    third = next(rows, None)
    has_ids = third is not None and any("ImportId" in str(cell) for cell in third.values)
    has_texts_only = second is not None and any("ImportId" in str(c) for c in second.values)
    waiting = [row for row in (second, third) if row is not None]
    if has_ids:
        waiting = []
    elif has_texts_only:
        waiting = waiting[1:]
    for line, cells in _all(waiting, rows):
        if len(cells) != len(names):
            sink.report(line, f"must have {len(names)} cells as the header has, got {len(cells)}")
            continue
        values = dict(zip(names, cells, strict=True))
        # With numeric codes a preview is 1 and an unfinished answer 0.
        if str(values.get("Status", "")) in ("Survey Preview", "1"):
            yield Excluded(line, "survey preview")
        elif str(values.get("Finished", "True")).lower() in ("false", "0"):
            yield Excluded(line, "not finished")
        else:
            yield Row(line, values)


def limesurvey_rows(rows: Iterator[Cells], sink: FaultSink) -> Iterator[Row | Excluded]:
    """Returns the submitted answers, the columns named by their codes.

    "G2Q1[SQ001]. How clear?" is `G2Q1[SQ001]`. An empty submitdate marks an unfinished answer.
    The rater is `token` where there is one, else `id`.
    """
    header = next(rows, None)
    if header is None:
        return
    codes = [str(cell).partition(". ")[0] for cell in header.values]
    names = checked_header(Cells(header.line, codes), sink)
    if names is None:
        return
    for line, cells in rows:
        if len(cells) != len(names):
            sink.report(line, f"must have {len(names)} cells as the header has, got {len(cells)}")
            continue
        values = dict(zip(names, cells, strict=True))
        if not str(values.get("submitdate", "")).strip():
            yield Excluded(line, "not submitted")
            continue
        values.setdefault(LIMESURVEY_RATER, values.get("token") or values.get("id"))
        yield Row(line, values)


def _all(first: list[Cells], rest: Iterator[Cells]) -> Iterator[Cells]:
    yield from first
    yield from rest
