"""The calls of every graph keep their ledger keys, so that nothing paid for is paid for again.

A change of the digests means that every user's stored replies of that kind are asked for once
more: raise the template's version, and say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_reframing import GOOD

from areopagus.graphs.adjudication import JudgeQuestion, adjudicate
from areopagus.graphs.concept_pairs import build_concept
from areopagus.graphs.framings import load_framings
from areopagus.graphs.prompt_construction import Construction, Design, Material, construct
from areopagus.graphs.reframing import reframe
from areopagus.graphs.scenarios import make_scenarios
from areopagus.judges.models.client import Client
from areopagus.judges.models.request import Request
from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply
from areopagus.testing import ScriptedBackend

PROMPT = "Should voting be a legal duty, enforced with fines, or may citizens abstain?"
CUT_OFF = Reply(text='{"reason": "so', finish_reason="length", cost_usd=0.0)
NO_OBJECT = "Let me think about that for a while."

DEEDS = (
    "takes bread from a bakery before dawn, and the baker has the police called at once",
    "rides a tram without paying on the way to a doctor, and an inspector writes out a fine",
)


def whole(request: Request) -> dict[str, Any]:
    """A reply with a value for every key; questions that differ in every word."""
    reply: dict[str, Any] = {}
    for key, kind in (request.schema or {})["properties"].items():
        number = sum(key.encode()) % 97 + len(request.backend)
        words = " ".join(
            f"{word}{number}" for word in ["should", "a", "town", "weigh", "this", "before", "that"]
        )
        text = f"{words} and why?" if key.endswith("question") else f"some words of one {key}"
        reply[key] = "for" if "enum" in kind else (True if kind["type"] == "boolean" else text)
    return reply


def answers(*first: Any, then: Callable[[Request], Any] = whole) -> Callable[[Request], Any]:
    """The first answers as they stand, or of a function; later ones by another."""
    left = list(first)

    def answer(request: Request) -> Any:
        step = left.pop(0) if left else then
        return step(request) if callable(step) else step

    return answer


def backend(name: str, answer: Any) -> ScriptedBackend:
    return ScriptedBackend(answer, name=f"scripted/{name}", max_tokens=900, temperature=0.5)


def keys(*backends: ScriptedBackend) -> list[str]:
    return [f"{one.purpose} {one.key()[:16]}" for model in backends for one in model.requests]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        yield Client(ledger)


async def test_calls_that_rewrite_and_review_a_prompt(client: Client) -> None:
    four = load_framings()
    near = {**GOOD, "emotion_agree": PROMPT}
    writer = backend("writer", answers(near, GOOD))
    reviewer = backend("reviewer", answers(NO_OBJECT))
    await reframe(client, "vote", PROMPT, framings=four, rewriter=writer, reviewer=reviewer)
    other = backend("other", answers(CUT_OFF, GOOD))
    await reframe(
        client, "vote", PROMPT, framings=four, rewriter=other, reviewer=reviewer, repeat=1
    )
    assert keys(writer, reviewer, other) == [
        "rewrite f6832b560a8cab4e",
        "rewrite 410a8b56bcda93f5",
        "review 9eb43fd78f725536",
        "review 0ff25b12f482902a",
        "review 9f71434aa9911925",
        "rewrite 30a1b185a2141c9e",
        "rewrite 810f471d97b407f8",
    ]


async def test_calls_that_construct_prompts_and_judge_them(client: Client) -> None:
    def short(request: Request) -> dict[str, Any]:
        return {**whole(request), "prompt_2_question": "Why?"}

    writers = [
        backend("alpha", answers(short)),
        backend("betabeta", answers(CUT_OFF)),
    ]
    judge = backend("judge", answers(NO_OBJECT, CUT_OFF))
    await construct(
        Construction(
            Material("s1", "bbq", "Two people wait for a bus.", "age", 2, True),
            tuple(writers), (judge,), client, Design(), re.compile("computer"),
        )
    )  # fmt: skip
    assert sorted(keys(*writers, judge)) == [
        "classify 56743ed125ef748a",
        "classify b25a229288770373",
        "classify d517a3bcc16d44df",
        "classify d87f41fe2eed6003",
        "classify f9327795ed777db6",
        "generate 1ef45575f30334a2",
        "generate 346a2b70ad3bbb6f",
        "generate 5de5bdc2f0184614",
        "generate f2d01febb443e9ac",
    ]


async def test_calls_that_put_a_question_to_judges(client: Client) -> None:
    question = JudgeQuestion(
        template="test-1",
        task="Say which side the answer takes.",
        texts={"QUESTION": "For or against?", "ANSWER": "Hm."},
        fields={"reasoning": "string", "side": "string"},
        decides=("side",),
        choices={"side": ("for", "against")},
    )
    said = {"reasoning": "It says so.", "side": "against"}
    judges = [
        backend("first", answers({"side": "for"})),
        backend("second", answers({**said, "side": "neither"}, said)),
        backend("third", answers(CUT_OFF)),
    ]
    await adjudicate(client, question, judges)
    # In which order the third is shown what the others said depends on the marker.
    assert keys(*judges[:2]) == [
        "classify 5922618c616f2227",
        "classify 2cb7b9bbfad9dfb7",
        "classify 0505bd2478f45662",
        "classify d332cccf90c69c16",
    ]
    assert keys(judges[2]) in (
        [
            "classify 9eeddb9847483b3e",
            "classify 89dd1f05745f415d",
        ],
        [
            "classify 167ca2554c016d0d",
            "classify ba824a603d7b86cc",
        ],
    )


async def test_calls_that_write_scenarios(client: Client) -> None:
    def deeds(request: Request) -> dict[str, str]:
        asked = (request.schema or {})["properties"]
        reply = {key: "the clerk" for key in asked if key.startswith("other")}
        reply |= {
            key: f"P1, who has {key[-1]}00 dollars a month, {DEEDS[int(key[-1]) - 1]}."
            for key in asked
            if key.startswith("scenario")
        }
        return reply or dict.fromkeys(asked, "P1 rides a bus.")

    def one_bad(request: Request) -> dict[str, str]:
        return {**deeds(request), "scenario_2": "Somebody steals?"}

    writer = backend("writer", answers(NO_OBJECT, one_bad, deeds, NO_OBJECT, then=deeds))
    await make_scenarios(client, writer, "hunger", count=2, versions=2)
    assert sorted(keys(writer)) == [
        "generate 041b074d4dbbfb10",
        "generate 0bdd0c38ba5ac125",
        "generate 36221e6d3e3fdfde",
        "generate 4516e90977b43864",
        "generate 5bde60aa9ca695d9",
        "generate b884e65ef78326d0",
    ]


async def test_calls_that_build_a_concept_pair(client: Client) -> None:
    scene = {"scene": "{X} sat down.", "option_one": "{X} got the sum wrong, as she always does."}
    pair = {"concept_one": "bad at sums", "concept_two": "good at sums"}
    writer = backend(
        "writer",
        answers(
            CUT_OFF, {"summary": "One group is bad at sums."}, {"concept_one": "x"}, pair, scene,
            {"option_two": "{X} wrote the total down."},
        ),
    )  # fmt: skip
    checker = backend("checker", answers({"reason": "They contrast.", "is_good": True, **pair}))
    source = "They cannot do sums."
    await build_concept("s1", source, writer=writer, checker=checker, client=client)
    assert keys(writer, checker) == [
        "generate 9d44fba442c93d22",
        "generate 908263a1e7cbe263",
        "generate 4058d66c30b82402",
        "generate 5d2e2b2cb7ca8162",
        "generate a56011d4d5460b08",
        "generate d6f1d70b596ede74",
        "generate 2b2168ad631dd778",
        "generate 31f41cd8173c22e2",
    ]
