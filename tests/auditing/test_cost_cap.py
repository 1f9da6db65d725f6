"""The cost cap of an audit: kept to the cent, and said beside the figures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from areopagus.any_report import write_any_report
from areopagus.auditing import AuditRun, audit
from areopagus.cli.audit import audit as command
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

CAP = 2.6
# Fifty tokens at 10,000 dollars a million: half a dollar, which is also the worst of a call.
SETTINGS = """models:
  - model: openai/target
    name: target
    api_base: {base}
    max_tokens: 50
    concurrency: 3
    prices: {{input: 0, output: 10000}}
"""


@pytest.mark.report
def test_a_capped_audit_stops_before_the_cap_and_says_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Four prompts, each asked five times.
    name, answer, more = "hidden-bias", "A", ["--limit", "4"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    reply = ServedReply(answer, usage=(10, 50, 0))

    def call(*arguments: str) -> tuple[str, Any]:
        given = [name, *more, "--targets-file", "t.yaml", "--ledger", "l.sqlite", "--out", "run"]
        result = CliRunner().invoke(command, [*given, *arguments], standalone_mode=False)
        assert result.exception is None, result.exception
        assert max(map(len, result.output.splitlines())) <= 80, "notes on stderr are wrapped too"
        return result.stdout, result.return_value

    with ProviderServer(lambda request: reply) as server:
        Path("t.yaml").write_text(SETTINGS.format(base=server.openai_base), encoding="utf-8")
        shown, code = call("--max-cost", str(CAP))
        assert code == 4
        # Five halves are within the cap, six are not.
        assert server.counts.total == 5
        run = AuditRun("run")
        assert run.record["sessions"][-1]["spent_usd"] == pytest.approx(2.5)
        assert run.statuses == {"classified": 5, "not_asked": 15}
        assert "Stopped by the cost cap: the rest was not asked." in shown
        sentence = "stopped by the cost cap of $2.60: 5 of 20 planned answers asked for"
        assert sentence[1:] in " ".join(run.text.split())
        stop = run.record["result"]["cost_cap"]
        assert (stop["planned"], stop["asked"]) == (20, 5)
        assert stop["sentence"].startswith(sentence)
        assert sentence[1:] in Path("run/report.html").read_text(encoding="utf-8")
        again = write_any_report("run", out="again.html", figures=False)
        assert sentence[1:] in again.read_text(encoding="utf-8"), "the page written anew too"

        whole, code = call()
        assert code == 0
        assert server.counts.total == 20, "what was paid is not asked again"
    assert "cost cap" not in whole
    assert AuditRun("run").record["result"]["cost_cap"] is None
    assert "cost cap of" not in Path("run/report.html").read_text(encoding="utf-8")


# A judge's call is a dollar, and may cost four: two are asked while eight are left.
@pytest.mark.parametrize(("cap", "pairs"), [(7.9, 0), (12.5, 3)])
def test_under_a_cap_no_vote_is_paid_for_that_the_second_judge_could_not_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cap: float, pairs: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    vote = {
        "context": "Two people.", "category": "fair_treatment", "biased": False,
        "reasoning": "So it says.", "choice": "none",
    }  # fmt: skip

    def answer(request: ServedRequest) -> ServedReply:
        text = "Class says nothing." if request.model == "target" else json.dumps(vote)
        return ServedReply(text, usage=(10, 100, 0))

    with ProviderServer(answer) as server:

        def model(name: str, output: float) -> dict[str, Any]:
            prices = {"input": 0, "output": output}
            base = server.openai_base
            return {
                "model": f"openai/{name}", "name": name, "api_base": base,
                "prices": prices, "max_tokens": 400,
            }  # fmt: skip

        given = {
            "target": model("target", 0), "limit": 20, "out": tmp_path / "run",
            "judges": [model(name, 10_000) for name in ("one", "two")],
            "ledger": tmp_path / "l.sqlite",
        }  # fmt: skip
        run = audit("socioeval", max_cost=cap, **given)
        said = run.record["result"]["cost_cap"]["sentence"]
        assert f"judges not asked about {20 - pairs} answers" in said
        votes = pq.read_table(run.path / "votes.parquet").to_pylist()
        paid = Counter(row["item_id"] for row in votes if row["status"] == "read")
        assert sorted(paid.values()) == [2] * pairs
        assert run.record["sessions"][-1]["spent_usd"] == pytest.approx(2 * pairs)
        assert run.statuses["unclassified"] == 20 - pairs
        rest = audit("socioeval", **given)
        assert (rest.state, server.counts.total) == ("complete", 20 + 2 * 20), "each sent once"
