"""Scores single responses, one by one or side by side; a `Session` keeps them in a run folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async, run_sync
from ..errors import InputError, StoreError
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..records.run_folder import RunFolder
from ..records.types import Verdict
from ..run import Run
from .run_record import RunRecord, RunState
from .run_writer import RunningSummary, RunWriter, describe_run
from .single import SingleScores, sample_from

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from .config import SessionConfig

LOG_FILE = "session.jsonl"
"""A line for every verdict of a session, in the order in which they came."""


class Session:
    """Single responses under one cost cap, kept in one run folder.

    Use it in a `with` or an `async with` block; calls may go on side by side. Every verdict is
    appended to session.jsonl before it is returned, and the tables, run.json and the report are
    written when the block ends, by `save`, and when a session is opened again in the folder. A
    process that is killed therefore loses nothing that was returned, and what was under way is in
    the ledger.
    """

    def __init__(self, panel: PanelSpec, config: SessionConfig) -> None:
        """Checks the settings; the folder is opened when the block begins.

        Args:
            panel: who judges.
            config: where the session is kept, its cost cap and its tags.
        """
        self.panel, self.config = panel, config
        self.path = Path(config.out or "runs/session")
        self.identity = panel.identity() | {"responses_sha256": "session"}
        self.tags = dict(config.tags)
        self._budget = Budget(cap=config.max_cost)
        self._record: RunRecord | None = None
        self._lines: dict[str, tuple[bytes, int]] = {}
        self._log: Any = None
        self._single: SingleScores | None = None
        self._under_way: dict[str, bytes] = {}
        self._written = RunningSummary(panel)

    def __repr__(self) -> str:
        return f"Session({str(self.path)!r}, {self.panel!r})"

    def __enter__(self) -> Session:
        run_sync(self._begin())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        run_sync(self._finish("complete" if kind is None else "interrupted"))

    async def __aenter__(self) -> Session:
        await run_async(self._begin())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await run_async(self._finish("complete" if kind is None else "interrupted"))

    def score(
        self,
        prompt: str,
        response: str,
        *,
        response_id: str | None = None,
        prompt_id: str = "prompt",
        respondent_id: str = "unnamed",
    ) -> Verdict:
        """The panel's verdict on one response, which becomes a row of the run.

        Args:
            prompt, response: the texts.
            response_id: of the row; one is made up where it is left out. A second call with the
                same texts takes the place of the first.
            prompt_id: responses of one prompt are one unit of the run's intervals.
            respondent_id: who wrote it.

        Raises:
            InputError: an empty prompt, an id that another text has, a missing key, an address at
                which nobody answers, a cap without a price.
            StoreError: the ledger or the folder cannot be written.
        """
        return run_sync(self._score(prompt, response, response_id, prompt_id, respondent_id))

    async def ascore(
        self,
        prompt: str,
        response: str,
        *,
        response_id: str | None = None,
        prompt_id: str = "prompt",
        respondent_id: str = "unnamed",
    ) -> Verdict:
        """The asynchronous twin of `score`."""
        return await run_async(self._score(prompt, response, response_id, prompt_id, respondent_id))

    def save(self) -> Run:
        """Writes the tables, run.json and the report of what is scored until now.

        Raises:
            StoreError: the folder cannot be written.
        """
        return run_sync(self._write_tables("running"))

    async def asave(self) -> Run:
        """The asynchronous twin of `save`."""
        return await run_async(self._write_tables("running"))

    @property
    def spent_usd(self) -> float:
        """What calls with a known price have cost in this session."""
        return self._budget.spent

    def __len__(self) -> int:
        """Responses scored, those of earlier sessions in the folder included."""
        return len(self._lines)

    async def _begin(self) -> None:
        folder = RunFolder.open(self.path, self.identity, must_exist=self.config.resume)
        client = Client(self.panel.ledger, budget=self._budget, on_change=self._changed)
        self._record = RunRecord(folder, client, self._describe)
        try:
            self.tags = (folder.existing or {}).get("tags", {}) | self.tags
            self._single = SingleScores(client=client)
            self._read_log()
            if self._lines:
                await self._write_tables("running")
            else:
                self._record.write("running")
        except BaseException:
            self._end()
            raise

    def _changed(self) -> None:
        if self._record is not None:
            self._record.changed()

    def _read_log(self) -> None:
        """Opens the log for appending, after the whole lines that it holds."""
        place = self.path / LOG_FILE
        try:
            self._log = os.fdopen(os.open(place, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
            end = 0
            for line in self._log:
                if not line.endswith(b"\n"):
                    break  # a process was killed while it wrote it
                row = json.loads(line)
                self._lines[row["response_id"]] = (_digest(row), end)
                end += len(line)
            self._log.truncate(end)
            self._log.seek(end)
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(f"{place} cannot be read: {error}") from error

    async def _score(
        self,
        prompt: str,
        response: str,
        response_id: str | None,
        prompt_id: str,
        respondent_id: str,
    ) -> Verdict:
        if self._single is None:
            raise RuntimeError("a session is used in a `with` block")
        name = response_id or self._new_id()
        sample = sample_from(prompt, response, name, prompt_id, respondent_id)
        row = {field: getattr(sample, field) for field in _ROW}
        digest = _digest(row)
        known = self._under_way.get(name) or self._lines.get(name, (digest, 0))[0]
        if known != digest:
            raise InputError(f"{name}: another response of this session has this response_id")
        self._under_way[name] = digest
        try:
            verdict = await self._single.score(self.panel, sample)
        finally:
            self._under_way.pop(name, None)
        self._append(row, digest, verdict)
        return verdict

    def _new_id(self) -> str:
        number = len(self._lines) + len(self._under_way) + 1
        while (name := f"response-{number}") in self._lines or name in self._under_way:
            number += 1
        return name

    def _append(self, row: Mapping[str, str], digest: bytes, verdict: Verdict) -> None:
        line = json.dumps({**row, "verdict": verdict.to_json()}, ensure_ascii=False) + "\n"
        try:
            place = self._log.tell()
            self._log.write(line.encode())
            self._log.flush()
        except OSError as error:
            raise StoreError(f"{self.path / LOG_FILE} cannot be written: {error}") from error
        self._lines[row["response_id"]] = (digest, place)
        self._changed()

    def _rows(self) -> Iterator[tuple[dict[str, str], Verdict]]:
        """Every response with its newest verdict, in the order of the log."""
        with (self.path / LOG_FILE).open("rb") as log:
            for _, place in sorted(self._lines.values(), key=lambda found: found[1]):
                log.seek(place)
                row = json.loads(log.readline())
                yield row, Verdict.from_json(row.pop("verdict"))

    async def _write_tables(self, state: RunState) -> Run:
        if self._record is None:
            raise RuntimeError("a session is used in a `with` block")
        with RunWriter(self.panel, self.path) as writer:
            for row, verdict in self._rows():
                writer.add(verdict, row["prompt_text"], row["response_text"])
        self._written = writer.summary
        if state == "complete" and self._written.is_short:
            state = "budget"
        self._record.write(state)
        return Run(self.path).write_results()

    async def _finish(self, ending: RunState) -> None:
        try:
            await self._write_tables(ending)
        finally:
            self._end()

    def _end(self) -> None:
        self._single = None
        if self._log is not None:
            self._log.close()
        if self._record is not None:
            self._record.close()
            self._record = None

    def _describe(self) -> dict[str, Any]:
        """What run.json says of the session; counts and means come with the tables."""
        panel = self.panel
        described = describe_run(
            panel, "a session", self._written, is_demonstration=panel.is_demonstration
        )
        return {
            "kind": "panel",
            "identity": self.identity,
            "config": self.config.to_json(),
            **described,
            "tags": self.tags,
            "ledger": panel.ledger.place,
        }


_JUDGED = ("prompt_id", "respondent_id", "prompt_text", "response_text")
_ROW = ("response_id", *_JUDGED)


def _digest(row: Mapping[str, Any]) -> bytes:
    """A digest of what is judged; its ids apart from the response's belong to it."""
    return hashlib.sha256(json.dumps([row[name] for name in _JUDGED]).encode()).digest()
