"""`areopagus attack` on the command line, with the embedded stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_stand_in_is_told_with_the_option_that_replaces_it(
    call: Callable[..., tuple[Any, str, str]], tmp_path: Path, responses: Path
) -> None:
    _, _, told = call(
        "attack", "--families", "authority", "--persona", "historian", "--ledger", tmp_path / "l",
        "--dry-run",
    )  # fmt: skip
    assert told.endswith("is embedded and no language model. Name models with --models.\n")
    run = tmp_path / "run"
    call("score", responses, "--persona", "historian", "--ledger", tmp_path / "l", "--out", run)
    _, printed, told = call("judges", run, "--out", tmp_path / "judges")
    assert (printed.count("embedded stand-ins"), told) == (1, "")


def test_bad_input_is_told_with_its_value_what_is_allowed_and_what_is_there(
    call: Callable[..., tuple[Any, str, str]], responses: Path
) -> None:
    for command, said in (
        (["attack", "--placements", "front"],
         "--placements: must be 'start', 'middle', 'end' or 'instead', got 'front'"),
        (["attack", "--corpus", "nope"], "nope: is not there; it must be an attack file"),
        (["judges", responses], f"{responses}: is a file; a run is a folder"),
    ):  # fmt: skip
        assert call(*command) == (2, "", f"Error: {said}\n")
