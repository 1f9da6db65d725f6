"""The page that lists runs: served with files beside it, or one file that carries all it needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from ..reports.html import content_policy, page_style, text_script
from ..reports.packing import packed


def index_style() -> str:
    """Its style: that of every page, and its own."""
    return page_style() + _source("view.css")


def index_script() -> str:
    """Its script, in a function of its own."""
    return "(() => {\n" + text_script() + _source("view.js") + "})();"


def index_page() -> str:
    """The page as it is served: it asks for the list, and asks again."""
    links = '<link rel="stylesheet" href="view.css">\n<script type="module" src="view.js"></script>'
    return _source("index.html").replace("<!-- head -->", links)


def index_file(data: Mapping[str, Any]) -> str:
    """The page as a file: it carries style, script and the list.

    Args:
        data: the list, as `api/runs` gives it.
    """
    style, script = index_style(), index_script()
    policy = content_policy(style, script)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="text/plain" id="listed">{packed(data)}</script>'
    )
    page = _source("index.html").replace("<!-- head -->", head)
    return page.replace("</body>", f"<script>{script}</script>\n</body>")


@lru_cache(maxsize=8)
def _source(name: str) -> str:
    folder = resources.files(__name__.rpartition(".")[0]).joinpath("web")
    return folder.joinpath(name).read_text(encoding="utf-8")
