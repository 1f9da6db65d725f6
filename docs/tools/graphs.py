"""Draws the graphs into the pages that show them, as the code has them; none is drawn by hand.

A picture stands in a page after a line `<!-- drawn: NAME -->`. Run this module to draw all anew; a
test holds them equal.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from areopagus import served
from areopagus.graphs.generate import generate_graph
from areopagus.graphs.panel import panel_graph

DOCS = Path(__file__).parents[1]

_DRAWN = re.compile(
    r"^<!-- drawn: ([\w -]+) -->\n```mermaid\n(.*?)\n```$", re.MULTILINE | re.DOTALL
)


def graph(name: str) -> Any:
    """The graph that a page calls so: one of `langgraph.json`, or one of a job."""
    made = {"panel in a job": panel_graph, "generate": generate_graph}
    return made[name]() if name in made else served.graph(name)


def with_drawings(page: str) -> str:
    """The page with every picture drawn anew."""

    def drawn(found: re.Match[str]) -> str:
        picture = graph(found[1]).get_graph(xray=True).draw_mermaid().strip()
        return f"<!-- drawn: {found[1]} -->\n```mermaid\n{picture}\n```"

    return _DRAWN.sub(drawn, page)


def main() -> None:
    """Draws what the pages show."""
    for path in DOCS.rglob("*.md"):
        page = path.read_text(encoding="utf-8")
        if (drawn := with_drawings(page)) != page:
            path.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
