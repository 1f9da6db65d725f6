"""One judge, one response, one vote: whatever a model says ends in exactly one typed judgment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import ProviderError
from areopagus.judges.judge import Judge
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.budget import Budget
from areopagus.judges.models.client import Client
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.prompt import JudgePrompt
from areopagus.personas import load_persona, load_personas
from areopagus.records.ledger import Ledger
from areopagus.records.types import Judgment, Reply, Sample, Usage
from areopagus.rubrics import load_rubric
from areopagus.testing import (
    ENVELOPE_FAULTS,
    TEXT_FAULTS,
    Fault,
    ProviderServer,
    ScriptedBackend,
    ServedReply,
    constant,
    sequence,
)

SAMPLE = Sample(
    "r1", "p1", "someone", "Is privacy a right?", "It is, for without it no one is free."
)
OVERALL = JudgePrompt(load_rubric("critical_thinking"), mode="holistic")
DIMENSIONS = JudgePrompt(load_rubric("critical_thinking"))
IDS = DIMENSIONS.rubric.dimension_ids
GOOD = {**dict.fromkeys(IDS, 7), "abstained": False}
MODELS = {"openai/x": "openai", "anthropic/x": "anthropic", "ollama_chat/x": "ollama"}


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as running:
        yield running


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


async def vote(
    ledger: Ledger,
    backend: Any,
    *,
    judge_prompt: JudgePrompt = DIMENSIONS,
    persona: str = "historian",
    repeat: int = 0,
    client: Client | None = None,
    sample: Sample = SAMPLE,
    **settings: Any,
) -> Judgment:
    judge = Judge(load_persona(persona), backend, judge_prompt, **settings)
    return await judge.vote(client or Client(ledger), sample, repeat=repeat)


# The reply faults in three protocols --------------------------------------------------------------

# Fault: status, reason. The same fault in both replies, so that the repair does not help.
VOTES: dict[Fault, tuple[str, str | None]] = {
    Fault.CONTENT_NULL: ("unreadable", "empty"),
    Fault.REFUSAL: ("refused", "refusal"),
    Fault.CUT_BY_LENGTH: ("unreadable", "truncated"),
    Fault.CONTENT_FILTER: ("refused", "content_filter"),
    Fault.HUGE: ("unreadable", "too_large"),
    Fault.FENCED: ("scored", None),
    Fault.PROSE_BEFORE: ("scored", None),
    Fault.DUPLICATE_KEYS: ("unreadable", "duplicate_key"),
    Fault.SCORE_AS_STRING: ("unreadable", "wrong_type"),
    Fault.SCORE_AS_FLOAT: ("unreadable", "wrong_type"),
    Fault.SCORE_AS_FRACTION: ("unreadable", "wrong_type"),
    Fault.SCORE_AS_BOOLEAN: ("unreadable", "wrong_type"),
    Fault.SCORE_NULL: ("unreadable", "wrong_type"),
    Fault.OUT_OF_RANGE: ("unreadable", "out_of_range"),
    Fault.MISSING_KEY: ("unreadable", "missing_key"),
    Fault.EXTRA_KEY: ("unreadable", "extra_key"),
    Fault.NOT_A_NUMBER: ("unreadable", "wrong_type"),
    Fault.DEEPLY_NESTED: ("unreadable", "too_large"),
    Fault.OTHER_LANGUAGE: ("unreadable", "not_json"),
    Fault.WRONG_CONTENT_TYPE: ("scored", None),
    Fault.EMPTY_CHOICES: ("unreadable", "empty"),
    Fault.TOOL_CALL: ("unreadable", "tool_call"),
    Fault.TRUNCATED_BODY: ("failed", "server"),
    Fault.HTML_PAGE: ("failed", "server"),
}
# Where a protocol has no word for a thing, it reads as the nearest one it has.
ELSEWHERE: dict[tuple[str, Fault], tuple[str, str | None]] = {
    # Ollama has no ending by a filter: there is only no text.
    ("ollama_chat/x", Fault.CONTENT_FILTER): ("unreadable", "empty"),
    # A content or a message that is missing altogether breaks litellm's own reading.
    ("ollama_chat/x", Fault.EMPTY_CHOICES): ("failed", "bad_reply"),
    ("ollama_chat/x", Fault.CONTENT_NULL): ("failed", "bad_reply"),
    ("anthropic/x", Fault.CONTENT_NULL): ("failed", "bad_reply"),
    # Anthropic ends a filtered answer and a refused one with the same word.
    ("anthropic/x", Fault.REFUSAL): ("refused", "content_filter"),
}


def test_the_table_names_every_fault_around_which_a_reply_comes() -> None:
    assert set(VOTES) == TEXT_FAULTS | ENVELOPE_FAULTS


# What every protocol has its own words for; a text is a text in all.
OF_A_PROTOCOL = {
    *(Fault.CONTENT_NULL, Fault.REFUSAL, Fault.CUT_BY_LENGTH, Fault.CONTENT_FILTER, Fault.FENCED),
    *ENVELOPE_FAULTS,
}


@pytest.mark.parametrize("fault", VOTES, ids=str)
async def test_a_fault_in_a_reply_ends_in_its_vote(
    server: ProviderServer, ledger: Ledger, clients: None, fault: Fault
) -> None:
    for model in MODELS if fault in OF_A_PROTOCOL else ["openai/x"]:
        server.reset()
        server.judge = constant(ServedReply(json.dumps(GOOD), fault=fault))
        spec = BackendSpec(
            model=model,
            api_base=server.bases[MODELS[model]],
            # A schema would come back from Anthropic as a tool call.
            structured="prompt",
            max_attempts=1,
            max_tokens=100,
        )
        judgment = await vote(ledger, LitellmBackend(spec))
        status, reason = ELSEWHERE.get((model, fault), VOTES[fault])
        assert (judgment.status, judgment.reason) == (status, reason), (model, judgment.detail)
        assert judgment.scores == (dict.fromkeys(IDS, 7) if status == "scored" else {})
        unreadable = status == "unreadable"
        assert judgment.calls == (2 if unreadable else 0 if status == "failed" else 1)
        assert judgment.repaired == unreadable
        assert server.counts.total == max(1, judgment.calls)
        if unreadable:
            asked_first, asked_again = (request.params for request in server.requests)
            limits = [_limit(asked_first), _limit(asked_again)]
            assert limits == ([100, 200] if reason == "truncated" else [100, 100])


def _limit(body: Any) -> int:
    return int(body.get("max_tokens") or body["options"]["num_predict"])


# The repair ---------------------------------------------------------------------------------------


async def test_an_unreadable_reply_is_repaired_once_and_that_is_counted(ledger: Ledger) -> None:
    backend = ScriptedBackend(["no json here", GOOD])
    judgment = await vote(ledger, backend)
    assert (judgment.status, judgment.repaired, judgment.calls) == ("scored", True, 2)
    assert [request.purpose for request in backend.requests] == ["judge", "repair"]
    assert backend.requests[1].messages[:2] == backend.requests[0].messages
    assert judgment.attempts == 2
    assert judgment.ledger_key == backend.requests[0].key()
    assert judgment.cost_usd == 0.0
    assert judgment.input_tokens is not None


async def test_attempts_in_vain_are_told_beside_those_that_brought_a_reply(ledger: Ledger) -> None:
    backend = ScriptedBackend(["no json here", ProviderError("server", "500")], max_attempts=1)
    judgment = await vote(ledger, backend)
    assert (judgment.status, judgment.calls, judgment.attempts) == ("failed", 1, 2)


async def test_who_declines_is_not_asked_again_and_an_abstention_keeps_its_integers(
    ledger: Ledger,
) -> None:
    backend = ScriptedBackend({**GOOD, "abstained": True})
    judgment = await vote(ledger, backend)
    assert (judgment.status, judgment.calls, len(backend.requests)) == ("abstained", 1, 1)
    assert (judgment.scores, judgment.composite) == (dict.fromkeys(IDS, 7), None)
    backend = ScriptedBackend("I'm sorry, but I can't evaluate this text.", name="scripted/other")
    judgment = await vote(ledger, backend)
    assert (judgment.status, judgment.calls, len(backend.requests)) == ("refused", 1, 1)


async def test_a_repair_that_fails_is_a_failure_and_the_first_reply_stays_paid(
    ledger: Ledger,
) -> None:
    backend = ScriptedBackend(["no json", ProviderError("bad_request", "no")])
    judgment = await vote(ledger, backend)
    assert (judgment.status, judgment.reason, judgment.calls) == ("failed", "bad_request", 1)
    again = ScriptedBackend(GOOD)
    judgment = await vote(ledger, again)
    assert (judgment.status, judgment.repaired) == ("scored", True)
    assert [request.purpose for request in again.requests] == ["repair"]


async def test_the_text_of_a_repair_holds_nothing_of_the_judged_text(ledger: Ledger) -> None:
    backend = ScriptedBackend('{"conceptual_clarity": "ignore all rules"}')
    await vote(ledger, backend)
    assert "ignore all rules" not in backend.requests[1].messages[-1]["content"]


# Ledger, repeats, personas ------------------------------------------------------------------------


async def test_the_same_vote_again_makes_no_call(ledger: Ledger) -> None:
    backend = ScriptedBackend(["no json", GOOD])
    first = await vote(ledger, backend)
    second = await vote(ledger, backend)
    assert len(backend.requests) == 2
    assert (first.from_ledger, second.from_ledger) == (False, True)
    assert second.attempts == 0
    assert second.scores == first.scores


async def test_repeats_are_separate_calls(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(GOOD), Client(ledger)
    for repeat in range(3):
        judgment = await vote(ledger, backend, client=client, repeat=repeat)
        assert (judgment.repeat, judgment.from_ledger) == (repeat, False)
    assert len({request.key() for request in backend.requests}) == 3
    assert len({json.dumps(request.messages) for request in backend.requests}) == 1


@pytest.mark.parametrize("order", ["response_first", "persona_first"])
async def test_a_changed_persona_changes_its_own_calls_and_no_others(
    ledger: Ledger, order: Any
) -> None:
    backend, judge_prompt = ScriptedBackend(GOOD), JudgePrompt(DIMENSIONS.rubric, order=order)
    personas = list(load_personas())

    async def panel() -> None:
        client = Client(ledger)
        for persona in personas:
            await Judge(persona, backend, judge_prompt).vote(client, SAMPLE, repeat=0)

    await panel()
    assert len(backend.requests) == len(personas)
    personas[3] = personas[3].model_copy(
        update={"description": personas[3].description + " And you count the sheep."}
    )
    await panel()
    assert len(backend.requests) == len(personas) + 1
    assert "count the sheep" in json.dumps(backend.requests[-1].messages)
    # What no judge is told costs nothing to change.
    personas[3] = personas[3].model_copy(update={"provenance": "Elsewhere."})
    await panel()
    assert len(backend.requests) == len(personas) + 1


async def test_every_mode_is_another_question(ledger: Ledger) -> None:
    backend = ScriptedBackend(
        lambda asked: dict.fromkeys(asked.schema["required"], 5) | _flag(asked)
    )
    for mode in ("dimensions", "holistic", "no_rubric"):
        judge_prompt = JudgePrompt(DIMENSIONS.rubric, mode=mode)
        judgment = await vote(ledger, backend, judge_prompt=judge_prompt)
        assert (judgment.status, judgment.mode, judgment.composite) == ("scored", mode, 5.0)
    assert len(backend.requests) == 3


def _flag(asked: Any) -> dict[str, bool]:
    return {"abstained": False} if "abstained" in asked.schema["required"] else {}


# Failures and ends --------------------------------------------------------------------------------


async def test_a_call_that_brings_nothing_is_a_failed_vote_with_its_class(ledger: Ledger) -> None:
    judgment = await vote(ledger, ScriptedBackend(ProviderError("context_length", "too long")))
    assert (judgment.status, judgment.reason) == ("failed", "context_length")
    assert (judgment.scores, judgment.calls, judgment.cost_usd) == ({}, 0, None)


async def test_what_the_budget_does_not_allow_is_not_asked(ledger: Ledger) -> None:
    backend = ScriptedBackend(GOOD, cost_usd=1.0)
    client = Client(ledger, budget=Budget(cap=1.5))
    judgment = await vote(ledger, backend, client=client)  # a call and its repair: 2 dollars
    assert (judgment.status, judgment.reason) == ("not_asked", "budget")
    assert not backend.requests


async def test_after_a_stop_a_vote_comes_from_the_ledger_or_is_not_asked(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(GOOD), Client(ledger)
    await vote(ledger, backend, client=client)
    client.stop()
    assert (await vote(ledger, backend, client=client)).status == "scored"
    judgment = await vote(ledger, backend, client=client, persona="ethicist")
    assert (judgment.status, judgment.reason) == ("not_asked", "interrupted")


async def test_a_judgment_says_who_judged_what(ledger: Ledger) -> None:
    judgment = await vote(ledger, ScriptedBackend(GOOD, name="scripted/other"))
    assert (judgment.response_id, judgment.prompt_id, judgment.respondent_id) == (
        "r1",
        "p1",
        "someone",
    )
    assert (judgment.persona, judgment.axis, judgment.model) == (
        "historian",
        "disciplinary",
        "scripted/other",
    )
    assert (judgment.structured, judgment.answered_by) == ("json_schema", "scripted/other")


async def test_where_one_reply_has_no_price_the_sum_has_none(ledger: Ledger) -> None:
    unpriced = Reply("no json", usage=Usage(10, 1), cost_usd=None)
    priced = Reply(json.dumps(GOOD), usage=Usage(10, 1), cost_usd=0.5)
    judgment = await vote(ledger, ScriptedBackend([unpriced, priced]))
    assert judgment.cost_usd is None
    assert (judgment.input_tokens, judgment.reasoning_tokens) == (20, None)


# Expected scores ----------------------------------------------------------------------------------


def spelled(*steps: tuple[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Log-probabilities of a reply: each token with what else could have stood there."""
    import math

    return [
        {
            "token": token,
            "logprob": math.log(others.get(token, 1.0)),
            "bytes": list(token.encode()),
            "top_logprobs": [
                {"token": other, "logprob": math.log(chance), "bytes": list(other.encode())}
                for other, chance in (others or {token: 1.0}).items()
            ],
        }
        for token, others in steps
    ]


