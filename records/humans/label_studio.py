"""Label Studio exports: JSON (nested), JSON_MIN and CSV (flat).

In CSV a choice is plain text, while ratings and numbers are JSON text, as in [{"rating": 4}].
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..tables import Row
from .excluded import Excluded

HOUSEKEEPING = frozenset({"id", "annotation_id", "updated_at", "inner_id", "total_annotations"})

_VALUE_KEYS = ("rating", "number", "choices", "text")


def is_task(record: Mapping[str, Any]) -> bool:
    """Returns whether a record is a task of the nested export."""
    return isinstance(record.get("annotations"), list) and isinstance(record.get("data"), dict)


def task_rows(tasks: Iterable[Row]) -> Iterator[Row | Excluded]:
    """Returns a flat row for each annotation of each task: the task's data and the controls."""
    for line, task in tasks:
        data = task.get("data")
        annotations = task.get("annotations")
        if not isinstance(data, dict) or not isinstance(annotations, list) or not annotations:
            yield Excluded(line, "the task has no annotation")
            continue
        for annotation in annotations:
            if not isinstance(annotation, dict):
                yield Excluded(line, "the annotation is not an object")
                continue
            if annotation.get("was_cancelled"):
                yield Excluded(line, "the annotator skipped the task")
                continue
            flat = {"id": task.get("id"), **data, "annotator": _annotator(annotation)}
            flat["lead_time"] = annotation.get("lead_time")
            flat["created_at"] = annotation.get("created_at")
            for result in annotation.get("result") or ():
                if isinstance(result, dict) and "from_name" in result:
                    flat[str(result["from_name"])] = _plain(result.get("value"))
            yield Row(line, flat)


def flat_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Returns the rows of the flat exports, ratings and numbers taken out of their JSON."""
    for line, values in rows:
        found = {name: _decoded(value) for name, value in values.items()}
        if isinstance(found.get("annotator"), dict):
            found["annotator"] = _person(found["annotator"])
        yield Row(line, found)


def _annotator(annotation: Mapping[str, Any]) -> Any:
    return _person(annotation.get("completed_by"))


def _person(found: Any) -> Any:
    if isinstance(found, dict):
        return found.get("id", found.get("email"))
    return found


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return _plain(json.loads(value))
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
