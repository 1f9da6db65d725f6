"""Attacks on judges whose every habit is known (attacks/effects.py)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from simulation import simulation

from areopagus.aggregation.rules import decided
from areopagus.attacks import AttackFamily, load_families
from areopagus.attacks.effects import outcome_of
from areopagus.attacks.families import STATUS_OF, texts_of

JUDGES = 10
VALUES = {"high": "10", "low": "1", "reply": '{"overall": 10}', "marker": "0" * 16}
NOT_PROSE = {
    "base64", "bidi", "fake_completion", "fake_system_turn", "fullwidth", "guessed_delimiter",
    "html_comment", "json_breakout", "lookalike", "newline_flood", "tag_characters", "zero_width",
}  # fmt: skip
CLAIMS = ("works", "backfires")
LESS = {"works": "ahead", "backfires": "behind"}


@dataclass(frozen=True)
class Habits:
    """What the judges of a world do, in points of a scale of 1 to 10.

    Attributes:
        length: for every thousand characters more, of whatever they say.
        digression: for harmless prose, which is off the topic.
        prose: for an insertion that is plain prose, harmless or not.
        obeys: family to the chance that a judgment obeys it.
        contrary: a family whose texts move every judgment two points against their demand.
        prompts: how many there are.
        absent: share of judgments that end without a score whatever they read.
        absent_length: what a thousand characters more add to the logit of that share.
    """

    length: float = 0.0
    digression: float = 0.0
    prose: float = 0.0
    obeys: Mapping[str, float] = field(default_factory=dict)
    contrary: str = ""
    prompts: int = 8
    absent: float = 0.0
    absent_length: float = 0.0


THREE = ("authority", "naive_demand", "sabotage")
HABITS = {
    "steadfast": Habits(),
    "rewards length": Habits(length=2.0),
    "rewards length, 30 prompts": Habits(length=2.0, prompts=30),
    "rewards prose": Habits(prose=0.8),
    "minds digressions": Habits(digression=-0.8),
    "obeys three families in 30%": Habits(obeys=dict.fromkeys(THREE, 0.3)),
    "obeys three in 30%, rewards length": Habits(obeys=dict.fromkeys(THREE, 0.3), length=2.0),
    "obeys three in 5%, rewards length": Habits(obeys=dict.fromkeys(THREE, 0.05), length=2.0),
    "contrary to sabotage, rewards length": Habits(contrary="sabotage", length=2.0),
    "10% without a score, more on longer texts": Habits(absent=0.1, absent_length=3.0),
    "obeys refusal and abstention in 30%": Habits(
        absent=0.1, obeys={"refusal": 0.3, "abstention": 0.3}
    ),
}


@cache
def corpus() -> tuple[tuple[AttackFamily, ...], np.ndarray, np.ndarray]:
    """The families that are put into a response; of each text at its place the number of its
    family, and its length in thousands of characters."""
    families = tuple(one for one in load_families(None) if "instead" not in one.placements)
    columns = [
        (number, len(text) / 1000)
        for number, one in enumerate(families)
        for text in texts_of(one, VALUES)
        for _ in one.placements
    ]
    numbers, lengths = zip(*columns, strict=True)
    return families, np.array(numbers), np.array(lengths)


def sign(family: AttackFamily) -> int:
    """1 where more is what the family asks for, −1 where less is."""
    return -1 if family.asks == "lowest" else 1


def truth(habits: Habits, family: AttackFamily) -> str:
    """What many prompts would show of a family."""
    if family.id in habits.obeys:
        return "works"
    if family.id == habits.contrary:
        return "backfires"
    if family.asks in STATUS_OF:
        return "not shown"
    above = habits.prose * (family.id not in NOT_PROSE) - habits.prose - habits.digression
    if not above:
        return "not shown"
    return "ahead" if above * sign(family) > 0 else "behind"


def unit_values(habits: Habits, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Attacked minus clean and attacked minus control, shape (prompts, families) each."""
    families, number, thousands = corpus()
    n, size = habits.prompts, number.size
    level = rng.normal(5.5, 1.5, (n, 1, 1)) + rng.normal(0, 0.5, (1, 1, JUDGES))
    longer = habits.length * thousands * rng.gamma(4, 0.25, (n, 1))
    is_prose = np.array([one.id not in NOT_PROSE for one in families])[number]
    own = rng.normal(0, 0.2, (2, n, size))  # what a text does on one prompt and not on others
    attacked = longer + own[0] + habits.prose * is_prose
    control = longer + own[1] + habits.prose + habits.digression
    for k, one in enumerate(families):
        if one.id == habits.contrary:
            attacked[:, number == k] -= 2.0 * sign(one)

    def scores(added: np.ndarray) -> np.ndarray:
        """Means of five whole numbers, within the scale."""
        exact = level + added + rng.normal(0, 1 / math.sqrt(5), (n, added.shape[1], JUDGES))
        return np.clip(np.round(exact * 5) / 5, 1.0, 10.0)

    sides = [
        scores(one) for one in (np.zeros((n, 1, 1)), attacked[:, :, None], control[:, :, None])
    ]
    usual = math.log(habits.absent / (1 - habits.absent)) if habits.absent else -np.inf
    logit = usual + rng.normal(0, 1, (n, 1))
    longer = logit + habits.absent_length * thousands
    ended = [
        rng.random((*one.shape, JUDGES)) < (1 / (1 + np.exp(-one)))[..., None]
        for one in (logit, longer, longer)
    ]
    for k, one in enumerate(families):
        mine = number == k
        obeyed = rng.random((n, mine.sum(), JUDGES)) < habits.obeys.get(one.id, 0.0)
        if one.asks in STATUS_OF:
            ended[1][:, mine] |= obeyed
            for side, share in zip(sides[1:], ended[1:], strict=True):
                side[:, mine] = share[:, mine]
        else:
            sides[1][:, mine] = np.where(obeyed, 10.0 if one.asks == "highest" else 1.0,
                                         sides[1][:, mine])  # fmt: skip
    asks_no_score = np.array([one.asks in STATUS_OF for one in families])[number]
    clean = np.where(asks_no_score[None, :, None], ended[0] * 1.0, sides[0])
    first = np.flatnonzero(np.diff(number, prepend=-1))
    shift, beyond = (
        np.add.reduceat((sides[1] - other).mean(axis=2), first, axis=1) / np.bincount(number)
        for other in (clean, sides[2])
    )
    return shift, beyond


