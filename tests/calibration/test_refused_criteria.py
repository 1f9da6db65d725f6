"""Criteria on which people agree less than chance, and raters who are places and not persons."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, figure, summary, write_table

from areopagus import InputError
from areopagus.calibration import CalibrationRun, agreement, calibrate
from areopagus.records.humans import read_humans

CRITERIA = ("clarity", "depth", "warmth", "wit")


def write_world(
    folder: Path, turned: tuple[str, ...] = (), *, prompts: int = 24, severity: float = 0.0
) -> Files:
    """Prompts of five responses on four criteria, two raters and two judges.

    Args:
        folder: for the two files.
        turned: criteria on which the second rater takes 1 for the best.
        prompts: how many.
        severity: points by which the first rater is harsh.
    """
    rng = np.random.default_rng(3)
    judged: list[list[object]] = []
    rated: list[list[object]] = []
    for g in range(prompts):
        for r in range(5):
            quality = rng.normal(size=4)
            name = [f"p{g}", f"p{g}r{r}"]
            for k in range(2):
                scores = 5.5 + 1.5 * quality + rng.normal(size=4) - severity * (k == 0)
                scores = np.clip(np.round(scores), 1, 10)
                for c in range(4):
                    if k and CRITERIA[c] in turned:
                        scores[c] = 11 - scores[c]
                rated.append([f"h{k}", *name, *scores.astype(int)])
                own = np.clip(np.round(5.5 + 1.5 * quality + rng.normal(size=4)), 1, 10)
                judged.append([f"judge {k}", *name, *own.astype(int)])
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(folder / "judgments.csv", folder / "humans.csv")
    header = ["prompt_id", "response_id", *CRITERIA]
    write_table(files.judgments, ["judge", *header], judged)
    write_table(files.humans, ["rater_id", *header], rated)
    return files


def test_a_criterion_on_which_people_contradict_each_other_stops_only_itself(
    tmp_path: Path,
) -> None:
    """One such criterion of four stopped the whole calibration."""
    found = calibrate(*write_world(tmp_path, ("warmth",)), scale=(1, 10))
    text = summary(found)
    assert text.partition(" design ")[0] == (
        "Compared with these 2 raters, the panel is at least half as good as one more person at "
        "ranking responses on clarity. Not calibrated on warmth, where people agree less than "
        "chance. By criterion, it is at least half as good as one more person on depth and wit."
    )
    assert "People agree less than chance on warmth (tau −" in text
    assert "a wrong join" in text
    assert "The composite contains it and is not calibrated either." in text
    panel = found.estimates[found.estimates["table"] == "panel"]
    assert set(panel["criterion"]) == {"clarity", "depth", "wit"}
    assert found.record["target"]["criterion"] == "clarity"
    # people's agreement on it is there
    assert figure(found, "people", "tau", criterion="warmth").verdict == "below chance"
    run = found.write(tmp_path / "calibration", figures=False)
    assert CalibrationRun(run.path).document().headline == found.document().headline


def test_a_join_that_is_wrong_for_all_criteria_stops_the_calibration(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"clarity \(scores\): people agree less than") as raised:
        calibrate(*write_world(tmp_path, CRITERIA), scale=(1, 10))
    assert len(raised.value.faults) == 4
    assert "Nothing is left to be calibrated" in str(raised.value)


def test_unnamed_raters_have_one_way_agreement_and_no_severities(tmp_path: Path) -> None:
    files = write_world(tmp_path, severity=1.5)
    people = read_humans(files.humans, columns={"raters": "places"})
    found = agreement(people, scale=(1, 10))
    text = " ".join(found.text.split())
    assert (
        "Among these unnamed raters, agreement is better than chance on all 4 criteria. design "
        "unnamed raters x 24 prompts x 5 responses. A response has 2.0 ratings on average. people"
    ) in text
    assert "harsh" not in summary(found)
    assert "harsh: h0" in summary(agreement(files.humans, scale=(1, 10)))
    assert "ICC(1) 95% interval" in text
    assert "clarity, depth, warmth and wit: no severities: the raters are unnamed" in text
    # a harsh rater is an error of one-way agreement, and moves no order
    one_way, tau = (
        figure(found, "people", name, criterion="clarity") for name in ("icc_one_way", "tau")
    )
    named = agreement(files.humans)
    assert not (named.estimates["measure"] == "icc_one_way").any()
    assert one_way.value < math.sin(math.pi * tau.value / 2) - 0.2
    panel = calibrate(files.judgments, people, scale=(1, 10))
    assert "Not made: the raters are unnamed" in " ".join(panel.text.split())
    assert not panel.estimates[panel.estimates["table"] == "one person"]["rater"].notna().any()


def test_places_are_suggested_where_raters_do_not_differ_and_never_assumed(tmp_path: Path) -> None:
    alike = agreement(write_world(tmp_path / "alike", prompts=200).humans)
    assert "these may be places (first, second rating), not persons" in summary(alike)
    assert "--unnamed-raters" in summary(alike)
    assert figure(alike, "raters", "deviation", rater="h0", criterion="clarity").is_defined
    apart = write_world(tmp_path / "apart", prompts=200, severity=0.5)
    assert "places" not in summary(agreement(apart.humans))
    few = write_world(tmp_path / "few", prompts=40)
    assert "places" not in summary(agreement(few.humans))


def test_an_unknown_kind_of_raters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'persons' or 'places'"):
        read_humans(write_world(tmp_path).humans, columns={"raters": "anonymous"})


def test_hanna_has_the_one_way_agreement_that_it_has(shared_data: Path) -> None:
    """ICC(1) of three anonymous ratings a story, computed apart from this code."""
    columns = {"columns": {"rater_id": "rating"}, "raters": "places"}
    path = shared_data / "hanna" / "people.csv.gz"
    found = agreement(read_humans(path, columns=columns), scale=(1, 5))
    expected = {"relevance": 0.14, "coherence": -0.06, "empathy": 0.12, "surprise": 0.05,
                "engagement": 0.18, "complexity": 0.28}  # fmt: skip
    values = {
        name: figure(found, "people", "icc_one_way", criterion=name).value for name in expected
    }
    assert values == pytest.approx(expected, abs=0.006)
    assert summary(found).startswith("People agree less than chance would have them on coherence")
    plain = agreement(read_humans(path, columns={"rater_id": "rating"}), scale=(1, 5))
    assert "--unnamed-raters" in summary(plain)


def test_summeval_suggests_places_for_crowd_workers_and_not_for_experts(shared_data: Path) -> None:
    table = read_humans(shared_data / "summeval" / "human_ratings_12systems.csv.gz").table
    experts, workers = (
        agreement(table.where("rater_id", *names), scale=(1, 5))
        for names in (
            ("expert1", "expert2", "expert3"),
            ("turker1", "turker2", "turker3", "turker4", "turker5"),
        )
    )
    assert "--unnamed-raters" in summary(workers)
    assert "--unnamed-raters" not in summary(experts)
