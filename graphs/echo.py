"""Error messages that repeat what was sent: the repeated text stays out of the state."""

from __future__ import annotations

_PIECE = 24
"""Characters in a row that are no chance agreement."""


def without_echo(detail: str, *texts: str) -> str:
    """The message up to the place where it begins to repeat one of the texts.

    Any run of `2 * _PIECE - 1` characters of a text is found, and a shorter text that stands there
    whole. Messages have their line ends and other controls replaced by blanks; so have the texts
    before they are compared.
    """
    first = len(detail)
    for text in texts:
        plain = "".join(c if c.isprintable() else " " for c in text).strip()
        pieces = [plain[i : i + _PIECE] for i in range(0, len(plain) - _PIECE + 1, _PIECE)]
        if len(plain) < _PIECE:
            pieces = [plain] if len(plain) >= _PIECE // 2 else []
        for piece in pieces:
            place = detail.find(piece)
            if 0 <= place < first:
                first = place
    if first == len(detail):
        return detail
    # The echo may have begun up to a piece before the one that was found.
    return f"{detail[: max(0, first - _PIECE)].rstrip()} [the judged text, left out]".lstrip()
