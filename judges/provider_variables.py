"""Variables of the environment from which litellm takes addresses and keys, by provider.

Most are the provider's name with `_API_BASE`, `_BASE_URL` or `_API_KEY` behind it. Others have
names of their own, before these or instead of them. They are listed here in the order in which
litellm looks for them, so that who asks for an address finds the one that litellm would take.
"""

from __future__ import annotations

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


def prefix_of(provider: str) -> str:
    """What the names of a provider's variables begin with."""
    return provider.upper().removesuffix("_CHAT")


def address_variables(provider: str) -> tuple[str, ...]:
    """Where an address may stand that the settings do not name; the first that is set counts."""
    prefix = prefix_of(provider)
    usual = (f"{prefix}_API_BASE", f"{prefix}_BASE_URL")
    return _in_order(_ADDRESSES.get(prefix, ()), usual)


def key_variables(provider: str) -> tuple[str, ...]:
    """Where a key may stand that the settings do not name; the first that is set counts."""
    prefix = prefix_of(provider)
    return _in_order(_KEYS.get(prefix, ()), (f"{prefix}_API_KEY",))


def _in_order(own: tuple[str, ...], usual: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*own, *usual)))
