"""`LabelSet`: people's labels of responses, and a panel's where it gave any, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from ..aggregation.labels import Labels
from ..records.humans import Coded, LabelTable
from ..records.humans.misfits import Misfit, rows_said
from ..records.types import OVERALL
from .responses import Responses

Integers = npt.NDArray[np.int64]

MOST_LABELS: Final = 30
"""Different labels of a criterion that are still categories."""

SHOWN: Final = 1000
"""So many places of a kind are named."""

HIGH: Final = frozenset({
    "yes", "y", "true", "t", "1", "pass", "passed", "good", "correct", "right", "acceptable",
    "accept", "accepted", "approved", "ok", "positive", "high", "satisfactory", "adequate",
})  # fmt: skip
"""Labels that a high score stands for, where nobody says which does; capitals aside."""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """What people, and perhaps judges, called the responses.

    Attributes:
        people: by criterion, items being places of the dataset's responses.
        rater_ids: names of their raters' codes.
        panel: the same of judges, with the categories of people's labels of that criterion.
        judge_ids: names of the judges' codes.
        misfits: people's labels that were left out, with their rows.
        n_repeated, n_without_match: how many those are.
    """

    people: tuple[Labels, ...] = ()
    rater_ids: tuple[str, ...] = ()
    panel: tuple[Labels, ...] = ()
    judge_ids: tuple[str, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    n_repeated: int = 0
    n_without_match: int = 0

    def of_panel(self, criterion: str) -> Labels | None:
        """Returns the judges' labels of a criterion, where they gave any."""
        return next((one for one in self.panel if one.criterion == criterion), None)


NO_LABELS: Final = LabelSet()


def label_set(people: LabelTable, judges: LabelTable | None, responses: Responses) -> LabelSet:
    """Returns the labels of responses that are known; the first of a rater's several stands.

    Labels that differ by capitals or outer spaces only are one. Where one side names what it
    labelled and the other does not (its criterion is "overall"), and there is one criterion on
    both, they are held for the same.

    Args:
        people: theirs.
        judges: those of a panel; None where it gave scores.
        responses: what was labelled, or more.
    """
    if not len(people):
        return NO_LABELS
    if judges is not None:
        judges = _renamed(judges, people)
    tables = [people] if judges is None else [people, judges]
    index = {name: place for place, name in enumerate(responses.ids)}
    found: list[tuple[Labels, ...]] = []
    misfits: tuple[Misfit, ...] = ()
    counted = (0, 0)
    for table in tables:
        place = np.array([index.get(n, -1) for n in table.response_id.names], dtype=np.int64)
        item = place[table.response_id.codes]
        is_repeat = _repeats(table) & (item >= 0)
        if table is people:
            misfits = (_unmatched(table, item < 0), _repeated(table, is_repeat))
            counted = (int(is_repeat.sum()), int((item < 0).sum()))
        kept = (item >= 0) & ~is_repeat
        found.append(tuple(_by_criterion(table, item, kept, tables)))
    return LabelSet(
        found[0], people.rater_id.names,
        found[1] if judges is not None else (),
        judges.rater_id.names if judges is not None else (),
        tuple(one for one in misfits if one.n), *counted,
    )  # fmt: skip


def _renamed(judges: LabelTable, people: LabelTable) -> LabelTable:
    """The judges' labels under people's name of the criterion, where one side has none."""
    theirs, ours = people.criterion.used(), judges.criterion.used()
    if len(theirs) != 1 or len(ours) != 1 or OVERALL not in (*theirs, *ours):
        return judges
    names = tuple(theirs[0] if name == ours[0] else name for name in judges.criterion.names)
    return replace(judges, criterion=Coded(judges.criterion.codes, names))


