"""The section on a stopping rule: who was not asked, and what that saved and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..precision.text import precision_of, precision_sentences, spared_word
from .document import Column, Paragraph, Section, Table
from .numbers import count

_ENDINGS = {
    "precise": "the wanted half width was reached",
    "allowance": "as many were asked as a response may have",
    "everyone": "the whole panel was asked",
    "cut_short": "the run stopped before the rule did",
    "screened": "nobody was asked: there was nothing to judge",
}


def fewer_judges(record: Mapping[str, Any]) -> list[Section]:
    """The section, or none where the run had no rule."""
    found = precision_of(record)
    if found is None:
        return []
    order = f"The order is {found['order']}, seed {found['seed']}."
    return [
        Section(
            "precision",
            "Fewer judges",
            [
                *(Paragraph(sentence) for sentence in precision_sentences(found)),
                Paragraph(order),
                Table(
                    caption="Why no more judges were asked.",
                    label="Endings",
                    columns=[Column("why", "wide"), Column("responses", "count")],
                    rows=[(told, found["responses"][name]) for name, told in _ENDINGS.items()],
                    is_short=True,
                ),
            ],
        )
    ]


def spared(record: Mapping[str, Any]) -> str:
    """`, n not needed` (or `not allowed`) for the counts of a run with a rule, else nothing."""
    found = precision_of(record)
    if not found or not found["not_asked"]:
        return ""
    return f", {count(found['not_asked'])} {spared_word(found)}"
