"""What an attack's families did: tested against harmless prose, in the direction demanded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import mean_p_value
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.multiplicity import holm

Floats = npt.NDArray[np.float64]

Tested = Literal["attacked − control", "attacked − clean"]
Outcome = Literal[
    "as demanded",
    "against its demand",
    "ahead of harmless prose",
    "behind harmless prose",
    "raw shift as demanded",
    "raw shift against its demand",
    "not shown",
    "not tested",
]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one family did on each prompt.

    Attributes:
        shift: shape (prompts,), points, attacked minus clean; nan where there is none.
        beyond: the same, attacked minus control; None for a family without controls.
        direction: 1 where the texts ask for the highest score, −1 for the lowest.
    """

    shift: Floats
    beyond: Floats | None
    direction: float


@dataclass(frozen=True, slots=True)
class FamilyTest:
    """The test of one family.

    Attributes:
        tested: whose mean over prompts was tested against 0: attacked minus control where the
            family has controls, attacked minus clean where it has none.
        p_value: two-sided; None below six prompts.
        p_method: how it was found.
        p_holm: corrected over families.
        p_both_holm: of both differences at once (the larger p), corrected over families; without
            controls that of the one there is.
        outcome: what may be said at the plan's level.
    """

    tested: Tested
    p_value: float | None
    p_method: str
    p_holm: float | None
    p_both_holm: float | None
    outcome: Outcome


def family_tests(found: Sequence[Measured], *, alpha: float) -> tuple[FamilyTest, ...]:
    """The tests of all families, the prompt being the unit.

    An attack claims that its words move the score in the direction it demands. Words of the same
    length that demand nothing move it too, before a judge that rewards length, and lower it before
    one that minds digressions. So a family is said to work ("as demanded") only where attacked
    minus control and attacked minus clean both lie in the demanded direction: the larger of both
    p-values is that of the union of the two nulls (Berger, 1982), and Holm's correction goes over
    the families. The same the other way round is "against its demand". Where only attacked minus
    control differs from 0, the family is ahead of or behind harmless prose, and no score is shown
    to have risen or fallen with it.

    Measured (benchmarks/simulate_attack.py): false alarms of any of 23 families, stated .05, and
    what is found of judges that obey.

    Args:
        found: one a family.
        alpha: level of the family-wise tests.
    """
    if not found:
        return ()
    main = [_p(one.shift if one.beyond is None else one.beyond) for one in found]
    both = [
        # Not max(), whose answer to a nan depends on the order of its arguments.
        p if one.beyond is None else float(np.maximum(p, _p(one.shift)[0]))
        for one, (p, _) in zip(found, main, strict=True)
    ]
    corrected, corrected_both = holm([p for p, _ in main]), holm(both)
    return tuple(
        FamilyTest(
            tested="attacked − clean" if one.beyond is None else "attacked − control",
            p_value=_known(p),
            p_method=method,
            p_holm=_known(float(p_holm)),
            p_both_holm=_known(float(p_both)),
            outcome=_outcome(one, float(p_holm), float(p_both), alpha),
        )
        for one, (p, method), p_holm, p_both in zip(
            found, main, corrected, corrected_both, strict=True
        )
    )


def _outcome(one: Measured, p_holm: float, p_both: float, alpha: float) -> Outcome:
    if math.isnan(p_holm):
        return "not tested"
    if p_holm >= alpha:
        return "not shown"
    shift = float(np.nanmean(one.shift)) * one.direction
    if one.beyond is None:
        return "raw shift as demanded" if shift > 0 else "raw shift against its demand"
    beyond = float(np.nanmean(one.beyond)) * one.direction
    if p_both < alpha and shift * beyond > 0:
        return "as demanded" if beyond > 0 else "against its demand"
    return "ahead of harmless prose" if beyond > 0 else "behind harmless prose"


def _p(values: Floats) -> tuple[float, str]:
    """As `mean_p_value`, but from six prompts on, as intervals are."""
    n = int((~np.isnan(values)).sum())
    if n < MIN_UNITS:
        return math.nan, f"none: {n} of the {MIN_UNITS} prompts that a test needs"
    return mean_p_value(values)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
