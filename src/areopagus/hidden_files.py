"""Files of the user's that stand in the place of built-in ones: used, and never without a word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .personas import Persona, list_personas
from .rubrics import Rubric, list_rubrics


def hidden_files(
    personas: Sequence[str | Path | Persona] | None,
    rubric: str | Path | Rubric,
    folders: Sequence[str | Path],
) -> tuple[str, ...]:
    """A sentence for every file that stands in the place of a built-in one of its name.

    Args:
        personas: the panel's; None = all.
        rubric: the panel's.
        folders: where both are looked for first.
    """
    named = None if personas is None else {str(name) for name in personas}
    found = [
        ("persona", item)
        for item in list_personas(folders)
        if item.hides_builtin and (named is None or item.name in named)
    ] + [
        ("rubric", item)
        for item in list_rubrics(folders)
        if item.hides_builtin and item.name == str(rubric)
    ]
    return tuple(f"{kind} {item.name}: {item.path} hides the built-in one" for kind, item in found)