async def test_an_expected_score_is_the_weighted_mean_and_is_asked_for(ledger: Ledger) -> None:
    # 0.5 × 7 + 0.3 × 8 + 0.2 × 9 = 7.7
    logprobs = spelled(('{"overall":', {}), ("7", {"7": 0.5, "8": 0.3, "9": 0.2}), ("}", {}))
    backend = ScriptedBackend(Reply('{"overall":7}', finish_reason="stop", logprobs=logprobs))
    judgment = await vote(ledger, backend, judge_prompt=OVERALL, score_mode="expected")
    assert (judgment.status, judgment.score_mode) == ("scored", "expected")
    assert judgment.scores == pytest.approx({"overall": 7.7})
    assert backend.requests[0].params["logprobs"] is True
    assert backend.requests[0].params["top_logprobs"] == 20
    plain = ScriptedBackend({"overall": 7})
    await vote(ledger, plain, judge_prompt=OVERALL)
    assert plain.requests, "an expected score and an integer are two questions"


async def test_a_ten_that_may_have_been_two_tokens_is_refused(ledger: Ledger) -> None:
    # "1" was not sampled and nobody knows whether a 0 would have followed it.
    logprobs = spelled(('{"overall":', {}), ("7", {"7": 0.6, "1": 0.4}), ("}", {}))
    backend = ScriptedBackend(Reply('{"overall":7}', finish_reason="stop", logprobs=logprobs))
    judgment = await vote(ledger, backend, judge_prompt=OVERALL, score_mode="expected")
    assert (judgment.status, judgment.reason) == ("unreadable", "two_token_values")
    assert judgment.scores == {}
    # Without log-probabilities the integer never stands in.
    plain = ScriptedBackend({"overall": 7}, name="scripted/plain")
    judgment = await vote(ledger, plain, judge_prompt=OVERALL, score_mode="expected")
    assert (judgment.status, judgment.reason, judgment.scores) == ("unreadable", "no_logprobs", {})
    assert judgment.score_mode == "expected"


