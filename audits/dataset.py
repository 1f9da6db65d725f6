"""The YAML files that prompts are made of: built-in ones, and a user's own beside or instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from ..catalogue import files_at, list_documents
from ..errors import InputError, InputFault
from ..yaml_files import STRICT, read_document, read_documents

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Part(BaseModel):
    """Something in a file: an unknown field is a fault."""

    model_config = STRICT


class Named(Part):
    """Something with an id."""

    id: Slug
    label: Text


class DatasetFile(Named):
    """What one file holds; its stem is the id."""

    order: int = Field(default=100, description="place among the files")


ModelT = TypeVar("ModelT", bound=BaseModel)
FileT = TypeVar("FileT", bound=DatasetFile)
NamedT = TypeVar("NamedT", bound=Named)


@dataclass(frozen=True, slots=True)
class FileKind(Generic[FileT]):
    """All files of one kind.

    Attributes:
        kind: what messages call one: "theme".
        model: what a file holds.
        package: the package that holds the built-in ones.
        home: a user's own that are always there stand in `$AREOPAGUS_HOME/<home>s`.
    """

    kind: str
    model: type[FileT]
    package: str
    home: str

    def read(
        self,
        given: Sequence[str | Path] = (),
        *,
        replaces: bool = False,
        only: Iterable[str] = (),
        may_be_none: bool = False,
    ) -> tuple[FileT, ...]:
        """The built-in files and those that are given, by `order` and id.

        Args:
            given: files or folders; one of a built-in name stands in its place.
            replaces: leave the built-in ones out.
            only: ids; none: all.
            may_be_none: whether no file at all is right.

        Raises:
            InputError: with every fault of every file; no file, and an unknown id.
        """
        found = () if replaces else list_documents(self.home, (), self.package)
        places = {one.name: one.path for one in found}
        for entry in given:
            places |= files_at(entry, self.kind)
        if not places and not may_be_none:
            said = f"the built-in files ({self.kind}) are left out, and no other is given"
            raise InputError(f"{said}: name some")
        builtin = {one.path for one in found if one.is_builtin}
        files = [_builtin(path, self.model) for path in places.values() if path in builtin]
        own = [path for path in places.values() if path not in builtin]
        files += read_documents(own, self.model, kind=self.kind)
        return chosen(sorted(files, key=lambda one: (one.order, one.id)), only, self.kind)


def one_file(given: str | Path | None, package: str, name: str, model: type[ModelT]) -> ModelT:
    """What the given file holds, or the built-in one of this name.

    Raises:
        InputError: with every fault of the file.
    """
    if given is None:
        return _builtin(resources.files(package).joinpath(name), model)
    return read_document(given, model, kind=name.removesuffix(".yaml"))


def _builtin(path: Any, model: type[ModelT]) -> ModelT:
    found: ModelT = _read_once(path, model)
    return found


@cache
def _read_once(path: Any, model: Any) -> Any:
    """A file of the package: an audit asks for its data many times."""
    return read_document(path, model, kind=Path(path.name).stem)


def chosen(found: Iterable[NamedT], names: Iterable[str], kind: str) -> tuple[NamedT, ...]:
    """Those of these ids, in their own order; all where none is named.

    Raises:
        InputError: with every id that there is not.
    """
    known, wanted = {one.id: one for one in found}, set(names)
    if unknown := [name for name in names if name not in known]:
        rule = f"is no {kind}; there are {', '.join(known)}"
        raise InputError([InputFault(name, rule) for name in unknown])
    return tuple(one for name, one in known.items() if not wanted or name in wanted)


def refuse_doubles(named: Iterable[tuple[str, str]], what: str) -> None:
    """Raises where an id stands twice in all files together.

    Args:
        named: id, and where it stands.
        what: the id of what: "template".

    Raises:
        InputError: with every such id.
    """
    places: dict[str, list[str]] = {}
    for name, where in named:
        places.setdefault(name, []).append(where)
    faults = [
        InputFault(found[-1], f"{what} {name!r} stands in {found[0]} too; ids must differ")
        for name, found in places.items()
        if len(found) > 1
    ]
    if faults:
        raise InputError(faults)


def check_distinct(values: Iterable[str], what: str) -> None:
    """For the checks of a model.

    Raises:
        ValueError: a value stands twice.
    """
    twice = [value for value, n in Counter(values).items() if n > 1]
    if twice:
        raise ValueError(f"two {what} are the same: {', '.join(twice)}")
