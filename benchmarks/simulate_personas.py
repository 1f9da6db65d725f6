"""Simulates reviews of personas: who is named where nobody departs, and who departs by design.

Run: python benchmarks/simulate_personas.py --worlds 1000 --seed 1
Ten personas on three models score six responses a prompt on five criteria, as three people do; at
9, 26 and 60 prompts. In the null worlds all personas err alike, some are harsher than others, and
the models share errors. Prints the share of worlds in which anybody at all is named: for its order,
its level (in worlds without severities) and a respondent. In planted worlds one persona sees
half of one criterion, or nothing of it: how often it is named there, and how often anybody else or
another criterion is. Coverage of the 95% interval of a persona's difference in order. Monte Carlo
error beside each.
"""

import argparse
import math

import numpy as np
import pandas as pd

from areopagus.aggregation.departures import departs
from areopagus.aggregation.ratings import make_ratings
from areopagus.calibration.dataset import Target
from areopagus.persona_review.departures import Departing, add_departures
from areopagus.records.estimates import Estimates, estimates_by, select

PERSONAS, MODELS, RESPONSES, CRITERIA, RATERS = 10, 3, 6, 5, 3
NAMES = [f"p{k}" for k in range(PERSONAS)]
WHO = [f"w{k}" for k in range(RESPONSES)]


def world(
    rng: np.random.Generator, n_prompts: int, *, severity: float, factor: float
) -> list[Departing]:
    """The composite and five criteria."""
    n = n_prompts * RESPONSES
    prompt = np.repeat(np.arange(n_prompts), RESPONSES)
    quality = rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, CRITERIA))
    shared = 0.4 * rng.normal(size=(n, 1, 1, CRITERIA)) + 0.4 * rng.normal(size=(n, 1, MODELS, 1))
    own = 0.5 * rng.normal(size=(n, PERSONAS, 1, CRITERIA))
    rest = 0.8 * rng.normal(size=(n, PERSONAS, MODELS, CRITERIA))
    truth = np.repeat(quality[:, None, :], PERSONAS, axis=1)
    truth[:, 0, 1] *= factor
    scores = np.round(
        5.5 + 1.2 * truth[:, :, None] + shared + own + rest
        + severity * rng.normal(size=(PERSONAS, 1, 1))
    )  # fmt: skip
    people = np.round(
        5.5 + 1.2 * quality[:, None] + rng.normal(size=(n, RATERS, CRITERIA))
        + 0.5 * rng.normal(size=(RATERS, 1))
    )  # fmt: skip
    found = []
    for c in (None, *range(CRITERIA)):
        judged = scores.mean(axis=(2, 3)) if c is None else scores[..., c].mean(axis=2)
        human = people.mean(axis=(1, 2)) if c is None else people[..., c].mean(axis=1)
        ratings, _ = make_ratings(
            "composite" if c is None else f"c{c}", "score", np.zeros(n, dtype=np.int64),
            np.arange(n), prompt, human,
        )  # fmt: skip
        name = None if c is None else f"c{c}"
        target = Target("", ratings, judged.mean(axis=1), human, human, np.ones(n), name)
        found.append(Departing(target, judged, human, prompt, n_prompts, True))
    return found


def share(told: str, hits: list[bool]) -> None:
    p = float(np.mean(hits))
    print(f"  {told}: {p:.3f} ± {math.sqrt(p * (1 - p) / len(hits)):.3f}")


def departing(frame: pd.DataFrame, table: str, own: str, apart: str) -> bool:
    """Whether anybody is shown to depart in level, or with a respondent."""
    rows = estimates_by(select(frame, table), ["persona", "respondent", "criterion"])
    return any(departs(row[own], row[f"{own}_others"], row[apart]) for _, row in rows)


def reviews(worlds: int, n_prompts: int, seed: int) -> None:
    """Named in null worlds and in planted ones."""
    print(f"{n_prompts} prompts")
    for label, settings in (
        ("null, no severities", {"severity": 0.0, "factor": 1.0}),
        ("null, severities", {"severity": 0.5, "factor": 1.0}),
        ("p0 sees half of c1", {"severity": 0.5, "factor": 0.5}),
        ("p0 is blind to c1", {"severity": 0.5, "factor": 0.0}),
    ):
        rng = np.random.default_rng([seed, n_prompts])
        order, level, who, hit, extra, covered = [], [], [], [], [], []
        for _ in range(worlds):
            found = world(rng, n_prompts, **settings)
            out = Estimates()
            add_departures(out, found, NAMES, NAMES, WHO * n_prompts)
            frame = out.frame()
            of_order = frame[(frame["measure"] == "order") & (frame["verdict"] == "lower")]
            is_planted = (of_order["persona"] == "p0") & of_order["criterion"].isin(
                ["c1", "composite"]
            )
            hit.append(bool((is_planted & (of_order["criterion"] == "c1")).any()))
            extra.append(bool((~is_planted).any()))
            order.append(len(of_order) > 0)
            level.append(departing(frame, "departures", "level", "severity"))
            who.append(departing(frame, "respondents", "gap", "preference"))
            one = frame[(frame["measure"] == "order") & (frame["persona"] == "p3")
                        & (frame["criterion"] == "c2")].iloc[0]  # fmt: skip
            covered.append(bool(one["low"] <= 0 <= one["high"]))
        print(f" {label}")
        if settings["factor"] < 1:
            share("p0 named on c1", hit)
            share("anybody else, or p0 on a criterion that was not touched", extra)
        else:
            share("anybody named for order", order)
            share("coverage of a difference in order", covered)
        if not settings["severity"]:
            share("anybody called harsh or lenient", level)
        share("anybody said to mark a respondent up or down", who)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prompts", type=int, nargs="*", default=[9, 26, 60])
    given = parser.parse_args()
    for n_prompts in given.prompts:
        reviews(given.worlds, n_prompts, given.seed)


if __name__ == "__main__":
    main()
