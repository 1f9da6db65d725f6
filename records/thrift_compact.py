"""Structs of Thrift's compact protocol, as far as footers and page headers of Parquet have them."""

from __future__ import annotations

from typing import IO, Any

_DEEPEST = 12
_MOST_ITEMS = 1_000_000
_NONSENSE = "what Thrift wrote makes no sense"
_TRUTHS, _BYTE, _INTEGERS, _REAL, _TEXT, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


def read_struct(stream: IO[bytes], depth: int = 0) -> dict[int, Any]:
    """Field to number, struct or list of these; texts, reals and truth values are left out.

    Raises:
        ValueError: it is none, or ends too soon.
    """
    if depth > _DEEPEST:
        raise ValueError("what Thrift wrote is nested too deep")
    found: dict[int, Any] = {}
    field = 0
    while head := _byte(stream):
        field = field + (head >> 4) if head >> 4 else _signed(stream)
        kind = head & 15
        # The truth value of a field is its kind; in a list each is a byte.
        value = None if kind in _TRUTHS else _value(stream, kind, depth)
        if value is not None:
            found[field] = value
    return found


def structs(value: Any) -> list[dict[int, Any]]:
    """The structs in a list.

    Raises:
        ValueError: it is no list, or holds something else.
    """
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(_NONSENSE)
    return value


def _value(stream: IO[bytes], kind: int, depth: int) -> Any:
    if kind in _INTEGERS:
        return _signed(stream)
    if kind == _STRUCT:
        return read_struct(stream, depth + 1)
    if kind in _LISTS:
        return _list(stream, depth + 1)
    if kind == _BYTE or kind in _TRUTHS:
        stream.seek(1, 1)
    elif kind == _REAL:
        stream.seek(8, 1)
    elif kind == _TEXT:
        stream.seek(_unsigned(stream), 1)
    else:
        raise ValueError(_NONSENSE)
    return None


def _list(stream: IO[bytes], depth: int) -> list[Any]:
    head = _byte(stream)
    number = _unsigned(stream) if head >> 4 == 15 else head >> 4
    if depth > _DEEPEST or number > _MOST_ITEMS:
        raise ValueError(_NONSENSE)
    return [_value(stream, head & 15, depth) for _ in range(number)]


def _signed(stream: IO[bytes]) -> int:
    number = _unsigned(stream)
    return (number >> 1) ^ -(number & 1)


def _unsigned(stream: IO[bytes]) -> int:
    number = 0
    for place in range(0, 64, 7):
        byte = _byte(stream)
        number |= (byte & 127) << place
        if byte < 128:
            return number
    raise ValueError(_NONSENSE)


def _byte(stream: IO[bytes]) -> int:
    byte = stream.read(1)
    if not byte:
        raise ValueError("the file ends within what Thrift wrote")
    return byte[0]
