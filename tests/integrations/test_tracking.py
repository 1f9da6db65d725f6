"""What is told of a run to a tracking tool, and scores posted beside traces.

Servers are ones of this machine that keep what they are sent; test_annotation_clients.py compares
that with what the servers' own packages send.
"""

from __future__ import annotations

import base64
import math
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from processes import areopagus
from tracked_run import SECRET_TEXT, SPAN, TRACE, made_run, server

from areopagus import Panel
from areopagus.errors import InputError, ProviderError
from areopagus.integrations.track import track
from areopagus.integrations.tracking import (
    artifacts,
    legal_name,
    metrics_of,
    parameters_of,
    shown_address,
    tracked_run,
)
from areopagus.records.estimates import Estimates
from areopagus.run import Run
from areopagus.testing import ScriptedBackend


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("tracking"))


# A run as a whole


def test_every_figure_with_a_value_is_a_metric_and_the_others_are_counted(run: Run) -> None:
    told = tracked_run(run)
    frame = run.estimates
    assert told.n_estimates == len(frame)
    assert told.n_undefined == frame["value"].isna().sum() > 0
    named = [name for name in told.metrics if not name.endswith((".low", ".high", ".n"))]
    assert len(named) == told.n_estimates - told.n_undefined
    assert all(math.isfinite(value) for value in told.metrics.values())
    # ann's responses have 8 and 8, so the mean is 8; two prompts that do not vary give no interval
    assert told.metrics["respondent/mean/ann/composite"] == 8.0
    assert told.metrics["respondent/mean/ann/composite.n"] == 2.0
    assert "respondent/mean/ann/composite.low" not in told.metrics
    assert told.metrics["judgments/judgments/scored"] == 30.0
    assert told.tags["areopagus.undefined_estimates"] == str(told.n_undefined)


def test_ends_of_an_interval_stand_beside_the_figure_and_what_is_infinite_is_left_out() -> None:
    from areopagus.aggregation.estimate import Estimate

    found = Estimates()
    found.add("t", "mean", Estimate(2.0, low=1.0, high=math.inf, n=7, unit="prompt", method="m"))
    found.add("t", "nothing", Estimate(math.nan, unit="prompt", method="m", reason="no data"))
    metrics, n_undefined = metrics_of(found.frame())
    assert metrics == {"t/mean": 2.0, "t/mean.low": 1.0, "t/mean.n": 7.0}
    assert n_undefined == 1


def test_rows_that_differ_in_the_key_alone_have_metrics_of_their_own() -> None:
    found = Estimates()
    found.add("t", "mean", 1.0, persona="x")
    found.add("t", "mean", 2.0, model="x")
    found.add("t", "mean", 3.0, model="y")
    assert metrics_of(found.frame())[0] == {
        "t/mean/persona x": 1.0,
        "t/mean/model x": 2.0,
        "t/mean/y": 3.0,
    }


@pytest.mark.parametrize("name", ["a/5%", "../a", "a//b", "/a", "a/", "", "m (2)", "x" * 400])
def test_names_become_legal_and_stay_apart(name: str) -> None:
    made = legal_name(name)
    assert re.fullmatch(r"[/\w.\- ]+", made)
    assert len(made) <= 250
    assert not made.startswith("/")
    assert ".." not in made.split("/")
    assert made != legal_name(name.replace("%", "+") + "?")
    assert legal_name("openai/gpt-5.1 mini_x") == "openai/gpt-5.1 mini_x"


def test_parameters_are_flat_and_have_neither_keys_nor_paths() -> None:
    record = {
        "kind": "panel",
        "source": "/home/me/secret project/answers.csv",
        "ledger": "postgresql://me:hunter2@db/x",
        "identity": {
            "mode": "holistic",
            "scale": [1, 10],
            "files": ["built_in", "/home/me/secret project/own.yaml"],
            "models": {
                "m": {
                    "api_base": "https://me:hunter2@host:8000/v1?key=hunter2",
                    "api_key": "hunter2",
                    "api_key_env": "MY_VARIABLE",
                    "parameters": {
                        "max_tokens": 2048,
                        "extra_headers": {"X-Auth": "hunter2"},
                        "temperature": None,
                    },
                }
            },
        },
        "config": {"template": "C:\\mine\\own.yaml", "note": "x" * 800},
        "panel": {"quorum": 2 / 3, "models": [{"name": "m", "structured": "json_schema"}]},
    }
    found, n_cut = parameters_of(record)
    assert found == {
        "kind": "panel",
        "source": "answers.csv",
        "identity.mode": "holistic",
        "identity.scale": "1, 10",
        "identity.files": "built_in, own.yaml",
        "identity.models.m.api_base": "https://host:8000/v1",
        "identity.models.m.parameters.max_tokens": 2048,
        "config.template": "own.yaml",
        "config.note": "x" * 499 + "…",
        "panel.quorum": 2 / 3,
        "panel.models.m.name": "m",
        "panel.models.m.structured": "json_schema",
    }
    assert n_cut == 1
    for to in ("mlflow:postgresql://me:hun@ter2@db/x", "mlflow:postgresql://db/x?password=hunter2"):
        assert shown_address(to) == "mlflow:postgresql://db/x"


