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
from areopagus.testing import ProviderServer, ServedReply, ServedRequest


class Setup:
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

    def estimate(self, **more: Any) -> int:
        return PromptJob(self.world.scenarios(), **self.options(**more)).estimate().calls

    def asked(self, *roles: str) -> list[ServedRequest]:
        """The requests in which a model was asked for one of these."""
        return [r for r in self.server.requests if self.world.role(r) in roles]

    def nobody_judged_its_own(self) -> bool:
        judged = self.asked("quality", "compare")
        writers = ({writer for writer, _, _ in prompts_in(r)} for r in judged)
        pairs = zip(judged, writers, strict=True)
        return bool(judged) and all(r.model not in mine for r, mine in pairs)


Play = Callable[..., Setup]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    opened: list[ProviderServer] = []

    def make(**settings: Any) -> Setup:
        world = PromptWorld(**settings)
        server = ProviderServer(world)
        server.start()
        opened.append(server)
        return Setup(tmp_path, world, server)

    yield make
    for server in opened:
        server.stop()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.report
def test_every_prompt_of_sound_models_passes_and_stands_in_the_set(play: Play) -> None:
    setup, plan = play(n=2), {"cross_pairs": 4}
    planned = setup.estimate(**plan)
    assert setup.server.counts.total == 0
    run = setup.run(**plan)
    assert (run.state, run.exit_code) == ("complete", 0)
    # write: 3 a scenario; filter: 15 prompts x 2; compare: 3 x C(5,2) x 2 within, 3 x 4 x 1 across
    assert setup.server.counts.total == planned == 2 * (3 + 30 + 60 + 12)
    assert setup.nobody_judged_its_own()
    rows = rows_of(run.prompts_path)
    assert len(rows) == len({row["prompt_id"] for row in rows}) == 2 * 3 * 5
    first = rows[0]
    assert first["prompt_text"] == setup.world.question("alpha", "s0", 1)
    assert (first["generator"], first["scenario_id"], first["number"]) == ("alpha", "s0", "1")
    assert first["angle"] == "angle 1 of alpha in s0"
    assert (first["quality"], first["votes_passed"], first["votes_planned"]) == ("passed", "2", "2")
    assert first["source_file"] == "made.jsonl"
    assert [row["scenario_id"] for row in rows_of(run.path / "scenarios.csv")] == ["s0", "s1"]
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("Yield, pass rate, coverage", "Functional diversity"))
    again = PromptRun(run.path).write_report(run.path / "again.html")
    assert again.read_text(encoding="utf-8") == page, "the folder alone makes the page"
    again.unlink()
    assert any("stereotypes of social groups" in notice for notice in run.record["notices"])
    # The scratchpad is shown to nobody and stored in no table.
    assert not any("SECRET plan" in str(r.messages) for r in setup.asked("quality", "compare"))
    files = {p.name: p.read_bytes() for p in run.path.iterdir() if p.is_file()}
    assert not any(b"SECRET plan" in content for content in files.values())
    # A rerun asks nothing and writes the same, but for what tells of every session.
    with pytest.raises(InputError, match="holds another run"):
        setup.run(**plan, per_scenario=4)
    setup.run(**plan)
    assert (setup.server.counts.total, setup.estimate(**plan)) == (planned, 0)
    told = {"run.json", "report.html", "report.txt"}
    assert {name for name in files if (run.path / name).read_bytes() != files[name]} <= told


def test_a_prompt_can_be_cited_by_the_model_that_wrote_it(play: Play) -> None:
    setup = play(n=1)
    run = setup.run(cross_pairs=1)
    # The name is the user's, the string says whose model it is.
    expected = {name: f"openai/{name}" for name in MODELS}
    for file in ("prompts.csv", "candidates.csv", "bundles.csv"):
        rows = rows_of(run.path / file)
        assert {row["generator"]: row["generator_model"] for row in rows} == expected, file
    votes = rows_of(run.path / "votes.csv")
    assert {row["judge"]: row["judge_model"] for row in votes} == expected
    for place in ("judge_1", "judge_2"):
        pairs = rows_of(run.path / "pairs.csv")
        named = {row[place]: row[f"{place}_model"] for row in pairs}
        assert named.pop("", "") == ""
        assert named.items() <= expected.items()
    # What is asked with these prompts carries it on; a sample keeps it.
    with PromptSource(run.prompts_path) as opened:
        assert opened.check().n_prompts == 15
        assert {row.extra["generator_model"] for row in opened.rows()} == set(expected.values())
    write_sample(setup.folder / "study.csv", sample_prompts(run.path, 3))
    drawn = rows_of(setup.folder / "study.csv")
    assert {row["generator_model"] for row in drawn} == set(expected.values())


