"""The page that compares runs: pairing, differences with prompts as the unit, what is refused."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
from areopagus.aggregation.panel_interval import ONE_MODEL, TWO_MODELS
from areopagus.any_report import run_of as run_of_folder
from areopagus.calibrated import people_sentence
from areopagus.comparison import Comparison
from areopagus.errors import InputError
from areopagus.publishing.methods import methods
from areopagus.records.estimates import Estimates, estimate_at, read_estimates
from areopagus.records.run_folder import RUN_FORMAT, panel_of, run_identity_hash
from areopagus.regression_gate import Gate, gate
from areopagus.reports.comparison import NOT_CALIBRATED, Differences
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
    assert one.reason == "2 prompts: an interval needs at least 6"
    tau = estimate_at(found.estimates, "comparison", "tau")
    assert tau is not None
    assert (tau.value, tau.n) == (1.0, 3)
    assert (
        found.document()
        .headline[0]
        .startswith(
            "These runs used different panels, so that a difference may come from the judges. "
        )
    )
    # Each panel is one judge: there are no judges like these to speak of.
    assert "judges like these" not in set(found.estimates["universe"])


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
        "By this panel, two scores higher than one by 1.50 [1.05, 1.95]; two models cannot tell "
        "whether judges like these would agree."
    )
    # Differences -1, 1, … have SD 1.069. To detect .2 with a chance of 80% takes
    # (1.96 + .842)² (1.069 / .2)² = 224 prompts by the normal, and two more by t.
    assert headline(tmp_path / "b", -1, 1) == (
        "By this panel, the difference between two and one is open: 0.00 [−0.89, +0.89] over 8 "
        "prompts; about 227 prompts would tell a difference of 0.2."
    )
    assert headline(tmp_path / "c", 1, n=4) == (
        "By this panel, whether the means differ by more than chance cannot be told (4 prompts: an "
        "interval needs at least 6): compared with one, two 1.00 higher."
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


def test_sides_without_a_common_prompt_are_compared_over_separate_ones(tmp_path: Path) -> None:
    """They were refused: "they have no prompt in common"."""
    one = run_of(tmp_path / "one", 0)
    other = [verdict(panel_votes(f"x{k}", f"q{k}", "model-b", 5 + k % 2)) for k in range(6)]
    found = compare(one, make_run(tmp_path / "two", other))
    difference = difference_of(found)
    # One: 4, 5, 6, 4, … over 8 prompts; two: 5, 6, … over 6. The standard error is Welch's.
    spread = [np.var([4 + k % 3 for k in range(8)], ddof=1) / 8, np.var([5, 6] * 3, ddof=1) / 6]
    assert difference.se == pytest.approx(math.sqrt(sum(spread)))
    assert (difference.n, difference.verdict) == (14, "open")
    document = found.document()
    assert document.headline[0].startswith(
        "By this panel, the difference between model-a and model-b is open: "
    )
    assert dict(document.trust)["prompts"] == (
        "model-a and model-b answered different prompts: compared over separate prompts, so the "
        "prompts' difficulty is part of the difference"
    )
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
        "on 6 of 9 prompts (2 with fewer than 2 judges on one side; 1 with fewer than 2 judges "
        "who scored both sides)"
    )


def test_a_response_that_most_judges_call_declined_is_not_compared(tmp_path: Path) -> None:
    verdicts = [votes_of("alder", k, 6 + k % 3) for k in range(8)]
    verdicts += [votes_of("birch", k, 4, range(4) if k == 0 else ()) for k in range(8)]
    verdicts[8] = replace(verdicts[8], share_abstained=4 / 6)
    found = compare(make_run(tmp_path / "run", verdicts))
    assert difference_of(found).n == 7
    assert dict(found.document().trust)["compared"] == (
        "on 7 of 8 prompts (1 with fewer than 2 judges on one side)"
    )


def test_a_reason_is_told_of_those_it_is_the_reason_of(tmp_path: Path) -> None:
    # Cedar shares three prompts with alder; dogwood none, and is compared over its own.
    verdicts = [votes_of("alder", k, 6 + k % 3) for k in range(8)]
    verdicts += [votes_of("birch", k, 4 + k % 2) for k in range(8)]
    verdicts += [votes_of("cedar", k, 5 + k % 2) for k in range(3)]
    verdicts += [votes_of("dogwood", k, 4 + k % 2) for k in range(20, 28)]
    told = compare(make_run(tmp_path / "run", verdicts), baseline="alder").document().headline
    assert told == [
        (
            "By this panel, alder scores higher than birch (by 2.38 [1.36, 3.39]) and dogwood "
            "(2.38 [1.40, 3.35]); two models cannot tell whether judges like these would agree."
        ),
        (
            "Whether the means differ by more than chance cannot be told (3 prompts: an interval "
            "needs at least 6): compared with alder, cedar 1.67 lower."
        ),
    ]


def test_too_many_sides_without_a_baseline_are_no_lack_of_scores(tmp_path: Path) -> None:
    verdicts = [votes_of(f"m{k:02}", p, 4 + k % 3) for k in range(21) for p in range(6)]
    run = make_run(tmp_path / "run", verdicts)
    assert compare(run).document().headline == [
        "There are too many sides to compare each pair: name one of them as the baseline."
    ]
    told = compare(run, baseline="m00").document().headline
    assert told[0] == (
        "By this panel, m00 scores the same as m03 (0.00), m06 (0.00), m09 (0.00) and 3 more."
    )


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


def differences(
    such: str | None, models: Mapping[str, float], *, method: str = "t", sides: int = 1
) -> Differences:
    """Alder 2 points above birch by the panel, and by judge models alone; `such` is the verdict
    for judges like these, None where two models cannot tell."""
    rows = Estimates()
    for side in ("birch", "cedar")[:sides]:
        keys = {"respondent": side, "baseline": "alder", "criterion": "composite"}
        here = Estimate(
            -2.0, -2.9, -1.1, 8, low_family=-3.0, high_family=-1.0, verdict="lower",
            universe="this panel",
        )  # fmt: skip
        rows.add("comparison", "difference", here, **keys)
        wide = replace(
            here, universe="judges like these", method=f"t; {method}", verdict=such or "undefined",
            low_family=-5.0, high_family=1.0,
        )  # fmt: skip
        if such is None:
            wide = replace(wide, low=math.nan, high=math.nan, reason=TWO_MODELS)
        if side == "cedar":
            wide = replace(wide, verdict="lower")
        rows.add("comparison", "difference", wide, **keys)
        for model, value in models.items():
            rows.add("comparison by model", "difference", Estimate(value), model=model, **keys)
    return Differences(rows.frame())


LEAD = "By this panel, alder scores higher than birch by 2.00 [1.00, 3.00]; "


@pytest.mark.parametrize(
    ("such", "models", "method", "end"),
    [
        ("lower", {"a": -2, "b": -2, "c": -2}, "t", "judges like these would agree."),
        ("lower", {"a": -2, "b": -2, "c": 1}, "t",
         "judges like these would agree, although 1 of 3 models points the other way (c)."),
        ("open", {"a": -2, "b": -2, "c": 1}, "t", ("judges like these may not agree: "
         "1 of 3 models points the other way (c).")),
        ("open", {"a": -2, "b": 1, "c": 1}, "t", ("judges like these may not agree: "
         "2 of 3 models point the other way (b and c).")),
        ("open", {"a": -2, "b": -3, "c": -1}, "t",
         "judges like these may not agree, although all 3 models do."),
        ("lower", {"a": -2}, ONE_MODEL, "other personas on this model would agree."),
        ("open", {"a": -2}, ONE_MODEL, "other personas on this model may not agree."),
        (None, {"a": -2, "b": 1}, "t",
         "two models cannot tell whether judges like these would agree."),
    ],
)  # fmt: skip
def test_the_first_sentence_says_whether_other_judges_would_agree(
    such: str | None, models: dict[str, float], method: str, end: str
) -> None:
    assert differences(such, models, method=method).headline() == [f"{LEAD}{end}"]


def test_of_several_sides_it_says_on_which_other_judges_would_agree() -> None:
    (told,) = differences("open", {"a": -2, "b": -2, "c": 1}, sides=2).headline()
    assert told.endswith(
        "; judges like these would agree on cedar; on birch they may not: "
        "1 of 3 models points the other way (c)."
    )


def test_what_missing_votes_could_do_is_said_once_where_one_side_lacks_more(
    tmp_path: Path,
) -> None:
    # Six judges. Of birch's answers one more judge is missing on every other prompt.
    verdicts = [
        votes_of(name, k, level + k % 3, (0, 1)[: k % 2] if name == "birch" else ())
        for k in range(12)
        for name, level in (("alder", 6), ("birch", 4))
    ]
    found = compare(make_run(tmp_path / "run", verdicts))
    bounds = estimate_at(found.estimates, "comparison", "bounds")
    assert bounds is not None
    # The missing twelfth of birch's judgments would be 1 or 10 where it is about 5.
    assert bounds.low < bounds.value < bounds.high
    shown = "\n".join(render_text(found.document(), full=True))
    assert shown.count("if every missing vote stood at an end of the scale") == 1
    whole = compare(make_run(tmp_path / "whole", [votes_of(*one) for one in (
        (name, k, level + k % 3) for k in range(12) for name, level in (("alder", 6), ("birch", 4))
    )]))  # fmt: skip
    assert estimate_at(whole.estimates, "comparison", "bounds") is None
    assert "bounds" not in dict(whole.document().trust)


def test_a_comparison_is_written_as_every_result_and_shown_again_from_its_files(
    tmp_path: Path,
) -> None:
    found = compare(run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 1.5))
    run = found.write(tmp_path / "out")
    for name in ("estimates.parquet", "estimates.csv", "run.json", "report.html"):
        assert (tmp_path / "out" / name).is_file()
    pd.testing.assert_frame_equal(read_estimates(tmp_path / "out"), found.estimates)
    again = run_of_folder(tmp_path / "out")
    assert type(again) is type(run)
    assert render_text(again.document(), full=True) == render_text(found.document(), full=True)
    assert "over the judges that scored both sides" in str(methods(tmp_path / "out").sections[0])


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
    assert "after scores lower than before by 1.00" in fell
    assert {one[0] for one in figures_with_signs(fell)} == {"−"}
    rose = " ".join(render_text(compare(after, before).document()))
    assert "before scores higher than after by 1.00" in rose
    assert {one[0] for one in figures_with_signs(rose)} == {"+"}
    # One run by respondents: what is shown is the lead of the highest.
    votes = [
        verdict(panel_votes(f"{who}{k}", f"p{k}", who, 5 + k % 3 - lower * (1 + k % 2 / 8)))
        for who, lower in (("high", 0), ("low", 2))
        for k in range(8)
    ]
    both = make_run(tmp_path / "both", votes)
    lead = " ".join(" ".join(render_text(compare(both).document())).split())
    assert "high scores higher than low by 2.12" in lead
    assert "Lead of high in composite, points respondent lead 95% interval" in lead
    assert lead.count(" 8 of 8") == 1  # prompts that it won
    assert "−" not in lead
    # Against a baseline of the user's that is not the highest: the other minus the baseline.
    named = " ".join(" ".join(render_text(compare(both, baseline="low").document())).split())
    assert "high scores higher than low by 2.12" in named
    assert "Difference from low in composite, points" in named
    assert "−" not in named
