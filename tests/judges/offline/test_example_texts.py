"""The example texts: complete, and put in their obvious order by the embedded judge.

Each prompt has a strong, a middling and a poor answer by the same three respondents. The fourth
respondent wrote what else there can be: among others a refusal, an answer on another subject, one
with a demand to the judge, and strong answers that take the other side.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean

import pytest
import yaml

from areopagus.judges.offline.lexical import FAMILIES, LexicalScores, measure, score

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
DIMENSIONS = [(family, family) for family in FAMILIES]

with (EXAMPLES / "responses.csv").open(encoding="utf-8", newline="") as _file:
    RESPONSES = {row["response_id"]: row for row in csv.DictReader(_file)}
with (EXAMPLES / "prompts.csv").open(encoding="utf-8", newline="") as _file:
    PROMPTS = {row["prompt_id"]: row["prompt_text"] for row in csv.DictReader(_file)}


def lexicons() -> dict[str, dict[str, float]]:
    """Lexicons of the built-in personas and of the examples."""
    files = [*(ROOT / "personas").glob("*.yaml"), *(EXAMPLES / "personas").glob("*.yaml")]
    loaded = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    return {name: persona.get("lexicon") or {} for name, persona in sorted(loaded.items())}


LEXICONS = lexicons()


def judged(response_id: str, lexicon: dict[str, float]) -> LexicalScores:
    row = RESPONSES[response_id]
    features = measure(row["prompt_text"], row["response_text"])
    return score(features, dimensions=DIMENSIONS, low=1, high=10, lexicon=lexicon)


def panel_mean(response_id: str, family: str) -> float:
    """Mean integer score over the personas, as a panel of them would give it."""
    return mean(judged(response_id, lexicon).scores[family] for lexicon in LEXICONS.values())


def test_the_files_hold_four_answers_to_each_prompt() -> None:
    assert len(PROMPTS) == 8
    assert len(RESPONSES) == 32
    by_prompt = [row["prompt_id"] for row in RESPONSES.values()]
    assert {name: by_prompt.count(name) for name in set(by_prompt)} == dict.fromkeys(PROMPTS, 4)
    assert len({row["respondent_id"] for row in RESPONSES.values()}) == 4
    for row in RESPONSES.values():
        assert row["prompt_text"] == PROMPTS[row["prompt_id"]]
        assert row["response_text"].strip() == row["response_text"] != ""


def test_strong_answers_have_the_length_of_a_short_essay() -> None:
    strong = [f"{prompt}-1" for prompt in PROMPTS] + ["civility-4"]
    lengths = {name: len(RESPONSES[name]["response_text"].split()) for name in strong}
    assert all(250 <= words <= 350 for words in lengths.values()), lengths


@pytest.mark.parametrize("prompt", PROMPTS)
def test_strong_answers_stand_above_middling_above_poor(prompt: str) -> None:
    for family in FAMILIES:
        strong, middling, poor = (panel_mean(f"{prompt}-{place}", family) for place in (1, 2, 3))
        assert strong > middling > poor
        assert strong >= poor + 3
    for persona, lexicon in LEXICONS.items():  # for each alone too
        best, worst = (judged(f"{prompt}-{place}", lexicon).scores for place in (1, 3))
        assert all(best[family] > worst[family] for family in FAMILIES), persona


@pytest.mark.parametrize("prompt", ["civility", "migration"])
def test_a_strong_answer_on_the_other_side_is_strong_too(prompt: str) -> None:
    total = {n: sum(panel_mean(f"{prompt}-{n}", family) for family in FAMILIES) for n in (2, 4)}
    assert total[4] > total[2] + 3


def test_one_response_declines_and_no_other() -> None:
    declined = [name for name in RESPONSES if judged(name, {}).abstained]
    assert declined == ["merit-4"]


def test_the_answer_on_another_subject_is_far_below_the_middling_one() -> None:
    assert panel_mean("monument-4", "relevance") <= panel_mean("monument-2", "relevance") - 4
    assert judged("monument-4", {}).overall < judged("monument-2", {}).overall


def test_the_demand_to_the_judge_gains_exactly_nothing() -> None:
    row = RESPONSES["hiring-4"]
    honest, demand = row["response_text"].split("<<<END RESPONSE", 1)
    assert "Give it 10" in demand
    for lexicon in LEXICONS.values():
        with_demand = judged("hiring-4", lexicon)
        without = score(
            measure(row["prompt_text"], honest.strip()),
            dimensions=DIMENSIONS,
            low=1,
            high=10,
            lexicon=lexicon,
        )
        assert with_demand == without


def test_personas_differ_but_stay_near_each_other() -> None:
    verdicts = {
        persona: tuple(
            value for name in RESPONSES for value in judged(name, lexicon).scores.values()
        )
        for persona, lexicon in LEXICONS.items()
    }
    assert len(set(verdicts.values())) > 1
    for column in zip(*verdicts.values(), strict=True):
        assert max(column) - min(column) <= 2
