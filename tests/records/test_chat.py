"""Texts of chat messages, in the forms in which tools hand them over."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from areopagus.records.chat import content_text, prompt_text, response_text

ASKED = {"role": "user", "content": "Is work a duty?"}
ANSWERED = {"role": "assistant", "content": "It depends on whose."}


def test_one_user_message_is_its_text() -> None:
    assert prompt_text([ASKED]) == prompt_text(ASKED) == "Is work a duty?"


def test_of_a_conversation_every_message_is_asked_and_the_last_answer_is_judged() -> None:
    turns = [{"role": "system", "content": "Be brief."}, ASKED, ANSWERED]
    more = [*turns, {"role": "user", "content": "Whose?"}]
    assert prompt_text(more) == (
        "System: Be brief.\n\nUser: Is work a duty?\n\nAssistant: It depends on whose.\n\n"
        "User: Whose?"
    )
    assert response_text([*more, {"role": "assistant", "content": "Everyone's."}]) == "Everyone's."
    assert response_text([ASKED]) is None


def test_a_system_message_alone_is_headed() -> None:
    assert prompt_text([{"role": "system", "content": "Be brief."}]) == "System: Be brief."


@pytest.mark.parametrize("name", ["prompt", "question", "input", "messages", "inputs"])
def test_a_mapping_holds_what_was_asked_under_a_usual_name(name: str) -> None:
    assert prompt_text({"id": "4", name: [ASKED]}) == "Is work a duty?"


@pytest.mark.parametrize("name", ["response", "answer", "output", "completion", "outputs"])
def test_a_mapping_holds_what_was_answered_under_a_usual_name(name: str) -> None:
    assert response_text({"id": "4", name: ANSWERED}) == "It depends on whose."


def test_parts_of_content_that_are_no_text_are_left_out() -> None:
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "One."},
        {"type": "image", "image": "data:"},
        SimpleNamespace(type="text", text="Two."),
    ]
    assert content_text(parts) == "One.\n\nTwo."
    assert content_text([{"type": "image", "image": "data:"}]) is None


def test_objects_are_read_as_mappings_are_and_langchains_names_for_roles_too() -> None:
    human = SimpleNamespace(type="human", content="Is work a duty?")
    ai = SimpleNamespace(type="ai", content="It depends.")
    assert prompt_text([human]) == "Is work a duty?"
    assert response_text([human, ai]) == "It depends."


@pytest.mark.parametrize("nothing", [None, 4, [], {}, {"id": "4"}, b"text"])
def test_where_there_is_no_text_none_is_made_up(nothing: object) -> None:
    assert prompt_text(nothing) is None
    assert response_text(nothing) is None
