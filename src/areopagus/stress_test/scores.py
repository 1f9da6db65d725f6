"""The scores of a stress test: the panel's tables read by target, condition, prompt and judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aggregation.effects import FEWEST_JUDGES, MOST_ABSTAINED
from ..aggregation.estimate import Estimate
from ..records.run_folder import JUDGMENTS_FILE
from ..records.tables import read_judgments, read_scores
from ..records.types import NOT_WANTED
from ..reports.panel_answer import panel_worth
from .counts import ConditionCounts

Floats = NDArray[np.float64]
Judge = tuple[str, str, int]
"""Persona, model and repeat."""


@dataclass(frozen=True, slots=True)
class StressScores:
    """What every judge gave, by design.

    Attributes:
        targets, conditions, prompts, criteria: the names along the axes.
        judges: persona, model and repeat of each.
        scores: (targets, conditions, prompts, repeats, judges, criteria); nan = not scored.
        units: text of each prompt's baseline: those with the same text are one unit.
        abstained: (targets, conditions, prompts): 1 = the response declined, 0 = it did not,
            nan = unknown.
        regenerated: pairs of panel means of two responses to one prompt, (pairs, 2, criteria).
        retested: pairs of panel means of two askings about one response, likewise.
        counts: (target, condition) to what became of the responses.
        scale: ends of the scale.
        worth: how many independent judges the panel's are worth; None where it was not measured.
        wanted: (targets, conditions, prompts, repeats, judges): whether the judge was to score
            the response; None where all were.
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...]
    criteria: tuple[str, ...]
    judges: tuple[Judge, ...]
    scores: Floats
    units: tuple[str, ...]
    abstained: Floats
    regenerated: Floats
    retested: Floats
    counts: Mapping[tuple[str, str], ConditionCounts]
    scale: tuple[int, int]
    worth: Estimate | None = None
    wanted: NDArray[np.bool_] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """The model of each judge."""
        return tuple(model for _, model, _ in self.judges)


def read_panel(
    scored: Path | None,
    retested: Path | None,
    counts: Mapping[tuple[str, str], ConditionCounts],
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    prompts: Mapping[str, str],
    criteria: Sequence[str],
    repeats: int,
    panel_repeats: int,
    refused: Iterable[str],
    scale: tuple[int, int],
) -> StressScores:
    """The scores of a scored stress test.

    Args:
        scored: the run folder of the panel; None where there was nothing to judge.
        retested: that of the panel asked again, with both askings; None where there is none.
        counts: what became of the responses, by target and condition; judgments are added.
        targets, conditions, criteria: the design.
        prompts: id of each prompt to the text of its baseline.
        repeats: how many responses of a cell are averaged; those beyond serve only for the
            spread between responses.
        panel_repeats: askings of each judge that make one panel mean.
        refused: ids of responses that the target's provider marked as refusals.
        scale: ends of the scale.
    """
    place = [
        {name: at for at, name in enumerate(names)} for names in (targets, conditions, prompts)
    ]
    shape = (len(targets), len(conditions), len(prompts))
    declined, declining = set(refused), set[str]()
    cells: dict[str, tuple[int, int, int, int]] = {}
    abstained: dict[tuple[int, int, int], list[float]] = {}
    for row in read_scores(scored) if scored is not None else ():
        names = (row["target"], row["condition"], row["stress_prompt_id"])
        cell = (place[0][names[0]], place[1][names[1]], place[2][names[2]])
        repeat = int(row["stress_repeat"])
        mine = counts[names[0], names[1]]
        _count_judgments(mine, row)
        share = float(row["share_abstained"] or 0)
        is_declined = row["response_id"] in declined or share > MOST_ABSTAINED
        is_scored = row["status"] == "scored"
        cells[row["response_id"]] = (*cell, repeat)
        if share > MOST_ABSTAINED:
            declining.add(row["response_id"])
        if repeat < repeats:
            mine.scored += is_scored
            mine.abstained += is_declined
            if is_scored or is_declined:
                abstained.setdefault(cell, []).append(float(is_declined))
        elif is_scored:
            mine.regenerated["scored"] = mine.regenerated.get("scored", 0) + 1
    flags = np.full(shape, np.nan)
    for cell, found in abstained.items():
        flags[cell] = float(sum(found) * 2 > len(found))
    # Whatever is planned, a second response shows how much responses vary.
    judges, scores, wanted = _by_judge(
        scored, cells, declining, (*shape, max(repeats, 2)), criteria
    )
    return StressScores(
        tuple(targets), tuple(conditions), tuple(prompts), tuple(criteria), judges,
        scores=scores[:, :, :, :repeats],
        units=tuple(prompts.values()),
        abstained=flags,
        regenerated=_pairs_of_responses(scores),
        retested=_read_retest(retested, criteria, panel_repeats),
        counts=counts,
        scale=scale,
        worth=panel_worth(scored),
        wanted=wanted[:, :, :, :repeats],
    )  # fmt: skip


