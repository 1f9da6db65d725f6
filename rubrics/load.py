"""Rubrics from files, by name or path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..yaml_files import FoundDocument, find_document, list_documents, read_document
from .model import Rubric

PACKAGE = "areopagus.rubrics"

DEFAULT = "critical_thinking"
"""The built-in rubric: five dimensions on a scale from 1 to 10."""


def load_rubric(
    name_or_path: str | Path | Rubric = DEFAULT, folders: Sequence[str | Path] = ()
) -> Rubric:
    """One rubric, by name or path; a `Rubric` is handed back as it is.

    Raises:
        InputError: for an unknown name, or with every fault of the file.
    """
    if isinstance(name_or_path, Rubric):
        return name_or_path
    found = find_document(name_or_path, kind="rubric", folders=folders, package=PACKAGE)
    return read_document(found.path, Rubric, kind="rubric")


def list_rubrics(folders: Sequence[str | Path] = ()) -> tuple[FoundDocument, ...]:
    """Every rubric that a name can stand for; `hides_builtin` marks the files that took the place
    of a built-in one.
    """
    return list_documents("rubric", folders, PACKAGE)
