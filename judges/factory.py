"""Makes a backend from its settings: a model through litellm, or an embedded stand-in."""

from __future__ import annotations

import asyncio
import time

from ..errors import InputError, InputFault, ProviderError
from ..records.types import Reply, Usage
from .models.backend import Backend, BackendSpec
from .models.litellm_backend import LitellmBackend
from .models.prices import FREE, TokenPrices
from .models.request import Request
from .offline.models import PROVIDER, STAND_INS, offline_reply, usage_counts


class EmbeddedBackend(Backend):
    """A stand-in, `offline/…`, answered in this process without litellm; see `Backend`."""

    def __init__(self, spec: BackendSpec) -> None:
        self.spec = spec

    async def send(self, request: Request) -> Reply:
        """What the stand-in answers to this request, always the same; it costs nothing.

        Raises:
            ProviderError: the request is not in the form that the stand-in reads.
        """
        # What a stand-in does is arithmetic: others get their turn between two answers.
        await asyncio.sleep(0)
        started = time.monotonic()
        model = self.spec.model
        try:
            text = offline_reply(model, request.messages, request.params.get("offline"))
        except InputError as error:
            raise ProviderError("bad_request", str(error)) from error
        incoming, outgoing = usage_counts(request.messages, text)
        return Reply(
            text=text,
            finish_reason="stop",
            answered_by=f"{model.removeprefix(f'{PROVIDER}/')}-{STAND_INS[model].version}",
            usage=Usage(input_tokens=incoming, output_tokens=outgoing),
            cost_usd=0.0,
            latency_s=round(time.monotonic() - started, 4),
            created_at=time.time(),
        )

    def prepare(self) -> None:
        """Refuses a name that no stand-in has, and log-probabilities; see `Backend.prepare`."""
        if self.spec.model not in STAND_INS:
            known = ", ".join(STAND_INS)
            raise InputError(
                [InputFault(self.spec.model, f"no such embedded model; there is {known}")]
            )
        if self.spec.score_mode == "expected":
            raise InputError(
                [InputFault(self.spec.model, "gives no log-probabilities; use integer scores")]
            )

    @property
    def unit_prices(self) -> TokenPrices:
        """Nothing."""
        return FREE

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float:
        """Nothing."""
        return 0.0


def backend_of(spec: BackendSpec) -> Backend:
    """The backend that the settings describe: an embedded stand-in, or a model by litellm."""
    return EmbeddedBackend(spec) if spec.is_offline else LitellmBackend(spec)


def is_made_of_settings(backend: Backend) -> bool:
    """Whether `backend_of(backend.spec)` is as good as this one: in another process, say."""
    return type(backend) in (EmbeddedBackend, LitellmBackend)
