"""Measures how often the interval of the panel mean covers, over planted variance components.

Run: python benchmarks/simulate_panel_interval.py [--worlds 20000] [--seed 20240]
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from areopagus.aggregation.panel_interval import facet_intervals
from areopagus.graphs.stopping import PlannedJudgment, balanced_order

DESIGNS = ((10, 3), (10, 5), (5, 3), (10, 1))
COMPONENTS = (
    (0.06, 0.30, 0.25),
    (1.0, 1.0, 1.0),
    (0.2, 0.2, 1.0),
    (0.0, 1.0, 1.0),
    (0.0, 0.0, 1.0),
)
MISSING = (0.0, 0.15)
DRAWN = ((10, 3, 6), (10, 3, 8), (10, 3, 12), (10, 5, 8))
"""Personas, models, and how many of the cells a stopping rule had asked, in balance."""


def coverage(
    personas: int,
    models: int,
    components: tuple[float, float, float],
    missing: float,
    worlds: int,
    rng: np.random.Generator,
    drawn: int | None = None,
) -> tuple[float, float, int]:
    """Returns the share of worlds whose interval holds the truth, the median width, the worlds."""
    persona_sd, model_sd, residual_sd = np.sqrt(components)
    of_persona = rng.normal(0, 1, (worlds, personas, 1)) * persona_sd
    of_model = rng.normal(0, 1, (worlds, 1, models)) * model_sd
    scores = (
        5.5 + of_persona + of_model + rng.normal(0, 1, (worlds, personas, models)) * residual_sd
    )
    scores[rng.random(scores.shape) < missing] = np.nan
    if drawn is not None:
        assignments = [
            PlannedJudgment(f"{p}|{m}", f"{m}", str(p < personas // 2), f"{p}")
            for p in range(personas)
            for m in range(models)
        ]
        for world in range(worlds):
            order = balanced_order(assignments, seed=0, response_id=f"{world}")
            for key in order[drawn:]:
                p, m = key.split("|")
                scores[world, int(p), int(m)] = np.nan
    # with one model the interval speaks of personas on that model, so the model is in the truth
    truth = 5.5 + (of_model[:, 0, 0] if models == 1 else np.zeros(worlds))
    persona, model = np.divmod(np.arange(personas * models), models)
    cells = scores.reshape(worlds, 1, -1)
    present = np.isfinite(cells[:, 0]).astype(np.float64)
    found = facet_intervals(np.nan_to_num(cells), present, persona, model)
    low, high = found.low[:, 0], found.high[:, 0]
    given = np.isfinite(low)
    covered = (low <= truth) & (truth <= high)
    return float(covered[given].mean()), float(np.median((high - low)[given])), int(given.sum())


def main() -> None:
    """Prints one line a design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=20240)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("personas models  s2_P  s2_M  s2_e missing  coverage   (se)  median width  worlds")
    for (personas, models), components, missing in itertools.product(DESIGNS, COMPONENTS, MISSING):
        share, width, worlds = coverage(personas, models, components, missing, options.worlds, rng)
        error = (share * (1 - share) / worlds) ** 0.5
        print(
            f"{personas:8d} {models:6d} {components[0]:5.2f} {components[1]:5.2f} "
            f"{components[2]:5.2f} {missing:7.2f} {share:9.4f} {error:7.4f} {width:13.2f} "
            f"{worlds:7d}"
        )
    print("personas models  s2_P  s2_M  s2_e   asked  coverage   (se)  median width  worlds")
    for (personas, models, drawn), components in itertools.product(DRAWN, COMPONENTS):
        share, width, worlds = coverage(
            personas, models, components, 0.0, options.worlds // 4, rng, drawn
        )
        error = (share * (1 - share) / worlds) ** 0.5
        print(
            f"{personas:8d} {models:6d} {components[0]:5.2f} {components[1]:5.2f} "
            f"{components[2]:5.2f} {drawn:7d} {share:9.4f} {error:7.4f} {width:13.2f} {worlds:7d}"
        )


if __name__ == "__main__":
    main()