def test_what_was_planted_is_found_and_what_failed_is_counted(play: Play) -> None:
    """Refusals, blocks that are mended and that are not, flaws, likeness: each in its figure."""
    setup = play(
        n=3,
        refusing={("alpha", "s2")},
        malformed={("beta", "s1"): (2, 4), ("gamma", "s2"): (1, 2)},
        unmended={("gamma", "s2")},
        flaws={("alpha", 1): "judgmental", ("beta", 3): "testable_hypothesis"},
        soft={"gamma"},
        same={"alpha": (frozenset({1, 2, 3}),), "beta": (frozenset({4, 5}),)},
    )
    run = setup.run(cross_pairs=5)
    assert run.exit_code == 3

    def figures(name: str, *measures: str) -> list[float]:
        return [figure(run, name, measure).value for measure in measures]

    # Refused: a gap by model and scenario; what was written passes all the same.
    assert run.record["stages"]["construct"]["refused"] == {"alpha": ["s2"]}
    assert figures("alpha", "yield", "coverage") == pytest.approx([2 / 3, 2 / 3])
    assert "Refused by alpha: s2" in run.text
    assert max(len(line) for line in run.text.splitlines()) <= 80
    # Malformed: asked for once more, these blocks alone; one that stays so is left out.
    repairs = [r for r in setup.asked("generate") if len(r.messages) > 2]
    assert sorted(r.model for r in repairs) == ["beta", "gamma"]
    told = next(r for r in repairs if r.model == "beta").messages[-1]["content"]
    assert '"prompt_2_question"' in told
    assert '"prompt_1_question"' not in told
    mended, stayed = (r for r in rows_of(run.path / "bundles.csv") if r["repaired"] == "yes")
    assert (mended["generator"], mended["status"], mended["usable"]) == ("beta", "complete", "5")
    assert mended["repaired_faults"] == "2: missing_key; 4: missing_key"
    assert (stayed["generator"], stayed["status"], stayed["usable"]) == ("gamma", "partial", "3")
    found = figures("gamma", "partial", "prompts_usable", "prompts_wanted", "yield", "coverage")
    assert found == pytest.approx([1, 13, 15, 13 / 15, 2 / 3])
    candidates = rows_of(run.path / "candidates.csv")
    assert (len(candidates), sum(r["is_usable"] == "no" for r in candidates)) == (40, 2)
    # With two judges both must pass: gamma finds nothing, the other one does.
    quality = {(r["generator"], r["number"]): r["quality"] for r in candidates}
    assert [quality[one] for one in (("alpha", "1"), ("beta", "3"), ("gamma", "3"))] == [
        "failed", "failed", "passed",
    ]  # fmt: skip
    assert figures("alpha", "pass_rate", "missed_judgmental") == pytest.approx([8 / 10, 2])
    assert figures("beta", "pass_rate", "votes_read") == pytest.approx([12 / 15, 30])
    assert len(rows_of(run.prompts_path)) == 38 - 2 - 3
    mine = [r for r in rows_of(run.path / "votes.csv") if r["prompt_id"] == "s0-beta-3"]
    assert {(r["judge"], r["testable_hypothesis"], r["passes"]) for r in mine} == {
        ("alpha", "yes", "no"), ("gamma", "no", "yes"),
    }  # fmt: skip
    assert mine[0]["reason"].endswith("looked at beta 3")
    # alpha: prompts 1, 2, 3 are one: 3 equivalent pairs of 10. beta: 4 and 5: 1 of 10.
    for name, value, n in (("alpha", 0.7, 2), ("beta", 0.9, 3), ("gamma", 1.0, 3)):
        one = diversity(run, name, name, "diversity")
        assert (one.value, one.n) == (pytest.approx(value), n)
    assert diversity(run, "alpha", "alpha", "judges_a_pair").value == 2
    measures = ("diversity", "judges_a_pair", "pairs")
    assert [diversity(run, "alpha", "beta", m).value for m in measures] == [1.0, 1, 10]
    assert diversity(run, None, None, "diversity").n == 2
    equivalent = [r for r in rows_of(run.path / "pairs.csv") if r["equivalent"] == "yes"]
    assert Counter(r["first_generator"] for r in equivalent) == {"alpha": 6, "beta": 3}
    assert {equivalent[0]["judge_1"], equivalent[0]["judge_2"]} == {"beta", "gamma"}


