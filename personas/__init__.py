"""The perspectives from which responses are judged: ten built in, more as YAML files."""

from .persona import (
    BUILTIN,
    PLACEHOLDER,
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
    "PLACEHOLDER",
    "Persona",
    "PersonaExample",
    "list_personas",
    "load_persona",
    "load_personas",
    "read_persona_files",
    "scaffold",
]
