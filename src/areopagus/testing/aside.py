"""What the server answers beside a model's replies: lists, Ollama's model card, counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .http_errors import HttpAnswer
from .tally import Counts

JSON_HEADERS = {"content-type": "application/json"}
_KEY_HEADERS = ("authorization", "x-api-key", "api-key")

_FIXED: dict[str, dict[str, Any]] = {
    "/v1/models": {"object": "list", "data": []},
    "/api/tags": {"models": []},
    "/api/version": {"version": "0.0.0"},
    # litellm asks this before a call with a schema, blocking its event loop meanwhile.
    "/api/show": {"template": "", "capabilities": ["completion"], "model_info": {}},
}


def aside_answer(path: str, counts: Counts) -> HttpAnswer:
    """The answer to a path that asks no model; 404 for a path that nobody knows."""
    known = counts.to_json() if path == "/__counts" else _FIXED.get(path)
    if known is None:
        return HttpAnswer(404, {"content-type": "text/plain"}, b"404 page not found")
    return HttpAnswer(200, JSON_HEADERS, json.dumps(known).encode())


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with every key replaced by `***`."""
    shown = dict(headers)
    for name in _KEY_HEADERS:
        if name in shown:
            shown[name] = "Bearer ***" if shown[name].startswith("Bearer ") else "***"
    return shown


def key_of(headers: Mapping[str, str]) -> str:
    """The API key that a request carries; "" for none."""
    for name in _KEY_HEADERS:
        if name in headers:
            return headers[name].removeprefix("Bearer ")
    return ""
