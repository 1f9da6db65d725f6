"""Figures corrected by people: differences between respondents, and a machine's labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit
from simulation import covers, simulation, width

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.labels import (
    against_one_person,
    corrected_rate,
    label_agreement,
    people_agreement,
    vote_counts,
)
from areopagus.aggregation.multiplicity import holm
from areopagus.aggregation.prediction_powered import ppi_over_prompts
from areopagus.checked import rate_figures
from areopagus.records.readings import MachineReading, Rate, Readings

PANELS = {"biased": (0.5, 0.8), "unbiased": (0.5, 0.0), "useless": (0, 0), "both": (0, 0.8)}
"""The slope of the panel's scores on people's, and what the third respondent gets on top."""


@simulation(
    worlds=400,
    rated=(20, 30),
    effects=("normal", "skewed", "all equal"),
    panel=PANELS,
    skip=lambda effects, panel, **_: effects != "normal" and panel != PANELS["biased"],
)
def corrected_differences(
    rng: np.random.Generator, rated: int, effects: str, panel: tuple[float, float]
) -> Mapping[str, float]:
    """Three respondents, 100 prompts, of which three people rate some. The panel halves differences
    (useless: sees none) and may add .8 for one respondent. Coverage of the mean of the three true
    differences by panel, people and corrected; mean widths; how often the corrected interval is
    narrower than people's; where all are equal, how often any pair is called different."""

    def drawn(*size: int) -> np.ndarray:
        return rng.exponential(size=size) - 1 if effects == "skewed" else rng.normal(size=size)

    means = np.array([5.0, 5.0, 5.0] if effects == "all equal" else [5.0, 5.4, 5.0])
    truth = means + 0.8 * drawn(100, 1) + 0.7 * drawn(100, 3)
    people = truth + (rng.normal(0, 0.6, 3) + rng.normal(0, 1, (100, 3, 3))).mean(axis=2)
    scores = panel[0] * truth + panel[1] * np.array([0, 0, 1]) + rng.normal(0, 0.35, (100, 3))
    people[rng.permutation(100)[rated:]] = np.nan
    pairs = [(1, 0), (2, 0), (1, 2)]
    panel_alone = [t_interval(scores[:, a] - scores[:, b]) for a, b in pairs]
    corrected = [
        ppi_over_prompts(people[:, a] - people[:, b], scores[:, a] - scores[:, b]) for a, b in pairs
    ]
    estimates = {
        "panel alone": panel_alone,
        "people": [each.people_alone for each in corrected],
        "corrected": [each.mean for each in corrected],
    }
    outcomes = {
        name: float(
            np.mean([covers(e, means[a] - means[b]) for e, (a, b) in zip(each, pairs, strict=True)])
        )
        for name, each in estimates.items()
    }
    widths = {name: np.array([width(e) for e in each]) for name, each in estimates.items()}
    outcomes |= {f"{name} width": float(widths[name].mean()) for name in ("people", "corrected")}
    outcomes["narrower"] = float((widths["corrected"] < widths["people"]).mean())
    if effects == "all equal":
        outcomes["any: panel"] = float(any(not e.covers(0.0) for e in panel_alone))
        p = holm([each.mean.p for each in corrected])
        outcomes["any: corrected"] = float((p <= 0.05).any())
    return outcomes


class Labels(NamedTuple):
    """Items by prompt, how alike those of a prompt are, and how many of them people label."""

    prompts: int
    size: int
    alike: float
    checked: int


def by_prompt(rng: np.random.Generator, share: float, alike: float, n: int) -> np.ndarray:
    """Shares of n prompts with this mean and intraclass correlation (beta)."""
    if alike == 0 or share in (0, 1):
        return np.full(n, share)
    scale = (1 - alike) / alike
    return rng.beta(share * scale, (1 - share) * scale, n)


