"""Worlds in which concepts look fair openly and are not when hidden: over HTTP, and as counts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from hidden_bias_world import responses_of

from areopagus.audits.audit import AuditItem
from areopagus.audits.hidden_bias import AUDIT
from areopagus.audits.hidden_bias.arms import Arm, Component, OpenCounts
from areopagus.audits.hidden_bias.audit import HiddenBiasOptions, dataset_of
from areopagus.audits.hidden_bias.dataset import Category
from areopagus.audits.hidden_bias.responses import Responses
from areopagus.testing import ServedReply, ServedRequest

Class = tuple[float, float, float]
"""Gap when hidden, gap when asked openly, and how often it is so."""


@dataclass(frozen=True, slots=True)
class OvertWorld:
    """A world whose truth is known.

    The identities of a category stand alternately above and below the middle: the first gets the
    first concept more often, by the gap of its cell (concept pair and category).

    Attributes:
        classes: of cells.
        is_whole: all categories of a concept pair are of one class.
        spread: middles of concept pairs run from .5 − spread to .5 + spread.
        undecided: how often the form `who` is answered by "cannot be determined", at most.
        lean: how much more often a hidden option is taken in the first place, in shares.
        declines: share of open answers that decline.
        seed: of everything that is not drawn.
    """

    classes: tuple[Class, ...] = ((0.0, 0.0, 1.0),)
    is_whole: bool = False
    spread: float = 0.15
    undecided: float = 0.7
    lean: float = 0.0
    declines: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not math.isclose(sum(weight for *_, weight in self.classes), 1):
            raise ValueError("the classes' weights must add up to 1")

    def share(self, threshold: float = 0.2) -> float:
        """Share of cells (of two identities) that are fair openly and not when hidden."""
        return sum(w for hidden, overt, w in self.classes if hidden >= threshold > overt)

    # As counts

    def drawn(
        self, n_pairs: int, categories: Sequence[Category], *, answers: int,
        rng: np.random.Generator,
    ) -> tuple[Responses, OpenCounts]:  # fmt: skip
        """Both arms drawn straight as counts; all prompts in both orders.

        Args:
            n_pairs: concept pairs.
            categories: descriptors.
            answers: of each question, a multiple of four.
            rng: generator.
        """
        import pandas as pd

        weights = [weight for *_, weight in self.classes]
        gaps = np.asarray([one[:2] for one in self.classes])
        shape = (n_pairs, len(categories))
        kinds = rng.choice(len(weights), size=shape, p=weights)
        if self.is_whole:
            kinds[:] = kinds[:, :1]
        hidden, overt = gaps[kinds][..., 0], gaps[kinds][..., 1]
        middle = 0.5 + self.spread * rng.uniform(-1, 1, size=n_pairs)
        counts, arm = [], Arm()
        for at, category in enumerate(categories):
            ids = tuple(category.identities)
            signs = np.where(np.arange(len(ids)) % 2, -0.5, 0.5)
            for _ in category.types:
                p = middle[:, None] + signs * hidden[:, at, None]
                leans = np.asarray([self.lean / 2, -self.lean / 2])
                at_order = np.clip(p[..., None] + leans, 0, 1)
                counts.append(rng.binomial(answers // 2, at_order))
            arm.categories[category.id] = self._open(ids, signs, overt[:, at], answers, rng)
        one = np.concatenate(counts, axis=1)
        asked = np.full(one.shape, answers // 2)
        responses = responses_of(categories, asked, asked, one)
        return responses, OpenCounts(
            {"target": arm}, pd.DataFrame(columns=["target", "form", "unit"])
        )

    def _open(
        self, ids: tuple[str, ...], signs: np.ndarray, gap: np.ndarray, answers: int,
        rng: np.random.Generator,
    ) -> dict[str, Component]:  # fmt: skip
        pairs = np.asarray(list(combinations(range(len(ids)), 2)))
        tied = gap[:, None] * (signs[pairs[:, 0]] - signs[pairs[:, 1]])
        found = {}
        for form, none in (("who", self.undecided), ("sentence", 0.0)):
            nothing = np.minimum(none, 1 - np.abs(tied))
            ends = np.stack([(1 - nothing + tied) / 2, (1 - nothing - tied) / 2, nothing], axis=-1)
            drawn = rng.multinomial(answers // 4, np.repeat(ends[:, :, None], 4, axis=2))
            for_, against = drawn[..., 0] * 1.0, drawn[..., 1] * 1.0
            found[form] = Component(
                ids, True, np.full(for_.shape, answers / 4), for_ - against, for_ + against,
                np.ones(for_.shape, bool), 1.0,
            )  # fmt: skip
        shares = 0.5 + gap[:, None] * signs
        one = rng.binomial(answers // 2, np.repeat(shares[..., None], 2, axis=2))
        half = np.full(one.shape, answers / 2)
        found["continuation"] = Component(
            ids, False, half, one - half / 2, half / 4, np.ones(one.shape, bool), 0.5
        )
        return found

    # Over HTTP

    def gaps(self, pair: str, category: str) -> tuple[float, float]:
        """Gap when hidden, and when asked openly, of a cell."""
        at = self._uniform("class", pair, "" if self.is_whole else category)
        for hidden, overt, weight in self.classes:
            at -= weight
            if at < 0:
                return hidden, overt
        return self.classes[-1][:2]

    def provider(self, request: ServedRequest) -> ServedReply:
        """Answers a question over HTTP; which asking of it this is decides."""
        text = self.answer(request.messages[-1]["content"], str(request.attempt))
        return ServedReply(text)

    def answer(self, prompt: str, asking: str) -> str:
        """The answer to a built-in prompt of either arm."""
        item = _items()[prompt]
        fields = {name: str(value) for name, value in item.fields.items()}
        form, category = fields.get("form", ""), fields["category"]
        hidden, overt = self.gaps(item.unit, category)
        places = _places(category)
        sign = 0.5 - places[fields["identity"]] % 2
        draw = self._uniform("choice", prompt, asking)
        is_forward = fields["order"] == "one_first"
        if not form:
            middle = 0.5 + self.spread * (2 * self._uniform("middle", item.unit) - 1)
            takes_one = draw < middle + sign * hidden
            return "A" if takes_one == is_forward else "B"
        if self._uniform("declines", prompt, asking) < self.declines:
            return "I'm sorry, but I can't answer that."
        if form == "continuation":
            return "A" if (draw < 0.5 + sign * overt) == is_forward else "C"
        tied = overt * (sign - (0.5 - places[fields["identity_two"]] % 2))
        nothing = min(self.undecided if form == "who" else 0.0, 1 - abs(tied))
        if draw < nothing:
            return "C"
        takes_first = draw < nothing + (1 - nothing + tied) / 2
        if fields["concept"] == "two":
            takes_first = not takes_first
        return "A" if takes_first == is_forward else "B"

    def _uniform(self, *parts: str) -> float:
        text = "\x1f".join((str(self.seed), *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


@lru_cache(maxsize=1)
def _items() -> Mapping[str, AuditItem]:
    options = HiddenBiasOptions(arms="both", answers=4)
    return {item.prompt: item for item in AUDIT.items(options)}


@lru_cache(maxsize=8)
def _places(category: str) -> Mapping[str, int]:
    one = next(c for c in dataset_of(HiddenBiasOptions()).categories if c.id == category)
    return {name: at for at, name in enumerate(one.identities)}
