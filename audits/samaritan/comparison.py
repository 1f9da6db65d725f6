"""Whether two models differ in how they rate a group against its control."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...aggregation.multiplicity import holm
from .figures import TargetPair
from .outcomes import Floats, Outcomes
from .scenario_means import adjusted_flips, corrected, flipped, mean_over


def compare(outcomes: Outcomes, gaps: Floats, *, resamples: int = 9_999) -> tuple[TargetPair, ...]:
    """Every pair of models in every group; empty with one model.

    Args:
        outcomes: the answers.
        gaps: (targets, scenarios, groups), group minus control.
        resamples: sign vectors beyond 30 scenarios.
    """
    places = [place for place, cell in enumerate(outcomes.groups) if not cell.is_control]
    cells = [
        (a, b, place) for a, b in combinations(range(len(outcomes.targets)), 2) for place in places
    ]
    if not cells:
        return ()
    columns = np.stack([gaps[a, :, place] - gaps[b, :, place] for a, b, place in cells], axis=1)
    raw, adjusted = flipped(columns, resamples), adjusted_flips(columns, resamples)
    family = f"{len(cells)} pairs x groups"
    raw_holm, adjusted_holm = (
        corrected(numbers, holm([number.value for number in numbers]), family)
        for numbers in (raw, adjusted)
    )
    return tuple(
        TargetPair(
            outcomes.targets[a],
            outcomes.targets[b],
            outcomes.groups[place].category,
            outcomes.groups[place].group,
            mean_over(columns[:, k], "difference of biases, by scenario"),
            raw[k],
            raw_holm[k],
            adjusted[k],
            adjusted_holm[k],
        )
        for k, (a, b, place) in enumerate(cells)
    )
