"""Packets for other tools: blinded, whole, and harmless whatever stands in a text."""

from __future__ import annotations

import html.parser
import json
import re
import stat
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from study_data import read_csv, study_rows

from areopagus.errors import InputError
from areopagus.study import (
    PACKET_KINDS,
    BuiltStudy,
    RatingSettings,
    build_study,
    build_writing,
    export_packets,
    read_packets,
)

HOSTILE = (
    "<script>alert(1)</script> & <img src=x onerror=alert(2)> {{ 7*7 }} ${e://Field/x} [[Block:x]]"
    '\n\n=HYPERLINK("http://x")\n\n\u202ereversed </View> $question "quoted" \'so\' ]]>'
)


@pytest.fixture
def hostile(tmp_path: Path) -> BuiltStudy:
    """Two raters; every text, the title and the prompt are an attack."""
    rows = study_rows(prompts=1, calibration=False)
    for number, row in enumerate(rows):
        row["response_text"] = f"=1+{number} {HOSTILE} {number}"
        row["prompt_text"] = HOSTILE
    settings = RatingSettings(
        title=HOSTILE.split("\n", maxsplit=1)[0], instructions=HOSTILE, keep_form=True
    )
    return build_study([rows], raters=2, out=tmp_path / "h", settings=settings, seed=1)


