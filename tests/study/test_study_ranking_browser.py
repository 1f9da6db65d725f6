"""Ordering by drag, touch, keys and buttons; required reasons; feedback; labels: in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Tab
from study_data import read_csv, secrets_of, study_rows, truth_of
from study_process import StudyServer

from areopagus.study import (
    BuiltStudy,
    RatingSettings,
    build_labelling,
    build_study,
    collect_study,
)

pytestmark = pytest.mark.slow

SOUND = "argumentative_soundness"
IS_SAVED = "document.getElementById('saved').textContent === 'Saved'"
ORDER = """[...document.querySelectorAll('.own li')].map((one) =>
  one.querySelector('.place').textContent + one.dataset.label).join(' ')"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltStudy:
    settings = RatingSettings(
        pause_minutes=0, per_packet=4, humans=2, rank=True, justify=("overall", SOUND),
        justify_chars=12,
    )  # fmt: skip
    return build_study(
        [study_rows(prompts=1, calibration=False)], raters=6,
        out=tmp_path_factory.mktemp("ranked") / "study", settings=settings, seed=4,
    )  # fmt: skip


@pytest.fixture(scope="module")
def server(built: BuiltStudy) -> Iterator[StudyServer]:
    with StudyServer(built.folder) as found:
        yield found


def begin(tab: Tab, server: StudyServer, person: str) -> None:
    tab.go(f"{server.url}/#{secrets_of(server.folder)[person]}")
    tab.wait_for("document.getElementById('begin') !== null")
    tab.click("#begin")
    tab.wait_for("document.querySelectorAll('.own li').length === 4")


def middle(tab: Tab, label: str) -> tuple[float, float]:
    """Where the handle of a response is in sight."""
    tab.run("document.getElementById('own-order').scrollIntoView({behavior: 'instant'})")
    x, y = tab.run(
        f"(() => {{ const box = document.getElementById('order-{label}').getBoundingClientRect();"
        "return [box.left + 40, (box.top + box.bottom) / 2]; })()"
    )
    return float(x), float(y)


def mouse(tab: Tab, kind: str, x: float, y: float) -> None:
    tab.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1,
             clickCount=1)  # fmt: skip


def drag(tab: Tab, label: str, to: str, *, below: bool) -> None:
    x, y = middle(tab, label)
    _, target = middle(tab, to)
    end = target + (8 if below else -8)
    mouse(tab, "mousePressed", x, y)
    for step in range(1, 6):
        mouse(tab, "mouseMoved", x, y + (end - y) * step / 5)
    mouse(tab, "mouseReleased", x, end)


def touch(tab: Tab, label: str, to: str) -> None:
    """With a finger, to just above another response."""
    x, y = middle(tab, label)
    _, target = middle(tab, to)
    tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    for step in range(1, 6):
        at = {"x": x, "y": y + (target - 8 - y) * step / 5}
        tab.send("Input.dispatchTouchEvent", type="touchMove", touchPoints=[at])
    tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def press(tab: Tab, label: str, key: str) -> None:
    tab.run(f"document.getElementById('order-{label}').focus()")
    tab.press(key)


def saved_places(server: StudyServer, tab: Tab) -> dict[str, int]:
    tab.wait_for(IS_SAVED)
    found = tab.run(
        "fetch('api/pages/1', {headers: {Authorization: 'Bearer ' + location.hash.slice(1)}})"
        ".then((answer) => answer.json()).then((page) => JSON.stringify(page.places))"
    )
    return dict(json.loads(found))


def test_responses_are_ordered_by_mouse_touch_keys_and_buttons_and_saved_at_once(
    server: StudyServer, tab: Tab
) -> None:
    begin(tab, server, "rater-01")
    assert tab.run(ORDER) == "–A –B –C –D"  # nothing is an order before somebody made one
    drag(tab, "D", "A", below=False)
    assert tab.run(ORDER) == "1D 2A 3B 4C"
    drag(tab, "D", "B", below=True)
    assert tab.run(ORDER) == "1A 2B 3D 4C"
    assert saved_places(server, tab) == {"A": 1, "B": 2, "D": 3, "C": 4}
    press(tab, "C", "ArrowUp")
    assert tab.run(ORDER) == "1A 2B 3C 4D"
    # The focus stays with what was moved, and the place is spoken.
    assert tab.run("document.activeElement.id") == "order-C"
    assert tab.run("document.querySelector('.order [role=status]').textContent") == (
        "Response C: place 3"
    )
    press(tab, "C", "=")
    assert tab.run(ORDER) == "1A 2=B 2=C 4D"
    assert saved_places(server, tab) == {"A": 1, "B": 2, "C": 2, "D": 4}
    press(tab, "C", "ArrowDown")  # out of the shared place first
    assert tab.run(ORDER) == "1A 2B 3C 4D"
    press(tab, "A", "ArrowUp")  # at the top already
    assert tab.run(ORDER) == "1A 2B 3C 4D"
    tab.click("[aria-label='Move D up']")
    assert tab.run(ORDER) == "1A 2B 3D 4C"
    tab.resize(390, 900)
    touch(tab, "C", "A")
    assert tab.run(ORDER) == "1C 2A 3B 4D"
    is_narrow = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert tab.run(is_narrow)
    assert saved_places(server, tab) == {"C": 1, "A": 2, "B": 3, "D": 4}
    # What was saved is there again.
    tab.reload()
    tab.wait_for("document.querySelectorAll('.own li').length === 4")
    assert tab.run(ORDER) == "1C 2A 3B 4D"
    tab.pictures("ranking")
    assert tab.complaints == []


