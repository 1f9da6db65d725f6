"""A survey for Qualtrics (advanced TXT format): one a rater, a matrix for each response.

Exported columns are P3A_2: page 3, response A, second criterion; P3WHY: the justification.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from ..rubrics import Rubric
from .files import Packet, StudyFile


def qualtrics_survey(study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> str:
    """Returns the survey of one rater."""
    return "\n".join(_lines(study, rubric, packets)) + "\n"


def _lines(study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> Iterator[str]:
    yield "[[AdvancedFormat]]"
    yield ""
    # Embedded data: the export gets a column "rater" with the code.
    yield f"[[ED:rater:{packets[0].rater}]]"
    yield ""
    yield "[[Block:Criteria]]"
    yield "[[Question:DB]]"
    yield "[[ID:CRITERIA]]"
    told = [f"<b>{markup(study.title)}</b>", markup(study.instructions), markup(rubric.purpose)]
    told += [
        f"<b>{markup(one.label)}</b>: {markup(one.definition)} <i>{markup(one.question)}</i>"
        for one in rubric.dimensions
    ]
    yield "<br><br>".join(told)
    for packet in packets:
        yield ""
        yield f"[[Block:Page {packet.number}]]"
        yield "[[Question:DB]]"
        yield f"[[ID:P{packet.number}]]"
        yield f"<b>Question {packet.number}</b><br>{markup(packet.prompt)}"
        for one in packet.responses:
            yield ""
            yield "[[Question:Matrix]]"
            yield f"[[ID:P{packet.number}{one.label}]]"
            yield f"<b>Response {one.label}</b><br>{markup(one.text)}"
            yield "[[AdvancedChoices]]"
            for place, dimension in enumerate(rubric.dimensions, start=1):
                yield f"[[Choice:{place}]]"
                yield markup(dimension.label)
            yield "[[AdvancedAnswers]]"
            for score in rubric.scale.values:
                yield f"[[Answer:{score}]]"
                yield str(score)
        yield ""
        yield "[[Question:TE:Essay]]"
        yield f"[[ID:P{packet.number}WHY]]"
        yield "Why this order? (optional)"


def markup(text: str) -> str:
    """Returns a text as one line of markup in which nothing is a tag, a command or a piped field.

    Qualtrics takes question texts for HTML, `${…}` for a field to be filled in, and a line that
    begins with two brackets for a command of the format.
    """
    plain = html.escape(text, quote=True)
    for sign in "$[]{}":
        plain = plain.replace(sign, f"&#{ord(sign)};")
    return "<br>".join(" ".join(line.split()) for line in plain.split("\n"))
