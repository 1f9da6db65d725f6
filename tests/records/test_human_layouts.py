"""One planted study in every layout: the same judgments come out of each."""

import functools
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import planted_study
import pytest
from planted_study import Given, Written, pairs, planted

from areopagus.aggregation.estimate import Estimate
from areopagus.calibration import Agreement, Calibration, agreement, calibrate
from areopagus.records.estimates import KEYS, estimate_at
from areopagus.records.humans import HumanReading, read_humans

STUDY = planted()
Writer = Callable[[list[Given], Path], Written]


def ratings(reading: HumanReading) -> set[tuple[object, ...]]:
    table = reading.table
    names = ("rater_id", "prompt_id", "response_id", "criterion")
    columns = [getattr(table, name).texts().tolist() for name in names]
    found = [*zip(*columns, table.is_rank.tolist(), table.value.tolist(), strict=True)]
    assert len(set(found)) == len(found)
    return set(found)


def labels(reading: HumanReading) -> set[tuple[object, ...]]:
    names = ("rater_id", "prompt_id", "response_id", "criterion", "label")
    columns = [getattr(reading.labels, name).texts().tolist() for name in names]
    return set(zip(*columns, strict=True))


def name(writer: Writer) -> str:
    return writer.__name__


def only(writer: Callable[..., Written], part: str) -> Writer:
    """Returns the layout with one part of the study."""

    @functools.wraps(writer)
    def written(study: list[Given], folder: Path) -> Written:
        return writer(study, folder, (part,))

    return written


RANKS = {(one.rater, one.prompt, one.response, "overall", True, float(one.rank)) for one in STUDY}
SCORES = {
    (one.rater, one.prompt, one.response, criterion.lower(), False, float(value))
    for one in STUDY
    for criterion, value in (("clarity", one.clarity), ("depth", one.depth))
}
LABELS = {(one.rater, one.prompt, one.response, "accepted", one.accepted) for one in STUDY}


@pytest.mark.parametrize("writer", planted_study.LAYOUTS, ids=name)
def test_every_layout_holds_the_same_scores_ranks_and_labels(
    writer: Writer, tmp_path: Path
) -> None:
    path, given = writer(STUDY, tmp_path)
    reading = read_humans(path, **given).require_sound()
    assert ratings(reading) == SCORES | RANKS
    assert labels(reading) == LABELS
    assert reading.n_missing == 0
    assert not reading.exclusions


@pytest.mark.parametrize("writer", planted_study.RANKINGS, ids=name)
def test_every_way_to_write_an_order_holds_the_same_ranks(writer: Writer, tmp_path: Path) -> None:
    path, given = writer(STUDY, tmp_path)
    assert ratings(read_humans(path, **given).require_sound()) == RANKS


@pytest.mark.parametrize("writer", planted_study.PREFERENCES, ids=name)
def test_every_way_to_write_pairs_holds_the_same_preferences(
    writer: Writer, tmp_path: Path
) -> None:
    path, given = writer(STUDY, tmp_path)
    reading = read_humans(path, **given).require_sound()
    table = reading.preferences
    names = ("rater_id", "prompt_id", "response_a", "response_b")
    columns = [getattr(table, column).texts().tolist() for column in names]
    assert set(zip(*columns, table.won_a.tolist(), strict=True)) == {
        (one.rater, one.prompt, f"{one.prompt}/{one.a}", f"{one.prompt}/{one.b}", one.won_a)
        for one in pairs(STUDY)
    }
    assert len(table) == len(pairs(STUDY))
    assert len(reading.table) == 0


def figures(found: Agreement) -> pd.DataFrame:
    """All estimates in the order of their keys: a file may name raters in another one."""
    keys = ["table", *KEYS, "measure"]
    assert not found.estimates.duplicated(keys).any()
    return found.estimates.sort_values(keys, ignore_index=True)


def ratings_kept(found: Calibration) -> pd.DataFrame:
    return found.people_scores.sort_values(["response_id", "rater"], ignore_index=True)


def one(found: Agreement, table: str, measure: str, criterion: str | None = None) -> Estimate:
    estimate = estimate_at(found.estimates, table, measure, criterion=criterion)
    assert estimate is not None
    return estimate


SCALE = (1, 7)
ALL, LABELS_ONLY, RANKS_ONLY, PAIRS_ONLY = "all", "labels", "ranks", "pairs"
FAMILIES: dict[str, tuple[Writer, ...]] = {
    ALL: planted_study.LAYOUTS,
    LABELS_ONLY: tuple(only(writer, "accepted") for writer in planted_study.LAYOUTS),
    RANKS_ONLY: (only(planted_study.long, "rank"), *planted_study.RANKINGS),
    PAIRS_ONLY: planted_study.PREFERENCES,
}
"""Layouts that hold the same; the first of each is what the others are compared with."""


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_study.judged(STUDY, tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def calibrated(
    judges: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Calibration, Agreement]]:
    """What the first layout of each family says of the panel, and of people alone."""
    found = {}
    for family, writers in FAMILIES.items():
        path, given = writers[0](STUDY, tmp_path_factory.mktemp(family))
        reading = read_humans(path, **given)
        calibration = calibrate(judges, reading, scale=SCALE)
        found[family] = calibration, agreement(reading, scale=SCALE)
    return found


