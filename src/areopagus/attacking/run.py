"""A finished (or interrupted) attack or rescoring: its folder, its figures, its outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from ..errors import InputError, InputFault
from ..records.run_folder import read_run_file
from ..run import Run

PANEL_FOLDER = "panel"


class _AuditRun:
    """The folder of one of the two, read."""

    kind: ClassVar[str]

    def __init__(self, path: str | Path) -> None:
        """Reads run.json; the figures are read when asked for.

        Raises:
            InputError: the folder holds no run of this kind.
        """
        self.path = Path(path)
        self.record: dict[str, Any] = read_run_file(self.path)
        if self.record.get("kind") != self.kind:
            raise InputError([InputFault(str(self.path), f"holds no run of kind {self.kind}")])

    @property
    def state(self) -> str:
        """`complete`, `interrupted`, `budget` (the cost cap stopped it) or `running`."""
        return str(self.record["state"])

    @property
    def figures(self) -> dict[str, Any]:
        """Every number with n, interval, method and reason.

        Raises:
            InputError: the run has not come so far.
        """
        found: dict[str, Any] = json.loads(self._read("json"))
        return found

    @property
    def text(self) -> str:
        """The report as it is printed.

        Raises:
            InputError: the run has not come so far.
        """
        return self._read("txt")

    @property
    def panel_run(self) -> Run:
        """The panel's own run folder inside: judgments, scores, report."""
        return Run(self.path / PANEL_FOLDER)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        counts = self.record["stages"].get("score", {}).get("counts", {})
        return 3 if any(counts.get(s, 0) for s in ("refused", "unreadable", "failed")) else 0

    def _read(self, suffix: str) -> str:
        file = self.path / f"{self.kind}.{suffix}"
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {self.state})"


class AttackRun(_AuditRun):
    """An attack: `attack.json`, `attack.csv`, `attack.txt` and the panel's run."""

    kind = "attack"


class RescoreRun(_AuditRun):
    """A rescoring: `rescore.json`, `rescore.csv`, `rescore.txt` and the panel's run."""

    kind = "rescore"
