"""A column map as it was understood of a file, in YAML with a comment a line, to be corrected.

Read with its unchanged draft, a file gives the same tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import visible_text
from ..types import OVERALL
from .columns import ItemTable
from .match import REST
from .plan import OF_THE_TOOL
from .reading import HumanReading, Look

_ABOUT = {
    "rater_id": "who rated",
    "prompt_id": "what was asked",
    "response_id": "what was rated",
    "criterion": "of what the value is a rating",
    "kind": "score, rank or label",
    "value": "the rating",
    "score": "the rating, higher is better",
    "rank": "the rating, 1 is the best",
    "label": "the judgment, in words",
    "duration_s": "how long it took, in seconds",
    "time": "when",
    "comment": "what the rater wrote",
    "item_type": "standard, or a calibration item",
    "item_role": "which response of a calibration item is the weak one",
    "response_a": "the first of two responses",
    "response_b": "the second",
    "source_a": "who wrote the first",
    "source_b": "who wrote the second",
    "winner": "which of the two is better",
    "blinded_label": "the response as the rater saw it; a key says which it was",
    "source": "who wrote the response",
    "model": "the model that wrote it",
    "domain": "the domain of the prompt",
}
_COPIED = (
    "header", "constants", "items", "columns_pattern", "place_columns", "key", "join",
    "rater_from_row", "kind", "codes", "pool", "raters", "standard_item_types",
)  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z][\w./-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_WIDTH = 34
_QUESTIONS = 200


def draft(look: Look, reading: HumanReading | None) -> str:
    """Returns the map.

    Args:
        look: what the file is taken for.
        reading: what came of it; None where it cannot be read yet.
    """
    return "\n".join([*_lines(look, reading), ""])


def _lines(look: Look, reading: HumanReading | None) -> Iterator[str]:
    plan = look.plan
    path = visible_text(look.path.name)
    yield f"# How {path} was understood: correct it, and give it as the column map."
    if plan.faults:
        yield "# It cannot be read yet:"
        yield from (f"#   {visible_text(fault.message)}" for fault in plan.faults)
    elif plan.why:
        yield f"# Shape {plan.shape}: {visible_text(plan.why)}."
    yield _entry("layout", look.layout, look.known_by)
    yield from _columns(look)
    yield from _ratings(look, reading)
    given = look.column_map.model_dump(mode="json", exclude_unset=True, exclude_defaults=True)
    if isinstance(look.column_map.items, ItemTable) or look.column_map.columns_pattern:
        yield from _given("criteria", given)
    for name in _COPIED:
        yield from _given(name, given)
    yield from _missing(look, reading)
    yield from _scales(reading)
    yield from _unread(look)


def _given(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Returns what the user's own map says, as it is."""
    if name in given:
        yield _line(f"{name}: {json.dumps(given[name], ensure_ascii=False)}", "as it was said")


def _columns(look: Look) -> Iterator[str]:
    named = {**look.plan.columns, **look.plan.values}
    if named:
        yield "columns:                           # our name: the file's column"
    for ours, theirs in named.items():
        held = look.profiles[theirs].holds() if theirs in look.profiles else ""
        about = "; ".join(part for part in (_ABOUT.get(ours, ""), held) if part)
        yield _entry(ours, theirs, about, indent=2)


