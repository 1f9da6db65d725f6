"""litellm, loaded late and with its surprises switched off; nothing else loads it first.

On import litellm would otherwise fetch its price map and read `.env` files, on later calls fetch
headers and tokenizers, and send a request again by itself when its connection broke
(`wire.watch` keeps it from that).
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
from functools import cache
from threading import Lock
from typing import Any

from ...loop import submit
from ..offline.provider import register_offline
from ..wire import watch_litellm
from .credentials import redact_library_logs

_SWITCHES = {
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read into the environment
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}


_one_at_a_time = Lock()


@cache
def litellm_module() -> Any:
    """The litellm module, with everything off that talks to anybody by itself."""
    with _one_at_a_time:  # two threads may ask for it first
        return _quieted()


@cache
def _quieted() -> Any:
    # Some are read on import, some at a later call: they are set even where it is loaded already.
    os.environ.update(_SWITCHES)
    atexit.register(_close_clients, os.getpid())
    import litellm

    watch_litellm()
    module: Any = litellm
    module.suppress_debug_info = True
    module.disable_hf_tokenizer_download = True
    module.drop_params = False
    module.telemetry = False
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    redact_library_logs()
    register_offline()
    return module


def _close_clients(owner: int) -> None:
    """Closes pooled connections at the end of the process, on the loop that they belong to.

    Args:
        owner: the process that loaded litellm; what was forked from it shares its connections.
    """
    litellm = sys.modules.get("litellm")
    if litellm is not None and os.getpid() == owner:
        with contextlib.suppress(Exception):
            submit(litellm.close_litellm_async_clients()).result(timeout=2.0)
