"""Judgments that know a response by its prompt and respondent take the ids that a run has.

So do judgments that know a prompt by its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..prompt_units import text_key
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


def prompts_by_text(
    names: Iterable[str], rows: Iterable[Mapping[str, Any]], key_of: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns prompt text to the prompt's id in a run, and the ids of `ids_by_respondent` by text.

    Args:
        names: what people call prompts; an id of the run's is no text.
        rows: as for `ids_by_respondent`.
        key_of: response id to its prompt's text, as `text_key` has it.
    """
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    stated = set()
    for row in rows:
        stated.add(row["prompt_id"])
        if key := key_of.get(row["response_id"]):
            by_key.setdefault(key, []).append(row)
    prompts: dict[str, str] = {}
    ids: dict[str, str] = {}
    for name in set(names) - stated:
        if same := by_key.get(text_key(name)):
            prompts[name] = str(same[0]["prompt_id"])
            ids |= ids_by_respondent({**row, "prompt_id": name} for row in same)
    return prompts, ids


def with_ids(
    table: Table, ids: Mapping[str, str], known: Iterable[str], prompts: Mapping[str, str]
) -> Table:
    """Returns a table whose composed ids, and texts of prompts, are ids of a run.

    Args:
        table: of ratings, labels or preferences.
        ids: as `ids_by_respondent` returns them.
        known: ids of the run; a name among them stays as it is.
        prompts: text to prompt id, as `prompts_by_text` returns them.
    """
    responses = dict(ids) | {name: name for name in known}
    changed: dict[str, Coded] = {}
    for column in (*_COLUMNS, "prompt_id"):
        coded: Coded | None = getattr(table, column, None)
        new = prompts if column == "prompt_id" else responses
        if coded is None or all(new.get(name, name) == name for name in coded.names):
            continue
        named = [new.get(name, name) for name in coded.names]
        code_of = {name: code for code, name in enumerate(dict.fromkeys(named))}
        lookup = np.array([*(code_of[name] for name in named), -1], dtype=np.int32)
        changed[column] = Coded(lookup[coded.codes], tuple(code_of))
    table_with: Any = table
    return replace(table_with, **changed) if changed else table
