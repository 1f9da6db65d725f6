"""Prompt templates of the judges: one built in, more as YAML files."""

from .template import (
    DEFAULT,
    TEMPLATES,
    Criteria,
    JudgeTemplate,
    fill,
    list_templates,
    load_template,
    without,
)

__all__ = [
    "DEFAULT",
    "TEMPLATES",
    "Criteria",
    "JudgeTemplate",
    "fill",
    "list_templates",
    "load_template",
    "without",
]
