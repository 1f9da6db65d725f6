"""Ratings as they come back, page by page and still blinded: from the store, or from files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.humans import HumanColumns, HumanTable, SourceMap, read_column_map, read_humans
from ..records.humans.layouts import open_human_file
from ..records.readers.cells import is_missing
from .folder import Packet, StudyFile
from .store import SavedPage

PACKET_COLUMNS = ("rater", "packet", "label")
"""Columns of the tables that `study export` makes, beside texts and criteria."""

QUALTRICS_RATING = re.compile(r"P(?P<packet>\d+)(?P<label>[A-Z])_(?P<dimension>\d+)")
QUALTRICS_COMMENT = re.compile(r"P(?P<packet>\d+)WHY(?:_\d+)?")
_SEPARATOR = "|"


@dataclass(frozen=True, slots=True)
class ReturnedPage:
    """What one rater said on one page.

    Attributes:
        rater, number: code and page.
        scores: label to dimension to score; absent where not scored.
        comment: the justification, "" where there is none.
        places: label to the place that the rater gave it; empty where places follow from scores.
        reasons: criterion to why it was scored so.
        active_s: seconds the rater worked on it, None where not known.
        is_done: whether the rater said so; None where the tool does not ask.
        time: when it was saved last, ISO 8601; "" where not known.
        where: the file, or "server".
    """

    rater: str
    number: int
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    comment: str = ""
    places: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    active_s: float | None = None
    is_done: bool | None = None
    time: str = ""
    where: str = "server"

    def sums(self, labels: Sequence[str], dimensions: Sequence[str]) -> dict[str, int]:
        """The sum of each response that has a score on every criterion."""
        return {
            label: sum(self.scores[label][name] for name in dimensions)
            for label in labels
            if all(name in self.scores.get(label, {}) for name in dimensions)
        }


def from_store(pages: Iterable[SavedPage]) -> list[ReturnedPage]:
    """Returns the pages of the server's store that were saved."""
    return [
        ReturnedPage(
            rater=page.rater,
            number=page.number,
            scores=page.scores,
            comment=page.comment,
            places=page.places,
            reasons=page.reasons,
            # Nobody is done in no time: a script that saves pages measures none.
            active_s=page.active_ms / 1000 or None,
            is_done=page.done_at is not None,
            time=iso_time(page.saved_at),
        )
        for page in pages
        if page.revision
    ]


