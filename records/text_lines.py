"""Lines of a UTF-8 text file, plain or gzipped, with the place of the first wrong byte."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from .tables import FaultSink

LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""Longest line that is read; a small gzip file can unpack to a line larger than any memory."""

_BOM = b"\xef\xbb\xbf"
_OTHER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_lines(path: Path, sink: FaultSink) -> Iterator[tuple[int, str]]:
    """Returns (number from 1, text with its line end) for each line.

    A byte that is not UTF-8, an overlong line or a broken gzip stream ends the reading with one
    fault: what follows it could not be told apart from rows.
    """
    number = 0
    try:
        with _opened(path) as stream:
            while True:
                raw = stream.readline(LINE_LIMIT_BYTES + 1)
                if not raw:
                    return
                number += 1
                if len(raw) > LINE_LIMIT_BYTES:
                    sink.report(number, f"the line is longer than {LINE_LIMIT_BYTES:,} bytes")
                    return
                if number == 1:
                    mark = _OTHER_MARKS.get(raw[:2])
                    if mark:
                        sink.report(1, f"must be UTF-8, looks like {mark}: save the file as UTF-8")
                        return
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
