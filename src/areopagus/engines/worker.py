"""Runs on the nodes of a cluster: checks a node, and scores a shard of the responses.

What travels to the nodes holds no key: settings name the variables, and every node reads its own
environment. A ledger's address travels without its password, for which the nodes have PGPASSWORD.
"""

from __future__ import annotations

import asyncio
import os
import platform
import traceback
import uuid
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from ..async_runner import run_sync
from ..errors import AreopagusError, InputError, InputFault, StoreError
from ..experiment.backends import access_faults
from ..experiment.engine import score_rows, window_for
from ..experiment.run_record import versions
from ..graphs.panel_spec import PanelSpec
from ..judges.factory import backend_of, is_made_of_settings
from ..judges.judge import Judge
from ..judges.models.backend import BackendSpec
from ..judges.models.credentials import redact
from ..judges.prompt import JudgePrompt
from ..personas import Persona
from ..records.ledger import Ledger
from ..records.types import Sample, ScoreMode
from .cluster import answer, defect
from .coordinator import Report
from .worker_client import CoordinatorCalls, WorkerClient

LARGEST = 256


@dataclass(frozen=True, slots=True)
class Shard:
    """Some neighbouring responses of the input.

    Attributes:
        rows: the responses.
        repeated: for each, whether its respondent gives the same text to another prompt too.
    """

    rows: tuple[Sample, ...]
    repeated: tuple[bool, ...]


