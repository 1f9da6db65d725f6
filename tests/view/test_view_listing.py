"""What is listed, what of it is read, and what is not followed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from view_world import BROKEN, COPIES, HOSTILE_NAME, changed, copy

from areopagus.any_report import write_any_report
from areopagus.errors import InputError
from areopagus.view import listing as listing_module
from areopagus.view.listing import ListedRun, Listing


def listed(folder: Path) -> dict[str, ListedRun]:
    listing = Listing(folder)
    listing.refresh()
    while listing.read_next():
        pass
    return {run.path: run for run in listing.runs}


@pytest.fixture(scope="module")
def found(world_once: Path) -> dict[str, ListedRun]:
    """What is listed of the folder that nobody changes."""
    return listed(world_once)


def test_every_run_is_listed_with_its_answer_or_with_the_reason(
    found: dict[str, ListedRun],
) -> None:
    whole = {path: run for path, run in found.items() if not run.problem}
    assert {path for path, run in found.items() if run.problem} == set(BROKEN)
    for path, reason in BROKEN.items():
        assert reason in found[path].problem, path
        assert not found[path].has_page
    assert len(whole) >= COPIES + 7
    assert all(run.headline and run.has_page and run.is_read for run in whole.values())
    kinds = {run.kind for run in whole.values()}
    assert {"panel", "stress", "audit", "attack", "calibration"} <= kinds
    pilot = found["pilot"]
    assert pilot.headline[0].startswith("In this demonstration, alder scores higher")
    assert pilot.coverage.startswith("310 scored of 320 planned judgments")
    assert (pilot.personas, pilot.models) == (10, ("offline/lexical",))
    assert pilot.respondents == ("alder", "birch", "cedar", "dogwood")
    assert (pilot.cost_usd, pilot.is_demonstration, pilot.is_comparable) == (0.0, True, True)
    assert found["pressed"].respondents == ("offline/respondent",)
    compared = {run.kind for run in whole.values() if run.is_comparable}
    assert compared == {"panel", "audit", "stress", "attack"}
    assert found[HOSTILE_NAME].kind == "panel"


def test_parts_of_a_job_are_told_from_results_of_their_own(found: dict[str, ListedRun]) -> None:
    assert found["pressed/panel"].within == "pressed"
    assert found["pilot/calibration"].within == ""
    assert found["series/run-00"].within == ""


def test_no_reason_names_a_place_on_this_machine(
    world_once: Path, found: dict[str, ListedRun]
) -> None:
    text = json.dumps([run.to_json() for run in found.values()])
    assert str(world_once) not in text
    assert str(world_once.parent) not in text


def test_nothing_behind_a_link_that_leads_out_is_read(world: Path) -> None:
    outside = world.parent / "outside"
    before = {path: path.stat().st_atime_ns for path in outside.rglob("*") if path.is_file()}
    found = listed(world)
    assert not [path for path in found if "secret" in path]
    assert {path: path.stat().st_atime_ns for path in before} == before
    # A link that stays inside shows nothing twice.
    assert "broken/latest" not in found


def test_a_run_is_read_again_only_when_it_has_changed(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = Listing(world / "series")
    listing.refresh()
    while listing.read_next():
        pass
    version, read = listing.version, []
    import areopagus.view.listing as module

    original = module._listed
    monkeypatch.setattr(
        module, "_listed", lambda place, path: read.append(path) or original(place, path)
    )
    listing.refresh()
    assert (read, listing.read_next(), listing.version) == ([], False, version)
    changed(world / "series" / "run-03", lambda record: record.update(state="complete"))
    listing.refresh()
    assert read == ["run-03"]
    (run,) = [one for one in listing.runs if one.path == "run-03"]
    assert (run.state, run.is_read, bool(run.headline)) == ("complete", False, True)
    assert listing.read_next()
    assert not listing.read_next()
    assert listing.version != version


def test_a_run_at_work_says_how_far_it_is(world: Path) -> None:
    progress = {
        "stage": "score",
        "number": 2,
        "stages": 3,
        "unit": "judgments",
        "done": 40,
        "total": 320,
        "troubled": 1,
    }
    copy(world / "pilot", world / "now", state="running", progress=progress)
    (world / "now" / "estimates.parquet").unlink()
    with FileLock(world / "now" / ".lock"):
        run = listed(world)["now"]
    assert (run.state, run.problem, run.has_page) == ("running", "", False)
    assert run.progress == progress
    assert run.counts == {"scored": 310, "abstained": 10}


def test_a_job_whose_process_was_killed_is_shown_as_stopped(world: Path) -> None:
    copy(world / "pressed", world / "now", state="running")
    for path in ("now", "now/panel"):
        (world / path / "estimates.parquet").unlink(missing_ok=True)
    program = (
        "import sys, time\nfrom filelock import FileLock\n"
        "lock = FileLock(sys.argv[1])\nlock.acquire()\nprint('held', flush=True)\ntime.sleep(600)\n"
    )
    listing = Listing(world)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(world / "now" / ".lock")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it holds the lock
        listing.refresh()
        process.kill()
        (run,) = [one for one in listing.runs if one.path == "now"]
        assert (run.state, run.problem) == ("running", "")
    assert (world / "now" / ".lock").exists()  # it was left behind
    listing.refresh()
    found = {one.path: one for one in listing.runs}
    assert found["now"].state == "stopped"
    assert found["now"].problem == (
        "has no figures yet: areopagus stress … --out now goes on where it stopped"
    )
    assert found["now/panel"].problem == "has no figures yet: they come with those of now"


def test_a_run_without_figures_names_the_command_that_makes_them(world: Path) -> None:
    run = listed(world)["broken/no-figures"]
    assert run.problem == (
        "has no figures yet: areopagus report broken/no-figures makes them of its tables"
    )
    write_any_report(world / "broken" / "no-figures", figures=False)
    assert listed(world)["broken/no-figures"].has_page


def test_a_new_run_appears_and_one_that_is_gone_goes(world: Path) -> None:
    listing = Listing(world / "series")
    listing.refresh()
    n = len(listing.runs)
    copy(world / "pilot", world / "series" / "later")
    (world / "series" / "run-00").rename(world / "gone")
    listing.refresh()
    paths = {run.path for run in listing.runs}
    assert len(paths) == n + 1  # the copy and its calibration came, one went
    assert "run-00" not in paths
    assert {"later", "later/calibration"} <= paths


def test_a_listing_reads_no_run_again_that_has_not_changed(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def reading(place: Path, path: str) -> ListedRun:
        read.append(path)
        return own(place, path)

    own = listing_module._listed
    monkeypatch.setattr(listing_module, "_listed", reading)
    for k in range(20):
        folder = tmp_path / "many" / f"run-{k}"
        folder.mkdir(parents=True)
        for name in ("run.json", "estimates.parquet"):
            (folder / name).write_bytes((world / "pilot" / name).read_bytes())
    listing = Listing(tmp_path / "many")
    for _ in range(2):
        listing.refresh()
        assert len(listing.runs) == len(read) == 20
    (tmp_path / "many" / "run-3" / "run.json").write_bytes(
        (world / "pilot" / "run.json").read_bytes() + b"\n"
    )
    listing.refresh()
    assert read[20:] == ["run-3"]


def test_a_folder_that_is_none_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        Listing(tmp_path / "nowhere")
    assert listed(tmp_path) == {}
