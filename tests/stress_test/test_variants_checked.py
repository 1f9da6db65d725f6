"""People check which variants of a prompt are fit for use."""

from __future__ import annotations

import pytest
from stress_world import StressTrial, read_csv, write_csv

from areopagus import InputError, check_readings
from areopagus.records.estimates import estimate_at, select
from areopagus.stress_test import StressRun


def test_variants_are_drawn_for_people_and_their_labels_stand_beside_the_checks(
    trial: StressTrial,
) -> None:
    run = trial.stress(for_people=10)
    assert dict(run.document().trust)["readings"] == (
        "not checked by people: 10 texts, drawn at random (seed 0), wait in for_people.csv"
    )
    rows = read_csv(run.path / "for_people.csv")
    assert list(rows[0])[:4] == ["item_id", "original", "framing", "variant"]
    assert len(rows) == 10
    variants = {row["prompt_text"]: row for row in read_csv(run.variants_path)}
    assert {row["variant"] for row in rows} <= set(variants)
    assert "rewriter" not in str(rows)
    # all were accepted; people find what was said in anger unfit
    for row in rows:
        is_fit = "fed up" not in row["variant"]
        row["label"] = "accepted" if is_fit else "failed"
    n_unfit = sum(row["label"] == "failed" for row in rows)
    assert n_unfit
    found = check_readings(run.path, write_csv(trial.folder / "ada.csv", rows))
    assert isinstance(found, StressRun)
    accuracy = estimate_at(found.estimates, "checks", "accuracy", factor="readings")
    assert accuracy is not None
    assert accuracy.value == pytest.approx(1 - n_unfit / 10)
    assert (accuracy.n, accuracy.unit) == (3, "prompt")
    rates = select(found.estimates, "checks", factor="rate").query("measure == 'corrected'")
    assert set(rates["framing"].dropna()) == {row["condition"] for row in variants.values()}
    why = "10 of its texts were checked: a corrected rate needs 30"
    assert rates[rates["framing"].isna()]["reason"].tolist() == [why]
    told = dict(found.document().trust)["readings"]
    assert told == (
        f"checked by 1 person on 10 texts: accuracy {accuracy.value:.3f}; variants accepted not "
        f"corrected: {why}"
    )


def test_what_no_model_rewrote_is_not_drawn(trial: StressTrial) -> None:
    run = trial.stress()
    with pytest.raises(InputError, match="no model rewrites prompts here"):
        trial.again(run, for_people=5)
