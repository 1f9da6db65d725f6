"""LimeSurvey: one row a person, columns named by codes ("G2Q1[SQ001]. How clear?")."""

from __future__ import annotations

from collections.abc import Iterator

from ...readers.rows import Cells, Excluded, Row, checked_header, named_rows
from .layout import HumanFile, Layout, Opened

_HOUSEKEEPING = frozenset(
    {"lastpage", "startlanguage", "seed", "startdate", "datestamp", "ipaddr", "refurl"}
)

_RATER = "token, else id"
"""The column that says who answered: of each row the one of the two that is filled in."""


def _fits(file: HumanFile) -> bool:
    return {"submitdate", "lastpage"} <= {_code(name) for name in file.lower_names()}


def _open(file: HumanFile) -> Opened:
    header = tuple(map(_code, file.first))
    return Opened(_answers(file), _HOUSEKEEPING, _RATER, header, is_survey=True)


def _answers(file: HumanFile) -> Iterator[Row | Excluded]:
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


LIMESURVEY = Layout("limesurvey", _fits, _open)
