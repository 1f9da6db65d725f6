"""The calls to a rewriter: the first one, and the one that asks it to mend what it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..judges.models.backend import Backend
from ..judges.models.client import REPAIR_OUTPUT_FACTOR
from ..judges.models.request import Message, Request, Rung
from ..judges.prompt import nonce_for
from .framings import Framing
from .rewriting_brief import (
    REWRITE_TEMPLATE,
    repair_messages,
    rewrite_contract,
    rewrite_messages,
)
from .variant_fault import VariantFault


def rewrite_request(
    backend: Backend,
    baseline: str,
    framings: Sequence[Framing],
    *,
    secret: bytes,
    rung: Rung,
    repeat: int = 0,
) -> Request:
    """The call that asks for one variant in each framing.

    Args:
        backend: the rewriter.
        baseline: the prompt.
        framings: what to write, in order.
        secret: the ledger's, for the marker.
        rung: how structured output is asked for.
        repeat: another number asks for other variants.
    """
    nonce = nonce_for(secret, baseline)
    messages = rewrite_messages(baseline, framings, nonce)
    return _request(backend, messages, framings, nonce=nonce, rung=rung, repeat=repeat)


def rewrite_repair_request(
    backend: Backend,
    baseline: str,
    framings: Sequence[Framing],
    wanted: Sequence[Framing],
    reply: str,
    faults: Sequence[VariantFault],
    *,
    secret: bytes,
    rung: Rung,
    repeat: int = 0,
    problem: str | None = None,
) -> Request:
    """The call that asks to write some variants anew.

    Args:
        backend, baseline, framings, secret, rung, repeat: as for the first call.
        wanted: the framings to write anew.
        reply: what was answered.
        faults: why.
        problem: what was wrong with the reply's form, where no variant could be read.
    """
    nonce = nonce_for(secret, baseline)
    messages = repair_messages(
        rewrite_messages(baseline, framings, nonce),
        reply,
        faults,
        [framing.id for framing in wanted],
        problem=problem,
    )
    return _request(
        backend,
        messages,
        wanted,
        nonce=nonce,
        rung=rung,
        repeat=repeat,
        is_longer=problem == "truncated",
    )


def offline_rewriting(framings: Sequence[Framing]) -> Mapping[str, Any]:
    """What the embedded rewriter needs and cannot read out of the messages."""
    from ..judges.offline.writers import REWRITER_VERSION

    return {
        "version": REWRITER_VERSION,
        "framings": {framing.id: list(framing.stand_in) for framing in framings},
    }


def _request(
    backend: Backend,
    messages: tuple[Message, ...],
    framings: Sequence[Framing],
    *,
    nonce: str,
    rung: Rung,
    repeat: int,
    is_longer: bool = False,
) -> Request:
    spec = backend.spec
    parameters: dict[str, Any] = spec.parameters()
    if is_longer:
        parameters["max_tokens"] = REPAIR_OUTPUT_FACTOR * spec.max_tokens
    if spec.is_offline:
        parameters["offline"] = offline_rewriting(framings)
    return Request(
        backend=spec.model,
        endpoint=spec.api_base or "",
        messages=messages,
        params=parameters,
        schema=rewrite_contract(framing.id for framing in framings).schema(),
        structured=rung,
        nonce=nonce,
        repeat=repeat,
        template=REWRITE_TEMPLATE,
        purpose="rewrite",
        labels={"framings": ",".join(framing.id for framing in framings)},
    )
