"""YAML files of users: read strictly, every fault named with file, line, field and rule."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from .errors import InputError, InputFault

MAX_NODES = 10_000
"""Values (keys not counted) that one file may hold."""

MAX_DEPTH = 20
"""How deep lists and mappings may nest; a thousand open brackets overflow a recursive reader."""

MAX_INTEGER_DIGITS = 18

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}

# Escapes such as "\0", "\e" or "\ud800" put into a text what the file itself may not contain.
_FOR_PYYAML = re.compile(f"[\t\ufeff]|{yaml.reader.Reader.NON_PRINTABLE.pattern}")
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

SHOWN_CHARACTERS = 60
"""How much of a text a message shows."""

Scalar = str | int | float | bool | None


@dataclass(slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        value: a scalar, or children in a dict or list.
        line: 1-based line of its key, or of itself for list items and the root.
        written: a scalar as it stands in the file, without quotes.
        is_void: it stands in for something that was refused; faults below it would only mislead.
    """

    value: Scalar | dict[str, Node] | list[Node]
    line: int
    written: str = ""
    is_void: bool = False

    def plain(self) -> Any:
        """The JSON-like value, without lines."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value


def parse_yaml(text: str, *, path: str) -> tuple[Node | None, list[InputFault]]:
    """The root of the document and every fault of form found in it.

    Args:
        text: the content of one file.
        path: how faults name the file.

    Returns:
        The root is None when the text could not be read to its end (broken syntax, a limit passed,
        no document, several documents). Otherwise it is there even with faults, so that its content
        can be checked in the same round. Never raises for anything that `text` contains.
    """
    # libyaml is several times as fast, but words faults otherwise, and takes tabs, byte order marks
    # and control characters where PyYAML's own parser, which reads what is left, does not.
    if yaml.__with_libyaml__ and not _FOR_PYYAML.search(text):
        root, faults = _parsed_by(yaml.CSafeLoader, text, path)
        if not faults:
            return root, faults
    return _parsed_by(yaml.SafeLoader, text, path)


def _parsed_by(
    parser: type[yaml.SafeLoader | yaml.CSafeLoader], text: str, path: str
) -> tuple[Node | None, list[InputFault]]:
    faults: list[InputFault] = []
    try:
        loader = parser(text)
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        return None, [InputFault(f"{path}:{line}", _reader_message(error))]
    try:
        root = _Builder(loader, path, faults).document()
    except _PastLimitError:
        root = None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        root = None
        faults.append(InputFault(f"{path}:{line}", f"is not YAML: {error.problem}"))
    # ValueError and OverflowError: PyYAML hands escapes beyond U+10FFFF and endless version
    # numbers to chr() and int() unchecked.
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, RecursionError) as error:
        root = None
        line = loader.get_mark().line + 1 if isinstance(loader, yaml.SafeLoader) else 1
        faults.append(InputFault(f"{path}:{line}", f"is not YAML: {error}"))
    finally:
        loader.dispose()
    return root, faults


@lru_cache(maxsize=64)
def _parsed(text: str, path: str) -> tuple[Node | None, tuple[InputFault, ...]]:
    """The same, remembered: a panel reads a dozen files, and a program makes many panels."""
    root, faults = parse_yaml(text, path=path)
    return root, tuple(faults)


def printable(text: str) -> str:
    """The text for a message: cut when long, and with escapes for what would steer a terminal."""
    cut = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut)


def resolve_plain(written: str) -> Scalar:
    """What an unquoted scalar means: None, a truth value, a number, or the text itself."""
    if written in _WORDS:
        return _WORDS[written]
    if _INTEGER.fullmatch(written):
        # Longer ones stay text and are refused by the model: int() of a long text is costly.
        return int(written) if len(written) <= MAX_INTEGER_DIGITS else written
    if _NUMBER.fullmatch(written) and len(written) <= 40:
        number = float(written)
        return number if abs(number) != float("inf") else written
    return written


def _reader_message(error: yaml.reader.ReaderError) -> str:
    character = error.character
    shown = f"U+{character:04X}" if isinstance(character, int) else repr(character)
    return f"must not contain the character {shown}"


class _PastLimitError(Exception):
    """Ends the reading of a document; the fault is told already."""


@dataclass(slots=True)
class _Builder:
    """Builds the tree from the events of PyYAML's parser, which resolves no aliases or tags."""

    loader: Any  # a SafeLoader or CSafeLoader, which have no class in common
    path: str
    faults: list[InputFault]
    n_values: int = 0

    def document(self) -> Node | None:
        """The root; None, with a fault, for no document and for several."""
        root: Node | None = None
        while self.loader.check_event():
            event = self._next()
            if isinstance(event, yaml.NodeEvent):
                root = self._node(event, 0)
            elif isinstance(event, yaml.DocumentStartEvent) and root is not None:
                self._fault(event, "must be one document, got a second one after '---'")
                return None
        if root is None:
            message = "must hold one mapping of fields, got an empty file"
            self.faults.append(InputFault(f"{self.path}:1", message))
        return root

    def _next(self) -> yaml.Event:
        event: yaml.Event = self.loader.get_event()
        return event

    def _fault(self, event: yaml.Event, message: str, name: str | None = None) -> None:
        self.faults.append(InputFault(f"{self.path}:{_line(event)}", message, name))

    def _node(self, event: yaml.Event, depth: int, *, is_key: bool = False) -> Node:
        self.n_values += not is_key
        if self.n_values > MAX_NODES:
            self._fault(event, f"must hold at most {MAX_NODES} values")
            raise _PastLimitError
        is_void = self._refuses_reference(event)
        if isinstance(event, yaml.CollectionStartEvent):
            if depth >= MAX_DEPTH:
                self._fault(event, f"must nest at most {MAX_DEPTH} levels deep")
                raise _PastLimitError
            if isinstance(event, yaml.SequenceStartEvent):
                return Node(self._items(depth + 1), _line(event), is_void=is_void)
            return Node(self._entries(depth + 1), _line(event), is_void=is_void)
        if not isinstance(event, yaml.ScalarEvent):  # an alias
            return Node(None, _line(event), is_void=True)
        if unwanted := _UNWANTED.search(event.value):
            is_void = True
            code = f"U+{ord(unwanted[0]):04X}"
            self._fault(event, f"must not contain the control character {code}")
        value = resolve_plain(event.value) if not event.style else event.value
        return Node(value, _line(event), event.value, is_void)

    def _items(self, depth: int) -> list[Node]:
        items: list[Node] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, depth))
        return items

    def _entries(self, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._node(event, depth, is_key=True)
            is_usable = self._is_usable(key, event, entries)
            value = self._node(self._next(), depth)
            if is_usable:
                value.line = key.line
                entries[key.written] = value
        return entries

    def _is_usable(self, key: Node, event: yaml.Event, entries: Mapping[str, Node]) -> bool:
        """Whether the key can stand in the mapping; the fault is told where it cannot."""
        if isinstance(event, yaml.ScalarEvent) and not event.style and event.value == "<<":
            self._fault(event, "merge keys are not allowed, got <<: write the fields out")
        elif isinstance(key.value, dict | list):
            self._fault(event, "a key must be a word, got a list or mapping")
        elif key.is_void:
            pass  # told where it was refused
        elif not key.written:
            self._fault(event, "a key must be a word, got nothing")
        elif key.written in entries:
            first = entries[key.written].line
            self._fault(event, f"given twice (first in line {first})", printable(key.written))
        else:
            return True
        return False

    def _refuses_reference(self, event: yaml.Event) -> bool:
        """Whether the value counts as refused; an anchor is a fault that leaves it its value."""
        if isinstance(event, yaml.AliasEvent):
            name = printable(event.anchor or "")
            self._fault(event, f"aliases are not allowed, got *{name}: write it out")
            return True
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor is not None:
            self._fault(event, f"anchors are not allowed, got &{printable(anchor)}")
        if tag is not None:
            self._fault(event, f"tags are not allowed, got {printable(tag)!r}")
        return tag is not None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


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
    if detail["type"] == "value_error" and isinstance(node.value, dict | list):
        return rule  # the rule names what is wrong in it; that it is a mapping is right
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


MAX_BYTES = 256 * 1024
"""Size limit of one file."""

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_document(
    path: str | Path | Traversable, model: type[ModelT], *, kind: str, context: Any = None
) -> ModelT:
    """The object in one file.

    Args:
        path: the file.
        model: what it must hold. Where the model has an `id`, it must be the file's stem.
        kind: what to call it in messages ("persona").
        context: what the model's checks are given as `info.context`.

    Raises:
        InputError: with every fault of the file, as `PATH:LINE: field: rule, got …`.
    """
    return read_documents([path], model, kind=kind, context=context)[0]


def read_documents(
    paths: Iterable[str | Path | Traversable],
    model: type[ModelT],
    *,
    kind: str,
    context: Any = None,
) -> tuple[ModelT, ...]:
    """The objects in several files, in order.

    Raises:
        InputError: with every fault of every file.
    """
    read: list[ModelT] = []
    faults: list[InputFault] = []
    for path in paths:
        source = Path(path) if isinstance(path, str) else path
        found, wrong = _read_one(source, model, kind=kind, context=context)
        faults += wrong
        if found is not None:
            read.append(found)
    if faults:
        raise InputError(faults)
    return tuple(read)


STRICT = ConfigDict(frozen=True, extra="forbid")
"""For the models of files and of their parts: an unknown field is a fault."""

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Paragraph = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
Version = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=32)]


