"""What an embedded stand-in had a part in is headed DEMONSTRATION; a run's folder has its texts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel
from areopagus.any_report import write_any_report
from areopagus.calibration import Calibration, calibrate, save
from areopagus.calibration.folder import write_numbers
from areopagus.calibration.material import is_stand_in
from areopagus.calibration.page import write_calibration_page
from areopagus.calibration.sources import read_kept_texts


def rows() -> list[dict[str, Any]]:
    """Seven prompts; the second response is the longer one, and people prefer it."""
    return [
        {
            "response_id": f"p{g}r{k}",
            "prompt_id": f"p{g}",
            "prompt_text": f"What is owed in case {g}?",
            "response_text": "Promises bind because others rely on them. " * (1 + g + 9 * k),
            "respondent_id": "person",
        }
        for g in range(7)
        for k in range(2)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the embedded judge alone."""
    folder = tmp_path_factory.mktemp("offline") / "run"
    with Panel("offline/lexical", ledger=folder.with_suffix(".sqlite")) as panel:
        panel.score_many(rows(), folder)
    return folder


@pytest.fixture(scope="module")
def humans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = ["rater_id,prompt_id,response_id,score"]
    for row in rows():
        k = int(row["response_id"][-1])
        lines += [f"{who},{row['prompt_id']},{row['response_id']},{3 + 3 * k + n}"
                  for n, who in enumerate("abc")]  # fmt: skip
    path = tmp_path_factory.mktemp("people") / "humans.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def found(run: Path, humans: Path) -> Calibration:
    return calibrate(run, humans)


def test_text_page_and_numbers_say_so(found: Calibration, tmp_path: Path) -> None:
    assert found.stand_ins == ("offline/lexical",)
    assert found.text()[0].startswith("DEMONSTRATION: An embedded stand-in took part")
    assert "offline/lexical" in found.text()[0] + found.text()[1]
    page = write_calibration_page(tmp_path / "report.html", found, tmp_path, figures=False)
    assert "DEMONSTRATION" in page.read_text()
    numbers = json.loads(write_numbers(found, tmp_path).read_text())
    assert numbers["stand_ins"] == ["offline/lexical"]
    # and the page that is made anew of the numbers
    again = write_any_report(tmp_path, out=tmp_path / "again.html", figures=False)
    assert "DEMONSTRATION" in again.read_text()


def test_judgments_that_name_a_stand_in_are_one_too(humans: Path, tmp_path: Path) -> None:
    header = "prompt_id,response_id,judge,model,score"
    lines = [
        f"{row['prompt_id']},{row['response_id']},{{}},{len(row['response_text']) % 9 + 1}"
        for row in rows()
    ]
    for number, (judge, expected) in enumerate(
        {
            "historian,offline/lexical": ("offline/lexical",),
            "historian x offline/lexical,": ("offline/lexical",),
            "historian,openai/gpt-4o-mini": (),
        }.items()
    ):
        path = tmp_path / f"judgments{number}.csv"
        path.write_text("\n".join([header, *(line.format(judge) for line in lines)]) + "\n")
        report = calibrate(path, humans)
        assert report.stand_ins == expected, judge
        assert ("DEMONSTRATION" in "\n".join(report.text())) == bool(expected)


def test_what_is_no_stand_in() -> None:
    assert is_stand_in("offline/lexical")
    assert is_stand_in("ethicist x offline/lexical")
    assert not is_stand_in("hosted/offline/model")
    assert is_stand_in("historian-offline/lexical")
    assert not is_stand_in("offline")


def test_the_folders_texts_give_lengths_and_hashes(
    found: Calibration, run: Path, tmp_path: Path
) -> None:
    lengths = dict(zip(found.material.responses.ids, found.material.responses.length, strict=True))
    assert lengths == {row["response_id"]: len(row["response_text"]) for row in rows()}
    # the longer response is the better one in every prompt
    longer = found.panel.beyond_length
    assert longer.is_defined
    assert found.panel.by_target[0].accuracy.value - longer.value == pytest.approx(1)
    saved = json.loads(save(found, tmp_path / "calibration.json").read_text())
    text = rows()[0]["response_text"]
    assert saved["texts_sha256"]["p0r0"] == hashlib.sha256(text.encode()).hexdigest()


def test_a_folder_without_texts_has_no_lengths(tmp_path: Path) -> None:
    assert read_kept_texts(tmp_path).length == {}
    (tmp_path / "texts.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(InputError, match="cannot be read"):
        read_kept_texts(tmp_path)
