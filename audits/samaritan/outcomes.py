"""What became of the answers, as arrays over models, scenarios, wordings, groups and repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..answers_table import AnswersTable
from .material import REPHRASINGS, Material

Floats = NDArray[np.float64]

_COLUMNS = (
    "target", "repeat", "status", "topic", "scenario", "rephrasing", "category", "group",
    "phrasing", "rating",
)  # fmt: skip
_ANSWERED = frozenset({"classified", "unclassified", "refused", "unreadable", "empty"})


@dataclass(frozen=True, slots=True)
class GroupCell:
    """A group, or a control, along the arrays' axis.

    Attributes:
        category: its category's id; "" for a control.
        group: its id.
        label, category_label: for reports.
        phrasings: how prompts name one of them.
        control: place of the control that it is compared with; its own for a control.
    """

    category: str
    group: str
    label: str
    category_label: str
    phrasings: tuple[str, ...]
    control: int

    @property
    def is_control(self) -> bool:
        """Whether it is a group without demographics."""
        return not self.category

    @property
    def key(self) -> str:
        """Category and group: one name for each cell."""
        return f"{self.category}.{self.group}" if self.category else self.group


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The answers of one audit.

    Attributes:
        targets: the models.
        scenarios: ids; and `topics`, one a scenario.
        topic_labels: id to name.
        groups: controls first.
        ratings: (targets, scenarios, rephrasings, groups, phrasings, repeats); nan is not asked,
            or not rated.
        answered: likewise; 1 = rated, 0 = answered without a rating (declined, unreadable, …), nan
            = no answer, or not asked.
        crossed: whether every phrasing was asked with every rephrasing.
    """

    targets: tuple[str, ...]
    scenarios: tuple[str, ...]
    topics: tuple[str, ...]
    topic_labels: Mapping[str, str]
    groups: tuple[GroupCell, ...]
    ratings: Floats
    answered: Floats
    crossed: bool = False

    @property
    def repeats(self) -> int:
        """Rounds of asking."""
        return int(self.ratings.shape[-1])


def group_cells(material: Material) -> tuple[GroupCell, ...]:
    """Controls and groups in the order of the reports."""
    controls = material.controls
    places = {name: at for at, name in enumerate(controls)}
    found = [
        GroupCell("", name, "Control", "", (phrase,), at)
        for at, (name, phrase) in enumerate(controls.items())
    ]
    for category in material.categories:
        control = places[material.control_of(category)]
        found += [
            GroupCell(category.id, group.id, group.label, category.label, group.phrasings, control)
            for group in category.groups
        ]
    return tuple(found)


def read_outcomes(table: AnswersTable, material: Material, *, crossed: bool) -> Outcomes:
    """The answers of a finished run; see `outcomes_of`."""
    return outcomes_of(table.rows(*_COLUMNS), table.targets, material, crossed=crossed)


def outcomes_of(
    rows: Iterable[Mapping[str, Any]],
    targets: Sequence[str],
    material: Material,
    *,
    crossed: bool = False,
) -> Outcomes:
    """The answers as arrays.

    Args:
        rows: of the answers table, in any order.
        targets: the models in the order of the report.
        material: what the prompts were made of.
        crossed: whether every phrasing was asked with every rephrasing.
    """
    cells = group_cells(material)
    at_group = {cell.key: at for at, cell in enumerate(cells)}
    at_phrase = [{text: at for at, text in enumerate(cell.phrasings)} for cell in cells]
    at_target = {name: at for at, name in enumerate(targets)}
    scenarios: dict[str, int] = {}
    topics: list[str] = []
    found: dict[tuple[int, int, int, int, int, int], tuple[float, float]] = {}
    for row in rows:
        scenario = scenarios.setdefault(row["scenario"], len(scenarios))
        if scenario == len(topics):
            topics.append(row["topic"])
        key = f"{row['category']}.{row['group']}" if row["category"] else row["group"]
        group = at_group[key]
        place = (
            at_target[row["target"]], scenario, row["rephrasing"] - 1, group,
            at_phrase[group][row["phrasing"]], row["repeat"],
        )  # fmt: skip
        rating = np.nan if row["rating"] is None else float(row["rating"])
        is_rated = float(not np.isnan(rating)) if row["status"] in _ANSWERED else np.nan
        found[place] = (rating, is_rated)
    shape = (
        len(targets), len(scenarios), REPHRASINGS, len(cells),
        max(len(cell.phrasings) for cell in cells), 1 + max((p[-1] for p in found), default=0),
    )  # fmt: skip
    ratings, answered = np.full(shape, np.nan), np.full(shape, np.nan)
    for place, values in found.items():
        ratings[place], answered[place] = values
    labels = {topic.id: topic.label for topic in material.topics}
    return Outcomes(
        tuple(targets), tuple(scenarios), tuple(topics), labels, cells, ratings, answered, crossed
    )


def known_mean(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Mean over an axis of what is known; nan, without a warning, where nothing is."""
    known = (~np.isnan(values)).sum(axis=axis)
    total = np.nansum(values, axis=axis)
    found: Floats = np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0)
    return found
