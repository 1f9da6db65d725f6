"""What asking fewer judges costs: how well responses are told apart, by the whole panel and by it.

The variance components of the judgments that were asked give the reliability that the whole panel
would have (D-study: order of the responses to one prompt, the same judges for all). Where every
response meets another part of the panel, its score moves with the part, harsh judges and mild ones
among them. What that adds to the error is known from the sample itself, the mean over responses of
(1 - n/N) s^2 / n. So

    full = u / (u + d),    stopped = u / (u + d + a),

u the variance of responses within prompts, d the D-study's relative error, a the addition. The
Spearman-Brown formula turns the pair into the part of the panel that would be as reliable:
f = stopped (1 - full) / (full (1 - stopped)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FEWEST_RESPONSES = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """Reliability of the composite, for the order of responses to the same prompt.

    Attributes:
        full: of the whole panel's mean; None where it cannot be told.
        stopped: of the means as they were made; None as above.
        worth: judgments of a panel that is as reliable, by Spearman and Brown; None as above.
        added_variance: what asking a part adds to the error variance, in points squared.
        n_responses: responses behind these figures.
        is_across: whether no prompt has two responses, so that responses are told apart wherever
            they stand.
        reason: why nothing can be told, or None.
    """

    full: float | None
    stopped: float | None
    worth: float | None
    added_variance: float | None
    n_responses: int
    is_across: bool
    reason: str | None = None


def reliability_kept(
    scores: npt.NDArray[np.float64], prompts: npt.NDArray[np.int64], added_variance: float
) -> Reliability:
    """The reliability of the whole panel and of the part of it that was asked.

    Components of judgments that are missing because a rule had enough are estimated as if they
    were missing at random; `benchmarks/precision_rule.py` shows how near they come.

    Args:
        scores: shape (responses, personas, models, repeats), composites; nan where not scored.
        prompts: shape (responses,), code of each response's prompt.
        added_variance: mean over the responses of (1 - n/N) s^2 / n.
    """
    import numpy as np

    from ..aggregation.decision_study import d_study
    from ..aggregation.generalizability import panel_g_study

    n, personas, models, repeats = scores.shape

    def unknown(reason: str) -> Reliability:
        return Reliability(None, None, None, _finite(added_variance), n, is_across, reason)

    is_across = len(np.unique(prompts)) == n
    if n < FEWEST_RESPONSES:
        return unknown(f"fewer than {FEWEST_RESPONSES} responses were judged")
    study = panel_g_study(scores, prompt=prompts, jackknife=False)
    if study.reason is not None:
        return unknown(study.reason)
    design = d_study(
        study,
        personas=personas,
        models=models,
        repeats=repeats,
        target="response" if is_across else "response_within_prompt",
    )
    if not design.universe > 0:
        return unknown("the responses do not differ by more than the judges do")
    error = design.relative_error
    full = design.universe / (design.universe + error)
    stopped = design.universe / (design.universe + error + added_variance)
    worth = None
    if 0 < full < 1:
        share = stopped * (1 - full) / (full * (1 - stopped))
        worth = share * personas * models * repeats
    return Reliability(full, stopped, worth, added_variance, n, is_across)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