def test_texts_go_along_only_when_they_are_asked_for(run: Run) -> None:
    with artifacts(run) as files:
        assert set(files) == {"estimates.csv", "scores.csv", "judgments.parquet"}
        scores = pd.read_csv(files["scores.csv"])
        judgments = pd.read_parquet(files["judgments.parquet"])
        assert not any(SECRET_TEXT.encode() in path.read_bytes() for path in files.values())
    assert len(scores) == 5
    assert {"composite", "overall", "persona_historian"} <= set(scores)
    assert not {"reference", "span_id"} & set(scores)
    assert len(judgments) == 50
    assert not {"rationale", "detail"} & set(judgments)
    with artifacts(run, texts=True) as files:
        assert "report.html" in files
        assert "reference" in pd.read_csv(files["scores.csv"])


def test_the_same_run_has_the_same_identity_and_content(run: Run) -> None:
    told, again = tracked_run(run), tracked_run(run.path)
    assert (told.identity, told.content) == (again.identity, again.content)
    assert tracked_run(run, tables=["respondent"]).content != told.content
    assert set(tracked_run(run, tables=["run"]).metrics) < set(told.metrics)
    with pytest.raises(InputError, match="has no table nonsense"):
        tracked_run(run, tables=["nonsense"])


@pytest.mark.parametrize("tool", ["mlflow", "wandb"])
def test_a_package_that_is_missing_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    for module in ("mlflow", "mlflow.exceptions", "wandb"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=f"pip install {tool}"):
        track(run, f"{tool}:x")


# Scores beside traces


