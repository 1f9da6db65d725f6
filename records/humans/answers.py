"""Reads cells that hold no number: who won a pair, an order of responses, a label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..readers.cells import is_missing, json_kind

_NOUNS = (
    "response|answer|option|output|item|essay|text|candidate|completion|system|model|summary|"
    "sample|assistant|story|argument"
)

LABEL = rf"(?:(?:{_NOUNS})[ _-]*)?[A-Z]|(?:{_NOUNS})[ _-]*\d{{1,2}}"
"""What blinded labels look like, in any case: "A", "Response B", "answer_2"."""

_LABEL = re.compile(LABEL, re.IGNORECASE)
_BARE = re.compile(rf"(?:{_NOUNS})[ _-]*([A-Z]|\d{{1,2}})", re.IGNORECASE)

_TIES = frozenset(
    {
        "tie", "tied", "ties", "equal", "equally good", "equally bad", "draw", "same", "both",
        "both good", "both bad", "bothbad", "bothgood", "neither", "no preference", "none",
        "tie (bothbad)", "tie (both bad)", "about the same", "=",
    }
)  # fmt: skip
_WORDS_A = frozenset({"a", "1", "first", "left", "one"})
_WORDS_B = frozenset({"b", "2", "second", "right", "two"})
_DECORATION = re.compile(
    rf"^(?:{_NOUNS})[ _-]*|[ _-]*(?:is |was )?(?:much |slightly |clearly )?(?:better|wins|won)$"
)

_LABEL_WORDS: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split("|"))
    for words in (
        "yes|no", "true|false", "y|n", "t|f", "pass|fail", "passed|failed", "good|bad",
        "good|ok|bad", "correct|incorrect", "correct|partly correct|incorrect", "right|wrong",
        "safe|unsafe", "harmful|harmless", "toxic|not toxic", "acceptable|unacceptable",
        "valid|invalid", "relevant|irrelevant", "relevant|not relevant", "agree|disagree",
        "accept|reject", "accepted|rejected", "biased|unbiased", "biased|not biased",
        "positive|negative", "positive|neutral|negative", "supported|not supported",
        "present|absent", "stereotyped|not stereotyped",
    )
)  # fmt: skip
_UNDECIDED = frozenset(
    {"maybe", "unsure", "not sure", "unclear", "partly", "partially", "neither", "undecided",
     "can't tell", "cannot tell", "don't know"}
)  # fmt: skip


def is_label_name(text: str) -> bool:
    """Returns whether a text looks like a blinded label."""
    return _LABEL.fullmatch(text.strip()) is not None


def bare_label(text: str) -> str:
    """Returns "A" of "Response A" and "2" of "answer_2"; any other text as it is."""
    found = _BARE.fullmatch(text.strip())
    return text if found is None else found[1]


def read_winner(cell: Any, names_a: Iterable[str | None], names_b: Iterable[str | None]) -> float:
    """Returns 1 where the first of two responses won, 0 where the second did, 0.5 for a tie.

    Args:
        cell: a name of either side; else a word: a, model_a, left, 1, tie, both bad, …
        names_a, names_b: what the two sides are called. A name goes before a word: of a pair
            (B, A) the winner "A" is the second.

    Raises:
        ValueError: with a sentence, for anything else.
    """
    text = str(cell).strip()
    is_a, is_b = (text in {name for name in names if name} for names in (names_a, names_b))
    if is_a != is_b:
        return 1.0 if is_a else 0.0
    word = text.lower().removesuffix(".0")
    word = _DECORATION.sub("", word) if word not in _TIES else word
    for words, won in ((_TIES, 0.5), (_WORDS_A, 1.0), (_WORDS_B, 0.0)):
        if word.strip() in words:
            return won
    raise ValueError(f"must be one of the two responses, a, b or tie, got {json_kind(cell)}")


def read_order(cell: Any) -> list[tuple[str, ...]]:
    """Returns the groups of an order, the best first: "B > A = C" is [(B,), (A, C)].

    Names of one group stand beside each other with "=", "," or ";". A list, as tools write it, is
    an order of names or of groups.

    Raises:
        ValueError: with a sentence, for a cell without a name, or an empty place in it.
    """
    groups: list[tuple[str, ...]]
    if isinstance(cell, list | tuple):
        listed = [group if isinstance(group, list | tuple) else [group] for group in cell]
        groups = [tuple(str(name).strip() for name in group) for group in listed]
    else:
        parts = str(cell).split(">")
        groups = [tuple(name.strip() for name in re.split(r"[=,;]", part)) for part in parts]
    if not groups or not all(name for group in groups for name in group):
        raise ValueError(f"must name responses, as in B > A = C, got {json_kind(cell)}")
    return groups


def read_label(cell: Any) -> str | None:
    """Returns a label as text without outer blanks; None where the cell is missing.

    Raises:
        ValueError: with a sentence, for lists and objects.
    """
    if is_missing(cell):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    label = getattr(cell, "label", None)
    if isinstance(label, str):
        return label
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if not isinstance(cell, str | int | float):
        raise ValueError(f"must be a label, got {json_kind(cell)}")
    return str(cell).strip()


def are_label_words(cells: Sequence[Any]) -> bool:
    """Returns whether cells are two or more different words that are known as labels (yes, no)."""
    said = {
        str(getattr(cell, "label", cell)).strip().lower() for cell in cells if not is_missing(cell)
    }
    decided = said - _UNDECIDED
    return len(said) > 1 and bool(decided) and any(decided <= words for words in _LABEL_WORDS)
