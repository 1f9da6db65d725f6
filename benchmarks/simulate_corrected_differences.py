"""Coverage of corrected differences between respondents, beside those of people and of the panel.

    python benchmarks/simulate_corrected_differences.py [--worlds 2000] [--seed 0]

Three respondents answer 100 prompts. People hold them to be 5.0, 5.4 and 5.0 on average; prompts,
and what a respondent makes of a prompt, vary. Three raters of different severity, each with errors,
score all responses to 20 or 30 prompts drawn at random. The panel's score of every response is

    compressed, biased    2 + .5 x what people hold, + .8 for the third respondent, + error
    compressed, unbiased  without the .8
    useless               error alone
    useless, biased       error alone, + .8 for the third respondent

What is compared is the mean difference over prompts of this kind on people's scale: .4 and 0.
"Skewed": effects of prompts and respondents are exponential. "All equal": the three respondents are
alike, and counted is whether any of three pairs is told apart (of the corrected by Holm's p, of the
panel by its interval).
"""

from __future__ import annotations

import argparse

import numpy as np

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.multiplicity import holm
from areopagus.aggregation.prediction_powered import ppi_over_prompts

PROMPTS, RATERS = 100, 3
MEANS = (5.0, 5.4, 5.0)
PAIRS = ((1, 0), (2, 0), (1, 2))
PANELS = {
    "compressed, biased": (0.5, 0.8),
    "compressed, unbiased": (0.5, 0.0),
    "useless": (0.0, 0.0),
    "useless, biased": (0.0, 0.8),
}
"""Slope, and what the third respondent gets on top."""


def world(
    rng: np.random.Generator,
    slope: float,
    bias: float,
    *,
    means: tuple[float, ...] = MEANS,
    is_skewed: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """People's mean score and the panel's, both of shape (prompts, respondents)."""
    n = len(means)

    def effects(*size: int) -> np.ndarray:
        return rng.exponential(size=size) - 1 if is_skewed else rng.normal(size=size)

    held = np.array(means) + 0.8 * effects(PROMPTS, 1) + 0.7 * effects(PROMPTS, n)
    severity = rng.normal(0, 0.6, RATERS)
    people = held + (severity + rng.normal(0, 1, (PROMPTS, n, RATERS))).mean(axis=2)
    panel = 2 + slope * held + bias * (np.arange(n) == 2) + rng.normal(0, 0.35, (PROMPTS, n))
    return people, panel


def differences(
    people: np.ndarray, panel: np.ndarray, n_rated: int, rng: np.random.Generator
) -> dict[str, list[Estimate]]:
    """The three differences of each of "panel", "people alone" and "corrected"."""
    is_rated = np.zeros(len(people), dtype=bool)
    is_rated[rng.permutation(len(people))[:n_rated]] = True
    found: dict[str, list[Estimate]] = {"panel": [], "people alone": [], "corrected": []}
    for a, b in PAIRS:
        d = np.where(is_rated, people[:, a] - people[:, b], np.nan)
        f = panel[:, a] - panel[:, b]
        one = ppi_over_prompts(d, f)
        found["panel"].append(t_interval(f))
        found["people alone"].append(one.people_alone)
        found["corrected"].append(one.mean)
    return found


def measured(name: str, n_rated: int, worlds: int, seed: int, *, is_skewed: bool = False) -> str:
    """Coverage and mean width, pair by pair, and how often the corrected is the narrower one."""
    slope, bias = PANELS[name]
    rng = np.random.default_rng([seed, n_rated, list(PANELS).index(name), is_skewed])
    covered = {what: np.zeros(3) for what in ("panel", "people alone", "corrected")}
    widths = dict.fromkeys(covered, 0.0)
    narrower = 0.0
    for _ in range(worlds):
        found = differences(*world(rng, slope, bias, is_skewed=is_skewed), n_rated, rng)
        for what, each in found.items():
            covered[what] += [
                one.covers(MEANS[a] - MEANS[b]) for one, (a, b) in zip(each, PAIRS, strict=True)
            ]
            widths[what] += float(np.mean([one.high - one.low for one in each]))
        narrower += float(
            np.mean(
                [
                    one.high - one.low < other.high - other.low
                    for one, other in zip(found["corrected"], found["people alone"], strict=True)
                ]
            )
        )
    told = [
        f"{what} {' '.join(f'{share:.3f}' for share in covered[what] / worlds)} "
        f"(width {widths[what] / worlds:.2f})"
        for what in covered
    ]
    kind = ", skewed" if is_skewed else ""
    return f"{name}{kind}, {n_rated} rated: {'; '.join(told)}; narrower {narrower / worlds:.2f}"


def equal(name: str, n_rated: int, worlds: int, seed: int) -> str:
    """Shares of worlds with equal respondents in which some pair is told apart (Holm, .05)."""
    slope, bias = PANELS[name]
    rng = np.random.default_rng([seed, n_rated, 7])
    apart = dict.fromkeys(("panel", "corrected"), 0)
    for _ in range(worlds):
        people, panel = world(rng, slope, bias, means=(5.0, 5.0, 5.0))
        found = differences(people, panel, n_rated, rng)
        for what in apart:
            each = found[what]
            p = [one.p for one in each]
            if what == "panel":  # an interval that leaves out 0 is its test
                told = any(not one.covers(0.0) for one in each)
            else:
                told = bool((holm(p) <= 0.05).any())
            apart[what] += told
    shares = ", ".join(f"{what} {n / worlds:.3f}" for what, n in apart.items())
    return f"all equal, {name}, {n_rated} rated: some pair told apart: {shares}"


def main() -> None:
    """Prints the figures that the documentation quotes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"pairs {PAIRS}, {given.worlds} worlds, {PROMPTS} prompts")
    for n_rated in (20, 30):
        for name in PANELS:
            print(measured(name, n_rated, given.worlds, given.seed), flush=True)
        print(measured("compressed, biased", n_rated, given.worlds, given.seed, is_skewed=True))
        print(equal("compressed, biased", n_rated, given.worlds, given.seed), flush=True)


if __name__ == "__main__":
    main()
