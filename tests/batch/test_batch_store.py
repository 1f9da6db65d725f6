"""The record of a run's batches in its folder, and the files of requests."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from batch_material import batch_values

from areopagus import InputError
from areopagus.batch import BatchProgress, batch_sentence, open_batches
from areopagus.batch.store import BatchFile, BatchStore


def test_the_store_is_there_again_after_a_kill_and_texts_are_swept(tmp_path: Path) -> None:
    store = BatchStore.open(tmp_path)
    first = store.add(["a" * 32, "b" * 32], **batch_values())
    second = store.add(["c" * 32], **batch_values())
    assert (first.number, second.number, first.requests) == (1, 2, 2)
    store.change(first, status="open", batch_id="batch_1")
    left = store.input_path(0)
    left.write_text("a text")
    again = BatchStore.open(tmp_path)
    assert not left.exists()
    assert [r.status for r in again.records] == ["open", "uploading"]
    assert again.ids(again.records[0]) == ["a" * 32, "b" * 32]
    assert [r.number for r in open_batches(tmp_path)] == [1]
    again.change(again.records[0], status="collected")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch-0002.ids", "batches.json"]


def test_ids_that_were_changed_are_refused(tmp_path: Path) -> None:
    store = BatchStore.open(tmp_path)
    entered = store.add(["a" * 32], **batch_values())
    (tmp_path / "batch-0001.ids").write_text("b" * 32)
    with pytest.raises(InputError, match="not what was written"):
        store.ids(entered)
    (tmp_path / "batch-0001.ids").unlink()
    with pytest.raises(InputError, match="cannot be used"):
        store.ids(entered)


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2}', '{"format": 1, "batches": 3}'])
def test_a_store_of_something_else_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "batches.json").write_text(content)
    with pytest.raises(InputError, match=r"batches\.json"):
        BatchStore.open(tmp_path)
    assert open_batches(tmp_path / "nowhere") == ()


def test_a_file_of_requests_is_for_its_owner_only_and_knows_its_limits(tmp_path: Path) -> None:
    limits: Any = SimpleNamespace(most_requests=3, most_bytes=1000)
    file = BatchFile(tmp_path / "requests", limits)
    assert stat.S_IMODE((tmp_path / "requests").stat().st_mode) == 0o600
    assert file.has_room_for(b"x" * 936)
    assert not file.has_room_for(b"x" * 937)
    file.seal()
    file.remove()
    file.remove()
    assert not (tmp_path / "requests").exists()


def test_the_progress_in_a_line_holds_nothing_that_a_terminal_obeys() -> None:
    progress = BatchProgress(
        phase="waiting", open_batches=2, requests=2400, done=7, answered=3, elapsed_s=61.0
    )
    progress.trouble = "server: \x1b[2J"
    said = batch_sentence(progress)
    assert said.startswith("waiting · 2 batches, 7 of 2,400 done · 3 answered, 0 not · 0:01:01 · ")
    assert "\x1b" not in said
