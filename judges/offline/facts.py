"""The keyword `offline`, which carries what a stand-in needs beside the messages, and its check."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...errors import InputError, InputFault
from ...records.types import MODES
from .lexical import LEXICAL_VERSION
from .writers import GENERATOR_VERSION, REWRITER_VERSION

Rules = Mapping[str, tuple[str, Callable[[Any, Mapping[str, Any]], bool]]]
"""Key to what it must be, and whether a value, beside all others, is that."""


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _are_dimensions(value: Any, facts: Mapping[str, Any]) -> bool:
    if not _is_list(value) or not all(_is_list(pair) and len(pair) == 2 for pair in value):
        return False
    names = [name for name, _ in value]
    are_texts = all(isinstance(name, str) for name in names)
    are_families = all(family is None or isinstance(family, str) for _, family in value)
    is_enough = bool(value) or facts.get("mode") != "dimensions"
    return are_texts and are_families and is_enough and len(set(names)) == len(names)


def _is_lexicon(value: Any, _: Mapping[str, Any]) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(term, str) and type(weight) in (int, float) and math.isfinite(weight)
        for term, weight in value.items()
    )


def _are_framings(value: Any, _: Mapping[str, Any]) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(
            isinstance(name, str)
            and _is_list(options)
            and all(isinstance(text, str) and text.count("{question}") == 1 for text in options)
            for name, options in value.items()
        )
    )


def _are_numbers(value: Any, _: Mapping[str, Any]) -> bool:
    return (
        _is_list(value)
        and bool(value)
        and all(type(item) is int and 1 <= item <= 20 for item in value)
        and len(set(value)) == len(value)
    )


def _is_above_low(value: Any, facts: Mapping[str, Any]) -> bool:
    low = facts.get("low")
    return type(value) is int and (type(low) is not int or value > low)


JUDGE_FACTS: Final[Rules] = {
    "version": (repr(LEXICAL_VERSION), lambda value, _: value == LEXICAL_VERSION),
    "mode": (" or ".join(MODES), lambda value, _: value in MODES),
    "dimensions": (
        "a list of different [id, family or null] in rubric order, in mode dimensions at least one",
        _are_dimensions,
    ),
    "low": ("an integer", lambda value, _: type(value) is int),
    "high": ("an integer above low", _is_above_low),
    "lexicon": ("a mapping of the persona's terms to finite weights", _is_lexicon),
    "rationale": ("none or before", lambda value, _: value in ("none", "before")),
}
REWRITER_FACTS: Final[Rules] = {
    "version": (repr(REWRITER_VERSION), lambda value, _: value == REWRITER_VERSION),
    "framings": (
        "a mapping of at least one id to a list of templates with {question}, perhaps {topic}",
        _are_framings,
    ),
}
GENERATOR_FACTS: Final[Rules] = {
    "version": (repr(GENERATOR_VERSION), lambda value, _: value == GENERATOR_VERSION),
    "numbers": ("a list of different whole numbers from 1 to 20", _are_numbers),
    "topic": (
        "a text of 1 to 80 characters",
        lambda value, _: isinstance(value, str) and 0 < len(value) <= 80,
    ),
    "technology": ("true or false", lambda value, _: isinstance(value, bool)),
}


def read_facts(facts: object, rules: Rules) -> Mapping[str, Any]:
    """The facts, once they are what the rules say.

    Raises:
        InputError: for facts of another form, all faults at once.
    """
    if not isinstance(facts, Mapping):
        keys = "\n".join(f"{name}: {rule}" for name, (rule, _) in rules.items())
        raise InputError(
            [InputFault("offline", f"must be a mapping, got {type(facts).__name__}")],
            hint=f"Pass the keyword `offline` to litellm, with these keys:\n{keys}",
        )
    faults = [
        InputFault("offline", f"unknown key; there are {', '.join(sorted(rules))}", str(name))
        for name in facts
        if name not in rules
    ]
    for name, (rule, holds) in rules.items():
        if not holds(facts.get(name), facts):
            got = repr(facts.get(name, "nothing"))[:80]
            faults.append(InputFault("offline", f"must be {rule}, got {got}", name))
    if faults:
        raise InputError(faults)
    return facts
