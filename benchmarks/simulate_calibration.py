"""Measures coverage and size of the calibration estimators in planted worlds.

Run: python benchmarks/simulate_calibration.py [--worlds 2000] [--seed 1] [--only NAME …]
Every line gives the figure, its Monte Carlo error, and the worlds it rests on.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from areopagus.aggregation.alternative_annotator import (
    one_sided_p,
    rank_differences,
)
from areopagus.aggregation.conformal import conformal_width
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.generalizability import panel_g_study
from areopagus.aggregation.kendall import kendall_tau_b, pairwise_tau
from areopagus.aggregation.pair_counting import pair_sums
from areopagus.aggregation.prediction_powered import ppi_mean
from areopagus.aggregation.ratings import Ratings, make_ratings
from areopagus.aggregation.respondents import by_prompt_unit
from areopagus.aggregation.stacking import stack_judges
from areopagus.calibration.dataset import Dataset, targets_of
from areopagus.calibration.decision_study import below_zero
from areopagus.calibration.panel_people import above_ceiling, add_one_person
from areopagus.calibration.panel_scores import PanelScores, mean_over_judges
from areopagus.calibration.people import tested_below_chance
from areopagus.calibration.responses import Responses, make_responses
from areopagus.records.estimates import Estimates, estimate_at

Lines = Iterator[tuple[str, float, int]]
PROMPTS = (9, 26, 100)


def prompt_means(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the coverage of the t interval on prompt means."""
    for prompts in (6, *PROMPTS):
        for shape in ("normal", "exponential"):
            size = (worlds, prompts, 1)
            effect = rng.normal(size=size) if shape == "normal" else rng.exponential(size=size) - 1
            values = effect + rng.normal(size=(worlds, prompts, 3))
            world, prompt = np.divmod(np.repeat(np.arange(worlds * prompts), 3), prompts)
            found, _ = by_prompt_unit(values.ravel(), prompt, world)
            share = float(np.mean([one.means[0].covers(0.0) for one in found]))
            yield f"prompt means, {shape}, {prompts} prompts", share, worlds


