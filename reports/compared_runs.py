"""The runs that a comparison is of, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.run_folder import RUN_FILE, read_run_file
from ..records.tables import read_scores, read_texts


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run that is compared: its name in the page, its record and its scores."""

    name: str
    folder: Path
    record: Mapping[str, Any]
    scores: Sequence[Mapping[str, str]]


def read_runs(folders: Sequence[str | Path]) -> list[ComparedRun]:
    """Returns the runs of these folders, named apart.

    Raises:
        InputError: one that is no panel run, or of another scale.
    """
    paths = [Path(folder) for folder in folders]
    records = [read_run_file(path) for path in paths]
    faults = [
        InputFault(str(path / RUN_FILE), f"must be 'panel', got {record.get('kind')!r}", "kind")
        for path, record in zip(paths, records, strict=True)
        if record.get("kind") != "panel"
    ]
    scales = {tuple(record["identity"]["scale"]) for record in records if not faults}
    if len(scales) > 1:
        told = ", ".join(f"{low:g} to {high:g}" for low, high in sorted(scales))
        faults.append(InputFault(str(paths[0]), f"the runs have different scales: {told}"))
    if faults:
        raise InputError(faults)
    names = [path.resolve().name for path in paths]
    return [
        ComparedRun(
            name=name if names.count(name) == 1 else f"{name} ({place + 1})",
            folder=path,
            record=record,
            scores=read_scores(path),
        )
        for place, (path, name, record) in enumerate(zip(paths, names, records, strict=True))
    ]


def shared_criteria(runs: Sequence[ComparedRun]) -> list[str]:
    """Returns the criteria that all have, none where there is but one."""
    sets = [run.record["identity"]["criteria"] for run in runs]
    shared = [name for name in sets[0] if all(name in other for other in sets[1:])]
    return shared if len(sets[0]) > 1 else []


def different_texts(first: ComparedRun, other: ComparedRun) -> set[str]:
    """Returns the ids under which the two judged different texts."""
    if first.record["identity"].get("responses_sha256") == other.record["identity"].get(
        "responses_sha256"
    ):
        return set()
    ids = [row["response_id"] for row in first.scores]
    here, there = read_texts(first.folder, ids), read_texts(other.folder, ids)
    return {name for name, text in here.items() if name in there and there[name] != text}
