"""How often respondents are wrongly said to differ in judgments without a score; what is found.

    python benchmarks/simulate_missing.py [--worlds 2000]

In each world respondents answer prompts and ten judges of one model read every answer. A judgment
has no score with a chance that varies by prompt and, where it is planted, by respondent. Printed,
with Monte Carlo errors of one binomial share over worlds: how often any respondent is wrongly said
to differ from the others (stated: at most .05), how often one that does is found, and how often the
interval of the first one's difference covers.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np

from areopagus.aggregation.missingness import missingness

JUDGES = 10


@dataclass(frozen=True)
class World:
    """What judges do.

    Attributes:
        usual: share of judgments without a score on a usual prompt.
        uneven: standard deviation of its logit over prompts.
        own: the same over answers: judges of one model decline the same answer together.
        planted: what the first respondent adds to the logit.
        prompts, respondents: how many.
    """

    usual: float
    uneven: float = 0.0
    own: float = 0.0
    planted: float = 0.0
    prompts: int = 12
    respondents: int = 4


WORLDS = {
    "1% without a score": World(0.01),
    "10%": World(0.1),
    "10%, uneven over prompts": World(0.1, uneven=1.5),
    "10%, uneven over prompts and answers": World(0.1, uneven=1.5, own=2.0),
    "the same, 2 respondents": World(0.1, uneven=1.5, own=2.0, respondents=2),
    "the same, 6 prompts": World(0.1, uneven=1.5, own=2.0, prompts=6),
    "the same, 100 prompts": World(0.1, uneven=1.5, own=2.0, prompts=100),
    "3%, whole answers declined, 40 prompts": World(0.03, own=6.0, prompts=40),
    "one respondent 10% to 40%": World(0.1, uneven=1.0, own=1.0, planted=1.8),
    "one respondent 10% to 40%, 40 prompts": World(
        0.1, uneven=1.0, own=1.0, planted=1.8, prompts=40
    ),
    "one respondent 1% to 10%, 40 prompts": World(0.01, planted=2.4, prompts=40),
}


def chances(world: World, rng: np.random.Generator, prompts: int) -> np.ndarray:
    """Shape (prompts, respondents): chance that a judgment has no score."""
    logit = math.log(world.usual / (1 - world.usual)) + np.zeros((prompts, world.respondents))
    logit += world.uneven * rng.standard_normal((prompts, 1))
    logit += world.own * rng.standard_normal(logit.shape)
    logit[:, 0] += world.planted
    return 1 / (1 + np.exp(-logit))


def simulate(worlds: int) -> None:
    """Prints what is said, world by world."""
    print(f"{worlds:,} worlds each; {JUDGES} judges")
    print(f"{'judgments without a score':<42} {'wrongly differ':>14} {'found':>14} {'covered':>14}")
    for seed, (name, world) in enumerate(WORLDS.items()):
        many = chances(world, np.random.default_rng(seed), 400_000 // world.respondents)
        true = float((many[:, 0] - many[:, 1:].mean(axis=1)).mean())
        wrong = found = covered = 0
        shape = (world.prompts, world.respondents, JUDGES)
        prompt, who, _ = np.indices(shape)
        for at in range(worlds):
            rng = np.random.default_rng([seed, at])
            given = rng.random(shape) < chances(world, rng, world.prompts)[:, :, None]
            every = missingness(
                given.ravel(), prompt.ravel(), who.ravel(),
                n_prompts=world.prompts, n_respondents=world.respondents,
            )  # fmt: skip
            differ = [
                one.difference is not None and one.difference.verdict == "differs" for one in every
            ]
            # Where the first differs, the others differ from a mean that it is part of.
            wrong += any(differ) if not world.planted else 0
            found += differ[0] if world.planted else 0
            first = every[0].difference
            assert first is not None
            covered += first.covers(true) or not first.has_interval
        print(
            f"{name:<42} {'' if world.planted else _share(wrong, worlds):>14} "
            f"{_share(found, worlds) if world.planted else '':>14} {_share(covered, worlds):>14}"
        )
        sys.stdout.flush()


def _share(hits: int, worlds: int) -> str:
    share = hits / worlds
    return f"{share:.3f} ±{math.sqrt(share * (1 - share) / worlds):.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    simulate(parser.parse_args().worlds)
