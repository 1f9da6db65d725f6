"""The loopback provider, asked by litellm over real sockets."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest

from areopagus.testing import (
    HTTP_FAULTS,
    TEXT_FAULTS,
    Fault,
    ProviderServer,
    ServedReply,
    by_hash,
    constant,
    flaky,
    per_model,
    reserved_port,
    respondent,
    sequence,
)

# Switches that litellm reads on import: no network, no .env, no price list from elsewhere.
for switch, value in {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}.items():
    os.environ.setdefault(switch, value)

# litellm's own typed dicts warn once, when its module for ollama/ is first loaded.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? '.*' on TypedDict class '_Ollama:UserWarning"
)

SCHEMA = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string"},
        "clarity": {"type": "integer", "minimum": 1, "maximum": 10},
        "grounding": {"type": "integer", "minimum": 1, "maximum": 10},
        "abstained": {"type": "boolean"},
    },
    "required": ["rationale", "clarity", "grounding", "abstained"],
    "additionalProperties": False,
}
STRUCTURED = {
    "type": "json_schema",
    "json_schema": {"name": "vote", "schema": SCHEMA, "strict": True},
}
MODELS = (
    "openai/x",
    "anthropic/claude-sonnet-4-5",  # output_format
    "anthropic/x",  # forced tool
    "ollama_chat/x",
)
MESSAGES = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "A text."}]


@pytest.fixture(scope="module")
def litellm():
    import litellm

    litellm.suppress_debug_info = True
    return litellm


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer(retry_after_s=3) as running:
        yield running


def base_of(server, model):
    provider = model.partition("/")[0]
    return {
        "openai": server.openai_base,
        "hosted_vllm": server.openai_base,
        "anthropic": server.anthropic_base,
    }.get(provider, server.ollama_base)


@pytest.fixture
async def ask(litellm, server):
    async def ask(model, messages=MESSAGES, **options):
        settings = {"max_tokens": 50, "max_retries": 0, "timeout": 10, "api_key": "test-key"}
        return await litellm.acompletion(
            model=model,
            messages=messages,
            api_base=base_of(server, model),
            **{**settings, **options},
        )

    yield ask
    await litellm.close_litellm_async_clients()


def post(server, body, *, path="/v1/chat/completions", headers=None):
    """Status, headers and body of one request by the standard library's client."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def chat(text="A text.", **more):
    return {"model": "x", "messages": [{"role": "user", "content": text}], **more}


def content_of(body):
    return json.loads(body)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("model", MODELS)
async def test_a_schema_comes_back_filled_and_usage_is_counted(ask, server, model):
    server.judge = lambda request: ServedReply(by_hash(1, 10)(request).text, usage=(100, 20, 60))
    reply = await ask(model, response_format=STRUCTURED)

    vote = json.loads(reply.choices[0].message.content)
    assert list(vote) == list(SCHEMA["properties"])
    assert vote["abstained"] is False
    assert vote["rationale"] == "because"
    assert vote["clarity"] in range(1, 11)
    assert reply.choices[0].finish_reason == "stop"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 20)
    if not model.startswith("ollama"):  # whose protocol has no word for cached tokens
        assert reply.usage.prompt_tokens_details.cached_tokens == 60

    [request] = server.requests
    assert request.structured == "json_schema"
    assert set(request.schema["properties"]) == set(vote)
    assert request.messages == tuple(MESSAGES)
    assert (request.forced_tool is not None) == (model == "anthropic/x")


@pytest.mark.parametrize("model", ["openai/x", "anthropic/x", "ollama_chat/x", "ollama/x"])
async def test_free_text_goes_both_ways(ask, server, model):
    server.judge = respondent(lambda prompt: f"You said: {prompt[-20:]}")
    reply = await ask(model)
    assert reply.choices[0].message.content.startswith("You said: ")
    assert "A text." in reply.choices[0].message.content
    assert server.requests[0].schema is None


