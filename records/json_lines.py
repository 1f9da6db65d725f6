"""Rows of JSON lines files: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .tables import FaultSink, Row
from .text_lines import read_lines


def read_objects(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the objects, blank lines left out; a line of anything else is a fault."""
    for number, text in read_lines(path, sink):
        if not text.strip():
            continue
        try:
            value = parse_json(text)
        except ValueError as error:
            sink.report(number, str(error))
            continue
        if not isinstance(value, dict):
            sink.report(number, f"must be a JSON object, got {json_kind(value)}")
            continue
        yield Row(number, value)


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


def json_kind(value: Any) -> str:
    """Returns the name of a JSON value's kind, with the value where it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        shown = repr(value)
        return f"the number {shown if len(shown) <= 24 else shown[:20] + '…'}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else type(value).__name__


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:60]!r} stands twice in one object")
            seen.add(name)
    return found
