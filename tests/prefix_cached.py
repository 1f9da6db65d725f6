"""A judge of the loopback provider that plays a provider's prefix cache."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from areopagus.testing import ScriptedJudge, ServedReply, ServedRequest

CHARACTERS_A_TOKEN = 4


def prefix_cached(
    judge: ScriptedJudge, *, answered_after_s: float, least: int = 1024, step: int = 128
) -> ScriptedJudge:
    """The judge, whose replies say how much of each prompt a prefix cache would have served.

    A prompt enters the cache when it has been answered, not when it arrives: calls that come
    together share nothing. OpenAI's protocol: the longest known beginning is served, in whole
    steps, from the minimum up. Anthropic's: up to a block that carries `cache_control`, from the
    minimum up, and what is written is told as well. Ollama's: nothing. A token is four characters;
    nothing is forgotten. Replies that say themselves what they used are left alone.

    Args:
        judge: what answers.
        answered_after_s: seconds from the arrival of a request to its answer, as the server has
            them.
        least: tokens of the shortest beginning that is kept.
        step: tokens by which OpenAI's kind of cache goes.
    """
    known_from: dict[str, float] = {}

    def counting(request: ServedRequest) -> ServedReply:
        reply = judge(request)
        if reply.usage is not None or reply.fault is not None:
            return reply
        text, marks = _prompt(request)
        sent = max(1, len(text) // CHARACTERS_A_TOKEN)
        if request.protocol == "openai":
            marks = list(range(step, sent + 1, step))
        kept = [mark for mark in marks if mark >= least] if request.protocol != "ollama" else []
        read = 0
        for mark in kept:
            key = _key(request.model, text[: mark * CHARACTERS_A_TOKEN])
            if known_from.setdefault(key, request.time + answered_after_s) <= request.time:
                read = mark
        written = kept[-1] - read if kept and request.protocol == "anthropic" else 0
        said = max(1, len(reply.text or "") // CHARACTERS_A_TOKEN)
        return replace(reply, usage=(sent, said, read), cache_written=written)

    return counting


def _key(model: str, beginning: str) -> str:
    return hashlib.sha256(f"{model}\x1f{beginning}".encode("utf-8", "surrogatepass")).hexdigest()


def _prompt(request: ServedRequest) -> tuple[str, list[int]]:
    """The whole prompt as one text, and the tokens before each end of a block to be kept."""
    body = request.params
    messages: list[Any] = list(body.get("messages") or ())
    if body.get("system"):
        messages.insert(0, {"content": body["system"]})
    text = json.dumps(body["tools"]) if body.get("tools") else ""
    marks: list[int] = []
    for message in messages:
        content = message.get("content") or ""
        for block in content if isinstance(content, list) else [{"text": content}]:
            text += str(block.get("text") or "")
            if "cache_control" in block:
                marks.append(len(text) // CHARACTERS_A_TOKEN)
    return text, marks
