"""From the panel's tables to the arrays of the estimators: target x condition x prompt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.run_folder import JUDGMENTS_FILE
from ..records.tables import read_judgments, read_scores

Floats = NDArray[np.float64]


@dataclass(slots=True)
class ConditionCounts:
    """What became of one target's responses under one condition, and of the judgments on them.

    Attributes:
        planned: responses planned (of supplied responses: those supplied).
        answered, empty, refused, failed, not_asked: of the planned responses.
        no_variant: of the planned responses, those without a usable variant to ask.
        scored: planned responses with a panel score; `abstained` those that most judges, or the
            target itself, called a refusal to engage.
        regenerated: responses generated once more, to see how much they vary, which are in none
            of the numbers above: `planned`, `scored` and their statuses.
        judgments: status to number of judgments, of all responses.
    """

    planned: int = 0
    answered: int = 0
    empty: int = 0
    refused: int = 0
    failed: int = 0
    not_asked: int = 0
    no_variant: int = 0
    scored: int = 0
    abstained: int = 0
    regenerated: dict[str, int] = field(default_factory=dict)
    judgments: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StressScores:
    """Panel scores by design.

    Attributes:
        targets, conditions, prompts, dimensions: the names along the axes.
        scores: panel means, (targets, conditions, prompts, dimensions), over the repeats of a
            response; nan = not scored.
        abstained: (targets, conditions, prompts): 1 = the response declined, 0 = it did not,
            nan = unknown.
        regenerated: pairs of panel means of two responses to one prompt, (pairs, 2, dimensions).
        counts: (target, condition) to what became of the responses.
        scale: ends of the scale.
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...]
    dimensions: tuple[str, ...]
    scores: Floats
    abstained: Floats
    regenerated: Floats
    counts: Mapping[tuple[str, str], ConditionCounts]
    scale: tuple[int, int]


def read_stress_scores(
    panel_folder: Path | None,
    counts: Mapping[tuple[str, str], ConditionCounts],
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    prompts: Sequence[str],
    dimensions: Sequence[str],
    repeats: int,
    refused: Iterable[str],
    scale: tuple[int, int],
) -> StressScores:
    """The scores of a scored stress test.

    Args:
        panel_folder: the run folder of the panel; None where there was nothing to judge.
        counts: what became of the responses, by target and condition; judgments are added.
        targets, conditions, prompts, dimensions: the design.
        repeats: how many responses of a cell are averaged; those beyond serve only for the
            spread between responses.
        refused: ids of responses that the target's provider marked as refusals.
        scale: ends of the scale.
    """
    place = [
        {name: at for at, name in enumerate(names)} for names in (targets, conditions, prompts)
    ]
    shape = (len(targets), len(conditions), len(prompts))
    declined = set(refused)
    cells: dict[tuple[int, int, int], dict[int, list[float]]] = {}
    abstained: dict[tuple[int, int, int], list[float]] = {}
    for row in read_scores(panel_folder) if panel_folder is not None else ():
        names = (row["target"], row["condition"], row["stress_prompt_id"])
        cell = (place[0][names[0]], place[1][names[1]], place[2][names[2]])
        repeat = int(row["stress_repeat"])
        tally = counts[names[0], names[1]]
        _count(tally, row)
        is_declined = row["response_id"] in declined or float(row["share_abstained"] or 0) > 0.5
        is_scored = row["status"] == "scored"
        if repeat < repeats:
            tally.scored += is_scored
            tally.abstained += is_declined
            if is_scored or is_declined:
                abstained.setdefault(cell, []).append(float(is_declined))
        elif is_scored:
            tally.regenerated["scored"] = tally.regenerated.get("scored", 0) + 1
        if is_scored:
            values = [float(row[name]) if row[name] else math.nan for name in dimensions]
            cells.setdefault(cell, {})[repeat] = values
    scores = np.full((*shape, len(dimensions)), np.nan)
    flags = np.full(shape, np.nan)
    pairs: list[list[list[float]]] = []
    for cell, by_repeat in cells.items():
        counted = [by_repeat[r] for r in sorted(by_repeat) if r < repeats]
        if counted:
            scores[cell] = np.mean(np.asarray(counted), axis=0)
        if 0 in by_repeat and 1 in by_repeat:
            pairs.append([by_repeat[0], by_repeat[1]])
    for cell, found in abstained.items():
        flags[cell] = float(sum(found) * 2 > len(found))
    return StressScores(
        targets=tuple(targets),
        conditions=tuple(conditions),
        prompts=tuple(prompts),
        dimensions=tuple(dimensions),
        scores=scores,
        abstained=flags,
        regenerated=np.asarray(pairs, dtype=float).reshape(-1, 2, len(dimensions)),
        counts=counts,
        scale=scale,
    )


