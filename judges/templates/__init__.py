"""The wording of a panel's judges: two templates built in, more as YAML files."""

from .model import (
    DEFAULT,
    FIRST,
    Criteria,
    JudgeTemplate,
    fill,
    list_templates,
    load_template,
    without,
)

__all__ = [
    "DEFAULT",
    "FIRST",
    "Criteria",
    "JudgeTemplate",
    "fill",
    "list_templates",
    "load_template",
    "without",
]
