"""How large the pages of a Parquet file become, from their headers, before any is unpacked.

The footer says it too, but nothing holds it to the truth; what a reader reserves is what the
header of each page says. Where the pages lie is read from the footer itself: pyarrow ends the
process when it is asked about a column of a damaged one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from .thrift_compact import read_struct, structs

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

_MAGIC_BYTES = 4
_CODECS = ("uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
_NONSENSE = "the header of a page makes no sense"


class OversizedPageError(ValueError):
    """A page that would unpack to more than `PAGE_LIMIT_BYTES`; the text says where."""


class _Chunk(NamedTuple):
    """A column of a row group, as the footer tells of it."""

    codec: str
    n_values: int
    start: int
    end: int


class _Page(NamedTuple):
    kind: int
    unpacked: int
    packed: int
    n_values: int
    encoding: int
    start: int


def row_bytes(path: Path, schema: Any) -> int:
    """Returns the most that a row unpacks to, as mean over each page, summed over columns.

    Values of a dictionary count with the longest of them, those that continue the value before
    them with the size of their page, because a page of either can stand for far more than it holds.

    Args:
        path: the file.
        schema: of Parquet, as pyarrow read it.

    Raises:
        OversizedPageError: a page, or the pages together, beyond the limit.
        ValueError: the footer, or the header of a page, makes no sense.
    """
    kinds = [schema.column(place) for place in range(len(schema))]
    most, largest = [0] * len(kinds), [0] * len(kinds)
    with path.open("rb") as stream:
        for group, chunks in enumerate(_row_groups(stream), start=1):
            if len(chunks) != len(kinds):
                raise ValueError(f"row group {group} has {len(chunks)} of {len(kinds)} columns")
            for place, (chunk, kind) in enumerate(zip(chunks, kinds, strict=True)):
                try:
                    found, page = _of_chunk(stream, chunk, kind)
                except OversizedPageError as error:
                    where = f"column {kind.path!r:.80}, row group {group}"
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


def _row_groups(stream: IO[bytes]) -> list[list[_Chunk]]:
    """The columns of each row group; numbers of fields are those of the Parquet format."""
    end = stream.seek(-_MAGIC_BYTES - 4, 2)
    (size,) = struct.unpack("<I", stream.read(4))
    if size > end:
        raise ValueError("the footer makes no sense")
    stream.seek(end - size)
    groups = read_struct(stream).get(4)
    return [[_chunk(column) for column in structs(group.get(1))] for group in structs(groups)]


def _chunk(column: Mapping[int, Any]) -> _Chunk:
    (told,) = structs([column.get(3)])
    codec, start = _number(told, 4), _number(told, 9)
    dictionary = told.get(11)
    if isinstance(dictionary, int) and 0 < dictionary < start:
        start = dictionary
    return _Chunk(
        codec=_CODECS[codec] if codec < len(_CODECS) else "",
        n_values=_number(told, 5),
        start=start,
        end=start + _number(told, 7),
    )


def _of_chunk(stream: IO[bytes], chunk: _Chunk, kind: Any) -> tuple[int, int]:
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
            in_dictionary = _longest(stream, page, chunk.codec)
        elif page.encoding in _BY_DICTIONARY:
            most = max(most, in_dictionary)
        elif page.encoding == _BY_PREFIX:
            most = max(most, page.unpacked)
        else:
            most = max(most, page.unpacked // max(page.n_values, 1))
    return most, largest


def _pages(stream: IO[bytes], chunk: _Chunk) -> Iterator[_Page]:
    """The pages of a column in one row group, found as Arrow finds them."""
    place, n_seen = chunk.start, 0
    while n_seen < chunk.n_values and place < chunk.end:
        stream.seek(place)
        plain = read_struct(stream)
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


def _number(fields: Mapping[int, Any], field: int) -> int:
    found = fields.get(field, -1)
    if not isinstance(found, int) or found < 0:
        raise ValueError(_NONSENSE)
    return found


def _longest(stream: IO[bytes], page: _Page, codec: str) -> int:
    """Bytes of the longest value of a dictionary; of all of them where it cannot be unpacked."""
    import pyarrow as pa

    if page.unpacked <= _SMALL_BYTES:
        return page.unpacked
    stream.seek(page.start)
    content: Any = stream.read(page.packed)
    if codec != "uncompressed":
        try:
            content = memoryview(pa.Codec(codec).decompress(content, page.unpacked))
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
