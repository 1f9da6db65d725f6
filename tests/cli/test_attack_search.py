"""`areopagus attack --search` on the command line, with the embedded stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_first_try_needs_no_model_and_a_dry_run_counts_the_search(
    call: Callable[..., tuple[Any, str, str]], tmp_path: Path
) -> None:
    command = [
        "attack", "--search", "--families", "authority", "--placements", "end", "--texts", "1",
        "--search-rounds", "1", "--search-texts", "2", "--persona", "historian",
        "--ledger", tmp_path / "l", "--out", tmp_path / "run",
    ]  # fmt: skip
    code, told, _ = call(*command, "--dry-run")
    assert code == 0
    # A request for rewordings; 1 and 2 texts with controls and the clean ones, on two prompts; six
    # held out, clean, with the text that it begins with, the one found, and their controls.
    rows = [
        line.split()[:3] for line in told.splitlines() if line.startswith(("  search", "  score"))
    ]
    assert rows == [
        ["search", "offline/rewriter", "1"],
        ["search", "offline/lexical", str(2 * (1 + 2) + 2 * (1 + 4))],
        ["score", "offline/lexical", str(6 * 5)],
    ]
    assert not (tmp_path / "run").exists()
    code, told, _ = call(*command)
    assert code == 0
    assert told.startswith("DEMONSTRATION")
    assert "A search by offline/rewriter through 3 texts" in told


def test_a_stand_in_is_told_with_the_option_that_replaces_it(
    call: Callable[..., tuple[Any, str, str]], tmp_path: Path, responses: Path
) -> None:
    search = ["attack", "--search", "--families", "authority", "--persona", "historian"]
    search += ["--ledger", tmp_path / "l", "--dry-run"]
    _, _, told = call(*search, "--models", "openai/gpt-4o-mini")
    assert "offline/rewriter is embedded and no language model" in told
    assert told.split()[-1] == "--search-model."
    _, _, told = call(*search)
    assert " ".join(told.split()[-3:]) == "--models and --search-model."
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
