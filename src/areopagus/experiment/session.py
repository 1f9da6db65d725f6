"""Single responses before a panel, as `Panel.score` has them: checked, and all over one desk."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..graphs.state import Sitting
from ..judges.judge import Matter
from ..judges.models.client import Desk

if TYPE_CHECKING:
    from ..judges.models.backend import Backend
    from ..panel import Panel
    from ..records.types import Verdict


def matter_from(
    prompt: str, response: str, response_id: str, prompt_id: str, respondent_id: str
) -> Matter:
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
    return Matter(response_id, prompt_id, respondent_id, prompt, response)


class SingleSittings:
    """Sittings that come one by one and may go on side by side."""

    def __init__(self, checkpointer: Any = None) -> None:
        """Takes a LangGraph checkpointer, or None; nothing is opened yet."""
        self._checkpointer = checkpointer
        self._graph: Any = None
        self._desk: Desk | None = None
        self._opening = asyncio.Lock()

    async def score(self, panel: Panel, matter: Matter) -> Verdict:
        """The panel's verdict on one response.

        Raises:
            InputError: a missing key, an address at which nobody answers.
            StoreError: the ledger cannot be written.
        """
        from .engine import sit

        sitting = Sitting(matter, panel.bench, await self._open_desk(panel, matter))
        if self._checkpointer is None:
            return await sit(sitting)
        if self._graph is None:
            from ..graphs.panel import build_panel_graph

            self._graph = build_panel_graph(self._checkpointer)
        return await sit(sitting, graph=self._graph, config=_thread(panel, matter))

    def forget(self) -> None:
        """Lets the desk go; the next response gets a new one."""
        self._desk = None

    async def _open_desk(self, panel: Panel, matter: Matter) -> Desk:
        from .backends import all_paid, require_access

        # One desk for all calls that are made at once: its limits are those of the backends.
        async with self._opening:
            if self._desk is not None:
                return self._desk
            desk = Desk(panel.ledger)
            faultless = True

            def is_paid(backend: Backend) -> bool:
                nonlocal faultless
                faultless = False
                return all_paid(panel, [matter], backend)

            await require_access(panel.backends, is_paid)
            if faultless:  # else the next response is looked at anew
                self._desk = desk
            return desk


def _thread(panel: Panel, matter: Matter) -> dict[str, Any]:
    from ..records.run_folder import run_identity_hash

    texts = asdict(matter)
    return {"configurable": {"thread_id": run_identity_hash(panel.identity() | texts)}}
