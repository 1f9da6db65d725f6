"""Reading tables: every format gives the same rows, and every broken file says where."""

import csv
import gzip
import io
import itertools
import json
import sys
import time
import tracemalloc
from pathlib import Path

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


def write_csv(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> None:
    with io.StringIO(newline="") as buffer:
        writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        data = buffer.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def faults_of(path: Path) -> list[str]:
    faults: list[InputFault] = []
    list(read_rows(path, faults=faults))
    return [str(fault) for fault in faults]


@pytest.mark.parametrize(
    "name",
    [
        "t.csv",
        "t.csv.gz",
        "t.tsv",
        "t.tsv.gz",
        "t.jsonl",
        "t.ndjson.gz",
        "t.json",
        "t.json.gz",
        "t.parquet",
        "t.xlsx",
    ],
)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if ".json" in name and "jsonl" not in name:
        data = json.dumps(ROWS).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    elif "json" in name:
        write_jsonl(path, [dict(row) for row in ROWS])
    elif "sv" in name:
        write_csv(path, ROWS, "\t" if "tsv" in name else ",")
    elif name.endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        import openpyxl

        book = openpyxl.Workbook()
        book.active.append(["a", "b"])
        for row in ROWS:
            book.active.append(list(row.values()))
        book.save(path)
    assert [row.values for row in read_rows(path)] == ROWS
    assert next(list(row.values) for row in read_rows(path)) == ["a", "b"]


def test_the_line_of_a_row_is_the_line_on_which_it_starts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    # header is line 1; the quoted cell runs over lines 2 and 3; line 4 is blank; line 5 follows.
    path.write_text('a,b\n1,"x\ny"\n\n2,z\n')
    assert [row.line for row in read_rows(path)] == [2, 5]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_csv_brings_back_what_the_csv_module_wrote(
    tmp_path: Path, cells: list[tuple[str, str]]
) -> None:
    path = tmp_path / "t.csv"
    rows = [{"a": a, "b": b} for a, b in cells]
    write_csv(path, rows)
    expected = [row for row in rows if row["a"] or row["b"]]
    assert [row.values for row in read_rows(path)] == expected


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.dictionaries(
            TEXT, st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT), max_size=4
        ),
        min_size=1,
        max_size=5,
    )
)
def test_json_lines_bring_back_what_json_wrote(
    tmp_path: Path, rows: list[dict[str, object]]
) -> None:
    path = tmp_path / "t.jsonl"
    write_jsonl(path, rows)
    assert [row.values for row in read_rows(path)] == rows


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=200), suffix=st.sampled_from([".csv", ".jsonl", ".gz"]))
def test_arbitrary_bytes_end_in_rows_or_faults_and_nothing_else(
    tmp_path: Path, data: bytes, suffix: str
) -> None:
    path = tmp_path / ("t.csv.gz" if suffix == ".gz" else f"t{suffix}")
    path.write_bytes(data)
    faults: list[InputFault] = []
    try:
        rows = list(read_rows(path, faults=faults))
    except InputError:
        return
    assert all(isinstance(row.values, dict) for row in rows)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert next(list(row.values) for row in read_rows(path)) == ["a", "b"]


def test_a_wrong_encoding_names_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n3,café\n".encode("latin-1"))
    # Line 3 is "3,caf\xe9": the sixth byte.
    with pytest.raises(InputError, match=r"t\.csv:3: must be UTF-8, got byte 0xe9 as byte 6"):
        list(read_rows(path))


def test_utf_16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16"))
    assert faults_of(path)[0].endswith("must be UTF-8, looks like UTF-16: save the file as UTF-8")


