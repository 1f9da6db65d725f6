"""YAML files of users: read strictly, every fault named with file, line, field and rule."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
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
    tree = _Tree(path)
    # ValueError and OverflowError: PyYAML hands escapes beyond U+10FFFF and endless version
    # numbers to chr() and int() unchecked.
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        tree.add_fault(1 + text.count("\n", 0, error.position), _reader_message(error))
        return None, tree.faults
    try:
        for event in _events(loader):
            if not tree.take(event):
                return None, tree.faults
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        tree.add_fault(mark.line + 1 if mark else 1, f"is not YAML: {error.problem}")
        return None, tree.faults
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, RecursionError) as error:
        tree.add_fault(loader.get_mark().line + 1, f"is not YAML: {error}")
        return None, tree.faults
    finally:
        loader.dispose()
    if tree.root is None:
        tree.add_fault(1, "must hold one mapping of fields, got an empty file")
    return tree.root, tree.faults


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


def _events(loader: yaml.SafeLoader) -> Iterator[yaml.Event]:
    while loader.check_event():
        yield loader.get_event()  # type: ignore[no-untyped-call]  # untyped in the stubs


def _reader_message(error: yaml.reader.ReaderError) -> str:
    character = error.character
    shown = f"U+{character:04X}" if isinstance(character, int) else repr(character)
    return f"must not contain the character {shown}"


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is still open, and the key that waits for its value."""

    node: Node
    key: str | None = None
    key_line: int = 0
    is_key_read: bool = False


@dataclass(slots=True)
class _Tree:
    """Builds the tree from events with a stack of its own: depth costs no recursion."""

    path: str
    root: Node | None = None
    faults: list[InputFault] = field(default_factory=list)
    _open: list[_Frame] = field(default_factory=list)
    _documents: int = 0
    _nodes: int = 0

    def add_fault(self, line: int, message: str, name: str | None = None) -> None:
        self.faults.append(InputFault(f"{self.path}:{line}", message, name))

    def take(self, event: yaml.Event) -> bool:
        """Whether to go on after this event."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.add_fault(line, "must be one document, got a second one after '---'")
                return False
            return True
        if isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            return True
        if not isinstance(event, yaml.NodeEvent):
            return True
        return self._take_node(event, line)

    def _take_node(self, event: yaml.NodeEvent, line: int) -> bool:
        frame = self._open[-1] if self._open else None
        is_key = frame is not None and isinstance(frame.node.value, dict) and not frame.is_key_read
        self._nodes += not is_key
        if self._nodes > MAX_NODES:
            self.add_fault(line, f"must hold at most {MAX_NODES} values")
            return False
        is_void = self._refuse_references(event, line)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) >= MAX_DEPTH:
                self.add_fault(line, f"must nest at most {MAX_DEPTH} levels deep")
                return False
            is_list = isinstance(event, yaml.SequenceStartEvent)
            node = Node([] if is_list else {}, line, is_void=is_void)
            self._place(node, frame, is_key=is_key, is_merge=False)
            self._open.append(_Frame(node))
            return True
        node = Node(None, line, is_void=True)
        is_merge = False
        if isinstance(event, yaml.ScalarEvent):
            is_plain = event.style is None
            value = resolve_plain(event.value) if is_plain else event.value
            node = Node(value, line, event.value, is_void)
            is_merge = is_plain and event.value == "<<"
            if unwanted := _UNWANTED.search(event.value):
                node.is_void = True
                code = f"U+{ord(unwanted[0]):04X}"
                self.add_fault(line, f"must not contain the control character {code}")
        self._place(node, frame, is_key=is_key, is_merge=is_merge)
        return True

    def _refuse_references(self, event: yaml.NodeEvent, line: int) -> bool:
        if isinstance(event, yaml.AliasEvent):
            name = printable(event.anchor or "")
            self.add_fault(line, f"aliases are not allowed, got *{name}: write it out")
            return True
        if event.anchor is not None:
            self.add_fault(line, f"anchors are not allowed, got &{printable(event.anchor)}")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self.add_fault(line, f"tags are not allowed, got {printable(tag)!r}")
        return tag is not None

    def _place(self, node: Node, frame: _Frame | None, *, is_key: bool, is_merge: bool) -> None:
        if frame is None:
            self.root = node
        elif isinstance(frame.node.value, list):
            frame.node.value.append(node)
        elif is_key:
            self._place_key(node, frame, is_merge=is_merge)
        elif isinstance(frame.node.value, dict):
            frame.is_key_read = False
            if frame.key is not None:
                node.line = frame.key_line
                frame.node.value[frame.key] = node

    def _place_key(self, node: Node, frame: _Frame, *, is_merge: bool) -> None:
        entries = frame.node.value
        frame.is_key_read, frame.key, frame.key_line = True, None, node.line
        if is_merge:
            self.add_fault(node.line, "merge keys are not allowed, got <<: write the fields out")
        elif isinstance(node.value, dict | list):
            self.add_fault(node.line, "a key must be a word, got a list or mapping")
        elif node.is_void:
            return  # said already, where it was refused
        elif not node.written:
            self.add_fault(node.line, "a key must be a word, got nothing")
        elif isinstance(entries, dict) and node.written in entries:
            first = entries[node.written].line
            self.add_fault(
                node.line, f"given twice (first in line {first})", printable(node.written)
            )
        else:
            frame.key = node.written


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


MAX_BYTES = 256 * 1024
"""Size limit of one file."""

SUFFIXES = (".yaml", ".yml")

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A file found by name or path.

    Attributes:
        name: the file's stem, which is the id of what it holds.
        path: the file; a resource of the package for a built-in one.
        is_builtin: whether it came with the package.
        hides_builtin: whether a built-in one of the same name would have been taken without it.
    """

    name: str
    path: Path | Traversable
    is_builtin: bool = False
    hides_builtin: bool = False


