"""The questions in a generator's reply: which can be used, and what is wrong with the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..judges.english import WORD, is_refusal, kept_sentences
from .prompt_construction_brief import BLOCK_PARTS, block_key

FEWEST_WORDS, MOST_WORDS = 8, 200
ANGLE_WORDS = (5, 15)
QUOTED_WORDS = 10
"""So many words in a row of the material, taken over, are a quotation."""
ALIKE = 0.85
"""Share of words in common from which two questions are one."""

SOFT_FAULTS = frozenset({"angle_length"})
"""Worth a repair, and no reason to leave a question out that still has them afterwards."""


@dataclass(frozen=True, slots=True)
class Block:
    """One question as a generator wrote it.

    Attributes:
        number: from 1.
        question, angle, dimensions: the texts; "" where there is none.
        says_technology: what the generator says of it; None where it was not asked or did not say.
        is_technology: that, or a word of the list in its text.
        faults: codes, in the order found; empty for a question without fault.
    """

    number: int
    question: str = ""
    angle: str = ""
    dimensions: str = ""
    says_technology: bool | None = None
    is_technology: bool = False
    faults: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether nothing but soft faults is left."""
        return set(self.faults) <= SOFT_FAULTS

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "faults": list(self.faults)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Block:
        """The reverse of `to_json`."""
        return cls(**{**plain, "faults": tuple(plain["faults"])})


def read_blocks(
    value: Mapping[str, object],
    numbers: Sequence[int],
    *,
    material: str,
    technology: re.Pattern[str] | None,
) -> list[Block]:
    """The questions of these numbers, checked for themselves; see `check_set` for the whole.

    Args:
        value: the reply's object; other keys (the scratchpad among them) are not looked at.
        numbers: which questions.
        material: the scenario's text, which no question may quote.
        technology: words of technology, where at most one question may be about it.
    """
    return [_read_block(value, number, material, technology) for number in numbers]


def check_set(blocks: Sequence[Block], *, technology: bool) -> list[Block]:
    """The questions with what is wrong between them; earlier ones stand, later ones are at fault.

    Args:
        blocks: in the order of their numbers, each checked for itself.
        technology: whether at most one may be about technology.
    """
    found: list[Block] = []
    has_technology = False
    for block in blocks:
        codes = [c for c in block.faults if c not in ("copy_of_prompt", "too_much_technology")]
        if not set(codes) <= SOFT_FAULTS:
            found.append(_with_faults(block, codes))
            continue
        words = _words(block.question)
        if any(earlier.is_usable and _alike(words, _words(earlier.question)) for earlier in found):
            codes.append("copy_of_prompt")
        elif technology and block.is_technology and has_technology:
            codes.append("too_much_technology")
        has_technology |= block.is_technology and "copy_of_prompt" not in codes
        found.append(_with_faults(block, codes))
    return found


def _with_faults(block: Block, codes: Sequence[str]) -> Block:
    return Block(
        block.number, block.question, block.angle, block.dimensions, block.says_technology,
        block.is_technology, tuple(codes),
    )  # fmt: skip


def _read_block(
    value: Mapping[str, object], number: int, material: str, technology: re.Pattern[str] | None
) -> Block:
    codes: dict[str, None] = {}
    texts: dict[str, str] = {}
    for part in BLOCK_PARTS:
        key = block_key(number, part)
        text = value.get(key)
        if key not in value:
            codes["missing_key"] = None
        elif not isinstance(text, str):
            codes["wrong_type"] = None
        elif not text.strip():
            codes["empty"] = None
        else:
            texts[part] = text.strip()
    says = value.get(block_key(number, "technology"))
    if technology is not None and block_key(number, "technology") not in value:
        codes["missing_key"] = None
    elif technology is not None and not isinstance(says, bool):
        codes["wrong_type"] = None
    question = texts.get("question", "")
    if question:
        codes |= dict.fromkeys(_question_faults(question, material))
    angle = texts.get("angle", "")
    if angle and not ANGLE_WORDS[0] <= len(angle.split()) <= ANGLE_WORDS[1]:
        codes["angle_length"] = None
    said = says if isinstance(says, bool) and technology is not None else None
    is_technology = technology is not None and (
        said is True or technology.search(question) is not None
    )
    return Block(
        number, question, " ".join(angle.split()), " ".join(texts.get("dimensions", "").split()),
        said, is_technology, tuple(codes),
    )  # fmt: skip


def _question_faults(question: str, material: str) -> list[str]:
    words = len(WORD.findall(question))
    sentences, _ = kept_sentences(question[:2_000])
    if is_refusal([sentence.text for sentence in sentences], words):
        return ["refusal"]
    codes = []
    if words < FEWEST_WORDS:
        codes.append("too_short")
    if words > MOST_WORDS:
        codes.append("too_long")
    if not re.search(r"[?？؟]", question):
        codes.append("no_question")
    if _quotes(question, material):
        codes.append("quotes_material")
    return codes


def _quotes(question: str, material: str) -> bool:
    mine, theirs = _runs(question), _runs(material)
    return bool(mine & theirs)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.lower() for word in WORD.findall(text)]
    return {tuple(words[i : i + QUOTED_WORDS]) for i in range(len(words) - QUOTED_WORDS + 1)}


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    either = one | other
    return bool(either) and len(one & other) / len(either) >= ALIKE
