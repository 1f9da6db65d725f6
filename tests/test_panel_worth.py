"""The page "What is a panel worth?" shows what its script computes of the stored scores."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "start" / "panel-worth.md"
REAL = ROOT / "examples" / "real"
SUMMEVAL = ROOT.parent / "shared/data/summeval/human_ratings_12systems.csv.gz"


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.long
def test_every_table_and_the_picture_are_made_of_the_stored_scores(tmp_path: Path) -> None:
    worth = module(ROOT / "examples/protocol/panel_worth.py")
    judges, people = REAL / "judges.parquet", REAL / "people.parquet"
    study = worth.Study(judges, people, tmp_path)
    own = worth.Run.from_judgments(people, tmp_path / "people", columns={"rater_id": "rater_place"})
    drawing = tmp_path / "picture.svg"
    made = worth.blocks(study, own, drawing)
    assert made == {name: block(f"worth: {name}") for name in made}
    text = re.compile(r"<text[^>]*>([^<]*)</text>")
    shown = [text.findall(path.read_text("utf-8")) for path in (
        drawing, ROOT / "docs/pictures/panel-worth.svg")]  # fmt: skip
    assert shown[0] == shown[1] != []


def test_the_table_of_experts_is_made_of_the_ratings() -> None:
    if not SUMMEVAL.is_file():
        pytest.skip(f"no {SUMMEVAL.name} on this machine")
    assert module(ROOT / "docs/tools/experts.py").experts_and_crowd(SUMMEVAL) == block("experts")


def test_the_figures_of_the_readme_stand_in_the_tables_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    described = re.search(r"!\[(Agreement with a person[^\]]*)\]", readme)
    assert described is not None
    rows = {cells[0]: cells for cells in map(_cells, block("worth: subsets").splitlines())}
    for label, name in (
        ("one judge", "one judge"),
        ("four wordings of one model", "4 wordings of one model"),
        ("five models", "5 models, one wording"),
        ("all twenty", "all 20"),
    ):
        figure = re.search(rf"{label} (\.\d+)".replace(" ", r"\s"), described[1])
        assert figure is not None, label
        assert rows[name][2] == f"0{figure[1]}"
    beside = [_cells(line) for line in block("worth: beside").splitlines()[2:]]
    known = [float(cells[1]) for cells in beside if cells[-1] == "better"]
    assert f"one more crowd worker {sum(known) / len(known):.2f}".replace("0.", ".") in described[1]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_decimal_of_the_text_stands_in_a_table() -> None:
    page = PAGE.read_text("utf-8")
    tables = "".join(re.findall(r"<!-- [\w: ]+ -->\n.*?<!-- end -->", page, re.DOTALL))
    text = re.sub(r"<!-- [\w: ]+ -->\n.*?<!-- end -->|```.*?```", "", page, flags=re.DOTALL)
    decimals = re.findall(r"\d+\.\d+", text)
    assert decimals
    assert [one for one in decimals if one not in tables] == []
