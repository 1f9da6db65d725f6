"""Runs on the nodes of a cluster: checks a node, and scores a shard of the responses.

The panel is sent to the nodes as a `PanelPlan`, which holds no key: settings name the variables,
and every node reads its own environment. A ledger's address travels without its password, for which
the nodes have PGPASSWORD.
"""

from __future__ import annotations

import asyncio
import os
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..async_runner import run_sync
from ..errors import AreopagusError, InputError, InputFault, StoreError
from ..experiment.backends import access_faults
from ..experiment.engine import score_rows, window_for
from ..graphs.panel_spec import PanelSpec
from ..graphs.stopping import StoppingRule
from ..judges.factory import is_made_of_settings
from ..judges.models.credentials import redact
from ..records.types import Sample
from .coordinator import Limits, Report
from .worker_client import CoordinatorCalls, WorkerClient, in_touch

if TYPE_CHECKING:
    from ..panel import Panel


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
class PanelPlan:
    """A panel as it travels.

    Attributes:
        run: names this run of a job; a node that works for another one closes what it had.
        models: fields of each `BackendSpec`.
        personas, rubric, template: as loaded by the driver: nodes need none of its files.
        settings: the other arguments of `Panel`.
        ledger: file or address, without a password.
        identity: `PanelSpec.identity` of the driver, which a node's must equal.
        versions: of what shapes the numbers; the nodes' must be equal.
        cap: US dollars for all nodes together; None = no cap.
        rule: when fewer judgments are enough; None = all are asked.
        unclaimed: what batches have brought for this run; see `Client.unclaimed`.
    """

    run: str
    models: tuple[dict[str, Any], ...]
    personas: tuple[Any, ...]
    rubric: Any
    template: Any
    settings: dict[str, Any]
    ledger: str
    identity: dict[str, Any]
    versions: dict[str, str]
    cap: float | None
    rule: StoppingRule | None = None
    unclaimed: frozenset[int] = frozenset()

    def panel(self) -> Panel:
        """The panel, put together in this process.

        Raises:
            InputError: this process would ask something else than the driver.
        """
        from ..experiment.run_record import versions
        from ..panel import Panel

        mine = versions()
        faults = [
            InputFault(name, f"is version {mine.get(name)} here and {version} at the driver")
            for name, version in self.versions.items()
            if mine.get(name) != version
        ]
        if faults:
            raise InputError(faults, hint="Install the same versions on every node.")
        panel = Panel(
            [dict(model) for model in self.models],
            personas=self.personas,
            rubric=self.rubric,
            template=self.template,
            ledger=self.ledger,
            **self.settings,
        )
        if panel.spec.identity() != self.identity:
            raise InputError("this node would ask another panel than the driver's")
        panel.spec = replace(panel.spec, rule=self.rule)
        return panel


def plan_of(panel: PanelSpec, *, cap: float | None) -> PanelPlan:
    """The plan of a panel for one run; a password in the ledger's address stays behind.

    Args:
        panel: whose plan.
        cap: US dollars for all nodes together; None = no cap.

    Raises:
        InputError: a backend is an object of this process.
    """
    from ..experiment.run_record import versions

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
    return PanelPlan(
        run=uuid.uuid4().hex,
        models=tuple(
            backend.spec.model_dump(exclude_unset=True) | {"name": backend.spec.name}
            for backend in panel.backends
        ),
        personas=panel.personas,
        rubric=panel.rubric,
        template=panel.judge_prompt.template,
        settings={
            "mode": panel.judge_prompt.mode,
            "order": panel.judge_prompt.order,
            "rationale": panel.judge_prompt.rationale,
            "anchors": panel.judge_prompt.anchors,
            "repeats": panel.repeats,
            "quorum": panel.quorum,
        },
        ledger=panel.ledger.place,
        identity=panel.identity(),
        versions=versions(),
        cap=cap,
        rule=panel.rule,
    )


def limits_of(panel: PanelSpec) -> dict[str, Limits]:
    """What each backend takes, over all nodes together."""
    return {
        backend.spec.name: Limits(backend.spec.concurrency, backend.spec.rpm, backend.spec.tpm)
        for backend in panel.backends
    }


