"""Loads litellm when it is first needed, and changes nothing else in the process.

On import litellm would fetch its price map from the network and read `.env` files into the
environment, and at the first call to Anthropic fetch a list of headers. The switches against that
are environment variables: they are set while litellm is imported here, and put back. No setting of
litellm itself is touched; where one would do harm, what a call needs is passed with the call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from ...environment import is_own_process

_SWITCHES = {
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read into the environment
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
_SET_BY_LITELLM = ("TIKTOKEN_CACHE_DIR",)
_one_at_a_time = Lock()


@cache
def litellm_module() -> Any:
    """The litellm module."""
    with _one_at_a_time:  # two threads may ask for it first
        return _loaded()


def count_tokens(text: str) -> int:
    """About how many tokens a text has: by the tokenizer that comes with litellm."""
    litellm_module()
    from litellm.litellm_core_utils.default_encoding import encoding

    return len(encoding.encode(text, disallowed_special=()))


@cache
def load_encodings() -> None:
    """Loads the tokenizer of newer models, from litellm's own files.

    For answers whose tokens litellm counts itself: tiktoken would fetch the tokenizer.
    """
    litellm_module()
    with _one_at_a_time, _switched():
        import tiktoken
        from litellm.litellm_core_utils import default_encoding

        os.environ["TIKTOKEN_CACHE_DIR"] = default_encoding.cache_dir
        tiktoken.get_encoding("o200k_base")


@cache
def _loaded() -> Any:
    with _switched():
        import litellm
        from litellm import anthropic_beta_headers_manager

        # Sets a variable when it is imported, which litellm would do at some later call.
        from litellm.litellm_core_utils import default_encoding  # noqa: F401

        # Reads the list of headers now, from litellm's own files.
        anthropic_beta_headers_manager.get_provider_name("anthropic")
    module: Any = litellm
    if is_own_process():
        import logging

        module.suppress_debug_info = True
        logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    return module


@contextmanager
def _switched() -> Iterator[None]:
    """Sets litellm's switches for as long as it is being loaded."""
    names = (*_SWITCHES, *_SET_BY_LITELLM)
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(_SWITCHES)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
