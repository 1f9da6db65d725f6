"""`gate`: its thresholds, which figure decides, what it prints, and which margins it can decide."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from report_runs import make_run, panel_votes, unscored, verdict
from scipy import stats
from statsmodels.stats.power import TTestPower

from areopagus import regression_gate
from areopagus.aggregation.estimate import Estimate
from areopagus.changes import Changes
from areopagus.changes.document import STORED
from areopagus.changes.document import Shown as Figure
from areopagus.cli.main import cli
from areopagus.errors import InputError
from areopagus.regression_gate import Gate, Resolution, decision, gate, plan_gate
from areopagus.reports.text import render_text

NAN = math.nan


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-1.0, 0.4999, "not worse"),
        (0.1, 0.4999, "not worse"),  # worse, by less than the margin
        (0.0, 0.5, "undecided"),  # a loss of the margin is not allowed, and 0 is no loss
        (-0.1, 0.5, "undecided"),
        (0.0001, 0.5, "worse"),
        (0.6, 0.7, "worse"),
        (NAN, NAN, "undecided"),
    ],
)
def test_a_loss_passes_below_the_margin_and_fails_above_0(
    low: float, high: float, outcome: str
) -> None:
    assert decision((low, high), 0.5) == outcome


def test_a_loss_that_its_corrected_test_does_not_bear_out_fails_nothing() -> None:
    assert decision((0.1, 0.6), 0.5, is_shown=False) == "undecided"
    assert decision((0.1, 0.4), 0.5, is_shown=False) == "not worse"


def estimate(value: float, low: float = NAN, high: float = NAN, n: int = 12) -> Estimate:
    return Estimate(value, low, high, n, "prompt", reason=None if high == high else "all alike")


def figure(
    change: Estimate, *, verdict: str | None = "higher", before: float = 0.0, after: float = 0.0,
    **of: Any,
) -> Figure:  # fmt: skip
    shape = {
        "table": "outcomes", "measure": "rate", "keys": {}, "label": "rate", "family": "answer",
        "null": None, "worse": 1, "in_points": False, "scale": [0.0, 1.0],
    }  # fmt: skip
    change = Estimate(**{**_fields(change), "verdict": verdict})
    return Figure(shape | of, Estimate(before), Estimate(after), change)


def _fields(one: Estimate) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A gate over figures of a comparison of two audits."""

    def of(*figures: Figure, kind: str = "audit", stored: bool = False, **options: Any) -> Gate:
        found = Changes.__new__(Changes)
        found.record = {
            "of": kind,
            "runs": [{"name": "before"}, {"name": "after"}],
            "is_stored": stored,
            "demonstration": False,
        }
        found.__dict__["estimates"] = None
        monkeypatch.setattr(regression_gate, "compare", lambda *_, **__: found)
        monkeypatch.setattr(regression_gate, "shown_figures", lambda *_: list(figures))
        return gate("after", "before", **{"margin": 0.1} | options)

    return of


def test_a_figure_of_which_less_is_worse_is_turned(gated: Any) -> None:
    fell = estimate(-0.3, -0.4, -0.2)
    assert gated(figure(fell, worse=-1)).outcome == "worse"
    assert gated(figure(fell, worse=1)).outcome == "not worse"
    assert gated(figure(estimate(0.3, 0.2, 0.4), worse=-1)).outcome == "not worse"


def test_a_figure_with_a_reference_is_worse_further_from_it_on_either_side(gated: Any) -> None:
    rose, fell = estimate(0.3, 0.2, 0.4), estimate(-0.3, -0.4, -0.2)
    two_sided = {"null": 0.5, "worse": 0}
    assert gated(figure(rose, before=0.6, after=0.9, **two_sided)).outcome == "worse"
    assert gated(figure(fell, before=0.4, after=0.1, **two_sided)).outcome == "worse"
    assert gated(figure(fell, before=0.9, after=0.6, **two_sided)).outcome == "not worse"
    # From 0.6 to 0.3 it is further away below than it was above.
    assert gated(figure(fell, before=0.6, after=0.3, **two_sided)).outcome == "worse"


