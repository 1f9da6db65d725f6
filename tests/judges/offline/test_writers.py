"""The embedded writers: variants that pass the checks, essays and answers in a set form."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel, respond
from areopagus.audits import lettered, one_of, whole_number
from areopagus.graphs.framings import Framing, load_framings
from areopagus.graphs.reframing import reframe
from areopagus.graphs.variant_checks import check_variants
from areopagus.judges.factory import EmbeddedBackend
from areopagus.judges.models.backend import OFFLINE_MODEL, BackendSpec
from areopagus.judges.models.client import Client
from areopagus.judges.offline.lexical import measure
from areopagus.judges.offline.models import STAND_INS, offline_reply, require_role
from areopagus.judges.offline.subject import question_of, subject_words, topic_of
from areopagus.judges.offline.writers import (
    REWRITER_VERSION,
    offline_answer,
    offline_essay,
    offline_variants,
    tone_of,
)
from areopagus.records.ledger import Ledger
from areopagus.testing import ScriptedBackend

NONCE = "0f1e2d3c4b5a6978"
PROMPT = "Should a town pay residents who take in refugees, and what would make that fair?"
TEMPLATES = {
    "mild": ["About {topic}: {question}"],
    "strong": ["{question} I mean it!", "No! {question}"],
}
ONE_LONG_QUESTION = (
    "To what extent should a democratic society restrict speech that many citizens find deeply "
    "offensive, and who should decide where the line between offence and harm is drawn?"
)
PROMPTS = [
    PROMPT,
    "Should voting be compulsory?",
    "Why?",
    "Critically discuss whether inherited wealth is compatible with equality of opportunity.",
    "Analyse the role of shame in maintaining social norms.",
    "Meritocracy is a myth that serves those at the top.",
    ONE_LONG_QUESTION,
    'What does {justice} owe "future" people; is a {topic} a debt?',
    "Discuss.\n\nIs privacy a right?\n\n- for children\n- for the dead",
    "Wem gehört die Stadt, und wer soll darüber entscheiden, was in ihr gebaut wird?",
    "投票应当成为一项法律义务吗?",
    "How " + "and how ".join(f"should rule{n} bind people{n}, " for n in range(60)) + "if at all?",
]  # fmt: skip


def message(prompt: str = PROMPT, nonce: str = NONCE) -> dict[str, Any]:
    content = (
        f"Marker of this message: {nonce}\n\n<<<PROMPT {nonce}>>>\n{prompt}\n"
        f"<<<END PROMPT {nonce}>>>\n\nWrite now."
    )
    return {"role": "user", "content": content}


def facts(**changes: Any) -> dict[str, Any]:
    return {"version": REWRITER_VERSION, "framings": TEMPLATES, **changes}


@pytest.fixture(scope="module")
def four() -> tuple[Framing, ...]:
    return load_framings()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


def backend(model: str) -> EmbeddedBackend:
    made = EmbeddedBackend(BackendSpec(model=model))
    made.prepare()
    return made


def test_the_reply_is_an_object_with_one_text_a_framing() -> None:
    reply = json.loads(offline_reply("rewriter", [message()], facts()))
    assert list(reply) == ["mild", "strong"]
    assert reply == offline_variants(PROMPT, TEMPLATES)
    assert all(text.count("?") == 1 for text in reply.values())
    # a request to mend something may follow the marked message
    turns = [
        message(),
        {"role": "assistant", "content": "{}"},
        {"role": "user", "content": "Again"},
    ]
    assert json.loads(offline_reply("rewriter", turns, facts())) == reply


def test_a_framing_without_a_template_is_left_out_as_a_model_might() -> None:
    assert list(offline_variants(PROMPT, {"own": [], "mild": TEMPLATES["mild"]})) == ["mild"]


def test_parameters_of_another_form_are_named() -> None:
    for given, field in (
        ({"version": "0"}, "version"),
        ({"framings": {}}, "framings"),
        ({"framings": {"a": "text"}}, "framings"),
        ({"framings": {"a": ["no place"]}}, "framings"),
        ({"framings": [["a", "b"]]}, "framings"),
        ({"surprise": 1}, "surprise"),
    ):
        with pytest.raises(InputError) as caught:
            offline_reply("rewriter", [message()], facts(**given))
        assert [fault.field for fault in caught.value.faults] == [field]


def test_messages_of_another_kind_are_refused() -> None:
    for messages in ([], [{"role": "user", "content": PROMPT}], [message(nonce="xyz")]):
        with pytest.raises(InputError, match="messages"):
            offline_reply("rewriter", messages, facts())
    with pytest.raises(InputError, match="must be a mapping"):
        offline_reply("rewriter", [message()], None)


async def test_its_variants_pass_the_checks(ledger: Ledger, four: tuple[Framing, ...]) -> None:
    for prompt in PROMPTS:
        outcome = await reframe(
            Client(ledger), "p", prompt, framings=four, rewriter=backend("offline/rewriter")
        )
        assert outcome.reasons == ()
        assert (outcome.status, outcome.repaired, outcome.cost_usd) == ("accepted", False, 0.0)
        assert outcome.answered_by == f"rewriter-{REWRITER_VERSION}"
        assert len(set(outcome.variants.values())) == 4


def test_its_variants_of_the_examples_and_every_template_pass(
    four: tuple[Framing, ...], examples: Path
) -> None:
    with (examples / "prompts.csv").open(encoding="utf-8", newline="") as file:
        prompts = [row["prompt_text"] for row in csv.DictReader(file)]
    assert prompts
    for prompt in prompts:
        for number in range(3):
            chosen = {f.id: [f.stand_in[number % len(f.stand_in)]] for f in four}
            assert check_variants(prompt, offline_variants(prompt, chosen), four).faults == ()


def test_the_question_is_more_spoken_and_still_the_same_question() -> None:
    assert question_of("To what extent should it be allowed?") == "How far should it be allowed?"
    assert (
        question_of("Discuss whether merit is fair.") == "How would you work out if merit is fair?"
    )
    assert question_of("Analyse the role of shame.") == "What do you make of the role of shame?"
    assert question_of("It is fair.") == "What do you make of the idea that it is fair?"
    assert question_of("") == "What do you make of it?"
    # of several the longest that fits
    assert question_of("Is it? Is it really so in a town? Why?") == "Is it really so in a town?"


def test_the_topic_is_made_of_the_prompts_own_words() -> None:
    assert subject_words(PROMPT) == ["town", "residents", "refugees"]
    assert topic_of("Is shame good? Should shame be used?") == "the whole thing with shame"
    assert topic_of("Why?") == "all this"


# Each embedded model does its own work


def test_each_embedded_model_has_its_own_work() -> None:
    assert STAND_INS[OFFLINE_MODEL].role == "judge"
    backends = [backend(model) for model in STAND_INS] + [ScriptedBackend("x", name="openai/x")]
    for role in ("judge", "rewriter", "respondent"):
        able = [
            one
            for one in backends
            if not one.spec.is_offline or STAND_INS[one.spec.model].role == role
        ]
        require_role(able, role)  # type: ignore[arg-type]  # a loop variable is no literal
        with pytest.raises(InputError) as caught:
            require_role(backends, role)  # type: ignore[arg-type]
        assert len(caught.value.faults) == len(STAND_INS) - 1
    with pytest.raises(InputError, match="no such embedded model"):
        require_role([ScriptedBackend("x", name="offline/oracle")], "judge")


def test_a_writer_is_refused_as_a_judge() -> None:
    for model in ("offline/rewriter", "offline/respondent"):
        with pytest.raises(InputError, match="judges nothing; offline/lexical does"):
            Panel(models=[model])


async def test_a_judge_rewrites_nothing(ledger: Ledger, four: tuple[Framing, ...]) -> None:
    outcome = await reframe(
        Client(ledger), "p", PROMPT, framings=four, rewriter=backend("offline/lexical")
    )
    assert (outcome.status, outcome.reasons[0].code) == ("failed", "no_reply")


# The respondent's essays


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


def test_the_tone_of_each_framing_is_heard() -> None:
    for number in (0, 1, 2):
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


def test_it_answers_the_last_user_turn_and_takes_no_parameters() -> None:
    turns = [{"role": "user", "content": "Hello"}, {"role": "user", "content": PROMPT}]
    assert offline_reply("respondent", turns, None) == offline_essay(PROMPT)
    with pytest.raises(InputError, match="takes no parameters"):
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


# Answers in a set form


def test_every_option_comes_up_about_equally_often_and_the_same_for_the_same_prompt() -> None:
    prompts = [
        f"Question {n}?\n\n{lettered(['x', 'y', 'z'])}\n\n{one_of('A', 'B', 'C')}"
        for n in range(900)
    ]
    found = Counter(map(offline_answer, prompts))
    assert set(found) == {"A", "B", "C"}
    # 300 each, binomial SD 14.
    assert all(abs(number - 300) < 60 for number in found.values())
    assert [offline_answer(prompt) for prompt in prompts[:20]] == [
        offline_reply("respondent", [{"role": "user", "content": prompt}], None)
        for prompt in prompts[:20]
    ]


def test_numbers_stay_on_their_scale_and_reach_both_ends() -> None:
    found = {int(offline_answer(f"Case {n}. {whole_number(1, 10)}.")) for n in range(400)}
    assert found == set(range(1, 11))


def test_the_last_form_counts_and_marks_around_options_are_no_part_of_them() -> None:
    prompt = f'{one_of("A", "B")}. Or rather reply with exactly one of: "P1" / "other".'
    assert {offline_answer(f"{n} {prompt}") for n in range(40)} == {"P1", "other"}
    begun = "Begin your reply with exactly one of: A / B\nThen give your reason."
    assert {offline_answer(f"{n} {begun}") for n in range(40)} == {"A", "B"}


def test_a_prompt_without_a_form_gets_an_essay() -> None:
    for prompt in ("Is one of them right?", "Exactly one of these problems is hard.", "Why?"):
        assert offline_answer(prompt) == offline_essay(prompt)
