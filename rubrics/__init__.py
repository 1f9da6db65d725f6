"""The criteria that responses are scored on: one rubric built in, more as YAML files."""

from .rubric import (
    DEFAULT,
    RESERVED_IDS,
    RUBRICS,
    Dimension,
    OfflineFamily,
    Rubric,
    Scale,
    list_rubrics,
    load_rubric,
)

__all__ = [
    "DEFAULT",
    "RESERVED_IDS",
    "RUBRICS",
    "Dimension",
    "OfflineFamily",
    "Rubric",
    "Scale",
    "list_rubrics",
    "load_rubric",
]