# As litellm 1.106.2 raises them, by provider: openai, hosted_vllm, anthropic, ollama_chat.
# By provider; where a newer litellm has another class for it, that stands second.
RAISED = {
    Fault.RATE_LIMIT: ("RateLimitError",) * 4,
    Fault.RATE_LIMIT_RETRY_AFTER: ("RateLimitError",) * 4,
    Fault.RATE_LIMIT_RETRY_AFTER_DATE: ("RateLimitError",) * 4,
    Fault.QUOTA: ("RateLimitError",) * 4,
    Fault.OVERLOADED: ("APIError", "APIError", "InternalServerError", "APIError"),
    Fault.SERVER_ERROR: ("InternalServerError",) * 4,
    Fault.BAD_GATEWAY: ("BadGatewayError",) * 4,
    Fault.UNAVAILABLE: ("ServiceUnavailableError",) * 4,
    Fault.GATEWAY_TIMEOUT: ("Timeout",) * 4,
    Fault.UNAUTHORIZED_ECHOING_KEY: ("AuthenticationError",) * 4,
    # A 403 of the OpenAI kind becomes an error of another class whose status_code is 403.
    Fault.FORBIDDEN: (
        "BadRequestError APIError",
        "BadRequestError",
        "PermissionDeniedError",
        "PermissionDeniedError",
    ),
    Fault.MODEL_NOT_FOUND: ("NotFoundError",) * 4,
    Fault.CONTEXT_LENGTH: (*("ContextWindowExceededError",) * 3, "BadRequestError"),
    Fault.CONTENT_POLICY: (
        "ContentPolicyViolationError BadRequestError",
        "ContentPolicyViolationError",
        "ContentPolicyViolationError",
        "BadRequestError",
    ),
    Fault.RESPONSE_FORMAT_UNSUPPORTED: ("BadRequestError",) * 4,
    Fault.TEMPERATURE_UNSUPPORTED: ("BadRequestError",) * 4,
    Fault.RESET_BEFORE_ANSWER: (*("InternalServerError",) * 3, "APIConnectionError"),
    Fault.RESET_MID_BODY: (*("InternalServerError",) * 3, "APIConnectionError"),
    Fault.CLOSE_BEFORE_ANSWER: (*("InternalServerError",) * 3, "APIConnectionError"),
    Fault.CLOSE_MID_BODY: (*("InternalServerError",) * 3, "APIConnectionError"),
}
PROVIDERS = ("openai/x", "hosted_vllm/x", "anthropic/x", "ollama_chat/x")


@pytest.mark.parametrize("fault", RAISED)
async def test_a_fault_becomes_the_exception_that_litellm_has_for_it(ask, litellm, server, fault):
    assert set(RAISED) >= HTTP_FAULTS
    server.judge = constant(fault)
    for provider, expected in zip(PROVIDERS, RAISED[fault], strict=True):
        server.reset()
        with pytest.raises(litellm.openai.OpenAIError) as caught:
            await ask(provider, response_format=STRUCTURED)
        assert type(caught.value).__name__ in expected.split(), provider
        headers = getattr(caught.value, "litellm_response_headers", None) or {}
        if fault is Fault.RATE_LIMIT_RETRY_AFTER:
            assert headers["retry-after"] == "3"
        elif fault is Fault.RATE_LIMIT_RETRY_AFTER_DATE:
            assert headers["retry-after"].endswith("GMT")
        elif fault is Fault.RATE_LIMIT:
            assert "retry-after" not in headers
        elif fault is Fault.UNAUTHORIZED_ECHOING_KEY:
            assert "test-key" in str(caught.value)
        elif fault is Fault.RESET_BEFORE_ANSWER:
            # Up to 1.106 litellm's own HTTP client sends a second time, whatever max_retries says.
            assert server.counts.broken in ((1,) if provider == "openai/x" else (1, 2))


async def test_a_trickle_outlives_a_timeout_per_read(ask, server):
    # The answer takes about 0.6 s; no single read waits longer than a few milliseconds.
    server.judge = constant(Fault.TRICKLE)
    server.trickle_s = 0.002
    reply = await ask("openai/x", timeout=0.2)
    assert reply.choices[0].finish_reason == "stop"
    assert reply.choices[0].message.content


def breaks(kind, text):
    with pytest.raises(kind):
        json.loads(text)
    return True


def clarity(text):
    score = json.loads(text)["clarity"]
    return type(score) is not int or score > 10


N_KEYS = len(SCHEMA["properties"])
TEXTS = {
    Fault.CONTENT_NULL: lambda text: text is None,
    Fault.REFUSAL: lambda text: text is None,
    Fault.CUT_BY_LENGTH: lambda text: breaks(json.JSONDecodeError, text),
    Fault.CONTENT_FILTER: lambda text: text == "",
    Fault.HUGE: lambda text: len(text) > 6_000_000,
    Fault.FENCED: lambda text: text.startswith("```json\n{"),
    Fault.PROSE_BEFORE: lambda text: not text.startswith("{"),
    Fault.OTHER_LANGUAGE: lambda text: not text.startswith("{"),
    Fault.DEEPLY_NESTED: lambda text: breaks(RecursionError, text),
    Fault.DUPLICATE_KEYS: lambda text: text.count('"clarity"') == 2,
    Fault.MISSING_KEY: lambda text: len(json.loads(text)) == N_KEYS - 1,
    Fault.EXTRA_KEY: lambda text: len(json.loads(text)) == N_KEYS + 1,
}
ENDINGS = {Fault.CUT_BY_LENGTH: "length", Fault.CONTENT_FILTER: "content_filter"}


