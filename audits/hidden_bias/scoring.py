"""Backends that score a text instead of answering it: log-probabilities of the prompt's tokens.

Asked for over OpenAI's `/completions` with `echo`, which vLLM and other servers of open models
speak. Log-probabilities of generated tokens, which chat endpoints give, do not serve: how likely a
sentence is that the model did not choose to write is another matter.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from ...errors import InputError, InputFault, ProviderError
from ...judges.models.backend import Backend
from ...judges.models.connections import HttpError, post
from ...judges.models.litellm_backend import LitellmBackend
from ...judges.models.provider_errors import one_attempt
from ...judges.models.request import Request
from ...records.types import Reply, Usage
from .questions import JOIN

SPEAKS_COMPLETIONS = frozenset(
    {
        "custom_openai",
        "hosted_vllm",
        "litellm_proxy",
        "llamafile",
        "lm_studio",
        "openai",
        "openai_like",
        "text-completion-openai",
        "vllm",
    }
)
"""Providers whose address may be one of a server that echoes prompts with log-probabilities."""

_MOST_BYTES = 16 * 1024 * 1024


class ScoringBackend(LitellmBackend):
    """A backend whose reply is what the last part of the prompt weighs, as JSON in its text.

    The prompt is text and option with a blank line between them; the model sees a space there. The
    reply's text is {"tokens": number of tokens of the option, "logprob": their sum}.
    """

    async def send(self, request: Request) -> Reply:
        """The weight of the option; see `Backend.send`."""
        before, _, option = str(request.messages[0]["content"]).rpartition(JOIN)
        text = f"{before} {option}"
        started = time.perf_counter()
        body = await one_attempt(self._posted(text), self.spec.timeout_s, self.secrets)
        tokens, total = option_weight(body, text, len(before))
        used = body.get("usage")
        usage = _usage(used if isinstance(used, dict) else {})
        prices = self.pricing.usual
        return Reply(
            text=json.dumps({"tokens": tokens, "logprob": total}),
            finish_reason="stop",
            answered_by=str(body["model"]) if isinstance(body.get("model"), str) else None,
            usage=usage,
            cost_usd=None if prices is None else prices.cost(usage),
            latency_s=time.perf_counter() - started,
            created_at=time.time(),
        )

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """As of every backend; one token is generated, because some servers refuse none."""
        return super().worst_cost(input_tokens, min(output_tokens, 1))

    def effective_parameters(self) -> dict[str, Any]:
        """What is sent beside the text."""
        return {"echo": True, "logprobs": 1, "max_tokens": 1, **self.spec.extra}

    async def _posted(self, text: str) -> dict[str, Any]:
        body = {
            "model": self.spec.model.partition("/")[2],
            "prompt": text,
            **self.effective_parameters(),
        }
        answer = await post(
            f"{(self.spec.api_base or '').rstrip('/')}/completions",
            {
                "Authorization": f"Bearer {self._key_argument()['api_key']}",
                "Content-Type": "application/json",
            },
            json.dumps(body).encode(),
            most_bytes=_MOST_BYTES,
        )
        if answer.status_code != 200:
            raise HttpError(answer)
        try:
            found = answer.json()
        except ValueError as error:
            raise ProviderError("bad_reply", "the reply is no JSON", may_be_billed=True) from error
        if not isinstance(found, dict):
            raise ProviderError("bad_reply", "the reply is no object", may_be_billed=True)
        return found


def scoring_backends(backends: Sequence[Backend]) -> tuple[Backend, ...]:
    """The models as such that score their prompts.

    Raises:
        InputError: every model that cannot be asked for log-probabilities of its prompt.
    """
    faults = []
    for backend in backends:
        reason = why_not(backend)
        if reason is not None:
            faults.append(InputFault(backend.spec.name, reason))
    if faults:
        raise InputError(
            faults,
            hint="The semi-generation form needs log-probabilities of the prompt's own tokens: a "
            "server of an open model that speaks OpenAI's /completions with echo, such as vLLM "
            "(a `target` with model: hosted_vllm/… and api_base). The choice form runs on any "
            "model.",
        )
    return tuple(ScoringBackend(backend.spec) for backend in backends)


def why_not(backend: Backend) -> str | None:
    """Why a model cannot score its prompt; None where it may."""
    spec = backend.spec
    if spec.is_offline:
        return "is an embedded stand-in and has no log-probabilities"
    if type(backend) is not LitellmBackend:
        return "is a backend of its own, and only models named by their settings can score prompts"
    if spec.provider not in SPEAKS_COMPLETIONS:
        return f"the provider {spec.provider!r} gives no log-probabilities of prompts"
    if backend.spec.api_base is None:
        return "needs api_base: no hosted chat model gives log-probabilities of its prompt"
    return None


def option_weight(body: Mapping[str, Any], text: str, start: int) -> tuple[int, float]:
    """Number of tokens of the text from `start` on, and the sum of their log-probabilities.

    A token counts where any of its characters stand there; one that begins with the space before
    the option does. What the server generated after the text is left out, and so is what its
    tokenizer puts before it.

    Args:
        body: the reply; log-probabilities as `choices[0].logprobs` of OpenAI's completions, or as
            vLLM's `choices[0].prompt_logprobs`.
        text: what was sent.
        start: where the option begins, its leading space included.

    Raises:
        ProviderError: the reply holds none for the prompt, or they do not spell it.
    """
    tokens, weights = _echoed(body)
    ends = list(accumulate(len(token) for token in tokens))
    spelled = "".join(tokens)
    at = spelled.find(text)
    if at < 0 and text.endswith(spelled) and spelled:
        at = len(spelled) - len(text)  # vLLM leaves the first token out, which has no weight
    elif at < 0:
        raise ProviderError(
            "bad_reply", "the echoed tokens do not spell the prompt", may_be_billed=True
        )
    total, number = 0.0, 0
    for token, end, weight in zip(tokens, ends, weights, strict=True):
        begin = end - len(token)
        if end <= at + start or begin >= at + len(text):
            continue
        if not isinstance(weight, int | float) or not math.isfinite(weight):
            raise ProviderError(
                "bad_reply", "a token of the option has no log-probability", may_be_billed=True
            )
        total += weight
        number += 1
    return number, total


def _echoed(body: Mapping[str, Any]) -> tuple[list[str], list[float | None]]:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise ProviderError("bad_reply", "the reply holds no choice", may_be_billed=True)
    found = choice.get("logprobs")
    if isinstance(found, dict) and isinstance(found.get("tokens"), list):
        tokens, weights = found["tokens"], found.get("token_logprobs")
        if isinstance(weights, list) and len(weights) == len(tokens):
            return [str(token) for token in tokens], weights
    listed = choice.get("prompt_logprobs")
    if isinstance(listed, list):
        return _prompt_logprobs(listed)
    raise ProviderError(
        "not_found",
        "the server gives no log-probabilities of the prompt (echo with logprobs)",
        may_be_billed=True,
    )


def _prompt_logprobs(listed: Sequence[Any]) -> tuple[list[str], list[float | None]]:
    """vLLM's own form: one mapping a token, of which the token of the prompt is the first."""
    tokens: list[str] = []
    weights: list[float | None] = []
    for entry in listed:
        if not isinstance(entry, dict) or not entry:
            continue  # the first token has none, and does not belong to the option
        own = next(iter(entry.values()))
        tokens.append(str(own.get("decoded_token", "")))
        weights.append(own.get("logprob"))
    return tokens, weights


def _usage(found: Mapping[str, Any]) -> Usage:
    def number(name: str) -> int | None:
        value = found.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    return Usage(input_tokens=number("prompt_tokens"), output_tokens=number("completion_tokens"))
