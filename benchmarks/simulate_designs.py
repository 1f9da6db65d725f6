"""Simulates every design of a panel run: is the standard error that is said the one that is true?

Run: python benchmarks/simulate_designs.py --worlds 1000 --seed 1
Prints, for each design, the sentence by which it is detected; the standard error that is said of a
response's mean (root of the mean variance over worlds, with the middle 80% of worlds) beside the
true one, which is that of the means around what they measure; their ratio with its Monte Carlo
error; and, where an effective number of judges is given, the coverage of its 95% interval, which
speaks of the judges at hand. Every world draws new judges. Below, for 500 prompts with one response
each and 30 judges as 10 x 3: the true standard error of each panel of at most 30 calls, by drawing
it, and how often the plan made from one world names the best of them.
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from areopagus.aggregation.decision_study import asked_study, best_designs, layout_of, target_of
from areopagus.aggregation.design import design_of
from areopagus.aggregation.generalizability import GStudy, panel_g_study
from areopagus.aggregation.judge_worth import worth_of_components, worth_of_layout
from areopagus.aggregation.rater_severity import severity
from areopagus.graphs.stopping import PlannedJudgment, balanced_order
from areopagus.records.design import design_sentence

S2 = {
    "q": 0.36, "r:q": 0.64, "P": 0.20, "M": 0.30, "PM": 0.05, "qP": 0.02, "qM": 0.10,
    "rP": 0.04, "rM": 0.20, "rPM": 0.15, "residual": 0.10,
}  # fmt: skip
"""With one response a prompt, ten personas on three models: .06/10 + .30/3 + .25/30 = .338²."""


INTERVALS = 5
"""One world in so many is taken apart without each block of its prompts, for an interval."""


@dataclass(frozen=True)
class Layout:
    """A design: how many prompts, responses to each, judges; and which judgments are missing."""

    prompts: int = 100
    each: int = 4
    personas: int = 10
    models: int = 3
    repeats: int = 1
    missing: Callable[[np.ndarray, np.random.Generator], None] | None = None


def rotation(scores: np.ndarray, rng: np.random.Generator) -> None:
    """Six of the judges each, in the balanced order of `--judges-per-response`."""
    places = [(p, m) for p in range(scores.shape[1]) for m in range(scores.shape[2])]
    plan = [PlannedJudgment(f"{p} {m}", f"b{m}", f"a{p % 2}", f"p{p}") for p, m in places]
    seed = int(rng.integers(1 << 30))
    for r in range(len(scores)):
        for key in balanced_order(plan, seed=seed, response_id=str(r))[6:]:
            p, m = map(int, key.split())
            scores[r, p, m] = np.nan


def quota(scores: np.ndarray, rng: np.random.Generator) -> None:
    """One model ends after a third of the responses, in random order."""
    order = rng.permutation(len(scores))
    scores[order[len(scores) // 3 :], :, 0] = np.nan


DESIGNS = {
    "several responses a prompt": Layout(),
    "one response a prompt": Layout(prompts=500, each=1),
    "one response, asked twice": Layout(prompts=500, each=1, repeats=2),
    "one model": Layout(models=1),
    "one model, one response": Layout(prompts=500, each=1, models=1),
    "one persona": Layout(personas=1, models=10),
    "one judge, asked once": Layout(personas=1, models=1),
    "one judge, asked three times": Layout(personas=1, models=1, repeats=3),
    "rotation, six of thirty": Layout(missing=rotation),
    "rotation, one response": Layout(prompts=500, each=1, missing=rotation),
    "a model fell out": Layout(missing=quota),
}


@dataclass(frozen=True)
class World:
    """One run.

    Attributes:
        scores: shape (R, P, M, repeats).
        measured: shape (R,).
        q: shape (R,), the prompt of each response.
        judges: variance of the personas, the models and their pairs that were drawn.
    """

    scores: np.ndarray
    measured: np.ndarray
    q: np.ndarray
    judges: dict[str, float]


def draw(rng: np.random.Generator, layout: Layout, *, such_judges: bool = False) -> World:
    """Draws a run.

    With one model what is measured is what such personas on that model would say (unless of such
    models is spoken); so with one persona, and with one judge.
    """
    q = np.repeat(np.arange(layout.prompts), layout.each)
    n, p, m = len(q), layout.personas, layout.models
    alone = {letter for letter, size in (("P", p), ("M", m)) if size == 1 and not such_judges}

    def normal(name: str, *shape: int) -> np.ndarray:
        return rng.normal(scale=math.sqrt(S2[name]), size=shape)

    shapes = {
        "q": (layout.prompts, 1, 1), "r:q": (n, 1, 1), "P": (1, p, 1), "M": (1, 1, m),
        "PM": (1, p, m), "qP": (layout.prompts, p, 1), "qM": (layout.prompts, 1, m),
        "rP": (n, p, 1), "rM": (n, 1, m), "rPM": (n, p, m),
    }  # fmt: skip
    total, measured, judges = np.zeros((n, p, m)), np.zeros(n), {}
    for name, shape in shapes.items():
        effect = normal(name, *shape)
        if name in ("P", "M", "PM") and effect.size > 1:
            judges[name] = float(effect.var(ddof=1))
        effect = effect[q] if name.startswith("q") else effect
        total = total + effect
        # what all judges that there are share belongs to what they measure
        if not {letter for letter in name if letter in "PM"} - alone:
            measured = measured + np.broadcast_to(effect, (n, p, m))[:, 0, 0]
    scores = 6 + total[..., None] + normal("residual", n, p, m, layout.repeats)
    if layout.missing is not None:
        layout.missing(scores, rng)
    return World(scores, measured, q, judges)


def means_of(scores: np.ndarray, *, is_adjusted: bool) -> np.ndarray:
    """The plain mean of each response, or that of the additive fit of responses and judges."""
    if not is_adjusted:
        return np.nanmean(scores, axis=(1, 2, 3))
    flat = scores.reshape(len(scores), -1)
    response, judge = np.nonzero(np.isfinite(flat))
    return np.array(severity(flat[response, judge], response, judge).adjusted)


def true_variance(world: World, is_across: bool, *, is_adjusted: bool = False) -> float:
    """Half the mean squared error of a difference between two compared responses."""
    error, q = means_of(world.scores, is_adjusted=is_adjusted) - world.measured, world.q
    if is_across:
        return float(error.var(ddof=1))
    means = np.bincount(q, weights=error) / np.bincount(q)
    return float(((error - means[q]) ** 2).sum() / (len(q) - len(means)))


def sentence(scores: np.ndarray, q: np.ndarray) -> str:
    """How the design is said."""
    there = np.isfinite(scores)
    asked = there
    if not (there.sum(axis=(1, 2, 3)) == there.sum(axis=(1, 2, 3))[0]).all():
        asked = np.ones_like(there)  # fell out: all were asked
    r, p, m, t = np.nonzero(asked)
    design = design_of(
        q[r], r, p, m, repeat=t, scored=there[asked],
        model_names=[f"model {k}" for k in range(scores.shape[2])],
    )  # fmt: skip
    return design_sentence(design)


def simulate(
    rng: np.random.Generator, name: str, layout: Layout, worlds: int, *, is_adjusted: bool
) -> None:
    """Prints what is said and what is true of one design."""
    truths, said, covered, worth_truths = [], [], [], []
    study: GStudy | None = None
    for number in range(worlds):
        world = draw(rng, layout)
        scores, q = world.scores, world.q
        if number == 0:
            fitted = ", means of the additive fit" if is_adjusted else ""
            print(f"\n{name}{fitted}\n  {sentence(scores, q)}")
        has_interval = layout.models > 1 < layout.personas and number % INTERVALS == 0
        study = panel_g_study(scores, prompt=q, jackknife=has_interval)
        truths.append(true_variance(world, layout.each == 1, is_adjusted=is_adjusted))
        if study.reason is not None:
            continue
        said.append(asked_study(study, scores, q, is_adjusted=is_adjusted).relative_error)
        if study.left_out:
            of_scores = layout_of(scores, q, study, is_adjusted=is_adjusted)
            found = worth_of_components(study, of_scores, layout.prompts, 0.95)
            known = components_of(study) | world.judges  # it speaks of these judges
            worth_truths.append(worth_of_layout(known, of_scores))
            if found.has_interval:
                covered.append(found.covers(min(worth_truths[-1], of_scores.judgments)))
    true = math.sqrt(np.mean(truths))
    if not said:
        print(f"  true standard error {true:.3f}; said: none ({study.reason if study else ''})")
        return
    root = math.sqrt(np.mean(said))
    low, high = np.sqrt(np.quantile(said, [0.1, 0.9]))
    relative = np.std(np.array(said) / np.mean(said) - np.array(truths) / np.mean(truths))
    error = root / true * relative / 2 / math.sqrt(worlds)
    print(f"  said {root:.3f} [{low:.3f}, {high:.3f}], true {true:.3f}: "
          f"ratio {root / true:.3f} ± {error:.3f} ({worlds} worlds)")  # fmt: skip
    if covered:
        rate = float(np.mean(covered))
        error = math.sqrt(rate * (1 - rate) / len(covered))
        worth = float(np.mean(worth_truths))
        print(f"  worth {worth:.1f}: coverage {rate:.3f} ± {error:.3f} ({len(covered)} worlds)")


def components_of(study: GStudy) -> dict[str, float]:
    """The true components as a study of the design has them."""
    names = set(study.components)
    found = dict(S2)
    if target_of(study) == "response":
        for part, whole in (("r:q", "q"), ("rP", "qP"), ("rM", "qM")):
            found[whole] += found.pop(part)
    # in a rotation in which a persona judges a response once, what it makes of it is noise as well
    lost = found.keys() - names
    found["residual"] += sum(found[name] for name in ("rPM", "rP", "qP") if name in lost)
    return {name: value for name, value in found.items() if name in names}


def plans(rng: np.random.Generator, worlds: int, budget: int = 30) -> None:
    """Prints the true standard error of panels of so many calls, and which one the plan names."""
    names: Counter[tuple[int, int]] = Counter()
    for _ in range(worlds):
        world = draw(rng, DESIGNS["one response a prompt"])
        study = panel_g_study(world.scores, prompt=world.q, jackknife=False)
        (best,) = best_designs(study, [budget])
        names[best.design.personas, best.design.models] += 1
    # of the panels with equally many models, or personas, the largest
    shapes = [(p, min(budget // p, 20)) for p in range(1, budget + 1)]
    wanted = {(budget // m, m) for _, m in shapes} | set(names)
    truths = {}
    for p, m in sorted(wanted):
        layout = Layout(prompts=100, each=1, personas=p, models=m)
        found = [true_variance(draw(rng, layout, such_judges=True), True) for _ in range(worlds)]
        error = float(np.std(found)) / math.sqrt(worlds)
        truths[p, m] = (math.sqrt(np.mean(found)), error / 2 / math.sqrt(np.mean(found)))
    print(f"\nplan for {budget} calls a response, one response a prompt (500 prompts, 10 x 3)")
    for (p, m), (true, error) in sorted(truths.items(), key=lambda one: one[1]):
        share = names[p, m] / worlds
        print(f"  {p:3} personas x {m:2} models: true standard error {true:.3f} ± {error:.3f}"
              f"{f', named in {share:.0%} of worlds' if share else ''}")  # fmt: skip
    best = min(true for true, _ in truths.values())
    named = sum(truths[shape][0] * n for shape, n in names.items()) / worlds
    print(f"  the plan's true standard error, on average over the best one's: {named / best:.3f}")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    for name, layout in DESIGNS.items():
        few = options.worlds // 5 if layout.missing is rotation else options.worlds
        for is_adjusted in (False, True) if layout.missing else (False,):
            simulate(rng, name, layout, max(few, 10), is_adjusted=is_adjusted)
    plans(rng, options.worlds)


if __name__ == "__main__":
    main()
