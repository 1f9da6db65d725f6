"""Scores single responses, one by one or side by side; a `Session` keeps them in a run folder."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async, run_sync
from ..errors import InputError, StoreError
from ..graphs.state import PanelContext
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..records.types import STATUSES, Sample, Verdict
from .job import Autosave

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend
    from ..records.readers.responses import SourceSummary
    from ..run import Run
    from .record import RunState

LOG_FILE = "session.jsonl"
"""A line for every verdict of a session, in the order in which they came."""


def sample_from(
    prompt: str, response: str, response_id: str, prompt_id: str, respondent_id: str
) -> Sample:
    """The response as the panel sees it.

    Raises:
        InputError: an empty prompt, or what is no text.
    """
    if not isinstance(prompt, str) or not isinstance(response, str):
        raise InputError("prompt and response must be text")
    faults = [
        f"the {name} holds half of a surrogate pair, which is not text"
        for name, text in (("prompt", prompt), ("response", response))
        if any("\ud800" <= character <= "\udfff" for character in text)
    ]
    if not prompt.strip():
        faults.append("the prompt is empty: the panel must know what was asked")
    if faults:
        raise InputError(faults)
    return Sample(response_id, prompt_id, respondent_id, prompt, response)


class SingleScores:
    """Scores responses that come one by one, over one client."""

    def __init__(self, checkpointer: Any = None, client: Client | None = None) -> None:
        """Nothing is opened yet.

        Args:
            checkpointer: a LangGraph checkpointer, or None.
            client: the client to use; one of its own, made when first needed, when left out.
        """
        self._checkpointer = checkpointer
        self._graph: Any = None
        self._given = client
        self._checked: Client | None = None
        self._opening = asyncio.Lock()

    async def score(self, panel: PanelSpec, sample: Sample) -> Verdict:
        """The panel's verdict on one response.

        Raises:
            InputError: a missing key, an address at which nobody answers.
            StoreError: the ledger cannot be written.
        """
        from .engine import judge_sample

        context = PanelContext(sample, panel, await self._open_client(panel, sample))
        if self._checkpointer is None:
            return await judge_sample(context)
        if self._graph is None:
            from ..graphs.panel import build_panel_graph

            self._graph = build_panel_graph(self._checkpointer)
        return await judge_sample(context, graph=self._graph, config=_thread(panel, sample))

    def forget(self) -> None:
        """Lets the client go; the next response gets a new one."""
        self._checked = None

    async def _open_client(self, panel: PanelSpec, sample: Sample) -> Client:
        from .backends import all_paid, require_access

        # One client for all calls that are made at once: its limits are those of the backends.
        async with self._opening:
            if self._checked is not None:
                return self._checked
            client = self._given or Client(panel.ledger)
            faultless = True

            def is_paid(backend: Backend) -> bool:
                nonlocal faultless
                faultless = False
                return all_paid(panel, [sample], backend)

            await require_access(panel.backends, is_paid, capped=client.budget.cap is not None)
            if faultless:  # else the next response is looked at anew
                self._checked = client
            return client


class Session:
    """Single responses under one cost cap, kept in one run folder.

    Use it in a `with` or an `async with` block; calls may go on side by side. Every verdict is
    appended to session.jsonl before it is returned, and the tables, run.json and the report are
    written when the block ends, by `save`, and when a session is opened again in the folder. A
    process that is killed therefore loses nothing that was returned, and what was under way is in
    the ledger.
    """

    def __init__(
        self,
        panel: PanelSpec,
        out: str | Path,
        *,
        max_cost: float | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Checks the settings; the folder is opened when the block begins.

        Args:
            panel: who judges.
            out: the run folder; a session that was in it is continued.
            max_cost: US dollars that are not passed from now on; what does not fit is not asked.
            tags: names and values that run.json records, such as a commit or an experiment.

        Raises:
            InputError: a cap that is no amount of money.
        """
        from .backends import check_cap

        check_cap(max_cost)
        self.path = Path(out)
        self.tags = dict(tags or {})
        self._panel = panel
        self._budget = Budget(cap=max_cost)
        self._lines: dict[str, tuple[bytes, int]] = {}
        self._log: Any = None
        self._folder: Any = None
        self._earlier: list[dict[str, Any]] = []
        self._autosave = Autosave(self._note)
        self._under_way: dict[str, bytes] = {}

    def __enter__(self) -> Session:
        run_sync(self._open())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        run_sync(self._close("complete" if kind is None else "interrupted"))

    async def __aenter__(self) -> Session:
        await run_async(self._open())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await run_async(self._close("complete" if kind is None else "interrupted"))

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
        return run_sync(self._save("running"))

    @property
    def spent_usd(self) -> float:
        """What calls with a known price have cost in this session."""
        return self._budget.spent

    def __len__(self) -> int:
        """Responses scored, those of earlier sessions in the folder included."""
        return len(self._lines)

    async def _open(self) -> None:
        from ..records.run_folder import RunFolder

        self.identity = self._panel.identity() | {"responses_sha256": "session"}
        self._folder = RunFolder.open(self.path, self.identity)
        self._started = datetime.now(UTC)
        self._earlier = list((self._folder.existing or {}).get("sessions", []))
        self._tags = (self._folder.existing or {}).get("tags", {}) | self.tags
        self._client = Client(
            self._panel.ledger, budget=self._budget, on_change=self._autosave.changed
        )
        self._single = SingleScores(client=self._client)
        try:
            if self._folder.existing is None:
                self._folder.write_run_file(self._record("running", _Contents(self._panel)))
            self._read_log()
            if self._lines:
                await self._save("running")
        except BaseException:
            self._release()
            raise
        self._autosave.begin()

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
        if self._folder is None:
            raise RuntimeError("a session is used in a `with` block")
        name = response_id or self._new_id()
        sample = sample_from(prompt, response, name, prompt_id, respondent_id)
        row = {**_texts_of(sample)}
        digest = _digest(row)
        known = self._under_way.get(name) or self._lines.get(name, (digest, 0))[0]
        if known != digest:
            raise InputError(f"{name}: another response of this session has this response_id")
        self._under_way[name] = digest
        try:
            verdict = await self._single.score(self._panel, sample)
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
        self._autosave.changed()

    def _rows(self) -> Iterator[tuple[dict[str, str], Verdict]]:
        """Every response with its newest verdict, in the order of the log."""
        with (self.path / LOG_FILE).open("rb") as log:
            for _, place in sorted(self._lines.values(), key=lambda found: found[1]):
                log.seek(place)
                row = json.loads(log.readline())
                yield row, Verdict.from_json(row.pop("verdict"))

    async def _save(self, state: RunState) -> Run:
        from ..records.run_tables import TableWriter, TextWriter
        from ..reports import write_report
        from ..run import Run

        panel = self._panel
        contents = _Contents(panel)
        texts = TextWriter(self.path)
        try:
            writer = TableWriter(
                self.path,
                criteria=panel.criteria,
                personas=[persona.id for persona in panel.personas],
                models=[backend.spec.name for backend in panel.backends],
                axes=sorted({persona.axis for persona in panel.personas}),
            )
            try:
                for row, verdict in self._rows():
                    writer.add(verdict)
                    texts.add(row["response_id"], row["prompt_text"], row["response_text"])
                    contents.add(verdict)
                texts.close()
                writer.close()
            except BaseException:
                writer.abandon()
                raise
        except BaseException:
            texts.abandon()
            raise
        if state == "complete" and contents.is_short:
            state = "budget"
        self._folder.write_run_file(self._record(state, contents))
        write_report(self.path)
        return Run(self.path)

    async def _close(self, state: RunState) -> None:
        self._autosave.end()
        try:
            await self._save(state)
        finally:
            self._release()

    def _release(self) -> None:
        if self._log is not None:
            self._log.close()
        self._folder.close()
        self._folder = None

    def _note(self) -> None:
        """Saves what run.json says of money; counts and means come with the tables."""
        record = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        from ..judges.models.usage import cost_record

        sessions = [*self._earlier, self._session("running")]
        cost = record["cost"] | cost_record(sessions)
        self._folder.write_run_file({**record, "cost": cost, "sessions": sessions})

    def _session(self, state: RunState) -> dict[str, Any]:
        from .record import session_record

        return session_record(
            self._client.spending(), started=self._started, state=state, cap=self._budget.cap
        )

    def _record(self, state: RunState, contents: _Contents) -> dict[str, Any]:
        from .record import run_record

        record = run_record(
            self._panel,
            state=state,
            identity=self.identity,
            source=contents.summary(),
            running_summary=contents.running_summary,
            counts=contents.counts,
            sessions=[*self._earlier, self._session(state)],
        )
        return {**record, "tags": self._tags}