def test_a_figure_that_is_the_same_in_six_units_decides_by_its_value(gated: Any) -> None:
    assert gated(figure(estimate(0.0, n=6), verdict=None)).outcome == "not worse"
    assert gated(figure(estimate(0.3, n=6))).outcome == "worse"
    assert gated(figure(estimate(0.3, n=6))).is_by_margin
    assert gated(figure(estimate(0.0, n=5), verdict=None)).outcome == "undecided"


def test_the_worst_figure_decides_then_the_one_furthest_from_being_decided(gated: Any) -> None:
    passing = figure(estimate(0.0, -0.05, 0.05), label="passing", verdict="open")
    open_ = figure(estimate(0.1, -0.1, 0.3), label="open", verdict="open")
    wider = figure(estimate(0.1, -0.2, 0.4), label="wider", verdict="open")
    worse = figure(estimate(0.2, 0.1, 0.3), label="worse")
    decided = gated(passing, open_, worse, wider)
    assert (decided.outcome, decided.criterion, decided.n_figures) == ("worse", "worse", 4)
    assert decided.is_by_margin
    assert gated(passing, open_, wider).criterion == "wider"
    assert gated(wider, open_, passing).criterion == "wider"
    assert gated(passing).criterion == "passing"
    # Points of a scale of 9 and shares are held against each other by the width of their scales.
    points = figure(estimate(1.0, -1.0, 1.8), label="points", verdict="open", scale=[1, 10])
    assert gated(points, wider).criterion == "wider"
    assert not gated(figure(estimate(0.1, 0.01, 0.3))).is_by_margin
    # Holm does not bear it out.
    assert gated(figure(estimate(0.2, 0.1, 0.3), verdict="open")).outcome == "undecided"
    assert gated(figure(estimate(0.2, 0.1, 0.3), verdict="higher")).exit_code == 5


def test_only_figures_of_the_answer_that_say_what_is_worse_are_looked_at(gated: Any) -> None:
    worse, fine = estimate(0.3, 0.2, 0.4), estimate(0.0, -0.05, 0.05)
    neutral = figure(worse, worse=0, label="neutral")
    detail = figure(worse, family="details", label="detail")
    assert gated(figure(fine), neutral, detail).n_figures == 1
    by_measure = gated(figure(fine), figure(worse, measure="gap", table="gaps"), criterion="rate")
    assert (by_measure.n_figures, by_measure.outcome) == (1, "not worse")
    assert gated(figure(worse, measure="gap", table="gaps"), criterion="gaps").exit_code == 5
    with pytest.raises(InputError, match="no figure that both runs have says what is worse"):
        gated(neutral)
    with pytest.raises(InputError, match=r"no figure of .outcomes. .* there are: composite, rate"):
        gated(figure(fine), criterion="outcomes")
    stress = {"kind": "stress", "margin": None}
    lost = figure(worse, table="degradation", keys={"criterion": "composite"}, in_points=True)
    other = figure(fine, table="means", keys={"criterion": "composite"})
    assert (gated(lost, other, **stress).n_figures, gated(lost, other, **stress).exit_code) == (
        1,
        5,
    )
    assert gated(lost, other, **stress).margin == 0.2
    with pytest.raises(InputError, match="a gate on audits needs a margin"):
        gated(lost, margin=None)


def test_what_was_not_asked_anew_is_undecided_and_plans_nothing(gated: Any) -> None:
    stored = gated(figure(estimate(0.3, 0.2, 0.4)), stored=True)
    assert (stored.outcome, stored.is_by_margin, stored.resolution) == ("undecided", False, None)
    assert stored.sentence() == f"UNDECIDED: after cannot be compared with before. {STORED}"
    assert stored.document().trust == []


def test_the_sentence_says_what_was_decided_and_by_what(gated: Any) -> None:
    assert gated(figure(estimate(0.3, 0.2, 0.4))).sentence() == (
        "FAILED: by this audit, after is worse than before, by at least the 0.1 allowed. "
        "rate +0.30 [+0.20, +0.40] over 12 prompts."
    )
    points = figure(estimate(0.3, 0.05, 0.55), in_points=True, label="moved")
    passing = figure(estimate(0.0, -0.05, 0.05))
    assert gated(points, passing, kind="attack").sentence() == (
        "FAILED: by this attack, after is worse than before, perhaps by more than the 0.1 points "
        "allowed. moved +0.30 [+0.05, +0.55] points over 12 prompts; of 2 figures this one decides."
    )
    assert gated(passing).exit_code == 0
    assert gated(passing).document().headline == [
        "PASSED: by this audit, after is not worse than before by 0.1 or more."
    ]


