"""The built-in personas, personas from files, and the scaffold."""

import os
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from areopagus.environment import home
from areopagus.errors import InputError
from areopagus.personas import (
    BUILTIN,
    PLACEHOLDER,
    Persona,
    list_personas,
    load_persona,
    load_personas,
    read_persona_files,
    scaffold,
)

ECONOMIST = """\
id: economist
label: Behavioural Economist
axis: disciplinary
description: >-
  You read as an economist who studies how people really choose. You look for stated trade-offs,
  incentives and evidence about behaviour, and are wary of costs that nobody is said to bear.
version: "1"
provenance: written for this test
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "economist.yaml").write_text(ECONOMIST, encoding="utf-8")
    return tmp_path


def faults_of(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_persona(path)
    return [str(fault).removeprefix(f"{path.parent}{os.sep}") for fault in caught.value.faults]


# The built-in ones


def test_the_built_in_panel_is_five_disciplines_and_five_ideologies_in_order():
    panel = load_personas()
    assert tuple(persona.id for persona in panel) == BUILTIN
    assert [persona.axis for persona in panel] == ["disciplinary"] * 5 + ["ideological"] * 5


def test_a_built_in_persona_is_complete():
    for name in BUILTIN:
        persona = load_persona(name)
        assert persona.id == name
        assert 60 <= len(persona.description.split()) <= 120
        assert 15 <= len(persona.lexicon) <= 30
        # Each says what it looks for, what it is wary of, and what it credits all the same.
        for part in ("look for", "wary of", "credit"):
            assert part in persona.description


def test_no_two_built_in_personas_share_a_sentence_or_a_hash():
    panel = load_personas()
    sentences = [s.strip() for p in panel for s in re.split(r"[.!?]", p.description) if s.strip()]
    assert len(set(sentences)) == len(sentences)
    assert len({persona.sha256 for persona in panel}) == len({p.label for p in panel}) == len(panel)


# Adding and replacing


def test_a_file_dropped_into_a_folder_joins_the_panel_and_changes_no_other(folder):
    before = {persona.id: persona.sha256 for persona in load_personas()}
    panel = load_personas(folders=[folder])
    assert [persona.id for persona in panel] == [*BUILTIN, "economist"]
    assert {p.id: p.sha256 for p in panel if p.id != "economist"} == before


def test_a_file_with_a_built_in_name_takes_its_place_in_the_panel(folder):
    text = ECONOMIST.replace("economist", "historian", 1)
    (folder / "historian.yaml").write_text(text, encoding="utf-8")
    panel = load_personas(folders=[folder])
    assert [persona.id for persona in panel] == [*BUILTIN, "economist"]
    assert panel[2].label == "Behavioural Economist"
    hiding = [found.name for found in list_personas([folder]) if found.hides_builtin]
    assert hiding == ["historian"]


def test_a_persona_in_the_home_is_found_by_name_and_joins_no_panel_unasked(folder):
    own = home() / "personas"
    own.mkdir()
    (folder / "economist.yaml").rename(own / "economist.yaml")
    assert load_persona("economist").label == "Behavioural Economist"
    assert tuple(persona.id for persona in load_personas()) == BUILTIN


def test_named_personas_come_in_the_order_named_from_names_paths_and_objects(folder):
    given = Persona(
        id="mine", label="Mine", axis="own", description="d" * 20, version="1", provenance="here"
    )
    panel = load_personas(["ethicist", given, folder / "economist.yaml", "sociologist"])
    assert [persona.id for persona in panel] == ["ethicist", "mine", "economist", "sociologist"]
    assert panel[1] is given
    assert load_persona(given) is given


def test_the_last_folder_given_wins(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "economist.yaml").write_text(ECONOMIST.replace("Behavioural", "Labour"), "utf-8")
    assert load_personas(folders=[folder, other])[-1].label == "Labour Economist"
    assert load_personas(folders=[other, folder])[-1].label == "Behavioural Economist"


def test_all_faults_of_a_panel_come_together(folder):
    (folder / "broken.yaml").write_text("id: broken\n", encoding="utf-8")
    names = ["historan", "ethicist", folder / "broken.yaml", "ethicist", "nobody_like_this"]
    with pytest.raises(InputError) as caught:
        load_personas(names, [folder])
    text = str(caught.value)
    assert "there is no persona 'historan'; did you mean historian?" in text
    assert "there is no persona 'nobody_like_this'" in text
    assert "broken.yaml:1: description: must be given" in text
    assert "persona ethicist must be given once, got it 2 times" in text
    assert text.count("Known: ") == 1


def test_an_empty_panel_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="at least one persona"):
        load_personas([])
    with pytest.raises(InputError, match="must hold at least one persona"):
        load_personas(folders=[tmp_path])


# The model


def test_every_fault_of_a_persona_is_said_with_its_line(tmp_path):
    path = tmp_path / "economist.yaml"
    path.write_text(
        "id: Economist\nlabel: ''\naxis: two words\ndescription: short\nversion: 1.10\n"
        "provenanc: me\nlexicon:\n  cost: 0\n  Trade-Off: 1\n  no: 3.5\n  '?!': 1\n"
        "examples:\n  - prompt: p\n    response: r\n    expect: {overall: [7, 3], b: [1]}\n",
        encoding="utf-8",
    )
    faults = faults_of(path)
    for expected in (
        "economist.yaml:1: id: must match ^[a-z][a-z0-9_]{0,63}$, got 'Economist'",
        "economist.yaml:1: id: must be the file's name without its ending, 'economist'",
        "economist.yaml:1: provenance: must be given",
        "economist.yaml:2: label: must have at least 1 characters, got ''",
        "economist.yaml:3: axis: must match",
        "economist.yaml:4: description: must have at least 20 characters, got 'short'",
        'economist.yaml:5: version: must be text, got 1.10 (put it in quotes: "1.10")',
        "economist.yaml:6: provenanc: unknown field; did you mean provenance?",
        "economist.yaml:8: lexicon.cost: must be greater than 0, got 0",
        "economist.yaml:9: lexicon.Trade-Off: must be in lower case with single spaces",
        "economist.yaml:10: lexicon.no: must be at most 3, got 3.5",
        "economist.yaml:11: lexicon.?!: must be a word or a phrase of at most five words",
        "economist.yaml:15: examples[0].expect.b[1]: must be given",
    ):
        assert any(fault.startswith(expected) for fault in faults), (expected, faults)
    path.write_text(
        ECONOMIST
        + "examples:\n  - prompt: p\n    response: r\n    expect:\n      overall: [7, 3]\n",
        encoding="utf-8",
    )
    (fault,) = faults_of(path)
    assert fault == (
        "economist.yaml:13: examples[0].expect.overall: must be [lowest, highest] in this order, "
        "got a list of 2"
    )


def test_a_persona_cannot_be_changed_and_its_hash_follows_its_text(folder):
    persona = load_persona("economist", [folder])
    with pytest.raises(ValidationError):
        persona.label = "other"
    with pytest.raises(ValidationError):
        Persona.model_validate({**persona.model_dump(), "weight": 3})
    changed = persona.model_copy(update={"description": persona.description + " More."})
    assert re.fullmatch(r"[0-9a-f]{64}", persona.sha256)
    assert changed.sha256 != persona.sha256 == persona.model_copy().sha256


# The scaffold


def test_a_scaffold_is_refused_for_its_placeholder_alone_and_in_order_without_it(tmp_path):
    for name in ["labour_lawyer", "null", "no", "true"]:
        path = tmp_path / f"{name}.yaml"
        path.write_text(scaffold(name), encoding="utf-8")
        (fault,) = faults_of(path)
        assert f"description: must describe the perspective: the scaffold's {PLACEHOLDER}" in fault
        path.write_text(scaffold(name).replace(PLACEHOLDER, "A labour lawyer"), encoding="utf-8")
        (persona,) = read_persona_files([path])
        assert persona.id == name


def test_the_optional_parts_of_a_scaffold_work_once_uncommented(tmp_path):
    text = scaffold("labour_lawyer").replace(PLACEHOLDER, "A labour lawyer")
    head, mark, tail = text.partition("# lexicon:")
    lines = (mark + tail).splitlines()
    tail = "\n".join(
        line.removeprefix("# ")
        for line in lines
        if not line.startswith(("# Optional", "# reads", "# Only"))
    )
    path = tmp_path / "labour_lawyer.yaml"
    path.write_text(head + tail + "\n", encoding="utf-8")
    persona = load_persona(path)
    assert persona.lexicon == {"trade-off": 1.5, "long run": 1.0}
    assert persona.examples[0].expect == {"overall": (1, 4)}


def test_a_scaffold_needs_a_name_that_can_be_an_id():
    for name in ["", "Labour", "1st", "a b", "../x", "a\n", "x" * 65]:
        with pytest.raises(InputError, match="name must be lower-case"):
            scaffold(name)


# The page about personas


def _yaml_of_page() -> str:
    page = Path(__file__).parents[2] / "docs" / "guides" / "personas.md"
    (block,) = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def test_the_file_in_the_docs_is_a_persona_and_its_faults_are_those_the_loader_reports(tmp_path):
    text = _yaml_of_page()
    (tmp_path / "economist.yaml").write_text(text, encoding="utf-8")
    persona = load_persona("economist", [tmp_path])
    assert 60 <= len(persona.description.split()) <= 120
    assert persona.examples[0].expect == {"overall": (1, 4)}
    for old, new in (
        ("label:", "lable:"),
        ('version: "1"', "version: 1.10"),
        ("trade-off: 2.0", "trade-off: 4"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "economist.yaml"
    path.write_text(text, encoding="utf-8")
    page = (Path(__file__).parents[2] / "docs" / "guides" / "personas.md").read_text(
        encoding="utf-8"
    )
    assert "\n".join(f"mine/{fault}" for fault in faults_of(path)) in page
