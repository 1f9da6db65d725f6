"""The judge `offline/lexical`: scores from text features.

A baseline, and never a language model: it reads no meaning, checks no fact, and knows only English
words; a text in another language ends near the bottom of the scale. It rewards the outward marks of
careful writing (`features`) with weights set by hand, and it is there to try everything out
without a key, to test the path of a judgment, and to be beaten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from ...formats import listed_all, words
from .features import Features, lexicon_key, measure

__all__ = [
    "FAMILIES",
    "LEXICAL_VERSION",
    "Family",
    "Features",
    "LexicalScores",
    "alike",
    "alike_in_words",
    "measure",
    "score",
    "strongest_and_weakest",
]

LEXICAL_VERSION: Final = "2"
"""Raised whenever a text may get another score: it belongs to the identity of a stored reply."""

Family = Literal["clarity", "evidence", "relevance", "plurality", "soundness"]
"""What a dimension is about, as far as features can tell. None stands for the mean of all five."""

FAMILIES: Final[tuple[Family, ...]] = get_args(Family)

LEAN: Final = 0.12
"""The most that a persona's lexicon can move a position in [0, 1], before its family's share."""

_LEAN_SHARE: Final[Mapping[Family, float]] = {
    "clarity": 0.4,
    "evidence": 0.7,
    "relevance": 0.9,
    "plurality": 1.0,
    "soundness": 0.7,
}
_FULL_LEXICON: Final = 0.1
"""Weighted share of a lexicon's terms beyond which a text speaks the persona's language fully."""

# Weights of the merits of each family; they sum to 1. Set by hand, before any comparison with
# people, and open to view through `LexicalScores.explanation`.
_WEIGHTS: Final[Mapping[Family, Mapping[str, float]]] = {
    "clarity": {
        "definitions": 0.30,
        "development": 0.20,
        "readability": 0.15,
        "sentence_length": 0.10,
        "connectives": 0.15,
        "paragraphs": 0.10,
    },
    "evidence": {
        "evidence": 0.27,
        "figures": 0.20,
        "sources": 0.25,
        "caution": 0.18,
        "development": 0.10,
    },
    "relevance": {
        "prompt_coverage": 0.45,
        "on_topic": 0.25,
        "development": 0.30,
    },
    "plurality": {
        "stakeholders": 0.30,
        "viewpoints": 0.35,
        "contrasts": 0.15,
        "objections": 0.20,
    },
    "soundness": {
        "premises": 0.25,
        "conclusions": 0.22,
        "objections": 0.15,
        "caution": 0.15,
        "contrasts": 0.11,
        "development": 0.12,
    },
}
_FAULTS: Final[Mapping[Family, Mapping[str, float]]] = {
    "clarity": {"vagueness": 0.16, "shouting": 0.06, "absolutes": 0.06, "insults": 0.08},
    "evidence": {"absolutes": 0.12, "vagueness": 0.06},
    "relevance": {"insults": 0.16, "vagueness": 0.08, "absolutes": 0.08},
    "plurality": {"absolutes": 0.16, "insults": 0.20},
    "soundness": {"absolutes": 0.20, "insults": 0.14, "shouting": 0.06, "vagueness": 0.06},
}
_NEEDS_TOPIC: Final[frozenset[Family]] = frozenset({"evidence", "plurality", "soundness"})
"""Families whose merits count less in a text that is not about the question."""

_MINDS_ECHO: Final[frozenset[Family]] = frozenset({"relevance"})
"""Families in which text copied from the prompt takes its share of the merits away."""


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Scores of one response, and where they come from.

    Attributes:
        scores: dimension id to an integer on the scale, in the order asked for.
        overall: one integer on the scale, from the mean position of the dimensions asked for, or of
            all families where none was.
        abstained: whether the response declines to answer; the scores stand all the same.
        explanation: family to contribution by name. The contributions of a family add up to its
            position in [0, 1] between the scale's ends, before it is cut to that range and rounded.
    """

    scores: Mapping[str, int]
    overall: int
    abstained: bool
    explanation: Mapping[Family, Mapping[str, float]]


