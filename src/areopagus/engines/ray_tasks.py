"""What runs on the nodes: the check of a node, and a shard of responses."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import AreopagusError, InputError, InputFault, StoreError
from ..judges.models.credentials import redact
from ..loop import run_sync
from .gate import Report
from .seat import PanelPlan, Seat, seat_for
from .shards import Shard


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


class RemoteGate:
    """The gate's actor, as a node speaks to it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def enter(self, node: str, backend: str, tokens: Sequence[float]) -> int:
        """See `Gate.enter`."""
        return int(await self._answer(self._actor.enter.remote(node, backend, list(tokens))))

    async def reserve(self, node: str, worst_usd: Sequence[float]) -> int:
        """See `Gate.reserve`."""
        return int(await self._answer(self._actor.reserve.remote(node, list(worst_usd))))

    async def report(self, node: str, reports: Sequence[Report]) -> bool:
        """See `Gate.report`."""
        return bool(await self._answer(self._actor.report.remote(node, list(reports))))

    async def _answer(self, asked: Any) -> Any:
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]

        try:
            return await asked
        except RayError as error:
            if raised_there(error) is not None:
                raise
            # Without the gate nobody keeps the limits and the cap: nothing more may be sent.
            raise StoreError(
                f"the run's gate cannot be reached ({type(error).__name__}); what was paid is in "
                "the ledger"
            ) from error


def check_node(plan: PanelPlan, actor: Any) -> Outcome:
    """What keeps this node from working for the run; the value is that of `Seat.faults`."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        unguarded = "was started without tokens (RAY_AUTH_MODE=token): who reaches it runs code"
        return Outcome(faults=(InputFault("ray", unguarded),))

    async def check() -> tuple[list[InputFault], dict[str, list[InputFault]]]:
        seat = await seat_for(plan, RemoteGate(actor))
        return await seat.faults()

    try:
        return Outcome(value=run_sync(check()))
    except AreopagusError as error:
        return _failed(error)


def score_shard(plan: PanelPlan, actor: Any, shard: Shard) -> Outcome:
    """The verdicts on a shard, as JSON."""

    async def score() -> list[dict[str, Any]]:
        seat: Seat = await seat_for(plan, RemoteGate(actor))
        return await seat.score(shard)

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