def test_an_undecided_gate_says_which_margin_it_can_decide_and_how_many_prompts_decide_its_own(
    gated: Any,
) -> None:
    # 30 differences with SD .8: the limits are t(29) .8 / sqrt(30) = .2987 away.
    half = stats.t.ppf(0.975, 29) * 0.8 / math.sqrt(30)
    change = estimate(0.05, 0.05 - half, 0.05 + half, n=30)
    decided = gated(figure(change, in_points=True), kind="attack", margin=0.2)
    resolution = decided.resolution
    assert resolution.deviation == pytest.approx(0.8)
    power = TTestPower()
    needed = math.ceil(power.solve_power(effect_size=0.2 / 0.8, alpha=0.05, power=0.8))
    smallest = 0.8 * power.solve_power(nobs=30, alpha=0.05, power=0.8)
    assert (resolution.needed(0.2), round(resolution.smallest_margin, 4)) == (
        needed,
        round(smallest, 4),
    )
    first, second = decided.document().headline
    assert first == (
        "UNDECIDED: by this attack, after is neither shown to be worse than before nor shown to be "
        "within 0.2 points of it."
    )
    assert second == (
        "30 prompts can decide a margin of 0.43 points or more; a margin of 0.2 needs about "
        f"{needed} prompts (80% power)."
    )
    rows = {row["measure"]: row["value"] for _, row in decided.estimates().frame().iterrows()}
    assert rows["smallest margin"] == pytest.approx(smallest, rel=1e-5)
    assert rows["prompts needed"] == needed
    # A margin that so many prompts can decide needs no more of them.
    exactly = replace(resolution, n=needed)
    assert exactly.needed(0.2) == needed
    assert "needs" not in exactly.sentence(0.2)
    assert resolution.sentence(0.5) == (
        "30 prompts can decide a margin of 0.43 points or more (80% power)."
    )


def test_without_six_units_or_an_interval_no_margin_is_known() -> None:
    assert Resolution.of(estimate(0.0, -1.0, 1.0, n=5)) is None
    assert Resolution.of(estimate(0.0, n=12)) is None
    assert Resolution.of(estimate(0.0, 0.0, 0.0, n=12)) is None
    assert Resolution.of(estimate(0.0, -1.0, 1.0, n=6)) is not None


def test_how_often_an_unchanged_version_passes_is_what_the_gate_does() -> None:
    """Differences of SD .8 around 0, decided at a margin of .2: .28 pass at 30 prompts."""
    rng = np.random.default_rng(0)
    for n, margin in ((9, 0.5), (30, 0.2), (30, 0.5)):
        values = rng.normal(0, 0.8, size=(4000, n))
        reach = stats.t.ppf(0.975, n - 1) * values.std(axis=1, ddof=1) / math.sqrt(n)
        means = values.mean(axis=1)
        passed = np.mean([
            decision((-mean - half, -mean + half), margin) == "not worse"
            for mean, half in zip(means, reach, strict=True)
        ])  # fmt: skip
        expected = Resolution(n, "prompt", 0.8).passes(margin)
        assert passed == pytest.approx(expected, abs=0.025)  # three standard errors


@pytest.mark.parametrize("n", [6, 30, 1000])
def test_the_smallest_margin_is_the_reverse_of_the_power(n: int) -> None:
    resolution = Resolution(n, "prompt", 1.7)
    assert resolution.passes(resolution.smallest_margin) == pytest.approx(0.8)


def panel_run(path: Path, shift: float = 0.0, n: int = 12, **changes: Any) -> Path:
    votes = [
        verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3 + shift * (-1) ** k))
        for k in range(n)
    ]
    return make_run(path, votes, **changes)


def run_command(*words: str | Path) -> Any:
    return CliRunner().invoke(cli, ["gate", *map(str, words)], standalone_mode=False)


