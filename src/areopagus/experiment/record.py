"""The content of a scoring run's run.json, and the running summary that it is made from."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ..judges.models.usage import UsageSnapshot, cost_record
from ..records.run_folder import RUN_FORMAT
from ..records.types import Verdict
from ..run import RespondentMean

if TYPE_CHECKING:
    from ..aggregation.respondents import PromptUnitMeans
    from ..graphs.panel_spec import PanelSpec
    from ..records.readers.responses import SourceSummary


OF_RESPONSES = ("responses_sha256", "prompts_sha256", "targets", "asked")
"""Parts of a run's identity that say what was judged; all others say by whom and how."""

RunState = Literal["running", "complete", "interrupted", "budget"]


def run_record(
    panel: PanelSpec,
    *,
    state: RunState,
    identity: Mapping[str, Any],
    source: SourceSummary,
    running_summary: RunningSummary,
    counts: Mapping[str, int],
    sessions: Sequence[Mapping[str, Any]],
    notices: Sequence[str] = (),
    answers: Mapping[str, Any] | None = None,
    is_demonstration: bool = False,
) -> dict[str, Any]:
    """The content of run.json.

    Args:
        panel: who judges.
        state, identity, sessions: of the run.
        source: the responses.
        running_summary: what the verdicts come to so far.
        counts: status to number of judgments.
        notices: what is to be said beside what the source says.
        answers: where models were asked for the responses, what became of that.
        is_demonstration: whether an embedded stand-in answered.
    """
    respondents, total = running_summary.means()
    return {
        "format": RUN_FORMAT,
        "kind": "panel",
        "state": state,
        "demonstration": panel.is_demonstration or is_demonstration,
        "identity": dict(identity),
        "versions": versions(),
        "source": source.name,
        "notices": [*source.notices, *notices],
        "responses": {
            "n": source.n_responses,
            "prompts": source.n_prompts,
            "respondents": source.n_respondents,
        },
        **({"answers": dict(answers)} if answers is not None else {}),
        "panel": panel.describe(),
        "ledger": panel.ledger.place,
        "n_planned": source.n_responses * len(panel.planned()),
        "counts": dict(counts),
        "verdicts": dict(running_summary.verdicts),
        "faults": dict(running_summary.faults),
        "flags": dict(running_summary.flags),
        "cost": {
            "replies_usd": running_summary.cost_usd,
            "judgments_with_unknown_price": running_summary.unknown_price,
            "note": "what the replies in these tables cost when they were paid, whoever paid",
            **cost_record(sessions),
        },
        "respondents": [item.to_json() for item in respondents],
        "total": total.to_json(),
        "sessions": list(sessions),
    }


def session_record(
    spending: UsageSnapshot, *, started: datetime, state: RunState, cap: float | None
) -> dict[str, Any]:
    """One session of run.json: each time the run was worked on."""
    return {
        "started": started.isoformat(timespec="seconds"),
        "ended": None if state == "running" else datetime.now(UTC).isoformat(timespec="seconds"),
        "state": state,
        **spending.to_json(),
        "max_cost_usd": cap,
    }


def versions() -> dict[str, str]:
    """The versions of what shaped the numbers, and of a second list of prices if there is one."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for name in ("areopagus", "litellm", "langgraph", "langchain-core", "pydantic", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    with suppress(PackageNotFoundError):
        found["genai-prices"] = version("genai-prices")
    return found


class RunningSummary:
    """Fed one verdict after the other; holds a few numbers a response, no text.

    Attributes:
        verdicts: status of the verdict to number of responses.
        faults: "status: reason" to number of judgments that are neither scored nor abstained.
        flags: flag of the screen to number of responses.
        cost_usd: sum over judgments whose price is known.
        unknown_price: judgments whose replies have no known price.
        n_settled_judgments: judgments not asked because there was nothing to judge, or because a
            stopping rule had enough: neither is a shortfall.
    """

    def __init__(self, criteria: Sequence[str]) -> None:
        self.criteria = tuple(criteria)
        self.verdicts: dict[str, int] = {"scored": 0, "inconclusive": 0, "screened": 0}
        self.faults: dict[str, int] = {}
        self.flags: dict[str, int] = {}
        self.cost_usd = 0.0
        self.unknown_price = 0
        self.n_settled_judgments = 0
        self._values = array("d")
        self._prompts = array("l")
        self._respondents = array("l")
        self._prompt_codes: dict[str, int] = {}
        self._respondent_codes: dict[str, int] = {}

    def add(self, verdict: Verdict) -> None:
        """One more response."""
        self.verdicts[verdict.status] += 1
        for flag in verdict.flags:
            self.flags[flag] = self.flags.get(flag, 0) + 1
        for judgment in verdict.judgments:
            if judgment.calls and judgment.cost_usd is None:
                self.unknown_price += 1
            self.cost_usd += judgment.cost_usd or 0.0
            if judgment.status in ("scored", "abstained"):
                continue
            self.n_settled_judgments += judgment.reason in ("screened", "precision")
            if judgment.reason == "precision":
                continue  # counted by the rule's own tally: nothing is wrong with it
            name = f"{judgment.status}: {judgment.reason}"
            self.faults[name] = self.faults.get(name, 0) + 1
        self._values.append(_nan(verdict.composite))
        self._values.extend(_nan(verdict.dimensions.get(name)) for name in self.criteria)
        self._prompts.append(
            self._prompt_codes.setdefault(verdict.prompt_id, len(self._prompt_codes))
        )
        self._respondents.append(
            self._respondent_codes.setdefault(verdict.respondent_id, len(self._respondent_codes))
        )

    def means(self) -> tuple[list[RespondentMean], RespondentMean]:
        """Means by respondent, in their order of appearance, and of the run."""
        if not self._prompts:
            return [], RespondentMean("run", 0, 0, 0, None, None, "no response was scored")
        import numpy as np

        from ..aggregation.respondents import by_prompt_unit

        width = 1 + len(self.criteria)
        values = np.frombuffer(self._values, dtype=np.float64).reshape(-1, width)
        prompts = np.frombuffer(self._prompts, dtype=np.dtype("l"))
        respondents = np.frombuffer(self._respondents, dtype=np.dtype("l"))
        scores = by_prompt_unit(values, prompts, respondents)
        names = list(self._respondent_codes)
        by_code = {int(label): index for index, label in enumerate(scores.respondents.labels)}
        found = [
            self._mean(name, scores.respondents, by_code[code]) for code, name in enumerate(names)
        ]
        return found, self._mean("run", scores.run, 0)

    def _mean(self, name: str, table: PromptUnitMeans, row: int) -> RespondentMean:
        low, high = float(table.low[row, 0]), float(table.high[row, 0])
        return RespondentMean(
            respondent_id=name,
            n_responses=int(table.n_responses[row]),
            n_scored=int(table.n_scored[row, 0]),
            n_prompts=int(table.n_prompts[row, 0]),
            composite=_finite(table.mean[row, 0]),
            interval=(low, high) if math.isfinite(low) and math.isfinite(high) else None,
            reason=table.reason[row, 0],
            dimensions={
                criterion: (
                    _finite(table.mean[row, k]),
                    _finite(table.low[row, k]),
                    _finite(table.high[row, k]),
                )
                for k, criterion in enumerate(self.criteria, start=1)
            },
        )


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
