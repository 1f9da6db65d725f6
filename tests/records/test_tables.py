"""The tables of a run: every text comes back, nothing half-written, columns as documented."""

from __future__ import annotations

import csv
import errno
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areopagus import InputError, Panel, StoreError
from areopagus.records.export import export_run
from areopagus.records.spreadsheets import CsvLines, carried_names
from areopagus.records.tables import (
    JUDGMENT_COLUMNS,
    PROVENANCE_COLUMNS,
    SCORE_COLUMNS,
    RunTables,
    judgment_frame,
    judgment_schema,
    read_judgments,
    read_scores,
    score_frame,
    score_header,
)
from areopagus.records.types import Judgment, Verdict
from areopagus.testing import ScriptedBackend

CRITERIA = ("clarity", "grounding")
TEXTS = ("Why?", "Because.")
HOSTILE = [
    "=1+1",
    "+SUM(A1:A9)",
    "-2",
    "@cmd",
    "\tx",
    "a\rb",
    "a\nb",
    "a\r\nb",
    'a"b,c;d',
    "\u202egnirts",
    "nul\x00here",
    "\u2028line\u2029",
    "x" * 200_000,  # the csv module's own limit is 131,072
    "<script>alert(1)</script>",
    "\x1b[2J",
    "日本語 🜚",
]


def verdict(response_id: str = "r1", **more: Any) -> Verdict:
    """A verdict of one judge who scored and one who failed."""
    texts = {"prompt_id": "p1", "respondent_id": "anna", **more}
    scored = Judgment(
        response_id,
        texts["prompt_id"],
        texts["respondent_id"],
        "historian",
        "disciplinary",
        "m/a",
        0,
        "scored",
        scores={"clarity": 7.0, "grounding": 5.0},
        rationale=more.get("rationale"),
        cost_usd=0.5,
    )
    failed = Judgment(
        response_id,
        texts["prompt_id"],
        texts["respondent_id"],
        "ethicist",
        "disciplinary",
        "m/a",
        0,
        "failed",
        reason=more.get("reason", "timeout"),
        detail=more.get("detail"),
        answered_by=more.get("answered_by"),
    )
    return Verdict(
        response_id=response_id,
        prompt_id=texts["prompt_id"],
        respondent_id=texts["respondent_id"],
        status="scored",
        reason=None,
        composite=6.0,
        dimensions={"clarity": 7.0, "grounding": 5.0},
        interval=(5.0, 7.0),
        interval_method="t",
        interval_reason=None,
        dimension_intervals={"clarity": None, "grounding": (4.0, 6.0)},
        median=6.0,
        trimmed_mean=6.0,
        sd=None,
        by_persona={"historian": 6.0, "ethicist": None},
        by_model={"m/a": 6.0},
        by_axis={"disciplinary": 6.0},
        disagreement="undefined",
        share_abstained=0.0,
        n_scored=1,
        n_planned=2,
        counts={
            "scored": 1,
            "abstained": 0,
            "refused": 0,
            "unreadable": 0,
            "failed": 1,
            "not_asked": 0,
        },
        flags=("empty", "bidi_controls"),
        cost_usd=None,
        judgments=(scored, failed),
    )


def writer(folder: Path, carried: tuple[str, ...] = ()) -> RunTables:
    return RunTables(
        folder,
        criteria=CRITERIA,
        personas=["historian", "ethicist"],
        models=["m/a"],
        axes=["disciplinary"],
        carried=carried,
    )


def test_the_tables_hold_what_was_added_and_the_columns_are_the_documented_ones(
    tmp_path: Path,
) -> None:
    with writer(tmp_path, ("wave",)) as tables:
        tables.add(verdict(), *TEXTS, {"wave": 3})
    (row,) = read_scores(tmp_path)
    header = score_header(CRITERIA, ["historian", "ethicist"], ["m/a"], ["disciplinary"])
    assert list(row) == [*header, "wave"]
    assert header[: len(SCORE_COLUMNS)] == list(SCORE_COLUMNS)
    assert (row["composite"], row["composite_low"], row["composite_high"]) == (
        "6.0000",
        "5.0000",
        "7.0000",
    )
    assert (row["clarity"], row["clarity_low"]) == ("7.0000", "")
    assert (row["grounding_low"], row["grounding_high"]) == ("4.0000", "6.0000")
    # Undefined is empty, never 0.
    assert (row["sd"], row["cost_usd"], row["persona_ethicist"]) == ("", "", "")
    assert (row["flags"], row["wave"]) == ("empty bidi_controls", "3")
    scored, failed = read_judgments(tmp_path)
    assert list(scored) == [*JUDGMENT_COLUMNS, *CRITERIA, *PROVENANCE_COLUMNS]
    assert list(scored) == judgment_schema(CRITERIA).names
    assert (scored["clarity"], scored["cost_usd"]) == (7.0, 0.5)
    assert (failed["status"], failed["clarity"], failed["cost_usd"]) == ("failed", None, None)


