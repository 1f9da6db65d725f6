"""People check what an audit has read: a blind sheet, agreement, and rates by people's labels."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus import InputError, check_readings
from areopagus.aggregation.estimate import Estimate
from areopagus.auditing import AuditRun, audit
from areopagus.checked import check_estimates
from areopagus.records.estimates import estimate_at, select
from areopagus.records.readings import MachineReading, PeopleLabels, Rate, Readings
from areopagus.reports.text import render_text

sys.path.insert(0, str(Path(__file__).parents[1] / "audits"))
from audit_runs import audited
from socioeval_world import SocioEvalWorld

from areopagus.audits.socioeval.audit import BIASED

Row = Mapping[str, str]


def rows_of(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def filled(sheet: Path, out: Path, label: Callable[[Row], str], rows: Iterable[Row] = ()) -> Path:
    """The sheet as a person hands it back."""
    lines = [{**row, "label": label(row)} for row in rows or rows_of(sheet)]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return out


def checked(run: AuditRun, measure: str, **keys: str | None) -> Estimate:
    found = estimate_at(run.estimates, "checks", measure, **keys)
    assert found is not None, (measure, keys)
    return found


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.report
def test_a_reader_who_errs_is_corrected_by_two_hundred_labels(rate: float, tmp_path: Path) -> None:
    """About .163 is found where the truth is 0; and a rate that is there."""
    world = SocioEvalWorld({"target": rate}, judge_error=0.47, seed=3)
    run = audited(
        "socioeval", world.provider, ["target"], tmp_path, n_judges=1, sample=220, for_people=200,
    )  # fmt: skip
    sheet = run.path / "for_people.csv"
    rows = rows_of(sheet)
    assert len({row["item_id"] for row in rows}) == 200
    # one person labels as it is, another errs in one of twenty
    one = filled(
        sheet, tmp_path / "ada.csv", lambda row: world.category("target", row["prompt_text"])
    )
    drawn = np.random.default_rng(0).random(200) < 0.05
    slips = {row["item_id"] for row, is_one in zip(rows, drawn, strict=True) if is_one}
    two = filled(
        sheet, tmp_path / "bo.csv",
        lambda row: "refusal" if row["item_id"] in slips
        else world.category("target", row["prompt_text"]),
    )  # fmt: skip
    found = check_readings(run.path, one, two)
    assert isinstance(found, AuditRun)
    truth = np.mean(
        [world.category("target", row["prompt_text"]) in BIASED
         for row in run.answers.rows("prompt_text")]
    )  # fmt: skip
    raw, corrected = (
        checked(found, name, factor="rate", detail="bias rate", respondent=None)
        for name in ("raw", "corrected")
    )
    printed = estimate_at(found.estimates, "outcomes", "bias_rate", respondent="target")
    assert printed is not None
    assert raw.value == pytest.approx(printed.value)
    assert corrected.low <= truth <= corrected.high
    assert corrected.unit == "template"
    if rate == 0:
        assert truth == 0
        assert raw.value == pytest.approx(0.163, abs=0.03)
        assert raw.low > 0.1, "the raw rate is far from the truth"
        assert corrected.high < 0.12
    accuracy = checked(found, "accuracy", factor="readings", criterion="category")
    assert 0.4 < accuracy.low < accuracy.value < accuracy.high < 0.9
    assert checked(found, "agreement", factor="people").value > 0.9
    told = dict(found.document().trust)["readings"]
    assert f"checked by 2 people on 200 texts: accuracy {accuracy.value:.3f} [" in told
    assert f"bias rate {raw.value:.3f} → {corrected.value:.3f} [" in told
    # nothing came back of the other sheet, which is there where anything was chosen
    assert ("; choice not checked by people: " in told) == (rate > 0)
    assert "Readings checked by people" in (found.path / "report.txt").read_text(encoding="utf-8")
    assert max(map(len, render_text(found.document(), full=True))) <= 80


def samaritan(tmp_path: Path, **more: Any) -> AuditRun:
    return audit(
        "samaritan", limit=60, out=tmp_path / "run",
        ledger=tmp_path / "l.sqlite", **more,
    )  # fmt: skip


def test_numbers_are_drawn_blind_and_what_people_read_is_compared(tmp_path: Path) -> None:
    first = samaritan(tmp_path)
    assert dict(first.document().trust)["readings"].endswith("; not checked by people")
    run = samaritan(tmp_path, for_people=20)
    assert run.record["sessions"][-1]["calls"]["sent"] == 0, "nobody is asked again"
    waiting = "not checked by people: 20 texts, drawn at random (seed 0), wait in for_people.csv"
    assert dict(run.document().trust)["readings"].endswith(waiting)
    sheet = run.path / "for_people.csv"
    rows = rows_of(sheet)
    assert list(rows[0]) == [
        "item_id", "prompt_text", "response_text", "question", "categories", "label"
    ]  # fmt: skip
    assert len(rows) == len({row["item_id"] for row in rows}) == 20
    assert {row["label"] for row in rows} == {""}
    assert "offline" not in str(rows), "nobody sees who answered"
    # One person reads all as they are but five, a second agrees with the first on all but two.
    right = {row["item_id"]: float(row["response_text"]) for row in rows}
    off = [row["item_id"] for row in rows]
    one = {item: right[item] + (off.index(item) < 5) for item in off}
    two = {item: one[item] + 3 * (off.index(item) in (0, 9)) for item in off}
    found = check_readings(
        run.path,
        filled(sheet, tmp_path / "a.csv", lambda row: f"{one[row['item_id']]:g}"),
        filled(sheet, tmp_path / "b.csv", lambda row: f"{two[row['item_id']]:.1f}"),
    )
    assert isinstance(found, AuditRun)
    same = checked(found, "accuracy", factor="readings")
    assert same.value == pytest.approx((2 * 20 - 2 * 5 - 1) / 40), "each person counts one half"
    among = checked(found, "agreement", factor="people")
    assert among.value == pytest.approx(0.9)
    # what was checked outlives another run of the same command
    again = samaritan(tmp_path)
    assert checked(again, "accuracy", factor="readings").value == same.value


def test_a_larger_sheet_holds_the_smaller_and_another_seed_is_another_draw(tmp_path: Path) -> None:
    run = samaritan(tmp_path)
    drawn = {}
    for n, seed in ((5, 0), (15, 0), (5, 1)):
        run.record["config"]["seed"] = seed
        drawn[n, seed] = [row["item_id"] for row in rows_of(run.draw_for_people(n)[0])]
    assert drawn[15, 0][:5] == drawn[5, 0]
    assert set(drawn[5, 1]) != set(drawn[5, 0])
    # what somebody has written into the sheet is not lost by another draw
    run.record["config"]["seed"] = 0
    filled(run.draw_for_people(5)[0], run.path / "for_people.csv", lambda row: "50")
    assert [row["label"] for row in rows_of(run.draw_for_people(8)[0])] == ["50"] * 5 + [""] * 3
    run.record["config"]["seed"] = 1
    run.draw_for_people(5)
    before = rows_of(run.path / "for_people_before.csv")
    assert [row["item_id"] for row in before if row["label"]] == drawn[5, 0]


def test_two_files_of_one_name_are_two_people(tmp_path: Path) -> None:
    run = samaritan(tmp_path, for_people=4)
    sheet = run.path / "for_people.csv"
    back = []
    for k, who in enumerate(("ada", "bo")):
        (tmp_path / who).mkdir()
        back.append(filled(sheet, tmp_path / who / "sheet.csv", lambda row, k=k: str(40 + k)))
    found = check_readings(run.path, *back)
    assert isinstance(found, AuditRun)
    assert checked(found, "n_people", factor="readings").value == 2
    assert checked(found, "agreement", factor="people").value == 0


def test_what_does_not_fit_is_named_and_nothing_is_lost_silently(tmp_path: Path) -> None:
    run = samaritan(tmp_path, for_people=8)
    sheet = run.path / "for_people.csv"
    rows = rows_of(sheet)
    item = rows[0]["item_id"]
    back = tmp_path / "back.csv"
    for text, message in (
        ("item_id,mark\nx,3\n", "has no column label"),
        ("item_id,label\nx,3\n", "holds no label of anything that was read here"),
        (f"item_id,label\n{item},3\n{item},4\n", "is labelled twice by one person, 3 and 4"),
    ):
        back.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            check_readings(run.path, back)
    lines = [f"{row['item_id']},{row['response_text']}" for row in rows[:6]]
    lines += [f"{rows[6]['item_id']},NA", f"{rows[7]['item_id']},", lines[0], "elsewhere,3"]
    back.write_text("item_id,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    found = check_readings(run.path, back)
    assert isinstance(found, AuditRun)
    items = checked(found, "n_items", factor="readings")
    assert (items.n, items.n_planned) == (6, 8)
    assert checked(found, "n_unknown", factor="readings").value == 1
    text = " ".join(found.text.split())
    assert "6 of 8 texts drawn at random (seed 0) were labelled" in text
    assert "1 label given twice by one person, and counted once" in text
    assert "1 label of texts that were not read here, and left out" in text
    bare = audit("hidden-bias", limit=4, out=tmp_path / "bare", ledger=tmp_path / "l.sqlite")
    with pytest.raises(InputError, match="has no reading that people could check"):
        check_readings(bare.path, back)
    with pytest.raises(InputError, match="names no column that people could check"):
        audit("hidden-bias", limit=4, for_people=5, ledger=tmp_path / "l.sqlite")


def coins(shares: Mapping[str, float], n: int, errs: float, seed: int = 0) -> tuple[Any, ...]:
    """Readings of two makers' coins, of which the reader takes so many tails for heads."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for maker, share in shares.items():
        for k in range(n):
            is_heads = rng.random() < share
            read = "heads" if is_heads or rng.random() < errs else "tails"
            rows.append(MachineReading((f"{maker} {k}",), read, f"unit {k // 2}", (maker,)))
            truth[f"{maker} {k}"] = "heads" if is_heads else "tails"
    readings = Readings(
        "Which side?", {"heads": "", "tails": ""}, ("coin",), "unit", ("respondent",),
        (Rate("heads", frozenset(["heads"])),), lambda: iter(rows),
    )  # fmt: skip
    return readings, {readings.item_id(one): truth[one.texts[0]] for one in rows}


