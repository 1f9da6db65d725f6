"""The criteria that responses are scored on: one rubric built in, more as YAML files."""

from .load import DEFAULT, list_rubrics, load_rubric
from .model import RESERVED_IDS, Dimension, OfflineFamily, Rubric, Scale

__all__ = [
    "DEFAULT",
    "RESERVED_IDS",
    "Dimension",
    "OfflineFamily",
    "Rubric",
    "Scale",
    "list_rubrics",
    "load_rubric",
]
