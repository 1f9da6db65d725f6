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
