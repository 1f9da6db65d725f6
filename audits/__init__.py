"""The bias audits: each a folder here, and the one form in which an audit is defined."""

from ..graphs.adjudication import JudgeQuestion, JudgeVote, Ruling
from .answer_forms import (
    OptionReading,
    declines,
    lettered,
    one_of,
    read_option,
    whole_number,
)
from .answers_table import AnswersTable, ColumnKind
from .audit import (
    ANSWER_STATUSES,
    AnswerStatus,
    Audit,
    AuditItem,
    AuditOptions,
    Cell,
    Reading,
    ReadingStatus,
)
from .registry import audit_names, find_audit

__all__ = [
    "ANSWER_STATUSES",
    "AnswerStatus",
    "AnswersTable",
    "Audit",
    "AuditItem",
    "AuditOptions",
    "Cell",
    "ColumnKind",
    "JudgeQuestion",
    "JudgeVote",
    "OptionReading",
    "Reading",
    "ReadingStatus",
    "Ruling",
    "audit_names",
    "declines",
    "find_audit",
    "lettered",
    "one_of",
    "read_option",
    "whole_number",
]
