"""`offline/rewriter`: variants filled into the templates that the framings bring along.

It lets the whole path be tried without a key. Nothing is understood: which claim a prompt leans
towards is not known, so the two sides of a pair take sides on "the usual reading" of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import InputError, InputFault
from .offline_subject import chosen, question_of, topic_of

REWRITER_VERSION: Final = "1"

REWRITER_FACTS: Final = """\
version: the REWRITER_VERSION that the caller was written for
framings: {id: [template, …]}, each template with {question} and perhaps {topic}"""
"""The keys of the keyword `offline` for this model; there are no others."""


def offline_variants(prompt: str, templates: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Framing id to text; a framing without a template is left out, as a model might.

    The same prompt and templates always give the same texts.
    """
    topic, question = topic_of(prompt), question_of(prompt)
    variants: dict[str, str] = {}
    for name, options in templates.items():
        if options:
            template = chosen(list(options), name, prompt)
            # not str.format: a prompt may hold braces
            head, _, tail = template.partition("{question}")
            variants[name] = (
                f"{head.replace('{topic}', topic)}{question}{tail.replace('{topic}', topic)}"
            )
    return variants


def rewriter_templates(facts: object) -> dict[str, list[str]]:
    """The templates in the keyword `offline`.

    Raises:
        InputError: for facts of another form, all faults at once.
    """
    if not isinstance(facts, Mapping):
        raise InputError(
            [InputFault("offline", f"must be a mapping, got {type(facts).__name__}")],
            hint="Pass the keyword `offline` to litellm, with these keys:\n" + REWRITER_FACTS,
        )
    faults = [
        InputFault("offline", "unknown key; there are framings, version", str(name))
        for name in facts
        if name not in ("version", "framings")
    ]
    if facts.get("version") != REWRITER_VERSION:
        got = repr(facts.get("version", "nothing"))[:80]
        faults.append(InputFault("offline", f"must be {REWRITER_VERSION!r}, got {got}", "version"))
    framings: Any = facts.get("framings")
    if not _are_templates(framings):
        rule = "must map at least one id to a list of templates with {question}"
        faults.append(InputFault("offline", rule, "framings"))
    if faults:
        raise InputError(faults)
    return {name: list(options) for name, options in framings.items()}


def _are_templates(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(
            isinstance(name, str)
            and isinstance(options, list | tuple)
            and all(isinstance(text, str) and text.count("{question}") == 1 for text in options)
            for name, options in value.items()
        )
    )
