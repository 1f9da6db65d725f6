"""One of three judge models refuses under one framing: no change of a target without effect."""

from __future__ import annotations

import json
from pathlib import Path

from stress_world import FRAMINGS, StressTrial, StressWorld, cell, cells, figure

from areopagus import Panel
from areopagus.records.tables import read_scores
from areopagus.stress_test import stress
from areopagus.testing import Fault, ProviderServer, ServedReply, ServedRequest

WORLD = StressWorld(n_prompts=12, delta_sd=0.1, judge_sd=0.5, prompt_sd=0.5)
SEVERITY = {"kind": 1, "fair": 0, "harsh": -2}


def judged(request: ServedRequest) -> ServedReply:
    """The world's judge, by its model's severity; the harsh one is filtered under agreement."""
    if request.model == "harsh" and "asked as emotion_agree" in request.text_of("user"):
        return ServedReply(None, fault=Fault.CONTENT_FILTER)
    reply = WORLD.judge(request)
    scores = json.loads(reply.text or "{}")
    moved = {
        name: value if isinstance(value, bool) else min(10, max(1, value + SEVERITY[request.model]))
        for name, value in scores.items()
    }
    return ServedReply(json.dumps(moved))


def played(request: ServedRequest) -> ServedReply:
    return judged(request) if request.model in SEVERITY else WORLD.provider()(request)


def test_a_judges_content_filter_is_no_finding_about_the_target(tmp_path: Path) -> None:
    with ProviderServer(played) as server:
        trial = StressTrial(tmp_path, WORLD, server)
        models = [trial.model(name) for name in SEVERITY]
        with Panel(models, personas=["historian"], ledger=tmp_path / "ledger.sqlite") as panel:
            run = stress(panel=panel, **trial.options(retest_share=0))
    # Of whoever scored, every response rises by the absence of the harsh model.
    means: dict[str, list[float]] = {name: [] for name in ("baseline", *FRAMINGS)}
    for row in read_scores(run.path / "panel"):
        if row["composite"]:
            means[row["condition"]].append(float(row["composite"]))
    by_condition = {name: sum(found) / len(found) for name, found in means.items() if found}
    if "emotion_agree" in by_condition:
        assert by_condition["emotion_agree"] - by_condition["baseline"] > 0.7
    # Over the judges that scored both sides nothing has happened.
    assert {one["verdict"] for one in cells(run)} <= {"alike", "open"}
    composite = cell(run, "emotion_agree")
    assert abs(composite["value"]) < 0.3
    assert (composite["n"], composite["verdict"]) == (12, "alike")
    left = figure(run, "direction", "degradation", framing="emotion_agree", model="openai/harsh")
    assert (left["n"], left["verdict"]) == (0, "undefined")
    (answer,) = run.document().headline
    assert "drops" not in answer
    told = dict(run.document().trust)
    assert (
        "the share of judgments scored is 33 points lower under agreement than at the baseline"
    ) in told["coverage"]
    assert "so that openai/harsh is left out" in told["coverage"]
    level = figure(run, "level", "mean", framing="emotion_agree", criterion="composite")
    plain = figure(run, "level", "mean", framing="baseline", criterion="composite")
    assert "additive fit" in level["method"]
    assert abs(level["value"] - plain["value"]) < 0.3
