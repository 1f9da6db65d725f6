"""What a Parquet file unpacks to is known before it is unpacked, and bounded."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from processes import Command

from areopagus.errors import InputFault
from areopagus.records.readers import parquet as module
from areopagus.records.readers.dispatch import read_rows
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
import numpy, pyarrow.compute, pyarrow.parquet
from areopagus.records.readers.dispatch import read_rows

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

list(read_rows(sys.argv[1]))
before, faults = peak(), []
rows = sum(1 for _ in read_rows(sys.argv[2], faults=faults))
print(rows, (peak() - before) // 1024, *faults)
"""


def memory_read(path: Path) -> list[str]:
    """Rows, megabytes at most, and faults of a table that a process of its own reads."""
    small = write(path.with_name("small.parquet"), {"text": ["a", "b"]})
    done = Command(small, path, folder=path.parent, code=_CHILD).finished()
    assert done.returncode == 0, done.stderr
    return done.stdout.split(maxsplit=2)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(("length", "n_rows"), [(300_000, 1024), (16_000_000, 20)])
def test_a_text_stored_once_for_many_rows_does_not_fill_the_memory(
    tmp_path: Path, length: int, n_rows: int
) -> None:
    # 1,024 texts of 300,000 characters took 900 MB from a file of 3 kB, 100 of 16 MB took 4 GB.
    path = write(tmp_path / "table.parquet", {"text": repeated("x" * length, n_rows)})
    assert path.stat().st_size < 20_000
    rows, megabytes = map(int, memory_read(path))
    assert rows == n_rows
    assert megabytes < 200


def test_a_cell_beyond_the_limit_is_refused_with_its_row_and_column(tmp_path: Path) -> None:
    texts = ["a", "x" * (16 * MEGABYTE + 1), "b"]
    path = write(tmp_path / "table.parquet", {"id": ["1", "2", "3"], "text": texts})
    rows, faults = read(path)
    assert [(row.line, row.values["text"]) for row in rows] == [(1, "a"), (3, "b")]
    (fault,) = faults
    assert (fault.where, fault.field) == (f"{path}:2", "text")
    assert fault.message == "the cell takes 16,777,217 bytes; at most 16,777,216 are read"


def test_a_row_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    columns = {f"c{number}": repeated("x" * (14 * MEGABYTE), 1) for number in range(5)}
    rows, (fault,) = read(write(tmp_path / "table.parquet", columns))
    assert rows == []
    assert fault.message == "the row takes 73,400,320 bytes; at most 67,108,864 are read"


def test_a_row_group_that_unpacks_to_gigabytes_is_refused_from_the_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Packed to a few kilobytes; the limit is lowered to match.
    path = write(
        tmp_path / "table.parquet", {"text": ["x" * 1_500_000 + str(i) for i in range(20)]},
        use_dictionary=False,
    )  # fmt: skip
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(module, "GROUP_LIMIT_BYTES", 20 * MEGABYTE)
    started = time.process_time()
    rows, (fault,) = read(path)
    assert rows == []
    assert fault.where == str(path)
    assert fault.message.startswith("row group 1 unpacks to 30,0")
    assert "at most 20,971,520 are read (write it with smaller row groups)" in fault.message
    assert time.process_time() - started < 1


def with_figures(path: Path, honest: int, told: int) -> None:
    """Overwrites a size in the footer by a smaller one, in as many bytes."""

    def varint(value: int, length: int = 0) -> bytes:
        zigzag, found = value << 1, bytearray()
        while zigzag or len(found) < length or not found:
            found.append(0x80 | zigzag & 0x7F)
            zigzag >>= 7
        found[-1] &= 0x7F
        return bytes(found)

    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little") + 8
    written = varint(honest)
    footer = content[-size:].replace(written, varint(told, len(written)))
    assert footer != content[-size:]
    path.write_bytes(content[:-size] + footer)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("kind", ["a lying footer", "shared beginnings"])
def test_what_a_file_really_holds_is_bounded_whatever_it_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    # 300 texts of a megabyte, in one row group; a page holds 16 of them.
    encoding = "PLAIN" if kind == "a lying footer" else "DELTA_BYTE_ARRAY"
    path = write(
        tmp_path / "table.parquet", {"text": ["x" * 1_000_000 + str(i) for i in range(300)]},
        use_dictionary=False, column_encoding={"text": encoding}, write_batch_size=16,
    )  # fmt: skip
    if kind == "a lying footer":
        with_figures(path, parquet.read_metadata(path).row_group(0).total_byte_size, 1000)
    assert path.stat().st_size < 200_000
    assert parquet.read_metadata(path).row_group(0).total_byte_size < 2_000_000
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "0.2")
    rows, megabytes, said = memory_read(path)
    assert 150 < int(rows) < 200
    assert "holds 0.2 GB unpacked; at most 0.2 GB are read" in said
    assert int(megabytes) < 150


def test_a_table_of_too_many_columns_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "table.parquet", {f"c{i}": [i] for i in range(16_385)})
    rows, (fault,) = read(path)
    assert (rows, fault.message) == ([], "has 16,385 columns; at most 16,384 are read")


@pytest.mark.parametrize(
    ("version", "codec", "encoding"),
    [
        *(
            (v, c, None)
            for v, c in zip(
                "121212", ("none", "snappy", "gzip", "brotli", "zstd", "lz4"), strict=True
            )
        ),
        *(("1", "zstd", name) for name in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")),
        ("2", "zstd", "DELTA_BYTE_ARRAY"),
    ],
)
def test_ordinary_files_come_back_whole(
    tmp_path: Path, version: str, codec: str, encoding: str | None
) -> None:
    words = [
        None if i % 7 == 0 else "trust returns slowly, " * (i % 50) + str(i) for i in range(1200)
    ]
    table = {
        "text": pa.array(words),
        "wide": pa.array([word and word * 3 for word in words], pa.large_string()),
        "few": pa.array(["a", "b", None] * 400),
        "number": range(1200),
        "raw": pa.array([b"abc", None, b"xyz"] * 400, pa.binary(3)),
    }
    options: dict[str, Any] = {"compression": codec, "data_page_version": f"{version}.0"}
    if encoding is not None:
        options |= {"use_dictionary": False, "column_encoding": dict.fromkeys(table, "PLAIN")}
        options["column_encoding"] |= {"text": encoding, "wide": encoding}
    path = write(
        tmp_path / "table.parquet", table, store_schema=True, row_group_size=700,
        data_page_size=8_000, **options,
    )  # fmt: skip
    rows, faults = read(path)
    assert not faults
    assert [row.line for row in rows] == list(range(1, 1201))
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
