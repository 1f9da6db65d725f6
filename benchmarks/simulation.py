"""Simulations, declared: a grid of cells, and what one world of a cell gives.

    @simulation(units=(8, 30), kind={"normal": 0.0, "skewed": 2.0})
    def rule(rng, units, kind):
        ...
        return {"covered": covers(estimate, 0.0), "power": 0.25}

    python benchmarks/simulate.py rule [--worlds 500] [--seed 0]

prints a table: each cell, and the mean of each outcome over the worlds. The last row, ±, is the
largest Monte Carlo error of an outcome. A table that is too wide is turned on its side. An outcome
that a world leaves out, or that is nan, does not count in that world.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from areopagus.aggregation.estimate import Estimate

Outcomes = Mapping[str, float | Estimate]
World = Callable[..., Outcomes]
Values = Sequence[Any] | Mapping[str, Any]
WIDEST = 110


class Mean(NamedTuple):
    """A mean over worlds and its Monte Carlo error."""

    value: float
    error: float


@dataclass(frozen=True)
class Simulation:
    """A declared simulation.

    Attributes:
        world: takes a generator and the values of a cell, and gives outcomes.
        grid: name to values, or to values by label; the cells are all their combinations.
        worlds: the number of worlds a cell unless another is asked for.
        skip: cells that make no sense.
        truth: gives the truth of every outcome that is an estimate, of which coverage is reported.
    """

    world: World
    grid: Mapping[str, Values]
    worlds: int
    skip: Callable[..., bool]
    truth: Callable[[], Mapping[str, float]] | None = None

    @property
    def labeled_cells(self) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Labels and values of all combinations, the last name varying fastest."""
        for labels in itertools.product(*self.grid.values()):
            cell = {
                name: values[label] if isinstance(values, Mapping) else label
                for (name, values), label in zip(self.grid.items(), labels, strict=True)
            }
            if not self.skip(**cell):
                yield dict(zip(self.grid, map(str, labels), strict=True)), cell

    @property
    def cells(self) -> Iterator[dict[str, Any]]:
        """The values of all cells."""
        return (cell for _, cell in self.labeled_cells)

    def run(self, worlds: int | None = None, seed: int = 0) -> Iterator[dict[str, str | Mean]]:
        """A row a cell: its labels, then the mean of each outcome over the worlds."""
        truth = self.truth() if self.truth else {}
        for place, (labels, cell) in enumerate(self.labeled_cells):
            rng = np.random.default_rng([seed, place])
            values: dict[str, list[float]] = {}
            for _ in range(worlds or self.worlds):
                for name, outcome in self.world(rng, **cell).items():
                    is_estimate = isinstance(outcome, Estimate)
                    value = covers(outcome, truth[name]) if is_estimate else outcome
                    values.setdefault(name, []).append(value)
            yield labels | {name: _mean(drawn) for name, drawn in values.items()}


SIMULATIONS: dict[str, Simulation] = {}


def simulation(
    *,
    worlds: int = 500,
    skip: Callable[..., bool] = lambda **_: False,
    truth: Callable[[], Mapping[str, float]] | None = None,
    **grid: Values,
) -> Callable[[World], World]:
    """Declares the function below as a simulation of its name."""

    def declare(world: World) -> World:
        name = world.__name__.replace("_", "-")
        SIMULATIONS[name] = Simulation(world, grid, worlds, skip, truth)
        return world

    return declare


def covers(estimate: Estimate, truth: float) -> float:
    """1 where the interval holds the truth, 0 where it does not, nan where there is none."""
    if not estimate.has_interval:
        return float("nan")
    return float(estimate.low - 1e-12 <= truth <= estimate.high + 1e-12)


def width(estimate: Estimate) -> float:
    """How wide the interval is; nan where there is none."""
    return estimate.high - estimate.low


def table(rows: Sequence[Mapping[str, str | Mean]]) -> str:
    """The rows as a table of plain text, numbers below 1 without the leading 0."""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    lines = [heads, *([_text(row.get(name, "")) for name in heads] for row in rows)]
    means = {name: [row[name] for row in rows if name in row] for name in heads}
    errors = {name: [m.error for m in means[name] if isinstance(m, Mean)] for name in heads}
    lines.append([_text(Mean(np.nanmax(errors[n]), 0)) if errors[n] else "" for n in heads])
    lines[-1][0] = "±" if not errors[heads[0]] else f"± {lines[-1][0]}"
    turned = [list(column) for column in zip(*lines, strict=True)]
    if sum(_widths(lines)) > max(WIDEST, sum(_widths(turned))):
        lines = turned
    widths = _widths(lines)
    padded = ([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _mean(values: Sequence[float]) -> Mean:
    defined = np.asarray(values, dtype=float)
    defined = defined[~np.isnan(defined)]
    if not defined.size:
        return Mean(float("nan"), float("nan"))
    # Worlds that are all alike leave an error: about one in as many more might have differed.
    variance = float(defined.var()) or 1 / defined.size**2
    return Mean(float(defined.mean()), float(np.sqrt(variance / defined.size)))


def _text(value: str | Mean) -> str:
    if isinstance(value, str):
        return value
    if np.isnan(value.value):
        return "-"
    text = f"{value.value:.3f}"
    return text.replace("0.", ".", 1) if abs(value.value) < 0.9995 else text
