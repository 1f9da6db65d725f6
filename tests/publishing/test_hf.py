"""A run as a data set with its card, read back without the library of Hugging Face."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
import yaml

from areopagus import Run, StoreError
from areopagus.integrations.hugging_face import LICENCE_PLACE
from areopagus.records.export import export_run
from areopagus.records.tables import read_texts


def exported(run: Run, folder: Path, **options: Any) -> Path:
    return export_run(run.path, "hf", folder, **options).path


def front_matter(card: str) -> dict[str, Any]:
    _, front, _ = card.split("---\n", 2)
    found: dict[str, Any] = yaml.safe_load(front)
    return found


def test_its_tables_are_those_of_the_run(run: Run, tmp_path: Path) -> None:
    folder = exported(run, tmp_path / "set")
    tables = {
        one["config_name"]: parquet.read_table(folder / one["data_files"]).to_pandas()
        for one in front_matter((folder / "README.md").read_text())["configs"]
    }
    assert list(tables) == ["scores", "judgments", "estimates"]
    theirs = tables["scores"].set_index("response_id")["composite"]
    assert theirs.equals(run.scores.set_index("response_id")["composite"].astype("float64"))
    judgments, ours = tables["judgments"], run.judgments
    for name in ("response_id", "persona", "model", "status"):
        assert judgments[name].tolist() == ours[name].tolist()
    scored = judgments["status"] == "scored"
    assert 0 < scored.sum() < len(judgments)
    # What a reply held that is no vote is no number here.
    assert judgments.loc[~scored, "conceptual_clarity"].isna().all()
    assert judgments.loc[scored, "conceptual_clarity"].notna().all()
    assert tables["estimates"]["value"].equals(run.estimates["value"])
    assert str(judgments["calls"].dtype).startswith(("int", "float"))


def test_its_card_is_made_of_the_run(run: Run, tmp_path: Path) -> None:
    card = (exported(run, tmp_path / "set") / "README.md").read_text()
    plain = " ".join(card.replace("\\", "").split())
    record = run.record
    counts = record["counts"]
    assert f"{counts['scored']} of {record['n_planned']} planned judgments scored" in plain
    for name in [*record["identity"]["personas"], *record["identity"]["criteria"]]:
        assert name in plain
    for name in [*run.scores.columns, *record["identity"]["models"]]:
        assert str(name) in plain
    assert record["identity"]["rubric"]["sha256"] in plain
    assert record["sessions"][0]["started"][:10] in plain
    assert card.count(LICENCE_PLACE) == 2
    assert "license" not in front_matter(card)


def test_a_demonstration_is_called_one_where_it_was_one(run: Run, tmp_path: Path) -> None:
    card = (exported(run, tmp_path / "set") / "README.md").read_text()
    assert ("DEMONSTRATION" in card) is bool(run.record["demonstration"])
    other = tmp_path / "other"
    other.mkdir()
    for one in run.path.iterdir():
        if one.is_file():
            (other / one.name).write_bytes(one.read_bytes())
    changed = {**run.record, "demonstration": not run.record["demonstration"]}
    (other / "run.json").write_text(json.dumps(changed))
    card = (export_run(other, "hf", tmp_path / "again").path / "README.md").read_text()
    assert ("DEMONSTRATION" in card) is changed["demonstration"]
    assert ("demonstration" in front_matter(card)["tags"]) is changed["demonstration"]


def test_texts_are_in_it_only_where_they_are_asked_for(run: Run, tmp_path: Path) -> None:
    ids = run.scores["response_id"].tolist()
    texts = read_texts(run.path, ids)
    without = exported(run, tmp_path / "without")
    said = [text for pair in texts.values() for text in pair if text]
    held = b"".join(one.read_bytes() for one in without.rglob("*") if one.is_file())
    for name in ("scores", "judgments"):
        names = parquet.read_schema(without / "data" / f"{name}.parquet").names
        assert not {"prompt_text", "response_text", "rationale", "detail"} & set(names)
    assert not [text for text in said if text.encode() in held]
    both = exported(run, tmp_path / "with", texts=True)
    table = parquet.read_table(both / "data" / "scores.parquet").to_pydict()
    assert list(zip(table["prompt_text"], table["response_text"], strict=True)) == [
        texts[one] for one in ids
    ]
    names = parquet.read_schema(both / "data" / "judgments.parquet").names
    assert "detail" in names
    assert "response_text" not in names


def test_no_place_on_this_machine_and_no_key_is_in_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    folder = exported(run, tmp_path / "set", texts=True)
    held = b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())
    for secret in (run.path.parent, run.path.parent.name, Path.home(), "sk-secret-of-the-test"):
        assert str(secret).encode() not in held


def test_what_anybody_wrote_is_no_markup_in_the_card(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "<b>*run*"
    other.mkdir()
    for one in run.path.iterdir():
        if one.is_file():
            (other / one.name).write_bytes(one.read_bytes())
    card = (export_run(other, "hf", tmp_path / "set").path / "README.md").read_text()
    assert front_matter(card)["pretty_name"] == "Scores of <b>*run*"
    assert "# Scores of \\<b\\>\\*run\\*" in card
    assert not re.search(r"(?<!\\)<b", card.split("---\n", 2)[2])


def test_a_place_that_cannot_be_a_folder_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        exported(run, tmp_path / "file" / "set")
