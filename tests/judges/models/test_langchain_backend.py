"""Any langchain-core chat model is a backend, through the same reading, limits and ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage
from pydantic import Field, SecretStr

from areopagus.errors import ProviderError
from areopagus.judges.judge import Judge
from areopagus.judges.models.backend import Backend
from areopagus.judges.models.client import Client
from areopagus.judges.models.langchain_backend import ChatModelBackend, is_chat_model
from areopagus.judges.models.prices import Prices
from areopagus.judges.models.request import Request
from areopagus.judges.prompt import JudgePrompt
from areopagus.personas import load_persona
from areopagus.records.ledger import Ledger
from areopagus.records.types import Judgment, Sample
from areopagus.rubrics import load_rubric

JUDGE_PROMPT = JudgePrompt(load_rubric("critical_thinking"), mode="holistic")
SAMPLE = Sample("r1", "p1", "someone", "Is privacy a right?", "It is.")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


async def vote(ledger: Ledger, backend: ChatModelBackend) -> Judgment:
    judge = Judge(load_persona("historian"), backend, JUDGE_PROMPT)
    return await judge.vote(Client(ledger), SAMPLE, repeat=0)


def says(*messages: AIMessage, **settings: Any) -> ChatModelBackend:
    return ChatModelBackend(FakeMessagesListChatModel(responses=list(messages)), **settings)


def asked(backend: ChatModelBackend) -> Request:
    return Request(
        backend.spec.model,
        "",
        ({"role": "system", "content": "Judge."}, {"role": "user", "content": "A text."}),
        backend.spec.parameters(),
    )


def test_a_chat_model_is_recognised_and_nothing_else_is() -> None:
    assert is_chat_model(FakeListChatModel(responses=["x"]))
    assert not is_chat_model("openai/x")
    assert not is_chat_model(object())
    assert isinstance(says(AIMessage("x")), Backend)


async def test_a_chat_model_votes_repairs_and_is_remembered(ledger: Ledger) -> None:
    first = await vote(
        ledger, ChatModelBackend(FakeListChatModel(responses=["no json", '{"overall": 7}']))
    )
    assert (first.status, first.scores, first.repaired) == ("scored", {"overall": 7.0}, True)
    assert first.structured == "prompt"
    again = await vote(
        ledger, ChatModelBackend(FakeListChatModel(responses=["no json", '{"overall": 7}']))
    )
    assert (again.from_ledger, again.scores) == (True, first.scores)


async def test_roles_and_texts_reach_the_model_as_they_are(ledger: Ledger) -> None:
    seen: list[Any] = []

    class Listening(FakeListChatModel):
        def _call(self, messages: list[Any], *rest: Any, **named: Any) -> str:
            seen.extend((message.type, message.content) for message in messages)
            return "7"

    backend = ChatModelBackend(Listening(responses=["7"]))
    await backend.send(asked(backend))
    assert seen == [("system", "Judge."), ("human", "A text.")]


async def test_usage_endings_and_names_are_read() -> None:
    message = AIMessage(
        "7",
        id="id-1",
        usage_metadata={
            "input_tokens": 100,
            "output_tokens": 20,
            "total_tokens": 120,
            "input_token_details": {"cache_read": 40, "cache_creation": 10},
            "output_token_details": {"reasoning": 5},
        },
        response_metadata={"finish_reason": "stop", "model_name": "m-1"},
    )
    backend = says(message, prices=Prices(input=1, output=2, cached_input=0.5, cache_write=3))
    reply = await backend.send(asked(backend))
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens) == (100, 20)
    assert (usage.cached_input_tokens, usage.cache_write_tokens) == (40, 10)
    assert usage.reasoning_tokens == 5
    # 50 × 1 + 40 × 0.5 + 10 × 3 + 20 × 2 dollars a million
    assert reply.cost_usd == pytest.approx(140 / 1e6)
    assert (reply.finish_reason, reply.answered_by) == ("stop", "m-1")


async def test_what_a_model_does_not_say_is_unknown() -> None:
    backend = says(AIMessage("7"))
    reply = await backend.send(asked(backend))
    assert (reply.usage.input_tokens, reply.cost_usd, reply.finish_reason) == (None, None, None)
    assert backend.worst_cost(1, 1) is None


@pytest.mark.parametrize(
    ("message", "status", "reason"),
    [
        (AIMessage("{", response_metadata={"done_reason": "length"}), "unreadable", "truncated"),
        (
            AIMessage("{", response_metadata={"stop_reason": "max_tokens"}),
            "unreadable",
            "truncated",
        ),
        (AIMessage("", additional_kwargs={"refusal": "No."}), "refused", "refusal"),
        (AIMessage("", additional_kwargs={"refusal": {"odd": 1}}), "unreadable", "empty"),
        (
            AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
            "unreadable",
            "tool_call",
        ),
        (
            AIMessage('{"overall": 7}', tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
            "unreadable",
            "tool_call",
        ),
        (AIMessage([{"type": "text", "text": '{"overall"'}, ": 7}"]), "scored", None),
        (AIMessage([{"type": "image", "url": "x"}]), "unreadable", "empty"),
        (AIMessage([{"type": "text"}, '{"overall": 7}']), "scored", None),
    ],
)
async def test_every_kind_of_message_ends_in_a_vote(
    ledger: Ledger, message: AIMessage, status: str, reason: str | None
) -> None:
    judgment = await vote(ledger, says(message))
    assert (judgment.status, judgment.reason) == (status, reason)


async def test_a_model_that_fails_is_classified_and_one_that_hangs_is_left() -> None:
    class Failing(FakeListChatModel):
        def _call(self, *given: Any, **named: Any) -> str:
            raise ConnectionResetError("gone")

    backend = ChatModelBackend(Failing(responses=["x"]))
    with pytest.raises(ProviderError, match="connection"):
        await backend.send(asked(backend))

    class Hanging(FakeListChatModel):
        async def _acall(self, *given: Any, **named: Any) -> str:
            import asyncio

            await asyncio.Event().wait()
            return ""

        async def _agenerate(self, *given: Any, **named: Any) -> Any:
            return await self._acall()

    backend = ChatModelBackend(Hanging(responses=["x"]), timeout_s=0.05)
    with pytest.raises(ProviderError, match=r"no answer within 0\.05 s") as caught:
        await backend.send(asked(backend))
    assert caught.value.may_be_billed


def digest_of(model: Any) -> str:
    return str(ChatModelBackend(model).spec.extra["chat_model_sha256"])


def test_models_of_different_settings_have_different_keys() -> None:
    class Model(GenericFakeChatModel):
        temperature: float = 0.0
        api_key: SecretStr = SecretStr("canary-one")
        plain_token: str = "canary-one"

    def model(**settings: Any) -> Model:
        return Model(messages=iter([]), **settings)

    # langchain's identifying parameters of such a model are empty.
    assert digest_of(model()) == digest_of(model())
    assert digest_of(model()) != digest_of(model(temperature=1.0))
    assert digest_of(model()) != digest_of(GenericFakeChatModel(messages=iter([])))
    # A new key is not a new model, and neither is a tag.
    other = SecretStr("canary-two")
    assert digest_of(model()) == digest_of(model(api_key=other, plain_token="canary-two"))
    assert digest_of(model()) == digest_of(model(tags=["x"], metadata={"run": "y"}))


def test_nothing_of_a_models_own_parameters_is_stored() -> None:
    backend = ChatModelBackend(FakeListChatModel(responses=["canary"]))
    assert "canary" not in json.dumps(asked(backend).description())
    assert "canary" not in backend.spec.model_dump_json()


HELD = "zq7-held-0123456789abcdef"
"""A key of no known form, held by a model and by no variable of the environment."""


class Keyed(FakeListChatModel):
    """A model that says every key it was given, as an error or in its answer."""

    openai_api_key: SecretStr = SecretStr(HELD)
    session_token: str = f"{HELD}-session"
    default_headers: dict[str, str] = Field(
        default_factory=lambda: {"Authorization": f"Basic {HELD}-header"}
    )
    fails: bool = False

    def _call(self, *given: Any, **named: Any) -> str:
        said = f"{HELD}, {self.session_token} and {HELD}-header"
        if self.fails:
            raise ValueError(f"Incorrect API key provided: {said}.")
        return f"You sent {said}."


@pytest.mark.parametrize(
    ("wrap", "fails"),
    [("plain", False), ("plain", True), ("bound", True), ("fallback", True), ("fallback", False)],
)
async def test_a_key_in_a_models_field_is_taken_out_of_answers_and_errors(
    *, fails: bool, wrap: str
) -> None:
    model: Any = Keyed(responses=["x"], fails=fails)
    if wrap == "bound":
        model = model.bind(stop=["x"])
    elif wrap == "fallback":
        model = Keyed(responses=["x"], fails=True).with_fallbacks([model])
    backend = ChatModelBackend(model)
    if fails:
        with pytest.raises(ProviderError, match="Incorrect API key") as caught:
            await backend.send(asked(backend))
        assert HELD not in f"{caught.value} {caught.value.detail}"
    else:
        reply = await backend.send(asked(backend))
        assert reply.text == "You sent [redacted], [redacted] and [redacted]."


async def test_a_key_in_a_models_field_reaches_no_judgment(ledger: Ledger) -> None:
    class Echoing(FakeMessagesListChatModel):
        openai_api_key: SecretStr = SecretStr(HELD)

    echo = AIMessage(
        f'{{"overall": 7, "note": "{HELD}"}}', response_metadata={"model_name": f"m {HELD}"}
    )
    for model in (Echoing(responses=[echo]), Keyed(responses=["x"], fails=True)):
        for _ in ("called", "from the ledger, or called again"):
            assert HELD not in repr(await vote(ledger, ChatModelBackend(model)))


def test_the_keys_of_a_model_are_read_where_they_stand_now() -> None:
    class Client:
        api_key = "of-the-class"

        def __init__(self) -> None:
            self.api_key = f"{HELD}-client"
            self.base_url = "https://one.example"
            self.owner = self

    class Holding(FakeListChatModel):
        api_key: SecretStr | None = None
        client: Any = None
        around: Any = None
        key_bytes: bytes = b""

    model = Holding(responses=["x"], client=Client())
    model.around = [model, {"x": model}]
    backend = ChatModelBackend(model)
    assert backend.secrets() == (f"{HELD}-client",)
    model.api_key, model.key_bytes = SecretStr(HELD), HELD.encode()
    assert backend.secrets() == (HELD, f"{HELD}-client")


async def test_no_tracer_is_told_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    from langsmith import utils
    from langsmith.run_helpers import get_tracing_context

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "canary-canary")
    utils.get_env_var.cache_clear()
    seen: list[Any] = []

    class Listening(FakeListChatModel):
        def _call(self, *given: Any, **named: Any) -> str:
            seen.append(get_tracing_context()["enabled"])
            return "7"

    backend = ChatModelBackend(Listening(responses=["7"]))
    try:
        await backend.send(asked(backend))
    finally:
        utils.get_env_var.cache_clear()
    assert seen == [False]