class _Contents:
    """What the verdicts of a session come to."""

    def __init__(self, panel: PanelSpec) -> None:
        from .record import RunningSummary

        self.running_summary = RunningSummary(panel.criteria)
        self.counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
        self._prompts: set[str] = set()
        self._respondents: set[str] = set()
        self._responses = 0

    def add(self, verdict: Verdict) -> None:
        self.running_summary.add(verdict)
        for status, number in verdict.counts.items():
            self.counts[status] += number
        self._prompts.add(verdict.prompt_id)
        self._respondents.add(verdict.respondent_id)
        self._responses += 1

    @property
    def is_short(self) -> bool:
        """Whether something was left out that was wanted."""
        return self.counts["not_asked"] > self.running_summary.n_settled_judgments

    def summary(self) -> SourceSummary:
        from ..records.readers.responses import SourceSummary

        return SourceSummary(
            name="a session",
            n_responses=self._responses,
            n_prompts=len(self._prompts),
            n_respondents=len(self._respondents),
            fingerprint="session",
            columns_carried=(),
            repeated_texts=frozenset(),
            text_chars=0,
            notices=(),
        )


def _texts_of(sample: Sample) -> dict[str, str]:
    return {
        "response_id": sample.response_id,
        "prompt_id": sample.prompt_id,
        "respondent_id": sample.respondent_id,
        "prompt_text": sample.prompt_text,
        "response_text": sample.response_text,
    }


def _digest(row: Mapping[str, Any]) -> bytes:
    """A digest of what is judged; its ids apart from the response's belong to it."""
    names = ("prompt_id", "respondent_id", "prompt_text", "response_text")
    return hashlib.sha256(json.dumps([row[name] for name in names]).encode()).digest()


def _thread(panel: PanelSpec, sample: Sample) -> dict[str, Any]:
    from ..records.run_folder import run_identity_hash

    texts = asdict(sample)
    return {"configurable": {"thread_id": run_identity_hash(panel.identity() | texts)}}
