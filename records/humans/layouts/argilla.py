"""Argilla: records with the answers of several people, nested (JSON) or flattened (CSV)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ...readers.cells import nested_value
from ...readers.rows import Excluded, Row
from .layout import HumanFile, Layout, Opened

_HOUSEKEEPING = frozenset({"_server_id", "status", "id"})
_PARTS = ("fields", "metadata", "responses", "suggestions", "vectors")
_ANSWERS = ".responses"


def _fits(file: HumanFile) -> bool:
    is_flat = any(f"{name}.users" in file.first for name in file.first if name.endswith(_ANSWERS))
    return is_flat or file.has("responses", "fields")


def _open(file: HumanFile) -> Opened:
    words: set[str] = set()
    return Opened(_answers(file, words), _HOUSEKEEPING, words=words)


def _answers(file: HumanFile, words: set[str]) -> Iterator[Row | Excluded]:
    """Returns a flat row for each person who answered a record.

    A ranking is an order of its options, in a row without the record's own response.
    """
    for line, record in file.rows():
        context = _context(record)
        answers = _nested(record) if isinstance(record.get("responses"), dict) else _flat(record)
        # A question that a person answered twice makes a second row of theirs.
        by_user: dict[tuple[Any, int], dict[str, Any]] = {}
        n_answers = 0
        for user, question, value, status in answers:
            n_answers += 1
            if status is not None and str(status) != "submitted":
                yield Excluded(line, f"the answer is {status}, not submitted")
                continue
            n = next(n for n in itertools.count() if question not in by_user.get((user, n), ()))
            by_user.setdefault((user, n), {})[question] = value
        if not n_answers:
            yield Excluded(line, "the record has no answer")
        for (user, _), found in by_user.items():
            person = {**context, "rater_id": user}
            rankings = {name: value for name, value in found.items() if _is_ranking(value)}
            if rankings:
                orders = {name: _order(value) for name, value in rankings.items()}
                shown = {name: cell for name, cell in person.items() if name != "response_id"}
                yield Row(line, {**shown, **orders})
            single = {
                name: " + ".join(map(str, value)) if isinstance(value, list) else value
                for name, value in found.items()
                if name not in rankings
            }
            words.update(name for name, value in single.items() if isinstance(value, str))
            if single:
                yield Row(line, {**person, **single})


def _is_ranking(value: Any) -> bool:
    return bool(value) and isinstance(value, list) and all(
        isinstance(part, dict) and {"value", "rank"} <= part.keys() for part in value
    )  # fmt: skip


def _order(ranking: Any) -> list[list[str]]:
    """Returns the groups of a ranking, the best first."""
    groups: dict[Any, list[str]] = {}
    for one in sorted(ranking, key=lambda one: float(one["rank"])):
        groups.setdefault(one["rank"], []).append(str(one["value"]))
    return [*groups.values()]


def _context(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what stands beside the answers; a record's own id is the response's where nothing
    else names that.
    """
    context = {name: value for name, value in record.items() if name not in _PARTS}
    for part in ("fields", "metadata"):
        inner = record.get(part)
        if isinstance(inner, dict):
            context.update(inner)
    if record.get("id") is not None:
        context.setdefault("response_id", record["id"])
    return {
        name: value
        for name, value in context.items()
        if _ANSWERS not in name and ".suggestion" not in name
    }


def _nested(record: Mapping[str, Any]) -> Iterator[tuple[Any, str, Any, Any]]:
    """Returns (user, question, value, status) for each answer."""
    for question, answers in record["responses"].items():
        for answer in answers if isinstance(answers, list) else ():
            if isinstance(answer, dict):
                yield answer.get("user_id"), question, answer.get("value"), answer.get("status")


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[Any, str, Any, Any]]:
    """As `_nested`, from the columns QUESTION.responses, .responses.users, .responses.status."""
    for name in record:
        if not name.endswith(_ANSWERS):
            continue
        users = _listed(record.get(f"{name}.users"))
        statuses = _listed(record.get(f"{name}.status"))
        for place, value in enumerate(_listed(record[name])):
            user = users[place] if place < len(users) else None
            status = statuses[place] if place < len(statuses) else None
            yield user, name.removesuffix(_ANSWERS), value, status


def _listed(cell: Any) -> list[Any]:
    """Returns a list cell; in CSV it is JSON, or Python's own notation."""
    found = nested_value(cell)
    return found if isinstance(found, list) else []


ARGILLA = Layout("argilla", _fits, _open, "answers as QUESTION.responses, or nested responses")
