"""Qualtrics: one row a person, under three header rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ...readers.rows import Excluded, Row, checked_header, named_rows
from .layout import HumanFile, Layout, Opened

_HOUSEKEEPING = frozenset(
    {
        "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Finished", "RecipientLastName",
        "RecipientFirstName", "RecipientEmail", "ExternalReference", "LocationLatitude",
        "LocationLongitude", "DistributionChannel", "UserLanguage",
    }
)  # fmt: skip


def _fits(file: HumanFile) -> bool:
    return file.has("responseid") and (file.has("startdate") or file.has("recordeddate"))


def _open(file: HumanFile) -> Opened:
    # The rater is PROLIFIC_PID where it is kept, else ResponseId.
    rater = next((name for name in file.first if name.lower() == "prolific_pid"), "ResponseId")
    return Opened(_answers(file), _HOUSEKEEPING, rater, is_survey=True)


def _answers(file: HumanFile) -> Iterator[Row | Excluded]:
    """Returns what stands below the three header rows: names, question texts, and
    {"ImportId": …} in every cell. One or both of the latter may be missing.
    """
    rows, sink = file.cells(), file.sink()
    header = next(rows, None)
    names = None if header is None else checked_header(header, sink)
    if names is None:
        return
    waiting = list(itertools.islice(rows, 2))
    for place in range(len(waiting), 0, -1):
        if any("ImportId" in str(cell) for cell in waiting[place - 1].values):
            waiting = waiting[place:]
            break
    for line, values in named_rows(itertools.chain(waiting, rows), names, sink):
        # With numeric codes a preview is 1 and an unfinished answer 0.
        if str(values.get("Status", "")) in ("Survey Preview", "1"):
            yield Excluded(line, "survey preview")
        elif str(values.get("Finished", "True")).lower() in ("false", "0"):
            yield Excluded(line, "not finished")
        else:
            yield Row(line, values)


QUALTRICS = Layout("qualtrics", _fits, _open)
