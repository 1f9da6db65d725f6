"""What the embedded stand-ins, `offline/…`, answer: no key, no network, no cost.

    offline/lexical      a judge: scores from text features
    offline/rewriter     writes variants of a prompt from templates
    offline/respondent   writes an essay from set phrases, or answers in a set form
    offline/generator    writes prompts about a topic from templates

They are asked as any model is: messages go in, a reply comes out. What judge and rewriter cannot
read out of the messages (scale, dimensions, persona lexicon; templates) comes beside them, as the
parameter `offline`. Each does its own work and no other's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InputError, InputFault
from ..records.types import MODES, OVERALL
from .lexical import LEXICAL_VERSION, LexicalScores, measure, score, strongest_and_weakest
from .offline_generator import GENERATOR_VERSION, offline_prompts
from .offline_messages import last_user_text, marked_texts
from .offline_respondent import RESPONDENT_VERSION, offline_answer
from .offline_rewriter import REWRITER_VERSION, offline_variants, rewriter_templates
from .offline_roles import GENERATOR, LEXICAL, PROVIDER, RESPONDENT, REWRITER
from .schema import ABSTAINED, RATIONALE

OFFLINE_VERSIONS: Final = {
    LEXICAL: LEXICAL_VERSION,
    REWRITER: REWRITER_VERSION,
    RESPONDENT: RESPONDENT_VERSION,
    GENERATOR: GENERATOR_VERSION,
}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What came beside the messages."""

    mode: str
    dimensions: tuple[tuple[str, str | None], ...]
    low: int
    high: int
    lexicon: Mapping[str, float]
    has_rationale: bool


def offline_reply(model: str, messages: Sequence[Mapping[str, Any]], facts: object) -> str:
    """The reply of an embedded model, as text; the same arguments always give the same reply.

    Of `lexical`, in mode `dimensions`, an object with one integer a dimension, in the order given,
    and `abstained`; in the single-integer modes an object with `overall`. A rationale, where asked
    for, comes first. Of `rewriter` an object with one text a framing; of `respondent` an essay, or
    what a set form asks for; of `generator` an object with the blocks of its prompts.

    Args:
        model: the name without provider.
        messages: chat messages; judge and rewriter read the last one of the user that opens with
            the marker line, so that a request to repair a reply may follow it; the respondent
            reads the last one of the user.
        facts: the mapping described in `OFFLINE_FACTS` (judge), `REWRITER_FACTS` and
            `GENERATOR_FACTS`; the respondent takes none.

    Raises:
        InputError: for another model, for facts that break the contract (all faults at once), or
            for messages without the marked texts.
    """
    if model == RESPONDENT:
        if facts is not None:
            raise InputError([InputFault("offline", f"{model} takes no facts")])
        return offline_answer(last_user_text(messages))
    if model == REWRITER:
        templates = rewriter_templates(facts)
        (baseline,) = marked_texts(messages, ["PROMPT"], reader=f"{PROVIDER}/{model} rewrites")
        return json.dumps(offline_variants(baseline, templates), ensure_ascii=False)
    if model == GENERATOR:
        (material,) = marked_texts(messages, ["MATERIAL"], reader=f"{PROVIDER}/{model} writes")
        return json.dumps(offline_prompts(material, facts), ensure_ascii=False)
    if model != LEXICAL:
        names = " or ".join(OFFLINE_VERSIONS)
        raise InputError([InputFault("offline", f"must be {names}, got {model!r}", "model")])
    known = _read_facts(facts)
    prompt, response = marked_texts(
        messages, ["PROMPT", "RESPONSE"], reader=f"{PROVIDER}/{model} judges responses"
    )
    scores = score(
        measure(prompt, response),
        dimensions=known.dimensions,
        low=known.low,
        high=known.high,
        lexicon=known.lexicon,
    )
    return json.dumps(_reply_object(scores, known), ensure_ascii=False)


OFFLINE_FACTS: Final = """\
version: the LEXICAL_VERSION that the caller was written for
mode: dimensions, holistic or no_rubric
dimensions: [[id, family or null], …] in rubric order; may be empty in the single-integer modes
low, high: the ends of the scale
lexicon: {term: weight} of the persona
rationale: none or before"""
"""The keys of the keyword `offline` for the judge; there are no others."""


def _reply_object(scores: LexicalScores, facts: _Facts) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    if facts.has_rationale:
        reply[RATIONALE] = strongest_and_weakest(scores)
    if facts.mode == "dimensions":
        return reply | dict(scores.scores) | {ABSTAINED: scores.abstained}
    return reply | {OVERALL: scores.overall}


def _read_facts(facts: object) -> _Facts:
    if not isinstance(facts, Mapping):
        raise InputError(
            [InputFault("offline", f"must be a mapping, got {type(facts).__name__}")],
            hint="Pass the keyword `offline` to litellm, with these keys:\n" + OFFLINE_FACTS,
        )
    faults: list[InputFault] = []

    def check(holds: bool, name: str, rule: str) -> None:
        if not holds:
            got = repr(facts.get(name, "nothing"))
            faults.append(InputFault("offline", f"must be {rule}, got {got[:80]}", name))

    expected = {"version", "mode", "dimensions", "low", "high", "lexicon", "rationale"}
    faults += [
        InputFault("offline", f"unknown key; there are {', '.join(sorted(expected))}", str(name))
        for name in facts
        if name not in expected
    ]
    mode, dimensions = facts.get("mode"), facts.get("dimensions")
    low, high, lexicon = facts.get("low"), facts.get("high"), facts.get("lexicon")
    check(facts.get("version") == LEXICAL_VERSION, "version", repr(LEXICAL_VERSION))
    check(mode in MODES, "mode", " or ".join(MODES))
    check(_are_dimensions(dimensions), "dimensions", "a list of different [id, family or null]")
    check(
        mode != "dimensions" or bool(dimensions), "dimensions", "a list of at least one dimension"
    )
    check(type(low) is int, "low", "an integer")
    check(
        type(high) is int and (type(low) is not int or high > low), "high", "an integer above low"
    )
    check(_is_lexicon(lexicon), "lexicon", "a mapping of terms to finite weights")
    check(facts.get("rationale") in ("none", "before"), "rationale", "none or before")
    if faults:
        raise InputError(faults)
    return _Facts(
        mode=facts["mode"],
        dimensions=tuple((name, family) for name, family in facts["dimensions"]),
        low=facts["low"],
        high=facts["high"],
        lexicon=facts["lexicon"],
        has_rationale=facts["rationale"] == "before",
    )


def _are_dimensions(value: object) -> bool:
    if not isinstance(value, list | tuple):
        return False
    names = []
    for pair in value:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            return False
        name, family = pair
        if not isinstance(name, str) or not (family is None or isinstance(family, str)):
            return False
        names.append(name)
    return len(set(names)) == len(names)


def _is_lexicon(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(term, str)
        and isinstance(weight, int | float)
        and not isinstance(weight, bool)
        and math.isfinite(weight)
        for term, weight in value.items()
    )
