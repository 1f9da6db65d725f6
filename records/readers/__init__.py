"""Readers of tables: files in any format, data frames, data sets and iterables of mappings."""

from .dispatch import TABLE_FORMATS, Table, open_table, read_cells, read_rows
from .responses import PromptRow, PromptSource, ResponseSource, SourceSummary
from .rows import Cells, FaultSink, Limits, Row, read_limits

__all__ = [
    "TABLE_FORMATS",
    "Cells",
    "FaultSink",
    "Limits",
    "PromptRow",
    "PromptSource",
    "ResponseSource",
    "Row",
    "SourceSummary",
    "Table",
    "open_table",
    "read_cells",
    "read_limits",
    "read_rows",
]
