"""Reading tables: every format gives the same rows, and every broken file says where."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from areopagus.errors import InputError, InputFault
from areopagus.records.readers.dispatch import open_table, read_cells, read_rows
from areopagus.records.readers.rows import FIELD_LIMIT_CHARS

ROWS = [{"a": "1", "b": "two, with comma"}, {"a": "3", "b": 'quo"ted\nsecond line'}]
TEXT = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40
)
HERE = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(folder: Path, name: str, content: Any) -> Path:
    """A file of text or bytes, or of rows in the format that its name says."""
    path = folder / name
    if isinstance(content, list):
        if ".csv" in name or ".tsv" in name:
            with io.StringIO(newline="") as buffer:
                delimiter = "\t" if "tsv" in name else ","
                writer = csv.DictWriter(buffer, list(content[0]), delimiter=delimiter)
                writer.writeheader()
                writer.writerows(content)
                content = buffer.getvalue()
        elif "jsonl" in name or "ndjson" in name:
            content = "".join(json.dumps(row) + "\n" for row in content)
        elif "json" in name:
            content = json.dumps(content)
        elif name.endswith("parquet"):
            parquet.write_table(pa.Table.from_pylist(content), path)
            return path
        else:
            import openpyxl

            book = openpyxl.Workbook()
            for cells in (list(content[0]), *(list(row.values()) for row in content)):
                book.active.append(cells)
            book.save(path)
            return path
        content = content.encode()
        content = gzip.compress(content) if name.endswith(".gz") else content
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path) -> tuple[list[Any], list[str]]:
    """The values of the rows, and what is wrong with the others, without the folder."""
    faults: list[InputFault] = []
    rows = [row.values for row in read_rows(path, faults=faults)]
    return rows, [str(fault).removeprefix(f"{path.parent}/") for fault in faults]


# What is read -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.jsonl", "t.ndjson.gz"),
        *("t.json", "t.json.gz", "t.parquet", "t.xlsx"),
    ],
)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, ROWS)
    assert read(path) == (ROWS, [])
    assert next(list(row.values) for row in read_rows(path)) == ["a", "b"]


@HERE
@given(cells=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_csv_brings_back_what_the_csv_module_wrote(
    tmp_path: Path, cells: list[tuple[str, str]]
) -> None:
    rows = [{"a": a, "b": b} for a, b in cells]
    found, _ = read(written(tmp_path, "t.csv", rows))
    assert found == [row for row in rows if row["a"] or row["b"]]


VALUES = st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT)


@HERE
@given(rows=st.lists(st.dictionaries(TEXT, VALUES, max_size=4), min_size=1, max_size=5))
def test_json_lines_bring_back_what_json_wrote(
    tmp_path: Path, rows: list[dict[str, object]]
) -> None:
    assert read(written(tmp_path, "t.jsonl", rows)) == (rows, [])


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=200), name=st.sampled_from(["csv", "jsonl", "csv.gz"]))
def test_arbitrary_bytes_end_in_rows_or_faults_and_nothing_else(
    tmp_path: Path, data: bytes, name: str
) -> None:
    try:
        rows, _ = read(written(tmp_path, f"t.{name}", data))
    except InputError:
        return
    assert all(isinstance(row, dict) for row in rows)


def test_the_line_of_a_row_is_the_line_on_which_it_starts(tmp_path: Path) -> None:
    # header is line 1; the quoted cell runs over lines 2 and 3; line 4 is blank; line 5 follows.
    path = written(tmp_path, "t.csv", 'a,b\n1,"x\ny"\n\n2,z\n')
    assert [row.line for row in read_rows(path)] == [2, 5]


def test_marks_semicolons_and_tables_without_a_header_are_understood(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b"\xef\xbb\xbfa,b\n1,2\n")
    assert read(path) == ([{"a": "1", "b": "2"}], [])
    path = written(tmp_path, "t.csv", "a;b\n1,5;2\n")  # the header has no comma
    assert read(path) == ([{"a": "1,5", "b": "2"}], [])
    path = written(tmp_path, "t.csv", "1,2\n3,4\n")
    assert [row.values for row in read_cells(path)] == [["1", "2"], ["3", "4"]]


def test_xlsx_keeps_numbers_pads_short_rows_and_skips_blank_ones(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for cells in (["a", "b"], [1, None], [None, None], [2.5, "x"], [1, 2, 3]):
        book.active.append(cells)
    book.save(tmp_path / "t.xlsx")
    rows, faults = read(tmp_path / "t.xlsx")
    assert [tuple(row.values()) for row in rows] == [(1, ""), (2.5, "x")]
    assert faults == ["t.xlsx:5: must have 2 cells as the header has, got 3"]
    assert [row.line for row in read_rows(tmp_path / "t.xlsx", faults=[])] == [2, 4]


def test_a_json_file_is_a_list_of_objects_one_object_or_the_records_in_it(tmp_path: Path) -> None:
    for content in ('[{"a": 1}, {"a": 2}]', '{"records": [{"a": 1}, {"a": 2}]}'):
        path = written(tmp_path, "t.json", content)
        assert [(row.line, row.values) for row in read_rows(path)] == [(1, {"a": 1}), (2, {"a": 2})]
    assert read(written(tmp_path, "t.json", '{"a": 1}')) == ([{"a": 1}], [])


# Faults -------------------------------------------------------------------------------------------

FAULTY: list[tuple[str, str | bytes, list[str]]] = [
    (
        "t.csv",
        "a,b\n1\n1,2,3\n4,5\n",
        [
            "2: must have 2 cells as the header has, got 1",
            "3: must have 2 cells as the header has, got 3",
        ],
    ),
    (
        "t.csv",
        b'a,b\n1,\x002\n"x"y,1\n3,4\n5,"open\n6,7\n',
        [
            "2: the row holds a NUL byte",
            "3: a quoted cell is followed by text",
            "5: a quoted cell is opened here and never closed",
        ],
    ),
    ("t.csv", "a,a,b\n1,2,3\n", ["1: a: the name stands twice in the header (columns 1, 2)"]),
    ("t.csv", ",b\n1,2\n", ["1: column 1 of the header has no name"]),
    ("t.csv", "a,\0b\n1,2\n", ["1: "]),
    (
        "t.csv",
        "a,b\n1,2\n".encode("utf-16"),
        ["1: must be UTF-8, looks like UTF-16: save"],
    ),
    ("t.csv.gz", gzip.compress(b"a\n" + b"1\n" * 5000)[:-20], [" the gzip stream is broken"]),
    ("t.csv", "a\n" + "x" * (FIELD_LIMIT_CHARS + 1) + "\n", ["2: a cell is longer than"]),
    ("t.json", '[{"a": 1}, 7, {"a": 3}]', ["2: must be a JSON object, got the number 7"]),
    ("t.json", '[{"a": 1, "a": 2}]', [" the key 'a' stands twice in one object"]),
    *(
        ("t.jsonl", f'{{"a": 0}}\n{line}\n{{"a": 3}}\n', [f"2: {message}"])
        for line, message in (
            ('{"a": 1', "not valid JSON"),
            ("[1]", "must be a JSON object, got a list"),
            ("7", "must be a JSON object, got the number 7"),
            ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
            ('{"a": "\\ud800"}', "half of a surrogate pair"),
            ("[" * 100_000, "nested too deeply"),
            ('{"a": ' + "9" * 5000 + "}", "digits"),
        )
    ),
]


@pytest.mark.parametrize(("name", "content", "expected"), FAULTY, ids=range(len(FAULTY)))
def test_faults_say_where_and_the_other_rows_still_come(
    tmp_path: Path, name: str, content: str | bytes, expected: list[str]
) -> None:
    rows, faults = read(written(tmp_path, name, content))
    assert len(faults) == len(expected)
    for fault, said in zip(faults, expected, strict=True):
        line, _, words = said.partition(" ")
        assert fault.startswith(f"{name}:{line}")
        assert words in fault
    if name == "t.jsonl":
        assert rows == [{"a": 0}, {"a": 3}]


def test_without_a_list_the_first_fault_is_raised(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "a,b\n1\n2\n")
    with pytest.raises(InputError, match=r"t\.csv:2: must have 2 cells") as raised:
        list(read_rows(path))
    assert len(raised.value.faults) == 1
    path = written(tmp_path, "t.csv", "a,b\n1,2\n3,café\n".encode("latin-1"))
    # Line 3 is "3,caf\xe9": the sixth byte.
    with pytest.raises(InputError, match=r"t\.csv:3: must be UTF-8, got byte 0xe9 as byte 6"):
        list(read_rows(path))


def test_files_that_cannot_be_read_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content, message in (
        ("none.csv", None, "there is no such file"),
        (".", None, "is a folder"),
        ("empty.csv", "", "the file is empty"),
        ("blank.csv", "\n\n", "no rows"),
        ("t.docx", "x", "must end in one of"),
        ("t.parquet.gz", "x", "must end in one of"),
        # Not what their suffix says.
        *((f"t.{end}", "a,b\n1,2\n", rf"t\.{end}") for end in ("parquet", "xlsx", "csv.gz")),
        ("t.jsonl.gz", "a,b\n1,2\n", r"t\.jsonl\.gz"),
    ):
        if content is not None:
            written(tmp_path, name, content)
        with pytest.raises(InputError, match=message):
            list(read_rows(tmp_path / name))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"areopagus\[xlsx\]"):
        list(read_rows(tmp_path / "t.xlsx"))


def test_a_file_with_nothing_but_faults_is_given_up(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "a,b\n" + "1\n" * 5000)
    faults: list[InputFault] = []
    with pytest.raises(InputError, match="reading stopped after 1,000 faults"):
        list(read_rows(path, faults=faults))
    assert len(faults) == 1000


# Size ---------------------------------------------------------------------------------------------


def test_rows_stream_in_constant_memory_and_a_cell_may_be_long(tmp_path: Path) -> None:
    lines = "".join(f"{i},{'x' * 50}\n" for i in range(20_000))
    path = written(tmp_path, "t.csv", "a,b\n" + lines)
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_rows(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 1_000_000
    rows, _ = read(written(tmp_path, "t.csv", "a\n" + "x" * 1_000_000 + "\n"))
    assert len(rows[0]["a"]) == 1_000_000


def test_a_header_of_a_hundred_thousand_columns_is_refused_in_a_second(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(100_000)]
    for name, content in (
        ("t.csv", ",".join(names) + "\n"),
        ("quoted.csv", ",".join(f'"{name}"' for name in names) + "\n"),
        ("t.jsonl", json.dumps(dict.fromkeys(names)) + "\n"),
    ):
        path = written(tmp_path, name, content)
        started = time.process_time()
        _, (fault,) = read(path)
        assert "has 100,000 columns; at most 16,384 are read" in fault
        assert time.process_time() - started < 1


def test_packed_blank_lines_are_refused_in_a_second(tmp_path: Path) -> None:
    # 300 kB unpack to 300 MB of line ends: minutes of reading that found no row. Here a tenth.
    packed = gzip.compress(b"a,b\n1,2\n" + b"\n" * 30_000_000, 6)
    assert len(packed) < 31_000
    path = written(tmp_path, "t.csv.gz", packed)
    started = time.process_time()
    _, (fault,) = read(path)
    blank = "more than 200,000 blank lines stand here; is this a table?"
    assert fault == f"t.csv.gz:200003: {blank}"
    assert time.process_time() - started < 1


def test_a_table_with_more_rows_or_bytes_than_are_read_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"a": "x" * 50, "b": str(i)} for i in range(20)]
    names = ("t.csv", "t.csv.gz", "t.jsonl", "t.parquet")
    paths = [written(tmp_path, name, rows) for name in names]
    monkeypatch.setenv("AREOPAGUS_MAX_ROWS", "10")
    for path in paths:
        with pytest.raises(InputError, match=r"more than 10 rows.*AREOPAGUS_MAX_ROWS sets another"):
            list(read_rows(path))
    with pytest.raises(InputError, match="an iterable: holds more than 10 rows"):
        open_table({"a": number} for number in itertools.count())  # without an end
    monkeypatch.setenv("AREOPAGUS_MAX_ROWS", "20")
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "1e-7")  # a hundred bytes
    for path in paths:
        with pytest.raises(InputError, match="GB unpacked; at most 1e-07 GB are read"):
            list(read_rows(path))
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "1")
    assert [len(list(read_rows(path))) for path in paths] == [20] * 4
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "much")
    with pytest.raises(InputError, match="AREOPAGUS_MAX_GB: must be a number above 0, got 'much'"):
        list(read_rows(paths[0]))