def prediction_powered(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the coverage of clustered and independent PPI++ with five responses a prompt."""
    for prompts in PROMPTS:
        hits = np.zeros(2)
        for _ in range(worlds):
            groups = np.repeat(np.arange(prompts + 60), 5)
            prompt = rng.normal(size=prompts + 60)[groups]
            bias = 0.5 * rng.normal(size=prompts + 60)[groups]
            truth = prompt + rng.normal(0, 0.7, len(groups))
            y = truth + rng.normal(0, 0.4, len(groups))
            f = truth + bias + rng.normal(0, 0.4, len(groups))
            n = 5 * prompts
            clustered = ppi_mean(
                y[:n], f[:n], f[n:], groups=groups[:n], unlabelled_groups=groups[n:]
            ).mean
            plain = ppi_mean(y[:n], f[:n], f[n:]).mean
            hits += [one.low <= 0 <= one.high for one in (clustered, plain)]
        yield f"PPI++ clustered, {prompts} prompts x 5", hits[0] / worlds, worlds
        yield f"PPI++ independent, {prompts} prompts x 5", hits[1] / worlds, worlds


def conformal(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the coverage of one new response of a new prompt at level .9, ICC .5."""
    for prompts in PROMPTS:
        hits = np.zeros(2)
        for _ in range(worlds):
            groups = np.repeat(np.arange(prompts + 1), 5)
            miss = rng.normal(size=prompts + 1)[groups] + rng.normal(size=len(groups))
            n = 5 * prompts
            by_prompt = conformal_width(np.zeros(n), miss[:n], groups=groups[:n])
            by_pair = conformal_width(np.zeros(n), miss[:n])
            hits += [abs(miss[n]) <= one.value for one in (by_prompt, by_pair)]
        yield (
            f"conformal .9, prompts weighing alike, {prompts} prompts x 5",
            hits[0] / worlds,
            worlds,
        )
        yield f"conformal .9, all pairs, {prompts} prompts x 5", hits[1] / worlds, worlds


def jackknife(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the coverage of the component r:q (.64) and rM (.30) by the jackknife."""
    for prompts in (9, 26):
        hits = np.zeros(2)
        for _ in range(worlds):
            q = np.repeat(np.arange(prompts), 4)
            shape = (len(q), 4, 3)
            scores = (
                0.7 * rng.normal(size=prompts)[q][:, None, None]
                + 0.8 * rng.normal(size=(len(q), 1, 1))
                + 0.3 * rng.normal(size=(1, 4, 1))
                + 0.5 * rng.normal(size=(1, 1, 3))
                + np.sqrt(0.3) * rng.normal(size=(len(q), 1, 3))
                + 0.5 * rng.normal(size=shape)
            )
            found = panel_g_study(scores, prompt=q.tolist()).intervals
            for index, (name, truth) in enumerate((("r:q", 0.64), ("rM", 0.3))):
                hits[index] += found[name].low <= truth <= found[name].high
        yield f"jackknife of r:q, {prompts} prompts x 4", hits[0] / worlds, worlds
        yield f"jackknife of rM, {prompts} prompts x 4", hits[1] / worlds, worlds


def stacking(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields how often a fitted weighting is adopted though judges are exchangeable."""
    for prompts in (9, 26):
        adopted = 0
        for _ in range(worlds):
            quality = rng.normal(size=prompts * 5)
            shared = 0.5 * rng.normal(size=(prompts * 5, 1))
            scores = quality[:, None] + shared + rng.normal(size=(prompts * 5, 8))
            target = quality + 0.5 * rng.normal(size=prompts * 5)
            prompt = np.repeat(np.arange(prompts), 5)
            adopted += stack_judges(scores, target, prompt).adopted != "equal"
        yield f"stacking adopted wrongly, {prompts} prompts x 5", adopted / worlds, worlds


def alternative_annotator(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the size of one comparison, with epsilon set to the true mean difference."""

    def draw(prompts: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        # errors of judge and raters share what the prompt brings to each of them
        quality = rng.normal(size=(count, 1, prompts, 5))
        errors = rng.normal(size=(count, 4, prompts, 1)) + rng.normal(size=(count, 4, prompts, 5))
        values = (quality + errors).reshape(count, 4, -1)
        return values[:, 0], values[:, 1:]

    for prompts in PROMPTS:
        groups = np.repeat(np.arange(prompts), 5)
        by_rank = np.nanmean(rank_differences(*draw(prompts, 20_000), groups)[:, 0])
        ranked = rank_differences(*draw(prompts, worlds), groups)
        rejected = sum(one_sided_p(d[0], float(by_rank), clustered=True) < 0.05 for d in ranked)
        yield f"alt-test size by rank, {prompts} prompts x 5", rejected / worlds, worlds


def earned_means(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields how often the panel's part makes a mean narrower out of fold, by its correlation."""
    for prompts in PROMPTS:
        for correlation in (0.0, 0.3, 0.7):
            narrower = 0
            for _ in range(worlds):
                groups = np.repeat(np.arange(prompts + 60), 5)
                shared, own = (
                    (rng.normal(size=prompts + 60)[groups] + rng.normal(size=len(groups)))
                    / np.sqrt(2)
                    for _ in range(2)
                )
                f = correlation * shared + np.sqrt(1 - correlation**2) * own
                n = 5 * prompts
                found = ppi_mean(
                    shared[:n], f[:n], f[n:], groups=groups[:n], unlabelled_groups=groups[n:]
                )
                one, plain = found.mean, found.labelled_only
                narrower += one.high - one.low < plain.high - plain.low
            label = f"PPI++ narrower out of fold, r = {correlation}, {prompts} prompts x 5"
            yield label, narrower / worlds, worlds


def study_of(
    prompts: int, judge_noise: float, rng: np.random.Generator, *, raters: int = 3
) -> Dataset:
    """Prompts of six responses, raters of quality with noise 1.2, one judge with another noise."""
    n = 6 * prompts
    quality = rng.normal(size=n)
    responses = make_responses(
        [f"r{k}" for k in range(n)], [f"p{k // 6}" for k in range(n)],
        respondent=[None] * n, source=[None] * n, model=[None] * n, domain=[None] * n,
    )  # fmt: skip
    response = np.tile(np.arange(n), raters)
    values = np.tile(quality, raters) + rng.normal(0, 1.2, raters * n)
    ratings, _ = make_ratings(
        "overall", "score", np.repeat(np.arange(raters), n), response, responses.prompt[response],
        values,
    )  # fmt: skip
    scores = (quality + judge_noise * rng.normal(size=n))[:, None, None, None, None]
    panel = PanelScores(
        scores, ("a persona",), ("a model",), ("overall",), ("",), {}, np.ones(n, dtype=np.int64),
        2 / 3,
    )  # fmt: skip
    names = tuple(f"h{k}" for k in range(raters))
    return Dataset(responses, (ratings,), names, None, panel, None, None, 0, 0, ())


def panel_verdicts(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields how often a panel is said to be above its ceiling, and its verdicts.

    Three raters. An error-free judge has tau .44 with one of them, a judge like one of them .27;
    one with a third of a person's agreement (noise 4.4) has tau .09.
    """
    for prompts in PROMPTS:
        for name, noise in (("error-free", 0.0), ("like one rater", 1.2), ("a third", 4.4)):
            counts: Counter[str] = Counter()
            for _ in range(worlds):
                dataset, out = study_of(prompts, noise, rng), Estimates()
                (target,) = targets_of(dataset)
                add_one_person(out, dataset, target, by_rater=False)
                if noise == 0:
                    pairs = pairwise_tau(target.ratings)
                    whole = pair_sums(
                        target.panel, target.human, dataset.responses.prompt, n_prompts=prompts
                    )
                    above = above_ceiling(whole, pairs, target, 0.95)
                    counts["above its ceiling, tested"] += above.verdict is not None
                    counts["above its ceiling by point estimate"] += above.value > 0
                verdict = estimate_at(out.frame(), "one person", "tau_difference", rater=None)
                counts[str(verdict.verdict if verdict else None)] += 1
            for verdict_name, n in sorted(counts.items()):
                yield f"{name} judge: {verdict_name}, {prompts} prompts x 6", n / worlds, worlds


def missing_model(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the mean tau with people where a model is missing on a random half of the responses.

    Forty prompts of eight, two personas, three models at 0, +1 and -1.5 points, the last missing;
    three raters. The share is the mean of tau over worlds, of the whole panel, of the additive fit
    and of the plain means of who is there.
    """
    n = 320
    prompt = np.repeat(np.arange(40), 8)
    taus = np.zeros(3)
    for _ in range(worlds):
        quality = rng.normal(size=n)
        scores = 6 + quality[:, None, None] + [0.0, 1.0, -1.5] + rng.normal(0, 0.5, (n, 2, 3))
        human = quality + rng.normal(0, 0.8, (3, n)).mean(axis=0)
        whole = scores.mean(axis=(1, 2))
        scores[rng.permutation(n) < n // 2, :, 2] = np.nan
        found = mean_over_judges(scores.reshape(n, -1))
        taus += [kendall_tau_b(one, human, prompt) for one in (whole, found.score, found.plain)]
    for name, tau in zip(("whole panel", "additive fit", "plain means"), taus, strict=True):
        yield f"a model missing on half: tau of {name}", tau / worlds, worlds


def across_prompts(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the coverage of tau across prompts of one response each, and of its difference.

    Three raters and a judge, all of noise 1.2: the judge is worth one of them.
    """
    for prompts in PROMPTS:
        truth = 2 / np.pi * np.arcsin(1 / 2.44)
        hits = np.zeros(2)
        for _ in range(worlds):
            quality = rng.normal(size=prompts)
            values = quality + 1.2 * rng.normal(size=(4, prompts))
            ratings = _one_each(values[:3])
            hits[0] += pairwise_tau(ratings).tau.covers(truth)
            dataset = Dataset(
                _responses_of(prompts), (ratings,), ("a", "b", "c"), None, _panel_of(values[3]),
                None, None, 0, 0, (),
            )  # fmt: skip
            out = Estimates()
            add_one_person(out, dataset, targets_of(dataset)[0], by_rater=False)
            found = estimate_at(out.frame(), "one person", "tau_difference", rater=None)
            hits[1] += found is not None and found.covers(0.0)
        yield f"tau of raters across {prompts} prompts", hits[0] / worlds, worlds
        yield f"panel less one person across {prompts} prompts", hits[1] / worlds, worlds


def _responses_of(prompts: int) -> Responses:
    none = [None] * prompts
    names = [f"r{k}" for k in range(prompts)]
    return make_responses(names, names, respondent=none, source=none, model=none, domain=none)


def _panel_of(scores: np.ndarray) -> PanelScores:
    return PanelScores(
        scores[:, None, None, None, None], ("a persona",), ("a model",), ("overall",), ("",), {},
        np.ones(len(scores), dtype=np.int64), 2 / 3,
    )  # fmt: skip


def _one_each(values: np.ndarray) -> Ratings:
    raters, n = values.shape
    response = np.tile(np.arange(n), raters)
    return make_ratings(
        "overall", "score", np.repeat(np.arange(raters), n), response, response, values.ravel()
    )[0]


def raters_at_random(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields how often a calibration halts though nobody disagrees by system: lots, four criteria.

    And how often where one of three raters is turned round on one criterion.
    """
    for prompts in PROMPTS:
        halted = turned = 0
        n = 6 * prompts
        for _ in range(worlds):
            lots = [_tau(rng.integers(1, 8, size=(3, n)).astype(float)) for _ in range(4)]
            halted += any(one.verdict for one in tested_below_chance(lots))
            seen = rng.normal(size=n) + 0.7 * rng.normal(size=(3, n))
            wrong = _tau(np.stack([seen[0], -seen[1], -seen[2]]) * [[1], [1], [-1]])
            turned += any(one.verdict for one in tested_below_chance([*lots[:3], wrong]))
        yield (
            f"halts, raters at random on four criteria, {prompts} prompts",
            halted / worlds,
            worlds,
        )
        yield f"halts, one of three turned round, {prompts} prompts", turned / worlds, worlds


def _tau(values: np.ndarray) -> Estimate:
    """Of raters (rows) on prompts of six."""
    raters, n = values.shape
    response = np.tile(np.arange(n), raters)
    made, _ = make_ratings(
        "overall", "score", np.repeat(np.arange(raters), n), response, response // 6, values.ravel()
    )
    return pairwise_tau(made).tau


def negative_components(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields how often a component is said to be below 0 where every true one is 0 or more."""
    for prompts in (9, 26):
        named = 0
        for _ in range(worlds):
            q = np.repeat(np.arange(prompts), 4)
            shape = (len(q), 4, 3)
            # q, qP, qM and rP are 0: as likely below as above
            scores = (
                0.8 * rng.normal(size=(len(q), 1, 1))
                + 0.3 * rng.normal(size=(1, 4, 1))
                + 0.5 * rng.normal(size=(1, 1, 3))
                + np.sqrt(0.3) * rng.normal(size=(len(q), 1, 3))
                + 0.5 * rng.normal(size=shape)
            )
            named += bool(below_zero(panel_g_study(scores, prompt=q.tolist())))
        yield f"a component below 0 beyond its error, {prompts} prompts x 4", named / worlds, worlds


STUDIES: dict[str, Callable[[int, np.random.Generator], Lines]] = {
    "prompt_means": prompt_means,
    "prediction_powered": prediction_powered,
    "conformal": conformal,
    "jackknife": jackknife,
    "stacking": stacking,
    "alt_test": alternative_annotator,
    "earned_means": earned_means,
    "panel_verdicts": panel_verdicts,
    "missing_model": missing_model,
    "across_prompts": across_prompts,
    "raters_at_random": raters_at_random,
    "negative_components": negative_components,
}


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    options = parser.parse_args()
    for name in options.only:
        rng = np.random.default_rng(options.seed)
        for label, share, worlds in STUDIES[name](options.worlds, rng):
            error = (share * (1 - share) / worlds) ** 0.5
            print(f"{label:55s} {share:7.4f} (se {error:.4f}, {worlds} worlds)", flush=True)


if __name__ == "__main__":
    main()
