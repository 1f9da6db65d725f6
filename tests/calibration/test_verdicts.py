"""Verdicts that do not contradict what is printed beside them, each in a planted world."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_worlds import called, figure, summary

from areopagus import InputError
from areopagus.aggregation.generalizability import panel_g_study
from areopagus.calibration import Calibration, agreement, calibrate
from areopagus.calibration.decision_study import below_zero
from areopagus.records.estimates import select

Panel = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def a_rater(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return truth + rng.normal(0, 1.2, len(truth))


def errorless(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return truth


def world(
    folder: Path,
    panel: Panel,
    *,
    prompts: int = 40,
    seed: int = 1,
    turned: tuple[int, ...] = (),
    rated: int | None = None,
    n_responses: int = 6,
) -> tuple[Path, Path]:
    """Prompts of some responses, three raters of noise 1.2, one judge.

    Args:
        folder: for the two files.
        panel: what the judge says of the true qualities of a prompt.
        prompts: how many.
        seed: of everything.
        turned: raters for whom 1 is the best.
        rated: the first so many prompts are rated; all by default.
        n_responses: of a prompt.
    """
    rng = np.random.default_rng(seed)
    judged: list[list[Any]] = [["prompt_id", "response_id", "judge", "score"]]
    given: list[list[Any]] = [["rater_id", "prompt_id", "response_id", "score"]]
    for g in range(prompts):
        truth = rng.normal(6, 1, n_responses)
        for r, score in enumerate(panel(truth, rng).tolist()):
            judged.append([f"q{g}", f"q{g}r{r}", "judge", round(score, 3)])
        for k in range(3):
            seen = a_rater(truth, rng)
            for r, score in enumerate((12 - seen if k in turned else seen).tolist()):
                if g < (rated or prompts):
                    given.append([f"h{k}", f"q{g}", f"q{g}r{r}", round(score, 3)])
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "judged.csv", folder / "rated.csv"
    for path, rows in zip(files, (judged, given), strict=True):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    return files


def verdict(found: Calibration) -> str | None:
    return figure(found, "one person", "tau_difference", rater=None).verdict


def test_a_judge_like_one_more_person_is_at_least_half_as_good_and_a_better_one_better(
    tmp_path: Path,
) -> None:
    like = calibrate(*world(tmp_path / "like", a_rater, prompts=100))
    assert verdict(like) == "at least half"
    assert summary(like).startswith(
        "Compared with these 3 raters, the panel is at least half as good as one more person at "
        "ranking responses."
    )
    assert verdict(calibrate(*world(tmp_path / "better", errorless))) == "better"


@pytest.mark.parametrize(
    ("noise", "prompts", "verdict_of_both"),
    [(5.0, 40, "worse"), (1.2, 60, "at least half"), (2.4, 12, "undecided"), (0.0, 30, "better")],
)
def test_people_who_rate_and_the_same_people_who_choose_get_one_verdict(
    tmp_path: Path, noise: float, prompts: int, verdict_of_both: str
) -> None:
    judged, rated = world(
        tmp_path, lambda truth, rng: truth + rng.normal(0, noise, len(truth)), prompts=prompts
    )
    chosen = write_choices(rated)
    by_rating, by_choice = calibrate(judged, rated), calibrate(judged, chosen)
    difference = figure(by_choice, "preferences", "accuracy_difference")
    assert verdict(by_rating) == difference.verdict == verdict_of_both
    rating = figure(by_rating, "one person", "tau_difference", rater=None)
    assert 2 * difference.low == pytest.approx(rating.low)
    first = [report.document().headline[0] for report in (by_rating, by_choice)]
    assert first[1] == first[0].replace("ranking", "choosing between two")


@pytest.mark.parametrize(
    ("panel", "first", "called_in_table"),
    [
        (lambda truth, _: 12 - truth, "Shown to disagree with people on overall (", "disagreeing"),
        (lambda truth, _: 0 * truth, "Always the same score on overall.", "constant"),
    ],
)
def test_a_panel_that_disagrees_or_says_one_thing_is_called_so_of_ratings_and_of_choices(
    tmp_path: Path, panel: Panel, first: str, called_in_table: str
) -> None:
    judged, rated = world(tmp_path, panel, prompts=12)
    for of_people in (rated, write_choices(rated)):
        shown = summary(calibrate(judged, of_people, scale=(0, 12)))
        assert shown.startswith(first)
        assert called_in_table in shown


def write_choices(rated: Path) -> Path:
    """Writes the choices that ratings imply, beside their file."""
    scores: dict[tuple[str, str], list[tuple[str, float]]] = {}
    with rated.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["rater_id"], row["prompt_id"])
            scores.setdefault(key, []).append((row["response_id"], float(row["score"])))
    lines = [
        f"{who},{prompt},{a},{b},{'tie' if x == y else 'A' if x > y else 'B'}"
        for (who, prompt), mine in scores.items()
        for (a, x), (b, y) in itertools.combinations(mine, 2)
    ]
    chosen = rated.with_name("chosen.csv")
    chosen.write_text("rater_id,prompt_id,response_a,response_b,winner\n" + "\n".join(lines) + "\n")
    return chosen


def test_the_first_line_answers_for_the_composite_and_the_next_for_the_criteria(
    tmp_path: Path,
) -> None:
    judged, rated = world(tmp_path, errorless, prompts=30)
    for path in (judged, rated):
        header, *rows = path.read_text(encoding="utf-8").splitlines()
        lines = [f"{row},{np.random.default_rng(n).integers(1, 10)}" for n, row in enumerate(rows)]
        path.write_text("\n".join([f"{header.replace('score', 'depth')},luck", *lines]) + "\n")
    first, second = calibrate(judged, rated).document().headline
    assert first.startswith("Compared with these 3 raters, ")
    assert first.endswith(" at ranking responses on the composite.")
    assert second == "By criterion, it is better than one more person on depth; undecided on luck."


def test_no_difference_shown_is_undecided_where_the_panel_may_have_less_than_half_of_a_person(
    tmp_path: Path,
) -> None:
    found = calibrate(*world(tmp_path, a_rater, prompts=12, seed=6))
    difference, one = (
        figure(found, "one person", name, rater=None) for name in ("tau_difference", "tau_of_one")
    )
    assert difference.low < -one.value / 2 < 0 < difference.high
    assert verdict(found) == "undecided"
    text = summary(found)
    assert text.startswith(
        "Compared with these 3 raters, it is undecided how the panel compares with one more person"
    )
    assert "cannot tell" not in found.text.lower()  # one name for one verdict
    assert "best_single" not in found.text
    assert "may have less than half of a person's agreement: rate more prompts" in text


def test_one_response_a_prompt_is_ordered_across_prompts(tmp_path: Path) -> None:
    like = calibrate(*world(tmp_path / "like", a_rater, prompts=200, n_responses=1))
    text = summary(like)
    assert "the panel is at least half as good as one more person at ranking responses." in text
    assert "order is that across prompts" in text
    assert "the mean of the other raters (tau across prompts)" in text
    assert figure(like, "panel", "tau").n == 200
    assert figure(like, "panel", "above_ceiling").has_interval
    better = calibrate(*world(tmp_path / "better", errorless, prompts=60, n_responses=1))
    assert verdict(better) == "better"
    assert figure(better, "panel", "above_ceiling").verdict is None
    with pytest.raises(InputError, match="people agree less than chance"):
        calibrate(*world(tmp_path / "turned", errorless, prompts=60, n_responses=1, turned=(0,)))


def test_a_judge_without_errors_is_not_said_to_be_above_its_ceiling(tmp_path: Path) -> None:
    """By point estimates half of such judges were: in one of three worlds at least."""
    above = [
        figure(calibrate(*world(tmp_path / str(seed), errorless, seed=seed)),
               "panel", "above_ceiling")
        for seed in range(3)
    ]  # fmt: skip
    assert any(one.value > 0 for one in above)
    assert all(one.verdict is None and one.has_interval for one in above)


def test_a_panel_that_copies_the_raters_is_above_its_ceiling(tmp_path: Path) -> None:
    judged, rated = world(tmp_path, errorless, prompts=60)
    sums: dict[str, list[float]] = {}
    with rated.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sums.setdefault(row["response_id"], []).append(float(row["score"]))
    lines = [f"{name.partition('r')[0]},{name},judge,{np.mean(v)}" for name, v in sums.items()]
    judged.write_text("prompt_id,response_id,judge,score\n" + "\n".join(lines) + "\n")
    found = calibrate(judged, rated)
    assert figure(found, "panel", "above_ceiling").verdict == "above its ceiling"
    assert "Tau above its ceiling on overall: ties, pooling or shared errors." in summary(found)


def test_people_who_contradict_each_other_halt_a_calibration_with_the_likely_causes(
    tmp_path: Path,
) -> None:
    files = world(tmp_path, a_rater, turned=(1,))
    with pytest.raises(InputError) as raised:
        calibrate(*files)
    said = " ".join(str(raised.value).split())
    assert "overall (scores): people agree less than chance would have them, tau −" in said
    assert "a wrong join" in said
    assert "columns that are no raters" in said
    alone = agreement(files[1])
    tau = figure(alone, "people", "tau")
    assert tau.verdict == "below chance"
    assert tau.high < 0
    assert summary(alone).startswith("People agree less than chance would have them on overall")


def test_people_who_draw_lots_do_not_halt_it(tmp_path: Path) -> None:
    files = world(tmp_path, a_rater)
    rng = np.random.default_rng(2)
    lines = files[1].read_text().splitlines()
    lots = [f"{line.rpartition(',')[0]},{rng.integers(1, 10)}" for line in lines[1:]]
    files[1].write_text("\n".join([lines[0], *lots]) + "\n")
    assert "nothing can be calibrated against that" in summary(calibrate(*files))


def test_a_component_that_is_shown_to_be_below_zero_says_that_the_model_is_wrong(
    tmp_path: Path,
) -> None:
    """Two models that share out a fixed sum on every response: what they add is below 0."""
    rng = np.random.default_rng(4)
    n = 160
    prompt = np.repeat(np.arange(40), 4)
    quality, apart = rng.normal(size=n), rng.normal(size=n)
    scores = np.stack([quality + apart, quality - apart], axis=1)[:, None, :] + rng.normal(
        0, 0.1, (n, 3, 2)
    )
    study = panel_g_study(scores, prompt=prompt.tolist())
    assert "r:q" not in below_zero(study)
    turned = scores.copy()
    turned[:, 2] = -turned[:, 2]  # a persona that says the opposite
    wrong = panel_g_study(turned, prompt=prompt.tolist())
    assert below_zero(wrong)
    lines = ["prompt_id,response_id,persona,model,score"]
    lines += [
        f"q{prompt[r]},r{r},p{p},m{m},{turned[r, p, m]:.4f}"
        for r in range(n) for p in range(3) for m in range(2)
    ]  # fmt: skip
    (tmp_path / "j.csv").write_text("\n".join(lines) + "\n")
    lines = ["rater_id,prompt_id,response_id,score"]
    lines += [f"h{k},q{prompt[r]},r{r},{quality[r]:.4f}" for r in range(n) for k in range(2)]
    (tmp_path / "h.csv").write_text("\n".join(lines) + "\n")
    found = calibrate(tmp_path / "j.csv", tmp_path / "h.csv", level=0.8)
    components = select(found.estimates, "components")
    below = components[(components["measure"] == "variance") & (components["value"] < 0)]
    known = below[below["low"].notna()]
    assert (known["low"] < known["value"]).all()
    assert len(known)
    told = " ".join(found.text.split())
    assert "with 80% intervals over prompts" in told
    named = called(found, "components", "variance", "group")
    assert "below 0: the model is wrong" in named.values()
    assert "no sum of such effects" in (figure(found, "size", "worth").reason or "")
    assert not (found.estimates["table"] == "designs needed").any()


def test_the_alt_test_prints_its_epsilon_and_a_constant_with_noise_fails_it(tmp_path: Path) -> None:
    """By squared error, as published, that judge would pass."""

    def middle(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.full(len(truth), 6.0) + rng.normal(0, 0.01, len(truth))

    found = calibrate(*world(tmp_path, middle, prompts=60), epsilon=0.3)
    rate = figure(found, "alt-test", "winning_rate", detail="by rank")
    assert (rate.value, rate.verdict) == (0, "fail")
    assert figure(found, "alt-test", "epsilon", detail="by rank").value == 0.3
    assert "By rank, epsilon 0.30: fail" in " ".join(found.text.split())
    with pytest.raises(InputError, match="rated"):
        calibrate(*world(tmp_path, middle, prompts=6), rated="some")
