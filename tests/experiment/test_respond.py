"""Asking target models: what goes over the wire, what comes into the table, what is paid twice."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel, ProviderError, StoreError, respond
from areopagus.experiment.respond import COLUMNS, arespond
from areopagus.records.readers.responses import ResponseSource
from areopagus.records.spreadsheets import CsvLines
from areopagus.records.tables import read_scores
from areopagus.records.types import Reply, Usage
from areopagus.testing import Fault, ProviderServer, ScriptedBackend, constant, respondent

PROMPTS = [
    {"prompt_id": "duty", "prompt_text": "What is duty?", "domain": "ethics", "status": "draft"},
    {"prompt_id": "work", "prompt_text": "What is work for?", "domain": None, "status": "final"},
]
ESSAY = 'Duty is what we owe.\rIt binds,\nas promises do; "quoted", and =1+1.'


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_bare_prompt_goes_out_as_the_only_message(tmp_path: Path) -> None:
    with ProviderServer(respondent(lambda prompt: f"On: {prompt}")) as server:
        target = {"model": "openai/target", "api_base": server.openai_base}
        result = respond(PROMPTS, target, tmp_path / "out.csv")
        for request in server.requests:
            assert [message["role"] for message in request.messages] == ["user"]
            assert "reasoning_effort" not in request.params
            assert "response_format" not in request.params
            assert "temperature" not in request.params
        assert {r.prompt for r in server.requests} == {p["prompt_text"] for p in PROMPTS}
    assert (result.counts.answered, result.counts.planned, result.exit_code) == (2, 2, 0)
    assert [row["response_text"] for row in table(result.path)] == [
        "On: What is duty?",
        "On: What is work for?",
    ]


@pytest.mark.parametrize(
    ("track", "effort", "said"),
    [
        ("matched", "medium", "Write about 400 words, and no more than 440."),
        ("maximum", "high", None),
    ],
)
def test_a_track_sets_effort_and_length(
    tmp_path: Path, track: Any, effort: str, said: str | None
) -> None:
    with ProviderServer(respondent(lambda prompt: "Much.")) as server:
        target = {"model": "openai/gpt-5", "api_base": server.openai_base}
        respond(PROMPTS[:1], target, tmp_path / "out.csv", track=track)
        (request,) = server.requests
    assert request.params["reasoning_effort"] == effort
    wanted = "What is duty?" if said is None else f"What is duty?\n\n{said}"
    assert request.prompt == wanted
    assert [message["role"] for message in request.messages] == ["user"]


def test_words_and_effort_of_ones_own_win_over_the_track(tmp_path: Path) -> None:
    backend = ScriptedBackend("Much.")
    respond(PROMPTS[:1], backend, tmp_path / "out.csv", track="matched", words=200)
    assert (
        backend.requests[0]
        .messages[0]["content"]
        .endswith("Write about 200 words, and no more than 220.")
    )


def test_repeats_are_responses_of_their_own(tmp_path: Path) -> None:
    backend = ScriptedBackend([f"Answer {i}." for i in range(6)])
    result = respond(PROMPTS, backend, tmp_path / "out.csv", repeats=3)
    rows = table(result.path)
    assert len({row["response_id"] for row in rows}) == len(backend.requests) == 6
    assert [(row["prompt_id"], row["repeat"]) for row in rows] == [
        (prompt, str(repeat)) for prompt in ("duty", "work") for repeat in range(3)
    ]
    assert sorted(row["response_text"] for row in rows) == [f"Answer {i}." for i in range(6)]


def test_the_table_is_what_score_reads_and_a_rerun_gives_the_identical_file(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.csv"
    respond(PROMPTS, ScriptedBackend(ESSAY, name="scripted/target"), out)
    before = out.read_bytes()
    again = ScriptedBackend("never asked", name="scripted/target")
    calls = respond(PROMPTS, again, out).spending.calls
    assert again.requests == []
    assert (calls.sent, calls.from_ledger) == (0, 2)
    assert out.read_bytes() == before
    with ResponseSource(out) as source:
        source.check()
        rows = list(source.rows())
    assert [row.response_text for row in rows] == [ESSAY, ESSAY]
    assert [(row.prompt_id, row.respondent_id) for row in rows] == [
        ("duty", "scripted/target"),
        ("work", "scripted/target"),
    ]
    with Panel() as panel:
        run = panel.score_many(out, tmp_path / "run")
    assert run.n_scored == 20
    assert [row["domain"] for row in read_scores(run.path)] == ["ethics", ""]


def test_columns_of_the_prompts_are_carried_and_never_take_the_place_of_ours(
    tmp_path: Path,
) -> None:
    result = respond(PROMPTS, ScriptedBackend("Much."), tmp_path / "out.csv")
    rows = table(result.path)
    assert tuple(rows[0])[: len(COLUMNS)] == COLUMNS
    assert [(row["status"], row["input_status"]) for row in rows] == [
        ("answered", "draft"),
        ("answered", "final"),
    ]
    assert [row["domain"] for row in rows] == ["ethics", ""]


def test_refused_empty_and_cut_off_answers_are_counted_and_kept_apart(tmp_path: Path) -> None:
    usage = Usage(input_tokens=3, output_tokens=4)
    answers = [
        Reply(text=None, refusal="I would rather not.", finish_reason="stop", usage=usage),
        Reply(text="  ", finish_reason="stop", usage=usage),
        Reply(text="It was a dark", finish_reason="length", usage=usage),
        Reply(text="Whole.", finish_reason="stop", usage=usage),
    ]
    prompts = [{"prompt_text": f"Why {i}?"} for i in range(4)]
    backend = ScriptedBackend(answers, concurrency=1)
    result = respond(prompts, backend, tmp_path / "out.csv")
    counts = result.counts
    assert (counts.refused, counts.empty, counts.answered, counts.cut_off) == (1, 1, 2, 1)
    assert counts.planned == counts.refused + counts.empty + counts.answered
    assert result.exit_code == 3
    rows = table(result.path)
    assert [row["status"] for row in rows] == ["refused", "empty", "answered", "answered"]
    assert [row["response_text"] for row in rows][::3] == ["I would rather not.", "Whole."]
    assert rows[2]["reason"] == "cut off at the token limit"


def test_a_failure_is_counted_and_asked_again_by_the_next_call(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ill = ScriptedBackend([ProviderError("context_length", "too long"), "Much."], concurrency=1)
    first = respond(PROMPTS, ill, out)
    assert (first.counts.failed, first.counts.answered, first.exit_code) == (1, 1, 3)
    assert first.faults == {"context_length": 1}
    assert [row["status"] for row in table(out)] == ["failed", "answered"]
    assert [row["response_text"] for row in table(out)] == ["", "Much."]
    well = ScriptedBackend("Much indeed.")
    second = respond(PROMPTS, well, out)
    assert len(well.requests) == 1
    assert (second.counts.answered, second.exit_code) == (2, 0)


def test_a_fault_of_the_network_is_one_failed_row(tmp_path: Path) -> None:
    with ProviderServer(constant(Fault.CONTENT_POLICY)) as server:
        target = {"model": "openai/target", "api_base": server.openai_base}
        result = respond(PROMPTS, target, tmp_path / "out.csv")
    assert result.faults == {"content_policy": 2}


def test_the_cap_is_kept_and_what_is_there_stays(tmp_path: Path) -> None:
    prompts = [{"prompt_text": f"Why {i}?"} for i in range(10)]
    backend = ScriptedBackend("Much.", cost_usd=0.1)
    result = respond(prompts, backend, tmp_path / "out.csv", max_cost=0.35)
    assert result.spent_usd <= 0.35
    assert len(backend.requests) == result.counts.answered == 3
    assert (result.counts.not_asked, result.exit_code, result.over_budget) == (7, 4, True)
    assert sum(row["status"] == "not_asked" for row in table(result.path)) == 7
    with pytest.raises(InputError, match="no known worst price"):
        respond(prompts, ScriptedBackend("x", cost_usd=None), tmp_path / "b.csv", max_cost=1)
    with pytest.raises(InputError, match="max_cost"):
        respond(prompts, backend, tmp_path / "b.csv", max_cost=float("nan"))


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "mine.csv"
    out.write_text("name,grade\nanna,1\n")
    backend = ScriptedBackend("Much.")
    with pytest.raises(InputError, match="no table of responses"):
        respond(PROMPTS, backend, out)
    assert out.read_text() == "name,grade\nanna,1\n"
    for bad in (tmp_path, tmp_path / "out.txt", tmp_path / "nowhere" / "out.csv"):
        with pytest.raises(InputError):
            respond(PROMPTS, backend, bad)
    assert backend.requests == []


def test_a_full_disk_is_one_error_and_the_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ScriptedBackend("Much.")

    def full(self: CsvLines, cells: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out.csv"
    respond(PROMPTS[:1], backend, out)
    before = out.read_bytes()
    monkeypatch.setattr(CsvLines, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        respond(PROMPTS, backend, out)
    monkeypatch.undo()
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv"]


async def test_the_asynchronous_twin_and_several_targets(tmp_path: Path) -> None:
    targets = [ScriptedBackend("A.", name="scripted/a"), ScriptedBackend("B.", name="scripted/b")]
    result = await arespond(PROMPTS, targets, tmp_path / "out.csv")
    assert [(row["respondent_id"], row["response_text"]) for row in table(result.path)] == [
        ("scripted/a", "A."),
        ("scripted/b", "B."),
    ] * 2


def test_an_embedded_judge_writes_no_responses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="embedded judge"):
        respond(PROMPTS, "offline/lexical", tmp_path / "out.csv")


def test_two_targets_of_one_name_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    twice = [ScriptedBackend("So.", name="scripted/t"), ScriptedBackend("No.", name="scripted/t")]
    with pytest.raises(InputError, match="scripted/t: is named twice"):
        respond([{"prompt_text": "Why?"}], twice, tmp_path / "out.csv")
    assert [target.requests for target in twice] == [[], []]
