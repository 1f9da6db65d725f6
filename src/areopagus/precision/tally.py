"""What a stopping rule spares, counted verdict by verdict, and what that costs in reliability."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..aggregation.design import CONFOUNDED
from ..graphs.stopping import (
    FIRST_BLOCK,
    LEVEL,
    STATED_COVERAGE,
    StoppingRule,
    ending_of,
    reached_half_width,
)
from ..records.types import Judgment, Verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..graphs.panel_spec import PanelSpec


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
        is_across: whether the run has one response a prompt, so that responses are told apart
            wherever they stand.
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
    were missing at random; `benchmarks/simulate.py precision` shows how near they come.

    Args:
        scores: shape (responses, personas, models, repeats), composites; nan where not scored.
        prompts: shape (responses,), code of each response's prompt.
        added_variance: mean over the responses of (1 - n/N) s^2 / n.
    """
    from ..aggregation.decision_study import d_study
    from ..aggregation.generalizability import panel_g_study

    n, personas, models, repeats = scores.shape

    def unknown(reason: str) -> Reliability:
        return Reliability(None, None, None, _finite(added_variance), n, False, reason)

    if n < FEWEST_RESPONSES:
        return unknown(f"fewer than {FEWEST_RESPONSES} responses were judged")
    study = panel_g_study(scores, prompt=prompts, jackknife=False)
    if study.reason is not None:
        return unknown(study.reason)
    design = d_study(study, personas=personas, models=models, repeats=repeats)
    if not design.universe > 0:
        return unknown("the responses do not differ by more than the judges do")
    error = design.relative_error
    full = design.universe / (design.universe + error)
    stopped = design.universe / (design.universe + error + added_variance)
    worth = None
    if 0 < full < 1:
        share = stopped * (1 - full) / (full * (1 - stopped))
        worth = share * personas * models * repeats
    return Reliability(full, stopped, worth, added_variance, n, design.target == "response")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


KEPT_RESPONSES = 1000
"""Responses whose judgments are kept for the reliability; the first ones of the run."""