Calibrated = dict[str, tuple[Calibration, Agreement]]


@pytest.mark.parametrize("family", FAMILIES)
def test_another_layout_of_the_same_judgments_has_the_same_figures(
    family: str, judges: Path, calibrated: Calibrated, tmp_path: Path
) -> None:
    """What is read of each layout is compared above; the figures follow from that."""
    path, given = FAMILIES[family][-1](STUDY, tmp_path)
    reading = read_humans(path, **given)
    first, people_alone = calibrated[family]
    found = calibrate(judges, reading, scale=SCALE)
    pd.testing.assert_frame_equal(figures(found), figures(first), rtol=1e-9)
    pd.testing.assert_frame_equal(found.judge_scores, first.judge_scores)
    pd.testing.assert_frame_equal(ratings_kept(found), ratings_kept(first))
    alone = agreement(reading, scale=SCALE)
    pd.testing.assert_frame_equal(figures(alone), figures(people_alone), rtol=1e-9)


# What was planted. Two raters correlate by 1.44 / 1.93 before they round. Of people's mean, the
# errors of .7 are shared out among four raters, those of .4 and rounding among eight scores; the
# panel's mean is that with the errors of six scores.
BETWEEN_RATERS = 1.44 / (1.44 + 0.49)
PEOPLE_MEAN = 1.44 + 0.49 / 4 + (0.16 + 1 / 12) / 8
PANEL_WITH_PEOPLE = math.sqrt(PEOPLE_MEAN / (PEOPLE_MEAN + (1 + 1 / 12) / 6))


def tau(correlation: float) -> float:
    """Kendall's tau of two normal scores (Kendall & Gibbons 1990)."""
    return 2 / math.pi * math.asin(correlation)


def test_the_planted_agreement_in_scores_is_found(calibrated: Calibrated) -> None:
    found, _ = calibrated[ALL]
    for criterion in planted_study.CRITERIA:
        people = one(found, "people", "tau", criterion)
        assert 0.1 < people.low < tau(1.44 / 2.17) < people.high
    panel = one(found, "panel", "tau", "composite")
    assert 0.5 < panel.low < tau(PANEL_WITH_PEOPLE) < panel.high
    for criterion in (*planted_study.CRITERIA, "composite"):
        assert one(found, "one person", "tau_difference", criterion).low > -0.1
        assert one(found, "one person", "tau_difference", criterion).verdict in (
            "better",
            "at least half",
        )


def test_the_planted_agreement_in_ranks_is_found(calibrated: Calibrated) -> None:
    for family in (ALL, RANKS_ONLY):
        found, _ = calibrated[family]
        people = one(found, "people", "tau", "overall")
        assert 0.3 < people.low < tau(BETWEEN_RATERS) < people.high
        assert one(found, "panel", "tau", "overall").covers(tau(PANEL_WITH_PEOPLE))
        assert one(found, "one person", "tau_difference", "overall").verdict == "at least half"


def test_the_planted_agreement_in_labels_is_found(calibrated: Calibrated) -> None:
    """Yes is a response seen above 4.2: .216 of 1.389 below the mean."""
    from scipy.stats import multivariate_normal, norm

    cut = (4.2 - 4.5) / math.sqrt(1.93)
    yes = norm.sf(cut)
    both = multivariate_normal([0, 0], [[1, BETWEEN_RATERS], [BETWEEN_RATERS, 1]]).cdf([-cut, -cut])
    agreed = 1 - 2 * (yes - both)
    kappa = (agreed - yes**2 - (1 - yes) ** 2) / (2 * yes * (1 - yes))
    for family in (ALL, LABELS_ONLY):
        found, _ = calibrated[family]
        assert one(found, "label people", "agreement", "accepted").covers(agreed)
        people = one(found, "label people", "alpha", "accepted")
        assert 0.1 < people.low < kappa < people.high
        assert one(found, "labels", "kappa", "accepted").low > 0.1
        assert one(found, "labels", "auc", "accepted").low > 0.9


def test_the_planted_agreement_in_pairs_is_found(calibrated: Calibrated) -> None:
    """Two raters order a pair alike in 1/2 + asin(r)/pi."""
    found, _ = calibrated[PAIRS_ONLY]
    alike = 0.5 + math.asin(BETWEEN_RATERS) / math.pi
    assert one(found, "preferences", "accuracy_of_one", "overall").covers(alike)
    panel = one(found, "preferences", "accuracy", "overall")
    assert panel.low > 0.7
    assert panel.value > one(found, "preferences", "accuracy_of_one", "overall").value
    assert one(found, "preferences", "accuracy_difference", "overall").verdict == "at least half"


def test_a_ruled_sheet_without_ties_has_the_same_order_as_its_ranks(tmp_path: Path) -> None:
    rows = [["a", "p1", "x1", "y1", "z1"], ["a", "p2", "z1", "x1", "y1"]]
    path = planted_study.write(tmp_path / "s.csv", ["rater", "prompt", "1st", "2nd", "3rd"], *rows)
    table = read_humans(path).require_sound().table
    found = dict(zip(table.response_id.texts(), table.value, strict=True))
    assert found["p2/z1"] == 1
    assert found["p2/y1"] == 3
