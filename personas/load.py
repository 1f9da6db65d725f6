"""Personas from files: one by name or path, a whole panel, and the scaffold for a new one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import InputError, InputFault
from ..yaml_files import (
    FoundDocument,
    find_document,
    folder_entries,
    list_documents,
    read_document,
    read_documents,
)
from .model import PLACEHOLDER, SLUG, Persona

PACKAGE = "areopagus.personas"

BUILTIN: tuple[str, ...] = (
    "sociologist",
    "moral_philosopher",
    "historian",
    "political_scientist",
    "ethicist",
    "conservative_social_theorist",
    "communitarian_ethicist",
    "libertarian_ethicist",
    "conservative_historian",
    "progressive_social_theorist",
)
"""The ten built-in personas in the order of the panel: five disciplinary, five ideological."""

_SCAFFOLD = """\
# yaml-language-server: $schema={schema}
# A persona: one file, one perspective. The file's name without its ending is the id.
# See what a judge would be told:   areopagus personas show PATH
# See whether the file is in order: areopagus personas check PATH
id: {id}

# The perspective as a noun phrase. A judge reads it as "Your perspective: <label>".
label: {label}

# The group it is averaged with: disciplinary, ideological, or a word of your own.
axis: disciplinary

# What a judge is told, in 60 to 120 words. Say
#   - what this perspective looks for in good reasoning,
#   - what it is wary of,
#   - what it credits even where it does not share the conclusion.
# Ask for quality of thought seen through this lens, never for agreement with its politics.
description: >-
  {placeholder}: what this perspective looks for, what it is wary of, and what it
  credits even in conclusions that it does not share.

# Raise it when the description changes. Keep the quotes: 1.10 without them is the number 1.1.
version: "1"

# Who wrote it, and from what.
provenance: written for this study

# Optional. Words that this perspective listens for, with a weight above 0 and at most 3.
# Only the offline judge reads them; a language model never sees them.
# lexicon:
#   trade-off: 1.5
#   long run: 1.0

# Optional. Answers with the scores you expect, as [lowest, highest]. Only `personas check`
# reads them; a judge never sees them.
# examples:
#   - prompt: Should voting be compulsory?
#     response: Yes, obviously.
#     expect:
#       overall: [1, 4]
"""


def load_persona(name_or_path: str | Path | Persona, folders: Sequence[str | Path] = ()) -> Persona:
    """One persona, by name or path; a `Persona` is handed back as it is.

    Raises:
        InputError: for an unknown name, or with every fault of the file.
    """
    if isinstance(name_or_path, Persona):
        return name_or_path
    found = find_document(name_or_path, kind="persona", folders=folders, package=PACKAGE)
    return read_document(found.path, Persona, kind="persona")


def load_personas(
    names: Iterable[str | Path | Persona] | None = None, folders: Sequence[str | Path] = ()
) -> tuple[Persona, ...]:
    """The personas of a panel, in order.

    Args:
        names: names, paths or personas. None: the ten built-in ones in the order of `BUILTIN`, then
            every further persona in `folders` by folder and name. A persona in a folder (or in
            `$AREOPAGUS_HOME/personas`) stands in the place of the built-in one of its name.
        folders: looked through before the user's own folder and the built-in ones, last one first.

    Raises:
        InputError: unknown names, faults of any file, a persona given twice, a folder without any
            persona; all together.
    """
    faults: list[InputFault] = []
    hint: str | None = None
    if names is None:
        in_folders = [(folder, list(folder_entries(folder))) for folder in folders]
        faults += [
            InputFault(str(folder), "must hold at least one persona (<id>.yaml), got none")
            for folder, stems in in_folders
            if not stems
        ]
        added = [stem for _, stems in in_folders for stem in stems]
        wanted: list[str | Path | Persona] = list(dict.fromkeys([*BUILTIN, *added]))
    else:
        wanted = list(names)
        if not wanted:
            raise InputError("must name at least one persona, got an empty list")
    panel: list[Persona] = []
    for name in wanted:
        try:
            panel.append(load_persona(name, folders))
        except InputError as error:
            faults += error.faults
            hint = error.hint or hint
    counts = Counter(persona.id for persona in panel)
    faults += [
        InputFault("", f"persona {name} must be given once, got it {count} times")
        for name, count in counts.items()
        if count > 1
    ]
    if faults:
        raise InputError(faults, hint=hint)
    return tuple(panel)


def list_personas(folders: Sequence[str | Path] = ()) -> tuple[FoundDocument, ...]:
    """Every persona that a name can stand for, built-in ones first in the order of `BUILTIN`;
    `hides_builtin` marks the files that took the place of a built-in one.
    """
    order = {name: place for place, name in enumerate(BUILTIN)}
    found = list_documents("persona", folders, PACKAGE)
    return tuple(sorted(found, key=lambda entry: order.get(entry.name, len(order))))


def read_persona_files(paths: Iterable[str | Path]) -> tuple[Persona, ...]:
    """The personas in these files, in order; what `personas check` runs.

    Raises:
        InputError: with every fault of every file.
    """
    return read_documents(paths, Persona, kind="persona")


def scaffold(name: str, *, schema: str = "./persona.schema.json") -> str:
    """The text of a new, commented persona file `<name>.yaml`.

    It is refused until its description is written, and in order from then on.

    Args:
        name: the id.
        schema: where an editor finds the JSON Schema, seen from the file.

    Raises:
        InputError: where the name cannot be an id.
    """
    if not re.match(SLUG, name) or name.endswith("\n"):
        raise InputError(
            "a persona's name must be lower-case letters, digits and _, beginning with a letter, "
            f"at most 64 characters, got {name!r}"
        )
    # Quoted as JSON, which YAML reads alike: a name such as `null` or `true` is a word as well.
    return _SCAFFOLD.format(
        schema=schema,
        id=json.dumps(name),
        label=json.dumps(name.replace("_", " ").title()),
        placeholder=PLACEHOLDER,
    )
