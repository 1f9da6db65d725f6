"""The conversational framings a prompt is rewritten into: four built in, more as YAML files."""

from .framing import (
    BUILTIN,
    Framing,
    Marker,
    list_framings,
    load_framing,
    load_framings,
    opposite_pairs,
)

__all__ = [
    "BUILTIN",
    "Framing",
    "Marker",
    "list_framings",
    "load_framing",
    "load_framings",
    "opposite_pairs",
]
