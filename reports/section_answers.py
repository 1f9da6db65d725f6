"""Who answered the prompts of a run, and what became of the answers, for its page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from ..formats import units
from .asked import parameters
from .document import Column, Paragraph, Part, Table

_KINDS: Final = (
    ("answered", "answered"),
    ("empty", "came empty"),
    ("refused", "refused, by the endpoint's own mark"),
    ("failed", "failed: no reply came"),
    ("not_asked", "not asked"),
)


def answers_parts(record: Mapping[str, Any]) -> list[Part]:
    """Targets and their answers; nothing for a run on responses that were given.

    Args:
        record: the content of run.json.
    """
    answers = record.get("answers")
    if not answers:
        return []
    counts, sent = answers["counts"], answers["effective_parameters"]
    words, repeats = answers["asked"]["words"], answers["asked"]["repeats"]
    length = "" if words is None else f", with the request to write about {words} words"
    cut = f" Cut off at the token limit: {counts['cut_off']}." if counts["cut_off"] else ""
    faults = ", ".join(f"{number} {name}" for name, number in answers["faults"].items())
    failed = f" Failed: {faults}." if faults else ""
    prompts = PurePath(str(answers["prompts"]).replace("\\", "/")).name
    return [
        Paragraph("Answers", "heading"),
        Paragraph(
            f"The responses are answers of these models to the prompts of {prompts}, asked as a "
            f"bare user turn{length}; {units(repeats, 'answer')} of each model to each prompt. "
            f"They stand in {answers['file']}. One that did not come has no text and is screened."
            f"{failed}{cut}"
        ),
        Table(
            caption="Models that answered, with the parameters that the provider was sent.",
            label="Targets",
            columns=[
                Column("name", "id"),
                Column("model", "id"),
                Column("endpoint", "id"),
                Column("effective", "wide"),
            ],
            rows=[
                (
                    name,
                    target["model"],
                    target["api_base"] or "the provider's own",
                    parameters(sent.get(name)),
                )
                for name, target in record["identity"]["targets"].items()
            ],
        ),
        Table(
            caption="What became of every planned answer.",
            label="Answers",
            columns=[Column("status"), Column("answers", "count")],
            rows=[(label, counts[name]) for name, label in _KINDS],
            foot=[("planned", counts["planned"])],
            is_short=True,
        ),
    ]
