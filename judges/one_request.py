"""Providers that one request is not enough for.

A call of ours is one request: a second one may be paid a second time, and is not sent. Where
litellm starts the work with one request and asks for the answer with others, none ever comes.
"""

from __future__ import annotations

from ..errors import InputFault
from .spec import BackendSpec

# What a model's name begins with: litellm's handler of these asks until the work is done.
_ASKED_REPEATEDLY = ("replicate/", "azure_ai/agents/")


def one_request_fault(spec: BackendSpec) -> list[InputFault]:
    """The fault of a model that cannot be asked in one request, or none."""
    if not spec.model.lower().startswith(_ASKED_REPEATEDLY):
        return []
    return [
        InputFault(
            spec.model,
            "cannot be asked: its answer is fetched by a second request, and a call here is one",
        )
    ]