def test_the_command_states_a_demonstration_and_how_to_decide(tmp_path: Path) -> None:
    before = panel_run(tmp_path / "before", demonstration=True)
    after = panel_run(tmp_path / "after", 1.0)
    done = run_command(after, "--baseline", before)
    assert done.return_value == 6
    assert done.stdout.startswith("DEMONSTRATION: ")
    printed = " ".join(done.stdout.split())
    assert "UNDECIDED: in this demonstration, after is neither shown to be worse than" in printed
    assert "12 prompts can decide a margin of 0.93 points or more; a margin of 0.2 needs" in printed
    assert printed.endswith(f"Exit code 6. What changed: areopagus compare {before} {after}")
    silent = run_command(after, "--baseline", before, "--quiet")
    assert (silent.return_value, silent.output) == (6, "")
    real = run_command(panel_run(tmp_path / "real"), "--baseline", panel_run(tmp_path / "base"))
    assert "DEMONSTRATION" not in real.stdout
    assert "PASSED: by this panel, real is not worse than base by 0.2 points or more." in " ".join(
        real.stdout.split()
    )


def runs_of_two(tmp_path: Path, **levels: float) -> list[Path]:
    """A run for each respondent: gates look at respondents where runs share none."""
    return [
        make_run(
            tmp_path / name,
            [
                verdict(panel_votes(f"{name}{k}", f"p{k}", name, 4 + k % 3 + shift + 0.1 * (k % 2)))
                for k in range(12)
            ],
        )
        for name, shift in levels.items()
    ]


def test_a_gate_of_two_respondents_has_the_sign_of_the_run_that_is_tested(tmp_path: Path) -> None:
    alder, birch = runs_of_two(tmp_path, alder=0.0, birch=-1.0)
    worse, better = gate(birch, alder), gate(alder, birch)
    assert (worse.outcome, worse.exit_code, worse.side, worse.baseline) == (
        "worse", 5, "birch", "alder",
    )  # fmt: skip
    assert (better.outcome, better.exit_code, better.side) == ("not worse", 0, "alder")
    assert worse.difference.value == pytest.approx(-1.0)
    assert better.difference.value == pytest.approx(1.0)
    assert worse.margin == 0.2


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b"), ("b", "a")])
def test_a_run_that_has_lost_scores_does_not_pass_and_one_that_has_more_does(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """Of one respondent in both runs, and of one each: then the pair may stand either way round."""

    def run_with(name: str, who: str, shift: float, *, lost: bool) -> Path:
        verdicts = []
        for k in range(24):
            votes = panel_votes(f"{k}", f"p{k}", who, 4 + k % 3 + shift)
            failed = [unscored(vote, "failed", "timeout") for vote in votes]
            verdicts.append(verdict(failed if lost and k % 2 else votes))
        return make_run(tmp_path / name, verdicts)

    whole = run_with("whole", names[0], 0.0, lost=False)
    half = run_with("half", names[1], 0.0, lost=True)
    decided = gate(half, whole)
    assert (decided.outcome, decided.difference.value) == ("undecided", 0.0)
    told = f"{decided.side} has no score on 12 responses that {decided.baseline} has one of, "
    assert decided.unscored.replace("prompts", "responses").startswith(told)
    assert decided.unscored in decided.sentence()
    assert gate(whole, half).outcome == "not worse"
    worse = run_with("worse", names[1], -1.0, lost=True)
    assert gate(worse, whole).outcome == "worse"


def test_a_gate_of_panel_runs_says_whether_all_of_the_interval_is_beyond_the_margin(
    tmp_path: Path,
) -> None:
    base = panel_run(tmp_path / "base")
    votes = [
        verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3 - 1 + 0.5 * (-1) ** k))
        for k in range(12)
    ]
    run = make_run(tmp_path / "run", votes)  # −1 by ±.5: the interval is [−1.33, −.67]
    assert gate(run, base, margin=0.66).is_by_margin
    perhaps = gate(run, base, margin=0.68)
    assert (perhaps.outcome, perhaps.is_by_margin) == ("worse", False)
    passed = gate(base, run, margin=0.1)
    assert (passed.outcome, passed.is_by_margin) == ("not worse", False)
    # The same on every prompt, a loss of the margin exactly: not below it, and all of it beyond.
    flat = [verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 3 + k % 3)) for k in range(12)]
    exact = gate(make_run(tmp_path / "flat", flat), base, margin=1.0)
    assert (exact.outcome, exact.is_by_margin) == ("worse", True)


