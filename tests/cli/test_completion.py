"""What a shell completes: commands, options, files, personas, rubrics, kinds of export."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from areopagus.cli.main import COMMANDS, cli


def completed(line: str) -> list[str]:
    """What may stand in the place of the line's last word; <file> and <dir> for places."""
    *words, last = line.split(" ")
    shell = ShellComplete(cli, {}, "areopagus", "_AREOPAGUS_COMPLETE")
    found = shell.get_completions(words, last)
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ca", ["calibrate"]),
        ("--ver", ["--version"]),
        ("personas ne", ["new"]),
        ("audit socio", ["socioeval"]),
        ("score --max-c", ["--max-cost"]),
        ("score ", ["<file>"]),
        ("compare runs/one ", ["<file>"]),
        ("score r.csv --panel ", ["<file>"]),
        ("score r.csv --personas ", ["<dir>"]),
        ("score r.csv --persona histo", ["<file>", "historian"]),
        ("score r.csv --persona ./histo", ["<file>"]),
        ("score r.csv --rubric crit", ["<file>", "critical_thinking"]),
        ("explain r.csv merit-3 --persona histo", ["<file>", "historian"]),
        ("personas show moral", ["moral_philosopher"]),
        ("rubrics show crit", ["critical_thinking"]),
        ("personas new ", []),
        ("explain r.csv ", []),
        ("export run --as scr", ["scrub"]),
        ("score r.csv --mode hol", ["holistic"]),
    ],
)
def test_a_word_is_completed_to_what_may_stand_there(line: str, found: list[str]) -> None:
    assert completed(line) == found


def test_every_command_is_offered_and_none_is_imported_for_it() -> None:
    before = set(sys.modules)
    assert completed("") == list(COMMANDS)
    assert not {name for name in set(sys.modules) - before if name.startswith("areopagus.cli.")}


def test_personas_of_a_folder_named_before_are_offered(examples: Path) -> None:
    folder = examples / "personas"
    (mine,) = (file.stem for file in folder.glob("*.yaml"))
    assert mine in completed(f"score r.csv --personas {folder} --persona ")


def test_a_file_that_cannot_be_read_is_no_error_in_a_line_being_typed(tmp_path: Path) -> None:
    for ending in ("yaml", "yml"):
        (tmp_path / f"one.{ending}").touch()
    assert completed(f"score r.csv --personas {tmp_path} --persona one") == ["<file>"]


def test_bash_completes_with_the_line_of_the_documentation() -> None:
    program = Path(sys.executable).with_name("areopagus")
    if shutil.which("bash") is None or not program.is_file():
        pytest.skip("needs bash, and the command installed")
    script = """
        eval "$(_AREOPAGUS_COMPLETE=bash_source areopagus)"
        COMP_WORDS=(areopagus personas sh) COMP_CWORD=2
        _areopagus_completion areopagus
        echo "${COMPREPLY[@]}"
    """
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert (done.stdout, done.returncode) == ("show\n", 0), done.stderr
