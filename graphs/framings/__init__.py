"""The conversational framings a prompt is rewritten into: four built in, more as YAML files."""

from .framing import (
    BUILTIN,
    PLACEHOLDER,
    RESERVED_IDS,
    Framing,
    Marker,
    list_framings,
    load_framing,
    load_framings,
    opposite_pairs,
    scaffold,
)

__all__ = [
    "BUILTIN",
    "PLACEHOLDER",
    "RESERVED_IDS",
    "Framing",
    "Marker",
    "list_framings",
    "load_framing",
    "load_framings",
    "opposite_pairs",
    "scaffold",
]
