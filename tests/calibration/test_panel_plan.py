"""A calibration's plan seats a panel: read, expected, told, and refused where it cannot be."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel
from areopagus.aggregation.estimate import Estimate, undefined
from areopagus.calibration import Calibration
from areopagus.cli.main import main
from areopagus.panel_plan import PanelPlan, panel_by_plan, read_plan
from areopagus.records.estimates import Estimates, estimates_by, json_rows, select
from areopagus.testing import ScriptedBackend

GOOD = {"overall": 7}
Command = Callable[..., tuple[object, str, str]]


def plan_file(
    folder: Path, components: dict[str, float], *, models: int = 3, reason: str = "", **record: Any
) -> Path:
    """A file of calibrate --json with nothing but the D-study."""
    out, levels = Estimates(), {"P": 10, "M": models}
    for name, value in components.items():
        keys = {"factor": "component", "group": name}
        out.add("components", "variance", value, **keys)
        out.add("components", "n_levels", levels.get(name, 50), **keys)
    if reason:
        out.add("designs", "e_rho2", undefined(reason), group="this panel")
    else:
        out.add("designs", "calls", 10 * models, group="this panel")
    out.add("size", "n_scores", Estimate(1500, n=1500, unit="judgment"))
    content = {"kind": "calibration", "estimates": json_rows(out.frame()), **record}
    path = folder / "calibration.json"
    path.write_text(json.dumps(content))
    return path


COMPONENTS = {
    "r:q": 0.64, "rP": 0.06, "rM": 0.30, "residual": 0.25, "P": 0.2, "M": 0.4,
}  # fmt: skip


def backends(n: int) -> list[ScriptedBackend]:
    return [ScriptedBackend(GOOD, name=f"scripted/m{number}") for number in range(n)]


def panel(folder: Path, n_models: int = 3, **options: Any) -> Panel:
    return Panel(backends(n_models), mode="holistic", ledger=folder / "l.sqlite", **options)


def test_the_plan_is_the_one_that_calibrate_printed(
    planted_report: Calibration, planted_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "calibration").symlink_to(planted_folder)

    def designs(table: str) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
        rows = select(planted_report.estimates, table)
        return list(estimates_by(rows, ["group", "detail"]))

    sizes = ("personas", "models", "repeats", "calls")
    for keys, found in designs("designs"):
        if keys["group"] == "this panel":
            here = int(found["calls"].value)
            continue
        plan = read_plan(tmp_path / "calibration", calls=int(keys["group"]))
        for name in sizes:
            assert getattr(plan, name) == found[name].value
        assert plan.e_rho2 == pytest.approx(found["e_rho2"].value)
        assert plan.standard_error == pytest.approx(found["standard_error"].value)
    reached = [(k, f) for k, f in designs("designs needed") if k["detail"] == "order"]
    assert reached
    for keys, found in reached:
        plan = read_plan(tmp_path / "calibration", standard_error=float(keys["group"]))
        assert plan.calls == found["calls"].value
    # the run whose calibration it is, and its run.json
    for place in (tmp_path, tmp_path / "calibration" / "run.json"):
        assert read_plan(place).wish == f"the best for {here} calls a response"


def test_a_design_worked_out_by_hand_is_seated_and_told(tmp_path: Path) -> None:
    # 6 calls, at most 3 models. As 2 x 3: .06/2 + .30/3 + .25/6 = .1717; 3 x 2 gives .2117. The
    # root .4143 is the standard error, .64 / (.64 + .1717) = .7885 the reliability. With models
    # enough 1 x 6 were better: .06 + .05 + .0417 = .1517, .64 / .7917 = .8084.
    path = plan_file(tmp_path, COMPONENTS)
    with panel(tmp_path).planned(path, calls=6) as seated:
        assert (len(seated.personas), len(seated.backends)) == (2, 3)
        plan = seated.spec.notes["plan"]
        assert isinstance(plan, PanelPlan)
        assert plan.e_rho2 == pytest.approx(0.64 / 0.811667, rel=1e-5)
        assert plan.standard_error == pytest.approx(math.sqrt(0.171667), rel=1e-5)
        told = " ".join(seated.notices)
        assert "2 personas × 3 models × 1 repeat, 6 calls a response" in told
        assert "one prompt: 0.79, with a standard error of 0.41 points" in told
        assert "(D-study on 1,500 judgments)" in told
        assert "names 1 persona × 6 models × 1 repeat (reliability 0.81), for which" in told
        assert "only 3 models were calibrated" in told
        described = seated.spec.describe()
    assert described["plan"]["calls"] == 6
    assert "panel" not in described["plan"]


@pytest.mark.report
def test_a_planned_run_is_the_run_of_those_judges(tmp_path: Path) -> None:
    path = plan_file(tmp_path, COMPONENTS)
    rows = [{"response_id": "r", "prompt_text": "What is owed?", "response_text": "Much, I say."}]
    with panel(tmp_path).planned(path, calls=6) as seated:
        personas = [one.id for one in seated.personas]
        run = seated.score_many(rows, out=tmp_path / "run")
    with panel(tmp_path, personas=personas) as plain:
        again = plain.score_many(rows, out=tmp_path / "run")  # the same folder, without a plan
    assert (run.n_planned, run.n_scored) == (6, 6)
    assert again.record["sessions"][1]["calls"]["sent"] == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "size of the panel" not in page  # the later run had no plan
    assert run.record["panel"]["plan"]["wish"] == "the best for 6 calls a response"


def test_personas_are_spread_over_the_axes_and_follow_the_seed(tmp_path: Path) -> None:
    path = plan_file(tmp_path, {**COMPONENTS, "rP": 3.0})
    assignments = []
    with panel(tmp_path) as whole:
        order = [one.id for one in whole.personas]
        every = len({one.axis for one in whole.personas})
    for seed in (0, 0, 1, 2, 3):
        with panel(tmp_path).planned(path, calls=5, seed=seed) as seated:
            assignments.append([one.id for one in seated.personas])
            axes = Counter(one.axis for one in seated.personas)
            assert len(axes) == min(every, len(seated.personas))
            assert max(axes.values()) - min(axes.values()) <= 1
            assert assignments[-1] == sorted(assignments[-1], key=order.index)
    assert assignments[0] == assignments[1]
    assert len({tuple(one) for one in assignments}) > 1


def test_a_calibration_of_another_panel_is_told(tmp_path: Path) -> None:
    with panel(tmp_path) as calibrated:
        identity = calibrated.spec.identity()
    identity["mode"] = "dimensions"
    del identity["models"]["scripted/m2"]
    path = plan_file(tmp_path, COMPONENTS, panel=identity)
    with panel(tmp_path).planned(path, calls=6) as seated:
        told = " ".join(seated.notices)
    assert "the calibrated panel had another mode" in told
    assert "not in the calibrated panel: scripted/m2;" in told


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"kind": "agreement", "estimates": []}, "it compares people with people, and no panel"),
        ({"kind": "calibration", "estimates": []}, "holds no plan: it has no variance components"),
        ({"kind": "calibration", "how_many": {}}, "must be a calibration's figures"),
        ({"kind": "panel"}, "must be a calibration's figures, got panel"),
        ([], "must be a calibration's figures, got other JSON"),
    ],
)
def test_a_file_without_a_plan_is_refused(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "figures.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=said):
        read_plan(path)


def test_what_no_design_can_be_made_of_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = plan_file(tmp_path, {}, reason="a variance component is not known")
    with pytest.raises(InputError, match="holds no plan: a variance component is not known"):
        read_plan(path)
    path = plan_file(tmp_path, COMPONENTS)
    with pytest.raises(InputError, match=r"at most 100 personas × 20 models × 1 repeat reaches"):
        read_plan(path, standard_error=0.01)
    with pytest.raises(InputError, match="give one"):
        read_plan(path, calls=3, standard_error=0.5)
    with pytest.raises(InputError, match="there is no such file"):
        read_plan(tmp_path / "nowhere.json")
    # Two models: .30 / 2 alone is more than .35 squared; three models and some personas reach it.
    with pytest.raises(InputError, match=r"0.35 points cannot be met") as told:
        panel(tmp_path, 2).planned(path, standard_error=0.35)
    assert "× 2 models × 1 repeat reaches it" in str(told.value)
    assert "would: name more judges as `models`" in str(told.value)
    with pytest.raises(InputError, match="the plan wants 3, the panel has 2"):
        panel_by_plan(panel(tmp_path, 2).spec, read_plan(path, calls=6, models=3))


def test_a_panel_that_does_not_tell_responses_apart_expects_no_reliability(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path, {**COMPONENTS, "r:q": -0.1}), calls=6)
    assert plan.e_rho2 is None
    assert "not known: responses to one prompt are not shown to differ" in plan.sentences()[1]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["areopagus", *map(str, arguments)])
        monkeypatch.setattr("signal.signal", lambda *given: None)
        with pytest.raises(SystemExit) as left:
            main()
        written = capsys.readouterr()
        return left.value.code, " ".join(written.out.split()), " ".join(written.err.split())

    return run


@pytest.mark.report
def test_the_command_seats_by_the_plan_and_says_so_before(
    tmp_path: Path, call: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path))
    one_model = {name: v for name, v in COMPONENTS.items() if name not in ("M", "rM")}
    path = plan_file(tmp_path, one_model, models=1)
    table = tmp_path / "responses.jsonl"
    row = {"response_id": "r", "prompt_text": "What is owed?", "response_text": "Much, I say."}
    table.write_text(json.dumps(row) + "\n")
    command = ("score", table, "--plan", path, "--plan-calls", 4)
    code, out, err = call(*command, "--dry-run")
    assert (code, "4 calls to send" in out) == (0, True)
    assert "expected reliability for the order of responses" in err
    code, out, err = call(*command, "--out", tmp_path / "run")
    assert code == 0
    assert "4 scored of 4 planned" in out
    assert "Note: plan of" in err
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "by the plan of a calibration (calibration.json)" in page
    code, _, err = call(*command, "--repeats", 2)
    assert (code, "--plan sets the repeats to 1, --repeats to 2" in err) == (2, True)
    code, _, err = call("score", table, "--plan-error", 0.5)
    assert (code, "give --plan too" in err) == (2, True)
    code, _, err = call("score", table, "--plan", path, "--plan-error", 0.1)
    assert (code, "cannot be met: no design of at most 10 personas" in err) == (2, True)
