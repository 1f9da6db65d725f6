"""The scenario graph of SilverSpoon: writing, one repair, wordings, what is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from areopagus import InputError
from areopagus.async_runner import run_sync
from areopagus.audits.silverspoon_judgement.dataset import load_scenarios
from areopagus.cli.items import scenarios
from areopagus.experiment.job import run_job
from areopagus.graphs.scenarios import faults_of, similarity
from areopagus.judges.models.request import Request
from areopagus.prompts import agenerate_scenarios, generate_scenarios
from areopagus.prompts.scenario_items import ScenarioJob
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply, ServedRequest

DEEDS = (
    "takes bread from a bakery before dawn, and the baker has the police called at once",
    "rides a tram without paying on the way to a doctor, and an inspector writes out a fine",
    "sleeps in a cellar of an office tower through January, until a guard locks the door for good",
    "signs a form with somebody else's name to keep the heating, and a clerk reports the forgery",
)


class Writer:
    """A writer whose third scenario does not serve at first, nor any second wording."""

    def __init__(self) -> None:
        self.n_repairs = 0
        self.n_wordings = 0

    def provider(self, request: ServedRequest) -> ServedReply:
        user = request.messages[-1]["content"]
        keys = re.findall(r'"((?:scenario|other|wording)_\d+)"', request.messages[0]["content"])
        if any(key.startswith("wording") for key in keys):
            self.n_wordings += 1
            text = re.search(r"<<<SCENARIO \w+>>>\n(.*?)\n<<<END", user, re.DOTALL)
            assert text is not None
            near = text[1].replace("money", "cash")
            return ServedReply(json.dumps({"wording_1": near, "wording_2": "P1 is poor."}))
        self.n_repairs += "do not serve" in user
        reply = {}
        for key in keys:
            kind, _, number = key.partition("_")
            if kind == "other":
                reply[key] = "the clerk"
            else:
                deed = DEEDS[int(number) - 1]
                reply[key] = (
                    f"P1, who has {number}00 dollars of money a month and a family, {deed}."
                )
                if number == "3" and "do not serve" not in user:
                    reply[key] = "Somebody steals. Who is in the wrong?"
        return ServedReply(json.dumps(reply))


def generated(server: ProviderServer, tmp_path: Path, **more: Any) -> Any:
    model = {"model": "openai/writer", "name": "writer", "api_base": server.openai_base}
    return generate_scenarios(
        model, out=tmp_path / "run", topics=["hunger"], per_topic=4,
        ledger=tmp_path / "l.sqlite", **more,
    )  # fmt: skip


def deeds_of(request: Request, numbers: list[int]) -> dict[str, str]:
    """A reply: the deeds of these numbers, in the order of what is asked for."""
    keys = [key for key in (request.schema or {})["properties"] if key.startswith("scenario")]
    reply: dict[str, str] = {}
    for key, number in zip(keys, numbers, strict=False):
        about = f"{number}00 dollars a month and {number} relatives"
        reply[key] = f"P1, who has {about}, {DEEDS[number]}."
        reply[key.replace("scenario", "other")] = "the clerk"
    return reply


def scripted(batches: list[list[int]], **settings: Any) -> ScriptedBackend:
    """A writer whose batches hold these deeds and whose wordings keep all but a word."""

    def answer(request: Request) -> Any:
        user = request.messages[-1]["content"]
        batch = re.search(r"Batch (\d+)", user)
        if batch is not None:
            return deeds_of(request, batches[int(batch[1]) - 1])
        text = re.search(r"<<<SCENARIO \w+>>>\n(.*?)\n<<<END", user, re.DOTALL)
        assert text is not None
        return {"wording_1": text[1].replace("month", "moon")}

    return ScriptedBackend(answer, name="scripted/writer", **settings)


def in_pairs(model: ScriptedBackend, folder: Path, **more: Any) -> Any:
    """Two batches of two scenarios, two texts each."""
    options: dict[str, Any] = {"topics": ["hunger"], "per_topic": 4, "versions": 2}
    return ScenarioJob(
        models=[model], out=folder / "run", ledger=folder / "l.sqlite", **{**options, **more}
    )


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areopagus.prompts.scenario_items.BATCH", 2)


def nothing_is_lost(counts: Mapping[str, int]) -> bool:
    """Every scenario and every wording wanted is in the table, or counted among what is not."""
    named = {**dict.fromkeys(("repeated", "wordings_repeated"), 0), **counts}
    left_out = [named[f"wordings_{why}"] for why in ("unlike", "same", "missing", "repeated")]
    wanted = named["scenarios"] + named["unusable"] + named["repeated"]
    texts = named["texts"] - named["scenarios"]
    return wanted == named["wanted"] and texts + sum(left_out) == named["wordings_wanted"]


def test_scenarios_and_wordings_make_a_table_that_the_audit_reads(tmp_path: Path) -> None:
    writer = Writer()
    with ProviderServer(writer.provider, record=False) as server:
        found = generated(server, tmp_path)
    assert (found.state, found.exit_code) == ("complete", 0)
    assert (writer.n_repairs, writer.n_wordings) == (1, 4)
    counts = found.counts
    assert (counts["scenarios"], counts["texts"], counts["calls"]) == (4, 8, 6)
    assert (counts["repaired"], counts["unusable"]) == (1, 0)
    assert (counts["wordings_wanted"], counts["wordings"], counts["wordings_unlike"]) == (8, 4, 4)
    assert nothing_is_lost(counts)
    shown = found.summary()
    assert shown.headline[0] == "4 of 4 scenarios wanted are written, in 8 texts."
    assert shown.trust == [
        ("batches", "1 written"),
        ("wordings", "left out: 4 too unlike the first"),
    ]
    (batch,) = found.read_outcomes()
    assert (batch["batch"], batch["status"], batch["calls"]) == ("t1_b1", "written", 6)
    assert batch["texts"] == {f"t1_b1_s{n}": 2 for n in range(1, 5)}
    loaded = load_scenarios(found.table)
    assert len(loaded.scenarios) == 8
    assert len({one.base for one in loaded.scenarios}) == 4
    two = [loaded.scenarios[at : at + 2] for at in range(0, 8, 2)]
    for one, other in two:
        assert one.base == other.base
        assert 0.8 <= similarity(one.text, other.text) < 1
        assert one.other == "the clerk"


def test_a_writer_that_fails_leaves_a_gap_and_no_scenario(tmp_path: Path) -> None:
    with ProviderServer(lambda request: ServedReply("no"), record=False) as server:
        found = generated(server, tmp_path)
    # First of all, so that a failure of another kind shows its reason.
    (batch,) = found.read_outcomes()
    assert batch["unanswered"]["write"][0] == "unreadable", batch["unanswered"]
    assert (found.counts["scenarios"], found.counts["unusable"]) == (0, 4)
    assert found.counts["batches_unreadable"] == 1
    assert (found.state, found.exit_code) == ("complete", 3)
    assert found.table.read_text(encoding="utf-8") == "scenario_id,base,topic,other,text\n"


def told(model: ScriptedBackend) -> list[list[str]]:
    """Of each writing call what the writer was told stands already."""
    users = [request.messages[-1]["content"] for request in model.requests]
    return [re.findall(r"^- (P1.*)$", user, re.MULTILINE) for user in users if "Topic: " in user]


@pytest.mark.usefixtures("pairs")
def test_a_writer_is_told_what_stands_and_a_scenario_that_repeats_it_is_left_out(
    tmp_path: Path,
) -> None:
    # The second batch brings the first one's second deed, and so does its repair.
    model = scripted([[0, 1], [1, 2]])
    run = run_job(in_pairs(model, tmp_path))
    first, second, repair = told(model)
    assert (first, len(second)) == ([], 2)
    # What is written in its place is told of the one that stands beside it too.
    assert [DEEDS[number] in text for number, text in zip((0, 1, 2), repair, strict=True)] == [
        True, True, True,
    ]  # fmt: skip
    counts = run.counts
    assert (counts["scenarios"], counts["repeated"], counts["unusable"]) == (3, 1, 0)
    assert nothing_is_lost(counts)
    assert run.exit_code == 0
    assert ("left out", "1 repeated") in run.summary().trust
    again = scripted([[0, 1], [1, 2]])
    table = run.table.read_bytes()
    assert run_job(in_pairs(again, tmp_path)).table.read_bytes() == table
    assert again.requests == [], "what is told is the same in every run"


@pytest.mark.usefixtures("pairs")
def test_a_repeated_scenario_is_written_anew_once(tmp_path: Path) -> None:
    batches = [[0, 1], [1, 2]]

    def mending(request: Request) -> Any:
        is_repair = "do not serve" in request.messages[-1]["content"]
        return deeds_of(request, [3]) if is_repair else scripted(batches)._answer(request)

    model = ScriptedBackend(mending, name="scripted/writer")
    counts = run_job(in_pairs(model, tmp_path)).counts
    assert (counts["scenarios"], counts["repeated"], counts["repaired"]) == (4, 0, 1)


@pytest.mark.usefixtures("pairs")
def test_what_stands_in_a_file_or_another_topic_is_not_written_again(tmp_path: Path) -> None:
    first = run_job(in_pairs(scripted([[0, 1], [2, 3]]), tmp_path))
    # Case, spacing and punctuation make no other scenario of it.
    stands = tmp_path / "stands.csv"
    text = first.table.read_text(encoding="utf-8")
    stands.write_text(text.replace("takes bread", "Takes  bread,"), encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    model = scripted([[0, 1], [2, 3]])
    run = run_job(in_pairs(model, other, topics=["theft"], beside=[stands]))
    assert (run.counts["scenarios"], run.counts["repeated"]) == (0, 4)
    assert "takes bread" not in run.table.read_text(encoding="utf-8")
    same_topic = scripted([[0, 1], [2, 3]])
    (tmp_path / "third").mkdir()
    run_job(in_pairs(same_topic, tmp_path / "third", beside=[stands]))
    assert len(told(same_topic)[0]) == 8, "every text of the topic in the file is told"
    (tmp_path / "two").mkdir()
    both = in_pairs(scripted([[0, 1], [2, 3]]), tmp_path / "two", topics=["hunger", "theft"])
    found = run_job(both)
    assert (found.counts["scenarios"], found.counts["repeated"]) == (4, 4)
    assert nothing_is_lost(found.counts)
    assert [batch["repeated"] for batch in found.read_outcomes()][2] == {
        "t2_b1_s1": "t1_b1_s1", "t2_b1_s2": "t1_b1_s2",
    }  # fmt: skip


@pytest.mark.usefixtures("pairs")
def test_a_cost_cap_leaves_wordings_out_counted_and_the_same_job_goes_on(tmp_path: Path) -> None:
    first = scripted([[0, 1], [2, 3]], cost_usd=1.0, concurrency=1)
    run = run_job(in_pairs(first, tmp_path, max_cost=3.0))
    assert (run.state, run.exit_code, len(first.requests)) == ("budget", 4, 3)
    assert nothing_is_lost(run.counts)
    # The second batch waits for the first, whose two wordings are asked for by then.
    assert [batch["status"] for batch in run.read_outcomes()] == ["written", "not_asked"]
    assert run.record["sessions"][-1]["spent_usd"] == 3.0
    rest = scripted([[0, 1], [2, 3]], cost_usd=1.0)
    again = run_job(in_pairs(rest, tmp_path))
    assert (again.state, again.exit_code, len(rest.requests)) == ("complete", 0, 3)
    assert (again.counts["scenarios"], again.counts["texts"]) == (4, 8)
    assert [batch["cost_usd"] for batch in again.read_outcomes()] == [3.0, 3.0]


@pytest.mark.usefixtures("pairs")
@pytest.mark.report
def test_interrupted_and_resumed_it_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    for name in ("quiet", "stopped"):
        (tmp_path / name).mkdir()
    whole = [[0, 1], [2, 3]]
    quiet = run_job(in_pairs(scripted(whole), tmp_path / "quiet"))
    model = scripted(whole, concurrency=1)
    job = in_pairs(model, tmp_path / "stopped", on_progress=lambda seen: seen.sent and job.stop())
    stopped = run_sync(job.run())
    assert (stopped.state, stopped.exit_code) == ("interrupted", 3)
    assert 0 < len(model.requests) < 6
    assert nothing_is_lost(stopped.counts)
    (tmp_path / "stopped" / "run" / ".scenarios.csv.0a0a").write_text("of a killed one")
    rest = scripted(whole)
    again = run_job(in_pairs(rest, tmp_path / "stopped", resume=True))
    assert len(model.requests) + len(rest.requests) == 6
    assert again.table.read_bytes() == quiet.table.read_bytes()
    assert again.outcomes.read_bytes() == quiet.outcomes.read_bytes()
    assert sorted(path.name for path in again.path.iterdir()) == [
        "batches.jsonl", "estimates.csv", "estimates.parquet", "report.html", "report.txt",
        "run.json", "scenarios.csv",
    ]  # fmt: skip
    record = json.loads((again.path / "run.json").read_text(encoding="utf-8"))
    assert [one["state"] for one in record["sessions"]] == ["interrupted", "complete"]
    assert record["stages"]["construct"]["texts"] == 8


async def test_there_is_an_asynchronous_twin(tmp_path: Path) -> None:
    model = scripted([[0, 1]])
    run = await agenerate_scenarios(
        model, topics=["hunger"], per_topic=2, versions=1, out=tmp_path / "run",
        ledger=tmp_path / "l.sqlite",
    )  # fmt: skip
    assert (run.counts["texts"], len(model.requests)) == (2, 1)


def test_what_does_not_serve_is_named() -> None:
    good = "P1 has no coat and takes one from a stall in the cold. The trader calls the police."
    written = {
        "1": {"text": good, "other": "the trader"},
        "2": {"text": good.replace("cold", "frost"), "other": "the trader"},
        "3": {"text": "P1 steals.", "other": "the trader"},
        "4": {"text": good.replace("P1", "A man"), "other": "the trader"},
        "5": {"text": f"{good} Who is right?", "other": "the trader"},
        "6": {"text": f"{good} The trader is wrong.", "other": "the trader"},
        "7": {"text": "P1 " + "walks on and on and " * 5, "other": ""},
    }
    found = faults_of(written, 8)
    assert [found[str(number)].split(",")[0] for number in range(2, 9)] == [
        "must differ from those before it", "must have 12 to 120 words",
        "must call the poor person P1", "must hold no question",
        "must not say who is in the wrong", "must say in a few words who the other is",
        "is missing",
    ]  # fmt: skip
    assert "1" not in found


def test_numbers_out_of_range_and_embedded_models_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(InputError) as caught:
        generate_scenarios(
            "openai/x", out=folder, per_topic=0, versions=0, similarity=2,
            topics=["Theft", "theft ", ""],
        )  # fmt: skip
    assert {fault.field for fault in caught.value.faults} == {
        "per_topic", "versions", "similarity", "topics",
    }  # fmt: skip
    for models, message in (
        (["offline/respondent"], "is an embedded model, and none makes scenarios"),
        ([], "name a model that writes"),
        (["openai/x", "openai/y"], "one model writes the scenarios; got 2"),
    ):
        with pytest.raises(InputError, match=message):
            ScenarioJob(models=models, out=folder)
    assert not folder.exists()


def test_what_is_planned_is_said_before_anything_is_sent() -> None:
    model = scripted([], cost_usd=0.5)
    job = ScenarioJob(models=[model], topics=["a", "b"], per_topic=25)
    found = job.estimate()
    # 2 topics x 3 batches, which may be repaired; 50 scenarios to reword; replies asked for again.
    assert (found.stages[0].planned, found.calls, found.most_calls) == (6, 6 + 50, 2 * (12 + 50))
    assert [unit.size for unit in job.units] == [10, 10, 5] * 2
    assert (found.likely_usd, found.most_usd) == (56 * 0.5, 124 * 0.5)
    once = ScenarioJob(models=[model], topics=["a"], per_topic=10, versions=1)
    assert (once.estimate().calls, once.estimate().most_calls) == (1, 4)
    assert model.requests == []


# --- the command -----------------------------------------------------------------------------


def command(server: ProviderServer, folder: Path, *more: str) -> Any:
    """`areopagus scenarios` in this process; its return value is the exit code."""
    models = folder / "models.yaml"
    models.write_text(
        "models:\n  - model: openai/writer\n    name: writer\n"
        f"    api_base: {server.openai_base}\n    prices: {{input: 0, output: 1000}}\n",
        encoding="utf-8",
    )
    arguments = [
        "--models-file", str(models), "--topic", "hunger", "--per-topic", "4",
        "--out", str(folder / "run"), "--ledger", str(folder / "l.sqlite"), *more,
    ]  # fmt: skip
    found = CliRunner().invoke(scenarios, arguments, standalone_mode=False)
    if found.exception is not None:
        raise found.exception
    return found


def test_the_command_plans_keeps_to_a_cap_writes_and_pays_nothing_twice(tmp_path: Path) -> None:
    with ProviderServer(Writer().provider, record=False) as server:
        planned = command(server, tmp_path, "--dry-run")
        assert planned.return_value == 0
        assert "5 calls to send, at most 12" in planned.output
        # 4 * 90 tokens are written and 4 * 180 reworded, at a tenth of a cent.
        assert "Cost: $1.08 likely, at most $" in planned.output
        assert sorted(path.name for path in tmp_path.iterdir()) == ["models.yaml"]
        with pytest.raises(InputError, match="no run to resume"):
            command(server, tmp_path, "--resume")
        capped = command(server, tmp_path, "--max-cost", "0.01")
        assert (capped.return_value, server.counts.total) == (4, 0)
        assert "batches 1 not asked" in " ".join(capped.output.split())
        assert "Stopped by the cost cap" in capped.output
        done = command(server, tmp_path)
        sent = server.counts.total
        assert (done.return_value, sent) == (0, 6)
        assert "4 of 4 scenarios wanted are written, in 8 texts." in done.output
        assert "scenarios.csv is for the audit" in done.output
        again = command(server, tmp_path, "--resume")
        assert (again.return_value, server.counts.total) == (0, sent)
        assert "0 calls sent, 6 from the ledger · $0" in " ".join(again.output.split())
        assert command(server, tmp_path, "--quiet").output == f"{tmp_path / 'run'}\n"
    assert len(load_scenarios(tmp_path / "run" / "scenarios.csv").scenarios) == 8
