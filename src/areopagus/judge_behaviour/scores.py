"""What the judges gave: a panel's run as arrays, by response, judge, asking and criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.intervals import mean_of_known
from ..records.judgments import read_judgment_table
from ..records.prompt_units import units_of_runs
from ..records.tables import LENGTH_COLUMN, read_scores, read_texts
from ..run import Run

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_SCORES: Final = 120_000
"""Judgments that are read; of a larger run, whole prompts drawn by seed."""


@dataclass(frozen=True)
class JudgeScores:
    """The judgments of a run.

    Attributes:
        values: shape (R, J, T, C); nan where nothing was scored.
        ids: of the R responses.
        prompt: shape (R,), codes of prompts with different texts.
        prompts: how many there are.
        respondents: who wrote each response.
        personas, models: of the J judges.
        criteria: the C criteria.
        n_planned: judgments that were planned on these responses.
        n_left_out: responses that were not read.
    """

    values: Floats
    ids: tuple[str, ...]
    prompt: Integers
    prompts: int
    respondents: tuple[str, ...]
    personas: tuple[str, ...]
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    n_planned: int
    n_left_out: int = 0

    @property
    def composites(self) -> Floats:
        """Shape (R, J, T): mean over the criteria."""
        means: Floats = self.values.mean(axis=3)
        return means

    @property
    def by_judge(self) -> Floats:
        """Shape (R, J): composite, mean over the askings."""
        return mean_of_known(self.composites, axis=2)

    @property
    def n_scored(self) -> int:
        """Judgments that were scored."""
        return int((~np.isnan(self.composites)).sum())

    @property
    def has_repeats(self) -> bool:
        """Whether any judge scored a response twice."""
        return bool(((~np.isnan(self.composites)).sum(axis=2) > 1).any())

    def of_judges(self, places: Sequence[int]) -> JudgeScores:
        """Of these judges alone."""
        return replace(
            self,
            values=self.values[:, places],
            personas=tuple(self.personas[k] for k in places),
            models=tuple(self.models[k] for k in places),
        )

    def of_responses(self, places: Integers) -> JudgeScores:
        """Of these responses alone."""
        return replace(
            self,
            values=self.values[places],
            ids=tuple(self.ids[k] for k in places),
            prompt=self.prompt[places],
            respondents=tuple(self.respondents[k] for k in places),
        )


def read_judge_scores(
    runs: Sequence[Run], *, seed: int = 0, most: int = MOST_SCORES
) -> list[JudgeScores]:
    """The judgments of runs, with one code for a prompt that they share.

    Raises:
        InputError: a table of theirs cannot be read.
    """
    rows = [read_scores(run.path) for run in runs]
    units = units_of_runs(rows)
    codes: dict[str, int] = {}
    for one, unit_of in zip(rows, units, strict=True):
        for row in one:
            codes.setdefault(unit_of[row["prompt_id"]], len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    found = []
    for run, one, unit_of in zip(runs, rows, units, strict=True):
        of = {row["response_id"]: (codes[unit_of[row["prompt_id"]]], row) for row in one}
        found.append(_read(run.path, run.record, of, len(codes), order, most))
    return found


def _read(
    folder: Path,
    record: Mapping[str, Any],
    of: Mapping[str, tuple[int, Mapping[str, str]]],
    prompts: int,
    order: Integers,
    most: int,
) -> JudgeScores:
    table = read_judgment_table(folder, tuple(record["identity"]["criteria"]))
    prompt = np.array([of[name][0] for name in table.response_ids], dtype=np.int64)
    planned = np.bincount(prompt, np.diff(table.start), prompts)[order]
    kept = order[np.cumsum(planned) <= max(most, planned[0] if prompts else 0)]
    responses = np.flatnonzero(np.isin(prompt, kept))
    place = np.full(table.n_responses, -1, dtype=np.int64)
    place[responses] = np.arange(len(responses))
    pairs = table.persona.codes.astype(np.int64) * table.model.n + table.model.codes
    judges, judge = np.unique(pairs, return_inverse=True)
    rows = np.flatnonzero(place[table.response] >= 0)
    repeats = int(table.repeat.max(initial=0)) + 1
    values = np.full((len(responses), len(judges), repeats, len(table.criteria)), np.nan)
    values[place[table.response[rows]], judge.reshape(-1)[rows], table.repeat[rows]] = table.values[
        rows, 1:
    ]
    return JudgeScores(
        values=values,
        ids=tuple(table.response_ids[k] for k in responses),
        prompt=prompt[responses],
        prompts=prompts,
        respondents=tuple(of[table.response_ids[k]][1]["respondent_id"] for k in responses),
        personas=tuple(table.persona.names[code // table.model.n] for code in judges.tolist()),
        models=tuple(table.model.names[code % table.model.n] for code in judges.tolist()),
        criteria=table.criteria,
        n_planned=len(rows),
        n_left_out=table.n_responses - len(responses),
    )


def aligned(arm: JudgeScores, like: JudgeScores) -> Floats:
    """The values of an arm in the order of responses and judges of another; nan where missing."""
    shape = (len(like.ids), len(like.models), *arm.values.shape[2:])
    found = np.full(shape, np.nan)
    response = {name: k for k, name in enumerate(arm.ids)}
    judge = {pair: k for k, pair in enumerate(zip(arm.personas, arm.models, strict=True))}
    columns = [judge.get(pair, -1) for pair in zip(like.personas, like.models, strict=True)]
    there = np.array([k >= 0 for k in columns])
    for row, name in enumerate(like.ids):
        if (mine := response.get(name)) is not None:
            found[row, there] = arm.values[mine][[k for k in columns if k >= 0]]
    return found


def texts_of(run: Run, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """Response id to prompt and response, of those that the folder keeps."""
    return read_texts(run.path, ids)


def stated_lengths(run: Run, ids: Sequence[str]) -> Floats | None:
    """Lengths that the file of an imported run states, nan where it does not; None without any."""
    if "imported" not in run.record["identity"]:
        return None
    lengths = {row["response_id"]: row.get(LENGTH_COLUMN) for row in read_scores(run.path)}
    if not any(lengths.values()):
        return None
    return np.array([float(lengths[name] or "nan") for name in ids])
