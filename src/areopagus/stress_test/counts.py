"""What became of planned responses: those asked for, those supplied, those that are missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .responses import NO_RESPONSE, StressResponse, repeat_of


@dataclass(slots=True)
class ConditionCounts:
    """What became of one target's responses under one condition, and of the judgments on them.

    Attributes:
        planned: responses planned (of supplied responses: those supplied).
        answered, empty, refused, failed, not_asked: of the planned responses.
        no_variant: of the planned responses, those without a usable variant to ask.
        scored: planned responses with a panel score; `abstained` those that most judges, or the
            target itself, called a refusal to engage.
        regenerated: responses generated once more, to see how much they vary, which are in none
            of the numbers above: `planned`, `scored` and their statuses.
        judgments: status to number of judgments, of all responses.
    """

    planned: int = 0
    answered: int = 0
    empty: int = 0
    refused: int = 0
    failed: int = 0
    not_asked: int = 0
    no_variant: int = 0
    scored: int = 0
    abstained: int = 0
    regenerated: dict[str, int] = field(default_factory=dict)
    judgments: dict[str, int] = field(default_factory=dict)


Counts = Mapping[tuple[str, str], ConditionCounts]


def count(counts: ConditionCounts, status: str, *, is_again: bool) -> None:
    """Adds one planned response of this status.

    Args:
        counts: of its target and condition.
        status: a field of `ConditionCounts`.
        is_again: whether it was generated once more, for the spread between responses alone.
    """
    if is_again:
        for name in ("planned", status):
            counts.regenerated[name] = counts.regenerated.get(name, 0) + 1
        return
    counts.planned += 1
    setattr(counts, status, getattr(counts, status) + 1)


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


def count_missing(
    there: Collection[tuple[str, str]],
    prompt_ids: Iterable[str],
    counts: Counts,
    repeats: int,
    unasked: Collection[tuple[str, str]] = (),
) -> None:
    """Adds what no variant was found for: it was planned all the same.

    The baseline of a prompt without any usable variant is among it.

    Args:
        there: prompt and condition of what is asked.
        prompt_ids: every prompt of the study.
        counts: by target and condition; added to.
        repeats: responses planned a prompt.
        unasked: prompt and condition of the variants that were not asked for, which are no
            failures.
    """
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
