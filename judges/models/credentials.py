"""API keys: where they come from, and how they are kept out of what is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...environment import environment_secrets
from ...records.types import Reply

# Variables of the environment from which litellm takes addresses and keys, by provider. Most are
# the provider's name with `_API_BASE`, `_BASE_URL` or `_API_KEY` behind it. Others have names of
# their own, before these or instead of them, listed in the order in which litellm looks for them.
_WATSONX = ("WATSONX_API_BASE", "WATSONX_URL", "WX_URL", "WML_URL")
_WATSONX_KEYS = ("WATSONX_APIKEY", "WATSONX_API_KEY", "WX_API_KEY")
_ADDRESSES = {
    "DATAROBOT": ("DATAROBOT_ENDPOINT",),
    "FEATHERLESS_AI": ("FEATHERLESS_AI_API_BASE", "FEATHERLESS_API_BASE"),
    "FIREWORKS_AI": ("FIREWORKS_API_BASE",),
    "FRIENDLIAI": ("FRIENDLI_API_BASE",),
    "GRADIENT_AI": ("GRADIENT_AI_AGENT_ENDPOINT",),
    "HUGGINGFACE": ("HF_API_BASE",),
    "LAMBDA_AI": ("LAMBDA_API_BASE",),
    "META_LLAMA": ("LLAMA_API_BASE",),
    "MISTRAL": ("MISTRAL_AZURE_API_BASE",),
    "OPENAI": ("OPENAI_BASE_URL",),
    "SCX-AI": ("SCX_API_BASE",),
    "TENSORMESH": ("TENSORMESH_SERVERLESS_BASE_URL",),
    "WATSONX": _WATSONX,
    "WATSONX_TEXT": _WATSONX,
}
_KEYS = {
    "AZURE": ("AZURE_OPENAI_API_KEY",),
    "DATAROBOT": ("DATAROBOT_API_TOKEN",),
    "FEATHERLESS_AI": ("FEATHERLESS_AI_API_KEY", "FEATHERLESS_API_KEY"),
    "FIREWORKS_AI": (
        "FIREWORKS_API_KEY",
        "FIREWORKS_AI_API_KEY",
        "FIREWORKSAI_API_KEY",
        "FIREWORKS_AI_TOKEN",
    ),
    "FRIENDLIAI": ("FRIENDLIAI_API_KEY", "FRIENDLI_TOKEN"),
    "GEMINI": ("GOOGLE_API_KEY",),
    "HUGGINGFACE": ("HF_TOKEN",),
    "LAMBDA_AI": ("LAMBDA_API_KEY",),
    "META_LLAMA": ("LLAMA_API_KEY",),
    "MISTRAL": ("MISTRAL_AZURE_API_KEY",),
    "SCX-AI": ("SCX_API_KEY",),
    "TENSORMESH": ("TENSORMESH_INFERENCE_API_KEY",),
    "TOGETHER_AI": (
        "TOGETHER_API_KEY",
        "TOGETHER_AI_API_KEY",
        "TOGETHERAI_API_KEY",
        "TOGETHER_AI_TOKEN",
    ),
    "WATSONX": _WATSONX_KEYS,
    "WATSONX_TEXT": _WATSONX_KEYS,
}


def address_variables(provider: str) -> tuple[str, ...]:
    """Where an address may stand that the settings do not name; the first that is set counts."""
    prefix = _prefix(provider)
    own = _ADDRESSES.get(prefix, ())
    return tuple(dict.fromkeys((*own, f"{prefix}_API_BASE", f"{prefix}_BASE_URL")))


def key_variables(provider: str) -> tuple[str, ...]:
    """Where a key may stand that the settings do not name; the first that is set counts."""
    prefix = _prefix(provider)
    return tuple(dict.fromkeys((*_KEYS.get(prefix, ()), f"{prefix}_API_KEY")))


def _prefix(provider: str) -> str:
    """What the names of a provider's variables begin with."""
    return provider.upper().removesuffix("_CHAT")


REDACTED = "[redacted]"
_SHORTEST = 8
_NAMES = ("answered_by", "request_id", "finish_reason")
_TEXTS = ("text", "refusal", *_NAMES)
_LONGEST_NAME = 200


def without_secrets(reply: Reply, secrets: Sequence[str] = ()) -> Reply:
    """The reply with `[redacted]` for every secret that stands in one of its texts, as it is kept.

    Names (of the model, of the answer, of its ending) are cut at 200 characters.

    Only these very values are replaced, and nothing that merely looks like a key: the reply is
    somebody's judgment and is not edited otherwise. The same object where none stands in it.

    Args:
        reply: as it came.
        secrets: keys that were sent with the call, beside those of the environment's variables
            that hold one or are named so; a value under eight characters is taken for a word.
    """
    known = {*secrets, *(value for value, _ in environment_secrets())}
    return _with_short_names(_redacted(reply, known) if known else reply)


def _with_short_names(reply: Reply) -> Reply:
    """The reply with names of 200 characters at most; a server may write megabytes there."""
    names = {name: text for name in _NAMES if (text := getattr(reply, name))}
    short: dict[str, Any] = {
        n: f"{t[: _LONGEST_NAME - 1]}…" for n, t in names.items() if len(t) > _LONGEST_NAME
    }
    return replace(reply, **short) if short else reply


def _redacted(reply: Reply, known: set[str]) -> Reply:
    texts = {name: text for name in _TEXTS if (text := getattr(reply, name))}
    found = [
        secret
        for secret in known
        if len(secret) >= _SHORTEST and any(secret in text for text in texts.values())
    ]
    if not found:
        return reply
    for secret in sorted(found, key=len, reverse=True):  # one may be the beginning of another
        texts = {name: text.replace(secret, REDACTED) for name, text in texts.items()}
    # Log-probabilities hold the same text in pieces, in which a key cannot be told.
    return replace(reply, **texts, logprobs=None)


_CREDENTIAL = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key|r8|tgp|nvapi|pplx|gh[opsu])[-_][A-Za-z0-9_\-]{8,}"
    r"|Bearer\s+[A-Za-z0-9._\-]{8,}|AIza[0-9A-Za-z_\-]{20,}|\bAKIA[0-9A-Z]{12,}"
    r"|\beyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]+)*"
    r"|(?<=://)[^/\s:]*:[^/\s]+(?=@)"
)
# A key of no known form, named as one: the name stays.
_NAMED_CREDENTIAL = re.compile(
    r"((?:api[-_ ]?key|authorization|secret)[\"']?\s*[:=]\s*[\"']?)(?!\[)[^\s\"',;&\[\]]{6,}",
    re.IGNORECASE,
)
TRACEBACK = "Traceback (most recent call last)"
_DETAIL_CHARACTERS = 600


def redact(text: str, *, limit: int = _DETAIL_CHARACTERS, secrets: Sequence[str] = ()) -> str:
    """The text without any key: by the values in the environment, and by the look of keys."""
    found = environment_secrets()
    if secrets:
        known = {secret: "redacted" for secret in secrets if len(secret) >= 4} | dict(found)
        # One may be the beginning of another.
        found = tuple(sorted(known.items(), key=lambda secret: len(secret[0]), reverse=True))
    for value, name in found:
        text = text.replace(value, f"[{name}]")
    text = _NAMED_CREDENTIAL.sub(r"\1[redacted]", _CREDENTIAL.sub("[redacted]", text))
    text = text.partition(TRACEBACK)[0] + _last_line(text) if TRACEBACK in text else text
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)), ""
    )
