"""What is said of a stopping rule: before, on the terminal, in run.json and in the report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from precision_material import backends, rows

from areopagus import InputError, Panel
from areopagus.batch import BatchSettings
from areopagus.batch.eligible import planned_judgments
from areopagus.calibration.panel_scores import panel_of_run
from areopagus.cli.main import main
from areopagus.engines.worker import RunSpec
from areopagus.graphs.stopping import StoppingRule
from areopagus.precision import (
    PrecisionTally,
    panel_with_rule,
    precision_sentences,
    reliability_kept,
)
from areopagus.progress import Progress, ProgressLine
from areopagus.records.readers.responses import ResponseSource
from areopagus.records.types import STATUSES


@pytest.mark.usefixtures("no_results")
def test_the_dry_run_gives_a_range(tmp_path: Path) -> None:
    with Panel(backends(cost_usd=0.01), ledger=tmp_path / "ledger.sqlite") as panel:
        found = panel.estimate(rows(), precision=0.5)
        capped = panel.estimate(rows(), precision=0.5, judges_per_response=10)
        fixed = panel.estimate(rows(), judges_per_response=6)
        panel.score_many(rows(3), tmp_path / "run", judges_per_response=6)
        rest = panel.estimate(rows(), judges_per_response=6)
        plain = panel.estimate(rows())
    assert found.least is not None
    assert (found.least.calls, found.calls) == (48, 180)
    assert capped.least is not None
    assert (capped.least.calls, capped.calls) == (48, 60)
    assert (fixed.least, fixed.calls) == (None, 36)
    assert (rest.calls, sum(item.stored for item in rest.stages)) == (18, 18)
    assert sum(item.planned for item in rest.stages) == 180
    assert (plain.least, plain.calls) == (None, 162)


@pytest.mark.report
def test_the_command_tells_what_was_saved_and_what_it_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))

    def call(*arguments: str) -> tuple[object, str]:
        command = ["areopagus", "score", str(path), "--out", str(tmp_path / "run"), *arguments]
        monkeypatch.setattr(sys, "argv", command)
        monkeypatch.setattr("signal.signal", lambda *given: None)
        with pytest.raises(SystemExit) as left:
            main()
        written = capsys.readouterr()
        return left.value.code, " ".join(f"{written.out} {written.err}".split())

    code, out = call("--precision", "0.5", "--dry-run")
    assert (code, "from 48 to 60 calls to send" in out) == (0, True)
    code, out = call("--judges-per-response", "8", "--order-seed", "3")
    assert code == 0
    assert "48 scored of 60 planned judgments, 12 not allowed" in out
    told = "12 were not asked: at most 8 a response were allowed, which saved as many calls."
    assert told in out
    assert "The rule" not in out
    assert "Judgments not scored" not in out
    assert "At most 8 judgments a response were allowed" in out
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["panel"]["precision"]["seed"] == 3
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Fewer judges" in page
    assert "12 not allowed" in page
    code, out = call("--judges-per-response", "40")
    assert (code, "the panel has 10 judgments a response: 40 spare none" in out) == (0, True)
    assert call("--precision", "0")[0] == 2


def tally(*verdicts: Any, width: float | None = 0.5, most: int | None = None) -> PrecisionTally:
    made = PrecisionTally(
        StoppingRule(width, most), personas=["a", "b"], models=["m", "n"], repeats=1, grain=0.2
    )
    for verdict in verdicts:
        made.add(verdict)
    return made


@pytest.mark.usefixtures("no_results")
def test_dollars_that_nobody_knows_are_not_nothing(tmp_path: Path) -> None:
    given = [*backends(cost_usd=0.25)[:1], *backends(cost_usd=None)[1:]]
    with Panel(given, ledger=tmp_path / "ledger.sqlite") as panel:
        run = panel.score_many(rows(), tmp_path / "run", judges_per_response=9)
    saved = run.record["panel"]["precision"]["saved"]
    # Of the 21 judges spared of each response 7 are of the backend whose price is known.
    assert saved["usd"] == pytest.approx(6 * 7 * 0.25)
    assert (saved["calls"], saved["calls_with_unknown_price"]) == (6 * 21, 6 * 14)
    told = " ".join(precision_sentences(run.record["panel"]["precision"]))
    assert "and about $10.50; 84 of them have no known price" in told

    unknown = backends(cost_usd=None)
    with Panel(unknown, ledger=tmp_path / "other.sqlite") as panel:
        run = panel.score_many(rows(2), tmp_path / "unknown", judges_per_response=9)
    assert run.record["panel"]["precision"]["saved"]["usd"] is None
    told = " ".join(precision_sentences(run.record["panel"]["precision"]))
    assert "as many calls at an unknown price" in told


def test_the_reliability_is_that_of_a_hand_calculation() -> None:
    # Two responses to each of 20 prompts, one persona on 4 models, the same numbers everywhere:
    # means +1 and -1, and around them .5 (1, -1, 1, -1) and .5 (-1, 1, 1, -1).
    # Responses in a prompt: MS = 4 (1 + 1) / 1 = 8. What models share: .5 (0, 0, 1, -1); left is
    # .5 (1, -1, 0, 0) and its negative: MS = 4 * .25 / 3 = 1/3.
    # u = (8 - 1/3) / 4 = 23/12, relative error of four models d = (1/3) / 4 = 1/12.
    prompt = np.repeat(np.arange(20), 2)
    r = np.tile([1.0, -1.0], 20)
    signs = np.array([[1, -1, 1, -1], [-1, 1, 1, -1]])[np.arange(40) % 2]
    scores = (r[:, None] + 0.5 * signs)[:, None, :, None]
    found = reliability_kept(scores, prompt, 0.1)
    assert found.full == pytest.approx(23 / 24)
    assert found.stopped == pytest.approx((23 / 12) / (2 + 0.1))
    # Spearman-Brown of this share of the panel gives the reliability back.
    assert found.worth is not None
    share = found.worth / 4
    assert share * 23 / 24 / (1 + (share - 1) * 23 / 24) == pytest.approx(found.stopped)


def test_asking_everybody_costs_no_reliability_and_little_material_tells_none() -> None:
    draw = np.random.default_rng(5)
    prompt = np.repeat(np.arange(10), 4)
    scores = 6 + draw.normal(size=(40, 1, 1, 1)) + 0.5 * draw.normal(size=(40, 5, 2, 1))
    whole = reliability_kept(scores, prompt, 0.0)
    assert whole.full == whole.stopped
    assert whole.worth == pytest.approx(10)
    assert 0.9 < (whole.full or 0) < 1
    part = reliability_kept(scores, prompt, 0.2)
    assert (part.stopped or 1) < (whole.full or 0)
    few = reliability_kept(scores[:5], prompt[:5], 0.2)
    assert (few.full, few.reason) == (None, "fewer than 10 responses were judged")
    across = reliability_kept(scores, np.arange(40), 0.2)
    assert across.is_across
    noise = reliability_kept(draw.normal(size=(40, 5, 2, 1)) * [[[[5.0]]]], prompt, 0.2)
    assert noise.full is None or noise.full < 0.9
    nothing = tally()
    assert nothing.to_json()["reliability"]["reason"] == "no response was judged"


def test_only_what_is_asked_anyway_goes_into_batches(tmp_path: Path) -> None:
    with Panel("offline/lexical", ledger=tmp_path / "ledger.sqlite") as panel:
        ruled, _ = panel_with_rule(panel.spec, StoppingRule(0.5))
        source = ResponseSource(rows(3))
        source.check()
        response_formats: Any = {"offline/lexical": "json_schema"}
        first = list(planned_judgments(ruled, source.rows(), response_formats))
        whole = list(planned_judgments(ruled, source.rows(), response_formats, whole=True))
        with pytest.raises(InputError, match="do not go together"):
            panel.job(rows(), tmp_path / "run", batch=BatchSettings(only=True), precision=0.5)
    assert [len(found) for found in first] == [8, 8, 8]
    assert [len(found) for found in whole] == [10, 10, 10]
    assert {item.key for found in first for item in found} <= {
        item.key for found in whole for item in found
    }


def test_calls_of_later_blocks_share_the_prefix_of_the_first(tmp_path: Path) -> None:
    with Panel(backends(), ledger=tmp_path / "ledger.sqlite") as panel:
        one = panel.spec.planned()[:1]

        def shared(rule: StoppingRule) -> int:
            return panel_with_rule(panel.spec, rule)[0].calls_that_share(one)

        assert panel.spec.calls_that_share(one) == 1
        # 8 over 3 backends: each gets two at least, so the mark for the cache pays from the first.
        assert shared(StoppingRule(0.5)) == 3
        assert shared(StoppingRule(0.5, most=3)) == 1
        assert shared(StoppingRule(most=12)) == 4


def test_a_rule_travels_with_the_panel_to_other_machines(tmp_path: Path) -> None:
    with Panel("offline/lexical", ledger=tmp_path / "ledger.sqlite") as panel:
        ruled, _ = panel_with_rule(panel.spec, StoppingRule(0.5, 9, seed=4))
        plan = RunSpec.of(ruled, cap=None)
        there = plan.panel()
        try:
            assert there.rule == StoppingRule(0.5, 9, seed=4)
            assert there.order("r1") == ruled.order("r1")
        finally:
            there.ledger.close()


@pytest.mark.usefixtures("no_results")
def test_a_calibration_does_not_miss_whom_the_rule_did_not_want(tmp_path: Path) -> None:
    with Panel(backends(), ledger=tmp_path / "ledger.sqlite") as panel:
        run = panel.score_many(rows(), tmp_path / "run", judges_per_response=8)
    places = {row["response_id"]: i for i, row in enumerate(rows())}
    found = panel_of_run(run.path, places, quorum=2 / 3, axis_of={})
    assert found.n_planned.tolist() == [8] * 6
    assert {name: int(grid.sum()) for name, grid in found.status.items()} == {
        "scored": 48,
        "not_asked": 0,
    }
    # 8 of 30 would be far below the quorum.
    assert np.isfinite(found.ensemble()).all()


def test_the_progress_line_counts_what_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("areopagus.progress._Log.least_s", 0.0)
    with ProgressLine() as line:
        counts = {**dict.fromkeys(map(str, STATUSES), 0), "scored": 9, "not_asked": 21}
        line.update(Progress(total=1, done=1, counts=counts, elapsed_s=1.0))
    assert "1/1  · 9 scored, 0 not, 21 not asked" in capsys.readouterr().err
