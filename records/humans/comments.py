"""Raters' written justifications as a table of responses, so that a panel can score them.

What a panel infers from a justification alone, held against the rating that it justifies, says
whether the two measure the same thing.

Columns of the table: response_id ("rater/prompt/response"), prompt_id, prompt_text, response_text
(the justification), respondent_id (the rater), and whose it is: rater_id, rated_prompt_id,
rated_response_id, by which `calibrate --inferred RUN` finds the ratings again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import InputError
from .table import HumanTable

COMMENT_COLUMNS = (
    "response_id", "prompt_id", "prompt_text", "response_text", "respondent_id", "rater_id",
    "rated_prompt_id", "rated_response_id",
)  # fmt: skip

NO_PROMPT = "(no prompt)"


@dataclass(frozen=True, slots=True)
class Justifications:
    """The table, and what is not in it.

    Attributes:
        rows: one a rater and response, with the names of `COMMENT_COLUMNS`.
        n_without: rater and response pairs without a word.
        n_shared: rows whose text stands for several responses of a prompt without a label that
            would tell them apart: a panel can only score them alike.
    """

    rows: tuple[dict[str, str], ...]
    n_without: int
    n_shared: int


def justifications(
    table: HumanTable, *, questions: Mapping[str, str] | None = None
) -> Justifications:
    """Returns each rater's comments on each response; those on several criteria as paragraphs.

    Args:
        table: the ratings, with comments.
        questions: prompt to its text, where known: it is shown beside the justification.

    Raises:
        InputError: nobody wrote anything.
    """
    said: dict[tuple[str, str, str], dict[str, None]] = {}
    label_of: dict[tuple[str, str, str], str | None] = {}
    columns = (table.rater_id, table.prompt_id, table.response_id, table.comment,
               table.blinded_label)  # fmt: skip
    for rater, prompt, response, comment, label in zip(
        *(column.texts().tolist() for column in columns), strict=True
    ):
        key = (rater, prompt or NO_PROMPT, response)
        texts = said.setdefault(key, {})
        label_of.setdefault(key, label)
        if comment is not None and comment.strip():
            texts[comment.strip()] = None
    shared: dict[tuple[str, str, str, str | None], int] = {}
    rows = []
    for key, texts in said.items():
        if not texts:
            continue
        rater, prompt, response = key
        label, text = label_of[key], "\n\n".join(texts)
        place = (rater, prompt, text, label)
        shared[place] = shared.get(place, 0) + 1
        rows.append(
            {
                "response_id": f"{rater}/{prompt}/{response}",
                "prompt_id": prompt if label is None else f"{prompt}/{label}",
                "prompt_text": _framing((questions or {}).get(prompt), label),
                "response_text": text,
                "respondent_id": rater,
                "rater_id": rater,
                "rated_prompt_id": prompt,
                "rated_response_id": response,
            }
        )
    if not rows:
        raise InputError(
            "no rating has a comment",
            hint="A column map (`columns`) says which column holds them: columns: {comment: NAME}",
        )
    n_shared = sum(n for n in shared.values() if n > 1)
    return Justifications(tuple(rows), len(said) - len(rows), n_shared)


def _framing(question: str | None, label: str | None) -> str:
    """What the panel is told of a justification; one text for one prompt and label."""
    words = "Somebody compared several responses to a question and wrote down what they think."
    if label is not None:
        words += f" What counts here is what they think of the response that they call {label}."
    return f"{words} The question was:\n\n{question}" if question else words
