"""litellm, loaded late and with its surprises switched off; nothing else loads it first.

On import litellm would otherwise fetch its price map and read `.env` files, on later calls fetch
headers and tokenizers, and send a request again by itself when its connection broke.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextvars import ContextVar
from functools import cache
from typing import Any

from ..loop import submit

_SWITCHES = {
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read into the environment
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
_sends_once: ContextVar[bool] = ContextVar("sends_once", default=False)


@cache
def litellm_module() -> Any:
    """The litellm module, with everything off that talks to anybody by itself."""
    # Some are read on import, some at a later call: they are set even where it is loaded already.
    os.environ.update(_SWITCHES)
    atexit.register(_close_clients)
    import litellm

    _send_once()
    module: Any = litellm
    module.suppress_debug_info = True
    module.disable_hf_tokenizer_download = True
    module.drop_params = False
    module.telemetry = False
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    return module


def _send_once() -> None:
    """Stops litellm's HTTP handler from sending a request again after a broken connection.

    The provider may have done the work, and been paid, when the connection breaks; whether to ask
    again is decided, counted and stored by the desk. Calls that others make through litellm in the
    same process keep its behaviour.
    """
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    handler: Any = AsyncHTTPHandler
    again = getattr(handler, "single_connection_post_request", None)
    if again is None:  # a litellm that does not send again
        return

    async def not_again(self: Any, *given: Any, **named: Any) -> Any:
        if _sends_once.get():
            raise  # noqa: PLE0704 - what the first attempt met: litellm calls this in its handler
        return await again(self, *given, **named)

    handler.single_connection_post_request = not_again


def _close_clients() -> None:
    """Closes pooled connections at the end of the process, on the loop that they belong to."""
    litellm = sys.modules.get("litellm")
    if litellm is not None:
        with contextlib.suppress(Exception):
            submit(litellm.close_litellm_async_clients()).result(timeout=2.0)


@contextlib.asynccontextmanager
async def one_attempt() -> AsyncIterator[None]:
    """A block in which litellm sends each request at most once."""
    mark = _sends_once.set(True)
    try:
        yield
    finally:
        _sends_once.reset(mark)