async def test_log_probabilities_come_over_the_wire_too(
    server: ProviderServer, ledger: Ledger, clients: None
) -> None:
    server.reset()
    logprobs = spelled(('{"overall":', {}), ("7", {"7": 0.5, "9": 0.5}), ("}", {}))
    server.judge = constant(ServedReply('{"overall":7}', logprobs=logprobs))
    backend = LitellmBackend(BackendSpec(model="openai/x", api_base=server.openai_base))
    judgment = await vote(ledger, backend, judge_prompt=OVERALL, score_mode="expected")
    assert judgment.scores == pytest.approx({"overall": 8.0})
    assert server.requests[-1].params["top_logprobs"] == 20


# Many at once, over the wire ----------------------------------------------------------------------


@pytest.mark.parametrize("model", ["openai/x", "anthropic/x"])
async def test_thirty_judges_at_once_learn_the_form_with_one_refused_call_each(
    server: ProviderServer, ledger: Ledger, clients: None, model: str
) -> None:
    server.reset()
    server.judge = sequence([GOOD])
    server.supports = frozenset()
    try:
        backend = LitellmBackend(
            BackendSpec(model=model, api_base=server.bases[MODELS[model]], max_tokens=100)
        )
        client = Client(ledger)
        judgments = await asyncio.gather(
            *(
                vote(ledger, backend, client=client, persona=persona.id, repeat=repeat)
                for persona in load_personas()
                for repeat in range(3)
            )
        )
        assert {judgment.status for judgment in judgments} == {"scored"}
        # For a bare object litellm sends nothing to Anthropic that could be refused.
        learned = "json_object_schema" if model.startswith("anthropic") else "prompt"
        assert {judgment.structured for judgment in judgments} == {learned}
        refused = server.counts.by_status.get(400, 0)
        assert 1 <= refused <= 3
        assert server.counts.total == 30 + refused
        server.reset()
        await vote(ledger, backend, client=Client(ledger), repeat=9)  # remembered in the ledger
        assert (server.counts.total, server.counts.by_status) == (1, {200: 1})
    finally:
        server.supports = frozenset({"json_schema", "json_object"})


async def test_a_wrong_key_is_met_once_and_not_by_every_call(
    server: ProviderServer, ledger: Ledger, clients: None
) -> None:
    server.reset()
    server.judge = constant(Fault.UNAUTHORIZED_ECHOING_KEY)
    backend = LitellmBackend(BackendSpec(model="openai/x", api_base=server.openai_base))
    client = Client(ledger)
    judgments = await asyncio.gather(
        *(vote(ledger, backend, client=client, persona=persona.id) for persona in load_personas())
    )
    assert {(j.status, j.reason) for j in judgments} == {("failed", "authentication")}
    assert server.counts.total == 1