def iso_time(seconds: float | None) -> str:
    """Returns seconds since 1970 as ISO 8601 in UTC; "" for None."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def from_file(
    path: str | Path,
    study: StudyFile,
    packets: Sequence[Packet],
    rater_of: Mapping[str, str],
    prompt_of: Mapping[tuple[str, int], str],
    *,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
) -> tuple[list[ReturnedPage], list[InputFault]]:
    """Returns the pages of a file, and every fault of its rows.

    The tables, Label Studio projects and Qualtrics surveys of `study export` are known by their
    columns. Any other layout of `areopagus humans` is read too, where it names rater (by id or
    code), prompt (by id or page number) and label; `columns` says what cannot be guessed.

    Args:
        path: the file.
        study, packets: the study.
        rater_of: code to rater id.
        prompt_of: (code, page number) to prompt id.
        columns: a column map.

    Raises:
        InputError: nothing of the file can be understood.
    """
    if study.rubric is None:
        raise InputError([InputFault(str(path), "a writing study has no ratings")])
    dimensions = study.rubric.dimension_ids
    header = _header(Path(path))
    chosen = read_column_map(columns) if columns is not None else _known(header, dimensions)
    reading = read_humans(
        path,
        columns=chosen,
        source_map=_identity(packets, rater_of, prompt_of),
        criteria=list(dimensions),
    )
    faults = list(reading.faults)
    pages = _pages(reading.table, study, str(path), faults)
    comments = _survey_comments(Path(path), header, rater_of)
    found = [
        ReturnedPage(
            rater=rater,
            number=number,
            scores=page["scores"],
            comment=page["comment"] or comments.get((rater, number), ""),
            active_s=page["active_s"],
            time=page["time"],
            where=str(path),
        )
        for (rater, number), page in pages.items()
    ]
    return found, faults


def _header(path: Path) -> list[str]:
    _, opened = open_human_file(path, faults=[])
    return list(dict.fromkeys(name for row in opened.peek() for name in row.values))


def _known(header: Sequence[str], dimensions: Sequence[str]) -> HumanColumns | None:
    """The column map of a file that comes from `study export`; None for any other."""
    names = set(header)
    if set(PACKET_COLUMNS) <= names:
        return HumanColumns(
            columns={"rater_id": "rater", "prompt_id": "packet", "blinded_label": "label"},
            criteria={name: name for name in dimensions if name in names},
        )
    items: list[dict[str, str]] = []
    if {"rater", "packet"} <= names:
        for name in header:
            label, found, dimension = name.partition("__")
            if found and dimension in dimensions and re.fullmatch("[A-Z]", label):
                items.append({"column": name, "blinded_label": label, "criterion": dimension})
        named = {"rater_id": "rater", "prompt_id": "packet"}
        if "justification" in names:
            named["comment"] = "justification"
        return HumanColumns.model_validate({"columns": named, "items": items}) if items else None
    for name in header:
        match = QUALTRICS_RATING.fullmatch(name)
        if match is None or not 1 <= int(match["dimension"]) <= len(dimensions):
            continue
        items.append(
            {
                "column": name,
                "prompt_id": match["packet"],
                "blinded_label": match["label"],
                "criterion": dimensions[int(match["dimension"]) - 1],
            }
        )
    if not items or "rater" not in names:
        return None
    return HumanColumns.model_validate({"columns": {"rater_id": "rater"}, "items": items})


def _identity(
    packets: Sequence[Packet],
    rater_of: Mapping[str, str],
    prompt_of: Mapping[tuple[str, int], str],
) -> SourceMap:
    """A map by which a label stands for itself: what was seen is found out later, in one place."""
    entries: dict[tuple[str | None, str | None, str], dict[str, str]] = {}
    for packet in packets:
        prompt = prompt_of.get((packet.rater, packet.number))
        for label in packet.labels:
            cell = _SEPARATOR.join((packet.rater, str(packet.number), label))
            for rater in {packet.rater, rater_of.get(packet.rater, packet.rater)}:
                if prompt is not None:
                    entries.setdefault((rater, prompt, label), {"response_id": cell})
                entries[rater, str(packet.number), label] = {"response_id": cell}
    return SourceMap(entries)


def _pages(
    table: HumanTable, study: StudyFile, path: str, faults: list[InputFault]
) -> dict[tuple[str, int], dict[str, Any]]:
    pages: dict[tuple[str, int], dict[str, Any]] = {}
    lines: dict[tuple[str, str], int] = {}
    if study.rubric is None:
        return pages
    cells, criteria = table.response_id.texts(), table.criterion.texts()
    comments, times = table.comment.texts(), table.time.texts()
    for at in range(len(table)):
        line, value, dimension = int(table.line[at]), float(table.value[at]), str(criteria[at])
        where = f"{path}:{line}"
        if table.is_rank[at] or dimension not in study.rubric.dimension_ids:
            continue  # places follow from the scores
        if not value.is_integer() or int(value) not in study.rubric.scale.values:
            low, high = study.rubric.scale.low, study.rubric.scale.high
            rule = f"must be a whole number from {low} to {high}, got {value:g}"
            faults.append(InputFault(where, rule, dimension))
            continue
        code, number, label = str(cells[at]).split(_SEPARATOR)
        page = pages.setdefault(
            (code, int(number)), {"scores": {}, "comment": "", "active_s": None, "time": ""}
        )
        row = page["scores"].setdefault(label, {})
        other = row.setdefault(dimension, int(value))
        if other != int(value):
            first = lines[str(cells[at]), dimension]
            faults.append(InputFault(where, f"scored {other} at {path}:{first}, here {value:g}",
                                     dimension))  # fmt: skip
            continue
        lines.setdefault((str(cells[at]), dimension), line)
        seconds = float(table.duration_s[at])
        if seconds == seconds:
            page["active_s"] = max(seconds, page["active_s"] or 0.0)
        if comments[at] and not page["comment"]:
            page["comment"] = str(comments[at])
        page["time"] = str(times[at] or page["time"])
    return pages


def _survey_comments(
    path: Path, header: Sequence[str], rater_of: Mapping[str, str]
) -> dict[tuple[str, int], str]:
    """Justifications of a survey: one column a page, which ratings cannot carry."""
    columns = {name: m for name in header if (m := QUALTRICS_COMMENT.fullmatch(name))}
    if not columns or "rater" not in header:
        return {}
    code_of = {rater: code for code, rater in rater_of.items()}
    found: dict[tuple[str, int], str] = {}
    _, opened = open_human_file(path, faults=[])
    for row in opened.rows:
        values = getattr(row, "values", None)
        if not isinstance(values, dict) or is_missing(values.get("rater")):
            continue
        rater = str(values["rater"])
        for name, match in columns.items():
            if not is_missing(values.get(name)):
                found[code_of.get(rater, rater), int(match["packet"])] = str(values[name])
    return found