def test_a_page_is_done_only_with_an_order_and_reasons_and_all_comes_home(
    server: StudyServer, tab: Tab
) -> None:
    begin(tab, server, "rater-02")
    told = "document.getElementById('saved').textContent"
    tab.run(
        "document.querySelectorAll('fieldset').forEach((box, at) => "
        "box.querySelectorAll('input')[4 + at % 3].click())"
    )
    tab.wait_for(IS_SAVED)
    tab.click("#done")
    tab.wait_for(f"{told} === 'Your order is still open'")
    assert tab.run("document.activeElement.className") == "handle"
    tab.click("#take-scores")
    tab.click("[aria-label='Move D up']")
    tab.click("#done")
    tab.wait_for(f"{told}.startsWith('Please give a reason of at least 12')")
    assert tab.run("document.activeElement.id") == f"reason-{SOUND}"
    tab.type(f"#reason-{SOUND}", "B contradicts itself")
    tab.wait_for(f"document.getElementById('reason-hint-{SOUND}').textContent === 'Long enough.'")
    tab.click("#done")
    tab.wait_for("document.activeElement.id === 'comment'")
    tab.type("#comment", "A says what others leave out")
    tab.click(".feedback summary")
    tab.run(
        "(() => { const one = document.getElementById('feedback-kind'); one.value = 'unclear';"
        "one.dispatchEvent(new Event('change')); })()"
    )
    tab.type("#feedback", "which neighbours?")
    places = saved_places(server, tab)
    tab.click("#done")
    tab.wait_for("document.querySelector('.notice') !== null")
    assert tab.complaints == []

    found = collect_study(server.folder)
    truth = truth_of(server.folder)
    mine = [row for row in found.rows if row["rater_id"] == "rater-02"]
    ranks = {row["response_id"]: int(row["value"]) for row in mine if row["kind"] == "rank"}
    assert ranks == {
        truth["r02", 1, label]["response_id"]: place for label, place in places.items()
    }
    reasons = {row["criterion"]: row["comment"] for row in mine if row["comment"]}
    assert reasons == {
        "overall": "A says what others leave out", SOUND: "B contradicts itself"
    }  # fmt: skip
    said = read_csv(found.path / "feedback.csv")
    assert [(row["prompt_id"], row["kind"], row["comment"]) for row in said] == [
        ("p0", "unclear", "which neighbours?")
    ]
    assert any("wrong with prompts (1 unclear): p0 by 1 rater" in one for one in found.notices)


def test_labels_are_chosen_by_click_and_by_keys(tmp_path: Path, tab: Tab) -> None:
    items = [{"prompt_id": f"s{k}", "prompt_text": f"Case {k}."} for k in range(2)]
    built = build_labelling(
        items, raters=2, out=tmp_path / "labels",
        settings={"question": "Who is in the wrong?", "category": ("0=The first", "1=The other")},
    )  # fmt: skip
    with StudyServer(built.folder) as server:
        tab.go(f"{server.url}/#{secrets_of(built.folder)['rater-01']}")
        tab.wait_for("document.getElementById('begin') !== null")
        tab.click("#begin")
        tab.wait_for("document.querySelectorAll('.choice').length === 2")
        tab.click("#done")
        tab.wait_for("document.getElementById('saved').textContent === 'No label is chosen yet'")
        # The focus is on the first label; the arrow chooses the second.
        tab.press("ArrowRight")
        tab.wait_for(IS_SAVED)
        tab.pictures("labelling")
        tab.click("#done")
        tab.wait_for("document.title === 'Question 2 of 2'")
        tab.run("document.querySelectorAll('.choice input')[0].click()")
        tab.wait_for(IS_SAVED)
        tab.click("#done")
        tab.wait_for("document.querySelector('.notice') !== null")
        assert tab.complaints == []
    found = collect_study(built.folder)
    assert [row["label"] for row in found.rows] == ["1", "0"]
