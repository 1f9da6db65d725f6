"""Size, coverage and power of what `compare` says of two audits.

    python benchmarks/simulate_changes.py [--worlds 2000] [--only shares,contrasts,gaps,groups,…]

In each world one model is measured twice on the same items. Printed, for worlds without
a change and for worlds with one: how often any figure of the answer that did not change is called
changed (.05 is stated, family-wise), how often the intervals hold the true change (.95), how often
the planted change is found, and how often a change of just the margin passes for alike (.05).

    shares      a share of answers, and shares of choices, over 24 templates (SocioEval)
    refusals    the same: planted are refusals of the prompts on which a side was favoured, and no
                choice has changed
    contrasts   twelve groups less a control over 20 scenarios (Biased Samaritan)
    gaps        the gap between identities and the flagged share over 40 concept pairs (Hidden bias)
    groups      differences of names of separate groups, by the jackknife (SilverSpoon)
    separate    one difference of separate groups by Welch, of 6 and 60, 12 and 12, 30 and 30 units
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import stats

from areopagus.aggregation.clustered import cluster_mean, cluster_share
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.paired_change import of_separate_units, ratios
from areopagus.audits.answers_table import HeldAnswers
from areopagus.audits.by_unit import by_unit
from areopagus.audits.estimate import columns_of
from areopagus.audits.hidden_bias.estimates import gap_of
from areopagus.audits.registry import find_audit
from areopagus.changes.audits import BLOCKS, _matched, _of_blocks, _of_terms
from areopagus.changes.figures import ANSWER, Figure, decided_changes

SEED = 20261127
Rng = np.random.Generator


def contrast_of_means(cells: list[np.ndarray], weights: np.ndarray) -> Estimate:
    """A weighted sum of means over separate units with its Welch interval."""
    parts = weights**2 * np.array([cell.var(ddof=1) / cell.size for cell in cells])
    value, square = float(weights @ [cell.mean() for cell in cells]), float(parts.sum())
    df = square**2 / float((parts**2 / [cell.size - 1 for cell in cells]).sum())
    reach = float(stats.t.ppf(0.975, df)) * square**0.5
    n = sum(cell.size for cell in cells)
    return Estimate(value, value - reach, value + reach, n, "name", "Welch t", se=square**0.5)


@dataclass
class Tally:
    """Hits out of trials, by name."""

    hits: dict[str, int] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, *hits: bool) -> None:
        """Counts trials."""
        self.trials[name] = self.trials.get(name, 0) + len(hits)
        self.hits[name] = self.hits.get(name, 0) + sum(map(bool, hits))

    def share(self, name: str) -> float:
        """The share of hits; nan without a trial."""
        return self.hits[name] / self.trials[name] if self.trials.get(name) else math.nan

    def lines(self) -> Iterator[str]:
        """Share and Monte Carlo error of each."""
        for name, n in self.trials.items():
            share = self.share(name)
            error = 2 * math.sqrt(share * (1 - share) / n)
            yield f"  {name:<52} {share:.3f} +- {error:.3f} (n {n})"


@dataclass(frozen=True)
class World:
    """One pair of runs: its figures, and by how much each has truly changed (None: not known)."""

    figures: Sequence[Figure]
    truths: Sequence[float | None]


def look(tally: Tally, world: World, margin: float | None, planted: float) -> None:
    """Takes one world into the tally."""
    answer = [
        (one, truth) for one, truth in zip(world.figures, world.truths, strict=True)
        if one.family == ANSWER
    ]  # fmt: skip
    decided = decided_changes([one for one, _ in answer], margin=margin)
    changes = [one.change for one in decided]
    still = [k for k, (_, truth) in enumerate(answer) if truth == 0]
    moved = [k for k, (_, truth) in enumerate(answer) if truth]
    kind = "changed world" if planted else "null world"
    shown = [one.verdict in ("higher", "lower") for one in changes]
    if still:
        tally.add(f"{kind}: any unchanged figure called changed", any(shown[k] for k in still))
    for k, (_, truth) in enumerate(answer):
        one = changes[k]
        if truth is not None and one.has_interval:
            tally.add(f"{kind}: interval holds the change", one.low <= truth <= one.high)
            if answer[k][0].first is not None:
                name = f"{kind}: interval holds the change, {answer[k][0].label}"
                tally.add(name, one.low <= truth <= one.high)
    for k in moved:
        tally.add(f"{kind}: planted change found", shown[k])
        if margin is not None and math.isclose(abs(answer[k][1] or 0.0), margin):
            name = f"{kind}: change of the margin called alike"
            tally.add(name, changes[k].verdict == "alike")


# Audits, by their definitions


def pair_of(name: str, both: Sequence[pd.DataFrame], **more: Any) -> list[Figure]:
    """The figures of two runs of an audit whose answers are drawn, by their units."""
    definition = find_audit(name).definition.model_copy(update={"by": (), "shares": {}, **more})
    units = list(dict.fromkeys(both[0][definition.unit]))
    held = [HeldAnswers(pa.Table.from_pandas(one.assign(target="m")), "m") for one in both]
    definition, held = _matched(definition, held)
    frames = [one.frame(columns_of(definition)) for one in held]
    before, after = (
        by_unit(definition, one.assign(_unit=one[definition.unit]), units) for one in frames
    )
    found = []
    for place, terms in before.items():
        table, measure, keys = place
        ends = [Estimate(ratios(each)[0], n=len(units)) for each in (terms, after[place])]
        column, n = _of_terms(terms, after[place])
        family = ANSWER if measure != "mean" else "means"
        found.append(
            Figure(
                table, measure, dict(keys), measure, ends[0], ends[1], column, n, len(units),
                definition.unit_word, family,
            )
        )  # fmt: skip
    return found


def shares(rng: Rng, planted: float) -> World:
    """Bias rates of templates differ (sd .2) and are shared by both runs, three quarters of it."""
    n_templates, n_prompts = 24, 6
    template = np.repeat(np.arange(n_templates), n_prompts)
    own = rng.normal(0, 0.17, n_templates)
    rates = [np.clip(0.5 + own + rng.normal(0, 0.1, n_templates), 0, 1) for _ in range(2)]
    frames = []
    for rate, shift in zip(rates, (0.0, planted), strict=True):
        biased = rng.random(template.size) < np.clip(rate + shift, 0, 1)[template]
        higher = rng.random(template.size) < 0.6
        first = rng.random(template.size) < 0.5
        frames.append(pd.DataFrame({
            "item_id": [f"i{k}" for k in range(template.size)],
            "template": [f"t{k}" for k in template], "unit": [f"t{k}" for k in template],
            "pair": "a-b", "order": "one", "repeat": 0, "status": "classified", "by": "rule",
            "judging": "", "biased": biased.astype(float),
            "category": np.where(biased, "class_preference", "fair_treatment"),
            "favours": np.where(biased, np.where(higher, "higher", "lower"), None),
            "choice": np.where(biased, np.where(first, "first", "second"), None),
        }))  # fmt: skip
    found = pair_of("socioeval", frames, changes={})
    # Clipping takes a little of the change away: what is left of it is the truth.
    truth = planted and float(
        np.mean([np.clip(r + planted, 0, 1).mean() - r.mean() for r in draws(shares)])
    )
    truths = {"bias_rate": truth, "choice_rate": truth, "favours_higher": 0.0, "first_named": 0.0}
    return World(found, [truths.get(one.measure) for one in found])


def refusals(rng: Rng, planted: float) -> World:
    """Templates lean to either class; after, a prompt is refused the more the less it does to the
    higher one. What is chosen where it is not refused has the chances that it had."""
    n_templates, n_prompts = 24, 6
    template = np.repeat(np.arange(n_templates), n_prompts)
    lean = np.clip(0.5 + rng.normal(0, 0.25, n_templates), 0.02, 0.98)[template]
    lean = np.clip(lean + rng.normal(0, 0.1, template.size), 0, 1)
    frames = []
    for share in (0.0, planted):
        refused = rng.random(template.size) < 0.1 + share * (1 - lean)
        higher, first = rng.random(template.size) < lean, rng.random(template.size) < 0.5
        frames.append(pd.DataFrame({
            "item_id": [f"i{k}" for k in range(template.size)],
            "template": [f"t{k}" for k in template], "unit": [f"t{k}" for k in template],
            "pair": "a-b", "order": "one", "repeat": 0, "status": "classified", "by": "rule",
            "judging": "", "biased": (~refused).astype(float),
            "category": np.where(refused, "refusal", "class_preference"),
            "favours": np.where(refused, None, np.where(higher, "higher", "lower")),
            "choice": np.where(refused, None, np.where(first, "first", "second")),
        }))  # fmt: skip
    found = pair_of("socioeval", frames, changes={})
    still = ("favours_higher", "first_named")
    return World(found, [0.0 if one.measure in still or not planted else None for one in found])


_DRAWS: dict[str, np.ndarray] = {}


def draws(of: Callable[..., Any]) -> np.ndarray:
    """Rates of many templates, to know what clipping leaves of a change."""
    if of.__name__ not in _DRAWS:
        rng = np.random.default_rng(1)
        spread = math.hypot(0.17, 0.1)
        _DRAWS[of.__name__] = np.clip(0.5 + rng.normal(0, spread, (1, 400_000)), 0, 1)
    return _DRAWS[of.__name__]


def contrasts(rng: Rng, planted: float) -> World:
    """Ratings of 1 to 100; the first group is biased by 5, and by `planted` more after."""
    n_scenarios, n_wordings, n_groups = 20, 1, 12
    groups = ["control", *[f"g{k}" for k in range(n_groups)]]
    scenario, wording, group = (
        one.ravel() for one in np.meshgrid(
            np.arange(n_scenarios), np.arange(n_wordings), np.arange(len(groups)), indexing="ij"
        )
    )  # fmt: skip
    base = rng.normal(60, 10, n_scenarios)
    lean = rng.normal(0, 4, (n_scenarios, len(groups)))
    frames = []
    for shift in (0.0, planted):
        again = rng.normal(0, 2, (n_scenarios, len(groups)))
        rating = base[scenario] + (lean + again)[scenario, group] + rng.normal(0, 5, group.size)
        rating = rating + np.where(group == 1, 5.0 + shift, 0.0)
        frames.append(pd.DataFrame({
            "item_id": [f"i{k}" for k in range(group.size)],
            "scenario": [f"s{k}" for k in scenario], "unit": [f"s{k}" for k in scenario],
            "rephrasing": wording + 1, "topic": "t", "phrasing": "p",
            "category": np.where(group > 0, "race", ""),
            "group": np.array(groups, dtype=object)[group], "rating": rating, "repeat": 0,
            "status": "classified", "by": "rule", "judging": "",
        }))  # fmt: skip
    audit = find_audit("samaritan")
    bias = audit.definition.contrasts["bias"].model_copy(update={"by": ()})
    found = pair_of("samaritan", frames, contrasts={"bias": bias})
    truths = [planted if one.keys.get("group") == "g0" else 0.0 for one in found]
    return World(
        found, [t if one.family == ANSWER else None for t, one in zip(truths, found, strict=True)]
    )


# Audits, by the jackknife of what their class estimates


def gaps(rng: Rng, planted: float, *, level: float = 0.12) -> World:
    """Two identities, ten answers each; gaps of concept pairs vary, and are shared by both runs."""
    n_pairs, n = 40, 20
    middle = rng.uniform(0.3, 0.7, n_pairs)
    own = rng.normal(0, 1, n_pairs)
    sizes = level * np.abs(own), max(level + planted, 0.0) * np.abs(own)
    sides = []
    for gap in sizes:
        half = np.clip(gap, 0, 0.55) / 2
        one, two = (rng.binomial(n, np.clip(middle + s * half, 0, 1)) / n for s in (1, -1))
        square = (one - two) ** 2 - (one * (1 - one) + two * (1 - two)) / (n - 1)
        sides.append((square, np.abs(one - two) >= 0.2 - 1e-9))
    block = np.arange(n_pairs) % BLOCKS
    ones = np.ones(n_pairs)
    before, after = (
        {
            "gap_square": cluster_mean(1e4 * square, ones, unit="concept pair"),
            "flagged_share": cluster_share(high.astype(float), ones, unit="concept pair"),
        }
        for square, high in sides
    )
    place = {name: ("outcomes", name, frozenset[tuple[str, str]]()) for name in before}
    blocks = [
        tuple(
            {
                place["gap_square"]: (float(1e4 * sq[block != b].mean()), int((block != b).sum())),
                place["flagged_share"]: (float(hi[block != b].mean()), int((block != b).sum())),
            }
            for sq, hi in sides
        )
        for b in range(BLOCKS)
    ]
    figures = []
    shown: dict[str, Any] = {"n": n_pairs, "n_planned": n_pairs, "unit": "concept pair"}
    column, correlation = _of_blocks(
        place["gap_square"],
        blocks,
        before["gap_square"],
        after["gap_square"],  # type: ignore[arg-type]
    )
    roots = [gap_of(one["gap_square"]) for one in (before, after)]
    figures.append(Figure(
        "outcomes", "gap", {}, "gap", roots[0], roots[1], column, scale=(0, 100),
        is_rising_of="gap_square", correlation=correlation, **shown,
    ))  # fmt: skip
    column, _ = _of_blocks(
        place["flagged_share"],
        blocks,
        before["flagged_share"],
        after["flagged_share"],  # type: ignore[arg-type]
    )
    figures.append(Figure(
        "outcomes", "flagged_share", {}, "flagged", before["flagged_share"],
        after["flagged_share"], column, **shown,
    ))  # fmt: skip
    # The root of the mean square of a half-normal gap is its scale; clipping at .55 is rare.
    return World(figures, [100 * planted, None if planted else 0.0])


def groups(rng: Rng, planted: float) -> World:
    """Eight groups of eight names, shares of ten answers; the first four groups are men's."""
    n_groups, n_names, n = 8, 8, 10
    own = rng.normal(0, 0.8, (n_groups, n_names))
    sides = []
    for shift in (0.0, planted):
        logit = own + rng.normal(0, 0.4, own.shape)
        rate = 1 / (1 + np.exp(-logit))
        rate[:4] = np.clip(rate[:4] + shift / 2, 0, 1)
        rate[4:] = np.clip(rate[4:] - shift / 2, 0, 1)
        sides.append(rng.binomial(n, rate) / n)
    weights = {
        "men_women": np.repeat([0.25, -0.25], 4),
        **{f"group {k}": np.where(np.arange(8) == k, 1.0, -1 / 7) for k in (0, 1)},
    }
    block = (np.arange(n_groups * n_names).reshape(n_names, n_groups).T) % BLOCKS
    figures, truths = [], []
    for name, weight in weights.items():
        place = ("gaps", name, frozenset[tuple[str, str]]())
        ends = [contrast_of_means(list(one), weight) for one in sides]
        blocks = [
            tuple(
                {
                    place: (
                        float(weight @ np.nanmean(np.where(block == b, np.nan, one), axis=1)),
                        int((block != b).sum()),
                    )
                }
                for one in sides
            )
            for b in range(BLOCKS)
        ]
        column, _ = _of_blocks(place, blocks, ends[0], ends[1])  # type: ignore[arg-type]
        figures.append(Figure(
            "gaps", name, {}, name, ends[0], ends[1], column, n=64, n_planned=64, unit="name",
        ))  # fmt: skip
        truths.append(0.0 if not planted else None)
    if planted:
        spread = np.hypot(0.8, 0.4)
        rate = 1 / (1 + np.exp(-np.random.default_rng(1).normal(0, spread, 400_000)))
        up, down = (np.clip(rate + s * planted / 2, 0, 1).mean() for s in (1, -1))
        truths[0] = float(up - down)
    return World(figures, truths)


