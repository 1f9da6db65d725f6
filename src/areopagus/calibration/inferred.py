"""Scores that a panel inferred from raters' written justifications: from a file, or a run."""

from __future__ import annotations

import math
from pathlib import Path

from ..errors import InputError, InputFault
from ..records.humans import HumanReading, HumanTable
from ..records.humans.table import TableBuilder
from ..records.tables import read_scores
from ..records.types import OVERALL
from ..run import Run
from .material import Material, composite_of, ratings_of, with_unique_ids
from .ratings import Ratings
from .sources import read_people

Inferred = HumanReading | HumanTable | Run | str | Path

_NEEDED = ("rater_id", "rated_prompt_id", "rated_response_id")


def inferred_ratings(inferred: Inferred, material: Material) -> tuple[Ratings, tuple[str, ...]]:
    """Returns inferred scores by rater and response, and what the reader has to know of them.

    Args:
        inferred: ratings in any layout; or a run (or its folder) over the table that
            `areopagus humans comments` writes: the panel's composite of each justification.
        material: the responses that were judged.

    Raises:
        InputError: they cannot be read, or none is of a response that was judged.
    """
    notices: tuple[str, ...] = ()
    if isinstance(inferred, str | Path):
        path = Path(inferred)
        if path.is_dir() or path.name == "run.json":
            inferred = Run(path)
    if isinstance(inferred, Run):
        table, n_without = _of_run(inferred)
        if n_without:
            notices = (f"inferred scores: justifications without a panel score: {n_without:,}",)
    else:
        _, table, _ = read_people(inferred)
    (table,) = with_unique_ids(table)
    ratings, _, n_unmatched = ratings_of(table, material.responses)
    if not ratings:
        raise InputError("inferred scores: none is of a response that was judged")
    if n_unmatched:
        notices = (
            *notices,
            f"inferred scores: ratings of responses that the run does not have: {n_unmatched:,}",
        )
    return composite_of(ratings) or ratings[0], notices


def _of_run(run: Run) -> tuple[HumanTable, int]:
    rows = read_scores(run.path)
    missing = [name for name in _NEEDED if not rows or name not in rows[0]]
    if missing:
        raise InputError(
            [InputFault(str(run.path), "there is no such column in its scores", field=name)
             for name in missing],
            hint="It must be a run over the table that `areopagus humans comments` writes.",
        )  # fmt: skip
    builder, n_without = TableBuilder(), 0
    for line, row in enumerate(rows, start=2):
        if not row["composite"]:
            n_without += 1
            continue
        texts: dict[str, str | None] = {
            "rater_id": row["rater_id"],
            "prompt_id": row["rated_prompt_id"],
            "response_id": row["rated_response_id"],
            "criterion": OVERALL,
        }
        builder.add(line, float(row["composite"]), "score", texts, math.nan)
    return builder.build(), n_without
