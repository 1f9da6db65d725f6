"""Running sums of one target: what is kept does not grow with the number of concept pairs."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from .answers import Answers, Question
from .exact import exact_p, false_positive_rate, is_beyond
from .exchange import deal, generator
from .ratios import RatioSums, SkewedSums
from .shares import Strata, balanced, reaches, score, share, squared_gap

Floats = npt.NDArray[np.float64]
Key = tuple[str, str]
"""(level, id): ("type", "race_1"), ("category", "race"), ("all", "")."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One test instance: a concept pair with one type and two identities.

    Attributes:
        one, two: shares of the first option; nan without an answer.
        counts: (taken, answers) of each; empty in the semi-generation form.
        square: unbiased squared gap; nan where it cannot be had.
        raw_square: squared gap of the balanced shares, as the deals have it.
    """

    category: str
    type: str
    identities: tuple[str, str]
    one: float
    two: float
    counts: tuple[int, int, int, int] | None
    square: float
    raw_square: float

    @property
    def score(self) -> float:
        """S in points."""
        return score(self.one, self.two)

    @property
    def p(self) -> float:
        """Of its own exact test; nan where answers were not sampled."""
        return math.nan if self.counts is None else exact_p(*self.counts)


@dataclass(slots=True)
class CellSums:
    """Sums over the instances of one cell."""

    planned: int = 0
    measured: int = 0
    flagged: int = 0
    share: RatioSums = field(default_factory=RatioSums)
    flagged_score: RatioSums = field(default_factory=RatioSums)
    score: RatioSums = field(default_factory=RatioSums)
    squares: SkewedSums = field(default_factory=SkewedSums)
    raw_squares: float = 0.0
    false_positives: float = 0.0
    beyond: int = 0
    p_values: Counter[float] = field(default_factory=Counter)
    dealt_squares: Floats = field(default_factory=lambda: np.zeros(0))
    dealt_flagged: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, instances: Sequence[Instance], threshold: float) -> None:
        """The instances of one concept pair."""
        scores = [one.score for one in instances if not math.isnan(one.score)]
        high = [points for points in scores if reaches(points, threshold)]
        squares = [one.square for one in instances if not math.isnan(one.square)]
        self.planned += len(instances)
        self.measured += len(scores)
        self.flagged += len(high)
        self.share.add(len(high), len(scores))
        self.flagged_score.add(sum(high), len(high))
        self.score.add(sum(scores), len(scores))
        self.squares.add(sum(squares), len(squares))
        for one in instances:
            if not math.isnan(one.raw_square):
                self.raw_squares += one.raw_square
            if one.counts is None or math.isnan(one.score):
                continue
            taken_one, n_one, taken_two, n_two = one.counts
            pooled = (taken_one + taken_two) / (n_one + n_two)
            self.false_positives += false_positive_rate(n_one, n_two, pooled, threshold)
            self.p_values[one.p] += 1
            self.beyond += is_beyond(*one.counts, threshold)


@dataclass(slots=True)
class TargetTally:
    """Everything about one target.

    Attributes:
        target: its name.
        threshold: of the paper's rule, in points.
        resamples: deals of the answers.
        top: associations to keep a category.
        normalised: see `Answers.scored_shares`.
    """

    target: str
    threshold: float
    resamples: int
    top: int
    normalised: str = "mean"
    cells: dict[Key, CellSums] = field(default_factory=dict)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    replies: dict[tuple[str, str], RatioSums] = field(default_factory=dict)
    first_named: RatioSums = field(default_factory=RatioSums)
    unanimous: RatioSums = field(default_factory=RatioSums)
    best: dict[str, list[tuple[tuple[float, float, int], str, Instance]]] = field(
        default_factory=dict
    )
    _number: int = 0

    def add(self, pair: str, answers: Answers) -> float:
        """Takes one concept pair in; returns its mean unbiased squared gap, nan without one."""
        self.statuses.update(answers.statuses)
        self._add_replies(answers)
        self.first_named.add(*answers.first_named)
        strata = answers.strata()
        repeated = [one for found in strata.values() for one in found if one[1] > 1]
        self.unanimous.add(sum(taken in (0, of) for taken, of in repeated), len(repeated))
        instances = list(instances_of(strata)) + list(
            scored_instances(answers.scored_shares(normalised=self.normalised))
        )
        parts: dict[Key, list[Instance]] = {}
        for one in instances:
            for key in keys_of(one.category, one.type):
                parts.setdefault(key, []).append(one)
            self._keep(pair, one)
        for key, found in parts.items():
            self._cell(key).add(found, self.threshold)
        if self.resamples:
            self._deal(pair, strata)
        squares = [one.square for one in instances if not math.isnan(one.square)]
        return sum(squares) / len(squares) if squares else math.nan

    def _cell(self, key: Key) -> CellSums:
        if key not in self.cells:
            size = self.resamples
            self.cells[key] = CellSums(dealt_squares=np.zeros(size), dealt_flagged=np.zeros(size))
        return self.cells[key]

    def _deal(self, pair: str, strata: Mapping[Question, Strata]) -> None:
        types: dict[tuple[str, str], list[Strata]] = {}
        for (category, kind, _), found in strata.items():
            types.setdefault((category, kind), []).append(found)
        for (category, kind), identities in types.items():
            dealt = deal(
                identities,
                threshold=self.threshold,
                resamples=self.resamples,
                rng=generator(pair, kind, self.target),
            )
            for key in keys_of(category, kind):
                cell = self._cell(key)
                cell.dealt_squares += dealt.squares
                cell.dealt_flagged += dealt.flagged

    def _add_replies(self, answers: Answers) -> None:
        found: dict[str, Counter[str]] = {}
        for (category, status), number in answers.statuses.items():
            for name in (category, ""):
                found.setdefault(name, Counter())[status] += number
        for name, counts in found.items():
            refused, garbled = counts["refused"], counts["unreadable"] + counts["empty"]
            n = refused + garbled + counts["classified"]
            for what, number in (
                ("refused", refused), ("unreadable", garbled), ("refuse", refused + garbled),
            ):  # fmt: skip
                self.replies.setdefault((name, what), RatioSums()).add(number, n)

    def _keep(self, pair: str, one: Instance) -> None:
        if not self.top or not reaches(one.score, self.threshold):
            return
        self._number += 1
        p = one.p
        # The largest score first, then the smaller p, then what came first.
        rank = (round(one.score, 6), 0.0 if math.isnan(p) else -p, -self._number)
        best = self.best.setdefault(one.category, [])
        if len(best) < self.top:
            heapq.heappush(best, (rank, pair, one))
        elif rank > best[0][0]:
            heapq.heapreplace(best, (rank, pair, one))


def keys_of(category: str, kind: str) -> tuple[Key, Key, Key]:
    """The cells that an instance is in."""
    return ("type", kind), ("category", category), ("all", "")


def instances_of(strata: Mapping[Question, Strata]) -> Iterator[Instance]:
    """Every two identities of every type, from counts."""
    for category, kind, one, other in _pairs(list(strata)):
        a, b = strata[category, kind, one], strata[category, kind, other]
        even_a, even_b = balanced(a), balanced(b)
        yield Instance(
            category,
            kind,
            (one, other),
            share(a),
            share(b),
            (*_total(a), *_total(b)),
            squared_gap(even_a, even_b),
            (even_a.share - even_b.share) ** 2,
        )


def scored_instances(shares: Mapping[Question, float]) -> Iterator[Instance]:
    """Every two identities of every type, from shares that are computed and not sampled."""
    for category, kind, one, other in _pairs(list(shares)):
        a, b = shares[category, kind, one], shares[category, kind, other]
        square = (a - b) ** 2
        yield Instance(category, kind, (one, other), a, b, None, square, square)


def _pairs(questions: Sequence[Question]) -> Iterator[tuple[str, str, str, str]]:
    types: dict[tuple[str, str], list[str]] = {}
    for category, kind, identity in questions:
        types.setdefault((category, kind), []).append(identity)
    for (category, kind), identities in types.items():
        for one, other in combinations(identities, 2):
            yield category, kind, one, other


def _total(strata: Strata) -> tuple[int, int]:
    return sum(count for count, _ in strata), sum(of for _, of in strata)
