"""An embedding model as a backend: its calls go over the client, so that they are paid for once."""

from __future__ import annotations

import base64
import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, InputFault, ProviderError
from ..experiment.backends import checked_models
from ..judges.models.backend import BackendSpec
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.credentials import without_secrets
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.litellm_calls import complete
from ..judges.models.litellm_setup import litellm_module
from ..judges.models.provider_errors import one_attempt
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import Request
from ..records.types import Reply, Usage

EMBED_TEMPLATE = "embed-1"
Vector = npt.NDArray[np.float32]


class _Zero(int):
    """A 0 that passes for given: litellm's embedding call reads a plain 0 as its default of 2."""

    def __bool__(self) -> bool:
        return True


_NO_RETRY = _Zero(0)
"""Retries are the client's, which counts and pays for them."""


class EmbeddingBackend(LitellmBackend):
    """A backend whose reply is a vector, as base64 of little-endian float32, in the reply's text.

    Keys, addresses and prices are those of every backend; nothing is generated, so that the output
    costs nothing.
    """

    async def send(self, request: Request) -> Reply:
        """The vector of the request's one text; see `Backend.send`."""
        arguments: dict[str, Any] = {
            "model": self.spec.model,
            "input": [request.messages[0]["content"]],
            "timeout": self.spec.timeout_s,
            "max_retries": _NO_RETRY,
            **self.spec.extra,
            **self._key_argument(),
        }
        if self.spec.api_base is not None:
            arguments["api_base"] = self.spec.api_base
        started = time.perf_counter()
        answer, _ = await one_attempt(
            complete(self.spec, arguments, embeds=True), self.spec.timeout_s, self.secrets
        )
        used = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
        reply = Reply(
            text=packed(_vector_of(answer)),
            finish_reason="stop",
            answered_by=getattr(answer, "model", None),
            usage=Usage(input_tokens=used, output_tokens=0),
            cost_usd=None if used is None else self.worst_cost(used, 0),
            latency_s=time.perf_counter() - started,
            created_at=time.time(),
        )
        return without_secrets(reply, self.secrets())

    def prepare(self) -> None:
        """Checks the provider offline; see `Backend.prepare`."""
        try:
            litellm_module().get_llm_provider(self.spec.model)
        except Exception as error:
            rule = f"unknown provider {self.spec.provider!r}"
            raise InputError([InputFault(self.spec.model, rule)]) from error

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What the input costs; None where no price is known."""
        return super().worst_cost(input_tokens, 0)

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What the input costs; None where no price is known."""
        return super().likely_cost(input_tokens, 0)

    def effective_parameters(self) -> dict[str, Any]:
        """What is sent beside the text."""
        return dict(self.spec.extra)


def embedding_from(model: Any) -> EmbeddingBackend:
    """The embedding model of a name or of settings.

    Raises:
        InputError: more than one, an embedded stand-in, or settings that are none.
    """
    spec, *further = checked_models(model)
    if further or not isinstance(spec, BackendSpec):
        raise InputError("embedding: must be one model, as provider/model or as settings")
    if spec.is_offline:
        raise InputError([InputFault(spec.name, "is an embedded model, and none of them embeds")])
    return EmbeddingBackend(spec)


def embedding_request(backend: EmbeddingBackend, text: str) -> Request:
    """The call for one text."""
    return Request(
        backend=backend.spec.model,
        endpoint=backend.spec.api_base or "",
        messages=({"role": "user", "content": text},),
        params=dict(backend.spec.extra),
        template=EMBED_TEMPLATE,
        purpose="classify",
        labels={"job": "prompts", "what": "embedding"},
    )


async def vector_of(client: Client, backend: EmbeddingBackend, text: str) -> Vector | str:
    """The vector of a text, or why there is none."""
    reservation = client.reservation()
    try:
        answer = await client.ask(backend, embedding_request(backend, text), reservation)
        return unpacked(answer.reply.text or "")
    except ProviderError as error:
        return error.fault
    except BudgetSpentError:
        return "budget"
    except StoppedError:
        return "interrupted"
    finally:
        reservation.close()


def packed(vector: Vector) -> str:
    """The vector as text."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def unpacked(text: str) -> Vector:
    """The reverse of `packed`."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32)


def _vector_of(answer: Any) -> Vector:
    data = getattr(answer, "data", None) or []
    first = data[0] if data else None
    values = (
        first.get("embedding") if isinstance(first, dict) else getattr(first, "embedding", None)
    )
    if not isinstance(values, list) or not values:
        raise ProviderError("bad_reply", "the reply holds no embedding", may_be_billed=True)
    vector = np.asarray(values, dtype=np.float32)
    if vector.ndim != 1 or not math.isfinite(float(np.abs(vector).sum())):
        raise ProviderError("bad_reply", "the embedding is no finite vector", may_be_billed=True)
    return vector