def score(
    features: Features,
    *,
    dimensions: Sequence[tuple[str, str | None]],
    low: int,
    high: int,
    lexicon: Mapping[str, float],
) -> LexicalScores:
    """Scores of measured text on a scale; a pure function of its arguments.

    The position of a family is a weighted sum of merits, each saturating in [0, 1), less faults,
    times factors in [0, 1]: how far the text is prose rather than a heap of marker words or
    repetitions, (where facts or views are counted) whether it is about the question at all, and
    whether its small words stand in an English order.

    Args:
        features: from `measure`.
        dimensions: pairs of dimension id and family; None, or a family that is not one of
            `FAMILIES`, takes the mean of all five.
        low, high: ends of the integer scale, low < high.
        lexicon: a persona's terms and weights, compared without inflection; a negative weight marks
            a term that speaks against. Empty: no shift.

    Raises:
        ValueError: for a scale that is no range.
    """
    if low >= high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    explanation = _explain(features, _lean(features, lexicon))
    positions: dict[str, float] = {
        family: _cut(math.fsum(parts.values())) for family, parts in explanation.items()
    }
    general = math.fsum(positions.values()) / len(positions)
    asked = [(dimension, positions.get(family or "", general)) for dimension, family in dimensions]
    whole = math.fsum(position for _, position in asked) / len(asked) if asked else general
    return LexicalScores(
        scores={dimension: _on_scale(position, low, high) for dimension, position in asked},
        overall=_on_scale(whole, low, high),
        abstained=features.is_refusal,
        explanation=explanation,
    )


def _weighing(name: str | None) -> tuple[object, ...]:
    """All that tells a family's position in any text from another's; the same for no family."""
    family = next((one for one in FAMILIES if one == name), None)
    if family is None:
        return ()
    return (
        sorted(_WEIGHTS[family].items()),
        sorted(_FAULTS[family].items()),
        _LEAN_SHARE[family],
        family in _NEEDS_TOPIC,
        family in _MINDS_ECHO,
    )


def alike(dimensions: Sequence[tuple[str, str | None]]) -> list[tuple[str, ...]]:
    """The groups of dimensions whose scores are the same for every text, in the order asked for.

    They are those whose features have the same weights: dimensions of one family, and all that take
    the mean of the five because they name none. A dimension that is alone in this is left out.

    Args:
        dimensions: see `score`.
    """
    groups: list[tuple[object, list[str]]] = []
    for dimension, family in dimensions:
        weighing = _weighing(family)
        known = next((names for one, names in groups if one == weighing), None)
        if known is None:
            groups.append((weighing, [dimension]))
        else:
            known.append(dimension)
    return [tuple(names) for _, names in groups if len(names) > 1]


def alike_in_words(dimensions: Sequence[tuple[str, str | None]]) -> str:
    """A sentence that names the dimensions which cannot be told apart; "" where all can."""
    groups = "; ".join(listed_all(names) for names in alike(dimensions))
    if not groups:
        return ""
    return (
        f"offline/lexical cannot tell apart {groups}: it weighs the same features for each and "
        "gives them the same score"
    )


def _on_scale(position: float, low: int, high: int) -> int:
    # Half up: Python's own rounding would send 4.5 down and 5.5 up.
    return low + math.floor(position * (high - low) + 0.5)


def _cut(value: float) -> float:
    return min(1.0, max(0.0, value))


def _saturating(count: float, scale: float) -> float:
    """1 − exp(−count/scale): each further mark counts less, so that piling them up soon ends."""
    return 1.0 - math.exp(-count / scale)


def _band(value: float, points: tuple[float, float, float, float]) -> float:
    """1 between the inner two points, 0 outside the outer two, linear between."""
    least, low, high, most = points
    if value < low:
        return _cut((value - least) / (low - least))
    return _cut((most - value) / (most - high))


def _merits(features: Features) -> dict[str, float]:
    """Named merits in [0, 1]."""
    development = _saturating(features.engaged_words, 120)
    return {
        "development": development,
        "definitions": _saturating(features.definitions, 2),
        # Short texts are readable for free, hence the factor.
        "readability": development * _band(features.readability, (2.0, 7.0, 16.0, 24.0)),
        "sentence_length": development * _band(features.mean_sentence_words, (5, 13, 28, 50)),
        "connectives": _saturating(features.contrasts + features.order, 4),
        "paragraphs": _saturating(max(0, features.paragraphs - 1), 2),
        "evidence": _saturating(features.evidence, 3.5),
        "figures": _saturating(features.numbers + features.years, 2.5),
        "sources": _saturating(
            0.5 * features.names + 2 * features.citations + features.quotations, 4
        ),
        "caution": _saturating(features.caution, 3.5),
        "prompt_coverage": _cut(features.prompt_coverage / 0.5),
        "on_topic": development * (1.0 - features.off_topic_share),
        "stakeholders": _saturating(features.stakeholders, 5),
        "viewpoints": _saturating(features.viewpoints, 3.5),
        "contrasts": _saturating(features.contrasts, 3),
        "objections": _saturating(features.objections, 2),
        "premises": _saturating(features.premises, 3.5),
        "conclusions": _saturating(features.conclusions, 2.5),
    }


