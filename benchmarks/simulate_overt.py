"""The overt arm of the hidden-bias audit: shares of concepts, gaps and directions in known worlds.

    python benchmarks/simulate_overt.py [--worlds 2000] [--end-to-end 8] [--pairs 35]

In each world a model answers 35 concept pairs about age and gender, twelve times a
question in both orders, hidden and in the three open forms. Cells (concept pair by category) are of
classes with a known gap when hidden and when asked openly. Printed: how often the interval of the
share that is fair openly and not when hidden holds the truth (.95 is stated), what a count of tests
would say instead, how often a test rejects where there is nothing to find (.05), and the Monte
Carlo error of each. Then whole audits over HTTP.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from areopagus.aggregation.multiplicity import holm
from areopagus.aggregation.squared_gaps import SquaredGaps, class_shares, gap_p
from areopagus.auditing import audit
from areopagus.audits.hidden_bias.arms import Arm, hidden_arm
from areopagus.audits.hidden_bias.dataset import Dataset, load_descriptors
from areopagus.audits.hidden_bias.estimates import difference_of_squares
from areopagus.audits.hidden_bias.side_by_side import (
    GapFigures,
    _favours,
    _tested_gap,
    cells_of,
)
from areopagus.records.estimates import Estimates
from areopagus.testing import ProviderServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
sys.path.insert(0, str(Path(__file__).parent))
from overt_world import OvertWorld
from simulate_hidden_bias import Tally

ANSWERS = 12
SETTINGS = {
    "null": ("No gap anywhere", OvertWorld()),
    "lean": ("No gap, 30 points for the first place", OvertWorld(lean=0.3)),
    "both": ("50 points in half, hidden and openly", OvertWorld(((0.5, 0.5, 0.5), (0, 0, 0.5)))),
    "hidden": ("50 points in .3, hidden only", OvertWorld(((0.5, 0, 0.3), (0, 0, 0.7)))),
    "whole": (
        "the same, all categories of a pair alike",
        OvertWorld(((0.5, 0, 0.3), (0, 0, 0.7)), is_whole=True),
    ),
    "smaller": ("35 points in .3, hidden only", OvertWorld(((0.35, 0, 0.3), (0, 0, 0.7)))),
    "close": ("25 points in .3, hidden only", OvertWorld(((0.25, 0, 0.3), (0, 0, 0.7)))),
    "below": ("12 points everywhere, both", OvertWorld(((0.12, 0.12, 1.0),))),
    "four": (
        "a quarter each: neither, one, the other, both",
        OvertWorld(((0, 0, 0.25), (0.5, 0, 0.25), (0, 0.5, 0.25), (0.5, 0.5, 0.25))),
    ),
    "many": ("45 points in .8, hidden only", OvertWorld(((0.45, 0, 0.8), (0, 0, 0.2)))),
}  # fmt: skip


def one_setting(title: str, world: OvertWorld, worlds: int, n_pairs: int) -> None:
    """Simulates one setting and prints it."""
    categories = load_descriptors(None, ("age", "gender"))
    dataset = Dataset(categories, ())
    tally, truth, start = Tally(), world.share(), time.monotonic()
    no_open = all(overt == 0 for _, overt, _ in world.classes)
    is_plain = len(world.classes) == 1
    for number in range(worlds):
        rng = np.random.default_rng([number, 38])
        responses, counts = world.drawn(n_pairs, categories, answers=ANSWERS, rng=rng)
        arms = (hidden_arm(responses, 0), counts.arms["target"])
        gaps = {c.id: [arm.gaps(c.id, n_pairs) for arm in arms] for c in categories}
        for name, ids in (("both categories", list(gaps)), ("one category", ["gender"])):
            hidden, overt = (
                SquaredGaps(*(np.concatenate([getattr(gaps[one][at], part) for one in ids])
                              for part in ("raw", "bias", "scale", "noise")))
                for at in (0, 1)
            )  # fmt: skip
            clusters = np.tile(np.arange(n_pairs), len(ids))
            found = class_shares(
                overt, hidden, clusters, margin=0.2, largest=1.0, classes=("second",)
            ).shares["second"]
            tally.add(f"coverage: share, {name}", found.low - 1e-9 <= truth <= found.high + 1e-9)
            tally.add(f"share found, {name}", found.value)
            tally.add(f"width, {name}", found.high - found.low)
            tests = (gap_p(hidden) <= 0.05) & (gap_p(overt) > 0.05)
            tally.add(f"share by tests, {name}", float(tests.mean()))
        of_arms = [_tested_gap(arm.squares(None), is_copied=False) for arm in arms]
        of_open = of_arms[1]
        tally.add("alarm: open gap" if no_open else "power: open gap", of_open.p <= 0.05)
        squares = sum(w * overt**2 for _, overt, w in world.classes)
        tally.add(
            "coverage: open gap",
            of_open.covers(100 * squares**0.5) or (squares == 0 and of_open.low == 0),
        )
        difference = difference_of_squares(
            *(sums / sizes for sums, sizes in (arm.squares(None) for arm in arms))
        )
        planted = 1e4 * sum(w * (hidden**2 - overt**2) for hidden, overt, w in world.classes)
        tally.add("coverage: difference of squared gaps", difference.covers(planted))
        if is_plain:
            one_by_one(tally, world, arms, responses.pairs, dataset)
    took = time.monotonic() - start
    print(f"\n{title} (true share {truth:.2f}; {worlds:,} worlds, {took:.0f} s)")
    for line in tally.lines():
        print(line)
    sys.stdout.flush()


def one_by_one(
    tally: Tally, world: OvertWorld, arms: tuple[Arm, Arm], names: Sequence[str], dataset: Dataset
) -> None:
    """Concept by concept, in worlds where all cells are alike."""
    hidden, overt, _ = world.classes[0]
    cells = list(cells_of(arms, names, dataset))
    for at, name, true in ((0, "hidden", hidden), (1, "open", overt)):
        kind = "power" if true else "alarm"
        p = holm([cell.arms[at].difference_p for cell in cells])
        tally.add(f"{kind}: any direction of a concept, {name}, Holm", bool((p <= 0.05).any()))
        p = holm([cell.arms[at].p for cell in cells])
        tally.add(f"{kind}: any gap of a concept, {name}, Holm", bool((p <= 0.05).any()))
        inside = [cell.arms[at].low - 1e-9 <= 100 * true <= cell.arms[at].high for cell in cells]
        tally.add(f"coverage: gap of one concept, {name}", float(np.mean(inside)))
        inside = [_holds(cell.arms[at], 100 * true) for cell in cells]
        tally.add(f"coverage: direction of one concept, {name}", float(np.mean(inside)))
    # Which concept is favourable alternates, so that nobody is favoured in all.
    favours, signs = Estimates(), np.where(np.arange(len(names)) % 2, 1.0, -1.0)
    _favours(favours, "favour", {"target": arms[0]}, signs, dataset)
    shown = bool((favours.frame()["p_adjusted"] <= 0.05).any())
    tally.add("alarm: anybody favoured, Holm", shown)


def _holds(one: GapFigures, true: float) -> bool:
    """Whether a direction's limits hold the truth: the first identity gets the first concept."""
    truth = true if one.more in ("Young", "Female") else -true
    return one.difference_low - 1e-9 <= truth <= one.difference_high + 1e-9


