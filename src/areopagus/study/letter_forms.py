"""One form for each letter: none hidden, no ligatures, wide or boxed ones, no entities of HTML."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_ENTITY: Final = re.compile(
    r"&(?:(?:amp|#0*38|#[xX]0*26);)*(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
)
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KEYCAP: Final = re.compile("([0-9])\ufe0f?\u20e3|\U0001f51f")

_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing although their category is that of a letter or mark."""

_COMPATIBLE: Final = (
    (0x2160, 0x2188),  # roman numerals
    (0xFB00, 0xFB06),  # Latin ligatures
    (0xFF10, 0xFF19),  # full-width figures
    (0xFF21, 0xFF3A),  # and letters
    (0xFF41, 0xFF5A),
    (0x1D400, 0x1D7FF),  # letters of formulas, which make bold and slanted ones without markup
)
_BOXED: Final = (
    (0x2460, 0x249B),  # figures in circles, in brackets, with a full stop
    (0x249C, 0x24E9),  # letters
)
_BOXED_FROM: Final = {0x24EB: 11, 0x24F5: 1, 0x2776: 1, 0x2780: 1, 0x278A: 1}
"""Ten figures each that have no compatible form, by the first."""


def without_entities(text: str) -> str:
    """Returns the text with the characters that entities such as `&amp;nbsp;` stand for."""
    return _ENTITY.sub(lambda found: html.unescape(f"&{found[1]};"), text)


def without_hidden(text: str) -> str:
    """Returns the text without characters that nobody sees.

    A watermark of them would unblind as well as a signature.
    """
    return "".join(c for c in text if c in "\n\t" or not _is_hidden(c))


def with_plain_letters(text: str) -> str:
    """Returns the text composed (NFC), with ligatures, wide and boxed letters as plain ones.

    Compatible forms (NFKC) are taken for these classes alone: superscripts, fractions and the like
    have a meaning. Figures in circles or boxes get brackets: ① becomes (1). Full-width punctuation
    stays where it belongs, among Chinese, Japanese or Korean letters.
    """
    text = _KEYCAP.sub(lambda found: f"({found[1] or 10})", unicodedata.normalize("NFC", text))
    if text.isascii():
        return text
    has_cjk = _CJK.search(text) is not None
    parts = [_plain(c, has_cjk=has_cjk) for c in text]
    out: list[str] = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        out.append(part)
        if len(part) > 2 and part[0] == "(" and (following[:1].isalnum() or following[:1] == "("):
            out.append(" ")
    return unicodedata.normalize("NFC", "".join(out))


def _is_hidden(c: str) -> bool:
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") or c in _FILLERS:
        return True
    code = ord(c)  # selectors of variants: 256 values a character, which nobody sees
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


def _plain(c: str, *, has_cjk: bool) -> str:
    code = ord(c)
    if code < 0x2160:
        return c
    if any(low <= code <= high for low, high in _COMPATIBLE):
        return unicodedata.normalize("NFKC", c)
    if any(low <= code <= high for low, high in _BOXED):
        return f"({unicodedata.normalize('NFKC', c).strip('().')})"
    for first, figure in _BOXED_FROM.items():
        if first <= code < first + 10:
            return f"({figure + code - first})"
    if 0xFF01 <= code <= 0xFF5E and not has_cjk:
        return unicodedata.normalize("NFKC", c)
    return c
