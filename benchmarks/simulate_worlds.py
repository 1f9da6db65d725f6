"""Simulates worlds with planted judges and raters, and checks what a calibration says of them.

Run: python benchmarks/simulate_worlds.py --worlds 2000 --seed 1 --end-to-end 20
Prints, at 9, 26 and 100 prompts, the coverage of every interval with its Monte Carlo error, how
often the planted harsh rater, judge at random and source-only judge are named (and others by
mistake), and the size of the tests where nothing is there. Truths are those of one very large
world. `--end-to-end N` goes through files: a run folder, a table of ratings, the whole report.
"""

import argparse
import csv
import json
import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.ratings import make_ratings
from areopagus.calibration import agreement, calibrate
from areopagus.calibration.dataset import Dataset, targets_of
from areopagus.calibration.decision_study import add_decision_study
from areopagus.calibration.judges import add_judges
from areopagus.calibration.panel_people import add_agreement, add_panel
from areopagus.calibration.panel_scores import PanelScores
from areopagus.calibration.paper import add_paper
from areopagus.calibration.people import add_criterion, add_rater_effects
from areopagus.calibration.responses import make_responses
from areopagus.records.estimates import Estimates, estimate_at, json_rows

PERSONAS = ("historian", "ethicist", "sociologist", "libertarian")
MODELS = ("openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")
WRITERS = ("gpt-5", "claude-4", "gemini-3")
RANDOM, SOURCE_ONLY = "historian x openai/gpt-4o-mini", "ethicist x openai/gpt-4o-mini"
GOOD = "sociologist x anthropic/claude-sonnet-4-5"
HARSH, N_RATERS, TRUTH_PROMPTS = "h0", 5, 8000

