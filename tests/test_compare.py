"""Who scores higher: one run end to end, with a model that stops, and what is said of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import areopagus
from areopagus import InputError, Panel, ProviderError, Run
from areopagus.cli.main import cli
from areopagus.judges.models.request import Request
from areopagus.records.estimates import estimate_at, select
from areopagus.reports.text import render_text
from areopagus.testing import ScriptedBackend

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)


def responses(n: int = 12, **levels: int) -> list[dict[str, Any]]:
    """Each respondent answers each prompt; its level stands in the text, for the judges to see."""
    return [
        {
            "response_id": f"{who}-{k}",
            "prompt_id": f"p{k}",
            "prompt_text": f"What is owed in case {k}?",
            "response_text": f"level={level + (k % 3)} in case {k} of {who}",
            "respondent_id": who,
            "half": "first" if k < n // 2 else "second",
        }
        for k in range(n)
        for who, level in levels.items()
    ]


def judge(harsh: int = 0, *, quota: int | None = None) -> Callable[[Request], Any]:
    """Scores the level in the text, less its severity; without a quota left it is refused."""
    asked = 0

    def answer(request: Request) -> Any:
        nonlocal asked
        asked += 1
        if quota is not None and asked > quota:
            raise ProviderError("quota", "no credit is left")
        text = "".join(str(message["content"]) for message in request.messages)
        level = int(text.split("level=")[1][0])
        noise = int(request.key()[:2], 16) % 2
        return dict.fromkeys(CRITERIA, max(1, level - harsh + noise)) | {"abstained": False}

    return answer


def scored(path: Path, rows: list[dict[str, Any]], *, quota: int | None = None) -> Run:
    backends = [
        ScriptedBackend(judge(), name="scripted/mild"),
        ScriptedBackend(judge(1), name="scripted/strict"),
        ScriptedBackend(judge(4, quota=quota), name="scripted/harsh"),
    ]
    with Panel(backends) as panel:
        return panel.score_many(rows, path)


def text_of(run: Run) -> str:
    return " ".join(" ".join(run.document().headline).split())


def test_a_run_says_first_who_scores_higher(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", responses(alder=6, birch=5, cedar=5))
    assert text_of(run).startswith("By this panel, alder scores higher than ")
    assert text_of(run).endswith("; judges like these would agree.")
    rows = select(run.estimates, "comparison", criterion="composite")
    rows = rows[rows["measure"] == "difference"]
    assert rows["universe"].tolist()[:2] == ["this panel", "judges like these"]
    assert set(rows["baseline"]) == {"alder", "birch"} or set(rows["baseline"]) == {
        "alder",
        "cedar",
    }


def test_a_model_out_of_quota_is_no_finding_about_a_respondent(tmp_path: Path) -> None:
    # Equal respondents, one after the other in the file; the harsh model stops after a third.
    rows = responses(24, first=6, second=6)
    rows.sort(key=lambda row: str(row["respondent_id"]))
    run = scored(tmp_path / "run", rows, quota=160)
    assert run.counts["failed"] + run.counts["not_asked"] == 480 - 160
    document = run.document()
    told = " ".join(document.headline)
    assert "the difference between second and first is open: " in told
    trust = dict(document.trust)
    assert "scripted/harsh on" in trust["unbalanced"]
    means = {
        who: estimate_at(run.estimates, "respondent", "mean", respondent=who, criterion="composite")
        for who in ("first", "second")
    }
    assert means["first"] is not None
    assert means["second"] is not None
    assert means["first"].value == pytest.approx(means["second"].value, abs=0.1)
    # The plain means are far apart: that is what would have been called.
    plain = run.scores.groupby("respondent_id")["composite"].mean()
    assert abs(plain["first"] - plain["second"]) > 0.7
    marked = run.scores["unbalanced"].fillna("")
    assert (marked == "scripted/harsh").sum() == 48 - 16
    assert [one.n_unbalanced for one in run.respondents] == [8, 24]
    # A respondent has one mean, whichever judges its interval speaks of.
    each = select(run.estimates, "respondent", criterion="composite")
    each = each[each["measure"] == "mean"].groupby("respondent")["value"]
    assert (each.max() - each.min()).max() == pytest.approx(0, abs=1e-12)


def test_models_that_scored_one_side_only_are_not_counted_as_disagreeing(tmp_path: Path) -> None:
    def one_side(who: str) -> Callable[[Request], Any]:
        def answer(request: Request) -> Any:
            if f"of {who}" not in str(request.messages):
                raise ProviderError("quota", "no credit is left")
            return judge()(request)

        return answer

    backends = [
        ScriptedBackend(one_side(who), name=f"scripted/{who}") for who in ("alder", "birch")
    ]
    with Panel(backends, quorum=0.4) as panel:
        run = panel.score_many(responses(alder=6, birch=4), tmp_path / "run")
    document = run.document()
    assert document.headline[0].startswith("Nothing can be compared with ")
    assert "the other way" not in "\n".join(render_text(document))


def test_two_models_cannot_tell_what_others_would_say(tmp_path: Path) -> None:
    backends = [
        ScriptedBackend(judge(), name="scripted/mild"),
        ScriptedBackend(judge(4), name="scripted/harsh"),
    ]
    rows = responses(alder=6, birch=4)
    with Panel(backends) as panel:
        run = panel.score_many(rows, tmp_path / "run")
        verdict = panel.score("What is owed?", "level=6 of nobody")
    assert (verdict.interval, verdict.interval_reason) == (None, "two models cannot tell")
    assert not any(verdict.dimension_intervals.values())
    assert (
        run.document()
        .headline[0]
        .endswith("; two models cannot tell whether judges like these would agree.")
    )
    wide = run.estimates[run.estimates["universe"] == "judges like these"]
    assert len(wide)
    assert wide["low"].isna().all()
    assert set(wide["reason"]) == {"two models cannot tell"}
    shown = "\n".join(render_text(run.document()))
    assert "no interval for judges like these: two models cannot tell" in shown


def test_one_model_speaks_of_other_personas_on_it_alone(tmp_path: Path) -> None:
    with Panel([ScriptedBackend(judge(), name="scripted/mild")]) as panel:
        several = panel.score_many(responses(alder=6, birch=4, cedar=5), tmp_path / "several")
        alone = panel.score_many(responses(alder=6), tmp_path / "alone")
    (told,) = several.document().headline
    assert told.endswith("; other personas on this model would agree.")
    trust = dict(several.document().trust)
    assert trust["judges"] == "One model cannot show how many independent judges these 10 equal."
    assert trust["people"] == "Not checked against people yet (run `areopagus calibrate`)."
    for run in (several, alone):
        assert "other personas" in run.text
        for words in ("judges like these", "judges like these", "other models"):
            assert words not in run.text


def test_an_answer_names_the_largest_difference(tmp_path: Path) -> None:
    levels = {"alder": 7, "birch": 6, "cedar": 5, "dogwood": 4, "elm": 3}
    answer = scored(tmp_path / "run", responses(**levels)).document().headline[0]
    named = [name for name in levels if f"{name} (" in answer]
    assert named == ["cedar", "dogwood", "elm"]
    assert answer.endswith(" and 1 more; judges like these would agree.")


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_model_that_does_not_beat_chance_is_named_beside_its_answer(
    tmp_path: Path, repeats: int
) -> None:
    draws = iter(np.random.default_rng(5).integers(3, 8, 100_000).tolist())

    def noise(request: Request) -> Any:
        return dict.fromkeys(CRITERIA, next(draws)) | {"abstained": False}

    with Panel([ScriptedBackend(noise, name="scripted/tiny")], repeats=repeats) as panel:
        run = panel.score_many(responses(8, alder=6, birch=4), tmp_path / "run")
    for document in (run.document(), run.compare().document()):
        assert document.headline[0].endswith(
            ", but scripted/tiny is not shown to tell responses apart."
        )
        assert dict(document.trust)["caution"].startswith(
            "scripted/tiny: its scores differ no more between responses than "
        )


def test_a_model_whose_scores_are_one_value_is_named_beside_the_answer(tmp_path: Path) -> None:
    backends = [
        ScriptedBackend(dict.fromkeys(CRITERIA, 5) | {"abstained": False}, name="scripted/flat"),
        ScriptedBackend(judge(), name="scripted/mild"),
    ]
    with Panel(backends) as panel:
        run = panel.score_many(responses(8, alder=6, birch=4), tmp_path / "run")
    answer = run.document().headline[0]
    assert " scores higher than " in answer
    assert answer.endswith(", but 1 of 2 models is not shown to tell responses apart.")
    assert dict(run.document().trust)["caution"] == "scripted/flat: all of its 160 scores are 5"


def test_runs_of_one_panel_are_compared_by_prompt(tmp_path: Path) -> None:
    before = scored(tmp_path / "before", responses(alder=5))
    after = scored(tmp_path / "after", responses(alder=6))
    found = areopagus.compare(before, after)
    assert found.document().headline[0].startswith("By this panel, after scores higher than before")
    assert found.is_one_panel
    assert before.compare(after).result.sides == ("before", "after")
    gate = areopagus.gate(before.path, after.path)
    assert (gate.outcome, gate.exit_code) == ("worse", 5)
    assert areopagus.gate(after, before).exit_code == 0


def test_differences_have_one_direction_and_equal_means_no_highest(tmp_path: Path) -> None:
    for name, levels in (("one", {"alder": 6, "birch": 4}), ("two", {"alder": 4, "birch": 6})):
        answer, largest = scored(tmp_path / name, responses(**levels)).document().headline
        assert " scores higher than " in answer
        assert " by 1.9" in answer or " by 2.0" in answer
        assert re.search(r"\(\+[12]\.", largest), largest
    rows = responses(3, alder=5, birch=5)
    for row in rows:
        row["response_text"] = "level=5"
    (answer,) = scored(tmp_path / "equal", rows).document().headline
    assert answer.startswith(
        "By this panel, alder and birch have the same mean; more than that cannot be told (3 "
        "prompts: an interval needs at least 6)"
    )


def test_a_run_that_scores_less_of_the_same_is_not_passed_for_what_is_left(tmp_path: Path) -> None:
    """After, two of three respondents only refuse: what is left is scored as before."""
    rows = responses(alder=5, birch=4, cedar=4)
    lost = [
        row if row["respondent_id"] == "alder" else row | {"response_text": "I cannot help."}
        for row in rows
    ]
    before, after = scored(tmp_path / "before", rows), scored(tmp_path / "after", lost)
    assert after.counts["scored"] == before.counts["scored"] / 3
    document = areopagus.compare(before, after).document()
    assert document.headline == [
        "By this panel, after and before score the same on every one of 12 prompts.",
        "after has no score on 24 responses that before has one of, more than chance leaves.",
    ]
    assert dict(document.trust)["compared"] == (
        "on 12 of 36 responses (24 with fewer than 2 judges on one side)"
    )
    decided = areopagus.gate(after, before)
    assert (decided.outcome, decided.exit_code) == ("undecided", 6)
    assert "; 12 of 36 responses compared; " in decided.sentence()
    assert "after has no score on 24 " in decided.sentence()
    assert "can decide a margin" not in decided.sentence()
    assert areopagus.gate(before, after).outcome == "not worse"
    # A response that is missing by chance is counted, and stops nothing.
    one = [row for row in lost if row["respondent_id"] == "alder"]
    one[0] = one[0] | {"response_text": "I cannot help."}
    left = scored(tmp_path / "left", one)
    decided = areopagus.gate(left, scored(tmp_path / "whole", rows[::3]))
    assert (decided.outcome, decided.unscored) == ("not worse", "")
    assert "; 11 of 12 responses compared" in decided.sentence()


def test_models_personas_and_columns_are_sides_too(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", responses(alder=6, birch=5))
    by_model = run.compare(by="model")
    assert by_model.result.sides == ("scripted/mild", "scripted/strict", "scripted/harsh")
    assert (
        by_model.document()
        .headline[0]
        .startswith("By this panel, scripted/mild gives higher scores than ")
    )
    assert len(run.compare(by="persona").result.sides) == 10
    # Each prompt stands in one half: they are compared over separate prompts, and this is said.
    halves = run.compare(by="half")
    assert [one.matched.is_paired for one in halves.result.effects.values()] == [False] * 6
    assert dict(halves.document().trust)["prompts"] == (
        "second and first answered different prompts: compared over separate prompts, so the "
        "prompts' difficulty is part of the difference"
    )
    with pytest.raises(InputError, match=r"carried \(half\), got 'theme'"):
        run.compare(by="theme")


def test_a_named_baseline_leaves_the_other_pairs_out(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", responses(alder=6, birch=5, cedar=4))
    found = run.compare(baseline="cedar", margin=0.5)
    assert set(found.result.pairs) == {("alder", "cedar"), ("birch", "cedar")}
    assert found.document().headline[0].startswith("By this panel, alder (by 1.9")
    assert ") score higher than cedar; " in found.document().headline[0]
    every = run.compare()
    assert len(every.result.pairs) == 3


def test_the_command_prints_the_answer_and_gates(tmp_path: Path) -> None:
    before = scored(tmp_path / "before", responses(alder=6, birch=5)).path
    after = scored(tmp_path / "after", responses(alder=5, birch=4)).path
    done = CliRunner().invoke(cli, ["compare", str(before), "--json", str(tmp_path / "found.json")])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("By this panel, alder scores higher than birch by 1.05 [")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["headline"][0].startswith("By this panel, alder scores higher")
    assert {row["table"] for row in found["estimates"]} >= {"comparison", "comparison by model"}
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        cli, ["compare", str(before), str(after), "--full", "--out", str(page)]
    )
    assert done.exit_code == 0, done.output
    assert page.exists()
    assert "rows in scores.csv of the runs" in done.output
    done = CliRunner().invoke(
        cli, ["gate", str(after), "--baseline", str(before)], standalone_mode=False
    )
    assert done.return_value == 5, done.output
    assert "after is worse than before" in " ".join(done.output.split())
    done = CliRunner().invoke(
        cli, ["gate", str(after), "--baseline", str(before), "--json", "-"], standalone_mode=False
    )
    assert done.return_value == 5
    found = json.loads(done.stdout)
    rows = {row["measure"]: row for row in found["estimates"]}
    assert rows["difference"]["verdict"] == "worse"
    assert rows["margin"]["value"] == 0.2


def twins(rows: list[dict[str, Any]], *, merged: bool) -> list[dict[str, Any]]:
    """Each prompt twice, answered a second time: under ids of their own, or under the first."""
    return [
        *rows,
        *(
            {
                **row,
                "response_id": f"{row['response_id']}-again",
                "prompt_id": row["prompt_id"] + ("" if merged else "-again"),
                "response_text": f"{row['response_text']} again",
            }
            for row in rows
        ),
    ]


def figures(run: Run | areopagus.Comparison) -> Any:
    columns = ["table", "measure", "respondent", "baseline", "criterion", "model", "universe"]
    columns += ["value", "low", "high", "n", "n_planned", "p_adjusted", "verdict"]
    found = run.estimates
    shown = ["respondent", "run", "comparison", "comparison by model", "rank", "worth", "design"]
    return found[found["table"].isin(shown)][columns].reset_index(drop=True)


def test_prompts_of_one_text_under_two_ids_are_one_unit(tmp_path: Path) -> None:
    rows = responses(alder=6, birch=5)
    apart = scored(tmp_path / "apart", twins(rows, merged=False))
    merged = scored(tmp_path / "merged", twins(rows, merged=True))
    assert figures(apart).equals(figures(merged))
    assert apart.total.n_prompts == apart.record["responses"]["prompts"] == 12
    (told,) = [one for one in apart.document().notices if "prompt ids" in one]
    assert told == (
        "24 prompt ids, of which 24 share a text with another: they are analysed as 12 prompts."
    )
    assert apart.text.replace("\n", " ").count("24 prompt ids") == 1
    assert not [one for one in merged.document().notices if "prompt ids" in one]
    # A column that tells the ids apart then has two values on one prompt.
    by_half = apart.compare(by="respondent")
    assert figures(by_half).equals(figures(merged.compare(by="respondent")))
    assert told in by_half.document().notices


def test_runs_are_paired_by_the_text_of_their_prompts(tmp_path: Path) -> None:
    rows = responses(alder=6)
    changed = [{**row, "response_text": "level=4 " + row["response_text"]} for row in rows]
    other_ids = [{**row, "prompt_id": f"q{k}"} for k, row in enumerate(changed)]
    first = scored(tmp_path / "first", rows)
    by_id = areopagus.compare(first, scored(tmp_path / "same", changed))
    by_text = areopagus.compare(first, scored(tmp_path / "other", other_ids))
    left, right = figures(by_id), figures(by_text)
    assert left["low"].notna().any()
    kept = [name for name in left if name != "respondent"]
    assert left[kept].equals(right[kept])
    assert "other: 12 prompts paired by the text, under another id." in by_text.document().notices
    doubled = [
        *changed,
        *(
            {**row, "response_id": f"again-{k}", "prompt_id": f"r{k}"}
            for k, row in enumerate(changed)
        ),
    ]
    twice = areopagus.compare(first, scored(tmp_path / "twice", doubled))
    difference = next(iter(twice.result.effects.values())).this_panel
    assert difference.n == 12


def test_that_an_interval_for_such_judges_may_be_short_is_said_where_scores_are_skewed(
    tmp_path: Path,
) -> None:
    plain = scored(tmp_path / "plain", responses(24, alder=5))
    rows = responses(24, alder=5)
    for k, row in enumerate(rows):
        row["response_text"] = f"level={2 if k % 12 == 0 else 8} in case {k}"
    skewed = scored(tmp_path / "skewed", rows)
    told = [" ".join(run.text.split()) for run in (plain, skewed)]
    named = "means of prompts are skewed for alder: there the interval for judges like these may be"
    assert [one.count(named) for one in told] == [0, 1]
    found = estimate_at(skewed.estimates, "respondent", "skewness", criterion="composite")
    assert found is not None
    # Two of 24 apart from the others, but for noise: (2p - 1) / sqrt(p (1 - p)) with p = 1/12.
    assert found.value == pytest.approx(-10 / 11**0.5, abs=0.3)
    means = select(skewed.estimates, "respondent")
    such = means[(means["universe"] == "judges like these") & (means["measure"] == "mean")]
    assert such["high"].max() <= 10  # no further than the scale
    low, high = such["low"].iloc[0], such["high"].iloc[0]
    assert f"[{low:.2f}, {high:.2f}]" in told[1]


def test_no_limit_leaves_what_scores_differences_and_ranks_can_be(tmp_path: Path) -> None:
    # One respondent at either end of the scale but for a prompt: limits would go beyond.
    rows = responses(6, alder=1, birch=5, cedar=9)
    for k, row in enumerate(rows):
        who = row["respondent_id"]
        level = 6 if who == "alder" and k == 0 else {"alder": 1, "birch": 5, "cedar": 9}[who]
        row["response_text"] = f"level={level} in case {k}"
    run = scored(tmp_path / "run", rows)
    found = run.estimates
    for table, measure, (low, high) in (
        ("respondent", "mean", (1, 10)),
        ("comparison", "difference", (-9, 9)),
        ("comparison by model", "difference", (-9, 9)),
        ("rank", "mean rank", (1, 3)),
    ):
        of = select(found, table)
        of = of[of["measure"] == measure]
        assert of["low"].min() >= low, table
        assert of["high"].max() <= high, table
        if table in ("respondent", "rank"):
            assert of["method"].str.contains("where the range of the figure ends").any(), table
    means = select(found, "respondent")
    assert means["p"].isna().all()  # no test belongs to a mean: 0 is no score
    for mean in (*run.respondents, run.total):
        for low, high in (mean.interval, *(one[1:] for one in mean.dimensions.values())):
            assert 1 <= low <= high <= 10, "in Python too"
    intervals = run.scores[["composite_low", "composite_high"]]
    assert intervals.min(axis=None) >= 1
    assert intervals.max(axis=None) <= 10
    skewness = means[means["measure"] == "skewness"]
    assert len(skewness) == 3
    assert skewness["universe"].isna().all()
    (low, high) = reports_mean(run)
    assert low == 1 <= high


def reports_mean(run: Run) -> tuple[float, float]:
    """The limits of the lowest mean in what `compare` of two runs of the panel shows."""
    document = areopagus.compare(run, run).document()
    tables = [part for one in document.sections for part in one.parts if hasattr(part, "rows")]
    (table,) = [one for one in tables if getattr(one, "label", "") == "By respondent"]
    (row,) = [row for row in table.rows if row[0] == "alder"]
    return row[1].low, row[1].high


def test_a_table_without_a_figure_or_a_test_says_so_and_no_more(tmp_path: Path) -> None:
    # Four respondents in one order on every prompt, and prompts too few for a test.
    run = scored(tmp_path / "run", responses(5, alder=1, birch=3, cedar=5, elm=7))
    told = " ".join(" ".join(render_text(run.document(), full=True)).split())
    assert "intervals hold jointly for all" not in told  # of no interval
    assert "(nothing)" not in told
