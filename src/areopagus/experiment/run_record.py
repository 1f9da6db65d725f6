"""`RunRecord`: run.json of a folder, written at the start, every few seconds and at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

from ..errors import StoreError
from ..judges.models.usage import cost_record
from ..records.run_folder import RUN_FORMAT

if TYPE_CHECKING:
    from ..judges.models.client import Client
    from ..records.run_folder import RunFolder

RunState = Literal["running", "complete", "interrupted", "budget"]

AUTOSAVE_S = 5.0
"""A job notes what it has spent so often, so that a kill takes no more than that off the record."""


class RunRecord:
    """What a job says of itself, and what each session on its folder sent and paid.

    A session is all that one command or call does on the folder, through all stages of the job.

    Used on one event loop. Between `write("running")` and the end it is written anew when it is old
    and something has changed. A change soon after a writing is written too, when its time has come:
    a run may wait for minutes after it.
    """

    def __init__(
        self,
        folder: RunFolder,
        client: Client,
        describe: Callable[[], Mapping[str, Any]],
        *,
        progress: Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        """Begins a session on the folder; nothing is written yet.

        Args:
            folder: locked; closed with the record.
            client: whose calls and money are this session's, from now on.
            describe: what the record says beside state, cost and sessions.
            progress: how far it is, said for as long as it is at work.
        """
        self.folder = folder
        self._client, self._describe, self._progress = client, describe, progress
        self._sessions: list[dict[str, Any]] = list((folder.existing or {}).get("sessions", []))
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._began, self._before = datetime.now(UTC), client.spending()

    def write(self, state: RunState) -> None:
        """Writes all of it; a run at work is written anew from now on as it changes.

        Raises:
            StoreError: the folder cannot be written.
        """
        self._stop_autosave()
        self._write(state)
        if state == "running":
            self._due = time.monotonic() + AUTOSAVE_S

    def write_again(self, existing: Mapping[str, Any]) -> None:
        """Writes the record that stands, with this session added to it.

        Raises:
            StoreError: the folder cannot be written.
        """
        sessions = [*self._sessions, self._session("complete")]
        cost = {**existing.get("cost", {}), **cost_record(sessions)}
        self.folder.write_run_file({**existing, "cost": cost, "sessions": sessions})

    def changed(self) -> None:
        """Says that the record tells less than there is."""
        if self._due is None:
            return
        left = self._due - time.monotonic()
        if left <= 0:
            self._autosave()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left, self._autosave)

    def close(self) -> None:
        """Writes no more, and gives the folder back."""
        self._stop_autosave()
        self.folder.close()

    def _autosave(self) -> None:
        self._stop_autosave()
        self._due = time.monotonic() + AUTOSAVE_S
        with suppress(OSError, StoreError):  # the last record stands
            self._write("running")

    def _stop_autosave(self) -> None:
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self, state: RunState) -> None:
        described = self._describe()
        sessions = [*self._sessions, self._session(state)]
        if state == "running" and self._progress is not None:
            described = {**described, "progress": dict(self._progress())}
        self.folder.write_run_file(
            {
                "format": RUN_FORMAT,
                "state": state,
                "versions": versions(),
                **described,
                "cost": {**described.get("cost", {}), **cost_record(sessions)},
                "sessions": sessions,
            }
        )

    def _session(self, state: RunState) -> dict[str, Any]:
        ended = None if state == "running" else datetime.now(UTC).isoformat(timespec="seconds")
        return {
            "started": self._began.isoformat(timespec="seconds"),
            "ended": ended,
            "state": state,
            **self._client.spending().since(self._before).to_json(),
            "max_cost_usd": self._client.budget.cap,
        }


def versions() -> dict[str, str]:
    """The versions of what shaped the numbers, and of a second list of prices if there is one."""
    found: dict[str, str] = {}
    for name in ("areopagus", "litellm", "langgraph", "langchain-core", "pydantic", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    with suppress(PackageNotFoundError):
        found["genai-prices"] = version("genai-prices")
    return found
