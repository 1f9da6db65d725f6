"""What became of the responses that were planned: counted, those that never came as well."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .panel_rows import NO_RESPONSE, repeat_of
from .source import StressResponse
from .table import ConditionCounts

if TYPE_CHECKING:
    from .answers import Asking

Counts = Mapping[tuple[str, str], ConditionCounts]


def count(tally: ConditionCounts, status: str, *, is_again: bool) -> None:
    """Adds one planned response of this status.

    Args:
        tally: of its target and condition.
        status: a field of `ConditionCounts`.
        is_again: whether it was generated once more, for the spread between responses alone.
    """
    if is_again:
        for name in ("planned", status):
            tally.regenerated[name] = tally.regenerated.get(name, 0) + 1
        return
    tally.planned += 1
    setattr(tally, status, getattr(tally, status) + 1)


def count_missing(
    askings: Sequence[Asking],
    prompt_ids: Iterable[str],
    counts: Counts,
    repeats: int,
    unasked: Collection[tuple[str, str]] = (),
) -> None:
    """Adds what no variant was found for: it was planned all the same.

    The baseline of a prompt without any usable variant is among it.

    Args:
        askings: what is asked.
        prompt_ids: every prompt of the study.
        counts: by target and condition; added to.
        repeats: responses planned a prompt.
        unasked: prompt and condition of the variants that were not asked for, which are no
            failures.
    """
    there = {(asking.prompt_id, asking.condition) for asking in askings}
    halted = {prompt_id for prompt_id, _ in unasked}
    framings = {condition for _, condition in unasked}
    for prompt_id in prompt_ids:
        for (_, condition), tally in counts.items():
            if (prompt_id, condition) in there:
                continue
            tally.planned += repeats
            is_baseline_of_one = prompt_id in halted and condition not in framings
            if (prompt_id, condition) in unasked or is_baseline_of_one:
                tally.not_asked += repeats
            else:
                tally.no_variant += repeats


def count_supplied(responses: Iterable[StressResponse], counts: Counts, repeats: int) -> set[str]:
    """Adds what became of supplied responses, and returns the ids of those marked as refusals.

    Args:
        responses: all of them.
        counts: by target and condition; added to.
        repeats: of a prompt and condition; those beyond are counted as generated once more.
    """
    refused: set[str] = set()
    for row in responses:
        status = str(row.extra.get("status") or "")
        if status not in ("empty", "refused", *NO_RESPONSE):
            status = "answered" if row.response_text.strip() else "empty"
        count(counts[row.target, row.condition], status, is_again=repeat_of(row) >= repeats)
        if status == "refused":
            refused.add(row.response_id)
    return refused
