"""A stress test that comes to little or nothing stands, counted, with its exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from processes import areopagus
from stress_world import StressWorld, cells, counts
from test_stress_command import write_prompts

from areopagus import Panel
from areopagus.stress_test import StressConfig, StressJob, StressRun, stress
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

WORLD = StressWorld(n_prompts=2, judge_sd=0.0)
PRICE = "    max_tokens: 300\n    prices: {input: 1.0, output: 2.0}\n"
COMMAND = (
    *("stress", "prompts.csv", "--panel", "panel.yaml"),
    *("--targets-file", "targets.yaml", "--rewriters-file", "writers.yaml"),
)


def write_priced(folder: Path, base: str) -> None:
    def models(*names: str) -> str:
        entries = [f"  - model: openai/{name}\n    api_base: {base}\n{PRICE}" for name in names]
        return "models:\n" + "".join(entries)

    (folder / "panel.yaml").write_text(models("judge") + "personas: [historian]\n")
    (folder / "targets.yaml").write_text(models("target"))
    (folder / "writers.yaml").write_text(models("rewriter", "reviewer"))


def refused(request: ServedRequest) -> ServedReply:
    if request.model == "target":
        return ServedReply("no", status=400)
    return WORLD.provider()(request)


@pytest.mark.parametrize(
    ("play", "more", "code", "state"),
    [
        (WORLD.provider(), ("--max-cost", "0.003"), 4, "budget"),
        (refused, (), 3, "complete"),
    ],
    ids=["the cap in the first stage", "a target that refuses every call"],
)
def test_without_any_response_the_report_stands_with_its_counts(
    tmp_path: Path, play: Any, more: tuple[str, ...], code: int, state: str
) -> None:
    write_prompts(tmp_path, WORLD)
    with ProviderServer(play) as server:
        write_priced(tmp_path, server.openai_base)
        done = areopagus(*COMMAND, "--out", "run", "--json", "n.json", *more, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    numbers = json.loads((tmp_path / "n.json").read_text())
    run = StressRun(tmp_path / "run")
    assert run.state == state
    assert {(one["n"], one["verdict"]) for one in cells(run)} == {(0, "undecided")}
    found = counts(run).values()
    assert sum(row["planned"] for row in found) == 10
    assert sum(row["scored"] for row in found) == 0
    assert numbers["headline"] == ["No response was scored: there is no figure."]
    assert len(numbers["estimates"]) == len(run.estimates)
    assert "No response was scored" in done.stdout
    assert ("Stopped by the cost cap of" in " ".join(done.stdout.split())) is (code == 4)
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "No response was scored" in page
    if code == 4:
        # Variants that were not asked for are no failed ones, and their baselines are not either.
        assert sum(row["not_asked"] for row in found) == 10
        assert sum(row["no_variant"] for row in found) == 0
    if code == 3:
        assert run.record["stages"]["respond"]["failed"] == 10


def test_where_every_rewriting_fails_nothing_else_is_asked(tmp_path: Path) -> None:
    def play(request: ServedRequest) -> ServedReply:
        return ServedReply("I'm sorry, but I can't help with that request.")

    with ProviderServer(play) as server:

        def model(name: str) -> dict[str, Any]:
            return {"model": f"openai/{name}", "api_base": server.openai_base}

        with Panel([model("judge")], personas=["historian"], ledger=tmp_path / "l.sqlite") as panel:
            run = stress(
                WORLD.prompts(), panel=panel, target=[model("target")],
                rewriters=[model("rewriter")], out=tmp_path / "run",
            )  # fmt: skip
        assert {request.model for request in server.requests} == {"rewriter"}
    assert run.exit_code == 3
    assert "2 prompts without any usable variant" in " ".join(run.text.split())


class Stubborn:
    """Writers that leave a variant out at first, and reviewers that answer in no form at first."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def __call__(self, request: ServedRequest) -> ServedReply:
        reply = WORLD.provider()(request)
        if request.model not in ("rewriter", "reviewer") or reply.text is None:
            return reply
        is_review = "empirical_i__reason" in reply.text
        case = request.text_of("user").count("case 0") > 0
        key = f"{request.model} {is_review} {case}"
        self.asked[key] = self.asked.get(key, 0) + 1
        if self.asked[key] > 1:
            return reply
        if is_review:
            return ServedReply("Yes, all of them.")
        texts = json.loads(reply.text)
        del texts["emotion_disagree"]
        return ServedReply(json.dumps(texts))


def test_the_most_of_a_dry_run_holds_repairs_and_second_reviews(tmp_path: Path) -> None:
    with ProviderServer(Stubborn()) as server:

        def model(name: str) -> dict[str, Any]:
            return {
                "model": f"openai/{name}", "api_base": server.openai_base, "max_tokens": 300,
                "prices": {"input": 1.0, "output": 2.0},
            }  # fmt: skip

        writers = [model("rewriter"), model("reviewer")]
        with Panel([model("judge")], personas=["historian"], ledger=tmp_path / "l.sqlite") as panel:
            config = StressConfig(rewrite_only=True, out=tmp_path / "run")
            job = StressJob(
                panel.spec, WORLD.prompts(), config, targets=[model("target")], rewriters=writers
            )
            found = job.estimate().stages
            assert server.counts.total == 0
            run = stress(
                WORLD.prompts(), panel=panel, target=[model("target")], rewriters=writers,
                rewrite_only=True, out=tmp_path / "run",
            )  # fmt: skip
            again = job.estimate().stages
        assert run.exit_code == 0
        sent, spent = server.counts.total, run.record["sessions"][-1]["spent_usd"]
    calls, most = sum(i.calls for i in found), sum(i.most_calls for i in found)
    # Two prompts: a set and a review each, and a repair each; the review's form was mended as well.
    assert calls == 4
    assert calls < sent <= most == 2 * (2 + 4)
    usd = [item.most_usd for item in found]
    assert all(value is not None for value in usd)
    assert spent <= sum(value or 0 for value in usd)
    assert sum(item.most_calls for item in again) == 0
