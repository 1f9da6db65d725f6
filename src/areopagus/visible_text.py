"""Text whose hidden characters are made visible, for a terminal or a cell of a workbook."""

from __future__ import annotations

import unicodedata


def visible_text(text: str, *, keep: str = "") -> str:
    """The text with `�` for every character that acts instead of being seen.

    Those are controls and escapes, what turns the reading direction, line and paragraph
    separators, surrogates and what Unicode has not assigned. White space of any width stays: it
    belongs to French and Japanese as letters do.

    Args:
        text: anybody's text.
        keep: characters that stay all the same, such as a line feed.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else "�" for c in text
    )
