"""The settings of one backend: which model, behind which endpoint, asked how and how fast."""

from __future__ import annotations

import re
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..records.judgment import ScoreMode

Rung = Literal["json_schema", "json_object", "prompt"]
"""How structured output is asked for, from the strongest form to the weakest."""

LADDER: tuple[Rung, ...] = ("json_schema", "json_object", "prompt")

OFFLINE_MODEL = "offline/lexical"
"""The embedded judge: a text-feature baseline, scored when no model is named."""

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# Anything in `extra` goes into the request body and into the stored request: no place for a key,
# and no place for what this project sets itself.
_FORBIDDEN_EXTRA = re.compile(r"(api[-_]?key|token$|secret|password|authorization)", re.IGNORECASE)
_OWN_PARAMETERS = frozenset(
    {
        "api_base",
        "base_url",
        "cache",
        "caching",
        "drop_params",
        "fallbacks",
        "functions",
        "logprobs",
        "max_completion_tokens",
        "max_retries",
        "max_tokens",
        "messages",
        "mock_response",
        "model",
        "n",
        "num_retries",
        "reasoning_effort",
        "response_format",
        "seed",
        "stream",
        "temperature",
        "timeout",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
    }
)


class Prices(BaseModel):
    """What a backend charges, in US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class BackendSpec(BaseModel):
    """One backend of a panel, as it stands in `panel.yaml` under `models`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(description="litellm's name: provider/model")
    name: str = Field(default="", description="name in the results; the model string if left out")
    api_base: str | None = Field(default=None, description="endpoint, for a server of your own")
    api_key_env: str | None = Field(default=None, description="name of the variable with the key")
    temperature: float | None = Field(default=None, ge=0, le=2, description="not sent unless set")
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    reasoning_effort: str | None = Field(default=None, min_length=1)
    max_tokens: int = Field(default=2048, ge=1, le=1_000_000)
    timeout_s: float = Field(default=120.0, gt=0, le=3600, description="seconds, each attempt")
    max_attempts: int = Field(default=6, ge=1, le=50, description="HTTP attempts for one call")
    max_wait_s: float = Field(
        default=900.0, gt=0, description="seconds a call may spend waiting out rate limits"
    )
    structured: Rung | Literal["auto"] = "auto"
    score_mode: ScoreMode | None = None
    rpm: float | None = Field(default=None, gt=0, description="requests a minute")
    tpm: float | None = Field(default=None, gt=0, description="tokens a minute, both directions")
    concurrency: int = Field(default=32, ge=1, le=4096, description="most calls in flight")
    prices: Prices | None = None
    extra: dict[str, Any] = Field(
        default_factory=dict, description="further parameters of the request body"
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, value: Any) -> Any:
        value = {"model": value} if isinstance(value, str) else value
        if isinstance(value, dict) and "api_key" in value:
            raise ValueError(
                "api_key: keys are never written down; name the environment variable "
                "that holds it with api_key_env"
            )
        if isinstance(value, dict) and not value.get("name"):
            value = {**value, "name": value.get("model", "")}
        return value

    @field_validator("model")
    @classmethod
    def _has_provider(cls, value: str) -> str:
        provider, slash, rest = value.partition("/")
        if not (slash and provider.strip() and rest.strip()) or value != value.strip():
            raise ValueError(
                f"must be provider/model, such as openai/gpt-4o-mini or ollama_chat/llama3.1, "
                f"got {value!r}"
            )
        return value

    @field_validator("name")
    @classmethod
    def _printable_name(cls, value: str) -> str:
        if not value.isprintable() or "|" in value or len(value) > 200:
            raise ValueError("must be printable, without '|', of at most 200 characters")
        return value

    @field_validator("api_base")
    @classmethod
    def _http_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"must be an http(s) address, got {value!r}")
        if parts.username or parts.password:
            raise ValueError("must not carry a user name or password; use api_key_env")
        return value.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _variable_name(cls, value: str | None) -> str | None:
        if value is not None and not _ENVIRONMENT_NAME.fullmatch(value):
            # The value is not shown: it may be the key itself.
            raise ValueError("must be the NAME of an environment variable, such as OPENAI_API_KEY")
        return value

    @field_validator("extra")
    @classmethod
    def _harmless_extra(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if name in _OWN_PARAMETERS:
                raise ValueError(f"{name} is not an extra: set it by its own field, or leave it")
            if _FORBIDDEN_EXTRA.search(name):
                raise ValueError(f"{name} looks like a credential; use api_key_env")
        return value

    @property
    def provider(self) -> str:
        """The part of the model string before the first slash."""
        return self.model.partition("/")[0]

    @property
    def is_offline(self) -> bool:
        """Whether this is an embedded stand-in, which needs no key and no network."""
        return self.provider == "offline"

    @property
    def identity(self) -> str:
        """Model and endpoint: what a learned capability belongs to."""
        return f"{self.model} {self.api_base or ''}".strip()

    def parameters(self) -> dict[str, Any]:
        """The request parameters that shape a reply; those left unset are not sent."""
        chosen = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "reasoning_effort": self.reasoning_effort,
        }
        sent = {name: value for name, value in chosen.items() if value is not None}
        return {**sent, **self.extra}