class Document(BaseModel):
    """Base of what one file holds."""

    model_config = STRICT

    id: str

    @property
    def sha256(self) -> str:
        """Hash of the content; recorded with every result."""
        return document_hash(self)


def document_hash(document: BaseModel) -> str:
    """SHA-256, in hex, of the content as canonical JSON.

    Sorted keys, no spaces, UTF-8. Comments, layout and the order of fields do not count, and fields
    left at their default are left out, so that a field added to the model in a later version
    does not change the hash of the files that are there already.
    """
    content = document.model_dump(mode="json", exclude_defaults=True)
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def schema_text(model: type[BaseModel]) -> str:
    """The JSON Schema (draft 2020-12) that editors check a file of this model against."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


FieldFault = tuple[tuple[str | int, ...], str, object]
"""Location in a model, the rule, and what was got instead."""


def reject(title: str, faults: Iterable[FieldFault]) -> None:
    """Nothing when there are no faults; for the checks of a model that look at several fields.

    A plain ValueError in a pydantic model validator names no field and stops at the first fault.

    Args:
        title: the model's name.
        faults: all there are.

    Raises:
        ValidationError: with all of them, each at its location.
    """
    details = [
        InitErrorDetails(
            type=PydanticCustomError("document_rule", "{rule}", {"rule": rule}), loc=loc, input=got
        )
        for loc, rule, got in faults
    ]
    if details:
        raise ValidationError.from_exception_data(title, details)


def _read_one(
    source: Path | Traversable, model: type[ModelT], *, kind: str, context: Any
) -> tuple[ModelT | None, list[InputFault]]:
    where = str(source)
    text, fault = _read_text(source, kind=kind)
    if fault is not None:
        return None, [fault]
    root, found = _parsed(text, where)
    faults = list(found)
    if root is None:
        return None, faults
    document: ModelT | None = None
    try:
        # Strict JSON mode takes lists for tuples and whole numbers for floats, and nothing else:
        # no "7" and no true for 7.
        content = json.dumps(root.plain())
        document = model.model_validate_json(content, strict=True, context=context)
    except ValidationError as error:
        faults += field_faults(error, root, model, path=where)
    stem = Path(source.name).stem
    entries = root.value if isinstance(root.value, dict) else {}
    if "id" in model.model_fields and "id" in entries and not entries["id"].is_void:
        written = entries["id"].written
        if written != stem:
            rule = (
                f"must be the file's name without its ending, {shown(stem)}, got {shown(written)}"
            )
            faults.append(InputFault(f"{where}:{entries['id'].line}", rule, "id"))
    return document, sorted(faults, key=lambda fault: int(fault.where.rpartition(":")[2]))


def _read_text(source: Path | Traversable, *, kind: str) -> tuple[str, InputFault | None]:
    where = str(source)
    # Opening a pipe would wait for ever, and a folder gives an unhelpful message.
    if not source.is_file():
        a_file = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} file"
        if source.is_dir():
            return "", InputFault(where, f"must be {a_file}, got a folder")
        return "", InputFault(where, f"is not there; it must be {a_file}")
    try:
        with source.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return "", InputFault(where, f"cannot be read: {error.strerror or error}")
    if len(content) > MAX_BYTES:
        return "", InputFault(where, f"must be at most {MAX_BYTES // 1024} KiB")
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        byte = content[error.start]
        return "", InputFault(f"{where}:{line}", f"must be UTF-8 text, got the byte 0x{byte:02x}")
