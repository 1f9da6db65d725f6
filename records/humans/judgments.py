"""Stored judge scores of any tool, read into the table of human judgments with judges as raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .column_map import HumanColumns
from .match import Scale
from .reading import HumanReading, read_ratings


@dataclass(frozen=True, slots=True)
class JudgmentReading:
    """Stored judgments and what was understood of their file.

    Attributes:
        reading: as for human judgments; `rater_id` is the judge. Rows whose status is not
            `scored`, and abstained ones, are among the exclusions, by status.
        persona_of, model_of: judge to persona and to model, where the file says.
    """

    reading: HumanReading
    persona_of: Mapping[str, str]
    model_of: Mapping[str, str]


def read_judgments(
    path: str | Path,
    *,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    scale: Scale | None = None,
    criteria: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> JudgmentReading:
    """Returns the judgments of a table: prompt_id, response_id, judge, dimensions or a score.

    Optional columns: persona, model, status, abstained. Where no column names the judge, it is
    "persona x model". The columns of the paper's released scores (judge_model, perspective_id) and
    the long form (criterion, value) are understood too.

    Args:
        path, columns, scale, criteria, format: as for `read_humans`.

    Raises:
        InputError: as `read_humans`.
    """
    reading, attributes = read_ratings(
        path,
        layout="rows",
        columns=columns,
        source_map=None,
        roster=None,
        scale=scale,
        criteria=criteria,
        format=format,
        for_judges=True,
    )
    return JudgmentReading(
        reading=reading,
        persona_of={j: known["persona"] for j, known in attributes.items() if "persona" in known},
        model_of={j: known["model"] for j, known in attributes.items() if "model" in known},
    )