class Tags(html.parser.HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("kind", PACKET_KINDS)
def test_every_form_holds_all_texts_and_nothing_that_unblinds(
    built: BuiltStudy, rows: list[dict[str, str]], kind: str
) -> None:
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("xlsxwriter")
    (built.folder / "organiser").rename(built.folder.parent / "away")
    written = export_packets(built.folder, kind)
    assert len([file for file in written.files if file.stem.startswith("r0")]) == 6
    for file in written.files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        if kind == "xlsx":
            book = openpyxl.load_workbook(file)
            text = "\n".join(
                str(cell) for sheet in book for row in sheet.values for cell in row if cell
            )
            book.close()
        else:
            text = file.read_text(encoding="utf-8")
        for row in rows:
            assert row["response_id"] not in text
            assert row["respondent_id"] not in text
        for packet in read_packets(built.folder):
            if packet.rater == file.stem and kind in ("csv", "xlsx", "label-studio"):
                for one in packet.responses:
                    forms = (one.text, one.text.replace('"', '""'), json.dumps(one.text)[1:-1])
                    assert any(form in text for form in forms)


def test_the_printed_page_shows_attacks_as_text(hostile: BuiltStudy) -> None:
    page = export_packets(hostile.folder, "html").files[0].read_text(encoding="utf-8")
    found = Tags()
    found.feed(page)
    assert not found.tags & {"script", "img", "iframe", "link", "form", "a"}
    assert not any(name.startswith("on") for name in found.attributes)
    assert "<script>alert(1)</script>" in found.text
    assert "{{ 7*7 }}" in found.text
    assert "\u202e" not in page
    assert "default-src 'none'" in page


def test_the_printed_page_shows_what_acts_in_a_rubric_too(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "rubrics" / "critical_thinking.yaml"
    rubric = yaml.safe_load(source.read_text(encoding="utf-8"))
    first = rubric["dimensions"][0]
    rubric["id"], rubric["purpose"] = "odd", "\u202epurpose"
    first |= {name: f"\u202e{name} of {name}" for name in ("label", "definition", "question")}
    first["anchors"] = {low: f"\u202eanchor {low}" for low in first["anchors"]}
    (tmp_path / "odd.yaml").write_text(yaml.safe_dump(rubric, width=10_000), encoding="utf-8")
    rows = study_rows(prompts=1, calibration=False)
    settings = RatingSettings(title="A\u202etitle")
    made = build_study(
        [rows], raters=2, out=tmp_path / "s", rubric=tmp_path / "odd.yaml", settings=settings
    )
    page = export_packets(made.folder, "html").files[0].read_text(encoding="utf-8")
    for field in ("title", "purpose", "label", "definition", "question", "anchor 2"):
        assert f"�{field}" in page
    assert all(c == "\n" or c.isprintable() for c in page)


def test_no_cell_of_the_csv_is_a_formula(hostile: BuiltStudy) -> None:
    for row in read_csv(export_packets(hostile.folder, "csv").files[0]):
        assert not any(value.startswith(("=", "+", "-", "@")) for value in row.values())
        assert row["response"].startswith("'=1+")


def test_no_cell_of_the_workbook_is_a_formula(hostile: BuiltStudy) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    book = openpyxl.load_workbook(export_packets(hostile.folder, "xlsx").files[0])
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    assert not any("\u202e" in str(cell.value) for cell in cells)
    rules = book.worksheets[0].data_validations.dataValidation
    assert [(rule.type, rule.formula1, rule.formula2) for rule in rules] == [("whole", "1", "10")]
    book.close()


def test_the_labelling_interface_is_sound_xml_with_a_control_for_every_score(
    hostile: BuiltStudy,
) -> None:
    folder = export_packets(hostile.folder, "label-studio").folder
    root = ET.fromstring((folder / "labeling_config.xml").read_text())
    numbers = [node.attrib for node in root.iter("Number")]
    assert len(numbers) == 6 * 5
    assert {(node["min"], node["max"]) for node in numbers} == {("1", "10")}
    names = {node.attrib["name"] for node in root.iter("Text")}
    assert names == {"question", *(f"response_{label}" for label in "ABCDEF")}
    assert all(node["toName"] in names for node in numbers)
    assert "$" not in "".join(node.attrib["value"] for node in root.iter("Header"))
    tasks = json.loads((folder / "r01.json").read_text())
    assert set(tasks[0]["data"]) == {"rater", "packet", *names}


def test_nothing_in_a_survey_is_a_command_or_a_field(hostile: BuiltStudy) -> None:
    text = export_packets(hostile.folder, "qualtrics").files[0].read_text()
    commands = set(re.findall(r"\[\[([A-Za-z]+)", text))
    assert commands == {"AdvancedFormat", "ED", "Block", "Question", "ID", "AdvancedChoices",
                        "Choice", "AdvancedAnswers", "Answer"}  # fmt: skip
    assert "[[Block:x]]" not in text
    assert "${" not in text
    assert "<script" not in text
    assert text.count("[[Question:Matrix]]") == 6
    assert "[[ED:rater:r01]]" in text
    assert len(re.findall(r"\[\[ID:P1[A-F]\]\]", text)) == 6


def test_a_text_too_long_for_a_workbook_is_refused_and_not_cut(tmp_path: Path) -> None:
    rows = study_rows(prompts=1, humans=3, calibration=False)
    rows[0]["response_text"] = "word " * 8000
    made = build_study([rows], raters=2, out=tmp_path / "s")
    with pytest.raises(InputError, match="32,767 characters"):
        export_packets(made.folder, "xlsx")
    assert export_packets(made.folder, "csv").files


def test_letters_that_a_spreadsheet_counts_twice_are_not_cut_off_either(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    rows = study_rows(prompts=1, humans=3, calibration=False)
    rows[0]["response_text"] = f"{'😀' * 16_000} the end"
    fits = build_study([rows], raters=2, out=tmp_path / "fits")
    book = openpyxl.load_workbook(export_packets(fits.folder, "xlsx").files[0])
    cells = [str(cell) for row in book.worksheets[0].values for cell in row]
    assert any(cell.endswith("😀 the end") for cell in cells)
    book.close()
    rows[0]["response_text"] = f"{'😀' * 18_000} the end"
    made = build_study([rows], raters=2, out=tmp_path / "long")
    with pytest.raises(InputError, match="32,767 characters, a text here has 36,008"):
        export_packets(made.folder, "xlsx")
    settings = RatingSettings(instructions="𠮷" * 18_000)
    rows[0]["response_text"] = "short"
    told = build_study([rows], raters=2, out=tmp_path / "told", settings=settings)
    with pytest.raises(InputError, match="What to do: a cell"):
        export_packets(told.folder, "xlsx")


def test_what_cannot_be_exported_is_refused(built: BuiltStudy, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be one of"):
        export_packets(built.folder, "pdf")
    with pytest.raises(InputError, match="is not a study"):
        export_packets(tmp_path / "nowhere", "csv")
    made = build_writing([{"prompt_text": "Why?"}], writers=1, out=tmp_path / "w")
    with pytest.raises(InputError, match="nothing to rate"):
        export_packets(made.folder, "csv")
