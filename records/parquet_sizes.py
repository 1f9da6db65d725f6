"""How much the rows of Arrow columns unpack to, found without unpacking them.

Offsets are read from Arrow's buffers themselves: `to_numpy` and pyarrow.compute would load pandas
and more, which takes longer than many a file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
