"""People's labels end to end: agreement of people, panels that label or score, corrected rates."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import areopagus

from areopagus.aggregation.estimate import Estimate
from areopagus.calibration import Calibration, CalibrationRun, agreement, calibrate
from areopagus.calibration.calibration import figures_of
from areopagus.calibration.labels import Cut, cuts_of
from areopagus.errors import InputError
from areopagus.records.estimates import estimate_at, select
from areopagus.records.humans import read_humans

PEOPLE = ("rater_id", "prompt_id", "response_id", "helpful")
JUDGES = ("judge", "prompt_id", "response_id")


def write(path: Path, header: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(header)
        lines.writerows(rows)
    return path


class World:
    """Responses with a true label; who labels or scores them goes to files."""

    def __init__(self, folder: Path, *, prompts: int = 40, size: int = 4, seed: int = 2) -> None:
        self.folder, self.rng = folder, np.random.default_rng(seed)
        self.prompts, self.size = prompts, size
        self.truth = self.rng.random((prompts, size)) < 0.4

    def _responses(self, prompts: int | None = None) -> Iterator[tuple[str, str, bool]]:
        for p in range(prompts or self.prompts):
            for r in range(self.size):
                yield f"p{p}", f"p{p}r{r}", bool(self.truth[p, r])

    def people(
        self, *, raters: int = 3, error: float = 0.1, prompts: int | None = None,
        words: tuple[str, str] = ("no", "yes"), header: tuple[str, ...] = PEOPLE,
    ) -> Path:  # fmt: skip
        """A file of people's labels."""
        rows = (
            (f"r{k}", p, r, words[int(is_yes ^ (self.rng.random() < error))])
            for k in range(raters)
            for p, r, is_yes in self._responses(prompts)
        )
        return write(self.folder / "people.csv", header, rows)

    def judge_labels(
        self, *, judges: int = 3, error: float = 0.2, words: tuple[str, str] = ("No", "Yes")
    ) -> Path:
        """A file of judges' labels, in a bare column."""
        rows = (
            (f"j{k}", p, r, words[int(is_yes ^ (self.rng.random() < error))])
            for k in range(judges)
            for p, r, is_yes in self._responses()
        )
        return write(self.folder / "judges.csv", (*JUDGES, "label"), rows)

    def judge_scores(self, *, gap: float = 3.0, criterion: str = "overall") -> Path:
        """A file of three judges' scores."""
        rows = (
            (f"j{k}", p, r, int(np.clip(round(4 + gap * is_yes + self.rng.normal(0, 1.3)), 1, 10)))
            for k in range(3)
            for p, r, is_yes in self._responses()
        )
        return write(self.folder / "scores.csv", (*JUDGES, criterion), rows)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Forty prompts of four responses, of which four in ten are helpful."""
    return World(tmp_path)


def figure(found: Any, table: str, measure: str, **keys: str) -> Estimate:
    one = estimate_at(found.estimates, table, measure, **{"criterion": "helpful", **keys})
    assert one is not None, (table, measure)
    return one


def first_line(found: Any) -> str:
    return str(found.document().headline[0])


def panel_is(verdict: str) -> str:
    return (
        f"Compared with these 3 raters, the panel is {verdict} at labelling responses on helpful."
    )


def test_a_file_of_labels_alone_is_enough_for_agreement(world: World) -> None:
    found = agreement(world.people())
    assert first_line(found) == (
        "Among these 3 raters, agreement is better than chance on helpful."
    )
    alpha = figure(found, "label people", "alpha")
    # two people who err on .1 each say the same on .82 of responses
    assert figure(found, "label people", "agreement").covers(0.82)
    assert alpha.covers(1 - 0.18 / (2 * 0.42 * 0.58))
    assert "3 raters x 40 prompts x 4 responses, 480 labels" in str(found)
    assert figure(found, "label people", "n_labels").value == 480
    # nothing is said of ratings, which there are none of
    assert "nobody's ratings" not in found.text


def test_a_panel_that_labels_is_compared_as_it_is(world: World) -> None:
    found = calibrate(world.judge_labels(), world.people())
    assert first_line(found) in (
        panel_is("at least half as good as one more person"),
        panel_is("better than one more person"),
    )
    # a majority of three judges who err on .2 errs on .104, a person on .1
    right = 0.896 * 0.9 + 0.104 * 0.1
    assert figure(found, "labels", "accuracy").covers(right)
    assert figure(found, "labels", "n_panel").n == 160
    assert figure(found, "label one person", "difference").verdict in ("at least half", "better")
    confusion = select(found.estimates, "label confusion")
    assert confusion["value"].sum() == pytest.approx(160)
    assert set(confusion["group"]) == {"no", "yes"}
    assert "labels, helpful" in set(found.estimates["detail"].dropna())
    assert found.record["stand_ins"] == []


def test_capitals_do_not_make_another_label(world: World) -> None:
    found = calibrate(world.judge_labels(words=("NO", " yes ")), world.people())
    assert set(select(found.estimates, "label categories")["group"]) == {"no", "yes"}


def test_labels_that_share_no_word_are_not_compared(world: World) -> None:
    found = calibrate(world.judge_labels(words=("bad", "good")), world.people())
    assert "it is undecided how the panel compares" in first_line(found)
    assert "people say no, yes and the panel bad, good: they share no label" in " ".join(
        str(found).split()
    )


def test_a_panel_that_scores_is_compared_in_order_and_at_a_cut(world: World) -> None:
    found = calibrate(world.judge_scores(), world.people(), scale=(1, 10))
    # means of three scores differ by 3 with a spread of .75: nearly every pair is in order
    assert figure(found, "labels", "auc").low > 0.9
    cut = figure(found, "labels", "cut")
    assert 4.5 < cut.value < 6.5
    assert "chosen for kappa" in cut.method
    assert "having no such criterion" in cut.method
    assert first_line(found) in (
        panel_is("at least half as good as one more person"),
        panel_is("better than one more person"),
    )
    assert "yes where the panel's composite is at least that" in " ".join(found.text.split())


def test_auc_over_prompts_is_that_of_scikit_learn(world: World) -> None:
    people, scores = world.people(raters=1), world.judge_scores(gap=1.0)
    found = calibrate(scores, people, scale=(1, 10))
    metrics = pytest.importorskip("sklearn.metrics")
    with people.open() as file:
        labels = {row["response_id"]: row["helpful"] == "yes" for row in csv.DictReader(file)}
    given: dict[str, list[float]] = {}
    with scores.open() as file:
        for row in csv.DictReader(file):
            given.setdefault(row["response_id"], []).append(float(row["overall"]))
    y, x = zip(*((labels[name], np.mean(values)) for name, values in given.items()), strict=True)
    expected = metrics.roc_auc_score(y, x)
    assert figure(found, "labels", "auc").value == pytest.approx(expected)


def test_a_stated_cut_is_taken_as_it_is(world: World) -> None:
    people, scores = world.people(), world.judge_scores(criterion="helpful")
    found = calibrate(scores, people, scale=(1, 10), cut=("helpful=7",))
    cut = figure(found, "labels", "cut")
    assert (cut.value, cut.method) == (
        7, "yes where the panel's helpful is at least that; stated",
    )  # fmt: skip
    turned = calibrate(scores, people, scale=(1, 10), cut=("helpful=no:7",))
    # with the labels the other way round the panel is wrong about as often as it was right
    one, other = (figure(x, "labels", "kappa").value for x in (found, turned))
    assert other < 0 < one
    assert first_line(turned).startswith("Shown to disagree with people on helpful (kappa −0.")
    assert first_line(turned).endswith("): is the scale reversed?")


def test_a_cut_chosen_on_noise_shows_no_agreement(world: World) -> None:
    found = calibrate(world.judge_scores(gap=0.0), world.people(), scale=(1, 10))
    assert figure(found, "labels", "auc").covers(0.5)
    assert not figure(found, "labels", "kappa").low > 0
    assert first_line(found) in (
        panel_is("not shown to be better than chance"), panel_is("worse than one more person"),
    )  # fmt: skip


def test_what_cut_says_is_read_and_mistakes_are_named(world: World) -> None:
    assert cuts_of(["helpful=7", "tone=fair:6.5", "mood=glad"]) == {
        "helpful": Cut(None, 7.0), "tone": Cut("fair", 6.5), "mood": Cut("glad", None),
    }  # fmt: skip
    with pytest.raises(InputError, match="must be CRITERION=SCORE") as error:
        cuts_of(["helpful", "=7", "x=", "fair=good:high"])
    assert len(error.value.faults) == 4
    people, scores = world.people(), world.judge_scores()
    with pytest.raises(InputError, match="people gave labels on helpful"):
        calibrate(scores, people, scale=(1, 10), cut=("helpfull=7",))
    with pytest.raises(InputError, match="people's labels are no, yes, got maybe"):
        calibrate(scores, people, scale=(1, 10), cut=("helpful=maybe:7",))
    with pytest.raises(InputError, match="the panel gave labels: a cut is for scores"):
        calibrate(world.judge_labels(), people, cut=("helpful=7",))


def test_which_of_two_unknown_labels_is_high_must_be_said(world: World) -> None:
    people = world.people(words=("terse", "chatty"))
    scores = world.judge_scores()
    read = read_humans(people, criteria=["helpful"])
    unknown = calibrate(scores, read, scale=(1, 10))
    assert "`cut` helpful=LABEL says it" in " ".join(str(unknown).split())
    known = calibrate(scores, read, scale=(1, 10), cut=("helpful=chatty",))
    assert figure(known, "labels", "kappa").low > 0.3


def test_one_of_three_labels_can_be_told_from_the_others_by_a_cut(tmp_path: Path) -> None:
    world = World(tmp_path)
    people = world.people(words=("off topic", "helpful"))
    text = people.read_text().splitlines()
    some = [
        line.replace("off topic", "empty") if k % 3 == 0 else line for k, line in enumerate(text)
    ]
    people.write_text("\n".join(some) + "\n")
    read = read_humans(people, criteria=["helpful"])
    found = calibrate(world.judge_scores(), read, scale=(1, 10), cut=("helpful=helpful",))
    groups = set(select(found.estimates, "label categories")["group"])
    assert groups == {"helpful", "not helpful"}
    assert figure(found, "labels", "accuracy").low > 0.7


def planted_judges(folder: Path, *, prompts: int = 200) -> tuple[Path, Path]:
    """A judge that calls .163 of a thousand responses biased, of which none is; 200 labels."""
    rng = np.random.default_rng(11)
    names = [(f"p{p}", f"p{p}r{r}") for p in range(prompts) for r in range(5)]
    judged = write(
        folder / "judges.csv", (*JUDGES, "label"),
        (("j", p, r, "biased" if rng.random() < 0.163 else "not biased") for p, r in names),
    )  # fmt: skip
    some = [names[k] for k in np.sort(rng.choice(len(names), 200, replace=False)).tolist()]
    header = ("rater_id", "prompt_id", "response_id", "label")
    people = write(folder / "people.csv", header, (("r1", p, r, "not biased") for p, r in some))
    return judged, people


def test_a_rate_that_the_panel_finds_where_there_is_none_is_corrected(tmp_path: Path) -> None:
    judged, people = planted_judges(tmp_path)
    read = read_humans(people)
    assert len(read.labels) == 200
    found = calibrate(judged, read, rated="random")
    keys = {"criterion": "overall", "group": "biased"}
    raw, corrected = (figure(found, "label rates", name, **keys) for name in ("raw", "corrected"))
    assert raw.low > 0.1
    assert corrected.covers(0)
    assert corrected.high < 0.05
    assert corrected.verdict == "random"


def test_labels_of_chosen_prompts_correct_nothing(tmp_path: Path) -> None:
    judged, people = planted_judges(tmp_path)
    keys = {"criterion": "overall", "group": "biased"}
    chosen = figure(calibrate(judged, people, rated="chosen"), "label rates", "corrected", **keys)
    assert not chosen.is_defined
    assert chosen.reason == "the labelled prompts were chosen: the rest may differ from them"
    not_said = calibrate(judged, people)
    assert figure(not_said, "label rates", "corrected", **keys).verdict == "if random"
    assert "if they are a random sample" in " ".join(str(not_said).split())


def test_a_judge_that_always_says_no_is_called_so_and_passes_no_test(world: World) -> None:
    found = calibrate(world.judge_labels(error=0.2, words=("no", "no")), world.people())
    assert figure(found, "labels", "kappa").value == pytest.approx(0)
    assert first_line(found) == "Always the same label on helpful."
    test = estimate_at(found.estimates, "alt-test", "winning_rate", detail="labels, helpful",
                       baseline=None)  # fmt: skip
    assert test is not None
    assert test.verdict != "pass"


def test_a_criterion_of_several_words_is_said_in_words(world: World) -> None:
    files = world.judge_labels(error=0.2), world.people()
    for path in files:
        path.write_text(path.read_text().replace("helpful", "truly_helpful"))
    told = " ".join(calibrate(*files).text.split())
    assert "Labels, truly helpful, epsilon" in told
    assert "abels, truly_helpful" not in told


def test_an_alt_test_that_a_constant_passes_is_uninformative(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.truth[:] = False
    world.truth[::8, 0] = True
    found = calibrate(world.judge_labels(judges=3, error=0.02), world.people(error=0.02))
    test = estimate_at(found.estimates, "alt-test", "winning_rate", detail="labels, helpful",
                       baseline=None)  # fmt: skip
    assert test is not None
    assert test.verdict == "uninformative"


def test_one_rater_leaves_nobody_to_compare_with(world: World) -> None:
    found = calibrate(world.judge_labels(), world.people(raters=1))
    assert first_line(found) == (
        "Compared with this rater, the panel is better than chance at labelling responses on "
        "helpful."
    )
    reason = figure(found, "label one person", "difference").reason
    assert reason == "no response was labelled by two people"
    assert "no item was labelled by two people" in " ".join(str(found).split())


def test_people_who_draw_lots_calibrate_nothing(world: World) -> None:
    found = calibrate(world.judge_labels(), world.people(error=0.5))
    assert "it is undecided how the panel compares" in first_line(found)
    assert "People's labels are not shown to agree better than chance on helpful" in " ".join(
        str(found).split()
    )
    alone = agreement(world.people(error=0.5))
    assert first_line(alone) == "Raters are not shown to agree better than chance on helpful."


def test_people_who_contradict_each_other_halt_it(world: World) -> None:
    path = world.people(raters=2, error=0.0)
    turned = [
        re.sub(r"^(r1,.*),(yes|no)$", lambda m: f"{m[1]},{'no' if m[2] == 'yes' else 'yes'}", line)
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(turned) + "\n")
    with pytest.raises(InputError, match=r"helpful \(labels\): people agree less than chance"):
        calibrate(world.judge_labels(), path)
    assert first_line(agreement(path)).startswith("People agree less than chance would have them")


def test_with_few_prompts_no_verdict_is_given(tmp_path: Path) -> None:
    world = World(tmp_path, prompts=4)
    found = calibrate(world.judge_labels(), world.people())
    assert "it is undecided how the panel compares" in first_line(found)
    assert "Too few prompts labelled on helpful: an interval needs 6." in str(found)


def test_what_does_not_fit_is_counted_and_named_with_its_rows(world: World) -> None:
    path = world.people()
    with path.open("a") as file:
        file.write("r0,p0,p0r0,yes\nr1,p9,elsewhere,no\n")
    found = calibrate(world.judge_labels(), path)
    matched = found.record["matched"]
    assert matched["misfits"] == [
        [
            "1 label is of a response that the run does not have, and left out",
            ["no such response: elsewhere (row 483)"],
        ]
    ]
    assert matched["left_out"] == [["label: repeats an earlier one of the same rater", "row 482"]]
    assert figure(found, "label people", "n_labels").value == 480


def test_labels_of_nothing_that_was_judged_are_refused(world: World) -> None:
    judged = world.judge_labels()
    path = write(world.folder / "other.csv", PEOPLE,
                 iter([("r", "p", "else", "yes"), ("r", "p", "other", "no")]))  # fmt: skip
    with pytest.raises(InputError, match="people rated else, other"):
        calibrate(judged, path)


def test_judges_who_tie_have_no_label_and_it_is_said(world: World) -> None:
    found = calibrate(world.judge_labels(judges=2, error=0.3), world.people())
    n_panel = figure(found, "labels", "n_panel")
    # two who err on .3 differ on .42
    assert n_panel.n_planned == 160
    assert 70 < n_panel.n < 115
    assert f"no label of the panel on {160 - n_panel.n} of 160 responses" in str(found)


def test_labels_stand_beside_ratings(world: World) -> None:
    header = (*PEOPLE, "overall")
    rows = (
        (f"r{k}", p, r, "yes" if is_yes ^ (world.rng.random() < 0.1) else "no",
         int(np.clip(round(4 + 3 * is_yes + world.rng.normal(0, 1.3)), 1, 10)))
        for k in range(3)
        for p, r, is_yes in world._responses()
    )  # fmt: skip
    people = write(world.folder / "both.csv", header, rows)
    found = calibrate(world.judge_scores(), people, scale=(1, 10))
    assert "at ranking responses on overall" in first_line(found)
    assert "helpful (labels)" in found.document().headline[1]
    names = [name for name, _ in found.document().trust]
    assert {"people", "labels, people", "labels, panel", "labels, rate"} <= set(names)
    alone = agreement(people, scale=(1, 10))
    assert first_line(alone) == (
        "Among these 3 raters, agreement is better than chance on overall and helpful (labels)."
    )


@pytest.fixture
def written(world: World) -> tuple[Calibration, CalibrationRun]:
    """A calibration by labels alone, and its folder."""
    found = calibrate(world.judge_scores(), world.people(), scale=(1, 10))
    return found, found.write(world.folder / "calibration", figures=False)


@pytest.mark.report
def test_the_folder_page_and_json_hold_what_was_found(
    written: tuple[Calibration, CalibrationRun],
) -> None:
    found, run = written
    assert run.document().headline == found.document().headline
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Panel with people&#39;s labels" in page or "Panel with people's labels" in page
    assert "Confusion, helpful" in page
    _, record, frame = figures_of(run.path)
    assert record["config"]["cut"] == []
    assert len(frame) == len(found.estimates)


def test_the_commands_say_it(world: World, tmp_path: Path) -> None:
    people, judged = world.people(), world.judge_scores()
    said = areopagus("agreement", people, "--json", "a.json", folder=tmp_path).stdout
    assert "Among these 3 raters, agreement is better than chance on helpful." in said
    kept = json.loads((tmp_path / "a.json").read_text())
    assert {"label people", "matched"} <= {row["table"] for row in kept["estimates"]}
    said = areopagus("calibrate", judged, people, "--cut", "helpful=6", folder=tmp_path).stdout
    assert "corrected by people's labels" in " ".join(said.split())
    assert all(len(line) <= 80 for line in said.splitlines())
    wrong = areopagus("calibrate", judged, people, "--cut", "helpful", folder=tmp_path)
    assert wrong.returncode == 2
    assert "must be CRITERION=SCORE" in wrong.stderr


def test_people_who_say_one_thing_throughout_still_correct_a_rate(tmp_path: Path) -> None:
    judged, people = planted_judges(tmp_path)
    found = calibrate(judged, people, rated="random")
    assert "it is undecided how the panel compares" in first_line(found)
    told = " ".join(str(found).split())
    assert "No kappa on overall: people give one label throughout." in told
    # the label that the other one denies is the one to tell of
    assert re.search(r"rate biased: 0\.1\d \[.*?\] by the panel, 0\.00 \[0\.00, 0\.0\d\]", told)


def test_texts_are_no_categories(tmp_path: Path) -> None:
    people = write(
        tmp_path / "texts.csv", ("rater_id", "prompt_id", "response_id", "label"),
        ((f"r{k}", f"p{p}", f"p{p}a", f"remark {p} of {k}") for k in range(2) for p in range(40)),
    )  # fmt: skip
    found = agreement(people)
    assert "Cannot tell on overall" in first_line(found)
    assert "80 different labels are no categories (30 are)" in " ".join(str(found).split())


def test_the_order_of_rows_changes_nothing(world: World) -> None:
    people, judged = world.people(), world.judge_scores()
    first = calibrate(judged, people, scale=(1, 10)).estimates
    header, *rows = people.read_text().splitlines()
    people.write_text("\n".join([header, *reversed(rows)]) + "\n")
    other = calibrate(judged, people, scale=(1, 10)).estimates
    tables = ["alt-test", "labels", "label people", "label rates", "label one person"]
    one, two = (frame[frame["table"].isin(tables)]["value"].tolist() for frame in (first, other))
    assert one == pytest.approx(two, nan_ok=True)
