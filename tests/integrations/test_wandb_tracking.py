"""A run logged in Weights & Biases offline: the folder that its client writes is read."""

from __future__ import annotations

import csv
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools import needs
from tracked_run import SECRET_TEXT, made_run

needs("wandb")

import wandb  # noqa: E402
from wandb.proto import wandb_internal_pb2  # noqa: E402

from areopagus.errors import InputError  # noqa: E402
from areopagus.integrations.track import track  # noqa: E402
from areopagus.integrations.tracking import tracked_run  # noqa: E402
from areopagus.run import Run  # noqa: E402

_BLOCK, _HEAD, _FILE_HEAD = 32_768, 7, 7


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("wandb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        for name in ("CACHE", "CONFIG", "DATA"):
            patch.setenv(f"WANDB_{name}_DIR", str(folder / name.lower()))
        patch.chdir(folder)
        yield folder
        wandb.teardown()


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return made_run(folder)


def records(folder: Path) -> dict[str, list[Any]]:
    """What stands in the one file of an offline run, by kind.

    It is a log of LevelDB's form: blocks of 32 KiB, and in them pieces of records behind seven
    bytes each (checksum, length, and whether it is whole, first, middle or last).
    """
    (file,) = folder.glob("*.wandb")
    data, place, part = file.read_bytes(), _FILE_HEAD, b""
    found: dict[str, list[Any]] = {"bytes": [data]}
    while place + _HEAD <= len(data):
        left = _BLOCK - place % _BLOCK
        if left < _HEAD:
            place += left
            continue
        size, kind = struct.unpack("<HB", data[place + 4 : place + _HEAD])
        part += data[place + _HEAD : place + _HEAD + size]
        place += _HEAD + size
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(part)
            name = record.WhichOneof("record_type")
            found.setdefault(name, []).append(getattr(record, name))
            part = b""
    return found


def offline_runs(folder: Path) -> list[Path]:
    return sorted((folder / "wandb").glob("offline-run-*"), key=os.path.getmtime)


def test_a_run_is_read_back_as_it_was_told(run: Run, folder: Path) -> None:
    sent = track(run, "wandb:team/pilots")
    assert sent.answer.startswith("Logged ")
    assert "offline" in sent.answer
    told = tracked_run(run)
    (logged,) = offline_runs(folder)
    found = records(logged)
    (about,) = found["run"]
    assert (about.entity, about.project, about.display_name) == ("team", "pilots", "pilot")
    assert about.run_id == f"areopagus-{told.identity[:12]}-{told.content[:8]}"
    assert about.notes == told.description
    config = {one.key: json.loads(one.value_json) for one in about.config.update}
    assert config.items() >= {**told.parameters, **told.tags}.items()
    summary = {
        one.key: json.loads(one.value_json)
        for update in found["summary"]
        for one in update.update
        if one.key
    }
    assert {name: summary[name] for name in told.metrics} == pytest.approx(dict(told.metrics))
    files = {one.name: [entry.path for entry in one.manifest.contents] for one in found["artifact"]}
    assert files[f"areopagus-{told.identity[:12]}"] == [
        "estimates.csv", "judgments.parquet", "scores.csv",
    ]  # fmt: skip
    (table,) = (logged / "files" / "media" / "table").glob("*.json")
    content = json.loads(table.read_text("utf-8"))
    with (run.path / "scores.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    place = content["columns"].index("composite")
    assert [row[place] for row in content["data"]] == [
        float(row["composite"]) if row["composite"] else None for row in rows
    ]


def test_nothing_of_this_machine_and_no_text_is_told(run: Run, folder: Path) -> None:
    track(run, "wandb:private")
    found = records(offline_runs(folder)[-1])
    (data,) = found["bytes"]
    assert found["run"][0].host != socket.gethostname()
    assert str(run.path).encode() not in data
    assert SECRET_TEXT.encode() not in data
    assert "environment" not in found
    assert "stats" not in found


def test_the_same_figures_are_the_same_run_and_others_another_of_its_group(
    run: Run, folder: Path
) -> None:
    before = len(offline_runs(folder))
    track(run, "wandb:again")
    track(run, "wandb:again", tables=["respondent"])
    track(run, "wandb:again")
    found = [records(one)["run"][0] for one in offline_runs(folder)[before:]]
    assert len({one.run_id for one in found}) == 2
    assert len({one.run_group for one in found}) == 1


def test_a_run_of_the_host_goes_on(run: Run) -> None:
    with wandb.init(project="host") as own:
        track(run, "wandb:beside")
        assert wandb.run is own
        own.log({"loss": 1.0})


def test_a_target_must_be_a_project(run: Run) -> None:
    with pytest.raises(InputError, match="takes PROJECT or ENTITY/PROJECT"):
        track(run, "wandb:")