def test_what_was_compared_is_counted_where_it_is_not_all(gated: Any) -> None:
    decided = gated(figure(estimate(0.0, -0.05, 0.05)))

    def coverage(n: int, planned: int) -> str:
        pairs = Estimate(n, n=n, n_planned=planned, unit="response")
        return dict(replace(decided, pairs=pairs).document().trust)["coverage"]

    assert coverage(11, 12) == "12 prompts; 11 of 12 responses compared"
    assert coverage(12, 12) == "12 prompts"


def test_the_table_holds_the_figure_that_decided(gated: Any) -> None:
    moved = figure(estimate(0.3, 0.2, 0.4), in_points=True, label="moved")
    fine = figure(estimate(0.0, -0.05, 0.05))
    decided = gated(moved, fine, kind="attack")
    (section,) = decided.document().sections
    (table,) = section.parts
    assert table.caption == (
        "Change (points), after minus before; of 2 figures the one that decides"
    )
    assert [row[0] for row in table.rows] == ["moved"]
    assert table.rows[0][1].value == 0.3
    assert "moved    +0.30  [+0.20, +0.40]" in "\n".join(render_text(decided.document()))
    assert table.rows[0][2:] == ["0.1", "worse"]
    (section,) = gated(fine).document().sections
    assert section.parts[0].caption == "Change, after minus before"
    stored = gated(moved, stored=True)
    assert not [part for one in stored.document().sections for part in one.parts]
    rows = {row["measure"] for _, row in stored.estimates().frame().iterrows()}
    assert rows == {"difference", "margin"}


def test_a_dry_run_says_which_margins_can_be_decided_before_there_is_a_run(tmp_path: Path) -> None:
    before = panel_run(tmp_path / "before")
    done = run_command("--baseline", before, "--dry-run")
    assert done.return_value == 0
    # Scores of 4, 5 and 6 four times each, half a point higher with one model: SD .853, of
    # differences at most sqrt(2) times that, 1.206.
    smallest = (
        math.ceil(100 * Resolution(12, "prompt", math.sqrt(2) * 0.852803).smallest_margin) / 100
    )
    printed = " ".join(done.stdout.split())
    assert printed.startswith(
        f"12 prompts can decide a margin of {smallest:.2f} points, and perhaps a smaller one; a "
        "margin of 0.2 needs at most "
    )
    assert "at most 1.21 points between prompts" in printed
    # With another version's run the spread is that of the differences.
    exact = plan_gate(before, panel_run(tmp_path / "after", 1.0), margin=0.25)
    assert exact.headline[0].startswith("12 prompts can decide a margin of 0.93 points or more; a ")
    assert dict(exact.trust)["differences"].startswith("SD 1.04 points between prompts")
    (section,) = exact.sections
    assert [row[0] for row in section.parts[0].rows] == ["0.1", "0.2", "0.25", "0.3", "0.5", "1"]
    done = run_command("--baseline", before, "--dry-run", "--json", "-")
    assert json.loads(done.stdout)["kind"] == "gate_plan"


def test_a_dry_run_of_what_tells_nothing_is_refused(tmp_path: Path) -> None:
    before = panel_run(tmp_path / "before")
    with pytest.raises(InputError, match="5 scored prompts, a gate needs 6"):
        plan_gate(panel_run(tmp_path / "few", n=5))
    assert plan_gate(panel_run(tmp_path / "six", n=6)).headline
    with pytest.raises(InputError, match="criterion must be one of those of the rubric"):
        plan_gate(before, criterion="taste")
    with pytest.raises(InputError, match="tells nothing of later runs"):
        plan_gate(before, panel_run(tmp_path / "same"))
    flat = [verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 5)) for k in range(8)]
    with pytest.raises(InputError, match="the scores do not vary over prompts"):
        plan_gate(make_run(tmp_path / "flat", flat))
    refused = CliRunner().invoke(cli, ["gate", "--baseline", str(before)])
    assert refused.exit_code == 2
    assert "Missing argument 'RUN'" in refused.output