async def test_a_fault_of_the_text_arrives_as_it_was_written(ask, server):
    for fault in sorted(TEXT_FAULTS):
        server.judge = constant(fault)
        choice = (await ask("openai/x", response_format=STRUCTURED)).choices[0]
        assert TEXTS.get(fault, clarity)(choice.message.content), fault
        assert choice.finish_reason == ENDINGS.get(fault, "stop"), fault
        if fault is Fault.REFUSAL:  # where it stands depends on litellm's version
            fields = choice.message.provider_specific_fields or {}
            assert fields.get("refusal") or choice.message.refusal


async def test_a_broken_envelope_reaches_the_client(ask, litellm, server):
    server.judge = constant(Fault.EMPTY_CHOICES)
    assert (await ask("openai/x")).choices == []
    server.judge = constant(Fault.TOOL_CALL)
    choice = (await ask("openai/x")).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    server.judge = constant(Fault.WRONG_CONTENT_TYPE)
    status, headers, body = post(server, chat())
    assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert content_of(body)
    unreadable = (litellm.exceptions.APIConnectionError, litellm.exceptions.APIError)
    for fault in (Fault.TRUNCATED_BODY, Fault.HTML_PAGE):
        server.judge = constant(fault)
        status, _, body = post(server, chat())
        assert status == 200
        with pytest.raises(json.JSONDecodeError):
            json.loads(body)
        for model in ("anthropic/x", "hosted_vllm/x"):
            with pytest.raises(unreadable):
                await ask(model)


async def test_a_hundred_calls_are_served_at_once(ask, server):
    server.delay_s = 0.6
    texts = [f"Text {number}." for number in range(100)]
    replies = await asyncio.gather(
        *(
            ask("openai/x", [{"role": "user", "content": text}], response_format=STRUCTURED)
            for text in texts
        )
    )
    assert len({reply.id for reply in replies}) == 100
    counts = server.counts
    assert (counts.total, counts.answered, counts.in_flight) == (100, 100, 0)
    assert counts.by_status == {200: 100}
    assert counts.by_model == {"x": 100}
    assert counts.peak_in_flight > 50


def test_stopping_resets_what_is_in_flight_and_leaves_no_thread():
    before = set(threading.enumerate())  # other servers of the suite may be running
    server = ProviderServer(constant(Fault.HANG)).start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", "/v1/chat/completions", json.dumps(chat()))
    while not server.in_flight:
        time.sleep(0.005)
    server.stop()
    with pytest.raises(ConnectionResetError):
        connection.getresponse()
    connection.close()
    assert server.counts.abandoned == 1
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name == "areopagus-provider"]
    server.stop()  # a second time is no fault


def test_a_reserved_port_is_kept_for_the_server_that_stops_and_returns():
    with reserved_port() as port, ProviderServer(constant(7), port=port) as server:
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        server.start()
        assert server.port == port


def test_votes_follow_the_text_and_not_the_nonce_or_the_order(server):
    def vote(text, **more):
        return content_of(post(server, chat(text, response_format=STRUCTURED, **more))[2])

    first = vote("<<text 0123456789abcdef>> Free speech.")
    others = [vote(f"Another text, number {number}.") for number in range(20)]
    assert vote("<<text fedcba9876543210>> Free speech.") == first
    assert len(set(others)) > 10
    server.reset()
    assert vote("<<text 00000000000000ff>> Free speech.") == first
    assert [request.attempt for request in server.requests] == [1]


def test_hashed_scores_are_spread_over_the_whole_scale(server):
    scores = [json.loads(content_of(post(server, chat(f"t{n}"))[2]))["overall"] for n in range(200)]
    assert set(scores) == set(range(1, 11))
    # 20 expected each; 3.5 standard deviations of a binomial(200, 0.1) are about 15.
    assert all(5 <= scores.count(score) <= 35 for score in range(1, 11))


def test_a_sequence_ends_in_its_last_answer(server):
    server.judge = sequence([Fault.RATE_LIMIT, "second", {"overall": 3}])
    answers = [post(server, chat()) for _ in range(4)]
    assert [status for status, _, _ in answers] == [429, 200, 200, 200]
    assert [content_of(body) for _, _, body in answers[1:]] == [
        "second",
        '{"overall": 3}',
        '{"overall": 3}',
    ]


