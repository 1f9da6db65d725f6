"""Prompt templates of the judges: two built in, more as YAML files."""

from .template import (
    DEFAULT,
    FIRST,
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
    "FIRST",
    "TEMPLATES",
    "Criteria",
    "JudgeTemplate",
    "fill",
    "list_templates",
    "load_template",
    "without",
]
