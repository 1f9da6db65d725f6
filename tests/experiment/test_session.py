"""Single responses under one cap, into one run folder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from areopagus import InputError, Panel, Run
from areopagus.testing import ScriptedBackend

PROMPT = "What is a fair wage?"


def panel(tmp_path: Path) -> Panel:
    return Panel(ScriptedBackend({"overall": 7}), mode="holistic", ledger=tmp_path / "l.sqlite")


def ids(run: Run) -> list[str]:
    return [row["response_id"] for row in json_rows(run)]


def json_rows(run: Run) -> list[dict[str, str]]:
    lines = (run.path / "scores.csv").read_text(encoding="utf-8-sig").splitlines()
    header = lines[0].split(",")
    return [dict(zip(header, line.split(","), strict=False)) for line in lines[1:]]


@pytest.mark.report
def test_single_responses_become_a_run_with_its_tables_and_tags(tmp_path: Path) -> None:
    with panel(tmp_path) as seated:
        with seated.session(out=tmp_path / "run", tags={"commit": "abc"}) as session:
            verdict = session.score(PROMPT, "It depends.", respondent_id="a")
            session.score(PROMPT, "Enough to live on.", response_id="mine", respondent_id="b")
            assert len(session) == 2
        run = Run(tmp_path / "run")
    assert verdict.composite == 7
    assert (run.state, run.n_scored, run.n_planned) == ("complete", 20, 20)
    assert run.record["tags"] == {"commit": "abc"}
    assert ids(run) == ["response-1", "mine"]
    assert {one.respondent_id for one in run.respondents} == {"a", "b"}
    for name in ("judgments.parquet", "texts.parquet", "report.html"):
        assert (run.path / name).is_file()


async def test_calls_may_go_on_side_by_side(tmp_path: Path) -> None:
    async with panel(tmp_path) as seated, seated.session(out=tmp_path / "run") as session:
        verdicts = await asyncio.gather(
            *(session.ascore(PROMPT, f"Answer {number}.") for number in range(20))
        )
    assert len({verdict.response_id for verdict in verdicts}) == 20
    assert len(ids(Run(tmp_path / "run"))) == 20


def test_a_session_in_the_same_folder_goes_on(tmp_path: Path) -> None:
    with panel(tmp_path) as seated:
        with seated.session(out=tmp_path / "run", tags={"a": "1"}) as session:
            session.score(PROMPT, "One.", response_id="1")
        with seated.session(out=tmp_path / "run", tags={"b": "2"}) as session:
            assert len(session) == 1
            session.score(PROMPT, "One.", response_id="1")
            session.score(PROMPT, "Two.")
    run = Run(tmp_path / "run")
    assert ids(run) == ["1", "response-2"]
    assert run.record["tags"] == {"a": "1", "b": "2"}
    assert [one["state"] for one in run.record["sessions"]] == ["complete", "complete"]
    assert run.record["sessions"][1]["calls"]["from_ledger"] == 10


def test_what_was_returned_before_a_kill_is_there_when_the_folder_is_opened_again(
    tmp_path: Path,
) -> None:
    with panel(tmp_path) as seated:
        session = seated.session(out=tmp_path / "run")
        session.__enter__()
        session.score(PROMPT, "One.", response_id="1")
        # As a kill leaves it: no tables, and half a line of what came next.
        session._end()
        with (tmp_path / "run" / "session.jsonl").open("ab") as log:
            log.write(b'{"response_id": "2", "pro')
        assert not (tmp_path / "run" / "scores.csv").exists()
        with seated.session(out=tmp_path / "run"):
            assert ids(Run(tmp_path / "run")) == ["1"]
    lines = (tmp_path / "run" / "session.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["response_id"] for line in lines] == ["1"]


def test_a_block_that_breaks_off_leaves_an_interrupted_run_with_its_tables(tmp_path: Path) -> None:
    def breaks_off(seated: Panel) -> None:
        with seated.session(out=tmp_path / "run") as session:
            session.score(PROMPT, "One.")
            raise ZeroDivisionError

    with panel(tmp_path) as seated, pytest.raises(ZeroDivisionError):
        breaks_off(seated)
    run = Run(tmp_path / "run")
    assert (run.state, run.n_scored) == ("interrupted", 10)


def test_one_id_is_one_response(tmp_path: Path) -> None:
    with panel(tmp_path) as seated, seated.session(out=tmp_path / "run") as session:
        session.score(PROMPT, "One.", response_id="1")
        with pytest.raises(InputError, match="another response of this session"):
            session.score(PROMPT, "Another.", response_id="1")


def test_all_calls_of_a_session_are_under_one_cap(tmp_path: Path) -> None:
    backend = ScriptedBackend({"overall": 7}, cost_usd=0.01)
    with Panel(backend, mode="holistic", ledger=tmp_path / "l.sqlite") as seated:
        with seated.session(out=tmp_path / "run", max_cost=0.15) as session:
            first = session.score(PROMPT, "One.")
            second = session.score(PROMPT, "Two.")
            assert 0.1 < session.spent_usd <= 0.15
    run = Run(tmp_path / "run")
    assert first.n_scored == 10
    assert 0 < second.n_scored < 10
    assert (run.state, run.exit_code) == ("budget", 4)
    assert run.counts["not_asked"] == 10 - second.n_scored


def test_another_panel_is_refused_in_the_folder(tmp_path: Path) -> None:
    with panel(tmp_path) as seated, seated.session(out=tmp_path / "run") as session:
        session.score(PROMPT, "One.")
    other = Panel(
        ScriptedBackend({"overall": 7}), mode="holistic", repeats=2, ledger=tmp_path / "l.sqlite"
    )
    with other, pytest.raises(InputError, match="repeats"):
        other.session(out=tmp_path / "run").__enter__()


def test_an_empty_prompt_and_a_strange_cap_are_refused(tmp_path: Path) -> None:
    with panel(tmp_path) as seated:
        with pytest.raises(InputError, match="max_cost"):
            seated.session(out=tmp_path / "run", max_cost=-1.0)
        with (
            seated.session(out=tmp_path / "run") as session,
            pytest.raises(InputError, match="prompt is empty"),
        ):
            session.score(" ", "One.")