def test_of_those_that_passed_only_their_pairs_are_compared(play: Play) -> None:
    setup = play(n=1, flaws={("alpha", 5): "judgmental"})
    run = setup.run(diversity_of="passed", cross_pairs=0)
    pairs = rows_of(run.path / "pairs.csv")
    assert len([row for row in pairs if row["first_generator"] == "alpha"]) == 6
    assert not any("alpha-5" in row["first"] + row["second"] for row in pairs)


def test_a_reply_that_is_no_object_is_unreadable_and_a_refusal_by_status_a_refusal(
    play: Play,
) -> None:
    setup = play(n=1, noise={("generate", "gamma"): "Here you are: five fine prompts."})
    served = setup.server.judge

    def refusing(request: Any) -> ServedReply:
        if request.model == "alpha" and setup.world.role(request) == "generate":
            body = {"error": {"code": "content_filter", "message": "content_policy_violation"}}
            return ServedReply(None, status=400, body=json.dumps(body).encode())
        return served(request)

    setup.server.judge = refusing
    run = setup.run(diversity_of="none")
    assert sum(r.model == "gamma" for r in setup.asked("generate")) == 2, "repaired once"
    assert figure(run, "gamma", "unreadable").value == 1
    assert figure(run, "alpha", "refused").value == 1
    assert figure(run, "beta", "complete").value == 1


def test_a_vote_that_cannot_be_read_leaves_the_prompt_undecided_never_passed(play: Play) -> None:
    setup = play(n=1, noise={("quality", "gamma"): "fine by me"})
    run = setup.run(diversity_of="none")
    names = ("passed", "failed", "undecided", "not_checked", "not_asked")
    assert [figure(run, "alpha", f"prompts_{name}").value for name in names] == [0, 0, 5, 0, 0]
    found = figure(run, "alpha", "pass_rate")
    assert (found.is_defined, found.reason) == (False, "no prompt is decided")
    # gamma's own prompts have two sound judges.
    assert figure(run, "gamma", "prompts_passed").value == 5
    votes = [row for row in rows_of(run.path / "votes.csv") if row["judge"] == "gamma"]
    assert {(row["status"], row["calls"]) for row in votes} == {("unreadable", "2")}
    assert run.exit_code == 3


def test_with_all_judges_two_of_three_pass_a_prompt_and_the_table_says_so(play: Play) -> None:
    # alpha's first prompt: beta finds a flaw, gamma none, alpha itself none.
    setup = play(n=1, flaws={("alpha", 1): "judgmental"}, soft={"gamma", "alpha"})
    others = setup.run(diversity_of="none")
    everybody = setup.run(diversity_of="none", filter_judges="all", out=setup.folder / "all")
    first, second = (rows_of(run.path / "candidates.csv")[0] for run in (others, everybody))
    assert first["quality"] == "failed"
    told = second["quality"], second["votes_passed"], second["votes_planned"]
    assert told == ("passed", "2", "3")
    assert "the models that did not write it" in others.text
    assert "all models, its writer among them" in everybody.text
    own = [row for row in rows_of(everybody.path / "votes.csv") if row["is_own"] == "yes"]
    assert len(own) == 15


def test_one_judge_is_enough_under_either_and_not_under_both(play: Play) -> None:
    setup = play(n=1, lenient={"gamma"})
    run = setup.run(cross_pairs=0)
    both = [
        diversity(run, "alpha", "alpha", name).value
        for name in ("diversity", "diversity_other_rule")
    ]
    sent = setup.server.counts.total
    either = setup.run(cross_pairs=0, equivalence="either")
    assert setup.server.counts.total == sent, "the rule changes no question"
    # gamma judges the pairs of alpha and beta beside one judge who sees none equivalent.
    assert both == [1.0, 0.0]
    assert diversity(either, "alpha", "alpha", "diversity").value == 0.0
    assert diversity(either, "gamma", "gamma", "diversity").value == 1.0


def test_a_further_judge_is_a_second_voice_and_a_model_under_another_name_is_none(
    play: Play,
) -> None:
    setup = play(n=1)
    twin = model(setup.server, "alpha", temperature=1.0) | {"name": "alpha-warm"}
    run = setup.run(judges=[twin, model(setup.server, "delta")], cross_pairs=4)
    assert setup.nobody_judged_its_own()
    assert any("two names stand for one model" in notice for notice in run.record["notices"])
    assert diversity(run, "alpha", "beta", "judges_a_pair").value == 2
    assert all("one model that wrote neither" not in n for n in run.record["notices"])
    assert "delta" not in {r.model for r in setup.asked("generate")}


