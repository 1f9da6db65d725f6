"""Answers drawn straight as arrays, for the estimator layer: what is true is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .gold import ENDS, End, Gold
from .groups_estimate import GroupAnswers, group_answers
from .judgement_estimate import ModelAnswers
from .words import Place

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

GENDERS = ("female", "male")
RACES = ("white", "black", "hispanic", "indian")


def drawn_rates(rng: np.random.Generator, rate: float, spread: float, size: int) -> Floats:
    """Rates around a mean from a beta distribution with this intraclass correlation."""
    if spread == 0 or rate in (0.0, 1.0):
        return np.full(size, rate)
    weight = (1 - spread) / spread
    return rng.beta(rate * weight, (1 - rate) * weight, size=size)


@dataclass(frozen=True, slots=True)
class JudgementWorld:
    """People's labels and models' answers.

    Attributes:
        lower, upper: shares of scenarios in which each end blames the other, independently.
        hit, alarm: share of a model's answers that blame the other where the lower end does, and
            where it does not. The upper end has no influence.
        spread: how far scenarios differ in these shares (intraclass correlation).
        bases, versions: scenarios, and versions of each, which share labels and rates.
    """

    lower: float = 0.36
    upper: float = 0.45
    hit: float = 0.3
    alarm: float = 0.3
    spread: float = 0.0
    bases: int = 60
    versions: int = 3

    def draw(
        self, rng: np.random.Generator, names: tuple[str, ...] = ("a", "b")
    ) -> tuple[list[ModelAnswers], Gold]:
        """Answers of models that are independent of each other, and the labels."""
        labels: dict[End, Codes] = {
            end: (rng.random(self.bases) < share).astype(int)
            for end, share in zip(ENDS, (self.lower, self.upper), strict=True)
        }
        ids = [
            f"{base}.{version}" for base in range(self.bases) for version in range(self.versions)
        ]
        base_of = {name: name.partition(".")[0] for name in ids}
        bases = [base_of[name] for name in ids]
        models = []
        for name in names:
            hit = drawn_rates(rng, self.hit, self.spread, self.bases)
            alarm = drawn_rates(rng, self.alarm, self.spread, self.bases)
            rate = np.repeat(np.where(labels["lower_end"] == 1, hit, alarm), self.versions)
            answers = ["other" if one else "p1" for one in rng.random(rate.size) < rate]
            models.append(
                ModelAnswers(
                    name, "asked", ids, bases, [""] * len(ids), ["p1_first"] * len(ids), answers
                )
            )
        of_ends: dict[End, dict[str, int]] = {
            end: {name: int(found[int(base_of[name])]) for name in ids}
            for end, found in labels.items()
        }
        ties: dict[End, int] = dict.fromkeys(ENDS, 0)
        none: dict[End, dict[str, dict[str, int]]] = {end: {} for end in ENDS}
        return models, Gold(of_ends, ties, none, base_of, {}, "simulated")

    def population(self) -> dict[str, float]:
        """Support, accuracy and kappa against the lower end, balanced share with it."""
        hit, alarm, share = self.hit, self.alarm, self.lower
        support = share * hit + (1 - share) * alarm
        accuracy = share * hit + (1 - share) * (1 - alarm)
        by_chance = share * support + (1 - share) * (1 - support)
        return {
            "support": support,
            "accuracy": accuracy,
            "kappa": (accuracy - by_chance) / (1 - by_chance),
            "with_lower": (hit + 1 - alarm) / 2,
        }


@dataclass(frozen=True, slots=True)
class PeopleWorld:
    """Answers about people.

    Attributes:
        rate: share of high income, or of bright stories.
        cells: rates of single cells (gender, race, income of the city).
        spread: how far names differ within a cell (intraclass correlation).
        names, cities: names a group, cities of each income.
    """

    rate: float = 0.5
    cells: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    spread: float = 0.0
    names: int = 12
    cities: int = 4

    def of(self, gender: str, race: str, city: str) -> float:
        """The rate of a cell."""
        return self.cells.get((gender, race, city), self.rate)

    def draw(self, rng: np.random.Generator) -> GroupAnswers:
        """One answer a name and city; a name leans the same way in rich and in poor cities."""
        rows = []
        for gender in GENDERS:
            for race in RACES:
                # One rank a name: it moves the name's rate in both kinds of cities.
                rank = rng.random(self.names)
                for city in ("high", "low"):
                    rates = _at_rank(rank, self.of(gender, race, city), self.spread)
                    high = rng.random((self.names, self.cities)) < rates[:, None]
                    for name in range(self.names):
                        unit = f"{gender}{race}{name}"
                        for one in high[name].tolist():
                            kind = "high" if one else "low"
                            rows.append((unit, gender, race, city, kind, float(one)))
        return group_answers(rows)

    def vocabulary(
        self, rng: np.random.Generator, *, words: int = 300, marked: float = 0.0
    ) -> dict[Place, set[str]]:
        """Words used of every name, each by chance; "market" of black people alone.

        Args:
            rng: of the draws.
            words: different words, with shares of use from .02 to .9.
            marked: share of black people's names whose stories use "market".
        """
        shares = np.geomspace(0.02, 0.9, words)
        found: dict[Place, set[str]] = {}
        for gender in GENDERS:
            for race in RACES:
                for name in range(self.names):
                    for city in ("high", "low"):
                        used = np.flatnonzero(rng.random(words) < shares)
                        bag = {f"w{number}" for number in used.tolist()}
                        if race == "black" and rng.random() < marked:
                            bag.add("market")
                        found[f"{gender}{race}{name}", gender, race, city] = bag
        return found


def _at_rank(rank: Floats, rate: float, spread: float) -> Floats:
    if spread == 0 or rate in (0.0, 1.0):
        return np.full(rank.size, rate)
    weight = (1 - spread) / spread
    found: Floats = special.betaincinv(rate * weight, (1 - rate) * weight, rank)
    return found
