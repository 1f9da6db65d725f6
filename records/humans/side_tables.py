"""Tables that are given beside the ratings: who may rate, and what blinded labels stood for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault
from ..readers.dispatch import read_rows
from ..readers.rows import Row
from .answers import bare_label
from .columns import known_columns, read_ids

APPROVED = "APPROVED"


def read_roster(path: str | Path) -> dict[str, str]:
    """Returns rater to status, in capitals; "APPROVED" where the roster has no status column.

    A rater with several submissions is approved if one of them is.

    Raises:
        InputError: for a file that cannot be read or names no rater.
    """
    statuses: dict[str, str] = {}
    faults: list[InputFault] = []
    rows = read_rows(path, faults=faults)
    first = next(rows, None)
    names = {} if first is None else known_columns(first.values)
    if first is not None and "rater_id" not in names:
        shown = ", ".join(first.values)
        raise InputError(
            [InputFault(str(path), f"names no rater; columns found: {shown}")],
            hint='call the column "rater_id" or "Participant id"',
        )
    rows = itertools.chain([first] if first is not None else [], rows)
    for line, ids in read_ids(rows, ("rater_id", "status"), str(path), faults):
        if "rater_id" not in ids:
            message = "must not be empty"
            faults.append(InputFault(f"{path}:{line}", message, field=names["rater_id"]))
        elif statuses.get(ids["rater_id"]) != APPROVED:
            statuses[ids["rater_id"]] = ids.get("status", APPROVED).strip().upper()
    if faults:
        raise InputError(faults)
    return statuses


Key = tuple[str | None, str | None, str]
"""Rater, prompt and label; None where it holds for every one."""

_RESOLVED = ("response_id", "source", "model", "item_type", "domain")


class SourceMap:
    """(rater, prompt, label) to the response and what is known of it.

    Labels are drawn anew for every rater: the same label of a prompt stands for another response
    with another rater. A map without raters holds for all of them.
    """

    def __init__(self, entries: Mapping[Key, dict[str, str]]) -> None:
        self._entries = {
            (rater, prompt, bare_label(label).lower()): found
            for (rater, prompt, label), found in entries.items()
        }

    def labels(self) -> frozenset[str]:
        """Returns the labels that it knows, in lower case, "a" for "Response A"."""
        return frozenset(label for _, _, label in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def resolve(self, rater: str | None, prompt: str | None, label: str) -> dict[str, str] | None:
        """Returns the texts that belong to the label, or None where the map does not know it."""
        bare = bare_label(label).lower()
        for who, where in ((rater, prompt), (None, prompt), (rater, None), (None, None)):
            found = self._entries.get((who, where, bare))
            if found is not None:
                # A key for all prompts names its responses by the prompt.
                named = found.get("response_id", "")
                if "{prompt_id}" in named and prompt is not None:
                    return {**found, "response_id": named.replace("{prompt_id}", prompt)}
                return found
        return None


def read_source_map(given: str | Path | Iterable[Mapping[str, Any]]) -> SourceMap:
    """Returns a source map from a table file, or from mappings.

    Columns: blinded_label and response_id, with rater_id and prompt_id where they matter; also
    source, model, item_type, domain (and their names elsewhere: judge_id, true_id, true_source).
    Without response_id, source or model names the response of a prompt.

    Raises:
        InputError: with every fault: missing columns or cells, one label for two responses.
    """
    faults: list[InputFault] = []
    if isinstance(given, str | Path):
        name = str(given)
        rows: Iterable[Row] = read_rows(given, faults=faults)
    else:
        name = "source map"
        rows = (Row(number, dict(values)) for number, values in enumerate(given, start=1))
    entries: dict[Key, dict[str, str]] = {}
    lines: dict[Key, int] = {}
    wanted = ("rater_id", "prompt_id", "blinded_label", *_RESOLVED)
    for line, ids in read_ids(rows, wanted, name, faults):
        where = f"{name}:{line}"
        is_named = any(ours in ids for ours in ("response_id", "source", "model"))
        lacking = [] if "blinded_label" in ids else ["blinded_label"]
        lacking += [] if is_named else ["response_id"]
        if lacking:
            faults += [InputFault(where, "must not be empty", field=ours) for ours in lacking]
            continue
        key = (ids.get("rater_id"), ids.get("prompt_id"), ids["blinded_label"])
        if key in entries and any(
            entries[key].get(ours) != ids.get(ours) for ours in ("response_id", "source", "model")
        ):
            message = f"the label stands for another response at {name}:{lines[key]}"
            faults.append(InputFault(where, message, field="blinded_label"))
            continue
        entries[key] = {ours: ids[ours] for ours in _RESOLVED if ours in ids}
        lines.setdefault(key, line)
    if faults:
        raise InputError(faults)
    if not entries:
        raise InputError([InputFault(name, "holds no labels")])
    return SourceMap(entries)


def read_key(key: Mapping[str, str] | str) -> SourceMap:
    """Returns the key of a column map, as a source map.

    Args:
        key: a file (see `read_source_map`); or label to its respondent, or to a response id, which
            holds "{prompt_id}" where there is more than one prompt.
    """
    if isinstance(key, str):
        return read_source_map(key)
    return SourceMap(
        {
            (None, None, label): {"response_id" if "{prompt_id}" in name else "source": name}
            for label, name in key.items()
        }
    )
