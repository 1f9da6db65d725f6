"""Single responses: checked, and scored one by one or side by side over one client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
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


class CheckedClient:
    """A client for calls that come one by one; access to each backend is checked once."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._checked: set[str] = set()
        self._checking = asyncio.Lock()

    async def of(
        self, backends: Iterable[Backend], is_paid: Callable[[Backend], bool] = lambda _: False
    ) -> Client:
        """The client, once these backends can be asked.

        Args:
            backends: who is asked next.
            is_paid: see `backends.require_access`.

        Raises:
            InputError: see `backends.require_access`.
        """
        async with self._checking:
            new = {backend.spec.model_dump_json(): backend for backend in backends}
            new = {key: backend for key, backend in new.items() if key not in self._checked}
            faulty: set[str] = set()

            def is_paid_all_the_same(backend: Backend) -> bool:
                faulty.add(backend.spec.model_dump_json())
                return is_paid(backend)

            capped = self.client.budget.cap is not None
            await require_access(tuple(new.values()), is_paid_all_the_same, capped=capped)
            self._checked.update(new.keys() - faulty)  # the others are looked at anew next time
            return self.client


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
        self._asking: CheckedClient | None = None

    async def score(self, panel: PanelSpec, sample: Sample) -> Verdict:
        """The panel's verdict on one response.

        Raises:
            InputError: a missing key, an address at which nobody answers.
            StoreError: the ledger cannot be written.
        """
        from .engine import judge_sample

        # One client for all calls that are made at once: its limits are those of the backends.
        if self._asking is None:
            self._asking = CheckedClient(self._given or Client(panel.ledger))
        context = await panel_context(self._asking, panel, sample)
        if self._checkpointer is None:
            return await judge_sample(context)
        if self._graph is None:
            from ..graphs.panel import build_panel_graph

            self._graph = build_panel_graph(self._checkpointer)
        return await judge_sample(context, graph=self._graph, config=_thread(panel, sample))

    def forget(self) -> None:
        """Lets the client go; the next response gets a new one."""
        self._asking = None


async def panel_context(
    asking: CheckedClient, panel: PanelSpec, sample: Sample, *, repeated_text: bool = False
) -> PanelContext:
    """What the panel graph needs to judge this response.

    Raises:
        InputError: a missing key, an address at which nobody answers.
    """
    client = await asking.of(panel.backends, lambda backend: all_paid(panel, [sample], backend))
    return PanelContext(sample, panel, client, repeated_text=repeated_text)


def _thread(panel: PanelSpec, sample: Sample) -> dict[str, Any]:
    texts = asdict(sample)
    return {"configurable": {"thread_id": run_identity_hash(panel.identity() | texts)}}
