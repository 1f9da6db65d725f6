"""The scores of an attack as one matrix: responses by judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..records.tables import read_judgments

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """What every judge gave every response.

    Attributes:
        values: shape (responses, judges): mean over the criteria; nan where there is no vote.
        responses: ids, in the order of the rows.
        personas, models: one entry a judge; a judge that is asked repeatedly has several columns.
        counts: response id to the number of judgments by status.
    """

    values: Floats
    responses: tuple[str, ...]
    personas: tuple[str, ...]
    models: tuple[str, ...]
    counts: dict[str, Counter[str]]


def read_scores_matrix(
    folder: Path, responses: Sequence[str], criteria: Sequence[str]
) -> ScoreMatrix:
    """The judgments of a run folder as a matrix; a response that is not there has no votes.

    Raises:
        InputError: the folder holds no table of judgments.
    """
    rows = {name: index for index, name in enumerate(responses)}
    columns: dict[tuple[str, str, int], int] = {}
    found: list[tuple[int, int, float]] = []
    counts: dict[str, Counter[str]] = {name: Counter() for name in responses}
    for judgment in read_judgments(folder):
        name = judgment["response_id"]
        if name not in rows:
            continue
        judge = (judgment["persona"], judgment["model"], int(judgment["repeat"]))
        column = columns.setdefault(judge, len(columns))
        counts[name][judgment["status"]] += 1
        if judgment["status"] == "scored":
            mean = float(np.mean([judgment[criterion] for criterion in criteria]))
            found.append((rows[name], column, mean))
    values = np.full((len(rows), len(columns)), np.nan)
    for row, column, mean in found:
        values[row, column] = mean
    return ScoreMatrix(
        values=values,
        responses=tuple(responses),
        personas=tuple(persona for persona, _, _ in columns),
        models=tuple(model for _, model, _ in columns),
        counts=counts,
    )