def end_to_end(audits: int) -> None:
    """Whole audits over HTTP: what is planted, and what comes out."""
    from audit_runs import figure

    print(f"\n{audits} audits end to end (age and gender, 35 concept pairs)")
    for seed in range(audits):
        is_null = seed % 2 == 0
        classes = ((0, 0, 1.0),) if is_null else ((0.5, 0, 0.4), (0, 0, 0.6))
        world = OvertWorld(classes, declines=0.05, seed=seed)
        with (
            ProviderServer(world.provider, record=False) as server,
            tempfile.TemporaryDirectory() as d,
        ):
            model = {"model": "openai/target", "name": "target", "api_base": server.openai_base}
            options = {"arms": "both", "category": ["age", "gender"], "resamples": 99}
            run = audit(
                "hidden-bias", target=model, options=options, seed=seed,
                out=Path(d) / "run", ledger=Path(d) / "l.sqlite",
            )  # fmt: skip
            share = figure(run.estimates, "arms", "only_hidden", factor="all")
        print(f"  {seed}: planted {world.share():.2f}, found {share.value:.2f} "
              f"[{share.low:.2f}, {share.high:.2f}]")  # fmt: skip
        sys.stdout.flush()


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--end-to-end", type=int, default=8, metavar="N")
    parser.add_argument("--only", nargs="*", default=[], choices=list(SETTINGS))
    parser.add_argument("--pairs", type=int, default=35, help="concept pairs of a world")
    given = parser.parse_args()
    for name, setting in SETTINGS.items():
        if given.worlds and (not given.only or name in given.only):
            one_setting(*setting, given.worlds, given.pairs)
    if given.end_to_end:
        end_to_end(given.end_to_end)


if __name__ == "__main__":
    main()
