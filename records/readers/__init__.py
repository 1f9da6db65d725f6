"""Readers of tables: files in any format, data frames, data sets and iterables of mappings."""

from .dispatch import TABLE_FORMATS, Table, open_table, read_cells, read_rows
from .responses import PromptRow, ResponseRow, SourceSummary, open_prompts, open_responses
from .rows import Cells, FaultSink, Limits, Row, read_limits

__all__ = [
    "TABLE_FORMATS",
    "Cells",
    "FaultSink",
    "Limits",
    "PromptRow",
    "ResponseRow",
    "Row",
    "SourceSummary",
    "Table",
    "open_prompts",
    "open_responses",
    "open_table",
    "read_cells",
    "read_limits",
    "read_rows",
]
