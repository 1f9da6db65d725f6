"""`JobRun`: the folder of a finished or interrupted job, read, and its document written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InputError, InputFault
from ..records.estimates import ESTIMATES_FILE, Estimates, read_estimates, write_estimates
from ..records.run_folder import FIGURES_FOLDER, REPORT_FILE, read_run_file, replaced

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.document import Document

TEXT_FILE = "report.txt"
"""The whole document as text, beside the page."""


class JobRun(ABC):
    """A folder of results: run.json, the tables of estimates, and what is shown of them.

    Attributes:
        kind: of the run, in run.json.
        path: the folder.
        record: the content of run.json.
    """

    kind: ClassVar[str]
    command: ClassVar[str] = ""
    """The command that makes such a folder, where it is not called like the kind."""

    def __init__(self, path: str | Path) -> None:
        """Reads run.json; the tables are read when asked for.

        Raises:
            InputError: the folder holds no run of this kind.
        """
        self.path = Path(path)
        self.record: dict[str, Any] = read_run_file(self.path, kind=self.kind)

    @property
    def state(self) -> str:
        """`complete`, `interrupted`, `budget` (the cost cap stopped it) or `running`."""
        return str(self.record["state"])

    @property
    def estimates(self) -> pd.DataFrame:
        """Every figure with its interval, unit, method and reason; see `records.estimates`.

        Raises:
            InputError: the job has not come so far, or the file cannot be read.
        """
        return read_estimates(self.path)

    def estimate_stored(self) -> Estimates | None:
        """The estimates of a folder of the first version, which wrote none, made of its tables.

        None where the tables do not suffice.
        """
        return None

    def require_estimates(self) -> None:
        """Sees to it that the folder has its estimates: one of the first version gets them now.

        Raises:
            InputError: they cannot be made of what the folder holds.
        """
        if (self.path / ESTIMATES_FILE).is_file():
            return
        found = self.estimate_stored()
        if found is None:
            raise InputError(
                [InputFault(str(self.path), f"has no {ESTIMATES_FILE}, from which it is shown")],
                hint=f"Give the command areopagus {self.command or self.kind} … --out {self.path} "
                "again: it goes on where it stopped, and nothing is paid twice.",
            )
        write_estimates(self.path, found)

    @abstractmethod
    def document(self) -> Document:
        """What is shown of the result, made of run.json and the estimates alone.

        Raises:
            InputError: the job has not come so far.
        """

    @property
    def text(self) -> str:
        """The whole document as text of 80 columns.

        Raises:
            InputError: the job has not come so far.
        """
        from ..reports.text import render_text

        return "\n".join(render_text(self.document(), full=True))

    def write_report(self, out: str | Path | None = None, *, figures: bool = True) -> Path:
        """Writes the page, and the text beside it, and returns the page's path.

        Args:
            out: the file of the page; report.html in the folder when left out.
            figures: whether charts are drawn, for the page and into the folder's figures/.

        Raises:
            InputError: the job has not come so far.
            StoreError: they cannot be written; what was there before stays.
        """
        from ..reports.html import write_html
        from ..reports.text import render_text

        document = self.document()
        page = Path(out) if out is not None else self.path / REPORT_FILE
        write_html(page, document, charts=self.path / FIGURES_FOLDER if figures else None)
        with replaced(self.path / TEXT_FILE) as part:
            part.write_text("\n".join(render_text(document, full=True)) + "\n", encoding="utf-8")
        return page

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        return 4 if self.state == "budget" else 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {self.state})"
