"""Ways of writing a text so that a person does not see it, or sees another one."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from .family import AttackFamily, WrittenAs, filled

_CYRILLIC = str.maketrans("aeopcyxijsABEKMHOPCTX", "аеорсухіјѕАВЕКМНОРСТХ")


def hidden(text: str, written_as: WrittenAs) -> str:
    """The text in that writing."""
    if written_as == "base64":
        return base64.b64encode(text.encode()).decode("ascii")
    if written_as == "tag_characters":
        return "".join(chr(0xE0000 + ord(c)) for c in text if 0x20 <= ord(c) < 0x7F)
    if written_as == "zero_width":
        return "\u200b".join(text)
    if written_as == "bidi":
        # Shown from right to left and stored reversed, so that a screen shows the words in order.
        return f"\u202e{text[::-1]}\u202c"
    if written_as == "fullwidth":
        return "".join(chr(ord(c) + 0xFEE0) if 0x21 <= ord(c) < 0x7F else c for c in text)
    if written_as == "lookalike":
        return text.translate(_CYRILLIC)
    return text


def texts_of(family: AttackFamily, values: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of a family as they are put into a response.

    Args:
        family: whose.
        values: what stands for each of `PLACES`.
    """
    made: list[str] = []
    for template in family.texts:
        text = hidden(filled(template, values), family.written_as)
        if family.carrier is not None:
            text = filled(family.carrier, {"payload": text})
        flood = "\n" * family.blank_lines
        made.append(f"{flood}{text}{flood}")
    return tuple(made)
