"""The texts of a run beside its tables: written at once or not at all, read for whom they are."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from areopagus import Panel
from areopagus.errors import InputError, StoreError
from areopagus.records.tables import TEXTS_FILE, RunTables, read_texts
from areopagus.records.types import STATUSES, Verdict


def tables(folder: Path) -> RunTables:
    return RunTables(folder, criteria=[], personas=[], models=[], axes=[])


def screened(name: str) -> Verdict:
    """A verdict of nobody: here only the texts count."""
    values = dict.fromkeys(
        ("reason", "composite", "interval", "interval_method", "interval_reason", "median",
         "trimmed_mean", "sd", "share_abstained")
    )  # fmt: skip
    means: dict[str, dict[str, float | None]] = {
        kind: {} for kind in ("dimensions", "by_persona", "by_model", "by_axis")
    }
    return Verdict(
        name, "p", "m", "screened", disagreement="undefined", n_scored=0, n_planned=0,
        dimension_intervals={}, counts=dict.fromkeys(STATUSES, 0), **values, **means,
    )  # type: ignore[arg-type]  # fmt: skip


def write_texts(folder: Path, texts: Mapping[str, tuple[str, str]]) -> None:
    with tables(folder) as writer:
        for name, both in texts.items():
            writer.add(screened(name), *both)


def test_texts_come_back_as_they_were(tmp_path: Path) -> None:
    texts = {
        "a": ("Why?", "Because\r\n\u202eof </script> it."),
        "b": ("Why?", ""),
        "c": ("What?", "x" * 5000),
    }
    write_texts(tmp_path, texts)
    assert read_texts(tmp_path, texts) == texts
    assert read_texts(tmp_path, ["b", "nobody"]) == {"b": ("Why?", "")}


def test_a_lone_surrogate_does_not_stop_the_writing(tmp_path: Path) -> None:
    write_texts(tmp_path, {"a": ("p\ud800", "r")})
    assert read_texts(tmp_path, ["a"]) == {"a": ("p?", "r")}


def test_no_file_is_no_texts_and_a_broken_one_is_told(tmp_path: Path) -> None:
    assert read_texts(tmp_path, ["a"]) == {}
    (tmp_path / TEXTS_FILE).write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="cannot be read"):
        read_texts(tmp_path, ["a"])


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError), tables(tmp_path / "missing"):
        pass


def test_many_texts_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areopagus.records.tables._GROUP_CHARS", 100)
    write_texts(tmp_path, {f"r{k}": ("the same prompt", f"response {k}") for k in range(50)})
    found = read_texts(tmp_path, (f"r{k}" for k in range(50)))
    assert found["r49"] == ("the same prompt", "response 49")
    assert len(found) == 50


ROWS = [
    {
        "response_id": f"r{k}",
        "prompt_id": f"p{k}",
        "prompt_text": f"What of {k}?",
        "response_text": f"Of {k} much can be said </script>",
        "respondent_id": "somebody",
    }
    for k in range(4)
]


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix != ".json" and path.is_file()
    }


@pytest.mark.report
def test_a_run_holds_its_texts_and_one_that_breaks_off_leaves_those_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = Panel(personas=["historian"], ledger=tmp_path / "ledger")
    folder = tmp_path / "run"
    run = panel.score_many(ROWS, out=folder)
    texts = read_texts(folder, [row["response_id"] for row in ROWS])
    assert texts == {row["response_id"]: (row["prompt_text"], row["response_text"]) for row in ROWS}
    source = run.report_path.read_text(encoding="utf-8")
    packed = source.partition('id="responses-table">')[2].partition("<")[0]
    assert json.loads(gzip.decompress(base64.b64decode(packed)))["kept"]["texts"] == len(ROWS)
    # What a killed run left is swept, and the rerun is whole.
    whole = (folder / TEXTS_FILE).read_bytes()
    (folder / TEXTS_FILE).unlink()
    (folder / f".{TEXTS_FILE}.0badc0de").write_bytes(whole[:40])
    panel.score_many(ROWS, out=folder)
    assert (folder / TEXTS_FILE).read_bytes() == whole
    assert not list(folder.glob(f".{TEXTS_FILE}.*"))
    (folder / "report.html").unlink()  # else the rerun has nothing to do
    before = files(folder)

    def full(self: RunTables, *row: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(RunTables, "add", full)
    with pytest.raises(StoreError, match="the disk is full"):
        panel.score_many(ROWS, out=folder)
    assert files(folder) == before


def test_texts_without_a_letter_are_not_held_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.records.tables._GROUP_CHARS", 1000)
    with tables(tmp_path) as writer:
        for k in range(100):
            writer.add(screened(str(k)), "", "")
            assert len(writer._texts) <= 5
