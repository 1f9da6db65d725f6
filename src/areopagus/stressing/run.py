"""A finished (or interrupted) stress test: its folder, its figures, its outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.run_folder import read_run_file
from ..run import Run

STRESS_FILE = "stress.json"
TEXT_FILE = "stress.txt"
VARIANTS_FILE = "variants.csv"


class StressRun:
    """The folder of a stress test, read."""

    def __init__(self, path: str | Path) -> None:
        """Reads run.json; the figures are read when asked for.

        Raises:
            InputError: the folder holds no stress test.
        """
        self.path = Path(path)
        self.record: dict[str, Any] = read_run_file(self.path, kind="stress")

    @property
    def state(self) -> str:
        """`complete`, `interrupted`, `budget` (the cost cap stopped it) or `running`."""
        return str(self.record["state"])

    @property
    def figures(self) -> dict[str, Any]:
        """Every number with n, interval, method and reason: the content of stress.json.

        Raises:
            InputError: the test has not come so far.
        """
        file = self.path / STRESS_FILE
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
        return found

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells: one a target, condition and dimension."""
        found: list[dict[str, Any]] = self.figures["cells"]
        return found

    @property
    def panel_run(self) -> Run:
        """The panel's own run folder inside: judgments, scores, report."""
        return Run(self.path / "panel")

    @property
    def variants_path(self) -> Path:
        """The table of variants, to be looked through and handed back."""
        return self.path / VARIANTS_FILE

    @property
    def text(self) -> str:
        """The report as it is printed.

        Raises:
            InputError: the test has not come so far.
        """
        file = self.path / TEXT_FILE
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        stages = self.record["stages"]
        troubled = stages.get("rewrite", {}).get("failed", 0)
        respond = stages.get("respond", {})
        for counts in (respond, respond.get("regenerated", {})):
            troubled += sum(counts.get(name, 0) for name in ("failed", "refused", "empty"))
        for stage in ("score", "retest"):
            counts = stages.get(stage, {}).get("counts", {})
            troubled += sum(counts.get(name, 0) for name in ("refused", "unreadable", "failed"))
        return 3 if troubled else 0

    def __repr__(self) -> str:
        return f"StressRun({str(self.path)!r}, {self.state})"
