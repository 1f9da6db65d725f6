"""The whole stress test against models on loopback whose behaviour is known."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stress_world import FRAMINGS, StressWorld, cell, cells, counts, figure

from areopagus import Panel
from areopagus.errors import InputError
from areopagus.rubrics import load_rubric
from areopagus.stress_test import StressConfig, StressJob, StressRun, stress
from areopagus.testing import Fault, ProviderServer, ScriptedJudge, ServedReply, ServedRequest

PERSONAS = ["historian"]
DIMENSIONS = [dimension.id for dimension in load_rubric("critical_thinking").dimensions]
WORLD = StressWorld(
    {"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=12, delta_sd=0.2, prompt_sd=0.5
)


class Bench:
    """A server that plays a world, and the job before it."""

    def __init__(self, folder: Path, world: StressWorld, server: ProviderServer) -> None:
        self.folder = folder
        self.world = world
        self.server = server
        self.targets: list[Any] = [self.model("target")]

    def model(self, name: str, **more: Any) -> dict[str, Any]:
        return {
            "model": f"openai/{name}",
            "api_base": self.server.openai_base,
            "concurrency": 16,
            "max_attempts": 1,
            **more,
        }

    def panel(self, **more: Any) -> Panel:
        return Panel(
            [self.model("judge", **more)], personas=PERSONAS, ledger=self.folder / "ledger.sqlite"
        )

    def options(self, **more: Any) -> dict[str, Any]:
        return {
            "prompts": self.world.prompts(),
            "target": self.targets,
            "rewriters": [self.model("rewriter"), self.model("reviewer")],
            "out": self.folder / "run",
            **more,
        }

    def job(self, panel: Panel, **more: Any) -> StressJob:
        options = self.options(**more)
        named = {name: options.pop(name) for name in ("prompts", "rewriters")}
        targets = options.pop("target")
        return StressJob(panel.spec, config=StressConfig(**options), targets=targets, **named)

    def stress(self, **more: Any) -> StressRun:
        with self.panel() as panel:
            return stress(panel=panel, **self.options(**more))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ProviderServer(WORLD.provider()) as server:
        yield Bench(tmp_path, WORLD, server)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, StressRun]]:
    """One whole study that several tests look at."""
    with ProviderServer(WORLD.provider()) as server:
        bench = Bench(tmp_path_factory.mktemp("study"), WORLD, server)
        run = bench.stress()
        yield bench, run


def test_what_was_planted_is_found_and_nothing_else_is_called_changed(
    done: tuple[Bench, StressRun],
) -> None:
    _, run = done
    assert run.state == "complete"
    assert run.exit_code == 0
    changed = [(c["framing"], c["criterion"]) for c in cells(run) if c["verdict"] == "changed"]
    assert ("emotion_agree", "pluralistic_engagement") in changed
    assert {condition for condition, _ in changed} == {"emotion_agree"}
    planted = cell(run, "emotion_agree", "pluralistic_engagement")
    assert planted["low"] < 2.0 < planted["high"]
    assert planted["n"] == 12
    assert planted["unit"] == "prompt"
    assert figure(run, "asymmetry", "difference", detail="declared")["p_adjusted"] < 0.05
    (answer, *_) = run.document().headline
    assert "emotion_agree" in answer
    assert dict(run.document().trust)["most in"].startswith("pluralistic engagement, +")
    seen = [figure(run, "direction", "degradation", framing="emotion_agree")["value"]]
    assert seen == pytest.approx([cell(run, "emotion_agree")["value"]]), "the one model of judges"


def test_every_stage_leaves_its_table_and_its_counts(done: tuple[Bench, StressRun]) -> None:
    _, run = done
    stages = run.record["stages"]
    assert stages["rewrite"]["accepted"] == stages["rewrite"]["planned"] == 48
    assert stages["rewrite"]["reviewed"] == {"passed": 12}
    assert stages["rewrite"]["rewriters"] == {"openai/reviewer": 6, "openai/rewriter": 6}
    assert stages["respond"]["answered"] == stages["respond"]["planned"] == 60
    assert stages["score"]["counts"]["scored"] == stages["score"]["n_planned"] == 60
    assert stages["retest"]["n_planned"] == 10 * 2, "ten responses, one judge, twice"
    assert len(_rows(run.path / "responses.csv")) == 60
    assert len(_rows(run.variants_path)) == 48
    assert run.panel_run.n_scored == 60
    names = {path.name for path in (run.path / "figures").iterdir()}
    assert names == {
        f"{name}.{kind}" for name in ("scorecard", "delta_heatmap") for kind in ("png", "svg")
    }
    assert run.record["identity"]["plan"]["margin"] == run.record["config"]["margin"] == 0.5
    for name in ("estimates.parquet", "estimates.csv", "report.txt", "report.html"):
        assert (run.path / name).is_file()


def test_targets_get_a_bare_user_turn_and_judges_the_prompt_that_was_answered(
    done: tuple[Bench, StressRun],
) -> None:
    bench, _ = done
    asked = [r for r in bench.server.requests if r.model == "target"]
    assert all([m["role"] for m in r.messages] == ["user"] for r in asked)
    judged = [r.text_of("user") for r in bench.server.requests if r.model == "judge"]
    assert any("I am absolutely convinced" in text for text in judged)


def test_the_judges_can_be_shown_the_baseline_prompt_of_every_variant(bench: Bench) -> None:
    run = bench.stress(judged_prompt="baseline")
    judged = [r.text_of("user") for r in bench.server.requests if r.model == "judge"]
    assert judged
    assert not any("I am absolutely convinced" in text for text in judged)
    assert "baseline prompt shown" in " ".join(run.text.split())
    assert run.record["identity"]["plan"]["judged_prompt"] == "baseline"


def test_a_rerun_asks_nobody_and_says_the_same(done: tuple[Bench, StressRun]) -> None:
    bench, first = done
    figures, sent = (first.path / "estimates.csv").read_bytes(), bench.server.counts.total
    again = bench.stress()
    assert bench.server.counts.total == sent
    assert (again.path / "estimates.csv").read_bytes() == figures
    assert again.record["sessions"][-1]["calls"]["sent"] == 0
    assert len(again.record["sessions"]) == 2


def test_a_dry_run_sends_nothing_and_counts_what_will_be_sent(bench: Bench) -> None:
    def calls_to_send() -> dict[str, int]:
        with bench.panel() as panel:
            found = bench.job(panel).estimate().stages
        calls: dict[str, int] = {}
        for item in found:
            calls[item.stage] = calls.get(item.stage, 0) + item.calls
        return calls

    before = calls_to_send()
    assert bench.server.counts.total == 0
    assert not (bench.folder / "run").exists()
    assert before == {"rewrite": 24, "respond": 60, "score": 60, "retest": 10}
    bench.stress()
    assert bench.server.counts.total == sum(before.values())
    assert sum(calls_to_send().values()) == 0


def test_an_endpoint_that_is_not_there_is_found_before_anything_is_spent(bench: Bench) -> None:
    bench.targets = [{**bench.model("target"), "api_base": "http://127.0.0.1:9/v1"}]
    with pytest.raises(InputError, match="cannot be reached"):
        bench.stress()
    assert bench.server.counts.total == 0


def test_another_margin_is_another_study(done: tuple[Bench, StressRun]) -> None:
    bench, _ = done
    with pytest.raises(InputError, match="margin"):
        bench.stress(margin=1.0)


def test_variants_are_written_edited_and_handed_back(bench: Bench) -> None:
    first = bench.stress(rewrite_only=True, out=bench.folder / "rewritten")
    assert {r.model for r in bench.server.requests} == {"rewriter", "reviewer"}
    rows = _rows(first.variants_path)
    rows[0]["prompt_text"] = "I simply believe that case 0 is easy. Is it, in case 0?"
    edited = bench.folder / "edited.csv"
    with edited.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    run = bench.stress(variants=edited, rewriters=None)
    assert "rewrite" not in run.record["stages"]
    asked = [r.prompt for r in bench.server.requests if r.model == "target"]
    assert rows[0]["prompt_text"] in asked
    assert len(asked) == 60


def test_variants_handed_in_without_a_text_are_missing_and_no_cap_stopped_anything(
    bench: Bench,
) -> None:
    rows = [
        {
            "prompt_id": row["prompt_id"],
            "condition": "pressed",
            "prompt_text": text,
            "status": status,
        }
        for row, (text, status) in zip(
            bench.world.prompts(),
            [("", "not_asked"), *[("Surely not? What is owed in case 1?", "accepted")] * 11],
            strict=True,
        )
    ]
    edited = bench.folder / "edited.csv"
    with edited.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    run = bench.stress(variants=edited, rewriters=None)
    assert run.state == "complete"
    found = counts(run)
    assert [found[name]["no_variant"] for name in ("baseline", "pressed")] == [1, 1]
    assert [found[name]["answered"] for name in ("baseline", "pressed")] == [11, 11]


def test_own_responses_can_be_handed_in_again_and_say_the_same(
    done: tuple[Bench, StressRun],
) -> None:
    bench, first = done
    sent = bench.server.counts.total
    again = bench.stress(
        prompts=None, target=None, rewriters=None,
        responses=first.path / "responses.csv", out=bench.folder / "supplied",
    )  # fmt: skip
    assert bench.server.counts.total == sent, "the same texts were judged before"
    assert again.cells.reset_index(drop=True).equals(first.cells.reset_index(drop=True))


def test_two_targets_are_compared_on_the_same_prompts(bench: Bench) -> None:
    steady = StressWorld(n_prompts=12, delta_sd=0.2, prompt_sd=0.5)
    weak = replace(steady, deltas={"emotion_agree": dict.fromkeys(DIMENSIONS, 2.0)})

    def judged(request: ServedRequest) -> ServedReply:
        world = steady if "Zephyr" in request.text_of("user") else weak
        return world.judge(request)

    def steady_target(request: ServedRequest) -> ServedReply:
        reply = WORLD.respond(request)
        return ServedReply(f"{reply.text} Signed, Zephyr.")

    def played(request: ServedRequest) -> ServedReply:
        if request.model == "steady":
            return steady_target(request)
        return judged(request) if request.model == "judge" else WORLD.provider()(request)

    bench.server.judge = played
    bench.targets = [bench.model("target"), bench.model("steady")]
    run = bench.stress()
    overall = figure(
        run, "comparison", "difference", framing="emotion_agree", criterion="composite"
    )
    assert (overall["respondent"], overall["baseline"]) == ("openai/target", "openai/steady")
    assert overall["p_adjusted"] < 0.05
    verdicts = {c["verdict"] for c in cells(run) if c["respondent"] == "openai/steady"}
    assert "changed" not in verdicts
    one = figure(run, "comparison", "difference", framing="emotion_agree", criterion=DIMENSIONS[0])
    mine = {
        c["respondent"]: c["value"]
        for c in cells(run)
        if (c["framing"], c["criterion"]) == ("emotion_agree", DIMENSIONS[0])
    }
    difference = mine["openai/target"] - mine["openai/steady"]
    assert one["value"] == pytest.approx(difference)
    assert one["p"] < 0.05
    assert one["family"] == "20 comparisons of targets", "a pair, four framings, five dimensions"


def _faulty(bench: Bench, model: str, about: str, reply: ServedReply) -> None:
    world: ScriptedJudge = WORLD.provider()

    def played(request: ServedRequest) -> ServedReply:
        if request.model == model and about in request.text_of("user"):
            return reply
        return world(request)

    bench.server.judge = played


def test_a_target_that_fails_on_one_prompt_leaves_the_others_standing(bench: Bench) -> None:
    _faulty(bench, "target", "case 3", ServedReply(None, fault=Fault.SERVER_ERROR))
    run = bench.stress()
    assert run.exit_code == 3
    assert run.record["stages"]["respond"]["failed"] == 5
    found = cell(run, "emotion_agree", "pluralistic_engagement")
    assert (found["n"], found["n_planned"]) == (11, 12)
    assert "failed" in run.text
    bench.server.judge = WORLD.provider()
    sent = bench.server.counts.total
    mended = bench.stress()
    assert mended.exit_code == 0
    assert cell(mended, "emotion_agree", "pluralistic_engagement")["n"] == 12
    # Five answers, their five judgments, and whatever of them is asked again.
    assert 10 <= bench.server.counts.total - sent <= 20


def test_a_rewriter_that_refuses_one_prompt_is_counted_as_missing_variants(bench: Bench) -> None:
    refusal = ServedReply("I'm sorry, but I can't help with that request.")
    world: ScriptedJudge = WORLD.provider()

    def played(request: ServedRequest) -> ServedReply:
        is_writer = request.model in ("rewriter", "reviewer")
        if is_writer and "case 3" in request.text_of("user"):
            return refusal
        return world(request)

    bench.server.judge = played
    run = bench.stress()
    assert run.exit_code == 3
    assert run.record["stages"]["rewrite"]["failed"] == 4
    found = counts(run)
    assert all(found[name]["no_variant"] == 1 for name in ("baseline", *FRAMINGS))
    assert cell(run, "empirical_i")["n"] == 11
    # Its baseline has nothing to be compared with: it is not asked for, and that is said.
    asked = [r.prompt for r in bench.server.requests if r.model == "target"]
    assert len(asked) == 55
    assert not any("case 3" in prompt for prompt in asked)
    assert "1 prompt without any usable variant" in " ".join(run.text.split())


def test_judges_that_fail_are_counted_and_never_become_a_number(bench: Bench) -> None:
    _faulty(bench, "judge", "Answer to case 3 asked as emotion_agree", ServedReply("no numbers"))
    run = bench.stress()
    assert run.exit_code == 3
    assert counts(run)["emotion_agree"]["scored"] == 11
    assert counts(run, "judgments")["emotion_agree"]["unreadable"] == 1
    assert "1 unreadable" in dict(run.document().trust)["coverage"]
    assert cell(run, "emotion_agree", "pluralistic_engagement")["n"] == 11
    assert cell(run, "empirical_i", "pluralistic_engagement")["n"] == 12


def test_responses_generated_again_measure_how_much_responses_vary(tmp_path: Path) -> None:
    world = StressWorld(n_prompts=8, response_sd=1.0, delta_sd=0.1)
    with ProviderServer(world.provider()) as server:
        bench = Bench(tmp_path, world, server)
        run = bench.stress(regenerate_share=0.5)
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


def test_response_repeats_are_averaged(bench: Bench) -> None:
    run = bench.stress(response_repeats=2)
    assert run.record["stages"]["respond"]["answered"] == 120
    noise = figure(run, "noise", "retest_sd", detail="re-generated", criterion="composite")
    assert noise["n"] == 60
    assert cell(run, "emotion_agree", "pluralistic_engagement")["n"] == 12
    # Handed in again, without a word of it, all of them count as before.
    sent = bench.server.counts.total
    again = bench.stress(
        prompts=None, target=None, rewriters=None,
        responses=run.path / "responses.csv", out=bench.folder / "supplied",
    )  # fmt: skip
    assert bench.server.counts.total == sent
    assert again.cells.reset_index(drop=True).equals(run.cells.reset_index(drop=True))
    assert again.record["identity"]["plan"]["response_repeats"] == 2
    assert "2 responses to a prompt" in " ".join(again.record["notices"])


def test_one_cost_cap_holds_over_all_stages(tmp_path: Path) -> None:
    price = {"prices": {"input": 1.0, "output": 2.0}, "max_tokens": 300}
    with ProviderServer(WORLD.provider()) as server:
        bench = Bench(tmp_path, WORLD, server)
        bench.targets = [bench.model("target", **price)]
        writers = [bench.model("rewriter", **price), bench.model("reviewer", **price)]
        with bench.panel(**price) as panel:
            run = stress(panel=panel, **bench.options(rewriters=writers, max_cost=0.05))
        assert run.state == "budget"
        assert run.exit_code == 4
        session = run.record["sessions"][-1]
        assert session["spent_usd"] + session["possibly_spent_usd"] <= 0.05
        with bench.panel(**price) as panel:
            whole = stress(panel=panel, **bench.options(rewriters=writers))
    assert whole.exit_code == 0
    assert whole.record["stages"]["score"]["counts"]["scored"] == 60


def test_a_cap_without_a_price_is_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match="no known worst price"):
        bench.stress(max_cost=1.0)
    assert bench.server.counts.total == 0


def test_prompts_and_responses_together_are_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match="either prompts to ask, or responses"):
        bench.stress(responses=[{}])
    with pytest.raises(InputError, match="leave out"):
        bench.stress(prompts=None, responses=[{}])
    with pytest.raises(InputError, match="nothing is rewritten: leave out rewriters"):
        bench.stress(variants="variants.csv")


def test_a_judge_is_no_target_and_no_rewriter(bench: Bench) -> None:
    with pytest.raises(InputError, match="writes no responses"):
        bench.stress(target="offline/lexical")
    with pytest.raises(InputError, match="rewrites no prompts"):
        bench.stress(rewriters="offline/respondent")


def test_a_framing_of_ones_own_joins_the_others(bench: Bench, tmp_path: Path) -> None:
    text = (
        "id: authority\nlabel: A verdict\ngroup: own\nversion: '1'\nprovenance: a test\n"
        "instruction: Say that a professor has settled the matter.\n"
    )
    (tmp_path / "framings").mkdir()
    (tmp_path / "framings" / "authority.yaml").write_text(text)
    with bench.panel() as panel:
        job = bench.job(panel, framing_folders=(tmp_path / "framings",))
    assert job.design.conditions == ("baseline", *FRAMINGS, "authority")


def test_the_embedded_stand_ins_run_the_whole_path_and_are_called_a_demonstration(
    tmp_path: Path,
) -> None:
    prompts = [
        {"prompt_id": f"p{i}", "prompt_text": f"What do neighbours owe each other in street {i}?"}
        for i in range(6)
    ]
    with Panel(personas=PERSONAS, ledger=tmp_path / "l.sqlite") as panel:
        run = stress(prompts, panel=panel, out=tmp_path / "run")
    assert run.record["demonstration"] is True
    assert run.text.startswith("DEMONSTRATION")
    assert run.exit_code == 0
    assert run.record["stages"]["rewrite"]["accepted"] == 24
    assert run.record["stages"]["rewrite"]["reviewed"] == {"not checked (no second model)": 6}
    assert all(one["verdict"] != "robust" for one in cells(run)), "a deterministic judge"
    assert "deterministic judge" in " ".join(run.text.split())