def test_phoenix_gets_an_annotation_for_each_criterion_of_each_span(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", "phoenix-key-1234")
    with server() as received:
        sent = track(run, f"phoenix:{received.address}")
    assert sent.answer == f"Sent 8 scores of 4 responses to Phoenix at {received.address}."
    assert sent.remarks == [("left out", "1 response without span_id or trace_id")]
    ((path, headers, body),) = received.requests
    assert path == "/v1/span_annotations?sync=true"
    assert headers["authorization"] == "Bearer phoenix-key-1234"
    first, last = body["data"][0], body["data"][-1]
    assert first["span_id"] == "0000000000000001"
    assert first["name"] == "critical_thinking.composite"
    assert first["annotator_kind"] == "LLM"
    assert first["result"]["score"] == 8.0
    assert first["result"]["label"] == "scored"
    assert "10 scored of 10 planned" in first["result"]["explanation"]
    assert "score" not in last["result"]
    assert last["result"]["label"] == "inconclusive"
    assert "inconclusive" in last["result"]["explanation"]
    assert len({(one["span_id"], one["name"], one["identifier"]) for one in body["data"]}) == 8


def test_langfuse_gets_numbers_and_the_status_and_the_same_ids_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2")
    with server() as received:
        received.answer = lambda body: (202, {"message": "Accepted"})
        track(run, f"langfuse:{received.address}/")
        track(run, f"langfuse:{received.address}")
    (path, headers, body), (_, _, again) = received.requests
    assert path == "/api/public/scores"
    assert base64.b64decode(headers["authorization"].split()[1]) == b"pk-lf-1:sk-lf-2"
    assert body == again
    # three responses with two numbers and a status, one with the status alone
    assert [one["dataType"] for one in body].count("NUMERIC") == 6
    statuses = [one for one in body if one["dataType"] == "CATEGORICAL"]
    assert [one["value"] for one in statuses] == ["scored"] * 3 + ["inconclusive"]
    assert "of 10 planned (10 failed)" in statuses[-1]["comment"]
    assert {one["traceId"] for one in body} == {TRACE}
    assert body[0]["observationId"] == "0000000000000001"
    assert len({one["id"] for one in body}) == 10


def test_an_older_langfuse_gets_one_score_a_request(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2")
    with server() as received:
        received.answer = lambda body: (
            (400, {"message": "Invalid request data"}) if isinstance(body, list) else (200, {})
        )
        sent = track(run, f"langfuse:{received.address}")
    assert sent.counts["scores"] == 10
    assert [type(body) for _, _, body in received.requests] == [list] + [dict] * 10
    with server() as received:
        received.answer = lambda body: (
            (400, {"message": "Invalid request data"})
            if isinstance(body, list) or len(received.requests) > 4
            else (200, {})
        )
        with pytest.raises(ProviderError, match="3 scores had been taken before"):
            track(run, f"langfuse:{received.address}")


@pytest.mark.parametrize("tool", ["langfuse", "phoenix"])
def test_responses_of_one_trace_do_not_replace_each_other_s_scores(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2")
    rows = [
        {"response_id": name, "prompt_text": "Why?", "response_text": name, "trace_id": TRACE}
        for name in ("Because it is so.", "Because it must be so.")
    ]
    panel = Panel(ScriptedBackend({"overall": 6}), mode="holistic", ledger=tmp_path / "l.sqlite")
    panel.score_many(rows, out=tmp_path / "run")
    with server() as received:
        track(tmp_path / "run", f"{tool}:{received.address}")
    ((_, _, body),) = received.requests
    items = body["data"] if tool == "phoenix" else body
    names = {(one.get("id"), one.get("identifier"), one["name"]) for one in items}
    assert len(names) == len(items) == (4 if tool == "phoenix" else 6)


def test_what_a_server_does_not_take_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2222")
    with server() as received:
        rejected = {"accepted": 7, "rejected": 3, "errors": [{"message": "no such config"}]}
        received.answer = lambda body: (207, rejected)
        with pytest.raises(ProviderError, match="3 of 10 scores were not taken: no such config"):
            track(run, f"langfuse:{received.address}")
        received.answer = lambda body: (401, {"message": "bad key sk-lf-2222"})
        with pytest.raises(ProviderError, match="authentication") as refused:
            track(run, f"langfuse:{received.address}")
        assert "sk-lf-2222" not in str(refused.value)
        assert "0 scores had been taken" in str(refused.value)


def test_redirects_are_not_followed(run: Run) -> None:
    with server() as received, server() as elsewhere:
        received.answer = lambda body: (307, {})
        received.location = f"{elsewhere.address}/v1/span_annotations"
        with pytest.raises(ProviderError, match="redirects, which is not followed"):
            track(run, f"phoenix:{received.address}")
    assert not elsewhere.requests


def test_what_cannot_be_sent_is_refused_before_anything_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="must begin with one of mlflow, wandb"):
        track(run, "neptune:x")
    with pytest.raises(InputError, match="keys are read from the environment"):
        track(run, "phoenix:http://me:key@host")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    with pytest.raises(InputError, match="lacks LANGFUSE_SECRET_KEY"):
        track(run, "langfuse:http://127.0.0.1:9")
    with pytest.raises(InputError, match="scores of responses alone"):
        track(run, "phoenix:http://127.0.0.1:9", texts=True)
    scores = (run.path / "scores.csv").read_text("utf-8")
    for name in ("run.json", "estimates.parquet"):
        (tmp_path / name).write_bytes((run.path / name).read_bytes())
    (tmp_path / "scores.csv").write_text(scores.replace("0000000000000002", "7"))
    with pytest.raises(InputError, match=r"scores.csv:3: span_id: must be 16 hexadecimal digits"):
        track(tmp_path, "phoenix:http://127.0.0.1:9")
    bare = re.sub(rf"{TRACE}|0{{15}}\d|{SPAN}", "", scores)
    (tmp_path / "scores.csv").write_text(bare)
    with pytest.raises(InputError, match="no row has a span_id or trace_id"):
        track(tmp_path, "phoenix:http://127.0.0.1:9")


def test_a_dry_run_says_what_would_be_sent_and_opens_nothing(run: Run, tmp_path: Path) -> None:
    found = areopagus(
        "track", str(run.path), "--to", "mlflow:sqlite:///x.db", "--dry-run", folder=tmp_path
    )
    said = " ".join(found.stdout.split())
    assert said.startswith("Would send ")
    assert "of pilot to mlflow:sqlite:///x.db." in said
    assert "respondent/mean/ann/composite 8" in said
    assert SECRET_TEXT not in found.stdout
    assert not (tmp_path / "x.db").exists()
    sent = track(run, "phoenix:http://127.0.0.1:9", dry_run=True)
    assert sent.answer == "Would send 8 scores of 4 responses to Phoenix at http://127.0.0.1:9."
    assert sent.place is None
