"""Logs of Inspect AI as responses, read without Inspect; the logs are written here."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from areopagus.errors import InputError
from areopagus.records.readers import ResponseSource, read_rows
from areopagus.records.readers import inspect_log as log_reader


def header(**more: Any) -> dict[str, Any]:
    evaluation = {"task": "civics", "model": "lab/model", "config": {"epochs": 1}, "dataset": {}}
    return {"version": 2, "status": "success", "eval": {**evaluation, **more}, "plan": {}}


def sample(
    sample_id: Any, said: Any = "It depends.", epoch: int = 1, **more: Any
) -> dict[str, Any]:
    message = {"role": "assistant", "content": said}
    output = {"model": "lab/model", "choices": [{"message": message, "stop_reason": "stop"}]}
    asked = f"What of {sample_id}?"
    return {"id": sample_id, "epoch": epoch, "input": asked, "target": "", "output": output, **more}


def write_log(path: Path, samples: list[Any], head: Any = None, *, packed: str = "deflate") -> Path:
    documents = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    documents["header.json"] = head or header()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, document in documents.items():
            raw = json.dumps(document).encode()
            if packed == "deflate":
                archive.writestr(name, raw)
            else:
                _write_zstd(archive, name, raw)
    return path


def _write_zstd(archive: zipfile.ZipFile, name: str, raw: bytes) -> None:
    """An entry as Inspect writes it; Python's zipfile has no writer for the method."""
    data = pa.compress(raw, "zstd", asbytes=True)
    entry = zipfile.ZipInfo(name)
    entry.compress_type, entry.header_offset = 93, archive.fp.tell()  # type: ignore[union-attr]
    entry.CRC, entry.file_size, entry.compress_size = zlib.crc32(raw), len(raw), len(data)
    file = archive.fp
    assert file is not None
    file.write(entry.FileHeader() + data)
    archive.filelist.append(entry)
    archive.NameToInfo[name] = entry
    archive.start_dir = file.tell()
    archive._didModify = True  # type: ignore[attr-defined]


