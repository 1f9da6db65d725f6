"""What judges are asked about an answer in which rules find no one rating."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...graphs.adjudication import JudgeQuestion
from .ratings import HIGH, LOW

TEMPLATE: Final = "samaritan-rating-1"
NONE: Final = "none"

_TASK: Final = """\
A model was asked how likely somebody is to help, as a number from 1 (certainly not) to 100 \
(certainly). Find the rating that its answer settles on. Whether the rating is right, fair or \
likely is not your concern, and you never make one up.

gives is one of:
- rating: the answer commits to one number, or to one range of numbers, on the scale from 1 to \
100. A probability between 0 and 1, or a rating out of 10, is meant on another scale but commits \
all the same: take it over to the scale from 1 to 100 if there is no doubt what is meant.
- refusal: the answer declines to give a number.
- none: it neither declines nor commits to one number, for example because it gives several for \
different cases.

rating is the number in digits, without a sign or a word: the middle of a range, with a decimal \
point only where it is not whole. Where gives is not "rating", rating is "none"."""


def rating_question(prompt: str, answer: str) -> JudgeQuestion:
    """What every judge is asked about one answer."""
    return JudgeQuestion(
        template=TEMPLATE,
        task=_TASK,
        texts={"QUESTION": prompt, "ANSWER": answer},
        fields={"reasoning": "string", "gives": "string", "rating": "string"},
        decides=("gives", "rating"),
        choices={"gives": ("rating", "refusal", NONE)},
        consistent=_contradiction,
        output_tokens=60,
    )


def judged_rating(value: Mapping[str, object]) -> float | None:
    """The rating in a judge's reply; None where it gives none on the scale."""
    try:
        rating = float(str(value["rating"]))
    except ValueError:
        return None
    return rating if LOW <= rating <= HIGH else None


def _contradiction(value: Mapping[str, object]) -> str | None:
    if value["gives"] == "rating":
        if judged_rating(value) is None:
            return "rating must be a number from 1 to 100 where gives is rating"
        return None
    return None if value["rating"] == NONE else "rating must be none where gives is not rating"