def home() -> Path:
    """The user's folder: `$AREOPAGUS_HOME`, else the platform's user data folder; not made here."""
    named = os.environ.get("AREOPAGUS_HOME")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("areopagus", appauthor=False))


def read_document(path: str | Path | Traversable, model: type[ModelT], *, kind: str) -> ModelT:
    """The object in one file.

    Args:
        path: the file.
        model: what it must hold. Where the model has an `id`, it must be the file's stem.
        kind: what to call it in messages ("persona").

    Raises:
        InputError: with every fault of the file, as `PATH:LINE: field: rule, got …`.
    """
    return read_documents([path], model, kind=kind)[0]


def read_documents(
    paths: Iterable[str | Path | Traversable], model: type[ModelT], *, kind: str
) -> tuple[ModelT, ...]:
    """The objects in several files, in order.

    Raises:
        InputError: with every fault of every file.
    """
    read: list[ModelT] = []
    faults: list[InputFault] = []
    for path in paths:
        source = Path(path) if isinstance(path, str) else path
        found, wrong = _read_one(source, model, kind=kind)
        faults += wrong
        if found is not None:
            read.append(found)
    if faults:
        raise InputError(faults)
    return tuple(read)


def find_document(
    name_or_path: str | Path,
    *,
    kind: str,
    folders: Sequence[str | Path] = (),
    package: str,
) -> FoundDocument:
    """Where a document stands, by the look-up order of this module.

    Args:
        name_or_path: a `Path`, or a text that contains a separator or ends in .yaml or .yml, is an
            explicit path (whether it exists is found out on reading); any other text is a name.
        kind: "persona" looks in `$AREOPAGUS_HOME/personas`.
        folders: looked through before that, the last one first.
        package: the package that holds the built-in ones ("areopagus.personas").

    Raises:
        InputError: for an unknown name (with the names there are and the closest one), and for a
            folder that cannot be read.
    """
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or text.endswith(SUFFIXES)
    if is_path or any(separator in text for separator in "/\\"):
        path = Path(name_or_path).expanduser()
        return FoundDocument(path.stem, path)
    known = {found.name: found for found in list_documents(kind, folders, package)}
    if text in known:
        return known[text]
    close = get_close_matches(text, known, n=1)
    guess = f"; did you mean {close[0]}?" if close else ""
    raise InputError(
        f"there is no {kind} {shown(text)}{guess}",
        hint=f"Known: {', '.join(known) or 'none'}; or name a file, by a path ending in .yaml.",
    )


