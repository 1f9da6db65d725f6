"""The whole road over real HTTP: three protocols, every fault, one vote a planned judgment."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel, Run, Verdict, load_rubric
from areopagus.records.ledger import Ledger
from areopagus.records.tables import read_judgments
from areopagus.testing import (
    TRANSIENT_FAULTS,
    Fault,
    ProviderServer,
    ServedReply,
    ServedRequest,
    by_hash,
    constant,
    flaky,
)

MODELS = ("openai", "anthropic", "ollama")


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer(by_hash(1, 10), trickle_s=0.3) as running:
        yield running


def specs(server: ProviderServer) -> list[dict[str, Any]]:
    return [
        {"model": "openai/gpt-4o-mini", "name": "openai", "api_base": server.openai_base},
        {
            "model": "anthropic/claude-sonnet-4-5",
            "name": "anthropic",
            "api_base": server.anthropic_base,
            "prices": {"input": 3, "output": 15},
        },
        {
            "model": "openai/nobody-knows-it",
            "name": "unknown",
            "api_base": server.openai_base,
        },
        {"model": "ollama_chat/llama3.1", "name": "ollama", "api_base": server.ollama_base},
    ]


def three(server: ProviderServer, **settings: Any) -> list[dict[str, Any]]:
    return [{**spec, **settings} for spec in specs(server) if spec["name"] in MODELS]


def rows(n: int) -> list[dict[str, str]]:
    return [
        {
            "response_id": f"r{i}",
            "prompt_id": f"p{i % 6}",
            "prompt_text": f"What is owed in case {i % 6}?",
            "response_text": f"In case {i} much is owed, because promises bind.",
            "respondent_id": "writer",
        }
        for i in range(n)
    ]


def always(fault: Fault) -> Callable[[ServedRequest], ServedReply]:
    honest = by_hash(1, 10)

    def answer(request: ServedRequest) -> ServedReply:
        reply = honest(request)
        assert isinstance(reply, ServedReply)
        return dataclasses.replace(reply, fault=fault)

    return answer


def test_ten_personas_on_three_protocols_give_thirty_judgments_a_response(
    server: ProviderServer, tmp_path: Path
) -> None:
    server.judge = by_hash(1, 10)
    server.reset()
    with Panel(specs(server)) as panel:
        run = panel.score_many(rows(6), tmp_path / "run")
        ledger_path = panel.ledger.path
    assert run.n_scored == run.n_planned == 6 * 40
    assert server.counts.answered == 240
    judgments = list(read_judgments(run.path))
    by_model = {name: [j for j in judgments if j["model"] == name] for name in (*MODELS, "unknown")}
    assert {len(found) for found in by_model.values()} == {60}
    for found in by_model.values():
        assert all(j["input_tokens"] > 0 and j["output_tokens"] > 0 for j in found)
        assert {j["structured"] for j in found} == {"json_schema"}
    # Known by litellm's list, known by the settings, free, unknown.
    assert all(j["cost_usd"] > 0 for j in by_model["openai"])
    for j in by_model["anthropic"]:
        assert j["cost_usd"] == pytest.approx(
            (3 * j["input_tokens"] + 15 * j["output_tokens"]) / 1e6
        )
    assert {j["cost_usd"] for j in by_model["ollama"]} == {0.0}
    assert {j["cost_usd"] for j in by_model["unknown"]} == {None}
    assert run.record["cost"]["judgments_with_unknown_price"] == 60
    with Ledger.open(ledger_path, read_only=True) as ledger:
        stored = ledger.lookup([j["ledger_key"] for j in judgments])
        assert len(stored) == 240
        assert ledger.abandoned() == 0


# What a judgment must end as, on every protocol alike.
FAILED: dict[Fault, str] = {
    Fault.RATE_LIMIT: "rate_limit",
    Fault.RATE_LIMIT_RETRY_AFTER: "rate_limit",
    Fault.RATE_LIMIT_RETRY_AFTER_DATE: "rate_limit",
    Fault.QUOTA: "quota",
    Fault.OVERLOADED: "server",
    Fault.SERVER_ERROR: "server",
    Fault.BAD_GATEWAY: "server",
    Fault.UNAVAILABLE: "server",
    Fault.GATEWAY_TIMEOUT: "timeout",
    Fault.UNAUTHORIZED_ECHOING_KEY: "authentication",
    Fault.FORBIDDEN: "permission",
    Fault.MODEL_NOT_FOUND: "not_found",
    Fault.CONTEXT_LENGTH: "context_length",
    Fault.CONTENT_POLICY: "content_policy",
    Fault.TEMPERATURE_UNSUPPORTED: "bad_request",
    Fault.HANG: "timeout",
    Fault.TRICKLE: "timeout",
}
BROKEN = {
    Fault.RESET_BEFORE_ANSWER,
    Fault.RESET_MID_BODY,
    Fault.CLOSE_BEFORE_ANSWER,
    Fault.CLOSE_MID_BODY,
    Fault.TRUNCATED_BODY,
    Fault.HTML_PAGE,
}
UNREADABLE: dict[Fault, str] = {
    Fault.TOOL_CALL: "tool_call",
    Fault.CUT_BY_LENGTH: "truncated",
    Fault.HUGE: "too_large",
    Fault.DUPLICATE_KEYS: "duplicate_key",
    Fault.SCORE_AS_STRING: "wrong_type",
    Fault.SCORE_AS_FLOAT: "wrong_type",
    Fault.SCORE_AS_FRACTION: "wrong_type",
    Fault.SCORE_AS_BOOLEAN: "wrong_type",
    Fault.SCORE_NULL: "wrong_type",
    Fault.OUT_OF_RANGE: "out_of_range",
    Fault.MISSING_KEY: "missing_key",
    Fault.EXTRA_KEY: "extra_key",
    Fault.NOT_A_NUMBER: "wrong_type",
    Fault.DEEPLY_NESTED: "too_large",
    Fault.OTHER_LANGUAGE: "not_json",
}
SCORED = {Fault.WRONG_CONTENT_TYPE, Fault.FENCED, Fault.PROSE_BEFORE}


def ask(server: ProviderServer, fault: Fault) -> Verdict:
    server.judge = always(fault)
    server.reset()
    settings = {"timeout_s": 3.0, "max_attempts": 2, "max_wait_s": 2.0}
    # A form of structured output that is set: the probe would ask in others.
    with Panel(three(server, structured="json_schema", **settings), personas=["historian"]) as p:
        return p.score(f"What of {fault}?", f"Of {fault} one may say that promises bind.")


@pytest.mark.parametrize("fault", FAILED)
def test_a_call_that_brings_no_reply_fails_with_the_class_of_its_fault(
    server: ProviderServer, fault: Fault
) -> None:
    judgments = ask(server, fault).judgments
    for judgment in judgments:
        assert (judgment.status, judgment.reason) == ("failed", FAILED[fault]), judgment.model
        assert judgment.scores == {}
        assert judgment.attempts >= 1
    assert sum(judgment.attempts for judgment in judgments) == server.counts.total


@pytest.mark.parametrize("fault", sorted(BROKEN))
def test_a_broken_answer_is_tried_again_and_then_failed(
    server: ProviderServer, fault: Fault
) -> None:
    for judgment in ask(server, fault).judgments:
        assert judgment.status == "failed"
        assert judgment.reason in ("connection", "server"), judgment.model
        assert judgment.attempts == 2
    assert server.counts.total >= 6  # two attempts each


@pytest.mark.parametrize("fault", UNREADABLE)
def test_a_reply_without_a_vote_is_repaired_once_and_then_unreadable(
    server: ProviderServer, fault: Fault
) -> None:
    for judgment in ask(server, fault).judgments:
        assert (judgment.status, judgment.reason) == ("unreadable", UNREADABLE[fault])
        assert (judgment.repaired, judgment.calls) == (True, 2)
        assert judgment.composite is None
    assert server.counts.answered == 6


@pytest.mark.parametrize("fault", sorted(SCORED))
def test_a_vote_in_odd_wrapping_is_read(server: ProviderServer, fault: Fault) -> None:
    assert [j.status for j in ask(server, fault).judgments] == ["scored"] * 3
    assert server.counts.answered == 3


@pytest.mark.parametrize(
    ("fault", "outcomes"),
    [
        (
            Fault.EMPTY_CHOICES,
            [("unreadable", "empty"), ("unreadable", "empty"), ("failed", "bad_reply")],
        ),
        (
            Fault.CONTENT_NULL,
            [("unreadable", "empty"), ("failed", "bad_reply"), ("failed", "bad_reply")],
        ),
        (
            Fault.REFUSAL,
            [("refused", "refusal"), ("refused", "content_filter"), ("refused", "refusal")],
        ),
        (
            Fault.CONTENT_FILTER,
            [("refused", "content_filter"), ("refused", "content_filter"), ("unreadable", "empty")],
        ),
    ],
)
def test_what_the_protocols_say_differently_ends_as_each_can_say_it(
    server: ProviderServer, fault: Fault, outcomes: list[tuple[str, str]]
) -> None:
    found = [(j.status, j.reason) for j in ask(server, fault).judgments]
    assert found == outcomes


def test_an_endpoint_without_structured_output_is_learned_and_scores() -> None:
    vote = dict.fromkeys(load_rubric("critical_thinking").dimension_ids, 6)
    answer = constant(json.dumps({**vote, "abstained": False}))
    with ProviderServer(answer, supports=("json_object",)) as plain:
        spec = {"model": "openai/plain", "api_base": plain.openai_base}
        with Panel(spec) as panel:
            verdict = panel.score("What is owed?", "Much is owed, because promises bind.")
        # the server reads past the schema that stands beside the type
        assert {j.structured for j in verdict.judgments} == {"json_object_schema"}
        assert verdict.n_scored == 10
        assert plain.counts.total == 11  # ten judgments and one refused form


def test_every_fault_that_the_server_knows_stands_in_one_of_these_tables() -> None:
    told = {*FAILED, *BROKEN, *UNREADABLE, *SCORED} | {
        Fault.EMPTY_CHOICES,
        Fault.CONTENT_NULL,
        Fault.REFUSAL,
        Fault.CONTENT_FILTER,
        Fault.RESPONSE_FORMAT_UNSUPPORTED,  # learned, not failed: see the test above
    }
    assert told == set(Fault)


def _tables(run: Run) -> tuple[bytes, list[dict[str, Any]]]:
    return (run.path / "scores.csv").read_bytes(), list(read_judgments(run.path))


@pytest.mark.slow
def test_after_transient_faults_the_tables_equal_those_of_a_faultless_run(
    server: ProviderServer, tmp_path: Path
) -> None:
    server.judge = by_hash(1, 10)
    server.reset()
    with Panel(three(server), ledger=tmp_path / "calm.sqlite") as panel:
        calm = panel.score_many(rows(6), tmp_path / "calm")
    passing = sorted(set(TRANSIENT_FAULTS) - {Fault.HANG, Fault.TRICKLE})
    server.judge = flaky(by_hash(1, 10), passing, 0.2, seed=3)
    server.reset()
    settings = {"timeout_s": 5.0, "max_attempts": 12}
    with Panel(three(server, **settings), ledger=tmp_path / "rough.sqlite") as panel:
        rough = panel.score_many(rows(6), tmp_path / "rough")
    assert rough.record["sessions"][-1]["calls"]["attempts"] > 180
    assert rough.n_scored == rough.n_planned == 180
    assert _tables(rough) == _tables(calm)
