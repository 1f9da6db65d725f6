"""Typed records, readers and writers of files, and the ledger of calls."""

from .ledger import Ledger, PendingCall
from .readers.responses import PromptSource, ResponseSource
from .run_folder import RunFolder, read_run_file
from .types import (
    MODES,
    OVERALL,
    SCORE_MODES,
    STATUSES,
    Judgment,
    Mode,
    Reply,
    Sample,
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
    "Judgment",
    "Ledger",
    "Mode",
    "PendingCall",
    "PromptSource",
    "Reply",
    "ResponseSource",
    "RunFolder",
    "Sample",
    "ScoreMode",
    "Status",
    "Usage",
    "Verdict",
    "read_run_file",
]
