"""`RunWriter`: the tables of a panel's run, written verdict by verdict, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..records.tables import TableWriter, TextWriter
from .record import RunningSummary

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.types import Verdict


class RunWriter:
    """judgments.parquet, scores.csv and texts.parquet; used in a `with` block.

    At its end the tables take the place of earlier ones; where the block breaks off, those stay.

    Attributes:
        summary: what the verdicts come to so far.
    """

    def __init__(self, panel: PanelSpec, folder: Path, *, carried: Sequence[str] = ()) -> None:
        """Takes the panel, the run's folder, and the columns that responses carry."""
        self.summary = RunningSummary(panel.criteria)
        self._panel, self._folder, self._carried = panel, folder, carried
        self._unless_done = ExitStack()

    def __enter__(self) -> Self:
        panel = self._panel
        with ExitStack() as unless_done:
            self._texts = TextWriter(self._folder)
            unless_done.callback(self._texts.abandon)
            self._tables = TableWriter(
                self._folder,
                criteria=panel.criteria,
                personas=[persona.id for persona in panel.personas],
                models=[backend.spec.name for backend in panel.backends],
                axes=sorted({persona.axis for persona in panel.personas}),
                carried=self._carried,
            )
            unless_done.callback(self._tables.abandon)
            self._unless_done = unless_done.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._unless_done as unless_done:
            if kind is None:
                self._texts.close()
                self._tables.close()
                unless_done.pop_all()

    def add(
        self, verdict: Verdict, prompt: str, response: str, carried: Mapping[str, Any] | None = None
    ) -> None:
        """One more response, with the columns that it carries."""
        self._tables.add(verdict, carried or {})
        self._texts.add(verdict.response_id, prompt, response)
        self.summary.add(verdict)
