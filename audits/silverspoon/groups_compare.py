"""Whether two models differ about the same names: in level, between genders, between cities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ...aggregation.estimate import Estimate, undefined
from ...aggregation.multiplicity import holm
from ...aggregation.welch_james import welch_james
from .groups_estimate import Floats, GroupAnswers, difference_of, group_answers, name_table


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two models on the same names.

    Attributes:
        a, b: the models.
        measure: "all", "male - female" (the last gender minus the first) or "rich - poor cities".
        difference: of a's value minus b's.
        p: Welch's t over names; `p_holm` over all pairs and measures.
    """

    a: str
    b: str
    measure: str
    difference: Estimate
    p: Estimate
    p_holm: Estimate


def compare_groups(
    models: Sequence[tuple[str, GroupAnswers]],
    *,
    outcome: str,
    genders: Sequence[str],
    races: Sequence[str],
) -> tuple[GroupPair, ...]:
    """Every pair of models, on the names and incomes of cities that both have answers about.

    Args:
        models: name and answers of each.
        outcome: what the scores are.
        genders, races: as in `group_figures`.
    """
    found: list[GroupPair] = []
    for (a, first), (b, second) in combinations(models, 2):
        table = name_table(_gaps(first, second), genders, races)
        level, change = table.cells("level"), table.cells("change")
        shape = (len(genders), len(races))
        even: Floats = np.full(shape, 1 / (shape[0] * shape[1]))
        measures = [("all", level, even), ("rich - poor cities", change, even)]
        if len(genders) == 2:
            sides = even * np.asarray([[-2.0], [2.0]])
            measures.insert(1, (f"{genders[1]} - {genders[0]}", level, sides))
        for measure, cells, weights in measures:
            test = welch_james(cells, weights.reshape(1, -1))
            n = sum(int((~np.isnan(cell)).sum()) for cell in cells)
            method = "Welch's t over names"
            p = (
                undefined(test.reason or "undefined", unit="name", method=method, n=n)
                if math.isnan(test.p)
                else Estimate(test.p, n=n, unit="name", method=method)
            )
            found.append(GroupPair(a, b, measure, difference_of(test, n, outcome), p, p))
    if not found:
        return ()
    adjusted = holm([one.p.value for one in found])
    return tuple(
        replace(
            one,
            p_holm=replace(
                one.p, value=float(p), method=f"{one.p.method}, Holm over {len(found)} tests"
            ),
        )
        for one, p in zip(found, adjusted, strict=True)
    )


def _gaps(first: GroupAnswers, second: GroupAnswers) -> GroupAnswers:
    """One row a name and income of city that both have: the difference of the mean scores."""
    means = [_means(answers) for answers in (first, second)]
    return group_answers(
        [(*place, "", means[0][place] - means[1][place]) for place in means[0] if place in means[1]]
    )


def _means(answers: GroupAnswers) -> dict[tuple[str, str, str, str], float]:
    sums: dict[tuple[str, str, str, str], list[float]] = {}
    rows = zip(
        answers.unit.tolist(), answers.gender.tolist(), answers.race.tolist(),
        answers.city.tolist(), answers.score.tolist(), strict=True,
    )  # fmt: skip
    for unit, gender, race, city, score in rows:
        sums.setdefault((unit, gender, race, city), []).append(score)
    return {place: math.fsum(values) / len(values) for place, values in sums.items()}