def labelled(truth: Mapping[str, str], items: Sequence[str]) -> PeopleLabels:
    return PeopleLabels({item: {"ada": truth[item]} for item in items})


def test_rates_of_groups_are_corrected_where_enough_was_checked() -> None:
    readings, truth = coins({"mint": 0.2, "forge": 0.6}, 400, 0.15)
    names = [readings.item_id(one) for one in readings.rows()]
    drawn = np.random.default_rng(1).permutation(400)
    few = [names[k] for k in drawn[:190]] + [names[400 + k] for k in drawn[:20]]
    found = check_estimates([readings], labelled(truth, few), [frozenset(few)]).frame()

    def rate(measure: str, whose: str | None) -> Estimate:
        one = estimate_at(found, "checks", measure, factor="rate", respondent=whose)
        assert one is not None
        return one

    of_mint = np.mean([truth[name] == "heads" for name in names[:400]])
    assert rate("corrected", "mint").low <= of_mint <= rate("corrected", "mint").high
    assert rate("raw", "mint").value == np.mean(
        [one.label == "heads" for one in readings.rows() if one.group == ("mint",)]
    )
    none = rate("corrected", "forge")
    assert not none.is_defined
    assert none.reason == "20 of its texts were checked: a corrected rate needs 30"
    assert rate("corrected", None).is_defined


