"""The page that compares runs: pairing, differences with prompts as the unit, what is refused."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_runs import (
    CRITERIA,
    make_run,
    panel_votes,
    record,
    unscored,
    verdict,
    write_texts,
)

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.panel_interval import ONE_MODEL
from areopagus.calibrated import people_sentence
from areopagus.comparison import Comparison
from areopagus.errors import InputError
from areopagus.records.estimates import Estimates, estimate_at
from areopagus.records.run_folder import RUN_FORMAT, panel_of, run_identity_hash
from areopagus.regression_gate import Gate, gate
from areopagus.reports.differences import Differences
from areopagus.reports.panel_answer import NOT_CALIBRATED
from areopagus.reports.text import render_text
from areopagus.run import compare


def run_of(path: Path, shift: float, *, name: str = "r", n: int = 8, **changes: Any) -> Path:
    verdicts = [
        verdict(panel_votes(f"{name}{k}", f"p{k}", "model-a", 4 + k % 3 + shift)) for k in range(n)
    ]
    return make_run(path, verdicts, **changes)


def two_instruments(path: Path, first: list[Any], second: list[Any]) -> Comparison:
    """Runs of two panels; each row is (response, prompt, respondent, level)."""
    runs = []
    for name, rows in (("one", first), ("two", second)):
        identity = record({})["identity"] | {"mode": name}
        verdicts = [verdict(panel_votes(*row)) for row in rows]
        runs.append(make_run(path / name, verdicts, identity=identity))
    return compare(*runs)


def difference_of(found: Comparison) -> Any:
    return estimate_at(
        found.estimates, "comparison", "difference", criterion="composite", universe="this panel"
    )


def test_differences_are_means_over_prompts(tmp_path: Path) -> None:
    # Prompt p1: differences 1 and 3, mean 2. Prompt p2: difference 5. Over prompts 3.5, while over
    # responses it would be 3. Orders: first 1 2 3, second 2 5 8: tau-b 1.
    found = two_instruments(
        tmp_path,
        [("a", "p1", "m", 1), ("b", "p1", "m", 2), ("c", "p2", "m", 3)],
        [("c", "p2", "m", 8), ("b", "p1", "m", 5), ("a", "p1", "m", 2)],
    )
    one = difference_of(found)
    assert (one.value, one.n, one.n_planned) == (pytest.approx(3.5), 2, 2)
    assert one.reason == "fewer than 6 prompts"
    tau = estimate_at(found.estimates, "comparison", "tau")
    assert tau is not None
    assert (tau.value, tau.n) == (1.0, 3)
    assert found.document().headline[0].startswith("Another panel is another instrument. ")


def test_pairs_of_other_panels_need_the_same_prompt_and_respondent(tmp_path: Path) -> None:
    found = two_instruments(
        tmp_path,
        [("a", "p", "m", 1), ("b", "p", "m", 1)],
        [("a", "p", "m", 2), ("b", "other", "m", 7)],
    )
    assert (difference_of(found).value, difference_of(found).n) == (pytest.approx(1.0), 1)


def test_without_common_responses_respondents_are_paired_on_prompts(tmp_path: Path) -> None:
    found = two_instruments(
        tmp_path,
        [("a1", "p", "m", 2), ("a2", "p", "m", 4), ("a3", "q", "m", 5)],
        [("b1", "p", "m", 6), ("b2", "q", "other", 5)],
    )
    # On p the mean of 2 and 4 against 6; on q the respondents differ.
    assert (difference_of(found).value, difference_of(found).n) == (pytest.approx(3.0), 1)


def test_a_run_and_itself_do_not_differ(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 0)
    found = compare(one, two)
    (told,) = found.document().headline
    assert told == "By this panel, two and one score the same on every one of 8 prompts."
    source = found.write_report(tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    assert "Comparison of 2 runs" in source


def test_a_shift_is_found_and_named(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 1.5)
    source = compare(one, two).write_report(tmp_path / "page.html").read_text("utf-8")
    assert source.count('data-v="1.5">+1.50') >= 1 + len(CRITERIA)
    table = re.search(r'id="compared-table">([^<]*)<', source)
    assert table is not None
    pairs = json.loads(gzip.decompress(base64.b64decode(table[1])))
    assert [column["title"] for column in pairs["columns"]] == ["prompt", "two minus one"]


def headline(tmp_path: Path, *shifts: float, **settings: Any) -> str:
    """Of a comparison of runs that are apart by so much on each prompt in turn."""
    one = run_of(tmp_path / "one", 0, **settings)
    votes = [
        verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3 + shifts[k % len(shifts)]))
        for k in range(settings.get("n", 8))
    ]
    return compare(one, make_run(tmp_path / "two", votes)).document().headline[0]


def test_the_answer_is_whether_two_runs_differ(tmp_path: Path) -> None:
    # 8 differences 1, 2, 1, … have SD .5345, standard error .189, and t(7) is 2.365: ± .447.
    assert headline(tmp_path / "a", 1, 2) == (
        "By this panel, two scores higher than one: +1.50 [+1.05, +1.95] points, on 8 of 8 prompts."
    )
    assert headline(tmp_path / "b", -1, 1).startswith(
        "By this panel, two and one are not told apart: 0.00 [−0.89, +0.89] points over 8 prompts"
    )
    assert headline(tmp_path / "c", 1, n=4) == (
        "Not told against one (fewer than 6 prompts): two 1.00 above."
    )


def test_a_setting_that_differs_is_named_first(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 0)
    settings = json.loads((two / "run.json").read_text())
    settings["panel"]["models"][0]["name"] = "another"
    settings["identity"]["models"] = {"another": {}}
    (two / "run.json").write_text(json.dumps(settings))
    trust = dict(compare(one, two).document().trust)
    assert trust["panel"] == "different panels; the runs differ in models"
    assert dict(compare(one, one).document().trust)["panel"] == "one panel"


def test_other_texts_under_the_same_ids_are_not_paired_between_panels(tmp_path: Path) -> None:
    ids = {"responses_sha256": "aa"}
    one = run_of(tmp_path / "one", 0, identity=record({})["identity"] | ids)
    other = {"responses_sha256": "bb", "mode": "holistic"}
    two = run_of(tmp_path / "two", 0, identity=record({})["identity"] | other)
    write_texts(one, {f"r{k}": ("p", "same") for k in range(8)})
    write_texts(two, {f"r{k}": ("p", "same" if k else "another") for k in range(8)})
    found = compare(one, two)
    (told,) = found.document().notices
    assert told == "Responses with the same id and another text, which are not paired: 1 in two."
    assert difference_of(found).n == 7


def test_runs_without_anything_in_common_stand_side_by_side(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", 0)
    other = [verdict(panel_votes(f"x{k}", f"q{k}", "model-b", 5)) for k in range(3)]
    found = compare(one, make_run(tmp_path / "two", other))
    (told,) = found.document().headline
    assert told.startswith("Nothing can be compared with")
    assert "they have no prompt in common" in told
    found.write_report(tmp_path / "page.html")


def votes_of(respondent: str, prompt: int, level: float, lost: Sequence[int] = ()) -> Any:
    """A verdict of which the judges at these places refused."""
    votes = panel_votes(f"{respondent}{prompt}", f"p{prompt}", respondent, level)
    for place in lost:
        votes[place] = unscored(votes[place], "refused", "declined")
    return verdict(votes)


def test_responses_below_the_quorum_are_compared_over_the_judges_of_both(tmp_path: Path) -> None:
    # Six judges: three of one and three of the other, two in common; neither has a composite.
    verdicts = [
        votes_of(name, k, level + k % 3, lost)
        for k in range(8)
        for name, level, lost in (("alder", 6, (0, 1, 2)), ("birch", 4, (0, 1, 3)))
    ]
    assert {one.status for one in verdicts} == {"inconclusive"}
    found = compare(make_run(tmp_path / "run", verdicts))
    one = difference_of(found)
    assert (abs(one.value), one.n, one.n_planned) == (pytest.approx(2.0), 8, 8)
    assert " score" in found.document().headline[0]
    assert "compared" not in dict(found.document().trust)


def test_prompts_left_out_of_a_comparison_are_counted_with_their_reason(tmp_path: Path) -> None:
    lost = {0: range(6), 1: range(5), 2: (0, 1, 2, 3)}
    verdicts = [votes_of("alder", k, 6 + k % 3, (4, 5) if k == 3 else ()) for k in range(9)]
    verdicts += [votes_of("birch", k, 4 + k % 2, lost.get(k, ())) for k in range(9)]
    verdicts[3 + 9] = votes_of("birch", 3, 5, (0, 1, 2, 3))
    trust = dict(compare(make_run(tmp_path / "run", verdicts)).document().trust)
    assert trust["compared"] == (
        "on 6 of 9 prompts (left out: 2 scored by fewer than 2 judges on one side; 1 scored on "
        "both sides by fewer than 2 of the same judges)"
    )


def test_a_response_that_most_judges_call_declined_is_not_compared(tmp_path: Path) -> None:
    verdicts = [votes_of("alder", k, 6 + k % 3) for k in range(8)]
    verdicts += [votes_of("birch", k, 4, range(4) if k == 0 else ()) for k in range(8)]
    verdicts[8] = replace(verdicts[8], share_abstained=4 / 6)
    found = compare(make_run(tmp_path / "run", verdicts))
    assert difference_of(found).n == 7
    assert dict(found.document().trust)["compared"] == (
        "on 7 of 8 prompts (left out: 1 scored by fewer than 2 judges on one side)"
    )


def test_a_reason_is_told_of_those_it_is_the_reason_of(tmp_path: Path) -> None:
    # Cedar shares three prompts with alder and dogwood none: neither has both reasons.
    verdicts = [votes_of("alder", k, 6 + k % 3) for k in range(8)]
    verdicts += [votes_of("birch", k, 4 + k % 2) for k in range(8)]
    verdicts += [votes_of("cedar", k, 5 + k % 2) for k in range(3)]
    verdicts += [votes_of("dogwood", k, 4 + k % 2) for k in range(20, 28)]
    told = compare(make_run(tmp_path / "run", verdicts), baseline="alder").document().headline
    assert told == [
        "By this panel, alder scores higher than birch (+2.38 [+1.61, +3.14]).",
        "Not told against alder (fewer than 6 prompts): cedar 1.67 below.",
        "dogwood cannot be compared with alder: they have no prompt in common.",
        "Two models cannot tell whether judges like these would agree.",
    ]


def test_too_many_sides_without_a_baseline_are_no_lack_of_scores(tmp_path: Path) -> None:
    verdicts = [votes_of(f"m{k:02}", p, 4 + k % 3) for k in range(21) for p in range(6)]
    run = make_run(tmp_path / "run", verdicts)
    assert compare(run).document().headline == [
        "There are too many sides to compare each pair: name one of them as the baseline."
    ]
    assert "m02 (+2.00)" in compare(run, baseline="m00").document().headline[0]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", 0)
    with pytest.raises(InputError, match="respondent model-a is the only one"):
        compare(one)
    scale = record({})["identity"] | {"scale": [1, 5]}
    two = run_of(tmp_path / "two", 0, identity=scale)
    with pytest.raises(InputError, match="different scales: 1 to 5, 1 to 10"):
        compare(one, two)
    three = run_of(tmp_path / "three", 0, kind="stress")
    with pytest.raises(InputError, match="stress"):
        compare(one, three)
    with pytest.raises(InputError, match="must be one of one, two, got 'nobody'"):
        compare(one, run_of(tmp_path / "four" / "two", 0), baseline="nobody")
    with pytest.raises(InputError, match="a column that the input carried"):
        compare(one, one, by="theme")
    with pytest.raises(InputError, match="margin: must be above 0"):
        compare(one, one, margin=0.0)


def test_a_gate_passes_what_loses_less_than_its_margin(tmp_path: Path) -> None:
    base = run_of(tmp_path / "base", 0, n=12)

    def against(*shifts: float) -> Gate:
        votes = [
            verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3 + shifts[k % len(shifts)]))
            for k in range(12)
        ]
        name = "_".join(map(str, shifts))
        return gate(make_run(tmp_path / name, votes), base, margin=0.5)

    assert against(0).outcome == "not worse"  # the same on every prompt
    assert against(0.5, 0).exit_code == 0
    assert against(-0.3, -0.1).outcome == "not worse"  # lower, by less than the margin
    worse, open_ = against(-1, -0.5), against(-2, 2)
    assert (worse.outcome, worse.exit_code) == ("worse", 5)
    assert (open_.outcome, open_.exit_code) == ("undecided", 6)
    with pytest.raises(InputError, match="criterion must be one of"):
        gate(base, base, criterion="taste")


def test_an_interval_that_holm_does_not_bear_out_is_told_beside_it() -> None:
    found = Estimates()
    for side, told_such in (("birch", "open"), ("cedar", "lower")):
        keys = {"respondent": side, "baseline": "alder", "criterion": "composite"}
        here = Estimate(-2.0, -3.0, -1.0, 8, p=0.001, p_adjusted=0.002, verdict="lower")
        found.add("comparison", "difference", here, factor="respondent", **keys)
        such = replace(
            here,
            universe="judges like these",
            method=f"t; {ONE_MODEL}",
            low=-3.5,
            high=-0.5,
            verdict=told_such,
        )
        found.add("comparison", "difference", such, factor="respondent", **keys)
    told = Differences(found.frame()).headline()
    assert told[1] == (
        "1 of 2 differences should hold with other personas on this model; 1 more has an interval "
        "there that leaves out 0, but not by Holm."
    )


def calibrated(folder: Path, place: str = "calibration") -> None:
    """A calibration in the run's folder, as its run.json stands there."""
    run = json.loads((folder / "run.json").read_text())
    named = {"identity_sha256": run_identity_hash(run["identity"]), "counts": run["counts"]}
    content = {
        "format": RUN_FORMAT, "kind": "calibration", "state": "complete", "n_raters": 3,
        "panel": panel_of(run["identity"]), "run": named, "headline": ["Near people."],
    }  # fmt: skip
    (folder / place).mkdir()
    (folder / place / "run.json").write_text(json.dumps(content))


