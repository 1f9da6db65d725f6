"""A finished (or interrupted) audit: its folder, its figures, its outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..audits.answers_table import AnswersTable
from ..errors import InputError, InputFault
from ..records.run_folder import read_run_file

AUDIT_FILE = "audit.json"
TEXT_FILE = "audit.txt"
FIGURES_FOLDER = "figures"


class AuditRun:
    """The folder of an audit, read."""

    def __init__(self, path: str | Path) -> None:
        """Reads run.json; the figures are read when asked for.

        Raises:
            InputError: the folder holds no audit.
        """
        self.path = Path(path)
        self.record: dict[str, Any] = read_run_file(self.path, kind="audit")

    @property
    def state(self) -> str:
        """`complete`, `interrupted`, `budget` (the cost cap stopped it) or `running`."""
        return str(self.record["state"])

    @property
    def targets(self) -> tuple[str, ...]:
        """The models under test, or the respondents."""
        return tuple(self.record["targets"])

    @property
    def figures(self) -> dict[str, Any]:
        """Every number with n, interval, method and reason: the content of audit.json.

        Raises:
            InputError: the audit has not come so far.
        """
        found: dict[str, Any] = json.loads(self._text(AUDIT_FILE))
        return found

    @property
    def answers(self) -> AnswersTable:
        """One row a planned asking, whatever became of it."""
        return AnswersTable(self.path, self.targets)

    @property
    def statuses(self) -> dict[str, int]:
        """Status to number of askings."""
        return dict(self.record["stages"].get("statuses", {}))

    @property
    def text(self) -> str:
        """The report as it is printed.

        Raises:
            InputError: the audit has not come so far.
        """
        return self._text(TEXT_FILE)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside.

        A target's refusal is a finding of an audit, and so is an answer that no rule decides where
        nobody was to judge; they are no trouble.
        """
        if self.state == "budget":
            return 4
        statuses = self.statuses
        troubled = sum(statuses.get(name, 0) for name in ("failed", "empty", "unreadable"))
        classify = self.record["stages"].get("classify", {})
        troubled += classify.get("rulings", {}).get("unresolved", 0)
        return 3 if troubled else 0

    def _text(self, name: str) -> str:
        file = self.path / name
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error

    def __repr__(self) -> str:
        return f"AuditRun({str(self.path)!r}, {self.state})"
