"""Every reader answers whatever a file holds with rows or with InputError alone."""

from __future__ import annotations

import csv
import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import PIECES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from areopagus import InputError
from areopagus.attacks import AttackFamily
from areopagus.graphs.framings import Framing
from areopagus.personas import Persona
from areopagus.records.humans import LAYOUTS, read_humans
from areopagus.records.readers.dispatch import read_rows
from areopagus.records.readers.responses import ResponseSource
from areopagus.records.variants import read_variants
from areopagus.rubrics import Rubric
from areopagus.settings import PanelSettings, TargetSettings
from areopagus.yaml_files import read_document

FUZZ = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
words = st.text(max_size=30) | st.sampled_from(PIECES) | st.integers() | st.none()
cells = words.map(lambda cell: "" if cell is None else str(cell))
NAMES = ("response_id", "prompt_id", "prompt_text", "response_text", "respondent_id", "rater_id",
         "overall", "condition", "x")  # fmt: skip
grids = st.lists(st.lists(cells, min_size=1, max_size=6), min_size=0, max_size=6)


def as_csv(header: list[str], grid: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([header, *grid])
    return out.getvalue().encode("utf-8", "surrogatepass")


files = st.one_of(
    st.binary(max_size=400),
    st.lists(st.sampled_from(PIECES), max_size=40).map(
        lambda pieces: "".join(pieces).encode("utf-8", "surrogatepass")
    ),
    st.builds(as_csv, st.lists(st.sampled_from(NAMES), min_size=1, max_size=6), grids),
    st.lists(st.dictionaries(st.sampled_from(NAMES), words, max_size=6), max_size=5).map(
        lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode()
    ),
)


def read(path: Path) -> None:
    with ResponseSource(path) as source:
        summary = source.check()
        assert summary.n_responses == sum(1 for _ in source.rows())


def only_input_errors(call: Any, *arguments: Any, **options: Any) -> None:
    raised: InputError | None = None
    try:
        call(*arguments, **options)
    except InputError as error:
        raised = error
    assert raised is None or (raised.faults and str(raised).strip())


@FUZZ
@given(content=files, suffix=st.sampled_from([".csv", ".tsv", ".jsonl", ".csv.gz", ".jsonl.gz"]))
def test_tables_of_responses(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"table{suffix}"
    path.write_bytes(content)
    only_input_errors(read, path)


@FUZZ
@given(
    content=files,
    suffix=st.sampled_from([".csv", ".json", ".jsonl"]),
    layout=st.sampled_from(["auto", *LAYOUTS]),
)
def test_human_exports(tmp_path: Path, content: bytes, suffix: str, layout: str) -> None:
    path = tmp_path / f"people{suffix}"
    path.write_bytes(content)
    only_input_errors(lambda: read_humans(path, layout=layout).require_sound())


@FUZZ
@given(content=files)
def test_variants(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "variants.csv"
    path.write_bytes(content)
    only_input_errors(read_variants, path)
    only_input_errors(read_variants, path, {"p1": "Why?"})


yaml_texts = st.one_of(
    st.text(max_size=300),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "label", "models", "texts", "version", "dimensions", "scale"]
                )
                | st.text(max_size=8),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    ).map(json.dumps),
)


@FUZZ
@given(
    text=yaml_texts,
    model=st.sampled_from([Persona, Rubric, PanelSettings, TargetSettings, Framing, AttackFamily]),
)
def test_yaml_documents(tmp_path: Path, text: str, model: Any) -> None:
    path = tmp_path / "document.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    only_input_errors(read_document, path, model, kind="document")


def workbook(path: Path) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["response_id", "prompt_text", "response_text"])
    book.active.append(["r1", "Why?", "Because."])
    book.save(path)
    return path.read_bytes()


@settings(FUZZ, max_examples=150)
@given(place=st.floats(0, 0.999), change=st.binary(min_size=1, max_size=4))
def test_damaged_workbooks(tmp_path: Path, place: float, change: bytes) -> None:
    # Bytes changed inside a packed part raised zlib's own error before.
    sound = workbook(tmp_path / "sound.xlsx")
    at = int(place * len(sound))
    path = tmp_path / "table.xlsx"
    path.write_bytes(sound[:at] + change + sound[at + len(change) :])
    only_input_errors(read, path)


