"""Exports of annotation tools: Argilla and Label Studio."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..readers.rows import Excluded, Row
from .human_file import HumanFile, Opened

_ARGILLA_COLUMNS = frozenset({"_server_id", "status", "id"})

_ANSWERS = ".responses"
_SUBMITTED = "submitted"


def is_argilla(file: HumanFile) -> bool:
    """Returns whether the columns are those of the nested or of the flattened export."""
    is_flat = any(f"{name}.users" in file.first for name in file.first if name.endswith(_ANSWERS))
    return is_flat or file.lower_names() >= {"responses", "fields"}


def argilla(file: HumanFile) -> Opened:
    """Returns a flat row for each person who answered a record.

    A ranking question gives a row for each ranked response: the option is the response.
    """
    return Opened("argilla", _record_rows(file.rows()), _ARGILLA_COLUMNS)


def _record_rows(records: Iterable[Row]) -> Iterator[Row | Excluded]:
    for line, record in records:
        context = {
            name: value for name, value in _context(record).items() if not _is_answer_column(name)
        }
        answers = _nested(record) if isinstance(record.get("responses"), dict) else _flat(record)
        by_user: dict[Any, dict[str, Any]] = {}
        n_answers = 0
        for user, question, value, status in answers:
            n_answers += 1
            if status is not None and str(status) != _SUBMITTED:
                yield Excluded(line, f"the answer is {status}, not submitted")
                continue
            by_user.setdefault(user, {})[question] = value
        if not n_answers:
            yield Excluded(line, "the record has no answer")
        for user, found in by_user.items():
            yield from _rows_of(line, {**context, "rater_id": user}, found)


def _rows_of(line: int, context: dict[str, Any], answers: dict[str, Any]) -> Iterator[Row]:
    single: dict[str, Any] = {}
    for question, value in answers.items():
        ranked = _ranking(value)
        if ranked is None:
            single[question] = value
        for option, rank in ranked or ():
            yield Row(line, {**context, "response_id": option, "rank": rank})
    if single:
        yield Row(line, {**context, **single})


def _ranking(value: Any) -> list[tuple[Any, Any]] | None:
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(part, dict) and {"value", "rank"} <= part.keys() for part in value):
        return [(part["value"], part["rank"]) for part in value]
    return None


def _context(record: Mapping[str, Any]) -> dict[str, Any]:
    context = {
        name: value
        for name, value in record.items()
        if name not in ("fields", "metadata", "responses", "suggestions", "vectors")
    }
    for part in ("fields", "metadata"):
        inner = record.get(part)
        if isinstance(inner, dict):
            context.update(inner)
    # A record's own id serves as the response's where nothing names that.
    if "response_id" not in context and record.get("id") is not None:
        context["response_id"] = record["id"]
    return context


def _is_answer_column(name: str) -> bool:
    return _ANSWERS in name or ".suggestion" in name


def _nested(record: Mapping[str, Any]) -> Iterator[tuple[Any, str, Any, Any]]:
    for question, answers in record["responses"].items():
        for answer in answers if isinstance(answers, list) else ():
            if isinstance(answer, dict):
                yield answer.get("user_id"), question, answer.get("value"), answer.get("status")


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[Any, str, Any, Any]]:
    for name in record:
        if not name.endswith(_ANSWERS):
            continue
        values = _listed(record[name])
        users = _listed(record.get(f"{name}.users"))
        statuses = _listed(record.get(f"{name}.status"))
        for place, value in enumerate(values):
            user = users[place] if place < len(users) else None
            status = statuses[place] if place < len(statuses) else None
            yield user, name.removesuffix(_ANSWERS), value, status


def _listed(cell: Any) -> list[Any]:
    """Returns a list cell; in CSV it is JSON, or Python's own notation."""
    if isinstance(cell, list):
        return cell
    if not isinstance(cell, str) or not cell.strip():
        return []
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return []
    return found if isinstance(found, list) else []


_LABEL_STUDIO_COLUMNS = frozenset(
    {"id", "annotation_id", "updated_at", "inner_id", "total_annotations"}
)

_VALUE_KEYS = ("rating", "number", "choices", "text")


def is_task(record: Mapping[str, Any]) -> bool:
    """Returns whether a record is a task of the nested export."""
    return isinstance(record.get("annotations"), list) and isinstance(record.get("data"), dict)


def label_studio(file: HumanFile) -> Opened:
    """Returns a flat row for each annotation: the task's data and the controls; or the rows of the
    flat exports, ratings and numbers taken out of their JSON.
    """
    read = _task_rows if is_task(file.first) else _flat_rows
    return Opened("label-studio", read(file.rows()), _LABEL_STUDIO_COLUMNS)


def _task_rows(tasks: Iterable[Row]) -> Iterator[Row | Excluded]:
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
            flat = {
                "id": task.get("id"),
                **data,
                "annotator": _person(annotation.get("completed_by")),
            }
            flat["lead_time"] = annotation.get("lead_time")
            flat["created_at"] = annotation.get("created_at")
            for result in annotation.get("result") or ():
                if isinstance(result, dict) and "from_name" in result:
                    flat[str(result["from_name"])] = _plain(result.get("value"))
            yield Row(line, flat)


def _flat_rows(rows: Iterable[Row]) -> Iterator[Row | Excluded]:
    for line, values in rows:
        found = {name: _decoded(value) for name, value in values.items()}
        if isinstance(found.get("annotator"), dict):
            found["annotator"] = _person(found["annotator"])
        yield Row(line, found)


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
