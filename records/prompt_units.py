"""Which prompts are one: those with the same text, whatever their ids.

    units = prompt_units(rows of scores.csv)        {"p1": "p1", "p1-again": "p1", "p2": "p2"}
    first, second = units_of_runs([rows, others])   the same over runs

Two ids with one text are one unit of analysis: counted as two they would make intervals too narrow.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from ..formats import count, units

Rows = Iterable[Mapping[str, str]]


def prompt_text_id(prompt_text: str) -> str:
    """Returns an id made from the text: the same for the same text, wherever it stands."""
    return "p-" + hashlib.sha256(prompt_text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_QUOTES = str.maketrans({**dict.fromkeys("‘’‚‛`´", "'"), **dict.fromkeys("“”„‟«»", '"')})


def text_key(text: str) -> str:
    """Returns a text as texts are compared that people copied into a sheet.

    White space, case, Unicode's compatible forms and the kind of quotation marks make no
    difference; quotation marks around the whole are left out.
    """
    folded = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    return " ".join(folded.split()).strip("'\" ")


def prompt_units(rows: Rows) -> dict[str, str]:
    """Returns prompt id to the id that stands for its unit: the first with the same text.

    Args:
        rows: with `prompt_id` and `prompt_text_id`, as in scores.csv. Without the second every id
            is a unit.
    """
    return _named(rows)[0]


def units_of_runs(runs: Sequence[Rows]) -> list[dict[str, str]]:
    """Returns `prompt_units` of each run, with one name for what the runs share.

    A prompt of a later run is that of an earlier one with the same text; else that with the same
    id, which has been worded anew, unless another prompt of the later run has its text.
    """
    of_text: dict[str, str] = {}
    of_id: dict[str, str] = {}
    taken: set[str] = set()
    found = []
    for rows in runs:
        own, texts = _named(rows)
        members: dict[str, list[str]] = {}
        for name, unit in own.items():
            members.setdefault(unit, []).append(name)
        named: dict[str, str] = {}
        for unit in members:
            same = next((of_text[text] for text in texts.get(unit, ()) if text in of_text), None)
            if same is not None:
                named[unit] = same
        claimed = set(named.values())
        for unit, names in members.items():
            if unit in named:
                continue
            known = (of_id[name] for name in names if name in of_id)
            same = next((one for one in known if one not in claimed), None)
            named[unit] = _free(unit, taken) if same is None else same
            claimed.add(named[unit])
        taken |= claimed
        for unit, names in members.items():
            for text in texts.get(unit, ()):
                of_text.setdefault(text, named[unit])
            for name in names:
                of_id.setdefault(name, named[unit])
        found.append({name: named[unit] for name, unit in own.items()})
    return found


def shared_texts_told(found: Mapping[str, str]) -> str | None:
    """The sentence that ids share texts; None where they do not.

    Args:
        found: from `prompt_units`.
    """
    n_units = len(set(found.values()))
    if n_units == len(found):
        return None
    sizes: dict[str, int] = {}
    for unit in found.values():
        sizes[unit] = sizes.get(unit, 0) + 1
    n_shared = sum(size for size in sizes.values() if size > 1)
    return (
        f"{units(len(found), 'prompt id')}, of which {count(n_shared)} share a text with another: "
        f"they are analysed as {units(n_units, 'prompt')}."
    )


def _named(rows: Rows) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Prompt id to the first id of its unit, and this one to the texts of the unit."""
    order: dict[str, int] = {}
    parent: dict[str, str] = {}
    first_with: dict[str, str] = {}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for row in rows:
        name, text = row["prompt_id"], row.get("prompt_text_id") or ""
        if name not in parent:
            parent[name], order[name] = name, len(order)
        if text:
            # One id may have several texts too, as where one prompt is scored under framings.
            ends = (root(name), root(first_with.setdefault(text, name)))
            parent[max(ends, key=order.__getitem__)] = min(ends, key=order.__getitem__)
    found = {name: root(name) for name in parent}
    texts: dict[str, list[str]] = {}
    for text, name in first_with.items():
        texts.setdefault(found[name], []).append(text)
    return found, texts


def _free(name: str, taken: set[str]) -> str:
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name} ({number})"
    return made