class PrecisionTally:
    """Fed one verdict after the other; holds a few numbers a response at most.

    Attributes:
        rule: the rule.
        asked, spared: judgments asked, and those that the rule did not want.
        cut_off: judgments that nobody was asked for because the run ended before the rule did.
        endings: see `stopping.Ending`, to number of responses.
        n_screened: responses about which nobody is asked.
        n_cut_short: responses at which a budget or a stop of the run came before the rule.
    """

    def __init__(
        self, rule: StoppingRule, *, personas: Sequence[str], models: Sequence[str], repeats: int,
        grain: float,
    ) -> None:  # fmt: skip
        self.rule = rule
        self.asked = self.spared = self.cut_off = self.n_screened = self.n_cut_short = 0
        self.endings: Counter[str] = Counter()
        self._grain = grain
        self._persona = {name: place for place, name in enumerate(personas)}
        self._model = {name: place for place, name in enumerate(models)}
        self._shape = (len(personas), len(models), repeats)
        self._spared_of: Counter[str] = Counter()
        self._paid: Counter[str] = Counter()
        self._cost: dict[str, float] = {}
        self._added = self._reached = 0.0
        self._n_added = 0
        self._scores = array("d")
        self._prompts = array("l")
        self._prompt_codes: dict[str, int] = {}

    def add(self, verdict: Verdict, prompt: str) -> None:
        """One more response, to a prompt of this text."""
        if verdict.status == "screened":
            self.n_screened += 1
            return
        asked = [one for one in verdict.judgments if one.reason != "precision"]
        cut_off = sum(one.status == "not_asked" and not one.calls for one in asked)
        self.cut_off += cut_off
        self.asked += len(asked) - cut_off
        self.spared += len(verdict.judgments) - len(asked)
        for one in verdict.judgments:
            self._count(one)
        if any(one.reason in ("budget", "interrupted") for one in asked):
            self.n_cut_short += 1
            return
        planned = len(verdict.judgments)
        values = [one.composite for one in asked]
        self.endings[ending_of(self.rule, planned, values, grain=self._grain)] += 1
        self._add_variance(planned, values)
        if len(self._prompts) < KEPT_RESPONSES:
            self._keep(prompt, asked)

    def to_json(self) -> dict[str, Any]:
        """The rule, what it spared and what that cost in reliability, as run.json has it."""
        rule = self.rule
        usd, unknown = self._saved_usd()
        return {
            "half_width": rule.half_width,
            "judges_per_response": rule.most,
            "seed": rule.seed,
            "order": "random, balanced over backends, axes and personas",
            "first_block": FIRST_BLOCK if rule.half_width is not None else None,
            "level": LEVEL,
            "stated_coverage": STATED_COVERAGE if rule.half_width is not None else None,
            "asked": self.asked,
            "not_asked": self.spared,
            "cut_off": self.cut_off,
            "responses": {
                **{name: self.endings[name] for name in ("precise", "allowance", "everyone")},
                "cut_short": self.n_cut_short,
                "screened": self.n_screened,
            },
            "mean_half_width": self._reached / self._n_added if self._n_added else None,
            "saved": {
                "calls": self.spared,
                "usd": usd,
                "calls_with_unknown_price": unknown,
                "note": "calls at the mean price of the judgments asked of the same backend",
            },
            "reliability": asdict(self.reliability()),
        }

    def reliability(self) -> Reliability:
        """What asking fewer costs in reliability, from the first responses of the run."""
        import numpy as np

        added = self._added / self._n_added if self._n_added else math.nan
        n = len(self._prompts)
        if not n or not self._n_added:
            reason = CONFOUNDED if n else "no response was judged"
            return Reliability(None, None, None, None, n, False, reason)
        scores = np.frombuffer(self._scores, dtype=np.float64).reshape(n, *self._shape)
        return reliability_kept(scores, np.array(self._prompts, dtype=np.int64), added)

    def _count(self, judgment: Judgment) -> None:
        model = judgment.model
        if judgment.reason == "precision":
            self._spared_of[model] += 1
            return
        if judgment.calls and judgment.cost_usd is not None:
            self._paid[model] += 1
            self._cost[model] = self._cost.get(model, 0.0) + judgment.cost_usd

    def _add_variance(self, planned: int, values: Sequence[float | None]) -> None:
        scored = [value for value in values if value is not None]
        n = len(scored)
        if n < 2:
            return
        population = planned - len(values) + n
        mean = math.fsum(scored) / n
        variance = math.fsum((value - mean) ** 2 for value in scored) / (n - 1)
        self._added += (1.0 - n / population) * variance / n
        self._reached += reached_half_width(planned, values, grain=self._grain)
        self._n_added += 1

    def _keep(self, prompt: str, asked: Sequence[Judgment]) -> None:
        personas, models, repeats = self._shape
        row = array("d", [math.nan]) * (personas * models * repeats)
        for one in asked:
            if one.composite is not None:
                place = self._persona[one.persona] * models + self._model[one.model]
                row[place * repeats + one.repeat] = one.composite
        self._scores.extend(row)
        self._prompts.append(self._prompt_codes.setdefault(prompt, len(self._prompt_codes)))

    def _saved_usd(self) -> tuple[float | None, int]:
        """Dollars not spent, where prices are known, and the calls for which they are not."""
        known = 0.0
        unknown = 0
        for model, number in self._spared_of.items():
            if self._paid[model]:
                known += number * self._cost[model] / self._paid[model]
            else:
                unknown += number
        return (None if unknown and unknown == self.spared else known), unknown


def panel_with_rule(panel: PanelSpec, rule: StoppingRule) -> tuple[PanelSpec, PrecisionTally]:
    """The same panel, over the same ledger and connections, that asks by a rule; and its tally.

    Its requests and their keys are those of the panel without one.
    """
    tally = PrecisionTally(
        rule,
        personas=[persona.id for persona in panel.personas],
        models=[backend.spec.name for backend in panel.backends],
        repeats=panel.repeats,
        grain=panel.grain,
    )
    return replace(panel, rule=rule, notes={**panel.notes, "precision": tally}), tally
