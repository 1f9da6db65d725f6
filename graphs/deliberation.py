"""From the judgments on one response to the panel's verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..judges.judge import Matter
from ..records.types import Judgment, Verdict, VerdictStatus, count_statuses
from .state import Bench


def deliberate(
    judgments: tuple[Judgment, ...], *, bench: Bench, matter: Matter, flags: Sequence[str] = ()
) -> Verdict:
    """The verdict on one response.

    Args:
        judgments: every planned judgment, in the order of the plan.
        bench: the panel.
        matter: the response.
        flags: what the screen noticed.
    """
    import numpy as np

    from ..aggregation.ensemble import aggregate_panel

    contract = bench.brief.contract
    criteria = contract.criteria
    personas = list(dict.fromkeys(judgment.persona for judgment in judgments))
    models = list(dict.fromkeys(judgment.model for judgment in judgments))
    scores = np.full((1, len(judgments), len(criteria)), np.nan)
    for column, judgment in enumerate(judgments):
        if judgment.status == "scored":
            scores[0, column] = [judgment.scores[name] for name in criteria]
    counts = count_statuses(judgments)
    # Whom the rule did not want to hear counts neither for nor against the quorum.
    n_spared = sum(judgment.reason == "precision" for judgment in judgments)
    panel = aggregate_panel(
        scores,
        persona=[personas.index(judgment.persona) for judgment in judgments],
        model=[models.index(judgment.model) for judgment in judgments],
        axis=[judgment.axis for judgment in judgments],
        scale=(contract.low, contract.high),
        planned=len(judgments) - n_spared,
        abstained=[counts["abstained"]],
        quorum=bench.quorum,
    )
    screened = all(judgment.reason == "screened" for judgment in judgments)
    status: VerdictStatus = "scored"
    reason: str | None = None
    if screened:
        status, reason = "screened", judgments[0].detail
    elif bool(panel.inconclusive[0]):
        # Of those that were to be asked, which are not all that the panel has.
        told = str(panel.reason[0])
        told = told.replace(" planned", " asked", 1) if n_spared else told
        status, reason = "inconclusive", _why(counts, told)
    costs = [judgment.cost_usd for judgment in judgments if judgment.calls]
    known = [cost for cost in costs if cost is not None]
    return Verdict(
        response_id=matter.response_id,
        prompt_id=matter.prompt_id,
        respondent_id=matter.respondent_id,
        status=status,
        reason=reason,
        composite=_number(panel.composite[0]),
        dimensions=_named(criteria, panel.mean[0]),
        interval=_span(panel.composite_low[0], panel.composite_high[0]),
        interval_method=panel.interval_method[0],
        interval_reason=panel.composite_interval_reason[0],
        dimension_intervals={
            name: _span(panel.low[0, k], panel.high[0, k]) for k, name in enumerate(criteria)
        },
        median=_number(panel.composite_median[0]),
        trimmed_mean=_number(panel.composite_trimmed_mean[0]),
        sd=_number(panel.composite_sd[0]),
        by_persona=_named(personas, panel.by_persona[0]),
        by_model=_named(models, panel.by_model[0]),
        by_axis=_named(panel.axes, panel.by_axis[0]),
        disagreement=str(panel.disagreement[0]),
        share_abstained=_number(panel.share_abstained[0]),
        n_scored=counts["scored"],
        n_planned=len(judgments),
        counts=counts,
        flags=tuple(flags),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        judgments=judgments,
    )


def _why(counts: dict[str, int], reason: str | None) -> str:
    parts = ", ".join(
        f"{number} {status.replace('_', ' ')}"
        for status, number in counts.items()
        if number and status != "scored"
    )
    return f"{reason} ({parts})" if parts else str(reason)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _named(names: Sequence[str], values: Sequence[float]) -> dict[str, float | None]:
    return {name: _number(value) for name, value in zip(names, values, strict=True)}


def _span(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None
