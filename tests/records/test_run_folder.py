"""A run's folder: whose it is, who works in it, and files that are replaced whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, StoreError
from areopagus.records import run_folder
from areopagus.records.run_folder import (
    RUN_FORMAT,
    RunFolder,
    read_run_file,
    replaced,
    run_identity_hash,
)

IDENTITY: dict[str, Any] = {
    "rubric": {"id": "critical_thinking", "sha256": "ab"},
    "mode": "dimensions",
    "personas": {"historian": "01", "ethicist": "02"},
}


def record(**more: Any) -> dict[str, Any]:
    return {"format": RUN_FORMAT, "identity": IDENTITY, "sessions": [], **more}


@pytest.fixture
def started(tmp_path: Path) -> Path:
    folder = RunFolder.open(tmp_path / "run", IDENTITY)
    folder.write_run_file(record())
    folder.close()
    return folder.path


def test_a_file_takes_its_place_whole_and_only_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")
    with replaced(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
        assert part.parent == tmp_path
        assert part.name.startswith(".table.csv.")
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_run_folder_and_all_in_it_are_its_owners_alone_also_what_was_there_before(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run"
    before = os.umask(0o000)
    try:
        RunFolder.open(path, IDENTITY).close()
        folder = RunFolder.open(path, IDENTITY)
        folder.write_run_file({"format": 1, "identity": IDENTITY})
        lock = path / ".lock"
        assert (rights(path), rights(path / "run.json"), rights(lock)) == (0o700, 0o600, 0o600)
        folder.close()
        # As the first version left them: readable by everybody.
        (path / "figures").mkdir()
        for name in ("report.html", "figures/a.png"):
            (path / name).write_text("x")
        path.chmod(0o755)
        (path / "run.json").chmod(0o644)
        RunFolder.open(path, IDENTITY).close()
        with replaced(path / "scores.csv") as part:
            part.write_text("x")
    finally:
        os.umask(before)
    assert {entry.name: rights(entry) for entry in (path, *path.rglob("*"))} == {
        "run": 0o700, "figures": 0o700, "a.png": 0o600,
        "run.json": 0o600, "report.html": 0o600, "scores.csv": 0o600,
    }  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_new_run_in_a_folder_closes_the_folder_and_no_hidden_file_of_its_owners(
    tmp_path: Path,
) -> None:
    (tmp_path / ".profile").write_text("x")
    (tmp_path / ".profile").chmod(0o755)
    RunFolder.open(tmp_path, IDENTITY).close()
    assert (rights(tmp_path), rights(tmp_path / ".profile")) == (0o700, 0o755)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_fault_in_between_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def break_off(error: Exception) -> None:
        with replaced(target) as part:
            part.write_text("half")
            raise error

    with pytest.raises(RuntimeError):
        break_off(RuntimeError())
    for number in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT):
        with pytest.raises(StoreError) as caught:
            break_off(OSError(number, os.strerror(number)))
        for words in (str(target), os.strerror(number), "give the same command again"):
            assert words in str(caught.value)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_part_that_cannot_even_be_made_is_the_same_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(run_folder.os, "open", refuse)
    with pytest.raises(StoreError, match="Read-only file system"), replaced(tmp_path / "x"):
        pytest.fail("nothing may be written")
    monkeypatch.undo()
    with pytest.raises(StoreError), replaced(tmp_path / "nowhere" / "x"):
        pytest.fail("nothing may be written")


def test_a_folder_is_made_and_continued(started: Path) -> None:
    folder = RunFolder.open(started, IDENTITY, must_exist=True)
    try:
        assert folder.existing == record()
    finally:
        folder.close()
    assert sorted(path.name for path in started.iterdir()) == ["run.json"]


def test_a_folder_made_for_nothing_goes_again_and_one_that_was_there_stays(tmp_path: Path) -> None:
    RunFolder.open(tmp_path / "new", IDENTITY).close()
    assert not (tmp_path / "new").exists()
    (tmp_path / "there").mkdir()
    RunFolder.open(tmp_path / "there", IDENTITY).close()
    assert (tmp_path / "there").is_dir()


def test_only_one_process_works_in_a_folder(started: Path) -> None:
    first = RunFolder.open(started, IDENTITY)
    with pytest.raises(InputError, match="another process is working"):
        RunFolder.open(started, IDENTITY)
    first.close()
    second = RunFolder.open(started, IDENTITY)
    first.close()  # closing twice takes nobody else's lock
    with pytest.raises(InputError, match="another process"):
        RunFolder.open(started, IDENTITY)
    second.close()


def test_what_another_process_wrote_last_is_what_is_continued(
    started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = run_folder._locked

    def late(path: Path) -> Any:
        # The other one writes its session and ends between our look and our lock.
        (path / "run.json").write_text(json.dumps(record(sessions=[{"n": 1}])))
        return locked(path)

    monkeypatch.setattr(run_folder, "_locked", late)
    folder = RunFolder.open(started, IDENTITY)
    folder.close()
    assert folder.existing is not None
    assert folder.existing["sessions"] == [{"n": 1}]


def test_another_run_is_refused_with_every_difference(started: Path) -> None:
    other = {
        "rubric": {"id": "brevity", "sha256": "ab"},
        "mode": "dimensions",
        "personas": {"historian": "01", "sociologist": "03"},
        "repeats": 2,
    }
    with pytest.raises(InputError) as caught:
        RunFolder.open(started, other)
    assert {fault.field for fault in caught.value.faults} == {
        "rubric.id",
        "personas.ethicist",
        "personas.sociologist",
        "repeats",
    }
    assert "as `out`" in str(caught.value)
    RunFolder.open(started, IDENTITY).close()  # the refused one has left no lock


def test_files_of_somebody_else_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_text("years")
    with pytest.raises(InputError, match=r"thesis\.docx"):
        RunFolder.open(tmp_path, IDENTITY)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_half_written_files_of_a_killed_process_are_swept_and_no_others(started: Path) -> None:
    for name in (".scores.csv.1a2b3c4d", ".judgments.parquet.00000000", ".notes", "scores.csv"):
        (started / name).write_text("x")
    RunFolder.open(started, IDENTITY).close()
    assert sorted(path.name for path in started.iterdir()) == [".notes", "run.json", "scores.csv"]


def test_a_run_of_a_newer_version_is_refused_and_left_alone(started: Path) -> None:
    (started / "run.json").write_text(json.dumps(record(format=RUN_FORMAT + 1)))
    before = (started / "run.json").read_bytes()
    for read in (read_run_file, lambda path: RunFolder.open(path, IDENTITY)):
        with pytest.raises(InputError, match="newer areopagus"):
            read(started)
    assert (started / "run.json").read_bytes() == before


def test_a_damaged_record_is_bad_input(started: Path) -> None:
    for content in [b"", b"{", b"[]", b"null", b'{"format": "1"}', b"\xff\xfe", b"[" * 100_000]:
        (started / "run.json").write_bytes(content)
        with pytest.raises(InputError, match=r"run\.json"):
            read_run_file(started)


def test_places_that_can_hold_no_run_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        read_run_file(tmp_path)
    with pytest.raises(InputError, match="no run to resume"):
        RunFolder.open(tmp_path / "none", IDENTITY, must_exist=True)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        RunFolder.open(tmp_path / "file", IDENTITY)
    for impossible in (tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(StoreError, match="cannot be made"):
            RunFolder.open(impossible, IDENTITY)
    (tmp_path / "file").unlink()
    monkeypatch.setattr(run_folder.os, "access", lambda path, mode: False)
    with pytest.raises(StoreError, match="read-only"):
        RunFolder.open(tmp_path, IDENTITY)


def test_the_hash_of_a_run_does_not_depend_on_the_order_of_keys() -> None:
    turned = {
        name: dict(reversed(value.items())) if isinstance(value, dict) else value
        for name, value in reversed(IDENTITY.items())
    }
    assert run_identity_hash(turned) == run_identity_hash(IDENTITY)
    assert run_identity_hash({**IDENTITY, "mode": "holistic"}) != run_identity_hash(IDENTITY)
