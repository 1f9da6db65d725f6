"""Shares, means, differences and tests by gender, race and city, with the name as the unit.

Shared by professions and narratives, which ask about the same people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ...aggregation.clustered import clustered_proportion
from ...aggregation.effects import adjusted_by_holm
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import t_interval
from ...aggregation.jackknife import Bounds, cut_to_range
from ...aggregation.welch_james import (
    RESAMPLES,
    contrast_of_means,
    helmert,
    permuted_welch_james,
    welch_james,
)
from ...formats import units
from ...records.estimates import Estimates
from ..contrasts import UNREAD
from ..decisions import decided

if TYPE_CHECKING:
    import pandas as pd

    from ..definition import Definition
    from .people import Chosen

Floats = npt.NDArray[np.float64]

UNIT: Final = "name"
CITIES: Final = ("high", "low")
_CITY_NAMES: Final = {"high": "rich cities", "low": "poor cities"}
OUTCOMES: Final = {"male - female": "men_women", "rich - poor cities": "rich_poor"}
"""Differences that `audit.yaml` names as outcomes."""
COLUMNS: Final = ("target", "unit", "status", "gender", "race", "city_income")


@dataclass(frozen=True, slots=True)
class Design:
    """What is looked at in the answers about people.

    Attributes:
        genders, races: in the order of the tables.
        categories: of the answers, whose shares are stated.
        outcome: what the score is, which is tested.
        scale: the ends of the score.
        has_means: whether mean scores are stated besides shares.
        has_outcomes: whether differences between genders, and between cities, are outcomes.
    """

    genders: Sequence[str]
    races: Sequence[str]
    categories: Sequence[str]
    outcome: str
    scale: Bounds = (0.0, 1.0)
    has_means: bool = False
    has_outcomes: bool = True

    @property
    def apart(self) -> Bounds:
        """The ends of a difference of two scores."""
        low, high = self.scale
        return low - high, high - low


def group_name(gender: str, race: str, city: str) -> str:
    """What a group is called: "white male, rich cities", "everybody"."""
    who = " ".join(part for part in (race, gender) if part)
    where = _CITY_NAMES.get(city, "")
    return ", ".join(part for part in (who, where) if part) or "everybody"


def people_labels(chosen: Chosen, definition: Definition) -> dict[str, dict[str, str]]:
    """What reports call the groups and the differences between them, whose keys stay as they are.

    Args:
        chosen: the genders and races.
        definition: of the audit, whose `differences` say what a race or a gender is called.
    """
    (one,) = definition.differences.values()
    genders, races = chosen.genders, chosen.races
    groups = {
        group_name(gender, race, city): group_name(gender, one.named.get(race, race), city)
        for gender in ("", *genders) for race in races for city in ("", *CITIES)
    }  # fmt: skip
    factors = [f"{second} - {first}" for first, second in combinations(genders, 2)]
    factors += [f"{race} - other races" for race in races]
    factors += ["rich - poor cities"]
    return {"group": groups, "factor": {name: " − ".join(one.sides(name)) for name in factors}}


def estimate_groups(
    answers: pd.DataFrame, design: Design, *, models: Sequence[str], detail: str = ""
) -> Estimates:
    """Every figure by group: of each model, of differences between models, and of their mean.

    Args:
        answers: `COLUMNS`, `category` and `score`, one row an asking; both missing where an answer
            came to nothing. `unit` is the name in its group.
        design: what is looked at.
        models: in the order of the report.
        detail: key of the rows, where answers are read in several ways.
    """
    found = Estimates()
    scored: dict[str, pd.DataFrame] = {}
    main: list[tuple[dict[str, str], Estimate]] = []
    ends: list[tuple[dict[str, str], str, Estimate]] = []
    has_unread = bool((answers["status"].isin(UNREAD) & answers["category"].isna()).any())
    for name in models:
        mine = answers[answers["target"] == name]
        scored[name] = mine[mine["category"].notna()]
        if scored[name].empty and detail:
            continue
        keys = {"respondent": name, "detail": detail}
        _cells(found, mine, scored[name], design, keys)
        table = name_table(scored[name], design)
        _effects(found, table, design, keys)
        main += _gaps(found, table, design, keys)
        if has_unread:
            ends += _gap_bounds(mine, design, keys)
    _add_main(found, main, design)
    for keys, measure, bound in ends:
        found.add("gaps", measure, bound, group="all", **keys)
        if design.has_outcomes:
            who, factor = keys["respondent"], keys["factor"]
            found.add("differences", measure, bound, respondent=who, factor=factor)
    _models(found, scored, design, detail)
    _average(
        found, design, [name for name in models if not (scored[name].empty and detail)], detail
    )
    return found


def _cells(
    found: Estimates,
    mine: pd.DataFrame,
    scored: pd.DataFrame,
    design: Design,
    keys: dict[str, str],
) -> None:
    units = scored["unit"].to_numpy(dtype=object)
    category = scored["category"].to_numpy(dtype=object)
    score = scored["score"].to_numpy(dtype=float)
    within, planned = _masks_of(scored), _masks_of(mine)
    for factor, place in _places(design):
        here, n_planned = within(place), int(planned(place).sum())
        n, of = int(here.sum()), units[here].tolist()
        at = {"factor": factor, "group": group_name(*place), **keys}
        count = Estimate(n, n=n, n_planned=n_planned, unit="answer", method="count")
        found.add("groups", "answers", count, **at)
        for name in design.categories:
            share = clustered_proportion((category[here] == name).astype(float), of, unit=UNIT)
            found.add("groups", name, share.of("share"), **at)
        if design.has_means:
            _, codes = np.unique(of, return_inverse=True)
            means = np.bincount(codes, weights=score[here]) / np.bincount(codes)
            mean = cut_to_range(t_interval(means, unit=UNIT).of("mean of names"), design.scale)
            found.add("groups", "mean", mean, **at)


def _masks_of(rows: pd.DataFrame) -> Callable[[tuple[str, str, str]], npt.NDArray[np.bool_]]:
    """The rows of a gender, race and income of the city, "" standing for all."""
    columns = [rows[name].to_numpy(dtype=object) for name in COLUMNS[3:]]
    whole = np.ones(len(rows), dtype=bool)
    known = [{"": whole, **{one: part == one for one in set(part)}} for part in columns]

    def mask(place: tuple[str, str, str]) -> npt.NDArray[np.bool_]:
        here: npt.NDArray[np.bool_] = np.ones(len(rows), dtype=bool)
        for of, one in zip(known, place, strict=True):
            here &= of.get(one, ~whole)
        return here

    return mask


def _places(design: Design) -> list[tuple[str, tuple[str, str, str]]]:
    """Every group, by which of gender, race and city tell it apart."""
    genders, races = design.genders, design.races
    found = [(g, r, c) for r in races for c in CITIES for g in genders]
    found += [(g, r, "") for r in races for g in genders]
    found += [(g, "", c) for g in genders for c in CITIES]
    found += [("", r, c) for r in races for c in CITIES]
    found += [(g, "", "") for g in genders]
    found += [("", r, "") for r in races]
    found += [("", "", c) for c in CITIES]
    names = ("gender", "race", "city")
    return [
        (" x ".join(n for n, part in zip(names, place, strict=True) if part) or "all", place)
        for place in [*found, ("", "", "")]
    ]


@dataclass(frozen=True, slots=True)
class NameTable:
    """Mean scores of names: an array a group, gender by gender, of shape (names, 2): rich, poor."""

    values: tuple[Floats, ...]

    @property
    def level(self) -> list[Floats]:
        """Of every name the mean of both kinds of cities, or of the one there is."""
        found = []
        for cell in self.values:
            known = ~np.isnan(cell)
            count = known.sum(axis=1)
            total = np.where(known, cell, 0).sum(axis=1)
            level = np.full(len(cell), np.nan)
            np.divide(total, count, out=level, where=count > 0)
            found.append(level)
        return found

    @property
    def change(self) -> list[Floats]:
        """Of every name rich cities minus poor ones."""
        return [cell[:, 0] - cell[:, 1] for cell in self.values]


def name_table(scored: pd.DataFrame, design: Design) -> NameTable:
    """The mean scores of every name, names in the order in which they come."""
    by_group = dict(list(scored.groupby(["gender", "race"], sort=False)))
    found: list[Floats] = []
    for gender in design.genders:
        for race in design.races:
            here = by_group.get((gender, race))
            if here is None:
                found.append(np.zeros((0, 2)))
                continue
            means = here.groupby(["unit", "city_income"], sort=False)["score"].mean()
            order = here["unit"].drop_duplicates()
            wide = means.unstack("city_income").reindex(index=order, columns=list(CITIES))
            found.append(wide.to_numpy(dtype=float))
    return NameTable(tuple(found))


def _effects(found: Estimates, table: NameTable, design: Design, keys: dict[str, str]) -> None:
    """Tests over names of gender, race, city and their interactions, with Holm over them."""
    n_genders, n_races = len(design.genders), len(design.races)
    by_gender = np.kron(helmert(n_genders), np.full((1, n_races), 1 / n_races))
    by_race = np.kron(np.full((1, n_genders), 1 / n_genders), helmert(n_races))
    both = np.kron(helmert(n_genders), helmert(n_races))
    mean = np.full((1, n_genders * n_races), 1 / (n_genders * n_races))
    level, change = table.level, table.change
    plan = [
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
    n = sum(int((~np.isnan(cell)).sum()) for cell in level)
    statistics = [
        Estimate(
            test.statistic, n=n, unit=UNIT, method="F", reason=test.reason, p=test.p,
            p_method=f"Welch-James over {UNIT}s"
            + (f", {RESAMPLES:,} permutations between races" if name in permuted else ""),
        )
        for (name, _, _), test in zip(plan, tests, strict=True)
    ]  # fmt: skip
    statistics = adjusted_by_holm(statistics, [units(len(plan), "effect")] * len(plan))
    for (name, _, _), test, statistic in zip(plan, tests, statistics, strict=True):
        found.add("effects", "f", statistic, factor=name, **keys)
        for measure, value in (("df", test.df), ("df_rest", test.df_rest)):
            of: Estimate | float = value
            if math.isnan(value) or math.isnan(test.statistic):
                why = test.reason or "the test is undefined"
                of = undefined(why, unit=UNIT, method="degrees of freedom", n=n)
            found.add("effects", measure, of, factor=name, **keys)


def _gaps(
    found: Estimates, table: NameTable, design: Design, keys: dict[str, str]
) -> list[tuple[dict[str, str], Estimate]]:
    """Differences of two means over names, every group weighing alike; returns those over all.

    Those within races, genders and groups are added.
    """
    main: list[tuple[dict[str, str], Estimate]] = []
    genders, races = design.genders, design.races
    level, change = table.level, table.change
    shape = (len(genders), len(races))

    def add(name: str, within: str, cells: list[Floats], weights: Floats) -> None:
        gap = contrast_of_means(cells, weights, unit=UNIT, outcome=design.outcome)
        gap = cut_to_range(gap, design.apart)
        if within:
            found.add("gaps", "difference", gap, factor=name, group=within, **keys)
        else:
            main.append(({"factor": name, **keys}, gap))

    if len(genders) == 2:
        # The last gender of the lists minus the first: men minus women.
        for within, mask in _masks(races, shape, axis=1):
            weights = np.zeros(shape)
            weights[1], weights[0] = mask[1] / mask[1].sum(), -mask[0] / mask[0].sum()
            add(f"{genders[1]} - {genders[0]}", within, level, weights)
    if len(races) > 1:
        for at, race in enumerate(races):
            weights = np.full(shape, -1 / (shape[0] * (shape[1] - 1)))
            weights[:, at] = 1 / shape[0]
            add(f"{race} - other races", "", level, weights)
    name = "rich - poor cities"
    for within, mask in [*_masks(races, shape, axis=1), *_masks(genders, shape, axis=0)[1:]]:
        add(name, within, change, mask / mask.sum())
    for row, gender in enumerate(genders):
        for column, race in enumerate(races):
            mask = np.zeros(shape)
            mask[row, column] = 1
            add(name, f"{race} {gender}", change, mask)
    return main


def gaps_over_all(table: NameTable, design: Design) -> list[tuple[str, Estimate]]:
    """Differences between genders, of each race and the others, and of cities, over all groups."""
    return [(keys["factor"], gap) for keys, gap in _gaps(Estimates(), table, design, {})]


def _gap_bounds(
    mine: pd.DataFrame, design: Design, keys: dict[str, str]
) -> list[tuple[dict[str, str], str, Estimate]]:
    """The differences over all groups with every unread answer at an end of the score's scale.

    Least: unread answers about the first side of "A - B" count as the lower end, those about the
    other side as the upper end. Most: the reverse.
    """
    is_unread = mine["status"].isin(UNREAD) & mine["category"].isna()
    answered = mine[is_unread | mine["category"].notna()]
    is_read = ~is_unread[answered.index]
    low, high = design.scale
    found: list[tuple[dict[str, str], str, Estimate]] = []
    for factor, _ in gaps_over_all(name_table(answered, design), design):
        first = factor.partition(" - ")[0]
        is_first = (answered[["gender", "race"]] == first).any(axis=1)
        if first == "rich":
            is_first = answered["city_income"] == "high"
        for measure, end, other in (
            ("difference_least", low, high), ("difference_most", high, low),
        ):  # fmt: skip
            scores = answered["score"].where(is_read, np.where(is_first, end, other))
            table = name_table(answered.assign(score=scores), design)
            gap = dict(gaps_over_all(table, design))[factor]
            method = "bound over answers without a value"
            bound = Estimate(gap.value, n=gap.n, unit=UNIT, method=method, reason=gap.reason)
            found.append(({"factor": factor, **keys}, measure, bound))
    return found


def _add_main(
    found: Estimates, main: Sequence[tuple[dict[str, str], Estimate]], design: Design
) -> None:
    """Adds the differences over all groups, with Holm over those of all models."""
    family = f"Holm over {units(len(main), 'difference')}"
    gaps = decided([gap for _, gap in main], [family] * len(main))
    for (keys, _), gap in zip(main, gaps, strict=True):
        found.add("gaps", "difference", gap, group="all", **keys)
        if not design.has_outcomes:
            continue
        who, name = keys["respondent"], keys["factor"]
        found.add("differences", "difference", gap, respondent=who, factor=name)
        if name in OUTCOMES:
            found.add("outcomes", OUTCOMES[name], gap, respondent=who)


def _masks(names: Sequence[str], shape: tuple[int, int], *, axis: int) -> list[tuple[str, Floats]]:
    """All cells, then those of each name along an axis, as 0 and 1."""
    found: list[tuple[str, Floats]] = [("", np.ones(shape))]
    for at, name in enumerate(names):
        mask = np.zeros(shape)
        mask[(slice(None), at) if axis == 1 else (at, slice(None))] = 1
        found.append((name, mask))
    return found


def _models(found: Estimates, scored: dict[str, pd.DataFrame], design: Design, detail: str) -> None:
    """Every pair of models, on the names and incomes of cities that both have answers about."""
    genders, races = design.genders, design.races
    shape = (len(genders), len(races))
    even = np.full(shape, 1 / (shape[0] * shape[1]))
    place = ["unit", "gender", "race", "city_income"]
    means = {name: mine.groupby(place, sort=False)["score"].mean() for name, mine in scored.items()}
    places: list[dict[str, str]] = []
    gaps: list[Estimate] = []
    for a, b in combinations(scored, 2):
        both = means[a].to_frame("a").join(means[b].rename("b"), how="inner")
        table = name_table((both["a"] - both["b"]).rename("score").reset_index(), design)
        one, both_apart = design.apart, (2 * design.apart[0], 2 * design.apart[1])
        measures = [
            ("all", table.level, even, one), ("rich - poor cities", table.change, even, both_apart),
        ]  # fmt: skip
        if len(genders) == 2:
            sides = even * np.asarray([[-2.0], [2.0]])
            measures.insert(1, (f"{genders[1]} - {genders[0]}", table.level, sides, both_apart))
        for measure, cells, weights, reach in measures:
            gap = contrast_of_means(cells, weights, unit=UNIT, outcome=design.outcome)
            gaps.append(cut_to_range(gap, reach))
            places.append({"respondent": a, "baseline": b, "factor": measure, "detail": detail})
    for gap, keys in zip(
        adjusted_by_holm(gaps, [units(len(gaps), "test")] * len(gaps)), places, strict=True
    ):
        found.add("pairs", "difference", gap, **keys)


def _average(found: Estimates, design: Design, models: Sequence[str], detail: str) -> None:
    """The paper's table: the mean over models of each group's shares; none of one model."""
    if len(models) < 2:
        return
    frame = found.frame()
    cells = frame[(frame["table"] == "groups") & (frame["factor"] == "gender x race x city")]
    cells = cells[cells["measure"].isin(design.categories)]
    for (group, measure), rows in cells.groupby(["group", "measure"], sort=False):
        known = rows["value"].to_numpy(dtype=float)
        if len(known) == len(models) and not np.isnan(known).any():
            mean = Estimate(
                float(known.mean()), n=len(models), unit="model", method="mean of shares"
            )
            found.add("average", str(measure), mean, group=str(group), detail=detail)
