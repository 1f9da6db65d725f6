"""What run.json, page and terminal say of the cost is what the server charged."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel, respond
from areopagus.cli.results import cost_lines
from areopagus.errors import FAULT_CLASSES, FAULT_HINTS, ProviderError
from areopagus.judges.models.prices import TokenPrices
from areopagus.judges.models.usage import (
    MOST_TOKENS,
    CallCounts,
    FaultCounts,
    RunUsage,
    UsageSnapshot,
    UsageTotals,
    cost_record,
    usage_from,
)
from areopagus.records.types import Reply, Usage
from areopagus.run import Run
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply, ServedRequest, by_hash

PRICES = {"input": 3.0, "output": 15.0, "cached_input": 0.3, "cache_write": 3.75}
PERSONAS = ["historian", "ethicist"]
ROWS = [
    {
        "response_id": f"r{number}",
        "prompt_id": f"p{number % 3}",
        "prompt_text": f"What is owed in case {number % 3}?",
        "response_text": f"In case {number} much is owed, because promises bind.",
    }
    for number in range(8)
]


@dataclass
class Till:
    """Answers, now and then badly, and keeps what it charges for every reply."""

    charged: list[dict[str, float]] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    def __call__(self, request: ServedRequest) -> ServedReply:
        good = by_hash(1, 10)(request)
        is_repair = len([m for m in request.messages if m["role"] != "system"]) > 1
        first = next(m["content"] for m in request.messages if m["role"] == "user")
        pick = hashlib.sha256((request.model + _case(first)).encode()).digest()[0] % 4
        if pick == 0 and not is_repair:
            reply, kind = replace(good, text="I would rather talk of it."), "unread"
        elif pick == 0:
            is_hopeless = "In case 1 " in first or "In case 4 " in first
            reply, kind = (replace(good, text="Never."), "hopeless") if is_hopeless else (good, "")
            self._count("repair")
        elif pick == 1 and request.protocol == "openai":
            reply, kind = replace(good, text=None, refusal="I decline."), "refused"
        else:
            reply, kind = good, ""
        if kind:
            self._count(kind)
        sent, said, read = 1000 + 7 * pick, 40 + pick, 256 * pick
        written = 64 if request.protocol == "anthropic" and pick else 0
        plain = sent - read - written
        self.charged.append(
            {
                "uncached_input_tokens": plain,
                "cached_input_tokens": read,
                "cache_write_tokens": written,
                "output_tokens": said,
                "uncached_input_usd": plain * 3e-6,
                "cached_input_usd": read * 0.3e-6,
                "cache_write_usd": written * 3.75e-6,
                "output_usd": said * 15e-6,
                "cache_saved_usd": read * 2.7e-6 - written * 0.75e-6,
            }
        )
        return replace(reply, usage=(sent, said, read), cache_written=written)

    def _count(self, kind: str) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def sum(self, name: str) -> float:
        return sum(one[name] for one in self.charged)

    @property
    def usd(self) -> float:
        parts = ("uncached_input_usd", "cached_input_usd", "cache_write_usd", "output_usd")
        return sum(self.sum(name) for name in parts)


def _case(text: str) -> str:
    """The part of the message that says which judgment it is, without the nonce."""
    start = text.index("In case ")
    return text[start : start + 9] + re.sub(r"[0-9a-f]{16}", "", text)[-200:]


@pytest.fixture
def till() -> Till:
    return Till()


@pytest.fixture
def server(till: Till) -> Iterator[ProviderServer]:
    with ProviderServer(till) as running:
        yield running


def models(server: ProviderServer, **settings: Any) -> list[dict[str, Any]]:
    common = {"structured": "json_schema", "prices": PRICES, **settings}
    return [
        {"model": "openai/gpt-4o-mini", "api_base": server.openai_base, **common},
        {"model": "anthropic/claude-sonnet-4-5", "api_base": server.anthropic_base, **common},
    ]


def score(server: ProviderServer, out: Path, rows: Any = ROWS, **options: Any) -> Run:
    with Panel(models(server), personas=PERSONAS, ledger=out.parent / "l.sqlite") as panel:
        return panel.score_many(rows, out=out, **options)


def paid(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.record["cost"]["paid"]["online"]
    return found


def check_against(till: Till, sums: dict[str, Any]) -> None:
    assert sums["replies"] == len(till.charged)
    for name in till.charged[0]:
        assert sums[name] == pytest.approx(till.sum(name), rel=1e-12), name
    assert sums["cost_usd"] == pytest.approx(till.usd, rel=1e-12)
    assert sums["not_taken_apart_usd"] == sums["replies_not_taken_apart"] == 0


@pytest.mark.report
def test_every_kind_of_token_and_dollar_is_what_the_server_charged(
    till: Till, server: ProviderServer, tmp_path: Path
) -> None:
    run = score(server, tmp_path / "run")
    check_against(till, paid(run))
    cost, session = run.record["cost"], run.record["sessions"][-1]
    assert session["spent_usd"] == pytest.approx(till.usd)
    assert session["replies"]["online"] == paid(run)
    assert cost["saved"]["cache_usd"] == pytest.approx(till.sum("cache_saved_usd"))
    # What the same tokens cost where nothing is cached: 3 and 15 dollars a million.
    full = sum(
        till.sum(name) * 3e-6
        for name in ("uncached_input_tokens", "cached_input_tokens", "cache_write_tokens")
    )
    full += till.sum("output_tokens") * 15e-6
    assert cost["saved"]["full_price_usd"] == pytest.approx(full)
    # What became of them: every first unreadable reply had one repair.
    newest = cost["newest_session"]
    assert till.kinds["unread"] == till.kinds["repair"] > till.kinds["hopeless"] > 0
    assert newest["repairs"]["replies"] == till.kinds["repair"]
    assert newest["unreadable"]["replies"] == 2 * till.kinds["hopeless"]
    assert newest["refused"]["replies"] == till.kinds["refused"] > 0
    assert newest["failed"]["replies"] == newest["ledger"]["replies"] == 0
    assert run.counts["unreadable"] == till.kinds["hopeless"]
    # The tables hold the same replies, judgment by judgment.
    assert cost["replies_usd"] == pytest.approx(till.usd)
    # Page and terminal show the same.
    page = (run.path / "report.html").read_text(encoding="utf-8")
    for told in (
        "input, from a cache",
        f"{int(till.sum('cached_input_tokens')):,}",
        "Prefix caches saved $",
        "repairs: a second ask",
        "paid, asked in batches",
    ):
        assert told in page
    lines = "\n".join(cost_lines(session))
    assert f"{int(till.sum('cached_input_tokens')):,} from a cache" in lines
    assert f"Prefix caches saved ${till.sum('cache_saved_usd'):.4f}." in lines
    for kind, one, many in (
        ("repair", "repair", "repairs"),
        ("refused", "refused reply", "refused replies"),
    ):
        number = till.kinds[kind]
        assert f"{number} {one if number == 1 else many} (" in lines
    # A rerun pays nothing, and says what its replies cost.
    again = score(server, tmp_path / "run")
    assert paid(again) == paid(run)  # over both sessions, of which the second paid nothing
    mine = again.record["sessions"][1]["replies"]
    assert mine["online"]["replies"] == mine["online"]["cost_usd"] == 0
    assert mine["ledger"]["replies"] == len(till.charged)
    assert mine["ledger"]["cost_usd"] == pytest.approx(till.usd)
    assert mine["repairs"]["replies"] == till.kinds["repair"]
    lines = "\n".join(cost_lines(again.record["sessions"][1]))
    assert f"0 calls sent, {len(till.charged)} answered by the ledger" in lines
    assert "Cost now: $0\n" in lines


def test_sessions_of_a_run_that_the_cap_stopped_add_up(
    till: Till, server: ProviderServer, tmp_path: Path
) -> None:
    with Panel(models(server), personas=PERSONAS, ledger=tmp_path / "l.sqlite") as panel:
        most = panel.estimate(ROWS).most_usd
    assert most is not None
    # Room for the worst of one judgment, and some ten at what they cost.
    short = score(server, tmp_path / "run", max_cost=1.1 * most / 32 + 0.03)
    assert short.state == "budget"
    before = len(till.charged)
    assert before > 0
    whole = score(server, tmp_path / "run")
    assert len(till.charged) > before
    check_against(till, paid(whole))
    sessions = whole.record["sessions"]
    assert [one["replies"]["online"]["replies"] for one in sessions] == [
        before,
        len(till.charged) - before,
    ]
    assert sessions[1]["replies"]["ledger"]["replies"] == before


def test_what_is_spent_stands_on_record_before_the_end(
    server: ProviderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.experiment.run_record.AUTOSAVE_S", 0.0)
    seen: list[tuple[float, float]] = []

    def look(progress: Any) -> None:
        record = json.loads((tmp_path / "run" / "run.json").read_text())
        session = record["sessions"][-1]
        if record["state"] == "running":
            seen.append((session["spent_usd"], progress.spent_usd))
            assert record["cost"]["paid"]["online"] == session["replies"]["online"]

    score(server, tmp_path / "run", on_progress=look)
    # A kill at any of these moments would have left what was spent so far.
    assert len(seen) > 8
    assert all(noted == pytest.approx(spent) for noted, spent in seen)
    assert seen[-1][0] > 0


def test_an_unknown_price_is_no_saving_and_says_why(tmp_path: Path) -> None:
    usage = Usage(input_tokens=100, output_tokens=10, cached_input_tokens=50)

    def answer(request: Any) -> Reply:
        return Reply(text='{"overall": 7}', finish_reason="stop", usage=usage, cost_usd=None)

    backend = ScriptedBackend(answer, cost_usd=None)
    ledger = tmp_path / "l.sqlite"
    with Panel([backend], personas=PERSONAS, mode="holistic", ledger=ledger) as panel:
        run = panel.score_many(ROWS[:2], out=tmp_path / "run")
    sums, saved = paid(run), run.record["cost"]["saved"]
    assert (sums["replies_with_unknown_price"], sums["cost_usd"]) == (4, 0.0)
    assert (sums["cached_input_tokens"], sums["uncached_input_tokens"]) == (200, 200)
    assert saved["cache_usd"] is saved["full_price_usd"] is None
    assert saved["cache_reason"] == "no price is known"
    lines = "\n".join(cost_lines(run.record["sessions"][-1]))
    assert "What prefix caches saved is not known: no price is known." in lines
    assert "Cost now: unknown; 4 calls have no known price" in lines


def test_respond_tells_its_cost_by_kind_too(
    server: ProviderServer, till: Till, tmp_path: Path
) -> None:
    prompts = [{"prompt_id": "p", "prompt_text": "In case 9 what is owed?"}]
    result = respond(
        prompts, models(server)[1:], tmp_path / "responses.csv", ledger=tmp_path / "l.sqlite"
    )
    check_against(till, result.spending.to_json()["replies"]["online"])


def test_sessions_of_an_earlier_version_count_as_nothing_by_kind() -> None:
    old = {"calls": {"failed": 2}, "spent_usd": 1.0, "possibly_spent_usd": 0.5}
    found = cost_record([old])
    assert found["paid"]["online"]["replies"] == 0
    assert (found["calls_without_reply"], found["possibly_spent_usd"]) == (2, 0.5)
    assert found["newest_session"] == {}
    assert cost_record([])["saved"]["cache_usd"] == 0.0


@pytest.mark.report
def test_a_cap_for_nothing_still_gets_its_page(
    till: Till, server: ProviderServer, tmp_path: Path
) -> None:
    run = score(server, tmp_path / "run", max_cost=0.0)
    assert (run.state, run.n_scored, till.charged) == ("budget", 0, [])
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "no judgment was scored" in page
    assert "Nothing was paid in this folder." in page


PRICE = TokenPrices(2e-6, 8e-6, 0.5e-6, 2.5e-6)


def reply(sent: int | None, said: int | None, cached: int | None = None, **more: Any) -> Reply:
    return Reply(text="x", usage=Usage(sent, said, cached), **more)


def test_a_cost_that_is_more_than_tokens_times_prices_is_not_taken_apart() -> None:
    account = RunUsage()
    # 600 anew, 400 cached, 10 out: 600*2 + 400*0.5 + 10*8 = 1480 millionths.
    account.paid_online(reply(1000, 10, 400, cost_usd=1480e-6), PRICE)
    account.paid_online(reply(1000, 10, 400, cost_usd=2000e-6), PRICE)  # a tier of its own
    sums = account.online
    assert sums.cost_usd == pytest.approx(3480e-6)
    assert sums.uncached_input_usd == pytest.approx(1200e-6)
    assert sums.cached_input_usd == pytest.approx(200e-6)
    assert sums.output_usd == pytest.approx(80e-6)
    assert (sums.not_taken_apart_usd, sums.replies_not_taken_apart) == (2000e-6, 1)
    told = account.to_json()["saved"]
    assert told["cache_usd"] == pytest.approx(400 * 1.5e-6)
    assert told["cache_reason"].startswith("1 of 2 replies are left out")
    assert told["full_price_usd"] is None


def test_cost_and_both_savings_add_up_to_the_full_price() -> None:
    account = RunUsage()
    half = TokenPrices(1e-6, 4e-6, 0.25e-6, 1.25e-6)
    # In a batch at half: 600*1 + 400*0.25 + 10*4 = 740; outside 1480; uncached 2080 millionths.
    account.paid_in_batch(reply(1000, 10, 400, cost_usd=740e-6), half, PRICE)
    told = account.to_json()["saved"]
    assert told["batch_usd"] == pytest.approx(740e-6)
    assert told["cache_usd"] == pytest.approx(600e-6)
    assert told["full_price_usd"] == pytest.approx(2080e-6)
    account.paid_in_batch(reply(1000, 10, 400, cost_usd=None), None, PRICE)
    told = account.to_json()["saved"]
    assert told["batch_reason"] == "1 of 2 replies are left out: no price is known"


def test_what_endpoints_leave_unsaid_is_counted_and_not_guessed() -> None:
    account = RunUsage()
    account.paid_online(reply(100, 10, None, cost_usd=280e-6), PRICE)
    account.paid_online(reply(None, None, cost_usd=None), PRICE)
    sums = account.online
    assert (sums.replies_silent_on_cache, sums.replies_with_unknown_tokens) == (2, 1)
    assert (sums.uncached_input_tokens, sums.output_tokens) == (100, 10)
    told = account.to_json()["saved"]
    assert told["cache_usd"] is None
    assert told["cache_reason"] == "no endpoint said what it read from a cache"


def test_usage_is_sent_in_parts_and_comes_back_whole() -> None:
    account, faults = RunUsage(), FaultCounts()
    before, whole = UsageSnapshot(), UsageSnapshot()
    for number in range(3):
        account.paid_online(reply(1000 + number, 10, 400 * (number % 2), cost_usd=1e-3), PRICE)
        account.found(reply(10, 1, 0, cost_usd=0.5))
        faults.add(ProviderError("server", "no GPU free"))
        now = UsageSnapshot(
            CallCounts(sent=number + 1),
            usage=account.plus(RunUsage()),
            faults=faults.since(FaultCounts()),
        )
        whole = whole.plus(now.since(before))
        before = now
    assert (whole.calls.sent, whole.faults.to_json()) == (3, faults.to_json())
    other = whole.usage
    assert other.online.replies == other.ledger.replies == 3
    assert RunUsage.from_json(other.to_json()).online == other.online
    assert other.plus(account, -1).online.replies == 0
    assert UsageTotals().plus(account.online) == account.online


OPENAI_USAGE: dict[str, Any] = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 20},
    "cache_creation_input_tokens": 100,
}


def test_usage_is_read_in_the_names_of_openai_and_of_langchain() -> None:
    expected = Usage(1000, 50, 400, 100, 20)
    assert usage_from(OPENAI_USAGE) == expected
    langchain = {
        "input_tokens": 1000,
        "output_tokens": 50,
        "input_token_details": {"cache_read": 400, "cache_creation": 100},
        "output_token_details": {"reasoning": 20},
    }
    assert usage_from(langchain) == expected
    assert usage_from(None) == Usage()


SILLY: list[dict[str, Any]] = [
    {"prompt_tokens": -1},
    {"prompt_tokens": "many"},
    {"prompt_tokens": float("nan")},
    {"prompt_tokens": float("inf")},
    {"prompt_tokens": True},
    {"prompt_tokens": [1000]},
    {"completion_tokens": MOST_TOKENS + 1},
    {"completion_tokens": {"all": 3}},
    {"prompt_tokens": 300},  # fewer than were read from the cache
    {"prompt_tokens_details": {"cached_tokens": -400}},
    {"prompt_tokens": 0},
]


def test_usage_that_cannot_be_is_unknown_and_so_are_zeros_that_stand_for_silence() -> None:
    assert [silly for silly in SILLY if usage_from(OPENAI_USAGE | silly) != Usage()] == []
    assert usage_from({"prompt_tokens": 0, "completion_tokens": 0}) == Usage()


def test_failed_calls_are_counted_by_what_the_endpoint_said() -> None:
    faults = FaultCounts()
    for number in range(30):
        detail = f"InternalServerError: litellm.InternalServerError: no GPU free, request {number}"
        faults.add(ProviderError("server", detail))
    faults.add(ProviderError("authentication", "AuthenticationError: bad key"))
    before = faults.since(FaultCounts())
    faults.add(ProviderError("authentication", "not sent; the backend said before: bad key"))
    server, key = faults.to_json()
    assert (server["fault"], server["calls"]) == ("server", 30)
    assert server["said"] == "no GPU free, request 0"
    assert (key["said"], key["calls"]) == ("bad key", 2)
    assert key["hint"] == FAULT_HINTS["authentication"]
    assert [one["calls"] for one in faults.since(before).to_json()] == [1]
    other = FaultCounts()
    other.take(faults.to_json())
    assert other.to_json() == faults.to_json()


def test_an_endpoint_that_says_something_else_each_time_does_not_fill_the_record() -> None:
    faults = FaultCounts()
    for word in "abcdefghijklmnopqrstuvwxyz":
        faults.add(ProviderError("server", f"trouble of kind {word}"))
    told = faults.to_json()
    assert len(told) < 25
    assert sum(one["calls"] for one in told) == 26


def test_every_class_of_fault_has_its_hint() -> None:
    assert set(FAULT_HINTS) == set(FAULT_CLASSES)


SILLY_ANSWERS: dict[str, Any] = {
    "many": {"prompt_tokens": "many", "completion_tokens": 3},
    "negative": {"prompt_tokens": -5, "completion_tokens": 3, "total_tokens": 9},
    "huge": {"prompt_tokens": 1e300, "completion_tokens": 3},
    "nan": {"prompt_tokens": float("nan"), "completion_tokens": 3},
    "cached": {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 90},
    },
    "detail": {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": 7},
    "list": [],
    "words": "none",
}


def test_a_good_vote_with_silly_usage_is_a_good_vote(tmp_path: Path) -> None:
    def judge(request: ServedRequest) -> ServedReply:
        vote = by_hash(1, 10)(request).text
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": vote},
            "finish_reason": "stop",
        }
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "a"}
        body |= {"choices": [choice], "usage": SILLY_ANSWERS[request.model]}
        return ServedReply(text=None, body=json.dumps(body).encode())

    with ProviderServer(judge) as server:
        specs = [
            {"model": f"openai/{name}", "api_base": server.openai_base, "prices": PRICES}
            for name in SILLY_ANSWERS
        ]
        with Panel(specs, personas=PERSONAS, ledger=tmp_path / "ledger.sqlite") as panel:
            run = panel.score_many(ROWS[:1], out=tmp_path / "run", max_cost=5.0)
    assert run.counts["scored"] == run.n_planned
    session = run.record["sessions"][-1]
    online = session["replies"]["online"]
    assert online["replies"] == run.n_planned == 2 * len(SILLY_ANSWERS)
    # Only the one with an odd detail still says how many tokens there were.
    assert online["replies_with_unknown_tokens"] == run.n_planned - 2
    assert session["spent_usd"] == pytest.approx(2 * (10 * 3.0 + 3 * 15.0) / 1e6)
    assert 0 < session["possibly_spent_usd"] < 5.0  # the worst case counts against the cap