def test_every_column_of_a_real_run_stands_in_the_documents(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "columns.md").read_text("utf-8")
    good = dict.fromkeys(_dimensions(), 5) | {"abstained": False}
    rows = [{"response_id": "=1", "prompt_text": "Why?", "response_text": "Because it binds."}]
    with Panel(ScriptedBackend(good)) as panel:
        run = panel.score_many(rows, tmp_path / "run")
    judgment = next(read_judgments(run.path))
    own = [name for name in judgment if name not in _dimensions()]
    scores = [name for name in read_scores(run.path)[0] if name in SCORE_COLUMNS]
    assert len(scores) == len(SCORE_COLUMNS)
    missing = [name for name in (*own, *scores) if f"`{name}`" not in page]
    assert missing == []
    # Scores as they are, with what a spreadsheet would run, are exported on demand.
    for verbatim, shown in ((False, "'=1"), (True, "=1")):
        out = export_run(run.path, "scores", tmp_path / "out.csv", verbatim=verbatim).path
        assert out.read_text(encoding="utf-8").splitlines()[1].startswith(f"{shown},")
    assert (judgment["response_id"], read_scores(run.path)[0]["response_id"]) == ("=1", "=1")


def _dimensions() -> tuple[str, ...]:
    from areopagus.records.export import SCRUB_DIMENSIONS

    return SCRUB_DIMENSIONS


def test_a_hostile_text_comes_back_as_it_was(tmp_path: Path) -> None:
    for text in HOSTILE:
        with writer(tmp_path, (f"col {text}",)) as tables:
            hostile = dict.fromkeys(("prompt_id", "respondent_id", "rationale", "detail"), text)
            tables.add(verdict(text, **hostile), *TEXTS, {f"col {text}": text})
            tables.add(verdict("after"), *TEXTS, {})
        row, after = read_scores(tmp_path)
        assert (row["response_id"], row["prompt_id"], row["respondent_id"]) == (text, text, text)
        assert row[f"col {text}"] == text
        assert after["response_id"] == "after"
        first, second, *_ = read_judgments(tmp_path)
        assert (first["response_id"], first["rationale"]) == (text, text)
        assert second["detail"] == text


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", " =1", "\t=1", "\rx", "＝1",
            "\u3000＋1", "'=1", "''-a", "\xa0=HYPERLINK(0)"]  # fmt: skip


def test_no_cell_of_scores_csv_is_a_formula_and_all_text_comes_back(tmp_path: Path) -> None:
    with writer(tmp_path, ("=note",)) as tables:
        for text in FORMULAS:
            tables.add(verdict(text, prompt_id=text, respondent_id=text), *TEXTS, {"=note": text})
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    live = [
        cell for cell in cells if cell.strip()[:1] in tuple("=+-@＝＋－＠") or cell[:1] in "\t\r"
    ]
    assert [cell for cell in live if cell] == []
    assert [row["response_id"] for row in read_scores(tmp_path)] == FORMULAS
    assert [row["=note"] for row in read_scores(tmp_path)] == FORMULAS
    assert list(score_frame(tmp_path)["respondent_id"]) == FORMULAS
    assert "=note" in score_frame(tmp_path).columns


def test_negative_numbers_stay_numbers(tmp_path: Path) -> None:
    with writer(tmp_path, ("wave", "shift")) as tables:
        low = replace(verdict(), composite=-0.5, interval=(-1.0, 0.0))
        tables.add(low, *TEXTS, {"wave": -3, "shift": "-1e-4"})
    text = (tmp_path / "scores.csv").read_text(encoding="utf-8")
    assert "'" not in text
    frame = score_frame(tmp_path)
    assert (frame["composite"][0], frame["wave"][0], frame["shift"][0]) == (-0.5, -3, -1e-4)


def test_judgments_are_read_by_column_as_a_frame(tmp_path: Path) -> None:
    with writer(tmp_path) as tables:
        tables.add(verdict(), *TEXTS)
    frame = judgment_frame(tmp_path, ["persona", "clarity"])
    assert list(frame.columns) == ["persona", "clarity"]
    assert list(frame["persona"]) == ["historian", "ethicist"]
    assert list(judgment_frame(tmp_path).columns) == judgment_schema(CRITERIA).names
    with pytest.raises(InputError, match="has no column 'clearness'"):
        judgment_frame(tmp_path, ["clearness"])


