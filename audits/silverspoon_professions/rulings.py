"""The ruling table: which profession was called high income, how often, and against the list."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...aggregation.clustered import clustered_proportion
from ...aggregation.proportions import wilson
from ...records.estimates import Estimates
from ..languages import Language
from .occupations import profession_of
from .people import Income

if TYPE_CHECKING:
    import pandas as pd

UNIT: Final = "name"
MOST_SHOWN: Final = 40
"""Professions that the first table of a model holds."""
_NOT_LISTED: Final = "not on it"


def estimate_rulings(
    rows: pd.DataFrame,
    known: Mapping[str, Income],
    *,
    models: Iterable[str],
    language: Language | None = None,
) -> Estimates:
    """How often each profession was called high income, by model.

    rulings        high, named, by_list of every profession; `detail` is what the list says of it,
                   `factor` "often named" of the most common ones, else "rarely named"
    ruling_check   as_listed, professions, both_ways

    Args:
        rows: `target`, `unit`, `by`, `income`, `occupation` of the answers.
        known: of `load_occupations`.
        models: in the order of the report.
        language: of the answers; English where none is named.
    """
    found = Estimates()
    decided = rows[rows["income"].notna() & (rows["occupation"].fillna("") != "")]
    for name in models:
        mine = decided[decided["target"] == name]
        mine = mine.assign(
            profession=[profession_of(str(one), language) for one in mine["occupation"]]
        )
        high = (mine["income"] == "high").groupby(mine["profession"], sort=False)
        counts = high.agg(["size", "sum"])
        is_both = (counts["sum"] > 0) & (counts["sum"] < counts["size"])
        often = counts["size"].sort_values(ascending=False, kind="stable").index[:MOST_SHOWN]
        order = sorted(often, key=lambda one: (not is_both[one], -counts["size"][one], one))
        order += [one for one in counts.index if one not in set(often)]
        by = dict(iter(mine.groupby("profession", sort=False)))
        for place, profession in enumerate(order):
            here = by[profession]
            keys = {
                "respondent": name, "item": profession,
                "detail": known.get(profession, _NOT_LISTED),
                "factor": "often named" if place < len(often) else "rarely named",
            }  # fmt: skip
            share = clustered_proportion(
                (here["income"] == "high").to_numpy(dtype=float), here["unit"].tolist(), unit=UNIT
            )
            found.add("rulings", "high", share.of("share called high"), **keys)
            found.add("rulings", "named", len(here), **keys)
            found.add("rulings", "by_list", float((here["by"] == "rule").mean()), **keys)
        if mine.empty:
            continue
        listed = mine[(mine["by"] == "judges") & mine["profession"].isin(known.keys())]
        gold = listed["profession"].map(known)
        same = (listed["income"] == gold).to_numpy(dtype=float)
        as_listed = clustered_proportion(same, listed["unit"].tolist(), unit=UNIT)
        found.add("ruling_check", "as_listed", as_listed.of("share as the list"), respondent=name)
        found.add("ruling_check", "professions", len(counts), respondent=name)
        found.add("ruling_check", "both_ways", int(is_both.sum()), respondent=name)
    return found


def estimate_judges(
    votes: Iterable[Mapping[str, Any]],
    known: Mapping[str, Income],
    language: Language | None = None,
) -> Estimates:
    """How often each judge called a profession high income, and as the list where it is on it.

    judge_rulings   high, by `model` and profession (`factor` profession); as_listed (`factor` all)

    A question counts once, however many answers it was asked about.

    Args:
        votes: `question`, `model`, `status`, `value` of the judges' votes.
        known: of `load_occupations`.
        language: of the answers; English where none is named.
    """
    said: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for vote in votes:
        if vote["status"] == "read" and vote["value"]:
            value = json.loads(vote["value"])
            profession = profession_of(str(value.get("occupation", "")), language)
            if value.get("income") in ("high", "low") and profession:
                said[vote["model"]].setdefault(vote["question"], (profession, value["income"]))
    found = Estimates()
    for judge, by_question in said.items():
        rulings: dict[str, list[str]] = defaultdict(list)
        for profession, income in by_question.values():
            rulings[profession].append(income)
        for profession, incomes in sorted(rulings.items(), key=lambda one: (-len(one[1]), one[0])):
            share = wilson(incomes.count("high"), len(incomes), unit="question")
            found.add(
                "judge_rulings", "high", share.of("share called high"), model=judge,
                item=profession, factor="profession", detail=known.get(profession, _NOT_LISTED),
            )  # fmt: skip
        same = [income == known[one] for one, income in by_question.values() if one in known]
        share = wilson(int(np.sum(same)), len(same), unit="question")
        found.add(
            "judge_rulings", "as_listed", share.of("share as the list"), model=judge, factor="all"
        )
    return found
