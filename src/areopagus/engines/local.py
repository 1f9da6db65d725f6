"""The engine for one process, which is enough for nearly everybody (see docs/scaling.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TYPE_CHECKING

from ..access import require_access
from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..records.readers.responses import ResponseRow
from ..scoring import Scored, score_rows

if TYPE_CHECKING:
    from ..panel import Panel


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
