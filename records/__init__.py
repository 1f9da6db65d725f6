"""Typed records, readers and writers of files, and the ledger of calls."""

from .ledger import CallRecord, Ledger, PendingCall
from .readers.responses import ResponseRow, open_prompts, open_responses
from .run_folder import RunFolder, read_run_file
from .types import (
    MODES,
    OVERALL,
    SCORE_MODES,
    STATUSES,
    Judgment,
    Mode,
    Reply,
    ScoreMode,
    Status,
    Usage,
    Verdict,
)

__all__ = [
    "MODES",
    "OVERALL",
    "SCORE_MODES",
    "STATUSES",
    "CallRecord",
    "Judgment",
    "Ledger",
    "Mode",
    "PendingCall",
    "Reply",
    "ResponseRow",
    "RunFolder",
    "ScoreMode",
    "Status",
    "Usage",
    "Verdict",
    "open_prompts",
    "open_responses",
    "read_run_file",
]
