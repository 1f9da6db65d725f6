"""Hidden-bias worlds of planted bias: over HTTP, and drawn straight as counts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from areopagus.audits.hidden_bias.audit import HiddenBiasOptions, dataset_of
from areopagus.audits.hidden_bias.dataset import Category
from areopagus.audits.hidden_bias.estimates import POINTS
from areopagus.audits.hidden_bias.questions import (
    ORDERS,
    choice_items,
    order_split,
    placed_types,
)
from areopagus.audits.hidden_bias.responses import Question, Responses
from areopagus.audits.languages import HiddenBiasWords, find_language
from areopagus.testing import ServedReply, ServedRequest

CARRIERS = find_language().section(HiddenBiasWords).carriers
REFUSAL = "I'm sorry, but I can't answer that."
GARBLED = "Either of the two could have happened."


@dataclass(frozen=True, slots=True)
class HiddenBiasWorld:
    """A world whose truth is known.

    Without a bias every identity takes the first option of a concept pair with the same share,
    drawn for the concept pair around .5. With one, the identities of a type stand alternately half
    a gap above and half a gap below it.

    Attributes:
        gap: between identities of the two kinds, in shares.
        prevalence: share of concept pairs and types that have the gap.
        spread: the shares of concept pairs run from .5 − spread to .5 + spread.
        lean: how much more often an option is taken in the first place, in shares.
        refusals, garbled: share of answers that decline, and that cannot be read.
        is_steady: the same prompt always brings the same answer.
        seed: of everything.
    """

    gap: float = 0.0
    prevalence: float = 1.0
    spread: float = 0.2
    lean: float = 0.0
    refusals: float = 0.0
    garbled: float = 0.0
    is_steady: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.spread + self.gap / 2 + self.lean / 2 > 0.5:
            raise ValueError("shares would leave [0, 1]: make spread, gap or lean smaller")

    def share(self, pair: str, kind: str, place: int) -> float:
        """P of the first option for the identity in this place of its type, orders weighing alike.

        Args:
            pair: concept pair.
            kind: type of descriptor.
            place: of the identity in its type.
        """
        middle = 0.5 + self.spread * (2 * self._uniform("middle", pair) - 1)
        if self._uniform("biased", pair, kind) >= self.prevalence:
            return middle
        sign = 1 if (place + int(2 * self._uniform("sign", pair, kind))) % 2 else -1
        return middle + sign * self.gap / 2

    def mean_squared_gap(self, sizes: Sequence[int]) -> float:
        """The expected squared gap of a test instance, in squared points.

        Args:
            sizes: number of identities in each type.
        """
        pairs = sum(size * (size - 1) // 2 for size in sizes)
        apart = sum((size // 2) * (size - size // 2) for size in sizes)
        return POINTS**2 * self.gap**2 * self.prevalence * apart / pairs

    def planted_gap(self, pairs: Sequence[str], categories: Sequence[Category]) -> float:
        """The root mean squared gap that this very world has, in points."""
        squares = [
            (self.share(pair, placed.type.id, a) - self.share(pair, placed.type.id, b)) ** 2
            for pair in pairs
            for placed in placed_types(categories)
            for a, b in combinations(range(len(placed.type.descriptors)), 2)
        ]
        return POINTS * math.sqrt(sum(squares) / len(squares))

    def provider(self, request: ServedRequest) -> ServedReply:
        """Answers a question over HTTP; which asking of it this is decides, unless steady."""
        asking = "" if self.is_steady else str(request.attempt)
        return ServedReply(self.answer(request.model, request.messages[-1]["content"], asking))

    def answer(self, model: str, prompt: str, asking: str = "") -> str:
        """A model's answer to a built-in prompt."""
        kind = self._uniform("kind", model, prompt, asking)
        if kind < self.refusals:
            return REFUSAL
        if kind < self.refusals + self.garbled:
            return GARBLED
        pair, type_id, place, order = _places()[prompt]
        is_forward = order == ORDERS[0]
        share = self.share(pair, type_id, place) + (self.lean / 2) * (1 if is_forward else -1)
        takes_one = self._uniform("choice", model, prompt, asking) < share
        return "A" if takes_one == is_forward else "B"

    def drawn(
        self,
        n_pairs: int,
        categories: Sequence[Category],
        *,
        answers: int,
        rng: np.random.Generator,
        target: str = "target",
        name: str = "pair",
    ) -> Responses:
        """Answers drawn straight as counts, for the estimator layer.

        Args:
            n_pairs: concept pairs.
            categories: descriptors.
            answers: of each question.
            rng: generator.
            target: the model's name.
            name: how the ids of concept pairs begin; worlds that share ids share their
                permutations.
        """
        asked, chosen, one = (
            np.zeros((n_pairs, n_questions(categories), len(ORDERS)), dtype=np.int64)
            for _ in range(3)
        )
        for row in range(n_pairs):
            shares = self._drawn_shares(categories, rng)
            for column, (place, _, share) in enumerate(shares):
                for order, n in order_split(answers, place, orders=True):
                    at = row, column, ORDERS.index(order)
                    here = share + (self.lean / 2) * (1 if order == ORDERS[0] else -1)
                    left = n - int(rng.binomial(n, self.refusals)) if self.refusals else n
                    asked[at], chosen[at] = n, left
                    one[at] = int(rng.binomial(left, here))
        return responses_of(categories, asked, chosen, one, target=target, name=name)

    def scored(
        self,
        n_pairs: int,
        categories: Sequence[Category],
        *,
        noise: float,
        rng: np.random.Generator,
        target: str = "target",
    ) -> Responses:
        """The same world by perplexity, for the semi-generation form.

        Args:
            n_pairs: concept pairs.
            categories: descriptors.
            noise: standard deviation of the logarithm of each 1/perplexity about what the share
                calls for: what a phrase's length and rarity add, half of its variance in all
                variations alike, half apart in each.
            rng: generator.
            target: the model's name.
        """
        found = np.zeros((n_pairs, n_questions(categories)))
        for row in range(n_pairs):
            for column, (_, _, share) in enumerate(self._drawn_shares(categories, rng)):
                strays = rng.standard_normal(2) + rng.standard_normal((len(CARRIERS), 2))
                weights = np.exp(noise / math.sqrt(2) * strays)
                one, two = (np.asarray((share, 1 - share)) * weights).sum(axis=0)
                found[row, column] = one / (one + two)
        none = np.zeros((*found.shape, len(ORDERS)), dtype=np.int64)
        return responses_of(categories, none + 1, none, none, target=target, scored=found)

    def _drawn_shares(
        self, categories: Sequence[Category], rng: np.random.Generator
    ) -> Iterator[tuple[int, Question, float]]:
        """Place of the identity, question, and share of the first option, for one concept pair."""
        middle = 0.5 + self.spread * rng.uniform(-1, 1)
        for placed in placed_types(categories):
            is_biased = rng.random() < self.prevalence
            sign = 1 if rng.random() < 0.5 else -1
            for place, one in enumerate(placed.type.descriptors):
                share = middle + is_biased * sign * (-1) ** place * self.gap / 2
                yield place, (placed.category.id, placed.type.id, one.identity), share

    def _uniform(self, *parts: str) -> float:
        text = "\x1f".join((str(self.seed), *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def n_questions(categories: Sequence[Category]) -> int:
    """Questions of a concept pair."""
    return sum(len(placed.type.descriptors) for placed in placed_types(categories))


def responses_of(
    categories: Sequence[Category],
    asked: npt.NDArray[np.int64],
    chosen: npt.NDArray[np.int64],
    one: npt.NDArray[np.int64],
    *,
    target: str = "target",
    name: str = "pair",
    scored: npt.NDArray[np.float64] | None = None,
) -> Responses:
    """Counts of shape (concept pairs, questions, orders) of one target; who declines, refuses."""
    questions = tuple(
        (placed.category.id, placed.type.id, item.identity)
        for placed in placed_types(categories)
        for item in placed.type.descriptors
    )
    read = chosen.sum(axis=2)
    pairs = tuple(f"{name}{number}" for number in range(len(asked)))
    return Responses(
        (target,), pairs, questions, asked[None], chosen[None], one[None],
        (asked - chosen).sum(axis=2)[None], np.zeros_like(read)[None], read[None],
        np.zeros((1, len(asked)), dtype=np.int64), None if scored is None else scored[None],
    )  # fmt: skip


def together(*worlds: Responses) -> Responses:
    """Several targets on the same concept pairs."""
    arrays = {
        name: np.concatenate([getattr(one, name) for one in worlds])
        for name in ("asked", "chosen", "one", "refused", "unreadable", "read", "first_named")
    }
    targets = tuple(name for one in worlds for name in one.targets)
    return replace(worlds[0], targets=targets, **arrays)


@lru_cache(maxsize=1)
def _places() -> Mapping[str, tuple[str, str, int, str]]:
    """Built-in prompt to concept pair, type, place of the identity and order."""
    dataset = dataset_of(HiddenBiasOptions())
    places = {
        (placed.type.id, one.identity): place
        for placed in placed_types(dataset.categories)
        for place, one in enumerate(placed.type.descriptors)
    }
    found = {}
    for item in choice_items(dataset, answers=2, orders=True):
        kind, identity = str(item.fields["descriptor_type"]), str(item.fields["identity"])
        found[item.prompt] = (item.unit, kind, places[kind, identity], str(item.fields["order"]))
    return found
