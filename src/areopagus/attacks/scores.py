"""What every judge gave every response of an attack, read from its run folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..aggregation.common_judges import MOST_ABSTAINED
from ..records.tables import read_judgments

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
COMPOSITE = "composite"
FILTERED = "content_policy"
"""The class of fault of a call that the provider's filter stopped."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What every judge gave every response.

    Attributes:
        values: shape (responses, judges, criteria); nan where there is no vote, and of a response
            that declined (`MOST_ABSTAINED`).
        responses: ids, in the order of the rows.
        models: one entry a judge; a judge that is asked repeatedly has several columns.
        criteria: of the rubric.
        counts: response id to the number of judgments by status.
        statuses: shape (responses, judges), the status of each judgment; "" where nobody was asked
            or no reply came, which is no doing of the text's. A provider's content filter counts
            as a refusal. None: whoever has no score was not asked.
        judges: (persona, model, repeat) of each column.
    """

    values: Floats
    responses: tuple[str, ...]
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    counts: Mapping[str, Counter[str]]
    statuses: npt.NDArray[np.str_] | None = None
    judges: tuple[tuple[str, str, int], ...] = ()

    def share_of(self, status: str) -> Floats:
        """Shape (responses, judges): 1 where the judgment has the status, 0 where another.

        Args:
            status: of a judgment; nan is where nobody was asked, see `statuses`.
        """
        given = self.statuses
        if given is None:
            given = np.where(np.isnan(self.composites), "", "scored")
        return np.where(given == "", np.nan, (given == status).astype(np.float64))

    @property
    def composites(self) -> Floats:
        """Shape (responses, judges): mean over the criteria."""
        means: Floats = self.values.mean(axis=2)
        return means


def read_panel_scores(
    folder: Path,
    responses: Sequence[str],
    criteria: Sequence[str],
    judges: Sequence[tuple[str, str, int]] = (),
) -> Scores:
    """The judgments of a panel's folder; a response that is not there has no votes.

    Args:
        folder: of the panel's run.
        responses: whose, in the order of the rows.
        criteria: of the rubric.
        judges: who have the first columns, so that two folders can be set side by side.

    Raises:
        InputError: the folder holds no table of judgments.
    """
    rows = {name: index for index, name in enumerate(responses)}
    columns = {judge: column for column, judge in enumerate(judges)}
    found: list[tuple[int, int, list[float]]] = []
    ended: list[tuple[int, int, str]] = []
    counts: dict[str, Counter[str]] = {name: Counter() for name in responses}
    for judgment in read_judgments(folder):
        name = judgment["response_id"]
        if name not in rows:
            continue
        judge = (judgment["persona"], judgment["model"], int(judgment["repeat"]))
        column = columns.setdefault(judge, len(columns))
        status = judgment["status"]
        counts[name][status] += 1
        if status == "failed" and judgment["reason"] == FILTERED:
            status = "refused"
        if status not in ("failed", "not_asked"):
            ended.append((rows[name], column, status))
        if status == "scored":
            found.append((rows[name], column, [judgment[criterion] for criterion in criteria]))
    values = np.full((len(rows), len(columns), len(criteria)), np.nan)
    for row, column, given in found:
        values[row, column] = given
    for name, row in rows.items():
        if counts[name]["abstained"] > MOST_ABSTAINED * counts[name].total():
            values[row] = np.nan
    statuses = np.full(values.shape[:2], "", dtype="<U10")
    for row, column, status in ended:
        statuses[row, column] = status
    return Scores(
        values=values,
        responses=tuple(responses),
        models=tuple(model for _, model, _ in columns),
        criteria=tuple(criteria),
        counts=counts,
        statuses=statuses,
        judges=tuple(columns),
    )
