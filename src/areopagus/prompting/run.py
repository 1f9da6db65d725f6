"""A finished (or interrupted) construction of prompts: its folder, its figures, its outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.run_folder import read_run_file
from .tables import PROMPTS_FILE

FIGURES_FILE = "prompts.json"
TEXT_FILE = "prompts.txt"
KIND = "prompts"


class PromptRun:
    """The folder of a construction, read."""

    def __init__(self, path: str | Path) -> None:
        """Reads run.json; the figures are read when asked for.

        Raises:
            InputError: the folder holds no construction of prompts.
        """
        self.path = Path(path)
        self.record: dict[str, Any] = read_run_file(self.path, kind=KIND)

    @property
    def state(self) -> str:
        """`complete`, `interrupted`, `budget` (the cost cap stopped it) or `running`."""
        return str(self.record["state"])

    @property
    def prompts_path(self) -> Path:
        """The prompt set: what `respond`, `stress` and `sample` take."""
        return self.path / PROMPTS_FILE

    @property
    def figures(self) -> dict[str, Any]:
        """Every number with n, error, interval, method and reason: the content of prompts.json.

        Raises:
            InputError: the construction has not come so far.
        """
        try:
            found: dict[str, Any] = json.loads(self._read(FIGURES_FILE))
        except ValueError as error:
            file = self.path / FIGURES_FILE
            raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
        return found

    @property
    def text(self) -> str:
        """The report as it is printed.

        Raises:
            InputError: the construction has not come so far.
        """
        return self._read(TEXT_FILE)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        stages = self.record["stages"]
        found = stages.get("construct", {})
        bundles, votes = found.get("bundles", {}), found.get("votes", {})
        troubled = sum(bundles.get(name, 0) for name in ("partial", *_TROUBLE))
        troubled += sum(votes.get(name, 0) for name in _TROUBLE)
        troubled += sum(found.get("pair_votes", {}).get(name, 0) for name in _TROUBLE)
        troubled += stages.get("embed", {}).get("failed", 0)
        return 3 if troubled else 0

    def _read(self, name: str) -> str:
        file = self.path / name
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error

    def __repr__(self) -> str:
        return f"PromptRun({str(self.path)!r}, {self.state})"


_TROUBLE = ("refused", "unreadable", "failed")
