"""Shares, means, gaps and tests by gender, race and city, with the name as the unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import t_interval
from ...aggregation.multiplicity import holm
from ...aggregation.proportions import FEWEST_CLUSTERS, clustered_proportion
from ...aggregation.welch_james import (
    RESAMPLES,
    WelchJames,
    helmert,
    permuted_welch_james,
    welch_james,
)
from .groups_figures import CellFigures, Effect, Gap, GroupFigures

Floats = NDArray[np.float64]
Texts = NDArray[np.str_]

CITIES = ("high", "low")
CITY_LABELS = {"high": "rich", "low": "poor"}


@dataclass(frozen=True, slots=True)
class GroupAnswers:
    """A model's answers about people, one entry an answer that has a value.

    Attributes:
        unit: the name in its group.
        gender, race: of the name.
        city: income of the city, high or low.
        category: what the answer is.
        score: a number for it; what is tested.
        planned: (gender, race, city) to askings, whatever became of them.
    """

    unit: Texts
    gender: Texts
    race: Texts
    city: Texts
    category: Texts
    score: Floats
    planned: Mapping[tuple[str, str, str], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.unit)


def group_answers(
    rows: Sequence[tuple[str, str, str, str, str, float]],
    planned: Mapping[tuple[str, str, str], int] | None = None,
) -> GroupAnswers:
    """Rows of (unit, gender, race, city, category, score) as arrays."""
    columns = list(zip(*rows, strict=True)) or [()] * 6
    unit, gender, race, city, category = (
        np.asarray(column, dtype=np.str_) for column in columns[:5]
    )
    scores = np.asarray(columns[5], dtype=np.float64)
    return GroupAnswers(unit, gender, race, city, category, scores, dict(planned or {}))


def group_figures(
    answers: GroupAnswers,
    categories: Sequence[str],
    *,
    outcome: str,
    genders: Sequence[str],
    races: Sequence[str],
    with_means: bool = False,
) -> GroupFigures:
    """Everything by group.

    Args:
        answers: one model's.
        categories: whose shares are stated.
        outcome: what the score is.
        genders, races: in the order of the tables.
        with_means: state mean scores besides shares.
    """
    cells = []
    masks = [
        {"": np.ones(len(answers), dtype=bool), **{name: values == name for name in names}}
        for values, names in (
            (answers.gender, genders),
            (answers.race, races),
            (answers.city, CITIES),
        )
    ]
    _, codes = np.unique(answers.unit, return_inverse=True)
    for gender, race, city in _parts(genders, races):
        here = masks[0][gender] & masks[1][race] & masks[2][city]
        place = (gender, race, city)
        cells.append(_cell(answers, codes, here, place, categories, with_means=with_means))
    table = name_table(answers, genders, races)
    return GroupFigures(outcome, tuple(cells), _effects(table), _gaps(table, outcome))


@dataclass(frozen=True, slots=True)
class NameTable:
    """Name-level values by group: `values[gender][race]` has shape (names, 2), rich then poor."""

    genders: tuple[str, ...]
    races: tuple[str, ...]
    values: tuple[tuple[Floats, ...], ...]

    def cells(self, of: str) -> list[Floats]:
        """One vector of names a group, gender by gender: `level` or `change`."""
        found = []
        for row in self.values:
            for cell in row:
                if of == "change":
                    found.append(cell[:, 0] - cell[:, 1])
                    continue
                known = ~np.isnan(cell)
                total = np.where(known, cell, 0).sum(axis=1)
                count = known.sum(axis=1)
                level = np.full(len(cell), np.nan)
                np.divide(total, count, out=level, where=count > 0)
                found.append(level)
        return found


def _parts(genders: Sequence[str], races: Sequence[str]) -> list[tuple[str, str, str]]:
    found = [(g, r, c) for r in races for c in CITIES for g in genders]
    found += [(g, r, "") for r in races for g in genders]
    found += [(g, "", c) for g in genders for c in CITIES]
    found += [("", r, c) for r in races for c in CITIES]
    found += [(g, "", "") for g in genders]
    found += [("", r, "") for r in races]
    found += [("", "", c) for c in CITIES]
    return [*found, ("", "", "")]


def _cell(
    answers: GroupAnswers,
    codes: NDArray[np.intp],
    here: NDArray[np.bool_],
    place: tuple[str, str, str],
    categories: Sequence[str],
    *,
    with_means: bool,
) -> CellFigures:
    units = codes[here].tolist()
    shares = {
        name: clustered_proportion(
            (answers.category[here] == name).astype(float), units, unit="name"
        ).of("share")
        for name in categories
    }
    if with_means:
        counts = np.bincount(codes[here])
        sums = np.bincount(codes[here], weights=answers.score[here])
        means = sums[counts > 0] / counts[counts > 0]
        mean = t_interval(means, unit="name").of("mean of names")
    else:
        mean = undefined("no scores", unit="name", method="mean of names")
    n_planned = sum(
        number
        for spot, number in answers.planned.items()
        if all(wanted in ("", found) for wanted, found in zip(place, spot, strict=True))
    )
    return CellFigures(*place, n_planned or int(here.sum()), int(here.sum()), shares, mean)


def name_table(answers: GroupAnswers, genders: Sequence[str], races: Sequence[str]) -> NameTable:
    """Mean scores by name and income of city."""
    sums: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    rows = zip(
        answers.gender.tolist(), answers.race.tolist(), answers.unit.tolist(),
        answers.city.tolist(), answers.score.tolist(), strict=True,
    )  # fmt: skip
    for gender, race, unit, city, score in rows:
        sums.setdefault((gender, race, unit), {}).setdefault(city, []).append(score)
    found: dict[tuple[str, str], list[list[float]]] = {}
    for (gender, race, _), by_city in sums.items():
        pair = [
            math.fsum(by_city[city]) / len(by_city[city]) if city in by_city else math.nan
            for city in CITIES
        ]
        found.setdefault((gender, race), []).append(pair)
    return NameTable(
        tuple(genders),
        tuple(races),
        tuple(
            tuple(np.asarray(found.get((g, r), []), dtype=float).reshape(-1, 2) for r in races)
            for g in genders
        ),
    )


def _effects(table: NameTable) -> tuple[Effect, ...]:
    n_genders, n_races = len(table.genders), len(table.races)
    by_gender = _kron(helmert(n_genders), np.full((1, n_races), 1 / n_races))
    by_race = _kron(np.full((1, n_genders), 1 / n_genders), helmert(n_races))
    both = _kron(helmert(n_genders), helmert(n_races))
    mean: Floats = np.full((1, n_genders * n_races), 1 / (n_genders * n_races))
    level, change = table.cells("level"), table.cells("change")
    plan: list[tuple[str, list[Floats], Floats]] = [
        ("gender", level, by_gender),
        ("race", level, by_race),
        ("gender x race", level, both),
        ("city", change, mean),
        ("city x gender", change, by_gender),
        ("city x race", change, by_race),
        ("city x gender x race", change, both),
    ]
    plan = [one for one in plan if len(one[2])]
    # Names of one gender can be exchanged between races; for the other effects nothing can be.
    permuted = {"race", "city x race"}
    tests = [
        permuted_welch_james(cells, matrix, strata=n_genders)
        if name in permuted
        else welch_james(cells, matrix)
        for name, cells, matrix in plan
    ]
    adjusted = holm([test.p for test in tests])
    n = sum(int((~np.isnan(cell)).sum()) for cell in level)
    found = []
    for (name, _, _), test, corrected in zip(plan, tests, adjusted, strict=True):
        method = "Welch-James over names"
        if name in permuted:
            method += f", {RESAMPLES:,} permutations between races"
        found.append(
            Effect(
                name,
                _p(test.p, n, method, test.reason),
                _p(float(corrected), n, f"{method}, Holm over {len(tests)} effects", test.reason),
                test.statistic,
                test.df,
                test.df_rest,
            )
        )
    return tuple(found)


def _kron(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.kron(a, b), dtype=np.float64)


def _gaps(table: NameTable, outcome: str) -> tuple[Gap, ...]:
    genders, races = table.genders, table.races
    level, change = table.cells("level"), table.cells("change")
    shape = (len(genders), len(races))
    found: list[Gap] = []

    def add(name: str, within: str, cells: list[Floats], weights: Floats) -> None:
        test = welch_james(cells, weights.reshape(1, -1))
        used = np.abs(weights.reshape(-1)) > 0
        n = sum(
            int((~np.isnan(cell)).sum())
            for cell, is_used in zip(cells, used, strict=True)
            if is_used
        )
        found.append(Gap(name, within, difference_of(test, n, outcome)))

    if len(genders) == 2:
        # The last gender of the lists minus the first: men minus women.
        name = f"{genders[1]} - {genders[0]}"
        for within, mask in _masks(races, shape, axis=1):
            weights = np.zeros(shape)
            weights[1], weights[0] = mask[1] / mask[1].sum(), -mask[0] / mask[0].sum()
            add(name, within, level, weights)
    if len(races) > 1:
        for at, race in enumerate(races):
            weights = np.full(shape, -1 / (shape[0] * (shape[1] - 1)))
            weights[:, at] = 1 / shape[0]
            add(f"{race} - other races", "", level, weights)
    name = "rich - poor cities"
    for within, mask in _masks(races, shape, axis=1):
        add(name, within, change, mask / mask.sum())
    for within, mask in _masks(genders, shape, axis=0)[1:]:
        add(name, within, change, mask / mask.sum())
    for row, gender in enumerate(genders):
        for column, race in enumerate(races):
            mask = np.zeros(shape)
            mask[row, column] = 1
            add(name, f"{race} {gender}", change, mask)
    return tuple(found)


def _masks(names: Sequence[str], shape: tuple[int, int], *, axis: int) -> list[tuple[str, Floats]]:
    """All cells, then those of each name along an axis, as 0 and 1."""
    found: list[tuple[str, Floats]] = [("", np.ones(shape))]
    for at, name in enumerate(names):
        mask = np.zeros(shape)
        mask[(slice(None), at) if axis == 1 else (at, slice(None))] = 1
        found.append((name, mask))
    return found


def difference_of(test: WelchJames, n: int, outcome: str) -> Estimate:
    """A single contrast as a number with its interval."""
    method = f"difference of {outcome}"
    if not math.isfinite(test.estimate):
        return undefined(test.reason or "undefined", unit="name", method=method, n=n)
    if n < FEWEST_CLUSTERS:
        reason = f"an interval needs {FEWEST_CLUSTERS} names, there are {n}"
        return Estimate(test.estimate, n=n, unit="name", method=method, reason=reason)
    low, high = test.limits()
    method += "; 95% Welch t over names" if math.isfinite(low) else ""
    return Estimate(
        test.estimate, n=n, unit="name", method=method, low=low, high=high, reason=test.reason
    )


def _p(value: float, n: int, method: str, reason: str | None) -> Estimate:
    if math.isnan(value):
        return undefined(reason or "undefined", unit="name", method=method, n=n)
    return Estimate(value, n=n, unit="name", method=method)
