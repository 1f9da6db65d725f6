"""Shares, means and differences by gender, race and city, with the name as the unit.

Shared by professions and narratives, which ask about the same people. A name is in one group
(gender and race); a difference is a contrast of groups, every group weighing alike. Rich and poor
cities are compared within names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

import numpy as np

from ...aggregation.clustered import clustered_proportion
from ...aggregation.effects import Contrast, Scores, effects
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import t_interval
from ...aggregation.jackknife import Bounds, cut_to_range
from ...records.estimates import Estimates
from ..contrasts import UNREAD, WORTH

if TYPE_CHECKING:
    import pandas as pd

    from ..definition import Definition
    from .people import Chosen

UNIT: Final = "name"
CITIES: Final = ("high", "low")
_CITY_NAMES: Final = {"high": "rich cities", "low": "poor cities"}
CELL: Final = ("gender", "race", "city_income")
COLUMNS: Final = ("target", "unit", "status", *CELL)

Cell = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Design:
    """What is looked at in the answers about people.

    Attributes:
        genders, races: in the order of the tables.
        categories: of the answers, whose shares are stated.
        outcome: what the score is, whose differences are decided.
        scale: the ends of the score.
        has_means: whether mean scores are stated besides shares.
    """

    genders: Sequence[str]
    races: Sequence[str]
    categories: Sequence[str]
    outcome: str
    scale: Bounds = (0.0, 1.0)
    has_means: bool = False

    @property
    def differences(self) -> dict[str, dict[Cell, float]]:
        """ "A - B" to the weights of its groups; "" stands for cities of both kinds."""
        groups = list(product(self.genders, self.races))
        found: dict[str, dict[Cell, float]] = {}
        sides: list[tuple[str, int, str]] = []
        if len(self.genders) == 2:
            # The last gender of the lists minus the first: men minus women.
            sides.append((f"{self.genders[1]} - {self.genders[0]}", 0, self.genders[1]))
        if len(self.races) > 1:
            sides += [(f"{race} - other races", 1, race) for race in self.races]
        for name, at, first in sides:
            n = sum(group[at] == first for group in groups)
            found[name] = {
                (*group, ""): 1 / n if group[at] == first else -1 / (len(groups) - n)
                for group in groups
            }
        found["rich - poor cities"] = {
            (*group, city): sign / len(groups)
            for group in groups for city, sign in zip(CITIES, (1, -1), strict=True)
        }  # fmt: skip
        return found


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
    (words,) = definition.differences.values()
    groups = {
        group_name(gender, race, city): group_name(gender, words.named.get(race, race), city)
        for gender in ("", *chosen.genders) for race in chosen.races for city in ("", *CITIES)
    }  # fmt: skip
    differences = Design(chosen.genders, chosen.races, (), "").differences
    return {
        "group": groups,
        "factor": {name: " − ".join(words.sides(name)) for name in differences},
    }


def long_table(answers: pd.DataFrame, *, prefix: str = "") -> pd.DataFrame:
    """The score of every name, one row an arm: `arm`, `unit` (the name), `score`.

    In the arm of its group a name has the mean of its scores in rich and in poor cities, or of the
    kind there is; in those of its group in rich or in poor cities, where it has both, it has one.

    Args:
        answers: `COLUMNS` and `score`; missing where an answer came to nothing.
        prefix: of every arm.
    """
    import pandas as pd

    keys = ["target", "unit", "gender", "race"]
    means = answers.groupby([*keys, "city_income"], sort=False)["score"].mean()
    cities = means.unstack("city_income").reindex(columns=list(CITIES)).reset_index()
    both = cities[cities[list(CITIES)].notna().all(axis=1)]
    parts = [("", cities, cities[list(CITIES)].mean(axis=1))]
    parts += [(city, both, both[city]) for city in CITIES]
    tables = []
    for city, rows, score in parts:
        names = zip(rows["target"], rows["gender"], rows["race"], strict=True)
        arms = [arm_of(f"{prefix}{who}", (gender, race, city)) for who, gender, race in names]
        tables.append(rows[["unit"]].assign(score=score, arm=arms))
    return pd.concat(tables, ignore_index=True)


def arm_of(who: str, cell: Cell) -> str:
    """The arm of a group, or of a group in cities of one kind."""
    return f"{who}: {group_name(*cell)}"


def contrasts_of(design: Design, models: Sequence[str]) -> list[Contrast]:
    """The differences of every model, decided together."""
    return [
        Contrast(
            {arm_of(model, cell): weight for cell, weight in weights.items()}, "score",
            {"respondent": model, "factor": name}, "differences", is_pooled=True,
        )
        for model in models
        for name, weights in design.differences.items()
    ]  # fmt: skip


def model_contrasts(
    answers: pd.DataFrame, design: Design, models: Sequence[str]
) -> tuple[pd.DataFrame, list[Contrast]]:
    """Every two models on the names and kinds of cities that both have scores for.

    Compared are the mean over all groups, and the differences between genders and between cities.

    Returns:
        Long table and contrasts.
    """
    import pandas as pd

    groups = list(product(design.genders, design.races))
    compared = {"all": {(*group, ""): 1 / len(groups) for group in groups}}
    compared |= {
        name: weights for name, weights in design.differences.items() if "other races" not in name
    }
    place = ["unit", "city_income"]
    scored = answers[answers["score"].notna()]
    of_model = {name: scored[scored["target"] == name] for name in models}
    tables, contrasts = [long_table(scored.iloc[:0])], []
    for a, b in combinations(models, 2):
        common = of_model[a][place].drop_duplicates().merge(of_model[b][place].drop_duplicates())
        tables += [
            long_table(of_model[model].merge(common), prefix=f"{a}, {b}, ") for model in (a, b)
        ]
        contrasts += [
            Contrast(
                {
                    arm_of(f"{a}, {b}, {model}", cell): sign * weight
                    for model, sign in ((a, 1), (b, -1)) for cell, weight in weights.items()
                },
                "score", {"respondent": a, "baseline": b, "factor": name}, "comparisons of models",
                is_pooled=True,
            )
            for name, weights in compared.items()
        ]  # fmt: skip
    return pd.concat(tables, ignore_index=True), contrasts


def estimate_groups(
    answers: pd.DataFrame, design: Design, *, models: Sequence[str], detail: str = "",
    differences: str = "differences",
) -> Estimates:  # fmt: skip
    """Every figure by group: of each model, of differences between models, and of their mean.

    groups        answers, the share of each category, mean; of the paper's cells and of each factor
    differences   difference, and difference_least and difference_most where answers are unread
    pairs         difference of two models
    average       the paper's table: means of the models' shares

    Args:
        answers: `COLUMNS`, `category` and `score`, one row an answer; both missing where an answer
            came to nothing. `unit` is the name in its group.
        design: what is looked at.
        models: in the order of the report.
        detail: key of the rows, where answers are read in several ways.
        differences: name of the table of differences, which has no such key.
    """
    found = Estimates()
    answers = answers.assign(score=answers["score"].where(answers["category"].notna()))
    has_score = {name for name, rows in answers.groupby("target") if rows["score"].notna().any()}
    models = [name for name in models if name in has_score or not detail]
    for model in models:
        _groups(found, answers[answers["target"] == model], design, model, detail)
    for contrast, estimate in _decided(long_table(answers), contrasts_of(design, models), design):
        found.add(differences, "difference", estimate, **contrast.keys)
        for end, bound in _bounds(answers, contrast, design):
            found.add(differences, f"difference_{end}", bound, **contrast.keys)
    for contrast, estimate in _decided(*model_contrasts(answers, design, models), design):
        found.add("pairs", "difference", estimate, detail=detail, **contrast.keys)
    if len(models) > 1:
        _average(found, design, len(models), detail)
    return found


def _decided(
    table: pd.DataFrame, contrasts: Sequence[Contrast], design: Design
) -> Iterator[tuple[Contrast, Estimate]]:
    scores = Scores.of(
        {name: table[name] for name in ("arm", "unit", "score")}, arm="arm", unit="unit",
        columns=["score"],
    )  # fmt: skip
    there = [one for one in contrasts if set(one.arms) <= set(scores.arms)]
    decided = {
        id(one): replace(effect.this_panel, universe=None)
        for one, effect in zip(there, effects(
            scores, there, scale=design.scale, unit=UNIT,
            worth=WORTH * (design.scale[1] - design.scale[0]),
            of=f"difference of {design.outcome}",
        ), strict=True)
    }  # fmt: skip
    nothing = replace(
        undefined("a group has no answer", unit=UNIT, method=f"difference of {design.outcome}"),
        verdict="undefined",
    )
    for contrast in contrasts:
        one = decided.get(id(contrast), nothing)
        yield contrast, one if one.is_defined else nothing


def _groups(found: Estimates, mine: pd.DataFrame, design: Design, model: str, detail: str) -> None:
    scored = mine[mine["score"].notna()]
    factors = ("gender", "race", "city")
    choices = (("", *design.genders), ("", *design.races), ("", *CITIES))
    for cell in product(*choices):
        factor = " x ".join(n for n, part in zip(factors, cell, strict=True) if part) or "all"
        if factor.count(" x ") == 1:
            continue
        here, planned = (_of_cell(rows, cell) for rows in (scored, mine))
        keys = {
            "respondent": model, "detail": detail, "factor": factor, "group": group_name(*cell),
        }  # fmt: skip
        n = len(here)
        count = Estimate(n, n=n, n_planned=len(planned), unit="answer", method="count")
        found.add("groups", "answers", count, **keys)
        names = here["unit"].tolist()
        for name in design.categories:
            is_one = (here["category"] == name).to_numpy(dtype=float)
            share = clustered_proportion(is_one, names, unit=UNIT)
            found.add("groups", name, share.of("share"), **keys)
        if design.has_means:
            means = here.groupby("unit", sort=False)["score"].mean().to_numpy(dtype=float)
            mean = cut_to_range(t_interval(means, unit=UNIT).of("mean of names"), design.scale)
            found.add("groups", "mean", mean, **keys)


def _of_cell(rows: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    """The rows of a gender, race and income of the city, "" standing for all."""
    for column, value in zip(CELL, cell, strict=True):
        rows = rows[rows[column] == value] if value else rows
    return rows


def _bounds(
    answers: pd.DataFrame, contrast: Contrast, design: Design
) -> Iterator[tuple[str, Estimate]]:
    """The difference with every unread answer at the end of the scale that makes it least, or most.

    Nothing where no answer of any model is unread.
    """
    is_unread = answers["status"].isin(UNREAD) & answers["score"].isna()
    if not is_unread.any():
        return
    there = answers["score"].notna() | is_unread
    model = contrast.keys["respondent"]
    mine = answers[there & (answers["target"] == model)]
    cells = list(mine[list(CELL)].itertuples(index=False, name=None))
    weights = np.array([
        sum(contrast.arms.get(arm_of(model, (gender, race, where)), 0) for where in ("", city))
        for gender, race, city in cells
    ])  # fmt: skip
    for end, (up, down) in (("least", design.scale), ("most", design.scale[::-1])):
        scores = mine["score"].where(mine["score"].notna(), np.where(weights > 0, up, down))
        names = long_table(mine.assign(score=scores))
        names = names[names["arm"].isin(contrast.arms.keys())]
        means = names.groupby("arm")["score"].mean()
        value = sum(weight * means.get(arm, np.nan) for arm, weight in contrast.arms.items())
        yield end, Estimate(
            float(value), n=names["unit"].nunique(), unit=UNIT,
            method="bound over answers without a value",
            reason=None if value == value else "a group has no answer",
        )  # fmt: skip


def _average(found: Estimates, design: Design, n_models: int, detail: str) -> None:
    frame = found.frame()
    cells = frame[(frame["table"] == "groups") & (frame["factor"] == "gender x race x city")]
    cells = cells[cells["measure"].isin(design.categories) & cells["value"].notna()]
    for (group, measure), values in cells.groupby(["group", "measure"], sort=False)["value"]:
        if len(values) == n_models:
            mean = Estimate(float(values.mean()), n=n_models, unit="model", method="mean of shares")
            found.add("average", str(measure), mean, group=str(group), detail=detail)


__all__ = [
    "CITIES", "COLUMNS", "UNIT", "Design", "contrasts_of", "estimate_groups", "group_name",
    "long_table", "people_labels",
]  # fmt: skip
