"""The names under which columns of human judgments are known elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

SYNONYMS: dict[str, tuple[str, ...]] = {
    "rater_id": (
        "rater_id", "rater", "judge_id", "annotator_id", "annotator", "worker_id", "workerid",
        "coder_id", "coder", "prolific_pid", "participant_id", "participant id", "user_id", "judge",
    ),
    "prompt_id": ("prompt_id", "prompt", "doc_id", "document_id", "question_id", "task_id"),
    "response_id": ("response_id", "true_id", "output_id", "item_id", "unit_id", "units", "unit"),
    "criterion": ("criterion", "dimension", "aspect", "attribute"),
    "kind": ("kind",),
    "value": ("value", "rating"),
    "score": ("score",),
    "rank": ("rank", "ranking"),
    "duration_s": ("duration_s", "duration", "duration (in seconds)", "lead_time",
                   "worktimeinseconds", "interviewtime", "time_s"),
    "time": ("time", "timestamp", "submitted_at", "created_at", "recordeddate", "submittime",
             "submitdate"),
    "comment": ("comment", "justification", "notes"),
    "item_type": ("item_type",),
    "item_role": ("item_role", "response_role"),
    "blinded_label": ("blinded_label", "blind_label", "label"),
    "source": ("source", "true_source", "system_id", "system", "respondent_id"),
    "model": ("model", "judge_model"),
    "domain": ("domain",),
    "persona": ("persona", "perspective_id", "persona_id"),
    "status": ("status",),
    "abstained": ("abstained",),
}  # fmt: skip
"""Our column to names in lower case, the likeliest first."""

JUDGES_ONLY = ("persona", "status", "abstained")
"""Columns that belong to stored judgments, not to human ones."""

_RATER_COLUMN = re.compile(
    r"(rater|judge|annotator|coder|expert|turker|worker|participant)[ _-]?\d+", re.IGNORECASE
)


def known_columns(found: Iterable[str], *, leaving: Iterable[str] = ()) -> dict[str, str]:
    """Returns our column to theirs, for those whose name is one we know.

    Args:
        found: the file's columns.
        leaving: our columns that are not to be guessed.
    """
    by_lower: dict[str, str] = {}
    for name in found:
        by_lower.setdefault(name.strip().lower(), name)
    left = set(leaving)
    guessed: dict[str, str] = {}
    for ours, names in SYNONYMS.items():
        theirs = next((by_lower[name] for name in names if name in by_lower), None)
        if theirs is not None and ours not in left:
            guessed[ours] = theirs
    return guessed


def rater_columns(found: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns named for raters (Rater1, judge_2); none if it is only one."""
    names = tuple(name for name in found if _RATER_COLUMN.fullmatch(name.strip()))
    return names if len(names) > 1 else ()
