"""Hostile text in a page of any kind stays text: nothing acts, nothing is loaded, nothing hides."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import SMALLEST_LETTERS, Tab, find_chromium
from hostile_pages import PAGES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.pictures,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine"),
]


@pytest.mark.parametrize("kind", list(PAGES))
def test_hostile_text_stays_text_in_a_page_of_any_kind(
    kind: str, tmp_path: Path, browser: Tab
) -> None:
    browser.fresh(width=390)
    browser.open(PAGES[kind](tmp_path))
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
