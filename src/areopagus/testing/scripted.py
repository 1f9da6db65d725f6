"""Answers written in a test: ready-made judges for a server, and a backend without any server."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ..errors import ProviderError
from ..judges.models.backend import Backend, BackendSpec
from ..judges.models.request import Request
from ..records.types import Reply, Usage
from .exchange import Fault, ScriptedJudge, ServedReply, ServedRequest

Answer: TypeAlias = ServedReply | Mapping[str, Any] | str | int | Fault
"""A whole reply; an object sent as JSON; a text sent as it is; one integer for every score of
the schema asked for; or a fault (around a reply of `by_hash(1, 10)`)."""

NO_SCHEMA_PROPERTIES: tuple[str, ...] = ("overall",)


def constant(scores: Answer) -> ScriptedJudge:
    """A judge that always answers the same."""
    return lambda request: as_reply(scores, request)


def by_hash(
    low: int, high: int, *, properties: Sequence[str] = NO_SCHEMA_PROPERTIES
) -> ScriptedJudge:
    """A judge with pseudo-random opinions that never change.

    Each integer of the schema asked for gets a value from the SHA-256 of the request's key and
    the property's name, close to uniform on low…high (narrowed to the schema's own bounds);
    an enum one of its values; a boolean false, a string "because", an array nothing. The key
    masks marker nonces, so the vote is the same on every rerun.

    Args:
        low: smallest score.
        high: largest score.
        properties: the scores to give where a request brings no schema.

    Raises:
        ValueError: where low is above high.
    """
    if low > high:
        raise ValueError(f"low must not be above high, got {low} and {high}")
    fallback = {"type": "object", "properties": {name: {"type": "integer"} for name in properties}}

    def judge(request: ServedRequest) -> ServedReply:
        schema = fallback if request.schema is None else request.schema

        def integer(name: str, part: Mapping[str, Any]) -> int:
            least = max(low, _bound(part, low, upper=False))
            most = max(least, min(high, _bound(part, high, upper=True)))
            return least + draw(request.key, name) % (most - least + 1)

        return ServedReply(json.dumps(_filled(schema, "", schema, integer)))

    return judge


def sequence(answers: Iterable[Answer]) -> ScriptedJudge:
    """A judge that gives the answers one after the other, whoever asks; the last one for ever.

    Raises:
        ValueError: where there is no answer.
    """
    script = list(answers)
    if not script:
        raise ValueError("answers must hold at least one answer")
    position = 0

    def judge(request: ServedRequest) -> ServedReply:
        nonlocal position
        answer = script[min(position, len(script) - 1)]
        position += 1
        return as_reply(answer, request)

    return judge


def per_model(judges: Mapping[str, ScriptedJudge | Answer]) -> ScriptedJudge:
    """A judge for each model name (without litellm's prefix); any other model is not found."""

    def judge(request: ServedRequest) -> ServedReply:
        chosen = judges.get(request.model)
        if chosen is None:
            return ServedReply(None, fault=Fault.MODEL_NOT_FOUND)
        return chosen(request) if callable(chosen) else as_reply(chosen, request)

    return judge


def respondent(text_fn: Callable[[str], str]) -> ScriptedJudge:
    """A model that answers prompts instead of scoring: text_fn maps prompt to answer."""
    return lambda request: ServedReply(text_fn(request.prompt))


def flaky(
    judge: ScriptedJudge,
    faults: Sequence[Fault],
    rate: float,
    seed: int = 0,
    *,
    first_attempts: int | None = None,
) -> ScriptedJudge:
    """The judge, with a fault in a share of its replies.

    Which reply gets which fault is decided by seed, request key and attempt number alone, so it
    does not depend on the order in which requests arrive.

    Args:
        judge: what answers otherwise.
        faults: the faults, equally likely.
        rate: the share of attempts with a fault, in [0, 1].
        seed: another one gives other faults.
        first_attempts: attempts above this number never fail, so that a caller who tries once
            more is sure to get through; None: any attempt may fail.

    Raises:
        ValueError: where rate is outside [0, 1] or there is no fault to choose.
    """
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be in [0, 1], got {rate}")
    if not faults:
        raise ValueError("faults must name at least one fault")

    def unreliable(request: ServedRequest) -> ServedReply:
        reply = judge(request)
        if first_attempts is not None and request.attempt > first_attempts:
            return reply
        chance = draw(str(seed), request.key, str(request.attempt))
        if chance % 2**32 >= rate * 2**32:
            return reply
        return replace(reply, fault=faults[(chance >> 32) % len(faults)])

    return unreliable


def as_reply(answer: Answer, request: ServedRequest) -> ServedReply:
    """The reply that an `Answer` stands for."""
    if isinstance(answer, ServedReply):
        return answer
    if isinstance(answer, Fault):  # before str, which it is as well
        return replace(by_hash(1, 10)(request), fault=answer)
    if isinstance(answer, str):
        return ServedReply(answer)
    if isinstance(answer, int):
        value = answer
        schema = request.schema or {"properties": {name: {} for name in NO_SCHEMA_PROPERTIES}}
        return ServedReply(json.dumps(_filled(schema, "", schema, lambda name, part: value)))
    return ServedReply(json.dumps(answer))


def draw(*parts: str) -> int:
    """A number of 64 bits from the SHA-256 of the parts; the same for ever."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def _bound(part: Mapping[str, Any], default: int, *, upper: bool) -> int:
    plain, exclusive = ("maximum", "exclusiveMaximum") if upper else ("minimum", "exclusiveMinimum")
    if isinstance(part.get(plain), int | float):
        return int(part[plain])
    if isinstance(part.get(exclusive), int | float):
        return int(part[exclusive]) + (-1 if upper else 1)
    return default


def _filled(
    part: Mapping[str, Any],
    name: str,
    root: Mapping[str, Any],
    integer: Callable[[str, Mapping[str, Any]], int],
) -> Any:
    """A value that fits a part of a JSON Schema."""
    if "$ref" in part:
        target: Any = root
        for step in str(part["$ref"]).removeprefix("#/").split("/"):
            target = target.get(step, {})
        return _filled(target, name, root, integer)
    for choice in part.get("anyOf") or part.get("oneOf") or ():
        if choice.get("type") != "null":
            return _filled(choice, name, root, integer)
    if part.get("enum"):
        return part["enum"][integer(name, {}) % len(part["enum"])]
    if "const" in part:
        return part["const"]
    kind = part.get("type", "object" if "properties" in part else "integer")
    if kind == "object":
        properties = part.get("properties") or {}
        return {
            key: _filled(value, f"{name}/{key}" if name else key, root, integer)
            for key, value in properties.items()
        }
    simple: dict[str, Any] = {"boolean": False, "string": "because", "array": [], "null": None}
    if kind in simple:
        return simple[kind]
    score = integer(name, part)
    return float(score) if kind == "number" else score


ScriptedAnswer = str | Mapping[str, Any] | Reply | ProviderError
"""Reply text, an object to be written as JSON, a whole reply, or a fault to be raised."""


class ScriptedBackend(Backend):
    """Hand it to `Panel(models=[…])`: it takes the road of every backend, ledger and limits too.

    Attributes:
        requests: every request that was sent, in order.
    """

    def __init__(
        self,
        answer: ScriptedAnswer | Sequence[ScriptedAnswer] | Callable[[Request], ScriptedAnswer],
        *,
        name: str = "scripted/judge",
        cost_usd: float | None = 0.0,
        **settings: Any,
    ) -> None:
        """Sets the answers.

        Args:
            answer: one answer for every request, a sequence of which the last one repeats, or a
                function of the request.
            name: the backend's name, as provider/model.
            cost_usd: what a call costs; None = unknown.
            settings: further fields of `BackendSpec`.
        """
        self.spec = BackendSpec(model=name, **{"structured": "json_schema", **settings})
        self.requests: list[Request] = []
        self._answer = answer
        self._cost_usd = cost_usd

    async def send(self, request: Request) -> Reply:
        """The next answer; see `Backend.send`."""
        self.requests.append(request)
        answer = self._next(request)
        if isinstance(answer, ProviderError):
            raise answer
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(dict(answer))
        size = sum(len(message["content"]) for message in request.messages)
        return Reply(
            text=text,
            finish_reason="stop",
            answered_by=self.spec.model,
            usage=Usage(input_tokens=size // 4, output_tokens=len(text) // 4),
            cost_usd=self._cost_usd,
            created_at=time.time(),
        )

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The cost of a call, whatever its size."""
        return self._cost_usd

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The cost of a call, whatever its size."""
        return self._cost_usd

    def _next(self, request: Request) -> ScriptedAnswer:
        answer = self._answer
        if callable(answer):
            return answer(request)
        if isinstance(answer, Sequence) and not isinstance(answer, str):
            return answer[min(len(self.requests), len(answer)) - 1]
        return answer