@simulation(
    worlds=300,
    items={
        "1000 x 1, 200 checked": Labels(1000, 1, 0.0, 200),
        "200 x 5, 200 checked": Labels(200, 5, 0.2, 200),
        "26 x 6, 13 prompts checked": Labels(26, 6, 0.2, 78),
    },
    rates={
        # share of yes: share of these found, share of the others left
        ".00: .80, .837": (0.0, 0.8, 0.837),
        ".02: .80, .837": (0.02, 0.8, 0.837),
        ".10: .70, .900": (0.1, 0.7, 0.9),
        ".50: .90, .700": (0.5, 0.9, 0.7),
        ".90: .90, .700": (0.9, 0.9, 0.7),
    },
)
def labels(
    rng: np.random.Generator, items: Labels, rates: tuple[float, float, float]
) -> Mapping[str, float]:
    """A share of yes in a machine's labels, of which people check some. Coverage and mean width of
    the machine's share, the corrected one, and the machine's plus the mean of people less machine
    (sum). Rates: the true share of yes; the shares of yes and of no that the machine gets right."""
    share, sensitivity, specificity = rates
    prompt = np.repeat(np.arange(items.prompts), items.size)
    n = len(prompt)

    def drawn(mean: float) -> np.ndarray:
        return rng.random(n) < by_prompt(rng, mean, items.alike, items.prompts)[prompt]

    is_yes = drawn(share)
    machine = np.where(is_yes, drawn(sensitivity), drawn(1 - specificity)).astype(int)
    if items.prompts == 26:  # whole prompts
        checked = np.isin(prompt, rng.choice(26, items.checked // items.size, replace=False))
    else:
        checked = np.isin(np.arange(n), rng.choice(n, items.checked, replace=False))
    truth, places = is_yes.astype(int), np.flatnonzero(checked)
    votes = vote_counts(places, truth[places], n, 2)
    rate = corrected_rate(machine, votes, prompt, 1, ("no", "yes"))
    estimates = {
        "machine": rate.raw,
        "corrected": rate.corrected,
        "sum": _sum(prompt, truth, machine, checked),
    }
    outcomes = {name: covers(each, share) for name, each in estimates.items()}
    outcomes |= {f"{name} width": width(estimates[name]) for name in ("corrected", "sum")}
    return outcomes


def _sum(
    prompt: np.ndarray, truth: np.ndarray, machine: np.ndarray, checked: np.ndarray
) -> Estimate:
    """The machine's share plus the mean of people less machine on the checked items."""
    apart = (truth - machine)[checked].astype(float)
    value = machine.mean() + apart.mean()
    parts = (machine - machine.mean()) / len(machine)
    parts[checked] += (apart - apart.mean()) / len(apart)
    sums = np.bincount(prompt, weights=parts)
    n = len(np.unique(prompt[checked]))
    error = math.sqrt(len(sums) / (len(sums) - 1) * float(sums @ sums))
    reach = float(stdtrit(n - 1, 0.975)) * error
    return Estimate(value, max(0.0, value - reach), min(1.0, value + reach), n)


def label_estimates(rng: np.random.Generator, prompts: int, error: float) -> dict[str, Estimate]:
    """Agreement of a machine with three people who err on .15, prompts of five items."""
    prompt = np.repeat(np.arange(prompts), 5)
    truth = rng.random(len(prompt)) < by_prompt(rng, 0.3, 0.2, prompts)[prompt]
    yes = (truth[:, None] ^ (rng.random((len(prompt), 3)) < 0.15)).sum(axis=1)
    votes = np.column_stack([3 - yes, yes]).astype(float)
    machine = truth ^ (rng.random(len(prompt)) < by_prompt(rng, error, 0.2, prompts)[prompt])
    agreement = label_agreement(machine.astype(int), votes, prompt, ("no", "yes"))
    people = people_agreement(votes, prompt)
    return {
        **agreement.figures,
        "recall": agreement.recall["yes"],
        "people alpha": people["alpha"],
        "difference": against_one_person(machine.astype(int), votes, prompt)["difference"],
    }


def large_labels() -> dict[str, float]:
    """Truths, from one world of very many prompts."""
    estimates = label_estimates(np.random.default_rng(1), 100_000, 0.2)
    return {name: each.value for name, each in estimates.items()}


@simulation(prompts=(9, 26, 100), truth=large_labels)
def label_intervals(rng: np.random.Generator, prompts: int) -> Mapping[str, Estimate]:
    """Coverage of a machine's agreement with three people, the machine errs on .20, they on .15."""
    return label_estimates(rng, prompts, 0.2)


@simulation(errs=(0.05, 0.15, 0.3, 0.5), prompts=(9, 26, 100))
def label_verdicts(rng: np.random.Generator, errs: float, prompts: int) -> Mapping[str, float]:
    """Verdicts on machines that err so often, beside one more person, who errs on .15."""
    verdict = label_estimates(rng, prompts, errs)["difference"].verdict
    return {name: float(verdict == name) for name in ("better", "at least half", "worse")}


CHECKED = {
    # kind, truth, false alarms, misses, likeness of a prompt's texts
    "all .00: .163, .10": ("all", 0.0, 0.163, 0.1, 0.0),
    "all .05: .10, .20": ("all", 0.05, 0.1, 0.2, 0.0),
    "all .20: .10, .20, alike": ("all", 0.2, 0.1, 0.2, 0.15),
    "all .50: .02, .02": ("all", 0.5, 0.02, 0.02, 0.0),
    # kind, truth, share with a side, errors, share of what is made up for the first side, likeness
    "some .50 of .60: .15 to .90": ("some", 0.5, 0.6, 0.15, 0.9, 0.0),
    "some .70 of .80: .10 to .20, alike": ("some", 0.7, 0.8, 0.1, 0.2, 0.15),
    "some .10 of .40: .15 to .90": ("some", 0.1, 0.4, 0.15, 0.9, 0.0),
    "prompts .60: .15, .25": ("prompts", 0.6, 0.15, 0.25, 0.0),
    "prompts .90: .30, .10, alike": ("prompts", 0.9, 0.3, 0.1, 0.15),
    # kind, truth, share read wrong, by how much, its spread, spread of the prompts
    "numbers 60: none wrong": ("numbers", 60, 0.0, 0.0, 0.0, 10.0),
    "numbers 60: .40 by -15": ("numbers", 60, 0.4, -15.0, 15.0, 10.0),
    "numbers 60: all by 10": ("numbers", 60, 1.0, 10.0, 20.0, 0.0),
}


@simulation(worlds=200, figure=CHECKED)
def checked_readings(rng: np.random.Generator, figure: tuple[Any, ...]) -> Mapping[str, float]:
    """A machine labels 300 texts of 60 prompts, and people 100 of them. A share of all texts; of
    some, those that take a side; a mean over prompts, which weigh the same; a mean of numbers.
    After the colon: the machine's false alarms and misses; how often it errs, and how much of what
    it makes up is for the first side; how many numbers it gets wrong, and by how much. Alike: texts
    of a prompt resemble each other."""
    kind, truth, *errors = figure
    if kind == "numbers":
        shares = rng.normal(truth, errors[-1], 60)
    else:
        shares = by_prompt(rng, truth, errors[-1], 60)
    sizes = rng.integers(1, 10, 60) if kind == "prompts" else np.full(60, 5)
    rows, people = [], {}
    for k, prompt in enumerate(np.repeat(np.arange(60), sizes)):
        text = f"text {k}"
        read, people[text] = _reading(rng, kind, shares[prompt], *errors[:-1])
        weight = 1 / sizes[prompt] if kind == "prompts" else 1.0
        row = MachineReading((text,), read, f"prompt {prompt}", weight=weight)
        rows += [row] * (int(rng.integers(1, 7)) if kind in ("all", "numbers") else 1)
    rate = {
        "numbers": Rate("mean"),
        "some": Rate("a", frozenset("a"), frozenset("ab")),
    }.get(kind, Rate("yes", frozenset(["yes"])))
    categories = {} if kind == "numbers" else dict.fromkeys(("yes", "no", "a", "b"), "")
    readings = Readings(
        "?", categories, ("text",), "prompt", ("respondent",), (rate,), lambda: iter(rows)
    )
    names = [row.texts[0] for row in rows]
    drawn = set(rng.permutation(list(people))[:100].tolist())
    labels = [{"ada": people[name]} if name in drawn else {} for name in names]
    figures = rate_figures(readings, rate, rows, labels, names)
    corrected, raw = figures["corrected"], figures["raw"]
    return {
        "covered": covers(corrected, truth),
        "width": width(corrected),
        "as read": raw.value,
        "covered as read": covers(raw, truth),
    }


def _reading(rng: np.random.Generator, kind: str, share: float, *errors: float) -> tuple[str, str]:
    """What the machine reads in a text and what people do."""
    if kind == "numbers":
        wrong, shift, spread = errors
        number = share + rng.normal(0, 10)
        read = number + (rng.normal(shift, spread) if rng.random() < wrong else 0.0)
        return f"{read:.4f}", f"{number:.4f}"
    if kind == "some":
        with_side, errs, first = errors
        label = ("a" if rng.random() < share else "b") if rng.random() < with_side else "no"
        made_up = "a" if rng.random() < first else "b"
        if rng.random() < errs:
            return (made_up if label == "no" else "no"), label
        return (made_up if label != "no" and rng.random() < errs else label), label
    alarms, misses = errors
    is_yes = rng.random() < share
    is_read = rng.random() >= misses if is_yes else rng.random() < alarms
    return ("yes" if is_read else "no"), ("yes" if is_yes else "no")