def _ratings(look: Look, reading: HumanReading | None) -> Iterator[str]:
    """Returns the columns of ratings, where the map can say them one by one."""
    plan, column_map = look.plan, look.column_map
    by_name = set(plan.values.values())
    ratings = [one for one in plan.ratings if one.column not in by_name]
    if column_map.items or column_map.columns_pattern or column_map.place_columns:
        return
    if plan.shape in ("raters", "items") and ratings:
        kind = "rater" if plan.shape == "raters" else "response"
        key = "rater_columns" if plan.shape == "raters" else "item_columns"
        yield f"{key}:                     # each column is a {kind}"
        yield from (f"  - {_scalar(one.column)}" for one in ratings)
    elif plan.shape in ("wide", "long", "orders"):
        named = [one for one in ratings if one.names is None]
        if named:
            yield "criteria:                          # the file's column: criterion"
        for one in named:
            criterion = one.fixed.get("criterion", OVERALL)
            about = _counted(reading, criterion) if reading else look.profiles[one.column].holds()
            if one.kind == column_map.kind:
                yield _entry(one.column, criterion, about, indent=2)
            else:
                said = f"{{criterion: {_scalar(criterion)}, kind: {one.kind}}}"
                yield _line(f"  {_scalar(one.column)}: {said}", about)
    else:
        for notice in plan.notices:
            yield f"# {visible_text(notice)}"
        for one in ratings[:_QUESTIONS]:
            said = ", ".join(f"{ours} {text}" for ours, text in one.fixed.items())
            yield f"#   {visible_text(f'{one.column}: {one.kind}, {said}')}"
        if plan.shape == "respondents":
            yield '# To say it otherwise: columns_pattern: "{respondent}_{criterion}"'


def _counted(reading: HumanReading, criterion: str) -> str:
    table = reading.table.where("criterion", criterion)
    n = len(table) + len(reading.labels.where("criterion", criterion))
    told = f"{n:,} judgments"
    if len(table):
        told += f", {table.value.min():g} to {table.value.max():g}"
    codes = [f"{one.n:,} × {one.code}" for one in reading.missing if one.criterion == criterion]
    return f"{told}; missing: {', '.join(codes)}" if codes else told


def _missing(look: Look, reading: HumanReading | None) -> Iterator[str]:
    declared = look.column_map.missing
    found = list(reading.missing_by_code()) if reading else []
    about = f"found: {', '.join(found)}" if found else "beside the usual NA, NaN, null, …"
    listed = ", ".join(_scalar(code) for code in declared)
    yield _line(f"{'' if declared else '# '}missing: [{listed}]", about)


def _scales(reading: HumanReading | None) -> Iterator[str]:
    if reading is None:
        return
    if reading.scale is not None:
        scale = reading.scale
        ends = dict(scale) if isinstance(scale, Mapping) else {REST: scale}
        yield "scales:                            # lowest and highest score; others are left out"
        for name, (low, high) in ends.items():
            yield _entry(name, f"{low:g}:{high:g}", "", indent=2)
        return
    scores = reading.table.select(~reading.table.is_rank)
    found = []
    for name in scores.criterion.used():
        value = scores.where("criterion", name).value
        found.append(f'{_scalar(name)}: "{value.min():g}:{value.max():g}"')
    if found:
        yield "# scales: what was found; say what was possible, and scores are checked by it"
        yield from (f"#   {one}" for one in found)


def _unread(look: Look) -> Iterator[str]:
    unread = [one for one in look.plan.unread if one.reason != OF_THE_TOOL]
    if not unread:
        return
    if not look.plan.faults:
        yield "ignore:                            # read as nothing"
        yield from (_line(f"  - {_scalar(one.column)}", one.reason) for one in unread)
        return
    yield "# Columns that say nothing by their names:"
    for one in unread[:_QUESTIONS]:
        yield _line(f"#   {_scalar(one.column)}", one.reason)
    if len(unread) > _QUESTIONS:
        yield f"#   and {len(unread) - _QUESTIONS:,} more"
    if not look.plan.ratings:
        column = _scalar(unread[0].column)
        yield "# items:                           # what a column rates, one a line"
        yield f"#   - {{column: {column}, prompt_id: …, response_id: …, criterion: overall}}"


def _entry(name: str, value: str, about: str, *, indent: int = 0) -> str:
    return _line(f"{' ' * indent}{_scalar(name)}: {_scalar(value)}", about)


def _line(text: str, about: str) -> str:
    said = " ".join(visible_text(about).split())
    return f"{text:<{_WIDTH}} # {said}" if said else text


def _scalar(value: Any) -> str:
    """Returns a text or number as YAML."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
