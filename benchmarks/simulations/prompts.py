"""Statistics of a prompt set and of questions made from templates: coverage."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import stats
from simulation import covers, simulation

from areopagus.aggregation.clustered import bounded_mean, clustered_rate
from areopagus.audits.decisions import decided_by_intervals, is_shown
from areopagus.audits.estimate import over_units
from areopagus.audits.socioeval import AUDIT
from areopagus.audits.socioeval.audit import kinds_compared

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "audits"))
from socioeval_world import MarkersWorld, prompts_of

FIGURES = {
    # figure: tendency to be alike (beta)
    "FD, much overlap": ("within", 2.0, 3.0),
    "FD, near the ceiling": ("within", 0.3, 12.0),
    "FD across, some overlap": ("across", 1.0, 6.0),
    "FD across, one in twelve departs": ("across", 0.1, 3.0),
    "pass rate .86": ("passes", 1.0, 6.0),
    "pass rate .98": ("passes", 0.25, 12.0),
}


def drawn(rng: np.random.Generator, kind: str, a: float, b: float, n: int) -> np.ndarray:
    """A figure a scenario, shape (n,): functional diversity, or prompts of five that fail."""
    tendency = rng.beta(a, b, size=n)
    if kind == "passes":
        return rng.binomial(5, 1 - tendency).astype(float)
    if kind == "across":  # three pairs of generators, each with a part of its own
        own = np.clip(tendency[:, None] + rng.normal(0, 0.05, size=(n, 3)), 0, 1)
        return 1 - (rng.binomial(25, own) / 25).mean(axis=1)
    # each of five prompts joins an earlier one with this tendency: the ten pairs depend
    groups = np.tile(np.arange(5), (n, 1))
    for place in range(1, 5):
        earlier = groups[np.arange(n), rng.integers(place, size=n)]
        groups[:, place] = np.where(rng.random(n) < tendency, earlier, place)
    same = groups[:, :, None] == groups[:, None, :]
    return 1 - (same.sum(axis=(1, 2)) - 5) / 20


@functools.cache
def truth_of(figure: tuple[str, float, float]) -> float:
    """The mean over very many scenarios."""
    values = drawn(np.random.default_rng(1), *figure, 400_000)
    return float(values.mean()) / (5 if figure[0] == "passes" else 1)


@simulation(worlds=400, figure=FIGURES, scenarios=(12, 33, 343))
def prompt_statistics(
    rng: np.random.Generator, figure: tuple[str, float, float], scenarios: int
) -> Mapping[str, float]:
    """Coverage of functional diversity (FD) within five prompts a scenario and across generators,
    and of the share of prompts that pass, a tenth of the scenarios refused: the interval, and mean
    ± t SE. Scenarios differ."""
    values, truth = drawn(rng, *figure, scenarios), truth_of(figure)
    if figure[0] == "passes":
        trials = np.where(rng.random(scenarios) < 0.1, 0, 5)
        estimate = clustered_rate(np.where(trials > 0, values, 0), trials.astype(float))
    else:
        estimate = bounded_mean(values)
    covered = covers(estimate, truth)
    reach = stats.t.ppf(0.975, estimate.n - 1) * estimate.se
    plain = float(abs(estimate.value - truth) <= reach) if covered == covered else float("nan")
    return {"covered": covered, "± t SE": plain}


KINDS = ("class", "occupation", "neighbourhood")
APART = {"class": 0.1, "occupation": 0.3, "neighbourhood": 0.1}
MARKERS = {
    ".2, all alike": MarkersWorld(dict.fromkeys(KINDS, 0.2)),
    ".2, templates and markers differ": MarkersWorld(dict.fromkeys(KINDS, 0.2), 0.5, 0.2, 0.4),
    ".05, templates and markers differ": MarkersWorld(dict.fromkeys(KINDS, 0.05), 0.5, 0.2, 0.4),
    "occupations .3, others .1": MarkersWorld(APART, 0.5, 0.2, 0.4),
}


@simulation(worlds=100, rates=MARKERS)
def markers(rng: np.random.Generator, rates: MarkersWorld) -> Mapping[str, float]:
    """SocioEval's questions by names of classes, occupations and neighbourhoods; templates and
    markers drawn anew: coverage of occupations' rate over templates alone and over templates and
    markers, mean coverage of the three differences between kinds, and how often any difference is
    shown where there is none, and where there is one."""
    answers = rates.answers(prompts_of("fixed", KINDS), rng)
    mine = answers[answers["marker"] == "occupation"]
    values, units = mine["biased"].to_numpy(dtype=float), mine["template"].tolist()
    outcome = AUDIT.definition.outcomes["bias_rate"]
    crossed = [mine[name].tolist() for name in ("lower_marker", "higher_marker")]
    truth = rates.rates["occupation"]
    pairs = [(a, b) for place, a in enumerate(KINDS) for b in KINDS[:place]]
    makers = [functools.partial(kinds_compared, answers, "difference", *pair) for pair in pairs]
    gaps = decided_by_intervals(makers, family="all")
    true = [rates.rates[a] - rates.rates[b] for a, b in pairs]
    return {
        "templates": covers(over_units(outcome, values, units, "template"), truth),
        "both": covers(over_units(outcome, values, units, "template", crossed), truth),
        "differences": float(np.mean([covers(gap, t) for gap, t in zip(gaps, true, strict=True)])),
        "power" if any(true) else "false": float(any(map(is_shown, gaps))),
    }
