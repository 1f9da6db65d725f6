"""Functional diversity: the share of pairs of prompts that demand different analytical work.

    FD = 1 − equivalent pairs / all pairs                        (the paper's appendix 15.3)

one value a scenario and generator (pairs within its bundle), and one a scenario and pair of
generators (pairs across their bundles). A bundle with an undecided pair has no value: leaving the
pair out would favour whatever made the judges answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..graphs.prompt_construction import Constructed, EquivalenceRule, Pair, is_equivalent
from .bounded_means import BoundedMean, bounded_mean

Between = tuple[str, str]
"""Names of two generators in their order; twice the same name: within its bundles."""

UNJUDGED = "no model that wrote neither prompt"
UNDECIDED = "votes are missing"
TOO_FEW = "no two usable prompts"


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The pairs of two generators in one scenario.

    Attributes:
        equivalent, different, undecided: pairs by what their judges say.
        unjudged: pairs that nobody could be asked about.
        judges: judges planned a pair (the fewest, where it differs); 0 without pairs.
    """

    equivalent: int = 0
    different: int = 0
    undecided: int = 0
    unjudged: int = 0
    judges: int = 0

    @property
    def planned(self) -> int:
        """All pairs."""
        return self.equivalent + self.different + self.undecided + self.unjudged

    @property
    def diversity(self) -> float:
        """FD in [0, 1]; nan without pairs, and where a pair is undecided or nobody's to judge."""
        if self.planned == 0 or self.undecided or self.unjudged:
            return math.nan
        return 1 - self.equivalent / self.planned


@dataclass(frozen=True, slots=True)
class Diversity:
    """Mean functional diversity over scenarios.

    Attributes:
        of: the two generators, twice one name for its own bundles; None for the mean over all
            pairs of different generators.
        mean: with standard error and limits over scenarios.
        other_rule: the mean under the other rule of equivalence.
        pairs: pairs counted into the mean, `equivalent` of them equivalent.
        judges: judges planned a pair, the fewest over scenarios.
    """

    of: Between | None
    mean: BoundedMean
    other_rule: float
    pairs: int
    equivalent: int
    judges: int


def pair_counts(outcome: Constructed, rule: EquivalenceRule) -> dict[Between, PairCounts]:
    """The pairs of one scenario, by the generators that wrote them."""
    votes: dict[Pair, list[bool | None]] = {}
    for vote in outcome.pairs:
        votes.setdefault(vote.pair, []).append(vote.value)
    tallies: dict[Between, list[int]] = {}
    judges: dict[Between, int] = {}
    for pair, said in votes.items():
        of = (pair.one.generator, pair.other.generator)
        tally = tallies.setdefault(of, [0, 0, 0, 0])
        tally[{True: 0, False: 1, None: 2}[is_equivalent(said, rule)]] += 1
        judges[of] = min(judges.get(of, len(said)), len(said))
    for pair in outcome.unjudged_pairs:
        tallies.setdefault((pair.one.generator, pair.other.generator), [0, 0, 0, 0])[3] += 1
    return {
        of: PairCounts(tally[0], tally[1], tally[2], tally[3], judges.get(of, 0))
        for of, tally in tallies.items()
    }


def diversities(
    outcomes: Sequence[Constructed],
    generators: Sequence[str],
    rule: EquivalenceRule,
    *,
    level: float = 0.95,
) -> list[Diversity]:
    """Mean FD of each generator, of each two of them, and (with three or more) over all twos.

    The mean over all twos takes the scenarios in which every two generators have a value, so that
    each of them weighs the same.

    Args:
        outcomes: the scenarios, each once.
        generators: names, in order.
        rule: when a pair is equivalent.
        level: of the intervals.
    """
    counts = [pair_counts(outcome, rule) for outcome in outcomes]
    other: EquivalenceRule = "either" if rule == "both" else "both"
    others = [pair_counts(outcome, other) for outcome in outcomes]
    crossed = list(combinations(generators, 2))
    wanted: list[Between] = [(name, name) for name in generators] + crossed
    found = [_diversity(of, counts, others, level) for of in wanted]
    if len(crossed) > 1:
        found.append(_over_all(crossed, counts, others, level))
    return found


def _diversity(
    of: Between,
    counts: Sequence[Mapping[Between, PairCounts]],
    others: Sequence[Mapping[Between, PairCounts]],
    level: float,
) -> Diversity:
    mine = [one.get(of, PairCounts()) for one in counts]
    values = [one.diversity for one in mine]
    counted = [one for one in mine if not math.isnan(one.diversity)]
    theirs = [one.get(of, PairCounts()).diversity for one in others]
    return Diversity(
        of,
        bounded_mean(values, level=level, empty=_why_none(mine)),
        _mean(theirs),
        sum(one.planned for one in counted),
        sum(one.equivalent for one in counted),
        min((one.judges for one in counted), default=0),
    )


def _over_all(
    crossed: Sequence[Between],
    counts: Sequence[Mapping[Between, PairCounts]],
    others: Sequence[Mapping[Between, PairCounts]],
    level: float,
) -> Diversity:
    def averaged(one: Mapping[Between, PairCounts]) -> float:
        values = [one.get(of, PairCounts()).diversity for of in crossed]
        return math.nan if any(map(math.isnan, values)) else float(np.mean(values))

    values = [averaged(one) for one in counts]
    whole = [one for one, value in zip(counts, values, strict=True) if not math.isnan(value)]
    tallies = [one[of] for one in whole for of in crossed]
    every = [one.get(of, PairCounts()) for one in counts for of in crossed]
    return Diversity(
        None,
        bounded_mean(values, level=level, empty=_why_none(every)),
        _mean([averaged(one) for one in others]),
        sum(tally.planned for tally in tallies),
        sum(tally.equivalent for tally in tallies),
        min((tally.judges for tally in tallies), default=0),
    )


def _why_none(counts: Iterable[PairCounts]) -> str:
    kept = list(counts)
    reasons = [UNJUDGED] if any(one.unjudged for one in kept) else []
    reasons += [UNDECIDED] if any(one.undecided for one in kept) else []
    return "; ".join(reasons) or TOO_FEW


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan
