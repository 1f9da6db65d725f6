"""A whole study in a real browser: built, rated through a killed server, collected, calibrated."""

from __future__ import annotations

import json
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import Chromium, Tab
from study_data import quality_of, read_csv, secrets_of, study_rows
from study_process import StudyServer

from areopagus.study import (
    BuiltStudy,
    RatingSettings,
    WritingSettings,
    build_study,
    build_writing,
    collect_study,
    read_packets,
)

pytestmark = pytest.mark.slow


# The scores of the page, read off it and clicked into it, as the rater's eye and hand would.
RATE = """
((scores, upTo) => {
  let n = 0;
  for (const [label, row] of Object.entries(scores)) {
    for (const [dimension, score] of Object.entries(row)) {
      if (n++ >= upTo) return;
      document.querySelector(`#field-${label}-${dimension} input[value="${score}"]`).click();
    }
  }
})(%s, %d)
"""
IS_SAVED = "document.getElementById('saved').textContent === 'Saved'"
N_RESPONSES = "document.querySelectorAll('.response').length"


def shown_texts(tab: Tab) -> dict[str, str]:
    """Label to text, as on the screen."""
    return dict(
        tab.run(
            "[...document.querySelectorAll('.response')].map((one) => "
            "[one.querySelector('h2').firstChild.textContent.replace('Response ', ''), "
            "one.querySelector('.read .text').innerText])"
        )
    )


class Person:
    """A rater with opinions, who knows only what the page shows."""

    def __init__(self, folder: Path, code: str) -> None:
        self._quality: dict[str, int] = {}
        rows = read_csv(folder / "organiser" / "responses.csv")
        for row in rows:
            self._quality[" ".join(row["response_text"].split())] = quality_of(row["response_id"])
        self._code = int(code[1:])

    def scores(self, texts: dict[str, str], dimensions: list[str]) -> dict[str, dict[str, int]]:
        return {
            label: {
                name: self._quality[" ".join(text.split())] + (place + self._code) % 2
                for place, name in enumerate(dimensions)
            }
            for label, text in texts.items()
        }


PAGES = 3


def test_a_whole_study(tmp_path: Path, chromium: Chromium) -> None:
    built = build_study(
        [study_rows(prompts=PAGES)], raters=3, out=tmp_path / "study", all_models=["p2"],
        settings=RatingSettings(pause_minutes=0, per_session=2), seed=77,
    )  # fmt: skip
    folder, links = built.folder, secrets_of(built.folder)
    assert (built.n_raters, built.n_prompts, built.n_packets) == (3, PAGES, 3 * PAGES)
    with StudyServer(folder) as server:
        tabs = [chromium.tab() for _ in range(2)]
        for number, tab in enumerate(tabs, 1):
            rater = Person(folder, f"r0{number}")
            rate_in_browser(tab, server, links[f"rater-0{number}"], rater, kills=number == 1)
        unexpected = [
            error for tab in tabs for error in tab.complaints
            if "ERR_CONNECTION_REFUSED" not in error and "net::ERR" not in error
        ]  # fmt: skip
        assert unexpected == []
        for tab in tabs:
            for address in tab.requests.values():
                assert address.startswith(server.url)
                # The secret travels in a header and in no address.
                assert not any(secret in address for secret in links.values())
        # No page asks for a file of its own: after the first there are pages and saves alone.
        asked = [urlsplit(address).path for address in tabs[1].requests.values()]
        # (The first page's icon is fetched whenever the browser has time for it.)
        later = [path for path in asked[asked.index("/api/pages/1") :] if path != "/icon.svg"]
        assert asked.count("/icon.svg") <= 1
        assert set(later) <= {"/api/study", *(f"/api/pages/{n + 1}" for n in range(PAGES))}
        rate_by_api(server, Person(folder, "r03"), links["rater-03"])

    found = collect_study(folder)
    assert f"{3 * PAGES} of {3 * PAGES} pages scored whole." in found.text
    assert not any("weak response" in flag for told in found.flags.values() for flag in told)
    assert len(found.rows) == 3 * PAGES * 6 * 6
    comments = {row["comment"] for row in found.rows if row["rater_id"] == "rater-01"}
    assert "page 2: what was written before the server died" in comments
    names = [str(row["criterion"]) for row in found.rows if row["kind"] == "score"][:5]
    for row in found.rows:
        if row["kind"] == "score":
            place = names.index(str(row["criterion"])) + int(str(row["rater_id"])[-2:])
            assert int(row["value"]) == quality_of(str(row["response_id"])) + place % 2


def rate_in_browser(
    tab: Tab, server: StudyServer, secret: str, person: Person, *, kills: bool = False
) -> None:
    """All pages of a rater, over two sittings."""
    tab.go(f"{server.url}/#{secret}")
    tab.wait_for("document.getElementById('begin') !== null")
    if kills:
        tab.pictures("overview")
    tab.click("#begin")
    for number in range(1, PAGES + 1):
        tab.wait_for(f"document.title === 'Question {number} of {PAGES}' && {N_RESPONSES} === 6")
        dimensions = tab.run(
            "[...document.querySelectorAll('fieldset[id^=field-A-]')].map("
            "(one) => one.id.replace('field-A-', ''))"
        )
        assert len(dimensions) == 5
        html = tab.run("document.documentElement.outerHTML")
        for word in ("expert_", "machine", "quality_floor", "all_models", "-h0", "-m0", "p1", "p2"):
            assert word not in html
        scores = person.scores(shown_texts(tab), dimensions)
        if kills and number == 2:
            through_a_crash(tab, server, scores)
        else:
            tab.run(RATE % (json.dumps(scores), 99))
        tab.wait_for(IS_SAVED)
        check_order(tab, scores)
        if kills and number == 3:
            tab.pictures("rated")
            # Done is pressed while nobody answers: the page goes on once the server is back.
            server.kill()
            tab.click("#done")
            tab.wait_for("document.getElementById('saved').textContent.startsWith('Not saved')")
            server.start()
            continue
        tab.click("#done")
    tab.wait_for("document.querySelector('.notice') !== null")
    assert "through with all questions" in tab.run("document.body.innerText")


def through_a_crash(tab: Tab, server: StudyServer, scores: dict[str, dict[str, int]]) -> None:
    """Ten scores are saved; the server is killed; the rest is clicked; the server comes back."""
    tab.run(RATE % (json.dumps(scores), 10))
    tab.run(
        "(() => { const area = document.getElementById('comment');"
        "area.value = 'page 2: what was written before the server died';"
        "area.dispatchEvent(new Event('input')); })()"
    )
    tab.wait_for(IS_SAVED)
    server.kill()
    tab.run(RATE % (json.dumps(scores), 99))
    tab.wait_for("document.getElementById('saved').textContent.startsWith('Not saved')")
    server.start()
    tab.wait_for(IS_SAVED, timeout_s=40)
    # What is on the screen after a reload is what the server has.
    tab.reload()
    tab.wait_for(f"document.title === 'Question 2 of {PAGES}' && {N_RESPONSES} === 6")
    assert tab.run("document.querySelectorAll('input:checked').length") == 30
    assert "before the server died" in tab.run("document.getElementById('comment').value")


def check_order(tab: Tab, scores: dict[str, dict[str, int]]) -> None:
    """The order on the screen, ties included, is that of the sums."""
    sums = {label: sum(row.values()) for label, row in scores.items()}
    expected = []
    for label in sorted(sums, key=lambda one: (-sums[one], one)):
        place = 1 + sum(other > sums[label] for other in sums.values())
        is_tied = list(sums.values()).count(sums[label]) > 1
        expected.append(f"{place}{'=' if is_tied else ''} {label} {sums[label]}")
    shown = tab.run(
        "[...document.querySelectorAll('.ranking li')].map((one) => "
        "[...one.querySelector('button').children].map((part) => part.textContent).join(' '))"
    )
    assert shown == expected


def rate_by_api(server: StudyServer, person: Person, secret: str) -> None:
    def ask(path: str, body: Any = None) -> Any:
        sent = urllib.request.Request(
            f"{server.url}/api/{path}",
            data=body and json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
            method="PUT" if body else "GET",
        )
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return json.load(answer)

    study = ask("study")
    dimensions = [one["id"] for one in study["rubric"]["dimensions"]]
    for page in study["pages"]:
        found = ask(f"pages/{page['number']}")
        texts = {one["label"]: one["text"] for one in found["responses"]}
        scores = person.scores(texts, dimensions)
        given = {"revision": 0, "save_id": "a", "comment": "", "done": True, "active_ms": 5000}
        ask(f"pages/{page['number']}", {**given, "scores": scores})


@pytest.fixture(scope="module")
def server(
    built_once: BuiltStudy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StudyServer]:
    """One study for several tests, each of which is another rater."""
    folder = Path(shutil.copytree(built_once.folder, tmp_path_factory.mktemp("served") / "study"))
    with StudyServer(folder) as found:
        yield found


def arrive(tab: Tab, server: StudyServer, person: str) -> None:
    """Opens somebody's personal link."""
    tab.go(f"{server.url}/#{secrets_of(server.folder)[person]}")
    tab.wait_for("document.getElementById('begin') !== null")


def begin(tab: Tab, server: StudyServer, person: str) -> None:
    """And goes on to the first page."""
    arrive(tab, server, person)
    tab.click("#begin")
    tab.wait_for(f"{N_RESPONSES} === 6")


def test_a_page_is_worked_with_the_keyboard_alone(server: StudyServer, tab: Tab) -> None:
    arrive(tab, server, "rater-03")
    tab.run("document.getElementById('begin').focus()")

    tab.press("Enter")
    tab.wait_for(f"{N_RESPONSES} === 6")
    # Tab on to the first score, then set it with the arrows.
    for _ in range(40):
        tab.press("Tab")
        if tab.run("document.activeElement.name || ''"):
            break
    name = tab.run("document.activeElement.name")
    assert name == "A-conceptual_clarity"
    for _ in range(3):
        tab.press("ArrowRight")
    tab.wait_for(IS_SAVED)
    # The first arrow goes from 1, which had the focus and no mark, to 2.
    assert tab.run(f"document.querySelector('input[name=\"{name}\"]:checked').value") == "4"
    unnamed = tab.run(
        "[...document.querySelectorAll('input, textarea, button, select')].filter((one) => "
        "!(one.labels && one.labels.length) && !one.getAttribute('aria-label') && "
        "!one.textContent.trim()).length"
    )
    assert unnamed == 0
    assert tab.run("document.querySelector('fieldset:not(:has(> legend))') === null")
    assert tab.complaints == []


def test_nothing_is_wider_than_the_screen(server: StudyServer, tab: Tab) -> None:
    is_narrow = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    for width in (320, 390, 820, 1280):
        tab.resize(width)
        tab.go("about:blank")
        arrive(tab, server, "rater-05")
        assert tab.run(is_narrow), width
        tab.click("#begin")
        tab.wait_for(f"{N_RESPONSES} === 6")
        assert tab.run(is_narrow), width
        tab.click("#show-criteria")
        tab.wait_for("document.querySelector('dialog[open]') !== null")
        assert tab.run(is_narrow), width


def test_a_page_left_open_in_two_windows_shows_what_was_saved(
    server: StudyServer, chromium: Chromium
) -> None:
    tabs = [chromium.tab() for _ in range(2)]
    for tab in tabs:
        begin(tab, server, "rater-04")
    click = "document.querySelector('#field-%s-conceptual_clarity input[value=\"%d\"]').click()"
    tabs[0].run(click % ("A", 9))
    tabs[0].wait_for(IS_SAVED)
    tabs[1].run(click % ("B", 2))
    checked = "[...document.querySelectorAll('input:checked')].map((one) => one.name + one.value)"
    tabs[1].wait_for(f"{checked}.join() === 'A-conceptual_clarity9'")


def test_hostile_texts_do_nothing(tmp_path: Path, tab: Tab) -> None:
    rows = study_rows(prompts=1, calibration=False)
    attack = '<img src=x onerror="window.hit=1"><script>window.hit=2</script></div>{{7*7}}${7*7}'
    for number, row in enumerate(rows):
        row["response_text"] = f"{attack} \u202e {number}"
        row["prompt_text"] = attack
    settings = RatingSettings(title=attack, instructions=attack, keep_form=True)
    built = build_study([rows], raters=1, out=tmp_path / "s", settings=settings)
    with StudyServer(built.folder) as server:
        begin(tab, server, "rater-01")
        assert tab.run("window.hit === undefined && document.images.length === 0")
        texts = shown_texts(tab)
        assert all("<img src=x" in text and "{{7*7}}" in text for text in texts.values())
        # Script cannot be brought in by hand either.
        tab.run("try { document.body.innerHTML = '<p>x</p>'; window.hit = 3 } catch { }")
        assert tab.run("window.hit === undefined")
        assert set(texts) == set(read_packets(built.folder)[0].labels)


def test_a_link_that_is_none_says_so(server: StudyServer, tab: Tab) -> None:
    for end in ("", "/#", "/#wrong", "/#%00"):
        tab.fresh()
        tab.go(server.url + end)
        tab.wait_for("document.body.innerText.includes('This link is not known')")


def test_a_response_is_written_against_the_clock(tmp_path: Path, tab: Tab) -> None:
    prompts = [{"prompt_id": f"q{n}", "prompt_text": f"Why is it so, case {n}?"} for n in range(2)]
    built = build_writing(prompts, writers=1, out=tmp_path / "w", seed=1,
                          settings=WritingSettings(minutes=30, pause_minutes=0))  # fmt: skip
    with StudyServer(built.folder) as server:
        arrive(tab, server, "writer-01")
        tab.click("#begin")
        tab.wait_for("document.getElementById('start') !== null")
        assert "case" not in tab.run("document.body.innerText")
        tab.click("#start")
        tab.wait_for("document.querySelector('#text') !== null")
        assert "Why is it so" in tab.run("document.body.innerText")
        tab.send("Input.insertText", text="Because of four words.")
        tab.wait_for(IS_SAVED)
        shown = tab.run("document.querySelector('.meter').innerText")
        assert shown.startswith("4 words of about 400")
        assert re.search(r"(29:\d\d|30:00) left", shown)
        tab.pictures("writing")
        tab.reload()
        tab.wait_for("document.querySelector('#text')?.value === 'Because of four words.'")
        tab.click("#done")
        tab.wait_for("document.querySelector('dialog[open]') !== null")
        tab.click("dialog button.main")
        tab.wait_for("document.getElementById('start') !== null")  # the next question
        found = collect_study(built.folder)
        assert [row["response_text"] for row in found.rows] == ["Because of four words."]
        assert tab.complaints == []
