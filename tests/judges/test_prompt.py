"""What a judge is told, word for word where it matters: in every mode, in both orders."""

from __future__ import annotations

import re
from itertools import combinations, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus.judges import prompt as prompt_module
from areopagus.judges.prompt import (
    ECHO_CHARACTERS,
    NONCE_DIGITS,
    NONCE_LINE,
    ORDERS,
    JudgePrompt,
    delimited,
    nonce_for,
    rubric_text,
)
from areopagus.judges.schema import PROBLEMS
from areopagus.judges.structured import continued
from areopagus.judges.templates import load_template
from areopagus.personas import Persona, load_persona, load_personas
from areopagus.records.types import MODES
from areopagus.rubrics import Rubric, load_rubric

PROMPT, RESPONSE = "Is privacy a right?", "It is, since without it no one is free."
NONCE = nonce_for(b"secret", PROMPT, RESPONSE)


@pytest.fixture(scope="module")
def rubric() -> Rubric:
    return load_rubric("critical_thinking")


@pytest.fixture(scope="module")
def personas() -> list[Persona]:
    return list(load_personas())


def texts(judge_prompt: JudgePrompt, persona: Persona) -> tuple[str, str]:
    system, user = judge_prompt.messages(persona, PROMPT, RESPONSE, NONCE)
    assert (system["role"], user["role"]) == ("system", "user")
    return system["content"], user["content"]


def test_the_contract_stands_in_the_system_message_and_the_texts_in_the_users(
    rubric: Rubric, personas: list[Persona]
) -> None:
    for rationale in ("none", "before"):
        for mode in MODES:
            for order in ORDERS:
                judge_prompt = JudgePrompt(rubric, mode=mode, order=order, rationale=rationale)
                system, user = texts(judge_prompt, personas[0])
                assert system.endswith(judge_prompt.form())
                assert PROMPT not in system
                assert RESPONSE not in system
                assert NONCE not in system
                assert user.startswith(
                    f"{NONCE_LINE}{NONCE}\n\n{delimited('PROMPT', PROMPT, NONCE)}\n\n"
                )
                assert delimited("RESPONSE", RESPONSE, NONCE) in user
                assert user.count(NONCE) == 7
                assert ("rationale" in judge_prompt.schema.keys) == (rationale == "before")


def test_the_rubric_is_shown_in_two_modes_and_not_a_word_of_it_in_the_third(
    rubric: Rubric, personas: list[Persona]
) -> None:
    for mode in MODES:
        system, user = texts(JudgePrompt(rubric, mode=mode), personas[0])
        if mode == "no_rubric":
            for dimension in rubric.dimensions:
                for piece in (
                    dimension.id,
                    dimension.label,
                    dimension.definition,
                    dimension.question,
                ):
                    assert piece.lower() not in (system + user).lower()
            for piece in (rubric.label, rubric.purpose, *rubric.anchors.values()):
                assert piece not in system + user
        else:
            assert rubric_text(rubric, load_template()) in system
            assert all(dimension.definition in system for dimension in rubric.dimensions)
        assert f"from {rubric.scale.low} (very poor) to {rubric.scale.high}" in system
        assert ("give one overall score" in system) == (mode == "holistic")


def test_each_mode_asks_for_its_own_keys(rubric: Rubric) -> None:
    assert JudgePrompt(rubric).schema.keys == (*rubric.dimension_ids, "abstained")
    assert JudgePrompt(rubric, mode="holistic").schema.keys == ("overall",)
    assert JudgePrompt(rubric, mode="no_rubric", rationale="before").schema.keys == (
        "rationale",
        "overall",
    )


def test_anchors_can_be_left_out(rubric: Rubric, personas: list[Persona]) -> None:
    anchors = [text for d in rubric.dimensions for text in d.anchors.values()]
    anchors += rubric.anchors.values()
    assert anchors
    with_them, _ = texts(JudgePrompt(rubric), personas[0])
    without, _ = texts(JudgePrompt(rubric, anchors=False), personas[0])
    assert all(text in with_them for text in anchors)
    assert not any(text in without for text in anchors)


def test_with_the_response_first_all_personas_share_everything_before_their_own_block(
    rubric: Rubric, personas: list[Persona]
) -> None:
    judge_prompt = JudgePrompt(rubric, order="response_first")
    systems = {texts(judge_prompt, persona)[0] for persona in personas}
    assert len(systems) == 1
    for one, other in combinations(personas, 2):
        pairs = zip(texts(judge_prompt, one)[1], texts(judge_prompt, other)[1], strict=False)
        shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        assert shared.startswith(judge_prompt.opening(PROMPT, RESPONSE, NONCE))
        assert "Your perspective: " in shared
    for persona in personas:
        system, user = texts(judge_prompt, persona)
        assert persona.description.strip() in user.rpartition("<<<END RESPONSE")[2]
        assert persona.description.strip() not in system


def test_with_the_persona_first_its_system_message_is_the_same_for_every_response(
    rubric: Rubric, personas: list[Persona]
) -> None:
    judge_prompt = JudgePrompt(rubric, order="persona_first")
    for persona in personas:
        system, user = texts(judge_prompt, persona)
        other = judge_prompt.messages(persona, "Another?", "Another.", nonce_for(b"s", "Another?"))
        assert other[0]["content"] == system
        assert persona.description.strip() in system
        assert persona.description.strip() not in user
    assert len({texts(judge_prompt, persona)[0] for persona in personas}) == len(personas)


