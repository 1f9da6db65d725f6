"""The judges in the report: means by model, persona and axis, and how personas agree."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .document import SHADES
from .judgment_table import Coded, Codes, Floats, JudgmentTable
from .numbers import words

NARROWEST_RANGE = 0.1
"""Least range of a shading, as a share of the scale: noise must not look like a pattern."""

FEWEST_SHARED = 6
"""Responses that two personas must have scored both before their agreement is stated."""


@dataclass(frozen=True, slots=True)
class Group:
    """One model, persona or axis.

    Attributes:
        name: its id.
        n_responses: responses of which it scored at least one judgment.
        means: composite, then one a criterion: each response's mean over the group's scored
            judgments, averaged over responses; None where it scored nothing.
        counts: status to number of its judgments.
        n_repaired: judgments that needed a second ask.
    """

    name: str
    n_responses: int
    means: tuple[float | None, ...]
    counts: dict[str, int]
    n_repaired: int

    @property
    def n_planned(self) -> int:
        """Judgments planned: the sum of all statuses."""
        return sum(self.counts.values())

    @property
    def others(self) -> str:
        """How many judgments were not scored, by status."""
        named = [f"{n} {words(s)}" for s, n in self.counts.items() if n and s != "scored"]
        return ", ".join(named) or "none"


MOST_SCORES = 120_000
"""Judgments from which variance components are estimated; of more, prompts drawn by seed."""

ONE_OF_A_KIND = (
    "with one model or one persona, what its judgments share cannot be told from how the "
    "responses differ"
)
NOBODY_SCORED = "no judgment was scored"


@dataclass(frozen=True, slots=True)
class Worth:
    """What a response's judgments are worth.

    Attributes:
        n_judgments: planned for each response.
        effective: as many independent single judgments make an error of the same size, by the
            run's own variance components; None where that cannot be told.
        reason: why it cannot be told, or None.
    """

    n_judgments: int
    effective: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the personas order the responses.

    Attributes:
        names: the personas.
        tau: shape (P, P), Kendall's tau-b over the responses that both scored; nan where fewer
            than `FEWEST_SHARED` or one of them does not vary.
        n: shape (P, P), responses that both scored.
        others: shape (P,), mean of a persona's tau with the others; nan where none is defined.
    """

    names: tuple[str, ...]
    tau: Floats
    n: npt.NDArray[np.int64]
    others: Floats


def groups_of(table: JudgmentTable, coded: Coded) -> list[Group]:
    """The groups of one kind, in their order of appearance."""
    means = mean_over_responses(table.by_group(coded.codes, coded.n))
    found = []
    for code, name in enumerate(coded.names):
        mine = coded.codes == code
        known = ~np.isnan(table.values[:, 0]) & mine
        found.append(
            Group(
                name=name,
                n_responses=len(np.unique(table.response[known])),
                means=tuple(None if np.isnan(value) else float(value) for value in means[code]),
                counts=table.counts_where(mine),
                n_repaired=int(table.is_repaired[mine].sum()),
            )
        )
    return found


def cell_means(table: JudgmentTable) -> tuple[Floats, npt.NDArray[np.int64]]:
    """(mean composite, responses behind it), shape (personas, models), by persona and model."""
    n_models = table.model.n
    codes: Codes = (table.persona.codes * n_models + table.model.codes).astype(np.int32)
    by_cell = table.by_group(codes, table.persona.n * n_models)[:, :, 0]
    shape = (table.persona.n, n_models)
    return (
        mean_over_responses(by_cell[:, :, None])[:, 0].reshape(shape),
        (~np.isnan(by_cell)).sum(axis=1).reshape(shape),
    )


def mean_over_responses(table: Floats) -> Floats:
    """Shape (groups, columns): means over the second axis, nan of nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        return np.asarray(np.nanmean(table, axis=1), dtype=np.float64)


def worth_of(table: JudgmentTable, prompts: Sequence[str], *, seed: int = 0) -> Worth:
    """The effective number of judgments of the panel, from a G-study of the composites.

    Args:
        table: the judgments.
        prompts: prompt id of each response of the table.
        seed: which prompts are drawn of a very large run.
    """
    from ..aggregation.effective_judges import effective_judges_from_components
    from ..aggregation.generalizability import panel_g_study

    repeats = int(table.repeat.max()) + 1 if table.repeat.size else 1
    shape = (table.persona.n, table.model.n, repeats)
    n = int(np.prod(shape))
    if min(shape[:2]) < 2:
        return Worth(n, None, ONE_OF_A_KIND)
    if not np.isfinite(table.values[:, 0]).any():
        return Worth(n, None, NOBODY_SCORED)
    names, codes = np.unique(np.asarray(prompts, dtype=str), return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names))
    taken = np.bincount(codes, weights=np.diff(table.start), minlength=len(names))[order]
    is_chosen = np.isin(codes, order[np.cumsum(taken) <= max(MOST_SCORES, taken[0])])
    rows = is_chosen[table.response]
    scores = np.full((table.n_responses, *shape), np.nan)
    scores[
        table.response[rows], table.persona.codes[rows], table.model.codes[rows], table.repeat[rows]
    ] = table.values[rows, 0]
    study = panel_g_study(
        scores[is_chosen],
        prompt=[prompts[int(k)] for k in np.flatnonzero(is_chosen)],
        jackknife=False,
    )
    if study.reason is not None:  # too few were scored: no component is defined
        return Worth(n, None, study.reason)
    worth = effective_judges_from_components(
        study, personas=shape[0], models=shape[1], repeats=repeats
    )
    if not np.isfinite(worth):
        return Worth(n, None, "no component of error is above 0")
    return Worth(n, float(worth), None)


def agreement_of(names: Sequence[str], composite: Floats) -> Agreement:
    """The agreement of personas.

    Args:
        names: the personas.
        composite: shape (personas, responses), each one's mean composite; nan = not scored.
    """
    from ..aggregation.kendall import kendall_tau_b

    n = len(names)
    known = ~np.isnan(composite)
    shared = known.astype(np.int64) @ known.T.astype(np.int64)
    tau = np.full((n, n), np.nan)
    for first in range(n):
        for second in range(first + 1, n):
            both = known[first] & known[second]
            if shared[first, second] >= FEWEST_SHARED:
                value = kendall_tau_b(composite[first, both], composite[second, both])
                tau[first, second] = tau[second, first] = value
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        others = np.nanmean(tau, axis=1) if n else np.empty(0)
    return Agreement(tuple(names), tau, shared, others)


def shades_of(values: Floats, scale: tuple[float, float]) -> npt.NDArray[np.int64]:
    """Shade of each value over the range of them all, at least a tenth of the scale; -1 of nan."""
    shades = np.full(values.shape, -1, dtype=np.int64)
    known = ~np.isnan(values)
    if not known.any():
        return shades
    low, high = float(values[known].min()), float(values[known].max())
    missing = NARROWEST_RANGE * (scale[1] - scale[0]) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    share = (values[known] - low) / (high - low)
    shades[known] = np.clip((share * SHADES).astype(np.int64), 0, SHADES - 1)
    return shades
