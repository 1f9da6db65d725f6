"""Single responses: checked, and scored one by one or side by side over one client."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..graphs.panel import PanelContext
from ..judges.models.client import Client
from ..records.run_folder import run_identity_hash
from ..records.types import Sample
from .backends import all_paid, require_access

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend
    from ..records.types import Verdict


def sample_from(
    prompt: str, response: str, response_id: str, prompt_id: str, respondent_id: str
) -> Sample:
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
    return Sample(response_id, prompt_id, respondent_id, prompt, response)


class SingleScores:
    """Scores responses that come one by one, over one client."""

    def __init__(self, checkpointer: Any = None, client: Client | None = None) -> None:
        """Nothing is opened yet.

        Args:
            checkpointer: a LangGraph checkpointer, or None.
            client: the client to use; one of its own, made when first needed, when left out.
        """
        self._checkpointer = checkpointer
        self._graph: Any = None
        self._given = client
        self._checked: Client | None = None
        self._opening = asyncio.Lock()

    async def score(self, panel: PanelSpec, sample: Sample) -> Verdict:
        """The panel's verdict on one response.

        Raises:
            InputError: a missing key, an address at which nobody answers.
            StoreError: the ledger cannot be written.
        """
        from .engine import judge_sample

        context = PanelContext(sample, panel, await self._open_client(panel, sample))
        if self._checkpointer is None:
            return await judge_sample(context)
        if self._graph is None:
            from ..graphs.panel import build_panel_graph

            self._graph = build_panel_graph(self._checkpointer)
        return await judge_sample(context, graph=self._graph, config=_thread(panel, sample))

    def forget(self) -> None:
        """Lets the client go; the next response gets a new one."""
        self._checked = None

    async def _open_client(self, panel: PanelSpec, sample: Sample) -> Client:
        # One client for all calls that are made at once: its limits are those of the backends.
        async with self._opening:
            if self._checked is not None:
                return self._checked
            client = self._given or Client(panel.ledger)
            faultless = True

            def is_paid(backend: Backend) -> bool:
                nonlocal faultless
                faultless = False
                return all_paid(panel, [sample], backend)

            await require_access(panel.backends, is_paid, capped=client.budget.cap is not None)
            if faultless:  # else the next response is looked at anew
                self._checked = client
            return client


def _thread(panel: PanelSpec, sample: Sample) -> dict[str, Any]:
    texts = asdict(sample)
    return {"configurable": {"thread_id": run_identity_hash(panel.identity() | texts)}}
