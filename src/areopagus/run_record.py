"""What run.json says of a panel's run, at its beginning, on the way and at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from .judges.models.usage import Spending, cost_record
from .records.run_folder import RUN_FORMAT
from .standing import Standing

if TYPE_CHECKING:
    from .panel import Panel
    from .records.readers.responses import SourceSummary

OF_RESPONSES = ("responses_sha256", "prompts_sha256", "targets", "asked")
"""Parts of a run's identity that say what was judged; all others say by whom and how."""

RunState = Literal["running", "complete", "interrupted", "budget"]


def run_record(
    panel: Panel,
    *,
    state: RunState,
    identity: Mapping[str, Any],
    source: SourceSummary,
    standing: Standing,
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
        standing: what the verdicts come to so far.
        counts: status to number of judgments.
        notices: what is to be said beside what the source says.
        answers: where models were asked for the responses, what became of that.
        is_demonstration: whether an embedded stand-in answered.
    """
    respondents, total = standing.means()
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
        "n_planned": source.n_responses * len(panel.bench.planned()),
        "counts": dict(counts),
        "verdicts": dict(standing.verdicts),
        "faults": dict(standing.faults),
        "flags": dict(standing.flags),
        "cost": {
            "replies_usd": standing.cost_usd,
            "judgments_with_unknown_price": standing.unknown_price,
            "note": "what the replies in these tables cost when they were paid, whoever paid",
            **cost_record(sessions),
        },
        "respondents": [item.to_json() for item in respondents],
        "total": total.to_json(),
        "sessions": list(sessions),
    }


def session_record(
    spending: Spending, *, started: datetime, state: RunState, cap: float | None
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
