"""What a job draws for people is a labelling study, whose labels come home to the job."""

from __future__ import annotations

from pathlib import Path

from study_data import START, read_csv

from areopagus import check_readings
from areopagus.auditing import audit
from areopagus.records.estimates import estimate_at
from areopagus.study import build_labelling, collect_study, read_study
from areopagus.study.store import Save, Store

AUDIT = """\
name: loans
title: Loans
about: whether a bank lends
factors: {who: {a: Ann, b: Bo}}
material:
  - {id: van, text: "{who} needs a van."}
  - {id: roof, text: "{who} needs a roof."}
  - {id: farm, text: "{who} needs a field."}
ask: "{text} Should the bank lend?"
read: {options: [lend, refuse]}
outcomes: {lent: {title: share lent, of: answer, values: [lend]}}
"""


def test_texts_drawn_are_labelled_in_a_study_and_its_labels_are_taken(tmp_path: Path) -> None:
    own = tmp_path / "loans"
    own.mkdir()
    (own / "audit.yaml").write_text(AUDIT, encoding="utf-8")
    run = audit(own, out=tmp_path / "run", ledger=tmp_path / "l.sqlite", for_people=8)
    built = build_labelling(
        run.path / "for_study.csv", raters=2, out=tmp_path / "study", settings={"golds": 2}
    )
    study = read_study(built.folder)
    assert study.question == "What does the answer say?"
    assert [one.name for one in study.categories] == ["lend", "refuse"]
    read = {row["item_id"]: row["response_text"] for row in read_csv(run.path / "for_people.csv")}
    assert len(read) == 8
    store = Store(built.folder / "ratings.sqlite", study.study_id)
    for row in read_csv(built.folder / "organiser" / "source_map.csv"):
        code, number = row["rater_code"], int(row["packet"])
        assert row["prompt_text"].startswith("PROMPT:\n")
        label = "lend" if "lend" in read[row["prompt_id"]] else "refuse"
        store.open_page(code, number, START)
        save = Save(0, f"{code}{number}", labels={study.criterion: label}, done=True)
        store.save(code, number, save, START + 10)
    store.close()
    collect_study(built.folder)
    found = check_readings(run.path, built.folder / "collected" / "labels.csv")
    for name, factor, value in (
        ("accuracy", "readings", 1), ("n_people", "readings", 2), ("agreement", "people", 1),
    ):  # fmt: skip
        figure = estimate_at(found.estimates, "checks", name, factor=factor)
        assert figure is not None
        assert figure.value == value