def test_models_may_have_judges_of_their_own(server):
    server.judge = per_model({"x": 4, "y": respondent(str.upper)})
    assert content_of(post(server, chat(response_format=STRUCTURED))[2]) == json.dumps(
        {"rationale": "because", "clarity": 4, "grounding": 4, "abstained": False}
    )
    assert content_of(post(server, chat("loud", model="y"))[2]) == "LOUD"
    assert post(server, chat(model="z"))[0] == 404


def test_flaky_faults_depend_on_key_and_attempt_only(server):
    server.judge = flaky(by_hash(1, 10), [Fault.SERVER_ERROR, Fault.UNAVAILABLE], 0.5, seed=3)

    def statuses(numbers):
        return {number: post(server, chat(f"t{number}"))[0] for number in numbers}

    forwards = statuses(range(60))
    server.reset()
    assert statuses(reversed(range(60))) == forwards
    assert set(forwards.values()) == {200, 500, 503}
    assert 15 <= list(forwards.values()).count(200) <= 45
    assert statuses(range(60)) != forwards  # second attempts have their own chances

    server.judge = flaky(by_hash(1, 10), [Fault.SERVER_ERROR], 1.0, first_attempts=1)
    server.reset()
    assert [post(server, chat())[0] for _ in range(3)] == [500, 200, 200]


def test_a_rate_limit_says_when_to_come_back():
    with ProviderServer(requests_per_minute=6, burst=2) as server:
        answers = [post(server, chat()) for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 429]
    # Six a minute is one every ten seconds; a fraction of the first is over already.
    assert 9 <= int(answers[2][1]["retry-after"]) <= 10


@pytest.mark.parametrize(("when_full", "rejected"), [("reject", 4), ("queue", 0)])
def test_a_full_server_rejects_or_queues(when_full, rejected):
    with ProviderServer(delay_s=0.3, max_concurrent=2, when_full=when_full) as server:
        statuses = []
        threads = [
            threading.Thread(target=lambda: statuses.append(post(server, chat())[0]))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses.count(429) == rejected
    assert statuses.count(200) == 6 - rejected


def test_what_a_server_does_not_support_it_rejects_by_name():
    with ProviderServer(supports={"json_object"}, rejected_parameters={"temperature"}) as server:
        status, _, body = post(server, chat(response_format=STRUCTURED))
        assert status == 400
        assert "response_format" in json.loads(body)["error"]["message"]
        assert post(server, chat(response_format={"type": "json_object"}))[0] == 200
        status, _, body = post(server, chat(temperature=0))
        assert (status, json.loads(body)["error"]["param"]) == (400, "temperature")


def test_keys_are_checked_and_never_recorded():
    with ProviderServer(api_key="canary-1") as server:
        right = post(server, chat(), headers={"Authorization": "Bearer canary-1"})
        wrong = post(server, chat(), headers={"Authorization": "Bearer canary-2"})
        assert (right[0], wrong[0]) == (200, 401)
        assert b"canary-2" in wrong[2]
        assert "canary" not in repr(server.requests)


def test_a_judge_that_raises_is_told_apart_from_a_scripted_fault(server):
    server.judge = lambda request: ServedReply(str(1 // 0))
    status, _, body = post(server, chat())
    assert status == 500
    assert b"ZeroDivisionError" in body
    assert [type(error) for error in server.errors] == [ZeroDivisionError]


def test_a_malformed_request_gets_a_400_and_no_vote(server):
    for path, body in (
        ("/v1/chat/completions", {"messages": []}),
        ("/v1/chat/completions", {"model": "x", "messages": []}),
        ("/v1/chat/completions", chat(stream=True)),
        ("/v1/messages", chat()),  # Anthropic demands max_tokens
        ("/api/chat", [1, 2]),
    ):
        assert post(server, body, path=path)[0] == 400
    assert server.counts.total == 0


def test_one_connection_serves_many_requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for number in range(5):
        connection.request("POST", "/v1/chat/completions", json.dumps(chat(f"t{number}")))
        assert connection.getresponse().read()
    connection.close()
    assert (server.counts.total, server.counts.connections) == (5, 1)


def test_the_server_runs_as_a_process_that_ends_by_itself():
    command = [sys.executable, "-W", "error", "-m", "areopagus.testing.server", "--judge"]
    with subprocess.Popen(
        [*command, "constant", "--low", "4"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        known = json.loads(process.stdout.readline())
        body = json.dumps(chat()).encode()
        with urllib.request.urlopen(f"{known['openai']}/chat/completions", body) as answer:
            assert content_of(answer.read()) == '{"overall": 4}'
        with urllib.request.urlopen(f"{known['base']}/__counts") as answer:
            counts = json.load(answer)
        assert (counts["total"], counts["by_status"]) == (1, {"200": 1})
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == ""
