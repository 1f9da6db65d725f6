"""The conversational framings a prompt is rewritten into: four built in, more as YAML files."""

from .load import (
    BUILTIN,
    list_framings,
    load_framing,
    load_framings,
    opposite_pairs,
    read_framing_files,
    scaffold,
)
from .model import PLACEHOLDER, RESERVED_IDS, Framing, Marker

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
    "read_framing_files",
    "scaffold",
]