def test_a_workbook_that_unpacks_to_more_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from areopagus.records.readers import xlsx as module

    path = tmp_path / "bomb.xlsx"
    workbook(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/media/zeros.bin", bytes(2_000_000))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(module, "UNPACKED_LIMIT_BYTES", 1_000_000)
    with pytest.raises(InputError, match="unpacks to more than 1,000,000 bytes"):
        list(read_rows(path))


def forged_workbook(path: Path, rows: str) -> Path:
    """A workbook whose sheet has these rows below the header, as XML."""
    workbook(path)
    with zipfile.ZipFile(path) as packed:
        parts = {part.filename: packed.read(part) for part in packed.infolist()}
    sheet = "xl/worksheets/sheet1.xml"
    head, found, _ = parts[sheet].decode().partition('<row r="2"')
    assert found
    parts[sheet] = f"{head}{rows}</sheetData></worksheet>".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>',
            "names rows beyond row 1,048,576, which no sheet has",
        ),
        ('<row r="7"/><row r="1e12"/>', "names rows beyond row 1,048,576"),
        ('<row r="1048576"/><row/>', "names rows beyond row 1,048,576"),
        ('<row r="2"><c r="XFDZZZ2"><v>1</v></c></row>', "the workbook is broken: ValueError"),
        ('<row r="2"><c r="XFE2"/></row>', "has 16,385 columns; at most 16,384 are read"),
        (f'<row r="2">{"<c/>" * 16_385}</row>', "has 16,385 columns; at most 16,384 are read"),
    ],
)
def test_a_workbook_that_names_rows_or_columns_no_sheet_has_is_refused(
    tmp_path: Path, rows: str, message: str
) -> None:
    # openpyxl made an empty row for every number left out: 10^11 of them hung every reader.
    path = forged_workbook(tmp_path / "forged.xlsx", rows)
    started = time.perf_counter()
    with pytest.raises(InputError) as refused:
        list(read_rows(path))
    (fault,) = refused.value.faults
    assert fault.where.startswith(str(path))
    assert message in fault.message
    assert time.perf_counter() - started < 5


def test_rows_and_columns_up_to_the_limits_of_a_sheet_are_read(tmp_path: Path) -> None:
    cells = "".join(f'<c r="{c}1048576" t="str"><v>{c}</v></c>' for c in "ABC")
    rows = f'<row r="2"><c r="XFD2"/></row><row r="1048576">{cells}<c r="XFD1048576"/></row>'
    (row,) = read_rows(forged_workbook(tmp_path / "long.xlsx", rows))
    assert (row.line, list(row.values.values())) == (1_048_576, ["A", "B", "C"])


@settings(FUZZ, max_examples=150)
@given(place=st.floats(0, 0.999), change=st.binary(min_size=1, max_size=4))
def test_damaged_parquet(tmp_path: Path, place: float, change: bytes) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "table.parquet"
    row = {"response_id": ["r1"], "prompt_text": ["Why?"], "response_text": ["Because."]}
    parquet.write_table(pa.table(row), path)
    sound = path.read_bytes()
    at = int(place * len(sound))
    path.write_bytes(sound[:at] + change + sound[at + len(change) :])
    only_input_errors(read, path)


def test_no_byte_of_a_parquet_page_points_beyond_its_dictionary(tmp_path: Path) -> None:
    # Found by fuzzing: an index beyond the dictionary was followed to wherever it led.
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "table.parquet"
    row = {"response_id": ["r1"], "prompt_text": ["Why?"], "response_text": ["Because."]}
    parquet.write_table(pa.table(row), path, compression="none")
    sound = path.read_bytes()
    size = int.from_bytes(sound[-8:-4], "little")
    for at in range(4, len(sound) - 8 - size):
        for byte in (b"\x32", b"\xff"):
            path.write_bytes(sound[:at] + byte + sound[at + 1 :])
            only_input_errors(read, path)


def test_no_byte_of_a_parquet_footer_ends_the_process(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "table.parquet"
    row = {"response_id": ["r1"], "prompt_text": ["Why?"], "response_text": ["Because."]}
    parquet.write_table(pa.table(row), path)
    sound = path.read_bytes()
    size = int.from_bytes(sound[-8:-4], "little")
    # What pyarrow makes of a damaged column ends the process where its own calls do not look.
    for at in range(len(sound) - 8 - size, len(sound) - 8, 2):
        for byte in (b"\x7e", b"\x05"):
            path.write_bytes(sound[:at] + byte + sound[at + 1 :])
            only_input_errors(read, path)
