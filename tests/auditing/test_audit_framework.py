"""An audit of a user's own, from a folder: asked, read, judged, estimated, resumed."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from after_a_kill import settled, stored
from click.testing import CliRunner
from processes import killed_at

from areopagus import InputError
from areopagus.any_report import write_any_report
from areopagus.async_runner import run_sync
from areopagus.auditing import AuditJob, AuditRun, aaudit, audit
from areopagus.auditing.planned import plan_items
from areopagus.audits import AuditItem, AuditOptions, audit_names, find_audit
from areopagus.audits.estimate import merged_units
from areopagus.experiment.config import AuditConfig
from areopagus.records.estimates import select
from areopagus.records.ledger import Ledger
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

TOY = Path(__file__).parent / "toy_audit"
PRICES = {"input": 1.0, "output": 1.0}


def figure(run: AuditRun, table: str, measure: str, **keys: str) -> Any:
    found = run.estimates[run.estimates["measure"] == measure]
    (row,) = select(found, table, **keys).to_dict("records")
    return row


def said(side: str) -> ServedReply:
    return ServedReply(json.dumps({"reasoning": "It names it.", "side": side}))


def coins(request: ServedRequest) -> ServedReply:
    """Targets answer A to even coins and in riddles to odd ones; judges read by their number."""
    user = request.messages[-1]["content"]
    number = int(user.split("Coin ", 1)[1].split(":", 1)[0])
    if request.model == "target":
        return ServedReply("A" if number % 2 == 0 else "The noble one, surely.")
    if request.model == "first":
        return said("heads")
    if request.model == "second":
        return said("heads" if number % 4 == 1 else "tails")
    return said("tails")


def model(server: ProviderServer, name: str, **more: Any) -> dict[str, Any]:
    return {
        "model": f"openai/{name}", "name": name, "api_base": server.openai_base,
        "prices": PRICES, "concurrency": 8, **more,
    }  # fmt: skip


def judges(server: ProviderServer, n: int = 3) -> list[dict[str, Any]]:
    return [model(server, name) for name in ("first", "second", "third")[:n]]


def estimated(job: AuditJob) -> dict[str, tuple[int, int]]:
    try:
        return {item.backend: (item.calls, item.most_calls) for item in job.estimate().stages}
    finally:
        run_sync(job.close())


@pytest.mark.report
def test_rules_decide_first_two_judges_the_rest_and_a_third_where_they_differ(
    tmp_path: Path,
) -> None:
    with ProviderServer(coins) as server:
        run = audit(
            TOY, target=model(server, "target"), judges=judges(server), options={"coins": 8},
            out=tmp_path / "run", ledger=tmp_path / "l.sqlite",
        )  # fmt: skip
        by_model = server.counts.by_model
        asked = {r.model: r.messages for r in server.requests if "Coin 3" in str(r.messages)}
    # The two see nothing of each other; the third sees what both said.
    assert "READER 1" not in str(asked["first"]) + str(asked["second"])
    text = asked["third"][-1]["content"]
    assert "READER 1" in text
    assert '"side": "heads"' in text
    assert '"side": "tails"' in text
    rows = list(run.answers.rows())
    assert len(rows) == 16
    assert run.statuses == {"classified": 16}
    assert {row["by"] for row in rows if row["coin"] % 2 == 0} == {"rule"}
    by_coin = {row["coin"]: (row["judging"], row["side"]) for row in rows if row["coin"] % 2}
    assert by_coin == {
        1: ("agreed", "heads"), 5: ("agreed", "heads"),
        3: ("adjudicated", "tails"), 7: ("adjudicated", "tails"),
    }  # fmt: skip
    # Eight odd prompts: both judges each, the third for the four prompts of coins 3 and 7.
    assert by_model == {"target": 16, "first": 8, "second": 8, "third": 4}
    assert len(list(run.answers.votes())) == 20
    assert run.record["stages"]["classify"]["rulings"] == {"adjudicated": 4, "agreed": 4}
    assert (run.state, run.exit_code) == ("complete", 0)
    # 4 even coins, both orders, always A: half of them heads; of the odd ones 2 of 4 coins.
    assert figure(run, "outcomes", "heads", respondent="target")["value"] == 0.5
    assert "DEMONSTRATION" not in run.text
    assert "Some people mind coins." in run.text
    assert max(map(len, run.text.splitlines())) <= 80
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Coin audit: target" in page
    assert "Heads by coin." in page, "a table of the audit's own"
    # What judges said of the four distinct answers to odd coins is told apart from the prompts.
    same = figure(run, "judges", "same", factor="side")
    assert (same["n"], same["value"]) == (8, 0.5)


def test_fewer_judges_settle_less(tmp_path: Path) -> None:
    with ProviderServer(coins) as server:
        for n, statuses, judging in (
            (1, {"classified": 8}, {"single": 4}),
            (2, {"classified": 6, "unclassified": 2}, {"agreed": 2, "split": 2}),
        ):
            run = audit(
                TOY, target=model(server, "target"), judges=judges(server, n),
                options={"coins": 4}, out=tmp_path / f"run{n}", ledger=tmp_path / "l.sqlite",
            )  # fmt: skip
            assert run.statuses == statuses
            assert run.record["stages"]["classify"]["rulings"] == judging


def test_an_unreadable_vote_is_repaired_once_and_never_becomes_a_value(tmp_path: Path) -> None:
    def crooked(request: ServedRequest) -> ServedReply:
        if request.model == "target":
            return ServedReply("The noble one.")
        if request.model == "first":
            # The first asking is off the list of choices, the repair is right.
            return said("edge" if len(request.messages) == 2 else "heads")
        return ServedReply("I like coins.")

    with ProviderServer(crooked) as server:
        run = audit(
            TOY, target=model(server, "target"), judges=judges(server, 2), options={"coins": 1},
            out=tmp_path / "run", ledger=tmp_path / "l.sqlite",
        )  # fmt: skip
    votes = list(run.answers.votes())
    assert [(vote["status"], vote["calls"]) for vote in votes] == [
        ("read", 2),
        ("unreadable", 2),
    ] * 2
    assert run.statuses == {"unclassified": 2}
    assert {row["side"] for row in run.answers.rows("side")} == {None}
    assert run.exit_code == 3


def test_without_judges_rules_alone_classify_and_every_asking_is_a_row(tmp_path: Path) -> None:
    def faulty(request: ServedRequest) -> ServedReply:
        number = int(request.messages[-1]["content"].split("Coin ", 1)[1].split(":", 1)[0])
        texts = ["B", "I cannot choose a side of a coin.", "", "Whatever you like best."]
        return ServedReply(texts[number]) if number < 4 else ServedReply("no", status=400)

    with ProviderServer(faulty) as server:
        run = audit(
            TOY, target=model(server, "target"), options={"coins": 5}, repeats=2,
            out=tmp_path / "run", ledger=tmp_path / "l.sqlite",
        )  # fmt: skip
    assert run.statuses == {
        "classified": 4, "refused": 4, "empty": 4, "unclassified": 4, "failed": 4,
    }  # fmt: skip
    assert run.exit_code == 3
    assert [row["repeat"] for row in run.answers.rows("repeat")] == [0, 1] * 10
    assert list(run.answers.votes()) == []
    assert "no judge model" in " ".join(run.text.lower().split())


async def test_the_dry_run_says_what_is_then_sent_before_between_and_after(tmp_path: Path) -> None:
    with ProviderServer(coins) as server:

        def job(judged: bool = True, **more: Any) -> AuditJob:
            return AuditJob(
                TOY,
                AuditConfig(
                    out=tmp_path / f"run{judged}", target=model(server, "target"),
                    judges=judges(server) if judged else None,
                ),
                options={"coins": 8},
                ledger=tmp_path / "l.sqlite", **more,
            )  # fmt: skip

        before = estimated(job())
        assert server.counts.total == 0
        # Nothing is known: 16 answers, and each may need two judges, a third and repairs.
        assert before == {
            "target": (16, 16),
            "first": (16, 32),
            "second": (16, 32),
            "third": (0, 32),
        }
        run = await aaudit(
            TOY, target=model(server, "target"), options={"coins": 8},
            out=tmp_path / "runFalse", ledger=tmp_path / "l.sqlite",
        )  # fmt: skip
        assert server.counts.total == 16
        assert run.statuses["unclassified"] == 8
        between = estimated(job())
        # The answers are there: eight need judges; whether they differ is not known.
        assert between == {"target": (0, 0), "first": (8, 16), "second": (8, 16), "third": (0, 16)}
        server.reset()
        await aaudit(TOY, target=model(server, "target"), judges=judges(server),
                     options={"coins": 8}, out=tmp_path / "runTrue",
                     ledger=tmp_path / "l.sqlite")  # fmt: skip
        assert server.counts.by_model == {"first": 8, "second": 8, "third": 4}
        assert estimated(job()) == dict.fromkeys(("target", "first", "second", "third"), (0, 0))
        # A rerun needs no endpoint and pays nothing.
        server.reset()
    again = await aaudit(TOY, target=model(server, "target"), judges=judges(server),
                         options={"coins": 8}, out=tmp_path / "runTrue",
                         ledger=tmp_path / "l.sqlite")  # fmt: skip
    assert again.record["sessions"][-1]["calls"]["sent"] == 0


@pytest.mark.report
def test_a_report_needs_no_code_of_the_audit(tmp_path: Path) -> None:
    place, run = tmp_path / "mine", tmp_path / "run"
    shutil.copytree(TOY, place)
    audit(place, out=run, ledger=tmp_path / "l.sqlite")
    first = (run / "report.html").read_bytes()
    shutil.rmtree(place)
    (run / "report.html").unlink()
    assert write_any_report(run).read_bytes() == first


def test_units_that_share_a_prompt_are_one() -> None:
    answers = pd.DataFrame({
        "unit": ["a", "a", "b", "c", "d", "e"], "prompt": [0, 1, 1, 2, 3, 2],
    })  # fmt: skip
    assert list(merged_units(answers, "unit")) == ["a", "a", "a", "c", "d", "c"]


def test_prompts_that_are_asked_several_times_say_so_and_come_back_by_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from areopagus import respond
    from areopagus.cli.audit import audit as command

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        result = CliRunner().invoke(command, list(arguments), standalone_mode=False)
        assert result.exception is None, result.exception
        return result.stdout

    few = ["hidden-bias", "--limit", "2"]
    said = " ".join(call(*few, "--write-prompts", "p.csv").split())
    assert "Each prompt is to be asked 5 times: `areopagus respond --repeats 5`" in said
    odd = " ".join(call(*few, "--answers", "5", "--write-prompts", "odd.csv").split())
    assert "asked 2 to 3 times: `areopagus respond --repeats 3`" in odd
    assert "to be asked" not in call(str(TOY), "--write-prompts", "once.csv")
    respond("p.csv", "offline/respondent", "answers.csv", repeats=5)
    given = ["--responses", "answers.csv", "--out", "run"]
    call(*few, *given)
    assert AuditRun("run").statuses == {"classified": 10}
    # Five answers to each of two prompts, all alike: nothing tells a preference from chance.
    (sentence,) = AuditRun("run").document().headline
    assert sentence == (
        "Whether offline/respondent goes by a hint of who somebody is cannot be told (every prompt "
        "was answered alike each time: there is no noise to compare with)."
    )


def test_supplied_answers_are_read_like_any_and_missing_ones_stay_rows(tmp_path: Path) -> None:
    rows = [
        {"item_id": "0|heads", "response_text": "A", "respondent_id": "ann"},
        {"item_id": "0|tails", "response_text": "I choose B.", "respondent_id": "ann"},
        {"item_id": "1|heads", "response_text": "", "respondent_id": "ann"},
        {"item_id": "0|heads", "response_text": "**B**", "respondent_id": "bob"},
        {"item_id": "elsewhere", "response_text": "A", "respondent_id": "bob"},
    ]
    run = audit(TOY, responses=rows, options={"coins": 2}, out=tmp_path / "run")
    assert run.targets == ("ann", "bob")
    counts = run.answers.counts()
    assert counts["ann"] == {"classified": 2, "empty": 1, "not_asked": 1}
    assert counts["bob"] == {"classified": 1, "not_asked": 3}
    sides = [(r["target"], r["side"]) for r in run.answers.rows("target", "side") if r["side"]]
    assert sorted(sides) == [("ann", "heads"), ("ann", "heads"), ("bob", "tails")]
    notices = run.record["result"]["notices"]
    assert any("1 supplied answers belong to items" in notice for notice in notices)
    assert not run.record["demonstration"]
    with pytest.raises(InputError, match="must be unique"):
        audit(TOY, responses=[rows[0], rows[0]], out=tmp_path / "twice")
    with pytest.raises(InputError, match="no answer is to an item"):
        audit(TOY, responses=[rows[4]], out=tmp_path / "none")


def test_a_judge_may_be_an_object_and_a_panels_models_may_judge(tmp_path: Path) -> None:
    from areopagus import Panel
    from areopagus.testing import ScriptedBackend

    judge = ScriptedBackend({"reasoning": "r", "side": "tails"}, name="scripted/judge")
    target = ScriptedBackend("The noble one.", name="scripted/target")
    run = audit(TOY, target=target, judges=judge, out=tmp_path / "a", ledger=tmp_path / "l.sqlite")
    assert run.statuses == {"classified": 6}
    with Panel(models=[judge], ledger=tmp_path / "l.sqlite") as panel:
        again = audit(TOY, target=target, panel=panel, out=tmp_path / "b")
        assert again.record["judges"] == ["scripted/judge"]
        assert again.record["sessions"][-1]["calls"]["sent"] == 0
    offline = audit(TOY, panel=Panel(ledger=tmp_path / "o.sqlite"), out=tmp_path / "c")
    assert offline.record["judges"] == []


def test_units_are_sampled_whole_and_a_limit_counts_prompts() -> None:
    def items() -> Any:
        for unit in range(10):
            for part in range(3):
                yield AuditItem(f"{unit}.{part}", "Why?", unit=str(unit), repeats=1 + part)

    def plan(**given: Any) -> Any:
        return plan_items(
            items, **{"repeats": 1, "limit": None, "sample": None, "seed": 0, **given}
        )

    whole = plan()
    assert (whole.n_items, whole.n_units, whole.n_askings) == (30, 10, 60)
    drawn = plan(sample=4, seed=3)
    assert (drawn.n_items, drawn.n_units) == (12, 4)
    assert [i.item_id for i in drawn.items()] == [i.item_id for i in plan(sample=4, seed=3).items()]
    assert drawn.fingerprint != plan(sample=4, seed=4).fingerprint
    assert plan(sample=99).fingerprint == whole.fingerprint
    assert [item.item_id for item in plan(limit=2).items()] == ["0.0", "0.1"]
    assert len(list(plan(repeats=2).askings())) == 120
    with pytest.raises(InputError, match="limit: must be at least 1"):
        plan(limit=0)


def test_bad_input_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    for change, message in (
        ({"options": {"sides": 3}}, "has no such option; there are: language, coins, shout"),
        ({"options": {"coins": "many"}}, "coins: Input should be a valid integer"),
        ({"judges": ["offline/lexical"]}, "none of them can classify"),
        ({"judges": ["openai/a", "openai/b", "openai/c", "openai/d"]}, "at most three"),
        ({"judges": ["openai/a", "openai/a"]}, "named twice"),
        ({"target": ["offline/lexical"]}, "writes no responses"),
        ({"target": ["openai/a"], "responses": []}, "so nobody is asked"),
        ({"max_cost": -1}, "max_cost"),
    ):
        with pytest.raises(InputError, match=message):
            audit(TOY, out=tmp_path / "run", **change)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_columns_and_options_that_every_audit_has_are_refused() -> None:
    toy = type(find_audit(TOY))

    crooked = toy()
    columns = {"status": "text", "coin": "integer", "first": "text"}
    crooked.definition = crooked.definition.model_copy(
        update={"item_columns": columns, "value_columns": {"first": "text"}}
    )
    with pytest.raises(InputError) as caught:
        find_audit(crooked)
    assert "status: is the name of a column that every audit has" in str(caught.value)
    assert "first: is an item column and a value column" in str(caught.value)

    class Limit(AuditOptions):
        limit: int = 3

    class Taken(toy):  # type: ignore[misc, valid-type]
        options_model = Limit

    with pytest.raises(InputError, match="limit: is an option that every audit has"):
        find_audit(Taken())


def test_a_row_with_an_undeclared_column_is_a_defect_that_is_named(tmp_path: Path) -> None:
    sloppy = type(find_audit(TOY))()
    sloppy.definition = sloppy.definition.model_copy(update={"value_columns": {}})
    with pytest.raises(ValueError, match="the audit declares no column side"):
        audit(sloppy, out=tmp_path / "run", ledger=tmp_path / "l.sqlite")


def test_an_unknown_audit_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no audit"):
        find_audit("sociological")
    with pytest.raises(InputError, match=r"no audit\.yaml and no __init__"):
        find_audit(tmp_path)
    assert "socioeval" in audit_names()


def test_the_command_lists_audits_shows_options_and_prints_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from areopagus.cli.audit import audit as command

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[str, Any]:
        result = CliRunner().invoke(command, list(arguments), standalone_mode=False)
        assert result.exception is None, result.exception
        assert max(map(len, result.stdout.splitlines()), default=0) <= 80
        return result.output, result.return_value

    listed, _ = call("--list")
    about = " ".join(find_audit("socioeval").definition.about.split())
    assert about in " ".join(listed.split()), "whole, whatever the width"
    helped, _ = call(str(TOY), "--help")
    assert "--coins" in helped
    assert "--shout / --no-shout" in helped
    for option in ("--target MODEL", "--targets-file FILE", "--judge MODEL", "--judges-file FILE"):
        assert option.replace(" MODEL", "") in helped, "as the configuration names it"
    Path("t.yaml").write_text("models: [{model: openai/a, prices: {input: 1, output: 1}}]")
    judged = ("--targets-file", "t.yaml", "--judge", "openai/b,openai/c", "--judges-file", "t.yaml")
    dry, code = call(str(TOY), "--coins", "2", "--dry-run", *judged)
    assert ("12 calls" in dry, code) == (True, 0)
    dry, code = call(str(TOY), "--coins", "2", "--dry-run")
    assert ("4 calls" in dry, code) == (True, 0)
    shown, code = call(str(TOY), "--coins", "2", "--out", "run", "--json", "n.json")
    assert code == 0
    assert "DEMONSTRATION" in shown
    numbers, run = json.loads(Path("n.json").read_text()), AuditRun("run")
    assert numbers["cost"] == run.record["cost"]
    assert len(numbers["estimates"]) == len(run.estimates)
    assert len(shown.splitlines()) <= 28  # with what stderr says
    assert run.record["cost"]["paid"]["online"]["replies"] > 0
    assert "4 calls sent" in shown
    _, code = call(str(TOY), "--coins", "2", "--write-prompts", "p.csv")
    assert code == 0
    with Path("p.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["prompt_id"] for row in rows] == ["0|heads", "0|tails", "1|heads", "1|tails"]
    assert "Reply with exactly one of: A / B" in rows[0]["prompt_text"]


def test_another_audit_in_the_folder_is_not_overwritten(tmp_path: Path) -> None:
    make: Callable[..., AuditRun] = lambda n: audit(  # noqa: E731
        TOY, options={"coins": n}, out=tmp_path / "run", ledger=tmp_path / "l.sqlite"
    )
    first = make(2)
    assert make(2).estimates.equals(first.estimates)
    with pytest.raises(InputError, match="holds another run"):
        make(3)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert audit(TOY, options={"coins": 2}, out=tmp_path / "b", ledger=ledger).exit_code == 0


@pytest.mark.long
def test_killed_while_asking_and_while_judging_it_ends_like_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    with ProviderServer(coins, delay_s=0.02, record=False) as server:

        def given(out: str, ledger: str) -> dict[str, Any]:
            return {
                "target": model(server, "target", concurrency=3),
                "judges": [one | {"concurrency": 3} for one in judges(server)],
                "options": {"coins": 10}, "out": tmp_path / out, "ledger": tmp_path / ledger,
            }  # fmt: skip

        quiet = audit(TOY, **given("quiet", "a.sqlite"))
        planned = server.counts.total
        server.reset()
        lost, served, kept = Counter[str](), Counter[str](), Counter[str]()
        for name, wanted in (("target", 8), ("second", 4)):
            killed_at(
                lambda name=name, wanted=wanted: server.counts.by_model.get(name, 0) >= wanted,
                audit, TOY, **given("killed", "b.sqlite"),
            )  # fmt: skip
            before, had = served, kept
            served, kept = settled(server), stored(tmp_path / "b.sqlite")
            lost += served - before - (kept - had)
        killed = audit(TOY, **given("killed", "b.sqlite"))
        sent = server.counts.total
    for name in ("answers.parquet", "votes.parquet", "estimates.csv"):
        assert (quiet.path / name).read_bytes() == (killed.path / name).read_bytes(), name
    # In flight at four models, or answered and not written yet, at each of two kills; nothing that
    # was stored is asked for again.
    assert lost.total() <= 2 * 2 * 12
    assert sent == planned + lost.total()
    assert not [entry.name for entry in killed.path.iterdir() if entry.name.startswith(".")]
