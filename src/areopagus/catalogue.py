"""Kinds of YAML files that people add to: `Catalogue` finds, lists, loads and starts them.

A name is looked for in each given folder, the last one first, then in the user's own folder
(`$AREOPAGUS_HOME/personas`, say), then among those that came with the package. The file's name
without its ending is the name; the first file found is taken whole, nothing is merged.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Generic, TypeVar

from .environment import home
from .errors import InputError, InputFault
from .yaml_files import Document, read_document, read_documents, schema_text, shown

SUFFIXES = (".yaml", ".yml")

PLACEHOLDER = "REPLACE THIS TEXT"
"""Stands in a new file where its author has to write; what still contains it is refused."""
STILL_A_SCAFFOLD = f"the scaffold's {PLACEHOLDER} still stands there"

DocumentT = TypeVar("DocumentT", bound=Document)


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


@dataclass(frozen=True, slots=True)
class Catalogue(Generic[DocumentT]):
    """All files of one kind.

    Attributes:
        kind: what messages call it; the user's own are in `$AREOPAGUS_HOME/<kind>s`.
        model: what a file holds; it has an `id`.
        package: the package that holds the built-in ones.
        builtin: their names in the order of lists and results; by default by name.
        scaffold: the text of a new file, with {schema}, {id}, {label} and {placeholder} in it.
    """

    kind: str
    model: type[DocumentT]
    package: str
    builtin: tuple[str, ...] = ()
    scaffold: str = ""

    def entries(self, folders: Sequence[str | Path] = ()) -> tuple[FoundDocument, ...]:
        """What each name stands for, built-in names first.

        Raises:
            InputError: a given folder that is missing or unreadable; `a.yaml` beside `a.yml`.
        """
        order = {name: place for place, name in enumerate(self.builtin)}
        found = list_documents(self.kind, folders, self.package)
        return tuple(sorted(found, key=lambda entry: order.get(entry.name, len(order))))

    def find(self, name_or_path: str | Path, folders: Sequence[str | Path] = ()) -> FoundDocument:
        """Where one stands; whether an explicit path exists is found out on reading.

        Raises:
            InputError: an unknown name, with the names there are and the closest one.
        """
        if is_path(name_or_path):
            path = Path(name_or_path).expanduser()
            return FoundDocument(path.stem, path)
        name = str(name_or_path)
        known = {entry.name: entry for entry in self.entries(folders)}
        if name in known:
            return known[name]
        close = get_close_matches(name, known, n=1)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise InputError(
            f"there is no {self.kind} {shown(name)}{guess}",
            hint=f"Known: {', '.join(known) or 'none'}; or name a file, by a path ending in .yaml.",
        )

    def load(
        self, name_or_path: str | Path | DocumentT, folders: Sequence[str | Path] = ()
    ) -> DocumentT:
        """One, by name or path; what is loaded already is handed back as it is.

        Raises:
            InputError: an unknown name, or every fault of the file.
        """
        if isinstance(name_or_path, self.model):
            return name_or_path
        return read_document(
            self.find(name_or_path, folders).path,  # type: ignore[arg-type]
            self.model,
            kind=self.kind,
        )

    def load_all(
        self,
        names: Iterable[str | Path | DocumentT] | None = None,
        folders: Sequence[str | Path] = (),
        *,
        check: Callable[[Sequence[DocumentT]], Iterable[InputFault]] | None = None,
    ) -> tuple[DocumentT, ...]:
        """Several, in order.

        Args:
            names: names, paths, or what is loaded already. None: the built-in ones, then all others
                in `folders`, by folder and name.
            folders: where names are looked for first, the last one first. A file in one of them, or
                in the user's own folder, stands in the place of the built-in one of its name.
            check: returns the faults that only all of them together show.

        Raises:
            InputError: unknown names, the faults of any file, one given twice, a folder without
                any, and what `check` found; all together.
        """
        faults: list[InputFault] = []
        hint: str | None = None
        if names is None:
            inside = {str(folder): list(folder_entries(folder)) for folder in folders}
            faults += [
                InputFault(folder, f"must hold at least one {self.kind} (<id>.yaml), got none")
                for folder, stems in inside.items()
                if not stems
            ]
            added = [stem for stems in inside.values() for stem in stems]
            wanted: list[str | Path | DocumentT] = [*dict.fromkeys([*self.builtin, *added])]
        else:
            is_one = isinstance(names, str | Path | self.model)
            wanted = [names] if is_one else list(names)  # type: ignore[list-item]
            if not wanted:
                raise InputError(f"must name at least one {self.kind}, got an empty list")
        loaded: list[DocumentT] = []
        for name in wanted:
            try:
                loaded.append(self.load(name, folders))
            except InputError as error:
                faults += error.faults
                hint = error.hint or hint
        faults += [
            InputFault("", f"{self.kind} {name} must be given once, got it {count} times")
            for name, count in Counter(one.id for one in loaded).items()
            if count > 1
        ]
        faults += () if check is None else check(loaded)
        if faults:
            raise InputError(faults, hint=hint)
        return tuple(loaded)

    def hiding(
        self, names: Iterable[object] | None = None, folders: Sequence[str | Path] = ()
    ) -> tuple[str, ...]:
        """A sentence for each file that stands in the place of a built-in one.

        Args:
            names: those that are used; other things than names hide nothing. None: all.
            folders: where names are looked for first.
        """
        used = None if names is None else {name for name in names if isinstance(name, str)}
        return tuple(
            f"{self.kind} {entry.name}: {entry.path} hides the built-in one"
            for entry in self.entries(folders)
            if entry.hides_builtin and (used is None or entry.name in used)
        )

    def read(self, paths: Iterable[str | Path]) -> tuple[DocumentT, ...]:
        """What these files hold, in order.

        Raises:
            InputError: every fault of every file.
        """
        return read_documents(paths, self.model, kind=self.kind)

    def new_text(self, name: str, *, schema: str | None = None) -> str:
        """The text of a new, commented file `<name>.yaml`.

        It is refused until its author has written what it is to say, and in order from then on.

        Args:
            name: the id.
            schema: where an editor finds the JSON Schema, seen from the file; beside it if left
                out.

        Raises:
            InputError: where the name cannot be an id.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
            raise InputError(
                f"a {self.kind}'s name must be lower-case letters, digits and _, beginning with a "
                f"letter, at most 64 characters, got {name!r}"
            )
        # Quoted as JSON, which YAML reads alike: a name such as `null` or `true` is a word as well.
        return self.scaffold.format(
            schema=schema or f"./{self.kind}.schema.json",
            id=json.dumps(name),
            label=json.dumps(name.replace("_", " ").title()),
            placeholder=PLACEHOLDER,
        )

    def write_new(self, name: str, folder: str | Path = ".") -> Path:
        """Writes such a file, and its JSON Schema beside it where there is none yet.

        Raises:
            InputError: the name cannot be an id, the file exists, or it cannot be written.
        """
        text = self.new_text(name)
        path = Path(folder) / f"{name}.yaml"
        schema = path.with_name(f"{self.kind}.schema.json")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            with (
                suppress(FileExistsError),
                schema.open("x", encoding="utf-8", newline="\n") as file,
            ):
                file.write(schema_text(self.model))
        except FileExistsError:
            raise InputError(
                [InputFault(str(path), "exists already; nothing was overwritten")]
            ) from None
        except OSError as error:
            where = error.filename or path
            raise InputError(
                [InputFault(str(where), f"cannot be written: {error.strerror}")]
            ) from error
        return path


