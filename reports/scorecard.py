"""The scorecard: means by respondent with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .numbers import words

NO_VARIATION: Final = "the prompt means do not vary"
NOTHING_SCORED: Final = "no response was scored"


@dataclass(frozen=True, slots=True)
class ScoreMean:
    """A mean with its interval; None where undefined, `reason` says why."""

    mean: float | None
    low: float | None
    high: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class RespondentRow:
    """One line of the scorecard.

    Attributes:
        name: the respondent.
        n_scored, n_responses, n_prompts: what is behind the means.
        estimates: the composite, then one a criterion.
        why: why intervals are missing, one sentence for the line, "" where none is.
    """

    name: str
    n_scored: int
    n_responses: int
    n_prompts: int
    estimates: tuple[ScoreMean, ...]
    why: str


def columns_of(criteria: Sequence[str]) -> tuple[str, ...]:
    """Column heads: the composite and the criteria, or one alone where they are the same."""
    if len(criteria) == 1:
        return (words(criteria[0]),)
    return ("composite", *(words(name) for name in criteria))


def respondent_rows(
    stored: Sequence[Mapping[str, Any]], criteria: Sequence[str]
) -> list[RespondentRow]:
    """The respondents of run.json as lines of the scorecard, in their order."""
    return [_row(item, criteria) for item in stored]


def _row(item: Mapping[str, Any], criteria: Sequence[str]) -> RespondentRow:
    low, high = item["interval"] or (None, None)
    composite = ScoreMean(item["composite"], low, high, item["reason"])
    # run.json holds one reason, that of the composite. All criteria of a respondent have the same
    # prompts, so a criterion alone can lack an interval for one cause only.
    estimates = [composite]
    for name in criteria if len(criteria) > 1 else ():
        mean, low, high = item["dimensions"].get(name, (None, None, None))
        reason = None
        if mean is None:
            reason = item["reason"] or NOTHING_SCORED
        elif low is None or high is None:
            reason = item["reason"] or NO_VARIATION
        estimates.append(ScoreMean(mean, low, high, reason))
    return RespondentRow(
        name=str(item["respondent_id"]),
        n_scored=item["n_scored"],
        n_responses=item["n_responses"],
        n_prompts=item["n_prompts"],
        estimates=tuple(estimates),
        why=_why(estimates, columns_of(criteria)),
    )


def _why(estimates: Sequence[ScoreMean], columns: Sequence[str]) -> str:
    missing: dict[str, list[str]] = {}
    for title, estimate in zip(columns, estimates, strict=True):
        if estimate.reason:
            missing.setdefault(estimate.reason, []).append(title)
    if len(missing) == 1 and len(*missing.values()) == len(columns):
        return next(iter(missing))
    return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in missing.items())
