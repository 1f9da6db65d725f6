"""Judgments that know a response by its prompt and respondent take the ids that a run has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from .table import Coded, JudgmentTable

Table = TypeVar("Table", bound=JudgmentTable)

_COLUMNS = ("response_id", "response_a", "response_b")


def composed_id(prompt: str, respondent: str) -> str:
    """Returns what a response without an id is called: one a prompt and respondent."""
    return f"{prompt}/{respondent}"


def ids_by_respondent(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns prompt and respondent, composed, to the response's id; not where there are several.

    Args:
        rows: with response_id, prompt_id and respondent_id, as a run's scores have them.
    """
    found: dict[str, str | None] = {}
    for row in rows:
        who = row.get("respondent_id")
        if who:
            name = composed_id(str(row["prompt_id"]), str(who))
            found[name] = None if name in found else str(row["response_id"])
    return {name: own for name, own in found.items() if own is not None}


def with_ids(table: Table, ids: Mapping[str, str], known: Iterable[str]) -> Table:
    """Returns a table whose composed ids are those of a run.

    Args:
        table: of ratings, labels or preferences.
        ids: as `ids_by_respondent` returns them.
        known: ids of the run; a name among them stays as it is.
    """
    own = frozenset(known)
    changed: dict[str, Coded] = {}
    for column in _COLUMNS:
        coded: Coded | None = getattr(table, column, None)
        if coded is None or not any(name in ids and name not in own for name in coded.names):
            continue
        named = [name if name in own else ids.get(name, name) for name in coded.names]
        code_of = {name: code for code, name in enumerate(dict.fromkeys(named))}
        lookup = np.array([*(code_of[name] for name in named), -1], dtype=np.int32)
        changed[column] = Coded(lookup[coded.codes], tuple(code_of))
    table_with: Any = table
    return replace(table_with, **changed) if changed else table
