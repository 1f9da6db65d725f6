"""What cannot be said with these data, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from .leave_out import STANDS
from .material import Material

_DESCRIPTIONS = (
    "a p-value has no interval", "a description", "printed for comparison",
    "the interval stands", "the test is", "the paper's definition", "prompts are not kept apart",
    "shrunk towards 0", "over raters:", "simulated", "a width", "no interval: it rests",
    "one prompt: no interval", "one item", "no interval over prompts", "holds several families",
    "it is the whole panel", "its family wrote none", "ranks have no equal distances",
    "fewer than two scored criteria", "fewer than three scored criteria",
    "no scores inferred from justifications", "not asked for", "the paper's definitions need",
    "the design holds no error component", "no response is marked as the weak one",
    "every scored response is rated", "people's responses stand among them",
    f"does not vary over prompts: {STANDS}", "no interval: what independent judges come out as",
)  # fmt: skip
"""Reasons that say why there is no interval by nature; they are no lack of these data."""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """One thing that cannot be said: what, why, and how many figures it concerns."""

    what: str
    reason: str
    n_figures: int


def what_cannot_be_said(material: Material, parts: dict[str, Any]) -> tuple[Unsaid, ...]:
    """Returns what these data leave open: first by their shape, then by the figures without.

    Args:
        material: the data.
        parts: name of a part of the report to its figures.
    """
    found = list(_by_shape(material))
    collected: dict[tuple[str, str], list[str]] = {}
    for name, part in parts.items():
        for number in numbers_in(part):
            if number.reason and not number.reason.startswith(_DESCRIPTIONS):
                collected.setdefault((name, number.reason), []).append(number.method)
    for (name, reason), methods in collected.items():
        named = list(dict.fromkeys(text.split(";")[0] for text in methods if text))
        which = f" ({'; '.join(named[:2])}{' …' if len(named) > 2 else ''})" if named else ""
        found.append(Unsaid(f"{name}{which}", reason, len(methods)))
    return tuple(found)


def numbers_in(thing: Any) -> Iterator[Estimate]:
    """Yields every number of a tree of dataclasses, tuples and mappings."""
    if isinstance(thing, Estimate):
        yield thing
    elif is_dataclass(thing) and not isinstance(thing, type):
        for field in fields(thing):
            yield from numbers_in(getattr(thing, field.name))
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from numbers_in(value)
    elif isinstance(thing, tuple | list):
        for value in thing:
            yield from numbers_in(value)


def _by_shape(material: Material) -> Iterator[Unsaid]:
    responses, panel = material.responses, material.panel
    rated = {int(code) for one in material.ratings for code in np.unique(one.prompt)}
    if len(rated) < MIN_UNITS:
        yield Unsaid(
            "intervals and tests over prompts",
            f"{len(rated)} prompts: at least {MIN_UNITS} are needed (with five, the smallest "
            "two-sided sign-flip p is .0625)",
            0,
        )
    kinds = {one.kind for one in material.ratings}
    if kinds == {"rank"}:
        yield Unsaid(
            "levels: severity of raters, a map to people's scale, means, conformal widths",
            "people gave ranks, and ranks hold an order and no level",
            0,
        )
    raters = {int(code) for one in material.ratings for code in np.unique(one.rater)}
    if len(raters) < 2:
        yield Unsaid("agreement between people", "one rater", 0)
    if not responses.has_both_sources:
        yield Unsaid(
            "whether agreement is only recognition of people and models",
            "the sources of the responses are not known, or there is one only",
            0,
        )
    if not any(responses.domain):
        yield Unsaid("figures by domain", "no domain column", 0)
    if panel is None:
        return
    P, M, T = panel.shape
    if M == 1:
        yield Unsaid(
            "how other models would judge", "one model: what it shares with itself is not error", 0
        )
    elif M < 5:
        yield Unsaid(
            "the variance between models",
            f"{M} models: read figures for other models as for these only",
            0,
        )
    if P == 1:
        yield Unsaid("what personas add", "one persona, or none", 0)
    if T == 1:
        yield Unsaid(
            "a judge's own re-ask noise", "no repeats: it is not told from its interactions", 0
        )
    if not np.isfinite(responses.length).any():
        yield Unsaid("whether length sways judges", "the lengths of the responses are not known", 0)
