"""How far a study is: by what the server saved, and without a word written to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from in_process import areopagus
from study_data import START, by_quality, rate, study_rows

from areopagus.errors import InputError
from areopagus.reports.text import render_text
from areopagus.study import BuiltStudy, build_study, build_writing, read_study, study_status
from areopagus.study.store import Save, Store
from areopagus.view.listing import Listing

HOUR = 3600.0


def test_who_is_done_who_has_begun_and_what_is_missing(built: BuiltStudy) -> None:
    rate(built.folder, raters=("r01", "r02"))
    # r03 scores half of the criteria of everything, r04 looks at one page.
    rate(
        built.folder,
        lambda code, number, row, place: (
            by_quality(code, number, row, place) if place < 3 else None
        ),
        raters=("r03",),
    )
    store = Store(built.folder / "ratings.sqlite", read_study(built.folder).study_id)
    store.open_page("r04", 1, START)
    store.close()
    found = study_status(built.folder, clock=lambda: START + 600 + 2 * HOUR)
    # 6 raters x 8 pages x 6 responses, of which two raters scored all
    assert found.headline == "2 of 6 raters done, 96 of 288 ratings."
    assert [one.state for one in found.raters] == [
        "done", "done", "begun", "begun", "not begun", "not begun"
    ]  # fmt: skip
    assert not found.is_complete
    assert found.lacking["p0"] == (2, 6)
    assert all(one.flags == () for one in found.raters)
    text = "\n".join(render_text(found.document()))
    assert "2 at it, 2 not begun." in text
    assert "rater-03 (0 of 8), rater-04 (0 of 8)" in text
    assert "rater-05, rater-06" in text
    assert max(map(len, render_text(found.document(), full=True))) <= 80
    rows = found.estimates.frame().query("rater == 'rater-01'").set_index("measure")
    assert rows.loc["minutes", "value"] == pytest.approx(10)
    assert rows.loc["minutes_in_all", "value"] == pytest.approx(80)
    assert rows.loc["hours_since", "value"] == pytest.approx(2)


def test_careless_raters_are_named_while_the_study_runs(built: BuiltStudy) -> None:
    rate(built.folder, lambda code, number, row, place: 7, raters=("r01",))
    rate(built.folder, seconds=2, raters=("r02",))
    rate(built.folder, raters=("r03", "r04"))
    found = study_status(built.folder)
    flags = {one.rater: "; ".join(one.flags) for one in found.raters if one.flags}
    assert set(flags) == {"rater-01", "rater-02"}
    assert "all responses alike on 8 of 8 pages" in flags["rater-01"]
    assert flags["rater-02"] == "faster than can be read on 8 of 8 pages"


def test_nothing_is_written_and_nothing_but_packets_and_store_is_needed(
    built: BuiltStudy,
) -> None:
    rate(built.folder, raters=("r01",))
    shutil.rmtree(built.folder / "organiser")

    def files() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in built.folder.rglob("*") if p.is_file()}

    before = files()
    found = study_status(built.folder)
    assert files() == before
    assert (found.raters[0].rater, found.raters[0].state) == ("r01", "done")
    # A server that is at work has a log beside the store, which is read too.
    store = Store(built.folder / "ratings.sqlite", read_study(built.folder).study_id)
    store.open_page("r02", 1, START)
    store.save("r02", 1, Save(0, "x", done=True), START + 1)
    assert study_status(built.folder).raters[1].n_done == 1
    store.close()


def test_before_anybody_came_and_where_no_study_is(built: BuiltStudy, tmp_path: Path) -> None:
    found = study_status(built.folder)
    assert found.headline == "0 of 6 raters done, 0 of 288 ratings."
    assert found.notices == ("nobody has opened a page yet (ratings.sqlite holds none)",)
    with pytest.raises(InputError, match="is not a study"):
        study_status(tmp_path)
    (built.folder / "ratings.sqlite").write_text("no store at all, but long enough to look so")
    with pytest.raises(InputError, match="is not a store"):
        study_status(built.folder)


def test_writers_hand_in_responses(tmp_path: Path) -> None:
    prompts = [{"prompt_id": f"p{k}", "prompt_text": f"Why {k}?"} for k in range(3)]
    built = build_writing(prompts, writers=2, out=tmp_path / "w", settings={"minutes": 10})
    store = Store(built.folder / "ratings.sqlite", read_study(built.folder).study_id)
    store.open_page("w01", 1, START)
    store.save("w01", 1, Save(0, "a", text="Because.", done=True), START + 60)
    store.close()
    found = study_status(built.folder, clock=lambda: START + 120)
    assert found.headline == "0 of 2 writers done, 1 of 6 responses."


def test_the_command_prints_it_and_gives_every_figure(built: BuiltStudy, tmp_path: Path) -> None:
    rate(built.folder)
    shown = areopagus("study", "status", built.folder, folder=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.lstrip().startswith("6 of 6 raters done, 288 of 288 ratings.")
    file = tmp_path / "status.json"
    areopagus("study", "status", built.folder, "--json", file, folder=tmp_path)
    rows = json.loads(file.read_text())["estimates"]
    (done,) = [row for row in rows if row["measure"] == "raters_done"]
    assert (done["n"], done["n_planned"]) == (6, 6)


def test_the_view_lists_a_study_with_its_state_and_first_line(tmp_path: Path) -> None:
    built = build_study(
        [study_rows(prompts=2, calibration=False)], raters=2, out=tmp_path / "runs" / "mine"
    )
    listing = Listing(tmp_path / "runs")

    def row() -> tuple[str, str, str]:
        listing.refresh()
        while listing.read_next():
            pass
        (found,) = listing.runs
        return found.kind, found.state, found.headline[0]

    assert row() == ("study", "open", "0 of 2 raters done, 0 of 24 ratings.")
    rate(built.folder, raters=("r01",))
    assert row() == ("study", "open", "1 of 2 raters done, 12 of 24 ratings.")
    rate(built.folder, raters=("r02",))
    assert row() == ("study", "complete", "2 of 2 raters done, 24 of 24 ratings.")