def test_half_a_surrogate_pair_from_an_endpoint_does_not_break_the_tables(tmp_path: Path) -> None:
    with writer(tmp_path, ("note",)) as tables:
        bad = "a\ud800b"
        tables.add(
            verdict(rationale=bad, reason=bad, detail=bad, answered_by=bad),
            *TEXTS,
            {"note": bad},
        )
    first, second = read_judgments(tmp_path)
    assert first["rationale"] == "a?b"
    assert (second["reason"], second["detail"], second["answered_by"]) == ("a?b",) * 3
    assert read_scores(tmp_path)[0]["note"] == "a?b"


def test_carried_columns_never_share_a_name_with_ours_or_with_each_other(tmp_path: Path) -> None:
    names = ("status", "input_status", "note", "persona_historian")
    with writer(tmp_path, names) as tables:
        tables.add(verdict(), *TEXTS, {name: f"theirs {name}" for name in names})
    (row,) = read_scores(tmp_path)
    assert row["status"] == "scored"
    assert row["input_status"] == "theirs input_status"
    assert row["input_input_status"] == "theirs status"
    assert row["note"] == "theirs note"
    assert row["persona_historian"] == "6.0000"
    assert row["input_persona_historian"] == "theirs persona_historian"


@given(st.lists(st.sampled_from(["a", "input_a", "input_input_a", "b", "input_b"]), unique=True))
def test_carried_names_are_unique_and_never_ours(carried: list[str]) -> None:
    found = carried_names(carried, ["a", "b", "id"])
    assert len({*found, "a", "b", "id"}) == len(found) + 3
    assert all(new.endswith(old) for new, old in zip(found, carried, strict=True))


@given(st.lists(st.lists(st.text(), min_size=2, max_size=4), min_size=1, max_size=4))
def test_any_row_comes_back_from_csv(rows: list[list[str]]) -> None:
    file = io.StringIO(newline="")
    lines = CsvLines(file)
    for row in rows:
        lines.write(row)
    assert list(csv.reader(io.StringIO(file.getvalue(), newline=""))) == rows
    assert file.getvalue().endswith("\n")


class FullDisk(io.StringIO):
    """A file that takes so many texts and nothing more; of none it takes what it held back."""

    def __init__(self, writes: int) -> None:
        super().__init__(newline="")
        self.left = writes

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(text)

    def close(self) -> None:
        super().close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullParquet(parquet.ParquetWriter):
    """The same for the table of judgments."""

    def close(self) -> None:
        super().close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __del__(self) -> None:
        return None


@pytest.mark.parametrize(
    "moment", ["interrupted", "in the middle", "last judgments", "last scores"]
)
def test_tables_that_are_not_finished_leave_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    with writer(tmp_path) as tables:
        tables.add(verdict("old"), *TEXTS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def write() -> None:
        if moment == "last judgments":
            monkeypatch.setattr(parquet, "ParquetWriter", FullParquet)
        if moment == "last scores":  # what a file holds back is written when it is closed
            monkeypatch.setattr(Path, "open", lambda *_, **__: FullDisk(1000))
        with writer(tmp_path) as tables:
            if moment == "last scores":
                monkeypatch.undo()
            if moment == "in the middle":
                tables._score_lines = CsvLines(FullDisk(1))
            tables.add(verdict("one"), *TEXTS)
            tables.add(verdict("two"), *TEXTS)
            if moment == "interrupted":
                raise KeyboardInterrupt

    if moment == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            write()
    else:
        with pytest.raises(StoreError, match="No space left on device"):
            write()
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_on_a_full_disk_ends_in_one_error_and_goes_on_later_without_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = dict.fromkeys(_dimensions(), 5) | {"abstained": False}
    rows = [{"response_id": "r", "prompt_text": "Why?", "response_text": "Because it binds."}]
    backend = ScriptedBackend(good)
    with Panel(backend) as panel:

        def full(self: CsvLines, cells: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        original = CsvLines.write
        calls: list[int] = []

        def sometimes(self: CsvLines, cells: Any) -> None:
            calls.append(1)
            (original if len(calls) == 1 else full)(self, cells)

        monkeypatch.setattr(CsvLines, "write", sometimes)
        with pytest.raises(StoreError, match="No space left"):
            panel.score_many(rows, tmp_path / "run")
        monkeypatch.undo()
        assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["run.json"]
        run = panel.score_many(rows, tmp_path / "run")
    assert run.n_scored == 10
    assert len(backend.requests) == 10


def test_tables_that_are_not_there_are_bad_input(tmp_path: Path) -> None:
    for read in (read_scores, lambda path: list(read_judgments(path))):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path)
    (tmp_path / "judgments.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_judgments(tmp_path))
