"""The perspectives from which responses are judged: ten built in, more as YAML files."""

from ..catalogue import PLACEHOLDER
from .persona import (
    BUILTIN,
    PERSONAS,
    Persona,
    PersonaExample,
    list_personas,
    load_persona,
    load_personas,
    read_persona_files,
    scaffold,
)

__all__ = [
    "BUILTIN",
    "PERSONAS",
    "PLACEHOLDER",
    "Persona",
    "PersonaExample",
    "list_personas",
    "load_persona",
    "load_personas",
    "read_persona_files",
    "scaffold",
]