def _by_criterion(
    table: LabelTable, item: Integers, kept: npt.NDArray[np.bool_], tables: list[LabelTable]
) -> Iterable[Labels]:
    for code, criterion in enumerate(table.criterion.names):
        mine = np.flatnonzero(kept & (table.criterion.codes == code))
        if not len(mine):
            continue
        # by response and rater, however the file has them: what is drawn must not depend on it
        mine = mine[np.lexsort((table.rater_id.codes[mine], item[mine]))]
        categories = _categories(
            name for one in tables for name in one.where("criterion", criterion).label.used()
        )
        at = {_key(name): place for place, name in enumerate(categories)}
        codes = np.array([at.get(_key(name), -1) for name in table.label.names], dtype=np.int64)
        yield Labels(
            criterion, categories, table.rater_id.codes[mine].astype(np.int64), item[mine],
            codes[table.label.codes[mine]],
        )  # fmt: skip


def _categories(names: Iterable[str]) -> tuple[str, ...]:
    """Each label once: numbers by size, texts by the alphabet, one of `HIGH` last.

    What ends like another label denies it and stands before it: "not biased", "biased".
    """
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(_key(name), name.strip())

    def order(key: str) -> tuple[bool, bool, float, str]:
        is_denial = any(key != other and key.endswith(other) for other in seen)
        try:
            return key in HIGH, not is_denial, float(key), key
        except ValueError:
            return key in HIGH, not is_denial, 0.0, key

    return tuple(seen[key] for key in sorted(seen, key=order))


def high_label(categories: tuple[str, ...]) -> int | None:
    """Returns which of two labels a high score stands for: the one of `HIGH`, or the larger number.

    None where that is not known, or there are not two.
    """
    if len(categories) != 2:
        return None
    known = [code for code, name in enumerate(categories) if _key(name) in HIGH]
    if len(known) == 1:
        return known[0]
    try:
        numbers = [float(name) for name in categories]
    except ValueError:
        return None
    return int(np.argmax(numbers))


def place_of(label: str, categories: tuple[str, ...]) -> int | None:
    """Returns the place of a label among the categories, capitals aside; None if it is none."""
    keys = [_key(name) for name in categories]
    return keys.index(_key(label)) if _key(label) in keys else None


def _key(name: str) -> str:
    return name.strip().casefold()


def _repeats(table: LabelTable) -> npt.NDArray[np.bool_]:
    """Which labels come after another of the same rater, response and criterion."""
    key = table.rater_id.codes.astype(np.int64) * len(table.response_id.names)
    key = (key + table.response_id.codes) * len(table.criterion.names) + table.criterion.codes
    _, first = np.unique(key, return_index=True)
    found = np.ones(len(table), dtype=bool)
    found[first] = False
    return found


def _unmatched(table: LabelTable, mask: npt.NDArray[np.bool_]) -> Misfit:
    lines: dict[str, list[int]] = {}
    part = table.select(mask)
    for name, line in zip(part.response_id.texts().tolist(), part.line.tolist(), strict=True):
        lines.setdefault(name, []).append(line)
    places = tuple(
        f"no such response: {name} ({rows_said(at)})" for name, at in list(lines.items())[:SHOWN]
    )
    n = int(mask.sum())
    said = (
        "label is of a response that the run does not have, and left out"
        if n == 1
        else "labels are of responses that the run does not have, and left out"
    )
    return Misfit(n, f"{n:,} {said}", places, len(lines))


def _repeated(table: LabelTable, mask: npt.NDArray[np.bool_]) -> Misfit:
    part = table.select(mask)
    columns = (part.rater_id.texts(), part.response_id.texts(), part.label.texts(), part.line)
    places = tuple(
        f"{rater} of {response}: {label} in {rows_said([line])}"
        for rater, response, label, line in zip(
            *(column[:SHOWN].tolist() for column in columns), strict=True
        )
    )
    n = int(mask.sum())
    said = (
        "label repeats an earlier one of the same rater; the first stands"
        if n == 1
        else "labels repeat an earlier one of the same rater; the first stands"
    )
    return Misfit(n, f"{n:,} {said}", places, n)
