"""Label Studio: tasks with annotations (JSON), or one row an annotation (CSV, JSON_MIN)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...readers.rows import Excluded, Row
from ...types import OVERALL
from .layout import HumanFile, Layout, Opened

_HOUSEKEEPING = frozenset({"id", "annotation_id", "updated_at", "inner_id", "total_annotations"})
_VALUE_KEYS = ("rating", "number", "choices", "text", "selected")


def _fits(file: HumanFile) -> bool:
    return _is_task(file.first) or file.has("annotation_id", "annotator")


def _is_task(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("annotations"), list) and isinstance(record.get("data"), dict)


def _open(file: HumanFile) -> Opened:
    if not _is_task(file.first):
        return Opened(_annotations(file), _HOUSEKEEPING)
    labels: set[str] = set()
    return Opened(_tasks(file, labels), _HOUSEKEEPING, labels=labels)


def _tasks(file: HumanFile, labels: set[str]) -> Iterator[Row | Excluded]:
    """Returns a row an annotation; each pair that it judges, and each bucket of a ranker, has a
    row of its own.
    """
    for line, task in file.rows():
        if not _is_task(task) or not task["annotations"]:
            yield Excluded(line, "the task has no annotation")
            continue
        for annotation in task["annotations"]:
            if not isinstance(annotation, dict):
                yield Excluded(line, "the annotation is not an object")
                continue
            if annotation.get("was_cancelled"):
                yield Excluded(line, "the annotator skipped the task")
                continue
            flat = {
                "id": task.get("id"),
                **task["data"],
                "annotator": _person(annotation.get("completed_by")),
                "lead_time": annotation.get("lead_time"),
                "created_at": annotation.get("created_at"),
            }
            found = [one for one in annotation.get("result") or () if isinstance(one, dict)]
            controls = [one for one in found if "from_name" in one]
            pairs = [one for one in controls if one.get("type") == "pairwise"]
            for one in pairs:
                about = str(one["from_name"]) if len(pairs) > 1 else OVERALL
                yield Row(line, {**flat, "criterion": about, "winner": _plain(one.get("value"))})
            own: dict[str, Any] = {}
            for one in controls:
                name, value = str(one["from_name"]), one.get("value")
                ranked = value.get("ranker") if isinstance(value, dict) else None
                if one.get("type") == "choices":
                    labels.add(name)
                if isinstance(ranked, dict) and not ranked.keys() <= {name, "ranker", "_"}:
                    labels.add(name)
                    for bucket, items in ranked.items():
                        for item in items if bucket != "_" else ():
                            yield Row(line, {**flat, "response_id": item, name: bucket})
                elif ranked is not None:
                    own[name] = next(iter(ranked.values())) if isinstance(ranked, dict) else ranked
                elif one not in pairs:
                    own[name] = _plain(value)
            if own or not pairs:
                yield Row(line, {**flat, **own})


def _annotations(file: HumanFile) -> Iterator[Row]:
    for line, values in file.rows():
        found = {name: _decoded(value) for name, value in values.items()}
        if "annotator" in found:
            found["annotator"] = _person(found["annotator"])
        yield Row(line, found)


def _person(found: Any) -> Any:
    return found.get("id", found.get("email")) if isinstance(found, dict) else found


def _decoded(value: Any) -> Any:
    """Returns a cell of the CSV export, in which ratings and numbers are JSON."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return _plain(value)


def _plain(value: Any) -> Any:
    """Returns the one value inside Label Studio's wrappings; anything else unchanged."""
    if isinstance(value, list) and len(value) == 1:
        return _plain(value[0])
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return " + ".join(value)  # several choices at once are one label
    if isinstance(value, dict):
        key = next((name for name in _VALUE_KEYS if name in value), None)
        return value if key is None else _plain(value[key])
    return value


LABEL_STUDIO = Layout(
    "label-studio",
    _fits,
    _open,
    "annotations and data in each task, or annotator and annotation_id",
)
