"""Hostile ids, names and texts break no table, page, workbook, terminal or path."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import unicodedata
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import CRITERIA, HAND_CORPUS
from processes import areopagus

from areopagus import InputError, Panel, Run
from areopagus.records.export import export_run
from areopagus.records.tables import read_judgments, read_scores
from areopagus.testing import ScriptedBackend

PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}(\.[a-z]{2,7})?")
"""What this project calls its files."""


def is_id(text: str) -> bool:
    """Whether a text is taken for an id: not blank, and without control characters."""
    return bool(text.strip()) and not any(unicodedata.category(c) == "Cc" for c in text)


IDS = [text for text in HAND_CORPUS if is_id(text)]


def rows() -> list[dict[str, Any]]:
    return [
        {
            "response_id": name,
            "prompt_id": f"{name}?",
            "prompt_text": f"Why? {name}",
            "response_text": f"Because. {HAND_CORPUS[index]}",
            "respondent_id": name,
            "=note": HAND_CORPUS[index],
            "<b>column</b>": name,
        }
        for index, name in enumerate(IDS)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose every name and text is hostile, rationales and error details too."""
    folder = tmp_path_factory.mktemp("hostile")
    turn = iter(range(10**6))

    def judge(request: Any) -> Any:
        number = next(turn)
        text = HAND_CORPUS[number % len(HAND_CORPUS)]
        if number % 3 == 0:
            return text
        value = {**dict.fromkeys(CRITERIA, 5), "abstained": False}
        return {"rationale": text, **value}

    backend = ScriptedBackend(judge, name="scripted/judge")
    with Panel(
        backend, personas=["historian"], rationale="before", ledger=folder / "ledger.sqlite"
    ) as panel:
        return panel.score_many(rows(), folder / "run")


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of as many responses whose names and texts are plain."""
    folder = tmp_path_factory.mktemp("calm")
    plain = [
        {"response_id": f"r{i}", "prompt_text": f"Why {i}?", "response_text": "Because.",
         "respondent_id": f"writer {i}"}
        for i in range(len(IDS))
    ]  # fmt: skip
    backend = ScriptedBackend({"rationale": "so", **dict.fromkeys(CRITERIA, 5), "abstained": False})
    with Panel(
        backend, personas=["historian"], rationale="before", ledger=folder / "ledger.sqlite"
    ) as panel:
        return panel.score_many(plain, folder / "run")


def test_every_row_comes_back_as_it_went_in(run: Run) -> None:
    scores = read_scores(run.path)
    assert [row["response_id"] for row in scores] == IDS
    assert [row["respondent_id"] for row in scores] == IDS
    assert [row["<b>column</b>"] for row in scores] == IDS
    assert [row["=note"] for row in scores] == list(HAND_CORPUS[: len(IDS)])
    assert [row["response_id"] for row in read_judgments(run.path)] == IDS


def test_no_name_becomes_a_path(run: Run, calm: Run) -> None:
    inside, quiet = (
        sorted(str(path.relative_to(each.path)) for path in each.path.rglob("*"))
        for each in (run, calm)
    )
    # Three judgments are missing here and none there, which is drawn.
    assert set(inside) - set(quiet) == {"figures/missing.svg"}
    assert set(quiet) <= set(inside)
    assert {
        path.name.partition("-")[0].partition(".")[0] for path in run.path.parent.iterdir()
    } <= {
        "run",
        "ledger",
    }


def test_details_of_judgments_are_one_printable_line(run: Run) -> None:
    details = [row["detail"] for row in read_judgments(run.path) if row["detail"]]
    assert details
    assert all(detail.isprintable() for detail in details)


def test_exports_hold_the_same_rows_and_no_formula(run: Run, tmp_path: Path) -> None:
    import openpyxl

    export_run(run.path, "csv", tmp_path / "out.csv")
    found = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert len(found) == len(IDS) + 1
    assert {len(row) for row in found} == {len(found[0])}
    assert not [c for row in found for c in row if c.lstrip(" ")[:1] in tuple("=+@\t\r＝＋－＠")]
    export_run(run.path, "jsonl", tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line)["response_id"] for line in lines if line] == IDS
    export_run(run.path, "xlsx", tmp_path / "out.xlsx")
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    cells = [cell for row in book.active.iter_rows() for cell in row]
    assert not [cell for cell in cells if cell.data_type == "f" or cell.hyperlink]
    book.close()


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.risky: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.risky += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name.startswith("on")
            or (name in ("href", "src", "action") and not (value or "").startswith("#"))
        ]


def test_the_page_holds_no_element_and_no_handler_of_anybodys_text(run: Run, calm: Run) -> None:
    text = (run.path / "report.html").read_text(encoding="utf-8")
    hostile, quiet = Page(text), Page((calm.path / "report.html").read_text(encoding="utf-8"))
    for tag in ("script", "style", "iframe", "object", "embed", "form", "link", "base", "img",
                "meta", "svg"):  # fmt: skip
        # Three judgments are missing here and none there, which is drawn.
        drawn = 2 if tag == "svg" else 0  # wide, and for a phone
        assert hostile.tags[tag] == quiet.tags[tag] + drawn, tag
    assert hostile.risky == quiet.risky == []
    assert not [c for c in text if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert "\u202e" not in text


def acts_on_terminal(text: str) -> list[str]:
    """Characters that a terminal would act on: controls, and what turns the reading direction."""
    return [c for c in text if c != "\n" and not c.isprintable() and c != "\xa0"]


@pytest.mark.slow
def test_no_command_prints_a_character_that_a_terminal_acts_on(tmp_path: Path) -> None:
    table = tmp_path / "responses.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    broken = tmp_path / "broken.jsonl"
    faulty = [{**rows()[0], "response_id": text} for text in HAND_CORPUS]
    broken.write_text("".join(json.dumps(row) + "\n" for row in faulty), encoding="utf-8")
    ratings = tmp_path / "people.jsonl"
    people = [{"rater_id": n, "response_id": n, "overall": 5, n: "x"} for n in IDS]
    ratings.write_text("".join(json.dumps(row) + "\n" for row in people), encoding="utf-8")
    persona = tmp_path / "personas"
    persona.mkdir()
    (persona / "odd.yaml").write_text(
        'id: odd\nlabel: "\u202eodd \U000e0041"\naxis: "\u2066x"\ndescription: short\n'
        "version: '1'\nprovenance: \u202ehere\n",
        encoding="utf-8",
    )
    for arguments in (
        ("score", str(table), "--persona", "historian", "--out", "run"),
        ("score", str(broken), "--persona", "historian", "--out", "other"),
        ("score", "\x1b[2J\u202e.csv"),
        ("personas", "check", str(persona / "odd.yaml")),
        ("personas", "list", "--personas", str(persona)),
        ("export", "run", "--as", "csv"),
        ("humans", "inspect", str(ratings)),
        ("calibrate", "run", str(ratings), "--out", "calibration"),
    ):
        done = areopagus(*arguments, folder=tmp_path)
        assert done.returncode != 1, done.stderr
        assert not acts_on_terminal(done.stdout + done.stderr), arguments
    ours = [path for path in tmp_path.rglob("*") if path.parent.name not in ("personas", "home")]
    assert [path.name for path in ours if not PLAIN_NAME.fullmatch(path.name)] == []


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        (("score",), ("response_id", "prompt_text", "response_text", "@", "@")),
        (("score",), ("response_id", "prompt_text", "@")),
        (("humans", "inspect"), ("rater", "item", "@", "score")),
    ],
)
def test_no_column_name_writes_a_line_of_its_own(
    arguments: tuple[str, ...], header: tuple[str, ...], tmp_path: Path
) -> None:
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(name.replace("@", "x\nFORGED line\x1b[2J") for name in header)
        csv.writer(file).writerow(["5"] * len(header))
    done = areopagus(*arguments, "t.csv", folder=tmp_path)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert "x�FORGED line�[2J" in said
    assert not re.search("^FORGED", said, re.MULTILINE)
    assert not acts_on_terminal(done.stdout + done.stderr)


def test_a_file_whose_name_is_no_utf8_is_scored_and_a_folder_refused(tmp_path: Path) -> None:
    table = tmp_path / os.fsdecode(b"bad\xff.csv")
    try:
        table.write_text("response_id,prompt_text,response_text\nr1,Why?,Because it is.\n")
    except OSError:
        pytest.skip("this file system has no such names")
    with Panel(ScriptedBackend("7"), mode="holistic") as panel:
        run = panel.score_many(table, tmp_path / "run")
        assert json.loads((run.path / "run.json").read_text("utf-8"))["source"].endswith("bad?.csv")
        panel.score_many(table, tmp_path / "run")
        odd = tmp_path / os.fsdecode(b"run\xff")
        with pytest.raises(InputError, match="must have a name in UTF-8"):
            panel.score_many(table, odd)
    assert not odd.exists()