def test_the_same_name_with_another_text_is_another_persona(
    rubric: Rubric, personas: list[Persona]
) -> None:
    changed = personas[0].model_copy(update={"description": "A wholly different point of view."})
    for order in ORDERS:
        judge_prompt = JudgePrompt(rubric, order=order)
        assert texts(judge_prompt, personas[0]) != texts(judge_prompt, changed)


def test_examples_lexicon_and_provenance_are_never_shown_to_a_judge(rubric: Rubric) -> None:
    for order in ORDERS:
        persona = Persona.model_validate(
            {
                "id": "tester",
                "label": "Tester",
                "axis": "own",
                "description": "You read as somebody who tests what is written here.",
                "version": "1",
                "provenance": "canary-provenance",
                "lexicon": {"canary lexicon": 2.0},
                "examples": [
                    {
                        "prompt": "canary-prompt",
                        "response": "canary-response",
                        "expect": {"overall": [1, 2]},
                    }
                ],
            }
        )
        for mode in MODES:
            assert "canary" not in "".join(
                texts(JudgePrompt(rubric, mode=mode, order=order), persona)
            )


@given(response=st.text(max_size=300))
@settings(max_examples=50, deadline=None)
def test_the_judged_text_stands_unaltered_and_only_between_its_marks(response: str) -> None:
    judge_prompt = JudgePrompt(load_rubric("critical_thinking"))
    nonce = nonce_for(b"secret", PROMPT, response)
    user = judge_prompt.messages(load_persona("historian"), PROMPT, response, nonce)[1]["content"]
    inside = user.partition(f"<<<RESPONSE {nonce}>>>\n")[2].rpartition(f"\n<<<END RESPONSE {nonce}")
    assert inside[0] == response
    assert user.count(f"<<<END RESPONSE {nonce}>>>") == 1


def test_a_repair_continues_the_conversation_and_quotes_no_more_than_the_reply(
    rubric: Rubric, personas: list[Persona]
) -> None:
    judge_prompt = JudgePrompt(rubric)
    messages = judge_prompt.messages(personas[0], PROMPT, RESPONSE, NONCE)
    repair = continued(
        messages, "  " + "x" * 5_000, judge_prompt.repair_request("not_json"), ECHO_CHARACTERS
    )
    assert repair[:2] == messages
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert repair[2]["content"] == "x" * 1_000
    assert "Send the JSON object alone" in repair[3]["content"]
    assert RESPONSE not in repair[3]["content"]


def test_a_repair_of_nothing_says_so(rubric: Rubric, personas: list[Persona]) -> None:
    for text in (None, "", " \n "):
        # Several endpoints refuse an assistant message without content.
        messages = JudgePrompt(rubric).messages(personas[0], PROMPT, RESPONSE, NONCE)
        assert continued(messages, text, "Again.", 100)[2]["content"] == "(no text)"


def test_the_form_names_every_key_and_holds_no_number_but_the_scale(rubric: Rubric) -> None:
    for rationale in ("none", "before"):
        for mode in MODES:
            judge_prompt = JudgePrompt(rubric, mode=mode, rationale=rationale)
            for text in (judge_prompt.form(), judge_prompt.repair_request("not_json")):
                assert all(f'"{key}"' in text for key in judge_prompt.schema.keys)
                assert set(re.findall(r"\d+", text)) == {"1", "10"}
                assert re.search(r'": \d', text) is None
            assert ("rationale" in judge_prompt.form()) == (rationale == "before")
            assert ("abstained" in judge_prompt.form()) == (mode == "dimensions")


def test_each_repairable_problem_is_named_differently(rubric: Rubric) -> None:
    judge_prompt = JudgePrompt(rubric)
    repairable = [problem for problem in PROBLEMS if problem not in ("content_filter", "refusal")]
    assert len({judge_prompt.repair_request(problem) for problem in repairable}) == len(repairable)
    assert "ignore the rubric" not in judge_prompt.repair_request("ignore the rubric")


judged_texts = st.text(max_size=200) | st.text(
    "<>END RESPONSE0123456789abcdefABCDEF\n", max_size=200
)


@given(prompt=judged_texts, response=judged_texts, secret=st.binary(min_size=1, max_size=64))
def test_a_nonce_is_hexadecimal_repeatable_and_absent_from_the_judged_texts(
    prompt: str, response: str, secret: bytes
) -> None:
    nonce = nonce_for(secret, prompt, response)
    assert re.fullmatch(rf"[0-9a-f]{{{NONCE_DIGITS}}}", nonce)
    assert nonce == nonce_for(secret, prompt, response)
    assert nonce not in prompt.casefold()
    assert nonce not in response.casefold()


def test_another_secret_or_another_text_gives_another_nonce() -> None:
    nonces = {
        nonce_for(b"one", "Why?", "Because."),
        nonce_for(b"two", "Why?", "Because."),
        nonce_for(b"one", "Why?", "Because!"),
        nonce_for(b"one", "Why? ", "Because."),
        nonce_for(b"one", "Because.", "Why?"),
    }
    assert len(nonces) == 5


def test_where_one_text_ends_and_the_next_begins_counts() -> None:
    assert nonce_for(b"s", "ab", "c") != nonce_for(b"s", "a", "bc")
    assert nonce_for(b"s", "abc") != nonce_for(b"s", "abc", "")


def test_a_text_that_happens_to_hold_the_first_nonce_gets_another(monkeypatch) -> None:
    # No text can be made that holds its own 16 digits, so the digits are made few: any text with
    # all sixteen of them but one then leaves a single nonce.
    monkeypatch.setattr(prompt_module, "NONCE_DIGITS", 1)
    assert nonce_for(b"s", "012345 6789ABCDE") == "f"
