"""How far two judges agree on the answers that rules left to them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from ...aggregation.agreement import cohen_kappa
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.proportions import wilson
from ..answers_table import AnswersTable


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """The two judges, before anything was settled.

    Attributes:
        n: answers that both read.
        same: share on which they say the same.
        kappa: Cohen's kappa.
        rulings: outcome of judging to number of answers.
    """

    n: int
    same: Estimate
    kappa: Estimate
    rulings: dict[str, int]


def judge_figures(table: AnswersTable) -> JudgeFigures | None:
    """The figures; None where no judge was asked."""
    rulings: Counter[str] = Counter()
    pairs: list[tuple[str, str]] = []
    for row in table.rows("judging", "judge_1", "judge_2"):
        if row["judging"]:
            rulings[row["judging"]] += 1
        if row["judge_1"] is not None and row["judge_2"] is not None:
            pairs.append((row["judge_1"], row["judge_2"]))
    if not rulings:
        return None
    n, method = len(pairs), "Cohen's kappa"
    if not pairs:
        empty = undefined("no two judges read the same answer", unit="answer", method=method)
        return JudgeFigures(0, empty, empty, dict(rulings))
    same = sum(a == b for a, b in pairs)
    kappa = cohen_kappa([a for a, _ in pairs], [b for _, b in pairs])
    return JudgeFigures(
        n,
        wilson(same, n, unit="answer").of("share"),
        undefined("both say one thing only", unit="answer", method=method, n=n)
        if math.isnan(kappa)
        else Estimate(kappa, n=n, unit="answer", method=method),
        dict(rulings),
    )