def test_with_one_model_nothing_is_checked_and_the_set_says_so(play: Play) -> None:
    setup = play(n=1)
    run = setup.run(("alpha",))
    assert {row["quality"] for row in rows_of(run.prompts_path)} == {"not_checked"}
    found = diversity(run, "alpha", "alpha", "diversity")
    assert (found.is_defined, found.reason) == (False, "no model that wrote neither prompt")
    assert setup.server.counts.total == 1


@pytest.mark.parametrize(
    "plan",
    [
        {"filter_judges": "all", "cross_pairs": 2},
        {"diversity_of": "passed", "cross_pairs": 0},
        {"diversity_of": "none", "per_scenario": 3},
    ],
)
def test_a_dry_run_counts_the_calls_that_are_then_sent(play: Play, plan: dict[str, Any]) -> None:
    setup = play(n=2, count=plan.get("per_scenario", 5))
    planned = setup.estimate(**plan)
    setup.run(**plan, limit=1)
    sent = setup.server.counts.total
    # After a part it counts what is left.
    left = setup.estimate(**plan)
    setup.run(**plan, out=setup.folder / "whole")
    assert setup.server.counts.total == planned == sent + left
    assert setup.estimate(**plan) == 0


@pytest.mark.report
def test_a_cost_cap_is_not_passed_scenarios_are_whole_and_the_next_run_goes_on(play: Play) -> None:
    setup = play(n=4)
    prices = {"settings": {"prices": {"input": 1000.0, "output": 1000.0}, "max_tokens": 900}}
    run = setup.run(**prices, diversity_of="none", max_cost=30.0)
    assert (run.state, run.exit_code) == ("budget", 4)
    session = run.record["sessions"][-1]
    assert 0 < session["spent_usd"] + session["possibly_spent_usd"] <= 30.0
    asked: dict[str, set[str]] = {}
    for row in rows_of(run.path / "bundles.csv"):
        if row["status"] != "not_asked":
            asked.setdefault(row["scenario_id"], set()).add(row["generator"])
    # Of the scenarios that were begun, in their order, at most the last lacks a model or a vote.
    assert 2 <= len(asked) < 4
    *whole, _ = asked
    assert whole == [f"s{number}" for number in range(len(whole))]
    assert all(len(asked[scenario]) == 3 for scenario in whole)
    votes = [r for r in rows_of(run.path / "votes.csv") if r["prompt_id"].split("-")[0] in whole]
    assert len(votes) == 30 * len(whole)
    assert all(row["status"] != "not_asked" for row in votes)
    # What was left out is said wherever the run is told of.
    stages = run.record["stages"]["construct"]
    unasked, unvoted = stages["bundles"]["not_asked"], stages["votes"].get("not_asked", 0)
    sentence = f"topped by the cost cap of $30.00: {12 - unasked} of 12 planned bundles asked for"
    stop = run.record["cost_cap"]
    assert (stop["planned"], stop["asked"], stop["max_cost_usd"]) == (12, 12 - unasked, 30.0)
    assert stop["sentence"].startswith(f"s{sentence}")
    assert (f"{unvoted} vote" in stop["sentence"]) == bool(unvoted)
    assert f"S{sentence}" in " ".join(run.text.split())
    assert sentence in (run.path / "report.html").read_text(encoding="utf-8")
    done = setup.run(**prices, diversity_of="none")
    assert (done.state, done.exit_code, done.record["cost_cap"]) == ("complete", 0, None)
    assert "by the cost cap" not in done.text
    assert setup.server.counts.total == 4 * (3 + 30), "nothing was paid twice"


def test_a_scenario_of_concepts_asks_for_technology_and_allows_one(play: Play) -> None:
    setup = play(n=1, source="concepts")
    run = setup.run(("alpha",))
    assert "At most one of the questions" in setup.asked("generate")[0].text_of("system")
    assert {row["about_technology"] for row in rows_of(run.prompts_path)} == {"no"}


def test_everything_wrong_is_said_before_anything_is_asked(play: Play) -> None:
    setup = play(n=1)
    with pytest.raises(InputError, match="is named twice"):
        setup.run(("alpha", "alpha"))
    with pytest.raises(InputError, match="none of them can judge prompts"):
        setup.run(judges=["offline/lexical"])
    with pytest.raises(InputError, match="writes no prompts"):
        construct_prompts(setup.world.scenarios(), models="offline/rewriter")
    with pytest.raises(InputError, match=r"`per_scenario`: .*10"):
        setup.run(per_scenario=11)
    assert setup.server.counts.total == 0
