"""The table of variants: written, edited by a person, read back with every fault at once."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError, StoreError
from areopagus.records.variants import (
    VARIANT_COLUMNS,
    VariantRow,
    VariantSet,
    as_generated,
    read_variants,
    text_sha256,
    write_variants,
)

PROMPTS = {"vote": "Should voting be a duty?\nWhy?", "merit": "What is merit?"}
ROWS = [
    as_generated(
        VariantRow(prompt_id, condition, f"{condition} on {prompt_id}, or not?", PROMPTS[prompt_id],
                   rewriter="openai/a", reviewer="openai/b", checks="deterministic passed")
    )
    for prompt_id in PROMPTS
    for condition in ("empirical_i", "empirical_friend")
]  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "variants.csv"
    write_variants(path, ROWS)
    return path


def n_edited(found: VariantSet) -> int:
    return sum(row.edited == "edited by hand" for row in found.rows)


def edit(path: Path, change: Callable[[list[dict[str, str]]], list[dict[str, str]] | None]) -> None:
    """Reads, changes and writes the table as a spreadsheet would: CRLF and a byte order mark."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    changed = change(rows)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows if changed is None else changed)


def faults(source: Any, prompts: dict[str, str] | None = None, **options: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_variants(source, PROMPTS if prompts is None else prompts, **options)
    return [str(fault) for fault in caught.value.faults]


def supplied(**changes: Any) -> dict[str, Any]:
    return {"prompt_id": "vote", "condition": "boss", "prompt_text": "My boss says so?", **changes}


def test_what_is_written_is_read_back(table: Path) -> None:
    assert table.read_text(encoding="utf-8").splitlines()[0] == ",".join(VARIANT_COLUMNS)
    found = read_variants(table, PROMPTS)
    assert [replace(row, line=0) for row in found.rows] == ROWS
    assert found.conditions == ("empirical_i", "empirical_friend")
    assert found.baselines == PROMPTS
    assert n_edited(found) == 0
    assert found.usable()["merit"]["empirical_i"] == "empirical_i on merit, or not?"
    asked = ("empirical_friend", "empirical_i")  # come first, in this order
    assert read_variants(table, PROMPTS, conditions=asked).conditions == asked


def test_a_text_changed_by_hand_is_known_as_such(table: Path) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        rows[0]["prompt_text"] = "Better words, do you think?"

    def save_alone(rows: list[dict[str, str]]) -> None:
        for row in rows:
            row["prompt_text"] = row["prompt_text"].replace("\n", "\r\n") + " "
            row["baseline_text"] = row["baseline_text"].replace("\n", "\r\n")

    before = read_variants(table, PROMPTS).fingerprint()
    edit(table, save_alone)  # as a spreadsheet does
    assert n_edited(read_variants(table, PROMPTS)) == 0
    edit(table, change)
    found = read_variants(table, PROMPTS)
    assert [row.edited for row in found.rows] == ["edited by hand"] + ["generated"] * 3
    assert n_edited(found) == 1
    assert found.usable()["vote"]["empirical_i"] == "Better words, do you think?"
    assert found.fingerprint() != before


def test_a_failed_row_is_left_out_until_somebody_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "variants.csv"
    failed = as_generated(replace(ROWS[0], status="failed", prompt_text=PROMPTS["vote"]))
    silent = as_generated(replace(ROWS[1], status="failed", prompt_text=""))
    write_variants(path, [failed, silent, *ROWS[2:]])
    found = read_variants(path, PROMPTS)
    assert found.usable()["vote"] == {}
    assert [row.status for row in found.rows[:2]] == ["failed", "failed"]

    def change(rows: list[dict[str, str]]) -> None:
        rows[0]["prompt_text"], rows[1]["prompt_text"] = "Mine, is it good?", "Mine too, is it?"

    edit(path, change)
    found = read_variants(path, PROMPTS)
    assert found.usable()["vote"] == {
        "empirical_i": "Mine, is it good?",
        "empirical_friend": "Mine too, is it?",
    }
    assert n_edited(found) == 2


def test_a_person_may_accept_or_reject_what_a_model_wrote(tmp_path: Path) -> None:
    path = tmp_path / "variants.csv"
    failed = as_generated(replace(ROWS[0], status="failed"))
    write_variants(path, [failed, *ROWS[1:]])

    def change(rows: list[dict[str, str]]) -> None:
        rows[0]["status"], rows[1]["status"] = "accepted", "failed"

    edit(path, change)
    found = read_variants(path, PROMPTS)
    assert list(found.usable()["vote"]) == ["empirical_i"]
    assert n_edited(found) == 0


def test_conditions_of_any_name_may_be_supplied_without_the_other_columns() -> None:
    rows = [
        supplied(),
        supplied(condition="three turns"),
        supplied(prompt_id="merit"),
        supplied(prompt_id="merit", condition="three turns"),
    ]
    found = read_variants(rows, PROMPTS)
    assert found.conditions == ("boss", "three turns")
    assert {row.edited for row in found.rows} == {"supplied"}
    assert n_edited(found) == 0
    # a status of one's own leaves a supplied text out all the same
    rows[0]["status"] = "failed"
    assert read_variants([{"status": "", **row} for row in rows], PROMPTS).usable()["vote"] == {
        "three turns": "My boss says so?"
    }


def test_without_prompts_the_baselines_are_those_of_the_table(table: Path) -> None:
    assert read_variants(table).baselines == PROMPTS
    rows = [supplied(baseline_text="What is owed?"), supplied(condition="b", baseline_text="")]
    assert read_variants(rows).baselines == {"vote": "What is owed?"}
    rows[1]["baseline_text"] = "What else?"
    with pytest.raises(InputError, match="must be the text of prompt 'vote' unchanged"):
        read_variants(rows)
    with pytest.raises(InputError, match="no such column"):
        read_variants([supplied()])


def test_every_fault_of_every_row_comes_at_once(table: Path) -> None:
    def change(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        rows[0]["prompt_text"] = ""
        rows[1]["baseline_text"] = "Should voting be a choice?"
        rows[2]["prompt_text"] = " What is merit? "
        rows[3] |= {"prompt_id": "honour", "status": "fine", "generated_sha256": "abc"}
        twin = {**rows[1], "baseline_text": PROMPTS["vote"]}
        baseline = {**rows[1], "condition": "Baseline", "baseline_text": ""}
        nameless = {**rows[1], "prompt_id": "", "condition": "", "baseline_text": ""}
        return [*rows, twin, twin, baseline, nameless]

    edit(table, change)
    said = "\n".join(faults(table))
    for part in (
        ":2: prompt_text: must not be empty",
        "baseline_text: must be the text of prompt 'vote' unchanged; edit prompt_text",
        "prompt_text: must not be the baseline itself",
        "prompt_id: there is no prompt 'honour'",
        "status: must be one of accepted, failed, not_asked, got 'fine'",
        "generated_sha256: must be 64 hex digits or empty, got 'abc'",
        "condition: stands at",
        "condition: must name a variant: the baseline is the prompt itself",
        "prompt_id: must not be empty",
        "condition: must not be empty",
    ):
        assert part in said
    assert str(table) in said


def test_every_prompt_has_every_condition(table: Path) -> None:
    edit(table, lambda rows: rows[:-1])
    lacking = (
        f"{table}: condition: prompt 'merit' has no row for empirical_friend; a variant to be left "
        "out keeps its row with status failed"
    )
    assert faults(table) == [lacking]
    edit(table, lambda rows: rows[:2])
    only = read_variants(table, {"vote": PROMPTS["vote"]})
    assert len(only.rows) == 2
    said = faults(table, {"vote": PROMPTS["vote"]}, conditions=["emotion_agree"])
    assert "has no row for emotion_agree" in said[0]


def test_columns_of_other_names_are_mapped(tmp_path: Path) -> None:
    rows = [{"id": "vote", "frame": "boss", "text": "My boss says so?"}]
    names = {"prompt_id": "id", "condition": "frame", "prompt_text": "text"}
    found = read_variants(rows, {"vote": PROMPTS["vote"]}, columns=names)
    assert found.usable() == {"vote": {"boss": "My boss says so?"}}
    said = faults(rows, columns={**names, "status": "state"})
    assert "state: there is no such column; found: id, frame, text" in said[0]
    assert "must name one of" in faults(rows, columns={"colour": "c"})[0]


def test_cells_of_another_kind_are_named() -> None:
    for row, said in [
        (supplied(prompt_text=7), "prompt_text: must be text, got the number 7"),
        (supplied(condition=["x"]), "condition: must be text or a whole number"),
        (supplied(prompt_id="vo\tte"), "prompt_id: must not hold control characters"),
        (supplied(prompt_text=float("nan")), "prompt_text: must not be empty"),
        ({"prompt_id": "vote"}, "condition: there is no such column"),
    ]:
        assert said in "\n".join(faults([row], {"vote": PROMPTS["vote"]}))


def test_a_table_without_rows_and_one_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        write_variants(tmp_path / "nowhere" / "variants.csv", ROWS)
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "variants.csv"
    write_variants(path, [])
    assert faults(path) == [f"{path}: holds no variants"]
    with pytest.raises(InputError, match="holds no variants"):
        read_variants([], PROMPTS)


def test_the_fingerprint_is_of_what_is_used_alone(table: Path) -> None:
    found = read_variants(table, PROMPTS)
    shuffled = VariantSet(found.rows[::-1], found.conditions, found.baselines)
    renamed = replace(found, rows=tuple(replace(row, reasons="x", line=9) for row in found.rows))
    assert found.fingerprint() == shuffled.fingerprint() == renamed.fingerprint()
    other = replace(found, rows=tuple(replace(row, status="failed") for row in found.rows))
    assert other.fingerprint() != found.fingerprint()


def test_the_hash_ignores_what_spreadsheets_change_and_nothing_else() -> None:
    assert text_sha256("a\r\nb ") == text_sha256("a\nb")
    assert text_sha256("a  b") != text_sha256("a b")
    assert text_sha256("A b") != text_sha256("a b")


def test_any_text_survives_the_table(tmp_path: Path) -> None:
    for text in ["=1+1?", 'two\nlines, "quoted"?', "\ud800 lone?", "é日本?"]:
        path = tmp_path / "variants.csv"
        row = as_generated(VariantRow("vote", "boss", text, PROMPTS["vote"]))
        write_variants(path, [row])
        read = read_variants(path, {"vote": PROMPTS["vote"]}).rows[0]
        assert read.prompt_text == text.replace("\ud800", "?")
