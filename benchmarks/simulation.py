"""Simulations, declared: a grid of cells, and what one world of a cell gives.

    @simulation(units=(8, 30), kind=("normal", "skewed"))
    def rule(rng, units, kind):
        ...
        return {"covered": True, "power": 0.25}

    python benchmarks/simulate.py rule [--worlds 500] [--seed 0]

prints a table: a row a cell, a column an outcome, its mean over the worlds. An outcome that a world
leaves out, or that is nan, counts in that world for nothing. The Monte Carlo error of a share p is
sqrt(p (1 − p) / worlds).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

World = Callable[..., Mapping[str, float]]


@dataclass(frozen=True)
class Simulation:
    """A declared simulation.

    Attributes:
        world: takes a generator and the values of a cell, and gives outcomes.
        grid: name to values; the cells are all their combinations.
        worlds: so many a cell unless said otherwise.
        skip: cells that make no sense.
    """

    world: World
    grid: Mapping[str, Sequence[Any]]
    worlds: int
    skip: Callable[..., bool]

    @property
    def cells(self) -> Iterator[dict[str, Any]]:
        """All combinations of the grid's values, the last name varying fastest."""
        for values in itertools.product(*self.grid.values()):
            cell = dict(zip(self.grid, values, strict=True))
            if not self.skip(**cell):
                yield cell

    def run(self, worlds: int | None = None, seed: int = 0) -> Iterator[dict[str, Any]]:
        """A row a cell: its values, then the mean of each outcome over the worlds."""
        for place, cell in enumerate(self.cells):
            rng = np.random.default_rng([seed, place])
            each = [dict(self.world(rng, **cell)) for _ in range(worlds or self.worlds)]
            names = dict.fromkeys(name for one in each for name in one)
            shown = {name: str(value) for name, value in cell.items()}
            yield shown | {name: _mean([one.get(name, np.nan) for one in each]) for name in names}


SIMULATIONS: dict[str, Simulation] = {}


def simulation(
    *,
    worlds: int = 500,
    skip: Callable[..., bool] = lambda **_: False,
    **grid: Sequence[Any],
) -> Callable[[World], World]:
    """Declares the function below as a simulation of its name."""

    def declare(world: World) -> World:
        SIMULATIONS[world.__name__.replace("_", "-")] = Simulation(world, grid, worlds, skip)
        return world

    return declare


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a table of plain text, shares without the leading 0."""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    lines = [heads, *([_shown(row.get(name, "")) for name in heads] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in lines
    )


def _mean(values: Sequence[float]) -> float:
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else float("nan")


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return "-"
    text = f"{value:.3f}"
    return text.removeprefix("0") if abs(value) < 1 else text
