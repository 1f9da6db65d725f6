"""A rater's packets as a page to print: no script, nothing from elsewhere, boxes to write in."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from ..errors import visible_text
from ..rubrics import Rubric
from .files import Packet, StudyFile

_TEMPLATE = "printable.html.j2"


def printable_page(study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> str:
    """Returns the page; every text is escaped, and characters that act are made visible."""
    import jinja2

    source = (
        resources.files(__name__.rpartition(".")[0]).joinpath(_TEMPLATE).read_text(encoding="utf-8")
    )
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Of every text that the page shows, so that none is forgotten.
        finalize=_shown,
    )
    environment.filters["lines"] = _paragraphs
    return environment.from_string(source).render(study=study, rubric=rubric, packets=packets)


def _shown(value: object) -> object:
    return visible_text(value, keep="\n") if isinstance(value, str) else value


def _paragraphs(text: str) -> list[list[str]]:
    """Paragraphs, each as its lines."""
    plain = visible_text(text, keep="\n")
    return [block.split("\n") for block in plain.split("\n\n") if block.strip()]
