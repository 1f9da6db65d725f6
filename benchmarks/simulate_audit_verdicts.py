"""How often an audit's first sentence says that something is shown where nothing is, and finds it.

    python benchmarks/simulate_audit_verdicts.py [--worlds 1000] [--only NAME]

In each world answers of several models are drawn and estimated. Printed, by audit: the share of
worlds in which anything is called shown (at most .05 where there is nothing: the families are over
all models), in which any 95% interval alone leaves out no difference, and, where a difference is
planted, in which it is shown for the model that has it. The Monte Carlo error stands beside each.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from areopagus.audits.decisions import is_shown
from areopagus.audits.estimate import estimate
from areopagus.audits.socioeval import AUDIT as SOCIOEVAL
from areopagus.audits.socioeval import SocioEvalOptions
from areopagus.records.estimates import estimate_of, select

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from socioeval_world import SocioEvalWorld, prompts_of

Figures = Iterable[Mapping[str, Any]]


def socioeval(favours: float) -> Callable[[np.random.Generator], Figures]:
    """Three models, of which one has a preference; templates differ (ICC .2)."""
    whole = SOCIOEVAL.defined(SocioEvalOptions.model_validate({"resamples": 0}))
    definition = whole.model_copy(update={"by": (), "changes": {}, "shares": {}})
    prompts = prompts_of()

    def figures(rng: np.random.Generator) -> Figures:
        parts = []
        for name, share in (("a", favours), ("b", 0.5), ("c", 0.5)):
            world = SocioEvalWorld({name: 0.4}, favours_higher=share, template_spread=0.2)
            parts.append(world.answers(prompts, rng))
        found = estimate(definition, pd.concat(parts, ignore_index=True), ["a", "b", "c"]).frame()
        rows = select(found, "outcomes")
        return rows[rows["measure"] == "favours_higher"].to_dict("records")

    return figures


WORLDS: dict[str, tuple[Callable[[np.random.Generator], Figures], float, str]] = {
    "socioeval, no preference": (socioeval(0.5), 0.5, ""),
    "socioeval, one model .7": (socioeval(0.7), 0.5, "a"),
}


def simulate(name: str, worlds: int) -> None:
    """One setting, as a line."""
    draw, null, planted = WORLDS[name]
    start, shown, alone, found, contradicted = time.monotonic(), 0, 0, 0, 0
    for number in range(worlds):
        rows = list(draw(np.random.default_rng([number, 83])))
        figures = {
            f"{row['respondent']} {row['factor'] or ''}".strip(): estimate_of(row) for row in rows
        }
        others = {key: one for key, one in figures.items() if key != planted}
        shown += any(map(is_shown, others.values()))
        alone += any(one.has_interval and not one.covers(null) for one in others.values())
        found += bool(planted) and is_shown(figures[planted])
        contradicted += any(is_shown(one) and one.covers(null) for one in figures.values())

    def told(hits: int) -> str:
        share = hits / worlds
        return f"{share:.3f} +- {math.sqrt(max(share * (1 - share), 1e-9) / worlds):.3f}"

    print(
        f"{name:<42} shown without cause {told(shown)}; interval alone {told(alone)}; "
        f"planted found {told(found) if planted else '-'}; contradicted {contradicted} "
        f"({len(figures)} figures, {time.monotonic() - start:.0f} s)",
        flush=True,
    )


def main() -> None:
    """All settings, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--only", default="", help="settings whose name holds this")
    given = parser.parse_args()
    for name in WORLDS:
        if given.only in name:
            simulate(name, given.worlds)


if __name__ == "__main__":
    main()
