"""An engine around another one that counts what a stopping rule spares."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import InputError
from ..graphs.stopping import StoppingRule
from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..records.readers.responses import ResponseRow
from ..scoring import Scored
from .stored import is_decided
from .tally import PrecisionTally

if TYPE_CHECKING:
    from ..engines.engine import Engine
    from ..panel import Panel


def panel_with_rule(panel: Panel, rule: StoppingRule) -> tuple[Panel, PrecisionTally]:
    """The same panel, over the same ledger and connections, that asks by a rule; and its tally.

    Its requests and their keys are those of the panel without one.
    """
    # Opened before the copy is made, so that both have the same and one of them closes it.
    _ = panel.ledger
    ruled = copy.copy(panel)
    ruled.bench = replace(panel.bench, rule=rule)
    ruled.precision = tally = PrecisionTally(
        rule,
        personas=[persona.id for persona in panel.personas],
        models=[backend.spec.name for backend in panel.backends],
        repeats=panel.bench.repeats,
        grain=panel.bench.grain,
    )
    return ruled, tally


class PrecisionEngine:
    """Hands everything on, and every verdict to the tally as it passes."""

    def __init__(
        self,
        tally: PrecisionTally,
        *,
        inner: Engine,
        rows: Callable[[], Iterable[ResponseRow]],
    ) -> None:
        """Keeps what it needs.

        Args:
            tally: what counts the verdicts.
            inner: who does the work.
            rows: the responses of the job, from the beginning at every call.
        """
        self._tally = tally
        self._inner = inner
        self._rows = rows

    async def require_access(
        self, panel: Panel, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """See `Engine.require_access`."""
        try:
            await self._inner.require_access(panel, is_paid, capped=capped)
        except InputError:
            if not await is_decided(panel, self._rows()):
                raise
            # Judges who lack a reply are not wanted; what is wrong with the settings still is.
            await self._inner.require_access(panel, lambda _: True, capped=capped)

    async def score(
        self,
        rows: Iterable[ResponseRow],
        *,
        panel: Panel,
        desk: Desk,
        is_repeated: Callable[[ResponseRow], bool],
    ) -> AsyncGenerator[Scored, None]:
        """See `Engine.score`."""
        verdicts = self._inner.score(rows, panel=panel, desk=desk, is_repeated=is_repeated)
        async with aclosing(verdicts):
            async for scored in verdicts:
                self._tally.add(scored.verdict)
                yield scored

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._inner.close()
