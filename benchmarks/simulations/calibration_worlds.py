"""Calibrations of one planted world: a harsh rater, a judge at random, one that sees the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata
from simulation import simulation

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.ratings import make_ratings
from areopagus.calibration.dataset import Dataset, targets_of
from areopagus.calibration.judges import add_judges
from areopagus.calibration.panel_people import add_agreement, add_panel
from areopagus.calibration.panel_scores import PanelScores
from areopagus.calibration.paper import add_paper
from areopagus.calibration.people import add_criterion, add_rater_effects
from areopagus.calibration.responses import make_responses
from areopagus.records.estimates import Estimates, estimate_at, estimates_by, select

PERSONAS = ("historian", "ethicist", "sociologist", "libertarian")
MODELS = ("openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")
WRITERS = ("gpt-5", "claude-4", "gemini-3")
RANDOM, SOURCE_ONLY = f"historian x {MODELS[0]}", f"ethicist x {MODELS[0]}"
GOOD, HARSH, TRUTH_PROMPTS = f"sociologist x {MODELS[1]}", "h0", 4000


def world(rng: np.random.Generator, prompts: int, *, signal: float = 1.0) -> Dataset:
    """Prompts of six responses, three of them by models; five raters, the first harsh by 1.5; four
    personas on three models, 5% missing. With signal 0 nobody sees quality."""
    n = 6 * prompts
    is_model, writer = np.tile([0, 0, 0, 1, 1, 1], prompts), np.tile([9, 9, 9, 0, 1, 2], prompts)
    quality = signal * (rng.normal(size=n) + 0.7 * is_model)
    prompt = np.repeat(rng.normal(scale=0.5, size=prompts), 6)
    length = 800 * 2 ** rng.normal(scale=0.5, size=n)
    severity = np.array([-1.5, 0, 0, 0, 0])[:, None]
    human = 5.5 + prompt + quality + severity + rng.normal(scale=1.2, size=(5, n))
    scores = (
        6 + (0.5 * prompt + 0.8 * quality)[:, None, None]
        + np.array([0.3, 0.0, -0.1, -0.2])[:, None] + np.array([0.2, 0.0, -0.2])
        + rng.normal(scale=0.25, size=(n, 4, 1)) + rng.normal(scale=0.4, size=(n, 1, 3))
        + rng.normal(scale=0.6, size=(n, 4, 3))
    )  # fmt: skip
    scores[:, :, 2] += 0.5 * (writer == 2)[:, None]  # the third model likes its own family
    scores[:, 3, :] += 0.4 * np.log2(length / 800)[:, None]  # the fourth persona likes length
    scores[:, 0, 0] = 6.5 + rng.normal(size=n)
    scores[:, 1, 0] = 6.0 + 1.5 * is_model * bool(signal) + rng.normal(scale=0.7, size=n)
    scores[rng.random(scores.shape) < 0.05] = np.nan
    responses = make_responses(
        [f"r{k}" for k in range(n)],
        [f"p{k // 6}" for k in range(n)],
        respondent=["person", "person", "person", *WRITERS] * prompts,
        source=(["human"] * 3 + ["model"] * 3) * prompts,
        model=[None] * n,
        domain=[("ethics", "politics", "science")[k // 6 % 3] for k in range(n)],
        length=length,
    )
    rater, response = (axis.ravel() for axis in np.indices((5, n)))
    ratings, _ = make_ratings(
        "overall", "score", rater, response, responses.prompt[response], human.ravel()
    )
    panel = PanelScores(
        scores=scores[:, :, :, None, None],
        personas=PERSONAS,
        models=MODELS,
        criteria=("overall",),
        axes=("disciplinary",) * 3 + ("ideological",),
        status={"scored": np.isfinite(scores).sum(axis=0)},
        n_planned=np.full(n, 12),
        quorum=2 / 3,
    )
    raters = tuple(f"h{k}" for k in range(5))
    return Dataset(responses, (ratings,), raters, None, panel, None, (1, 10), 0, 0, ())


MEASURES = {
    "people: pairwise tau": ("people", "tau", {}),
    "people: severity of the harsh rater": ("raters", "deviation", {"rater": HARSH}),
    "panel: stratified tau": ("panel", "tau", {}),
    "panel: ceiling": ("panel", "ceiling", {}),
    "panel less source-only judge": ("panel", "beyond_source", {}),
    "panel: within source": ("pair types", "accuracy", {"group": "within-source"}),
    "judge: accuracy": ("judges", "accuracy", {"group": GOOD}),
    "judge: severity": ("judges", "severity", {"group": GOOD}),
    "judge: without it": ("judges", "without", {"group": GOOD}),
    "paper: pairs won by the model": ("paper", "model_wins", {}),
    "paper: model first": ("paper", "model_first", {}),
}


def outcomes_of(dataset: Dataset) -> dict[str, float | Estimate]:
    """The estimates of a world, and who was named."""
    target = targets_of(dataset)[0]
    estimates = Estimates()
    add_criterion(estimates, target.ratings, dataset)
    add_rater_effects(estimates, target.ratings, dataset.rater_ids)
    add_panel(estimates, dataset, (target,))
    add_judges(estimates, dataset, target)
    add_paper(estimates, dataset)
    rows = estimates.frame()
    outcomes: dict[str, float | Estimate] = {
        name: estimate_at(rows, table, measure, **keys)
        for name, (table, measure, keys) in MEASURES.items()
    }
    rows = rows[rows["verdict"].notna()]
    raters = rows[(rows["table"] == "raters") & (rows["measure"] == "deviation")]
    judges = rows[(rows["table"] == "judges") & (rows["factor"] == "judge")]
    chance = judges[judges["verdict"] == "not shown above chance"]
    at_chance = set(chance.loc[chance["measure"] == "accuracy", "group"])
    source_only = set(judges.loc[judges["measure"] == "within", "group"])
    planted = {RANDOM, SOURCE_ONLY}
    names = {
        "harsh rater": HARSH in set(raters.loc[raters["verdict"] == "harsh", "rater"]),
        "another rater": bool(set(raters["rater"]) - {HARSH}),
        "judge at random": RANDOM in at_chance,
        "source-only judge": SOURCE_ONLY in source_only,
        "another judge at chance": bool(at_chance - planted),
        "another judge source-only": bool(source_only - planted),
    }
    return outcomes | {f"named: {name}": float(is_named) for name, is_named in names.items()}


def large_world() -> Dataset:
    """One world from which truths are taken."""
    return world(np.random.default_rng(12345), TRUTH_PROMPTS)


def _values(outcomes: Mapping[str, float | Estimate]) -> dict[str, float]:
    return {name: each.value for name, each in outcomes.items() if isinstance(each, Estimate)}


@simulation(worlds=60, prompts=(9, 26, 100), truth=lambda: _values(outcomes_of(large_world())))
def calibration(rng: np.random.Generator, prompts: int) -> Mapping[str, float | Estimate]:
    """Coverage of what a calibration reports, and how often the planted harsh rater, judge at
    random and source-only judge are named, and any other rater, or any of the ten other judges."""
    return outcomes_of(world(rng, prompts))


@simulation(worlds=200, prompts=(9, 26))
def blind_panel(rng: np.random.Generator, prompts: int) -> Mapping[str, float]:
    """How often the interval of the panel's tau is above 0 (.025) where neither people nor panel
    see anything."""
    dataset = world(rng, prompts, signal=0.0)
    estimates = Estimates()
    add_agreement(estimates, dataset, targets_of(dataset)[0])
    tau = estimate_at(estimates.frame(), "panel", "tau")
    return {"above 0": float(tau.has_interval and tau.low > 0)}


def study_of(dataset: Dataset) -> dict[str, Estimate]:
    """The cells of a study's table: means of ranks and tau by respondent and domain."""
    (ratings,) = dataset.ratings
    order = np.lexsort((ratings.response, ratings.rater, ratings.prompt))
    ranks = np.empty(len(ratings))
    ranks[order] = -rankdata(-ratings.value[order].reshape(-1, 6), axis=1).ravel()
    estimates, outcomes = Estimates(), {}
    add_paper(estimates, replace(dataset, ratings=(replace(ratings, kind="rank", value=ranks),)))
    keys = ["respondent", "group"]
    for labels, row in estimates_by(select(estimates.frame(), "paper"), keys):
        domain = labels["group"] or "all"
        if "mean" in row:
            outcomes[f"mean rank, {labels['respondent']}, {domain}"] = row["mean"]
        if labels["group"] and "tau" in row:
            outcomes[f"tau, {domain}"] = row["tau"]
    return outcomes


@simulation(worlds=200, prompts=(9, 26, 100), truth=lambda: _values(study_of(large_world())))
def study_cells(rng: np.random.Generator, prompts: int) -> Mapping[str, Estimate]:
    """Coverage of the cells of a human study's table, people's scores as ranks."""
    return study_of(world(rng, prompts))
