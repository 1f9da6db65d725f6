"""Measures coverage of figures of a job's readings, corrected by people's labels of drawn texts.

Run: python benchmarks/simulate_checked_readings.py --worlds 2000 --seed 1
Prints one line a world; the Monte Carlo error of a share of .95 of 2,000 worlds is .005. 300 texts
of 60 prompts; people label 100 of them without error. Four kinds of figures: shares of all
readings, each text that of one to six answers; shares among some readings; means over prompts, in
which a text weighs one by the texts of its prompt (functional diversity); means of numbers. The
figures stand in docs/how-it-works/simulations.md.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from areopagus.checked import rate_figures
from areopagus.records.readings import MachineReading, Rate, Readings

TEXTS, UNITS, DRAWN, MOST_ANSWERS = 300, 60, 100, 6


class World(NamedTuple):
    """Readings with what people would say of each text, and the figure that is to be covered."""

    name: str
    rows: list[MachineReading]
    people: Mapping[str, str]
    rate: Rate
    categories: Mapping[str, str]
    truth: float


def shares(rng: np.random.Generator, mean: float, alike: float) -> np.ndarray:
    """Of the prompts, with this mean and intraclass correlation."""
    if not alike:
        return np.full(UNITS, mean)
    size = (1 - alike) / alike
    return rng.beta(mean * size, (1 - mean) * size, UNITS)


def of_all(
    rng: np.random.Generator, truth: float, alarms: float, misses: float, alike: float
) -> World:
    """A share of all readings."""
    of_prompt = shares(rng, truth, alike)
    rows: list[MachineReading] = []
    people: dict[str, str] = {}
    for k in range(TEXTS):
        is_yes = rng.random() < of_prompt[k % UNITS]
        is_read = rng.random() >= misses if is_yes else rng.random() < alarms
        one = MachineReading((f"text {k}",), "yes" if is_read else "no", f"prompt {k % UNITS}")
        rows += [one] * int(rng.integers(1, MOST_ANSWERS + 1))
        people[one.texts[0]] = "yes" if is_yes else "no"
    name = f"of all: {truth:.2f}, false alarms {alarms:.3f}, misses {misses:.2f}, alike {alike:.2f}"
    rate = Rate("yes", frozenset(["yes"]))
    return World(name, rows, people, rate, {"yes": "", "no": ""}, truth)


def among_some(
    rng: np.random.Generator,
    truth: float,
    decided: float,
    errs: float,
    towards: float,
    alike: float,
) -> World:
    """A share of one side among readings that take a side, which a part `decided` do.

    The reader takes `errs` of them for undecided ones and as many of the undecided for decided
    ones, and of those that take a side `errs` for the other; where it is wrong about whether there
    is a side, `towards` of what it makes up is for the first.
    """
    of_prompt = shares(rng, truth, alike)
    rows: list[MachineReading] = []
    people: dict[str, str] = {}
    for k in range(TEXTS):
        said = "none"
        if rng.random() < decided:
            said = "one" if rng.random() < of_prompt[k % UNITS] else "other"
        read = said
        if rng.random() < errs:
            made_up = "one" if rng.random() < towards else "other"
            read = made_up if said == "none" else "none"
        elif said != "none" and rng.random() < errs:
            read = "one" if rng.random() < towards else "other"
        rows.append(MachineReading((f"text {k}",), read, f"prompt {k % UNITS}"))
        people[f"text {k}"] = said
    name = (
        f"among some: {truth:.2f} of {decided:.2f}, errors {errs:.2f}, made up for it "
        f"{towards:.2f}, alike {alike:.2f}"
    )
    rate = Rate("one", frozenset(["one"]), frozenset(["one", "other"]))
    return World(name, rows, people, rate, {"one": "", "other": "", "none": ""}, truth)


def over_prompts(
    rng: np.random.Generator, truth: float, alarms: float, misses: float, alike: float
) -> World:
    """A mean over prompts of 1 to 9 texts each, as functional diversity is one of pairs."""
    of_prompt = shares(rng, truth, alike)
    rows: list[MachineReading] = []
    people: dict[str, str] = {}
    for prompt, share in enumerate(of_prompt):
        n = int(rng.integers(1, 10))
        for k in range(n):
            is_yes = rng.random() < share
            is_read = rng.random() >= misses if is_yes else rng.random() < alarms
            texts = (f"text {prompt} {k}",)
            label = "yes" if is_read else "no"
            rows.append(MachineReading(texts, label, f"prompt {prompt}", weight=1 / n))
            people[texts[0]] = "yes" if is_yes else "no"
    name = (
        f"over prompts: {truth:.2f}, false alarms {alarms:.3f}, misses {misses:.2f}, alike "
        f"{alike:.2f}"
    )
    rate = Rate("yes", frozenset(["yes"]))
    return World(name, rows, people, rate, {"yes": "", "no": ""}, truth)


def of_numbers(
    rng: np.random.Generator, wrong: float, shift: float, spread: float, between: float
) -> World:
    """A mean of numbers about 60, of which the reader gets a part wrong by so many points."""
    of_prompt = rng.normal(60, between, UNITS)
    rows: list[MachineReading] = []
    people: dict[str, str] = {}
    for k in range(TEXTS):
        number = of_prompt[k % UNITS] + rng.normal(0, 10)
        read = number + (rng.normal(shift, spread) if rng.random() < wrong else 0.0)
        one = MachineReading((f"text {k}",), f"{read:.4f}", f"prompt {k % UNITS}")
        rows += [one] * int(rng.integers(1, MOST_ANSWERS + 1))
        people[one.texts[0]] = f"{number:.4f}"
    name = f"numbers: {wrong:.2f} wrong by {shift:+.0f} ± {spread:.0f}, prompts ± {between:.0f}"
    return World(name, rows, people, Rate("mean"), {}, 60.0)


WORLDS = (
    *((of_all, given) for given in (
        # truth, share of false alarms, share of misses, likeness of the texts of a prompt
        (0.0, 0.163, 0.1, 0.0), (0.05, 0.1, 0.2, 0.0), (0.2, 0.1, 0.2, 0.0), (0.2, 0.1, 0.2, 0.15),
        (0.5, 0.02, 0.02, 0.0),
    )),
    *((among_some, given) for given in (
        # truth, share with a side, errors, share of what is made up for the first, likeness
        (0.5, 0.6, 0.15, 0.9, 0.0), (0.5, 0.6, 0.15, 0.9, 0.15), (0.7, 0.8, 0.1, 0.2, 0.15),
        (0.1, 0.4, 0.15, 0.9, 0.0), (0.5, 0.9, 0.03, 0.5, 0.0),
    )),
    *((over_prompts, given) for given in (
        (0.6, 0.15, 0.25, 0.0), (0.6, 0.15, 0.25, 0.15), (0.9, 0.3, 0.1, 0.15),
    )),
    *((of_numbers, given) for given in (
        # share read wrong, by how much, its spread, spread of the prompts
        (0.0, 0.0, 0.0, 10.0), (0.1, 20.0, 10.0, 10.0), (0.4, -15.0, 15.0, 10.0),
        (1.0, 10.0, 20.0, 0.0),
    )),
)  # fmt: skip


def run(worlds: Iterator[World], rng: np.random.Generator) -> str:
    """Coverage and width over worlds of one kind, in a line."""
    covers, raw_covers, widths, raws, undefined = [], [], [], [], 0
    name = ""
    for world in worlds:
        name = world.name
        readings = Readings(
            "?", world.categories, ("text",), "prompt", ("respondent",), (world.rate,),
            lambda rows=world.rows: iter(rows),
        )  # fmt: skip
        names = [row.texts[0] for row in world.rows]
        texts = list(dict.fromkeys(names))
        drawn = {texts[k] for k in rng.permutation(len(texts))[:DRAWN]}
        said = [{"ada": world.people[name]} if name in drawn else {} for name in names]
        found = rate_figures(readings, world.rate, world.rows, said, names)
        raw, corrected = found["raw"], found["corrected"]
        undefined += not corrected.has_interval
        covers.append(corrected.covers(world.truth))
        raw_covers.append(raw.covers(world.truth))
        raws.append(raw.value)
        widths.append(corrected.high - corrected.low)
    return (
        f"{name}: corrected covers {np.mean(covers):.3f}, width {np.nanmean(widths):.3f}; read as "
        f"{np.mean(raws):.3f}, raw covers {np.mean(raw_covers):.3f}"
        + (f"; no interval {undefined / len(covers):.3f}" if undefined else "")
    )


def main() -> None:
    """Prints coverage and width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="of_all, among_some, over_prompts or of_numbers")
    given = parser.parse_args()
    for make, chosen in WORLDS:
        if given.only not in (None, make.__name__):
            continue
        rng = np.random.default_rng(given.seed)
        worlds = (make(rng, *chosen) for _ in range(given.worlds))
        print(run(worlds, rng), flush=True)


if __name__ == "__main__":
    main()
