"""Markers of class: coverage, false alarms, power.

    python benchmarks/simulate_markers.py [--worlds 2000]

Markers: SocioEval's questions by names of classes, occupations and neighbourhoods. Templates and
markers are drawn anew in each world, so the truth is the rate over all that could have been drawn.
Printed is how often an interval holds it (.95 is stated) and how often two kinds of one rate are
said to differ (.05), by templates alone and by templates and markers.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from areopagus.audits.decisions import decided_by_intervals, is_shown
from areopagus.audits.estimate import over_units
from areopagus.audits.socioeval import AUDIT
from areopagus.audits.socioeval.audit import kinds_compared

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from simulate_silverspoon import Tally
from socioeval_world import MarkersWorld, prompts_of

KINDS = ("class", "occupation", "neighbourhood")


def markers(title: str, world: MarkersWorld, worlds: int) -> Tally:
    """One setting; differences that are planted are power, no alarm."""
    tally, start = Tally(), time.monotonic()
    prompts = prompts_of("fixed", KINDS)
    outcome = AUDIT.definition.outcomes["bias_rate"]
    pairs = [(a, b) for at, a in enumerate(KINDS) for b in KINDS[:at]]
    for number in range(worlds):
        answers = world.answers(prompts, np.random.default_rng([number, 81]))
        mine = answers[answers["marker"] == "occupation"]
        values = mine["biased"].to_numpy(dtype=float)
        units = mine["template"].tolist()
        rate = world.rates["occupation"]
        crossed = [mine[name].tolist() for name in ("lower_marker", "higher_marker")]
        alone = over_units(outcome, values, units, "template")
        both = over_units(outcome, values, units, "template", crossed)
        tally.interval("coverage: rate, over templates", alone, rate)
        tally.interval("coverage: rate, over templates and markers", both, rate)
        makers = [partial(kinds_compared, answers, "difference", *pair) for pair in pairs]
        gaps = decided_by_intervals(makers, family="all")
        shown = [is_shown(one) for one in gaps]
        for (first, second), gap in zip(pairs, gaps, strict=True):
            true = world.rates[first] - world.rates[second]
            name = f"{first} - {second}"
            tally.interval(f"coverage: {name}", gap, true)
            tally.add(f"{'power' if true else 'alarm'}: {name}", not gap.covers(0.0))
        is_null = len(set(world.rates.values())) == 1
        tally.add(f"{'alarm' if is_null else 'power'}: any of three", any(shown))
    _print(title, tally, worlds, start)
    return tally


def _print(title: str, tally: Tally, worlds: int, start: float) -> None:
    print(f"\n{title} ({worlds:,} worlds, {time.monotonic() - start:.0f} s)")
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


def all_markers(worlds: int) -> None:
    """All settings of markers."""
    same, apart = dict.fromkeys(KINDS, 0.2), {"class": 0.1, "occupation": 0.3, "neighbourhood": 0.1}
    for title, world in (
        ("Markers: rates .2, all alike", MarkersWorld(same)),
        ("Markers: rates .2, templates and markers differ", MarkersWorld(same, 0.5, 0.2, 0.4)),
        ("Markers: rates .05, templates and markers differ",
         MarkersWorld(dict.fromkeys(KINDS, 0.05), 0.5, 0.2, 0.4)),
        ("Markers: occupations .3, others .1, templates and markers differ",
         MarkersWorld(apart, 0.5, 0.2, 0.4)),
    ):  # fmt: skip
        markers(title, world, worlds)


def main() -> None:
    """Runs everything, or one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    given = parser.parse_args()
    all_markers(given.worlds)


if __name__ == "__main__":
    main()