def _by_judge(
    folder: Path | None,
    cells: Mapping[str, tuple[int, int, int, int]],
    declining: Collection[str],
    shape: tuple[int, int, int, int],
    criteria: Sequence[str],
) -> tuple[tuple[Judge, ...], Floats, NDArray[np.bool_]]:
    """Judges; their scores by criterion of responses that did not decline; whether each was wanted.

    Every judge was to score the first response of a cell, also where no response came.
    """
    import pyarrow.parquet as parquet

    if folder is None:
        nothing = np.full((*shape, 1, len(criteria)), np.nan)
        return (("", "", 0),), nothing, np.ones((*shape, 1), dtype=bool)
    keys = ["persona", "model", "repeat"]
    names = ["response_id", "status", "reason", *keys, *criteria]
    table = parquet.read_table(folder / JUDGMENTS_FILE, columns=names).to_pandas()
    who = list(table[keys].itertuples(index=False, name=None))
    judges = sorted(set(who))
    place = {judge: at for at, judge in enumerate(judges)}
    scores = np.full((*shape, len(judges), len(criteria)), np.nan)
    wanted = np.zeros((*shape, len(judges)), dtype=bool)
    nowhere = (0, 0, 0, shape[3])
    at = np.array([cells.get(name, nowhere) for name in table["response_id"]])
    index = np.column_stack([at, [place[judge] for judge in who]])
    is_of_cell = at[:, 3] < shape[3]
    wanted[tuple(index[is_of_cell & ~table["reason"].isin(NOT_WANTED)].T)] = True
    wanted[:, :, :, 0] |= ~wanted[:, :, :, 0].any(axis=-1, keepdims=True)
    is_scored = table["status"].eq("scored") & ~table["response_id"].isin(set(declining))
    rows = is_of_cell & is_scored.to_numpy()
    scores[tuple(index[rows].T)] = table[list(criteria)].to_numpy(dtype=np.float64)[rows]
    return tuple(judges), scores, wanted


def _pairs_of_responses(scores: Floats) -> Floats:
    """Means of the first and the second response to a prompt over the judges that scored both,
    (pairs, 2, criteria)."""
    n_judges, n_criteria = scores.shape[-2:]
    both = np.moveaxis(scores[:, :, :, :2], 3, 0).reshape(2, -1, n_judges, n_criteria)
    is_common = np.asarray(~np.isnan(both).any(axis=(0, 3)), dtype=bool)
    pairs = is_common.sum(axis=1) >= min(FEWEST_JUDGES, n_judges)
    scored = np.where(is_common[pairs][:, :, None], both[:, pairs], np.nan)
    means: Floats = np.nanmean(scored, axis=2).transpose(1, 0, 2)
    return means


def _count_judgments(counts: ConditionCounts, row: Mapping[str, str]) -> None:
    found = {"scored": int(row["n_scored"])} | {
        status: int(row[f"n_{status}"])
        for status in ("abstained", "refused", "unreadable", "failed", "not_asked")
    }
    for status, number in found.items():
        counts.judgments[status] = counts.judgments.get(status, 0) + number


def _read_retest(folder: Path | None, criteria: Sequence[str], repeats: int) -> Floats:
    """Panel means of the first and of the second asking, (responses, 2, criteria).

    Only judges that scored the response both times count, so that a judge that failed once is no
    change of mind.
    """
    votes: dict[str, dict[tuple[str, str, int], list[Any]]] = {}
    for row in read_judgments(folder) if folder is not None else ():
        if row["status"] == "scored":
            key = (row["persona"], row["model"], row["repeat"])
            votes.setdefault(row["response_id"], {})[key] = [row[name] for name in criteria]
    pairs: list[Floats] = []
    for found in votes.values():
        both = [
            (values, found[persona, model, repeat + repeats])
            for (persona, model, repeat), values in found.items()
            if repeat < repeats and (persona, model, repeat + repeats) in found
        ]
        if both:
            pairs.append(np.asarray(both, dtype=float).mean(axis=0))
    return np.asarray(pairs, dtype=float).reshape(-1, 2, len(criteria))