def _faults(features: Features) -> dict[str, float]:
    """Named faults in [0, 1]; by frequency, because any long text has a few such words."""
    per_hundred = 100.0 / max(features.engaged_words, 50)
    return {
        "absolutes": _saturating(features.absolutes * per_hundred, 2.5),
        "insults": _saturating(features.insults * per_hundred, 1.0),
        "vagueness": _saturating(features.vagueness * per_hundred, 2.0),
        "shouting": _saturating(features.exclamations * per_hundred, 1.0),
    }


def _prose(features: Features) -> float:
    """How far the text is prose, in [0, 1]: function words, few repetitions, not all markers."""
    if features.words == 0:
        return 0.0
    return (
        _band(features.function_share, (0.15, 0.30, 0.72, 0.90))
        * (1.0 - _cut((features.repetition - 0.08) / 0.4))
        * (1.0 - _cut((features.marker_share - 0.35) / 0.3))
    )


def _word_order(features: Features) -> float:
    """1 where the small words stand in an English order, falling to 0 where many do not.

    One broken place is let pass in any text, and a short text counts as one of 25 places: a slip,
    or a sentence that ends in "of", is no disorder.
    """
    broken = max(0, len(features.broken_places) - 1) / max(features.checked_places, 25)
    return 1.0 - _cut((broken - 0.02) / 0.06)


def _lean(features: Features, lexicon: Mapping[str, float]) -> float:
    """Where the text stands between silence on the persona's terms (−1) and its language (1)."""
    present = total = 0.0
    for term, weight in lexicon.items():
        key = lexicon_key(term)
        if not key or not math.isfinite(weight):
            continue
        total += abs(weight)
        if key in features.stems:
            present += weight
    if total == 0.0:
        return 0.0
    return 2.0 * _cut(present / total / _FULL_LEXICON) - 1.0


def _explain(features: Features, lean: float) -> dict[Family, dict[str, float]]:
    merits = _merits(features)
    faults = _faults(features)
    prose = _prose(features)
    in_order = _word_order(features)
    # Below about one subject word in seven, a text is hardly about the question.
    topic = 0.5 + 0.5 * _cut(features.prompt_coverage / 0.15)
    explanation: dict[Family, dict[str, float]] = {}
    for family in FAMILIES:
        parts = {name: weight * merits[name] for name, weight in _WEIGHTS[family].items()}
        parts |= {name: -weight * faults[name] for name, weight in _FAULTS[family].items()}
        if family in _MINDS_ECHO:
            parts["prompt_echo"] = -features.prompt_echo * math.fsum(parts.values())
        base = _cut(math.fsum(parts.values()))
        factor = prose * (topic if family in _NEEDS_TOPIC else 1.0)
        if factor < 1.0:
            parts["not_prose_or_off_topic"] = -base * (1.0 - factor)
        base *= factor
        if in_order < 1.0:
            parts["words_out_of_order"] = -base * (1.0 - in_order)
        base *= in_order
        # Largest in the middle, nothing at the ends: a persona's words cannot save an empty text.
        parts["persona_lexicon"] = LEAN * _LEAN_SHARE[family] * lean * 4.0 * base * (1.0 - base)
        explanation[family] = parts
    return explanation


def strongest_and_weakest(scores: LexicalScores) -> str:
    """One sentence that names what raised the scores most and what held them back most.

    What is named is the mean contribution over the families; held back counts what a merit falls
    short of its weight as well as what a fault takes away.
    """
    gained: dict[str, float] = {}
    missed: dict[str, float] = {}
    for family, parts in scores.explanation.items():
        for name, part in parts.items():
            gained[name] = gained.get(name, 0.0) + part
            missed[name] = missed.get(name, 0.0) + _WEIGHTS[family].get(name, 0.0) - part
    strongest = max(gained, key=lambda name: gained[name])
    weakest = max(missed, key=lambda name: missed[name])
    return (
        "Text features only, nothing is understood: "
        f"the strongest is {words(strongest)}, the weakest {words(weakest)}."
    )
