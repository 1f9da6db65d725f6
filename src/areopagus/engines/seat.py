"""What a node needs to seat the panel, and the panel as it sits there.

The plan of a panel travels to the nodes and holds no key: settings name the variables, and every
node reads its own environment. A ledger's address travels without its password, for which the
nodes have PGPASSWORD.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..access import access_faults
from ..errors import InputError, InputFault
from ..graphs.stopping import StoppingRule
from ..judges.factory import is_made_of_settings
from ..records.readers.responses import ResponseRow
from ..scoring import score_rows
from .gate import Limits
from .node_desk import GateCalls, NodeDesk, in_touch
from .shards import Shard

if TYPE_CHECKING:
    from ..panel import Panel


@dataclass(frozen=True, slots=True)
class PanelPlan:
    """A panel as it travels.

    Attributes:
        run: names this run of a job; a node that works for another one closes what it had.
        models: fields of each `BackendSpec`.
        personas, rubric: as loaded by the driver: nodes need none of its files.
        settings: the other arguments of `Panel`.
        ledger: file or address, without a password.
        identity: `Panel.identity` of the driver, which a node's must equal.
        versions: of what shapes the numbers; the nodes' must be equal.
        cap: US dollars for all nodes together; None = no cap.
        rule: when fewer judgments are enough; None = all are asked.
        unclaimed: what batches have brought for this run; see `Desk.unclaimed`.
    """

    run: str
    models: tuple[dict[str, Any], ...]
    personas: tuple[Any, ...]
    rubric: Any
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
        from ..panel import Panel
        from ..run_record import versions

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
            ledger=self.ledger,
            **self.settings,
        )
        if panel.identity() != self.identity:
            raise InputError("this node would ask another panel than the driver's")
        panel.bench = replace(panel.bench, rule=self.rule)
        return panel


def plan_of(panel: Panel, *, cap: float | None) -> PanelPlan:
    """The plan of a panel for one run; a password in the ledger's address stays behind.

    Args:
        panel: whose plan.
        cap: US dollars for all nodes together; None = no cap.

    Raises:
        InputError: a backend is an object of this process.
    """
    from ..run_record import versions

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
    settings = panel.settings
    return PanelPlan(
        run=uuid.uuid4().hex,
        models=tuple(
            backend.spec.model_dump(exclude_unset=True) | {"name": backend.spec.name}
            for backend in panel.backends
        ),
        personas=panel.personas,
        rubric=panel.rubric,
        settings={
            name: getattr(settings, name)
            for name in (
                "mode",
                "order",
                "rationale",
                "anchors",
                "repeats",
                "score_mode",
                "quorum",
            )
        },
        ledger=panel.ledger.place,
        identity=panel.identity(),
        versions=versions(),
        cap=cap,
        rule=panel.bench.rule,
    )


def limits_of(panel: Panel) -> dict[str, Limits]:
    """What each backend takes, over all nodes together."""
    return {
        backend.spec.name: Limits(backend.spec.concurrency, backend.spec.rpm, backend.spec.tpm)
        for backend in panel.backends
    }


class Seat:
    """The panel in one worker process, kept from shard to shard."""

    def __init__(self, plan: PanelPlan, gate: GateCalls) -> None:
        self.plan = plan
        self.panel = plan.panel()
        self.desk = NodeDesk(
            self.panel.ledger,
            gate=gate,
            node=f"{os.uname().nodename if hasattr(os, 'uname') else 'node'}-{uuid.uuid4().hex}",
            cap=plan.cap,
        )
        self.desk.expect(plan.unclaimed)

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

        What was sent and spent has reached the gate when this returns.
        """
        repeated = dict(zip(map(id, shard.rows), shard.repeated, strict=True))

        def is_repeated(row: ResponseRow) -> bool:
            return repeated[id(row)]

        async def all_of_them() -> list[dict[str, Any]]:
            return [
                scored.verdict.to_json()
                async for scored in score_rows(
                    shard.rows, bench=self.panel.bench, desk=self.desk, is_repeated=is_repeated
                )
            ]

        verdicts: list[dict[str, Any]] = await in_touch(self.desk, all_of_them())
        return verdicts

    async def close(self) -> None:
        """Closes connections and the ledger."""
        await self.panel._close()


_seats: dict[str, Seat] = {}


async def seat_for(plan: PanelPlan, gate: GateCalls) -> Seat:
    """This process's seat for a run, made when first needed."""
    if plan.run not in _seats:
        for run in list(_seats):
            await _seats.pop(run).close()
        _seats[plan.run] = Seat(plan, gate)
    return _seats[plan.run]
