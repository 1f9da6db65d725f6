"""An engine that goes through batch endpoints first and lets another one do the rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, InputFault
from ..experiment.engine import LocalEngine, Scored
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..records.types import Sample
from .providers import takes_batches
from .runner import BatchRunner
from .settings import BatchProgress, BatchSettings

if TYPE_CHECKING:
    from ..experiment.engine import Engine
    from ..graphs.panel_spec import PanelSpec


class BatchEngine:
    """Runs batches first, then the ordinary run, which finds their answers in the ledger."""

    def __init__(
        self,
        settings: BatchSettings,
        *,
        inner: Engine | None = None,
        on_progress: Callable[[BatchProgress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """Takes the settings.

        Args:
            settings: how.
            inner: does the rest; this process when left out.
            on_progress: called on every change, on the package's loop: keep it short.
            on_notice: called with every sentence that a person should read, on the same loop.
        """
        self._settings = settings
        self._inner: Engine = inner or LocalEngine()
        self._on_progress = on_progress
        self._on_notice = on_notice

    async def require_access(
        self, panel: PanelSpec, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """See `Engine.require_access`; with `only`, every backend must take batches.

        Raises:
            InputError: as there.
        """
        if self._settings.only:
            if type(self._inner) is not LocalEngine:
                # Other machines ask by themselves, and nothing would keep them from it.
                raise InputError("`only`: only this process can be kept from asking online")
            faults = [
                InputFault(backend.spec.name, "has no batch endpoint that is known here")
                for backend in panel.backends
                if not takes_batches(backend) and not is_paid(backend)
            ]
            if faults:
                raise InputError(
                    faults, hint="Leave `only` out: what takes no batches is asked online."
                )
        await self._inner.require_access(panel, is_paid, capped=capped)

    async def score(
        self,
        rows: Callable[[], Iterable[Sample]],
        *,
        panel: PanelSpec,
        client: Client,
        is_repeated: Callable[[Sample], bool],
        folder: Path,
    ) -> AsyncGenerator[Scored, None]:
        """See `Engine.score`."""
        stage = BatchRunner(
            panel,
            rows,
            client,
            folder,
            self._settings,
            on_progress=self._on_progress,
            on_notice=self._on_notice,
        )
        await stage.run()
        if self._settings.only:
            client.unanswered = stage.leftovers.error
        verdicts = self._inner.score(
            rows, panel=panel, client=client, is_repeated=is_repeated, folder=folder
        )
        async with aclosing(verdicts):
            async for scored in verdicts:
                yield scored

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._inner.close()