def test_ragged_rows_are_faults_and_the_others_still_come(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1\n1,2,3\n4,5\n")
    faults: list[InputFault] = []
    assert [row.values for row in read_rows(path, faults=faults)] == [{"a": "4", "b": "5"}]
    assert [str(fault) for fault in faults] == [
        f"{path}:2: must have 2 cells as the header has, got 1",
        f"{path}:3: must have 2 cells as the header has, got 3",
    ]


def test_without_a_list_the_first_fault_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1\n2\n")
    with pytest.raises(InputError, match=r"t\.csv:2: must have 2 cells") as raised:
        list(read_rows(path))
    assert len(raised.value.faults) == 1


def test_headers_that_do_not_serve(tmp_path: Path) -> None:
    for header, message in [
        ("a,a,b", "t.csv:1: a: the name stands twice in the header (columns 1, 2)"),
        (",b", "t.csv:1: column 1 of the header has no name"),
        ("a,\0b", "t.csv:1: "),
    ]:
        path = tmp_path / "t.csv"
        path.write_text(f"{header}\n1,2,3\n")
        assert message in faults_of(path)[0]


def test_semicolons_are_understood_where_the_header_has_no_comma(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n")
    assert [row.values for row in read_rows(path)] == [{"a": "1,5", "b": "2"}]


def test_a_nul_byte_an_open_quote_and_text_after_a_quote_are_faults(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,\x002\n"x"y,1\n3,4\n5,"open\n6,7\n')
    messages = faults_of(path)
    assert "t.csv:2: the row holds a NUL byte" in messages[0]
    assert "t.csv:3: a quoted cell is followed by text" in messages[1]
    assert "t.csv:5: a quoted cell is opened here and never closed" in messages[2]
    assert len(messages) == 3


def test_a_cell_may_be_long_but_not_endless(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "x" * 1_000_000 + "\n")
    assert len(next(iter(read_rows(path))).values["a"]) == 1_000_000
    path.write_text("a\n" + "x" * (FIELD_LIMIT_CHARS + 1) + "\n")
    assert "a cell is longer than" in faults_of(path)[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "not valid JSON"),
        ("[1]", "must be a JSON object, got a list"),
        ("7", "must be a JSON object, got the number 7"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
    ],
    ids=["cut", "list", "number", "repeated key", "surrogate", "nested", "digits"],
)
def test_lines_that_are_no_object(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 0}\n' + line + '\n{"a": 3}\n')
    faults: list[InputFault] = []
    assert len(list(read_rows(path, faults=faults))) == 2
    assert len(faults) == 1
    assert faults[0].where == f"{path}:2"
    assert message in faults[0].message


def test_files_that_are_not_there_or_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "blank.csv").write_text("\n\n")
    (tmp_path / "t.docx").write_text("x")
    (tmp_path / "t.parquet.gz").write_text("x")
    for name, message in [
        ("none.csv", "there is no such file"),
        (".", "is a folder"),
        ("empty.csv", "the file is empty"),
        ("blank.csv", "no rows"),
        ("t.docx", "must end in one of"),
        ("t.parquet.gz", "must end in one of"),
    ]:
        with pytest.raises(InputError, match=message):
            list(read_rows(tmp_path / name))


def test_a_file_that_is_not_what_its_suffix_says(tmp_path: Path) -> None:
    for name in ["t.parquet", "t.xlsx", "t.csv.gz", "t.jsonl.gz"]:
        path = tmp_path / name
        path.write_text("a,b\n1,2\n")
        with pytest.raises(InputError, match=r"t\.(parquet|xlsx|csv\.gz|jsonl\.gz)"):
            list(read_rows(path))


def test_a_cut_gzip_file_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5000)[:-20])
    assert "the gzip stream is broken" in faults_of(path)[-1]


def test_xlsx_without_openpyxl_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"areopagus\[xlsx\]"):
        list(read_rows(path))


def test_xlsx_keeps_numbers_pads_short_rows_and_skips_blank_ones(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for cells in (["a", "b"], [1, None], [None, None], [2.5, "x"], [1, 2, 3]):
        book.active.append(cells)
    book.save(tmp_path / "t.xlsx")
    faults: list[InputFault] = []
    rows = list(read_rows(tmp_path / "t.xlsx", faults=faults))
    assert [tuple(row.values.values()) for row in rows] == [(1, ""), (2.5, "x")]
    assert [row.line for row in rows] == [2, 4]
    assert [str(fault) for fault in faults] == [
        f"{tmp_path / 't.xlsx'}:5: must have 2 cells as the header has, got 3"
    ]


def test_cells_come_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    assert [row.values for row in read_cells(path)] == [["1", "2"], ["3", "4"]]


def test_rows_stream_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},{'x' * 50}\n" for i in range(20_000)))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_rows(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 1_000_000


