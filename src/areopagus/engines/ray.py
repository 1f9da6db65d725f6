"""The engine for several machines: parts of the responses ("shards") as tasks of a Ray cluster.

The same panel graph runs in every task. Limits, cost cap and counts are held by one coordinator;
paid replies are in one ledger, which all nodes share. So a task that is done again because its node
died asks only for what the ledger does not hold.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, InputFault, StoreError
from ..experiment.backends import price_fault
from ..experiment.engine import Scored, closed
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.credentials import redact
from ..judges.models.usage import UsageSnapshot
from ..records.types import Sample, Verdict
from .cluster import Cluster, answer
from .coordinator import Coordinator
from .worker import RunSpec, Shard, check_node, cut, score_shard, shard_size

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


_POLL_S = 0.25
_RETRIES = 5
"""Times that a shard is done again because its node died."""
_NOBODY_S = 60.0
"""A cluster without a node for so long is given up."""
_FINISHED_AHEAD = 64
"""How many finished shards may wait for one slow one."""


_COORDINATOR_LOST = "the run's coordinator is lost"
_Sent = tuple[Shard, "asyncio.Future[Any] | None"]
"""A shard, and its verdicts to come; None where the run was stopping, so that it was not sent."""


@dataclass(slots=True)
class _Run:
    """What was set up for one run."""

    sent: Any
    coordinator: Any
    seen: UsageSnapshot = field(default_factory=UsageSnapshot)


class RayEngine:
    """Shards of responses on a Ray cluster."""

    def __init__(
        self,
        address: str | None = None,
        *,
        processors: int | None = None,
        responses_per_shard: int | None = None,
        driver_ip: str | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            address: of the cluster's head, as HOST:PORT; a cluster on this machine when left out.
            processors: of the cluster on this machine; all when left out.
            responses_per_shard: chosen by the panel's limits and the processors when left out.
            driver_ip: which of this machine's addresses the driver uses, where there are several.
        """
        self._address = address
        self._processors = processors
        self._size = responses_per_shard
        self._driver_ip = driver_ip
        self._cluster: Cluster | None = None

    async def require_access(
        self, panel: PanelSpec, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """Joins the cluster and has every node check keys, addresses, versions and the ledger.

        A node that goes away meanwhile is nobody to ask.

        Raises:
            InputError: with all faults of all nodes together, and a ledger that the nodes could
                not share.
        """
        self._refuse_file_elsewhere(panel)
        cluster = await self._join()
        # The cap itself is known when the run begins; for prices it is enough that there is one.
        run = RunSpec.of(panel, cap=None)
        nodes = cluster.nodes()
        if not nodes:
            raise InputError([InputFault("ray", "the cluster has no processors to give")])
        coordinator = self._new_coordinator(cluster, panel, run)
        faults: list[InputFault] = []
        access: dict[str, list[InputFault]] = {}
        unable: dict[str, InputFault] = {}
        try:
            asked = {
                node: cluster.ray.remote(check_node)
                .options(num_cpus=1, scheduling_strategy=cluster.on_node(node), max_retries=1)
                .remote(run, coordinator)
                for node, _ in nodes
            }
            for node, address in nodes:
                name = f"node {address}"
                try:
                    found, closed_to = (await asked[node]).get()
                except InputError as error:
                    faults += _at(name, error.faults)
                except StoreError as error:
                    faults.append(InputFault(name, str(error)))
                except (cluster.ray.exceptions.RayError, RuntimeError) as error:
                    reason = redact(str(error).strip().split("\n")[-1])
                    unable[node] = InputFault(name, f"cannot work for this run: {reason}")
                else:
                    faults += _at(name, found)
                    for backend_name, closed in closed_to.items():
                        access.setdefault(backend_name, []).extend(_at(name, closed))
        finally:
            cluster.ray.kill(coordinator)
        living = {node for node, _ in cluster.nodes()}
        faults += [fault for node, fault in unable.items() if node in living or not living]
        for backend in panel.backends:
            found = access.get(backend.spec.name, [])
            if capped and backend.worst_cost(1, 1) is None:
                found.append(price_fault(backend))
            if found and not is_paid(backend):
                faults.extend(found)
        if faults:
            raise InputError(faults, hint="Nothing was sent and nothing was spent.")

    async def score(
        self,
        rows: Callable[[], Iterable[Sample]],
        *,
        panel: PanelSpec,
        client: Client,
        is_repeated: Callable[[Sample], bool],
        folder: Path,
    ) -> AsyncGenerator[Scored, None]:
        """Verdicts on the rows, in their order.

        Raises:
            StoreError: the ledger cannot be written, or the cluster is lost.
        """
        self._refuse_file_elsewhere(panel)
        cluster = await self._join()
        # What the client spent before, in batches say, is no longer there for the nodes.
        spec = RunSpec.of(panel, cap=client.budget.left, unclaimed=client.unclaimed)
        coordinator = self._new_coordinator(cluster, panel, spec)
        run = _Run(cluster.ray.put(spec), coordinator)
        watching = asyncio.create_task(self._watch(cluster, run, client))
        size = self._size or shard_size(panel, cluster.processors())
        shards = cut(rows(), size=size, is_repeated=is_repeated)
        queue: deque[_Sent] = deque()
        try:
            while True:
                while not (queue and _is_done(queue[0])) and not self._is_full(cluster, queue):
                    shard = next(shards, None)
                    if shard is None:
                        break
                    work = None if client.stopped else self._send(cluster, run, shard)
                    queue.append((shard, work))
                if not queue:
                    break
                if not _is_done(queue[0]):
                    await _until_one(queue, watching)
                    continue
                async for scored in self._verdicts(panel, *queue.popleft()):
                    yield scored
            await self._book(run, client)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            for _, work in queue:
                if work is not None:
                    work.cancel()
            with suppress(Exception):
                cluster.ray.kill(coordinator)

    async def close(self) -> None:
        """Leaves the cluster, and ends it where it was started here."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            await asyncio.to_thread(cluster.close)

    async def _join(self) -> Cluster:
        if self._cluster is None:
            self._cluster = await asyncio.to_thread(
                Cluster.connect, self._address, cpus=self._processors, driver_ip=self._driver_ip
            )
        return self._cluster

    def _refuse_file_elsewhere(self, panel: PanelSpec) -> None:
        if self._address is not None and panel.ledger.path is not None:
            raise InputError(
                [
                    InputFault(
                        panel.ledger.place,
                        "is a file, which the nodes of a cluster cannot share: name a PostgreSQL "
                        "ledger as `ledger`, postgresql://…, or leave `address` out",
                    )
                ]
            )

    def _new_coordinator(self, cluster: Cluster, panel: PanelSpec, run: RunSpec) -> Any:
        # On the driver's own node: the run ends with it in any case.
        here = cluster.on_node(cluster.ray.get_runtime_context().get_node_id())
        return (
            cluster.ray.remote(Coordinator)
            .options(
                name=f"areopagus-coordinator-{run.id}",
                num_cpus=0,
                max_concurrency=10_000,
                scheduling_strategy=here,
            )
            .remote([backend.spec for backend in panel.backends], run.cap)
        )

    def _send(self, cluster: Cluster, run: _Run, shard: Shard) -> asyncio.Future[Any]:
        task = cluster.ray.remote(score_shard).options(num_cpus=1, max_retries=_RETRIES)
        asked = task.remote(run.sent, run.coordinator, shard)
        loss = f"the cluster is gone, or lost one shard of responses {_RETRIES + 1} times"
        return asyncio.ensure_future(answer(asked, loss))

    def _is_full(self, cluster: Cluster, queue: deque[_Sent]) -> bool:
        """Whether every processor has a shard and another waits for it."""
        under_way = sum(not _is_done(sent) for sent in queue)
        return under_way >= 2 * cluster.processors() or len(queue) >= _FINISHED_AHEAD

    async def _verdicts(
        self, panel: PanelSpec, shard: Shard, work: asyncio.Future[Any] | None
    ) -> AsyncGenerator[Scored, None]:
        if work is None:
            for row, repeated in zip(shard.rows, shard.repeated, strict=True):
                yield Scored(row, closed(row, panel=panel, repeated=repeated))
            return
        outcome = await work
        for row, verdict in zip(shard.rows, outcome.get(), strict=True):
            yield Scored(row, Verdict.from_json(verdict))

    async def _watch(self, cluster: Cluster, run: _Run, client: Client) -> None:
        """Carries what the coordinator counts to the client, and a stop the other way.

        Raises:
            StoreError: the coordinator is lost, or all nodes are.
        """
        told = False
        clock = asyncio.get_running_loop().time
        peopled = clock()
        while True:
            await asyncio.sleep(_POLL_S)
            if client.stopped and not told:
                told = True
                await answer(run.coordinator.stop.remote(), _COORDINATOR_LOST)
            await self._book(run, client)
            if cluster.nodes():
                peopled = clock()
            elif clock() - peopled > _NOBODY_S:
                raise StoreError(
                    f"no node has been left for {_NOBODY_S:.0f} s; what was paid is in the ledger: "
                    "give the same command again"
                )

    async def _book(self, run: _Run, client: Client) -> None:
        now: UsageSnapshot = await answer(run.coordinator.totals.remote(), _COORDINATOR_LOST)
        added, run.seen = now.since(run.seen), now
        if added.to_json() == UsageSnapshot().to_json():
            return
        total, budget = client.spending().plus(added), client.budget
        client.counts, client.usage, client.faults = total.calls, total.usage, total.faults
        if added.spent_usd:
            budget.book(added.spent_usd)
        if added.possibly_spent_usd:
            budget.book(added.possibly_spent_usd, certain=False)
        budget.unknown_calls += added.unknown_price_calls
        client.changed()


def _at(node: str, faults: Iterable[InputFault]) -> list[InputFault]:
    return [InputFault(f"{node}: {item.where}", item.message, item.field) for item in faults]


def _is_done(sent: _Sent) -> bool:
    work = sent[1]
    return work is None or work.done()


async def _until_one(queue: Iterable[_Sent], watching: asyncio.Task[None]) -> None:
    """Waits until one shard that is under way is done, or the watch has ended with an error."""
    running = [work for _, work in queue if work is not None and not work.done()]
    await asyncio.wait([*running, watching], return_when=asyncio.FIRST_COMPLETED)
    if watching.done():
        await watching
