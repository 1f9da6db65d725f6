"""The YAML files that prompts are made of: built-in ones, and a user's own beside or instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from ..catalogue import SUFFIXES, FoundDocument, files_at, list_documents
from ..errors import InputError, InputFault
from ..yaml_files import STRICT, read_document, read_documents
from .languages import ENGLISH, Language, find_language

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Part(BaseModel):
    """Something in a file: an unknown field is a fault."""

    model_config = STRICT


class Named(Part):
    """Something with an id."""

    id: Slug
    label: Text


Code = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]


class InLanguage(Part):
    """What is written in one language."""

    language: Code = Field(
        default=ENGLISH, description="code of the language that it is written in: de"
    )


class DatasetFile(Named, InLanguage):
    """What one file holds; its stem is the id."""

    order: int = Field(default=100, description="place among the files")


ModelT = TypeVar("ModelT", bound=BaseModel)
FileT = TypeVar("FileT", bound=DatasetFile)
NamedT = TypeVar("NamedT", bound=Named)
LanguageT = TypeVar("LanguageT", bound=InLanguage)


@dataclass(frozen=True, slots=True)
class FileKind(Generic[FileT]):
    """All files of one kind.

    Attributes:
        kind: what messages call one: "theme".
        model: what a file holds.
        package: the package that holds the built-in ones.
        home: a user's own that are always there stand in `$AREOPAGUS_HOME/<home>s`.
        option: of an audit, that names further ones.
    """

    kind: str
    model: type[FileT]
    package: str
    home: str
    option: str

    def read(
        self,
        given: Sequence[str | Path] = (),
        *,
        replaces: bool = False,
        only: Iterable[str] = (),
        may_be_none: bool = False,
        language: Language | None = None,
    ) -> tuple[FileT, ...]:
        """The built-in files of a language and those that are given, by `order` and id.

        Args:
            given: files or folders; one of a built-in name stands in its place.
            replaces: leave the built-in ones out.
            only: ids; none: all.
            may_be_none: whether no file at all is right.
            language: of all of them; English where none is named.

        Raises:
            InputError: with every fault of every file; no file, an unknown id, another language.
        """
        words = language or find_language()
        found = () if replaces else list_documents(self.home, (), self.package)
        # Those that are always there, of the package and of the user, are of several languages.
        places = {one.name: one.path for one in found if _is_in(one, words.id)}
        for entry in given:
            places |= files_at(entry, self.kind)
        if not places and not may_be_none:
            if not replaces:
                raise no_material(self.kind, words.id, self.option)
            said = f"the built-in files ({self.kind}) are left out, and no other is given"
            raise InputError(f"{said}: name some")
        builtin = {one.path for one in found if one.is_builtin}
        inside: list[Any] = [path for path in places.values() if path in builtin]
        files = [_builtin(path, self.model, words) for path in inside]
        own = [path for path in places.values() if path not in builtin]
        read = read_documents(own, self.model, kind=self.kind, context=words)
        refuse_other_language(zip(own, read, strict=True), words.id)
        files += read
        return chosen(sorted(files, key=lambda one: (one.order, one.id)), only, self.kind)


def one_file(
    given: str | Path | None,
    package: str,
    name: str,
    model: type[LanguageT],
    *,
    language: Language | None = None,
    option: str = "",
) -> LanguageT:
    """What the given file holds, or the built-in one of this name: that of German is `name_de`.

    Args:
        given: the file of a user's own.
        package, name: where the built-in one stands.
        model: what it holds.
        language: of it; English where none is named.
        option: of the audit, that names the file; "" where there can be none of a user's own.

    Raises:
        InputError: with every fault of the file; another language; there is none of this language.
    """
    kind = name.removesuffix(".yaml")
    words = language or find_language()
    if given is None:
        own = name if words.id == ENGLISH else f"{kind}_{words.id}.yaml"
        path = resources.files(package).joinpath(own)
        if not path.is_file():
            raise no_material(kind, words.id, option)
        return _builtin(path, model, words)
    found = read_document(given, model, kind=kind, context=words)
    refuse_other_language([(given, found)], words.id)
    return found


def no_material(kind: str, language: str, option: str) -> InputError:
    """What is raised where there is nothing to ask in a language."""
    message = f"there is no built-in material ({kind}) in {language!r}"
    if not option:
        return InputError(message)
    return InputError(
        f"{message}: name a file of your own as `{option}`",
        hint="Each file says its language: `language: CODE` (docs: Audits in other languages).",
    )


def refuse_other_language(read: Iterable[tuple[Any, InLanguage]], language: str) -> None:
    """Raises where a file is in another language than that of the run.

    Raises:
        InputError: with every such file.
    """
    faults = [
        InputFault(str(path), f"is {one.language!r}, and the run asks in {language!r}", "language")
        for path, one in read
        if one.language != language
    ]
    if faults:
        raise InputError(
            faults,
            hint="All material of a run is in one language, which each file names: "
            "`language: de`; without the line it is English.",
        )


def language_of_files(given: Iterable[str | Path]) -> tuple[str, str] | None:
    """The language that material files name, and the first file that does; None for no file.

    Tables (CSV, JSON lines, …) name none; a YAML file without the line is English. Faults of the
    files are found later, where they are read.

    Raises:
        InputError: files of several languages.
    """
    found: dict[str, str] = {}
    for entry in given:
        with suppress(InputError):
            for path in files_at(entry, "file").values():
                if path.suffix in SUFFIXES and path.is_file():
                    found.setdefault(_language_of(path), str(path))
    if len(found) > 1:
        said = ", ".join(f"{path} is {code!r}" for code, path in found.items())
        raise InputError(
            f"all material of a run is in one language: {said}",
            hint="A file names its own: `language: de`; without the line it is English.",
        )
    return next(iter(found.items()), None)


_NAMED = re.compile(r"^language:[ \t]*[\"']?([a-z][a-z0-9_]*)", re.MULTILINE)


def _language_of(path: Any) -> str:
    """What a file names, without reading all of it: whoever reads it finds its faults."""
    try:
        named = _NAMED.search(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return ENGLISH
    return ENGLISH if named is None else named[1]


def _builtin(path: Any, model: type[ModelT], language: Language) -> ModelT:
    found: ModelT = _read_once(path, model, language)
    return found


@cache
def _read_once(path: Any, model: Any, language: Language) -> Any:
    """A file of the package: an audit asks for its data many times."""
    return read_document(path, model, kind=Path(path.name).stem, context=language)


def _is_in(one: FoundDocument, language: str) -> bool:
    path: Any = one.path
    return (_builtin_language(path) if one.is_builtin else _language_of(path)) == language


@cache
def _builtin_language(path: Any) -> str:
    return _language_of(path)


def chosen(found: Iterable[NamedT], names: Iterable[str], kind: str) -> tuple[NamedT, ...]:
    """Those of these ids, in their own order; all where none is named.

    Raises:
        InputError: with every id that there is not.
    """
    known, wanted = {one.id: one for one in found}, set(names)
    if unknown := [name for name in names if name not in known]:
        raise unknown_names(unknown, known, kind)
    return tuple(one for name, one in known.items() if not wanted or name in wanted)


def unknown_names(unknown: Iterable[str], known: Iterable[str], kind: str) -> InputError:
    """What is raised for names that there are not: the closest one, and all that there are."""
    there, faults = list(known), []
    for name in unknown:
        close = get_close_matches(name, there, n=1)
        guess = f"; did you mean {close[0]}?" if close else ""
        faults.append(InputFault(name, f"is no {kind}; there are {', '.join(there)}{guess}"))
    return InputError(faults)


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
