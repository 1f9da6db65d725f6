"""Label Studio: tasks with annotations (JSON), or one row an annotation (CSV, JSON_MIN)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...readers.rows import Excluded, Row
from .layout import HumanFile, Layout, Opened

_HOUSEKEEPING = frozenset({"id", "annotation_id", "updated_at", "inner_id", "total_annotations"})
_VALUE_KEYS = ("rating", "number", "choices", "text")


def _fits(file: HumanFile) -> bool:
    return _is_task(file.first) or file.has("annotation_id", "annotator")


def _is_task(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("annotations"), list) and isinstance(record.get("data"), dict)


def _open(file: HumanFile) -> Opened:
    rows = _tasks(file) if _is_task(file.first) else _annotations(file)
    return Opened(rows, _HOUSEKEEPING)


def _tasks(file: HumanFile) -> Iterator[Row | Excluded]:
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
            for result in annotation.get("result") or ():
                if isinstance(result, dict) and "from_name" in result:
                    flat[str(result["from_name"])] = _plain(result.get("value"))
            yield Row(line, flat)


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