def separate(rng: Rng, planted: float) -> World:
    """Units of two groups, shares of ten answers; those of the smaller one rise by `planted`."""
    figures, truths = [], []
    for sizes in ((6, 60), (12, 12), (30, 30)):
        is_first = np.arange(sum(sizes)) < sizes[0]
        own = rng.normal(0, 0.8, is_first.size)
        terms = []
        for shift in (0.0, planted):
            rate = 1 / (1 + np.exp(-(own + rng.normal(0, 0.4, own.size))))
            values = rng.binomial(10, np.clip(rate + shift * is_first, 0, 1)) / 10
            terms.append([
                (np.where(mine, values, 0.0), mine.astype(float), sign)
                for mine, sign in ((is_first, 1.0), (~is_first, -1.0))
            ])  # fmt: skip
        groups = of_separate_units(*terms)
        assert groups is not None
        ends = [Estimate(ratios(one)[0], n=is_first.size) for one in terms]
        name = f"{sizes[0]} and {sizes[1]}"
        figures.append(Figure(
            "groups", name, {}, name, ends[0], ends[1], groups[0], is_first.size, is_first.size,
            "name", first=groups[1],
        ))  # fmt: skip
        truths.append(_clipped(planted) if planted else 0.0)
    return World(figures, truths)


def _clipped(planted: float) -> float:
    """What is left of a rise of shares, none of which is above 1."""
    spread = float(np.hypot(0.8, 0.4))
    rate = 1 / (1 + np.exp(-np.random.default_rng(1).normal(0, spread, 400_000)))
    return float((np.clip(rate + planted, 0, 1) - rate).mean())


WORLDS: dict[str, tuple[Callable[..., World], float, float | None]] = {
    "shares": (shares, 0.2, None),
    "refusals": (refusals, 0.6, None),
    "contrasts": (contrasts, -8.0, 8.0),
    "gaps": (gaps, 0.12, None),
    "groups": (groups, 0.15, None),
    "separate": (separate, 0.2, None),
}
"""Name to the world, the change planted in it, and the margin of its test of equivalence."""


def simulate(name: str, worlds: int, seed: int = SEED) -> Tally:
    """So many worlds without a change, and a quarter as many with one."""
    made, change, margin = WORLDS[name]
    tally = Tally()
    for planted in (0.0, change):
        rng = np.random.default_rng([seed, *name.encode(), int(bool(planted))])
        for _ in range(-(-worlds // 4) if planted else worlds):
            look(tally, made(rng, planted), margin if planted else None, planted)
    return tally


def main() -> None:
    """Simulates and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--only", default=",".join(WORLDS))
    given = parser.parse_args()
    for name in given.only.split(","):
        tally = simulate(name, given.worlds)
        print(f"{name}, {given.worlds:,} worlds without a change and a quarter as many with one")
        print("\n".join(tally.lines()), flush=True)


if __name__ == "__main__":
    main()
