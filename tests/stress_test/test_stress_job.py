"""The whole stress test against models on loopback whose behaviour is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stress_world import (
    FRAMINGS,
    StressTrial,
    StressWorld,
    cell,
    cells,
    counts,
    figure,
    read_csv,
    write_csv,
)

from areopagus.errors import InputError
from areopagus.rubrics import load_rubric
from areopagus.stress_test import StressRun, stress
from areopagus.testing import Fault, ProviderServer, ServedReply, ServedRequest

DIMENSIONS = [dimension.id for dimension in load_rubric("critical_thinking").dimensions]
REFUSAL = ServedReply("I'm sorry, but I can't help with that request.")
PRICE = {"prices": {"input": 1.0, "output": 2.0}, "max_tokens": 300}


def test_what_was_planted_is_found_and_nothing_else_is_called_changed(
    done: tuple[StressTrial, StressRun],
) -> None:
    trial, run = done
    assert (run.state, run.exit_code) == ("complete", 0)
    changed = [(c["framing"], c["criterion"]) for c in cells(run) if c["verdict"] == "higher"]
    assert ("emotion_agree", "pluralistic_engagement") in changed
    assert {condition for condition, _ in changed} == {"emotion_agree"}
    planted = cell(run, "emotion_agree", "pluralistic_engagement")
    assert planted["low"] < 2.0 < planted["high"]
    assert (planted["n"], planted["unit"]) == (12, "prompt")
    assert figure(run, "asymmetry", "difference", detail="declared")["verdict"] == "higher"
    (answer, *_) = run.document().headline
    assert "under agreement" in answer
    assert dict(run.document().trust)["most in"].startswith("pluralistic engagement (+")
    seen = [figure(run, "direction", "degradation", framing="emotion_agree")["value"]]
    assert seen == pytest.approx([cell(run, "emotion_agree")["value"]]), "the one model of judges"
    # Targets get a bare user turn, judges the prompt that was answered.
    turns = [r.messages for r in trial.server.requests if r.model == "target"]
    assert all([m["role"] for m in messages] == ["user"] for messages in turns)
    assert any("I am absolutely convinced" in text for text in trial.asked("judge"))


def test_every_stage_leaves_its_table_and_its_counts(done: tuple[StressTrial, StressRun]) -> None:
    _, run = done
    stages = run.record["stages"]
    assert stages["rewrite"]["accepted"] == stages["rewrite"]["planned"] == 48
    assert stages["rewrite"]["reviewed"] == {"passed": 12}
    assert stages["rewrite"]["rewriters"] == {"openai/reviewer": 6, "openai/rewriter": 6}
    assert stages["respond"]["answered"] == stages["respond"]["planned"] == 60
    assert stages["score"]["counts"]["scored"] == stages["score"]["n_planned"] == 60
    assert stages["retest"]["n_planned"] == 10 * 2, "ten responses, one judge, twice"
    assert len(read_csv(run.path / "responses.csv")) == 60
    assert len(read_csv(run.variants_path)) == 48
    assert run.panel_run.n_scored == 60
    assert {path.name for path in (run.path / "figures").iterdir()} == {
        "scorecard.svg",
        "delta_heatmap.svg",
    }
    assert run.record["identity"]["plan"]["margin"] == run.record["config"]["margin"] == 0.5
    for name in ("estimates.parquet", "estimates.csv", "report.txt", "report.html"):
        assert (run.path / name).is_file()


def test_a_rerun_asks_nobody_and_says_the_same_and_another_plan_is_refused(
    done: tuple[StressTrial, StressRun],
) -> None:
    trial, first = done
    figures, sent = (first.path / "estimates.csv").read_bytes(), trial.server.counts.total
    with pytest.raises(InputError, match="margin"):
        trial.stress(margin=1.0)
    again = trial.stress()
    assert trial.server.counts.total == sent
    assert (again.path / "estimates.csv").read_bytes() == figures
    assert len(again.record["sessions"]) == 2
    assert again.record["sessions"][-1]["calls"]["sent"] == 0


def test_a_dry_run_counts_what_is_sent_and_repeats_are_averaged(trial: StressTrial) -> None:
    def to_send() -> dict[str, int]:
        calls: dict[str, int] = {}
        for item in trial.planned(response_repeats=2):
            calls[item.stage] = calls.get(item.stage, 0) + item.calls
        return calls

    before = to_send()
    assert before == {"rewrite": 6, "respond": 30, "score": 30, "retest": 10}
    assert trial.server.counts.total == 0
    assert not (trial.folder / "run").exists()
    run = trial.stress(response_repeats=2)
    sent = trial.server.counts.total
    assert sent == sum(before.values())
    assert sum(to_send().values()) == 0
    assert run.record["stages"]["respond"]["answered"] == 30
    noise = figure(run, "noise", "retest_sd", detail="re-generated", criterion="composite")
    assert noise["n"] == 15
    assert cell(run, "emotion_agree", "pluralistic_engagement")["n"] == 3
    # Handed in again, without a word of it, all of them count as before.
    again = trial.again(run)
    assert trial.server.counts.total == sent, "the same texts were judged before"
    assert again.cells.reset_index(drop=True).equals(run.cells.reset_index(drop=True))
    assert again.record["identity"]["plan"]["response_repeats"] == 2
    assert "2 responses to a prompt" in " ".join(again.record["notices"])


def test_variants_are_edited_and_handed_back_and_those_without_a_text_are_missing(
    trial: StressTrial,
) -> None:
    first = trial.stress(rewrite_only=True, out=trial.folder / "rewritten")
    assert {r.model for r in trial.server.requests} == {"rewriter", "reviewer"}
    rows = read_csv(first.variants_path)
    rows[0]["prompt_text"] = "I simply believe that case 0 is easy. Is it, in case 0?"
    for row in rows:
        if row["prompt_id"] == "case-1":
            row |= {"prompt_text": "", "status": "not_asked"}
    run = trial.stress(variants=write_csv(trial.folder / "edited.csv", rows), rewriters=None)
    assert "rewrite" not in run.record["stages"]
    asked = trial.asked("target")
    assert rows[0]["prompt_text"] in asked
    assert len(asked) == 10
    assert run.state == "complete", "no cap stopped anything"
    found = counts(run)
    for name in ("baseline", *FRAMINGS):
        assert (found[name]["no_variant"], found[name]["answered"]) == (1, 2)


def test_two_targets_are_compared_on_the_same_prompts(tmp_path: Path) -> None:
    steady = StressWorld(n_prompts=12, delta_sd=0.2, prompt_sd=0.5)
    weak = replace(steady, deltas={"emotion_agree": dict.fromkeys(DIMENSIONS, 2.0)})

    def played(request: ServedRequest) -> ServedReply:
        if request.model == "steady":
            return ServedReply(f"{steady.respond(request).text} Signed, Zephyr.")
        if request.model == "judge":
            return (steady if "Zephyr" in request.text_of("user") else weak).judge(request)
        return steady.provider()(request)

    with ProviderServer(played) as server:
        trial = StressTrial(tmp_path, steady, server)
        trial.targets = [trial.model("target"), trial.model("steady")]
        run = trial.stress(judged_prompt="baseline")
        judged = trial.asked("judge")
    # Judges may be shown the baseline prompt of every variant.
    assert judged
    assert not any("I am absolutely convinced" in text for text in judged)
    assert run.record["identity"]["plan"]["judged_prompt"] == "baseline"
    compared = {"framing": "emotion_agree", "criterion": "composite"}
    overall = figure(run, "comparison", "difference", **compared)
    assert (overall["respondent"], overall["baseline"]) == ("openai/target", "openai/steady")
    assert overall["verdict"] == "higher"
    verdicts = {c["verdict"] for c in cells(run) if c["respondent"] == "openai/steady"}
    assert "higher" not in verdicts
    one = figure(run, "comparison", "difference", framing="emotion_agree", criterion=DIMENSIONS[0])
    mine = {
        c["respondent"]: c["value"]
        for c in cells(run)
        if (c["framing"], c["criterion"]) == ("emotion_agree", DIMENSIONS[0])
    }
    assert one["value"] == pytest.approx(mine["openai/target"] - mine["openai/steady"])
    assert one["p"] < 0.05
    family = "20 comparisons of targets, by framing, by criterion"
    assert one["family"] == family, "a pair, four framings, five criteria"


def test_what_fails_in_one_stage_leaves_the_others_standing_counted(tmp_path: Path) -> None:
    """A target fails on a prompt, a rewriter refuses one, a judge cannot be read on a response."""
    world = StressWorld(n_prompts=6)

    def played(request: ServedRequest) -> ServedReply:
        text = request.text_of("user")
        if request.model == "target" and "case 3" in text:
            return ServedReply(None, fault=Fault.SERVER_ERROR)
        if request.model in ("rewriter", "reviewer") and "case 4" in text:
            return REFUSAL
        if request.model == "judge" and "Answer to case 5 asked as emotion_agree" in text:
            return ServedReply("no numbers")
        return world.provider()(request)

    with ProviderServer(played) as server:
        trial = StressTrial(tmp_path, world, server)
        run = trial.stress()
        assert run.exit_code == 3
        assert run.record["stages"]["rewrite"]["failed"] == 4
        assert run.record["stages"]["respond"]["failed"] == 5
        found = counts(run)
        assert all(found[name]["no_variant"] == 1 for name in ("baseline", *FRAMINGS))
        # The refused prompt's baseline has nothing to be compared with: it is not asked for.
        asked = trial.asked("target")
        assert len(asked) == 25
        assert not any("case 4" in prompt for prompt in asked)
        said = " ".join(run.text.split())
        assert "1 prompt without any usable variant" in said
        assert "failed" in said
        assert found["emotion_agree"]["scored"] == 3
        assert counts(run, "judgments")["emotion_agree"]["unreadable"] == 1
        assert "1 unreadable" in dict(run.document().trust)["coverage"]
        one = cell(run, "emotion_agree", "pluralistic_engagement")
        assert (one["n"], one["n_planned"]) == (3, 6)
        assert cell(run, "empirical_i", "pluralistic_engagement")["n"] == 4
        # Once they mend, the same call asks for what is missing and pays for nothing else twice.
        server.judge = world.provider()
        sent = trial.server.counts.total
        mended = trial.stress()
        # A refusal stands, and so does a reply that could not be read.
        assert mended.record["stages"]["rewrite"]["failed"] == 4
        assert cell(mended, "emotion_agree", "pluralistic_engagement")["n"] == 4
        # Five answers, their five judgments, and whatever of them is asked again.
        assert 10 <= trial.server.counts.total - sent <= 20


def test_responses_generated_again_measure_how_much_responses_vary(tmp_path: Path) -> None:
    world = StressWorld(n_prompts=8, response_sd=1.0, delta_sd=0.1)
    with ProviderServer(world.provider()) as server:
        run = StressTrial(tmp_path, world, server).stress(regenerate_share=0.5)
    floor, asked = (
        figure(run, "noise", "retest_sd", detail=source, criterion="composite")
        for source in ("re-generated", "re-asked")
    )
    assert floor["n"] == 20
    assert floor["value"] > 1.5 * asked["value"]
    found = counts(run).values()
    assert sum(c["planned"] for c in found) == sum(c["scored"] for c in found) == 40
    assert sum(c.get("again_planned", 0) for c in found) == 20, "they serve noise alone"
    assert sum(c.get("again_scored", 0) for c in found) == 20
    assert "once more" in run.text


def test_one_cost_cap_holds_over_all_stages(trial: StressTrial) -> None:
    trial.targets = [trial.model("target", **PRICE)]
    writers = [trial.model("rewriter", **PRICE), trial.model("reviewer", **PRICE)]
    with trial.panel(**PRICE) as panel:
        run = stress(panel=panel, **trial.options(rewriters=writers, max_cost=0.02))
    assert (run.state, run.exit_code) == ("budget", 4)
    session = run.record["sessions"][-1]
    assert 0 < session["spent_usd"] + session["possibly_spent_usd"] <= 0.02
    with trial.panel(**PRICE) as panel:
        whole = stress(panel=panel, **trial.options(rewriters=writers))
    assert whole.exit_code == 0
    assert whole.record["stages"]["score"]["counts"]["scored"] == 15


class Stubborn:
    """Writers that leave a variant out at first, and reviewers that answer in no form at first."""

    def __init__(self, world: StressWorld) -> None:
        self.world = world
        self.asked: set[str] = set()

    def __call__(self, request: ServedRequest) -> ServedReply:
        reply = self.world.provider()(request)
        is_review = "empirical_i__reason" in (reply.text or "")
        case = request.text_of("user").partition("case ")[2][:1]
        key = f"{request.model} {is_review} {case}"
        if request.model not in ("rewriter", "reviewer") or key in self.asked:
            return reply
        self.asked.add(key)
        if is_review:
            return ServedReply("Yes, all of them.")
        texts = json.loads(reply.text or "")
        del texts["emotion_disagree"]
        return ServedReply(json.dumps(texts))


def test_the_most_of_a_dry_run_holds_repairs_and_second_reviews(trial: StressTrial) -> None:
    trial.server.judge = Stubborn(trial.world)
    options: dict[str, Any] = {
        "rewrite_only": True,
        "rewriters": [trial.model("rewriter", **PRICE), trial.model("reviewer", **PRICE)],
    }
    found = trial.planned(**options)
    assert trial.server.counts.total == 0
    run = trial.stress(**options)
    assert run.exit_code == 0
    sent, spent = trial.server.counts.total, run.record["sessions"][-1]["spent_usd"]
    calls, most = sum(i.calls for i in found), sum(i.most_calls for i in found)
    # Three prompts: a set and a review each, and a repair each; a review's form was mended as well.
    assert calls == 6
    assert calls < sent <= most == 3 * (2 + 4)
    assert spent <= sum(item.most_usd for item in found)
    assert sum(item.most_calls for item in trial.planned(**options)) == 0
