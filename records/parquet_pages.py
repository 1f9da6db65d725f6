"""How large the pages of a Parquet file become, from their headers, before any is unpacked.

The footer says it too, but nothing holds it to the truth; what a reader reserves is what the
header of each page says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

PAGE_LIMIT_BYTES = 256 * 1024 * 1024
"""Largest page: writers look at the size after every 1,024 values or so, and that many of the
longest texts that are scored (200,000 characters) fit."""

_LARGE_BYTES = 8 * 1024 * 1024
"""A page above this is unusual. A page of every column is in memory at once, so that together the
unusual ones may have twice the limit."""

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_BY_DICTIONARY, _BY_PREFIX = (2, 8), 7
_SMALL_BYTES = 16 * 1024
"""A dictionary of up to this size is not looked into: a thousand copies of it are no matter."""

_DEEPEST = 8
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
_NONSENSE = "the header of a page makes no sense"


class OversizedPageError(ValueError):
    """A page that would unpack to more than `PAGE_LIMIT_BYTES`; the text says where."""


class _Page(NamedTuple):
    kind: int
    unpacked: int
    packed: int
    n_values: int
    encoding: int
    start: int


def row_bytes(path: Path, metadata: Any) -> int:
    """Returns the most that a row unpacks to, as mean over each page, summed over columns.

    Values of a dictionary count with the longest of them, those that continue the value before
    them with the size of their page, because a page of either can stand for far more than it holds.

    Args:
        path: the file.
        metadata: its footer, as pyarrow read it.

    Raises:
        OversizedPageError: a page, or the pages together, beyond the limit.
        ValueError: the header of a page makes no sense.
    """
    most, largest = [0] * metadata.num_columns, [0] * metadata.num_columns
    with path.open("rb") as stream:
        for group in range(metadata.num_row_groups):
            chunks = metadata.row_group(group)
            for place in range(metadata.num_columns):
                chunk = chunks.column(place)
                kind = metadata.schema.column(place)
                try:
                    found, page = _of_chunk(stream, chunk, kind)
                except OversizedPageError as error:
                    where = f"column {chunk.path_in_schema!r:.80}, row group {group + 1}"
                    raise OversizedPageError(f"{where}: {error}") from None
                most[place] = max(most[place], found)
                largest[place] = max(largest[place], page)
    together = sum(size for size in largest if size > _LARGE_BYTES)
    if together > 2 * PAGE_LIMIT_BYTES:
        raise OversizedPageError(
            f"the largest pages of the columns unpack to {together:,} bytes together; "
            f"at most {2 * PAGE_LIMIT_BYTES:,} are read"
        )
    return sum(most)


def _of_chunk(stream: IO[bytes], chunk: Any, kind: Any) -> tuple[int, int]:
    """What a value unpacks to at most, and the largest page."""
    fixed = max(kind.length, 1) if kind.physical_type == "FIXED_LEN_BYTE_ARRAY" else 8
    has_texts = kind.physical_type == "BYTE_ARRAY"
    most = in_dictionary = largest = 0
    for page in _pages(stream, chunk):
        if page.unpacked > PAGE_LIMIT_BYTES:
            raise OversizedPageError(
                f"a page unpacks to {page.unpacked:,} bytes; at most {PAGE_LIMIT_BYTES:,} are read"
            )
        largest = max(largest, page.unpacked)
        if kind.max_repetition_level and page.n_values * fixed > PAGE_LIMIT_BYTES:
            raise OversizedPageError(
                f"a page holds lists of {page.n_values:,} values; "
                f"at most {PAGE_LIMIT_BYTES // fixed:,} are read"
            )
        if not has_texts:
            most = max(most, fixed)
        elif page.kind == _DICTIONARY:
            in_dictionary = _longest(stream, page, chunk.compression)
        elif page.encoding in _BY_DICTIONARY:
            most = max(most, in_dictionary)
        elif page.encoding == _BY_PREFIX:
            most = max(most, page.unpacked)
        else:
            most = max(most, page.unpacked // max(page.n_values, 1))
    return most, largest


def _pages(stream: IO[bytes], chunk: Any) -> Iterator[_Page]:
    """The pages of a column in one row group, found as Arrow finds them."""
    place = chunk.data_page_offset
    dictionary = chunk.dictionary_page_offset
    if dictionary is not None and 0 < dictionary < place:
        place = dictionary
    end, n_seen = place + chunk.total_compressed_size, 0
    while n_seen < chunk.num_values and place < end:
        stream.seek(place)
        plain = _struct(stream)
        kind = _number(plain, 1)
        of_kind = plain.get(_HEADER_OF.get(kind, 0))
        numbers = of_kind if isinstance(of_kind, dict) else {}
        page = _Page(
            kind=kind,
            unpacked=_number(plain, 2),
            packed=_number(plain, 3),
            n_values=_number(numbers, 1) if numbers else 0,
            encoding=_number(numbers, 4 if kind == _DATA_V2 else 2) if numbers else 0,
            start=stream.tell(),
        )
        yield page
        if page.kind in (_DATA, _DATA_V2):
            n_seen += page.n_values
        place = page.start + page.packed


def _number(fields: dict[int, Any], field: int) -> int:
    found = fields.get(field, -1)
    if not isinstance(found, int) or found < 0:
        raise ValueError(_NONSENSE)
    return found


def _longest(stream: IO[bytes], page: _Page, compression: str) -> int:
    """Bytes of the longest value of a dictionary; of all of them where it cannot be unpacked."""
    import pyarrow as pa

    if page.unpacked <= _SMALL_BYTES:
        return page.unpacked
    stream.seek(page.start)
    content: Any = stream.read(page.packed)
    if compression != "UNCOMPRESSED":
        try:
            content = memoryview(pa.Codec(compression.lower()).decompress(content, page.unpacked))
        except (pa.ArrowException, OSError, ValueError):
            return page.unpacked
    place = longest = 0
    beyond = len(content) - 4
    length_at = struct.Struct("<I").unpack_from
    for _ in range(page.n_values):
        if place > beyond:
            break
        (length,) = length_at(content, place)
        if length > longest:
            longest = length
        place += 4 + length
    return min(longest, page.unpacked)


def _struct(stream: IO[bytes], depth: int = 0) -> dict[int, Any]:
    """A struct of Thrift's compact protocol: field to number or struct, other fields left out."""
    if depth > _DEEPEST:
        raise ValueError("the header of a page is nested too deep")
    found: dict[int, Any] = {}
    field = 0
    while head := _byte(stream):
        field = field + (head >> 4) if head >> 4 else _signed(stream)
        value = _value(stream, head & 15, depth)
        if value is not None:
            found[field] = value
    return found


def _value(stream: IO[bytes], kind: int, depth: int) -> Any:
    if kind in (1, 2):
        return None  # a truth value, which is its kind
    if kind in (4, 5, 6):
        return _signed(stream)
    if kind == 12:
        return _struct(stream, depth + 1)
    if kind in (3, 7):
        stream.seek(1 if kind == 3 else 8, 1)
    elif kind == 8:
        stream.seek(_unsigned(stream), 1)
    else:
        # Lists and maps: no header of a page has any.
        raise ValueError(_NONSENSE)
    return None


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
        raise ValueError("the file ends within the header of a page")
    return byte[0]
