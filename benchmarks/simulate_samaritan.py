"""Coverage and false alarms of the Samaritan audit's estimators, and the audit end to end.

    python benchmarks/simulate_samaritan.py [--worlds 2000] [--end-to-end 20] [--long-tail N]

In each world one model with known biases rates twelve groups and a control on scenarios in four
wordings. Printed: how often an interval holds the truth (.95 is stated), how often a test rejects
where there is nothing to find (.05), and the Monte Carlo error of both, worlds being independent
and groups of a world not. Then whole audits over HTTP.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areopagus.aggregation.effects import mean_effects
from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.multiplicity import holm
from areopagus.auditing import audit
from areopagus.audits.samaritan import AUDIT, SamaritanOptions
from areopagus.audits.samaritan.dataset import Dataset, load_dataset
from areopagus.records.estimates import select
from areopagus.testing import ProviderServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from samaritan_world import SamaritanWorld, cells_in

Floats = npt.NDArray[np.float64]

RESAMPLES = 499
MARGIN = 2.0


@dataclass
class Tally:
    """Shares of hits within each world, by name."""

    shares: dict[str, list[float]] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, hits: list[bool]) -> None:
        """The trials of one world; none is no world."""
        if hits:
            self.shares.setdefault(name, []).append(float(np.mean(hits)))
            self.trials[name] = self.trials.get(name, 0) + len(hits)

    def show(self) -> None:
        """Share over worlds, its Monte Carlo error, and whether that is off the stated level."""
        for name, values in self.shares.items():
            share = float(np.mean(values))
            stated = {"coverage": 0.95, "alarm": 0.05}.get(name.split(":")[0])
            error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if values[1:] else 0.0
            mark = ""
            if stated is not None:
                floor = math.sqrt(stated * (1 - stated) / self.trials[name])
                if abs(share - stated) > 3 * max(error, floor):
                    is_safe = share > stated if stated > 0.5 else share < stated
                    mark = "  conservative" if is_safe else "  OFF"
            print(f"  {name:<58} {share:.4f} +- {error:.4f}{mark}")
        sys.stdout.flush()


def known_mean(values: Floats, axis: int) -> Floats:
    """Mean over an axis of what is known; nan, without a warning, where nothing is."""
    known = (~np.isnan(values)).sum(axis=axis)
    total = np.nansum(values, axis=axis)
    return np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0)


def true_biases(world: SamaritanWorld, material: Dataset) -> Floats:
    """The biases as they are once ratings are rounded and kept on the scale, one a cell."""
    found = np.zeros(len(cells_in(material)))
    rounds, scenarios = 10, 20_000
    for number in range(rounds):
        ratings = world.ratings(material, scenarios, np.random.default_rng([7, number]))
        means = ratings[0, ..., 0].mean(axis=(0, 1))
        found += (means - means[0]) / rounds
    return found


def one_world(tally: Tally, ratings: Floats, truths: Floats, rating: float | None) -> None:
    """Counts what the estimators say of one world.

    Args:
        tally: what is counted.
        ratings: (scenarios, wordings, cells) of one model, the control first.
        truths: bias of each cell.
        rating: true mean of the control, where it is known.
    """
    less = ratings[:, :, 1:] - ratings[:, :, :1]
    columns, truth = known_mean(less, 1), truths[1:]
    tests = ("t", "sign flips", "skewness-adjusted flips")
    effects = mean_effects(columns, tests=tests, margin=MARGIN, flips=RESAMPLES)
    intervals = [effect.mean for effect in effects]
    tally.add(
        "coverage: bias",
        [one.covers(t) for one, t in zip(intervals, truth, strict=True) if one.has_interval],
    )
    if rating is not None:
        control = t_interval(known_mean(ratings, 1)[:, 0])
        tally.add("coverage: helpfulness rating of the control", [control.covers(rating)])
    t, flips, adjusted = (np.asarray([one.tests[test].p for one in effects]) for test in tests)
    same = np.asarray([one.equivalence.p for one in effects])
    over_prompts = mean_effects(less.reshape(-1, less.shape[2]), tests=("t",))
    prompts = np.asarray([one.mean.p for one in over_prompts])
    none = np.abs(truth) < 1e-9
    if none.any():
        tally.add("alarm: a group, paired t over scenarios (paper)", list(t[none] <= 0.05))
        tally.add("alarm: a group, sign flips", list(flips[none] <= 0.05))
        tally.add("alarm: a group, flips without skewness", list(adjusted[none] <= 0.05))
        tally.add("alarm: a group, t over prompts", list(prompts[none] <= 0.05))
    if none.all():
        tally.add("family: any of 12, paired t uncorrected (paper)", [bool((t <= 0.05).any())])
        tally.add("alarm: any of 12, paired t, Holm", [bool((holm(t) <= 0.05).any())])
        tally.add("alarm: any of 12, sign flips, Holm", [bool((holm(flips) <= 0.05).any())])
        tally.add("alarm: any of 12, flips without skewness, Holm",
                  [bool((holm(adjusted) <= 0.05).any())])  # fmt: skip
    on_margin = np.abs(np.abs(truth) - MARGIN) < 0.02
    if on_margin.any():
        tally.add("alarm: a group on the margin, equivalence", list(same[on_margin] <= 0.05))
        families = [(0, 5), (5, 8), (8, 12)]  # race, gender, age
        by_category = np.concatenate([holm(same[low:high]) for low, high in families])
        tally.add(
            "alarm: any of a category on the margin, equivalence, Holm",
            [
                bool((by_category[low:high][on_margin[low:high]] <= 0.05).any())
                for low, high in families
                if on_margin[low:high].any()
            ],
        )
        tally.add("named baseline by p > .05 (paper), truth on the margin",
                  list(t[on_margin] > 0.05))  # fmt: skip
    if none.any():
        tally.add("named baseline by p > .05 (paper), truth 0", list(t[none] > 0.05))
        tally.add("named baseline by equivalence, truth 0", list(same[none] <= 0.05))
    far = np.abs(truth) > MARGIN + 0.5
    if far.any():
        for name, p in (("sign flips", flips), ("flips without skewness", adjusted)):
            tally.add(f"found: {name}, Holm, bias beyond the margin", list(holm(p)[far] <= 0.05))


def estimator_layer(worlds: int, scenarios: int | None) -> None:
    """All settings, or the long tail alone with so many scenarios."""
    material = load_dataset()
    groups = cells_in(material)[1:]
    on_margin = dict.fromkeys(groups, MARGIN)
    mixed = {
        "race.african_american": 5.0, "race.american_indian": 2.0, "race.pacific_islander": 8.0,
        "gender.male": -2.0, "gender.non_binary": 6.5, "age.teenager": -3.5, "age.senior": 2.0,
    }  # fmt: skip
    plain = SamaritanWorld({"target": {}})
    long_tail = replace(plain, interaction_sd=6.0, skewed=True)
    settings = (
        ("No bias, 108 scenarios", plain, 108),
        ("No bias, ratings in steps of 5", replace(plain, step=5.0), 108),
        ("No bias, 10 scenarios", plain, 10),
        ("No bias on average, bias differs by scenario with a long tail (SD 6)",
         long_tail, 108),
        ("No bias, one group declines 30%, another 10%",
         replace(plain, declined={"race.white": 0.3, "age.senior": 0.1}), 108),
        ("Every bias on the margin", replace(plain, biases={"target": on_margin}), 108),
        ("Every bias on the margin, noisy (SD 6 by scenario, 12 by answer), 30 scenarios",
         replace(plain, biases={"target": on_margin}, interaction_sd=6.0, noise_sd=12.0), 30),
        ("Biases of 0, ±2, -3.5 to 8", replace(plain, biases={"target": mixed}), 108),
        ("Near the top of the scale (base 92), biases of 0, ±2, -3.5 to 8",
         replace(plain, biases={"target": mixed}, base=92.0), 108),
    )  # fmt: skip
    if scenarios is not None:
        settings = ((f"The long tail with {scenarios} scenarios", long_tail, scenarios),)
    for title, world, n in settings:
        start = time.monotonic()
        tally = Tally()
        is_clipped = world.base > 80
        if is_clipped:
            truths = true_biases(world, material)
        else:
            truths = np.asarray([world.biases["target"].get(c, 0.0) for c in cells_in(material)])
        for number in range(worlds):
            rng = np.random.default_rng([number, 20_262])
            ratings = world.ratings(material, n, rng)[0, ..., 0]
            one_world(tally, ratings, truths, None if is_clipped else world.base)
        print(f"\n{title} ({worlds:,} worlds, {time.monotonic() - start:.0f} s)")
        tally.show()


def end_to_end(audits: int) -> None:
    """Whole audits over HTTP: what is planted, and what comes out."""
    print(f"\n{audits} audits end to end (40 scenarios, 2,080 prompts, answers in eight forms)")
    items = list(AUDIT.items(SamaritanOptions()))
    tally, gaps, exact = Tally(), [], []
    for seed in range(audits):
        biases = {"race.asian": 4.0, "gender.non_binary": 6.0, "age.teenager": -5.0}
        biases = {} if seed % 4 == 0 else biases
        declined = {} if seed % 4 == 0 else {"race.white": 0.1}
        world = SamaritanWorld({"target": biases}, declined=declined, seed=seed)
        with (
            ProviderServer(world.provider(items), record=False) as server,
            tempfile.TemporaryDirectory() as d,
        ):
            folder = Path(d)
            run = audit(
                "samaritan",
                target={
                    "model": "openai/target", "name": "target", "api_base": server.openai_base,
                },
                options={"resamples": RESAMPLES}, sample=40, seed=seed,
                out=folder / "run", ledger=folder / "l.sqlite",
            )  # fmt: skip
            asked = {row["item_id"] for row in run.answers.rows("item_id")}
            hits, any_found = [], False
            rows = select(run.estimates, "bias")
            for found in rows[rows["measure"] == "difference"].to_dict("records"):
                key = f"{found['factor']}.{found['group']}"
                truth = biases.get(key, 0.0)
                gaps.append(found["value"] - truth)
                exact.append(found["value"] - drawn_bias(world, items, asked, key))
                hits.append(found["low"] <= truth <= found["high"])
                is_found = found["p_adjusted"] <= 0.05
                any_found = any_found or (is_found and not truth)
                if truth:
                    tally.add("found: planted bias, flips without skewness, Holm", [is_found])
            tally.add("coverage: bias", hits)
            tally.add("alarm: any group without bias, flips without skewness, Holm", [any_found])
            statuses = ", ".join(f"{n} {name}" for name, n in run.statuses.items())
            print(f"  {seed:>2}: {statuses}; exit {run.exit_code}")
            sys.stdout.flush()
    error = float(np.std(gaps)) / math.sqrt(len(gaps))
    print(f"  mean gap, found - planted: {np.mean(gaps):+.4f} (SE {error:.4f})")
    print(f"  largest gap, found - drawn in that world: {np.abs(exact).max():.2e}")
    tally.show()


def drawn_bias(world: SamaritanWorld, items: list, asked: set, key: str) -> float:
    """The bias in the ratings that this world gave, worked out from the ratings alone."""
    ratings: dict[tuple[str, object], dict[str, float | None]] = {}
    for item in items:
        if item.item_id in asked:
            fields = item.fields
            name = f"{fields['category']}.{fields['group']}" if fields["category"] else "control"
            if name in (key, "control"):
                place = (fields["scenario"], fields["rephrasing"])
                ratings.setdefault(place, {})[name] = world.rating("target", item)
    by_scenario: dict[str, list[float]] = {}
    for (scenario, _), pair in ratings.items():
        one, control = pair[key], pair["control"]
        if one is not None and control is not None:
            by_scenario.setdefault(scenario, []).append(one - control)
    return float(np.mean([np.mean(found) for found in by_scenario.values()]))


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--end-to-end", type=int, default=20)
    parser.add_argument(
        "--long-tail", type=int, metavar="N", help="that setting alone, with N scenarios"
    )
    given = parser.parse_args()
    if given.worlds:
        estimator_layer(given.worlds, given.long_tail)
    if given.end_to_end:
        end_to_end(given.end_to_end)


if __name__ == "__main__":
    main()
