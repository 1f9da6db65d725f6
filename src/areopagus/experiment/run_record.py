"""`RunRecord`: run.json of a folder, written at the start, every few seconds and at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ..judges.models.usage import cost_record
from ..records.run_folder import RUN_FORMAT
from .autosave import Autosave
from .record import versions

if TYPE_CHECKING:
    from ..judges.models.client import Client
    from ..records.run_folder import RunFolder

RunState = Literal["running", "complete", "interrupted", "budget"]


class RunRecord:
    """What a job says of itself, and what each session on its folder sent and paid."""

    def __init__(
        self,
        folder: RunFolder,
        client: Client,
        describe: Callable[[], Mapping[str, Any]],
        *,
        session: str | None = None,
    ) -> None:
        """Begins a session on the folder; nothing is written yet.

        Args:
            folder: locked; closed with the record.
            client: whose calls and money are this session's, from now on.
            describe: what the record says beside state, cost and sessions.
            session: the session's name, where a run has several to a process.
        """
        self.folder = folder
        self._client, self._describe = client, describe
        self._sessions: list[dict[str, Any]] = list((folder.existing or {}).get("sessions", []))
        self._autosave = Autosave(lambda: self.write("running"))
        self._begin(session)

    def write(self, state: RunState) -> None:
        """Writes all of it; a run at work is written anew from now on as it changes.

        Raises:
            StoreError: the folder cannot be written.
        """
        if state != "running":
            self._autosave.end()
        described = self._describe()
        sessions = [*self._sessions, self._session(state)]
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
        if state == "running":
            self._autosave.begin()

    def changed(self) -> None:
        """Says that the record tells less than there is."""
        self._autosave.changed()

    def next_session(self, state: RunState, name: str | None = None) -> None:
        """Ends the entry of this session, and begins another one."""
        self._sessions.append(self._session(state))
        self._begin(name)

    def close(self) -> None:
        """Writes no more, and gives the folder back."""
        self._autosave.end()
        self.folder.close()

    def _begin(self, name: str | None) -> None:
        self._name, self._began = name, datetime.now(UTC)
        self._before = self._client.spending()

    def _session(self, state: RunState) -> dict[str, Any]:
        ended = None if state == "running" else datetime.now(UTC).isoformat(timespec="seconds")
        return {
            **({} if self._name is None else {"stage": self._name}),
            "started": self._began.isoformat(timespec="seconds"),
            "ended": ended,
            "state": state,
            **self._client.spending().since(self._before).to_json(),
            "max_cost_usd": self._client.budget.cap,
        }