def read_top_shares(folder: Path | None, scores: StressScores, *, repeats: int) -> Floats:
    """Share of a response's scored judgments at the top of the scale, shaped as the scores.

    Args:
        folder: the run folder of the panel, or None.
        scores: whose design and scale it follows.
        repeats: as in `read_stress_scores`.
    """
    import pyarrow.parquet as parquet

    shares = np.full(scores.scores.shape, np.nan)
    if folder is None:
        return shares
    table = parquet.read_table(
        folder / JUDGMENTS_FILE, columns=["response_id", "status", *scores.dimensions]
    )
    is_scored = np.asarray(table["status"].to_pylist(), dtype=object) == "scored"
    responses = np.asarray(table["response_id"].to_pylist(), dtype=object)[is_scored]
    names, place = np.unique(responses.astype(str), return_inverse=True)
    n = np.maximum(np.bincount(place, minlength=len(names)), 1)
    columns = [
        np.bincount(
            place,
            weights=np.asarray(table[name].to_numpy())[is_scored] >= scores.scale[1],
            minlength=len(names),
        )
        / n
        for name in scores.dimensions
    ]
    by_response = dict(zip(names.tolist(), np.column_stack(columns), strict=True))
    sums: dict[tuple[int, int, int], list[Any]] = {}
    for row in read_scores(folder):
        values = by_response.get(row["response_id"])
        if values is not None and int(row["stress_repeat"]) < repeats:
            cell = (
                scores.targets.index(row["target"]),
                scores.conditions.index(row["condition"]),
                scores.prompts.index(row["stress_prompt_id"]),
            )
            sums.setdefault(cell, []).append(values)
    for cell, found in sums.items():
        shares[cell] = np.mean(np.asarray(found), axis=0)
    return np.where(np.isnan(scores.scores), np.nan, shares)


def read_retest(folder: Path | None, dimensions: Sequence[str], repeats: int) -> Floats:
    """Panel means of the first and of the second asking, (responses, 2, dimensions).

    Only judges that scored the response both times count, so that a judge that failed once is no
    change of mind.

    Args:
        folder: the run folder of the re-asked panel, which holds both askings; None where nobody
            was asked again.
        dimensions: the criteria.
        repeats: askings of each judge that make one panel mean; the second asking has as many.
    """
    votes: dict[str, dict[tuple[str, str, int], list[Any]]] = {}
    for row in read_judgments(folder) if folder is not None else ():
        if row["status"] == "scored":
            key = (row["persona"], row["model"], row["repeat"])
            votes.setdefault(row["response_id"], {})[key] = [row[name] for name in dimensions]
    pairs: list[Floats] = []
    for found in votes.values():
        both = [
            (values, found[persona, model, repeat + repeats])
            for (persona, model, repeat), values in found.items()
            if repeat < repeats and (persona, model, repeat + repeats) in found
        ]
        if both:
            pairs.append(np.asarray(both, dtype=float).mean(axis=0))
    return np.asarray(pairs, dtype=float).reshape(-1, 2, len(dimensions))


def _count(tally: ConditionCounts, row: Mapping[str, str]) -> None:
    found = {"scored": int(row["n_scored"])} | {
        status: int(row[f"n_{status}"])
        for status in ("abstained", "refused", "unreadable", "failed", "not_asked")
    }
    for status, number in found.items():
        tally.judgments[status] = tally.judgments.get(status, 0) + number