def test_a_header_of_a_hundred_thousand_columns_is_refused_in_a_second(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(100_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n")
    (tmp_path / "quoted.csv").write_text(",".join(f'"{name}"' for name in names) + "\n")
    write_jsonl(tmp_path / "t.jsonl", [dict.fromkeys(names)])
    for name in ("t.csv", "quoted.csv", "t.jsonl"):
        started = time.process_time()
        (fault,) = faults_of(tmp_path / name)
        assert "has 100,000 columns; at most 16,384 are read" in fault
        assert time.process_time() - started < 1


def test_packed_blank_lines_are_refused_in_a_second(tmp_path: Path) -> None:
    # 300 kB unpack to 300 MB of line ends: minutes of reading that found no row. Here a tenth.
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n" + b"\n" * 30_000_000, 6))
    assert path.stat().st_size < 31_000
    started = time.process_time()
    (fault,) = faults_of(path)
    assert fault == f"{path}:200003: more than 200,000 blank lines stand here; is this a table?"
    assert time.process_time() - started < 1


def test_a_table_with_more_rows_or_bytes_than_are_read_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = [{"a": "x" * 50, "b": str(i)} for i in range(20)]
    write_csv(tmp_path / "t.csv", rows)
    write_csv(tmp_path / "t.csv.gz", rows)
    write_jsonl(tmp_path / "t.jsonl", [dict(row) for row in rows])
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    names = ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet"]
    monkeypatch.setenv("AREOPAGUS_MAX_ROWS", "10")
    for name in names:
        with pytest.raises(InputError, match=r"more than 10 rows.*AREOPAGUS_MAX_ROWS sets another"):
            list(read_rows(tmp_path / name))
    monkeypatch.setenv("AREOPAGUS_MAX_ROWS", "20")
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "1e-7")  # a hundred bytes
    for name in names:
        with pytest.raises(InputError, match="GB unpacked; at most 1e-07 GB are read"):
            list(read_rows(tmp_path / name))
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "1")
    assert [len(list(read_rows(tmp_path / name))) for name in names] == [20] * 4
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "much")
    with pytest.raises(InputError, match="AREOPAGUS_MAX_GB: must be a number above 0, got 'much'"):
        list(read_rows(tmp_path / "t.csv"))


def test_an_endless_iterable_is_refused_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREOPAGUS_MAX_ROWS", "10")
    with pytest.raises(InputError, match="an iterable: holds more than 10 rows"):
        open_table({"a": number} for number in itertools.count())


def test_a_json_file_is_a_list_of_objects_one_object_or_the_records_in_it(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    for content in ('[{"a": 1}, {"a": 2}]', '{"records": [{"a": 1}, {"a": 2}]}'):
        path.write_text(content)
        assert [(row.line, row.values) for row in read_rows(path)] == [(1, {"a": 1}), (2, {"a": 2})]
    path.write_text('[{"a": 1}, 7, {"a": 3}]')
    assert faults_of(path) == [f"{path}:2: must be a JSON object, got the number 7"]
    path.write_text('{"a": 1}')
    assert [row.values for row in read_rows(path)] == [{"a": 1}]
    path.write_text('[{"a": 1, "a": 2}]')
    assert faults_of(path) == [f"{path}: the key 'a' stands twice in one object"]


def test_a_file_with_nothing_but_faults_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1\n" * 5000)
    faults: list[InputFault] = []
    with pytest.raises(InputError, match="reading stopped after 1,000 faults"):
        list(read_rows(path, faults=faults))
    assert len(faults) == 1000
