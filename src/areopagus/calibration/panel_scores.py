"""A panel's judgments as one array: responses x personas x models x repeats x criteria."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..aggregation.rater_severity import severity
from ..records.humans import HumanTable
from ..records.run_folder import JUDGMENTS_FILE
from ..records.types import NOT_WANTED, OVERALL

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

QUORUM = 2 / 3
"""Share of planned judgments that a response needs, where the run does not say."""

ALONE = "(all)"
"""The one persona, or model, of judges that have none."""


@dataclass(frozen=True, slots=True)
class PanelScores:
    """Judgments of one panel.

    Attributes:
        scores: shape (R, personas, models, repeats, criteria); nan unless `scored`.
        personas, models, criteria: the labels.
        axes: the axis of each persona, "" where there is none.
        status: status to number of judgments, shape (personas, models) each; planned is the sum.
        n_planned: shape (R,), judgments planned for each response, without those that a stopping
            rule did not want; 0 where that is not known. `status` leaves the same ones out.
        quorum: share of them below which a response has no panel score.
    """

    scores: Floats
    personas: tuple[str, ...]
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    axes: tuple[str, ...]
    status: Mapping[str, Integers]
    n_planned: Integers
    quorum: float

    def by_judge(self, criterion: str | None = None) -> Floats:
        """Returns shape (R, personas, models): each judge's mean over repeats.

        Args:
            criterion: a criterion, or None for the composite: the mean over criteria.
        """
        if criterion is None:
            table = _mean(self.scores, axis=4)
        else:
            table = self.scores[..., self.criteria.index(criterion)]
        return _mean(table, axis=3)

    def mean(self, criterion: str | None = None) -> PanelMean:
        """Returns the panel's score of each response; nan below the quorum.

        Where every judge scored it, the mean over scored judgments, as in the ensemble score of a
        run; where a judge is missing, that of the additive fit (`mean_over_judges`).
        """
        if criterion is None:
            table = _mean(self.scores, axis=4)
        else:
            table = self.scores[..., self.criteria.index(criterion)]
        flat = table.reshape(len(table), -1)
        has_quorum = np.isfinite(flat).sum(axis=1) >= self.quorum * self.n_planned - 1e-9
        plain = np.where(has_quorum, _mean(flat, axis=1), np.nan)
        found = mean_over_judges(_mean(table, axis=3).reshape(len(table), -1))
        score = np.where(found.is_unbalanced, found.score, plain)
        return PanelMean(np.where(has_quorum, score, np.nan), plain, found.is_unbalanced)

    def ensemble(self, criterion: str | None = None) -> Floats:
        """Returns shape (R,): the score alone of `mean`."""
        return self.mean(criterion).score

    @property
    def shape(self) -> tuple[int, int, int]:
        """Personas, models and repeats."""
        return self.scores.shape[1], self.scores.shape[2], self.scores.shape[3]

    def judge_names(self) -> tuple[str, ...]:
        """Returns "persona x model" of each judge, persona by persona; one alone by its name."""
        return tuple(
            judge_name(persona, model) for persona in self.personas for model in self.models
        )


class PanelMean(NamedTuple):
    """What several judges say of each response.

    Attributes:
        score: shape (R,), freed from which judges are missing.
        plain: shape (R,), the mean of those that are there.
        is_unbalanced: shape (R,), whether a judge is missing.
    """

    score: Floats
    plain: Floats
    is_unbalanced: npt.NDArray[np.bool_]


def mean_over_judges(table: Floats) -> PanelMean:
    """Returns the mean over judges of each response, freed from which of them are missing.

    A harsh judge that is missing on some responses would lift these, and what is said of their
    order would be about the judge. There the score is that of the additive fit, response + judge
    (`aggregation.rater_severity`); where all judges scored, it is their mean.

    Args:
        table: shape (R, judges), nan where missing. A judge without any score is no judge here.

    Returns:
        nan where nobody scored, or only a judge who shares no response with another.
    """
    there = np.isfinite(table)
    plain = _mean(table, axis=1) if table.shape[1] else np.full(len(table), np.nan)
    n_judges, n = int(there.any(axis=0).sum()), there.sum(axis=1)
    is_unbalanced = (n > 0) & (n < n_judges)
    if not is_unbalanced.any():
        return PanelMean(plain, plain, is_unbalanced)
    row, judge = np.nonzero(there)
    fit = severity(table[there], row, judge)
    score = np.full(len(table), np.nan)
    score[list(fit.responses)] = fit.adjusted
    return PanelMean(np.where(is_unbalanced, score, plain), plain, is_unbalanced)


def judge_name(persona: str, model: str) -> str:
    """Returns how a judge is called."""
    if persona == ALONE:
        return model
    return persona if model == ALONE else f"{persona} x {model}"


def panel_of_run(
    folder: Path, response_index: Mapping[str, int], *, quorum: float, axis_of: Mapping[str, str]
) -> PanelScores:
    """Returns the judgments of a run folder, by column, without a dictionary a row.

    Args:
        folder: the run folder.
        response_index: response id to its place.
        quorum: of the run.
        axis_of: persona to axis.
    """
    import pyarrow.parquet as parquet

    from ..records.tables import JUDGMENT_COLUMNS, PROVENANCE_COLUMNS

    path = folder / JUDGMENTS_FILE
    names = parquet.read_schema(path).names
    criteria = tuple(n for n in names if n not in {*JUDGMENT_COLUMNS, *PROVENANCE_COLUMNS})
    columns = ["response_id", "persona", "model", "repeat", "status", "reason", *criteria]
    table = parquet.read_table(path, columns=columns)
    personas, persona = _coded(table.column("persona"))
    models, model = _coded(table.column("model"))
    statuses, status = _coded(table.column("status"))
    ids, code = _coded(table.column("response_id"))
    place = np.array([response_index[name] for name in ids], dtype=np.int64)[code]
    repeat = table.column("repeat").to_numpy().astype(np.int64)
    shape = (len(response_index), len(personas), len(models), int(repeat.max(initial=0)) + 1)
    scores = np.full((*shape, len(criteria)), np.nan)
    is_scored = status == (statuses.index("scored") if "scored" in statuses else -1)
    at = (place[is_scored], persona[is_scored], model[is_scored], repeat[is_scored])
    for k, name in enumerate(criteria):
        # abstained judgments have numbers as well, which are never averaged
        scores[(*at, k)] = table.column(name).to_numpy(zero_copy_only=False)[is_scored]
    reasons, reason = _coded(table.column("reason").fill_null(""))
    is_wanted = ~np.isin(reason, [k for k, name in enumerate(reasons) if name in NOT_WANTED])
    counts = {}
    for index, name in enumerate(statuses):
        grid = np.zeros(shape[1:3], dtype=np.int64)
        mine = (status == index) & is_wanted
        np.add.at(grid, (persona[mine], model[mine]), 1)
        counts[name] = grid
    return PanelScores(
        scores=scores,
        personas=tuple(personas),
        models=tuple(models),
        criteria=criteria,
        axes=tuple(axis_of.get(name, "") for name in personas),
        status=counts,
        n_planned=np.bincount(place[is_wanted], minlength=shape[0]).astype(np.int64),
        quorum=quorum,
    )


def panel_of_table(
    table: HumanTable,
    response_index: Mapping[str, int],
    persona_of: Mapping[str, str],
    model_of: Mapping[str, str],
    excluded: Mapping[str, int],
) -> PanelScores:
    """Returns stored judgments of any tool.

    Args:
        table: judges as raters.
        response_index: response id to its place.
        persona_of, model_of: by judge, where known.
        excluded: status to rows that do not count (abstained, failed, …), of no known judge.
    """
    stored = stored_scores(table, response_index, table.rater_id.names, persona_of, model_of)
    scored = np.isfinite(stored.scores).any(axis=4).sum(axis=(0, 3))
    status: dict[str, Integers] = {"scored": scored.astype(np.int64)}
    status |= {name: np.zeros_like(scored) for name in excluded}
    if stored.is_partial.any():
        status[PARTIAL] = stored.is_partial.sum(axis=(0, 3)).astype(np.int64)
    return PanelScores(
        scores=stored.scores,
        personas=stored.personas,
        models=stored.models,
        criteria=stored.criteria,
        axes=("",) * len(stored.personas),
        status=status,
        n_planned=np.zeros(len(response_index), dtype=np.int64),
        quorum=0.0,
    )


PARTIAL = "without a score on the scale for every criterion"
"""What is wrong with a stored judgment that lacks a score which its judge gives elsewhere."""


class StoredScores(NamedTuple):
    """Scores of a table of stored judgments.

    Attributes:
        scores: shape (R, personas, models, repeats, criteria); nan where there is no vote.
        is_partial: shape (R, personas, models, repeats): judgments that lack a score which the
            judge gives elsewhere, or whose score is off the scale. They hold no vote: a composite
            of fewer criteria is another quantity.
        personas, models, criteria: the labels.
        cell_of: judge to its persona and model.
    """

    scores: Floats
    is_partial: npt.NDArray[np.bool_]
    personas: tuple[str, ...]
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    cell_of: Mapping[str, tuple[str, str]]


def stored_scores(
    table: HumanTable,
    response_index: Mapping[str, int],
    judges: Sequence[str],
    persona_of: Mapping[str, str],
    model_of: Mapping[str, str],
    *,
    scale: tuple[float, float] | None = None,
) -> StoredScores:
    """Returns the scores of stored judgments; a judge's further rows for a response are repeats.

    Judges with neither persona nor model stand as models of one unnamed persona: nothing is known
    of what they share. Ranks that judges gave are negated, as people's are.

    Args:
        table: judges as raters.
        response_index: response id to its place.
        judges: all judges, those of the table first.
        persona_of, model_of: by judge, where known.
        scale: lowest and highest score; what lies off it is no score.
    """
    persona_names = [persona_of.get(judge, ALONE) for judge in judges]
    model_names = [model_of.get(judge, ALONE if judge in persona_of else judge) for judge in judges]
    if len(set(zip(persona_names, model_names, strict=True))) < len(judges):
        # two judges in one cell: their names tell them apart, their attributes do not
        persona_names, model_names = [ALONE] * len(judges), list(judges)
    personas, models = list(dict.fromkeys(persona_names)), list(dict.fromkeys(model_names))
    persona = np.array([personas.index(name) for name in persona_names], dtype=np.int64)
    model = np.array([models.index(name) for name in model_names], dtype=np.int64)
    criteria = table.criterion.used() or (OVERALL,)
    criterion_at = np.array(
        [criteria.index(n) if n in criteria else -1 for n in table.criterion.names],
        dtype=np.int64,
    )
    place = np.array([response_index[n] for n in table.response_id.names], dtype=np.int64)
    where = place[table.response_id.codes]
    k, judge = criterion_at[table.criterion.codes], table.rater_id.codes.astype(np.int64)
    cell = where * len(judges) + judge
    if len(np.unique(table.line)) == len(table):
        cell = cell * len(criteria) + k  # a row holds one criterion
    rows, row = np.unique(np.stack([cell, table.line]), axis=1, return_inverse=True)
    is_first = np.diff(rows[0], prepend=-1) != 0
    since = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    repeat = (np.arange(rows.shape[1]) - since)[row.reshape(-1)]
    shape = (len(response_index), len(personas), len(models), int(repeat.max(initial=0)) + 1)
    scores = np.full((*shape, len(criteria)), np.nan)
    value = np.where(table.is_rank, -table.value, table.value)
    scores[where, persona[judge], model[judge], repeat, k] = value
    has_score: npt.NDArray[np.bool_] = np.isfinite(scores)
    is_given = np.any(has_score, axis=(0, 3), keepdims=True)
    is_vote = has_score if scale is None else (scores >= scale[0]) & (scores <= scale[1])
    is_partial: npt.NDArray[np.bool_] = np.logical_and(
        has_score.any(axis=4), ~np.all(is_vote | ~is_given, axis=4)
    )
    scores[is_partial] = np.nan
    cells = zip(persona_names, model_names, strict=True)
    return StoredScores(
        scores, is_partial, tuple(personas), tuple(models), tuple(criteria),
        dict(zip(judges, cells, strict=True)),
    )  # fmt: skip


def _coded(column: Any) -> tuple[list[str], Integers]:
    """The different texts of an Arrow column in order of first appearance, and each row's code."""
    import pyarrow as pa

    encoded = pa.chunked_array([column.combine_chunks().dictionary_encode()]).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([]).dictionary_encode()
    names = [str(name) for name in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return names, codes


def _mean(values: Floats, *, axis: int) -> Floats:
    """The mean of what is there; nan, without a warning, where nothing is."""
    if values.shape[axis] == 1:
        return np.squeeze(values, axis=axis)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        mean: Floats = np.nanmean(values, axis=axis)
    return mean
