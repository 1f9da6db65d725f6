"""SPSS and Stata files: value labels, missing codes, encodings, and files that are neither."""

import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from areopagus.errors import InputError
from areopagus.records.humans import HumanReading, read_humans
from areopagus.records.readers import statistical
from areopagus.records.readers.dispatch import read_rows
from areopagus.records.readers.responses import ResponseSource
from areopagus.records.readers.statistical import LabelledNumber, MissingCode

FRAME = pd.DataFrame(
    {
        "rater_id": ["a", "a", "b", "b"],
        "prompt_id": ["p1", "p1", "p1", "p1"],
        "response_id": [1.0, 2.0, 1.0, 2.0],
        "clarity": [4.0, 5.0, -99.0, math.nan],
        "fair": [1.0, 0.0, 1.0, 1.0],
    }
)
LABELS = {
    "response_id": {1.0: "r-one", 2.0: "r-two"},
    "clarity": {1.0: "not at all", 5.0: "wholly", -99.0: "no answer"},
    "fair": {0.0: "no", 1.0: "yes"},
}


def spss(path: Path, **more: Any) -> Path:
    pyreadstat.write_sav(
        FRAME,
        str(path),
        variable_value_labels=LABELS,
        missing_ranges={"clarity": [-99]},
        variable_measure={"fair": "nominal", "clarity": "ordinal"},
        **more,
    )
    return path


def ratings(reading: HumanReading) -> list[tuple[Any, ...]]:
    table = reading.table
    columns = [getattr(table, name).texts().tolist() for name in ("rater_id", "response_id")]
    return list(zip(*columns, table.value.tolist(), strict=True))


@pytest.mark.parametrize("suffix", ["sav", "zsav"])
def test_spss_ids_are_labels_ratings_numbers_and_nominal_codes_labels(
    tmp_path: Path, suffix: str
) -> None:
    path = spss(tmp_path / f"h.{suffix}", compress=suffix == "zsav")
    reading = read_humans(path).require_sound()
    assert ratings(reading) == [("a", "r-one", 4.0), ("a", "r-two", 5.0)]
    assert reading.labels.label.texts().tolist() == ["yes", "no", "yes", "yes"]
    assert reading.labels.criterion.used() == ("fair",)
    assert reading.n_missing == 2


def test_a_user_missing_value_keeps_its_code(tmp_path: Path) -> None:
    rows = list(read_rows(spss(tmp_path / "h.sav")))
    assert [row.line for row in rows] == [1, 2, 3, 4]
    cells = [row.values["clarity"] for row in rows]
    assert isinstance(cells[2], MissingCode)
    assert cells[2].code == "-99 (no answer)"
    assert cells[3] is None
    assert isinstance(cells[1], LabelledNumber)
    assert (cells[1], cells[1].label) == (5.0, "wholly")
    assert cells[0] == 4


def test_stata_labels_and_letters_for_missing_values(tmp_path: Path) -> None:
    frame = FRAME.assign(clarity=[4.0, 5.0, "a", math.nan])
    path = tmp_path / "h.dta"
    pyreadstat.write_dta(
        frame,
        str(path),
        variable_value_labels={name: LABELS[name] for name in ("response_id", "fair")},
        missing_user_values={"clarity": ["a"]},
    )
    reading = read_humans(path).require_sound()
    assert ratings(reading) == [("a", "r-one", 4.0), ("a", "r-two", 5.0)]
    # Stata has no measure: yes and no are known by their words.
    assert reading.labels.label.texts().tolist() == ["yes", "no", "yes", "yes"]
    cell = list(read_rows(path))[2].values["clarity"]
    assert isinstance(cell, MissingCode)
    assert cell.code == "a"


def test_a_column_is_known_by_its_variable_label(tmp_path: Path) -> None:
    path = tmp_path / "h.sav"
    frame = FRAME.rename(columns={"rater_id": "v1"}).drop(columns="fair")
    pyreadstat.write_sav(
        frame, str(path), column_labels={"v1": "Participant ID", "clarity": "How clear is it?"}
    )
    reading = read_humans(path)
    assert ("rater_id", "v1") in reading.columns_used
    assert reading.table.rater_id.used() == ("a",)  # what b gave is -99, and no rating


def test_the_rows_of_all_pieces_are_numbered_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistical, "_CHUNK_ROWS", 10_000)
    path = tmp_path / "h.sav"
    pyreadstat.write_sav(pd.DataFrame({"x": [float(n) for n in range(25_000)]}), str(path))
    rows = list(read_rows(path))
    assert [rows[0].line, rows[-1].line] == [1, 25_000]
    assert rows[-1].values == {"x": 24_999}


def test_responses_to_judge_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "responses.sav"
    frame = pd.DataFrame(
        {
            "response_id": ["r1"],
            "prompt_text": ["Why is the sky blue?"],
            "response_text": ["Größe, çà et là: “light”"],
            "respondent_id": ["someone"],
        }
    )
    pyreadstat.write_sav(frame, str(path))
    source = ResponseSource(path)
    try:
        assert [sample.response_text for sample in source.rows()] == ["Größe, çà et là: “light”"]
    finally:
        source.close()


def test_text_that_is_not_in_the_declared_encoding_is_taken_for_western(tmp_path: Path) -> None:
    path = tmp_path / "h.sav"
    pyreadstat.write_sav(pd.DataFrame({"x": ["plain", "caf_ noir"]}), str(path))
    path.write_bytes(path.read_bytes().replace(b"caf_ noir", b"caf\xe9 noir"))
    assert [row.values["x"] for row in read_rows(path)] == ["plain", "café noir"]


def test_a_file_that_is_neither_is_a_fault(tmp_path: Path) -> None:
    for name in ("h.sav", "h.dta"):
        path = tmp_path / name
        path.write_bytes(b"rater_id,score\na,1\n" * 10)
        with pytest.raises(InputError, match="not readable as an SPSS or Stata file"):
            list(read_rows(path))
        with pytest.raises(InputError, match="not readable as an SPSS or Stata file"):
            read_humans(path)


def test_without_pyreadstat_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = spss(tmp_path / "h.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(InputError, match=r"areopagus\[stata\]"):
        list(read_rows(path))
