"""Measures coverage of the figures of labels, and of rates corrected by people's labels.

Run: python benchmarks/simulate_labels.py --worlds 2000 --seed 1
Prints one line a figure; the Monte Carlo error of a share of .95 of 2,000 worlds is .005. The
figures stand in the docstrings of `areopagus.aggregation.labels` and in
docs/how-it-works/measurement.md.
"""

import argparse
import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.labels import (
    against_one_person,
    best_cut,
    corrected_rate,
    label_agreement,
    people_agreement,
    vote_counts,
)

CATEGORIES = ("no", "yes")


class Design(NamedTuple):
    """Items by prompt, how alike those of a prompt are, and what people label."""

    prompts: int
    size: int
    alike: float
    checked: int
    whole_prompts: bool = False

    def __str__(self) -> str:
        of = "whole prompts" if self.whole_prompts else "at random"
        return f"{self.prompts} prompts x {self.size}, {self.checked} labels {of}"


DESIGNS = (
    Design(1000, 1, 0.0, 200),
    Design(200, 5, 0.2, 200),
    Design(200, 5, 0.2, 200, whole_prompts=True),
    Design(300, 1, 0.0, 50),
    Design(60, 5, 0.2, 50),
    Design(26, 6, 0.2, 78, whole_prompts=True),
)
RATES = (
    # share of yes, share of a yes that is found, share of a no that is found
    (0.0, 0.8, 0.837),
    (0.02, 0.8, 0.837),
    (0.05, 0.8, 0.98),
    (0.1, 0.7, 0.9),
    (0.3, 0.85, 0.85),
    (0.5, 0.9, 0.7),
    (0.9, 0.9, 0.7),
)


def by_prompt(rng: np.random.Generator, share: float, alike: float, n: int) -> np.ndarray:
    """Shares of n prompts with this mean and intraclass correlation (beta)."""
    if alike == 0 or share in (0, 1):
        return np.full(n, share)
    scale = (1 - alike) / alike
    return rng.beta(share * scale, (1 - share) * scale, n)


