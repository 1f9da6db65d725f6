"""The texts of a run beside its tables: written at once or not at all, read for whom they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from areopagus.errors import InputError, StoreError
from areopagus.records.run_texts import TEXTS_FILE, TextWriter, read_texts


def test_texts_come_back_as_they_were(tmp_path: Path) -> None:
    texts = {
        "a": ("Why?", "Because\r\n\u202eof </script> it."),
        "b": ("Why?", ""),
        "c": ("What?", "x" * 5000),
    }
    writer = TextWriter(tmp_path)
    for name, (prompt, response) in texts.items():
        writer.add(name, prompt, response)
    writer.close()
    assert read_texts(tmp_path, texts) == texts
    assert read_texts(tmp_path, ["b", "nobody"]) == {"b": ("Why?", "")}
    assert [path.name for path in tmp_path.iterdir()] == [TEXTS_FILE]


def test_a_lone_surrogate_does_not_stop_the_writing(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path)
    writer.add("a", "p\ud800", "r")
    writer.close()
    assert read_texts(tmp_path, ["a"]) == {"a": ("p?", "r")}


def test_abandoned_texts_leave_what_was_there(tmp_path: Path) -> None:
    first = TextWriter(tmp_path)
    first.add("a", "p", "old")
    first.close()
    second = TextWriter(tmp_path)
    second.add("a", "p", "new")
    second.abandon()
    assert read_texts(tmp_path, ["a"]) == {"a": ("p", "old")}
    assert [path.name for path in tmp_path.iterdir()] == [TEXTS_FILE]


def test_no_file_is_no_texts_and_a_broken_one_is_told(tmp_path: Path) -> None:
    assert read_texts(tmp_path, ["a"]) == {}
    (tmp_path / TEXTS_FILE).write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="cannot be read"):
        read_texts(tmp_path, ["a"])


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        TextWriter(tmp_path / "missing")


def test_many_texts_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areopagus.records.run_texts._GROUP_CHARS", 100)
    writer = TextWriter(tmp_path)
    for k in range(50):
        writer.add(f"r{k}", "the same prompt", f"response {k}")
    writer.close()
    found = read_texts(tmp_path, (f"r{k}" for k in range(50)))
    assert found["r49"] == ("the same prompt", "response 49")
    assert len(found) == 50
