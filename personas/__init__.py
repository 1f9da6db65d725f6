"""The perspectives from which responses are judged: ten built in, more as YAML files."""

from .load import (
    BUILTIN,
    list_personas,
    load_persona,
    load_personas,
    read_persona_files,
    scaffold,
)
from .model import PLACEHOLDER, Persona, PersonaExample

__all__ = [
    "BUILTIN",
    "PLACEHOLDER",
    "Persona",
    "PersonaExample",
    "list_personas",
    "load_persona",
    "load_personas",
    "read_persona_files",
    "scaffold",
]
