"""`areopagus explain`: what the embedded judge sees in a text, and what it makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InputError, InputFault
from ..formats import listed, units, words
from ..progress import READING, ProgressLine
from .display import Command
from .options import column_option, json_option
from .results import Output, listing

if TYPE_CHECKING:
    from ..judges.offline.lexical import Features
    from ..records.types import Sample


@click.command(cls=Command)
@click.argument("responses")
@click.argument("response_id")
@click.option("--persona", default="sociologist", metavar="NAME|FILE", show_default=True)
@click.option("--rubric", default="critical_thinking", metavar="NAME|FILE", show_default=True)
@column_option
@json_option
def explain(
    responses: str,
    response_id: str,
    *,
    persona: str,
    rubric: str,
    columns: dict[str, str],
    json_file: str | None,
) -> None:
    """Show how offline/lexical comes to its scores for one response of a file.

    Each dimension's position between the ends of the scale is the sum of the contributions
    listed; it is cut to the scale and rounded.
    """
    from ..judges.offline.lexical import LEXICAL_VERSION, alike_in_words, measure, score
    from ..personas import load_persona
    from ..reports.document import Cell, Column, Table
    from ..rubrics import load_rubric

    with ProgressLine() as line:
        line.do(READING)
        row = _find(responses, response_id, columns)
    judge, chosen = load_persona(persona), load_rubric(rubric)
    features = measure(row.prompt_text, row.response_text)
    dimensions = [(dimension.id, dimension.offline) for dimension in chosen.dimensions]
    scores = score(
        features,
        dimensions=dimensions,
        low=chosen.scale.low,
        high=chosen.scale.high,
        lexicon=judge.lexicon or {},
    )
    about = f"offline/lexical version {LEXICAL_VERSION}, {judge.label}, response {response_id}: "
    headline = [about + "a count of text features, not a reading of the text."]
    if scores.abstained:
        headline.append("The text declines to answer: the judgment is an abstention.")
    if told := alike_in_words(dimensions):
        headline.append(f"{told}.")
    headline.append(_word_order(features))
    heads = [Column("feature"), Column("adds", "number", is_signed=True)]
    tables = []
    for dimension in chosen.dimensions:
        title = f"{dimension.label}: {scores.scores[dimension.id]}"
        family = dimension.offline
        parts = scores.explanation.get(family) if family else None
        if parts is None:
            mean = "the mean of all feature families (the rubric names none)"
            tables.append(Table(title, dimension.label, heads, [(mean, None)]))
            continue
        rows = [
            (words(name), value)
            for name, value in sorted(parts.items(), key=lambda item: -abs(item[1]))
            if abs(value) >= 0.005
        ]
        whole = [("position on the scale, 0 to 1", Cell(sum(parts.values())))]
        tables.append(Table(title, dimension.label, heads, rows, foot=whole))
    Output(json_file).show(listing("explanation", headline, tables))


def _word_order(features: Features) -> str:
    """How many places after small words were checked, and which are not English."""
    broken = features.broken_places
    told = f"Word order: {units(features.checked_places, 'place')} after small words checked, "
    if not broken:
        return f"{told}none out of order."
    pairs = listed([f"“{pair}”" for pair in dict.fromkeys(broken)], 5)
    return f"{told}{len(broken)} out of order: {pairs}."


def _find(responses: str, response_id: str, columns: dict[str, str]) -> Sample:
    from ..records.readers.responses import ResponseSource

    with ResponseSource(Path(responses), columns=columns) as source:
        source.check()
        for row in source.rows():
            if row.response_id == response_id:
                return row
    raise InputError([InputFault(responses, f"has no response {response_id!r}")])
