"""`offline/rewriter`: from its templates to variants that pass the checks, through litellm."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel
from areopagus.graphs.framings import Framing, load_framings
from areopagus.graphs.reframing import reframe
from areopagus.graphs.variant_checks import check_variants
from areopagus.judges.factory import EmbeddedBackend
from areopagus.judges.models.backend import OFFLINE_MODEL, BackendSpec
from areopagus.judges.models.client import Desk
from areopagus.judges.offline import offline_reply
from areopagus.judges.offline_rewriter import REWRITER_VERSION, offline_variants
from areopagus.judges.offline_roles import OFFLINE_MODELS, OFFLINE_ROLES, require_role
from areopagus.judges.offline_subject import question_of, subject_words, topic_of
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


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"version": "0"}, "version"),
        ({"framings": {}}, "framings"),
        ({"framings": {"a": "text"}}, "framings"),
        ({"framings": {"a": ["no place"]}}, "framings"),
        ({"framings": [["a", "b"]]}, "framings"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_facts_that_break_the_contract_are_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        offline_reply("rewriter", [message()], facts(**given))
    assert [fault.field for fault in caught.value.faults] == [field]


def test_messages_of_another_kind_are_refused() -> None:
    for messages in ([], [{"role": "user", "content": PROMPT}], [message(nonce="xyz")]):
        with pytest.raises(InputError, match="messages"):
            offline_reply("rewriter", messages, facts())
    with pytest.raises(InputError, match="must be a mapping"):
        offline_reply("rewriter", [message()], None)


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
async def test_its_variants_pass_the_checks(
    ledger: Ledger, four: tuple[Framing, ...], prompt: str
) -> None:
    outcome = await reframe(
        Desk(ledger), "p", prompt, framings=four, rewriter=backend("offline/rewriter")
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
    assert set(OFFLINE_MODELS) == set(OFFLINE_ROLES)
    assert OFFLINE_ROLES[OFFLINE_MODEL] == "judge"
    backends = [backend(model) for model in OFFLINE_MODELS] + [
        ScriptedBackend("x", name="openai/x")
    ]
    for role in ("judge", "rewriter", "respondent"):
        able = [one for one in backends if OFFLINE_ROLES.get(one.spec.model, role) == role]
        require_role(able, role)  # type: ignore[arg-type]  # a loop variable is no literal
        with pytest.raises(InputError) as caught:
            require_role(backends, role)  # type: ignore[arg-type]
        assert len(caught.value.faults) == len(OFFLINE_MODELS) - 1
    with pytest.raises(InputError, match="no such embedded model"):
        require_role([ScriptedBackend("x", name="offline/oracle")], "judge")


@pytest.mark.parametrize("model", ["offline/rewriter", "offline/respondent"])
def test_a_writer_is_refused_as_a_judge(model: str) -> None:
    with pytest.raises(InputError, match="judges nothing; offline/lexical does"):
        Panel(models=[model])


async def test_a_judge_rewrites_nothing(ledger: Ledger, four: tuple[Framing, ...]) -> None:
    outcome = await reframe(
        Desk(ledger), "p", PROMPT, framings=four, rewriter=backend("offline/lexical")
    )
    assert (outcome.status, outcome.reasons[0].code) == ("failed", "no_reply")
