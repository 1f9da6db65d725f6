"""The way back: unblinded to the last score, checked, and read by `calibrate` as it is."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from study_data import START, by_quality, quality_of, rate, read_csv, truth_of, write_csv

from areopagus.calibration import agreement
from areopagus.errors import InputError
from areopagus.records import ResponseSource
from areopagus.records.estimates import estimate_at, estimate_of, estimates_by, select
from areopagus.records.humans import read_humans
from areopagus.records.humans.match import off_scale
from areopagus.reports.text import render_text
from areopagus.study import (
    BuiltStudy,
    RatingSettings,
    StudyCollection,
    WritingSettings,
    build_study,
    build_writing,
    collect_study,
    export_packets,
    read_packets,
    read_study,
)
from areopagus.study.store import Save, Store


class Collected(NamedTuple):
    """A study that came back whole."""

    folder: Path
    found: StudyCollection


@pytest.fixture(scope="module")
def whole(built_once: BuiltStudy, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    """Rated by everybody as `by_quality`, with a remark that acts; to be read only."""
    folder = Path(shutil.copytree(built_once.folder, tmp_path_factory.mktemp("whole") / "study"))
    rate(folder, comment="=HYPERLINK(1) B beats A")
    return Collected(folder, collect_study(folder))


def scores_of(found: StudyCollection) -> set[tuple[Any, ...]]:
    names = ("rater_id", "prompt_id", "response_id", "criterion", "kind", "value")
    return {tuple(row[name] for name in names) for row in found.rows}


def pages_of(found: StudyCollection) -> tuple[int, int | None]:
    """Pages scored whole or handed in, and pages planned."""
    row = select(found.estimates, "study").iloc[0].to_dict()
    return estimate_of(row).n, estimate_of(row).n_planned


def remarks_of(found: StudyCollection) -> set[Any]:
    return {row["comment"] for row in found.rows if row["kind"] == "rank"}


def test_every_score_finds_its_response_and_places_share_the_best_rank_of_a_tie(
    whole: Collected,
) -> None:
    folder, found = whole
    assert pages_of(found) == (48, 48)
    # 48 pages x 6 responses x (5 criteria + 1 place)
    assert len(found.rows) == 48 * 6 * 6
    codes = {row["rater_id"]: row["rater_code"]
             for row in read_csv(folder / "organiser" / "raters.csv")}  # fmt: skip
    names = read_study(folder).rubric.dimension_ids  # type: ignore[union-attr]
    for row in read_csv(folder / "collected" / "ratings.csv"):
        assert row["duration_s"] == "600.0"
        if row["kind"] == "score":
            place = names.index(row["criterion"])
            assert int(row["value"]) == by_quality(codes[row["rater_id"]], 0, row, place)
    # Qualities on a page by hand: models 6, 7, 8; people among 4, 5, 6, 4, 5 by number mod 3.
    page = [row for row in found.rows if row["kind"] == "rank"
            and (row["rater_id"], row["prompt_id"]) == ("rater-01", "p0")]  # fmt: skip
    qualities = [quality_of(str(row["response_id"])) for row in page]
    for row, mine in zip(page, qualities, strict=True):
        assert int(row["value"]) == 1 + sum(other > mine for other in qualities)
        assert row["criterion"] == "overall"
    # What was rated is what the panel is given to score.
    with ResponseSource(folder / "organiser" / "responses.csv") as opened:
        opened.check()
        assert {row.response_id for row in opened.rows()} == {
            row["response_id"] for row in found.rows
        }


def test_calibrate_reads_the_table_as_it_is(whole: Collected) -> None:
    assert whole.found.table is not None
    reading = read_humans(whole.found.table)
    assert reading.n_faults == 0
    # 6 standard prompts and 2 calibration items, 6 raters, 6 responses, 5 scores and a place each
    assert (len(reading.table), len(reading.calibration)) == (6 * 6 * 6 * 6, 2 * 6 * 6 * 6)
    assert set(reading.calibration.item_type.used()) == {"quality_floor", "all_models"}
    report = agreement(reading, scale=(1, 10))
    tau = estimate_at(report.estimates, "people", "tau", criterion="overall", detail="rank")
    assert tau is not None
    assert tau.value == pytest.approx(1.0)
    items = select(report.estimates, "calibration items", criterion="overall", detail="rank")
    assert set(items["group"]) == {"quality floor", "all models"}
    (last,) = items[items["measure"] == "floor_last"].to_dict("records")
    assert (last["verdict"], last["value"]) == ("p6-w", 1.0)


def test_the_scale_is_known_from_the_study_and_a_stated_one_goes_before_it(
    whole: Collected, tmp_path: Path
) -> None:
    table = whole.found.table
    assert read_humans(table).scale == (1.0, 10.0)
    assert read_humans(table, scale=(1, 5)).scale == (1, 5)
    report = agreement(table)
    assert "no scale is known" not in report.text
    # A score off the scale is found without anybody stating it.
    copied = Path(shutil.copytree(table.parent, tmp_path / "collected"))
    text = (copied / "ratings.csv").read_text()
    (copied / "ratings.csv").write_text(text.replace(",score,7,", ",score,17,", 1))
    reading = read_humans(copied / "ratings.csv")
    assert int(off_scale(reading.table, reading.scale).sum()) == 1
    # Elsewhere, and beside a run of something else, nobody knows.
    (copied / "ratings.csv").rename(copied / "other.csv")
    assert read_humans(copied / "other.csv").scale is None


def test_nothing_is_said_of_good_raters(whole: Collected) -> None:
    found = whole.found
    assert (found.flags, found.notices) == ({}, ())
    raters = [figures for _, figures in estimates_by(select(found.estimates, "raters"), ["rater"])]
    assert len(raters) == 6
    assert {(one["weak_last"].n, one["weak_last"].n_planned) for one in raters} == {(1, 1)}
    assert {one["minutes"].value for one in raters} == {10}
    # Justifications come back as text, with what their letters meant.
    rows = read_csv(whole.folder / "collected" / "justifications.csv")
    assert len(rows) == 48
    assert rows[0]["comment"] == "'=HYPERLINK(1) B beats A"
    assert rows[0]["letters"].startswith("A = p")


def test_each_kind_of_careless_rater_is_flagged(built: BuiltStudy) -> None:
    def careless(code: str, number: int, row: Mapping[str, Any], place: int) -> int | None:
        if code == "r01":
            return 7  # everything alike
        if code == "r02":
            return quality_of(row["response_id"])  # one score on all criteria
        if code == "r03":
            return 11 - quality_of(row["response_id"]) - place % 2  # upside down
        return by_quality(code, number, row, place)

    rate(built.folder, careless, raters=("r01", "r02", "r03", "r04"))
    rate(built.folder, seconds=2, raters=("r05",))
    found = collect_study(built.folder)
    told = {rater: "; ".join(flags) for rater, flags in found.flags.items()}
    assert "all responses alike on 8 of 8 pages" in told["rater-01"]
    (runs,) = select(found.estimates, "raters", rater="rater-01").query("measure == 'longest_run'")[
        "value"
    ]
    assert runs == 30
    assert "one score on all criteria for 100% of responses" in told["rater-02"]
    assert "put the weak response last on 0 of 1 pages" in told["rater-03"]
    assert "rater-04" not in told
    assert "faster than can be read on 8 of 8 pages" in told["rater-05"]
    assert "incomplete: 0 of 8 pages" in told["rater-06"]
    summary = render_text(found.document())
    assert "40 of 48 pages scored whole." in summary
    assert summary.index(next(one for one in summary if one.startswith("Next:"))) <= 25
    assert max(map(len, render_text(found.document(), full=True))) <= 80


def test_scripted_raters_are_not_all_called_too_fast(built: BuiltStudy) -> None:
    rate(built.folder, seconds=2, raters=("r01", "r02", "r03", "r04"))
    rate(built.folder, seconds=600, raters=("r05",))
    rate(built.folder, seconds=0, raters=("r06",))  # a script that measures no time
    found = collect_study(built.folder)
    assert found.flags == {}
    (notice,) = found.notices
    assert notice.startswith("4 of 5 raters were faster than can be read on most of their pages")
    minutes = found.estimates.query("measure == 'minutes' and rater == 'rater-06'")
    assert list(minutes["reason"]) == ["nothing of this was saved"]
    assert {row["duration_s"] for row in found.rows if row["rater_id"] == "rater-06"} == {""}


def test_a_rater_far_faster_than_the_others_is_named_though_readers_could_be(
    built: BuiltStudy,
) -> None:
    # Pages of some 75 words: 60 s are 75 words a minute, 10 s are 450.
    rate(built.folder, seconds=60, raters=("r01", "r02", "r03", "r04"))
    rate(built.folder, seconds=20, raters=("r05",))
    rate(built.folder, seconds=10, raters=("r06",))
    found = collect_study(built.folder)
    assert found.flags == {"rater-06": ["6.0 times as fast as the others"]}


def test_what_only_models_on_a_page_change_is_described(built: BuiltStudy) -> None:
    rate(
        built.folder, lambda code, number, row, place: 8 if row["item_type"] == "all_models" else 5
    )
    rows = collect_study(built.folder).estimates.query("measure == 'all_models_gap'")
    assert set(rows["value"]) == {3.0}


def test_a_page_scored_in_part_keeps_its_scores_and_gets_no_places(built: BuiltStudy) -> None:
    def partly(code: str, number: int, row: Mapping[str, Any], place: int) -> int | None:
        return None if (number == 2 and row["blinded_label"] == "C" and place == 4) else 6

    rate(built.folder, partly, raters=("r01",))
    found = collect_study(built.folder)
    page = [row for row in found.rows if row["prompt_id"] == truth_of(built.folder)[
        "r01", 2, "A"]["prompt_id"]]  # fmt: skip
    assert len(page) == 29
    assert {row["kind"] for row in page} == {"score"}
    assert any("1 pages are scored in part" in notice for notice in found.notices)
    assert any("no score was given by 5 raters: " in notice for notice in found.notices)


def test_without_ratings_or_the_organisers_folder_nothing_is_unblinded(built: BuiltStudy) -> None:
    with pytest.raises(InputError, match="nothing was saved"):
        collect_study(built.folder)
    rate(built.folder, raters=("r01",))
    (built.folder / "organiser").rename(built.folder.parent / "away")
    with pytest.raises(InputError, match="only the organiser can unblind"):
        collect_study(built.folder)


# Other tools: each brings the scores of `whole` back, in its own form


def scored(folder: Path) -> dict[tuple[str, int, str], dict[str, int | None]]:
    """(rater, page, letter) to the scores of a rater who thinks as `by_quality`."""
    names = read_study(folder).rubric.dimension_ids  # type: ignore[union-attr]
    return {
        at: {name: by_quality(*at[:2], row, place) for place, name in enumerate(names)}
        for at, row in truth_of(folder).items()
    }


def filled(folder: Path) -> list[Path]:
    """The CSV packets, filled in."""
    export_packets(folder, "csv")
    files, given = sorted((folder / "export-csv").glob("*.csv")), scored(folder)
    for file in files:
        rows = read_csv(file)
        for row in rows:
            scores = given[row["rater"], int(row["packet"]), row["label"]]
            row.update(scores, justification=f"page {row['packet']}")
        write_csv(file, rows)
    return files


def test_csv_packets_come_back_with_a_justification_from_either_place(
    built: BuiltStudy, whole: Collected
) -> None:
    files = filled(built.folder)
    found = collect_study(built.folder, files)
    assert scores_of(found) == scores_of(whole.found)
    pages = {f"page {n}" for n in range(1, 9)}
    comments = read_csv(built.folder / "collected" / "justifications.csv")
    assert {row["comment"] for row in comments} == pages
    # Saved without a word, and said in the file.
    rate(built.folder)
    assert remarks_of(collect_study(built.folder, files)) == pages


def test_workbooks_come_back(built: BuiltStudy, whole: Collected) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    written, given = export_packets(built.folder, "xlsx"), scored(built.folder)
    for file in written.files:
        book = openpyxl.load_workbook(file)
        sheet = book.worksheets[0]
        header = [cell.value for cell in sheet[1]]
        for line in range(2, sheet.max_row + 1):
            row = dict(zip(header, (cell.value for cell in sheet[line]), strict=True))
            for name, score in given[row["rater"], row["packet"], row["label"]].items():
                sheet.cell(line, header.index(name) + 1).value = score
        book.save(file)
        book.close()
    assert scores_of(collect_study(built.folder, written.files)) == scores_of(whole.found)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_label_studio_comes_back(built: BuiltStudy, whole: Collected, form: str) -> None:
    """Exports in Label Studio's own shapes, with an annotator id that is not the rater's."""
    export_packets(built.folder, "label-studio")
    files, given = [], scored(built.folder)
    for source in sorted((built.folder / "export-label-studio").glob("r*.json")):
        tasks = json.loads(source.read_text())
        flat: list[dict[str, Any]] = []
        for number, task in enumerate(tasks):
            data = task["data"]
            answers = {
                f"{label}__{name}": value for label in "ABCDEF"
                for name, value in given[data["rater"], int(data["packet"]), label].items()
            }  # fmt: skip
            task["id"] = number
            task["annotations"] = [
                {
                    "id": 900 + number, "completed_by": 4, "lead_time": 61.5,
                    "result": [
                        {"from_name": name, "to_name": "x", "type": "number",
                         "value": {"number": value}}
                        for name, value in answers.items()
                    ] + [{"from_name": "justification", "to_name": "question",
                          "type": "textarea", "value": {"text": ["well argued"]}}],
                }
            ]  # fmt: skip
            flat.append(
                {
                    "annotation_id": 900 + number, "annotator": 4, "id": number,
                    "lead_time": 61.5, "updated_at": "x", "justification": "well argued", **data,
                    **{name: json.dumps([{"number": value}]) for name, value in answers.items()},
                }
            )  # fmt: skip
        file = source.with_name(f"back-{source.stem}.{form}")
        if form == "json":
            file.write_text(json.dumps(tasks))
        else:
            write_csv(file, flat)
        files.append(file)
    found = collect_study(built.folder, files)
    assert scores_of(found) == scores_of(whole.found)
    assert {float(row["duration_s"]) for row in found.rows} == {61.5}
    assert remarks_of(found) == {"well argued"}


def test_qualtrics_comes_back(built: BuiltStudy, whole: Collected) -> None:
    files, given = [], scored(built.folder)
    for code in sorted({rater for rater, _, _ in given}):
        answers: dict[str, Any] = {
            f"P{page}{label}_{place}": score
            for (rater, page, label), scores in given.items() if rater == code
            for place, score in enumerate(scores.values(), 1)
        }  # fmt: skip
        answers |= {f"P{page}WHY": f"because of {page}" for page in range(1, 9)}
        header = [
            "StartDate",
            "Status",
            "Finished",
            "RecordedDate",
            "ResponseId",
            *answers,
            "rater",
        ]
        rows = [
            header,
            ["Start", *(f"text of {name}" for name in header[1:])],
            [json.dumps({"ImportId": name}) for name in header],
            ["d", "Survey Preview", "True", "d", "R_0", *([1] * len(answers)), code],
            ["d", "IP Address", "True", "d", "R_1", *answers.values(), code],
        ]
        files.append(built.folder.parent / f"{code}.csv")
        with files[-1].open("w", newline="") as out:
            csv.writer(out).writerows(rows)
    found = collect_study(built.folder, files)
    assert scores_of(found) == scores_of(whole.found)
    assert remarks_of(found) == {f"because of {n}" for n in range(1, 9)}


def test_a_long_table_of_any_tool_comes_back_by_rater_and_label(
    built: BuiltStudy, whole: Collected
) -> None:
    given = scored(built.folder)
    rows = [
        {"rater_id": row["rater_id"], "prompt_id": row["prompt_id"], "blinded_label": at[2],
         "criterion": name, "score": score}
        for at, row in truth_of(built.folder).items() for name, score in given[at].items()
    ]  # fmt: skip
    file = write_csv(built.folder.parent / "long.csv", rows)
    assert scores_of(collect_study(built.folder, [file])) == scores_of(whole.found)


def test_what_cannot_be_read_is_told_all_at_once(built: BuiltStudy) -> None:
    files = filled(built.folder)
    first, second = read_csv(files[0]), read_csv(files[1])
    first[0]["conceptual_clarity"] = "11"
    first[1]["conceptual_clarity"] = "6.5"
    first[2]["conceptual_clarity"] = "good"
    first[3]["label"] = "Z"
    second[0]["rater"] = "r77"
    write_csv(files[0], first)
    write_csv(files[1], second)
    with pytest.raises(InputError) as caught:
        collect_study(built.folder, [*files[:2], built.folder.parent / "none.csv"])
    told = str(caught.value)
    for part in (f"{files[0]}:2", "got 11", "got 6.5", "must be a number", "label 'Z'", "'r77'",
                 "there is no such file"):  # fmt: skip
        assert part in told, part


def test_two_answers_for_one_page_are_a_fault(built: BuiltStudy) -> None:
    files = filled(built.folder)
    rows = read_csv(files[0])
    copy = write_csv(built.folder.parent / "again.csv", rows)
    assert pages_of(collect_study(built.folder, [files[0], copy]))[0] == 8  # the same: no harm
    rows[0]["conceptual_clarity"] = "1"
    write_csv(copy, rows)
    with pytest.raises(InputError, match="has other scores at"):
        collect_study(built.folder, [files[0], copy])


# Writing


def test_written_responses_are_what_build_and_score_read(tmp_path: Path) -> None:
    prompts = [{"prompt_id": f"q{n}", "prompt_text": f"Why, in case {n}?"} for n in range(2)]
    made = build_writing(prompts, writers=4, out=tmp_path / "w", seed=3,
                         settings=WritingSettings(minutes=30))  # fmt: skip
    store = Store(made.folder / "ratings.sqlite", read_study(made.folder).study_id)
    for packet in read_packets(made.folder):
        store.open_page(packet.rater, packet.number, START)
        text = f"Because {packet.rater} says so — “firmly” — to: {packet.prompt}"
        done = packet.rater != "w04"
        if packet.rater == "w03" and packet.number == 2:
            text = " "
        store.save(packet.rater, packet.number,
                   Save(0, packet.rater + str(packet.number), text=text, done=done,
                        pasted_chars=500 if packet.rater == "w01" else 0), START + 900)  # fmt: skip
    store.close()
    found = collect_study(made.folder)
    assert pages_of(found) == (7, 8)
    told = " ".join(found.notices)
    assert "ran out of time with nothing" in told
    assert "more than half was pasted in: q" in told
    rows = read_csv(made.folder / "collected" / "responses.csv")
    by_writer = {row["respondent_id"]: row for row in rows}
    assert by_writer["writer-01"]["minutes"] == "15.0"
    assert by_writer["writer-04"]["is_timed_out"] == "True"
    assert by_writer["writer-04"]["minutes"] == "30.0"
    with ResponseSource(made.folder / "collected" / "responses.csv") as opened:
        assert opened.check().n_responses == 7
    models = [
        {**prompt, "respondent_id": f"lab/m{n}", "source": "model",
         "response_id": f"{prompt['prompt_id']}-m{n}", "response_text": f"Answer {n}."}
        for prompt in prompts for n in range(3)
    ]  # fmt: skip
    rated = build_study([found.table, models], raters=2, out=tmp_path / "r",
                        settings=RatingSettings())  # fmt: skip
    assert rated.n_packets == 4


def test_writing_that_goes_on_is_counted_as_open(tmp_path: Path) -> None:
    made = build_writing([{"prompt_text": "Why?"}], writers=2, out=tmp_path / "w",
                         settings=WritingSettings(minutes=0))  # fmt: skip
    store = Store(made.folder / "ratings.sqlite", read_study(made.folder).study_id)
    store.open_page("w01", 1, START)
    store.save("w01", 1, Save(0, "a", text="Because"), START + 9)
    store.close()
    found = collect_study(made.folder)
    assert found.rows == []
    assert found.notices == ("2 of 2 pages are not written yet",)