def test_a_comparison_reads_the_calibration_beside_its_runs(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "b" / "two", 0)
    other = run_of(tmp_path / "c" / "other", 0, identity=record({})["identity"] | {"mode": "x"})

    def people(*runs: Path, **options: Any) -> str:
        return dict(compare(*runs, **options).document().trust)["people"]

    assert people(one, by="model") == people(one, two) == NOT_CALIBRATED
    calibrated(one)
    told = people_sentence(one)
    assert told is not None
    assert "ear people" in told
    assert people(one, by="model") == told
    assert people(one, two) == people(two, one) == f"one: {told}"
    assert people(other, one) == f"other: not checked against people; one: {told}"


def figures_with_signs(text: str) -> list[str]:
    return re.findall(r"[+−]\d+\.\d\d", text)


def test_sentences_and_table_have_one_sign(tmp_path: Path) -> None:
    """A headline said +1.28 where the next line said [−1.51, −1.04], and the table −1.28."""
    before, after = run_of(tmp_path / "before", 0), run_of(tmp_path / "after", -1)
    fell = " ".join(render_text(compare(before, after).document()))
    assert "after scores lower than before: −1.00" in fell
    assert {one[0] for one in figures_with_signs(fell)} == {"−"}
    rose = " ".join(render_text(compare(after, before).document()))
    assert "before scores higher than after: +1.00" in rose
    assert {one[0] for one in figures_with_signs(rose)} == {"+"}
    # One run by respondents: what is shown is the lead of the highest.
    votes = [
        verdict(panel_votes(f"{who}{k}", f"p{k}", who, 5 + k % 3 - lower * (1 + k % 2 / 8)))
        for who, lower in (("high", 0), ("low", 2))
        for k in range(8)
    ]
    both = make_run(tmp_path / "both", votes)
    lead = " ".join(" ".join(render_text(compare(both).document())).split())
    assert "high scores higher than low: +2.12" in lead
    assert "Lead of high in composite, points respondent lead 95% interval" in lead
    assert lead.count(" 8 of 8") == 2  # prompts that it won, in the sentence and in the table
    assert "−" not in lead
    # Against a baseline of the user's that is not the highest: the other minus the baseline.
    named = " ".join(" ".join(render_text(compare(both, baseline="low").document())).split())
    assert "high scores higher than low: +2.12" in named
    assert "Difference from low in composite, points" in named
    assert "−" not in named
