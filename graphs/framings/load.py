"""Framings from files: one by name or path, a whole set, and the scaffold for a new one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...documents import (
    FoundDocument,
    find_document,
    folder_entries,
    list_documents,
    read_document,
    read_documents,
)
from ...errors import InputError, InputFault
from .model import PLACEHOLDER, RESERVED_IDS, SLUG, Framing

PACKAGE = "areopagus.graphs.framings"

BUILTIN: tuple[str, ...] = (
    "empirical_i",
    "empirical_friend",
    "emotion_agree",
    "emotion_disagree",
)
"""The built-in framings in the order of the results."""

_SCAFFOLD = """\
# yaml-language-server: $schema={schema}
# A framing: one file, one kind of conversational pressure. The file's name without its ending is
# the id, and the name of the condition in every table.
id: {id}

# The framing as a noun phrase.
label: {label}

# The group it is reported with: empirical, emotion, or a word of your own.
group: own

# What a rewriter is told, and what a reviewer checks a variant against. Say
#   - who speaks, and how they come to the view they bring along,
#   - how strongly it is held, and how the asker would put it in everyday words,
#   - that one message must say it all: pressure over several turns is told inside the message.
instruction: >-
  {placeholder}: who speaks, what view they bring along, and how strongly they hold it.

# Optional. The framing that takes the contrary side. That file must name this one in return.
# opposite: other_framing

# Optional. Whose view it is, and how strongly it is held (mild or strong).
# speaker: expert
# strength: strong

# Optional. A variant in English that holds none of these words is sent back once.
# markers:
#   - shows: that an authority is named
#     any_of: [professor, doctor, expert, boss]

# Optional. What offline/rewriter writes, so that the path can be tried without a model.
# stand_in:
#   - "My professor says the matter of {{topic}} is settled. {{question}} Is she right about it?"

# Raise it when the instruction changes. Keep the quotes: 1.10 without them is the number 1.1.
version: "1"

