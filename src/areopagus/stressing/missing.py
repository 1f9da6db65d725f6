"""What was planned and is not there: responses that never came, framings without a variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .answers import Asking
from .panel_rows import NO_RESPONSE
from .source import StressResponse
from .table import ConditionCounts

Counts = Mapping[tuple[str, str], ConditionCounts]


def count_missing(
    askings: Sequence[Asking], prompt_ids: Iterable[str], counts: Counts, repeats: int
) -> None:
    """Adds what no variant was found for: it was planned all the same.

    Args:
        askings: what is asked.
        prompt_ids: every prompt of the study.
        counts: by target and condition; added to.
        repeats: responses planned a prompt.
    """
    there = {(asking.prompt_id, asking.condition) for asking in askings}
    for prompt_id in prompt_ids:
        for (_, condition), tally in counts.items():
            if (prompt_id, condition) not in there:
                tally.planned += repeats
                tally.no_variant += repeats


def count_supplied(responses: Iterable[StressResponse], counts: Counts) -> set[str]:
    """Adds what became of supplied responses, and returns the ids of those marked as refusals."""
    refused: set[str] = set()
    for row in responses:
        tally = counts[row.target, row.condition]
        tally.planned += 1
        status = str(row.extra.get("status") or "")
        if status in ("empty", "refused", *NO_RESPONSE):
            setattr(tally, status, getattr(tally, status) + 1)
        elif not row.response_text.strip():
            tally.empty += 1
        else:
            tally.answered += 1
        if status == "refused":
            refused.add(row.response_id)
    return refused