def list_documents(
    kind: str, folders: Sequence[str | Path] = (), package: str = ""
) -> tuple[FoundDocument, ...]:
    """What every name stands for, by the look-up order: one entry a name, built-in names first.

    Args:
        kind: as for `find_document`.
        folders: as for `find_document`.
        package: the package of the built-in ones; "" for a kind that has none.

    Raises:
        InputError: for a given folder that is missing or unreadable, and for `a.yaml` beside
            `a.yml`.
    """
    builtin = _entries(resources.files(package)) if package else {}
    found = {name: FoundDocument(name, path, is_builtin=True) for name, path in builtin.items()}
    own = home() / f"{kind}s"
    for folder in ([own] if own.is_dir() else []) + [Path(folder) for folder in folders]:
        for name, path in folder_entries(folder).items():
            found[name] = FoundDocument(name, path, hides_builtin=name in builtin)
    return tuple(found.values())


def folder_entries(folder: str | Path) -> dict[str, Path]:
    """The YAML files of a folder by stem, sorted; hidden files and sub-folders left out.

    Raises:
        InputError: for a folder that is missing or unreadable, and for `a.yaml` beside `a.yml`.
    """
    place = Path(folder).expanduser()
    if not place.is_dir():
        what = "a file" if place.exists() else "nothing there"
        raise InputError([InputFault(str(folder), f"must be a folder, got {what}")])
    try:
        return _entries(place)
    except OSError as error:
        raise InputError(
            [InputFault(str(folder), f"cannot be read: {error.strerror or error}")]
        ) from error


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


def reject(title: str, faults: Iterable[tuple[tuple[str | int, ...], str, object]]) -> None:
    """Nothing when there are no faults; for the checks of a model that look at several fields.

    A plain ValueError in a pydantic model validator names no field and stops at the first fault.

    Args:
        title: the model's name.
        faults: (location, rule, what was got instead).

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


def _entries(folder: Path | Traversable) -> dict[str, Path]:
    """The YAML files by stem, sorted. Names are compared in Python, letter by letter: on a file
    system that ignores case, asking for `historian.yaml` would also open `Historian.yaml`.
    """
    entries: dict[str, Path] = {}
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        stem, dot, suffix = entry.name.rpartition(".")
        if not stem or f"{dot}{suffix}" not in SUFFIXES or stem.startswith(".") or entry.is_dir():
            continue
        if stem in entries:
            message = f"stands beside {stem}.yaml and would hide it: keep one of the two"
            raise InputError([InputFault(str(entry), message)])
        entries[stem] = entry  # type: ignore[assignment]  # a Path wherever the folder is one
    return entries


def _read_one(
    source: Path | Traversable, model: type[ModelT], *, kind: str
) -> tuple[ModelT | None, list[InputFault]]:
    where = str(source)
    text, fault = _read_text(source, kind=kind)
    if fault is not None:
        return None, [fault]
    root, faults = parse_yaml(text, path=where)
    if root is None:
        return None, faults
    document: ModelT | None = None
    try:
        # Strict JSON mode takes lists for tuples and whole numbers for floats, and nothing else:
        # no "7" and no true for 7.
        document = model.model_validate_json(json.dumps(root.plain()), strict=True)
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
        what = "a folder" if source.is_dir() else "nothing there"
        return "", InputFault(where, f"must be a {kind} file, got {what}")
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