PERSONA_LEVEL = np.array([0.3, 0.0, -0.1, -0.2])
MODEL_LEVEL = np.array([0.2, 0.0, -0.2])
OWN_FAMILY = 0.5  # of the third model
LENGTH_SLOPE = 0.4  # of the fourth persona, points a doubling
SEVERITY = np.array([-1.5, 0.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class World:
    """The arrays of one world: responses in blocks of six a prompt, three of people."""

    n_prompts: int
    human: np.ndarray  # (raters, responses)
    scores: np.ndarray  # (responses, personas, models)
    length: np.ndarray


def world(rng: np.random.Generator, n_prompts: int, *, signal: float = 1.0) -> World:
    """Draws a world; with signal 0 nobody sees quality."""
    n_responses = 6 * n_prompts
    is_model = np.tile([0.0, 0, 0, 1, 1, 1], n_prompts)
    writer = np.tile([-1, -1, -1, 0, 1, 2], n_prompts)
    quality = signal * (rng.normal(size=n_responses) + 0.7 * is_model)
    prompt = np.repeat(rng.normal(scale=0.5, size=n_prompts), 6)
    length = 800 * 2 ** rng.normal(scale=0.5, size=n_responses)
    human = (
        5.5
        + prompt
        + quality
        + SEVERITY[:, None]
        + rng.normal(scale=1.2, size=(N_RATERS, n_responses))
    )
    scores = (
        6 + 0.5 * prompt[:, None, None] + 0.8 * quality[:, None, None]
        + PERSONA_LEVEL[:, None] + MODEL_LEVEL
        + rng.normal(scale=0.25, size=(n_responses, 4, 1))
        + rng.normal(scale=0.4, size=(n_responses, 1, 3))
        + rng.normal(scale=0.6, size=(n_responses, 4, 3))
    )  # fmt: skip
    scores[:, :, 2] += OWN_FAMILY * (writer == 2)[:, None]
    scores[:, 3, :] += LENGTH_SLOPE * np.log2(length / 800)[:, None]
    scores[:, 0, 0] = 6.5 + rng.normal(size=n_responses)
    scores[:, 1, 0] = 6.0 + 1.5 * is_model * bool(signal) + rng.normal(scale=0.7, size=n_responses)
    scores[rng.random(scores.shape) < 0.05] = np.nan
    return World(n_prompts, human, scores, length)


def dataset(drawn: World) -> Dataset:
    """The world as a calibration reads it."""
    n_prompts, n_responses = drawn.n_prompts, 6 * drawn.n_prompts
    responses = make_responses(
        [f"r{k}" for k in range(n_responses)],
        [f"p{k // 6}" for k in range(n_responses)],
        respondent=["person", "person", "person", *WRITERS] * n_prompts,
        source=["human", "human", "human", "model", "model", "model"] * n_prompts,
        model=[None] * n_responses,
        domain=[None] * n_responses,
        length=drawn.length,
    )
    rater = np.repeat(np.arange(N_RATERS), n_responses)
    response = np.tile(np.arange(n_responses), N_RATERS)
    ratings, _ = make_ratings(
        "overall", "score", rater, response, responses.prompt[response], drawn.human.ravel()
    )
    panel = PanelScores(
        scores=drawn.scores[:, :, :, None, None],
        personas=PERSONAS,
        models=MODELS,
        criteria=("overall",),
        axes=("disciplinary",) * 3 + ("ideological",),
        status={"scored": np.isfinite(drawn.scores).sum(axis=0)},
        n_planned=np.full(n_responses, 12),
        quorum=2 / 3,
    )
    return Dataset(
        responses, (ratings,), tuple(f"h{k}" for k in range(N_RATERS)), None, panel, None,
        (1, 10), 0, 0, (),
    )  # fmt: skip


def whole_points(made: Dataset) -> dict[str, Estimate]:
    """Coefficients of people who give whole points from 1 to 10."""
    (ratings,) = made.ratings
    points = np.clip(np.round(ratings.value), 1, 10)
    out = Estimates()
    add_criterion(out, replace(ratings, value=points), made)
    named = {"interval alpha": "alpha_interval", "AC2": "ac2"}
    rows = out.frame()
    return {
        f"people: {name}, whole points (jackknife)": estimate_at(rows, "people", measure)
        for name, measure in named.items()
    }


MEASURES = {
    "people: pairwise tau (jackknife)": ("people", "tau", {}),
    "people: severity of the harsh rater (t)": ("raters", "deviation", {"rater": HARSH}),
    "panel: stratified tau (bootstrap-t)": ("panel", "tau", {}),
    "panel: ceiling (carried through)": ("panel", "ceiling", {}),
    "panel less source-only judge (jackknife)": ("panel", "beyond_source", {}),
    "panel less length-only judge (jackknife)": ("panel", "beyond_length", {}),
    "panel: accuracy within source (jackknife)": (
        "pair types", "accuracy", {"group": "within-source"},
    ),
    "panel less one person: tau (paired t)": ("one person", "tau_difference", {"rater": None}),
    "judge: accuracy (jackknife)": ("judges", "accuracy", {"group": GOOD}),
    "judge: random one's accuracy (jackknife)": ("judges", "accuracy", {"group": RANDOM}),
    "judge: severity (t)": ("judges", "severity", {"group": GOOD}),
    "judge: without it (jackknife)": ("judges", "without", {"group": GOOD}),
    "paper: pairs won by the model (jackknife)": ("paper", "model_wins", {}),
    "paper: model first (jackknife)": ("paper", "model_first", {}),
}  # fmt: skip


def figures(drawn: World) -> tuple[dict[str, Estimate], dict[str, bool]]:
    """The estimates of a world that have intervals, and who was named."""
    made = dataset(drawn)
    target = targets_of(made)[0]
    out = Estimates()
    add_criterion(out, target.ratings, made)
    add_rater_effects(out, target.ratings, made.rater_ids)
    add_panel(out, made, (target,))
    add_judges(out, made, target)
    add_decision_study(out, made, target)
    add_paper(out, made)
    rows = out.frame()
    numbers = {
        name: estimate_at(rows, table, measure, **keys)
        for name, (table, measure, keys) in MEASURES.items()
    }
    numbers |= whole_points(made)
    for effect in ("r:q", "rP", "rM", "residual"):
        found = estimate_at(rows, "components", "variance", group=effect)
        if found is not None:
            numbers[f"component {effect} (jackknife)"] = found

    def called(table: str, measure: str, key: str, verdict: str | None = None) -> set[str]:
        mine = rows[(rows["table"] == table) & (rows["measure"] == measure)]
        if table == "judges":
            mine = mine[mine["factor"] == "judge"]
        is_named = mine["verdict"].notna() if verdict is None else mine["verdict"] == verdict
        return set(mine.loc[is_named, key])

    at_chance = called("judges", "accuracy", "group", "not shown above chance")
    source_only = called("judges", "within", "group")
    named = {
        "harsh rater named": HARSH in called("raters", "deviation", "rater", "harsh"),
        "another rater named": bool(called("raters", "deviation", "rater") - {HARSH}),
        "judge at random named": RANDOM in at_chance,
        "source-only judge named": SOURCE_ONLY in source_only,
        "another judge named at chance (any of 10)": bool(at_chance - {RANDOM, SOURCE_ONLY}),
        "another judge named source-only (any of 10)": bool(source_only - {RANDOM, SOURCE_ONLY}),
        "panel named a source confound": numbers[
            "panel less source-only judge (jackknife)"
        ].verdict is not None,
    }  # fmt: skip
    return numbers, named


def share(name: str, hits: list[bool], extra: str = "") -> None:
    """Prints a share with its Monte Carlo standard error."""
    n = len(hits)
    value = sum(hits) / n if n else math.nan
    error = math.sqrt(max(value * (1 - value), 1 / max(n, 1) ** 2) / n) if n else math.nan
    print(f"  {name:48s} {value:.3f} ± {error:.3f}  ({n} worlds){extra}", flush=True)


def coverage(rng: np.random.Generator, worlds: int, truth: dict[str, float]) -> None:
    """Coverage of every interval and the rates of naming, by number of prompts."""
    for n_prompts in (9, 26, 100):
        began = time.monotonic()
        hits: dict[str, list[bool]] = {name: [] for name in truth}
        values: dict[str, list[float]] = {name: [] for name in truth}
        refused = dict.fromkeys(truth, 0)
        names: dict[str, list[bool]] = {}
        for _ in range(worlds):
            numbers, named = figures(world(rng, n_prompts))
            for name, number in numbers.items():
                values[name].append(number.value)
                if number.has_interval:
                    hits[name].append(number.low <= truth[name] <= number.high)
                else:
                    refused[name] += 1
            for name, is_named in named.items():
                names.setdefault(name, []).append(is_named)
        print(f"\n{n_prompts} prompts, {time.monotonic() - began:.0f} s: coverage of 95% intervals")
        for name, mine in hits.items():
            extra = f"  truth {truth[name]:.3f}, mean {np.nanmean(values[name]):.3f}"
            share(name, mine, extra + (f", {refused[name]} refused" if refused[name] else ""))
        print(f"{n_prompts} prompts: named")
        for name, mine in names.items():
            share(name, mine)


def sizes(rng: np.random.Generator, worlds: int) -> None:
    """Share of intervals above chance where neither people nor panel see anything."""
    for n_prompts in (9, 26):
        above = []
        for _ in range(worlds):
            made = dataset(world(rng, n_prompts, signal=0.0))
            out = Estimates()
            add_agreement(out, made, targets_of(made)[0])
            tau = estimate_at(out.frame(), "panel", "tau")
            above.append(tau.has_interval and tau.low > 0)
        print(f"\n{n_prompts} prompts where nothing is there")
        share("interval of tau above chance (nominal .025)", above)


def end_to_end(rng: np.random.Generator, worlds: int, n_prompts: int = 40) -> None:
    """Worlds through files: a table of judgments, a table of ratings, the report and its JSON."""
    hits: dict[str, list[bool]] = {}
    for _ in range(worlds):
        drawn = world(rng, n_prompts)
        with tempfile.TemporaryDirectory() as folder:
            judgments, people = write(drawn, Path(folder), rng)
            result = calibrate(judgments, people, scale=(1, 10))
            alone = agreement(people, scale=(1, 10))
        judges = result.estimates[result.estimates["table"] == "judges"]
        text = " ".join(result.text.split())
        json.dumps(json_rows(result.estimates), allow_nan=False)

        def named(verdict: str, rows: object = judges) -> set[str]:
            return set(rows.loc[rows["verdict"] == verdict, "group"])

        found = {
            "harsh rater named in the text": f"harsh: {HARSH}" in text
            and f"harsh: {HARSH}" in " ".join(alone.text.split()),
            "judge at random named": RANDOM in named("not shown above chance"),
            "source-only judge named": SOURCE_ONLY in named("source only"),
            "unmatched rating listed": "no such response: nowhere" in text,
            "lines of at most 80 columns": max(map(len, result.text.splitlines())) <= 80,
        }
        for name, is_found in found.items():
            hits.setdefault(name, []).append(is_found)
    print(f"\nend to end, {n_prompts} prompts")
    for name, mine in hits.items():
        share(name, mine)


def write(drawn: World, folder: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """Writes a world as integers from 1 to 10, with one rating in twenty missing."""
    judgments, people = folder / "judgments.csv", folder / "humans.csv"
    points = np.clip(np.round(np.nan_to_num(drawn.scores)), 1, 10).astype(int)
    with judgments.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["prompt_id", "response_id", "persona", "model", "score"])
        for r, p, m in np.ndindex(drawn.scores.shape):
            if np.isfinite(drawn.scores[r, p, m]):
                table.writerow([f"p{r // 6}", f"r{r}", PERSONAS[p], MODELS[m], points[r, p, m]])
    with people.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["rater_id", "prompt_id", "response_id", "source", "model", "score"])
        for k, r in np.ndindex(drawn.human.shape):
            if rng.random() < 0.95:
                score = int(np.clip(round(drawn.human[k, r]), 1, 10))
                source = "human" if r % 6 < 3 else "model"
                model = "" if r % 6 < 3 else WRITERS[r % 6 - 3]
                table.writerow([f"h{k}", f"p{r // 6}", f"r{r}", source, model, score])
        table.writerow(["h1", "p0", "nowhere", "human", "", 5])
    return judgments, people


def main() -> None:
    """Reads the options and runs all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--end-to-end", type=int, default=20)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    truth_numbers, _ = figures(world(np.random.default_rng(12345), TRUTH_PROMPTS))
    truth = {name: number.value for name, number in truth_numbers.items()}
    print(f"truths from one world of {TRUTH_PROMPTS} prompts; {options.worlds} worlds each")
    coverage(rng, options.worlds, truth)
    sizes(rng, options.worlds)
    if options.end_to_end:
        end_to_end(rng, options.end_to_end)


if __name__ == "__main__":
    main()
