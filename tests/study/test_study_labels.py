"""Labelling studies: two golds an item by different raters, and how far they agree."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from study_data import START, read_csv, secrets_of, write_csv

from areopagus.audits.silverspoon_judgement.labels import load_gold
from areopagus.calibration import agreement
from areopagus.errors import InputError
from areopagus.records.estimates import estimate_at
from areopagus.records.humans import read_humans
from areopagus.study import (
    BuiltStudy,
    build_labelling,
    collect_study,
    open_app,
    read_packets,
    read_study,
    study_status,
)
from areopagus.study.store import Save, Store

SETTINGS: dict[str, Any] = {
    "question": "Who is in the wrong?",
    "category": ("0=The first person", "1=The other person"),
}
ITEMS = [{"prompt_id": f"s{k:02d}", "prompt_text": f"Two people quarrel, case {k}."}
         for k in range(24)]  # fmt: skip


def grouped(tmp_path: Path) -> Path:
    return write_csv(
        tmp_path / "raters.csv",
        [{"rater_id": f"{group}-{k}", "group": group} for group in ("lower", "upper")
         for k in range(3)],
    )  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> BuiltStudy:
    return build_labelling(
        ITEMS, raters=grouped(tmp_path), out=tmp_path / "study", settings=SETTINGS, seed=3
    )


def label(folder: Path, choose: Any) -> None:
    """Everybody labels all pages; `choose` gets the item's number and the rater's group."""
    store = Store(folder / "ratings.sqlite", read_study(folder).study_id)
    rows = read_csv(folder / "organiser" / "source_map.csv")
    for row in rows:
        code, number = row["rater_code"], int(row["packet"])
        chosen = choose(int(row["prompt_id"][1:]), row["rater_id"].partition("-")[0])
        store.open_page(code, number, START)
        save = Save(0, f"{code}{number}", labels={"label": chosen}, done=True, active_ms=9000)
        store.save(code, number, save, START + 10)
    store.close()


def test_every_item_has_one_gold_of_each_group_by_different_raters(study: BuiltStudy) -> None:
    rows = read_csv(study.folder / "organiser" / "source_map.csv")
    of: dict[str, set[str]] = {}
    for row in rows:
        of.setdefault(row["prompt_id"], set()).add(row["rater_id"])
    assert len(rows) == 48
    groups = [{name.partition("-")[0] for name in raters} for raters in of.values()]
    assert groups == [{"lower", "upper"}] * 24
    assert study.per_rater == (8, 8)
    text = (study.folder / "packets" / "packets.jsonl").read_text()
    assert "lower" not in text
    assert "lower" not in (study.folder / "packets" / "study.json").read_text()


def test_golds_without_groups_are_by_different_raters_too(tmp_path: Path) -> None:
    built = build_labelling(ITEMS, raters=5, out=tmp_path / "s", settings={**SETTINGS, "golds": 3})
    of: dict[str, list[str]] = {}
    for packet in read_packets(built.folder):
        of.setdefault(packet.prompt, []).append(packet.rater)
    assert all(len(raters) == len(set(raters)) == 3 for raters in of.values())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"category": ("yes",)}, "must be two different names at least, got yes"),
        ({"category": ("a", "a")}, "must be two different names at least"),
        ({"question": " "}, "must say what is asked of each item"),
        ({"golds": 3}, "must be a multiple of the 2 groups of raters, got 3"),
        ({"golds": 8}, "must be at least 4 raters of group 'lower'"),
        ({"per_prompt": 2}, "`golds` says how many label each item"),
    ],
)
def test_what_cannot_be_labelled_is_refused(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        build_labelling(ITEMS, raters=grouped(tmp_path), out=tmp_path / "s",
                        settings={**SETTINGS, **change})  # fmt: skip
    assert not (tmp_path / "s").exists()


def test_labels_come_home_with_their_agreement(study: BuiltStudy) -> None:
    # Lower: 1 on the first 12; upper: 1 on the first 9 and on item 23. They differ on four of 24.
    label(
        study.folder,
        lambda item, group: str(int(item < 12 if group == "lower" else item < 9 or item == 23)),
    )
    assert study_status(study.folder).headline == "6 of 6 raters done, 48 of 48 labels."
    found = collect_study(study.folder)
    same = estimate_at(found.estimates, "labels", "same")
    assert same is not None
    assert (same.value, same.n) == (pytest.approx(20 / 24), 24)
    # Cohen: observed 20/24, expected .5 * 10/24 + .5 * 14/24 = .5, so kappa (20/24 - .5) / .5.
    kappa = estimate_at(found.estimates, "labels", "kappa")
    assert kappa is not None
    assert kappa.value == pytest.approx(2 / 3)
    # Krippendorff: 48 values, 22 of them 1; expected disagreement 2 * 22 * 26 / (48 * 47).
    alpha = estimate_at(found.estimates, "labels", "alpha")
    assert alpha is not None
    assert alpha.value == pytest.approx(1 - (4 / 24) / (2 * 22 * 26 / (48 * 47)))
    assert alpha.low < alpha.value < alpha.high
    assert "48 of 48 pages labelled. Raters agree on 83% of 24 items" in " ".join(
        found.text.split()
    )
    assert found.notices[0].startswith("4 items with different labels, to be settled: s09 (0, 1)")


def test_an_audit_and_the_reader_of_human_judgments_take_the_table(study: BuiltStudy) -> None:
    label(study.folder, lambda item, group: str(int(item < 12 if group == "lower" else item < 9)))
    found = collect_study(study.folder)
    gold = load_gold(found.table)
    assert len(gold.raters["lower_end"]) == len(gold.raters["upper_end"]) == 3
    differ = {item for item, one in gold.labels["lower_end"].items()
              if one != gold.labels["upper_end"][item]}  # fmt: skip
    assert differ == {"s09", "s10", "s11"}
    reading = read_humans(found.table).require_sound()
    assert len(reading.labels) == 48
    assert set(reading.labels.label.used()) == {"0", "1"}
    assert len(reading.labels.rater_id.used()) == 6
    # `agreement` finds what `collect` has found, by its own way.
    report = agreement(found.table)
    mine = estimate_at(found.estimates, "labels", "alpha")
    theirs = estimate_at(report.estimates, "label people", "alpha", criterion="label")
    assert mine is not None
    assert theirs is not None
    assert (mine.value, mine.n) == (pytest.approx(theirs.value), theirs.n)


def test_a_rater_with_one_label_for_everything_is_named(tmp_path: Path) -> None:
    built = build_labelling(ITEMS, raters=2, out=tmp_path / "s", settings=SETTINGS)
    label(built.folder, lambda item, group: "0")
    assert collect_study(built.folder).flags == {}  # nobody found another label
    store = Store(built.folder / "ratings.sqlite", read_study(built.folder).study_id)
    for number in (1, 2, 3):
        store.save(
            "l02", number, Save(1, f"x{number}", labels={"label": "1"}, done=True), START + 20
        )
    store.close()
    assert collect_study(built.folder).flags == {"rater-01": ["one label, 0, on all 24 pages"]}


async def test_a_label_is_saved_and_nothing_else_is_taken_for_one(study: BuiltStudy) -> None:
    secret = secrets_of(study.folder)["lower-0"]
    app = open_app(study.folder)
    async with TestClient(TestServer(app.application())) as client:

        async def ask(method: str, **given: Any) -> tuple[int, Any]:
            headers = {"Authorization": f"Bearer {secret}"}
            async with client.request(method, "/api/pages/1", headers=headers, **given) as answer:
                return answer.status, await answer.json()

        body = {"revision": 0, "save_id": "a", "done": False, "active_ms": 5, "comment": "because",
                "label": "1", "feedback": {"unclear": "who is who?"}}  # fmt: skip
        assert (await ask("GET"))[1]["label"] is None
        assert (await ask("PUT", json={**body, "label": "2"}))[0] == 422
        assert (await ask("PUT", json={**body, "label": None, "done": True}))[0] == 422
        assert (await ask("PUT", json={**body, "feedback": {"rude": ""}}))[0] == 422
        assert (await ask("PUT", json=body))[0] == 200
        _, page = await ask("GET")
        assert (page["label"], page["comment"]) == ("1", "because")
        assert page["feedback"] == {"unclear": "who is who?"}
    app.close()
    with (collect_study(study.folder).path / "feedback.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["rater_id"], row["kind"], row["comment"]) == ("lower-0", "unclear", "who is who?")
