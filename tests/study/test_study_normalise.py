"""The plain form: what it changes, what it never changes, and that it is reached in one go."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus.study import normalise

FORMS = st.text(alphabet="ab1 \n-*_#>|`•–—“”'\".…()[]~\\\t:;!?=<bp/>", max_size=60)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("**Bold** and *slanted* and `code`.", "Bold and slanted and code."),
        ("# Title\nText.", "Title\n\nText."),
        ("A “word” and ‘another’.", "A \"word\" and 'another'."),
        ("one—two – three -- four", "one - two - three - four"),
        ("1990–2000, Paris–London, well‑known", "1990-2000, Paris-London, well-known"),
        ("Wait… what", "Wait... what"),
        ("- one\n* two\n+ three", "• one\n• two\n• three"),
        ("1) one\n2. two\n(3) three", "1. one\n2. two\n3. three"),
        ("a  b\u00a0c\td", "a b c d"),
        ("a\u200bb\u202ec\ufeff", "abc"),
        ("> said\n> so", "said\n\nso"),
        ("First.\nSecond.", "First.\n\nSecond."),
        ("See [here](http://x.org/a_(b)).", "See here (http://x.org/a_(b))."),
        ("| a | b |\n|---|---|\n| c | d |", "• a; b\n• c; d"),
        ("one<br>two", "one\n\ntwo"),
        ("a\r\n\r\nb\rc", "a\n\nb c"),
    ],
)
def test_each_rule_of_the_plain_form(given_text: str, expected: str) -> None:
    assert normalise(given_text).text == expected


@pytest.mark.parametrize(
    "text",
    ["snake_case_name stays", "5*3*2 and 2 * 3 * 4", "a < b and b > c", "#hashtag", "x_1 and y_2",
     "Plain words, one paragraph."],
)  # fmt: skip
def test_what_only_looks_like_markup_stays(text: str) -> None:
    found = normalise(text)
    assert found.text == text
    assert found.changes == {}


def test_lines_broken_at_a_width_become_one_paragraph_and_lines_of_their_own_do_not() -> None:
    wrapped = (
        "This paragraph was broken at a width by\nsome editor that thought of paper and\nleft it so"
    )
    assert "\n" not in normalise(wrapped).text
    assert normalise("One thing.\nAnother thing.\nA third.").text.count("\n\n") == 2


def test_the_record_names_the_kinds_of_change() -> None:
    found = normalise("# T\n\n**a** — “b”…")
    assert set(found.changes) >= {"markup", "headings", "dashes", "quotes", "ellipses"}
    assert all(count > 0 for count in found.changes.values())


def test_a_text_of_form_only_becomes_empty() -> None:
    assert normalise("***\n---\n\u200b").text == ""


@given(FORMS)
@settings(max_examples=400, deadline=None)
def test_a_text_in_the_plain_form_is_left_alone(text: str) -> None:
    once = normalise(text)
    again = normalise(once.text)
    assert again.text == once.text
    assert again.changes == {}


@given(st.text(alphabet="ab c.*_#>—“”-•\n", max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_word_is_lost_or_moved(text: str) -> None:
    assert words(normalise(text).text) == words(text)


@pytest.mark.parametrize("piece", ["*a ", "**a ", "[a](", "<p ", "~~x ", "`", "> ", "(1) ", "|a"])
def test_a_text_of_markup_only_takes_no_long_time(piece: str) -> None:
    began = time.monotonic()
    normalise(piece * 10_000)
    assert time.monotonic() - began < 5
