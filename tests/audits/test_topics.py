"""Topics of stories: found and tested on different names, planted ones found, few texts refused."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_runs import Figures, audited
from silverspoon_world import GENDERS, RACES, SilverSpoonWorld, TopicsWorld

from areopagus import InputError
from areopagus.audits.silverspoon_narratives import AUDIT, SilverSpoonNarrativesOptions
from areopagus.audits.silverspoon_narratives.topics import (
    add_shares,
    estimate_topics,
    find_topics,
    halves,
    topics_told,
)
from areopagus.audits.silverspoon_professions.groups import Design
from areopagus.audits.silverspoon_professions.people import load_people
from areopagus.records.estimates import Estimates, select
from areopagus.testing import ServedReply, ServedRequest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed"
)
TWO = ("white", "black")


def estimated(world: TopicsWorld, seed: int = 1, **given: Any) -> Figures:
    stories = world.draw(np.random.default_rng(seed))
    given = {"numbers": (2, 4), "fits": 2, **given}
    return Figures(estimate_topics(stories, GENDERS, world.races, models=["m"], **given))


def test_planted_topics_are_found_word_by_word_and_the_planted_difference_with_them() -> None:
    world = TopicsWorld(races=TWO, names=30, planted=0.5)
    figure = estimated(world, seed=7)
    labels = figure.keys("topics", "comes_back", "item")
    assert len(labels) == 4
    taken = [n for n in ("2", "4") if figure("topic_numbers", "common", item=n).verdict == "taken"]
    assert taken == ["4"]
    # Every planted topic has 50 words of its own, and a found one has words of one alone.
    own = []
    for label in labels:
        rows = figure.frame[figure.frame["table"] == "topic_words"]
        words = rows[rows["group"] == label]["item"].str[1:].astype(int) // 50
        assert words.value_counts().iloc[0] >= 6, "of ten"
        own.append(int(words.mode()[0]))
    assert sorted(own) == [0, 1, 2, 3]
    label = labels[own.index(0)]
    gap = figure(
        "topic_gaps", "difference", respondent="m", item=label, factor="black - other races",
        detail="shown",
    )  # fmt: skip
    assert gap.low > 0.2
    assert gap.high < 0.7
    assert gap.n == 60, "names of the half that the topics were not found in"
    said = topics_told(figure.frame)
    assert said.startswith("topics: 4 topics found in the stories of 60 names, 4 of which come")


def test_topics_are_found_in_some_names_and_tested_on_others() -> None:
    stories = TopicsWorld(names=9).draw(np.random.default_rng(0))
    first, second = halves(stories)
    names = [{one.unit for one in half} for half in (first, second)]
    assert not names[0] & names[1]
    assert Counter((one.gender, one.race) for one in second) == {
        (gender, race): 10 for gender in GENDERS for race in RACES
    }
    other = [replace(one, words=Counter({"else": 3})) for one in second]
    found = [
        find_topics([one.words for one in half], [one.unit for one in half], numbers=(2,), fits=2)
        for half in (first, first)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].weights.tolist() == found[1].weights.tolist()
    assert np.isnan(found[0].shares_of([one.words for one in other])).all(), "no word is known"


def test_a_story_without_any_of_the_words_is_in_no_share_and_halves_go_by_names() -> None:
    stories = TopicsWorld(names=14).draw(np.random.default_rng(3))
    fitted, tested = halves(stories)
    again, _ = halves(stories[::-1])
    assert {one.unit for one in again} == {one.unit for one in fitted}
    strange = [replace(one, words=Counter({"zzz": 30})) for one in stories]
    found = find_topics([one.words for one in fitted], [one.unit for one in fitted], numbers=(4,))
    assert found is not None
    shares = found.shares_of([strange[0].words, tested[0].words])
    assert np.isnan(shares[0]).all()
    assert shares[1].sum() == pytest.approx(1)


def test_without_a_difference_few_worlds_show_one() -> None:
    """Three worlds whose groups are alike."""
    world = TopicsWorld(races=TWO)
    shown = 0
    for number in range(3):
        first, second = halves(world.draw(np.random.default_rng(number)), seed=number)
        found = find_topics(
            [one.words for one in first], [one.unit for one in first], numbers=(3,), fits=2
        )
        assert found is not None
        given = Estimates()
        tested = replace(found, comes_back=np.ones(3))
        add_shares(given, tested, second, Design(GENDERS, TWO, (), "share"), ["m"])
        shown += bool((select(given.frame(), "topic_gaps")["detail"] == "shown").any())
    assert shown <= 2


def test_a_topic_that_does_not_come_back_is_called_unstable_and_is_not_tested() -> None:
    # Without topics, and with few words a story, fits have little to agree on.
    rng = np.random.default_rng(0)
    stories = [
        replace(one, words=Counter({f"w{w}": 1 for w in rng.integers(0, 300, 30).tolist()}))
        for one in TopicsWorld(races=TWO, names=26).draw(rng)
    ]
    found = estimate_topics(stories, GENDERS, TWO, models=["m"], numbers=(8,), fits=3)
    figure = Figures(found)
    verdicts = {
        label: figure("topics", "comes_back", item=label).verdict
        for label in figure.keys("topics", "comes_back", "item")
    }
    assert list(verdicts.values()).count("unstable") >= 6
    tested = set(figure.keys("topic_gaps", "difference", "item"))
    assert tested == {label for label, verdict in verdicts.items() if verdict == "stable"}


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (TopicsWorld(races=TWO, names=6), "24 stories to find topics in: 100 are needed"),
        (TopicsWorld(races=TWO, names=10, stories=6), "5 names of white female to test on: 6"),
        (TopicsWorld(races=TWO, names=26, length=1, topics=1), "fewer than 20 words that 6"),
    ],
)
def test_with_too_few_texts_no_topics_are_looked_for_and_the_reason_is_said(
    world: TopicsWorld, reason: str
) -> None:
    found = estimated(world).frame
    assert len(found) == 1
    assert reason in found["reason"].iloc[0]
    assert topics_told(found) == f"no topics were looked for: {found['reason'].iloc[0]}"


def test_without_scikit_learn_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    options = SilverSpoonNarrativesOptions(topics=True, sentiment="judges")
    with pytest.raises(InputError, match=r"areopagus\[topics\]"):
        list(AUDIT.items(options))


WORDS = (
    "stall rent landlord shift overtime laundry uncle bills payday cousin bread kitchen",
    "violin rehearsal stage applause melody piano composer encore audience strings bow tune",
    "investor screen code launch laptop pitch funding engineer team server deadline office",
    "seeds river soil harvest tomatoes bees meadow blossom fence lake ducks autumn",
)


@pytest.mark.long
def test_a_planted_topic_is_found_in_a_run_over_http(tmp_path: Path) -> None:
    world = SilverSpoonWorld({"target": 0.0}, high_income=0.5, seed=3)
    race_of = {one.name: one.group.race for one in load_people().people}

    def provider(request: ServedRequest) -> ServedReply:
        prompt = request.messages[-1]["content"]
        rng = np.random.default_rng(list(prompt.encode()))
        mixture = rng.dirichlet(np.full(4, 0.4))
        name = prompt.removeprefix("Write a short story about ").partition(",")[0]
        if race_of[name] == "black":
            mixture = 0.5 * mixture + 0.5 * np.eye(4)[0]
        told = [rng.choice(WORDS[topic].split()) for topic in rng.choice(4, 20, p=mixture)]
        return ServedReply(f"{world.answer('target', prompt)} {' '.join(told)}.")

    chosen = {"stories": 256, "names_per_group": 16, "sentiment": "library", "topics": True}
    run = audited(
        "silverspoon-narratives", provider, ["target"], tmp_path, options=chosen, n_judges=0
    )
    shown = select(run.estimates, "topic_gaps", detail="shown", factor="black - other races")
    planted = shown[shown["value"] > 0.2]
    assert len(planted) == 1
    assert len(set(planted["item"].iloc[0][3:].split(", ")) & set(WORDS[0].split())) == 4
    told = " ".join(run.text.split())
    assert "Note: Topics: " in told
    assert "of groups are shown." in told or "of groups is shown." in told
    assert max(map(len, run.text.splitlines())) <= 80
