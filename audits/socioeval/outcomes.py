"""What became of the answers, as arrays: model x prompt x repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..answers_table import AnswersTable
from .categories import CATEGORIES

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

NO_CATEGORY = -1
_COLUMNS = (
    "item_id", "target", "repeat", "status", "theme", "topic", "template", "scenario", "pair",
    "order", "choice", "favours", "category", "judge_1", "judge_2", "judging",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the prompts are, along their axis.

    Attributes:
        question: what the orders of one question have in common.
        theme, topic, template, scenario, pair, order: one entry a prompt.
    """

    question: tuple[str, ...]
    theme: tuple[str, ...]
    topic: tuple[str, ...]
    template: tuple[str, ...]
    scenario: tuple[str, ...]
    pair: tuple[str, ...]
    order: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.template)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The answers of one audit.

    Attributes:
        targets: the models.
        prompts: what the prompts are.
        category: (models, prompts, repeats), place in `CATEGORIES`, or `NO_CATEGORY`.
        favours_higher: likewise; 1 = the choice favours the higher class, 0 = the lower, nan = no
            choice that could be read.
        chose_first: likewise; 1 = the one named first was chosen.
        judged: pairs of categories that the two judges gave to one answer, (pairs, 2).
        statuses: model to status to number of askings.
        rulings: outcome of judging to number of answers.
    """

    targets: tuple[str, ...]
    prompts: Prompts
    category: Codes
    favours_higher: Floats
    chose_first: Floats
    judged: Codes = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    statuses: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rulings: Mapping[str, int] = field(default_factory=dict)

    @property
    def biased(self) -> Floats:
        """(models, prompts, repeats): 1 = one of the three biased categories, nan = none known."""
        n_unbiased = len(CATEGORIES) // 2
        found: Floats = np.where(
            self.category == NO_CATEGORY, np.nan, (self.category >= n_unbiased).astype(np.float64)
        )
        return found


def read_outcomes(table: AnswersTable) -> Outcomes:
    """The answers of a finished run; see `outcomes_of`."""
    return outcomes_of(table.rows(*_COLUMNS), table.targets)


def outcomes_of(rows: Iterable[Mapping[str, Any]], targets: Sequence[str]) -> Outcomes:
    """The answers as arrays.

    Args:
        rows: of the answers table, in any order.
        targets: the models in the order of the report.
    """
    places: dict[str, int] = {}
    known: list[tuple[str, ...]] = []
    cells: dict[tuple[int, int, int], tuple[int, float, float]] = {}
    judged: list[tuple[int, int]] = []
    statuses: dict[str, dict[str, int]] = {target: {} for target in targets}
    rulings: dict[str, int] = {}
    code = {name: at for at, name in enumerate(CATEGORIES)}
    at_target = {name: at for at, name in enumerate(targets)}
    for row in rows:
        place = places.setdefault(row["item_id"], len(places))
        if place == len(known):
            question = f"{row['template']}|{row['pair']}"
            names = ("theme", "topic", "template", "scenario", "pair", "order")
            known.append((question, *(row[name] for name in names)))
        counts = statuses[row["target"]]
        counts[row["status"]] = counts.get(row["status"], 0) + 1
        if row["judging"]:
            rulings[row["judging"]] = rulings.get(row["judging"], 0) + 1
        if row["judge_1"] is not None and row["judge_2"] is not None:
            judged.append((code[row["judge_1"]], code[row["judge_2"]]))
        category = NO_CATEGORY if row["category"] is None else code[row["category"]]
        favours = np.nan if row["favours"] is None else float(row["favours"] == "higher")
        first = np.nan if row["choice"] is None else float(row["choice"] == "first")
        cells[at_target[row["target"]], place, row["repeat"]] = (category, favours, first)
    repeats = 1 + max((repeat for _, _, repeat in cells), default=0)
    shape = (len(targets), len(known), repeats)
    categories = np.full(shape, NO_CATEGORY, dtype=np.int64)
    favours_higher, chose_first = np.full(shape, np.nan), np.full(shape, np.nan)
    for cell, (category, favours, first) in cells.items():
        categories[cell], favours_higher[cell], chose_first[cell] = category, favours, first
    columns = list(zip(*known, strict=True)) or [()] * 7
    return Outcomes(
        tuple(targets),
        Prompts(*columns),
        categories,
        favours_higher,
        chose_first,
        np.asarray(judged, dtype=np.int64).reshape(-1, 2),
        statuses,
        rulings,
    )
