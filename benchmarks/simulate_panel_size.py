"""Simulates panels of known make-up: effective number of judges, corrected shares.

Run: python benchmarks/simulate_panel_size.py --worlds 2000 --seed 1
Prints, at 9, 26 and 100 prompts of six responses, the coverage of the 95% intervals of the
effective number of judges with 15% of the judgments missing; the same of a panel whose judges
share no error; and the coverage of corrected pass rates. Monte Carlo error beside each. The
effective number is that of the judgments that are there, by the layout of each world.
"""

import argparse
import math

import numpy as np

from areopagus.aggregation.decision_study import layout_of
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.generalizability import panel_g_study
from areopagus.aggregation.judge_worth import worth_of_components, worth_of_layout
from areopagus.aggregation.proportions import rogan_gladen
from areopagus.calibration.dataset import Dataset
from areopagus.calibration.decision_study import add_decision_study
from areopagus.calibration.panel_scores import PanelScores
from areopagus.calibration.responses import make_responses
from areopagus.records.estimates import Estimates, estimate_at

P, M, RESPONSES, MISSING = 4, 3, 6, 0.15
S2 = {"q": 0.3, "r:q": 0.6, "qP": 0.05, "qM": 0.1, "rP": 0.06, "rM": 0.2, "residual": 0.5}
PERSONA = np.array([0.3, 0.0, -0.1, -0.2])
MODEL = np.array([0.4, 0.0, -0.4])
INDEPENDENT = {**S2, "rP": 0.0, "rM": 0.0, "residual": 0.76}


def panel(
    rng: np.random.Generator, n_prompts: int, variances: dict[str, float] = S2
) -> PanelScores:
    """Draws the judgments of one panel."""
    prompt = np.repeat(np.arange(n_prompts), RESPONSES)
    n = len(prompt)

    def drawn(name: str, *shape: int) -> np.ndarray:
        return rng.normal(scale=math.sqrt(variances[name]), size=shape)

    scores = (
        6
        + drawn("q", n_prompts, 1, 1)[prompt]
        + drawn("r:q", n, 1, 1)
        + PERSONA[:, None]
        + MODEL
        + drawn("qP", n_prompts, P, 1)[prompt]
        + drawn("qM", n_prompts, 1, M)[prompt]
        + drawn("rP", n, P, 1)
        + drawn("rM", n, 1, M)
        + drawn("residual", n, P, M)
    )
    scores[rng.random(scores.shape) < MISSING] = np.nan
    return PanelScores(
        scores=scores[:, :, :, None, None],
        personas=tuple(f"persona {p}" for p in range(P)),
        models=tuple(f"model {m}" for m in range(M)),
        criteria=("overall",),
        axes=("",) * P,
        status={},
        n_planned=np.full(n, P * M),
        quorum=0.5,
    )


def covered(found: list[Estimate], truths: list[float]) -> str:
    """Words for the coverage of the intervals that were given, of the truth of each world."""
    given = [(number, t) for number, t in zip(found, truths, strict=True) if number.has_interval]
    rate = sum(number.covers(truth) for number, truth in given) / max(len(given), 1)
    mean = float(np.mean([number.value for number, _ in given]))
    return line(rate, len(given), float(np.mean(truths)), mean)


def line(rate: float, n: int, truth: float, mean: float) -> str:
    """A rate with its Monte Carlo error."""
    error = math.sqrt(rate * (1 - rate) / n) if n else math.nan
    return f"{rate:.3f} ± {error:.3f}  ({n} worlds)  truth {truth:.3f}, mean {mean:.3f}"


def panels(rng: np.random.Generator, n_prompts: int, worlds: int) -> None:
    """The effective number."""
    names = [f"{g}/{k}" for g in range(n_prompts) for k in range(RESPONSES)]
    prompts = [f"{g}" for g in range(n_prompts) for _ in range(RESPONSES)]
    nothing = [None] * len(names)
    responses = make_responses(
        names, prompts, respondent=nothing, source=nothing, model=nothing, domain=nothing
    )
    effective, truths = [], []
    prompt = np.repeat(np.arange(n_prompts), RESPONSES)
    for _ in range(worlds):
        made = panel(rng, n_prompts)
        out = Estimates()
        add_decision_study(out, Dataset(responses, (), (), None, made, None, None, 0, 0, ()), None)
        rows = out.frame()
        effective.append(estimate_at(rows, "size", "worth"))
        scores = made.scores[..., 0]
        study = panel_g_study(scores, prompt=prompt, jackknife=False)
        layout = layout_of(scores, prompt, study, is_adjusted=True)
        truths.append(worth_of_layout(S2, layout))
    print(f"\n{n_prompts} prompts: coverage of 95% intervals")
    print("  effective number of judges (jackknife) ", covered(effective, truths))


def independent_panels(rng: np.random.Generator, n_prompts: int, worlds: int) -> None:
    """Panels whose judges share no error."""
    prompt = np.repeat(np.arange(n_prompts), RESPONSES)
    found, truths = [], []
    for _ in range(worlds):
        scores = panel(rng, n_prompts, INDEPENDENT).scores[..., 0]
        study = panel_g_study(scores, prompt=prompt)
        layout = layout_of(scores, prompt, study, is_adjusted=True)
        found.append(worth_of_components(study, layout, n_prompts, 0.95))
        truths.append(worth_of_layout(INDEPENDENT, layout))
    print(f"\n{n_prompts} prompts: panels of independent judges")
    print("  effective number of judges (jackknife) ", covered(found, truths))


def shares(rng: np.random.Generator, worlds: int) -> None:
    """Corrected pass rates: specificity .8, sensitivity .9, true share .4."""
    print("\ncorrected pass rates, specificity .8, sensitivity .9, true share .4")
    for n, labels in ((50, 50), (200, 100), (1000, 100)):
        hits = []
        for _ in range(worlds):
            negatives = int(np.clip(rng.binomial(labels, 0.6), 1, labels - 1))
            positives = labels - negatives
            found = rogan_gladen(
                rng.binomial(n, 0.4 * 0.9 + 0.6 * 0.2) / n, n,
                specificity=rng.binomial(negatives, 0.8) / negatives, n_negative=negatives,
                sensitivity=rng.binomial(positives, 0.9) / positives, n_positive=positives,
            )  # fmt: skip
            hits.append((found.low <= 0.4 <= found.high, found.value))
        rate, mean = np.mean(hits, axis=0)
        print(f"  {n} judged, {labels} labeled".ljust(41), line(rate, worlds, 0.4, mean))


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    shares(rng, options.worlds)
    for n_prompts in (9, 26, 100):
        panels(rng, n_prompts, options.worlds)
    for n_prompts in (9, 26):
        independent_panels(rng, n_prompts, options.worlds // 4)


if __name__ == "__main__":
    main()
