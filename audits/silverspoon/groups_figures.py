"""Figures by gender, race and income of the city, shared by professions and narratives."""

from __future__ import annotations

from dataclasses import dataclass

from ...aggregation.estimate import Estimate


@dataclass(frozen=True, slots=True)
class CellFigures:
    """One gender and race in cities of one income; "" stands for all.

    Attributes:
        gender, race, city: of the cell.
        n_planned: askings.
        n_answers: answers with a value.
        shares: category to its share, with the name as the unit.
        mean: mean score, with the name as the unit; undefined where there are no scores.
    """

    gender: str
    race: str
    city: str
    n_planned: int
    n_answers: int
    shares: dict[str, Estimate]
    mean: Estimate


@dataclass(frozen=True, slots=True)
class Effect:
    """A test over names.

    Attributes:
        name: gender, race, city, and their interactions.
        p: Welch and James's test, for effects of race with names permuted between races within
            genders; `p_holm` over the effects of this model.
        statistic, df, df_rest: F and its degrees of freedom; nan where undefined.
    """

    name: str
    p: Estimate
    p_holm: Estimate
    statistic: float
    df: int
    df_rest: float


@dataclass(frozen=True, slots=True)
class Gap:
    """A difference of two means over names, with its interval.

    Attributes:
        name: what is compared: "male - female", "rich - poor cities", "indian - other races".
        within: in which part: "" for all, a race, a gender.
        gap: the difference, every group weighing alike.
    """

    name: str
    within: str
    gap: Estimate


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """One model's figures by group.

    Attributes:
        outcome: what the tests are about: "share of high income", "mean sentiment".
        cells: gender x race x city, then gender x race, then gender, race, city, then all.
        effects: tests over names; fewer where the design does not allow them.
        gaps: differences with intervals.
    """

    outcome: str
    cells: tuple[CellFigures, ...]
    effects: tuple[Effect, ...]
    gaps: tuple[Gap, ...]
