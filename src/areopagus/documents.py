"""Reading, finding and hashing the YAML files that people extend: personas, rubrics, panels.

One file holds one object and the file's stem is its id. Files are found in this order:

    1. an explicit path (it contains a separator, or ends in .yaml or .yml)
    2. each folder given, the last one first
    3. $AREOPAGUS_HOME/personas, …/rubrics
    4. the built-in ones
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from .errors import InputError, InputFault
from .field_faults import field_faults, shown
from .strict_yaml import parse_yaml

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
