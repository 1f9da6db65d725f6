"""Rows of Parquet files."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .rows import FaultSink, Row
from .text import FIELD_LIMIT_CHARS, LINE_LIMIT_BYTES

Sizes: TypeAlias = npt.NDArray[np.int64]

_VALUE_BYTES = 8
"""What a number, a date or a null counts for: a list may hold very many of them."""


def unpacked_bytes(column: Any) -> Sizes:
    """Returns the bytes of each row's value: of a list or an object, of all that is in it."""
    import pyarrow as pa

    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return unpacked_bytes(column.storage)
    if types.is_dictionary(kind):
        of_value = np.append(unpacked_bytes(column.dictionary), _VALUE_BYTES)
        # What stands where there is a null may point anywhere.
        places = _buffer(column.indices, 1, str(kind.index_type), 0)
        pointed: Sizes = of_value[np.clip(places, 0, len(of_value) - 1)]
        return pointed
    if types.is_string(kind) or types.is_binary(kind):
        return _between(_buffer(column, 1, "int32", 1)) + _VALUE_BYTES
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return _between(_buffer(column, 1, "int64", 1)) + _VALUE_BYTES
    if types.is_string_view(kind):
        return unpacked_bytes(column.cast(pa.large_string()))
    if types.is_binary_view(kind):
        return unpacked_bytes(column.cast(pa.large_binary()))
    if types.is_map(kind):
        pairs = unpacked_bytes(column.keys) + unpacked_bytes(column.items)
        return _of_lists(pairs, _buffer(column, 1, "int32", 1))
    if types.is_list(kind) or types.is_large_list(kind):
        width = "int32" if types.is_list(kind) else "int64"
        return _of_lists(unpacked_bytes(column.values), _buffer(column, 1, width, 1))
    if types.is_fixed_size_list(kind):
        inside = column.values.slice(column.offset * kind.list_size, len(column) * kind.list_size)
        of_values = unpacked_bytes(inside).reshape(len(column), kind.list_size)
        together: Sizes = of_values.sum(axis=1) + _VALUE_BYTES
        return together
    if types.is_struct(kind):
        fields = (unpacked_bytes(column.field(place)) for place in range(kind.num_fields))
        return sum(fields, np.full(len(column), _VALUE_BYTES, dtype=np.int64))
    size = kind.byte_width if types.is_fixed_size_binary(kind) else _VALUE_BYTES
    return np.full(len(column), size, dtype=np.int64)


def _between(ends: npt.NDArray[Any]) -> Sizes:
    found: Sizes = ends[1:].astype(np.int64) - ends[:-1]
    return found


def _of_lists(inside: Sizes, ends: npt.NDArray[Any]) -> Sizes:
    upto = np.concatenate([[0], np.cumsum(inside)])
    return _between(upto[ends]) + _VALUE_BYTES


def _buffer(column: Any, place: int, width: str, more: int) -> npt.NDArray[Any]:
    """One entry of a buffer for each row, and so many more; an empty column may have none."""
    buffer = column.buffers()[place]
    if not len(column) or buffer is None:
        return np.zeros(len(column) + more, dtype=width)
    return np.frombuffer(buffer, dtype=width)[column.offset : column.offset + len(column) + more]


_BATCH_ROWS = 1024
"""Small, because one row may carry whole essays."""

_BATCH_BYTES = 16 * 1024 * 1024
"""Most that a batch is expected to unpack to, and that becomes Python values at a time, but for a
single row that is larger: as much as the longest cell."""


def read_parquet(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows, dates and times as ISO 8601 text; a null is None.

    A cell or row that is longer than one of a CSV or JSON lines file may be is a fault. A few
    kilobytes can hold a text that a thousand rows repeat: how many rows are read at a time follows
    from what they unpack to.
    """
    opened = _opened(path, sink)
    if opened is None or not _sound_names(opened.schema_arrow.names, sink):
        return
    number = 0
    import pyarrow as pa

    try:
        most = row_bytes(path, opened.schema)
        batch_rows = min(_BATCH_ROWS, max(1, _BATCH_BYTES // max(most, 1)))
        for batch in opened.iter_batches(batch_size=batch_rows):
            for part in _slices(batch, number, sink):
                if part is None:
                    number += 1
                    continue
                for values in part.to_pylist():
                    number += 1
                    yield Row(number, {name: plain_value(value) for name, value in values.items()})
    except OversizedPageError as error:
        sink.report(None, str(error))
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(number + 1, f"the Parquet data are broken: {error}")
    finally:
        opened.close()


def parquet_columns(path: Path, sink: FaultSink) -> list[str]:
    """Returns the column names of a Parquet file."""
    opened = _opened(path, sink)
    if opened is None:
        return []
    names = [str(name) for name in opened.schema_arrow.names]
    opened.close()
    return names if _sound_names(names, sink) else []


def plain_value(value: Any) -> Any:
    """Returns the value with dates and times as ISO 8601 text, everything else unchanged."""
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if callable(isoformat) else value


def _opened(path: Path, sink: FaultSink) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(None, f"not readable as Parquet: {error}")
        return None


def _slices(batch: Any, before: int, sink: FaultSink) -> Iterator[Any]:
    """Returns the batch in parts that unpack to `_BATCH_BYTES`; None for each row refused.

    Args:
        batch: the rows.
        before: how many rows of the file come before it.
        sink: takes the faults.
    """
    import numpy as np

    sizes = [unpacked_bytes(column) for column in batch.columns]
    row_bytes = sum(sizes, np.zeros(batch.num_rows, dtype=np.int64))
    upto = np.concatenate([[0], np.cumsum(row_bytes)])
    first = 0
    while first < batch.num_rows:
        beyond = int(np.searchsorted(upto, upto[first] + _BATCH_BYTES, side="right")) - 1
        if beyond > first:
            yield batch.slice(first, beyond - first)
            first = beyond
            continue
        long = [place for place, size in enumerate(sizes) if size[first] > FIELD_LIMIT_CHARS]
        for place in long:
            sink.report(
                before + first + 1,
                f"the cell takes {sizes[place][first]:,} bytes; at most {FIELD_LIMIT_CHARS:,} "
                "are read",
                field=batch.schema.names[place],
            )
        if not long and row_bytes[first] > LINE_LIMIT_BYTES:
            sink.report(
                before + first + 1,
                f"the row takes {row_bytes[first]:,} bytes; at most {LINE_LIMIT_BYTES:,} are read",
            )
        elif not long:
            yield batch.slice(first, 1)
            first += 1
            continue
        yield None
        first += 1


def _sound_names(names: list[str], sink: FaultSink) -> bool:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    for name in twice:
        sink.report(None, "two columns have this name", field=name)
    return not twice


_DEEPEST = 12
_MOST_ITEMS = 1_000_000
_NONSENSE_THRIFT = "what Thrift wrote makes no sense"
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
        raise ValueError(_NONSENSE_THRIFT)
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
        raise ValueError(_NONSENSE_THRIFT)
    return None


def _list(stream: IO[bytes], depth: int) -> list[Any]:
    head = _byte(stream)
    number = _unsigned(stream) if head >> 4 == 15 else head >> 4
    if depth > _DEEPEST or number > _MOST_ITEMS:
        raise ValueError(_NONSENSE_THRIFT)
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
    raise ValueError(_NONSENSE_THRIFT)


def _byte(stream: IO[bytes]) -> int:
    byte = stream.read(1)
    if not byte:
        raise ValueError("the file ends within what Thrift wrote")
    return byte[0]


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
