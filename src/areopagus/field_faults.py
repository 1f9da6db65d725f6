"""What pydantic found wrong in a YAML file, said with line, field, rule and what stands there."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .errors import InputFault
from .strict_yaml import SHOWN_CHARACTERS, Node, printable, resolve_plain

_RULES: Mapping[str, str] = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "too_short": "must hold at least {min_length} entries",
    "too_long": "must hold at most {max_length} entries",
    "value_error": "{error}",
    "document_rule": "{rule}",
}


def field_faults(
    error: ValidationError, root: Node, model: type[BaseModel], *, path: str
) -> list[InputFault]:
    """Every fault of the validation, in the order found; none below a value refused already.

    Args:
        error: what the model said of `root.plain()`.
        root: the file's tree.
        model: the model, for the names it knows.
        path: how faults name the file.
    """
    faults = []
    for detail in error.errors(include_url=False):
        loc = detail["loc"]
        is_about_key = bool(loc) and loc[-1] == "[key]"
        steps = loc[:-1] if is_about_key else loc
        node, line = _node_at(root, steps)
        if node is not None and node.is_void:
            continue
        if detail["type"] == "too_short" and node is not None and _is_long_enough(detail, node):
            continue
        message = _message(detail, node, steps, model, is_about_key=is_about_key)
        faults.append(InputFault(f"{path}:{line}", message, _field(steps) or None))
    return faults


def shown(value: object) -> str:
    """The value for a message: quoted, on one line, control characters escaped, cut when long."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _is_long_enough(detail: ErrorDetails, node: Node) -> bool:
    """Whether a list is short only of the entries that were refused, each with its own fault."""
    least = detail.get("ctx", {}).get("min_length", 0)
    return isinstance(node.value, list) and len(node.value) >= least


def _node_at(root: Node, steps: tuple[int | str, ...]) -> tuple[Node | None, int]:
    """The node at a location, None where it is missing; and the nearest line there is.

    The walk ends early at a node that was refused: nothing below it can be trusted.
    """
    node, line = root, root.line
    for step in steps:
        if node.is_void:
            break
        children = node.value
        if isinstance(children, dict) and str(step) in children:
            node = children[str(step)]
        elif isinstance(children, list) and isinstance(step, int) and step < len(children):
            node = children[step]
        else:
            return None, line
        line = node.line
    return node, line


def _field(steps: tuple[int | str, ...]) -> str:
    name = ""
    for step in steps:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            safe = printable(step)
            name += f".{safe}" if name else safe
    return name


def _message(
    detail: ErrorDetails,
    node: Node | None,
    steps: tuple[int | str, ...],
    model: type[BaseModel],
    *,
    is_about_key: bool,
) -> str:
    if detail["type"] == "missing":
        return "must be given"
    if detail["type"] == "extra_forbidden":
        return _unknown_field(str(steps[-1]), _model_at(model, steps[:-1]))
    context = {key: _plain_number(value) for key, value in detail.get("ctx", {}).items()}
    rule = _RULES.get(detail["type"], "{message}").format(message=detail["msg"], **context)
    if is_about_key:
        return f"{rule}, got {shown(resolve_plain(str(steps[-1])))}"
    if node is None:
        return rule
    hint = ""
    if detail["type"] == "string_type" and isinstance(node.value, int | float):
        hint = f' (put it in quotes: "{node.written}")'
    return f"{rule}, got {_got(node)}{hint}"


def _got(node: Node) -> str:
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return f"a list of {len(node.value)}"
    if isinstance(node.value, str):
        size = f" ({len(node.value)} characters)" if len(node.value) > SHOWN_CHARACTERS else ""
        return shown(node.value) + size
    return node.written or "nothing"


def _plain_number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _unknown_field(name: str, model: type[BaseModel] | None) -> str:
    known = list(model.model_fields) if model else []
    close = get_close_matches(name, known, n=1)
    if close:
        return f"unknown field; did you mean {close[0]}?"
    return f"unknown field; known are {', '.join(known)}" if known else "unknown field"


def _model_at(model: type[BaseModel], steps: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model that the value at a location is checked against; None where it is no model."""
    annotation: Any = model
    for step in steps:
        owner = _first_model(annotation)
        if owner is not None and step in owner.model_fields:
            annotation = owner.model_fields[str(step)].annotation
        # A list's index and a mapping's key leave the annotation as it is: the model of the
        # entries is found inside it.
    return _first_model(annotation)


def _first_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        found = _first_model(part)
        if found is not None:
            return found
    return None
