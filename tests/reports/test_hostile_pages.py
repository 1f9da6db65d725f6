"""Hostile text in a page of any kind stays text: nothing acts, nothing is loaded, nothing hides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import SMALLEST_LETTERS, Tab, find_chromium
from hostile_pages import MARKDOWN, PAGES
from report_runs import make_run, panel_votes, verdict, write_texts

from areopagus.any_report import write_any_report

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a kind, made once."""
    return functools.cache(lambda kind: PAGES[kind](tmp_path_factory.mktemp("hostile")))


@pytest.mark.parametrize("kind", list(PAGES))
def test_hostile_text_stays_text_in_a_page_of_any_kind(
    kind: str, pages: Callable[[str], Path], browser: Tab
) -> None:
    browser.fresh(width=390)
    browser.open(pages(kind))
    shown = browser.run("document.body.textContent")
    assert "<script>alert(1)</script>" in shown or "onerror=alert" in shown
    assert "U+202E" in shown
    scripts = "[...document.querySelectorAll('script')].filter((one) => one.type !== 'text/plain')"
    assert browser.run(f"{scripts}.length") == 1
    assert browser.run("document.querySelectorAll('img, iframe, object, embed').length") == 0
    handlers = "[...document.querySelectorAll('*')].flatMap((one) => one.getAttributeNames())"
    assert not browser.run(f"{handlers}.some((name) => name.startsWith('on'))")
    hidden = r"/[\u202a-\u202e\u2066-\u2069\u200b\u0007]/"
    assert not browser.run(f"{hidden}.test(document.documentElement.outerHTML)")
    for name in browser.run(
        "[...document.querySelectorAll('.records')].map((r) => r.dataset.name)"
    ):
        browser.run(f"location.hash = '#{name}/0'")
        browser.wait_for("document.querySelector('dialog[open] h2')")
        assert browser.run("document.querySelectorAll('dialog img, dialog script').length") == 0
        assert not browser.run(f"{hidden}.test(document.querySelector('dialog').outerHTML)")
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run(SMALLEST_LETTERS) >= 10
    assert browser.complaints == []
    browser.press("Escape")
    browser.pictures(f"hostile-{kind}")


def test_answers_read_as_markdown_stay_harmless(pages: Callable[[str], Path], browser: Tab) -> None:
    page = pages("panel")
    browser.open(page)
    title = browser.run("document.title")
    hidden = r"/[\u202a-\u202e\u2066-\u2069\u200b\u0007]/"
    seen = ""
    for row, prompt in enumerate(sorted(MARKDOWN)):
        browser.run(f"location.hash = '#prompts/{row}'")
        browser.wait_for(f"document.querySelector('dialog[open] h2')?.textContent === '{prompt}'")
        assert browser.run("document.querySelectorAll('dialog .answer .markdown').length") == 3
        # Links lead into the page alone; nothing is loaded, nothing can act.
        hrefs = browser.run("[...document.querySelectorAll('dialog a')].map((a) => a.href)")
        assert hrefs
        assert all(one.startswith(f"{page.as_uri()}#responses/") for one in hrefs)
        bad = "img, script, iframe, style, form, input, object, embed, link, base, meta, [src]"
        assert browser.run(f"document.querySelectorAll('dialog :is({bad})').length") == 0
        names = browser.run(
            "[...new Set([...document.querySelectorAll('dialog *')]"
            ".flatMap((one) => one.getAttributeNames()))]"
        )
        assert not [one for one in names if one.startswith("on") or one == "style"]
        assert not browser.run(f"{hidden}.test(document.querySelector('dialog').outerHTML)")
        assert browser.run("document.querySelector('dialog').scrollWidth") <= 1280
        assert browser.run("document.querySelectorAll('dialog *').length") < 60_000
        seen += browser.run("document.querySelector('dialog').textContent.slice(0, 20000)")
    for text in ("<script>document.title", "javascript:document.title", "U+202E", "U+200B"):
        assert text in seen
    assert "https://example.invalid/c.png" in seen  # an address can be read, and is not followed
    assert browser.run("document.title") == title
    assert browser.complaints == []


def test_markdown_is_read_as_people_write_it(tmp_path: Path, browser: Tab) -> None:
    text = (
        "# Head\n\nOne *two* **three** ***four*** `five*` snake_case_name 2 * 3 * 4\nnext line\n\n"
        "1. first\n   - inner\n   - **bold**\n2. second\n\n> quoted\n\n```py\nx = '<b>'\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | `2` |\n\n---\n\\*no\\* ~~gone~~ **open"
    )
    votes = [panel_votes(f"r{k}", "p", f"model-{k}", 4 + k) for k in range(2)]
    run = make_run(tmp_path / "run", [verdict(one) for one in votes])
    write_texts(run, {f"r{k}": ("Why?", text) for k in range(2)})
    browser.open(write_any_report(run, figures=False), fragment="#prompts/0")
    browser.wait_for("document.querySelector('dialog .answer .markdown h4')")
    shown = "document.querySelector('dialog .answer .markdown')"

    def texts(selector: str) -> list[str]:
        found = f"[...{shown}.querySelectorAll('{selector}')].map((one) => one.textContent)"
        return list(browser.run(found))

    assert texts("h4") == ["Head"]
    assert texts("em") == ["two", "four"]
    assert texts("strong") == ["three", "four", "bold"]
    assert texts("code") == ["five*", "x = '<b>'", "2"]
    assert texts("ol > li")[1] == "second"
    assert texts("li li") == ["inner", "bold"]
    assert texts("blockquote") == ["quoted"]
    assert texts("th, td") == ["a", "b", "1", "2"]
    assert texts("s") == ["gone"]
    paragraphs = texts("p")
    assert paragraphs[0].endswith("snake_case_name 2 * 3 * 4\nnext line")
    assert paragraphs[-1] == "*no* gone **open"
    # Six judges, each a mark on the strip and a line below.
    assert browser.run("document.querySelectorAll('dialog .answer:first-child .vote').length") == 6
    assert (
        browser.run("document.querySelectorAll('dialog .answer:first-child .judges li').length")
        == 6
    )
    assert browser.complaints == []