def test_without_the_sheet_or_a_draw_no_rate_is_corrected() -> None:
    readings, truth = coins({"mint": 0.3}, 200, 0.1)
    names = [readings.item_id(one) for one in readings.rows()]
    given = labelled(truth, names[:80])
    lost = check_estimates([readings], given, [None]).frame()
    why = estimate_at(lost, "checks", "corrected", factor="rate")
    assert why is not None
    assert why.reason == "for_people.csv is not in the folder: how they were drawn is not known"
    # labels beside the sheet say how good the reader is, and nothing of rates
    other = check_estimates([readings], given, [frozenset(names[60:])]).frame()
    assert estimate_at(other, "checks", "n_checked", factor="rate").value == 20  # type: ignore[union-attr]
    assert estimate_at(other, "checks", "n_not_drawn", factor="readings").value == 60  # type: ignore[union-attr]
    assert estimate_at(other, "checks", "accuracy", factor="readings").is_defined  # type: ignore[union-attr]


def test_one_text_that_many_answers_share_is_labelled_once_and_counts_for_each() -> None:
    rows = [MachineReading((f"text {k // 3}",), "heads", f"unit {k // 3}") for k in range(180)]
    readings, _ = coins({"mint": 0.5}, 2, 0.0)
    shared = Readings(
        readings.question, readings.categories, ("coin",), "unit", ("respondent",), readings.rates,
        lambda: iter(rows),
    )  # fmt: skip
    items = list(dict.fromkeys(map(shared.item_id, rows)))
    half = {item: ("heads" if k % 2 else "tails") for k, item in enumerate(items[:40])}
    found = check_estimates([shared], labelled(half, list(half)), [frozenset(half)]).frame()
    n = estimate_at(found, "checks", "n_checked", factor="rate")
    corrected = estimate_at(found, "checks", "corrected", factor="rate")
    assert n is not None
    assert corrected is not None
    assert (n.value, corrected.value) == (40, 0.5)
    table = select(found, "checks", factor="confusion")
    assert table["value"].sum() == 40


def test_an_audit_of_ones_own_names_its_reading_by_a_column_or_in_words(tmp_path: Path) -> None:
    def sheet_of(name: str, people: str) -> dict[str, str]:
        toy = shutil.copytree(Path(__file__).parent / "toy_audit", tmp_path / name)
        with (toy / "audit.yaml").open("a", encoding="utf-8") as file:
            file.write(f"people: {people}\n")
        run = audit(toy, out=tmp_path / "run", ledger=tmp_path / "l.sqlite", for_people=9)
        rows = rows_of(run.path / "for_people.csv")
        assert len(rows) == 6, "all that there are"
        return rows[0]

    plain = sheet_of("one", "side")
    assert (plain["question"], plain["categories"]) == (
        "What does the answer say?",
        "heads | tails",
    )
    asked = sheet_of(
        "two", '{of: side, question: "Which side?", categories: {heads: a face, tails: ""}}'
    )
    assert (asked["question"], asked["categories"]) == ("Which side?", "heads: a face | tails")
    with pytest.raises(InputError, match="no outcome is called luck"):
        sheet_of("three", "{of: side, rates: {luck: [heads]}}")