class Worker:
    """The panel in one worker process, kept from shard to shard."""

    def __init__(self, plan: PanelPlan, coordinator: CoordinatorCalls) -> None:
        self.plan = plan
        self._whole = plan.panel()
        self.panel = self._whole.spec
        self.client = WorkerClient(
            self.panel.ledger,
            coordinator=coordinator,
            node=f"{os.uname().nodename if hasattr(os, 'uname') else 'node'}-{uuid.uuid4().hex}",
            cap=plan.cap,
        )
        self.client.unclaimed.update(plan.unclaimed)

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

        def is_repeated(row: Sample) -> bool:
            return repeated[id(row)]

        async def all_of_them() -> list[dict[str, Any]]:
            return [
                scored.verdict.to_json()
                async for scored in score_rows(
                    shard.rows, panel=self.panel, client=self.client, is_repeated=is_repeated
                )
            ]

        verdicts: list[dict[str, Any]] = await in_touch(self.client, all_of_them())
        return verdicts

    async def close(self) -> None:
        """Closes connections and the ledger."""
        await self._whole._close()


_workers: dict[str, Worker] = {}


async def worker_for(plan: PanelPlan, coordinator: CoordinatorCalls) -> Worker:
    """This process's worker for a run, made when first needed."""
    if plan.run not in _workers:
        for run in list(_workers):
            await _workers.pop(run).close()
        _workers[plan.run] = Worker(plan, coordinator)
    return _workers[plan.run]


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
    """The coordinator's actor, as a node speaks to it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def enter(self, node: str, backend: str, tokens: Sequence[float]) -> int:
        """See `Coordinator.enter`."""
        return int(await self._answer(self._actor.enter.remote(node, backend, list(tokens))))

    async def reserve(self, node: str, worst_usd: Sequence[float]) -> int:
        """See `Coordinator.reserve`."""
        return int(await self._answer(self._actor.reserve.remote(node, list(worst_usd))))

    async def report(self, node: str, reports: Sequence[Report]) -> bool:
        """See `Coordinator.report`."""
        return bool(await self._answer(self._actor.report.remote(node, list(reports))))

    async def _answer(self, asked: Any) -> Any:
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]

        try:
            return await asked
        except RayError as error:
            if raised_there(error) is not None:
                raise
            # Without the coordinator nobody keeps the limits and the cap: nothing more may be sent.
            raise StoreError(
                f"the run's coordinator cannot be reached ({type(error).__name__}); what was paid "
                "is in the ledger"
            ) from error


def check_node(plan: PanelPlan, actor: Any) -> Outcome:
    """What keeps this node from working for the run; the value is that of `Worker.faults`."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        unguarded = "was started without tokens (RAY_AUTH_MODE=token): who reaches it runs code"
        return Outcome(faults=(InputFault("ray", unguarded),))

    async def check() -> tuple[list[InputFault], dict[str, list[InputFault]]]:
        worker = await worker_for(plan, RemoteCoordinator(actor))
        return await worker.faults()

    try:
        return Outcome(value=run_sync(check()))
    except AreopagusError as error:
        return _failed(error)


def score_shard(plan: PanelPlan, actor: Any, shard: Shard) -> Outcome:
    """The verdicts on a shard, as JSON."""

    async def score() -> list[dict[str, Any]]:
        worker: Worker = await worker_for(plan, RemoteCoordinator(actor))
        return await worker.score(shard)

    try:
        return Outcome(value=run_sync(score()))
    except AreopagusError as error:
        return _failed(error)
    except Exception as error:
        # Made free of keys here, where they are: the driver may have others.
        where = "".join(traceback.format_exception(error)).splitlines()
        return Outcome(defect=tuple(map(redact, (f"{type(error).__name__}: {error}", *where))))


def raised_there(error: Exception) -> Exception | None:
    """What was asked of Ray raised this; None where Ray could not have it done."""
    from ray.exceptions import (  # pyright: ignore[reportMissingImports]
        RayError,
        RayTaskError,
    )

    # Ray's own errors come so too: of a plan that was lost on its way to the task, say.
    cause: Exception | None = getattr(error, "cause", None)
    is_of_task = isinstance(error, RayTaskError) and not isinstance(cause, RayError)
    return cause if is_of_task else None


def defect(what: str, *where: str) -> RuntimeError:
    """The error that tells of a defect elsewhere."""
    error = RuntimeError(what)
    error.add_note("\n".join(where))
    return error


def _failed(error: AreopagusError) -> Outcome:
    if isinstance(error, InputError):
        return Outcome(faults=error.faults)
    return Outcome(store_error=str(error))
