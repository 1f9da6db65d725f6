"""The plain form: what it changes, what it never changes, and that it is reached in one go."""

from __future__ import annotations

import functools
import re
import textwrap
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus.study import normalise

FORMS = st.text(alphabet="abi1I \n-*_#>|`•–—“”'\".…()[]~\\\t:;!?=<bp/>$^&①", max_size=60)
WRAPPED = (
    "This paragraph was broken at a width of seventy-two characters, as mail\n"
    "and many editors do, by a program that thought of paper: each of its lines\n"
    "ends where the next word has no room left, and the last ends anywhere."
)


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
        ("a\r\n\r\nb\rc", "a\n\nb\n\nc"),
        ("a) first\nb) second\nc) third", "1. first\n2. second\n3. third"),
        ("(A) one\n\n(B) two", "1. one\n2. two"),
        ("i. one\nii. two\niii. three\niv. four", "1. one\n2. two\n3. three\n4. four"),
        ("1. One:\n  a. first\n  b. second\n2. Two", "1. One:\n1. first\n2. second\n2. Two"),
        ("① one\n②two\n❸ three\n⒋ four", "1. one\n2. two\n3. three\n4. four"),
        ("1️⃣ one\n2️⃣ two\n🔟 ten", "1. one\n2. two\n10. ten"),
        ("ⓐ one\nⓑ two", "1. one\n2. two"),
        ("➤ one\n👉 two\n☐ three", "• one\n• two\n• three"),
        ("- [x] done\n- [ ] open\n[X] so", "• done\n• open\n• so"),
        ("A&nbsp;B &amp; C&mdash;D &amp;lt; E&#8230;", "A B & C - D < E..."),
        (r"Let \(y\) be \(x_1 + 2\), so \[y = 3\].", "Let y be x_1 + 2, so y = 3."),
        ("Then $y$, $a = b$ and\n$$\nc^2\n$$", "Then y, a = b and\n\nc^2"),
        ("So it is.[^1]\n\n[^1]: Kant, 1785.", "So it is.[1]\n\n[1] Kant, 1785."),
        ("<details><summary>More</summary>\nText.</details>", "More\n\nText."),
        ("a | b\n--- | :-:\nc | d\n\ne | f", "• a; b\n• c; d\n\ne | f"),
        ("ﬁne ﬂow, ＡＢＣ１２， 𝗯𝗼𝗹𝗱 𝘪𝘵", "fine flow, ABC12, bold it"),
        ("a\ufe0f\U000e0101b\u034fc\u3164", "abc"),
    ],
)
def test_each_rule_of_the_plain_form(given_text: str, expected: str) -> None:
    assert normalise(given_text).text == expected


@pytest.mark.parametrize(
    "text",
    ["A. Smith wrote this.\n\nB. Jones did not.", "a) is alone", "it costs $5, and $6 = $3 + $3",
     "AT&T, R&D; x² is ½ of it", "see (a) and (b)", "a | b", "你好，世界！",
     "a) first\n\nb) second\n\nOf these (a) is better.",
     "snake_case_name stays", "5*3*2 and 2 * 3 * 4", "a < b and b > c", "#hashtag", "x_1 and y_2",
     "Plain words, one paragraph."],
)  # fmt: skip
def test_what_only_looks_like_markup_stays(text: str) -> None:
    found = normalise(text)
    assert found.text == text
    assert found.changes == {}


def test_lines_broken_at_a_width_become_one_paragraph_and_lines_of_their_own_do_not() -> None:
    assert "\n" not in normalise(WRAPPED).text
    both = normalise(f"{WRAPPED}\n\n{WRAPPED}\n\nThe end.").text
    assert both.count("\n\n") == 2
    assert normalise("One thing.\nAnother thing.\nA third.").text.count("\n\n") == 2
    assert normalise(WRAPPED.replace("\n", "  \n")).text.count("\n\n") == 2  # breaks on purpose
    assert normalise(f"```\n{WRAPPED}\n```").text.count("\n\n") == 2
    items = normalise(f"{WRAPPED}\na) first point of mine\nc) another point").text
    assert items.split("\n\n")[1:] == ["a) first point of mine", "c) another point"]


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120])
def test_the_width_is_that_of_the_lines_as_they_came(width: int) -> None:
    """Markup, quotation marks and indents counted when the lines were broken."""
    plain = (
        "What neighbours are owed is **more** than [courtesy](x.org/a), says *somebody* who lives "
        "there, since the terms of living together have to stand before each of them, and nobody "
        "could refuse terms that cost the others so little as these do."
    )
    fill = functools.partial(textwrap.fill, width=width)
    whole = normalise(plain).text
    assert normalise("\n\n".join(fill(f"{plain} {plain}") for _ in range(2))).text == (
        f"{whole} {whole}\n\n{whole} {whole}"
    )
    quoted = textwrap.fill(f"{plain} {plain}", width, initial_indent="> ", subsequent_indent="> ")
    assert normalise(quoted).text == f"{whole} {whole}"
    items = "\n".join(fill(f"- {plain}", subsequent_indent="  ") for _ in range(3))
    assert normalise(items).text == "\n".join([f"• {whole}"] * 3)


@pytest.mark.parametrize(
    "lines",
    [
        ["The river keeps its counsel under ice", "and boats lie upside down along the shore",
         "till someone whistles twice", "and no one answers any more"],
        ["O neighbour, whom the evening brought to my unlighted door,",
         "Thy lantern swings as lanterns swung for strangers long before,",
         "And what I owe to thee tonight I owed to them and more,",
         "Nor shall the frost that binds the field forbid thee to my floor."],
        ["12 Harbour Street", "Old Town", "Somewhere"],
        ["first point", "second point", "third point"],
    ],
)  # fmt: skip
def test_verse_and_lines_that_somebody_ended_are_never_joined(lines: list[str]) -> None:
    assert normalise("\n".join(lines)).text.split("\n\n") == lines
    again = ["Before.", *lines, "After."]
    assert normalise("Before.\n\n" + "\n".join(lines) + "\n\nAfter.").text.split("\n\n") == again


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


@given(st.text(alphabet="kz q.*_#>—“”-•\n", max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_word_is_lost_or_moved(text: str) -> None:
    assert words(normalise(text).text) == words(text)


PIECES = (
    "*a ", "**a ", "[a](", "<p ", "~~x ", "`", "> ", "(1) ", "|a", "a) x\n", "a) x\nb) y\n", "\\(",
    "\\[x", "$$a", "$a=", "[^1", "&amp;", "&#38;", "amp;", "①", "a|b\n-|-\n", "<tr",
)  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_text_of_markup_only_takes_no_long_time(piece: str) -> None:
    began = time.monotonic()
    normalise(piece * (30_000 // len(piece)))
    assert time.monotonic() - began < 5
