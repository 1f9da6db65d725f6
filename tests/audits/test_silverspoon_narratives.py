"""SilverSpoon, narratives: sentiment by library and judges, words of groups, whole runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_runs import Figures, audited
from silverspoon_world import (
    GENDERS,
    RACES,
    PeopleWorld,
    SilverSpoonWorld,
)

from areopagus import InputError
from areopagus.auditing import audit
from areopagus.audits.silverspoon_narratives import AUDIT, SilverSpoonNarrativesOptions
from areopagus.audits.silverspoon_narratives.sentiment import sentiment_of
from areopagus.audits.silverspoon_narratives.words import estimate_words, words_of

NAME = "silverspoon-narratives"

needs_vader = pytest.mark.skipif(
    importlib.util.find_spec("vaderSentiment") is None, reason="vaderSentiment is not installed"
)


def items(**given: Any) -> list[Any]:
    return list(AUDIT.items(SilverSpoonNarrativesOptions.model_validate(given)))


def test_distinctive_words_count_once_a_name_and_the_planted_one_comes_first() -> None:
    rng = np.random.default_rng(0)
    vocabulary = PeopleWorld(names=10).vocabulary(rng, words=60, marked=0.9)
    figure = Figures(estimate_words("m", vocabulary, GENDERS, RACES))
    black = {"respondent": "m", "factor": "race", "group": "black"}
    rows = figure.frame[(figure.frame["table"] == "words") & (figure.frame["group"] == "black")]
    assert rows["item"].iloc[0] == "market"
    market = figure("words", "log_odds", item="market", **black)
    assert market.verdict == "higher"
    assert market.low_family > 0
    rest = rows[(rows["measure"] == "log_odds") & (rows["item"] != "market")]
    assert set(rest["verdict"]) == {"open"}
    assert (rest["low_family"] < 0).all()
    used = figure.value("words", "names_here", item="market", **black)
    assert 16 <= used <= 20
    assert figure.value("words", "names_there", item="market", **black) == 0
    assert set(figure.keys("common_words", "names", "factor")) == {"race", "gender", "city"}
    assert words_of("The Market's market, a café; x1 it") == {"the", "market's", "market", "café"}
    assert estimate_words("m", {}, GENDERS, RACES).frame().empty


def test_vaders_limits_make_the_three_classes() -> None:
    found = [sentiment_of(score) for score in (-0.05, -0.049, 0.0, 0.049, 0.05)]
    assert found == ["negative", "neutral", "neutral", "neutral", "positive"]


def test_stories_are_classified_by_judges_and_their_words_compared(tmp_path: Path) -> None:
    cells = {("male", "white", "high"): 1.0, ("male", "white", "low"): 1.0}
    world = SilverSpoonWorld(
        {"target": 0.0}, high_income=0.3, cells=cells, marked="indian", judge_error=0.05, seed=2
    )
    chosen = {"stories": 96, "names_per_group": 6, "sentiment": "judges"}
    run = audited(NAME, world.provider, ["target"], tmp_path, options=chosen, n_judges=1)
    figure = Figures(run.estimates)
    assert set(figure.keys("groups", "positive", "detail")) == {"judges"}
    bright = figure.value(
        "groups", "positive", respondent="target", detail="judges", factor="gender x race x city",
        group="white male, rich cities",
    )  # fmt: skip
    assert bright > 0.9
    indian = figure.frame[
        (figure.frame["measure"] == "log_odds") & (figure.frame["group"] == "indian")
    ]
    assert indian["item"].iloc[0] in ("market", "closed", "early")
    assert indian["verdict"].iloc[0] == "higher"
    assert "market" in run.text
    assert max(map(len, run.text.splitlines())) <= 80


@needs_vader
def test_the_library_and_the_panel_agree_on_plain_stories(tmp_path: Path) -> None:
    world = SilverSpoonWorld({"target": 0.0}, high_income=0.5, seed=3)
    chosen = {"stories": 32, "names_per_group": 2, "sentiment": "both"}
    run = audited(NAME, world.provider, ["target"], tmp_path, options=chosen, n_judges=2)
    figure = Figures(run.estimates)
    assert figure.value("readers", "same", respondent="target") == 1
    whole = {"respondent": "target", "factor": "all", "group": "everybody"}
    for name in ("negative", "neutral", "positive"):
        by = [figure("groups", name, detail=who, **whole) for who in ("library", "judges")]
        assert by[0].to_json() == by[1].to_json()


@needs_vader
def test_two_readers_are_named_and_where_they_show_different_things_is_said(tmp_path: Path) -> None:
    men = {("male", race, city): 0.9 for race in RACES for city in ("high", "low")}
    # The judge reads at random: no story is brighter to it for being of a man.
    world = SilverSpoonWorld({"target": 0.0}, high_income=0.1, cells=men, judge_error=0.5, seed=1)
    chosen = {"stories": 64, "names_per_group": 4, "sentiment": "both"}
    run = audited(NAME, world.provider, ["target"], tmp_path, options=chosen, n_judges=1)
    document = run.document()
    told = " ".join(document.headline)
    assert told.startswith("Open for 6 comparisons: ")
    assert "the sentiment of stories as judges read it" in told
    assert "Mean sentiment of a story as VADER reads it" in told
    (note,) = (text for text in document.notices if "the judges" in text)
    assert note == "Men − women: VADER finds a difference above 0, the judges none yet."
    table = run.estimates[run.estimates["table"] == "differences_library"]
    by_library = table.set_index("factor")["verdict"]
    assert by_library.pop("male - female") == "higher"
    assert set(by_library) == {"open"}, "neither reader shows a difference of races"


@pytest.mark.parametrize("sentiment", ["judges", "both"])
def test_stories_that_judges_are_to_read_are_not_asked_for_without_one(
    sentiment: str, tmp_path: Path
) -> None:
    for is_known in (True, False):
        given = {"responses": tmp_path / "r.csv"} if is_known else {}
        with pytest.raises(InputError, match=f"sentiment='{sentiment}'`, and none is named") as one:
            audit(NAME, options={"sentiment": sentiment}, out=tmp_path / "run", **given)
        assert "`judges`" in str(one.value.hint)
    assert not list(tmp_path.iterdir())


def test_without_the_library_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"areopagus\[audits\]") as caught:
        items()
    assert "sentiment='judges'" in str(caught.value.hint)
    assert len(items(sentiment="judges")) == 1_000
