"""Tasks and labelling interface for Label Studio: one task a page, one project a rater."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ..rubrics import Rubric
from .design import labels
from .files import Packet, StudyFile


def label_studio_tasks(packets: Sequence[Packet]) -> list[dict[str, Any]]:
    """Returns the tasks of one rater, to be imported as JSON."""
    return [
        {
            "data": {
                "rater": packet.rater,
                "packet": str(packet.number),
                "question": packet.prompt,
                **{f"response_{one.label}": one.text for one in packet.responses},
            }
        }
        for packet in packets
    ]


def label_studio_config(study: StudyFile, rubric: Rubric, n_responses: int) -> str:
    """Returns the labelling interface: a number for each response and criterion.

    Controls are called LABEL__criterion, which become the columns of Label Studio's exports.
    `Number` and not `Rating`, because stars begin at 1 whatever the scale.
    """
    low, high = rubric.scale.low, rubric.scale.high
    lines = [
        "<View>",
        "  <Style>.htx-text{ white-space: pre-wrap; }</Style>",
        f'  <Header value={quoteattr(_one_line(study.title))} size="3"/>',
        f'  <Header value={quoteattr(_one_line(study.instructions))} size="5"/>',
    ]
    for one in rubric.dimensions:
        told = f"{one.label}: {one.question}"
        lines.append(f'  <Header value={quoteattr(_one_line(told))} size="5"/>')
    lines.append('  <Header value="Question"/>')
    lines.append('  <Text name="question" value="$question"/>')
    for label in labels(n_responses):
        name = f"response_{label}"
        lines.append(f'  <Header value="Response {label}"/>')
        lines.append(f'  <Text name="{name}" value="${name}"/>')
        for one in rubric.dimensions:
            lines.append(f'  <Header value={quoteattr(_one_line(one.label))} size="6"/>')
            lines.append(
                f'  <Number name="{label}__{escape(one.id)}" toName="{name}" min="{low}" '
                f'max="{high}" step="1" required="true"/>'
            )
    lines.append('  <Header value="Why this order? (optional)"/>')
    lines.append('  <TextArea name="justification" toName="question" rows="4" maxSubmissions="1"/>')
    return "\n".join([*lines, "</View>", ""])


def _one_line(text: str) -> str:
    """A value that begins with a dollar sign would be taken for a field of the task."""
    plain = " ".join(text.split())
    return plain.replace("$", "＄")
