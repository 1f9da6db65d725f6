"""Whether the small words stand where English lets them stand: the feature that reads word order.

English binds its function words to what comes after them: no preposition follows "the", no
auxiliary "of", no full stop "and". Written English breaks the rules below in fewer than one place
of a hundred, the same words in another order in about one of six. The rules were written by hand.
They leave out what questions, dialects and learners do ("should the state", "they be", "must to",
"a idea"): those are no disorder. A word that is not listed may stand anywhere, so that text in
another language offers few places to look at, if any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple

_CLASSES: Final = {
    "article": "a an the my your our their every",
    "of": "of",
    "to": "to",
    "from": "from into between among during",
    "by": "by",
    "in": "in with on",
    "at": "at upon for",
    "modal": "can could would may must should shall cannot",
    "is": "is are was were am",
    "has": "has had",
    "did": "does did",
    "be": "be been",
    "they": "he she they we",
    "i": "i",
    "them": "him them us me",
    "this": "this that these those it which there",
    "and": "and or nor",
    "but": "but",
    "because": "because",
    "if": "if although unless whereas",
    "than": "than",
    "stop": ". ? ! ; :",
    "comma": ",",
}
_VERBS: Final = "modal is has did"
_PREPOSITIONS: Final = "of to from by in at"
_LINKS: Final = "and but because if than"
_NEVER_AFTER: Final = {
    "article": f"article {_PREPOSITIONS} {_VERBS} be they i them this {_LINKS} stop comma",
    "of": f"{_PREPOSITIONS} {_VERBS} be they i {_LINKS} stop comma",
    "to": f"of to from {_VERBS} they i",
    "from": f"{_PREPOSITIONS} {_VERBS} be they i {_LINKS}",
    "by": f"{_PREPOSITIONS} {_VERBS} be they i",
    "in": f"of {_VERBS} be they",
    "at": "of be",
    "modal": f"of {_VERBS} them than",
    "is": f"{_VERBS} be",
    "has": "modal did they i",
    "be": f"{_VERBS} be",
    "they": "article of they than",
    "and": "and than stop",
    "but": "but and than stop",
    "because": f"{_VERBS} and but than stop",
    "if": f"{_VERBS} than stop",
    "than": "and but than stop",
}
"""Word class to the classes that do not come after it."""

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")


def _forms(words: Iterable[str], names: frozenset[str]) -> frozenset[str]:
    """The words small and with a capital, without what is rather a name."""
    return frozenset({form for word in words for form in (word, word.capitalize())} - names)


def _followers() -> dict[str, frozenset[str]]:
    """Each word with a rule to the words and marks that do not come after it."""
    words = {name: listed.split() for name, listed in _CLASSES.items()}
    rules: dict[str, frozenset[str]] = {}
    for first, never in _NEVER_AFTER.items():
        followers = [word for name in never.split() for word in words[name]]
        kept = _forms(followers, frozenset({"May"}))  # the month
        rules |= dict.fromkeys(_forms(words[first], frozenset({"A"})), kept)  # plan A
    return rules


_NOT_AFTER: Final = _followers()


class Places(NamedTuple):
    """Places behind small words: how many there are, and the pairs that English does not allow."""

    checked: int
    broken: tuple[str, ...]


def places(sentences: Iterable[str]) -> Places:
    """The places of these sentences that follow a word with a rule."""
    checked = 0
    broken: list[str] = []
    for sentence in sentences:
        for first, second in pairwise(_TOKEN.findall(sentence)):
            never = _NOT_AFTER.get(first)
            if never is None:
                continue
            checked += 1
            if second in never:
                broken.append(f"{first} {second}")
    return Places(checked, tuple(broken))
