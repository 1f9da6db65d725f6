"""Prompt construction from scenarios to the set, against models on loopback that are known."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_world import MODELS, PromptWorld, diversity, figure, model, prompts_in

from areopagus.errors import InputError
from areopagus.prompts import (
    PromptJob,
    PromptRun,
    construct_prompts,
    sample_prompts,
    write_sample,
)
from areopagus.records.readers.responses import PromptSource
from areopagus.testing import ProviderServer, ServedReply


class Bench:
    """A server that plays a world, and the job before it."""

    def __init__(self, folder: Path, world: PromptWorld, server: ProviderServer) -> None:
        self.folder, self.world, self.server = folder, world, server

    def options(self, names: tuple[str, ...] = MODELS, **more: Any) -> dict[str, Any]:
        given = more.pop("settings", {})
        return {
            "models": [model(self.server, name, **given) for name in names],
            "ledger": self.folder / "ledger.sqlite",
            "out": self.folder / "run",
            **more,
        }

    def run(self, names: tuple[str, ...] = MODELS, **more: Any) -> PromptRun:
        return construct_prompts(self.world.scenarios(), **self.options(names, **more))

    def estimate(self, names: tuple[str, ...] = MODELS, **more: Any) -> int:
        job = PromptJob(self.world.scenarios(), **self.options(names, **more))
        return job.estimate().calls


Play = Callable[..., Bench]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    opened: list[ProviderServer] = []

    def make(**settings: Any) -> Bench:
        world = PromptWorld(**settings)
        server = ProviderServer(world)
        server.start()
        opened.append(server)
        return Bench(tmp_path, world, server)

    yield make
    for server in opened:
        server.stop()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_prompt_of_sound_models_passes_and_stands_in_the_set(play: Play) -> None:
    bench = play(n=2)
    run = bench.run(cross_pairs=4)
    assert run.state == "complete"
    assert run.exit_code == 0
    rows = rows_of(run.prompts_path)
    assert len(rows) == 2 * 3 * 5
    assert len({row["prompt_id"] for row in rows}) == 30
    first = rows[0]
    assert first["prompt_text"] == bench.world.question("alpha", "s0", 1)
    assert (first["generator"], first["scenario_id"], first["number"]) == ("alpha", "s0", "1")
    assert first["angle"] == "angle 1 of alpha in s0"
    assert (first["quality"], first["votes_passed"], first["votes_planned"]) == ("passed", "2", "2")
    assert first["source_file"] == "made.jsonl"
    with PromptSource(run.prompts_path) as prompts:
        assert prompts.check().n_prompts == 30
    assert [row["scenario_id"] for row in rows_of(run.path / "scenarios.csv")] == ["s0", "s1"]
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("Yield, pass rate, coverage", "Functional diversity"))
    assert "1.000" in page
    again = PromptRun(run.path).write_report(run.path / "again.html")
    assert again.read_text(encoding="utf-8") == page, "the folder alone makes the page"
    assert any("stereotypes of social groups" in notice for notice in run.record["notices"])
    # write: 3 a scenario; filter: 15 prompts x 2; compare: 3 x C(5,2) x 2 within, 3 x 4 x 1 across
    assert bench.server.counts.total == 2 * (3 + 30 + 60 + 12)


def test_the_scratchpad_is_shown_to_nobody_and_stored_in_no_table(play: Play) -> None:
    bench = play(n=1)
    run = bench.run(cross_pairs=2)
    judged = [r for r in bench.server.requests if bench.world.role(r) != "generate"]
    assert judged
    assert not any("SECRET plan" in str(r.messages) for r in judged)
    for path in run.path.iterdir():
        if path.is_file():
            assert b"SECRET plan" not in path.read_bytes(), path.name


def test_no_model_judges_what_it_wrote(play: Play) -> None:
    bench = play(n=2)
    bench.run(cross_pairs=5)
    seen = Counter[str]()
    for request in bench.server.requests:
        role = bench.world.role(request)
        if role != "generate":
            seen[role] += 1
            assert request.model not in {writer for writer, _, _ in prompts_in(request)}
    assert set(seen) == {"quality", "compare"}


def test_the_same_model_under_another_name_does_not_judge_its_own(play: Play) -> None:
    bench = play(n=1)
    twin = model(bench.server, "alpha", temperature=1.0) | {"name": "alpha-warm"}
    run = construct_prompts(
        bench.world.scenarios(),
        **bench.options(("alpha", "beta"), judges=[twin], cross_pairs=5),
    )
    for request in bench.server.requests:
        if bench.world.role(request) != "generate":
            assert request.model not in {writer for writer, _, _ in prompts_in(request)}
    assert any("two names stand for one model" in notice for notice in run.record["notices"])


def test_a_malformed_block_is_asked_for_once_more_and_the_others_stand(play: Play) -> None:
    bench = play(n=2, malformed={("beta", "s1"): (2, 4)})
    run = bench.run(diversity_of="none")
    repairs = [
        r
        for r in bench.server.requests
        if bench.world.role(r) == "generate" and len(r.messages) > 2
    ]
    assert len(repairs) == 1
    assert '"prompt_2_question"' in repairs[0].messages[-1]["content"]
    assert '"prompt_1_question"' not in repairs[0].messages[-1]["content"]
    (bundle,) = [r for r in rows_of(run.path / "bundles.csv") if r["repaired"] == "yes"]
    assert (bundle["generator"], bundle["status"], bundle["usable"]) == ("beta", "complete", "5")
    assert bundle["repaired_faults"] == "2: missing_key; 4: missing_key"
    assert run.exit_code == 0


def test_a_block_that_stays_malformed_is_counted_and_left_out(play: Play) -> None:
    bench = play(n=2, malformed={("beta", "s1"): (2, 4)}, mends=False)
    run = bench.run(diversity_of="none")
    found = {
        name: figure(run, "beta", name).value
        for name in ("partial", "prompts_usable", "prompts_wanted", "yield", "coverage")
    }
    assert found == pytest.approx(
        {"partial": 1, "prompts_usable": 8, "prompts_wanted": 10, "yield": 0.8, "coverage": 0.5}
    )
    assert len(rows_of(run.prompts_path)) == 28
    candidates = rows_of(run.path / "candidates.csv")
    assert len(candidates) == 30
    assert sum(row["is_usable"] == "no" for row in candidates) == 2
    assert run.exit_code == 3


def test_a_reply_that_is_no_object_is_repaired_once_and_then_unreadable(play: Play) -> None:
    bench = play(n=1, noise={("generate", "gamma"): "Here you are: five fine prompts."})
    run = bench.run(diversity_of="none")
    asked = [r for r in bench.server.requests if r.model == "gamma"]
    assert sum(bench.world.role(r) == "generate" for r in asked) == 2
    assert figure(run, "gamma", "unreadable").value == 1
    assert figure(run, "alpha", "complete").value == 1


def test_refusals_are_a_coverage_gap_by_model_and_scenario(play: Play) -> None:
    bench = play(n=4, refusing={("alpha", "s1"), ("alpha", "s3")})
    run = bench.run(cross_pairs=1)
    assert run.record["stages"]["construct"]["refused"] == {"alpha": ["s1", "s3"]}
    # Two of four bundles: yield 10 of 20, coverage 2 of 4; what was written passes all the same.
    found = [figure(run, "alpha", name).value for name in ("yield", "coverage", "pass_rate")]
    assert found == pytest.approx([0.5, 0.5, 1.0])
    assert diversity(run, "alpha", "alpha", "diversity").n == 2
    assert figure(run, "beta", "coverage").value == 1.0
    assert "Refused by alpha: s1, s3" in run.text
    assert max(len(line) for line in run.text.splitlines()) <= 80
    assert run.exit_code == 3


def test_a_provider_that_refuses_by_status_counts_as_a_refusal_too(play: Play) -> None:
    bench = play(n=1)
    served = bench.server.judge

    def refusing(request: Any) -> ServedReply:
        if request.model == "alpha" and bench.world.role(request) == "generate":
            body = {"error": {"code": "content_filter", "message": "content_policy_violation"}}
            return ServedReply(None, status=400, body=json.dumps(body).encode())
        return served(request)

    bench.server.judge = refusing
    run = bench.run(diversity_of="none")
    assert figure(run, "alpha", "refused").value == 1


def test_a_flaw_that_both_others_see_fails_a_prompt_and_one_is_not_enough_to_save_it(
    play: Play,
) -> None:
    bench = play(
        n=3,
        flaws={("alpha", 1): "judgmental", ("beta", 2): "embeds_answer"},
        soft={"gamma"},
    )
    run = bench.run(diversity_of="none")
    quality = {
        (row["generator"], row["number"]): row["quality"]
        for row in rows_of(run.path / "candidates.csv")
    }
    # With two judges both must pass: gamma finds nothing, the other one does.
    assert quality["alpha", "1"] == "failed"
    assert quality["beta", "2"] == "failed"
    assert quality["gamma", "1"] == "passed"
    assert figure(run, "alpha", "pass_rate").value == pytest.approx(12 / 15)
    assert figure(run, "alpha", "missed_judgmental").value == 3
    assert not any(
        (row["generator"], row["number"]) == ("alpha", "1") for row in rows_of(run.prompts_path)
    )


def test_with_all_judges_two_of_three_pass_a_prompt_and_the_table_says_so(play: Play) -> None:
    # alpha's first prompt: beta finds a flaw, gamma none, alpha itself none.
    bench = play(n=2, flaws={("alpha", 1): "judgmental"}, soft={"gamma", "alpha"})
    others = bench.run(diversity_of="none")
    everybody = bench.run(diversity_of="none", filter_judges="all", out=bench.folder / "all")
    by_name = {
        run.path.name: {
            (row["generator"], row["number"]): row for row in rows_of(run.path / "candidates.csv")
        }
        for run in (others, everybody)
    }
    assert by_name["run"]["alpha", "1"]["quality"] == "failed"
    row = by_name["all"]["alpha", "1"]
    assert (row["quality"], row["votes_passed"], row["votes_planned"]) == ("passed", "2", "3")
    assert "the models that did not write it" in others.text
    assert "all models, its writer among them" in everybody.text
    own = [row for row in rows_of(everybody.path / "votes.csv") if row["is_own"] == "yes"]
    assert len(own) == 2 * 15


def test_all_votes_are_kept_with_their_criteria_and_reasons(play: Play) -> None:
    bench = play(n=2, flaws={("beta", 3): "testable_hypothesis"})
    run = bench.run(diversity_of="none")
    votes = rows_of(run.path / "votes.csv")
    assert len(votes) == 2 * 15 * 2
    mine = [row for row in votes if row["prompt_id"] == "s0-beta-3"]
    assert {row["judge"] for row in mine} == {"alpha", "gamma"}
    assert all(row["testable_hypothesis"] == "yes" and row["passes"] == "no" for row in mine)
    assert mine[0]["reason"].endswith("looked at beta 3")
    assert figure(run, "beta", "votes_read").value == 20


def test_a_prompt_can_be_cited_by_the_model_that_wrote_it(play: Play) -> None:
    bench = play(n=1)
    run = bench.run()
    # The name is the user's, the string says whose model it is.
    expected = {name: f"openai/{name}" for name in MODELS}
    for file in ("prompts.csv", "candidates.csv", "bundles.csv"):
        rows = rows_of(run.path / file)
        assert {row["generator"]: row["generator_model"] for row in rows} == expected, file
    votes = rows_of(run.path / "votes.csv")
    assert {row["judge"]: row["judge_model"] for row in votes} == expected
    pairs = rows_of(run.path / "pairs.csv")
    for place in ("judge_1", "judge_2"):
        named = {row[place]: row[f"{place}_model"] for row in pairs}
        assert named.pop("", "") == ""
        assert named.items() <= expected.items()
    # What is asked with these prompts carries it on; a sample keeps it.
    with PromptSource(run.prompts_path) as opened:
        opened.check()
        assert {row.extra["generator_model"] for row in opened.rows()} == set(expected.values())
    write_sample(bench.folder / "study.csv", sample_prompts(run.path, 3))
    drawn = rows_of(bench.folder / "study.csv")
    assert {row["generator_model"] for row in drawn} == set(expected.values())


def test_a_vote_that_cannot_be_read_leaves_the_prompt_undecided_never_passed(play: Play) -> None:
    bench = play(n=1, noise={("quality", "gamma"): "fine by me"})
    run = bench.run(diversity_of="none")
    names = ("passed", "failed", "undecided", "not_checked", "not_asked")
    assert [figure(run, "alpha", f"prompts_{name}").value for name in names] == [0, 0, 5, 0, 0]
    found = figure(run, "alpha", "pass_rate")
    assert not found.is_defined
    assert found.reason == "no prompt is decided"
    # gamma's own prompts have two sound judges.
    assert figure(run, "gamma", "prompts_passed").value == 5
    votes = [row for row in rows_of(run.path / "votes.csv") if row["judge"] == "gamma"]
    assert {row["status"] for row in votes} == {"unreadable"}
    assert {row["calls"] for row in votes} == {"2"}
    assert run.exit_code == 3


def test_diversity_within_and_across_is_what_was_planted(play: Play) -> None:
    # alpha: prompts 1, 2, 3 are one: 3 equivalent pairs of 10. beta: 4 and 5: 1 of 10.
    bench = play(n=2, same={"alpha": (frozenset({1, 2, 3}),), "beta": (frozenset({4, 5}),)})
    run = bench.run()
    assert diversity(run, "alpha", "alpha", "diversity").value == pytest.approx(0.7)
    assert diversity(run, "beta", "beta", "diversity").value == pytest.approx(0.9)
    assert diversity(run, "gamma", "gamma", "diversity").value == 1.0
    crossed = [
        diversity(run, "alpha", "beta", name).value
        for name in ("diversity", "judges_a_pair", "pairs")
    ]
    assert crossed == [1.0, 1, 50]
    assert diversity(run, "alpha", "alpha", "judges_a_pair").value == 2
    assert diversity(run, None, None, "diversity").n == 2
    pairs = rows_of(run.path / "pairs.csv")
    assert len(pairs) == 2 * (30 + 75)
    equivalent = [row for row in pairs if row["equivalent"] == "yes"]
    assert len(equivalent) == 2 * 4
    assert all({row["judge_1"], row["judge_2"]} == {"beta", "gamma"} for row in equivalent[:3])


def test_one_judge_is_enough_under_either_and_not_under_both(play: Play) -> None:
    bench = play(n=2, lenient={"gamma"})
    run = bench.run(cross_pairs=0)
    both = [
        diversity(run, "alpha", "alpha", name).value
        for name in ("diversity", "diversity_other_rule")
    ]
    sent = bench.server.counts.total
    either = bench.run(cross_pairs=0, equivalence="either")
    assert bench.server.counts.total == sent, "the rule changes no question"
    # gamma judges the pairs of alpha and beta beside one judge who sees none equivalent.
    assert both == [1.0, 0.0]
    assert diversity(either, "alpha", "alpha", "diversity").value == 0.0
    assert diversity(either, "gamma", "gamma", "diversity").value == 1.0


def test_a_further_judge_gives_the_pairs_across_two_models_their_second_voice(play: Play) -> None:
    bench = play(n=1)
    run = bench.run(judges=[model(bench.server, "delta")], cross_pairs=4)
    assert diversity(run, "alpha", "beta", "judges_a_pair").value == 2
    assert all("one model that wrote neither" not in n for n in run.record["notices"])
    assert not any(
        r.model == "delta" and bench.world.role(r) == "generate" for r in bench.server.requests
    )


def test_with_one_model_nothing_is_checked_and_the_set_says_so(play: Play) -> None:
    bench = play(n=2)
    run = bench.run(("alpha",))
    assert {row["quality"] for row in rows_of(run.prompts_path)} == {"not_checked"}
    found = diversity(run, "alpha", "alpha", "diversity")
    assert not found.is_defined
    assert found.reason == "no model that wrote neither prompt"
    assert bench.server.counts.total == 2


def test_of_those_that_passed_only_their_pairs_are_compared(play: Play) -> None:
    bench = play(n=1, flaws={("alpha", 5): "judgmental"})
    run = bench.run(diversity_of="passed", cross_pairs=0)
    pairs = rows_of(run.path / "pairs.csv")
    assert len([row for row in pairs if row["first_generator"] == "alpha"]) == 6
    assert not any("alpha-5" in row["first"] + row["second"] for row in pairs)


@pytest.mark.parametrize(
    "plan",
    [
        {"cross_pairs": 7},
        {"filter_judges": "all", "cross_pairs": 4},
        {"diversity_of": "passed", "cross_pairs": 0},
        {"diversity_of": "none", "per_scenario": 3},
    ],
)
def test_a_dry_run_counts_the_calls_that_are_then_sent(play: Play, plan: dict[str, Any]) -> None:
    bench = play(n=2, count=plan.get("per_scenario", 5))
    planned = bench.estimate(**plan)
    assert bench.server.counts.total == 0
    bench.run(**plan)
    assert bench.server.counts.total == planned
    assert bench.estimate(**plan) == 0


def test_a_dry_run_after_a_part_counts_what_is_left(play: Play) -> None:
    bench, plan = play(n=2), {"cross_pairs": 3}
    bench.run(limit=1, **plan)
    sent = bench.server.counts.total
    left = bench.estimate(**plan)
    bench.run(out=bench.folder / "whole", **plan)
    assert bench.server.counts.total - sent == left


def test_a_rerun_asks_nothing_and_writes_the_same(play: Play) -> None:
    bench = play(n=2, malformed={("beta", "s1"): (2,)})
    plan = {"cross_pairs": 3}
    first = bench.run(**plan)
    # All of them tell of every session.
    told = {"run.json", "report.html", "report.txt"}

    def files(run: PromptRun) -> dict[str, bytes]:
        kept = (path for path in run.path.iterdir() if path.is_file() and path.name not in told)
        return {path.name: path.read_bytes() for path in kept}

    before = files(first)
    sent = bench.server.counts.total
    again = bench.run(**plan)
    assert bench.server.counts.total == sent
    assert files(again) == before


def test_another_plan_in_the_same_folder_is_refused(play: Play) -> None:
    bench = play(n=1)
    bench.run(diversity_of="none")
    with pytest.raises(InputError, match="holds another run"):
        bench.run(diversity_of="none", per_scenario=4)


def test_under_a_cost_cap_scenarios_are_asked_for_whole_and_by_all_models(play: Play) -> None:
    bench = play(n=6)
    prices = {"settings": {"prices": {"input": 1000.0, "output": 1000.0}, "max_tokens": 900}}
    run = bench.run(**prices, diversity_of="none", max_cost=40.0)
    assert run.state == "budget"
    asked: dict[str, set[str]] = {}
    for row in rows_of(run.path / "bundles.csv"):
        if row["status"] != "not_asked":
            asked.setdefault(row["scenario_id"], set()).add(row["generator"])
    # Of the scenarios that were begun, in their order, at most the last lacks a model or a vote.
    assert 2 <= len(asked) < 6
    *whole, _ = asked
    assert whole == [f"s{number}" for number in range(len(whole))]
    assert all(len(asked[scenario]) == 3 for scenario in whole)
    candidates = rows_of(run.path / "candidates.csv")
    theirs = {row["prompt_id"] for row in candidates if row["scenario_id"] in whole}
    votes = [row for row in rows_of(run.path / "votes.csv") if row["prompt_id"] in theirs]
    assert len(votes) == 30 * len(whole)
    assert all(row["status"] != "not_asked" for row in votes)


def test_a_cost_cap_is_not_passed_and_the_next_run_goes_on(play: Play) -> None:
    bench = play(n=2)
    prices = {"settings": {"prices": {"input": 1000.0, "output": 1000.0}, "max_tokens": 900}}
    plan = {"cross_pairs": 0}
    run = bench.run(**prices, **plan, max_cost=20.0)
    assert run.state == "budget"
    assert run.exit_code == 4
    session = run.record["sessions"][-1]
    assert 0 < session["spent_usd"] + session["possibly_spent_usd"] <= 20.0
    stages = run.record["stages"]["construct"]
    unasked, unvoted = stages["bundles"]["not_asked"], stages["votes"].get("not_asked", 0)
    assert unasked or unvoted
    sentence = f"stopped by the cost cap of $20.00: {6 - unasked} of 6 planned bundles asked for"
    assert f"S{sentence[1:]}" in " ".join(run.text.split())
    stop = run.record["cost_cap"]
    assert (stop["planned"], stop["asked"], stop["max_cost_usd"]) == (6, 6 - unasked, 20.0)
    assert stop["sentence"].startswith(sentence)
    assert (f"{unvoted} vote" in stop["sentence"]) == bool(unvoted)
    assert sentence[1:] in (run.path / "report.html").read_text(encoding="utf-8")
    done = bench.run(**prices, **plan)
    assert done.state == "complete"
    assert done.record["cost_cap"] is None
    assert "by the cost cap" not in done.text
    assert done.exit_code == 0
    assert len(rows_of(done.prompts_path)) == 30
    # Nothing was paid twice.
    assert bench.server.counts.total == 2 * (3 + 30 + 60)


def test_a_scenario_of_concepts_asks_for_technology_and_allows_one(play: Play) -> None:
    bench = play(n=1, source="concepts")
    run = bench.run(diversity_of="none")
    asked = next(r for r in bench.server.requests if bench.world.role(r) == "generate")
    assert "At most one of the questions" in asked.text_of("system")
    assert {row["about_technology"] for row in rows_of(run.prompts_path)} == {"no"}


def test_everything_wrong_is_said_before_anything_is_asked(play: Play) -> None:
    bench = play(n=1)
    with pytest.raises(InputError, match="is named twice"):
        bench.run(("alpha", "alpha"))
    with pytest.raises(InputError, match="none of them can judge prompts"):
        bench.run(judges=["offline/lexical"])
    with pytest.raises(InputError, match="writes no prompts"):
        construct_prompts(bench.world.scenarios(), models="offline/rewriter")
    with pytest.raises(InputError, match=r"per_scenario: .*10"):
        bench.run(per_scenario=11)
    assert bench.server.counts.total == 0


def test_the_embedded_generator_makes_a_demonstration_without_a_key(tmp_path: Path) -> None:
    rows = PromptWorld(n=3).scenarios()
    run = construct_prompts(rows, ledger=tmp_path / "l.sqlite", out=tmp_path / "run")
    assert run.text.startswith("DEMONSTRATION")
    assert run.record["demonstration"] is True
    assert len(rows_of(run.prompts_path)) == 15
    assert run.exit_code == 0
