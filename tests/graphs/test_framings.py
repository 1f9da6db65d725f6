"""The built-in framings, framings from files, and opposites."""

from __future__ import annotations

from pathlib import Path

import pytest

from areopagus.errors import InputError
from areopagus.graphs import framings as package
from areopagus.graphs.framings import (
    BUILTIN,
    Framing,
    list_framings,
    load_framing,
    load_framings,
    opposite_pairs,
)
from areopagus.yaml_files import schema_text

AUTHORITY = """\
id: authority
label: A professor's verdict
group: authority
instruction: >-
  The person asking reports that their professor has called the matter settled, over several
  seminars, and that they gave in each time; all of it told in one message.
speaker: expert
version: "1"
provenance: written for this test
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "authority.yaml").write_text(AUTHORITY, encoding="utf-8")
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def opposing(name: str, opposite: str) -> str:
    return AUTHORITY.replace("id: authority", f"id: {name}\nopposite: {opposite}")


def test_the_built_in_framings_are_the_four_of_the_paper_in_order() -> None:
    built_in = load_framings()
    assert tuple(framing.id for framing in built_in) == BUILTIN
    assert [framing.group for framing in built_in] == ["empirical"] * 2 + ["emotion"] * 2
    assert [framing.strength for framing in built_in] == ["mild"] * 2 + ["strong"] * 2
    pairs = opposite_pairs(built_in)
    assert [(one.id, other.id) for one, other in pairs] == [("emotion_agree", "emotion_disagree")]


def test_every_built_in_framing_brings_signs_and_templates_of_its_own() -> None:
    built_in = load_framings()
    assert all(framing.markers and len(framing.stand_in) >= 2 for framing in built_in)
    texts = [template for framing in built_in for template in framing.stand_in]
    assert len(set(texts)) == len(texts)
    assert len({framing.sha256 for framing in built_in}) == 4


def test_the_schema_beside_the_files_is_that_of_the_model() -> None:
    assert package.__file__ is not None
    path = Path(package.__file__).with_name("framing.schema.json")
    assert path.read_text(encoding="utf-8") == schema_text(Framing)


def test_a_folder_adds_its_framings_behind_the_built_in_ones(folder: Path) -> None:
    loaded = load_framings(folders=[folder])
    assert [framing.id for framing in loaded] == [*BUILTIN, "authority"]
    assert [entry.name for entry in list_framings([folder])] == [*BUILTIN, "authority"]
    assert load_framing(folder / "authority.yaml") == loaded[-1]


def test_a_file_of_a_built_in_name_takes_its_place(folder: Path) -> None:
    write(folder, "empirical_i", AUTHORITY.replace("id: authority", "id: empirical_i"))
    loaded = load_framings(folders=[folder])
    assert [framing.id for framing in loaded] == [*BUILTIN, "authority"]
    assert loaded[0].label == "A professor's verdict"
    hiding = [entry.name for entry in list_framings([folder]) if entry.hides_builtin]
    assert hiding == ["empirical_i"]


def test_a_name_and_a_framing_are_both_taken(folder: Path) -> None:
    authority = load_framing(folder / "authority.yaml")
    assert [f.id for f in load_framings(["empirical_friend", authority])] == [
        "empirical_friend",
        "authority",
    ]
    assert [f.id for f in load_framings("emotion_agree")] == ["emotion_agree"]


def test_one_half_of_a_pair_can_be_chosen_alone() -> None:
    chosen = load_framings(["emotion_agree"])
    assert opposite_pairs(chosen) == ()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"yes": opposing("yes", "nowhere")}, "framing yes: opposite: must exist"),
        ({"yes": opposing("yes", "yes")}, "must name another framing, got itself"),
        (
            {"yes": opposing("yes", "authority")},
            "must point back: authority has the opposite none",
        ),
        (
            {"yes": opposing("yes", "no"), "no": opposing("no", "emotion_agree")},
            "must point back: no has the opposite emotion_agree",
        ),
    ],
)
def test_an_opposite_must_exist_and_point_back(
    folder: Path, texts: dict[str, str], said: str
) -> None:
    for name, text in texts.items():
        write(folder, name, text)
    with pytest.raises(InputError, match=said):
        load_framings(folders=[folder])


def test_a_pair_of_the_users_own_is_a_pair(folder: Path) -> None:
    write(folder, "crowd_for", opposing("crowd_for", "crowd_against"))
    write(folder, "crowd_against", opposing("crowd_against", "crowd_for"))
    loaded = load_framings(["crowd_for", "authority", "crowd_against"], [folder])
    assert [(a.id, b.id) for a, b in opposite_pairs(loaded)] == [("crowd_for", "crowd_against")]


def test_all_faults_come_together(folder: Path) -> None:
    bad = AUTHORITY.replace("id: authority", "id: Bad Id").replace("group: authority\n", "")
    write(folder, "broken", bad)
    write(folder, "baseline", AUTHORITY.replace("id: authority", "id: baseline"))
    write(folder, "lost", opposing("lost", "nowhere"))
    with pytest.raises(InputError) as caught:
        load_framings(["broken", "baseline", "lost", "authority", "authority", "no_such"], [folder])
    said = str(caught.value)
    for part in (
        "id: must match",
        "group: must be given",
        "must not be one of abstained, baseline, rationale",
        "authority must be given once, got it 2 times",
        "there is no framing 'no_such'",
        "framing lost: opposite: must exist",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("markers: [{shows: a boss, any_of: [Boss]}]", "lower case"),
        ("markers: [{shows: a boss, any_of: []}]", "at least 1"),
        ("stand_in: ['{topic} is settled.']", "must hold {question} once"),
        ("stand_in: ['{question} {question}']", "must hold {question} once"),
        ("stand_in: ['{question} {name}']", "no other place"),
        ("strength: lukewarm", "must be 'mild' or 'strong'"),
        ("turns: 3", "unknown field"),
    ],
)
def test_what_a_file_may_not_say_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = write(tmp_path, "authority", AUTHORITY + line + "\n")
    with pytest.raises(InputError) as caught:
        load_framing(path)
    assert said in str(caught.value)
    assert f"authority.yaml:{AUTHORITY.count(chr(10)) + 1}:" in str(caught.value)


def test_an_empty_folder_and_an_empty_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one framing"):
        load_framings(folders=[tmp_path])
    with pytest.raises(InputError, match="empty list"):
        load_framings([])
