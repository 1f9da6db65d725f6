"""Reads the rows of text files: CSV, TSV, JSON lines and JSON, each plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from .cells import json_kind
from .rows import (
    FIELD_LIMIT_CHARS,
    LINE_LIMIT_BYTES,
    MAX_COLUMNS,
    Cells,
    FaultSink,
    Row,
    read_limits,
    too_many_columns,
)

JSON_LIMIT_BYTES = 512 * 1024 * 1024
"""Largest JSON file: it is held in memory whole, unlike JSON lines."""

BLANK_LIMIT = 200_000
"""Most blank lines one after another; a text that is scored has fewer characters than that, and a
small gzip file can unpack to hundreds of millions."""

_BOM = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_lines(path: Path, sink: FaultSink) -> Iterator[tuple[int, str]]:
    """Returns (number from 1, text with its line end) for each line.

    A byte that is not UTF-8, an overlong line, too many bytes or blank lines, or a broken gzip
    stream end the reading with one fault: what follows could not be told apart from rows.
    """
    number = n_bytes = n_blank = 0
    limits = read_limits()
    try:
        with _opened(path) as stream:
            while raw := stream.readline(LINE_LIMIT_BYTES + 1):
                number += 1
                n_bytes += len(raw)
                n_blank = 0 if raw.strip() else n_blank + 1
                if len(raw) > LINE_LIMIT_BYTES:
                    fault: str | None = f"the line is longer than {LINE_LIMIT_BYTES:,} bytes"
                elif n_blank > BLANK_LIMIT:
                    fault = f"more than {BLANK_LIMIT:,} blank lines stand here; is this a table?"
                elif number == 1 and raw[:2] in _UTF_16_MARKS:
                    fault = "must be UTF-8, looks like UTF-16: save the file as UTF-8"
                else:
                    fault = limits.bytes_fault(n_bytes)
                if fault is not None:
                    sink.report(number, fault)
                    return
                if number == 1:
                    raw = raw.removeprefix(_BOM)
                try:
                    text = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    sink.report(
                        number,
                        f"must be UTF-8, got byte 0x{raw[error.start]:02x} as byte "
                        f"{error.start + 1} of the line: save the file as UTF-8",
                    )
                    return
                yield number, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        sink.report(number + 1, f"the gzip stream is broken: {error}")
    except OSError as error:
        sink.report(None, f"cannot be read: {error}")


def _opened(path: Path) -> IO[bytes]:
    if path.name.lower().endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


# CSV and TSV -------------------------------------------------------------------------------------


def read_delimited(path: Path, sink: FaultSink, *, delimiter: str | None = None) -> Iterator[Cells]:
    """Returns the rows as lists of text, blank ones left out.

    Args:
        path: the file.
        sink: takes the faults.
        delimiter: by default the comma, or where the first line has none, the semicolon or tab.
    """
    lines = read_lines(path, sink)
    first = next(lines, None)
    if first is None:
        return
    chosen = delimiter or _delimiter_of(first[1])
    n_columns = first[1].count(chosen) + 1
    if n_columns > MAX_COLUMNS and '"' not in first[1]:
        sink.report(1, too_many_columns(n_columns))
        return
    allow_long_cells()
    reader = csv.reader(
        (text for _, text in itertools.chain([first], lines)),
        delimiter=chosen,
        strict=True,
    )
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            message, is_fatal = _explained(error)
            sink.report(start, message)
            if is_fatal:
                return
            continue
        if not any(cells):
            continue
        if any("\x00" in cell for cell in cells):
            sink.report(start, "the row holds a NUL byte; is this a text file?")
            continue
        yield Cells(start, cells)


def allow_long_cells() -> None:
    """Raises the csv module's limit of a cell, which is one for the whole process, to ours."""
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_CHARS))


def _delimiter_of(header: str) -> str:
    if "," in header:
        return ","
    return next((mark for mark in (";", "\t") if mark in header), ",")


def _explained(error: csv.Error) -> tuple[str, bool]:
    """Returns a sentence for the reader's error, and whether reading cannot go on after it."""
    text = str(error)
    if "unexpected end of data" in text:
        return "a quoted cell is opened here and never closed", True
    if "field larger than field limit" in text:
        return f"a cell is longer than {FIELD_LIMIT_CHARS:,} characters (a quote left open?)", True
    if "new-line character seen" in text:
        return "a bare carriage return outside quotes; save with usual line ends", False
    if "expected after" in text:
        return 'a quoted cell is followed by text; quotes inside a cell are doubled ("")', False
    return f"not readable as CSV: {text}", False


# JSON lines and JSON -----------------------------------------------------------------------------


def read_json_lines(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the objects, blank lines left out; a line of anything else is a fault."""
    for number, text in read_lines(path, sink):
        if not text.strip():
            continue
        try:
            value = parse_json(text)
        except ValueError as error:
            sink.report(number, str(error))
            continue
        if _is_record(number, value, sink):
            yield Row(number, value)


def read_json(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the objects of a JSON list, of the list under "records", or the one object.

    The file is held in memory whole, `JSON_LIMIT_BYTES` of it at most.
    """
    before, size, parts = sink.n_reported, 0, []
    for number, line in read_lines(path, sink):
        size += len(line)
        if size > JSON_LIMIT_BYTES:
            sink.report(
                number,
                f"is longer than {JSON_LIMIT_BYTES:,} characters; "
                "save it as JSON lines (.jsonl), one object a line",
            )
            return
        parts.append(line)
    if sink.n_reported > before:
        return
    try:
        content = parse_json("".join(parts))
    except ValueError as error:
        sink.report(None, str(error))
        return
    if isinstance(content, dict):
        content = content.get("records", [content])
    for number, record in enumerate(content if isinstance(content, list) else [content], start=1):
        if _is_record(number, record, sink):
            yield Row(number, record)


def _is_record(number: int, value: Any, sink: FaultSink) -> bool:
    if not isinstance(value, dict):
        sink.report(number, f"must be a JSON object, got {json_kind(value)}")
    elif len(value) > MAX_COLUMNS:
        sink.report(number, too_many_columns(len(value)))
    else:
        return True
    return False


def parse_json(text: str) -> Any:
    """Returns the value of a JSON text.

    Raises:
        ValueError: with a sentence, for malformed JSON, a key that stands twice in one object (the
            last would win unseen), nesting too deep, a number too long, or an escaped half of a
            surrogate pair (no file or request could hold it afterwards).
    """
    try:
        value = json.loads(text, object_pairs_hook=_unrepeated)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise ValueError(f"not valid JSON: {error.msg} at {place}column {error.colno}") from None
    except RecursionError:
        raise ValueError("not readable: nested too deeply") from None
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("holds half of a surrogate pair, which is not text") from None
    return value


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:60]!r} stands twice in one object")
            seen.add(name)
    return found
