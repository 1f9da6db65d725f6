"""Published attack strings in a file of the user's, as families.

A table has one string a row in the column `text`, and may have `family`, `asks` (see
`AttackFamily`) and `source`; a .txt file has one string a line. Strings stand as they are: nothing
in them is filled in. Where they come from stays with the family.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

from ..errors import InputError, InputFault
from ..formats import listed, units
from ..records.readers import read_rows
from ..records.readers.cells import ColumnMap
from .families import MOST_TEXTS, Aim, AttackFamily

COLUMNS: Final = ("text", "family", "asks", "source")
MOST_CHARACTERS: Final = 20_000


@dataclass(slots=True)
class _Strings:
    """The strings of one family."""

    asks: Any
    texts: list[str] = field(default_factory=list)
    sources: dict[str, None] = field(default_factory=dict)


def families_of_strings(
    paths: Iterable[str | Path],
    *,
    columns: Mapping[str, str] | None = None,
    asks: Aim = "highest",
    most: int | None = None,
) -> tuple[AttackFamily, ...]:
    """The families that files of strings make, in the order of the files.

    Args:
        paths: .txt (one string a line), or any table that can be read.
        columns: our column to theirs, such as text=prompt.
        asks: what strings ask for of which the file does not say it.
        most: only the first so many strings of a family.

    Raises:
        InputError: with every fault of every file; a family of more than `MOST_TEXTS` strings.
    """
    faults: list[InputFault] = []
    made: list[AttackFamily] = []
    for path in map(Path, paths):
        found: dict[str, _Strings] = {}
        # A row that is faulty is told with all others.
        for line, ours in _rows(path, columns, faults):
            one = _read(path, line, ours, asks, faults)
            if one is None:
                continue
            family, text, aim, source = one
            strings = found.setdefault(family, _Strings(aim))
            if aim != strings.asks:
                rule = f"family {family} asks for {strings.asks} above, got {aim!r}"
                faults.append(InputFault(f"{path}:{line}", rule, "asks"))
            if text not in strings.texts:
                strings.texts.append(text)
            if source:
                strings.sources.setdefault(source)
        if not found and not faults:
            faults.append(InputFault(str(path), "holds no string"))
        for family, strings in found.items():
            texts = strings.texts[:most]
            if len(texts) > MOST_TEXTS:
                rule = f"family {family} has {len(texts)} strings, at most {MOST_TEXTS} are tried"
                faults.append(InputFault(str(path), f"{rule}: choose how many by `texts`"))
            elif not faults:
                made.append(_family(path, family, texts, strings))
    if faults:
        raise InputError(faults)
    return tuple(made)


def _rows(
    path: Path, columns: Mapping[str, str] | None, faults: list[InputFault]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, our columns) of a file."""
    if path.suffix.lower() == ".txt":
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            faults.append(InputFault(str(path), f"cannot be read: {why}"))
            return
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, {"text": line.strip()}
        return
    names = ColumnMap(COLUMNS, columns)
    is_first = True
    for row in read_rows(path, faults=faults):
        if is_first and (absent := names.absent(row.values, ("text",), str(path))):
            faults += absent
            return
        is_first = False
        yield row.line, names.split(row.values)[0]


def _read(
    path: Path, line: int, ours: Mapping[str, Any], asks: str, faults: list[InputFault]
) -> tuple[str, str, Any, str] | None:
    """(family, text, what it asks for, source) of a row; None for a faulty or an empty one."""
    text = str(ours.get("text") or "")
    if not text.strip():
        return None
    if len(text) > MOST_CHARACTERS:
        rule = f"must have at most {MOST_CHARACTERS:,} characters, got {len(text):,}"
        faults.append(InputFault(f"{path}:{line}", rule, "text"))
        return None
    aim: Any = str(ours.get("asks") or "").strip() or asks
    if aim not in get_args(Aim):
        rule = f"must be one of {', '.join(get_args(Aim))}, got {aim[:40]!r}"
        faults.append(InputFault(f"{path}:{line}", rule, "asks"))
        return None
    family = _slug(str(ours.get("family") or "").strip() or path.name.split(".")[0])
    return family, text, aim, str(ours.get("source") or "").strip()


def _slug(name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not slug[:1].isalpha():
        # An id begins with a letter; a name in other letters keeps a name of its own.
        slug = f"strings_{slug or hashlib.sha256(name.encode()).hexdigest()[:6]}"
    return slug[:40].rstrip("_")


def _family(path: Path, name: str, texts: list[str], strings: _Strings) -> AttackFamily:
    of = f" ({listed(list(strings.sources), 3)})" if strings.sources else ""
    told = f"{units(len(texts), 'string')} of {path.name}{of}"[:200]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return AttackFamily(
        id=name,
        label=told,
        about=f"Strings as they stand in {path.name}, put into responses unchanged.",
        asks=strings.asks,
        verbatim=True,
        texts=tuple(texts),
        version="1",
        provenance=f"{path.name}, SHA-256 {digest}{of}"[:4000],
    )