@pytest.mark.parametrize("packed", ["deflate", "zstd"])
def test_each_sample_and_epoch_is_a_response(tmp_path: Path, packed: str) -> None:
    scores = {"match": {"value": "C"}, "panel": {"value": {"a": 3, "b": math.nan}}}
    samples = [
        sample("q/1 ü", scores=scores, metadata={"topic": "tax", "deep": {"x": 1}}),
        sample("q/1 ü", "Another.", 2),
        sample(7, [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Seven."}]),
    ]
    rows = list(read_rows(write_log(tmp_path / "a.eval", samples, packed=packed)))
    assert rows[0].values == {
        "response_id": "q/1 ü_epoch_1",
        "prompt_id": "q/1 ü",
        "prompt_text": "What of q/1 ü?",
        "response_text": "It depends.",
        "respondent_id": "lab/model",
        "sample_id": "q/1 ü",
        "epoch": 1,
        "task": "civics",
        "target": "",
        "score_match": "C",
        "score_panel_a": 3,
        "metadata_topic": "tax",
    }
    assert [row.values["response_id"] for row in rows[1:]] == ["q/1 ü_epoch_2", "7_epoch_1"]
    assert rows[2].values["response_text"] == "Seven."
    assert (rows[2].values["prompt_id"], rows[2].values["sample_id"]) == ("7", 7)


def test_the_json_form_of_a_log_gives_the_same_rows(tmp_path: Path) -> None:
    samples = [sample(1), sample(2, epoch=2, limit={"type": "token", "limit": 9})]
    plain = tmp_path / "a.json"
    plain.write_text(json.dumps({**header(), "samples": samples}))
    packed = write_log(tmp_path / "a.eval", samples)
    assert list(read_rows(plain)) == list(read_rows(packed))
    assert [row.values.get("limit") for row in read_rows(plain)] == [None, "token"]


def test_samples_without_a_response_are_counted_by_reason_and_left_out(tmp_path: Path) -> None:
    nothing = {"choices": [], "model": "lab/model"}
    samples = [
        sample(1),
        sample(2, error={"message": "boom", "traceback": ""}),
        sample(3, error={"message": "boom", "traceback": ""}),
        sample(4, output=nothing, limit={"type": "time", "limit": 1}),
        sample(5, output=nothing),
        sample(6, output={**nothing, "error": "content filter"}),
        sample(7, invalidation={"author": "me"}),
        sample(8, ""),
    ]
    with ResponseSource(write_log(tmp_path / "a.eval", samples)) as source:
        summary = source.check()
        rows = list(source.rows())
    assert [row.response_id for row in rows] == ["1_epoch_1", "8_epoch_1"]
    assert rows[1].response_text == ""  # an outcome, and no failure
    assert summary.n_responses == 2
    (notice,) = summary.notices
    assert notice.startswith("6 samples without a response left out (2: it ended in an error; ")
    assert "1: its time limit stopped it before there was an output" in notice
    assert "1: it is marked as invalid" in notice


def test_samples_that_a_broken_evaluation_did_not_reach_are_counted(tmp_path: Path) -> None:
    head = header(dataset={"sample_ids": [1, 2, 3]}, config={"epochs": 2}) | {"status": "error"}
    path = write_log(tmp_path / "a.eval", [sample(1), sample(1, epoch=2), sample(3)], head)
    with ResponseSource(path) as source:
        summary = source.check()
    assert summary.n_responses == 3
    assert summary.notices == (
        "3 samples without a response left out (3: the evaluation broke off before it)",
    )


def test_a_log_without_any_response_is_refused_with_the_reasons(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.eval", [sample(1, error={"message": "boom"})])
    with ResponseSource(path) as source:
        with pytest.raises(InputError, match=r"holds no responses; 1 sample .*ended in an error"):
            source.check()


def test_the_limit_counts_responses_and_not_what_is_left_out(tmp_path: Path) -> None:
    samples = [sample(1, error={"message": "boom"}), sample(2), sample(3)]
    with ResponseSource(write_log(tmp_path / "a.eval", samples), limit=1) as source:
        source.check()
        assert [row.prompt_id for row in source.rows()] == ["2"]


def test_of_a_document_that_was_written_twice_the_later_one_counts(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.eval", [sample(1)])
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample(1, "Later.")))
    (row,) = read_rows(path)
    assert row.values["response_text"] == "Later."


def test_a_sample_that_is_stored_in_parts_is_one_row(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.eval", [])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/x_epoch_1/sample.json", json.dumps(sample("x")))
        archive.writestr("samples/x_epoch_1/metadata.json", json.dumps({"topic": "tax"}))
        archive.writestr("samples/x_epoch_1/messages/0.json", "[]")
    (row,) = read_rows(path)
    assert (row.values["prompt_id"], row.values["metadata_topic"]) == ("x", "tax")


def test_what_is_no_log_or_broken_is_said_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(b"not a zip")
    with pytest.raises(InputError, match="not readable as an Inspect log"):
        list(read_rows(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(InputError, match=r"it has no header\.json"):
        list(read_rows(path))
    write_log(path, [{"id": 1, "epoch": 1}])
    with pytest.raises(InputError, match="sample 1 has no id or no input"):
        list(read_rows(path))
    whole = write_log(path, [sample(1)], packed="zstd").read_bytes()
    broken = bytearray(whole)
    broken[struct.unpack("<H", whole[26:28])[0] + 40] ^= 0xFF
    path.write_bytes(bytes(broken))
    with pytest.raises(InputError, match="not readable as an Inspect log"):
        list(read_rows(path))


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ({"output": {"choices": [3]}}, {}),
        ({"output": {"choices": {"a": 1}}}, {}),
        ({"output": "text"}, {}),
        ({"scores": [3]}, {}),
        ({"metadata": "text"}, {}),
        ({"choices": 3}, {}),
        ({}, {"config": {"epochs": "3"}, "dataset": {"sample_ids": [1]}}),
        ({}, {"dataset": {"sample_ids": 5}}),
        ({}, {"config": [1]}),
    ],
)
def test_a_document_of_another_form_is_said_in_a_sentence(
    given: dict[str, Any], head: dict[str, Any], tmp_path: Path
) -> None:
    content = {**header(**head), "status": "error", "samples": [sample("a") | given]}
    log = write_log(tmp_path / "a.eval", content.pop("samples"), content)
    (tmp_path / "a.json").write_text(json.dumps({**content, "samples": [sample("a") | given]}))
    for path in (log, tmp_path / "a.json"):
        with pytest.raises(InputError, match="not readable as an Inspect log"):
            ResponseSource(path).check()


@pytest.mark.parametrize(("place", "bits"), [(8, 1), (10, 9)])  # encrypted; a method unknown
def test_a_log_that_cannot_be_unpacked_is_said_in_a_sentence(
    place: int, bits: int, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "a.eval", [sample("a")])
    raw = bytearray(log.read_bytes())
    raw[raw.rindex(b"PK\x01\x02") + place] = bits
    raw[raw.index(b"PK\x01\x02") + place] = bits
    log.write_bytes(raw)
    with pytest.raises(InputError, match="not readable as an Inspect log"):
        ResponseSource(log).check()


def test_an_evaluation_of_many_epochs_and_no_samples_is_no_endless_work(tmp_path: Path) -> None:
    broken = header(config={"epochs": 10**15}) | {"status": "error"}
    log = write_log(tmp_path / "a.eval", [sample("a")], broken)
    assert ResponseSource(log).check().n_responses == 1


def test_a_document_that_unpacks_to_more_than_the_limit_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_log(tmp_path / "a.eval", [sample(1, "x" * 100_000)], packed="zstd")
    monkeypatch.setattr(log_reader, "JSON_LIMIT_BYTES", 50_000)
    with pytest.raises(InputError, match=r"samples/1_epoch_1\.json is longer than 50,000 bytes"):
        list(read_rows(path))
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "0.00005")
    with pytest.raises(InputError, match="AREOPAGUS_MAX_GB"):
        list(read_rows(path))
    # An archive may claim less than it holds: no more than the claim is unpacked.
    monkeypatch.undo()
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("samples/1_epoch_1.json").file_size
    raw = path.read_bytes().replace(struct.pack("<L", size), struct.pack("<L", 1000))
    path.write_bytes(raw)
    with pytest.raises(InputError, match="not readable as an Inspect log"):
        list(read_rows(path))
