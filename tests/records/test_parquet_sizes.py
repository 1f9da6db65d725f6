"""What a Parquet file unpacks to is known before it is unpacked, and bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from areopagus.errors import InputFault
from areopagus.records.readers import parquet as parquet_pages
from areopagus.records.readers.dispatch import read_rows
from areopagus.records.readers.parquet import unpacked_bytes
from areopagus.records.readers.rows import Row

MEGABYTE = 1024 * 1024


def repeated(text: str, rows: int) -> Any:
    """A column of one text, without a copy for each row; the file stores it once too."""
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [text])


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    # Without Arrow's own schema, which would have the column read as a dictionary.
    options = {"compression": "zstd", "store_schema": False, **options}
    parquet.write_table(pa.table(columns), path, **options)
    return path


def read(path: Path) -> tuple[list[Row], list[InputFault]]:
    faults: list[InputFault] = []
    return list(read_rows(path, faults=faults)), faults


_CHILD = """
import sys
import numpy, pyarrow.parquet
from areopagus.records.readers.dispatch import read_rows

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

list(read_rows(sys.argv[1]))
before = peak()
print(sum(1 for _ in read_rows(sys.argv[2])), (peak() - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("kind", ["many rows", "long texts"])
def test_a_text_stored_once_for_many_rows_does_not_fill_the_memory(
    tmp_path: Path, kind: str
) -> None:
    # 1,024 texts of 300,000 characters took 900 MB from a file of 3 kB, 100 of 16 MB took 4 GB.
    small = write(tmp_path / "small.parquet", {"text": ["a", "b"]})
    path = tmp_path / "table.parquet"
    if kind == "many rows":
        write(path, {"text": repeated("x" * 300_000, 1024)})
    else:
        write(path, {"text": repeated("x" * 16_000_000, 20)})
    assert path.stat().st_size < 20_000
    child = [sys.executable, "-c", _CHILD, str(small), str(path)]
    done = subprocess.run(child, capture_output=True, text=True, timeout=120, check=True)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == (20 if kind == "long texts" else 1024)
    assert megabytes < 200


def test_a_row_is_expected_to_take_the_longest_value_that_its_page_can_stand_for(
    tmp_path: Path,
) -> None:
    def expected(texts: Any, **options: Any) -> int:
        path = write(tmp_path / "table.parquet", {"text": texts}, **options)
        with parquet.ParquetFile(path) as file:
            return parquet_pages.row_bytes(path, file.schema)

    texts = ["x" * 20_000 + f"{number:03}" for number in range(10)]
    # A dictionary: its longest value, once it is large enough to be looked into.
    assert expected(pa.array(["a", *texts, "b"])) == 20_003
    assert expected(repeated("x" * 100, 50)) == 104
    # Plain: the mean of the page, four bytes of length with each value.
    assert expected(texts, use_dictionary=False) == 20_007
    # Each continues the value before it, so that every one may be as long as all that is there.
    encoding = {"text": "DELTA_BYTE_ARRAY"}
    found = expected(texts, use_dictionary=False, column_encoding=encoding)
    assert 20_003 < found < 21_000


def test_a_cell_beyond_the_limit_is_refused_with_its_row_and_column(tmp_path: Path) -> None:
    texts = ["a", "x" * (16 * MEGABYTE + 1), "b"]
    path = write(tmp_path / "table.parquet", {"id": ["1", "2", "3"], "text": texts})
    rows, faults = read(path)
    assert [(row.line, row.values["text"]) for row in rows] == [(1, "a"), (3, "b")]
    (fault,) = faults
    assert (fault.where, fault.field) == (f"{path}:2", "text")
    assert fault.message == "the cell takes 16,777,225 bytes; at most 16,777,216 are read"


def test_a_row_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    columns = {f"c{number}": repeated("x" * (14 * MEGABYTE), 1) for number in range(5)}
    rows, (fault,) = read(write(tmp_path / "table.parquet", columns))
    assert rows == []
    assert fault.message == "the row takes 73,400,360 bytes; at most 67,108,864 are read"


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_page_beyond_the_limit_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(parquet_pages, "PAGE_LIMIT_BYTES", MEGABYTE)
    texts = [str(number) + "x" * 1000 for number in range(2000)]
    path = write(
        tmp_path / "table.parquet", {"id": range(2000), "text": texts}, use_dictionary=False,
        data_page_size=4 * MEGABYTE, data_page_version=version,
    )  # fmt: skip
    rows, (fault,) = read(path)
    assert (rows, fault.where) == ([], str(path))
    assert fault.message.startswith("column 'text', row group 1: a page unpacks to 2,0")
    assert fault.message.endswith(" bytes; at most 1,048,576 are read")


def test_pages_that_are_too_large_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_pages, "PAGE_LIMIT_BYTES", 10 * MEGABYTE)
    columns = {f"c{number}": repeated("x" * (9 * MEGABYTE), 1) for number in range(3)}
    rows, (fault,) = read(write(tmp_path / "table.parquet", columns))
    assert rows == []
    assert "the largest pages of the columns unpack to 28,311,564 bytes together" in fault.message


def test_a_list_of_very_many_values_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_pages, "PAGE_LIMIT_BYTES", MEGABYTE)
    many = pa.ListArray.from_arrays([0, 200_000], pa.array(np.zeros(200_000, dtype=np.int8)))
    path = write(tmp_path / "table.parquet", {"x": many})
    assert path.stat().st_size < 1000
    rows, (fault,) = read(path)
    assert rows == []
    assert "a page holds lists of 200,000 values; at most 131,072 are read" in fault.message


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(
    ("codec", "encoding"),
    [
        *((codec, None) for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")),
        *(("zstd", name) for name in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")),
    ],
)
def test_ordinary_files_come_back_whole(
    tmp_path: Path, version: str, codec: str, encoding: str | None
) -> None:
    words = [
        None if i % 7 == 0 else "trust returns slowly, " * (i % 50) + str(i) for i in range(3000)
    ]
    table = {
        "text": pa.array(words),
        "wide": pa.array([word and word * 3 for word in words], pa.large_string()),
        "few": pa.array(["a", "b", None] * 1000),
        "number": range(3000),
        "raw": pa.array([b"abc", None, b"xyz"] * 1000, pa.binary(3)),
    }
    options: dict[str, Any] = {"compression": codec, "data_page_version": version}
    if encoding is not None:
        options |= {"use_dictionary": False, "column_encoding": dict.fromkeys(table, "PLAIN")}
        options["column_encoding"] |= {"text": encoding, "wide": encoding}
    path = write(
        tmp_path / "table.parquet", table, store_schema=True, row_group_size=1700,
        data_page_size=20_000, **options,
    )  # fmt: skip
    rows, faults = read(path)
    assert not faults
    assert [row.line for row in rows] == list(range(1, 3001))
    assert [row.values for row in rows] == pa.table(table).to_pylist()


def test_lists_objects_and_maps_come_back_whole(tmp_path: Path) -> None:
    table = {
        "list": pa.array([["a", None], [], None, ["b"]] * 300),
        "object": pa.array(
            [{"a": "x", "b": [1]}, None, {"a": None, "b": []}, {"a": "y", "b": None}] * 300
        ),
        "map": pa.array([[("a", "b")], [], None, [("c", None)]] * 300, pa.map_("string", "string")),
    }
    rows, faults = read(write(tmp_path / "table.parquet", table, store_schema=True))
    assert not faults
    assert [row.values for row in rows] == pa.table(table).to_pylist()


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        (pa.array(["a", None, "ccc"]), [9, 8, 11]),
        (pa.array(["a", None, "ccc"], pa.large_string()), [9, 8, 11]),
        (pa.array(["a", None, "ccc"], pa.string_view()), [9, 8, 11]),
        (pa.array([b"a", None, b"ccc"], pa.binary_view()), [9, 8, 11]),
        (pa.array(["é", None, "é"]).dictionary_encode(), [10, 10, 10]),
        (pa.array([b"abc"] * 3, pa.binary(3)), [3, 3, 3]),
        (pa.array([1, None, 3]), [8, 8, 8]),
        (pa.array([["a"], None, ["b", "cc"]]), [17, 8, 27]),
        (pa.array([["a"], None, ["b", "cc"]], pa.large_list(pa.string())), [17, 8, 27]),
        (pa.array([["a", "b"], None, ["b", "cc"]], pa.list_(pa.string(), 2)), [26, 24, 27]),
        (pa.array([{"a": "x"}, None, {"a": "yyy"}]), [17, 16, 19]),
        (pa.array([[("a", "b")], [], [("a", "bbb")]], pa.map_("string", "string")), [26, 8, 28]),
        (pa.nulls(3), [8, 8, 8]),
    ],
    ids=str,
)
def test_sizes_by_hand(column: Any, sizes: list[int]) -> None:
    assert unpacked_bytes(column).tolist() == sizes
    assert unpacked_bytes(column.slice(1)).tolist() == sizes[1:]
    assert unpacked_bytes(column.slice(3)).tolist() == []