def shard_size(panel: PanelSpec, processors: int) -> int:
    """Responses in a shard: four times what a process keeps in flight, so that starts and ends
    of shards, at which it has less to do, are a small part.

    Limits are those of the run, so that each of many processes keeps its part of them in flight:
    shards for all of it would be too few to go round.
    """
    return min(LARGEST, 4 * -(-window_for(panel) // processors))


def cut(
    rows: Iterable[Sample], *, size: int, is_repeated: Callable[[Sample], bool]
) -> Iterator[Shard]:
    """The rows in shards of this size, in order."""
    left = iter(rows)
    while part := tuple(islice(left, size)):
        yield Shard(part, tuple(is_repeated(row) for row in part))


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run as it travels to the nodes.

    Attributes:
        id: names it; a node that works for another one closes what it had.
        judges: persona, settings of the backend and score mode of each, in the panel's order;
            personas, rubric and template travel as loaded: nodes need none of the driver's files.
        wording: the fields of `JudgePrompt`.
        settings: the other fields of `PanelSpec`.
        ledger: file or address, without a password.
        versions: of what shapes the numbers; the nodes' must be equal.
        cap: US dollars for all nodes together; None = no cap.
        unclaimed: what batches have brought for this run; see `Client.unclaimed`.
    """

    id: str
    judges: tuple[tuple[Persona, BackendSpec, ScoreMode], ...]
    wording: dict[str, Any]
    settings: dict[str, Any]
    ledger: str
    versions: dict[str, str]
    cap: float | None
    unclaimed: frozenset[int]

    @classmethod
    def of(cls, panel: PanelSpec, *, cap: float | None, unclaimed: Iterable[int] = ()) -> RunSpec:
        """A run of a panel; a password in the ledger's address stays behind.

        Raises:
            InputError: a backend is an object of this process.
        """
        objects = [
            InputFault(
                backend.spec.name,
                "is an object of this process, which other machines do not have: name the model as "
                "provider/model",
            )
            for backend in panel.backends
            if not is_made_of_settings(backend)
        ]
        if objects:
            raise InputError(objects)
        prompt = panel.judge_prompt
        wording = {item.name: getattr(prompt, item.name) for item in fields(prompt) if item.init}
        return cls(
            id=uuid.uuid4().hex,
            judges=tuple(
                (judge.persona, judge.backend.spec, judge.score_mode)
                for judge in panel.judges.values()
            ),
            wording=wording,
            settings={
                "repeats": panel.repeats,
                "quorum": panel.quorum,
                "most_characters": panel.most_characters,
                "rule": panel.rule,
            },
            ledger=panel.ledger.place,
            versions=versions(),
            cap=cap,
            unclaimed=frozenset(unclaimed),
        )

    def panel(self) -> PanelSpec:
        """The panel, put together in this process, with a ledger of its own.

        Raises:
            InputError: other versions are installed here, which may ask something else.
            StoreError: the ledger cannot be opened.
        """
        mine = versions()
        faults = [
            InputFault(name, f"is version {mine.get(name)} here and {version} at the driver")
            for name, version in self.versions.items()
            if mine.get(name) != version
        ]
        if faults:
            raise InputError(faults, hint="Install the same versions on every node.")
        backends = {spec.name: backend_of(spec) for _, spec, _ in self.judges}
        wording = JudgePrompt(**self.wording)
        judges = [
            Judge(persona, backends[spec.name], wording, mode)
            for persona, spec, mode in self.judges
        ]
        ledger = Ledger.open(self.ledger)
        return PanelSpec(
            judges={judge.id: judge for judge in judges},
            open_ledger=lambda: ledger,
            **self.settings,
        )


class Worker:
    """The panel in one worker process, kept from shard to shard."""

    def __init__(self, run: RunSpec, coordinator: CoordinatorCalls) -> None:
        self.panel = run.panel()
        self.client = WorkerClient(
            self.panel.ledger,
            coordinator=coordinator,
            node=f"{platform.node() or 'node'}-{uuid.uuid4().hex}",
            cap=run.cap,
        )
        self.client.unclaimed.update(run.unclaimed)

    async def faults(self) -> tuple[list[InputFault], dict[str, list[InputFault]]]:
        """What is wrong with the settings, and by backend what keeps it from being asked here."""
        settings: list[InputFault] = []
        access: dict[str, list[InputFault]] = {}
        for backend in self.panel.backends:
            try:
                await asyncio.to_thread(backend.prepare)
            except InputError as error:
                settings.extend(error.faults)
            access[backend.spec.name] = await access_faults(backend)
        return settings, access

    async def score(self, shard: Shard) -> list[dict[str, Any]]:
        """The verdicts on the shard's responses, in order, as JSON.

        What was sent and spent has reached the coordinator when this returns.
        """
        repeated = dict(zip(map(id, shard.rows), shard.repeated, strict=True))
        async with self.client.in_touch():
            return [
                scored.verdict.to_json()
                async for scored in score_rows(
                    shard.rows,
                    panel=self.panel,
                    client=self.client,
                    is_repeated=lambda row: repeated[id(row)],
                )
            ]

    async def close(self) -> None:
        """Closes the ledger."""
        self.panel.ledger.close()


_workers: dict[str, Worker] = {}


async def worker_for(run: RunSpec, coordinator: CoordinatorCalls) -> Worker:
    """This process's worker for a run, made when first needed."""
    if run.id not in _workers:
        for other in list(_workers):
            await _workers.pop(other).close()
        _workers[run.id] = Worker(run, coordinator)
    return _workers[run.id]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task brought: a value, the error that a person can do something about, or a defect.

    Attributes:
        defect: what it is and where it happened, a line each; without keys.
    """

    value: Any = None
    faults: tuple[InputFault, ...] = ()
    store_error: str | None = None
    defect: tuple[str, ...] = ()

    def get(self) -> Any:
        """The value.

        Raises:
            InputError, StoreError: as on the node.
            RuntimeError: a defect of this package showed itself there.
        """
        if self.defect:
            raise defect(*self.defect)
        if self.faults:
            raise InputError(self.faults)
        if self.store_error is not None:
            raise StoreError(self.store_error)
        return self.value


class RemoteCoordinator:
    """The coordinator's actor, as a node speaks to it.

    Without the coordinator nobody keeps the limits and the cap: where it is lost, nothing more may
    be sent, and each method raises a StoreError.
    """

    _LOSS = "the run's coordinator cannot be reached"

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def enter(self, node: str, backend: str, tokens: Sequence[float]) -> int:
        """See `Coordinator.enter`."""
        granted: int = await answer(self._actor.enter.remote(node, backend, tokens), self._LOSS)
        return granted

    async def reserve(self, node: str, worst_usd: Sequence[float]) -> int:
        """See `Coordinator.reserve`."""
        granted: int = await answer(self._actor.reserve.remote(node, worst_usd), self._LOSS)
        return granted

    async def report(self, node: str, reports: Sequence[Report]) -> bool:
        """See `Coordinator.report`."""
        stopping: bool = await answer(self._actor.report.remote(node, reports), self._LOSS)
        return stopping


def check_node(run: RunSpec, actor: Any) -> Outcome:
    """What keeps this node from working for the run; the value is that of `Worker.faults`."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        unguarded = "was started without tokens (RAY_AUTH_MODE=token): who reaches it runs code"
        return Outcome(faults=(InputFault("ray", unguarded),))

    async def check() -> tuple[list[InputFault], dict[str, list[InputFault]]]:
        return await (await worker_for(run, RemoteCoordinator(actor))).faults()

    return _outcome(check())


def score_shard(run: RunSpec, actor: Any, shard: Shard) -> Outcome:
    """The verdicts on a shard, as JSON."""

    async def score() -> list[dict[str, Any]]:
        return await (await worker_for(run, RemoteCoordinator(actor))).score(shard)

    return _outcome(score())


def _outcome(work: Coroutine[Any, Any, Any]) -> Outcome:
    try:
        return Outcome(value=run_sync(work))
    except InputError as error:
        return Outcome(faults=error.faults)
    except AreopagusError as error:
        return Outcome(store_error=str(error))
    except Exception as error:
        # Made free of keys here, where they are: the driver may have others.
        where = "".join(traceback.format_exception(error)).splitlines()
        return Outcome(defect=tuple(map(redact, (f"{type(error).__name__}: {error}", *where))))
