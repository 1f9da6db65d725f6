"""Files are found by name in the order of folders; what a folder holds, and what hides what."""

from pathlib import Path

import pytest

from areopagus.catalogue import folder_entries
from areopagus.environment import home
from areopagus.errors import InputError
from areopagus.personas import PERSONAS


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path_factory.mktemp("home")))


def _persona(name: str, *, folders=()):
    return PERSONAS.find(name, folders)


def test_the_last_folder_wins_then_the_home_then_the_built_in_ones(tmp_path):
    first, second, own = tmp_path / "first", tmp_path / "second", home() / "personas"
    assert _persona("historian").is_builtin
    for folder in (own, first, second):
        folder.mkdir(parents=True)
    (own / "historian.yaml").touch()
    assert _persona("historian").path == own / "historian.yaml"
    assert not _persona("historian").is_builtin
    (first / "historian.yml").touch()
    (second / "historian.yaml").touch()
    assert _persona("historian", folders=[first]).path == first / "historian.yml"
    assert _persona("historian", folders=[first, second]).path == second / "historian.yaml"
    assert _persona("historian", folders=[second, first]).path == first / "historian.yml"


def test_a_file_that_hides_a_built_in_one_is_marked_and_others_are_not(tmp_path):
    (tmp_path / "historian.yaml").touch()
    (tmp_path / "economist.yaml").touch()
    marks = {found.name: found.hides_builtin for found in PERSONAS.entries([tmp_path])}
    assert marks["historian"]
    assert not marks["economist"]
    assert not marks["ethicist"]
    sentence = f"persona historian: {tmp_path / 'historian.yaml'} hides the built-in one"
    assert PERSONAS.hiding(None, [tmp_path]) == PERSONAS.hiding(["historian"], [tmp_path])
    assert PERSONAS.hiding(["historian", "economist"], [tmp_path]) == (sentence,)
    assert PERSONAS.hiding(["ethicist", tmp_path / "historian.yaml"], [tmp_path]) == ()


@pytest.mark.parametrize(
    "text", ["sub/historian", "historian.yaml", "historian.yml", "./historian"]
)
def test_a_separator_or_a_yaml_ending_makes_a_path(text):
    found = _persona(text)
    assert found.path == Path(text)
    assert not found.is_builtin
    assert found.name == "historian"


def test_an_unknown_name_names_the_closest_and_all_there_are():
    with pytest.raises(InputError) as caught:
        _persona("historan")
    assert "there is no persona 'historan'; did you mean historian?" in str(caught.value)
    assert "sociologist" in str(caught.value)


def test_a_folder_that_is_missing_or_a_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not there; it must be a folder"):
        folder_entries(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="must be a folder, got a file"):
        folder_entries(tmp_path / "file")


def test_a_folder_gives_its_yaml_files_and_refuses_two_of_one_name(tmp_path):
    for name in ("b.yaml", "a.yml", ".hidden.yaml", "note.txt", "c.YAML", "yaml", ".yaml"):
        (tmp_path / name).touch()
    (tmp_path / "d.yaml").mkdir()
    assert list(folder_entries(tmp_path)) == ["a", "b"]
    (tmp_path / "a.yaml").touch()
    with pytest.raises(InputError, match=r"a\.yml: stands beside a\.yaml"):
        folder_entries(tmp_path)
