"""Coverage of the intervals of a human study's table, and of all components, in planted worlds.

Run: python benchmarks/simulate_study_cells.py --worlds 400 --seed 1
The worlds are those of simulate_worlds.py, with three domains and people's scores as ranks too.
Prints, at 9, 26 and 100 prompts, coverage of 95% intervals with its Monte Carlo error. Truths are
those of one very large world.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata
from simulate_worlds import TRUTH_PROMPTS, World, dataset, share, world

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.generalizability import panel_g_study
from areopagus.calibration.dataset import Dataset, targets_of
from areopagus.calibration.panel_people import add_one_person, add_pair_types
from areopagus.calibration.paper import add_paper
from areopagus.calibration.responses import make_responses
from areopagus.records.estimates import Estimates, estimates_by, select

DOMAINS = ("ethics", "politics", "science")


def with_domains(made: Dataset) -> Dataset:
    """The same with a domain for each third of the prompts."""
    said = made.responses
    return replace(
        made,
        responses=make_responses(
            said.ids,
            [said.prompt_ids[code] for code in said.prompt.tolist()],
            respondent=said.respondent,
            source=["human", "human", "human", "model", "model", "model"] * len(said.prompt_ids),
            model=[None] * len(said.ids),
            domain=[DOMAINS[code % 3] for code in said.prompt.tolist()],
            length=said.length,
        ),
    )


def as_ranks(made: Dataset) -> Dataset:
    """The same with each rater's order of a prompt instead of scores."""
    (ratings,) = made.ratings
    order = np.lexsort((ratings.response, ratings.rater, ratings.prompt))
    ranks = np.empty(len(ratings))
    # every rater rated all six responses of every prompt
    ranks[order] = -rankdata(-ratings.value[order].reshape(-1, 6), axis=1).ravel()
    return replace(made, ratings=(replace(ratings, kind="rank", value=ranks),))


def cells(drawn: World) -> dict[str, Estimate]:
    """The figures of one world."""
    made = with_domains(dataset(drawn))
    target = targets_of(made)[0]
    found = {}
    for kind, one in (("score", made), ("rank", as_ranks(made))):
        out = Estimates()
        add_paper(out, one)
        keys = ["respondent", "group"]
        for named, row in estimates_by(select(out.frame(), "paper"), keys):
            domain = named["group"] or "all"
            if "mean" in row:
                found[f"mean {kind}, {named['respondent']}, {domain}"] = row["mean"]
            if kind == "rank" and named["group"] and "tau" in row:
                found[f"tau, {domain}"] = row["tau"]
    # the pair types alone: no bootstrap of the taus
    out = Estimates()
    add_pair_types(out, made, target)
    add_one_person(out, made, target)
    rows = out.frame()
    for named, row in estimates_by(select(rows, "pair types"), ["group"]):
        found[f"pairs: {named['group']}, panel"] = row["accuracy"]
        found[f"pairs: {named['group']}, source only"] = row["source_only"]
        found[f"pairs: {named['group']}, length only"] = row["length_only"]
    for named, row in estimates_by(select(rows, "one person"), ["rater"]):
        if named["rater"]:
            found[f"left out: {named['rater']}, rater"] = row["tau_of_one"]
            found[f"left out: {named['rater']}, panel"] = row["tau_of_panel"]
    first = min(len(drawn.scores), 6 * 2000)
    study = panel_g_study(
        drawn.scores[:first, :, :, None], prompt=made.responses.prompt[:first], level=0.95
    )
    for name, interval in study.intervals.items():
        found[f"component {name}"] = interval.of("Henderson's method I")
    return found


def main() -> None:
    """Reads the options and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prompts", type=int, nargs="+", default=[9, 26, 100])
    options = parser.parse_args()
    truth = {
        name: number.value
        for name, number in cells(world(np.random.default_rng(12345), TRUTH_PROMPTS)).items()
    }
    rng = np.random.default_rng(options.seed)
    for n_prompts in options.prompts:
        began = time.monotonic()
        hits: dict[str, list[bool]] = {name: [] for name in truth}
        refused = dict.fromkeys(truth, 0)
        for _ in range(options.worlds):
            for name, number in cells(world(rng, n_prompts)).items():
                if number.has_interval:
                    hits[name].append(number.low <= truth[name] <= number.high)
                else:
                    refused[name] += 1
        print(f"\n{n_prompts} prompts, {time.monotonic() - began:.0f} s: coverage of 95% intervals")
        for name, mine in hits.items():
            extra = f"  truth {truth[name]:.3f}"
            share(name, mine, extra + (f", {refused[name]} refused" if refused[name] else ""))


if __name__ == "__main__":
    main()
