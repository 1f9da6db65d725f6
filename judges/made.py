"""Backends made from their settings, and told from objects that a user made."""

from __future__ import annotations

from .backend import Backend
from .embedded import EmbeddedBackend
from .llm import LitellmBackend
from .spec import BackendSpec


def backend_of(spec: BackendSpec) -> Backend:
    """The backend that the settings describe: an embedded stand-in, or a model by litellm."""
    return EmbeddedBackend(spec) if spec.is_offline else LitellmBackend(spec)


def is_made_of_settings(backend: Backend) -> bool:
    """Whether `backend_of(backend.spec)` is as good as this one: in another process, say."""
    return type(backend) in (EmbeddedBackend, LitellmBackend)
