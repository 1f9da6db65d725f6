"""What a scoring job asks of whatever does its work: one process here, or many elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from ..access import require_access
from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..records.readers.responses import ResponseRow
from ..scoring import Scored, score_rows

if TYPE_CHECKING:
    from ..panel import Panel


class Engine(Protocol):
    """Puts responses before a panel and hands back the verdicts."""

    async def require_access(
        self, panel: Panel, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """Raises everything that keeps the backends from being asked; sends nothing.

        Args:
            panel: whose backends.
            is_paid: whether the ledger holds every reply that is wanted of a backend.
            capped: whether there is a cost cap, which needs prices.

        Raises:
            InputError: with all faults together.
        """
        ...

    def score(
        self,
        rows: Iterable[ResponseRow],
        *,
        panel: Panel,
        desk: Desk,
        is_repeated: Callable[[ResponseRow], bool],
    ) -> AsyncGenerator[Scored, None]:
        """Verdicts on the rows, in their order.

        Calls and money are counted at the desk, wherever they were made; a desk that is stopped
        lets what is in flight end.
        """
        ...

    async def close(self) -> None:
        """Ends what the engine has started."""
        ...


class LocalEngine:
    """All responses through the panel graph of this process, some dozens at once."""

    async def require_access(
        self, panel: Panel, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """See `access.require_access`."""
        await require_access(panel.backends, is_paid, capped=capped)

    def score(
        self,
        rows: Iterable[ResponseRow],
        *,
        panel: Panel,
        desk: Desk,
        is_repeated: Callable[[ResponseRow], bool],
    ) -> AsyncGenerator[Scored, None]:
        """See `score_rows`."""
        return score_rows(rows, bench=panel.bench, desk=desk, is_repeated=is_repeated)

    async def close(self) -> None:
        """Nothing was started."""
