"""`BackendSpec`, the settings of a model behind an endpoint, and `Backend`, its interface.

The settings stand in `panel.yaml`; the client calls the interface.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ...environment import holds_key
from ...errors import InputFault
from ...records.types import Reply, ScoreMode, Usage
from .prices import Prices, TokenPrices
from .request import Request, ResponseFormat

OFFLINE_MODEL = "offline/lexical"
"""The embedded judge: a text-feature baseline, scored when no model is named."""
OFFLINE_REWRITER = "offline/rewriter"
OFFLINE_RESPONDENT = "offline/respondent"
"""The embedded stand-ins for a rewriter and for a model under test: deterministic template text."""

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# Some keys are made of the letters of a name.
_LOOKS_LIKE_KEY = re.compile(r"(sk|pk|rk|gsk|xai|hf|r8|tgp|nvapi|pplx|ghp)[-_].{8,}")
# Anything in `extra` goes into the request body and into the stored request: no place for a key,
# and no place for what this project sets itself.
_FORBIDDEN_EXTRA = re.compile(
    r"(api|access|private|signing|subscription)[-_]?key|token$|secret|passw|authorization|bearer"
    r"|credential|cookie",
    re.IGNORECASE,
)
_OWN_PARAMETERS = frozenset(
    {
        "additional_drop_params",
        "api_base",
        "base_url",
        "cache",
        "caching",
        "client",
        "context_window_fallback_dict",
        "custom_llm_provider",
        "drop_params",
        "enable_json_schema_validation",
        "fallbacks",
        "function_call",
        "functions",
        "logprobs",
        "max_completion_tokens",
        "max_retries",
        "max_tokens",
        "messages",
        "mock_delay",
        "mock_response",
        "mock_timeout",
        "mock_tool_calls",
        "model",
        "model_list",
        "modify_params",
        "n",
        "num_retries",
        "offline",
        "reasoning_effort",
        "request_timeout",
        "response_format",
        "retry_policy",
        "retry_strategy",
        "seed",
        "stream",
        "stream_options",
        "temperature",
        "timeout",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
    }
)


PriceSource = Literal["settings", "litellm", "genai-prices"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", "default"]
"""The words that litellm takes for a reasoning effort; a model may take only some of them."""


class BackendSpec(BaseModel):
    """One backend of a panel, as it stands in `panel.yaml` under `models`."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    model: str = Field(description="litellm's name: provider/model")
    name: str = Field(default="", description="name in the results; the model string if left out")
    api_base: str | None = Field(default=None, description="endpoint, for a server of your own")
    api_key_env: str | None = Field(default=None, description="name of the variable with the key")
    temperature: float | None = Field(default=None, ge=0, le=2, description="not sent unless set")
    top_p: float | None = Field(default=None, gt=0, le=1, description="not sent unless set")
    seed: int | None = Field(default=None, description="not sent unless set")
    reasoning_effort: Effort | None = Field(default=None, description="not sent unless set")
    max_tokens: int = Field(
        default=2048, ge=1, le=1_000_000, description="most tokens of a reply, reasoning included"
    )
    timeout_s: float = Field(default=120.0, gt=0, le=3600, description="seconds, each attempt")
    max_attempts: int = Field(
        default=6, ge=1, le=50, description="HTTP attempts for one call, rate limits not counted"
    )
    max_wait_s: float = Field(
        default=900.0,
        gt=0,
        description="seconds a call may wait out rate limits, and after which a backend that "
        "answers nothing else is given up",
    )
    structured: Literal[ResponseFormat, "auto"] = Field(
        default="auto", description="how JSON is asked for; auto: the strictest that works"
    )
    score_mode: ScoreMode | None = Field(
        default=None, description="of this backend, where it differs from the panel's"
    )
    rpm: float | None = Field(default=None, gt=0, description="requests a minute")
    tpm: float | None = Field(default=None, gt=0, description="tokens a minute, both directions")
    concurrency: int = Field(default=32, ge=1, le=4096, description="most calls in flight")
    lane: Literal["auto", "litellm"] = Field(
        default="auto",
        description="auto: litellm's translation around one request of our own; "
        "litellm: always litellm's own call",
    )
    prefix_first: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="answer one of the calls that share a beginning before the others are sent, "
        "for the provider's cache; auto: where cached input is cheaper and the text long enough",
    )
    prices: Prices | None = Field(default=None, description="known ones, if left out")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="further parameters of the request body"
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, value: Any) -> Any:
        value = {"model": value} if isinstance(value, str) else value
        if not isinstance(value, dict):
            return value
        # Checked here, not field by field: a fault of a field is shown with what stands in it.
        faults = list(_written_secrets(value))
        if faults:
            raise ValueError("; ".join(faults))
        return value if value.get("name") else {**value, "name": value.get("model", "")}

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
        if not value.isprintable() or "|" in value or len(value) > 200 or value != value.strip():
            raise ValueError(
                "must be printable, without '|' and outer spaces, of at most 200 characters"
            )
        return value

    @field_validator("api_base")
    @classmethod
    def _http_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or not value.isprintable():
            raise ValueError(f"must be an http(s) address, got {value!r}")
        if parts.port == 0:  # reading it refuses those above 65535
            raise ValueError("must name a port from 1 to 65535")
        return value.rstrip("/")

    @field_validator("extra")
    @classmethod
    def _harmless_extra(cls, value: dict[str, Any]) -> dict[str, Any]:
        faults = [
            f"{name} is not an extra: set it by its own field, or leave it"
            for name in value
            if name in _OWN_PARAMETERS
        ]
        faults += [f"{name} looks like a credential; use api_key_env" for name in _secretive(value)]
        try:
            # They are part of the stored request and of its key.
            json.dumps(value, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError):
            faults.append("must hold what JSON can say: text, finite numbers, lists, mappings")
        if faults:
            raise ValueError("; ".join(faults))
        return value

    def model_post_init(self, context: Any, /) -> None:
        """Whatever its variable is called: what stands in it is shown nowhere from now on."""
        if self.api_key_env is not None:
            holds_key(self.api_key_env)

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self.model_post_init(None)  # which unpickling, in another process, passes over

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

    def further(self) -> dict[str, Any]:
        """What `extra` adds to the body of a request; `extra_body` is unpacked into it."""
        inner = self.extra.get("extra_body")
        return {**self.extra, **inner} if isinstance(inner, dict) else self.extra

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


