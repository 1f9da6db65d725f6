"""The page of a stress test: what it says, and that texts stay texts."""

from __future__ import annotations

import pytest

from areopagus import Panel
from areopagus.stress_test import stress

HOSTILE = "<script>alert(1)</script>{{ 7 * 7 }}\u202e"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    rows = [
        {
            "response_id": f"{prompt}-{condition}",
            "prompt_id": prompt,
            "condition": condition,
            "prompt_text": f"What is owed in case {prompt}?",
            "response_text": f"In case {prompt} much is owed, because promises bind. {extra}",
            "respondent_id": HOSTILE,
        }
        for prompt in "abcdef"
        for condition, extra in (("baseline", "For example, debts."), (f"pressed{HOSTILE}", ""))
    ]
    with Panel(personas=["historian"], ledger=folder / "l.sqlite") as panel:
        run = stress(responses=rows, panel=panel, out=folder / "run")
    return (run.path / "report.html").read_text(encoding="utf-8")


def test_it_says_what_the_report_says(page: str) -> None:
    assert "12 of 12 responses scored" in page
    assert "What cannot be said, and why" in page
    assert "deterministic judge" in page
    assert "embedded stand-in" in page, "a demonstration is called one"
    assert page.count("<svg") == 2


def test_names_of_respondents_and_conditions_stay_text(page: str) -> None:
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    assert "Content-Security-Policy" in page
