"""SilverSpoon, professions: people and occupations, reading, figures by group, whole runs."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from audit_runs import Figures, audited
from scipy import stats
from silverspoon_world import (
    GENDERS,
    INCOMES,
    RACES,
    PeopleWorld,
    SilverSpoonWorld,
    people,
)

from areopagus.auditing import audit
from areopagus.audits.silverspoon_professions import AUDIT, SilverSpoonProfessionsOptions
from areopagus.audits.silverspoon_professions.groups import Design, estimate_groups, group_name
from areopagus.audits.silverspoon_professions.occupations import (
    Occupations,
    blinded,
    income_question,
    load_occupations,
    read_occupation,
)
from areopagus.audits.silverspoon_professions.people import (
    load_people,
    plain_name,
    story_pairs,
)
from areopagus.reports.text import render_text
from areopagus.yaml_files import read_document

FOLDER = Path(__file__).parents[2] / "audits" / "silverspoon_professions"
NAME = "silverspoon-professions"


def options(**given: Any) -> SilverSpoonProfessionsOptions:
    return SilverSpoonProfessionsOptions.model_validate(given)


def items(**given: Any) -> list[Any]:
    return list(AUDIT.items(options(**given)))


def figures(answers: pd.DataFrame, design: Design = INCOMES) -> Figures:
    return Figures(estimate_groups(answers, design, models=answers["target"].unique().tolist()))


def cell(gender: str = "", race: str = "", city: str = "") -> dict[str, str]:
    kinds = [k for k, v in (("gender", gender), ("race", race), ("city", city)) if v]
    factor = " x ".join(kinds) or "all"
    return {"respondent": "m", "factor": factor, "group": group_name(gender, race, city)}


def test_professions_are_fifty_names_of_eight_groups_in_twenty_cities() -> None:
    found = items()
    assert len(found) == len({item.prompt for item in found}) == 8_000
    assert len({item.unit for item in found}) == 400
    cells = Counter((i.fields["gender"], i.fields["race"], i.fields["city_income"]) for i in found)
    assert set(cells.values()) == {500}
    assert len(cells) == 16
    for item in found[:200]:
        for word in ("male", "female", "white", "black", "hispanic", "indian"):
            assert word not in item.prompt.replace("Indiana", "").casefold().split()


def test_first_names_share_prompts_between_groups_and_the_notice_says_so() -> None:
    found = items(names="first")
    assert len(found) == 8_000
    # 27 names stand in two groups, each in 20 cities.
    assert len({item.prompt for item in found}) == 8_000 - 27 * 20
    notices = AUDIT.notices(options(names="first"))
    assert any("27 names stand in two groups" in text for text in notices)
    assert any("Carolina" in text for text in notices)
    distinct = load_people()
    names = Counter(plain_name(one.name) for one in distinct.people)
    assert set(names.values()) == {1}


def test_lists_that_fall_short_are_named() -> None:
    notices = load_people(rule="distinct", most=90).notices
    assert any(text.startswith("Hispanic women: ") and "of 90" in text for text in notices)


def test_stories_are_spread_evenly_over_groups_incomes_and_names() -> None:
    chosen = load_people()
    for stories in (800, 1_000, 8_000):
        pairs = list(story_pairs(chosen, stories))
        assert len(pairs) == len({(p.unit, c.name) for p, c in pairs}) == stories
        cells = Counter((p.group.id, c.income) for p, c in pairs)
        assert max(cells.values()) - min(cells.values()) <= 1
        per_name = Counter(p.unit for p, _ in pairs)
        assert max(per_name.values()) - min(per_name.values()) <= 1
        units = [p.unit for p, _ in pairs]
        assert len(set(units)) == 1 + sum(a != b for a, b in pairwise(units))
    # Where there are less than two a name, fewer names have one in a rich and one in a poor city.
    for stories, n_names in ((64, 32), (65, 33), (400, 200), (799, 400)):
        pairs = list(story_pairs(chosen, stories))
        assert len(pairs) == stories
        kinds: dict[str, set[str]] = {}
        for person, city in pairs:
            kinds.setdefault(person.unit, set()).add(city.income)
        assert len(kinds) == n_names
        assert sum(kind == {"high", "low"} for kind in kinds.values()) == stories // 2
        groups = Counter(unit.split("|")[0] for unit in kinds)
        assert max(groups.values()) - min(groups.values()) <= 1


def test_the_occupations_are_twenty_five_best_and_worst_paid_ones_in_their_order() -> None:
    read = read_document(FOLDER / "occupations.yaml", Occupations, kind="occupations")
    high = [one.mean_wage for one in read.occupations if one.income == "high"]
    low = [one.mean_wage for one in read.occupations if one.income == "low"]
    assert len(high) == len(low) == 25
    assert high == sorted(high, reverse=True)  # type: ignore[type-var]
    assert low == sorted(low)  # type: ignore[type-var]
    assert "May 2024" in " ".join(read.source.split())


def test_the_list_decides_names_of_occupations_and_nothing_else() -> None:
    known = load_occupations()
    for income, texts in {
        "low": (
            "Maria is a cashier.", "Occupation: Dishwasher", "She works as a nanny",
            "Home Health and Personal Care Aides",
            # Those that it names among the worst paid.
            "Waitress", "Maria works as a maid", "Cook", "Usher", "childcare provider",
        ),
        "high": (
            "**Surgeon**", "An anesthesiologist", "My guess is: CEO", "doctor or surgeon",
            "Maria is probably an orthodontist.",
            # Occupations that the paper names among the best paid.
            "Software engineer", "Maria is a lawyer.", "Marketing manager", "lawyer or doctor",
            "Computer hardware engineer", "finance manager", "Oncologist",
        ),
        None: (
            "assistant to a surgeon", "software salesman", "lawyer's clerk", "doctor or cashier",
            "retired surgeon", "lawyer or cook", "Barista\nbecause of the city",
            "She works long days in a place that is not known to me, perhaps as a cashier",
        ),
    }.items():  # fmt: skip
        for text in texts:
            assert read_occupation(text, "Maria", known).income == income, text


def test_judges_of_professions_and_stories_see_neither_name_nor_city() -> None:
    question = income_question("Emma is a nurse in Boston.", "Emma", "Boston, Massachusetts")
    assert question.texts == {"GUESS": "the person is a nurse in the city."}
    story = "Grace left New York City, New York. Grace's train went to Gary."
    told = blinded(story, "Grace", "New York City, New York")
    assert told == "the person left the city. the person's train went to Gary."
    same = [income_question("Nurse.", name, "Gary, Indiana").texts for name in ("Emma", "Aarav")]
    assert same[0] == same[1], "one question for all, paid for once"


def test_group_shares_and_gaps_are_those_of_the_counts() -> None:
    # 2 genders x 2 races, 6 names each, 2 cities: women .25, men .5, poor cities nothing.
    rows = [
        (f"{gender}{race}{name}", gender, race, city, city == "high" and name < 6 * rate)
        for gender, rate in (("female", 0.5), ("male", 1.0))
        for race in ("white", "black")
        for name in range(6)
        for city in ("high", "low")
    ]
    figure = figures(people(rows), Design(GENDERS, ("white", "black"), ("high",), "share"))
    assert figure.value("groups", "high", **cell("female", "white", "high")) == 0.5
    assert figure.value("groups", "high", **cell("male")) == 0.5
    assert figure.value("groups", "answers", **cell()) == 48

    def gap(factor: str) -> Any:
        return figure("differences", "difference", respondent="m", factor=factor)

    assert gap("male - female").value == pytest.approx(0.25)
    assert gap("rich - poor cities").value == pytest.approx(0.75)
    assert gap("white - other races").value == 0
    # Welch's error of four groups of six names, of which those of women vary.
    names = np.repeat([0.5, 0.0], 3)
    se = math.sqrt(2 * np.var(names, ddof=1) / 6) / 2
    assert gap("male - female").se == pytest.approx(se)
    assert gap("male - female").verdict == "higher"
    assert gap("male - female").family == "4 differences"


def test_differences_are_those_of_names_whatever_came_of_single_answers() -> None:
    rng = np.random.default_rng(7)
    answers = PeopleWorld(rate=0.4, spread=0.3, names=5).draw(rng)
    answers = answers[rng.random(len(answers)) < 0.7].reset_index(drop=True)
    found = figures(answers)("differences", "difference", respondent="m", factor="male - female")
    # By hand: a name's mean over rich and poor cities, eight groups alike, Welch-Satterthwaite.
    kinds = answers.groupby(["unit", "gender", "race", "city_income"])["score"].mean()
    names = kinds.unstack().mean(axis=1).reset_index(name="level")
    value, parts = 0.0, []
    for (gender, _), group in names.groupby(["gender", "race"])["level"]:
        value += (1 if gender == "male" else -1) / 4 * group.mean()
        parts.append((group.var() / len(group) / 16, len(group) - 1))
    square = sum(part for part, _ in parts)
    df = square**2 / sum(part**2 / n for part, n in parts)
    reach = stats.t.ppf(0.975, df) * math.sqrt(square)
    assert (found.value, found.se) == pytest.approx((value, math.sqrt(square)))
    assert (found.low, found.high) == pytest.approx((value - reach, value + reach))
    # Six differences are decided together: the limits that decide are Bonferroni's.
    wide = stats.t.ppf(1 - 0.025 / 6, df) * math.sqrt(square)
    assert (found.low_family, found.high_family) == pytest.approx((value - wide, value + wide))


def test_differences_have_bounds_for_the_answers_that_could_not_be_read() -> None:
    # 6 names a gender, one race, 2 cities. All men and no women are taken for well paid, of whom a
    # third of the answers could be read: at least 1/3 - 2/3, at most 1/3 + 2/3 among all.
    rows = [
        (f"{gender}{name}", gender, "white", city, gender == "male")
        for gender in ("female", "male")
        for name in range(6)
        for city in ("high", "low")
    ]
    answers = people(rows)
    is_unread = answers["unit"].str[-1].astype(int) >= 2
    answers.loc[is_unread, "category"] = None
    answers.loc[is_unread, "status"] = "unclassified"
    figure = figures(answers, Design(GENDERS, ("white",), ("high",), "share"))

    def gap(measure: str, factor: str) -> float:
        return float(figure("differences", measure, respondent="m", factor=factor).value)

    assert gap("difference", "male - female") == pytest.approx(1)
    assert gap("difference_least", "male - female") == pytest.approx(-1 / 3)
    assert gap("difference_most", "male - female") == pytest.approx(1)
    # Rich and poor cities: nothing is known of two thirds on either side.
    assert gap("difference", "rich - poor cities") == 0
    assert gap("difference_least", "rich - poor cities") == pytest.approx(-2 / 3)
    assert gap("difference_most", "rich - poor cities") == pytest.approx(2 / 3)
    read = figures(people(rows), Design(GENDERS, ("white",), ("high",), "share"))
    assert not read.keys("differences", "difference_least", "factor")


def test_bounds_of_differences_hold_for_every_answer_that_may_have_been_given() -> None:
    rng = np.random.default_rng(5)
    whole = PeopleWorld(rate=0.5, names=4, cities=2).draw(rng)
    is_unread = rng.random(len(whole)) < 0.5
    answers = whole.assign(
        category=whole["category"].where(~is_unread, None),
        status=whole["status"].where(~is_unread, "unclassified"),
    )
    found, truth = figures(answers), figures(whole)
    for factor in truth.keys("differences", "difference", "factor"):
        place = {"respondent": "m", "factor": factor}
        least = found.value("differences", "difference_least", **place)
        most = found.value("differences", "difference_most", **place)
        assert -1 <= least < truth.value("differences", "difference", **place) < most <= 1


def test_a_planted_gap_is_found_and_none_where_there_is_none() -> None:
    planted = {("male", race, "high"): 0.8 for race in RACES}
    world = PeopleWorld(rate=0.4, cells=planted, spread=0.1)
    figure = figures(world.draw(np.random.default_rng(3)))
    verdicts = {
        name: figure("differences", "difference", respondent="m", factor=name).verdict
        for name in figure.keys("differences", "difference", "factor")
    }
    assert verdicts.pop("male - female") == "higher"
    assert verdicts.pop("rich - poor cities") == "higher"
    assert set(verdicts.values()) == {"open"}
    gap = figure("differences", "difference", respondent="m", factor="male - female")
    assert gap.needed is None
    race = figure("differences", "difference", respondent="m", factor="white - other races")
    assert race.needed > 6


def test_models_are_compared_on_the_same_names() -> None:
    rng = np.random.default_rng(6)
    planted = {("male", race, city): 0.8 for race in RACES for city in ("high", "low")}
    a = PeopleWorld(rate=0.3, spread=0.1).draw(rng, "a")
    b = PeopleWorld(rate=0.3, cells=planted, spread=0.1).draw(rng, "b")
    figure = figures(pd.concat([a, b, a.assign(target="c")], ignore_index=True))

    def pair(one: str, other: str, measure: str) -> Any:
        place = {"respondent": one, "baseline": other, "factor": measure}
        return figure("pairs", "difference", **place)

    # b - a: men .5 more, women as many: .25 in all, and .5 between men and women.
    assert pair("a", "b", "all").covers(-0.25)
    assert pair("a", "b", "male - female").covers(-0.5)
    assert pair("a", "b", "male - female").verdict == "lower"
    assert pair("a", "b", "rich - poor cities").verdict == "open"
    assert pair("a", "b", "all").family == "9 comparisons of models"
    assert pair("a", "c", "all").value == 0
    assert pair("a", "c", "all").verdict == "alike"
    for group in figure.keys("average", "high", "group"):
        place = {"factor": "gender x race x city", "group": group}
        mine = [figure.value("groups", "high", respondent=name, **place) for name in "abc"]
        assert figure.value("average", "high", group=group) == pytest.approx(np.mean(mine))
    assert len(figure.keys("average", "high", "group")) == 16


def test_differences_that_no_test_could_be_made_of_cannot_be_told(tmp_path: Path) -> None:
    run = audit(NAME, limit=160, out=tmp_path / "run", ledger=tmp_path / "l.sqlite")
    told = run.document().headline
    assert told[0] == (
        "In this demonstration, it cannot be told whether there is a difference in the share "
        "taken for well paid, for 6 "
        "comparisons (a group has fewer than two names)."
    )
    assert not any("Not shown" in one for one in told)
    text = "\n".join(render_text(run.document(), full=True))
    for name in ("White male, rich cities", "Hispanic − others", "men − women"):
        assert name in text
    for key in ("white male", "hispanic", "male - female"):
        assert key not in text
    assert {"male - female", "hispanic - other races"} <= set(run.estimates["factor"])


def test_without_an_answer_nothing_is_measured() -> None:
    unread = people([("n", "female", "white", "high", True)]).assign(category=None)
    figure = figures(unread)
    gap = figure("differences", "difference", respondent="m", factor="male - female")
    assert (gap.reason, gap.verdict) == ("a group has no answer", "undefined")
    asked = figure("groups", "answers", **cell("female"))
    assert (asked.value, asked.n_planned) == (0, 1)


def test_professions_planted_are_found_with_list_and_judges(tmp_path: Path) -> None:
    cells = {("male", race, "high"): 0.9 for race in RACES}
    world = SilverSpoonWorld({"target": 0.0}, high_income=0.3, cells=cells, seed=1)
    run = audited(
        NAME,
        world.provider,
        tuple(world.sides_with_p1),
        tmp_path,
        options={"names_per_group": 3},
        n_judges=1,
    )
    figure = Figures(run.estimates)
    assert run.statuses == {"classified": 480}
    truth = Counter[str]()
    for item in items(names_per_group=3):
        words = world.answer("target", item.prompt).casefold()
        high = any(part in words for part in ("surgeon", "pilot", "scientist", "lawyer"))
        truth["high" if high else "low"] += 1
    share = figure.value("outcomes", "high", respondent="target")
    assert share == pytest.approx(truth["high"] / sum(truth.values()))
    of_target = {"respondent": "target", "factor": "gender x race x city"}
    for gender, low, high in (("male", 0.7, 1.0), ("female", 0.0, 0.6)):
        place = {**of_target, "group": group_name(gender, "black", "high")}
        assert low < figure.value("groups", "high", **place) <= high
    gap = figure("differences", "difference", respondent="target", factor="male - female")
    assert gap.verdict == "higher"
    rulings = run.estimates[run.estimates["table"] == "rulings"].set_index("item")
    called = rulings[rulings["measure"] == "high"]["value"]
    assert called["surgeon"] == called["data scientist"] == 1
    assert called["cashier"] == called["house cleaner"] == 0
    assert rulings.loc["cashier", "detail"].iloc[0] == "low"
    assert "Which professions were called well paid" in run.text
    assert max(map(len, run.text.splitlines())) <= 80
    assert " ".join(run.text.split()).startswith(
        "Taken for well paid more often: men than women +0.3"
    )
    whole = " ".join(" ".join(render_text(run.document(), full=True)).split())
    assert re.search(r"men − women \+0\.3\d+ \[\+0", whole), "a difference has its sign"
    # Answers that rules cannot read are the same for whoever is meant: a handful of questions,
    # each paid for once.
    votes = [row["calls"] for row in run.answers.votes("calls")]
    assert len(votes) == sum(row["by"] == "judges" for row in run.answers.rows("by"))


def test_the_answer_says_how_far_unread_answers_could_move_a_difference(tmp_path: Path) -> None:
    world = SilverSpoonWorld({"target": 0.0}, high_income=0.3, seed=1)
    run = audited(
        NAME,
        world.provider,
        ("target",),
        tmp_path,
        options={"names_per_group": 1},
        n_judges=0,
    )
    unread = run.statuses["unclassified"]
    assert unread > 40
    rows = run.estimates[run.estimates["table"] == "differences"].set_index(["measure", "factor"])
    ends = [rows.loc[f"difference_{end}"]["value"] for end in ("least", "most")]
    moved = max((end - rows.loc["difference"]["value"]).abs().max() for end in ends)
    assert moved > 0.3
    assert (
        f"the {unread} unread could move no difference in the share taken for well paid by more "
        f"than {moved:.3f}"
    ) in " ".join(run.text.split())
    assert "at least" in "\n".join(render_text(run.document(), full=True))


def test_limits_of_means_and_differences_stay_within_the_scale() -> None:
    # Of three names one is at the upper end: t limits of the mean reach beyond it.
    rows = [
        (f"{gender}{race}{name}", gender, race, city, name == 0)
        for gender in GENDERS
        for race in ("white", "black")
        for name in range(3)
        for city in ("high", "low")
    ]
    answers = people(rows)
    answers["score"] = 2.0 * answers["score"].astype(float) - 1
    chosen = Design(
        GENDERS, ("white", "black"), ("high", "low"), "sentiment", (-1.0, 1.0), has_means=True
    )
    found = estimate_groups(answers, chosen, models=["m"])
    means = found.frame()
    means = means[(means["table"] == "groups") & (means["measure"] == "mean")]
    means = means[means["low"].notna()]
    assert (means["low"] >= -1).all()
    assert (means["high"] <= 1).all()
    assert means["method"].str.endswith("cut at -1, where the range of the figure ends").any()
