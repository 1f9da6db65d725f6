"""A file of preferences alone, in `agreement` and `calibrate`: a planted world and its null."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, called, figure, summary, write_table, write_world

from areopagus.calibration import CalibrationRun, agreement, calibrate
from areopagus.errors import InputError
from areopagus.records.humans import read_humans

RESPONDENTS = ("gpt-5", "claude-4", "gemini-3", "llama-4")
LIFT = (0.8, 0.4, 0.0, -1.2)
RANDOM = "historian x model-a"


def write_pairs(
    folder: Path, n_prompts: int = 24, *, seed: int = 1, raters: int = 4, people: str = "agree",
    panel: str = "good",
) -> Files:  # fmt: skip
    """Four responses a prompt, every pair compared by every rater; one judge scores at random."""
    rng = np.random.default_rng(seed)
    pairs: list[list[object]] = []
    judged: list[list[object]] = []
    for g in range(n_prompts):
        quality = rng.normal(size=4) + LIFT
        names = [f"p{g}/{name}" for name in RESPONDENTS]
        for persona in ("historian", "ethicist", "jurist"):
            for model in ("model-a", "model-b"):
                seen = 5.5 + quality + rng.normal(scale=0.6, size=4)
                if panel == "random" or f"{persona} x {model}" == RANDOM:
                    seen = 5.5 + rng.normal(size=4)
                for name, points in zip(names, seen, strict=True):
                    judged.append([f"p{g}", name, persona, model, round(float(points), 1)])
        for rater in range(raters):
            for i in range(4):
                for j in range(i + 1, 4):
                    apart = quality[i] - quality[j]
                    if people == "lots":
                        apart = 0.0
                    if people == "turned" and rater % 2:
                        apart = -apart
                    seen_apart = apart + 0.6 * rng.logistic()
                    won = "tie" if abs(seen_apart) < 0.2 else "A" if seen_apart > 0 else "B"
                    pairs.append([f"h{rater}", f"p{g}", names[i], names[j], won])
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(folder / "judgments.csv", folder / "pairs.csv")
    write_table(files.judgments, ["prompt_id", "response_id", "persona", "model", "score"], judged)
    write_table(
        files.humans, ["rater_id", "prompt_id", "response_a", "response_b", "winner"], pairs
    )
    return files


def test_people_who_prefer_the_same_are_said_to_and_those_who_draw_lots_are_not(
    tmp_path: Path,
) -> None:
    found = agreement(write_pairs(tmp_path / "agree").humans)
    told = summary(found)
    assert told.startswith("Among these 4 raters, agreement is better than chance on overall.")
    assert (
        "4 raters x 24 prompts x 4 responses, 576 preferences on 144 pairs (4.0 raters a pair)"
        in told
    )
    assert figure(found, "preferences", "kappa", criterion="overall").low > 0.2
    lots = agreement(write_pairs(tmp_path / "lots", people="lots").humans)
    assert "not shown to agree better than chance on overall" in summary(lots)
    assert figure(lots, "preferences", "kappa", criterion="overall").covers(0)
    turned = agreement(write_pairs(tmp_path / "turned", people="turned", raters=2).humans)
    assert "People agree less than chance would have them on overall" in summary(turned)


@pytest.mark.report
def test_a_panel_is_compared_with_one_more_person_on_the_same_pairs(tmp_path: Path) -> None:
    files = write_pairs(tmp_path)
    found = calibrate(files.judgments, files.humans)
    told = summary(found)
    assert told.startswith(
        "Compared with these 4 raters, the panel is better than one more person at choosing "
        "between two responses."
    )
    keys = {"criterion": "overall"}
    panel, one, apart, ceiling = (
        figure(found, "preferences", name, **keys)
        for name in ("accuracy_of_panel", "accuracy_of_one", "accuracy_difference", "ceiling")
    )
    assert panel.value - one.value == pytest.approx(apart.value)
    assert apart.low > 0
    assert panel.value < ceiling.value + 0.03
    assert f"overall {panel.value:.2f} {one.value:.2f} +{apart.value:.2f}" in told
    assert called(found, "preferences of judges", "accuracy", "group") == {
        RANDOM: "not shown above chance"
    }
    assert f"Not shown above chance: {RANDOM}" in told
    # the planted order of the respondents, and the last one below the mean
    shares = found.estimates[
        (found.estimates["table"] == "worths") & found.estimates["respondent"].notna()
    ]
    worth = shares[shares["measure"] == "worth"].set_index("respondent")
    assert worth["value"].idxmin() == "llama-4"
    assert worth.loc["llama-4", "high"] < 0
    assert worth["value"].sum() == pytest.approx(0)
    # the folder shows the same again, and the page has the table
    run = found.write(tmp_path / "calibration", figures=False)
    again = CalibrationRun(run.path)
    assert again.document().headline == found.document().headline
    assert "Pairs that people compared" in (run.path / "report.html").read_text(encoding="utf-8")
    assert "people compared responses and rated none" in found.text


def test_a_panel_at_random_and_people_at_random_are_not_said_to_agree(tmp_path: Path) -> None:
    files = write_pairs(tmp_path / "panel", panel="random")
    told = summary(calibrate(files.judgments, files.humans))
    assert "the panel is not shown to be better than chance at choosing between" in told
    files = write_pairs(tmp_path / "people", people="lots")
    told = summary(calibrate(files.judgments, files.humans))
    assert "it is undecided how the panel compares with one more person" in told
    assert "not shown to prefer the same more often than chance on overall" in told
    files = write_pairs(tmp_path / "turned", people="turned", raters=2)
    with pytest.raises(InputError, match="people agree less than chance"):
        calibrate(files.judgments, files.humans)
    files = write_pairs(tmp_path / "few", n_prompts=4)
    assert "it is undecided" in summary(calibrate(files.judgments, files.humans))


def test_one_vote_a_pair_has_an_accuracy_and_nobody_to_compare_with(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, raters=1)
    found = calibrate(files.judgments, files.humans)
    assert summary(found).startswith("Compared with this rater, the panel is better than chance at")
    difference = figure(found, "preferences", "accuracy_difference", criterion="overall")
    assert difference.reason == "no pair with scores was decided by one person and seen by another"


def test_preferences_of_responses_that_were_not_judged_are_counted(tmp_path: Path) -> None:
    files = write_pairs(tmp_path)
    lines = files.humans.read_text(encoding="utf-8").splitlines()
    lines += ["h0,p0,p0/gpt-5,nobody,A", "h1,p0,p0/gpt-5,p1/gpt-5,B"]
    files.humans.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = calibrate(files.judgments, files.humans)
    assert figure(found, "matched", "n_preferences_left_out").value == 2
    assert figure(found, "matched", "n_preferences").value == 576
    assert "2 preferences with responses that the run does not have" in " ".join(found.text.split())


def test_ids_that_recur_under_prompts_are_told_apart_and_name_respondents(tmp_path: Path) -> None:
    files = write_pairs(tmp_path)
    for path in files:
        text = path.read_text(encoding="utf-8")
        for g in reversed(range(24)):
            text = text.replace(f"p{g}/", "")
        path.write_text(text, encoding="utf-8")
    found = calibrate(files.judgments, files.humans)
    whole = calibrate(*write_pairs(tmp_path / "whole"))
    for measure in ("accuracy", "kappa", "accuracy_difference"):
        one, other = (
            figure(x, "preferences", measure, criterion="overall") for x in (found, whole)
        )
        assert (one.value, one.low) == (other.value, other.low)
    assert figure(found, "worths", "worth", respondent="llama-4", item=None).value < 0


def test_ratings_and_preferences_of_one_study_stand_beside_each_other(tmp_path: Path) -> None:
    world, files = write_world(tmp_path / "world", n_prompts=12), write_pairs(tmp_path / "pairs")
    plain = agreement(world.humans)
    assert "preferences" not in summary(plain)
    rated, compared = read_humans(world.humans), read_humans(files.humans)
    found = agreement(replace(rated, preferences=compared.preferences))
    keys = {"criterion": "overall", "detail": "score"}
    for measure in ("tau", "alpha_interval", "ac2"):
        one, other = (figure(x, "people", measure, **keys) for x in (found, plain))
        assert one.value == other.value
    alone = figure(agreement(files.humans), "preferences", "kappa", criterion="overall")
    both = figure(found, "preferences", "kappa", criterion="overall")
    assert (both.value, both.low) == pytest.approx((alone.value, alone.low))
    assert "overall and overall (preferences)" in summary(found).replace(", ", " and ")
