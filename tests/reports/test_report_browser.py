"""The report in a real browser: opens without complaint, sorts, filters, follows links, is safe."""

from __future__ import annotations

import base64
import random
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chromium import SMALLEST_LETTERS, Tab, find_chromium
from report_runs import HOSTILE, make_run, panel_votes, respondent, verdict

from areopagus.any_report import write_any_report as write_report
from areopagus.reports import Column, Document, Entry, Records, Section, View, write_html

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine"),
]

ROWS = "[...document.querySelectorAll('#responses-records .records-view tbody tr[data-row]')]"
FIRST = (
    "document.querySelector('#responses-records .records-view tbody tr[data-row] th').textContent"
)
UNFOLD = "document.querySelectorAll('main details').forEach((one) => { one.open = true; })"
COUNT = "document.querySelector('#responses-records .records-count').textContent"


def head(title: str) -> str:
    """The button of a column of the long table."""
    found = "[...document.querySelectorAll('#responses-records .records-view thead button')]"
    return f"{found}.find((button) => button.textContent === '{title}')"


def random_text(length: int, seed: int) -> str:
    """Text that does not compress to much less than half of it."""
    return random.Random(seed).randbytes(length // 2).hex()


def click_and_count(browser: Tab, expression: str) -> Any:
    browser.run(f"{expression}.click()")
    return browser.run(COUNT)


def test_ten_thousand_rows_open_sort_filter_and_search(large_report: Path, browser: Tab) -> None:
    browser.open(large_report)
    assert "10,000 rows" in browser.run(COUNT)
    assert browser.run(f"{ROWS}.length") < 100  # only what is in sight is in the document

    browser.run(f"{head('composite')}.click()")  # the highest first
    values = f"{ROWS}.map((row) => Number(row.cells[2].textContent))"
    highest = browser.run(values)
    assert highest == sorted(highest, reverse=True)
    browser.run(f"{head('composite')}.click()")
    lowest = browser.run(values)
    assert lowest == sorted(lowest)
    assert lowest[0] < highest[0]

    browser.run("document.querySelector('#responses-records .records-view').scrollTop = 1e9")
    browser.wait_for(f"{ROWS}.at(-1).getAttribute('aria-rowindex') === '10001'")

    browser.run(
        "(() => { const select = document.querySelector('#responses-records select');"
        "select.selectedIndex = 1; select.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run(COUNT) == "2,000 of 10,000 rows"
    browser.run(
        "document.querySelector('#responses-records .records-tools button[type=reset]').click()"
    )
    browser.wait_for(f"{COUNT}.endsWith('000 rows') && !{COUNT}.includes('of')")

    browser.type("#responses-records .records-tools input[type=search]", "response-04321")
    browser.wait_for(f"{COUNT}.startsWith('1 of')")
    assert browser.run(FIRST) == "response-04321"
    assert browser.complaints == []


def test_a_view_holds_the_texts_and_every_judges_scores(large_report: Path, browser: Tab) -> None:
    browser.open(large_report, fragment="#responses/9999")
    browser.wait_for("document.querySelector('dialog[open] .prose')")
    assert browser.run("document.activeElement.textContent") == "response-09999"
    assert browser.run("document.querySelectorAll('dialog tbody tr').length") == 30
    assert "prompt-1999" in browser.run("document.querySelector('dialog .prose').textContent")
    assert len(browser.run("document.querySelectorAll('dialog .prose')[1].textContent")) > 1900
    browser.press("Escape")
    browser.wait_for("!document.querySelector('dialog').open")

    # a word of this one's text, which is found in the texts only
    word = browser.run(
        "document.querySelectorAll('dialog .prose')[1].textContent.split(' ').slice(0, 3).join(' ')"
    )
    browser.run(
        "document.querySelector('#responses-records .records-tools input[type=checkbox]').click()"
    )
    browser.wait_for(f"!{COUNT}.startsWith('Unpacking')")
    browser.type("#responses-records .records-tools input[type=search]", word)
    browser.wait_for(f"{COUNT}.includes(' of ')")
    assert browser.run(f"{ROWS}.some((row) => row.dataset.row === '9999')")
    assert browser.complaints == []


def test_links_lead_to_sections_and_views_by_keyboard(hostile_report: Path, browser: Tab) -> None:
    browser.open(hostile_report)
    for link in range(browser.run("document.querySelectorAll('nav a').length")):
        browser.run(f"document.querySelectorAll('nav a')[{link}].click()")
        assert browser.run("document.querySelector(location.hash).tagName") == "H2"
    # The last sections are folded until a link leads to them.
    assert browser.run("[...document.querySelectorAll('main details')].every((one) => one.open)")
    browser.run("document.querySelector('table.sortable a[href^=\"#responses/\"]').focus()")
    browser.press("Enter")
    browser.wait_for("document.querySelector('dialog').open")
    browser.press("Escape")
    browser.wait_for("!document.querySelector('dialog').open")
    focused = browser.run("document.activeElement.getAttribute('href')")
    assert focused.startswith("#responses/")
    assert browser.complaints == []


def test_hostile_text_stays_text(hostile_report: Path, browser: Tab) -> None:
    browser.open(hostile_report)
    seen = browser.run(f"{ROWS}.map((row) => row.textContent).join('|')")
    for text in HOSTILE[:4]:
        assert text in seen
    assert "U+202E" in seen
    for row in range(len(HOSTILE)):
        browser.run(f"location.hash = '#responses/{row}'")
        browser.wait_for(
            f"document.querySelector('dialog[open] h2')?.textContent.startsWith('{row} ')"
        )
        browser.wait_for("document.querySelector('dialog .prose')")
        assert "</script>" in browser.run("document.querySelector('dialog').textContent")
        assert browser.run("document.querySelector('dialog .reason') !== null")
        assert browser.run("document.querySelectorAll('dialog img, dialog script').length") == 0
    assert browser.run("document.querySelectorAll('img, iframe, object').length") == 0
    assert browser.run("document.querySelectorAll('[onmouseover], [onerror]').length") == 0
    hidden = r"/[\u202a-\u202e\u2066-\u2069\u200b\u0007]/"
    assert not browser.run(f"{hidden}.test(document.documentElement.outerHTML)")
    assert browser.complaints == []


def test_the_policy_stops_what_somebody_puts_into_the_file(plain_run: Path, browser: Tab) -> None:
    path = write_report(plain_run, figures=False)
    source = path.read_text(encoding="utf-8")
    attack = (
        "<script>document.title = 'taken'</script>"
        "<img src='https://example.invalid/x.png' onerror=\"document.title = 'taken'\">"
    )
    path.write_text(source.replace("<h1>", f"{attack}<h1>"), encoding="utf-8")
    browser.open(path)
    assert "taken" not in browser.run("document.title")
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)
    assert browser.requests == {}


def test_small_tables_sort_with_undefined_last(hostile_report: Path, browser: Tab) -> None:
    browser.open(hostile_report)
    table = "document.querySelector('#criteria ~ .scroll table')"
    button = f"{table}.tHead.querySelectorAll('button')[1]"
    cells = f"[...{table}.tBodies[0].rows].map((row) => row.cells[1].dataset.v ?? null)"
    for _ in range(2):
        browser.run(f"{button}.click()")
        assert browser.run(cells)[-1] is None
    assert browser.run(f"{button}.closest('th').getAttribute('aria-sort')") == "ascending"


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_nothing_runs_out_of_the_window(hostile_report: Path, browser: Tab, width: int) -> None:
    browser.fresh(width=width, dark=width == 820)
    browser.open(hostile_report)
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("location.hash = '#responses/6'")  # the id without a place to break
    browser.wait_for("document.querySelector('dialog[open] .prose')")
    dialog = "document.querySelector('dialog')"
    assert browser.run(f"{dialog}.scrollWidth <= {dialog}.clientWidth")
    assert browser.complaints == []


def test_what_stands_beyond_an_edge_is_announced(hostile_report: Path, browser: Tab) -> None:
    browser.fresh(width=390)
    browser.open(hostile_report)
    browser.run(UNFOLD)
    wide = "[...document.querySelectorAll('.scroll, .drawing, .records-view')]"
    beyond = f"{wide}.filter((one) => one.scrollWidth > one.clientWidth + 4)"
    browser.wait_for(f"{beyond}.length > 3 && {beyond}.every((one) => one.matches('.more'))")
    browser.run(f"{beyond}.forEach((one) => {{ one.scrollLeft = 1e6; }})")
    browser.wait_for(f"{wide}.every((one) => !one.matches('.more'))")


# Of every table with numbers: its name, and how far a row's first number reaches over the edge.
FIRST_NUMBERS = """[...document.querySelectorAll('.scroll, .records-view')].flatMap((port) => {
  const cell = port.querySelector('tbody tr:not(.gap) .n');
  if (!cell || !port.checkVisibility()) return [];
  return [[port.getAttribute('aria-label'),
    cell.getBoundingClientRect().right - port.getBoundingClientRect().right]];
})"""


def test_on_a_phone_results_are_in_sight_and_drawings_can_be_read(
    hostile_report: Path, browser: Tab
) -> None:
    browser.fresh(width=390)
    browser.open(hostile_report)
    browser.run(UNFOLD)
    reaching = dict(browser.run(FIRST_NUMBERS))
    assert {"All responses", "Respondents", "By criterion", "Persona by model"} <= set(reaching)
    assert {name: over for name, over in reaching.items() if over > 0} == {}
    assert browser.run(SMALLEST_LETTERS) >= 10
    # What names a row is still there: the names that were folded stand below the first one.
    table = "document.querySelector('[aria-label=\"Persona by model\"] tbody th')"
    assert browser.run(f"{table}.innerText").split() == ["historian", "disciplinary"]
    assert "In every row: status" not in browser.run("document.body.innerText")
    times = (
        "[...document.querySelectorAll('.time .text')].map((one) => one.getClientRects().length)"
    )
    assert set(browser.run(times)) == {1}

    browser.run("location.hash = '#responses/0'")
    browser.wait_for("document.querySelector('dialog[open] .scroll td.n')")
    over = dict(browser.run(FIRST_NUMBERS))["Judgments"]
    assert over <= 0
    names = "document.querySelector('dialog tbody th').innerText"
    assert browser.run(names).split("\n") == ["historian", "disciplinary", "openai/one"]
    browser.press("Escape")

    browser.resize(1280, 900)  # turned: the columns are laid out anew
    heads = "[...document.querySelectorAll('#responses-records th')].map((one) => one.textContent)"
    browser.wait_for(f"{heads}[1] === 'respondent'")
    assert browser.run(f"{table}.innerText") == "historian"
    assert browser.complaints == []
    browser.pictures("panel")


BEYOND_THE_WINDOW = """[...document.querySelectorAll('.drawing svg')]
  .filter((svg) => svg.checkVisibility())
  .map((svg) => svg.getBoundingClientRect().right - svg.parentElement.clientWidth
    - svg.parentElement.getBoundingClientRect().left)"""


def test_on_a_phone_the_picture_of_the_answer_is_whole(tmp_path: Path, browser: Tab) -> None:
    verdicts = [
        verdict(panel_votes(f"p{k}{who}", f"p{k}", who, 5.0 + gain + k % 2 * gain))
        for k in range(8)
        for who, gain in (("a", 1), ("b", 0))
    ]
    named = [respondent("a"), respondent("b")]
    page = write_report(make_run(tmp_path / "run", verdicts, respondents=named))
    browser.fresh(width=390)
    browser.open(page)
    first, *_ = browser.run(BEYOND_THE_WINDOW)
    assert first < 1  # widths are whole pixels
    shown = (
        "[...document.querySelector('.drawing').querySelectorAll('svg')]"
        ".map((one) => one.checkVisibility())"
    )
    assert browser.run(shown) == [False, True]
    browser.resize(1280, 900)
    assert browser.run(shown) == [True, False]


def test_a_view_says_that_its_rationales_are_not_in_the_page(
    tmp_path: Path, browser: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.reports.html.MOST_PACKED_CHARS", 50_000)
    reasons = [random_text(200_000, seed) for seed in range(2)]
    view = View(
        ["Response"], ["judge"], [["one"]], ["score"], (1, 10),
        [Entry(["short"], [[5.0]], {}, {0: reason}) for reason in reasons],
    )  # fmt: skip
    rows = Records("rows", "Rows.", "Rows", [Column("row", "id")], [["a"], ["b"]], view=view)
    section = Section("first", "First", [rows])
    browser.open(
        write_html(tmp_path / "page.html", Document("Cut", "panel", [section])), fragment="#rows/1"
    )
    browser.wait_for("document.querySelector('dialog[open] td.n')")
    told = browser.run("document.querySelector('dialog').innerText")
    assert "The rationales of this response are not in this page" in told
    assert "judgments.parquet holds them" in told
    assert "Rationales of the first 0 rows" in browser.run("document.body.textContent")


def test_every_control_has_a_name_and_the_page_its_landmarks(
    hostile_report: Path, browser: Tab
) -> None:
    browser.open(hostile_report)
    browser.send("Accessibility.enable")
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    named = {"button", "link", "searchbox", "combobox", "spinbutton", "checkbox", "image", "region"}
    roles = [node.get("role", {}).get("value") for node in nodes if not node.get("ignored")]
    assert {"main", "navigation", "banner", "contentinfo", "search", "table"} <= set(roles)
    for node in nodes:
        if not node.get("ignored") and node.get("role", {}).get("value") in named:
            assert node.get("name", {}).get("value"), node


def test_print_has_heads_on_every_page_and_says_how_many_rows_it_holds(
    large_report: Path, browser: Tab, tmp_path: Path
) -> None:
    browser.open(large_report)
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(
        base64.b64decode(browser.send("Page.printToPDF", preferCSSPageSize=True)["data"])
    )
    note = "Printed here: the first 300 of 10,000 rows. All are in scores.csv."
    if shutil.which("pdftotext"):
        done = subprocess.run(
            ["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True
        )
        pages = done.stdout.split("\f")
        assert note in done.stdout
        with_rows = [page for page in pages if page.count("response-00") > 5]
        assert len(with_rows) > 3
        assert all("composite" in page and "disagreement" in page for page in with_rows)
        # Left out on paper: a minor column, and one in which nothing stands.
        assert not any("median" in page or "why undefined" in page for page in with_rows)
        assert "in the texts too" not in done.stdout

    browser.send("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector('%s')).display"
    assert browser.run(shown % "#responses-records .records-tools") == "none"
    assert browser.run(shown % "#responses-records .records-view thead th.minor") == "none"
    # A button would be painted on the first page of its table only.
    assert browser.run(shown % "thead th button") == "contents"
    assert browser.run("document.querySelector('#responses-records .print-only').innerText") == note
    browser.send("Emulation.setEmulatedMedia", media="screen")
    assert browser.run(shown % ".records .print-only") == "none"


def test_without_script_or_with_an_old_browser_the_page_says_where_the_rows_are(
    plain_run: Path, browser: Tab
) -> None:
    path = write_report(plain_run, figures=False)
    browser.send(
        "Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream"
    )
    browser.open(path)
    text = browser.run("document.querySelector('.records').textContent")
    assert "too old for DecompressionStream" in text
    assert "The rows cannot be drawn" in text
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    browser.send("Page.navigate", url="about:blank")
    browser.send("Page.navigate", url=path.as_uri())
    shown, until = "", time.monotonic() + 30
    while "</footer>" not in shown and time.monotonic() < until:
        with suppress(RuntimeError):  # a document that gave way to the next in between
            root = browser.send("DOM.getDocument")["root"]["nodeId"]
            shown = browser.send("DOM.getOuterHTML", nodeId=root)["outerHTML"]
    assert "data-ready" not in shown
    assert "These 8 rows are drawn by the page's own script" in shown
    assert browser.complaints == []
