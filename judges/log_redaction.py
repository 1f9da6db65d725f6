"""Keys taken out of what the libraries around a call write into logs.

At level DEBUG the HTTP clients log response headers, and an endpoint may echo a key there as well
as in a body. What they log of a request they mask themselves.
"""

from __future__ import annotations

import logging

from .faults import redact

_LONGEST_MESSAGE = 20_000

_LOGGERS = (
    "LiteLLM",
    "LiteLLM Proxy",
    "LiteLLM Router",
    "aiohttp.client",
    "anthropic._base_client",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpx",
    "openai._base_client",
)
"""By full name: a filter of a logger does not see what its children write."""


class _Redacting(logging.Filter):
    """Rewrites a record before any handler of anybody sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = record.getMessage()
        except Exception:  # a record that cannot be written is for its handler to complain about
            return True
        record.msg, record.args = redact(text, limit=_LONGEST_MESSAGE), ()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            record.msg = f"{record.msg} ({redact(f'{type(error).__name__}: {error}')})"
            record.exc_info = record.exc_text = None
        return True


_FILTER = _Redacting()


def redact_library_logs() -> None:
    """Makes the loggers of litellm and its HTTP clients write no key; calling it twice is once."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
