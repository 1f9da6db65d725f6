"""How respondents stand to one another on the prompts that all of them answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .numbers import parsed

if TYPE_CHECKING:
    from ..aggregation.estimate import Estimate

Floats = npt.NDArray[np.float64]

ONE_RESPONDENT = "there is one respondent: nothing to rank"
NO_COMMON_PROMPT = "no prompt has a score for every respondent"


@dataclass(frozen=True, slots=True)
class Standings:
    """Mean ranks.

    Attributes:
        names: the respondents.
        ranks: mean rank over the common prompts with its interval, 1 = best, ties share the mean
            of their places; one a respondent, () where nothing can be ranked.
        n_common: prompts on which every respondent has a score.
        reason: why there are no ranks, or None.
    """

    names: tuple[str, ...]
    ranks: tuple[Estimate, ...]
    n_common: int
    reason: str | None


def prompt_table(rows: Sequence[Mapping[str, str]]) -> tuple[tuple[str, ...], Floats]:
    """(respondents, composites of shape (prompts, respondents)) from the rows of scores.csv.

    A cell is the mean over the respondent's scored responses to the prompt, nan without any.
    """
    respondents: dict[str, int] = {}
    prompts: dict[str, int] = {}
    sums: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        who = respondents.setdefault(row["respondent_id"], len(respondents))
        prompt = prompts.setdefault(row["prompt_id"], len(prompts))
        value = parsed(row["composite"])
        if value is not None:
            sums.setdefault((prompt, who), []).append(value)
    table = np.full((len(prompts), len(respondents)), np.nan)
    for place, values in sums.items():
        table[place] = math.fsum(values) / len(values)
    return tuple(respondents), table


def standings(names: Sequence[str], table: Floats) -> Standings:
    """The mean ranks of respondents.

    Args:
        names: the respondents.
        table: shape (prompts, respondents), larger is better, nan = no score.
    """
    from ..aggregation.intervals import t_interval

    if len(names) < 2:
        return Standings(tuple(names), (), 0, ONE_RESPONDENT)
    common = table[~np.isnan(table).any(axis=1)]
    if not len(common):
        return Standings(tuple(names), (), 0, NO_COMMON_PROMPT)
    ranks = np.stack([_mid_ranks(row) for row in common])
    return Standings(
        names=tuple(names),
        ranks=tuple(t_interval(ranks[:, who]) for who in range(len(names))),
        n_common=len(common),
        reason=None,
    )


def _mid_ranks(values: Floats) -> Floats:
    """Ranks from 1 for the largest; those that tie share their mean.

    As `scipy.stats.rankdata` of the negative values, which takes a second to load.
    """
    _, group, sizes = np.unique(-values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    found: Floats = (last - (sizes - 1) / 2)[group]
    return found
