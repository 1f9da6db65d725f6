"""What an audit decides: by limits of the family, never against the interval that it shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hidden_bias_world import HiddenBiasWorld
from scipy import stats
from silverspoon_world import INCOMES, PeopleWorld
from socioeval_world import SocioEvalWorld, prompts_of

from areopagus.aggregation.clustered import clustered_proportion
from areopagus.aggregation.estimate import Estimate
from areopagus.audits.decisions import decided_by_intervals, is_shown
from areopagus.audits.estimate import estimate
from areopagus.audits.headline import AuditView, headline
from areopagus.audits.hidden_bias import AUDIT as HIDDEN_BIAS
from areopagus.audits.hidden_bias.audit import HiddenBiasOptions, dataset_of
from areopagus.audits.hidden_bias.estimates import estimate as hidden_bias_estimate
from areopagus.audits.silverspoon_professions import AUDIT as PROFESSIONS
from areopagus.audits.silverspoon_professions.groups import estimate_groups
from areopagus.audits.socioeval import AUDIT as SOCIOEVAL
from areopagus.audits.socioeval import SocioEvalOptions
from areopagus.records.estimates import Estimates, estimate_of, select


def share(value: float, n: int = 40, deviation: float = 0.5) -> Any:
    """A level to a figure with its t interval over n units."""

    def at(level: float) -> Estimate:
        se = deviation / math.sqrt(n)
        reach = stats.t.ppf((1 + level) / 2, n - 1) * se
        return Estimate(value, value - reach, value + reach, n, "template", "t", se=se)

    return at


def test_the_limits_of_a_family_decide_and_the_interval_of_one_does_not() -> None:
    # 40 units of deviation .5: se .0791, t(39) 2.0227 x .0791 = .160 alone, and of three at
    # 1 - .05/3 2.4996 x .0791 = .198.
    found = decided_by_intervals(
        [share(0.75), share(0.68), share(0.25)], family="preferences", nulls=[0.5] * 3
    )
    assert [one.verdict for one in found] == ["higher", "open", "lower"]
    assert found[1].low == pytest.approx(0.68 - 0.160, abs=5e-4)
    assert found[1].low_family == pytest.approx(0.68 - 0.198, abs=5e-4)
    assert {one.family for one in found} == {"3 preferences"}
    (alone,) = decided_by_intervals([share(0.68)], family="preferences", nulls=[0.5])
    assert (alone.verdict, alone.family) == ("higher", "one comparison")
    assert (alone.low_family, alone.high_family) == (alone.low, alone.high)
    assert (alone.p < 0.05) == (alone.low > 0.5)


def test_an_open_one_says_how_many_units_would_show_what_it_is_worth() -> None:
    (one,) = decided_by_intervals([share(0.55)], family="f", nulls=[0.5], worth=0.1)
    # (2.8 x .5 / .1)^2 = 196, and a few more for t.
    assert one.needed is not None
    assert 196 < one.needed < 202
    (few,) = decided_by_intervals([lambda _: Estimate(0.9, n=5)], family="f", nulls=[0.5])
    assert (few.verdict, few.needed) == ("undefined", None)


def hidden_bias_headline(**outcomes: Sequence[Estimate]) -> str:
    """The headline of runs with these outcomes, one an estimate a model."""
    found, n = Estimates(), max(map(len, outcomes.values()))
    for measure, figures in outcomes.items():
        for name, one in zip("abc", figures, strict=False):
            found.add("outcomes", measure, one, respondent=name)
    definition = HIDDEN_BIAS.defined(HiddenBiasOptions(arms="both"))
    return " ".join(headline(AuditView(definition, {"targets": "abc"[:n]}, found.frame())))


def test_a_sentence_says_what_the_verdict_says() -> None:
    outcome = {"n": 20, "unit": "concept pair"}
    one = Estimate(
        26.5, 1, 58.5, verdict="open", low_family=-3, high_family=62, needed=47, **outcome
    )
    text = hidden_bias_headline(gap=[one])
    assert "a is not shown to go by a hint of who somebody is" in text
    assert "26.5 [−3.0, 62.0]" in text
    assert text.endswith("about 47 concept pairs would show a preference of 10.")
    text = hidden_bias_headline(gap=[replace(one, low_family=0.4, verdict="higher")])
    assert "a goes by a hint of who somebody is" in text
    assert "26.5 [0.4, 62.0]" in text


def test_of_a_share_that_may_be_anything_the_headline_says_that_nothing_is_known() -> None:
    def told_of(*shares: Estimate) -> str:
        found = Estimates()
        for name, one in zip("ab", shares, strict=False):
            found.add("outcomes", "high", one, respondent=name)
        view = AuditView(PROFESSIONS.definition, {"targets": "ab"[: len(shares)]}, found.frame())
        return " ".join(headline(view))

    anything = Estimate(0.25, 0.0003, 0.9998, 8, "name", "clustered wilson")
    something = replace(anything, low=0.02)
    told = "the data tell nothing of it yet"
    text = told_of(anything)
    assert "a 0.250 [0.000, 1.000]" in text
    assert f"; the interval covers every value that it can have: {told}" in text
    assert told not in told_of(something)
    text = told_of(anything, something)
    assert f"the interval of a covers every value that it can have: {told}" in text


def test_p_of_a_share_is_below_05_where_its_interval_leaves_the_value_out_and_only_there() -> None:
    rng = np.random.default_rng(1)
    n_off = 0
    for _ in range(300):
        clusters = rng.integers(0, 12, 60).tolist()
        values = rng.random(60) < rng.uniform(0.2, 0.9)
        found = clustered_proportion(values.astype(float), clusters, null=0.5)
        assert (found.p < 0.05) == (not found.covers(0.5))
        n_off += found.p < 0.05
    assert 50 < n_off < 250
    # 9 of 12 single answers: var = p q / (n - 1), so n_eff = 11, and
    # t = (.75 - .5) / sqrt(.25 / 11) with 11 degrees of freedom.
    alone = clustered_proportion([1.0] * 9 + [0.0] * 3, range(12), null=0.5)
    assert alone.p == pytest.approx(2 * stats.t.sf(0.25 / math.sqrt(0.25 / 11), 11))


def shown(found: pd.DataFrame, table: str, measure: str) -> list[Estimate]:
    rows = select(found, table)
    rows = rows[(rows["measure"] == measure) & rows["respondent"].notna()]
    return [one for one in map(estimate_of, rows.to_dict("records")) if is_shown(one)]


def test_of_several_models_without_a_preference_hardly_any_world_shows_one() -> None:
    # Template rates differ (ICC .2). Below: uncorrected, any of three models is off in more worlds.
    whole = SOCIOEVAL.defined(SocioEvalOptions.model_validate({}))
    definition = whole.model_copy(update={"by": (), "changes": {}, "shares": {}})
    prompts, names = prompts_of(), ["a", "b", "c"]
    worlds, any_shown, any_interval = 60, 0, 0
    for seed in range(worlds):
        world = SocioEvalWorld(dict.fromkeys(names, 0.4), template_spread=0.2)
        answers = world.answers(prompts, np.random.default_rng(seed))
        found = estimate(definition, answers, names).frame()
        any_shown += bool(shown(found, "outcomes", "favours_higher"))
        rows = select(found, "outcomes")
        rows = rows[rows["measure"] == "favours_higher"]
        any_interval += any(not estimate_of(row).covers(0.5) for row in rows.to_dict("records"))
        assert set(rows["family"]) == {"3 preferences"}
    assert any_shown <= 8, "of 60 worlds 3 are expected; more than 8 in one of 200 such tests"
    assert any_interval > any_shown

    biased = SocioEvalWorld(dict.fromkeys(names, 0.4), favours_higher=0.75, template_spread=0.2)
    found = estimate(definition, biased.answers(prompts, np.random.default_rng(1)), names).frame()
    assert len(shown(found, "outcomes", "favours_higher")) == 3


@pytest.mark.long
def test_professions_without_a_difference_are_quiet_and_a_planted_one_is_named() -> None:
    def main(seed: int, **cells: Any) -> pd.DataFrame:
        world = PeopleWorld(rate=0.4, spread=0.1, **cells)
        rng = np.random.default_rng(seed)
        rows = pd.concat([world.draw(rng, "a"), world.draw(rng, "b")], ignore_index=True)
        return estimate_groups(rows, INCOMES, models=["a", "b"]).frame()

    any_shown = any_interval = 0
    for seed in range(40):
        found = main(seed)
        rows = select(found, "differences").to_dict("records")
        assert len(rows) == 12, "gender, city and four races of two models"
        assert {row["family"] for row in rows} == {"12 differences"}
        any_shown += bool(shown(found, "differences", "difference"))
        any_interval += any(not estimate_of(row).covers(0) for row in rows)
    assert any_shown <= 6, "of 40 worlds 2 are expected; more than 6 in one of 200 such tests"
    assert any_interval > 3 * any_shown
    planted = {("male", race, city): 0.75 for race in ("white", "black", "hispanic", "indian")
               for city in ("high", "low")}  # fmt: skip
    rows = select(main(1, cells=planted), "differences")
    named = {row["factor"] for row in rows.to_dict("records") if is_shown(estimate_of(row))}
    assert "male - female" in named


def test_answers_that_are_copies_claim_nothing() -> None:
    dataset = dataset_of(HiddenBiasOptions(category=("age",)))
    drawn = HiddenBiasWorld(gap=0.4, spread=0.1).drawn(
        20, dataset.categories, answers=10, rng=np.random.default_rng(3)
    )

    def gap_of(one: Any) -> Estimate:
        found = hidden_bias_estimate(one, None, dataset, threshold=20.0).frame()
        rows = select(found, "outcomes", respondent="target")
        return estimate_of(rows[rows["measure"] == "gap"].to_dict("records")[0])

    assert gap_of(drawn).verdict == "higher"
    # The same shares, drawn once a prompt and repeated: at temperature 0.
    copied = replace(drawn, one=np.where(2 * drawn.one > drawn.chosen, drawn.chosen, 0))
    found = gap_of(copied)
    assert math.isnan(found.p)
    assert found.verdict == "undefined"
    rows = select(hidden_bias_estimate(copied, None, dataset, threshold=20.0).frame(), "outcomes")
    chance = rows[rows["measure"] == "chance_share"].to_dict("records")[0]
    assert "answered alike each time" in chance["reason"]
