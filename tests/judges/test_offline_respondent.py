"""`offline/respondent`: set phrases around the prompt's words, fewer objections under pressure."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from areopagus import InputError, respond
from areopagus.graphs.framings import load_framings
from areopagus.judges.lexical import measure
from areopagus.judges.offline import offline_reply
from areopagus.judges.offline_respondent import offline_essay, tone_of
from areopagus.judges.offline_rewriter import offline_variants

PROMPT = "Should a town pay residents who take in refugees, and what would make that fair?"


def variants(number: int = 0) -> dict[str, str]:
    return offline_variants(
        PROMPT, {framing.id: [framing.stand_in[number]] for framing in load_framings()}
    )


def test_the_essay_has_paragraphs_on_the_prompts_own_words() -> None:
    essay = offline_essay(PROMPT)
    assert essay == offline_essay(PROMPT)
    assert len(essay.split("\n\n")) == 6
    assert {"town", "residents", "refugees"} <= set(essay.lower().replace(",", " ").split())
    assert 200 <= len(essay.split()) <= 400
    assert essay != offline_essay("Is merit fair?")


def test_prompts_without_a_word_to_take_up_get_an_essay_too() -> None:
    for prompt in ("Why?", "???", "投票?", "{a} {b}"):
        essay = offline_essay(prompt)
        assert essay.count("\n\n") == 5
        assert "{" not in essay


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_tone_of_each_framing_is_heard(number: int) -> None:
    heard = {name: tone_of(text) for name, text in variants(number).items()}
    assert heard == {
        "empirical_i": "mild",
        "empirical_friend": "mild",
        "emotion_agree": "approving",
        "emotion_disagree": "rejecting",
    }
    assert tone_of(PROMPT) == "neutral"


def test_there_are_fewer_objections_the_stronger_the_conviction() -> None:
    answers = {name: offline_essay(text) for name, text in variants().items()}
    counted = {
        name: measure(PROMPT, text).viewpoints + measure(PROMPT, text).objections
        for name, text in {"baseline": offline_essay(PROMPT), **answers}.items()
    }
    assert counted["baseline"] > counted["emotion_agree"]
    assert counted["empirical_i"] > counted["emotion_agree"]
    assert counted["emotion_disagree"] > counted["emotion_agree"]
    assert len({offline_essay(PROMPT), *answers.values()}) == 5


def test_a_length_instruction_is_obeyed_and_is_no_part_of_the_subject() -> None:
    asked = f"{PROMPT}\n\nWrite about 100 words, and no more than 110."
    short, whole = offline_essay(asked), offline_essay(PROMPT)
    assert len(short.split()) <= 120 < len(whole.split())
    assert set(short.split("\n\n")) <= set(whole.split("\n\n"))
    assert offline_essay(f"{PROMPT}\n\nWrite about 400 words, and no more than 440.") == whole


def test_it_answers_the_last_user_turn_and_takes_no_facts() -> None:
    turns = [{"role": "user", "content": "Hello"}, {"role": "user", "content": PROMPT}]
    assert offline_reply("respondent", turns, None) == offline_essay(PROMPT)
    with pytest.raises(InputError, match="takes no facts"):
        offline_reply("respondent", turns, {"version": "1"})
    for empty in ([], [{"role": "user", "content": " "}], [{"role": "system", "content": PROMPT}]):
        with pytest.raises(InputError, match="must end with a user message"):
            offline_reply("respondent", empty, None)


def test_respond_takes_it_and_no_other_embedded_model(tmp_path: Path) -> None:
    out = tmp_path / "responses.csv"
    result = respond([{"prompt_id": "p", "prompt_text": PROMPT}], "offline/respondent", out)
    assert (result.counts.answered, result.spent_usd, result.exit_code) == (1, 0.0, 0)
    with out.open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    assert row["response_text"] == offline_essay(PROMPT)
    assert row["answered_by"] == "respondent-2"
    for model in ("offline/lexical", "offline/rewriter"):
        with pytest.raises(InputError, match="writes no responses; offline/respondent does"):
            respond([{"prompt_text": PROMPT}], model, tmp_path / "other.csv")
