"""Tries each model of a panel once: key, address, settings, response format, price and latency.

The question is that of the panel's first judge about an example, by the client of every run: what
answers here answers there. It is asked anew each time, whatever the ledger holds.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from .errors import FAULT_HINTS, FaultClass, InputError
from .experiment.backends import access_faults, price_fault
from .judges.factory import backend_of, is_made_of_settings
from .judges.judge import Judge
from .judges.logprobs import weighted_scores
from .judges.models.backend import Backend
from .judges.models.budget import Budget
from .judges.models.client import Client
from .judges.models.credentials import key_variables
from .judges.models.request import ENFORCED_FORMATS, ResponseFormat
from .judges.schema import ParsedScore
from .judges.structured import Completion, complete
from .records.types import Sample

if TYPE_CHECKING:
    from .graphs.panel_spec import PanelSpec

MOST_USD = 1.0
"""What a check may cost where nothing else is said; usually it is a fraction of a cent."""
_MOST_WAIT_S = 5.0
"""Who is asked to wait for longer than that learns so, instead of waiting."""

EXAMPLE = Sample(
    response_id="check",
    prompt_id="check",
    respondent_id="check",
    prompt_text="Should voting be compulsory?",
    response_text="It should, because those who stay at home are mostly those who have least, and "
    "a parliament listens to voters. The price is small: an hour every few years. Against it "
    "stands the freedom not to take part; a blank ballot keeps that freedom.",
)

Outcome = Literal["ready", "to_set", "failed", "not_asked"]

_IN_SHORT: dict[FaultClass, str] = {
    "authentication": "the key is not accepted",
    "permission": "the key may not use this model",
    "not_found": "no such model or address",
    "quota": "no credit or quota is left",
    "context_length": "the example is too long for it",
    "content_policy": "its filter refused the example",
    "unsupported_parameter": "it does not take one of the parameters",
    "bad_request": "it does not take the request",
    "rate_limit": "its rate limit is reached",
    "timeout": "no answer in time",
    "connection": "the connection broke off",
    "server": "its server failed",
    "bad_reply": "what answers is not in its provider's form",
    "internal": "a defect of this program",
}
_UNREADABLE_HINTS = {
    "truncated": "raise max_tokens in the model's settings",
    "two_token_values": "it writes 10 as two tokens: set score_mode: integer, or take "
    "a rubric with a scale from 1 to 9",
    "no_logprobs": "set score_mode: integer, or name a model that gives log-probabilities",
}
_OTHER_FORM = "set structured: json_object or prompt in the model's settings, or name another model"
_WANT_V1 = ("openai", "hosted_vllm", "lm_studio")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """What came of trying one model.

    Attributes:
        model: its name in results.
        outcome: `ready`; `to_set` (a key, an address, a setting or a price is missing or wrong, and
            nothing was sent); `failed` (asked, without an answer of use); `not_asked` (the cap).
        key: the variable whose key was sent; None where none is.
        response_format: the strongest one that it takes.
        price_source: where its price comes from; None = unknown.
        latency_s: seconds from sending to the whole answer, of the last call.
        answered_by: the model that the answer names.
        gives_logprobs: whether log-probabilities could be used; None where none are asked for.
        calls: replies that came, those in a refused response format not counted.
        cost_usd: what they cost; None = unknown.
        problem: why it is not ready, in a few words; None where it is.
        said: what the endpoint said of it, redacted of keys.
        to_do: what to do about it.
    """

    model: str
    outcome: Outcome
    key: str | None = None
    response_format: ResponseFormat | None = None
    price_source: str | None = None
    latency_s: float | None = None
    answered_by: str | None = None
    gives_logprobs: bool | None = None
    calls: int = 0
    cost_usd: float | None = 0.0
    problem: str | None = None
    said: str | None = None
    to_do: str | None = None


async def check_models(panel: PanelSpec, *, max_cost: float | None = None) -> list[ModelCheck]:
    """One call to each model of the panel, side by side; more where response formats are tried.

    Args:
        panel: whose models.
        max_cost: US dollars that all of it may cost; a model without a known price is then not
            asked. Left out: `MOST_USD`, which cannot bind such a model.

    Raises:
        StoreError: the ledger cannot be written.
    """
    capped = Client(panel.ledger, budget=Budget(cap=MOST_USD if max_cost is None else max_cost))
    repeat = time.time_ns() // 1_000_000  # another asking than every earlier one

    async def check(backend: Backend) -> ModelCheck:
        judge = next(one for one in panel.judges.values() if one.backend is backend)
        found = await _to_set(backend)
        if found is not None:
            return found
        client = capped
        if backend.worst_cost(1, 1) is None:
            if max_cost is not None:
                fault = price_fault(backend)
                return ModelCheck(
                    model=backend.spec.name,
                    outcome="to_set",
                    key=_key(backend),
                    problem="no known price, so a cost cap cannot be kept",
                    to_do=fault.message.partition("; ")[2],
                )
            client = Client(panel.ledger)
        return await _asked(client, replace(judge, backend=_in_haste(backend)), repeat)

    return await asyncio.gather(*map(check, panel.backends))


async def _to_set(backend: Backend) -> ModelCheck | None:
    """What keeps the model from being asked at all, or None."""
    name = backend.spec.name
    try:
        backend.prepare()
    except InputError as error:
        told = "; ".join(fault.message for fault in error.faults)
        to_do = error.hint or "correct the model's settings"
        return ModelCheck(
            model=name, outcome="to_set", key=_key(backend), problem=told, to_do=to_do
        )
    faults = await access_faults(backend)
    if not faults:
        return None
    advice = []
    without_key = backend.access_faults()
    if without_key:
        advice.append("put the key into that variable, in the shell that runs areopagus")
    if len(faults) > len(without_key):
        advice.append("start the server, or correct its address (api_base)")
    return ModelCheck(
        model=name,
        outcome="to_set",
        key=_key(backend),
        price_source=backend.price_source,
        problem="; ".join(fault.message for fault in faults),
        to_do="; ".join(advice),
    )


async def _asked(client: Client, judge: Judge, repeat: int) -> ModelCheck:
    """What came of the one question."""
    backend = judge.backend
    question = judge.question(EXAMPLE, secret=client.ledger.secret, repeat=repeat)
    done = await complete(client, backend, question)
    logprobs: bool | None = None
    outcome: Outcome = "ready"
    problem, said, to_do = _trouble(done, backend)
    if judge.score_mode == "expected" and done.value is not None and not done.value.abstained:
        weighted = weighted_scores(
            done.replies[-1],
            judge.judge_prompt.schema,
            is_enforced=done.response_format in ENFORCED_FORMATS,
        )
        logprobs = weighted.problem is None
        if weighted.problem is not None:
            problem, said = "its log-probabilities cannot be used", weighted.detail
            to_do = _UNREADABLE_HINTS.get(weighted.problem, _UNREADABLE_HINTS["no_logprobs"])
    if problem is not None:
        outcome = "not_asked" if done.status == "not_asked" else "failed"
    return ModelCheck(
        model=backend.spec.name,
        outcome=outcome,
        key=_key(backend),
        response_format=done.response_format,
        price_source=backend.price_source,
        latency_s=done.replies[-1].latency_s if done.replies else None,
        answered_by=done.answered_by,
        gives_logprobs=logprobs,
        calls=done.calls,
        cost_usd=done.cost_usd,
        problem=problem,
        said=said,
        to_do=to_do,
    )


def _trouble(
    done: Completion[ParsedScore], backend: Backend
) -> tuple[str | None, str | None, str | None]:
    """Why there is no answer of use, what the endpoint said, and what to do."""
    if done.status == "read":
        return None, None, None
    if done.status == "not_asked":
        return "the cost cap does not allow the call", None, "give a higher `max_cost`"
    if done.status == "failed" and done.reason in _IN_SHORT:
        fault: FaultClass = done.reason
        to_do = FAULT_HINTS[fault]
        if fault in ("not_found", "server", "bad_reply"):
            to_do += _without_v1(backend)
        return _IN_SHORT[fault], done.detail, to_do
    if done.status == "refused":
        return "it declined to judge the example", done.detail, "name another model"
    shown = done.detail or done.reason
    return "its answer cannot be read", shown, _UNREADABLE_HINTS.get(done.reason or "", _OTHER_FORM)


def _without_v1(backend: Backend) -> str:
    """The commonest slip in the address of a server of one's own, or ""."""
    base = backend.spec.api_base
    if base is None or urlsplit(base).path or backend.spec.provider not in _WANT_V1:
        return ""
    return f"; is the address perhaps {base}/v1?"


def _in_haste(backend: Backend) -> Backend:
    """The same model, tried once: who checks wants to know what is wrong, not to wait it out."""
    if not is_made_of_settings(backend):
        return backend
    wait = min(backend.spec.max_wait_s, _MOST_WAIT_S)
    return backend_of(backend.spec.model_copy(update={"max_attempts": 1, "max_wait_s": wait}))


def _key(backend: Backend) -> str | None:
    """The name of the variable whose key goes to the model."""
    spec = backend.spec
    if spec.api_key_env is not None or spec.api_base is not None or spec.is_offline:
        return spec.api_key_env
    return next(filter(os.environ.get, key_variables(spec.provider)), None)


def exit_code(checks: Sequence[ModelCheck]) -> int:
    """0 where all models are ready; 2 something is to be set; 3 one failed; 4 the cap."""
    outcomes = {check.outcome for check in checks}
    codes: dict[Outcome, int] = {"to_set": 2, "failed": 3, "not_asked": 4}
    return next((code for outcome, code in codes.items() if outcome in outcomes), 0)
