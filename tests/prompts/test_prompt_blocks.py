"""What in a generator's reply is a usable prompt, and what is wrong with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.graphs.prompt_writing import (
    CRITERIA,
    Block,
    Material,
    PromptTask,
    block_key,
    generation_schema,
    quality_question,
)
from areopagus.prompts.concepts import load_technology_terms

MATERIAL = "Context: two neighbours argued about the fence between their gardens for many years."
QUESTION = (
    "Neighbours often settle quarrels by custom and not by law. When does a custom bind those who "
    "never agreed to it?"
)
SECRET = b"s" * 32
TERMS = load_technology_terms().pattern()


def block(number: int = 1, **changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "dimensions": "level: persons",
        "angle": "how customs bind those who never agreed",
        "question": QUESTION,
        **changes,
    }
    return {block_key(number, part): text for part, text in value.items() if text is not None}


def read(value: dict[str, Any], count: int = 1, *, technology: bool = False) -> list[Block]:
    material = Material("s1", "bbq", MATERIAL, "fences", count, technology)
    task = PromptTask(material, TERMS)
    return task.blocks(task.split(value))


def faults(value: dict[str, Any], *, technology: bool = False) -> tuple[str, ...]:
    (found,) = read(value, technology=technology)
    return found.faults


def test_a_sound_block_has_no_fault() -> None:
    assert faults(block()) == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"question": None}, "missing_key"),
        ({"angle": None}, "missing_key"),
        ({"question": ["a list"]}, "wrong_type"),
        ({"dimensions": "   "}, "empty"),
        ({"question": "What is custom?"}, "too_short"),
        ({"question": "Why so? " * 150}, "too_long"),
        ({"question": QUESTION.replace("?", ".")}, "no_question"),
        ({"angle": "customs"}, "angle_length"),
        ({"angle": "word " * 16}, "angle_length"),
        ({"question": "I'm sorry, but I can't help with writing about this topic."}, "refusal"),
        (
            {"question": "What follows if two neighbours argued about the fence between their "
             "gardens for many years?"},
            "quotes_material",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_block_is_named(changes: dict[str, Any], code: str) -> None:
    assert faults(block(**changes)) == (code,)


def test_a_label_of_the_wrong_length_is_no_reason_to_leave_a_prompt_out() -> None:
    (found,) = read(block(angle="customs"))
    assert found.faults == ("angle_length",)
    assert found.is_usable


def test_the_scratchpad_and_other_keys_are_not_looked_at() -> None:
    value = {"scratchpad": 17, "prompt_6_question": "more", **block()}
    assert faults(value) == ()


def test_of_two_like_prompts_the_later_one_is_at_fault() -> None:
    value = block(1) | block(2, question=QUESTION.replace("quarrels", "disputes"))
    found = read(value, 2)
    assert [one.faults for one in found] == [(), ("copy_of_prompt",)]


@pytest.mark.parametrize(
    ("text", "is_technology"),
    [
        ("When should an algorithm decide who is heard first, and who answers for it?", True),
        ("What do Social-Media feuds do to the standing of families in a village?", True),
        ("What does the aid of a neighbour oblige one to do in later years?", False),
        ("Should the applause of a crowd count as its consent to a new rule?", False),
    ],
)
def test_technology_is_told_by_whole_words(text: str, is_technology: bool) -> None:
    value = block(question=text, technology=False)
    (found,) = read(value, technology=True)
    assert found.is_technology is is_technology


def test_a_second_prompt_about_technology_is_at_fault_also_where_only_the_model_says_so() -> None:
    value = (
        block(1, technology=True)
        | block(2, technology=False, question="Who should answer for harm that software does to "
                "people who never chose to use it?")
        | block(3, technology=False, question="What do citizens owe to strangers who arrive "
                "without papers, and what may they ask in return?")
    )  # fmt: skip
    found = read(value, 3, technology=True)
    assert [one.faults for one in found] == [(), ("too_much_technology",), ()]
    assert read(value, 3)[1].faults == ()


def test_where_technology_is_asked_for_it_must_be_said() -> None:
    assert faults(block(), technology=True) == ("missing_key",)
    assert faults(block(technology="no"), technology=True) == ("wrong_type",)


def test_the_form_of_a_repair_has_the_faulty_prompts_alone() -> None:
    assert generation_schema([2], scratchpad=False, technology=True).keys == (
        "prompt_2_dimensions", "prompt_2_angle", "prompt_2_question", "prompt_2_technology",
    )  # fmt: skip


def test_the_material_stands_between_markers_and_only_there() -> None:
    material = Material("s1", "bbq", MATERIAL, "fences", 5, technology=False)
    question = PromptTask(material, TERMS).write(SECRET)
    system, user = question.messages
    assert MATERIAL not in system["content"]
    assert user["content"].count(MATERIAL) == 1
    assert f"<<<MATERIAL {question.nonce}>>>\n{MATERIAL}\n<<<END" in user["content"]


def test_a_judge_of_quality_is_asked_every_criterion() -> None:
    system, _ = quality_question(QUESTION, secret=SECRET).messages
    assert all(f'"{key}"' in system["content"] for key in CRITERIA)


def test_the_words_about_technology_may_be_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "words.yaml"
    path.write_text("terms: [steam engine, loom*]\n", encoding="utf-8")
    pattern = load_technology_terms(path).pattern()
    assert all(pattern.search(text) for text in ("A Steam-Engine?", "Who owns the looms?"))
    assert pattern.search("What may a computer decide?") is None
    path.write_text("terms: []\nwords: [loom]\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_technology_terms(path)
    assert len(caught.value.faults) == 2