def is_path(name: object) -> bool:
    """Whether a `Path`, or a text with a separator or the ending of a YAML file, is given."""
    text = str(name)
    return isinstance(name, Path) or text.endswith(SUFFIXES) or "/" in text or "\\" in text


def list_documents(
    kind: str, folders: Sequence[str | Path], package: str
) -> tuple[FoundDocument, ...]:
    """What each name stands for, built-in ones first, by name.

    Raises:
        InputError: a given folder that is missing or unreadable; `a.yaml` beside `a.yml`.
    """
    builtin = _yaml_files(resources.files(package))
    found = {name: FoundDocument(name, path, is_builtin=True) for name, path in builtin.items()}
    own = home() / f"{kind}s"
    for folder in ([own] if own.is_dir() else []) + [Path(folder) for folder in folders]:
        for name, path in folder_entries(folder).items():
            found[name] = FoundDocument(name, path, hides_builtin=name in builtin)
    return tuple(found.values())


def files_at(place: str | Path, what: str) -> dict[str, Path]:
    """The file that is named, or the YAML files of a folder; by stem.

    Args:
        place: the file or folder.
        what: what a file holds, for messages.

    Raises:
        InputError: a folder without any; as `folder_entries`.
    """
    path = Path(place).expanduser()
    if not path.is_dir():
        return {path.stem: path}
    found = folder_entries(path)
    if not found:
        message = f"must hold at least one {what} (<id>.yaml), got none"
        raise InputError([InputFault(str(place), message)])
    return found


def folder_entries(folder: str | Path) -> dict[str, Path]:
    """The YAML files of a folder by stem, sorted; hidden files and sub-folders left out.

    Raises:
        InputError: a folder that is missing or unreadable; `a.yaml` beside `a.yml`.
    """
    place = Path(folder).expanduser()
    if not place.is_dir():
        told = "must be a folder, got a file"
        if not place.exists():
            told = "is not there; it must be a folder"
        raise InputError([InputFault(str(folder), told)])
    try:
        return _yaml_files(place)
    except OSError as error:
        raise InputError(
            [InputFault(str(folder), f"cannot be read: {error.strerror or error}")]
        ) from error


def _yaml_files(folder: Path | Traversable) -> dict[str, Path]:
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
