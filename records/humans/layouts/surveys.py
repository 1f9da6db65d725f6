"""Qualtrics, LimeSurvey and Google Forms: one row a person, one column a question.

Qualtrics has three header rows; LimeSurvey names columns by codes ("G2Q1[SQ001]. How clear?"),
Google Forms by the questions themselves ("Response 3 [Clarity]").
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from ...readers.rows import Cells, Excluded, Row, checked_header, named_rows
from .layout import HumanFile, Layout, Opened

_QUALTRICS_HOUSEKEEPING = frozenset(
    {
        "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Finished", "RecipientLastName",
        "RecipientFirstName", "RecipientEmail", "ExternalReference", "LocationLatitude",
        "LocationLongitude", "DistributionChannel", "UserLanguage",
    }
)  # fmt: skip


def _qualtrics_fits(file: HumanFile) -> bool:
    return file.has("responseid") and (file.has("startdate") or file.has("recordeddate"))


def _qualtrics_open(file: HumanFile) -> Opened:
    # The rater is PROLIFIC_PID where it is kept, else ResponseId.
    rater = next((name for name in file.first if name.lower() == "prolific_pid"), "ResponseId")
    return Opened(_qualtrics_answers(file), _QUALTRICS_HOUSEKEEPING, rater, is_survey=True)


def _qualtrics_answers(file: HumanFile) -> Iterator[Row | Excluded]:
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


QUALTRICS = Layout(
    "qualtrics",
    _qualtrics_fits,
    _qualtrics_open,
    "columns ResponseId and StartDate or RecordedDate",
)


_LIMESURVEY_HOUSEKEEPING = frozenset(
    {"lastpage", "startlanguage", "seed", "startdate", "datestamp", "ipaddr", "refurl"}
)

_RATER = "token, else id"
"""The column that says who answered: of each row the one of the two that is filled in."""


def _limesurvey_fits(file: HumanFile) -> bool:
    return {"submitdate", "lastpage"} <= {_code(name) for name in file.lower_names()}


def _limesurvey_open(file: HumanFile) -> Opened:
    header = tuple(map(_code, file.first))
    return Opened(
        _limesurvey_answers(file), _LIMESURVEY_HOUSEKEEPING, _RATER, header, is_survey=True
    )


def _limesurvey_answers(file: HumanFile) -> Iterator[Row | Excluded]:
    rows, sink = file.cells(), file.sink()
    header = next(rows, None)
    if header is None:
        return
    names = checked_header(Cells(header.line, [_code(str(cell)) for cell in header.values]), sink)
    for line, values in named_rows(rows, names, sink) if names is not None else ():
        if not str(values.get("submitdate", "")).strip():
            yield Excluded(line, "not submitted")
            continue
        values.setdefault(_RATER, values.get("token") or values.get("id"))
        yield Row(line, values)


def _code(name: str) -> str:
    return name.partition(". ")[0]


LIMESURVEY = Layout(
    "limesurvey", _limesurvey_fits, _limesurvey_open, "columns submitdate and lastpage"
)


_FORMS_RATER = re.compile(
    r"e-?mail( address)?|username|(your )?(prolific|participant|rater|worker|annotator)\b.*|"
    r"(your )?(full )?name",
    re.IGNORECASE,
)
_EACH_ROW = "(row)"


def _forms_fits(file: HumanFile) -> bool:
    titles = [name.strip().lower() for name in file.first]
    if titles[:1] != ["timestamp"] or file.lower_names() & {"prompt_id", "response_id"}:
        return False
    return any(title.endswith(("]", "?")) or _FORMS_RATER.fullmatch(title) for title in titles[1:])


def _forms_open(file: HumanFile) -> Opened:
    rater = next((name for name in file.first if _FORMS_RATER.fullmatch(name.strip())), None)
    rows = file.rows() if rater is not None else _forms_rows(file)
    return Opened(
        iter(rows), frozenset(), rater or _EACH_ROW, header=tuple(file.first), is_survey=True
    )


def _forms_rows(file: HumanFile) -> Iterator[Row]:
    """Returns the rows of a form that asked nobody for a name: each is another person."""
    for line, values in file.rows():
        yield Row(line, {**values, _EACH_ROW: f"row {line}"})


GOOGLE_FORMS = Layout(
    "google-forms", _forms_fits, _forms_open, "a first column Timestamp, and questions as columns"
)