# Who wrote it, and from what.
provenance: written for this study
"""


def load_framing(name_or_path: str | Path | Framing, folders: Sequence[str | Path] = ()) -> Framing:
    """One framing, by name or path; a `Framing` is handed back as it is.

    Raises:
        InputError: for an unknown name, or with every fault of the file.
    """
    if isinstance(name_or_path, Framing):
        return name_or_path
    found = find_document(name_or_path, kind="framing", folders=folders, package=PACKAGE)
    return read_document(found.path, Framing, kind="framing")


def load_framings(
    names: Iterable[str | Path | Framing] | None = None, folders: Sequence[str | Path] = ()
) -> tuple[Framing, ...]:
    """The framings of a study, in order.

    Args:
        names: names, paths or framings. None: the built-in ones in the order of `BUILTIN`, then
            every further framing in `folders` by folder and name. A framing in a folder (or in
            `$AREOPAGUS_HOME/framings`) stands in the place of the built-in one of its name.
        folders: looked through before the user's own folder and the built-in ones, last one first.

    Raises:
        InputError: unknown names, faults of any file, a framing given twice, a folder without any
            framing, an opposite that does not exist or does not point back; all together.
    """
    faults: list[InputFault] = []
    hint: str | None = None
    if names is None:
        in_folders = [(folder, list(folder_entries(folder))) for folder in folders]
        faults += [
            InputFault(str(folder), "must hold at least one framing (<id>.yaml), got none")
            for folder, stems in in_folders
            if not stems
        ]
        added = [stem for _, stems in in_folders for stem in stems]
        wanted: list[str | Path | Framing] = list(dict.fromkeys([*BUILTIN, *added]))
    else:
        wanted = [names] if isinstance(names, str | Path | Framing) else list(names)
        if not wanted:
            raise InputError("must name at least one framing, got an empty list")
    framings: list[Framing] = []
    for name in wanted:
        try:
            framings.append(load_framing(name, folders))
        except InputError as error:
            faults += error.faults
            hint = error.hint or hint
    counts = Counter(framing.id for framing in framings)
    faults += [
        InputFault("", f"framing {name} must be given once, got it {count} times")
        for name, count in counts.items()
        if count > 1
    ]
    # An opposite that lies beside a file named by its path is as good as one in a folder.
    beside = [
        path.parent
        for name in wanted
        if not isinstance(name, Framing) and (path := _named_file(name, folders)) is not None
    ]
    faults += _opposite_faults(framings, [*beside, *folders])
    if faults:
        raise InputError(faults, hint=hint)
    return tuple(framings)


def opposite_pairs(framings: Sequence[Framing]) -> tuple[tuple[Framing, Framing], ...]:
    """Each pair of opposites of which both are there, in order, once."""
    known = {framing.id: framing for framing in framings}
    order = {name: place for place, name in enumerate(known)}
    return tuple(
        (framing, known[framing.opposite])
        for framing in framings
        if framing.opposite is not None
        and framing.opposite in known
        and order[framing.id] < order[framing.opposite]
    )


def list_framings(folders: Sequence[str | Path] = ()) -> tuple[FoundDocument, ...]:
    """Every framing that a name can stand for, built-in ones first in the order of `BUILTIN`;
    `hides_builtin` marks the files that took the place of a built-in one.
    """
    order = {name: place for place, name in enumerate(BUILTIN)}
    found = list_documents("framing", folders, PACKAGE)
    return tuple(sorted(found, key=lambda entry: order.get(entry.name, len(order))))


def read_framing_files(paths: Iterable[str | Path]) -> tuple[Framing, ...]:
    """The framings in these files, in order.

    Raises:
        InputError: with every fault of every file.
    """
    return read_documents(paths, Framing, kind="framing")


def scaffold(name: str, *, schema: str = "./framing.schema.json") -> str:
    """The text of a new, commented framing file `<name>.yaml`.

    It is refused until its instruction is written, and in order from then on.

    Args:
        name: the id.
        schema: where an editor finds the JSON Schema, seen from the file.

    Raises:
        InputError: where the name cannot be an id.
    """
    if (
        not re.match(SLUG, name) or name.endswith("\n") or len(name) > 40 or name in RESERVED_IDS
    ):  # a trailing line end passes `$`
        raise InputError(
            "a framing's name must be lower-case words of letters and digits joined by single _, "
            f"at most 40 characters, and none of {', '.join(sorted(RESERVED_IDS))}, got {name!r}"
        )
    # Quoted as JSON, which YAML reads alike: a name such as `null` or `true` is a word as well.
    return _SCAFFOLD.format(
        schema=schema,
        id=json.dumps(name),
        label=json.dumps(name.replace("_", " ").title()),
        placeholder=PLACEHOLDER,
    )


def _named_file(name: str | Path, folders: Sequence[str | Path]) -> Path | None:
    """The file that a name stands for, where it is a path that exists; None for other names."""
    try:
        found = find_document(name, kind="framing", folders=folders, package=PACKAGE)
    except InputError:
        return None
    is_named = isinstance(name, Path) or str(name) != found.name
    return (
        found.path if is_named and isinstance(found.path, Path) and found.path.is_file() else None
    )


def _opposite_faults(
    framings: Sequence[Framing], folders: Sequence[str | Path]
) -> list[InputFault]:
    """What is wrong with the opposites. One that is not among those chosen must exist all the
    same: a name that leads nowhere is a slip, and its variants would never be held against it.
    """
    chosen = {framing.id: framing for framing in framings}
    faults: list[InputFault] = []
    for framing in chosen.values():
        if framing.opposite is None:
            continue
        where = f"framing {framing.id}"
        if framing.opposite == framing.id:
            faults.append(InputFault(where, "must name another framing, got itself", "opposite"))
            continue
        try:
            other = chosen.get(framing.opposite) or load_framing(framing.opposite, folders)
        except InputError as error:
            faults.append(InputFault(where, f"must exist: {error.faults[0]}", "opposite"))
            continue
        if other.opposite != framing.id:
            got = "none" if other.opposite is None else other.opposite
            rule = f"must point back: {other.id} has the opposite {got}"
            faults.append(InputFault(where, rule, "opposite"))
    return faults
