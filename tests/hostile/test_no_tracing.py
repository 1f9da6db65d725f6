"""No graph of ours hands what passes through it to a tracing service of the environment's."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import areopagus

PACKAGE = Path(areopagus.__file__).parent
RUNNING = ("ainvoke", "astream")


def untraced_calls(tree: ast.AST, *, is_off: bool = False) -> Iterator[tuple[int, bool]]:
    """Line of every graph that is run, and whether that stands within `tracing_context(…)`."""
    for node in ast.iter_child_nodes(tree):
        inside = is_off
        if isinstance(node, ast.With):
            inside |= any("tracing_context(enabled=False)" in ast.unparse(i) for i in node.items)
        if isinstance(node, ast.Attribute) and node.attr in RUNNING:
            yield node.lineno, inside
        yield from untraced_calls(node, is_off=inside)


def test_every_graph_is_run_with_tracing_off() -> None:
    # Folders of the package are links in a checkout, which `rglob` does not follow.
    files = [
        Path(folder, name)
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
        if name.endswith(".py")
    ]
    runs = {
        f"{path.relative_to(PACKAGE)}:{line}": is_off
        for path in files
        if any(name in (text := path.read_text(encoding="utf-8")) for name in RUNNING)
        for line, is_off in untraced_calls(ast.parse(text))
    }
    # the panel, the generate graph, and a chat model of langchain
    assert len(runs) == 3
    assert [place for place, is_off in runs.items() if not is_off] == []