def _written_secrets(value: Mapping[str, Any]) -> Iterator[str]:
    """Where a key or password stands in the settings; what stands there is not shown."""
    if "api_key" in value:
        yield (
            "api_key: keys are never written down; name the environment variable that holds it "
            "with api_key_env"
        )
    named = value.get("api_key_env")
    if isinstance(named, str) and (
        not _ENVIRONMENT_NAME.fullmatch(named) or _LOOKS_LIKE_KEY.fullmatch(named)
    ):
        yield "api_key_env: must be the NAME of an environment variable, such as OPENAI_API_KEY"
    address = value.get("api_base")
    if isinstance(address, str) and ("@" in address or "?" in address or "#" in address):
        yield (
            "api_base: must not carry a user name, a password or a query; use api_key_env for a "
            "key, and extra for parameters"
        )


def _secretive(value: object) -> Iterator[str]:
    """Names, at any depth, that look like those of a credential."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _FORBIDDEN_EXTRA.search(str(name)):
                yield str(name)
            yield from _secretive(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secretive(inner)


class Backend(ABC):
    """One model behind one endpoint.

    `send` makes exactly one attempt; retries, limits, the ledger and the budget stand around it.
    The rest is so, unless a backend says otherwise, for a model that needs no key, takes what is
    set, charges what the settings say, and of which nobody knows how long its replies get.
    """

    spec: BackendSpec

    @abstractmethod
    async def send(self, request: Request) -> Reply:
        """The reply to one attempt.

        Raises:
            ProviderError: no reply came, whatever the reason.
        """

    def prepare(self) -> None:
        """Checks, without any network, that the settings are ones the model takes.

        Raises:
            InputError: an unknown provider, or a parameter that the model does not take.
        """
        return

    def access_faults(self) -> list[InputFault]:
        """What would keep a call from being made at all, such as a missing key."""
        return []

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most that a call with these token counts costs in US dollars; None = unknown."""
        return None

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What a call with these token counts usually costs, nothing cached; None = unknown."""
        prices = self.unit_prices
        return None if prices is None else prices.cost(Usage(input_tokens, output_tokens))

    @property
    def unit_prices(self) -> TokenPrices | None:
        """What a token of each kind costs; None where it is unknown, or the cost is no sum."""
        return None if self.spec.prices is None else self.spec.prices.per_token()

    @property
    def price_source(self) -> PriceSource | None:
        """Where the prices come from; None = unknown."""
        return None if self.spec.prices is None else "settings"

    @property
    def has_fees(self) -> bool:
        """Whether more than tokens is charged, by what is known."""
        return False

    @property
    def prefix_minimum(self) -> int | None:
        """Tokens from which what calls begin with alike is cheaper; None where it never is."""
        return None

    def likely_tokens(self, text: str) -> int:
        """About how many tokens the text has for this model; here one for four characters."""
        return -(-len(text) // 4)

    def effective_parameters(self) -> dict[str, Any]:
        """The requested parameters as they are really sent, for the record."""
        return self.spec.parameters()