def world(
    rng: np.random.Generator, design: Design, rates: tuple[float, float, float]
) -> tuple[np.ndarray, ...]:
    """Prompts, truths, the machine's labels, and which items people label."""
    share, found, left = rates
    n = design.prompts * design.size
    prompt = np.repeat(np.arange(design.prompts), design.size)

    def drawn(mean: float) -> np.ndarray:
        return rng.random(n) < by_prompt(rng, mean, design.alike, design.prompts)[prompt]

    truth = drawn(share)
    machine = np.where(truth, drawn(found), drawn(1 - left))
    checked = np.zeros(n, dtype=bool)
    if design.whole_prompts:
        some = rng.choice(design.prompts, design.checked // design.size, replace=False)
        checked[np.isin(prompt, some)] = True
    else:
        checked[rng.choice(n, design.checked, replace=False)] = True
    return prompt, truth.astype(int), machine.astype(int), checked


def difference(
    prompt: np.ndarray, truth: np.ndarray, machine: np.ndarray, checked: np.ndarray
) -> Estimate:
    """The raw rate and the mean of people less machine on the checked, t over checked prompts."""
    apart = (truth - machine)[checked].astype(float)
    value = machine.mean() + apart.mean()
    parts = (machine - machine.mean()) / len(machine)
    parts[checked] += (apart - apart.mean()) / len(apart)
    sums = np.bincount(prompt, weights=parts)
    n = len(np.unique(prompt[checked]))
    error = math.sqrt(len(sums) / (len(sums) - 1) * float(sums @ sums))
    reach = float(stdtrit(n - 1, 0.975)) * error
    return Estimate(value, max(0.0, value - reach), min(1.0, value + reach), n)


def coverage_of_rates(rng: np.random.Generator, worlds: int) -> None:
    """The corrected rate, beside the raw one and the difference form."""
    names = ("raw", "corrected", "difference")
    print("coverage of the true share, mean width of the interval, share of worlds without one")
    for design in DESIGNS:
        print(f"\n{design}")
        for rates in RATES:
            found: dict[str, list[Estimate]] = {name: [] for name in names}
            for _ in range(worlds):
                prompt, truth, machine, checked = world(rng, design, rates)
                items = np.flatnonzero(checked)
                votes = vote_counts(items, truth[items], len(truth), 2)
                one = corrected_rate(machine, votes, prompt, 1, CATEGORIES)
                found["raw"].append(one.raw)
                found["corrected"].append(one.corrected)
                found["difference"].append(difference(prompt, truth, machine, checked))
            share, sensitivity, specificity = rates
            told = [f"  yes {share:.2f}, found {sensitivity:.2f}, no found {specificity:.3f}"]
            for name, given in found.items():
                there = [one for one in given if one.has_interval]
                if not there:
                    told.append(f"{name} never")
                    continue
                covers = np.mean([one.low - 1e-12 <= share <= one.high + 1e-12 for one in there])
                width = np.mean([one.high - one.low for one in there])
                missing = 1 - len(there) / len(given)
                told.append(f"{name} {covers:.3f} {width:.3f} {missing:.2f}")
            print(" | ".join(told), flush=True)


def people_world(
    rng: np.random.Generator, prompts: int, machine_error: float, *, raters: int = 3
) -> tuple[np.ndarray, ...]:
    """Prompts of five items, three people with errors of .15, and a machine with its own."""
    prompt = np.repeat(np.arange(prompts), 5)
    n = len(prompt)
    truth = rng.random(n) < by_prompt(rng, 0.3, 0.2, prompts)[prompt]
    people = truth[:, None] ^ (rng.random((n, raters)) < 0.15)
    # errors of a prompt are alike too
    wrong = rng.random(n) < by_prompt(rng, machine_error, 0.2, prompts)[prompt]
    yes = people.sum(axis=1)
    votes = np.column_stack([raters - yes, yes]).astype(float)
    return prompt, votes, (truth ^ wrong).astype(int)


def coverage_of_agreement(rng: np.random.Generator, worlds: int) -> None:
    """Accuracy, kappa, recall, and people's own; the truth from 200,000 prompts."""
    prompt, votes, machine = people_world(rng, 200_000, 0.2)
    whole = label_agreement(machine, votes, prompt, CATEGORIES)
    truths = {name: one.value for name, one in whole.figures.items()}
    truths["recall of yes"] = whole.recall["yes"].value
    truths |= {f"people {k}": one.value for k, one in people_agreement(votes, prompt).items()}
    one_person = against_one_person(machine, votes, prompt)
    truths["difference"] = one_person["difference"].value
    print("\ncoverage of 95% intervals, three people, prompts of five items")
    for n in (9, 26, 100):
        hits: dict[str, list[bool]] = {name: [] for name in truths}
        for _ in range(worlds):
            prompt, votes, machine = people_world(rng, n, 0.2)
            found = label_agreement(machine, votes, prompt, CATEGORIES)
            mine = dict(found.figures) | {"recall of yes": found.recall["yes"]}
            mine |= {f"people {k}": v for k, v in people_agreement(votes, prompt).items()}
            mine["difference"] = against_one_person(machine, votes, prompt)["difference"]
            for name, truth in truths.items():
                if mine[name].has_interval:
                    hits[name].append(mine[name].low <= truth <= mine[name].high)
        told = ", ".join(f"{name} {np.mean(given):.3f}" for name, given in hits.items())
        print(f"{n} prompts: {told}", flush=True)


def verdicts(rng: np.random.Generator, worlds: int) -> None:
    """What is said of machines of known worth beside one more person."""
    print("\nverdicts beside one more person, who errs on .15")
    for name, error in (("as good as a person", 0.15), ("errs on .30", 0.3), ("draws lots", 0.5),
                        ("always no", -1.0), ("errs on .05", 0.05)):  # fmt: skip
        for n in (9, 26, 100):
            counts: Counter[str] = Counter()
            for _ in range(worlds):
                prompt, votes, machine = people_world(rng, n, max(error, 0.0))
                if error < 0:
                    machine = np.zeros_like(machine)
                counts[str(against_one_person(machine, votes, prompt)["difference"].verdict)] += 1
            told = ", ".join(f"{key} {value / worlds:.3f}" for key, value in counts.most_common())
            print(f"{name}, {n} prompts: {told}", flush=True)


def coverage_at_a_chosen_cut(rng: np.random.Generator, worlds: int) -> None:
    """The corrected rate where the cut of a score was chosen by the same labels."""
    print("\ncorrected rate at a cut chosen by the same labels, yes .30, whole prompts of five")
    for prompts, labelled in ((24, 12), (60, 20), (60, 40)):
        hits = []
        prompt = np.repeat(np.arange(prompts), 5)
        for _ in range(worlds):
            truth = rng.random(len(prompt)) < by_prompt(rng, 0.3, 0.2, prompts)[prompt]
            # what a prompt's responses share is no quality
            shared = rng.normal(0, 0.4, prompts)[prompt]
            score = 1.2 * truth + shared + rng.normal(size=len(prompt))
            checked = np.isin(prompt, rng.choice(prompts, labelled, replace=False))
            cut = best_cut(score[checked], truth[checked].astype(float))
            votes = np.eye(2)[truth.astype(int)] * checked[:, None]
            machine = (score >= cut).astype(int)
            hits.append(corrected_rate(machine, votes, prompt, 1, CATEGORIES).corrected.covers(0.3))
        print(f"{labelled} of {prompts} prompts labelled: {np.mean(hits):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    measures = (coverage_of_rates, coverage_of_agreement, verdicts, coverage_at_a_chosen_cut)
    for place, measure in enumerate(measures):
        measure(np.random.default_rng([given.seed, place]), given.worlds)


if __name__ == "__main__":
    main()