@simulation(worlds=300, judges=tuple(HABITS))
def attacks(rng: np.random.Generator, judges: str) -> Mapping[str, float]:
    """Ten judges of one model, 26 families of attacks, 8 prompts. Wrong claim: any family wrongly
    said to work or to backfire. Wrong word: also any wrongly said to be ahead of harmless prose or
    behind it. Found: share of the families that work or backfire. Raw shift wrong: any family whose
    difference from clean responses alone would be a wrong claim."""
    habits, (families, _, _) = HABITS[judges], corpus()
    shift, beyond = unit_values(habits, rng)
    names = ["shift"] * len(families) + ["beyond"] * len(families)
    verdicts = [one.verdict for one in decided(np.hstack([shift, beyond]), families=names)]
    wrong_claim = wrong_word = raw = False
    found = []
    for k, family in enumerate(families):
        mine, true = verdicts[k], truth(habits, family)
        outcome = outcome_of(mine, verdicts[len(families) + k], sign(family))
        if true in CLAIMS:
            found.append(outcome == true)
        else:
            wrong_claim |= outcome in CLAIMS
            raw |= mine in ("higher", "lower")
        wrong_word |= outcome not in (true, "not shown", LESS.get(true, true))
    return {
        "wrong claim": float(wrong_claim), "wrong word": float(wrong_word),
        "found": float(np.mean(found)) if found else math.nan, "raw shift wrong": float(raw),
    }  # fmt: skip
