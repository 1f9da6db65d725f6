"""A calibration names what was planted, and refuses what the data cannot say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from areopagus import InputError
from areopagus.calibration import Calibration, agreement, calibrate
from areopagus.calibration.unsaid import numbers_in

USELESS, SOURCE_ONLY = "historian x openai/gpt-4o-mini", "ethicist x openai/gpt-4o-mini"


@pytest.fixture
def report(planted_report: Calibration) -> Calibration:
    return planted_report


def test_the_harsh_rater_is_named_and_the_others_are_not(report: Calibration) -> None:
    verdicts = {row.rater: row.verdict for row in report.people.criteria[0].severity.raters}
    assert verdicts == {"h0": "harsh", "h1": "", "h2": "", "h3": "", "h4": "constant"}
    harsh = next(r for r in report.people.criteria[0].severity.raters if r.rater == "h0")
    assert harsh.deviation.value == pytest.approx(-2, abs=0.3)
    assert harsh.deviation.high < -1.5
    assert "HARSH: h0" in "\n".join(report.text())


def test_the_constant_rater_is_undefined(report: Calibration) -> None:
    people = report.people.criteria[0]
    assert people.straightlining.constant_raters == ("h4",)
    # h4 meets four others
    assert (people.pairwise.n_pairs_defined, people.pairwise.n_pairs_undefined) == (6, 4)


def test_the_useless_and_the_source_only_judge_are_named(report: Calibration) -> None:
    assert report.judges.useless == (USELESS,)
    assert report.judges.source_only == (SOURCE_ONLY,)
    assert not report.panel.source_confound
    rows = {row.name: row for row in report.judges.rows}
    assert rows[SOURCE_ONLY].cross.value > 0.7 > 0.6 > rows[SOURCE_ONLY].within.value


def test_a_panel_that_only_knows_the_source_is_named(make_world: Callable[..., Any]) -> None:
    files = make_world(source_only_panel=True)
    found = calibrate(files.judgments, files.humans)
    assert found.panel.source_confound
    assert not found.panel.beyond_source.low > 0
    assert "SOURCE CONFOUND" in "\n".join(found.text())


def test_the_panel_agrees_below_its_ceiling_and_beats_one_person(report: Calibration) -> None:
    main = report.panel.by_target[0]
    assert main.target == "overall, score"
    assert main.p.value < 1e-6
    assert main.tau.low < main.tau.value < main.tau.high <= 1
    assert main.tau.value < main.ceiling.value + 0.1
    assert report.one_person.n_comparisons == 5 * 24
    assert [row.rater for row in report.one_person.raters] == ["h0", "h1", "h2", "h3", "h4"]
    # the constant rater orders nothing: every pair is half right
    assert report.one_person.raters[4].human.value == 0.5


def test_three_prompts_refuse_every_interval_and_say_why(make_world: Callable[..., Any]) -> None:
    files = make_world(3)
    found = calibrate(files.judgments, files.humans)
    over_prompts = [n for n in numbers_in(found) if n.unit == "prompt"]
    assert over_prompts
    assert not any(n.has_interval for n in over_prompts)
    assert "3 prompts: an interval needs at least 6" in (found.panel.by_target[0].tau.reason or "")
    assert found.unsaid[0].what == "intervals and tests over prompts"
    assert found.judges.useless == ()
    assert found.corrections.weights.adopted == "equal"
    assert found.corrections.score_map.adopted == "as is"


def test_every_number_without_value_or_interval_has_a_reason(report: Calibration) -> None:
    for number in numbers_in(report):
        if not number.has_interval:
            assert number.reason, number


def test_unmatched_ids_are_listed_with_their_rows(
    make_world: Callable[..., Any],
) -> None:
    files = make_world(6)
    with files.humans.open("a") as file:
        file.write("h1,p0,nowhere,human,,A,5\nh2,p0,nowhere,human,,A,5\n")
    found = calibrate(files.judgments, files.humans)
    # a header, 6 prompts x 5 raters x 6 responses, then the two
    assert found.matched.unmatched == (("nowhere", 2, (182, 183)),)
    assert found.matched.n_without_match == 2
    assert found.matched.n_ratings == 180
    assert "no such response: nowhere (2 ratings, rows 182, 183)" in "\n".join(found.text())


def test_a_rating_given_twice_counts_once(make_world: Callable[..., Any]) -> None:
    files = make_world(6)
    with files.humans.open("a") as file:
        file.write("h1,p0,p0r0,human,,A,9\n")
    found = agreement(files.humans)
    assert (found.matched.n_repeated, found.matched.n_ratings) == (1, 180)


def test_people_who_rated_something_else_are_refused(make_world: Callable[..., Any]) -> None:
    files = make_world(6)
    text = files.humans.read_text().replace("r", "x").replace("xatex_id", "rater_id")
    header, _, rest = text.partition("\n")
    files.humans.write_text(
        "rater_id,prompt_id,response_id,source,model,domain,score\n" + rest if header else text
    )
    with pytest.raises(InputError, match="no rating is of a response that was judged"):
        calibrate(files.judgments, files.humans)


def test_ranks_hold_no_level(make_world: Callable[..., Any]) -> None:
    files = make_world(12, as_ranks=True)
    found = calibrate(files.judgments, files.humans)
    assert found.main_target == "overall, rank"
    assert "ranks hold no level" in (found.people.criteria[0].severity.reason or "")
    assert not found.corrections.conformal.is_defined
    assert found.corrections.score_map.reason is not None
    # best is 1: models, who are better here, have the lower mean rank
    means = {(row.group, row.domain): row.mean.value for row in found.paper.means}
    assert means["models", "all"] < means["people", "all"]
    assert found.paper.model_wins.value > 0.5
    assert found.panel.by_target[0].tau.value > 0.4


def test_the_json_holds_null_and_a_reason_where_a_number_is_undefined(
    report: Calibration,
) -> None:
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert list(content)[:2] == ["format", "kind"]
    assert (content["format"], content["kind"]) == (1, "calibration")
    tau = content["panel"]["by_target"][0]["tau"]
    assert set(tau) == {"value", "n", "unit", "low", "high", "level", "method", "reason"}
    length = content["judges"]["rows"][0]["length"]
    assert length["value"] is None
    assert length["reason"] == "the lengths of the responses are not known"
    assert "material" not in content


def test_no_line_passes_80_columns(report: Calibration, planted: Any) -> None:
    for lines in (report.text(), agreement(planted.humans).text()):
        assert max(map(len, lines)) <= 80
        assert all("nan" not in line.split() for line in lines)


def test_the_order_of_rows_does_not_matter(planted: Any, tmp_path: Any) -> None:
    lines = planted.humans.read_text().splitlines()
    turned = tmp_path / "humans.csv"
    turned.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    one, other = (agreement(path).people.criteria[0] for path in (planted.humans, turned))
    assert one.pairwise.tau.value == pytest.approx(other.pairwise.tau.value, abs=1e-12)
    assert one.concordance.w.value == pytest.approx(other.concordance.w.value, abs=1e-12)
    assert one.alpha_interval.low == pytest.approx(other.alpha_interval.low, abs=1e-2)


def test_a_level_outside_zero_and_one_is_refused(planted: Any) -> None:
    with pytest.raises(ValueError, match="level must be"):
        agreement(planted.humans, level=95)


def test_own_families_are_recognised(report: Calibration) -> None:
    assert dict(report.judges.families) == {
        "openai/gpt-4o-mini": "openai",
        "anthropic/claude-sonnet-4-5": "anthropic",
    }
    rows = {(row.kind, row.name): row for row in report.judges.rows}
    # gpt-5 wrote one response of every prompt; nobody prefers their own here
    own = rows["model", "anthropic/claude-sonnet-4-5"].own_family
    assert own.n == 24
    assert math.isfinite(own.value)
