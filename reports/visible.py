"""Text of models and users, escaped and with nothing in it that the eye cannot see."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_SHOWN: Final = 160
"""Characters of one text that a table cell shows; of a longer one, its two ends."""

_TAIL: Final = 40

# Invisible though Unicode calls them letters, marks or symbols: fillers, selectors, blank Braille.
_BLANKS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U000e0100-\U000e01ef"
)
# More marks than any orthography stacks on one letter would paint over the neighbouring rows.
_UNSAFE: Final = re.compile(
    f"[\x00-\x1f\x7f-\xa0\xad{_BLANKS}]|[\u0300-\u036f]{{5,}}|[^\x00-\x7f]|^ | $"
)
_HIDDEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))


def visible(value: Any, *, most: int = MOST_SHOWN) -> Markup:
    """The text as safe markup: escaped, isolated, each hidden character shown as a marked code.

    Hidden are controls, format characters (bidirectional ones, joiners, tags), unassigned and
    private code points, separators and spaces other than the plain one, fillers and variation
    selectors, a plain space at either end, and the marks of a stack of five or more. A text longer
    than `most` shows its beginning and its end, with the number of characters left out between.

    Args:
        value: any text; None is shown as nothing.
        most: characters shown.
    """
    from markupsafe import Markup

    text = "" if value is None else str(value)
    if len(text) <= most:
        return Markup(f'<bdi class="text">{_marked(text)}</bdi>')  # noqa: S704  _marked escapes
    tail = min(_TAIL, most // 4)
    left_out = len(text) - most
    return Markup(  # noqa: S704  _marked escapes
        f'<bdi class="text">{_marked(text[: most - tail])}</bdi>'
        f'<span class="cut"> … {left_out} characters … </span>'
        f'<bdi class="text">{_marked(text[-tail:])}</bdi>'
    )


def breakable(markup: Markup) -> Markup:
    """The markup of `visible`, in which a name may be broken behind its underscores."""
    from markupsafe import Markup

    return Markup(str(markup).replace("_", "_<wbr>"))  # noqa: S704  only text has underscores


def visible_plain(value: Any, *, most: int) -> str:
    """The same without markup, for titles and drawings: hidden characters as ⟨U+202E⟩.

    The result is plain text and still has to be escaped.
    """
    text = "" if value is None else str(value)
    if len(text) > most:
        tail = max(1, most // 4)
        text = f"{text[: most - tail - 1]}…{text[-tail:]}"
    return _UNSAFE.sub(
        lambda match: "".join(f"⟨{code}⟩" if code else c for c, code, _ in _codes(match[0])), text
    )


@lru_cache(maxsize=4096)
def _marked(text: str) -> str:
    from markupsafe import escape

    parts: list[str] = []
    end = 0
    for match in _UNSAFE.finditer(text):
        parts.append(str(escape(text[end : match.start()])))
        for character, code, name in _codes(match[0]):
            parts.append(
                f'<span class="code" title="{escape(name)}">{code}</span>'
                if code
                else str(escape(character))
            )
        end = match.end()
    parts.append(str(escape(text[end:])))
    return "".join(parts)


def _codes(matched: str) -> list[tuple[str, str, str]]:
    """Character, its code ("" where it may be shown as it is), and its name."""
    if len(matched) == 1 and ord(matched) > 0xA0 and not _is_hidden(matched):
        return [(matched, "", "")]
    return [
        (character, f"U+{ord(character):04X}", unicodedata.name(character, "control character"))
        for character in matched
    ]


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or bool(
        re.match(f"[{_BLANKS}]", character)
    )
